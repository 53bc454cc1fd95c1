/*
 * families.h - declares what families.def lists.  The file that defines a
 * family includes this, so a name that is misspelt or not listed is an error
 * at compile time or at link time and never an operation missing at run time.
 *
 * Threads: any; constants.
 */
#ifndef TFD_KERNELS_FAMILIES_H
#define TFD_KERNELS_FAMILIES_H

#include "kernels/core/kernel.h"

#define FAMILY(f) extern const struct tfd_family tfd_family_##f;
#define CUDA_FAMILY(f) extern const struct tfd_family tfd_cuda_family_##f;
#include "kernels/core/families.def"
#undef FAMILY
#undef CUDA_FAMILY

#endif
