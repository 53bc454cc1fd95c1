/*
 * random_binomial.h - samples of binomial distributions, for ops that have
 * their generator from seeds or from a variable.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_RANDOM_BINOMIAL_H
#define TFD_KERNELS_RANDOM_BINOMIAL_H

#include "kernels/core/kernel.h"
#include "kernels/random/philox.h"

/* Inputs `shape_arg`, `counts_arg` and the one behind it are the output's
 * shape, counts and probabilities. */
struct tfd_binomial {
    int shape_arg, counts_arg;
    struct tfd_shape batch; /* of counts and probabilities, broadcast */
    int64_t count;          /* of distributions */
    int64_t samples;        /* of each */
};

/* Makes output 0; counts and probabilities fit its shape. */
enum tfd_code tfd_binomial_begin(struct tfd_kctx *k, struct tfd_binomial *b,
                                 struct tfd_status *st) TFD_MUST_USE;
/* Fills it. */
enum tfd_code tfd_binomial_draw(struct tfd_kctx *k,
                                const struct tfd_binomial *b,
                                struct tfd_philox generator,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
