/*
 * graphdef.h - GraphDef bytes <-> graph, within limits.
 *
 * Import is two passes over the message: names first, then nodes in an order in
 * which inputs exist (loops enter through Merge).  It is iterative, refuses
 * cycles, duplicate names, unknown inputs and ops, and copies what it keeps, so
 * the bytes may go away.  On failure the graph keeps the nodes it had before.
 *
 * Threads: as for the graph (common/graph/graph.h).
 */
#ifndef TFD_COMMON_GRAPHDEF_H
#define TFD_COMMON_GRAPHDEF_H

#include "common/graph/graph.h"

struct tfd_graphdef_options {
    struct tfd_str prefix; /* put before names, with '/'; "" none */
    /* worker: each node names its device, and names may begin with '_' */
    bool require_full_device;
    /* TF_ImportGraphDef: inputs that are replaced by edges of the graph */
    const struct tfd_str *map_from; /* "node:0", map_count of them */
    const struct tfd_edge *map_to;
    int map_count;
    const int32_t *control; /* nodes every imported root waits for */
    int control_count;
};

/* Without options, and with require_full_device, the graph is a session's that
 * is made or extended: inputs may name nodes it has, and its versions are the
 * message's from then on.  With others it is TF_ImportGraphDef: inputs name
 * nodes of the message or what the map says, and versions are joined: the older
 * producer counts.  A graph that has nodes, and TF_ImportGraphDef, take no ops
 * that the message's producer knows as deprecated (common/graph/deprecated.h).
 * Functions of the library are added to those there are.  *first is the id of
 * the first new node. */
enum tfd_code tfd_graphdef_import(struct tfd_graph *g, struct tfd_str bytes,
                                  const struct tfd_graphdef_options *options,
                                  int32_t *first,
                                  struct tfd_status *st) TFD_MUST_USE;

/* Appends the fields of n's NodeDef (inputs by name, given attributes). */
void tfd_graphdef_put_node(struct tfd_bytes *out, const struct tfd_graph *g,
                           const struct tfd_node *n);
/* The whole graph as a GraphDef. */
void tfd_graphdef_export(struct tfd_bytes *out, const struct tfd_graph *g);

/* Appends one node to a GraphDef that is written node by node, for graphs that
 * exist nowhere as such (partitions): names are given, not ids. */
struct tfd_nodedef {
    struct tfd_str name, op, device;
    const struct tfd_str *in; /* "a", "a:1", "^c" */
    int in_count;
    const struct tfd_attr *attrs;
    int attr_count;
};
void tfd_graphdef_put(struct tfd_bytes *out, const struct tfd_nodedef *n);

#endif
