/*
 * sdca.h - the losses of stochastic dual coordinate ascent, and what one
 * example adds to the weights of a linear model.
 *
 *     "Stochastic dual coordinate ascent methods for regularized loss
 *     minimization", S. Shalev-Shwartz, T. Zhang, 2013
 *
 * Each example has a dual variable; a step finds its best value with all others
 * as they are, and moves the weights by what it changed, times the example.
 *
 * Threads: pure functions.
 */
#ifndef TFD_KERNELS_SDCA_H
#define TFD_KERNELS_SDCA_H

#include "common/base/str.h"

/* What an example brings to its step. */
struct tfd_sdca_example {
    double label, weight, dual;
    double wx;         /* the model's answer, what the step adds included */
    double norm;       /* the square of the example's length, by l2 */
    double partitions; /* how many such steps are done at once elsewhere */
};

struct tfd_sdca_loss {
    const char *name;
    double smoothness;
    bool binary; /* labels are 0 and 1, which become -1 and 1 */
    double (*dual)(const struct tfd_sdca_example *e); /* the best one */
    double (*primal_loss)(double wx, double label, double weight);
    double (*dual_loss)(double dual, double label, double weight);
    double (*slope)(double wx, double label); /* of the primal loss */
};

/* INVALID_ARGUMENT for a name that is none. */
enum tfd_code tfd_sdca_loss_of(struct tfd_str name,
                               const struct tfd_sdca_loss **out,
                               struct tfd_status *st) TFD_MUST_USE;
/* *label as the loss wants it. */
enum tfd_code tfd_sdca_label(const struct tfd_sdca_loss *l, float *label,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
