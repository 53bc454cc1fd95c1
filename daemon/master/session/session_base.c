/*
 * session_base.c - small functions that all files of the master call on a
 * session: its references, the names of its tasks, the size of its graph, and
 * when a client last used it and over which connection.
 */
#include "daemon/master/session/session_idle.h"
#include "daemon/master/session/session.h"

void tfd_session_ref(struct tfd_session *s)
{
    s->refs++;
}

void tfd_session_unref(struct tfd_session *s)
{
    if (--s->refs == 0)
        s->destroy(s);
}

const char *tfd_session_task(const struct tfd_session *s, int i)
{
    return i == 0 && s->renamed ? s->task : s->workers[i]->task;
}

bool tfd_session_is_left(const struct tfd_session *s)
{
    return s->state == TFD_SESSION_OPEN && s->running + s->waiting == 0 &&
           s->link != 0 && !tfd_links_open(s->master->o.links, s->link);
}

void tfd_session_measure(struct tfd_session *s)
{
    s->node_count = s->graph->count;
    s->graph_size = s->graph->arena.used;
}

void tfd_session_use(struct tfd_session *s, uint64_t link)
{
    struct tfd_links *links = s->master->o.links;

    s->used_us = tfd_loop_now_us(s->master->o.loop);
    if (link == 0 || link == s->link || !links)
        return;
    tfd_links_unhold(links, s->link);
    s->link = link;
    tfd_links_hold(links, link);
}

void tfd_session_leave(struct tfd_session *s)
{
    if (s->master->o.links)
        tfd_links_unhold(s->master->o.links, s->link);
    s->link = 0;
}
