/*
 * gradient_walk.h - derivatives of outputs of a graph, added to it as nodes: a
 * client's (client/train/gradients.h), or a function's body for
 * SymbolicGradient.
 *
 * Names begin as TensorFlow's Python makes them: "gradients/Relu_grad/ReluGrad"
 * for what belongs to node Relu, "gradients/AddN" for a sum.
 *
 * While loops that are no part of others are gone through backwards by loops of
 * their own (gradient_loop.h).
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_GRADIENT_WALK_H
#define TFD_KERNELS_GRADIENT_WALK_H

#include "common/base/arena.h"
#include "kernels/core/kernel.h"

/* Where the nodes go. */
struct tfd_gradient_host {
    struct tfd_graph *graph;
    enum tfd_code (*add)(void *arg, const struct tfd_node_spec *spec,
                         struct tfd_node **out, struct tfd_status *st);
    /* As far as it is known.  NULL: nothing is. */
    const struct tfd_shape *(*shape)(void *arg, struct tfd_edge e);
    void *arg;
};

struct tfd_gradients {
    const struct tfd_gradient_host *host;
    struct tfd_str prefix; /* of the names: "gradients" */
    struct tfd_str device; /* requested for the new nodes; "" none */
    /* In a frame: a node that new ones without inputs wait for.  NULL: none */
    const int32_t *anchor;
    const struct tfd_edge *y;
    int y_count;
    const struct tfd_edge *dy; /* by y, none means ones; NULL: all ones */
    const struct tfd_edge *x;
    int x_count;
    struct tfd_edge *dx; /* out: by x; none where no y depends on it */
};

/* NOT_FOUND for a node on the way that has no gradient.  On failure the caller
 * drops the nodes that were added. */
enum tfd_code tfd_gradient_walk(const struct tfd_gradients *r,
                                struct tfd_status *st) TFD_MUST_USE;

/* ---- Within gradient_*.c ------------------------------------------------- */

struct tfd_gradient_loop;

/* Where gradient functions add their nodes: tfd_grad.builder. */
struct tfd_gradient_builder {
    const struct tfd_gradients *request;
    struct tfd_bytes scope; /* "gradients/Relu_grad"; the name while it is made;
                               so its size changes */
    struct tfd_gradient_loop *loop; /* whose body is derived; NULL: none */
    struct tfd_status *st;
};

/* Type without TFD_REF; the shape as far as it is known. */
enum tfd_dtype tfd_gradient_type(const struct tfd_graph *g, struct tfd_edge e);
const struct tfd_shape *tfd_gradient_known(const struct tfd_gradients *r,
                                           struct tfd_edge e);
bool tfd_gradient_has_derivative(enum tfd_dtype t);

/* Derives nodes below `count` that are in the loop, from y to x, and no further
 * than to the nodes of x. */
enum tfd_code tfd_gradient_walk_body(struct tfd_gradient_builder *b,
                                     const struct tfd_gradients *r,
                                     int32_t count,
                                     struct tfd_status *st) TFD_MUST_USE;

/* A node with one output, as tfd_grad_emit_attrs() makes it, but with control
 * inputs and without a look at the loop. */
enum tfd_code tfd_gradient_add(struct tfd_gradient_builder *b, const char *op,
                               const struct tfd_edge *in, int in_count,
                               const struct tfd_attr *attrs, int attr_count,
                               const int32_t *control, int control_count,
                               struct tfd_node **out,
                               struct tfd_status *st) TFD_MUST_USE;

/* A node as it is described, but for its name; its device is the request's
 * where it asks for none. */
enum tfd_code tfd_gradient_add_spec(struct tfd_gradient_builder *b,
                                    struct tfd_node_spec *spec,
                                    struct tfd_node **out,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
