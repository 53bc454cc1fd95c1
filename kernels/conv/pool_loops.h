/*
 * pool_loops.h - windows over images, channels last: their maxima and means,
 * and the gradients of those.
 *
 *     max       y = the largest element of each window
 *     max_grad  dx = the sum of dy of the windows whose first largest element
 *               it is
 *     mean      y = the mean of the window's elements that exist
 *     mean_grad dx = the sum of dy / elements of the windows that it is in
 *
 * Loops by type: for the means FLOAT and DOUBLE, for the maxima all numbers
 * but half types; NULL for other types.
 *
 * Threads: each loop is a tfd_range_fn over rows of y (max, mean), images of
 * dx (max_grad) or rows of dx (mean_grad) and writes only those.
 */
#ifndef TFD_KERNELS_POOL_LOOPS_H
#define TFD_KERNELS_POOL_LOOPS_H

#include "kernels/conv/image.h"
#include "kernels/conv/window.h"

struct tfd_pooling_window {
    struct tfd_window_side row, column;
    int64_t channels;
    const void *x;  /* max_grad: where the maxima are */
    const void *in; /* x, or dy */
    void *out;      /* y, or dx */
    bool ahead;     /* the row of x below a window is asked for ahead */
};

enum tfd_pool_loop {
    TFD_POOL_MAX,
    TFD_POOL_MAX_GRAD,
    TFD_POOL_MEAN,
    TFD_POOL_MEAN_GRAD,
    TFD_POOL_LOOPS
};

tfd_range_fn *tfd_pool_loop(enum tfd_pool_loop loop, enum tfd_dtype dtype);

/* The same of HALF and BFLOAT16 (pool_halves.c); NULL: of another type, not on
 * this processor, not for such windows, or it is max_grad. */
tfd_range_fn *tfd_pool_halves(enum tfd_pool_loop loop, enum tfd_dtype dtype,
                              const struct tfd_pooling_window *p);

/* Runs a loop, or that of a half type, on all compute threads.  o: x and the
 * result, output 0; a gradient has dy between.  Sizes are in p. */
enum tfd_code tfd_pool_run(struct tfd_kctx *k, enum tfd_pool_loop loop,
                           struct tfd_pooling_window *p, struct tfd_image *o,
                           int n, struct tfd_status *st) TFD_MUST_USE;

/* Nanoseconds of so many pixels of y. */
int tfd_pool_cost(const struct tfd_pooling_window *p, int64_t pixels);

#endif
