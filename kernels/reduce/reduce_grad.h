/*
 * reduce_grad.h - gradients of the operations of reduce.c.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_REDUCE_GRAD_H
#define TFD_KERNELS_REDUCE_GRAD_H

#include "kernels/core/kernel.h"

enum tfd_code tfd_reduce_sum_gradient(struct tfd_grad *g,
                                      struct tfd_status *st);
enum tfd_code tfd_reduce_product_gradient(struct tfd_grad *g,
                                          struct tfd_status *st);
enum tfd_code tfd_reduce_mean_gradient(struct tfd_grad *g,
                                       struct tfd_status *st);
enum tfd_code tfd_reduce_norm_gradient(struct tfd_grad *g,
                                       struct tfd_status *st);
enum tfd_code tfd_reduce_order_gradient(struct tfd_grad *g,
                                        struct tfd_status *st);

#endif
