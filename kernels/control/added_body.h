/*
 * added_body.h - the body of a function as nodes of the graph that its gradient
 * is added to, so that what derives them has a derivative itself.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_ADDED_BODY_H
#define TFD_KERNELS_ADDED_BODY_H

#include "common/graph/function.h"
#include "kernels/core/kernel.h"

struct tfd_added_body {
    struct tfd_grad *g; /* where nodes are added */
    const struct tfd_func *f;
    int32_t anchor; /* node that those without inputs wait for: of the frame */
    struct tfd_arena *arena;
};

/* Adds the nodes of f with in[] as arguments.  *done is false, and nothing was
 * added, where f has loops of its own, is not known, or has not so many
 * arguments and results; and within a gradient that is made for such a body. */
enum tfd_code tfd_added_body_add(const struct tfd_added_body *b,
                                 const struct tfd_edge *in, int32_t in_count,
                                 struct tfd_edge *out, int32_t out_count,
                                 bool *done,
                                 struct tfd_status *st) TFD_MUST_USE;

/* The same, and what derives it: dy arrived at its results, none where nothing
 * did; dx: by argument, or none. */
enum tfd_code tfd_added_body_derive(const struct tfd_added_body *b,
                                    const struct tfd_edge *in,
                                    const struct tfd_edge *dy, int32_t count,
                                    struct tfd_edge *dx, bool *done,
                                    struct tfd_status *st) TFD_MUST_USE;

/* What derives y by x, where dy arrived at y; results at which nothing did are
 * left out.  Nodes of x are for x alone, one for each. */
struct tfd_added_ends {
    const struct tfd_edge *y, *dy;
    int32_t y_count;
    const struct tfd_edge *x;
    int32_t x_count;
};
enum tfd_code tfd_added_body_walk(const struct tfd_added_body *b,
                                  const struct tfd_added_ends *ends,
                                  struct tfd_edge *dx,
                                  struct tfd_status *st) TFD_MUST_USE;

#endif
