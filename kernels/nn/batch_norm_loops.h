/*
 * batch_norm_loops.h - sums and formulas over rows of channels, in float; what
 * batch_norm.c makes its outputs of.
 *
 * Threads: each function runs on all that the step has, and returns when the
 * last row is done.
 */
#ifndef TFD_KERNELS_BATCH_NORM_LOOPS_H
#define TFD_KERNELS_BATCH_NORM_LOOPS_H

#include "kernels/core/kernel.h"

struct tfd_batch_norm_rows {
    const float *x, *dy; /* dy: of the gradient */
    float *y;
    const float *mean, *a, *b, *c; /* of each channel; see the loops */
    float *sums;                   /* 2 * channels for each chunk */
    int64_t count, channels;
    bool far; /* x and dy come from memory; the sums of gradients set it */
};

/* Room for three numbers of each channel in *abc and for the sums: the
 * caller's reference in *b.  Knows count and channels. */
enum tfd_code tfd_batch_norm_scratch(struct tfd_batch_norm_rows *r,
                                     struct tfd_buffer **b, float **abc,
                                     struct tfd_status *st) TFD_MUST_USE;

/* Sum 0: of x; and what tfd_batch_norm_squares() is made of. */
void tfd_batch_norm_sum(struct tfd_kctx *k, struct tfd_batch_norm_rows *r);
/* Sum of the squared distances of a channel from its mean. */
double tfd_batch_norm_squares(const struct tfd_batch_norm_rows *r,
                              int64_t channel, double mean);
/* Sums 0 and 1: of dy, and of dy * (x - mean). */
void tfd_batch_norm_sum_gradients(struct tfd_kctx *k,
                                  struct tfd_batch_norm_rows *r);
/* Sum number `which` of a channel, over all rows. */
double tfd_batch_norm_total(const struct tfd_batch_norm_rows *r, int which,
                            int64_t channel);
/* y = (x - mean) * a + b */
void tfd_batch_norm_normalise(struct tfd_kctx *k,
                              struct tfd_batch_norm_rows *r);
/* y = (dy - b - (x - mean) * c) * a, of the gradient dx */
void tfd_batch_norm_derive(struct tfd_kctx *k, struct tfd_batch_norm_rows *r);

#endif
