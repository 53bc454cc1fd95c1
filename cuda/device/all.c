/*
 * all.c - the GPU families of kernels/core/families.def as an array.
 */
#include "cuda/device/cuda.h"

#include "kernels/core/families.h"

const struct tfd_family *const tfd_cuda_families[] = {
#define FAMILY(f)
#define CUDA_FAMILY(f) &tfd_cuda_family_##f,
#include "kernels/core/families.def"
#undef FAMILY
#undef CUDA_FAMILY
};

const int tfd_cuda_family_count = TFD_COUNT(tfd_cuda_families);
