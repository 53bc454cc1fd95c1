/*
 * cancel.c - the list of functions that want to be called when a step is
 * cancelled or has failed (kernels/core/runtime.h).
 *
 * Functions are called one at a time without the lock.  Taking one off the list
 * while it runs on another thread waits for it.
 */
#include "daemon/worker/run/step.h"

int64_t tfd_step_id(const struct tfd_step *s)
{
    return s->id;
}

bool tfd_step_on_cancel(struct tfd_step *s, struct tfd_cancel *c)
{
    bool accepted;

    tfd_lock(&s->cancel_lock);
    accepted = !s->cancelled;
    if (accepted) {
        c->linked = true;
        c->previous = NULL;
        c->next = s->cancels;
        if (c->next)
            c->next->previous = c;
        s->cancels = c;
    }
    tfd_unlock(&s->cancel_lock);
    return accepted;
}

static void unlink_cancel(struct tfd_step *s, struct tfd_cancel *c)
{
    if (c->previous)
        c->previous->next = c->next;
    else
        s->cancels = c->next;
    if (c->next)
        c->next->previous = c->previous;
    c->linked = false;
}

bool tfd_step_off_cancel(struct tfd_step *s, struct tfd_cancel *c)
{
    bool was_linked;

    tfd_lock(&s->cancel_lock);
    was_linked = c->linked;
    if (was_linked)
        unlink_cancel(s, c);
    while (s->cancelling == c && !pthread_equal(s->canceller, pthread_self()))
        tfd_cond_wait(&s->cancel_left, &s->cancel_lock);
    tfd_unlock(&s->cancel_lock);
    return was_linked;
}

void tfd_step_cancel_all(struct tfd_step *s)
{
    tfd_lock(&s->cancel_lock);
    s->cancelled = true;
    s->canceller = pthread_self();
    while (s->cancels) {
        struct tfd_cancel *c = s->cancels;

        unlink_cancel(s, c);
        s->cancelling = c;
        tfd_unlock(&s->cancel_lock);
        c->fn(c);
        tfd_lock(&s->cancel_lock);
        s->cancelling = NULL;
        tfd_cond_broadcast(&s->cancel_left);
    }
    tfd_unlock(&s->cancel_lock);
}
