/*
 * none.c - a build without CUDA: see cuda.h.
 */
#include "cuda/device/cuda.h"

const struct tfd_family *const tfd_cuda_families[] = {NULL};

const int tfd_cuda_family_count = 0;

const struct tfd_cuda_driver *tfd_cuda_driver(void)
{
    return NULL;
}
