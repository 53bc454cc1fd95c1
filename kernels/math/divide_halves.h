/*
 * divide_halves.h - divides rows of halves (struct tfd_row) by AVX-512: a / b;
 * the same, but 0 where b is 0; and a / b rounded down.  Each is NULL where the
 * processor has no AVX-512.
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
