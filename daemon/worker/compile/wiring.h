/*
 * wiring.h - the state of connecting one graph's executable nodes: giving
 * their inputs slots and their outputs edges.  connect.c does it, cross.c adds
 * copies between memories, late.c finds reads of variables that must come
 * late; compiler.h has the order.
 *
 * Ownership: the scratch arena's.  Threads: the one that compiles.
 */
#ifndef TFD_DAEMON_WORKER_WIRING_H
#define TFD_DAEMON_WORKER_WIRING_H

#include "daemon/worker/compile/compiler.h"

/* A node that moves a value between memories. */
struct tfd_wire_copy {
    struct tfd_wire_copy *next;
    struct tfd_device *to;
    struct tfd_source from;
    int32_t exec;
};

/* By executed node: of those that the graph has, then copies, then loops; there
 * is room for gates. */
struct tfd_wiring {
    struct tfd_compiler *c;
    struct tfd_exec *e;
    int32_t *graph_node; /* -1: a copy */
    int32_t *frame;
    struct tfd_source *copied;     /* the input of a copy */
    struct tfd_wire_copy **copies; /* of its outputs */
    int32_t *edge_count;
    int32_t *seen;               /* the consumer it was seen at */
    struct tfd_exec_edge **fill; /* where its next edge goes */
    int32_t capacity;
    bool count_only;
    uint64_t written_while; /* by loop: what late.c says of it */
    bool has_writer;
    bool keeps_refs; /* a container gets what was read from a reference */
};

/* ---- cross.c ------------------------------------------------------------- */

/* How many copies there are, at most. */
int32_t tfd_wiring_crossings(const struct tfd_compiler *c);
/* Adds them; the inputs of nodes come from them then. */
enum tfd_code tfd_wiring_cross(struct tfd_wiring *w,
                               struct tfd_status *st) TFD_MUST_USE;

/* ---- late.c -------------------------------------------------------------- */

/* Finds what writes to variables, and during which loops it may. */
enum tfd_code tfd_wiring_find_writers(struct tfd_wiring *w,
                                      struct tfd_status *st) TFD_MUST_USE;
/* It is one of the kernels whose output may share its input's memory. */
bool tfd_late_forwards(const struct tfd_node *n);
/* x puts what comes to it into a container. */
bool tfd_late_keeps(const struct tfd_node *n);
/* x leaves the references that come to it to its consumers. */
bool tfd_wiring_reads_late(const struct tfd_wiring *w,
                           const struct tfd_exec_node *x);

#endif
