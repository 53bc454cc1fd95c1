/*
 * cuda_fp16.h - half for g++: see narrow.h.
 */
#ifndef TFD_TESTS_EMULATED_CUDA_FP16_H
#define TFD_TESTS_EMULATED_CUDA_FP16_H

#include "tests/emulated/narrow.h"

EMULATED_NARROW(__half, tfd_half, half)

#endif
