/*
 * sparse_segment_loops.h - sums of rows that are picked from a table, the inner
 * loops of SparseSegment<X> and their gradients.
 *
 *     y[row] = (x[pick begin] + ... + x[pick end - 1]) * scale
 *
 * Rows are added in the order of the picks, from 0 on; 16-bit floats are added
 * as floats, integers wrap.  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_SPARSE_SEGMENT_LOOPS_H
#define TFD_KERNELS_SPARSE_SEGMENT_LOOPS_H

#include "common/base/tensor.h"

/* A pick by itself, as backward sums have them. */
struct tfd_pick {
    int64_t to, from, at; /* rows of y and x; its place among the indices */
    double weight;        /* the row is multiplied by it */
};

/* All picks are in `list`, or, where that is NULL, they are the numbers of
 * rows in `index`, each of weight 1.  Whoever fills this in has checked that
 * x has all these rows. */
struct tfd_picks {
    const struct tfd_pick *list;
    const void *index;
    enum tfd_dtype index_type; /* INT32 or INT64 */
    const void *x;
    void *y;
    int64_t inner; /* elements of a row; at least 1 */
};

/* Sums picks [begin, end) to a row of y.  scale: 1 where y holds integers. */
typedef void tfd_picks_sum_fn(const struct tfd_picks *p, int64_t begin,
                              int64_t end, int64_t row, double scale);

/* NULL: no sum of the type. */
tfd_picks_sum_fn *tfd_picks_sum_of(enum tfd_dtype dtype,
                                   const struct tfd_picks *p);

/* The same backward, without a list in order:
 *
 *     y[index[i]] += x[id[i]] * weight[id[i]]      i = 0, 1, ...
 *
 * y holds zeros before; each sum has the order, and so the bits, of the one
 * above.  weight: one a row of x, or NULL, each is 1. */
struct tfd_picks_back {
    const void *index, *id; /* INT32 or INT64; checked */
    enum tfd_dtype index_type, id_type;
    const double *weight;
    const void *x;
    void *y;
    int64_t count, inner;
};

/* False, and nothing is done: there is no such loop of the type.  A step that
 * has ended leaves y half done (common/thread/halt.h). */
bool tfd_picks_add(enum tfd_dtype dtype, const struct tfd_picks_back *p);

#endif
