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

/* Rows [at, end), which begin with a segment, and the id of the row before. */
struct tfd_segment_stretch {
    int64_t at, end, last;
    int64_t begin, segment; /* of the segment of the row before `at` */
    uint64_t fold[4];       /* what it has so far: a vector of 32 bytes */
};

/* Whether the rows are few enough elements, of such a type. */
bool tfd_segment_short_has(enum tfd_segment_fold fold,
                           const struct tfd_segments *s);

/* Folds TFD_SEGMENT_STRETCHES, of which at, end and last are given, and none
 * begins with row 0. */
void tfd_segment_short_fold(enum tfd_segment_fold fold,
                            const struct tfd_segments *s,
                            struct tfd_segment_stretch *stretch);

/* Fills rows [begin, end) of y, which have no id. */
void tfd_segment_gap(const struct tfd_segments *s, int64_t begin, int64_t end);

#endif
