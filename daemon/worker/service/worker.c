/*
 * worker.c - see worker.h: what the worker consists of, and its sessions.
 */
#include "daemon/worker/service/partial_call.h"

#include "config/limits.h"
#include "daemon/worker/run/executor.h"
#include "daemon/worker/service/idle.h"
#include "daemon/worker/service/lost_peers.h"
#include "daemon/worker/service/session_limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Windows of TensorFlow. */
#define RUN_IDS_MAX 10000
#define RECV_IDS_MAX 100000

/* ---- Making -------------------------------------------------------------- */

static struct tfd_task_session *
new_session(struct tfd_worker_service *w,
            const struct tfd_worker_session *request, struct tfd_status *st)
{
    const struct tfd_task_session_options o = {
        .request = request,
        .devices = &w->devices,
        .peers = w->options.peers,
        .container = w->options.container,
        .files = w->options.files,
        .pool = w->options.pool,
    };

    return tfd_task_session_new(&o, st);
}

static enum tfd_code make_parts(struct tfd_worker_service *w,
                                struct tfd_status *st)
{
    const struct tfd_worker_options *o = &w->options;

    TFD_TRY(tfd_devices_add_cpu(&w->devices, o->task, o->cpu_count, st));
    for (int i = 0; i < o->device_count; i++)
        TFD_TRY(tfd_devices_add(&w->devices, o->task, &o->devices[i], st));
    for (int i = 0; i < w->devices.count; i++)
        w->attributes[i] = w->devices.device[i].attributes;
    w->rendezvous = tfd_rendezvous_table_new(o->loop, st);
    if (!w->rendezvous)
        return TFD_RESOURCE_EXHAUSTED;
    w->transfer = tfd_transfer_new(o->loop, o->peers, st);
    w->peer_memory = tfd_peer_memory_new(w, st);
    if (!w->transfer || !w->peer_memory)
        return TFD_RESOURCE_EXHAUSTED;
    w->default_session = new_session(w, NULL, st);
    return w->default_session ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

/* What was on its way to the peer, or was to come from it, may never arrive. */
enum tfd_code tfd_worker_service_new(const struct tfd_worker_options *o,
                                     struct tfd_worker_service **out,
                                     struct tfd_status *st)
{
    struct tfd_worker_service *w = calloc(1, sizeof(*w));
    enum tfd_code rc;

    if (!w)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a worker");
    w->options = *o;
    w->local.ops = &tfd_worker_local_ops;
    snprintf(w->local.task, sizeof(w->local.task), "%s", o->task);
    w->next_graph = 1;
    tfd_request_ids_init(&w->run_ids, RUN_IDS_MAX);
    tfd_request_ids_init(&w->recv_ids, RECV_IDS_MAX);
    rc = make_parts(w, st);
    if (rc != TFD_OK) {
        tfd_worker_service_free(w);
        return rc;
    }
    if (o->service)
        tfd_worker_bind(w);
    if (o->peers)
        tfd_lost_peers_follow(w);
    tfd_worker_watch_idle(w);
    *out = w;
    return TFD_OK;
}

/* ---- Ending -------------------------------------------------------------- */

static bool is_idle(const struct tfd_worker_service *w)
{
    return w->step_count == 0 && w->registering == 0;
}

void tfd_worker_one_less(struct tfd_worker_service *w)
{
    if (w->waiting && is_idle(w))
        tfd_loop_stop(w->options.loop);
}

enum tfd_code tfd_worker_check(const struct tfd_worker_service *w,
                               struct tfd_status *st)
{
    if (!w->stopping)
        return TFD_OK;
    return tfd_fail(st, TFD_UNAVAILABLE, "%s is shutting down", w->local.task);
}

void tfd_worker_stop(struct tfd_worker_service *w, const struct tfd_status *why)
{
    w->stopping = true;
    tfd_graphs_fail(w, -1, why);
}

void tfd_worker_finish(struct tfd_worker_service *w)
{
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, TFD_UNAVAILABLE, "%s is shutting down", w->local.task);
    tfd_worker_stop(w, &st);
    w->waiting = true;
    while (!is_idle(w))
        tfd_loop_run(w->options.loop);
    w->waiting = false;
}

static void drop_session(struct tfd_task_session *s)
{
    if (!s)
        return;
    s->is_closed = true;
    while (s->graphs)
        tfd_graphs_remove(s->graphs);
    tfd_task_session_unref(s);
}

void tfd_worker_service_free(struct tfd_worker_service *w)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    tfd_worker_finish(w);
    tfd_worker_stop_watching(w);
    tfd_lost_peers_free(w);
    while (tfd_map_next(&w->sessions, &at, &e))
        drop_session((struct tfd_task_session *)e->value);
    tfd_map_deinit(&w->sessions);
    drop_session(w->default_session);
    if (w->rendezvous)
        tfd_rendezvous_clear(w->rendezvous);
    tfd_peer_memory_free(w->peer_memory);
    tfd_rendezvous_table_free(w->rendezvous);
    tfd_transfer_free(w->transfer);
    tfd_worker_free_run_calls(w);
    tfd_partial_call_free_all(w);
    tfd_id_map_deinit(&w->graphs);
    tfd_request_ids_deinit(&w->run_ids);
    tfd_request_ids_deinit(&w->recv_ids);
    tfd_devices_deinit(&w->devices);
    free(w);
}

struct tfd_worker *tfd_worker_local(struct tfd_worker_service *w)
{
    return &w->local;
}

/* ---- Sessions ------------------------------------------------------------ */

static void sessions_changed(struct tfd_worker_service *w)
{
    if (w->options.activity)
        w->options.activity(w->options.ctx);
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
    drop_session(s);
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
    struct tfd_task_session *x = new_session(w, s, &own);

    if (!x && own.code == TFD_RESOURCE_EXHAUSTED && s->cluster_def.size > 0 &&
        tfd_worker_evict_clusters(w))
        return new_session(w, s, st);
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

/* ---- Numbers ------------------------------------------------------------- */

int tfd_worker_session_count(const struct tfd_worker_service *w)
{
    return (int)w->sessions.count;
}

struct tfd_worker_counts tfd_worker_counts(struct tfd_worker_service *w)
{
    struct tfd_worker_counts c = {
        .sessions = (int)w->sessions.count,
        .graphs = (int)w->graphs.count,
        .registering = w->registering,
        .steps = w->step_count,
        .steps_done = w->steps_done,
        .abandoned = w->abandoned,
        .parked_size = tfd_rendezvous_stats(w->rendezvous).parked_size,
    };

    for (int i = 0; i < w->devices.count; i++)
        c.resources += tfd_containers_count(w->devices.device[i].containers);
    return c;
}
