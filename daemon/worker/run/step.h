/*
 * step.h - the state of one run of a registered graph: its inputs' slots, what
 * each node still waits for, its runners, its status.
 *
 *     graph (exec.h, read-only)  <--  step  -->  iterations: slots and counts
 *                                       |-->  runners and helpers (runner.h)
 *                                       +-->  rendezvous, arena, trace
 *
 * A step begins and ends on the loop thread: ended() is called there.  In
 * between runners work on it, either the loop thread itself when the graph is
 * known to be cheap, or compute threads.
 *
 * A step lives, also after a failure, until its last runner has left and no
 * asynchronous kernel is under way.  Then the loop thread empties it and puts
 * it back into the graph's pool.
 *
 * Threads: the loop thread begins and ends a step.  While more than one runner
 * may be at work (`shared`), its counts are atomic and its lock guards the
 * rest.
 */
#ifndef TFD_DAEMON_WORKER_STEP_H
#define TFD_DAEMON_WORKER_STEP_H

#include "common/base/map.h"
#include "common/thread/lock.h"
#include "common/thread/pool.h"
#include "daemon/worker/run/captures.h"
#include "daemon/worker/exchange/rendezvous.h"

struct tfd_transfer;
struct tfd_remote_recvs;
struct tfd_frame;
struct tfd_trace;
struct tfd_iter;
struct tfd_rt_function;

/* A node of an iteration, in at most one list of ready ones. */
struct tfd_ready {
    struct tfd_ready *next;
    struct tfd_iter *it;
    const struct tfd_exec_node *node;
};

struct tfd_merge {
    int32_t dead;   /* inputs that came dead */
    int32_t chosen; /* the input that came first */
    bool is_dead;
};

/* An asynchronous kernel under way. */
struct tfd_async {
    struct tfd_kctx k;
    struct tfd_ready *item;
    struct tfd_async *next; /* in the step's inbox */
    bool waits;             /* started, and its end was not yet dealt with */
    int calls;              /* loop thread: of functions that run for it */
    /* of a Recv */
    struct tfd_waiter waiter;
    struct tfd_post post;
    const struct tfd_exec_channel *channel;
    struct tfd_remote_recvs *remote;
    uint64_t begun_ns;  /* of a traced step */
    uint64_t sample_ns; /* of a sampled step: when it was started */
};

/* One iteration of a loop, or all there is of frame 0. */
struct tfd_iter {
    const struct tfd_exec_frame *layout;
    struct tfd_step *step;
    struct tfd_frame *frame;    /* NULL in frame 0 */
    struct tfd_iter *next;      /* the following one; or in the list of free */
    struct tfd_frame *children; /* loops that run within it */
    int64_t number;
    int32_t outstanding; /* nodes ready or running; loops only */
    struct tfd_tensor *slots;
    struct tfd_variable **refs; /* by slot */
    int32_t *pending;           /* by node; of Merge: 2 * controls + 1 while no
                                   live input has come */
    uint8_t *dead;              /* by node: some input came dead */
    struct tfd_ready *ready;    /* by node */
    struct tfd_merge *merges;
    struct tfd_async *async;
    struct tfd_tensor *out; /* outputs of kernels with many, and of async */
    struct tfd_variable **out_refs;
};

/* A compute thread that helps with a step. */
struct tfd_helper {
    struct tfd_job job;
    struct tfd_step *step;
    struct tfd_helper *next;
};

#define TFD_HELPERS_MAX 16

struct tfd_step {
    struct tfd_exec *exec;
    struct tfd_iter *root;
    struct tfd_iter **free_iters;   /* by frame */
    struct tfd_frame **free_frames; /* by frame */
    int64_t id;
    struct tfd_loop *loop;
    struct tfd_pool *pool;
    struct tfd_rendezvous *rendezvous; /* NULL: needs none */
    struct tfd_transfer *transfer;     /* the way to other tasks */
    struct tfd_run_graph *run;
    struct tfd_tensor *feeds;         /* by position; taken */
    struct tfd_tensor *fetches;       /* by position; empty when dead */
    struct tfd_variable **fetch_refs; /* by position: to be read again */

    struct tfd_step *outermost; /* of a function's call: the graph's step */
    int32_t call_depth;         /* calls it is within */
    int calls;                  /* of the outermost: under way; atomic */
    /* Of calls, the loop thread's: those that run, by `next`, in the step that
     * is the outermost; whose body it is; the kernel that called, NULL of a
     * lasting function; and how often the step has run before. */
    struct tfd_step *called;
    const struct tfd_rt_function *function;
    struct tfd_kctx *caller;
    uint64_t runs;

    enum tfd_parts_mode parts_mode;
    int parts_launched; /* atomic: gates that launched */
    uint64_t begun_ns;  /* where it has parts, or is sampled */
    bool aborted; /* after a failure: everybody has been told; the lock's */
    bool alone;   /* no other step of this task is under way */
    bool on_loop; /* runs on the loop thread */
    bool shared;  /* several runners */
    bool timed;   /* the time of each node is taken */
    bool sampled; /* and counted (node_sample.h); then it is timed */
    struct tfd_trace *trace; /* NULL: not traced; then it is timed, too */
    uint64_t busy_ns;        /* of all runners; the lock's */

    int failed; /* atomic: nothing new is started */
    int async;  /* atomic: kernels under way */
    int slow;   /* atomic: runners at a node that is not quick */

    struct tfd_lock lock;     /* of what follows */
    struct tfd_ready *common; /* for any runner, oldest first */
    struct tfd_ready *common_last;
    struct tfd_async *inbox; /* ended, not yet propagated */
    struct tfd_helper *idle;
    bool begin; /* the first runner shall start the roots */
    int runners;
    struct tfd_status status;

    struct tfd_lock cancel_lock;
    struct tfd_cond cancel_left;
    struct tfd_map names; /* of what it keeps: step_names.c */
    struct tfd_cancel *cancels;
    struct tfd_cancel *cancelling; /* its fn runs now */
    pthread_t canceller;
    bool cancelled;

    struct tfd_helper helper[TFD_HELPERS_MAX];
    struct tfd_post resume; /* continue on the loop thread */
    struct tfd_post end;
    int32_t paced; /* of the graph's devices: may be ahead of them */
    struct tfd_continuation turn; /* to be ahead of the last */
    struct tfd_post may_end;
    struct tfd_timer deadline;
    struct tfd_step *next_resumable;
    struct tfd_step *next_unsent; /* among those whose pushes failed */
    bool unsent;
    bool is_ended; /* the last runner has left; the lock's */

    void (*ended)(struct tfd_step *s); /* loop thread; may free it */
    void *owner;
    /* stuck_steps.h: what it waited for at the last look, since when, and
     * whether that was told. */
    uint64_t waits_mark, waits_since_us;
    bool waits_told;
    int waits_asked; /* who has asked last, and when: stuck_steps.c */
    uint64_t waits_asked_us;
    struct tfd_step *next; /* in its graph's lists */
    struct tfd_step *previous;
};

/* For the executor (executor.h), which makes steps that run.  NULL without
 * memory. */
struct tfd_step *tfd_step_new(struct tfd_exec *e, struct tfd_loop *loop,
                              struct tfd_pool *pool, struct tfd_status *st);
void tfd_step_free(struct tfd_step *s);
/* Bytes, its loops apart. */
size_t tfd_step_size(const struct tfd_step *s);
/* Drops what a run left and makes it ready for the next. */
void tfd_step_reset(struct tfd_step *s);

/* An iteration with everything as the layout says. */
struct tfd_iter *tfd_iter_new(struct tfd_step *s, int32_t frame);
/* Drops the values in its slots. */
void tfd_iter_clear(struct tfd_iter *it);
void tfd_iter_reset(struct tfd_iter *it);
void tfd_iter_free(struct tfd_iter *it);

/* Reads the variables that are fetched again, now that nothing of the step runs
 * any more; without a word where one has another shape by now. */
void tfd_step_read_late(struct tfd_step *s);
/* step_names.c: lets go of what the step keeps by name. */
void tfd_step_drop_names(struct tfd_step *s);
/* cancel.c: calls everything registered, once; later ones are refused. */
void tfd_step_cancel_all(struct tfd_step *s);

#endif
