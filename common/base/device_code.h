/*
 * device_code.h - marks functions that are code of a GPU as well.
 *
 * What the CPU's and the GPU's kernels must do alike, bit for bit, is one
 * inline function in a header; nvcc compiles it for both, C and C++ as ever.
 * Such a function calls nothing but its like and the mathematics of the C
 * library.
 *
 * Threads: macros only.
 */
#ifndef TFD_COMMON_DEVICE_CODE_H
#define TFD_COMMON_DEVICE_CODE_H

#ifdef __CUDACC__
#define TFD_DEVICE __host__ __device__
#else
#define TFD_DEVICE
#endif

#endif
