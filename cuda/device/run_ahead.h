/*
 * run_ahead.h - how far steps may run ahead of a device.
 *
 * A step that fetches nothing has ended once it is enqueued, so a client could
 * be as far ahead of the card as it likes, and whoever enqueues into a launch
 * queue of CUDA's that is full blocks, the loop thread, too.  So steps are
 * counted, in batches: when one is full its last step's place on the stream is
 * marked.  While all marks are ahead of the stream further steps have to wait
 * for the oldest.  Nobody blocks, and a step that need not wait costs a lock,
 * one in TFD_RUN_AHEAD_STEPS an event.
 *
 * Threads: any.
 */
#ifndef TFD_CUDA_RUN_AHEAD_H
#define TFD_CUDA_RUN_AHEAD_H

#include "common/thread/continuation.h"
#include "config/limits.h"
#include "cuda/device/events.h"

#define TFD_RUN_AHEAD_MARKS 3
/* Of a batch; the last one has no mark. */
#define TFD_RUN_AHEAD_STEPS \
    (TFD_DEVICE_STEPS_AHEAD_MAX / (TFD_RUN_AHEAD_MARKS + 1))
#define TFD_RUN_AHEAD_NODES \
    (TFD_DEVICE_NODES_AHEAD_MAX / (TFD_RUN_AHEAD_MARKS + 1))

struct tfd_cuda_device;

struct tfd_cuda_mark {
    struct tfd_cuda_closure closure; /* first */
    struct tfd_cuda_device *device;
    struct tfd_cuda_mark *next;
};

struct tfd_cuda_run_ahead {
    struct tfd_lock lock;
    int steps, nodes;           /* since the last mark */
    struct tfd_cuda_mark *idle; /* the others are ahead of the stream */
    struct tfd_continuation *first, *last;
    struct tfd_cuda_mark mark[TFD_RUN_AHEAD_MARKS];
};

void tfd_cuda_run_ahead_init(struct tfd_cuda_run_ahead *p,
                             struct tfd_cuda_device *d);
/* Nobody waits; events.h has run all closures. */
void tfd_cuda_run_ahead_deinit(struct tfd_cuda_run_ahead *p);

/* A step has enqueued all that it will on d: so many nodes.  True: it may end.
 * Else t->fn() says when, also when the device fails. */
bool tfd_cuda_run_ahead_step(struct tfd_cuda_device *d, int nodes,
                             struct tfd_continuation *t) TFD_MUST_USE;

#endif
