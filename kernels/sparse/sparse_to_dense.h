/*
 * sparse_to_dense.h - checks the inputs of SparseToDense and makes its output,
 * for the kernels of all devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SPARSE_TO_DENSE_H
#define TFD_KERNELS_SPARSE_TO_DENSE_H

#include "kernels/core/kernel.h"

/* The state is a bool: whether indices must be in order and none twice. */
enum tfd_code tfd_sparse_to_dense_prepare(const struct tfd_prepare *p,
                                          void *state, struct tfd_status *st);
/* Checks everything but the indices themselves, which are `count` rows of
 * `rank` numbers, and makes the output. */
enum tfd_code tfd_sparse_to_dense_output(struct tfd_kctx *k, int64_t *count,
                                         int *rank,
                                         struct tfd_status *st) TFD_MUST_USE;

#endif
