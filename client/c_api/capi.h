/*
 * capi.h - the structs behind the types of tensorflow/c/c_api.h, and what the
 * files that implement them share.
 *
 * A TF_Graph adds to a tfd_graph what a client wants and a server does not: an
 * address for each node that a program can keep (TF_Operation), and the shapes
 * of outputs as far as they are known.
 *
 * Threads: a graph's lock covers its growth.  Nodes are read without it: a
 * TF_Operation is complete before anybody has its address, except for the
 * shapes that TF_GraphSetTensorShape() changes, which need the lock.
 */
#ifndef TFD_CLIENT_CAPI_H
#define TFD_CLIENT_CAPI_H

#include <tensorflow/c/c_api.h>

#include "common/graph/graph.h"
#include "common/thread/lock.h"
#include "config/limits.h"
#include "kernels/core/registry.h"

struct TF_Status {
    struct tfd_status st;
};

struct TF_Tensor {
    struct tfd_tensor tensor;
};

struct TF_Operation {
    TF_Graph *graph;
    struct tfd_node *node;
    struct tfd_shape *shapes; /* of the outputs; in the graph's arena */
};

struct TF_Graph {
    struct tfd_lock lock;
    int refs; /* the program's and one for each session; atomic */
    struct tfd_graph *graph;
    TF_Operation **operations; /* by node id; operation_count of them */
    int32_t operation_count;
    int32_t capacity;
    /* Of a loop's cond or body (c_api_while.c): where it will go, counted, and
     * what it begins with there. */
    TF_Graph *parent;
    struct tfd_edge *loop_inputs;
    struct tfd_bytes frames; /* struct tfd_str: names of loops made here */
};

/* What one message made here may have: as a GraphDef. */
#define TFD_CAPI_MESSAGE_MAX ((size_t)TFD_GRPC_MESSAGE_SIZE_MAX)

/* Ops and kernels for shapes and gradients; made once, shared by all graphs.
 * NULL, and *st says why, when a definition is wrong. */
const struct tfd_registry *tfd_capi_registry(struct tfd_status *st);

/* The caller's status, emptied. */
struct tfd_status *tfd_capi_status(TF_Status *status);

/* Gives the bytes to the program's buffer, which must be empty. */
enum tfd_code tfd_capi_give(TF_Buffer *out, struct tfd_bytes *take_bytes,
                            struct tfd_status *st) TFD_MUST_USE;

/* ---- Tensors ------------------------------------------------------------- */

/* NULL without memory; the reference is taken in any case. */
TF_Tensor *tfd_capi_tensor(struct tfd_tensor *take_tensor);

/* ---- Graphs: the lock is held -------------------------------------------- */

/* Makes operations of the nodes that the tfd_graph has gained and infers their
 * shapes.  On failure takes them out again, back to node number `first`. */
enum tfd_code tfd_capi_adopt(TF_Graph *g, int32_t first,
                             struct tfd_status *st) TFD_MUST_USE;
/* Adds one node and adopts it. */
enum tfd_code tfd_capi_add(TF_Graph *g, const struct tfd_node_spec *spec,
                           TF_Operation **out,
                           struct tfd_status *st) TFD_MUST_USE;
/* Forgets the operations from `count` on. */
void tfd_capi_truncate(TF_Graph *g, int32_t count);

/* Shapes of the outputs of one operation (infer.c). */
enum tfd_code tfd_capi_infer(const TF_Graph *g, TF_Operation *op,
                             struct tfd_status *st) TFD_MUST_USE;

/* ---- Graphs: without the lock -------------------------------------------- */

TF_Graph *tfd_capi_graph_ref(TF_Graph *g);
void tfd_capi_graph_unref(TF_Graph *g);

/* The edge that an output is, or its text for messages.  INVALID_ARGUMENT when
 * there is no such output in this graph. */
enum tfd_code tfd_capi_edge(const TF_Graph *g, TF_Output output,
                            struct tfd_edge *out,
                            struct tfd_status *st) TFD_MUST_USE;
/* The lock is held, or the graph does not grow. */
TF_Output tfd_capi_output(const TF_Graph *g, struct tfd_edge e);

#endif
