/*
 * session.c - the life of a session after its creation: run, close; how its
 * graph grows: session_grow.c.
 *
 * A session that closes first aborts its steps and the building of its plans,
 * then tells the workers, each within a limit, then leaves the table.  Nobody
 * waits for a dead worker longer than that.
 */
#include "daemon/master/session/session.h"

#include "config/limits.h"
#include "daemon/master/session/session_idle.h"
#include "daemon/master/session/leaving.h"
#include "daemon/master/session/callable.h"
#include "daemon/master/session/partial_run.h"
#include "daemon/master/session/plan.h"
#include "daemon/master/session/session_log.h"
#include "daemon/master/session/master_step.h"

#include <stdlib.h>
#include <string.h>

static void step_ended(struct tfd_session *s);

/* The last reference is gone. */
static void destroy(struct tfd_session *s)
{
    tfd_peers_drop_cluster(s->master->o.peers, s->peers);
    if (s->free_partial_runs)
        s->free_partial_runs(s);
    if (s->free_callables)
        s->free_callables(s);
    for (uint32_t i = 0; i < s->plan_count; i++)
        tfd_plan_free(s->plans[i]);
    free(s->plans);
    tfd_map_deinit(&s->plan_by_key);
    tfd_bytes_deinit(&s->key);
    tfd_bytes_deinit(&s->config_proto);
    tfd_session_config_deinit(&s->config);
    tfd_device_set_deinit(&s->devices);
    tfd_graph_unref(s->graph);
    free(s->device_of);
    free(s->workers);
    free(s->native);
    tfd_meter_unref(s->meter);
    free(s);
}

struct tfd_session *tfd_session_new(struct tfd_master *m, struct tfd_status *st)
{
    struct tfd_session *s = calloc(1, sizeof(*s));

    if (!s) {
        (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a session");
        return NULL;
    }
    s->master = m;
    s->refs = 1;
    s->destroy = destroy;
    s->step_ended = step_ended;
    s->builds_end = &s->builds;
    tfd_device_set_init(&s->devices);
    tfd_map_init(&s->plan_by_key);
    tfd_bytes_init(&s->key, TFD_SIGNATURE_SIZE_MAX);
    tfd_bytes_init(&s->config_proto, TFD_SESSION_CONFIG_SIZE_MAX);
    s->graph = tfd_graph_new(&m->o.registry->ops, st);
    s->meter = s->graph ? tfd_meter_new() : NULL;
    if (s->graph && !s->meter)
        (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a session");
    if (!s->meter) {
        tfd_session_unref(s);
        return NULL;
    }
    return s;
}

const char *tfd_session_handle(const struct tfd_session *s)
{
    return s->handle;
}

bool tfd_session_wants_costs(const struct tfd_session *s)
{
    return s->config.cost_model > 0;
}

bool tfd_session_renamed(const struct tfd_session *s)
{
    return s->renamed;
}

const struct tfd_device_set *tfd_session_devices(const struct tfd_session *s)
{
    return &s->devices;
}

/* ---- Running ------------------------------------------------------------- */

static void wait_for(struct tfd_plan *p, struct tfd_run_step *run)
{
    struct tfd_run_step **at = &p->waiters;

    while (*at)
        at = &(*at)->next;
    *at = run;
    run->next = NULL;
    run->waiting = p;
    run->waited_from_us = tfd_loop_now_us(p->session->master->o.loop);
    p->session->waiting++;
}

void tfd_session_run(struct tfd_session *s, struct tfd_run_step *run)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_plan *p = NULL;

    run->step = NULL;
    run->waiting = NULL;
    run->waited_from_us = 0;
    if (run->timeout_us == 0)
        run->timeout_us = (uint64_t)s->config.operation_timeout_ms * 1000;
    if (s->state != TFD_SESSION_OPEN)
        (void)tfd_fail(&st, TFD_FAILED_PRECONDITION, "Session is closed.");
    else if (s->running + s->waiting >= TFD_STEPS_PER_SESSION_MAX)
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                       "%d steps of session %s are running, the most allowed",
                       s->running + s->waiting, s->handle);
    else if (tfd_plan_get(s, run, &p, &st) == TFD_OK &&
             p->state == TFD_PLAN_FAILED)
        st = p->status;
    if (p && run->plan != 0) { /* the caller need not repeat the names */
        run->fetch_names = p->signature.fetches;
        run->fetch_count = p->signature.fetch_count;
    }
    if (st.code != TFD_OK) {
        tfd_session_log_unbegun(s, &st);
        tfd_session_heard(s, st.code);
        run->done(run, &st, NULL, 0);
    } else if (p->state == TFD_PLAN_READY &&
               (p->collective_key == 0 || p->running > 0)) {
        tfd_master_step_start(p, run);
    } else {
        wait_for(p, run);
        if (p->state == TFD_PLAN_READY)
            tfd_plan_learn(p);
    }
}

static void stop_waiting(struct tfd_run_step *run)
{
    struct tfd_run_step **at = &run->waiting->waiters;

    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    run->waiting->session->waiting--;
    run->waiting = NULL;
    run->next = NULL;
}

void tfd_session_abort(struct tfd_session *s, struct tfd_run_step *run,
                       const struct tfd_status *why)
{
    (void)s;
    if (run->step) {
        tfd_master_step_abort(run->step, why);
    } else if (run->waiting) {
        stop_waiting(run);
        run->done(run, why, NULL, 0);
    }
}

void tfd_session_cancel(struct tfd_session *s, struct tfd_run_step *run)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)tfd_fail(&st, TFD_CANCELLED, "RunStep was cancelled by the client");
    tfd_session_abort(s, run, &st);
}

/* ---- Closing ------------------------------------------------------------- */

static void delist(struct tfd_session *s)
{
    struct tfd_master *m = s->master;

    tfd_session_leave(s);
    tfd_map_remove(&m->by_handle, tfd_str_of(s->handle));
    if (s->previous)
        s->previous->next = s->next;
    else
        m->sessions = s->next;
    if (s->next)
        s->next->previous = s->previous;
    s->next = s->previous = NULL;
    m->session_count--;
    s->listed = false;
    tfd_step_watch_closed(&m->watch, s->handle);
    tfd_master_leaving_check(m);
    if (m->o.activity)
        m->o.activity(m->o.activity_ctx);
}

static void closed(struct tfd_session *s)
{
    struct tfd_status ok = TFD_STATUS_INIT;
    struct tfd_close_waiter *w = s->close_waiters;

    s->state = TFD_SESSION_CLOSED;
    tfd_session_log_closed(s);
    s->close_waiters = NULL;
    delist(s);
    while (w) {
        struct tfd_close_waiter *next = w->next;

        w->done(w->ctx, &ok);
        free(w);
        w = next;
    }
    tfd_session_unref(s);
}

static void worker_deleted(void *ctx, const struct tfd_status *st)
{
    struct tfd_session *s = ctx;

    (void)st; /* a worker that is gone has nothing to delete */
    if (--s->closing_workers == 0)
        closed(s);
}

/* The workers' exit rules want to know. */
static enum tfd_session_end end_of(const struct tfd_session *s)
{
    const struct tfd_links *links = s->master->o.links;

    if (s->broken || s->lost || s->task_leaves)
        return TFD_SESSION_BROKEN;
    for (const struct tfd_session *x = s->master->sessions; x; x = x->next)
        if (x != s && x->state <= TFD_SESSION_OPEN &&
            (x->link == 0 || !links || tfd_links_open(links, x->link)))
            return TFD_SESSION_ONE;
    return TFD_SESSION_LAST;
}

static void delete_from_workers(struct tfd_session *s)
{
    enum tfd_session_end end = end_of(s);

    s->closing_workers = 1;
    for (int i = 0; i < s->worker_count; i++) {
        struct tfd_worker *w = s->workers[i];

        s->closing_workers++;
        w->ops->delete_session(w, tfd_str_of(s->handle), end,
                               TFD_CLOSE_MS * UINT64_C(1000), worker_deleted,
                               s);
    }
    if (--s->closing_workers == 0)
        closed(s);
}

static void step_ended(struct tfd_session *s)
{
    tfd_session_use(s, 0);
    if (s->master->o.activity)
        s->master->o.activity(s->master->o.activity_ctx);
    tfd_master_leaving_check(s->master);
    if (s->state != TFD_SESSION_CLOSING || s->running > 0 ||
        s->closing_workers > 0)
        return;
    delete_from_workers(s);
}

void tfd_session_close(struct tfd_session *s, tfd_master_done_fn *done,
                       void *ctx)
{
    struct tfd_status why = TFD_STATUS_INIT;

    (void)tfd_fail(&why, TFD_CANCELLED,
                   "Step was cancelled by an explicit call to "
                   "`Session::Close()`.");
    tfd_session_close_for(s, &why, done, ctx);
}

void tfd_session_close_for(struct tfd_session *s, const struct tfd_status *why,
                           tfd_master_done_fn *done, void *ctx)
{
    struct tfd_close_waiter *w;
    struct tfd_status st = TFD_STATUS_INIT;

    if (s->state == TFD_SESSION_CLOSED) {
        done(ctx, &st);
        return;
    }
    w = calloc(1, sizeof(*w));
    if (!w) {
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "No memory to close");
        done(ctx, &st);
        return;
    }
    *w = (struct tfd_close_waiter){done, ctx, s->close_waiters};
    s->close_waiters = w;
    if (s->create) { /* session_create.c closes when it has ended */
        s->hurry_create(s->create);
        return;
    }
    if (s->state == TFD_SESSION_CLOSING)
        return;
    s->state = TFD_SESSION_CLOSING;
    s->running++;
    for (uint32_t i = 0; i < s->plan_count && s->waiting > 0; i++)
        tfd_plan_fail_waiters(s->plans[i], why);
    tfd_master_step_abort_all(s, why);
    tfd_build_stop_all(s);
    for (uint32_t i = 0; i < s->plan_count; i++)
        tfd_plan_cancel(s->plans[i]);
    s->running--;
    step_ended(s);
}
