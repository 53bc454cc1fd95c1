/*
 * sparse_segment.h - reads the attributes and checks the shapes of
 * SparseSegment<X> and their gradients, for the kernels of all devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SPARSE_SEGMENT_H
#define TFD_KERNELS_SPARSE_SEGMENT_H

#include "kernels/core/kernel.h"

/* The state: what a segment's sum is divided by, 1, its size or the root of
 * that. */
enum tfd_segment_norm {
    TFD_SEGMENT_NORM_SUM,
    TFD_SEGMENT_NORM_MEAN,
    TFD_SEGMENT_NORM_SQRT_N
};
enum tfd_code tfd_sparse_segment_prepare(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st);
/* Shapes. */
enum tfd_code tfd_sparse_segment_check(const struct tfd_kctx *k,
                                       struct tfd_status *st) TFD_MUST_USE;
/* Input 3: of the output. */
enum tfd_code tfd_sparse_segment_rows(const struct tfd_kctx *k, int64_t *rows,
                                      struct tfd_status *st) TFD_MUST_USE;

#endif
