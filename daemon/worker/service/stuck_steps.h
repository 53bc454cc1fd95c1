/*
 * stuck_steps.h - steps of this worker that make no progress: all that is left
 * of one here waits, for what has not come for --stuck_after.  Each is told
 * once in the log:
 *
 *     step_stuck  step session seconds ops waits
 *
 *     ops=2 waits="take: QueueDequeueV2 of queue inputs in ps (0 of 10);
 *     recv: tensor grad:0 of /job:ps/replica:0/task:0/device:CPU:0"
 *
 * at INFO where the step's master is a tfd, which asks all tasks and warns once
 * for all of them (daemon/stuck_watch.h); at WARN where it is none, or does not
 * ask.  Then who owes a tensor is asked what its part of the step waits for,
 * and so on to the cause, and the line says that, too:
 *
 *     waits="recv: tensor grad:0 of /job:ps/...; there take: QueueDequeueV2 of
 *     queue tokens in ps (0 of 1)"
 *
 * A step has the same number on all tasks.  What runs is not stuck, however
 * long it takes, here or on the task that owes a tensor.
 *
 * Costs a look at each running step four times in --stuck_after; a step itself
 * two stores for each op that may wait.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_STUCK_STEPS_H
#define TFD_DAEMON_WORKER_STUCK_STEPS_H

#include "common/base/log.h"
#include "common/base/pbio.h"
#include "daemon/worker_api.h"

struct tfd_call;
struct tfd_worker_service;

void tfd_stuck_steps_watch(struct tfd_worker_service *w);
void tfd_stuck_steps_stop(struct tfd_worker_service *w);
/* The handler of GetStepWaits; self: the worker. */
void tfd_stuck_steps_answer(void *self, struct tfd_call *call);

/* What a running step waits for right now, in the words of the log, and since
 * when it was seen to; "": it does not, or nobody can say. */
struct tfd_stuck_step {
    int64_t step;
    uint64_t waited_us;
    const char *session, *waits; /* for the call */
};
/* Of `max` running steps at most, the youngest first. */
void tfd_stuck_steps_each(const struct tfd_worker_service *w, int max,
                          void (*fn)(void *ctx, const struct tfd_stuck_step *s),
                          void *ctx);

/* ---- stuck_ask.c --------------------------------------------------------- */

/* Of a step that is to be told: texts are terminated. */
#define TFD_STUCK_WAITS_SIZE 3000
struct tfd_stuck_facts {
    int64_t step;
    char session[TFD_SESSION_HANDLE_MAX + 1];
    uint64_t waited_us;
    int ops;
    char waits[TFD_STUCK_WAITS_SIZE];
    char owes[TFD_DEVICE_NAME_MAX]; /* a task; "": nobody */
};

/* What a task says of its parts of a step. */
struct tfd_stuck_answer {
    bool runs;                    /* one of them is at work */
    struct tfd_stuck_facts facts; /* of one that waits; ops 0: none does */
};
/* For the step's master in this process. */
void tfd_stuck_steps_ask_here(struct tfd_worker_service *w, int64_t step,
                              struct tfd_stuck_answer *out);
/* The same as a message (StepWaits), but for step and session. */
void tfd_stuck_encode(struct tfd_bytes *b, const struct tfd_stuck_answer *a);
void tfd_stuck_decode(struct tfd_str proto, struct tfd_stuck_answer *out);

void tfd_stuck_write(enum tfd_log_level level,
                     const struct tfd_stuck_facts *facts);
/* Writes the line at WARN, at once or when others have said what they wait
 * for; not when one of those is at work. */
void tfd_stuck_ask(struct tfd_worker_service *w,
                   const struct tfd_stuck_facts *facts);
/* The worker ends: those that are still asked are not told of. */
void tfd_stuck_ask_stop(struct tfd_worker_service *w);

#endif
