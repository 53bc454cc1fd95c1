/* lost_workers.c - see lost_workers.h. */
#include "daemon/master/session/lost_workers.h"

#include "common/base/container.h"
#include "daemon/master/remote/remote_worker.h"
#include "daemon/master/session/master_step.h"
#include "daemon/master/session/plan.h"

#include <stddef.h>
#include <stdlib.h>

/* What was on its way between other tasks has arrived by then. */
#define GRACE_US 500000u

struct tfd_loss {
    struct tfd_timer timer; /* first */
    struct tfd_loss *next;
    struct tfd_master *master;
    const struct tfd_worker *worker;
    uint64_t last; /* step begun before it */
    struct tfd_status why;
};

static struct tfd_master *master_of(struct tfd_peers_follower *f)
{
    return TFD_CONTAINER_OF(f, struct tfd_master, follower);
}

static void fail_plans(struct tfd_session *s, const struct tfd_worker *w,
                       const struct tfd_status *why)
{
    tfd_session_ref(s); /* a client that hears of it may close it */
    for (uint32_t i = 0; i < s->plan_count; i++)
        tfd_plan_lost(s->plans[i], w, why);
    tfd_session_unref(s);
}

static bool builds_with(const struct tfd_session *s, const struct tfd_worker *w)
{
    if (s->waiting == 0)
        return false;
    for (int i = 0; i < s->worker_count; i++)
        if (s->workers[i] == w)
            return true;
    return false;
}

/* ---- Steps --------------------------------------------------------------- */

static void forget_loss(struct tfd_loss *l)
{
    struct tfd_loss **at = &l->master->recent;

    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    tfd_timer_stop(&l->timer);
    free(l);
}

void tfd_master_forget_losses(struct tfd_master *m)
{
    while (m->recent)
        forget_loss(m->recent);
}

/* As below, each session is looked at once. */
static void moment_over(struct tfd_timer *t)
{
    struct tfd_loss l = *(struct tfd_loss *)t;
    struct tfd_master *m = l.master;
    struct tfd_session *s = m->sessions;
    uint64_t mark = ++m->losses;

    forget_loss((struct tfd_loss *)t);
    while (s) {
        if (s->loss == mark || !s->steps) {
            s = s->next;
            continue;
        }
        s->loss = mark;
        tfd_session_ref(s); /* a client that hears of it may close it */
        tfd_master_step_lost(s, l.worker, l.last, &l.why);
        tfd_session_unref(s);
        s = m->sessions;
    }
}

/* Without memory those that wait for nothing go on waiting. */
static void fail_steps_later(struct tfd_master *m, const struct tfd_worker *w,
                             const struct tfd_status *why)
{
    struct tfd_loss *l = m->running > 0 ? calloc(1, sizeof(*l)) : NULL;

    if (!l)
        return;
    l->next = m->recent;
    m->recent = l;
    l->master = m;
    l->worker = w;
    l->last = m->steps_begun;
    (void)tfd_fail(&l->why, TFD_UNAVAILABLE, "From %s:\n%s", w->task,
                   why->text);
    tfd_timer_init(&l->timer, m->o.loop, moment_over);
    if (tfd_timer_start(&l->timer, GRACE_US, NULL) != TFD_OK)
        forget_loss(l);
}

/* ---- Plans --------------------------------------------------------------- */

/* Clients that hear of it may close this session and others, so each is looked
 * at once, by a mark. */
static void changed(struct tfd_peers_follower *f, int peer, bool up,
                    const struct tfd_status *why)
{
    struct tfd_master *m = master_of(f);
    struct tfd_worker *w = peer < m->worker_room ? m->workers[peer] : NULL;
    struct tfd_status named = *why;
    struct tfd_session *s;
    uint64_t mark = ++m->losses;

    if (up || !w)
        return;
    tfd_status_context(&named, "the connection to %s was lost", w->task);
    fail_steps_later(m, w, &named);
    s = m->sessions;
    while (s) {
        if (s->loss == mark || !builds_with(s, w)) {
            s = s->next;
            continue;
        }
        s->loss = mark;
        fail_plans(s, w, &named);
        s = m->sessions;
    }
}

static void forget_worker(struct tfd_master *m, const struct tfd_worker *w)
{
    struct tfd_loss *l = m->recent;

    while (l) {
        struct tfd_loss *next = l->next;

        if (l->worker == w)
            forget_loss(l);
        l = next;
    }
}

/* Calls to them may still be under way: the last one frees it. */
static void gone(struct tfd_peers_follower *f, struct tfd_peers_range range)
{
    struct tfd_master *m = master_of(f);

    for (int i = range.first;
         i < range.first + range.count && i < m->worker_room; i++) {
        if (!m->workers[i])
            continue;
        forget_worker(m, m->workers[i]);
        tfd_remote_worker_free(m->workers[i]);
        m->workers[i] = NULL;
    }
}

void tfd_master_follow(struct tfd_master *m)
{
    m->follower.changed = changed;
    m->follower.gone = gone;
    tfd_peers_follow(m->o.peers, &m->follower);
}
