/*
 * step_waits.h - what a running step waits for right now, in words:
 *
 *     take: QueueDequeueV2 of queue inputs in ps (0 of 10)
 *     loop/take [iteration 3]: QueueDequeueV2 of queue inputs in ps (0 of 10)
 *     call/inner/take: QueueDequeueV2 of queue inputs in ps (0 of 10)
 *     recv: tensor grad:0 of /job:ps/replica:0/task:0/device:CPU:0
 *
 * An op that has called functions is told by what their bodies wait for, with
 * the path of the calls.  Behind an op that takes from a dataset stand the
 * bodies that datasets of the session have called and that wait, too: which of
 * them are of this iterator's pipeline nobody knows.  What waits for no tensor
 * of another task is told first: it is the cause.
 *
 * A step waits when nobody works on any of it: no runner of its own, of a body
 * that it has called or of one that its datasets have.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_STEP_WAITS_H
#define TFD_DAEMON_WORKER_STEP_WAITS_H

#include "daemon/worker/run/step.h"
#include "daemon/worker_api.h"

struct tfd_worker_service;

/* Of all ops, within a line of the log. */
#define TFD_STEP_WAITS_SIZE 2000

struct tfd_step_waits {
    char text[TFD_STEP_WAITS_SIZE];
    int ops;
    /* Of the set of them, with the iterations and calls that they are in: the
     * same at two looks, nothing has moved in between.  0: it does not wait. */
    uint64_t mark;
    char owes[TFD_DEVICE_NAME_MAX]; /* the task of the first tensor */
};

void tfd_step_waits_look(const struct tfd_worker_service *w, struct tfd_step *s,
                         struct tfd_step_waits *out);

#endif
