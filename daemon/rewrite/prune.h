/*
 * prune.h - pruning: finds the part of a session's graph that one signature
 * (feeds, fetches, targets) needs.
 *
 * The result is a list of nodes in which feeds and fetches are nodes too:
 *
 *     FEED   stands where the fed endpoint's consumers read; on the client
 *            device.  Named `_recv_<node>_<index>`.
 *     FETCH  takes one endpoint to the client device.  `_send_<node>_<index>`.
 *     NODE   a node of the graph, with edges that respect the feeds
 *
 * A fed endpoint cuts its producer off, unless something else needs it.  A fed
 * Placeholder's control successors follow the feed; those of other fed nodes
 * keep the node.  So do the connections of a signature (cuts.h), where the
 * consumers read another node's output.  Errors and their texts are
 * TensorFlow's.
 *
 * Iterative.  Threads: one at a time.
 */
#ifndef TFD_DAEMON_REWRITE_PRUNE_H
#define TFD_DAEMON_REWRITE_PRUNE_H

#include "common/graph/graph.h"

enum tfd_part_kind { TFD_PART_NODE, TFD_PART_FEED, TFD_PART_FETCH };

struct tfd_part_node {
    enum tfd_part_kind kind;
    int32_t node;        /* in the graph: itself, or the fed or fetched one */
    int32_t output;      /* FEED, FETCH: of that node */
    int32_t index;       /* FEED, FETCH: position in the signature */
    int type;            /* FEED, FETCH: element type, without TFD_REF */
    struct tfd_edge *in; /* edges into this list, in_count of them */
    int32_t in_count;
    int32_t *control; /* nodes of this list */
    int32_t control_count;
    bool wanted; /* NODE: a target, or fed */
    bool no_op;  /* NODE: only waits (unread.h) */
};

struct tfd_signature {
    const struct tfd_str *feeds; /* "x:0" as the client spells them */
    int feed_count;
    const struct tfd_str *fetches;
    int fetch_count;
    const struct tfd_str *targets;
    int target_count;
    /* Endpoints read in the place of others: from, to, from, to, ... */
    const struct tfd_str *connections;
    int connection_count; /* pairs */
    /* For the worker's ends: as fetches, but each different. */
    const struct tfd_str *fetch_labels;
};

struct tfd_pruned {
    struct tfd_part_node *nodes; /* in the arena */
    int32_t count;
};

enum tfd_code tfd_prune(const struct tfd_graph *g,
                        const struct tfd_signature *sig,
                        struct tfd_arena *arena, struct tfd_pruned *out,
                        struct tfd_status *st) TFD_MUST_USE;

#endif
