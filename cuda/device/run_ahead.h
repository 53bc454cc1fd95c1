/*
 * run_ahead.h - the run-ahead limit of a GPU: how many steps may be enqueued
 * that the card has not computed yet.
 *
 * Why: a step that fetches nothing ends as soon as its kernels are enqueued,
 * so a client could be any number of steps ahead of the card.  CUDA's launch
 * queue is bounded, and enqueueing into a full one blocks the thread that does
 * it, which may be the loop thread.
 *
 * How: steps are counted in batches, and the end of each batch is marked by an
 * event on the stream.  There are TFD_RUN_AHEAD_MARKS of these.
 *
 *     the stream   ......|......|......|....>  steps enqueued
 *                   mark 0 mark 1 mark 2
 *          ^ computed so far: all marks are ahead, so the next step waits
 *
 * While all marks are ahead of the card a further step waits until the oldest
 * has passed.  Waiting blocks no thread: the step leaves a continuation.  A
 * step that need not wait costs a lock, and one in TFD_RUN_AHEAD_STEPS costs
 * an event.
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
