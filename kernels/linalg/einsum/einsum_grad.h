/*
 * einsum_grad.h - the gradient of Einsum.  Threads: the one that builds the
 * graph.
 */
#ifndef TFD_KERNELS_EINSUM_GRAD_H
#define TFD_KERNELS_EINSUM_GRAD_H

#include "kernels/core/kernel.h"

enum tfd_code tfd_einsum_gradient(struct tfd_grad *g, struct tfd_status *st);

#endif
