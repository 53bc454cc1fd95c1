/*
 * stuck_steps.h - steps of this worker that make no progress: all that is left
 * of one here waits, for what has not come for --stuck_after.  Each is told
 * once in the log, at WARN:
 *
 *     step_stuck  step session seconds ops waits
 *
 *     ops=2 waits="take: QueueDequeueV2 of queue inputs in ps (0 of 10);
 *     recv: tensor grad:0 of /job:ps/replica:0/task:0/device:CPU:0"
 *
 * A step has the same number on all tasks, so the task that owes a tensor says
 * in its own log what its part of the step waits for.
 *
 * What runs is not stuck, however long it takes, nor is a step with a loop or a
 * call of a function under way, of which it cannot be told.
 *
 * Costs a look at each running step four times in --stuck_after; a step itself
 * two stores for each op that may wait.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_STUCK_STEPS_H
#define TFD_DAEMON_WORKER_STUCK_STEPS_H

struct tfd_worker_service;

void tfd_stuck_steps_watch(struct tfd_worker_service *w);
void tfd_stuck_steps_stop(struct tfd_worker_service *w);

#endif
