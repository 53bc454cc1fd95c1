/*
 * tensor_list_grad.h - gradients of the operations of lists: what is read from
 * a list sends a list back, and the other way round.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_TENSOR_LIST_GRAD_H
#define TFD_KERNELS_TENSOR_LIST_GRAD_H

#include "kernels/core/kernel.h"

enum tfd_code tfd_list_push_gradient(struct tfd_grad *g, struct tfd_status *st);
enum tfd_code tfd_list_pop_gradient(struct tfd_grad *g, struct tfd_status *st);
enum tfd_code tfd_list_get_gradient(struct tfd_grad *g, struct tfd_status *st);
enum tfd_code tfd_list_set_gradient(struct tfd_grad *g, struct tfd_status *st);
enum tfd_code tfd_list_resize_gradient(struct tfd_grad *g,
                                       struct tfd_status *st);
enum tfd_code tfd_list_stack_gradient(struct tfd_grad *g,
                                      struct tfd_status *st);
enum tfd_code tfd_list_from_gradient(struct tfd_grad *g, struct tfd_status *st);
enum tfd_code tfd_list_gather_gradient(struct tfd_grad *g,
                                       struct tfd_status *st);
enum tfd_code tfd_list_scatter_gradient(struct tfd_grad *g,
                                        struct tfd_status *st);
enum tfd_code tfd_list_scatter_into_gradient(struct tfd_grad *g,
                                             struct tfd_status *st);
enum tfd_code tfd_list_concat_gradient(struct tfd_grad *g,
                                       struct tfd_status *st);
enum tfd_code tfd_list_split_gradient(struct tfd_grad *g,
                                      struct tfd_status *st);

#endif
