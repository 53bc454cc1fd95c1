/*
 * slice_grad.h - the gradient functions of the operations of slice.c.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_SLICE_GRAD_H
#define TFD_KERNELS_SLICE_GRAD_H

#include "kernels/core/kernel.h"

enum tfd_code tfd_slice_gradient(struct tfd_grad *g, struct tfd_status *st);
enum tfd_code tfd_pad_gradient(struct tfd_grad *g, struct tfd_status *st);
enum tfd_code tfd_slice_strided_gradient(struct tfd_grad *g,
                                         struct tfd_status *st);
enum tfd_code tfd_slice_strided_grad_gradient(struct tfd_grad *g,
                                              struct tfd_status *st);

#endif
