/*
 * events.c - see events.h.
 *
 * Recording and queueing are one, under the lock, so that the order of the
 * queue is the order on the stream.  An event that has passed is used again.
 */
#define _GNU_SOURCE 1 /* pthread_sigmask() */

#include "cuda/device/events.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>

void tfd_cuda_events_init(struct tfd_cuda_events *q,
                          const struct tfd_cuda_driver *driver, int device)
{
    *q = (struct tfd_cuda_events){.driver = driver, .device = device};
    tfd_lock_init(&q->lock, TFD_LOCK_DEVICE);
    tfd_cond_init(&q->changed);
}

/* ---- Events -------------------------------------------------------------- */

static int take_event(struct tfd_cuda_events *q, void **event)
{
    if (q->idle_count == 0)
        return q->driver->event_make(event);
    *event = q->idle[--q->idle_count];
    return TFD_CUDA_OK;
}

static void put_event(struct tfd_cuda_events *q, void *event)
{
    if (!event)
        return;
    if (q->idle_count == q->idle_capacity) {
        int capacity = q->idle_capacity ? 2 * q->idle_capacity : 16;
        void **more = realloc(q->idle, (size_t)capacity * sizeof(*more));

        if (!more) {
            q->driver->event_release(event);
            return;
        }
        q->idle = more;
        q->idle_capacity = capacity;
    }
    q->idle[q->idle_count++] = event;
}

static int record(struct tfd_cuda_events *q, void *stream, void **event)
{
    int error = take_event(q, event);

    if (error)
        *event = NULL;
    else
        error = q->driver->event_record(*event, stream);
    q->recorded++;
    return error;
}

int tfd_cuda_events_order(struct tfd_cuda_events *q, void *earlier, void *later)
{
    void *event;
    int error;

    tfd_lock(&q->lock);
    error = record(q, earlier, &event);
    if (!error)
        error = q->driver->stream_wait(later, event);
    /* A wait is for the record before it, so the event is free again. */
    put_event(q, event);
    tfd_unlock(&q->lock);
    return error;
}

/* ---- The thread ---------------------------------------------------------- */

/* The oldest closure; NULL when it is time to end. */
static struct tfd_cuda_closure *next(struct tfd_cuda_events *q)
{
    struct tfd_cuda_closure *c;

    tfd_lock(&q->lock);
    while (!q->first && !q->stopping)
        tfd_cond_wait(&q->changed, &q->lock);
    c = q->first;
    if (c)
        q->first = c->next;
    if (!q->first)
        q->last = NULL;
    tfd_unlock(&q->lock);
    return c;
}

static void *run_events(void *arg)
{
    struct tfd_cuda_events *q = arg;
    struct tfd_cuda_closure *c;

    (void)q->driver->use(q->device);
    while ((c = next(q))) {
        int error = c->error;

        if (!error)
            error = q->driver->event_wait(c->event);
        tfd_lock(&q->lock);
        put_event(q, c->event);
        tfd_unlock(&q->lock);
        c->fn(c, error);
    }
    return NULL;
}

/* Signals are the main thread's. */
static bool start_thread(struct tfd_cuda_events *q)
{
    sigset_t all, before;

    if (q->has_thread)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    q->has_thread = pthread_create(&q->thread, NULL, run_events, q) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return q->has_thread;
}

void tfd_cuda_events_after(struct tfd_cuda_events *q, void *stream,
                           struct tfd_cuda_closure *c)
{
    bool started;

    tfd_lock(&q->lock);
    assert(!q->stopping);
    c->next = NULL;
    started = start_thread(q);
    c->error = started ? record(q, stream, &c->event) : TFD_CUDA_NO_MEMORY;
    if (started) {
        if (q->last)
            q->last->next = c;
        else
            q->first = c;
        q->last = c;
        tfd_cond_signal(&q->changed);
    }
    tfd_unlock(&q->lock);
    if (!started)
        c->fn(c, c->error);
}

void tfd_cuda_events_deinit(struct tfd_cuda_events *q)
{
    tfd_lock(&q->lock);
    q->stopping = true;
    tfd_cond_signal(&q->changed);
    tfd_unlock(&q->lock);
    if (q->has_thread)
        pthread_join(q->thread, NULL);
    while (q->idle_count > 0)
        q->driver->event_release(q->idle[--q->idle_count]);
    free(q->idle);
    tfd_cond_deinit(&q->changed);
    tfd_lock_deinit(&q->lock);
}
