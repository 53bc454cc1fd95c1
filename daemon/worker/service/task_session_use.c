/*
 * task_session_use.c - see task_session_use.h.
 */
#include "daemon/worker/service/task_session_use.h"

#include "daemon/worker/service/worker_service.h"

bool tfd_worker_session_runs(const struct tfd_task_session *s)
{
    for (const struct tfd_graph_entry *g = s->graphs; g; g = g->next)
        if (g->refs > 1)
            return true;
    return false;
}

void tfd_worker_session_used(struct tfd_worker_service *w,
                             struct tfd_task_session *s)
{
    s->used_us = tfd_loop_now_us(w->options.loop);
    s->lost_us = 0;
}

void tfd_worker_session_over(struct tfd_worker_service *w,
                             struct tfd_task_session *s, uint64_t link)
{
    struct tfd_links *links;

    if (link == s->link || !w->options.service || s == w->default_session)
        return;
    links = tfd_service_links(w->options.service);
    tfd_links_unhold(links, s->link);
    s->link = link;
    tfd_links_hold(links, link);
}

bool tfd_worker_session_is_left(const struct tfd_worker_service *w,
                                const struct tfd_task_session *s)
{
    return s->link != 0 && w->options.service &&
           !tfd_links_open(tfd_service_links(w->options.service), s->link) &&
           !tfd_worker_session_runs(s);
}

enum tfd_code tfd_worker_find_session(struct tfd_worker_service *w,
                                      struct tfd_str handle,
                                      struct tfd_task_session **out,
                                      struct tfd_status *st)
{
    uintptr_t value;

    if (handle.size == 0) {
        *out = w->default_session;
        return TFD_OK;
    }
    if (!tfd_map_get(&w->sessions, handle, &value))
        return tfd_fail(st, TFD_ABORTED,
                        "Session handle is not found: " TFD_STR_FMT
                        ". Possibly this worker (\"%s\") just restarted.",
                        TFD_STR_ARG(handle), w->local.task);
    *out = (struct tfd_task_session *)value;
    tfd_worker_session_used(w, *out);
    return TFD_OK;
}
