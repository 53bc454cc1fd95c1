/*
 * graphdef_parts.h - reads those parts of a GraphDef that are not nodes, its
 * versions and its library of functions; for graphdef*.c only.
 *
 * Both are read before nodes are added and assigned after, so that a failure
 * leaves the graph as it was.
 *
 * Threads: as for the graph (common/graph/graph.h).
 */
#ifndef TFD_COMMON_GRAPHDEF_PARTS_H
#define TFD_COMMON_GRAPHDEF_PARTS_H

#include "common/graph/graph.h"

/* Reads `versions` of the GraphDef and checks that we are a consumer it wants.
 */
enum tfd_code tfd_graphdef_versions(struct tfd_str graph_def,
                                    struct tfd_versions *out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* A session's graph is checked again as a whole, as TensorFlow does, where it
 * is to be of another producer.  UNIMPLEMENTED: it has a deprecated op. */
enum tfd_code tfd_graphdef_check_ops(const struct tfd_graph *g,
                                     int32_t producer,
                                     struct tfd_status *st) TFD_MUST_USE;
/* What a session's graph is extended by says of which producer all of it is; an
 * old model makes the graph that it is imported into an old one. */
void tfd_graphdef_set_versions(struct tfd_graph *g,
                               const struct tfd_versions *new, bool extends);

/* The graph's library with that of the GraphDef added, in the graph's arena.
 * The same function may come again; another of its name is refused. */
enum tfd_code tfd_graphdef_library(struct tfd_graph *g,
                                   struct tfd_str graph_def,
                                   struct tfd_str *out,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
