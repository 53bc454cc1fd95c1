/*
 * cuda_bf16.h - bfloat16 for g++: see narrow.h.
 */
#ifndef TFD_TESTS_EMULATED_CUDA_BF16_H
#define TFD_TESTS_EMULATED_CUDA_BF16_H

#include "tests/emulated/narrow.h"

EMULATED_NARROW(__nv_bfloat16, tfd_bfloat16, bfloat16)

#endif
