/*
 * order.c - see order.h.
 */
#include "daemon/eager/order.h"

#include <stddef.h>

void tfd_eager_order_enter(struct tfd_eager_order *o, struct tfd_eager_place *p)
{
    p->number = ++o->last;
    p->next = NULL;
    p->previous = o->newest;
    if (o->newest)
        o->newest->next = p;
    else
        o->oldest = p;
    o->newest = p;
}

static bool may_go(const struct tfd_eager_order *o,
                   const struct tfd_eager_turn *t)
{
    return !o->oldest || o->oldest->number > t->after;
}

void tfd_eager_order_leave(struct tfd_eager_order *o, struct tfd_eager_place *p)
{
    struct tfd_eager_turn *t;

    if (p->previous)
        p->previous->next = p->next;
    else
        o->oldest = p->next;
    if (p->next)
        p->next->previous = p->previous;
    else
        o->newest = p->previous;
    while ((t = o->first) && may_go(o, t)) {
        o->first = t->next;
        t->comes(t);
    }
}

bool tfd_eager_order_wait(struct tfd_eager_order *o, struct tfd_eager_turn *t)
{
    struct tfd_eager_turn **at = &o->first;

    t->after = o->last;
    t->next = NULL;
    if (may_go(o, t))
        return false;
    while (*at)
        at = &(*at)->next;
    *at = t;
    return true;
}

void tfd_eager_order_forget(struct tfd_eager_order *o, struct tfd_eager_turn *t)
{
    struct tfd_eager_turn **at = &o->first;

    while (*at && *at != t)
        at = &(*at)->next;
    if (*at)
        *at = t->next;
}
