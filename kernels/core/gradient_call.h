/*
 * gradient_call.h - gradients of calls of functions, which have no gradient
 * function of their own.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_GRADIENT_CALL_H
#define TFD_KERNELS_GRADIENT_CALL_H

#include "common/graph/function.h"
#include "kernels/core/kernel.h"

/* A function by its name as op type, or a PartitionedCall. */
bool tfd_gradient_is_call(const struct tfd_node *n);
/* A tfd_grad_fn for these. */
enum tfd_code tfd_gradient_of_call(struct tfd_grad *g,
                                   struct tfd_status *st) TFD_MUST_USE;

/* The types of what comes of f's arguments in[]: their own; of a variable's
 * handle what f reads, and where f reads nothing TFD_RESOURCE.  Those that are
 * no TFD_RESOURCE already stay: of another branch. */
enum tfd_code tfd_gradient_types(struct tfd_grad *g, const struct tfd_func *f,
                                 const struct tfd_edge *in, int args,
                                 int *types,
                                 struct tfd_status *st) TFD_MUST_USE;
/* SymbolicGradient of f: of in[] the first `args` are f's arguments, then
 * follow what arrived at its results.  out: by argument, of these types; none
 * for TFD_RESOURCE. */
enum tfd_code tfd_gradient_symbolic(struct tfd_grad *g,
                                    const struct tfd_func *f,
                                    const struct tfd_edge *in, int args,
                                    int results, const int *types,
                                    struct tfd_edge *out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* A call of f by `op`, a PartitionedCall; types: of its results. */
enum tfd_code tfd_gradient_call(struct tfd_grad *g, const char *op,
                                const struct tfd_func *f,
                                const struct tfd_edge *in, int in_count,
                                const int *types, struct tfd_edge *out,
                                int out_count,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
