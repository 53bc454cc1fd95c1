/*
 * depthwise_back.h - faster loops for the two gradients of depthwise
 * convolutions.  They serve filters with one filter per channel and at most
 * TFD_TAPS_MAX taps; depthwise_loops.c has the general ones.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_DEPTHWISE_BACK_H
#define TFD_KERNELS_DEPTHWISE_BACK_H

#include "kernels/conv/depthwise.h"

/* As tfd_depthwise_run().  False, and nothing is done: there is no such loop
 * of these sizes, or it is not a gradient's. */
bool tfd_depthwise_back(struct tfd_kctx *k, const struct tfd_depthwise *d,
                        enum tfd_depthwise_loop loop, enum tfd_dtype dtype);

/* The cost of each of `count` equal parts of one, for tfd_kctx_parallel(). */
int tfd_depthwise_cost(const struct tfd_depthwise *d, int64_t count);

#endif
