/*
 * branch_grad.h - the gradient of one function out of several: If, Case.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_BRANCH_GRAD_H
#define TFD_KERNELS_BRANCH_GRAD_H

#include "kernels/core/kernel.h"

/* If, StatelessIf. */
enum tfd_code tfd_branch_if_gradient(struct tfd_grad *g, struct tfd_status *st);
/* Case, StatelessCase. */
enum tfd_code tfd_branch_case_gradient(struct tfd_grad *g,
                                       struct tfd_status *st);

#endif
