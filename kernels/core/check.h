/*
 * check.h - named checkers for what arrives as data: scalars, axes, indices,
 * divisors, shapes in tensors.  Kernels use these and nothing of their own, so
 * that each rule stands in one place.  All give INVALID_ARGUMENT naming the
 * argument, the value and the limit, in TensorFlow's words where it has them.
 *
 * `arg` is an input of the node (a tensor's index).  Threads: any.
 */
#ifndef TFD_KERNELS_CHECK_H
#define TFD_KERNELS_CHECK_H

#include "kernels/core/kernel.h"

/* One element of INT32 or INT64 (any rank with one element when loose). */
enum tfd_code tfd_check_int(const struct tfd_kctx *k, int arg, int64_t *out,
                            struct tfd_status *st) TFD_MUST_USE;
/* Element i of an INT32 or INT64 tensor; i is trusted. */
int64_t tfd_check_int_at(const struct tfd_tensor *t, int64_t i);
enum tfd_code tfd_check_bool(const struct tfd_kctx *k, int arg, bool *out,
                             struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_check_str(const struct tfd_kctx *k, int arg,
                            struct tfd_str *out,
                            struct tfd_status *st) TFD_MUST_USE;
/* Brings an axis in [-rank, rank) to [0, rank). */
enum tfd_code tfd_check_axis(int64_t axis, int rank, int *out,
                             struct tfd_status *st) TFD_MUST_USE;
/* A vector of INT32/INT64 as the shape of a tensor.  -1 allowed when partial.
 */
enum tfd_code tfd_check_shape(const struct tfd_kctx *k, int arg, bool partial,
                              struct tfd_shape *out,
                              struct tfd_status *st) TFD_MUST_USE;
/* A scalar is a vector of one for Reshape and Fill, as in TensorFlow. */
struct tfd_tensor tfd_check_as_vector(const struct tfd_tensor *sizes);
/* The same for shape functions, from a constant tensor. */
enum tfd_code tfd_check_shape_value(const struct tfd_tensor *t, bool partial,
                                    struct tfd_shape *out,
                                    struct tfd_status *st) TFD_MUST_USE;

/* ---- Shape functions that many ops share (shape_fn.c) -------------------- */

enum tfd_code tfd_shape_same(struct tfd_shape_ctx *s, struct tfd_status *st);
enum tfd_code tfd_shape_like_first(struct tfd_shape_ctx *s,
                                   struct tfd_status *st);
enum tfd_code tfd_shape_scalar(struct tfd_shape_ctx *s, struct tfd_status *st);
enum tfd_code tfd_shape_none(struct tfd_shape_ctx *s, struct tfd_status *st);
enum tfd_code tfd_shape_broadcast2(struct tfd_shape_ctx *s,
                                   struct tfd_status *st);

/* The attribute "shape" as an output's; an unknown rank is a scalar's, as
 * TensorFlow takes it.  INVALID_ARGUMENT where a dimension is unknown. */
enum tfd_code tfd_check_attr_shape(const struct tfd_node *n,
                                   struct tfd_shape *out,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
