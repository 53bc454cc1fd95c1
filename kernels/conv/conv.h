/*
 * conv.h - what kernels of convolutions on every device share: attributes,
 * sizes, checks.
 *
 * The state of each kernel begins with a struct tfd_window, which
 * tfd_conv_prepare() fills.  INVALID_ARGUMENT or UNIMPLEMENTED for what
 * TensorFlow refuses.  Threads: any.
 */
#ifndef TFD_KERNELS_CONV_H
#define TFD_KERNELS_CONV_H

#include "kernels/conv/conv_gemm.h"

enum tfd_code tfd_conv_prepare(const struct tfd_prepare *p, void *state,
                               struct tfd_status *st) TFD_MUST_USE;

/* All sizes from those of x and of the filter; and the shape of y. */
enum tfd_code tfd_conv_measure(const struct tfd_window *w,
                               const struct tfd_shape *x,
                               const struct tfd_shape *filter,
                               struct tfd_conv *c, struct tfd_shape *y,
                               struct tfd_status *st) TFD_MUST_USE;

/* The shape of x from input 0 of Conv2DBackpropInput.  Two sizes are rows and
 * columns; the others follow. */
enum tfd_code tfd_conv_input_sizes(const struct tfd_kctx *k,
                                   struct tfd_shape *x,
                                   struct tfd_status *st) TFD_MUST_USE;

/* Refuses a filter without elements where y has some. */
enum tfd_code tfd_conv_check_filter(const struct tfd_shape *filter,
                                    const struct tfd_shape *y,
                                    struct tfd_status *st) TFD_MUST_USE;

/* Input 2 is the gradient of what has this shape. */
enum tfd_code tfd_conv_check_backprop(const struct tfd_kctx *k,
                                      const struct tfd_conv *c,
                                      const struct tfd_shape *want,
                                      struct tfd_status *st) TFD_MUST_USE;

/* Conv2D on a CPU. */
enum tfd_code tfd_conv_compute(struct tfd_kctx *k,
                               struct tfd_status *st) TFD_MUST_USE;
/* x by the filter, channels last, into output 0: what tfd_conv_measure() has
 * measured. */
enum tfd_code tfd_conv_run(struct tfd_kctx *k, struct tfd_conv *c,
                           const struct tfd_tensor *x,
                           const struct tfd_tensor *filter,
                           struct tfd_status *st) TFD_MUST_USE;
/* The shape of Conv2D. */
enum tfd_code tfd_conv_shape(struct tfd_shape_ctx *s, struct tfd_status *st);

#endif
