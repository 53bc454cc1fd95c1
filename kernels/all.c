/*
 * all.c - the CPU families of families.def as an array.
 */
#include "kernels/families.h"
#include "kernels/registry.h"

const struct tfd_family *const tfd_families[] = {
#define FAMILY(f) &tfd_family_##f,
#define CUDA_FAMILY(f)
#include "kernels/families.def"
#undef FAMILY
#undef CUDA_FAMILY
};

const int tfd_family_count = TFD_COUNT(tfd_families);
