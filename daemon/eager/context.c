/*
 * context.c - see context.h.
 */
#include "daemon/eager/context.h"

#include "common/base/log.h"
#include "config/device_name.h"
#include "config/limits.h"
#include "daemon/eager/parts/tasks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tfd_links *links_of(const struct tfd_eager *e)
{
    return tfd_service_links(e->options.service);
}

/* ---- The session on the worker ------------------------------------------- */

/* A local worker answers at once. */
static void session_made(void *ctx, const struct tfd_status *st)
{
    tfd_status_copy(ctx, st);
}

/* With a new name, which stands in c->session, also on failure. */
static enum tfd_code open_session(struct tfd_eager_context *c,
                                  struct tfd_str cluster_def,
                                  struct tfd_status *st)
{
    struct tfd_worker *w = c->eager->options.worker;
    struct tfd_status made = TFD_STATUS_INIT;
    struct tfd_worker_session s = {
        .master_task = TFD_STR_EMPTY,
        .cluster_def = cluster_def,
        .task = tfd_str_of(c->task),
    };

    snprintf(c->session, sizeof(c->session), "eager_%" PRIu64 "_%" PRIx64,
             ++c->eager->session_number, c->id);
    s.handle = tfd_str_of(c->session);
    w->ops->create_session(w, &s, session_made, &made);
    if (made.code != TFD_OK)
        return tfd_status_copy(st, &made);
    c->session_number = c->eager->session_number;
    return TFD_OK;
}

static void delete_session(const struct tfd_eager_context *c,
                           const char *session)
{
    struct tfd_worker *w = c->eager->options.worker;

    w->ops->delete_session(w, tfd_str_of(session), TFD_SESSION_LAST, 0, NULL,
                           NULL);
}

static enum tfd_code note_cluster(struct tfd_eager_context *c,
                                  struct tfd_str cluster_def,
                                  struct tfd_status *st)
{
    tfd_bytes_clear(&c->cluster_def);
    tfd_bytes_add_str(&c->cluster_def, cluster_def);
    return tfd_bytes_ok(&c->cluster_def, "a cluster", st);
}

/* The view of the cluster that q has; the old one stays with what runs. */
static enum tfd_code view_cluster(struct tfd_eager_context *c,
                                  const struct tfd_eager_context_request *q,
                                  struct tfd_status *st)
{
    const struct tfd_eager_tasks_request request = {
        .context = c->id,
        .cluster_def = q->cluster_def,
        .task = c->task,
        .own = c->devices,
        .own_count = c->device_count,
        .message = q->devices,
        .tag = q->devices_tag,
    };
    struct tfd_eager_tasks *made;

    TFD_TRY(tfd_eager_tasks_new(c->eager, &request, &made, st));
    tfd_eager_tasks_unref(c->tasks);
    c->tasks = made;
    return TFD_OK;
}

static enum tfd_code open_first(struct tfd_eager_context *c,
                                const struct tfd_eager_context_request *q,
                                struct tfd_status *st)
{
    struct tfd_worker *w = c->eager->options.worker;

    TFD_TRY(note_cluster(c, q->cluster_def, st));
    TFD_TRY(view_cluster(c, q, st));
    if (open_session(c, q->cluster_def, st) != TFD_OK) {
        c->session[0] = '\0';
        return st ? st->code : TFD_INTERNAL;
    }
    return w->ops->hold_step(w, (int64_t)c->id, st);
}

static void close_session(struct tfd_eager_context *c)
{
    struct tfd_worker *w = c->eager->options.worker;

    if (c->session[0] == '\0')
        return;
    w->ops->cleanup_graph(w, (int64_t)c->id);
    delete_session(c, c->session);
    c->session[0] = '\0';
}

/* ---- Devices ------------------------------------------------------------- */

struct copying {
    struct tfd_eager_context *c;
    struct tfd_status *st;
};

static void copy_devices(void *ctx, const struct tfd_status *st,
                         const struct tfd_device_attributes *devices, int count)
{
    struct copying *x = ctx;
    struct tfd_eager_context *c = x->c;

    tfd_status_copy(x->st, st);
    c->devices = calloc((size_t)count + 1, sizeof(*c->devices));
    if (!c->devices) {
        tfd_fail(x->st, TFD_RESOURCE_EXHAUSTED, "no memory for a context");
        return;
    }
    c->device_count = count;
    for (int i = 0; i < count; i++) {
        const char *tail = strstr(devices[i].name, "/device:");

        c->devices[i] = devices[i];
        snprintf(c->devices[i].name, sizeof(c->devices[i].name), "%s%s",
                 c->task, tail ? tail : "");
    }
}

static enum tfd_code name_devices(struct tfd_eager_context *c,
                                  struct tfd_status *st)
{
    struct tfd_worker *w = c->eager->options.worker;
    struct tfd_status own = TFD_STATUS_INIT;
    struct copying x = {c, &own};

    w->ops->get_status(w, 0, copy_devices, &x);
    return own.code == TFD_OK ? TFD_OK : tfd_status_copy(st, &own);
}

/* ---- Its end ------------------------------------------------------------- */

struct tfd_eager_context *tfd_eager_context_ref(struct tfd_eager_context *c)
{
    c->refs++;
    return c;
}

void tfd_eager_context_unref(struct tfd_eager_context *c)
{
    if (!c || --c->refs > 0)
        return;
    tfd_bytes_deinit(&c->cluster_def);
    tfd_eager_tasks_unref(c->tasks);
    tfd_meter_unref(c->meter);
    free(c->devices);
    free(c);
}

static void forget_graphs(struct tfd_eager_library *l)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    while (tfd_map_next(&l->by_name, &at, &e)) {
        struct tfd_eager_function *f = (struct tfd_eager_function *)e->value;

        tfd_eager_graph_unref(f->graph);
        f->graph = NULL;
        tfd_eager_library_forget_spreads(f);
    }
}

static void forget_spreads(struct tfd_eager_context *c)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    tfd_eager_library_forget_spreads(&c->spread_ops);
    while (tfd_map_next(&c->functions.by_name, &at, &e)) {
        struct tfd_eager_function *f = (struct tfd_eager_function *)e->value;

        tfd_eager_library_forget_spreads(f);
    }
}

/* One that is cancelled may end at once, and begin nothing any more. */
static void cancel_runs(struct tfd_eager_context *c)
{
    struct tfd_eager_run *r = c->runs;

    while (r) {
        if (r->is_cancelled) {
            r = r->next;
        } else {
            tfd_eager_run_cancel(r);
            r = c->runs;
        }
    }
}

void tfd_eager_context_close(struct tfd_eager_context *c)
{
    if (c->is_closed)
        return;
    c->is_closed = true;
    tfd_eager_context_ref(c);
    tfd_id_map_remove(&c->eager->contexts, c->id);
    tfd_links_unhold(links_of(c->eager), c->link);
    cancel_runs(c);
    tfd_eager_ops_deinit(&c->ops);
    tfd_eager_library_forget_spreads(&c->spread_ops);
    forget_graphs(&c->functions);
    forget_graphs(&c->components);
    tfd_eager_library_deinit(&c->functions);
    tfd_eager_library_deinit(&c->components);
    tfd_eager_handles_leave(&c->handles, &c->eager->line);
    tfd_eager_failures_deinit(&c->failures);
    close_session(c);
    tfd_eager_context_unref(c);
    tfd_eager_context_unref(c); /* the table's */
}

/* ---- Its beginning ------------------------------------------------------- */

static enum tfd_code take_task(struct tfd_eager_context *c,
                               const struct tfd_eager_context_request *q,
                               struct tfd_status *st)
{
    if (!tfd_device_name_job_ok(q->job) || q->index < 0 ||
        q->index > TFD_TASK_INDEX_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "server_def names no task: job \"" TFD_STR_FMT
                        "\", index %d",
                        TFD_STR_ARG(q->job), q->index);
    snprintf(c->task, sizeof(c->task), "/job:" TFD_STR_FMT "/replica:0/task:%d",
             TFD_STR_ARG(q->job), q->index);
    if (q->cluster_def.size == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "server_def has no cluster for %s", c->task);
    return TFD_OK;
}

static enum tfd_code replace_old(struct tfd_eager *e,
                                 const struct tfd_eager_context_request *q,
                                 struct tfd_status *st)
{
    struct tfd_eager_context *old = tfd_id_map_get(&e->contexts, q->id);

    if (!old)
        return TFD_OK;
    if (q->view < old->view)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "EagerService:CreateContext failed. Context id: "
                        "<%" PRIu64 "> already exists.",
                        q->id);
    tfd_eager_context_close(old);
    return TFD_OK;
}

/* Of those whose coordinator has no connection and that do nothing. */
static struct tfd_eager_context *find_left(const struct tfd_eager *e)
{
    struct tfd_eager_context *c, *oldest = NULL;
    size_t at = 0;

    while ((c = tfd_id_map_next(&e->contexts, &at)))
        if (c->calls == 0 && !tfd_links_open(links_of(e), c->link) &&
            (!oldest || c->used_us < oldest->used_us))
            oldest = c;
    return oldest;
}

static enum tfd_code make_room(struct tfd_eager *e, struct tfd_status *st)
{
    struct tfd_eager_context *c;

    if (e->contexts.count < TFD_EAGER_CONTEXTS_MAX)
        return TFD_OK;
    c = find_left(e);
    if (!c)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%zu contexts are open here, at most %d are possible",
                        e->contexts.count, TFD_EAGER_CONTEXTS_MAX);
    tfd_log(TFD_LOG_WARN, "eager_context_evicted",
            "context=%" PRIu64 " peer=%s", c->id, c->peer);
    e->abandoned++;
    tfd_eager_context_close(c);
    return TFD_OK;
}

static struct tfd_eager_context *
allocate_context(struct tfd_eager *e, const struct tfd_eager_context_request *q)
{
    struct tfd_eager_context *c = calloc(1, sizeof(*c));

    if (c)
        c->meter = tfd_meter_new();
    if (!c || !c->meter) {
        free(c);
        return NULL;
    }
    c->eager = e;
    c->functions.ops = c->components.ops = &e->options.registry->ops;
    c->refs = 1;
    c->id = q->id;
    c->view = q->view;
    c->begun_us = c->used_us = tfd_loop_now_us(e->options.loop);
    tfd_bytes_init(&c->cluster_def, TFD_SESSION_CONFIG_SIZE_MAX);
    if (q->keep_alive_secs > 0)
        c->keep_alive_us = q->keep_alive_secs < INT64_MAX / 1000000
                               ? (uint64_t)q->keep_alive_secs * 1000000
                               : 0;
    snprintf(c->peer, sizeof(c->peer), "%s", q->peer ? q->peer : "");
    return c;
}

static void use_link(struct tfd_eager_context *c, uint64_t link)
{
    if (c->link == link)
        return;
    tfd_links_unhold(links_of(c->eager), c->link);
    c->link = link;
    tfd_links_hold(links_of(c->eager), link);
}

enum tfd_code tfd_eager_context_new(struct tfd_eager *e,
                                    const struct tfd_eager_context_request *q,
                                    struct tfd_eager_context **out,
                                    struct tfd_status *st)
{
    struct tfd_eager_context *c;
    enum tfd_code rc;

    if (q->id == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Failed to initialize remote for worker context due to "
                        "invalid context id");
    TFD_TRY(replace_old(e, q, st));
    TFD_TRY(make_room(e, st));
    c = allocate_context(e, q);
    if (!c)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a context");
    rc = take_task(c, q, st);
    if (rc == TFD_OK)
        rc = name_devices(c, st);
    if (rc == TFD_OK)
        rc = open_first(c, q, st);
    if (rc == TFD_OK && !tfd_id_map_put(&e->contexts, c->id, c))
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a context");
    if (rc != TFD_OK) {
        close_session(c);
        tfd_eager_context_unref(c);
        return rc;
    }
    use_link(c, q->link);
    tfd_log(TFD_LOG_INFO, "eager_context_created",
            "context=%" PRIu64 " view=%" PRIu64 " task=%s peer=%s", c->id,
            c->view, c->task, c->peer);
    *out = c;
    return TFD_OK;
}

/* ---- Other views --------------------------------------------------------- */

/* The old session goes once the new one is there; runs of graphs that were
 * registered in it end as they would. */
static enum tfd_code change_cluster(struct tfd_eager_context *c,
                                    struct tfd_str cluster_def,
                                    struct tfd_status *st)
{
    char old[sizeof(c->session)];

    memcpy(old, c->session, sizeof(old));
    if (open_session(c, cluster_def, st) != TFD_OK) {
        memcpy(c->session, old, sizeof(old));
        return st ? st->code : TFD_INTERNAL;
    }
    tfd_eager_ops_deinit(&c->ops);
    forget_graphs(&c->functions);
    forget_graphs(&c->components);
    delete_session(c, old);
    return note_cluster(c, cluster_def, st);
}

enum tfd_code
tfd_eager_context_update(struct tfd_eager_context *c,
                         const struct tfd_eager_context_request *q,
                         struct tfd_status *st)
{
    if (q->view != c->view + 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "EagerService:UpdateContext failed. Context id: "
                        "<%" PRIu64 "> currently at view #%" PRIu64
                        " but received update request at view #%" PRIu64
                        ". View id should only be continuously incremented.",
                        c->id, c->view, q->view);
    if (q->cluster_def.size > 0) {
        TFD_TRY(view_cluster(c, q, st));
        forget_spreads(c);
        if (!tfd_str_eq(q->cluster_def, tfd_bytes_view(&c->cluster_def)))
            TFD_TRY(change_cluster(c, q->cluster_def, st));
    }
    c->view = q->view;
    tfd_log(TFD_LOG_INFO, "eager_context_updated",
            "context=%" PRIu64 " view=%" PRIu64, c->id, c->view);
    return TFD_OK;
}

/* ---- Its use ------------------------------------------------------------- */

enum tfd_code tfd_eager_context_lost(uint64_t id, struct tfd_status *st)
{
    return tfd_fail(st, TFD_ABORTED,
                    "Unable to find a context_id matching the specified one "
                    "(%" PRIu64 "). Perhaps the worker was restarted, or the "
                    "context was GC'd?",
                    id);
}

enum tfd_code tfd_eager_context_find(struct tfd_eager *e, uint64_t id,
                                     uint64_t link,
                                     struct tfd_eager_context **out,
                                     struct tfd_status *st)
{
    struct tfd_eager_context *c = tfd_id_map_get(&e->contexts, id);

    if (!c)
        return tfd_eager_context_lost(id, st);
    c->used_us = tfd_loop_now_us(e->options.loop);
    use_link(c, link);
    *out = c;
    return TFD_OK;
}

void tfd_eager_context_enter(struct tfd_eager_context *c)
{
    tfd_eager_context_ref(c);
    c->calls++;
}

void tfd_eager_context_leave(struct tfd_eager_context *c)
{
    c->calls--;
    c->used_us = tfd_loop_now_us(c->eager->options.loop);
    tfd_eager_context_unref(c);
}
