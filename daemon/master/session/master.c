/*
 * master.c - the table of sessions, the workers behind it, Reset.
 */
#include "daemon/master/session/session.h"

#include "common/base/container.h"
#include "common/base/entropy.h"
#include "common/base/log.h"
#include "config/limits.h"
#include "daemon/master/remote/remote_worker.h"
#include "daemon/master/session/leaving.h"
#include "daemon/master/session/lost_workers.h"
#include "daemon/master/session/session_idle.h"
#include "daemon/master/session/session_limits.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a client that asks for devices waits for a task, where sessions wait
 * for ever: the question must end after the client has left. */
#define LIST_US 60000000u

/* For tasks to clean up, however long the sessions took to close. */
#define LEAST_US 1000000u

enum tfd_code tfd_master_new(const struct tfd_master_options *o,
                             struct tfd_master **out, struct tfd_status *st)
{
    struct tfd_master *m = calloc(1, sizeof(*m));
    size_t peers = (size_t)tfd_peers_count(o->peers);

    if (m)
        m->workers = calloc(peers + 1, sizeof(struct tfd_worker *));
    if (!m || !m->workers) {
        free(m);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a master");
    }
    m->o = *o;
    m->peer_count = (int)peers;
    m->worker_room = (int)peers + 1;
    m->step_seed = tfd_entropy_id();
    tfd_map_init(&m->by_handle);
    if (o->build_threads > 0)
        m->builders = tfd_pool_new(o->build_threads, st);
    if (o->build_threads > 0 && !m->builders) {
        free(m->workers);
        free(m);
        return st ? st->code : TFD_RESOURCE_EXHAUSTED;
    }
    tfd_step_ring_init(&m->ring);
    tfd_step_watch_init(&m->watch);
    tfd_master_follow(m);
    tfd_master_watch_idle(m);
    *out = m;
    return TFD_OK;
}

void tfd_master_stop_building(struct tfd_master *m)
{
    struct tfd_pool *builders = m->builders;

    m->builders = NULL;
    if (builders)
        tfd_pool_free(builders);
}

void tfd_master_free(struct tfd_master *m)
{
    tfd_master_stop_building(m);
    tfd_master_stop_watching(m);
    tfd_master_forget_losses(m);
    for (int i = 0; i < m->worker_room; i++) /* the peers are gone already */
        if (m->workers[i])
            tfd_remote_worker_free(m->workers[i]);
    free(m->workers);
    tfd_step_watch_drop(&m->watch);
    tfd_step_ring_deinit(&m->ring);
    tfd_map_deinit(&m->by_handle);
    free(m);
}

/* ---- The table ----------------------------------------------------------- */

enum tfd_code tfd_master_find(struct tfd_master *m, struct tfd_str handle,
                              struct tfd_session **out, struct tfd_status *st)
{
    uintptr_t value;

    if (!tfd_map_get(&m->by_handle, handle, &value))
        return tfd_fail(st, TFD_ABORTED,
                        "Session " TFD_STR_FMT " is not found.",
                        TFD_STR_ARG(handle));
    *out = (struct tfd_session *)value;
    return TFD_OK;
}

void tfd_master_list(struct tfd_master *m, int peer, tfd_worker_status_fn *done,
                     void *ctx)
{
    uint64_t wait = m->o.peer_wait_us ? m->o.peer_wait_us : LIST_US;
    struct tfd_worker *w = peer == tfd_peers_self(m->o.peers)
                               ? m->o.local
                               : tfd_master_worker(m, peer);
    struct tfd_status st = TFD_STATUS_INIT;

    if (w) {
        w->ops->get_status(w, wait, done, ctx);
        return;
    }
    (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "No memory for a worker");
    done(ctx, &st, NULL, 0);
}

int tfd_master_peer_count(const struct tfd_master *m)
{
    return m->peer_count;
}

int tfd_master_own_peer(const struct tfd_master *m)
{
    return tfd_peers_self(m->o.peers);
}

int tfd_master_session_count(const struct tfd_master *m)
{
    return m->session_count;
}

int tfd_master_step_count(const struct tfd_master *m)
{
    return m->running;
}

uint64_t tfd_master_steps_done(const struct tfd_master *m)
{
    return m->steps_done;
}

uint64_t tfd_master_steps_failed(const struct tfd_master *m)
{
    return m->steps_failed;
}

uint64_t tfd_master_steps_timed_out(const struct tfd_master *m)
{
    return m->steps_timed_out;
}

const struct tfd_histogram *tfd_master_step_times(const struct tfd_master *m)
{
    return &m->step_times;
}

const struct tfd_step_ring *tfd_master_steps(const struct tfd_master *m)
{
    return &m->ring;
}

struct tfd_tracer *tfd_master_tracer(struct tfd_master *m)
{
    return &m->watch.tracer;
}

uint64_t tfd_master_abandoned(const struct tfd_master *m)
{
    return m->abandoned;
}

/* ---- Closing all, and Reset ---------------------------------------------- */

/* One task of a Reset. */
struct cleaning {
    struct reset *reset;
    struct tfd_worker *worker;
    struct cleaning *next;
    bool answered;
};

/* Lives until every task has answered, or its call has failed; the client is
 * answered before that when some do not. */
struct reset {
    struct tfd_master *master;
    tfd_master_done_fn *done; /* NULL once called */
    void *ctx;
    int pending;
    uint64_t begun_us;
    struct tfd_timer patience;
    struct cleaning *cleanings;
    bool clear;            /* containers too */
    struct tfd_status why; /* of steps that run; OK: the sessions are closed */
    struct tfd_bytes names;
    struct tfd_str *containers;
    int count;
    struct tfd_session_config scope; /* only its filters */
};

static void free_reset(struct reset *r)
{
    while (r->cleanings) {
        struct cleaning *c = r->cleanings;

        r->cleanings = c->next;
        free(c);
    }
    tfd_bytes_deinit(&r->names);
    free(r->containers);
    free(r->scope.filters);
    free(r);
}

static void answer_reset(struct reset *r)
{
    static const struct tfd_status ok = TFD_STATUS_INIT;
    tfd_master_done_fn *done = r->done;

    r->done = NULL;
    if (done)
        done(r->ctx, &ok);
}

static void reset_done(struct reset *r)
{
    tfd_timer_stop(&r->patience);
    answer_reset(r);
    free_reset(r);
}

static void cleaned(void *ctx, const struct tfd_status *st)
{
    struct cleaning *c = ctx;
    struct reset *r = c->reset;

    c->answered = true;
    if (st->code != TFD_OK)
        tfd_log(TFD_LOG_WARN, "cleanup_failed", "task=%s why=\"%s\"",
                c->worker->task, st->text);
    else if (!r->done)
        tfd_log(TFD_LOG_INFO, "cleanup_done", "task=%s", c->worker->task);
    if (--r->pending == 0)
        reset_done(r);
}

/* What a silent task has been sent it does when it goes on; its calls stay
 * open until then, or until it is given up. */
static void patience_over(struct tfd_timer *t)
{
    struct reset *r = TFD_CONTAINER_OF(t, struct reset, patience);

    for (struct cleaning *c = r->cleanings; c; c = c->next)
        if (!c->answered)
            tfd_log(TFD_LOG_WARN, "cleanup_late",
                    "task=%s why=\"no answer; Reset does not wait for it\"",
                    c->worker->task);
    answer_reset(r);
}

static void clean_worker(struct reset *r, struct tfd_worker *w)
{
    struct cleaning *c = malloc(sizeof(*c));

    if (!c)
        return;
    *c = (struct cleaning){.reset = r, .worker = w, .next = r->cleanings};
    r->cleanings = c;
    r->pending++;
    w->ops->cleanup_all(w, r->containers, r->count, cleaned, c);
}

static bool in_scope(const struct reset *r, int peer)
{
    const char *task = tfd_peers_task(r->master->o.peers, peer);
    struct tfd_device_name name;

    return tfd_device_name_parse(tfd_str_of(task), &name, NULL) == TFD_OK &&
           tfd_session_config_admits(&r->scope, &name);
}

/* Of all that a Reset may take; a task that let it wait for the sessions' ends
 * already is not waited for much longer. */
static uint64_t patience_left(const struct reset *r)
{
    uint64_t limit = r->begun_us + TFD_CLOSE_MS * UINT64_C(1000);
    uint64_t now = tfd_loop_now_us(r->master->o.loop);

    return limit > now + LEAST_US ? limit - now : LEAST_US;
}

static void clean_workers(struct reset *r)
{
    struct tfd_master *m = r->master;

    r->pending = 1;
    /* Without memory for a timer the calls' own limits count. */
    if (r->clear)
        (void)!tfd_timer_start(&r->patience, patience_left(r), NULL);
    if (r->clear)
        clean_worker(r, m->o.local);
    for (int i = 0; r->clear && i < tfd_peers_count(m->o.peers); i++) {
        struct tfd_worker *w = NULL;

        if (i != tfd_peers_self(m->o.peers) && in_scope(r, i))
            w = tfd_master_worker(m, i);
        if (w)
            clean_worker(r, w);
    }
    if (--r->pending == 0)
        reset_done(r);
}

static void one_closed(void *ctx, const struct tfd_status *st)
{
    struct reset *r = ctx;

    (void)st;
    if (--r->pending == 0)
        clean_workers(r);
}

/* Closing one may end others, so each time the first that is not yet waited
 * for. */
static void close_sessions(struct reset *r)
{
    struct tfd_session *s = r->master->sessions;

    r->pending = 1;
    while (s) {
        if (s->closed_for == r) {
            s = s->next;
            continue;
        }
        s->closed_for = r;
        s->closed_by = r->clear ? "by a Reset" : "the server stops";
        r->pending++;
        if (r->why.code != TFD_OK)
            tfd_session_close_for(s, &r->why, one_closed, r);
        else
            tfd_session_close(s, one_closed, r);
        s = r->master->sessions;
    }
    if (--r->pending == 0)
        clean_workers(r);
}

static enum tfd_code copy_containers(struct reset *r, const struct tfd_reset *q,
                                     struct tfd_status *st)
{
    size_t at = 0;

    tfd_bytes_init(&r->names, TFD_RESET_SIZE_MAX);
    r->containers =
        calloc((size_t)q->container_count + 1, sizeof(*r->containers));
    if (!r->containers)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "No memory to reset %d containers", q->container_count);
    for (int i = 0; i < q->container_count; i++)
        tfd_bytes_add_str(&r->names, q->containers[i]);
    TFD_TRY(tfd_bytes_ok(&r->names, "the names of containers", st));
    for (int i = 0; i < q->container_count; i++) {
        size_t size = q->containers[i].size;

        if (size > 0)
            r->containers[i] = (struct tfd_str){r->names.data + at, size};
        else
            r->containers[i] = TFD_STR_EMPTY;
        at += size;
    }
    r->count = q->container_count;
    return TFD_OK;
}

static enum tfd_code read_filters(struct reset *r, const struct tfd_reset *q,
                                  struct tfd_status *st)
{
    r->scope.filters =
        calloc((size_t)q->filter_count + 1, sizeof(*r->scope.filters));
    if (!r->scope.filters)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "No memory for %d device filters", q->filter_count);
    for (int i = 0; i < q->filter_count; i++)
        if (tfd_device_name_parse(q->filters[i], &r->scope.filters[i], NULL) !=
            TFD_OK)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid device filter '" TFD_STR_FMT "' of Reset",
                            TFD_STR_ARG(q->filters[i]));
    r->scope.filter_count = (size_t)q->filter_count;
    return TFD_OK;
}

/* why: of steps that run; NULL: their sessions are closed. */
static void start_reset(struct tfd_master *m, const struct tfd_reset *q,
                        const struct tfd_status *why, tfd_master_done_fn *done,
                        void *ctx)
{
    struct reset *r = calloc(1, sizeof(*r));
    struct tfd_status st = TFD_STATUS_INIT;

    if (!r) {
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "No memory to reset");
        done(ctx, &st);
        return;
    }
    *r = (struct reset){.master = m, .done = done, .ctx = ctx, .clear = !why};
    r->begun_us = tfd_loop_now_us(m->o.loop);
    tfd_timer_init(&r->patience, m->o.loop, patience_over);
    if (why)
        r->why = *why;
    if (copy_containers(r, q, &st) == TFD_OK &&
        read_filters(r, q, &st) == TFD_OK) {
        close_sessions(r);
        return;
    }
    free_reset(r);
    done(ctx, &st);
}

void tfd_master_reset(struct tfd_master *m, const struct tfd_reset *q,
                      tfd_master_done_fn *done, void *ctx)
{
    start_reset(m, q, NULL, done, ctx);
}

void tfd_master_close_all(struct tfd_master *m, tfd_master_done_fn *done,
                          void *ctx)
{
    const struct tfd_reset nothing = {.container_count = 0};
    struct tfd_status why = TFD_STATUS_INIT;

    (void)tfd_fail(&why, TFD_UNAVAILABLE, "The server is stopping");
    tfd_master_cancel_creates(m, &why);
    start_reset(m, &nothing, &why, done, ctx);
}
