/*
 * fractional.h - pools whose windows differ in size: loops over images that are
 * [batch, rows, columns, channels].
 *
 * A sequence of numbers says where windows begin: window i of the rows is
 * [row_at[i], row_at[i + 1]), and with `overlapping` the first row of the next
 * one, too; what is beyond the image does not count.
 *
 *     max       y = the largest element of each window
 *     mean      y = the sum of the window's elements / their number
 *     max_grad  dx = the sum of dy of the windows whose first largest element
 *               it is; fails where y is not what max makes
 *     mean_grad dx = the sum of dy / elements of the windows that it is in
 *
 * Types are FLOAT, DOUBLE, INT32 and INT64; sums of integers wrap.  Sequences
 * are not below 0, which the caller has checked, but otherwise of any values.
 *
 * Threads: each loop is a tfd_try_fn over rows of y of all images (max, mean),
 * images (max_grad) or rows of dx of all images (mean_grad).
 */
#ifndef TFD_KERNELS_FRACTIONAL_H
#define TFD_KERNELS_FRACTIONAL_H

#include "kernels/core/kernel.h"

struct tfd_fractional {
    int64_t batch, rows, columns, channels; /* of x */
    int64_t out_rows, out_columns;
    const int64_t *row_at, *column_at; /* out_rows + 1, out_columns + 1 */
    bool overlapping;
    const void *x, *y, *dy;
    void *out;
};

enum tfd_fractional_loop {
    TFD_FRACTIONAL_MAX,
    TFD_FRACTIONAL_MEAN,
    TFD_FRACTIONAL_MAX_GRAD,
    TFD_FRACTIONAL_MEAN_GRAD,
    TFD_FRACTIONAL_LOOPS
};

/* NULL for other types. */
tfd_try_fn *tfd_fractional_loop(enum tfd_fractional_loop loop,
                                enum tfd_dtype dtype);

#endif
