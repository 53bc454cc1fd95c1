/*
 * stuck_watch.h - steps of this task's master that make no progress: every part
 * that has not ended waits, on whatever task, and nothing has moved on any of
 * them for --stuck_after.  One line at WARN for the whole step:
 *
 *     step_stuck  step session seconds ops waits
 *
 *     waits="recv: tensor grad:0 of /job:ps/...; there take: QueueDequeueV2 of
 *     queue tokens in ps (0 of 1); on /job:worker/...: recv: ..."
 *
 * begins with the part here, if that waits, goes on to who owes what it waits
 * for, and so on, and then tells of the parts that this did not come by.
 *
 * A step that is older is asked after four times in --stuck_after, of all tasks
 * that have a part of it (GetStepWaits); tasks that are asked do not warn
 * themselves (daemon/worker/service/stuck_steps.h).  One that does not answer,
 * or is no tfd, is taken to wait.  Partial runs wait for their client, and are
 * left to the workers.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_STUCK_WATCH_H
#define TFD_DAEMON_STUCK_WATCH_H

#include "rpc/core/peers.h"

struct tfd_master;
struct tfd_worker_service;
struct tfd_stuck_watch;

struct tfd_stuck_watch_options {
    struct tfd_loop *loop;
    const struct tfd_master *master; /* borrowed, and what follows */
    struct tfd_worker_service *worker;
    struct tfd_peers *peers;
    uint64_t stuck_after_us; /* 0: no step is stuck */
};

enum tfd_code tfd_stuck_watch_new(const struct tfd_stuck_watch_options *o,
                                  struct tfd_stuck_watch **out,
                                  struct tfd_status *st) TFD_MUST_USE;
/* Before its master and its peers are; NULL is allowed. */
void tfd_stuck_watch_free(struct tfd_stuck_watch *w);

#endif
