/*
 * loop.h - the event loop as the rest of the program sees it: posts from other
 * threads, timers, time.  Only loop.c and the files that own sockets
 * (loop_uv.h) know libuv.
 *
 * Threads: functions run on the loop thread unless said otherwise.
 */
#ifndef TFD_RPC_LOOP_H
#define TFD_RPC_LOOP_H

#include "common/base/status.h"
#include "config/allow.h"

#include <stdbool.h>
#include <stdint.h>

struct tfd_loop;

struct tfd_loop *tfd_loop_new(struct tfd_status *st);
/* Every connection must be closed before.  What was posted and deferred runs
 * first. */
void tfd_loop_free(struct tfd_loop *l);
/* Runs what was posted and deferred, and what that posts and defers, until
 * nothing is left; neither timers nor sockets.  The loop does not run. */
void tfd_loop_settle(struct tfd_loop *l);
/* Runs until tfd_loop_stop(), one turn at least; the calling thread becomes the
 * loop thread. */
void tfd_loop_run(struct tfd_loop *l);
void tfd_loop_stop(struct tfd_loop *l);
/* How long the loop may look for work before it sleeps (common/thread/spin.h);
 * 0 at first.  Before it runs. */
void tfd_loop_spin(struct tfd_loop *l, int64_t limit_us);
bool tfd_loop_inside(const struct tfd_loop *l); /* any thread may ask */
uint64_t tfd_loop_now_us(struct tfd_loop *l);   /* monotonic */

/* One piece of work for the loop thread; embedded by its owner, who keeps it
 * alive until run() is called.  run() may free it or post it again. */
struct tfd_post {
    void (*run)(struct tfd_post *p);
    struct tfd_post *next; /* the loop's */
};

/* From any thread.  Posts of one thread run in their order.  Never fails and
 * never allocates. */
void tfd_loop_post(struct tfd_loop *l, struct tfd_post *p);

/* One-shot timer; embedded.  Stopped when its owner dies. */
struct tfd_timer {
    void (*fire)(struct tfd_timer *t);
    struct tfd_loop *loop; /* the rest is the loop's */
    uint64_t due_us;
    uint64_t sequence;
    int32_t slot; /* in the loop's heap; -1 when not started */
};

void tfd_timer_init(struct tfd_timer *t, struct tfd_loop *l,
                    void (*fire)(struct tfd_timer *t));
/* Starts or restarts.  May fail only for lack of memory. */
enum tfd_code tfd_timer_start(struct tfd_timer *t, uint64_t delay_us,
                              struct tfd_status *st) TFD_MUST_USE;
void tfd_timer_stop(struct tfd_timer *t);

/* Work that runs once after the loop has handled the events at hand and before
 * it sleeps: connections flush there, so that the replies of many small steps
 * share one system call.  Embedded; started again by each call. */
void tfd_loop_defer(struct tfd_loop *l, struct tfd_post *p);
/* The same, before all that is deferred by now: for what has more to write. */
void tfd_loop_defer_first(struct tfd_loop *l, struct tfd_post *p);

/* Memory for bytes that are looked at before the caller returns to the loop:
 * connections with little to read share it instead of holding a buffer each. */
#define TFD_LOOP_SCRATCH_SIZE (64u << 10)
uint8_t *tfd_loop_scratch(struct tfd_loop *l);

/* Which users of this host its listeners let in, and whose listeners it dials
 * by their Unix sockets: the own user and root, until this is changed, which is
 * done before it runs. */
struct tfd_allow *tfd_loop_allow(struct tfd_loop *l);

/* SIGTERM, SIGINT, ...: fn runs on the loop thread. */
enum tfd_code tfd_loop_signal(struct tfd_loop *l, int number,
                              void (*fn)(void *ctx, int number), void *ctx,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
