/*
 * topk.h - reads k and checks the inputs of TopK, TopKV2 and InTopK, and makes
 * their outputs, for the kernels of all devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_TOPK_H
#define TFD_KERNELS_TOPK_H

#include "kernels/core/kernel.h"

/* TopK, InTopK: the attribute k becomes the state, an int64_t. */
enum tfd_code tfd_topk_prepare(const struct tfd_prepare *p, void *state,
                               struct tfd_status *st);
/* k, which is input `in`; must: what the number of its dimensions has to be, in
 * the op's own words. */
enum tfd_code tfd_topk_read_k(const struct tfd_kctx *k, int in,
                              const char *must, int64_t *out,
                              struct tfd_status *st) TFD_MUST_USE;
/* TopK, TopKV2: makes both outputs, [..., columns] cut to [..., count]. */
enum tfd_code tfd_topk_outputs(struct tfd_kctx *k, int64_t *columns,
                               int64_t *count,
                               struct tfd_status *st) TFD_MUST_USE;
/* InTopK, InTopKV2: checks predictions and targets and makes the output. */
enum tfd_code tfd_topk_lookup_output(struct tfd_kctx *k,
                                     struct tfd_status *st) TFD_MUST_USE;

/* ---- approx_topk.c: of ApproxTopK, which a CPU does exactly -------------- */

enum tfd_code tfd_approx_topk_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st);
enum tfd_code tfd_approx_topk_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st);
enum tfd_code tfd_approx_topk_gradient(struct tfd_grad *g,
                                       struct tfd_status *st);

#endif
