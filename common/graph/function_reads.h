/*
 * function_reads.h - what a function reads of a variable whose handle it gets.
 *
 * Threads: as for the graph (graph.h).
 */
#ifndef TFD_COMMON_FUNCTION_READS_H
#define TFD_COMMON_FUNCTION_READS_H

#include "common/graph/function.h"

/* The types that f, or what it calls, reads from variables that are arguments:
 * each of the `count` types that is TFD_RESOURCE becomes that of the argument,
 * or stays where nothing reads one.  Of an argument of a list of them nothing
 * is known: TFD_FLOAT.  RESOURCE_EXHAUSTED after TFD_GRAPH_EDGES_MAX steps. */
enum tfd_code tfd_function_reads(const struct tfd_graph *g,
                                 const struct tfd_func *f, int32_t count,
                                 int *types,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
