/*
 * batch_matmul.h - what kernels of BatchMatMul, V2 and V3 on every device
 * share: attributes, types, shapes, which matrices meet.  Threads: any.
 */
#ifndef TFD_KERNELS_BATCH_MATMUL_H
#define TFD_KERNELS_BATCH_MATMUL_H

#include "kernels/linalg/gemm.h"
#include "kernels/core/kernel.h"

/* The state of their kernels. */
struct tfd_batch_matmul {
    bool adjoint[2];
    bool broadcasts;
};

enum tfd_code tfd_batch_matmul_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_batch_matmul_prepare_v3(const struct tfd_prepare *p,
                                          void *state,
                                          struct tfd_status *st) TFD_MUST_USE;

/* What V3 makes of two types, or INVALID.  Bytes give int32, with bfloat16 they
 * give that; all else is of one type. */
enum tfd_dtype tfd_batch_matmul_type(enum tfd_dtype x, enum tfd_dtype y);

/* The shape of the result. */
enum tfd_code tfd_batch_matmul_shape(const struct tfd_kctx *k,
                                     struct tfd_shape *out,
                                     struct tfd_status *st) TFD_MUST_USE;

/* BatchMatMul and V2 on a CPU. */
enum tfd_code tfd_batch_matmul_compute(struct tfd_kctx *k,
                                       struct tfd_status *st) TFD_MUST_USE;

struct tfd_batch_matmul_plan {
    struct tfd_gemm g;      /* of one product; a, b, c are the first ones */
    struct tfd_shape shape; /* of the batch */
    int64_t count;
    int64_t step[2][TFD_RANK_MAX]; /* matrices from one to the next */
};

/* Those of k, whose output has been made and is not empty; g.dtype is the
 * output's, and a, b, c are not set. */
void tfd_batch_matmul_plan(const struct tfd_kctx *k,
                           struct tfd_batch_matmul_plan *p);

/* Makes all the products on a CPU; g.a, g.b and g.c are set. */
void tfd_batch_matmul_run(struct tfd_kctx *k, struct tfd_batch_matmul_plan *p);

#endif
