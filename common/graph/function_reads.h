/*
 * function_reads.h - what a function reads of a variable whose handle it gets.
 *
 * Threads: as for the graph (graph.h).
 */
#ifndef TFD_COMMON_FUNCTION_READS_H
#define TFD_COMMON_FUNCTION_READS_H

#include "common/graph/function.h"

/* The type that f, or what it calls, reads from the variable that is argument
 * `arg`; TFD_RESOURCE where nothing reads one.  Of an argument of a list of
 * them nothing is known: TFD_FLOAT. */
enum tfd_code tfd_function_reads(const struct tfd_graph *g,
                                 const struct tfd_func *f, int32_t arg,
                                 enum tfd_dtype *out,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
