/*
 * spread_run.h - one run of a function on several tasks: all parts at once,
 * under one step that is the run's own; then each task drops what the step has
 * left.
 *
 * The first failure ends it: the other parts are cancelled, and it is over when
 * all have ended.  One that may be the mere echo of another, which says more of
 * the cause, waits a moment for that.
 *
 *     new -> begin -> done, once, on the loop thread, possibly before begin()
 *     returns -> free
 *
 * Ownership: a run counts its context and its function's parts.
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_PARTS_SPREAD_RUN_H
#define TFD_DAEMON_EAGER_PARTS_SPREAD_RUN_H

#include "daemon/eager/parts/spread.h"

/* Where a result is. */
struct tfd_eager_spread_result {
    const char *device;       /* NULL: on this task ... */
    struct tfd_tensor *value; /* ... with this value; else only its shape */
};

struct tfd_eager_spread_run {
    void (*done)(struct tfd_eager_spread_run *r, const struct tfd_status *st);
    void *ctx;
    struct tfd_eager_spread *spread;
    /* -- */
    struct tfd_eager_context *context;
    int64_t op, step;
    struct tfd_tensor *in;            /* by value of the function */
    struct tfd_str *inputs;           /* likewise: as the request has them */
    struct tfd_eager_packed **packed; /* likewise: whose they are; NULL */
    struct tfd_eager_run **runs;      /* by part */
    struct tfd_str *part_inputs;      /* of all parts, one after another */
    int pending;
    bool ending, is_cancelled;
    struct tfd_status error;
    struct tfd_post cancel;
    struct tfd_timer timer;
    struct tfd_eager_spread_waiter waiter;
};

/* Takes the operation's values; the request that it views lives until done().
 * Counts the spread.  NULL without memory. */
struct tfd_eager_spread_run *tfd_eager_spread_run_new(
    struct tfd_eager_context *c, struct tfd_eager_spread *s,
    struct tfd_eager_operation *o, int64_t step, struct tfd_status *st);
void tfd_eager_spread_run_begin(struct tfd_eager_spread_run *r);
/* done() follows soon, with CANCELLED unless it ended otherwise. */
void tfd_eager_spread_run_cancel(struct tfd_eager_spread_run *r);
/* After done() was given TFD_OK. */
struct tfd_eager_spread_result
tfd_eager_spread_run_result(const struct tfd_eager_spread_run *r, int i);
void tfd_eager_spread_run_free(struct tfd_eager_spread_run *r);

#endif
