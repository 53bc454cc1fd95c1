/*
 * sparse_segment_sums.h - what SparseSegment<X> and their gradients share on
 * CPUs: sums of picked rows, into output 0 (sparse_segment.c).
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SPARSE_SEGMENT_SUMS_H
#define TFD_KERNELS_SPARSE_SEGMENT_SUMS_H

#include "kernels/sparse/sparse_segment.h"
#include "kernels/sparse/sparse_segment_loops.h"

/* Picks to be summed, forward as they arrive, backward in a list whose groups
 * go to a row each. */
struct tfd_segment_sums {
    struct tfd_picks picks;
    int64_t count;
    enum tfd_segment_norm norm; /* of what has been summed */
    tfd_picks_sum_fn *sum;
    int64_t rows; /* of the output */
    const void *ids;
    bool wide_ids;
    struct tfd_pick *list;
    int64_t *group; /* where it begins; one more at the end */
    int64_t groups;
};

/* What a segment of `count` rows is multiplied by. */
double tfd_segment_scale(enum tfd_segment_norm norm, int64_t count);
/* Makes output 0 of f->rows rows, and fills in what sums are made with. */
enum tfd_code tfd_segment_sums_output(struct tfd_kctx *k,
                                      struct tfd_segment_sums *f,
                                      struct tfd_status *st) TFD_MUST_USE;
/* Nanoseconds, rather too few, to add a row. */
int tfd_segment_row_cost(const struct tfd_segment_sums *f);
/* Checks pick i, whose index and whose segment id are below a limit each. */
enum tfd_code tfd_segment_check_pick(const struct tfd_kctx *k, bool forward,
                                     int64_t i, const int64_t limit[2],
                                     struct tfd_status *st) TFD_MUST_USE;

static inline int64_t tfd_segment_id_at(const struct tfd_segment_sums *f,
                                        int64_t i)
{
    return f->wide_ids ? ((const int64_t *)f->ids)[i]
                       : ((const int32_t *)f->ids)[i];
}

/* The kernels of the gradients: of all rows, and of those that are not zero,
 * whose numbers are output 1 (sparse_segment_back.c). */
enum tfd_code tfd_segment_sums_back(struct tfd_kctx *k, struct tfd_status *st);
enum tfd_code tfd_segment_sums_back_rows(struct tfd_kctx *k,
                                         struct tfd_status *st);

#endif
