/*
 * single_op.h - an op that is asked for by name -> a graph of one node.
 *
 * Graphs are kept by what makes them differ: the op, its attributes, its
 * device and the types of its arguments; of those beyond TFD_EAGER_OPS_MAX the
 * one that was used longest ago goes.  So a kernel lives from one operation to
 * the next, as TensorFlow's do.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_SINGLE_OP_H
#define TFD_DAEMON_EAGER_SINGLE_OP_H

#include "common/base/map.h"
#include "daemon/eager/graph.h"

struct tfd_eager_operation;

struct tfd_eager_ops { /* all zero: none */
    struct tfd_map by_key;
    struct tfd_eager_graph *newest, *oldest; /* by their last use */
};

/* Lets go of all graphs. */
void tfd_eager_ops_deinit(struct tfd_eager_ops *o);

/* The graph, which the cache keeps, or (of a _Recv, which is never asked for
 * twice) that is the caller's alone: counted for the caller in both cases.
 * NOT_FOUND for an op that is none, INVALID_ARGUMENT for wrong arguments or
 * attributes, with TensorFlow's words. */
enum tfd_code tfd_eager_single_op(struct tfd_eager_context *c,
                                  const struct tfd_eager_operation *o,
                                  struct tfd_eager_graph **out,
                                  struct tfd_status *st) TFD_MUST_USE;

/* How many results an op has, by its attributes; 0 of one that is none.
 * INVALID_ARGUMENT for a wrong number of inputs, or lacking attributes. */
enum tfd_code tfd_eager_single_op_results(const struct tfd_eager_context *c,
                                          const struct tfd_eager_operation *o,
                                          int *out,
                                          struct tfd_status *st) TFD_MUST_USE;
/* Appends the op's node to a GraphDef.  input_name writes the name of the node
 * that gives an input, and returns it; text has TFD_EAGER_END_NAME_MAX bytes.
 */
typedef const char *tfd_eager_input_name_fn(char *text, int input);
enum tfd_code tfd_eager_single_op_put(const struct tfd_eager_operation *o,
                                      tfd_eager_input_name_fn *input_name,
                                      struct tfd_bytes *def,
                                      struct tfd_status *st) TFD_MUST_USE;
/* Appends the library of a GraphDef: what the op's attributes name. */
enum tfd_code tfd_eager_single_op_library(const struct tfd_eager_context *c,
                                          const struct tfd_eager_operation *o,
                                          struct tfd_bytes *def,
                                          bool *has_library,
                                          struct tfd_status *st) TFD_MUST_USE;

#endif
