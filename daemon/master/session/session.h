/*
 * session.h - the state of one session in its master: the graph that the
 * client has sent so far, the workers it may use, the plans compiled from the
 * graph, and the steps that are running.
 *
 *     CREATING --> OPEN --> CLOSING --> CLOSED
 *     workers      steps    steps end,  freed with the last
 *     are asked    run      workers     reference
 *                           clean up
 *
 * The life of a session is spread over files by what happens to it:
 *
 *     session_create.c, session_ask.c   opens it on all its workers
 *     session_grow.c                    adds nodes (ExtendSession)
 *     plan_table.c, plan.c              finds or compiles a signature's plan
 *     master_step.c                     runs a step of a plan
 *     session_idle.c, session_limits.c  closes abandoned or surplus sessions
 *
 * Others use master.h; this header is for the files of daemon/master.
 *
 * Ownership: counted; the master's table holds one reference until the session
 * is closed.
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_SESSION_H
#define TFD_DAEMON_MASTER_SESSION_H

#include "common/base/log.h"
#include "common/measure/histogram.h"
#include "daemon/master/session/build.h"
#include "daemon/master/session/master.h"
#include "daemon/master/record/step_ring.h"
#include "daemon/master/record/step_watch.h"
#include "rpc/conn/origin.h"
#include "rpc/core/meter.h"

/* More than there are rows of options. */
#define TFD_OPTIONS_NAMED_MAX 96

#define TFD_CLIENT_TEXT_MAX 64

enum tfd_session_state {
    TFD_SESSION_CREATING,
    TFD_SESSION_OPEN,
    TFD_SESSION_CLOSING,
    TFD_SESSION_CLOSED, /* somebody still holds a reference */
};

/* Somebody who waits for a session to be gone. */
struct tfd_close_waiter {
    tfd_master_done_fn *done;
    void *ctx;
    struct tfd_close_waiter *next;
};

struct tfd_callable;
struct tfd_partial_run;

struct tfd_session {
    struct tfd_master *master;
    int refs;
    enum tfd_session_state state;
    char handle[TFD_SESSION_HANDLE_MAX];
    struct tfd_session_config config;
    struct tfd_bytes config_proto; /* passed on to TensorFlow workers */
    struct tfd_graph *graph;
    int64_t version;
    int32_t *device_of; /* by node of the graph */
    /* While one is under way, graph and device_of are its own: build.h. */
    struct tfd_build *building;
    struct tfd_build *builds, **builds_end; /* those that wait */
    int growing;                            /* extensions not yet done */
    int32_t node_count;                     /* as the last one left it */
    struct tfd_device_set devices;
    /* The cluster: ours, or one of the session's own, which it holds, in which
     * we are `task`, and every device has another name. */
    struct tfd_peers_range peers;
    bool renamed;
    char task[TFD_DEVICE_NAME_MAX];
    struct tfd_worker **workers; /* [0] is the local one; tasks in scope */
    bool *native;                /* by worker */
    int worker_count;
    struct tfd_plan **plans; /* number n is in slot (n - 1) % the maximum */
    uint32_t plan_count;
    uint32_t plan_capacity;
    int plans_built;               /* READY or BUILDING */
    uint64_t plan_uses;            /* so far */
    int64_t node_suffix;           /* "_S<n>" of nodes that partitions add */
    struct tfd_map plan_by_key;    /* signature -> plan number */
    struct tfd_bytes key;          /* scratch */
    int running;                   /* steps, and plans that are being built */
    int waiting;                   /* steps that wait for a plan */
    struct tfd_master_step *steps; /* those, linked */
    struct tfd_partial_run *partial_runs;
    int partial_run_count; /* and those being set up */
    int64_t next_partial_run;
    void (*free_partial_runs)(struct tfd_session *s); /* NULL: it had none */
    struct tfd_callable *callables;
    void (*free_callables)(struct tfd_session *s); /* NULL: it had none */
    int callable_count;
    int64_t next_callable;
    struct tfd_create *create; /* while CREATING: session_create.c */
    /* Its workers are asked no longer: it ends soon, whatever they do. */
    void (*hurry_create)(struct tfd_create *c);
    struct tfd_close_waiter *close_waiters;
    int closing_workers;    /* DeleteWorkerSession calls not yet answered */
    bool listed;            /* in the master's table */
    bool broken;            /* not closed by its client */
    bool task_leaves;       /* its client shall save and close: leaving.h */
    bool lost;              /* its last step missed a task */
    const void *closed_for; /* the Reset that waits for its end */
    char peer[TFD_ORIGIN_KEY_MAX];    /* quotas count by it; "": this process */
    char client[TFD_CLIENT_TEXT_MAX]; /* its address; "": this process */
    uint64_t opened_us;               /* 0: not yet */
    uint64_t steps_done, steps_failed;
    struct tfd_meter *meter; /* of calls that name it */
    /* Bytes: of its graph, as the last build left it; of its plans' names; fed
     * to partial runs that have not ended. */
    size_t graph_size, plans_size, fed_size;
    const char *closed_by; /* for the log; NULL: by its client */
    uint64_t loss;         /* the last of the master's that it heard of */
    uint64_t used_us;      /* the last call, or end of a step */
    uint64_t link;         /* it came over; 0: over none */
    struct tfd_session *next, *previous;    /* in the master */
    void (*destroy)(struct tfd_session *s); /* the last reference is gone */
    /* A step or the building of a plan is over; a closing session may be done
     * now. */
    void (*step_ended)(struct tfd_session *s);
};

struct tfd_master {
    struct tfd_master_options o;
    struct tfd_worker **workers; /* by peer; made when first needed */
    int worker_room;
    int peer_count; /* of the cluster we were started with */
    struct tfd_peers_follower follower; /* lost_workers.c */
    uint64_t losses;                    /* of connections, so far */
    struct tfd_loss *recent;            /* of them */
    uint64_t steps_begun;
    struct tfd_map by_handle; /* -> struct tfd_session * */
    struct tfd_session *sessions;
    struct tfd_create *creating; /* not yet open */
    int session_count;
    int running;
    uint64_t steps_done, steps_failed, steps_timed_out;
    struct tfd_histogram step_times; /* partial runs are left out */
    struct tfd_step_ring ring;
    struct tfd_step_watch watch;
    struct tfd_leaving *leaving; /* who waits for sessions that save */
    struct tfd_timer idle_timer;
    uint64_t abandoned;
    struct tfd_pool *builders; /* NULL: the loop thread builds */
    uint64_t step_seed;        /* state of the generator of step ids */
    const char *named[TFD_OPTIONS_NAMED_MAX]; /* options not honoured */
    int named_count;
    struct tfd_log_rate failed_rate, slow_rate; /* session_log.h */
};

struct tfd_session *tfd_session_new(struct tfd_master *m,
                                    struct tfd_status *st);
void tfd_session_ref(struct tfd_session *s);
void tfd_session_unref(struct tfd_session *s);
/* Whether building with its graph, and this GraphDef besides, is for a thread:
 * it has many nodes, or functions, which may become many. */
bool tfd_session_is_large(const struct tfd_session *s,
                          struct tfd_str graph_def);
/* Two parts of the work of builds.  New nodes, with functions expanded unless
 * *stop; */
enum tfd_code tfd_session_import(struct tfd_session *s,
                                 struct tfd_str graph_def, const bool *stop,
                                 struct tfd_status *st) TFD_MUST_USE;
/* all nodes placed, of which those before `kept` stay where they are if they
 * are stateful. */
enum tfd_code tfd_session_place(struct tfd_session *s, int32_t kept,
                                struct tfd_status *st) TFD_MUST_USE;
/* A step that runs, or waits for its plan, ends with this status. */
void tfd_session_abort(struct tfd_session *s, struct tfd_run_step *run,
                       const struct tfd_status *why);
/* As tfd_session_close(); running steps end with *why. */
void tfd_session_close_for(struct tfd_session *s, const struct tfd_status *why,
                           tfd_master_done_fn *done, void *ctx);
/* Ends every creation. */
void tfd_master_cancel_creates(struct tfd_master *m,
                               const struct tfd_status *why);
/* Before its workers are chosen.  INVALID_ARGUMENT for a cluster without us, or
 * with us twice, or by our own name. */
enum tfd_code tfd_session_choose_cluster(struct tfd_session *s,
                                         struct tfd_str target,
                                         struct tfd_status *st) TFD_MUST_USE;
/* After a build that may have changed its graph. */
void tfd_session_measure(struct tfd_session *s);
/* What worker i is called in this session. */
const char *tfd_session_task(const struct tfd_session *s, int i);
/* The worker behind peer i of the cluster; NULL without memory. */
struct tfd_worker *tfd_master_worker(struct tfd_master *m, int peer);
/* Random, positive, below 2^57 and not 0. */
int64_t tfd_master_step_id(struct tfd_master *m);

/* How a step ended.  A client that closes its session because a task was lost
 * opens another when that is back: exit rules do not count it as gone. */
static inline void tfd_session_heard(struct tfd_session *s, enum tfd_code code)
{
    s->lost = code == TFD_UNAVAILABLE || code == TFD_ABORTED;
}

#endif
