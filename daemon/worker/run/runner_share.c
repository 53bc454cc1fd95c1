/*
 * runner_share.c - the list of ready nodes of a step that any of its runners
 * may take from, and how a runner gives away nodes that are worth another
 * thread.  See runner.h.
 */
#include "daemon/worker/run/runner.h"

void tfd_runner_share_put(struct tfd_step *s, struct tfd_ready *item)
{
    item->next = NULL;
    if (s->common)
        s->common_last->next = item;
    else
        s->common = item;
    s->common_last = item;
}

struct tfd_ready *tfd_runner_share_pop(struct tfd_step *s)
{
    struct tfd_ready *item = s->common;

    s->common = item->next;
    item->next = NULL;
    return item;
}

/* Puts all expensive nodes but one (all, if there are cheap ones to do) where
 * other threads find them, and wakes as many. */
void tfd_runner_share(struct tfd_runner *r)
{
    struct tfd_step *s = r->step;
    struct tfd_ready *item = r->expensive;
    struct tfd_ready **kept = &r->expensive;

    if (!item || (!r->first && !item->next))
        return;
    if (!r->first)
        kept = &item->next;
    item = *kept;
    *kept = NULL;

    tfd_lock(&s->lock);
    while (item) {
        struct tfd_ready *next = item->next;

        tfd_runner_share_put(s, item);
        if (s->idle && s->runners < tfd_pool_threads(s->pool)) {
            s->runners++;
            tfd_runner_wake(s);
        }
        item = next;
    }
    tfd_unlock(&s->lock);
}
