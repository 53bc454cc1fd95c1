/*
 * binary.h - the loops of Add and Sub by element type, for other families that
 * add or subtract rows.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_BINARY_H
#define TFD_KERNELS_BINARY_H

#include "kernels/core/elementwise.h"

/* y = a + b, or a - b, over a struct tfd_row; NULL for types that are no
 * numbers. */
tfd_range_fn *tfd_binary_add_loop(enum tfd_dtype dtype);
tfd_range_fn *tfd_binary_sub_loop(enum tfd_dtype dtype);

#endif
