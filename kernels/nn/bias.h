/*
 * bias.h - what kernels of BiasAdd, BiasAddV1 and BiasAddGrad on every device
 * share: the attribute and checks.  INVALID_ARGUMENT in TensorFlow's words.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_BIAS_H
#define TFD_KERNELS_BIAS_H

#include "kernels/core/kernel.h"

/* The state of BiasAdd and BiasAddGrad; BiasAddV1 has none. */
struct tfd_bias_state {
    bool channels_second; /* NCHW */
};
enum tfd_code tfd_bias_prepare(const struct tfd_prepare *p, void *state,
                               struct tfd_status *st) TFD_MUST_USE;
/* The dimension of input 0 that is its channels. */
enum tfd_code tfd_bias_channel(const struct tfd_kctx *k, int *out,
                               struct tfd_status *st) TFD_MUST_USE;
/* Input 1 has a number for each of them. */
enum tfd_code tfd_bias_check(const struct tfd_kctx *k, int channel,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
