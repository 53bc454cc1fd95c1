/*
 * functions.h - calls and functional control flow of a session's graph,
 * expanded before it is placed.
 *
 *     If, Case, While (and Stateless...)    with _lower_using_switch_merge:
 *                                           Switch, Merge, Enter, Exit ...
 *     (Stateful)PartitionedCall, calls,     the nodes of the function's body
 *     SymbolicGradient
 *
 * and so on in what came of that.  What cannot be expanded stays and runs as
 * one op on a worker: functions that call themselves or are nested deeper than
 * TFD_FUNCTION_DEPTH_MAX, that say _noinline, control flow without the
 * attribute.
 *
 * Every node can be fetched by its name as before, by its outputs' numbers.
 *
 * Iterative.  Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_FUNCTIONS_H
#define TFD_DAEMON_MASTER_FUNCTIONS_H

#include "common/graph.h"

/* Expands the nodes from `first` on.  RESOURCE_EXHAUSTED for more than
 * TFD_FUNCTION_NODES_MAX nodes, or TFD_GRAPH_NODES_MAX of the graph;
 * INVALID_ARGUMENT or NOT_FOUND for a function that is wrong.  After a failure
 * the graph ends at `first`. */
enum tfd_code tfd_functions_expand(struct tfd_graph *g, int32_t first,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
