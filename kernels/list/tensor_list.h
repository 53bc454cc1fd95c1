/*
 * tensor_list.h - access to TensorLists (lists in VARIANT tensors,
 * common/base/variant.h) for the files that implement their ops: the list at an
 * input, a copy that may be changed, shapes, elements and rows.
 *
 * Errors: INVALID_ARGUMENT in TensorFlow's words.  Threads: any.
 */
#ifndef TFD_KERNELS_TENSOR_LIST_H
#define TFD_KERNELS_TENSOR_LIST_H

#include "common/base/variant.h"
#include "kernels/core/kernel.h"

/* The list at input `in`; borrowed. */
enum tfd_code tfd_list_get(const struct tfd_kctx *k, int in,
                           struct tfd_variant **out,
                           struct tfd_status *st) TFD_MUST_USE;
/* The same, to be changed: itself when nobody else has it, else a copy.  The
 * caller owns a reference and gives it to tfd_list_output(). */
enum tfd_code tfd_list_take(struct tfd_kctx *k, int in,
                            struct tfd_variant **out,
                            struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_list_output(struct tfd_kctx *k, int out,
                              struct tfd_variant *take,
                              struct tfd_status *st) TFD_MUST_USE;

/* A shape given as input: a vector, or the scalar -1 for any. */
enum tfd_code tfd_list_shape(const struct tfd_kctx *k, int in,
                             struct tfd_shape *out,
                             struct tfd_status *st) TFD_MUST_USE;
/* Elements have this type. */
enum tfd_code tfd_list_check_type(const struct tfd_kctx *k,
                                  const struct tfd_variant *l,
                                  enum tfd_dtype dtype,
                                  struct tfd_status *st) TFD_MUST_USE;
bool tfd_list_compatible(const struct tfd_shape *partial,
                         const struct tfd_shape *shape);
/* What both say; fails in TensorFlow's words for lists, `into` first. */
enum tfd_code tfd_list_merge(struct tfd_shape *into,
                             const struct tfd_shape *with,
                             struct tfd_status *st) TFD_MUST_USE;
/* What is in a variant that is not what was asked for, as TensorFlow writes it.
 */
const char *tfd_list_other(const struct tfd_variant *v);
/* Element i, with a reference; an empty slot as zeros of the shape that
 * `wanted` and the list say. */
enum tfd_code tfd_list_element(const struct tfd_kctx *k,
                               const struct tfd_variant *l, int32_t i,
                               const struct tfd_shape *wanted,
                               struct tfd_tensor *out,
                               struct tfd_status *st) TFD_MUST_USE;
/* The elements of one that is there, `count` of them, to where they are
 * wanted. */
enum tfd_code tfd_list_copy(const struct tfd_kctx *k,
                            const struct tfd_tensor *t, void *to, int64_t count,
                            struct tfd_status *st) TFD_MUST_USE;
/* The shape of that many rows of this shape. */
enum tfd_code tfd_list_rows_shape(const struct tfd_shape *element, int64_t rows,
                                  struct tfd_shape *out,
                                  struct tfd_status *st) TFD_MUST_USE;
/* Row i of t along its first dimension, as a tensor of its own. */
enum tfd_code tfd_list_rows(const struct tfd_kctx *k,
                            const struct tfd_tensor *t, int64_t first,
                            int64_t count, bool keep_dim,
                            struct tfd_tensor *out,
                            struct tfd_status *st) TFD_MUST_USE;

/* For all devices; GPU rows have a `range` (place.h). */
tfd_compute_fn tfd_list_compute_pop, tfd_list_compute_get,
    tfd_list_compute_stack, tfd_list_compute_gather, tfd_list_compute_concat,
    tfd_list_compute_join;

#endif
