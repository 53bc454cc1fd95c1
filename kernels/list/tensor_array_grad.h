/*
 * tensor_array_grad.h - gradients of the operations of arrays, by way of the
 * gradient array that TensorArrayGradV3 makes of each.
 *
 * Of the spelling V3 alone, for which TensorFlow has them.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_TENSOR_ARRAY_GRAD_H
#define TFD_KERNELS_TENSOR_ARRAY_GRAD_H

#include "kernels/core/kernel.h"

enum tfd_code tfd_tensor_array_read_gradient(struct tfd_grad *g,
                                             struct tfd_status *st);
enum tfd_code tfd_tensor_array_write_gradient(struct tfd_grad *g,
                                              struct tfd_status *st);
enum tfd_code tfd_tensor_array_gather_gradient(struct tfd_grad *g,
                                               struct tfd_status *st);
enum tfd_code tfd_tensor_array_scatter_gradient(struct tfd_grad *g,
                                                struct tfd_status *st);
enum tfd_code tfd_tensor_array_concat_gradient(struct tfd_grad *g,
                                               struct tfd_status *st);
enum tfd_code tfd_tensor_array_split_gradient(struct tfd_grad *g,
                                              struct tfd_status *st);

#endif
