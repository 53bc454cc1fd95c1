/*
 * function.h - the functions of a graph's library.
 *
 * A function's name is an op type of the graph that has it: a node whose op it
 * is calls it.  Its signature becomes a definition like any other (struct
 * tfd_op with TFD_OP_FUNCTION), so calls are checked as all nodes are.
 *
 * Bodies are kept as they came; function_body.h makes nodes of them for one
 * call, whose attributes take the place of the signature's.
 *
 * Ownership: everything lies in the graph's arena and lives as long.
 * Threads: as for the graph (graph.h).
 */
#ifndef TFD_COMMON_FUNCTION_H
#define TFD_COMMON_FUNCTION_H

#include "common/graph/graph.h"

/* A NodeDef of a body, as it is written. */
struct tfd_function_node {
    struct tfd_str name, op, device;
    const struct tfd_str *in; /* "x", "node:out:0", "^node" */
    int32_t in_count;
    const struct tfd_attr *attrs; /* with placeholders */
    int32_t attr_count;
};

struct tfd_function {
    struct tfd_op op; /* the signature */
    const struct tfd_function_node *nodes;
    int32_t node_count;
    const struct tfd_str *ret;         /* by output of the signature */
    const struct tfd_str *control_ret; /* names of nodes */
    int32_t control_ret_count;
    const struct tfd_attr *attrs; /* of the FunctionDef: "_noinline" */
    int32_t attr_count;
    struct tfd_str def;        /* the FunctionDef */
    struct tfd_function *next; /* in the graph: the one added before */
};

/* A function as an attribute names it: a NameAttrList. */
struct tfd_func {
    struct tfd_str name;
    const struct tfd_attr *attrs;
    int32_t attr_count;
};

/* Adds what the graph lacks of a FunctionDefLibrary, which was found free of
 * contradictions (graphdef_parts.h).  INVALID_ARGUMENT for what is no function.
 * After a failure the caller drops what was added. */
enum tfd_code tfd_functions_add(struct tfd_graph *g, struct tfd_str library,
                                struct tfd_status *st) TFD_MUST_USE;
/* Forgets the functions that were added after `newest` was the newest. */
void tfd_functions_drop(struct tfd_graph *g, const struct tfd_function *newest);

/* NULL when there is none of this name. */
const struct tfd_function *tfd_function_find(const struct tfd_graph *g,
                                             struct tfd_str name);
/* The function that a library names as the gradient of another; NULL. */
const struct tfd_function *tfd_function_gradient(const struct tfd_graph *g,
                                                 struct tfd_str name);
/* The definition behind an op type: a family's, else a function's; NULL. */
const struct tfd_op *tfd_function_op(const struct tfd_graph *g,
                                     struct tfd_str type);
/* The function of a node whose op has TFD_OP_FUNCTION. */
const struct tfd_function *tfd_function_of(const struct tfd_op *op);

/* Attributes that are functions, in the arena.  INVALID_ARGUMENT when missing
 * or of another kind. */
enum tfd_code tfd_node_func(const struct tfd_node *n, const char *name,
                            struct tfd_arena *arena, struct tfd_func *out,
                            struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_node_funcs(const struct tfd_node *n, const char *name,
                             struct tfd_arena *arena, struct tfd_func **out,
                             int32_t *count,
                             struct tfd_status *st) TFD_MUST_USE;

/* Reads map<string, AttrValue> fields with this tag. */
enum tfd_code tfd_function_attrs(struct tfd_str message, uint32_t tag,
                                 struct tfd_arena *arena,
                                 const struct tfd_attr **out, int32_t *count,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
