/*
 * events.h - calls a function once a stream has passed a point.
 *
 *     tfd_cuda_events_after(q, stream, &closure)   closure->fn() follows
 *
 * One thread per device sleeps until the oldest event has passed, runs its
 * closure and goes on to the next, so closures run in the order they came and
 * nobody polls.  A closure gets CUDA's error number; once a device has failed
 * all of them do.  fn() must not wait for another closure.
 *
 * The thread is started with the first closure.
 *
 * Ownership: a closure is its owner's and lives until fn() is called.
 * Threads: any; fn() runs on the queue's thread.
 */
#ifndef TFD_CUDA_EVENTS_H
#define TFD_CUDA_EVENTS_H

#include "common/thread/lock.h"
#include "cuda/device/driver.h"

struct tfd_cuda_closure {
    void (*fn)(struct tfd_cuda_closure *c, int error);
    struct tfd_cuda_closure *next; /* the rest is the queue's */
    void *event;
    int error;
};

struct tfd_cuda_events {
    const struct tfd_cuda_driver *driver;
    int device;
    struct tfd_lock lock; /* of what follows */
    struct tfd_cond changed;
    struct tfd_cuda_closure *first, *last;
    void **idle; /* events for the next closures */
    int idle_count, idle_capacity;
    uint64_t recorded;
    bool stopping, has_thread;
    pthread_t thread;
};

void tfd_cuda_events_init(struct tfd_cuda_events *q,
                          const struct tfd_cuda_driver *driver, int device);
/* Runs what is left, then ends the thread. */
void tfd_cuda_events_deinit(struct tfd_cuda_events *q);

/* The calling thread uses the device. */
void tfd_cuda_events_after(struct tfd_cuda_events *q, void *stream,
                           struct tfd_cuda_closure *c);

/* What `later` is given next waits for what `earlier` has been given so far.
 * CUDA's error number. */
int tfd_cuda_events_order(struct tfd_cuda_events *q, void *earlier,
                          void *later);

#endif
