/*
 * executor.h - runs a step of a registered graph, and chooses the threads for
 * it.
 *
 *     steps below 20 us that wait for no disk    the loop thread, since handing
 *                                                them over would cost as much
 *     other steps                                one compute thread
 *     ... with nodes that are worth a thread     several compute threads
 *
 * This is a heuristic: what a graph costs is measured all the time, so that a
 * graph moves from one row to another while it is used.  A runner (runner.h)
 * does the work on each thread.
 *
 * Threads: the loop thread, unless a function says otherwise.
 */
#ifndef TFD_DAEMON_WORKER_EXECUTOR_H
#define TFD_DAEMON_WORKER_EXECUTOR_H

#include "daemon/worker/run/step.h"

/* A step of a compiled graph, ready to be begun; tfd_step_free() ends it.  NULL
 * without memory. */
struct tfd_step *tfd_executor_step(struct tfd_exec *e, struct tfd_loop *loop,
                                   struct tfd_pool *pool,
                                   struct tfd_status *st);
/* Begins; s->ended() follows once, possibly before this returns.  feeds,
 * fetches, id, rendezvous and ended are set.  Loop thread. */
void tfd_executor_start(struct tfd_step *s);
/* Whether all of a step of it can run on one thread, whichever: no kernel waits
 * or works for a device, and it ends by itself, as nobody can cancel it: it has
 * no loop. */
bool tfd_executor_may_run(const struct tfd_exec *e);
/* It may, and its steps so far were short enough for the loop thread.  Loop
 * thread. */
bool tfd_executor_is_quick(const struct tfd_exec *e);
/* Runs all of such a step on this thread, which is not the loop thread; without
 * ended().  It has no pool. */
void tfd_executor_run(struct tfd_step *s);
/* Makes the step fail.  ended() may come before this returns.  Loop thread. */
void tfd_executor_fail(struct tfd_step *s, const struct tfd_status *st);
/* Only says so: nothing new is started, but nobody is told yet.  Any thread,
 * while the step cannot end. */
void tfd_executor_record(struct tfd_step *s, const struct tfd_status *st);
/* Between these asynchronous kernels may be finished in numbers; their steps go
 * on at the end.  Loop thread; may nest. */
void tfd_executor_enter(void);
void tfd_executor_leave(void);
/* The iteration an executing Send or Recv is in. */
const struct tfd_iter *tfd_executor_place(const struct tfd_kctx *k, bool *dead);

#endif
