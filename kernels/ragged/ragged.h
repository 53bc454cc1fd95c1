/*
 * ragged.h - what the kernels of ragged tensors share: partitions as they come,
 * of int32 or int64.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_RAGGED_H
#define TFD_KERNELS_RAGGED_H

#include "kernels/core/kernel.h"

/* Partitions of one ragged tensor. */
#define TFD_RAGGED_RANK_MAX 64

/* INVALID_ARGUMENT for more. */
enum tfd_code tfd_ragged_check_rank(int64_t rank,
                                    struct tfd_status *st) TFD_MUST_USE;

/* Number i of a tensor of INT32 or INT64; the caller knows that it has room. */
void tfd_ragged_put(const struct tfd_tensor *t, int64_t i, int64_t value);

/* Output `out` is a vector of n splits, of which none is over `largest`, which
 * must fit the type. */
enum tfd_code tfd_ragged_new_splits(struct tfd_kctx *k, int out,
                                    enum tfd_dtype dtype, int64_t n,
                                    int64_t largest,
                                    struct tfd_status *st) TFD_MUST_USE;

/* Elements of a row of values: the product of all dimensions but the first. */
int64_t tfd_ragged_row_size(const struct tfd_shape *values);

#endif
