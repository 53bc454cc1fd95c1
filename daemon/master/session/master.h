/*
 * master.h - the master of one task: sessions, and what clients ask of them.
 *
 * Calls are C structs here; daemon/master/service/master_service.c puts
 * MasterService on top, and a client in the same process (daemon/server.h)
 * calls directly.  A session may be opened on any task; steps of one session
 * run concurrently.
 *
 * Ownership: a session is counted; it lives in the master's table until closed.
 * Threads: loop thread; every done() is called there, possibly before the call
 * returns.
 */
#ifndef TFD_DAEMON_MASTER_MASTER_H
#define TFD_DAEMON_MASTER_MASTER_H

#include "config/session_config.h"
#include "daemon/rewrite/devices.h"
#include "daemon/worker_api.h"
#include "kernels/core/registry.h"
#include "rpc/core/peers.h"

struct tfd_histogram;
struct tfd_session;
struct tfd_step_ring;
struct tfd_master;
struct tfd_links;
struct tfd_create; /* a session on its way */

struct tfd_master_options {
    struct tfd_loop *loop;
    struct tfd_peers *peers;
    struct tfd_worker *local; /* the worker of this process */
    const struct tfd_registry *registry;
    int build_threads;        /* for what is large (build.h); 0: none */
    uint64_t peer_wait_us;    /* for tasks that do not answer; 0: for ever */
    uint64_t session_idle_us; /* see session_idle.h; 0: for ever */
    uint64_t slow_step_us;    /* see session_log.h; 0: none is slow */
    uint64_t slow_factor;     /* likewise */
    struct tfd_links *links;  /* of those who call; NULL: nobody leaves */
    bool quiet; /* its sessions are nobody's news: a library's own */
    struct tfd_str session_config; /* ConfigProto: what sessions default to */
    /* A step, a session began or ended; for exit rules.  May be NULL. */
    void (*activity)(void *ctx);
    /* A step has timed out.  May be NULL. */
    void (*timed_out)(void *ctx);
    void *activity_ctx; /* of both */
};

enum tfd_code tfd_master_new(const struct tfd_master_options *o,
                             struct tfd_master **out,
                             struct tfd_status *st) TFD_MUST_USE;
/* Waits for what its threads do; what is built from now on, the loop thread
 * builds.  The loop must settle after. */
void tfd_master_stop_building(struct tfd_master *m);
/* No session may be open. */
void tfd_master_free(struct tfd_master *m);

/* Says in the log, once for each name, that an option is set and not honoured.
 * name lives as long as the master. */
void tfd_master_name_option(struct tfd_master *m, const char *name);

/* ---- Sessions ------------------------------------------------------------ */

typedef void tfd_session_done_fn(void *ctx, const struct tfd_status *st,
                                 struct tfd_session *session);

struct tfd_create_session {
    struct tfd_str graph_def; /* borrowed until done() */
    struct tfd_str config;    /* ConfigProto */
    struct tfd_str target;    /* as the client dialled us, "grpc://host:port" */
    const char *client;       /* its address; NULL: this process */
    const char *peer; /* as quotas count it (rpc/conn/origin.h); NULL: so */
    tfd_session_done_fn *done;
    void *ctx;
};
/* Waits for the tasks in scope: DEADLINE_EXCEEDED naming the missing ones.
 * Other strings are borrowed for the call.  Valid until done(); NULL when that
 * was called already. */
struct tfd_create *
tfd_master_create_session(struct tfd_master *m,
                          const struct tfd_create_session *c);
/* done() is called with *why before this returns, or soon, when the graph is
 * being read. */
void tfd_master_cancel_create(struct tfd_create *c,
                              const struct tfd_status *why);

/* ABORTED "Session H is not found." */
enum tfd_code tfd_master_find(struct tfd_master *m, struct tfd_str handle,
                              struct tfd_session **out,
                              struct tfd_status *st) TFD_MUST_USE;
/* The devices of a task of the cluster, by its peer number, without a session;
 * waits for the task as opening a session would. */
void tfd_master_list(struct tfd_master *m, int peer, tfd_worker_status_fn *done,
                     void *ctx);
int tfd_master_peer_count(const struct tfd_master *m);
int tfd_master_own_peer(const struct tfd_master *m);
int tfd_master_session_count(const struct tfd_master *m);
int tfd_master_step_count(const struct tfd_master *m); /* running */
uint64_t tfd_master_steps_done(const struct tfd_master *m);
/* Of those. */
uint64_t tfd_master_steps_failed(const struct tfd_master *m);
uint64_t tfd_master_steps_timed_out(const struct tfd_master *m);
/* From the call to the end of the last part, of all but partial runs. */
const struct tfd_histogram *tfd_master_step_times(const struct tfd_master *m);
const struct tfd_step_ring *tfd_master_steps(const struct tfd_master *m);
/* Who may want steps traced that do not begin in a session, too. */
struct tfd_tracer *tfd_master_tracer(struct tfd_master *m);
/* Sessions closed because their clients had left. */
uint64_t tfd_master_abandoned(const struct tfd_master *m);

typedef void tfd_master_done_fn(void *ctx, const struct tfd_status *st);

struct tfd_reset {                    /* borrowed for the call only */
    const struct tfd_str *containers; /* none: each task's default one */
    int container_count;
    const struct tfd_str *filters; /* as in ConfigProto.device_filters */
    int filter_count;
};
/* Closes every session, then clears the containers on every task in scope; one
 * that cannot be reached is only logged.  INVALID_ARGUMENT for a bad filter,
 * before anything was done. */
void tfd_master_reset(struct tfd_master *m, const struct tfd_reset *r,
                      tfd_master_done_fn *done, void *ctx);
/* Closes every session, those being created too: for shutting down. */
void tfd_master_close_all(struct tfd_master *m, tfd_master_done_fn *done,
                          void *ctx);

const char *tfd_session_handle(const struct tfd_session *s);
const struct tfd_device_set *tfd_session_devices(const struct tfd_session *s);
/* GraphOptions.build_cost_model */
bool tfd_session_wants_costs(const struct tfd_session *s);
/* It has a cluster of its own (ConfigProto.cluster_def). */
bool tfd_session_renamed(const struct tfd_session *s);

/* version: the session's, after a success one more than before. */
typedef void tfd_extended_fn(void *ctx, const struct tfd_status *st,
                             int64_t version);

struct tfd_extend_session {
    struct tfd_str graph_def; /* borrowed until done() */
    int64_t version;          /* that the caller knows */
    tfd_extended_fn *done;
    void *ctx;
};
struct tfd_extend;
/* ABORTED when the versions differ; nothing changes on failure.  Steps and
 * other calls that come after it see the new graph.  Valid until done(); NULL
 * when that was called already. */
struct tfd_extend *tfd_session_extend(struct tfd_session *s,
                                      const struct tfd_extend_session *spec);
/* done() follows soon, with CANCELLED unless it ends otherwise. */
void tfd_session_cancel_extend(struct tfd_extend *x);

/* Running steps end with CANCELLED; done() when all is gone. */
void tfd_session_close(struct tfd_session *s, tfd_master_done_fn *done,
                       void *ctx);

/* ---- Steps --------------------------------------------------------------- */

struct tfd_partial_call;

struct tfd_run_step {
    /* A plan number from an earlier step of this session, or 0 and names. */
    uint32_t plan;
    const struct tfd_str *feed_names; /* borrowed for the call only */
    struct tfd_tensor *feeds;         /* feed_count; taken when it starts */
    int feed_count;
    const struct tfd_str *fetch_names;
    int fetch_count;
    const struct tfd_str *target_names;
    int target_count;
    const struct tfd_str *connections; /* from, to, from, to, ...: prune.h */
    int connection_count;              /* pairs */
    uint64_t timeout_us;               /* 0: none */
    uint64_t collective_key;           /* of the plan, if it is built now */
    struct tfd_run_trace *trace;       /* filled in; NULL: nothing is traced */
    /* fetches: fetch_count tensors, borrowed; NULL on failure.  plan is the
     * number to use from now on. */
    void (*done)(struct tfd_run_step *run, const struct tfd_status *st,
                 struct tfd_tensor *fetches, uint32_t plan);
    void *ctx;
    /* -- for the files of daemon/master -- */
    bool partial;    /* feeds and fetches come and go while it runs */
    bool only_plan;  /* done() when the plan is there; nothing is run */
    int64_t step_id; /* 0: a new one */
    struct tfd_partial_call *partial_call;
    /* -- the master's -- */
    uint64_t waited_from_us; /* for its plan; 0: it did not wait */
    struct tfd_run_step *next;
    struct tfd_master_step *step;
    struct tfd_plan *waiting;
};

/* run, feeds and their array live until done(). */
void tfd_session_run(struct tfd_session *s, struct tfd_run_step *run);
/* done() follows with CANCELLED. */
void tfd_session_cancel(struct tfd_session *s, struct tfd_run_step *run);

#endif
