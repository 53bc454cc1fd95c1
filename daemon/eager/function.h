/*
 * function.h - a function's body -> a graph of this task (graph.h): its
 * arguments are those of the graph, its results likewise.
 *
 * A component is a part of a function that its owner has cut: its nodes name
 * devices of this task, edges to other tasks are _Send and _Recv nodes, and it
 * brings along what it calls.  Any other function finds what it calls in the
 * context's library, by name, when it first runs.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_FUNCTION_H
#define TFD_DAEMON_EAGER_FUNCTION_H

#include "daemon/eager/graph.h"
#include "daemon/eager/library.h"

/* f->graph, made if there is none.  Nodes without a device get `on`.  Messages
 * begin with "{{function_node NAME}} ".  NOT_FOUND "Op type not registered ..."
 * for an unknown op; INVALID_ARGUMENT for a body that is none. */
enum tfd_code tfd_eager_function_graph(struct tfd_eager_context *c,
                                       struct tfd_eager_function *f,
                                       bool is_component,
                                       const struct tfd_device_attributes *on,
                                       struct tfd_status *st) TFD_MUST_USE;

#endif
