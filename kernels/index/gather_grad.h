/*
 * gather_grad.h - gradients of the operations of gather.c: dense, by
 * UnsortedSegmentSum.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_GATHER_GRAD_H
#define TFD_KERNELS_GATHER_GRAD_H

#include "kernels/core/kernel.h"

enum tfd_code tfd_gather_gradient(struct tfd_grad *g, struct tfd_status *st);
enum tfd_code tfd_gather_first_gradient(struct tfd_grad *g,
                                        struct tfd_status *st);
/* That of the variable. */
enum tfd_code tfd_gather_resource_gradient(struct tfd_grad *g,
                                           struct tfd_status *st);

#endif
