/*
 * special_grad.h - gradients of some operations of special.c.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_SPECIAL_GRAD_H
#define TFD_KERNELS_SPECIAL_GRAD_H

#include "kernels/core/kernel.h"

/* By both inputs. */
enum tfd_code tfd_special_xlogy_gradient(struct tfd_grad *g,
                                         struct tfd_status *st);
enum tfd_code tfd_special_xlog1py_gradient(struct tfd_grad *g,
                                           struct tfd_status *st);
enum tfd_code tfd_special_xdivy_gradient(struct tfd_grad *g,
                                         struct tfd_status *st);
enum tfd_code tfd_special_mul_no_nan_gradient(struct tfd_grad *g,
                                              struct tfd_status *st);
enum tfd_code tfd_special_next_after_gradient(struct tfd_grad *g,
                                              struct tfd_status *st);
/* By the last input alone, as in TensorFlow. */
enum tfd_code tfd_special_zeta_gradient(struct tfd_grad *g,
                                        struct tfd_status *st);
enum tfd_code tfd_special_polygamma_gradient(struct tfd_grad *g,
                                             struct tfd_status *st);
enum tfd_code tfd_special_betainc_gradient(struct tfd_grad *g,
                                           struct tfd_status *st);

#endif
