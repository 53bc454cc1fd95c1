/*
 * divide_halves.h - the loops over a struct tfd_row of halves that divide in
 * AVX-512: a / b; the same, but 0 where b is; the largest whole number up to
 * it. NULL where the processor has no AVX-512.
 *
 * Threads: as other elementwise loops.
 */
#ifndef TFD_KERNELS_DIVIDE_HALVES_H
#define TFD_KERNELS_DIVIDE_HALVES_H

#include "kernels/core/elementwise.h"

tfd_range_fn *tfd_divide_halves_quotient(void);
tfd_range_fn *tfd_divide_halves_no_nan(void);
tfd_range_fn *tfd_divide_halves_floor_div(void);

#endif
