/*
 * depthwise.h - what depthwise convolutions on every device share: attributes,
 * sizes, checks; and the CPU's loops.  The state of a kernel is a struct
 * tfd_window.  Threads: any.
 */
#ifndef TFD_KERNELS_DEPTHWISE_H
#define TFD_KERNELS_DEPTHWISE_H

#include "kernels/conv/window.h"

struct tfd_depthwise {
    struct tfd_window_side row, column;
    int64_t batch, in, multiplier; /* channels of x; of y for each of them */
    void *x, *w, *y;
};

enum tfd_code tfd_depthwise_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st) TFD_MUST_USE;

enum tfd_depthwise_loop {
    TFD_DEPTHWISE_FORWARD, /* y of x and w */
    TFD_DEPTHWISE_INPUT,   /* the gradient x, of y and w */
    TFD_DEPTHWISE_FILTER,  /* the gradient w, of x and y */
};

/* Computes one of x, w and y from the two others, which are float or double,
 * or what follows, with channels last; on all compute threads.  No side is
 * empty. */
void tfd_depthwise_run(struct tfd_kctx *k, const struct tfd_depthwise *d,
                       enum tfd_depthwise_loop loop, enum tfd_dtype dtype);

/* The cost of each of `count` equal parts of one, for tfd_kctx_parallel(). */
int tfd_depthwise_cost(const struct tfd_depthwise *d, int64_t count);

/* Faster loops for the two gradients (depthwise_back.c): of filters with one
 * filter per channel and at most TFD_TAPS_MAX taps.  False, and nothing is
 * done: there is no such loop of these sizes, or it is not a gradient's. */
bool tfd_depthwise_back(struct tfd_kctx *k, const struct tfd_depthwise *d,
                        enum tfd_depthwise_loop loop, enum tfd_dtype dtype);

/* Whether that can be bfloat16: the processor has dot products of it.  The
 * gradient w is float then. */
bool tfd_depthwise_has_bfloat16(const struct tfd_depthwise *d);

/* All sizes from those of x and of the filter; and the shape of y. */
enum tfd_code
tfd_depthwise_measure(const struct tfd_window *w, const struct tfd_shape *x,
                      const struct tfd_shape *filter, struct tfd_depthwise *d,
                      struct tfd_shape *y, struct tfd_status *st) TFD_MUST_USE;

/* Input 2 is the gradient of what has this shape. */
enum tfd_code tfd_depthwise_check_backprop(const struct tfd_kctx *k,
                                           const struct tfd_shape *want,
                                           struct tfd_status *st) TFD_MUST_USE;

/* DepthwiseConv2dNative on a CPU, and its shape. */
enum tfd_code tfd_depthwise_compute(struct tfd_kctx *k,
                                    struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_depthwise_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st);

#endif
