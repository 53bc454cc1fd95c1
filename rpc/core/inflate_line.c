/*
 * inflate_line.c - see inflate_line.h.  Two queues and one timer, which is set
 * while anybody is in the line.
 */
#include "rpc/core/inflate_line.h"

#include "common/base/container.h"
#include "config/limits.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define LINE_US 100 /* some two slices */

/* ---- Queues -------------------------------------------------------------- */

static void queue_add(struct tfd_inflate_queue *q, struct tfd_inflate_place *p)
{
    p->next = NULL;
    if (q->first)
        q->last->next = p;
    else
        q->first = p;
    q->last = p;
    q->count++;
}

static void queue_remove(struct tfd_inflate_queue *q,
                         struct tfd_inflate_place *p)
{
    struct tfd_inflate_place *before = NULL, *at = q->first;

    for (; at != p; at = at->next)
        before = at;
    if (before)
        before->next = p->next;
    else
        q->first = p->next;
    if (q->last == p)
        q->last = before;
    q->count--;
}

/* ---- Who is active ------------------------------------------------------- */

static bool has_active(const struct tfd_inflate_line *l, const char *peer)
{
    if (l->running && strcmp(l->running->peer, peer) == 0)
        return true;
    for (const struct tfd_inflate_place *p = l->active.first; p; p = p->next)
        if (strcmp(p->peer, peer) == 0)
            return true;
    return false;
}

static bool may_be_active(const struct tfd_inflate_line *l,
                          const struct tfd_inflate_place *p)
{
    return l->active.count + (l->running != NULL) < TFD_INFLATING_MAX &&
           !has_active(l, p->peer);
}

static void enter_line(struct tfd_inflate_line *l, struct tfd_inflate_place *p,
                       bool active)
{
    p->line = l;
    p->active = active;
    queue_add(active ? &l->active : &l->waiting, p);
}

/* One that was active has gone: the first of those who may be is, now.  There
 * is one at most, since before nobody who waited might be. */
static void activate_next(struct tfd_inflate_line *l)
{
    struct tfd_inflate_place *p = l->waiting.first;

    while (p && !may_be_active(l, p))
        p = p->next;
    if (!p)
        return;
    queue_remove(&l->waiting, p);
    enter_line(l, p, true);
}

/* ---- Turns --------------------------------------------------------------- */

static void run_turn(struct tfd_inflate_line *l, struct tfd_inflate_place *p)
{
    queue_remove(&l->active, p);
    l->running = p;
    if (!p->turn(p) || !l->running)
        return; /* it has left, and may be gone */
    l->running = NULL;
    enter_line(l, p, true);
}

static void run_turns(struct tfd_timer *t)
{
    struct tfd_inflate_line *l =
        TFD_CONTAINER_OF(t, struct tfd_inflate_line, timer);
    uint64_t until = tfd_loop_now_us(l->loop) + LINE_US;

    do {
        if (!l->active.first)
            return; /* nor does anybody wait */
        run_turn(l, l->active.first);
    } while (tfd_loop_now_us(l->loop) < until);
    /* Without memory for it the next one who joins starts it. */
    if (l->active.first)
        (void)!tfd_timer_start(t, 0, NULL);
}

void tfd_inflate_line_init(struct tfd_inflate_line *l, struct tfd_loop *loop)
{
    *l = (struct tfd_inflate_line){.loop = loop};
    tfd_timer_init(&l->timer, loop, run_turns);
}

void tfd_inflate_line_deinit(struct tfd_inflate_line *l)
{
    assert(l->active.count == 0 && l->waiting.count == 0);
    tfd_timer_stop(&l->timer);
}

enum tfd_code tfd_inflate_line_join(struct tfd_inflate_line *l,
                                    struct tfd_inflate_place *p,
                                    struct tfd_status *st)
{
    assert(!p->line);
    if (l->timer.slot < 0)
        TFD_TRY(tfd_timer_start(&l->timer, 0, st));
    enter_line(l, p, may_be_active(l, p));
    return TFD_OK;
}

void tfd_inflate_line_leave(struct tfd_inflate_place *p)
{
    struct tfd_inflate_line *l = p->line;

    if (!l)
        return;
    p->line = NULL;
    if (l->running == p) {
        l->running = NULL;
    } else {
        queue_remove(p->active ? &l->active : &l->waiting, p);
        if (!p->active)
            return;
    }
    activate_next(l);
}
