/*
 * cuda_runtime.h - what .cu files use of CUDA, for g++: see emulator.h.
 */
#ifndef TFD_TESTS_EMULATED_CUDA_RUNTIME_H
#define TFD_TESTS_EMULATED_CUDA_RUNTIME_H

#include "tests/emulated/emulator.h"

#endif
