/*
 * sparse_order.h - the row-major order of a sparse tensor's elements, with and
 * without one for each row.
 *
 * Indices that are in order already, as most are, take one pass over them.
 * Others become their places in the dense tensor, where all lie inside and an
 * int64 has room for each; many of those are sorted by digits (radix.h), few
 * are merged, and merged by their indices where there is no such number.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SPARSE_ORDER_H
#define TFD_KERNELS_SPARSE_ORDER_H

#include "kernels/sparse/sparse.h"

/* Whether no index is before the one that stands before it. */
bool tfd_sparse_in_order(struct tfd_kctx *k, const struct tfd_sparse *s);

/* order[i], of s->count, becomes where element i of the sorted tensor is;
 * equal indices stay in their order.  RESOURCE_EXHAUSTED without memory. */
enum tfd_code tfd_sparse_order(const struct tfd_sparse *s, int64_t *order,
                               struct tfd_status *st) TFD_MUST_USE;

/* Elements by their rows, the first of their dimensions, where each row that
 * has none gets one. */
struct tfd_sparse_filling {
    struct tfd_sparse s;
    int64_t rows, total; /* total: elements there will be */
    int64_t *place;      /* by element of s: its number among those */
    tfd_bool *empty;     /* by row */
    bool ordered;        /* rows do not fall */
};

/* Makes total, ordered and empty, which is all ones before.  INVALID_ARGUMENT
 * for an element that is in none of the rows. */
enum tfd_code tfd_sparse_order_mark(struct tfd_sparse_filling *f,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Makes place, and the indices of all elements in `index`. */
enum tfd_code tfd_sparse_order_fill(const struct tfd_sparse_filling *f,
                                    int64_t *index,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
