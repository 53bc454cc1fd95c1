/*
 * segment.h - gradients of segment.c, in segment_grad.c.
 *
 * Threads: one, the graph's.
 */
#ifndef TFD_KERNELS_SEGMENT_H
#define TFD_KERNELS_SEGMENT_H

#include "kernels/kernel.h"

tfd_grad_fn tfd_segment_sum_gradient;
tfd_grad_fn tfd_segment_mean_gradient;
tfd_grad_fn tfd_segment_extreme_gradient;
tfd_grad_fn tfd_unsorted_segment_sum_gradient;
tfd_grad_fn tfd_unsorted_segment_extreme_gradient;
/* Of both kinds. */
tfd_grad_fn tfd_segment_prod_gradient;

#endif
