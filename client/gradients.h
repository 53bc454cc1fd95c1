/*
 * gradients.h - derivatives of outputs of a graph, added to it as operations.
 *
 * Names begin as TensorFlow's Python makes them: "gradients/Relu_grad/ReluGrad"
 * for what belongs to node Relu, "gradients/AddN" for a sum.
 *
 * Threads: the graph's lock is held.
 */
#ifndef TFD_CLIENT_GRADIENTS_H
#define TFD_CLIENT_GRADIENTS_H

#include "client/capi.h"

struct tfd_gradients {
    TF_Graph *g;
    struct tfd_str prefix; /* of the names: "gradients" */
    struct tfd_str device; /* requested for the new nodes; "" none */
    const struct tfd_edge *y;
    int y_count;
    const struct tfd_edge *dy; /* by y, none means ones; NULL: all ones */
    const struct tfd_edge *x;
    int x_count;
    struct tfd_edge *dx; /* out: by x; none where no y depends on it */
};

/* NOT_FOUND for an operation on the way that has no gradient.  On failure the
 * graph is as it was. */
enum tfd_code tfd_gradients_add(const struct tfd_gradients *r,
                                struct tfd_status *st) TFD_MUST_USE;

/* "gradients", or "gradients_1" ... where that is taken. */
enum tfd_code tfd_gradients_prefix(const TF_Graph *g, struct tfd_bytes *out,
                                   struct tfd_status *st) TFD_MUST_USE;
/* No node has this name, or one that begins with it and a slash. */
bool tfd_gradients_prefix_free(const TF_Graph *g, struct tfd_str prefix);

/* ---- Between gradients.c and gradient_emit.c ----------------------------- */

/* Where gradient functions add their nodes: tfd_grad.builder. */
struct tfd_gradient_builder {
    const struct tfd_gradients *request;
    struct tfd_bytes scope; /* "gradients/Relu_grad"; the name while it is made;
                               so its size changes */
    struct tfd_status *st;
};

/* Type without TFD_REF; the shape as far as it is known. */
enum tfd_dtype tfd_gradient_type(const TF_Graph *g, struct tfd_edge e);
const struct tfd_shape *tfd_gradient_known(const TF_Graph *g,
                                           struct tfd_edge e);

#endif
