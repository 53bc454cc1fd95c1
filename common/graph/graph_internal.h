/*
 * graph_internal.h - functions that the files which implement graph.h
 * (common/graph/graph*.c) call of each other; nobody else includes this.
 *
 * Threads: as for the graph (graph.h).
 */
#ifndef TFD_COMMON_GRAPH_INTERNAL_H
#define TFD_COMMON_GRAPH_INTERNAL_H

#include "common/graph/graph.h"

/* "node", "node:1", "^node" in its parts.  False for a text that can be none of
 * these, and for a number over INT32_MAX. */
bool tfd_graph_endpoint_split(struct tfd_str text, struct tfd_str *name,
                              int32_t *output);

/* `from` exists and may be input `input` of n: the type is right, and it is a
 * reference where one is needed. */
enum tfd_code tfd_graph_check_edge(const struct tfd_graph *g,
                                   const struct tfd_node *n, int32_t input,
                                   struct tfd_edge from,
                                   struct tfd_status *st) TFD_MUST_USE;

/* Number of tensors in an argument; negative when the attribute that says so
 * is missing or negative itself. */
int64_t tfd_graph_arg_count(const struct tfd_node *n,
                            const struct tfd_op_arg *arg);

/* Appends to attrs (with room for all of the op's) what the inputs determine
 * and n->attrs lacks: N, T and lists of types (graph_infer.c). */
enum tfd_code tfd_graph_infer_attrs(struct tfd_graph *g, struct tfd_node *n,
                                    struct tfd_attr *attrs,
                                    struct tfd_status *st) TFD_MUST_USE;

#define TFD_PRINTABLE_MAX 128
/* A copy for messages: short, and '?' for what is no printable ASCII, because
 * texts of errors travel as UTF-8.  text has TFD_PRINTABLE_MAX bytes. */
const char *tfd_graph_printable(struct tfd_str s, char *text);

#endif
