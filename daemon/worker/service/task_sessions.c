/*
 * task_sessions.c - the table of a worker's sessions: makes them, deletes them,
 * and replaces the sessions that a master which has been restarted left behind.
 */
#include "config/limits.h"
#include "daemon/worker/service/partial_call.h"
#include "daemon/worker/service/task_session_limits.h"
#include "daemon/worker/service/task_session_use.h"

#include <string.h>

struct tfd_task_session *
tfd_worker_new_session(struct tfd_worker_service *w,
                       const struct tfd_worker_session *request,
                       struct tfd_status *st)
{
    const struct tfd_task_session_options o = {
        .request = request,
        .devices = &w->devices,
        .peers = w->options.peers,
        .container = w->options.container,
        .files = w->options.files,
        .pool = w->options.pool,
        .crew = w->crew,
        .loop = w->options.loop,
        .collectives = &w->collectives,
    };

    return tfd_task_session_new(&o, st);
}

void tfd_worker_drop_session(struct tfd_task_session *s)
{
    if (!s)
        return;
    s->is_closed = true;
    while (s->graphs)
        tfd_graphs_remove(s->graphs);
    tfd_task_session_unref(s);
}

static void sessions_changed(struct tfd_worker_service *w)
{
    if (w->options.activity)
        w->options.activity(w->options.ctx);
}

void tfd_worker_delete_session(struct tfd_worker_service *w,
                               struct tfd_str handle, enum tfd_session_end end)
{
    struct tfd_task_session *s;
    uintptr_t value;

    if (!tfd_map_get(&w->sessions, handle, &value))
        return;
    s = (struct tfd_task_session *)value;
    tfd_map_remove(&w->sessions, handle);
    tfd_worker_session_over(w, s, 0);
    tfd_partial_call_drop_session(w, s);
    if (w->options.session_ended)
        w->options.session_ended(w->options.ctx, s->master_task, s->number,
                                 end);
    tfd_worker_drop_session(s);
    sessions_changed(w);
}

/* Of a master that has restarted: where it was before, or without a connection.
 * Anybody can say that he is a master which has restarted. */
static bool is_stale(const struct tfd_worker_service *w,
                     const struct tfd_task_session *x,
                     const struct tfd_worker_session *s)
{
    return tfd_str_is(s->master_task, x->master_task) &&
           x->master_incarnation != s->master_incarnation &&
           (strcmp(x->peer, s->peer ? s->peer : "") == 0 ||
            tfd_worker_session_is_left(w, x));
}

static struct tfd_task_session *find_stale(struct tfd_worker_service *w,
                                           const struct tfd_worker_session *s)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    while (tfd_map_next(&w->sessions, &at, &e)) {
        struct tfd_task_session *x = (struct tfd_task_session *)e->value;

        if (is_stale(w, x, s))
            return x;
    }
    return NULL;
}

/* Those of the same master before it restarted: nobody will close them. */
static void drop_stale(struct tfd_worker_service *w,
                       const struct tfd_worker_session *s)
{
    struct tfd_task_session *x;

    if (s->master_task.size == 0)
        return;
    while ((x = find_stale(w, s)))
        tfd_worker_delete_session(w, tfd_str_of(x->handle), TFD_SESSION_BROKEN);
}

/* At the limit of clusters abandoned sessions make room. */
static struct tfd_task_session *
new_session_of(struct tfd_worker_service *w, const struct tfd_worker_session *s,
               struct tfd_status *st)
{
    struct tfd_status own = TFD_STATUS_INIT;
    struct tfd_task_session *x = tfd_worker_new_session(w, s, &own);

    if (!x && own.code == TFD_RESOURCE_EXHAUSTED && s->cluster_def.size > 0 &&
        tfd_worker_evict_clusters(w))
        return tfd_worker_new_session(w, s, st);
    if (!x)
        tfd_status_copy(st, &own);
    return x;
}

enum tfd_code tfd_worker_create_session(struct tfd_worker_service *w,
                                        const struct tfd_worker_session *s,
                                        struct tfd_status *st)
{
    struct tfd_task_session *x;
    uintptr_t known;

    if (s->handle.size == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Session must be non-empty.");
    if (s->handle.size > TFD_SESSION_HANDLE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a session handle of %zu bytes; %d are possible",
                        s->handle.size, TFD_SESSION_HANDLE_MAX);
    drop_stale(w, s);
    if (tfd_map_get(&w->sessions, s->handle, &known))
        return TFD_OK;
    TFD_TRY(tfd_worker_admit_session(w, s, st));
    x = new_session_of(w, s, st);
    if (!x)
        return st ? st->code : TFD_RESOURCE_EXHAUSTED;
    if (!tfd_map_put(&w->sessions, tfd_str_of(x->handle), (uintptr_t)x)) {
        tfd_task_session_unref(x);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a session");
    }
    tfd_worker_session_used(w, x);
    tfd_worker_session_over(w, x, s->link);
    x->number = ++w->last_session;
    if (w->options.session_opened)
        w->options.session_opened(w->options.ctx, x->master_task, x->number,
                                  &x->stepped_us);
    sessions_changed(w);
    return TFD_OK;
}

void tfd_worker_cleanup_all(struct tfd_worker_service *w,
                            const struct tfd_str *containers, int count)
{
    const struct tfd_str standard = tfd_str_of(w->options.container);

    for (int i = 0; i < w->devices.count; i++) {
        struct tfd_containers *c = w->devices.device[i].containers;

        for (int j = 0; j < count; j++)
            tfd_containers_clear(c, containers[j]);
        if (count == 0)
            tfd_containers_clear(c, standard);
    }
}
