/*
 * cuda.h - the only two things that the rest of the program sees of CUDA: the
 * driver's table of functions and the list of kernel families.
 *
 * cuda/device/all.c defines both in a build with nvcc.  In a build without it
 * cuda/device/none.c does: no driver, no families, so the task has no GPU.
 *
 * Threads: any; constants.
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
