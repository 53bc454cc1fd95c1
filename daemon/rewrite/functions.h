/*
 * functions.h - inlines functions: replaces calls and functional control flow
 * (If, Case, While) in a session's graph by the nodes of their bodies, before
 * the graph is placed.
 *
 *     If, Case, While (and Stateless...)    with _lower_using_switch_merge:
 *                                           Switch, Merge, Enter, Exit ...
 *     (Stateful)PartitionedCall, calls,     the nodes of the function's body
 *     SymbolicGradient
 *
 * What a body brings is inlined in turn.  Not inlined, and run as one op on a
 * worker, are functions that call themselves or are nested deeper than
 * TFD_FUNCTION_DEPTH_MAX, functions that say _noinline, and control flow
 * without the attribute.  Such an op runs in one task.  So a session whose
 * functions may use the devices of the whole cluster
 * (share_cluster_devices_in_session) has the last two inlined as well.
 *
 * Every node can be fetched by its name as before, by its outputs' numbers.
 *
 * Iterative.  Threads: one at a time for a graph.
 */
#ifndef TFD_DAEMON_REWRITE_FUNCTIONS_H
#define TFD_DAEMON_REWRITE_FUNCTIONS_H

#include "common/graph/graph.h"

struct tfd_expand {
    bool across_tasks; /* also what says _noinline, or not to be lowered */
    const bool *stop;  /* atomic; nobody wants it any more; NULL: never */
};

/* Expands the nodes from `first` on.  RESOURCE_EXHAUSTED for more than
 * TFD_FUNCTION_NODES_MAX nodes, or TFD_GRAPH_NODES_MAX of the graph;
 * INVALID_ARGUMENT or NOT_FOUND for a function that is wrong; CANCELLED when it
 * was stopped.  After a failure the graph ends at `first`. */
enum tfd_code tfd_functions_expand(struct tfd_graph *g, int32_t first,
                                   const struct tfd_expand *how,
                                   struct tfd_status *st) TFD_MUST_USE;

/* Whether a node is a call of a function: by the function's name as its op, or
 * by an op that has the function as its attribute "f". */
bool tfd_functions_is_call(const struct tfd_node *n);

#endif
