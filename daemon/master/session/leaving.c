/*
 * leaving.c - see leaving.h.
 */
#include "daemon/master/session/leaving.h"

#include "daemon/master/session/session_idle.h"
#include "daemon/master/session/session.h"
#include "daemon/master/session/master_step.h"

static bool any_marked(const struct tfd_master *m)
{
    for (const struct tfd_session *s = m->sessions; s; s = s->next)
        if (s->task_leaves)
            return true;
    return false;
}

static bool any_step_needs(const struct tfd_master *m,
                           const struct tfd_leaving *l)
{
    for (const struct tfd_session *s = m->sessions; s && l->worker; s = s->next)
        if (tfd_master_step_needs(s, l->worker, l->last))
            return true;
    return false;
}

void tfd_master_leaving_check(struct tfd_master *m)
{
    struct tfd_leaving *l = m->leaving;

    if (!l || any_marked(m))
        return;
    m->leaving = NULL;
    while (l) {
        struct tfd_leaving *next = l->next;

        if (any_step_needs(m, l)) {
            l->next = m->leaving;
            m->leaving = l;
        } else {
            l->saved(l);
        }
        l = next;
    }
}

void tfd_master_task_leaves(struct tfd_master *m, int peer,
                            struct tfd_leaving *l)
{
    bool own = peer == TFD_LEAVES_OWN;

    for (struct tfd_session *s = m->sessions; s; s = s->next)
        if (s->state == TFD_SESSION_OPEN && s->config.saves_before_leave &&
            !(own && s->link == 0) && !tfd_session_is_left(s))
            s->task_leaves = true;
    l->worker = !own && peer < m->worker_room ? m->workers[peer] : NULL;
    l->last = m->steps_begun;
    l->next = m->leaving;
    m->leaving = l;
    tfd_master_leaving_check(m);
}

void tfd_master_leaving_forget(struct tfd_master *m, struct tfd_leaving *l)
{
    struct tfd_leaving **at = &m->leaving;

    while (*at && *at != l)
        at = &(*at)->next;
    if (*at)
        *at = l->next;
}

bool tfd_master_leaving_link(const struct tfd_master *m, uint64_t link)
{
    for (const struct tfd_session *s = m->sessions; s && link; s = s->next)
        if (s->task_leaves && s->link == link)
            return true;
    return false;
}
