/*
 * step_times.h - how long a step took, by phase (step_ring.h), and what is made
 * of it when it ends: its record, the master's histogram, the median of its
 * plan, the lines of the log.
 *
 * Costs a step a reading of the clock when it begins and one for each part that
 * ends, of which one that ends while it is started has two in all; no string is
 * looked at, unless it failed.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_SESSION_STEP_TIMES_H
#define TFD_DAEMON_MASTER_SESSION_STEP_TIMES_H

#include "daemon/master/session/plan.h"

/* Embedded in a step. */
struct tfd_step_times {
    struct tfd_step_record *record; /* NULL: no memory */
    uint64_t number;
    uint64_t begun_us; /* its plan was there */
    uint64_t last_us;  /* something happened to it */
    uint64_t plan_us, start_us, here_us, others_us;
    uint64_t fed;
    int slowest; /* a part, or -1 */
};

/* Who runs, by the names of its fetches and tasks; once its parts are there. */
void tfd_step_times_name(struct tfd_plan *p);

void tfd_step_times_begin(struct tfd_step_times *t, const struct tfd_plan *p,
                          const struct tfd_run_step *run, int64_t id);
/* over: all parts have ended by now. */
void tfd_step_times_started(struct tfd_step_times *t, const struct tfd_plan *p,
                            bool over);
void tfd_step_times_part(struct tfd_step_times *t, const struct tfd_plan *p,
                         int part);
/* Before its answer is made: fetches may be NULL. */
void tfd_step_times_end(struct tfd_step_times *t, struct tfd_plan *p,
                        int64_t id, const struct tfd_run_step *run,
                        const struct tfd_tensor *fetches,
                        const struct tfd_status *st);
/* Its answer has been made. */
void tfd_step_times_answered(struct tfd_step_times *t,
                             const struct tfd_master *m);

#endif
