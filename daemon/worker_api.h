/*
 * worker_api.h - what a master asks of a worker: the same calls whether the
 * worker lives in this process (daemon/worker/service/local_worker.c, a direct
 * call) or behind a channel (daemon/master/remote/remote_worker.c, native or
 * gRPC).
 *
 * Every call returns at once; done() follows exactly once, on the loop thread,
 * possibly before the call returns.  Arguments are borrowed until then.
 *
 * How tensors cross tasks.  The master gives each partition its _Send and _Recv
 * nodes.  Where both ends are tfd, both carry the attribute `_tfd_channel`
 * (int, unique in the plan): the producer pushes the value to the consumer's
 * task under (step, channel) with tfd.Peer/PushTensors.  Where it is missing,
 * the consumer asks for the rendezvous key with RecvTensor, as TensorFlow does.
 * Between devices of one task both ends meet in the step's own rendezvous.  A
 * _Recv with `_tfd_early` (bool) waits for nothing that a GPU of its task does
 * in the step (daemon/rewrite/early_recv.h).
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_API_H
#define TFD_DAEMON_WORKER_API_H

#include "common/base/str.h"
#include "common/base/tensor.h"

struct tfd_resource;

#define TFD_DEVICE_NAME_MAX 256
#define TFD_SESSION_HANDLE_MAX 64

/* DeviceAttributes. */
struct tfd_device_attributes {
    char name[TFD_DEVICE_NAME_MAX]; /* full */
    char type[16];                  /* "CPU" */
    char physical[192];             /* "device: 0, name: ..."; "" of a CPU */
    int64_t memory_limit;
    uint64_t incarnation;
};

struct tfd_worker_session {
    struct tfd_str handle;
    struct tfd_str master_task;
    uint64_t master_incarnation;
    bool isolate; /* private resource containers */
    /* A cluster of the session's own, a ClusterDef, in which this worker is
     * `task`; "": the one it was started with. */
    struct tfd_str cluster_def;
    struct tfd_str task; /* looked at by a worker of this process only */
    /* Whose master it is, as quotas count (rpc/conn/origin.h), and the
     * connection that it came over (rpc/core/links.h); NULL and 0: one of this
     * process. */
    const char *peer;
    uint64_t link;
};

struct tfd_register_graph {
    struct tfd_str session; /* handle */
    struct tfd_str graph_def;
    /* Feeds and fetches of a run, by tensor_name of the client-terminated _Recv
     * and _Send nodes; only for the master's own worker. */
    const struct tfd_str *feeds;
    int feed_count;
    const struct tfd_str *fetches;
    int fetch_count;
    struct tfd_str config_proto; /* passed on to TensorFlow workers */
};

/* What a step is to say of itself, of all its parts together: they append as
 * they end. */
struct tfd_run_trace {
    bool timeline;           /* wanted: stats */
    bool partition_graphs;   /* wanted: graphs */
    struct tfd_bytes stats;  /* fields of a StepStats */
    struct tfd_bytes graphs; /* RunMetadata.partition_graphs, each a field */
    /* -- the master's -- */
    bool may_cost;    /* its session wants the costs of some steps */
    bool costs;       /* those of this one: both are wanted then, */
    bool show_stats;  /* and the client asked for this, */
    bool show_graphs; /* and this */
};

/* Whoever begins steps asks this of him who may want them traced, though their
 * client does not (daemon/master/record/step_watch.h). */
struct tfd_watched_step;
struct tfd_tracer;

/* Of a step that has ended. */
struct tfd_step_watched {
    int64_t id;
    const char *session;
    const struct tfd_status *status;
};

struct tfd_tracer_ops {
    /* A step begins while `wants`; *trace is its client's, or NULL, and becomes
     * the one to fill in.  NULL: it is not wanted. */
    struct tfd_watched_step *(*begin)(struct tfd_tracer *t, const char *session,
                                      struct tfd_run_trace **trace);
    /* Nothing of it runs any more; its client's trace is still there. */
    void (*end)(struct tfd_tracer *t, struct tfd_watched_step *take,
                const struct tfd_step_watched *x);
    /* After an end, when the step's client has been answered. */
    void (*check)(struct tfd_tracer *t);
};

struct tfd_tracer {
    const struct tfd_tracer_ops *ops;
    bool
        wants; /* the next step: all that is looked at when there is no trace */
};

/* One step on one worker.  Embedded in the master's pooled step; the fields
 * below the line are the worker's. */
struct tfd_run_graph {
    struct tfd_str session;
    uint64_t graph; /* from register_graph */
    int64_t step_id;
    struct tfd_tensor *feeds;    /* in the registered order; taken */
    struct tfd_tensor *fetches;  /* filled in, owned by the master; an empty
                                    tensor (dtype INVALID) was dead */
    uint64_t deadline_us;        /* 0: none */
    struct tfd_run_trace *trace; /* NULL: nothing */
    bool shares_step;            /* with other runs here, also at once */
    bool master_tells;           /* that the step is stuck, if it can */
    void (*done)(struct tfd_run_graph *run, const struct tfd_status *st);
    void *master;
    /* -- */
    void *worker;
};

struct tfd_worker;

typedef void tfd_worker_done_fn(void *ctx, const struct tfd_status *st);
typedef void tfd_worker_status_fn(void *ctx, const struct tfd_status *st,
                                  const struct tfd_device_attributes *devices,
                                  int count);
typedef void tfd_worker_registered_fn(void *ctx, const struct tfd_status *st,
                                      uint64_t graph);

/* take_value is taken, or dead: empty. */
typedef void tfd_worker_value_fn(void *ctx, const struct tfd_status *st,
                                 struct tfd_tensor *take_value);

/* How a master's session ended.  The numbers are sent. */
enum tfd_session_end {
    TFD_SESSION_LAST = 0,  /* closed by its client; of no other is known */
    TFD_SESSION_ONE = 1,   /* the same, and clients have others open there */
    TFD_SESSION_BROKEN = 2 /* its client, or its master, went without a word */
};

struct tfd_worker_ops {
    /* Waits for the peer to be reachable at most timeout_us (0: for ever). */
    void (*get_status)(struct tfd_worker *w, uint64_t timeout_us,
                       tfd_worker_status_fn *done, void *ctx);
    /* Nobody waits any more for the get_status, create_session, learn_steps or
     * register_graph that was given ctx: its done() follows whatever a peer
     * does, with CANCELLED unless it ends otherwise.  ctx may be nobody's. */
    void (*cancel_call)(struct tfd_worker *w, const void *ctx);
    void (*create_session)(struct tfd_worker *w,
                           const struct tfd_worker_session *s,
                           tfd_worker_done_fn *done, void *ctx);
    void (*delete_session)(struct tfd_worker *w, struct tfd_str handle,
                           enum tfd_session_end end, uint64_t timeout_us,
                           tfd_worker_done_fn *done, void *ctx);
    void (*register_graph)(struct tfd_worker *w,
                           const struct tfd_register_graph *r,
                           tfd_worker_registered_fn *done, void *ctx);
    void (*deregister_graph)(struct tfd_worker *w, struct tfd_str session,
                             uint64_t graph);
    /* The hot path: no strings are looked at, nothing is allocated. */
    void (*run_graph)(struct tfd_worker *w, struct tfd_run_graph *run);
    /* done() follows, with CANCELLED unless it had ended otherwise. */
    void (*cancel)(struct tfd_worker *w, struct tfd_run_graph *run);
    /* Of the worker in this process only: what a partial run is fed, and what
     * is fetched from it, by the key "SEND;INCARNATION;RECV;NAME". */
    enum tfd_code (*put)(struct tfd_worker *w, int64_t step, struct tfd_str key,
                         struct tfd_tensor *take_value, struct tfd_status *st);
    void (*take)(struct tfd_worker *w, int64_t step, struct tfd_str key,
                 tfd_worker_value_fn *done, void *ctx);
    /* Of the worker in this process only: the step is there, whether anything
     * of it runs or not, until it is cleaned up.  Its runs share it. */
    enum tfd_code (*hold_step)(struct tfd_worker *w, int64_t step,
                               struct tfd_status *st);
    /* Of the worker in this process only: the ids of steps that sessions of
     * several masters share (worker/collective/step_sequences.h).  Of what is
     * learned each step takes one, and says when it has ended; 0: it must be
     * learned again. */
    void (*learn_steps)(struct tfd_worker *w, uint64_t graph_key,
                        tfd_worker_done_fn *done, void *ctx);
    int64_t (*begin_step)(struct tfd_worker *w, uint64_t graph_key);
    void (*end_step)(struct tfd_worker *w, uint64_t graph_key, int64_t step,
                     bool well);
    /* Drops what the step left behind; no done(). */
    void (*cleanup_graph)(struct tfd_worker *w, int64_t step_id);
    void (*cleanup_all)(struct tfd_worker *w, const struct tfd_str *containers,
                        int count, tfd_worker_done_fn *done, void *ctx);
    /* Of the worker in this process only: bytes that it keeps for the session
     * (worker/service/task_session_memory.h); 0: it has none of this name. */
    size_t (*session_memory)(struct tfd_worker *w, struct tfd_str handle);
    /* The same of one resource, whoever has it; 0: it is not known. */
    size_t (*resource_memory)(struct tfd_worker *w, struct tfd_resource *r);
    /* True when it speaks native: pushes work towards and from it. */
    bool (*is_native)(const struct tfd_worker *w);
    /* Why it cannot be reached; "" when it can or nobody tried. */
    const char *(*trouble)(const struct tfd_worker *w);
};

struct tfd_worker {
    const struct tfd_worker_ops *ops;
    char task[TFD_DEVICE_NAME_MAX]; /* "/job:worker/replica:0/task:1" */
};

#endif
