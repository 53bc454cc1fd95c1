/*
 * while_grad.h - the gradient of While and StatelessWhile.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_WHILE_GRAD_H
#define TFD_KERNELS_WHILE_GRAD_H

#include "common/graph/function.h"
#include "kernels/core/kernel.h"

/* NOT_FOUND where the loop must not run once more: it changes what outlives it,
 * or draws random numbers. */
enum tfd_code tfd_while_gradient(struct tfd_grad *g, struct tfd_status *st);

/* while_again.c: the same refusal.  f: the loop's functions, which with all
 * that they call are looked at. */
enum tfd_code tfd_while_check_again(const struct tfd_graph *graph,
                                    const struct tfd_node *n,
                                    const struct tfd_func *f, int count,
                                    struct tfd_arena *arena,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
