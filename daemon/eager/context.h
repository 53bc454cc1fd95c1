/*
 * context.h - an eager context: the state that one coordinator (a TensorFlow 2
 * client) keeps on this task, that is its values, functions, graphs and runs.
 *
 * A context is known by a number that the coordinator chooses.  Its cluster,
 * and the name of this task in it, are the coordinator's, too; several contexts
 * live side by side.  It ends when it is closed, or when nobody has called in
 * its name for as long as it said.
 *
 * The coordinator numbers its descriptions of the cluster, and `view` is the
 * number of the newest one: a request to create or close the context that
 * carries a lower number comes too late, and has no effect.  A context's number
 * is also that of a step: single _Send and _Recv ops meet peers in the
 * rendezvous of that step, which lives as long as the context.
 *
 * Ownership: counted; the table holds one reference, each call and each run
 * one.  A context that was closed has nothing but its runs.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_CONTEXT_H
#define TFD_DAEMON_EAGER_CONTEXT_H

#include "daemon/eager/eager_impl.h"
#include "daemon/eager/failures.h"
#include "daemon/eager/graph.h"
#include "daemon/eager/handles.h"
#include "daemon/eager/library.h"
#include "daemon/eager/order.h"
#include "daemon/eager/single_op.h"

struct tfd_eager_tasks;

struct tfd_eager_context {
    struct tfd_eager *eager;
    int refs;
    bool is_closed;
    uint64_t id, view;
    uint64_t keep_alive_us; /* 0: for ever */
    uint64_t begun_us;      /* when it was made */
    uint64_t used_us;       /* the last call */
    uint64_t runs_done;     /* ops and functions that ended */
    int calls;              /* under way */
    uint64_t link;          /* the last call's (rpc/core/links.h) */
    char peer[TFD_ORIGIN_KEY_MAX];
    char session[TFD_SESSION_HANDLE_MAX + 1];
    uint64_t session_number; /* it has another with every cluster */
    char task[TFD_DEVICE_NAME_MAX];
    struct tfd_bytes cluster_def; /* whose addresses the session has */
    struct tfd_eager_tasks *tasks;
    /* This task's, by the names that the coordinator has for them. */
    struct tfd_device_attributes *devices;
    int device_count;
    struct tfd_eager_handles handles;
    struct tfd_eager_failures failures;
    struct tfd_eager_library functions, components;
    struct tfd_eager_ops ops;
    struct tfd_eager_function spread_ops; /* single ops on several tasks */
    struct tfd_eager_run *runs;
    struct tfd_eager_order order;
    struct tfd_meter *meter; /* of calls in its name */
};

/* What CreateContext says; views of its request. */
struct tfd_eager_context_request {
    uint64_t id, view;
    int64_t keep_alive_secs;
    bool clears; /* all other contexts, and the task's resources */
    struct tfd_str cluster_def;
    struct tfd_str devices; /* a message that has, in fields of ... */
    uint32_t devices_tag;   /* ... this number, those of the cluster */
    struct tfd_str job;
    int32_t index;
    const char *peer; /* whose it is, as quotas count */
    uint64_t link;
};

/* Replaces the context of this number if its view is not newer.
 * INVALID_ARGUMENT, RESOURCE_EXHAUSTED beyond TFD_EAGER_CONTEXTS_MAX. */
enum tfd_code tfd_eager_context_new(struct tfd_eager *e,
                                    const struct tfd_eager_context_request *q,
                                    struct tfd_eager_context **out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* UpdateContext: tasks of the cluster were replaced, and the view is the next.
 * Where q has a cluster, functions on several tasks are cut and registered anew
 * when they run next, and if it has other addresses, all else is compiled anew,
 * too.  INVALID_ARGUMENT for any other view. */
enum tfd_code
tfd_eager_context_update(struct tfd_eager_context *c,
                         const struct tfd_eager_context_request *q,
                         struct tfd_status *st) TFD_MUST_USE;
/* Cancels its runs and lets go of everything; it is not found any more. */
void tfd_eager_context_close(struct tfd_eager_context *c);
struct tfd_eager_context *tfd_eager_context_ref(struct tfd_eager_context *c);
void tfd_eager_context_unref(struct tfd_eager_context *c);

/* For a call in its name over this link.  ABORTED "Unable to find a context_id
 * matching the specified one (N). ..." when there is none. */
enum tfd_code tfd_eager_context_find(struct tfd_eager *e, uint64_t id,
                                     uint64_t link,
                                     struct tfd_eager_context **out,
                                     struct tfd_status *st) TFD_MUST_USE;
/* That failure, also of what a context that is closed had under way. */
enum tfd_code tfd_eager_context_lost(uint64_t id, struct tfd_status *st);
/* A call in its name begins, and ends. */
void tfd_eager_context_enter(struct tfd_eager_context *c);
void tfd_eager_context_leave(struct tfd_eager_context *c);

#endif
