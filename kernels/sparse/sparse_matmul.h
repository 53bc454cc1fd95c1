/*
 * sparse_matmul.h - checks the inputs of SparseTensorDenseMatMul and makes its
 * output, for the kernels of all devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SPARSE_MATMUL_H
#define TFD_KERNELS_SPARSE_MATMUL_H

#include "kernels/core/kernel.h"

/* The state. */
struct tfd_sparse_adjoints {
    bool a, b;
};
enum tfd_code tfd_sparse_matmul_prepare(const struct tfd_prepare *p,
                                        void *state, struct tfd_status *st);

/* [m, k] by [k, n], after both were transposed where they are adjoints. */
struct tfd_sparse_matmul {
    int64_t m, n, k;
    int64_t row, column; /* strides of b, by its row and column there */
    struct tfd_sparse_adjoints adjoint;
};
/* Checks everything but the indices and makes the output. */
enum tfd_code tfd_sparse_matmul_output(struct tfd_kctx *k,
                                       struct tfd_sparse_matmul *out,
                                       struct tfd_status *st) TFD_MUST_USE;

#endif
