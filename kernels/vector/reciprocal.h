/*
 * reciprocal.h - 1 / x of floats, rounded to the nearest, quicker than a
 * processor with AVX-512 divides.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_RECIPROCAL_H
#define TFD_KERNELS_RECIPROCAL_H

#include "kernels/core/kernel.h"

/* Of a struct tfd_row; y may be a. */
tfd_range_fn tfd_reciprocal_loop;
/* Likewise, by estimates wherever there is AVX-512, quicker or not; and some by
 * estimates, others by divisions. */
tfd_range_fn tfd_reciprocal_refined_loop;
tfd_range_fn tfd_reciprocal_mixed_loop;

#endif
