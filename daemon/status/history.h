/*
 * history.h - how this task did in the last 15 minutes: a sample every
 * TFD_STATUS_SAMPLE_MS of counters that are kept anyway, in a ring.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_HISTORY_H
#define TFD_DAEMON_STATUS_HISTORY_H

#include "config/limits.h"
#include "daemon/status/view.h"

struct tfd_history_sample {
    uint64_t at_us;                /* by tfd_loop_now_us() */
    uint64_t steps_done, steps_us; /* as task_state.h has them */
    uint64_t worker_steps_done;
    uint64_t memory_bytes;
};

struct tfd_history {
    const struct tfd_view *view;
    struct tfd_timer timer;
    uint64_t count; /* samples, ever */
    struct tfd_history_sample samples[TFD_STATUS_SAMPLES_MAX];
};

/* Embedded.  Without memory for its timer it has the first sample alone. */
void tfd_history_start(struct tfd_history *h, const struct tfd_view *v);
void tfd_history_stop(struct tfd_history *h);
/* How many there are; i = 0 is the oldest. */
int tfd_history_count(const struct tfd_history *h);
const struct tfd_history_sample *tfd_history_at(const struct tfd_history *h,
                                                int i);

#endif
