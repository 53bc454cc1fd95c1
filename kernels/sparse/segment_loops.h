/*
 * segment_loops.h - rows of sorted segments folded to one row each.
 *
 * A fold takes rows that lie one after the other, in their order:
 *
 *     to[n] = rows[0][n] f rows[1][n] f ...        n < inner
 *
 * and divides by their number where the fold is the mean and there are more
 * than one.  f is one of scatter.h's.  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_SEGMENT_LOOPS_H
#define TFD_KERNELS_SEGMENT_LOOPS_H

#include "kernels/sparse/segment.h"

struct tfd_segments {
    const void *ids; /* INT32 or INT64; they increase and are not negative */
    const void *x;   /* count rows of inner elements */
    void *y;         /* a row for each id up to the last */
    int64_t count, inner;
    enum tfd_dtype ids_type, dtype;
    const void *empty; /* the element of rows without an id */
};

/* Whether they increase (each at least the one before), and the first is not
 * negative. */
bool tfd_segment_increases(const struct tfd_tensor *ids);

/* All of them, shared among threads; UNIMPLEMENTED where there is no such fold
 * of the type. */
enum tfd_code tfd_segment_fold_sorted(struct tfd_kctx *k,
                                      enum tfd_segment_fold fold,
                                      const struct tfd_segments *s,
                                      struct tfd_status *st) TFD_MUST_USE;

#endif
