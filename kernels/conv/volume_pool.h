/*
 * volume_pool.h - windows over volumes of floats, channels last: their maxima
 * and means, and the gradients of those.
 *
 *     max       y = the largest element of each window
 *     mean      y = the mean of the window's elements that exist
 *     give      dx = the sum of dy of the windows whose first element that is
 *               as y it is
 *     take      ddy = the element of ddx where x first is y; else 0
 *     spread    dx = the sum of dy / elements of the windows that it is in
 *
 * Threads: each loop is a tfd_range_fn over as many items as
 * tfd_volume_pool_items() says, and writes only those.
 */
#ifndef TFD_KERNELS_VOLUME_POOL_H
#define TFD_KERNELS_VOLUME_POOL_H

#include "kernels/conv/volume.h"

struct tfd_volume_pool {
    struct tfd_window_side plane, row, column; /* without dilation */
    int64_t batch, channels;
    const float *x, *y; /* give and take: where the maxima are, what they are */
    const float *in;    /* x, dy, or ddx */
    float *out;
};

enum tfd_volume_loop {
    TFD_VOLUME_MAX,
    TFD_VOLUME_MEAN,
    TFD_VOLUME_GIVE,
    TFD_VOLUME_TAKE,
    TFD_VOLUME_SPREAD,
    TFD_VOLUME_LOOPS
};

tfd_range_fn *tfd_volume_pool_loop(enum tfd_volume_loop loop);
int64_t tfd_volume_pool_items(enum tfd_volume_loop loop,
                              const struct tfd_volume_pool *p);

#endif
