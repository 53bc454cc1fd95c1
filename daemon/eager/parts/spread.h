/*
 * spread.h - a function as it runs on several tasks: its parts, registered with
 * this task's worker and with others (peer.h).
 *
 * One is kept for each way in which the values of a function lie, and its
 * attributes; it goes with the function, or with the view of the cluster.
 *
 *     BUILDING   tasks are asked what they speak (meet.h), then it is cut
 *                (cut.h), on a thread if it is large; runs wait
 *     READY      they run; parts are registered when they first run
 *     FAILED     they fail, and nobody finds it any more
 *
 * Ownership: counted, by its function and by its runs.
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_PARTS_SPREAD_H
#define TFD_DAEMON_EAGER_PARTS_SPREAD_H

#include "common/thread/pool.h"
#include "daemon/eager/context.h"
#include "daemon/eager/parts/cut.h"
#include "daemon/eager/parts/meet.h"
#include "daemon/eager/operation.h"

/* Embedded by who waits. */
struct tfd_eager_spread_waiter {
    void (*ready)(struct tfd_eager_spread_waiter *w); /* READY, or FAILED */
    struct tfd_eager_spread_waiter *next;
};

struct tfd_eager_part {
    struct tfd_eager_graph *graph;
    int *args, *results; /* values and results of the function; counted by
                            the graph */
};

struct tfd_eager_spread {
    int refs;
    enum { TFD_SPREAD_BUILDING, TFD_SPREAD_READY, TFD_SPREAD_FAILED } state;
    struct tfd_status status; /* FAILED */
    struct tfd_eager_tasks *tasks;
    struct tfd_eager_part *parts;
    int part_count;
    int value_count, result_count;
    bool pushes;        /* all parts' values: no task is left with any */
    int *result_device; /* of the cluster's */
    struct tfd_eager_spread_waiter *waiting; /* oldest first */
    /* -- while it is cut, and of the function's list */
    struct tfd_eager_context *context;
    struct tfd_eager_function *function; /* NULL: it has let go of it */
    struct tfd_eager_spread *next;
    struct tfd_bytes key;
    struct tfd_eager_cut cut;
    struct tfd_str text; /* names of the cut: one block */
    struct tfd_eager_meeting meeting;
    struct tfd_job job;
    struct tfd_post post;
};

/* Whether a function's values, or nodes, are of several tasks. */
bool tfd_eager_spread_needed(struct tfd_eager_context *c,
                             struct tfd_eager_function *f,
                             const struct tfd_eager_operation *o);
/* Counted for the caller; f is the context's spread_ops for a single op.
 * INVALID_ARGUMENT "DEVICE unknown device." */
enum tfd_code tfd_eager_spread_get(struct tfd_eager_context *c,
                                   struct tfd_eager_function *f,
                                   const struct tfd_eager_operation *o,
                                   struct tfd_eager_spread **out,
                                   struct tfd_status *st) TFD_MUST_USE;
void tfd_eager_spread_unref(struct tfd_eager_spread *s);
/* ready() follows, possibly at once. */
void tfd_eager_spread_wait(struct tfd_eager_spread *s,
                           struct tfd_eager_spread_waiter *w);

#endif
