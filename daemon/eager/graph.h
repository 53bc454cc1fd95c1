/*
 * graph.h - what a context runs: graphs that are registered with a worker, and
 * runs of them.  The worker is this task's, or another task's (peer.h).
 *
 * A graph is registered when it is first run; what comes meanwhile waits.  A
 * run's done() follows exactly once, on the loop thread, possibly before
 * tfd_eager_run_begin() returns; its results are the caller's then.
 *
 *     tfd_eager_graph_new      the GraphDef is written
 *     tfd_eager_run_new        room for arguments, which the caller fills in
 *     tfd_eager_run_begin      registered? else it is; then it runs
 *     done                     results, or why there are none
 *     tfd_eager_run_free
 *
 * Arguments and results are client-terminated _Recv and _Send nodes, as those
 * of a session's steps are, with the names of graph_ends.h.
 *
 * Ownership: a graph is counted, by who keeps it and by its runs; a run counts
 * its context.
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_GRAPH_H
#define TFD_DAEMON_EAGER_GRAPH_H

#include "daemon/worker_api.h"
#include "rpc/conn/loop.h"

struct tfd_eager_tasks;
struct tfd_eager_context;
struct tfd_eager_run;

enum tfd_eager_graph_state {
    TFD_EAGER_WRITTEN,
    TFD_EAGER_REGISTERING,
    TFD_EAGER_REGISTERED,
};

struct tfd_eager_graph {
    int refs;
    struct tfd_eager_context *context; /* of its keeper, or of its runs */
    enum tfd_eager_graph_state state;
    struct tfd_worker *worker;
    /* Of another task's, what keeps the worker, and the component's name there;
     * NULL */
    struct tfd_eager_tasks *tasks;
    char *name;
    uint64_t number;  /* the worker's */
    bool is_function; /* or a part of one: not a single operation */
    int arg_count, result_count;
    struct tfd_bytes def;              /* until it is registered */
    struct tfd_register_graph request; /* likewise */
    uint64_t session_number;           /* of the one that it is registered in */
    struct tfd_str *ends;              /* names: arguments, then results */
    struct tfd_eager_run *waiting;     /* oldest first */
    /* of a cache (single_op.h) */
    struct tfd_str key;
    struct tfd_eager_graph *next, *previous;
};

/* The GraphDef is taken, also on failure. */
enum tfd_code tfd_eager_graph_new(struct tfd_eager_context *c,
                                  struct tfd_bytes *take_def, int arg_count,
                                  int result_count,
                                  struct tfd_eager_graph **out,
                                  struct tfd_status *st) TFD_MUST_USE;
/* The same of a component of another task: take_def is a RegisterFunctionOp,
 * the name is copied. */
enum tfd_code tfd_eager_graph_new_at(
    struct tfd_eager_context *c, struct tfd_eager_tasks *tasks,
    struct tfd_worker *at, struct tfd_bytes *take_def, struct tfd_str name,
    int arg_count, int result_count, struct tfd_eager_graph **out,
    struct tfd_status *st) TFD_MUST_USE;
/* Its keeper lets go of it; NULL is allowed.  It is deregistered with the last
 * reference. */
void tfd_eager_graph_unref(struct tfd_eager_graph *g);

struct tfd_eager_run {
    struct tfd_run_graph run; /* first: the worker's done() gets it */
    struct tfd_eager_context *context;
    struct tfd_eager_graph *graph;
    struct tfd_tensor *args, *results; /* empty, until somebody fills them in */
    /* Of another task's graph: the values that args do not have, each an
     * Operation.Input; the operation, and which of its results these are.  Of
     * results only the shapes come. */
    const struct tfd_str *inputs;
    const int *outputs;
    int64_t op;
    void (*done)(struct tfd_eager_run *r, const struct tfd_status *st);
    void *ctx;
    struct tfd_watched_step *watched; /* NULL: nobody wants it traced */
    bool is_running, is_cancelled;
    struct tfd_post post;                  /* it was cancelled as it waited */
    struct tfd_eager_run *next_waiting;    /* for the same graph */
    struct tfd_eager_run *next, *previous; /* of the context */
};

/* NULL without memory. */
struct tfd_eager_run *tfd_eager_run_new(struct tfd_eager_context *c,
                                        struct tfd_eager_graph *g,
                                        struct tfd_status *st);
/* done and ctx are set.  Values of arguments are taken. */
void tfd_eager_run_begin(struct tfd_eager_run *r, int64_t step_id);
/* done() follows, with CANCELLED unless it ended otherwise. */
void tfd_eager_run_cancel(struct tfd_eager_run *r);
/* Drops what there is of arguments and results.  Not while it runs. */
void tfd_eager_run_free(struct tfd_eager_run *r);

#endif
