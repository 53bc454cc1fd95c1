/*
 * run_ahead.c - see run_ahead.h.
 *
 * Marks are recorded outside the lock: where there is no memory for an event
 * its closure runs at once.
 */
#include "cuda/device/run_ahead.h"

#include "cuda/device/cuda_device.h"

#include <assert.h>

static void passed(struct tfd_cuda_closure *c, int error);

void tfd_cuda_run_ahead_init(struct tfd_cuda_run_ahead *p,
                             struct tfd_cuda_device *d)
{
    *p = (struct tfd_cuda_run_ahead){.steps = 0};
    tfd_lock_init(&p->lock, TFD_LOCK_DEVICE);
    for (int i = 0; i < TFD_RUN_AHEAD_MARKS; i++) {
        p->mark[i].closure.fn = passed;
        p->mark[i].device = d;
        p->mark[i].next = p->idle;
        p->idle = &p->mark[i];
    }
}

void tfd_cuda_run_ahead_deinit(struct tfd_cuda_run_ahead *p)
{
    assert(!p->first);
    tfd_lock_deinit(&p->lock);
}

/* Counts a step; a batch that is full gets its mark with the step after it.
 * False when there is none. */
static bool admit(struct tfd_cuda_run_ahead *p, int nodes,
                  struct tfd_cuda_mark **marks)
{
    bool full = p->steps == TFD_RUN_AHEAD_STEPS ||
                (p->steps > 0 && p->nodes + nodes > TFD_RUN_AHEAD_NODES);
    struct tfd_cuda_mark *m = p->idle;

    if (full) {
        if (!m)
            return false;
        p->idle = m->next;
        m->next = *marks;
        *marks = m;
        p->steps = p->nodes = 0;
    }
    p->steps++;
    p->nodes += nodes;
    return true;
}

static void record(struct tfd_cuda_device *d, struct tfd_cuda_mark *marks)
{
    while (marks) {
        struct tfd_cuda_mark *m = marks;

        marks = m->next;
        tfd_cuda_events_after(&d->events, d->stream, &m->closure);
    }
}

/* As many of those who wait as may go. */
static struct tfd_continuation *take_turns(struct tfd_cuda_run_ahead *p,
                                           struct tfd_cuda_mark **marks)
{
    struct tfd_continuation *first = p->first, **end = &first;

    while (*end && admit(p, (*end)->nodes, marks))
        end = &(*end)->next;
    p->first = *end;
    *end = NULL;
    if (!p->first)
        p->last = NULL;
    return first;
}

static void passed(struct tfd_cuda_closure *c, int error)
{
    struct tfd_cuda_mark *m = (struct tfd_cuda_mark *)c, *marks = NULL;
    struct tfd_cuda_device *d = m->device;
    struct tfd_cuda_run_ahead *p = &d->run_ahead;
    struct tfd_continuation *turns;

    /* Who loses the device is heard of by those who have something of it. */
    (void)!tfd_cuda_device_check(d, error, "steps", NULL);
    tfd_lock(&p->lock);
    m->next = p->idle;
    p->idle = m;
    turns = take_turns(p, &marks);
    tfd_unlock(&p->lock);
    record(d, marks);
    while (turns) {
        struct tfd_continuation *t = turns;

        turns = t->next;
        t->fn(t);
    }
}

static void wait(struct tfd_cuda_run_ahead *p, struct tfd_continuation *t)
{
    t->next = NULL;
    if (p->last)
        p->last->next = t;
    else
        p->first = t;
    p->last = t;
}

bool tfd_cuda_run_ahead_step(struct tfd_cuda_device *d, int nodes,
                             struct tfd_continuation *t)
{
    struct tfd_cuda_run_ahead *p = &d->run_ahead;
    struct tfd_cuda_mark *marks = NULL;
    bool may;

    t->nodes = nodes < TFD_RUN_AHEAD_NODES ? nodes : TFD_RUN_AHEAD_NODES;
    tfd_lock(&p->lock);
    may = !p->first && admit(p, t->nodes, &marks);
    if (!may)
        wait(p, t);
    tfd_unlock(&p->lock);
    if (marks && d->driver->use(d->ordinal) == TFD_CUDA_OK)
        record(d, marks);
    else if (marks)
        passed(&marks->closure, TFD_CUDA_OK);
    return may;
}
