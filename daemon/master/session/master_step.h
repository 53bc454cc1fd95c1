/*
 * master_step.h - one step as the master sees it: it sends RunGraph to every
 * worker that has a part of the plan, collects their answers, and gives the
 * caller one result.  What runs within a worker is its struct tfd_step.
 *
 * Pooled per plan: a step of a known plan allocates nothing here.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_MASTER_STEP_H
#define TFD_DAEMON_MASTER_MASTER_STEP_H

#include "daemon/master/session/plan.h"

/* The plan is READY.  run->done() follows. */
void tfd_master_step_start(struct tfd_plan *p, struct tfd_run_step *run);
/* Ends the step with this status once its parts have ended. */
void tfd_master_step_abort(struct tfd_master_step *step,
                           const struct tfd_status *why);
void tfd_master_step_free_idle(struct tfd_plan *p);
/* The connection to this worker was lost: what it has pushed to others may be
 * lost, too.  Aborts the steps up to number `last` whose part on it had ended
 * well, and which others have not ended yet. */
void tfd_master_step_lost(struct tfd_session *s, const struct tfd_worker *w,
                          uint64_t last, const struct tfd_status *why);
/* Whether a step up to number `last` runs, and is to end well, that has or had
 * a part on this worker.  A partial run does not count: it may be open as long
 * as its client is. */
bool tfd_master_step_needs(const struct tfd_session *s,
                           const struct tfd_worker *w, uint64_t last);
/* Aborts every running step of the session. */
void tfd_master_step_abort_all(struct tfd_session *s,
                               const struct tfd_status *why);

/* ---- As a page shows it -------------------------------------------------- */

/* daemon/stuck_watch.h */
enum tfd_step_stuck { TFD_STEP_MOVES, TFD_STEP_MAY_BE_STUCK, TFD_STEP_STUCK };

struct tfd_master_step_facts {
    const struct tfd_master_step *step; /* for the call, as all else */
    const struct tfd_plan *plan;
    int64_t id;
    uint64_t age_us;
    int parts, pending;         /* the second: not yet ended */
    enum tfd_step_stuck *stuck; /* of who tells it; MOVES at first */
};
typedef void tfd_master_step_facts_fn(void *ctx,
                                      const struct tfd_master_step_facts *f);
/* Of the session's running steps, the youngest first. */
void tfd_master_step_facts(const struct tfd_session *s,
                           tfd_master_step_facts_fn *fn, void *ctx);
/* The task whose part i has not ended; NULL: it has. */
const char *tfd_master_step_owes(const struct tfd_master_step *step, int i);

#endif
