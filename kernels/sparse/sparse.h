/*
 * sparse.h - sparse tensors as ops get them: a matrix of indices, a vector of
 * values, a vector of dimensions.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SPARSE_H
#define TFD_KERNELS_SPARSE_H

#include "kernels/core/kernel.h"

struct tfd_sparse {
    const int64_t *index; /* count rows of rank numbers */
    const int64_t *dim;   /* rank; not negative */
    int64_t count;
    int rank;
    const struct tfd_tensor *values;
};

/* Inputs `first` to `first` + 2 of a node.  INVALID_ARGUMENT when their
 * shapes do not fit each other or a dimension is negative.  The inputs keep
 * what it points to. */
enum tfd_code tfd_sparse_read(const struct tfd_kctx *k, int first,
                              struct tfd_sparse *out,
                              struct tfd_status *st) TFD_MUST_USE;

/* INVALID_ARGUMENT for an index outside of the dimensions. */
enum tfd_code tfd_sparse_check_bounds(const struct tfd_sparse *s,
                                      struct tfd_status *st) TFD_MUST_USE;
/* Likewise, and for indices that are not in row-major order, or repeated. */
enum tfd_code tfd_sparse_check_order(const struct tfd_sparse *s,
                                     struct tfd_status *st) TFD_MUST_USE;

/* Less than, equal to or greater than 0 as a is before b in row-major order. */
static inline int tfd_sparse_compare(const int64_t *a, const int64_t *b,
                                     int rank)
{
    for (int d = 0; d < rank; d++)
        if (a[d] != b[d])
            return a[d] < b[d] ? -1 : 1;
    return 0;
}
/* Whether an index is within dimensions, none of which is negative. */
static inline bool tfd_sparse_is_inside(const int64_t *index,
                                        const int64_t *dim, int rank)
{
    bool inside = true;

    for (int d = 0; d < rank; d++)
        inside &= (uint64_t)index[d] < (uint64_t)dim[d];
    return inside;
}

/* "[1,2]" */
#define TFD_SPARSE_TEXT_MAX 256
const char *tfd_sparse_text(const int64_t *index, int rank, char *text);

#endif
