/*
 * plan.h - everything a signature needs, compiled once and shared by its steps:
 * pruned, partitioned and registered on every worker it touches.
 *
 *     BUILDING -> READY    steps that came meanwhile start now
 *              -> FAILED   they fail; the failure is kept, as TensorFlow keeps
 *                          it, unless it says that a peer was lost
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_PLAN_H
#define TFD_DAEMON_MASTER_PLAN_H

#include "daemon/master/prune.h"
#include "daemon/master/session.h"

enum tfd_plan_state { TFD_PLAN_BUILDING, TFD_PLAN_READY, TFD_PLAN_FAILED };

struct tfd_plan_part {
    int worker;                        /* of the session */
    uint64_t graph;                    /* registered there */
    struct tfd_bytes graph_def;        /* while registering */
    struct tfd_register_graph request; /* likewise: the worker borrows it */
    struct tfd_plan *plan;
};

struct tfd_plan {
    struct tfd_session *session;
    uint32_t number;
    enum tfd_plan_state state;
    struct tfd_status status; /* FAILED */
    struct tfd_arena arena;   /* the signature's names */
    struct tfd_signature signature;
    struct tfd_str key;
    struct tfd_plan_part *parts;
    int part_count;
    int client_part; /* index of the part on worker 0, or -1 */
    int registering; /* calls not yet answered */
    struct tfd_run_step *waiters;
    struct tfd_master_step *idle; /* pooled steps */
};

/* The plan for a request: by number, by signature, or a new one whose building
 * has begun. */
enum tfd_code tfd_plan_get(struct tfd_session *s,
                           const struct tfd_run_step *run,
                           struct tfd_plan **out,
                           struct tfd_status *st) TFD_MUST_USE;
void tfd_plan_free(struct tfd_plan *p); /* no step may be running */

#endif
