/*
 * function_body.h - a function's body for one call: names resolved, attributes
 * in the place of placeholders.
 *
 * Nodes are numbered from 0: first the tensors of the arguments, each a node
 * with one output, then the nodes of the body.  Inputs may name nodes that come
 * later: bodies stand in any order, and loops in them close.
 *
 * Within a body a tensor is called "argument", "argument:2", "node:out" or
 * "node:out:2": argument or output of the definition, then which of a list's
 * tensors; without that number, all of them.
 *
 * Ownership: arena.  Threads: as for the graph (graph.h).
 */
#ifndef TFD_COMMON_FUNCTION_BODY_H
#define TFD_COMMON_FUNCTION_BODY_H

#include "common/graph/function.h"

struct tfd_body_node {
    struct tfd_node node; /* name as in the body; no types, no out_count */
    int32_t arg;          /* position among the arguments, or -1 */
};

struct tfd_body {
    const struct tfd_function *function;
    struct tfd_body_node *nodes;
    int32_t count, arg_count;
    const uint8_t *arg_types; /* as declared */
    const uint8_t *ret_types;
    struct tfd_edge *ret;
    struct tfd_str *ret_names; /* of the outputs, by tensor */
    int32_t ret_count;
    int32_t *control_ret;
    int32_t control_ret_count;
};

/* attrs: of the call, for the attributes of the signature. */
enum tfd_code tfd_function_body(const struct tfd_graph *g,
                                const struct tfd_func *call,
                                struct tfd_arena *arena, struct tfd_body *out,
                                struct tfd_status *st) TFD_MUST_USE;

/* Tensors that all outputs of a node are, by its attributes; -1 when one of
 * them is missing or out of bounds. */
int64_t tfd_function_outputs(const struct tfd_node *n);
int64_t tfd_function_inputs(const struct tfd_node *n); /* likewise */

#endif
