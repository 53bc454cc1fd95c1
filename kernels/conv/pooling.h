/*
 * pooling.h - what pools on every device share: attributes, checks, sizes.
 *
 * The state of a kernel is a struct tfd_window; V2 ops have the window in their
 * last inputs.  Layouts that a device lacks are its own to refuse.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_POOLING_H
#define TFD_KERNELS_POOLING_H

#include "kernels/conv/pool_loops.h"

struct tfd_pooling_plan {
    struct tfd_window w;
    struct tfd_pooling_window p; /* but for x, in, out */
    struct tfd_shape x, y;
    /* Maxima of neighbouring channels: each of y is of a column of p, whose
     * elements follow upon each other. */
    bool deep;
};

enum tfd_code tfd_pooling_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st) TFD_MUST_USE;

typedef enum tfd_code tfd_pooling_plan_fn(const struct tfd_kctx *k,
                                          struct tfd_pooling_plan *plan,
                                          struct tfd_status *st);
/* MaxPool[V2], AvgPool, AvgPoolGrad. */
tfd_pooling_plan_fn tfd_pooling_max TFD_MUST_USE;
tfd_pooling_plan_fn tfd_pooling_mean TFD_MUST_USE;
tfd_pooling_plan_fn tfd_pooling_mean_grad TFD_MUST_USE;

/* MaxPoolGrad[V2]; again: MaxPoolGradGrad[V2], which is given a gradient of x.
 */
enum tfd_code tfd_pooling_max_back(const struct tfd_kctx *k,
                                   struct tfd_pooling_plan *plan, bool again,
                                   struct tfd_status *st) TFD_MUST_USE;
static inline TFD_MUST_USE enum tfd_code
tfd_pooling_max_grad(const struct tfd_kctx *k, struct tfd_pooling_plan *plan,
                     struct tfd_status *st)
{
    return tfd_pooling_max_back(k, plan, false, st);
}

/* Maxima, where w and x of the plan are known: checks and sizes. */
tfd_pooling_plan_fn tfd_pooling_sizes TFD_MUST_USE;
/* Means, where w and x of the plan are known and x has four dimensions. */
enum tfd_code tfd_pooling_spatial(struct tfd_pooling_plan *plan,
                                  struct tfd_status *st) TFD_MUST_USE;
/* The sizes alone, along rows and columns. */
enum tfd_code tfd_pooling_measure(struct tfd_pooling_plan *plan,
                                  struct tfd_status *st) TFD_MUST_USE;

/* Gradients of MaxPoolGrad and MaxPoolGradV2 (max_pool_index.c). */
tfd_grad_fn tfd_max_pool_grad_gradient;
tfd_grad_fn tfd_max_pool_grad_v2_gradient;

#endif
