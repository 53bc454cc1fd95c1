/*
 * sparse_pick.h - elements of a sparse tensor that are picked by number, and
 * what the kernels that pick have in common.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SPARSE_PICK_H
#define TFD_KERNELS_SPARSE_PICK_H

#include "common/thread/halt.h"
#include "kernels/sparse/sparse.h"

/* n numbers without a value, as a tensor, since n is the graph's to say. */
enum tfd_code tfd_sparse_numbers(struct tfd_tensor *out, int64_t n,
                                 struct tfd_status *st) TFD_MUST_USE;

/* to[i] = from[order[i]]; a number below 0 leaves to[i] as it is. */
enum tfd_code tfd_sparse_pick_values(enum tfd_dtype dtype, void *to,
                                     const void *from, const int64_t *order,
                                     int64_t count,
                                     struct tfd_status *st) TFD_MUST_USE;
/* The same of rows of `rank` numbers. */
enum tfd_code tfd_sparse_pick_rows(int64_t *to, const int64_t *from, int rank,
                                   const int64_t *order, int64_t count,
                                   struct tfd_status *st) TFD_MUST_USE;

/* Outputs `index` and `values` are the elements order[i], i < count, of s. */
enum tfd_code tfd_sparse_pick(struct tfd_kctx *k, const struct tfd_sparse *s,
                              const int64_t *order, int64_t count, int index,
                              int values, struct tfd_status *st) TFD_MUST_USE;

/* Output `out` is a vector of these numbers. */
enum tfd_code tfd_sparse_put_dims(struct tfd_kctx *k, int out,
                                  const int64_t *dim, int rank,
                                  struct tfd_status *st) TFD_MUST_USE;

/* INVALID_ARGUMENT unless inputs 0 to 2 are a matrix and two vectors, as those
 * of a sparse tensor are; in the words of ops that name them sp_. */
enum tfd_code tfd_sparse_check_ranks(const struct tfd_kctx *k,
                                     struct tfd_status *st) TFD_MUST_USE;

/* INVALID_ARGUMENT unless a dense tensor can have these dimensions. */
enum tfd_code tfd_sparse_check_dims(const int64_t *dim, int64_t rank,
                                    struct tfd_status *st) TFD_MUST_USE;
/* INVALID_ARGUMENT "... is out of bounds" as ops say it that need no order. */
enum tfd_code tfd_sparse_check_tuples(const struct tfd_sparse *s,
                                      struct tfd_status *st) TFD_MUST_USE;

/* Whether element i of a long loop is one to look at the step at, and it has
 * ended. */
static inline bool tfd_sparse_stops(int64_t i)
{
    return (i & 0xffff) == 0xffff && tfd_halted();
}

#endif
