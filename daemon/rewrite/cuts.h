/*
 * cuts.h - the outputs whose consumers are to read something else in a step:
 * those that the client feeds, and those that it connects to others
 * (CallableOptions.tensor_connection).
 *
 *     feed         consumers read what the client sends
 *     connection   consumers read another endpoint, its source, itself
 *
 * Cuts are made in the order feeds, then connections as they are listed, each
 * on what the ones before left; so TensorFlow rewrites its graph.  A connection
 * reads what its source's node makes, whether that is fed or not; but where a
 * later connection cuts the source, it reads what that one does.  Of two cuts
 * of one endpoint, spelled differently, the first has all consumers.
 *
 * Errors and their texts are TensorFlow's.  Ownership: all but the arrays is
 * borrowed.  Threads: one.
 */
#ifndef TFD_DAEMON_REWRITE_CUTS_H
#define TFD_DAEMON_REWRITE_CUTS_H

#include "daemon/rewrite/prune.h"

struct tfd_cut {
    struct tfd_edge edge;
    struct tfd_edge source; /* of a connection */
    int32_t next;           /* another cut of the same node, or -1 */
};

struct tfd_cuts {
    const struct tfd_graph *g;
    const struct tfd_signature *sig;
    struct tfd_cut *list; /* feeds, then connections */
    int32_t *of;          /* by graph node: its first cut, or -1 */
};

/* "x" or "x:1"; anything else is the name of a node that does not exist. */
struct tfd_str tfd_cuts_split(struct tfd_str name, int32_t *output);

/* Also checks what can be told of fetches by their texts: that there is
 * anything to do, that none is fed.  After a failure *c is as after deinit. */
enum tfd_code tfd_cuts_init(struct tfd_cuts *c, const struct tfd_graph *g,
                            const struct tfd_signature *sig,
                            struct tfd_status *st) TFD_MUST_USE;
void tfd_cuts_deinit(struct tfd_cuts *c);

/* The cut of an endpoint, a number in the list, or -1. */
int32_t tfd_cuts_find(const struct tfd_cuts *c, struct tfd_edge e);
/* The cut that control edges out of a node follow, or -1: those of a
 * Placeholder do, others keep the node. */
int32_t tfd_cuts_control(const struct tfd_cuts *c, int32_t node);
bool tfd_cuts_is_feed(const struct tfd_cuts *c, int32_t cut);
/* INVALID_ARGUMENT when input i of n does not take what the cut connects to
 * it. */
enum tfd_code tfd_cuts_check(const struct tfd_cuts *c, int32_t cut,
                             const struct tfd_node *n, int32_t i,
                             struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_cuts_fed_and_fetched(struct tfd_str name,
                                       struct tfd_status *st);

#endif
