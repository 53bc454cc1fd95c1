/*
 * while_copy.h - the two small graphs of a loop (c_api_while.c), copied into
 * the graph that the loop is in.
 *
 * Nodes are copied under "scope/cond" and "scope/body", and the placeholders of
 * their inputs become the loop's values.  A node without inputs waits for the
 * first of them: it has to run in the loop's frame.
 *
 * Threads: the lock of the graph that grows is held; the other does not grow.
 */
#ifndef TFD_CLIENT_WHILE_COPY_H
#define TFD_CLIENT_WHILE_COPY_H

#include "client/c_api/capi.h"

/* Everything is borrowed. */
struct tfd_while_part {
    const char *name; /* "cond" */
    const TF_Graph *graph;
    int input_count, output_count;
    const TF_Output *inputs; /* of graph */
    const int32_t *values;   /* nodes of the loop, by input */
    const TF_Output *outputs;
};

/* Appends "name", or "name_1" ..., so that neither a node nor a scope of the
 * graph is called what the bytes then are. */
void tfd_while_add_name(const TF_Graph *g, struct tfd_bytes *out,
                        struct tfd_str name);
/* out[i] is what outputs[i] is in g.  scope is "" or ends in a slash.  On
 * failure some nodes may have been added. */
enum tfd_code tfd_while_copy(const struct tfd_while_part *part, TF_Graph *g,
                             struct tfd_str scope, struct tfd_edge *out,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
