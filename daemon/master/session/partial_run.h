/*
 * partial_run.h - a step whose feeds come, and whose fetches are asked for,
 * over several calls (Session.partial_run).
 *
 *     setup    all names; the plan is built; gives a handle
 *     step     some of the feeds, some of the fetches.  The first one starts
 *              the executors; one that feeds and fetches what was left waits
 *              for the end of the step, and forgets it
 *
 * Feeds and fetches of such a plan are ordinary _Recv and _Send nodes of the
 * client's device, which meet the client in the step's rendezvous.  A failure
 * ends the whole: calls under way get it, later ones find no such run.
 *
 * Ownership: the session's, until it has ended.  Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_PARTIAL_RUN_H
#define TFD_DAEMON_MASTER_PARTIAL_RUN_H

#include "daemon/master/session/master.h"

typedef void tfd_partial_setup_fn(void *ctx, const struct tfd_status *st,
                                  int64_t handle);

/* names: the feeds, fetches and targets of a run, borrowed for the call. */
void tfd_partial_run_setup(struct tfd_session *s,
                           const struct tfd_run_step *names,
                           tfd_partial_setup_fn *done, void *ctx);
/* As tfd_session_run(), with the names this call feeds and fetches.
 * INVALID_ARGUMENT "Must run PartialRunSetup before performing partial runs"
 * for an unknown handle; TensorFlow's texts for names that come twice, were not
 * set up, or cannot be computed yet. */
void tfd_partial_run_step(struct tfd_session *s, struct tfd_str handle,
                          struct tfd_run_step *run);
/* The whole ends with CANCELLED. */
void tfd_partial_run_cancel(struct tfd_session *s, struct tfd_run_step *run);
/* Those of a session that is gone; no step is running. */
void tfd_partial_run_free_all(struct tfd_session *s);

#endif
