/*
 * capture_find.h - decides which nodes of a graph form static parts, the sets
 * of GPU kernels that run as one CUDA graph (daemon/worker/run/captures.h);
 * capture_parts.c builds the parts from the answer.
 *
 * Ownership: the scratch arena's.  Threads: the one that compiles.
 */
#ifndef TFD_DAEMON_WORKER_CAPTURE_FIND_H
#define TFD_DAEMON_WORKER_CAPTURE_FIND_H

#include "daemon/worker/run/captures.h"
#include "daemon/worker/compile/compiler.h"

#define TFD_GROUPS_MAX 256

/* Members of one device and level. */
struct tfd_group {
    struct tfd_device *device;
    const uint64_t *reference; /* of tellers: what they come after */
    int32_t level;
    int32_t kernels; /* to be launched */
    int32_t members;
    int32_t part; /* -1: none */
};

struct tfd_finder {
    struct tfd_compiler *c;
    struct tfd_exec *e;
    int32_t count;     /* of nodes, without gates */
    int32_t *order;    /* a node after all that it waits for */
    int32_t *level;    /* by node */
    int32_t *group;    /* by node; -1: in none */
    bool *may_be_dead; /* where nodes after a Switch or a Recv are */
    bool *tells;       /* it or a node after it is a teller */
    uint64_t *after;   /* by node: the waiters it comes after, as bits */
    size_t words;
    struct tfd_group groups[TFD_GROUPS_MAX];
    int32_t group_count;
    bool dropped;
};

/* Fills in all of a zeroed f but c, which is given. */
enum tfd_code tfd_capture_find(struct tfd_finder *f,
                               struct tfd_status *st) TFD_MUST_USE;

#endif
