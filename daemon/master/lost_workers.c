/* lost_workers.c - see lost_workers.h. */
#include "daemon/master/lost_workers.h"

#include "daemon/master/plan.h"
#include "daemon/master/remote_worker.h"

#include <stddef.h>

static struct tfd_master *master_of(struct tfd_peers_follower *f)
{
    return (struct tfd_master *)((char *)f -
                                 offsetof(struct tfd_master, follower));
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

/* Calls to them may still be under way: the last one frees it. */
static void gone(struct tfd_peers_follower *f, struct tfd_peers_range range)
{
    struct tfd_master *m = master_of(f);

    for (int i = range.first;
         i < range.first + range.count && i < m->worker_room; i++) {
        if (m->workers[i])
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
