/*
 * op_memory.h - memory for tensors that ops keep besides their outputs
 * (elements of arrays and lists, their sums): on a GPU for types that kernels
 * compute there, in host memory otherwise.
 *
 * What is done on a GPU is enqueued on k->stream.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_OP_MEMORY_H
#define TFD_KERNELS_OP_MEMORY_H

#include "kernels/core/kernel.h"

/* What a GPU row of such an op has as its `range`: enqueues y = a + b, or zeros
 * where a is NULL, for so many elements. */
struct tfd_op_memory_sum {
    const struct tfd_kctx *k;
    enum tfd_dtype dtype;
    const void *a, *b;
    void *y;
    enum tfd_code code; /* what came of it */
    struct tfd_status *st;
};

/* NULL: the host's. */
struct tfd_memory *tfd_op_memory_of(const struct tfd_kctx *k,
                                    enum tfd_dtype dtype);
/* Contents are undefined. */
enum tfd_code tfd_op_memory_new(const struct tfd_kctx *k, enum tfd_dtype dtype,
                                const struct tfd_shape *shape,
                                struct tfd_tensor *out,
                                struct tfd_status *st) TFD_MUST_USE;
/* Zeros; strings are empty, variants none. */
enum tfd_code tfd_op_memory_zero(const struct tfd_kctx *k, enum tfd_dtype dtype,
                                 void *to, int64_t count,
                                 struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_op_memory_zeros(const struct tfd_kctx *k,
                                  enum tfd_dtype dtype,
                                  const struct tfd_shape *shape,
                                  struct tfd_tensor *out,
                                  struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_op_memory_copy(const struct tfd_kctx *k, enum tfd_dtype dtype,
                                 void *to, const void *from, int64_t count,
                                 struct tfd_status *st) TFD_MUST_USE;
/* Of one type and shape.  INVALID_ARGUMENT for what has no sum. */
enum tfd_code tfd_op_memory_add(const struct tfd_kctx *k,
                                const struct tfd_tensor *a,
                                const struct tfd_tensor *b,
                                struct tfd_tensor *out,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
