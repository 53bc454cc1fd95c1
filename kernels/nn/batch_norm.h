/*
 * batch_norm.h - what the kernels of FusedBatchNorm share on every device:
 * attributes, checks, outputs.  INVALID_ARGUMENT in TensorFlow's words.
 *
 * Of the two outputs that are kept for the gradient the first is the mean and
 * the second the variance, on every device; batch_norm.c says what each output
 * means.
 *
 * Threads: any.
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
