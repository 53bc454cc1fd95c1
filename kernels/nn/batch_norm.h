/*
 * batch_norm.h - what kernels of FusedBatchNorm on every device share:
 * attributes, checks, outputs.  What outputs mean is said in batch_norm.c, and
 * does not depend on the device: the second that is kept for the gradient is
 * the variance.  Threads: any.
 */
#ifndef TFD_KERNELS_BATCH_NORM_H
#define TFD_KERNELS_BATCH_NORM_H

#include "kernels/core/kernel.h"

/* The state of their kernels. */
struct tfd_batch_norm {
    float epsilon, factor;
    bool training, second; /* second: the channels' dimension, else the last */
    int rank;
};

enum tfd_code tfd_batch_norm_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st) TFD_MUST_USE;
/* Checks the inputs and makes the outputs. */
enum tfd_code tfd_batch_norm_forward(struct tfd_kctx *k, int64_t *channels,
                                     struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_batch_norm_gradient(struct tfd_kctx *k, int64_t *channels,
                                      struct tfd_status *st) TFD_MUST_USE;

/* Forward, on a CPU, and its shapes. */
enum tfd_code tfd_batch_norm_compute(struct tfd_kctx *k,
                                     struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_batch_norm_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st);

#endif
