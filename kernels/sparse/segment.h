/*
 * segment.h - what the kernels of SegmentSum, UnsortedSegmentSum and their kin
 * share on every device: the fold as their state, checks and outputs; and their
 * gradients, which are in segment_grad.c.  INVALID_ARGUMENT in TensorFlow's
 * words.
 *
 * Threads: any; gradients: the one that builds the graph.
 */
#ifndef TFD_KERNELS_SEGMENT_H
#define TFD_KERNELS_SEGMENT_H

#include "kernels/core/kernel.h"

/* The state of all kernels. */
enum tfd_segment_fold {
    TFD_SEGMENT_SUM,
    TFD_SEGMENT_PROD,
    TFD_SEGMENT_MIN,
    TFD_SEGMENT_MAX,
    TFD_SEGMENT_MEAN,
};
enum tfd_code tfd_segment_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st);

/* What a segment without rows has, as the bits of an element, the first of two
 * halves where it is complex; zeros follow. */
uint64_t tfd_segment_empty(enum tfd_dtype dtype, enum tfd_segment_fold fold,
                           bool sorted);

/* UnsortedSegment<X>: checks the shapes and makes output 0. */
enum tfd_code tfd_segment_unsorted_output(struct tfd_kctx *k,
                                          struct tfd_status *st) TFD_MUST_USE;
/* Segment<X>: checks shapes and ids, which are in the host's memory, and makes
 * output 0. */
enum tfd_code tfd_segment_sorted_output(struct tfd_kctx *k,
                                        struct tfd_status *st) TFD_MUST_USE;

tfd_grad_fn tfd_segment_sum_gradient;
tfd_grad_fn tfd_segment_mean_gradient;
tfd_grad_fn tfd_segment_extreme_gradient;
tfd_grad_fn tfd_segment_unsorted_sum_gradient;
tfd_grad_fn tfd_segment_unsorted_extreme_gradient;
/* Of both kinds. */
tfd_grad_fn tfd_segment_prod_gradient;

#endif
