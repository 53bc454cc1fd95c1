/*
 * plan.h - a plan is what a session has compiled for one signature (feeds,
 * fetches, targets): the graph pruned to it, cut into one partition per
 * worker, and registered there.  All steps with that signature share it.
 *
 *     EMPTY -> BUILDING -> READY    steps that came meanwhile start now
 *       ^                 |   FAILED   they fail; the failure is kept until the
 *       |_________________|   graph grows, unless it may pass by itself
 *
 * A session keeps a bounded number of plans READY.  Beyond that the least
 * recently used one becomes EMPTY: it keeps its names and its number, which
 * clients hold, and is compiled again when it is asked for.  The number of
 * EMPTY ones is bounded too.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_PLAN_H
#define TFD_DAEMON_MASTER_PLAN_H

#include "common/measure/histogram.h"
#include "daemon/rewrite/prune.h"
#include "common/measure/recent.h"
#include "daemon/master/session/session.h"

enum tfd_plan_state {
    TFD_PLAN_EMPTY,
    TFD_PLAN_BUILDING,
    TFD_PLAN_READY,
    TFD_PLAN_FAILED,
};

struct tfd_plan_part {
    int worker;                        /* of the session */
    uint64_t graph;                    /* registered there */
    bool asked;                        /* to register, and no answer yet */
    struct tfd_bytes graph_def;        /* while registering */
    struct tfd_register_graph request; /* likewise: the worker borrows it */
    char task[TFD_STEP_TASK_SIZE];     /* for records */
    struct tfd_plan *plan;
};

struct tfd_plan {
    struct tfd_build build; /* first; while it is split into parts */
    bool splitting;
    struct tfd_session *session;
    uint32_t number;
    enum tfd_plan_state state;
    struct tfd_status status;   /* FAILED */
    int64_t version;            /* of the graph it was built from */
    uint64_t used;              /* when: the session's count of uses */
    int running;                /* steps */
    uint64_t started;           /* steps, ever */
    struct tfd_recent recent;   /* how long they took */
    struct tfd_histogram times; /* of those that ended well, ever */
    int32_t node_count; /* as pruned; a builder's while it is splitting */
    char name[TFD_STEP_NAME_SIZE]; /* for records */
    struct tfd_arena arena;        /* the signature's names */
    struct tfd_signature signature;
    bool partial; /* for partial runs */
    struct tfd_str key;
    struct tfd_plan_part *parts;
    int part_count;
    int client_part;         /* index of the part on worker 0, or -1 */
    int registering;         /* calls not yet answered */
    uint64_t collective_key; /* collective_key.h; 0: its steps are its own */
    uint64_t asked_key;      /* the one to have; 0: that of its collectives */
    struct tfd_run_step *waiters;
    struct tfd_master_step *idle; /* pooled steps */
};

/* The plan for a request: by number, by signature, or a new one whose building
 * has begun. */
enum tfd_code tfd_plan_get(struct tfd_session *s,
                           const struct tfd_run_step *run,
                           struct tfd_plan **out,
                           struct tfd_status *st) TFD_MUST_USE;
/* Steps that wait for it end with this failure. */
void tfd_plan_fail_waiters(struct tfd_plan *p, const struct tfd_status *why);
/* One that is being built fails soon, whatever the workers do. */
void tfd_plan_cancel(struct tfd_plan *p);
/* The connection to this worker was lost: one that is being built with it
 * fails, though the worker may have registered its part already.  Others may
 * wait for a link to it. */
void tfd_plan_lost(struct tfd_plan *p, const struct tfd_worker *w,
                   const struct tfd_status *why);
/* A READY one without steps, whose steps others share: is BUILDING until it
 * knows which is next, as the leader may have been restarted. */
void tfd_plan_learn(struct tfd_plan *p);
void tfd_plan_free(struct tfd_plan *p); /* no step may be running */

/* ---- Between plan.c and plan_table.c --------------------------------------
 */

/* Counts as a running step of the session, so that the session outlives it. */
void tfd_plan_build(struct tfd_plan *p);
/* The slot of the idle plan in this state that was not used for longest;
 * plan_count when there is none. */
uint32_t tfd_plan_oldest(const struct tfd_session *s,
                         enum tfd_plan_state state);

#endif
