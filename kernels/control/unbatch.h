/*
 * unbatch.h - the kernels of Unbatch, which gives the rows of a batch back to
 * the steps that they came from, and of its gradient, which gathers them again.
 *
 * Both meet at a place that is named as resources are.  There each step shows
 * the id that Batch gave it; one of them brings the batch and its index, with a
 * row [id, first, behind] for each step.
 *
 * Threads: as kernels.
 */
#ifndef TFD_KERNELS_UNBATCH_H
#define TFD_KERNELS_UNBATCH_H

#include "kernels/core/kernel.h"

struct tfd_unbatch_choices {
    struct tfd_str container, name;
    int64_t timeout_us; /* of Unbatch */
};

enum tfd_code tfd_unbatch_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st) TFD_MUST_USE;
void tfd_unbatch_start(struct tfd_kctx *k);
enum tfd_code tfd_unbatch_shape(struct tfd_shape_ctx *s,
                                struct tfd_status *st) TFD_MUST_USE;

/* Input `in`, which is the step's id; INVALID_ARGUMENT with these words around
 * the tensor where it is no scalar. */
enum tfd_code tfd_unbatch_id(const struct tfd_kctx *k, int in,
                             const char *before, const char *behind,
                             int64_t *out, struct tfd_status *st) TFD_MUST_USE;

enum tfd_code tfd_unbatch_grad_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st) TFD_MUST_USE;
void tfd_unbatch_grad_start(struct tfd_kctx *k);
enum tfd_code tfd_unbatch_grad_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
