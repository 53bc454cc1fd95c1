/*
 * symbolic_grad.h - the gradient of SymbolicGradient: second derivatives of
 * functions.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_SYMBOLIC_GRAD_H
#define TFD_KERNELS_SYMBOLIC_GRAD_H

#include "kernels/core/kernel.h"

/* NOT_FOUND where it would have to be made within another such gradient: of a
 * function that calls functions, second derivatives end there. */
enum tfd_code tfd_symbolic_gradient(struct tfd_grad *g, struct tfd_status *st);

#endif
