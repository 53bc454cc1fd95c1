/*
 * segment_short.h - folds of sorted segments whose rows are few elements
 * (segment_loops.h).
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_SEGMENT_SHORT_H
#define TFD_KERNELS_SEGMENT_SHORT_H

#include "kernels/sparse/segment_loops.h"

/* Stretches of rows that are gone through at once. */
#define TFD_SEGMENT_STRETCHES 3

/* Rows [at, end) and what the segment before `at` has so far. */
struct tfd_segment_stretch {
    int64_t at, end;
    uint64_t sum[2], rows[2]; /* vectors of 16 bytes */
};

/* Folds TFD_SEGMENT_STRETCHES, none of which begins with row 0. */
typedef void tfd_segment_short_fn(const struct tfd_segments *s,
                                  struct tfd_segment_stretch *stretch);

/* NULL: a segment at a time. */
tfd_segment_short_fn *tfd_segment_short_for(enum tfd_segment_fold fold,
                                            const struct tfd_segments *s);

/* Fills rows [begin, end) of y, which have no id. */
void tfd_segment_gap(const struct tfd_segments *s, int64_t begin, int64_t end);

#endif
