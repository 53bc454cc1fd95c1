/*
 * tensor_array_grad.h - gradients of the operations of arrays, by way of the
 * gradient array that TensorArrayGradV3 makes of each.
 *
 * Of all three spellings; a gradient's ops have that of the node they belong
 * to. TensorFlow names a function for each as well, but what it builds for
 * strings is of resources, which no kernel takes.
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
/* These two have a string's spelling alone. */
enum tfd_code tfd_tensor_array_pack_gradient(struct tfd_grad *g,
                                             struct tfd_status *st);
enum tfd_code tfd_tensor_array_unpack_gradient(struct tfd_grad *g,
                                               struct tfd_status *st);

#endif
