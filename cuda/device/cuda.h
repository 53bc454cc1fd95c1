/*
 * cuda.h - what a build has of CUDA: all.c when nvcc is there, else none.c,
 * which has nothing.
 */
#ifndef TFD_CUDA_CUDA_H
#define TFD_CUDA_CUDA_H

#include "cuda/device/driver.h"
#include "kernels/core/kernel.h"

/* The real table; NULL in a build without CUDA. */
const struct tfd_cuda_driver *tfd_cuda_driver(void);

/* The families of kernels on GPUs, for the registry behind tfd_families. */
extern const struct tfd_family *const tfd_cuda_families[];
extern const int tfd_cuda_family_count;

#endif
