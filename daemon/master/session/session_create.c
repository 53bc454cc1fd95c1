/*
 * session_create.c - opening a session: choose the tasks in scope and ask each
 * for its devices (session_ask.c), place the graph, open a session on each
 * worker.
 *
 * A creation that is over stays in memory, without its session, until the last
 * of its calls to workers has been answered.
 */
#include "daemon/master/session/session_create.h"

#include "common/base/atomic.h"
#include "common/base/entropy.h"
#include "daemon/master/session/session_idle.h"
#include "daemon/master/session/session_limits.h"

#include "daemon/master/session/session_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The life of a creation ---------------------------------------------- */

void tfd_create_unref(struct tfd_create *c)
{
    if (--c->refs > 0)
        return;
    for (int i = 0; i < c->answer_count; i++)
        free(c->answers[i].devices);
    free(c->answers);
    free(c);
}

static void link_create(struct tfd_master *m, struct tfd_create *c)
{
    c->next = m->creating;
    if (c->next)
        c->next->previous = c;
    m->creating = c;
}

static void unlink_create(struct tfd_master *m, struct tfd_create *c)
{
    if (c->previous)
        c->previous->next = c->next;
    else
        m->creating = c->next;
    if (c->next)
        c->next->previous = c->previous;
    c->next = c->previous = NULL;
}

static void ignore(void *ctx, const struct tfd_status *st)
{
    (void)ctx;
    (void)st;
}

static void tell_creator(struct tfd_create *c, const struct tfd_status *st,
                         struct tfd_session *s)
{
    tfd_session_done_fn *done = c->done;

    c->done = NULL;
    if (done)
        done(c->ctx, st, s);
}

/* The session is open, or else goes away. */
static void finish_create(struct tfd_create *c)
{
    struct tfd_session *s = c->session;

    tfd_timer_stop(&c->timer);
    unlink_create(s->master, c);
    c->session = NULL;
    s->create = NULL;
    s->state = TFD_SESSION_OPEN; /* so that it can be closed, if it is not */
    if (s->close_waiters)
        (void)tfd_fail(&c->status, TFD_CANCELLED,
                       "Session %s was closed while it was created", s->handle);
    tfd_session_ref(s);
    if (c->status.code == TFD_OK)
        tfd_session_log_open(s);
    else
        tfd_session_log_not_opened(s, &c->status);
    tfd_create_stop_asking(c, s);
    tell_creator(c, &c->status, c->status.code == TFD_OK ? s : NULL);
    if (c->status.code != TFD_OK && !s->listed)
        tfd_session_unref(s);
    else if (c->status.code != TFD_OK && s->state == TFD_SESSION_OPEN) {
        s->broken = true;
        tfd_session_close(s, ignore, NULL);
    }
    tfd_session_unref(s);
    tfd_create_unref(c);
}

/* ---- Worker sessions ----------------------------------------------------- */

static void session_made(void *ctx, const struct tfd_status *st)
{
    struct tfd_create_answer *a = ctx;
    struct tfd_create *c = a->create;

    if (st->code != TFD_OK)
        (void)tfd_fail(&c->status, st->code, "From %s:\n%s",
                       tfd_session_task(c->session, a->worker), st->text);
    if (--c->pending == 0)
        finish_create(c);
    tfd_create_unref(c);
}

static void make_sessions(struct tfd_create *c)
{
    struct tfd_session *s = c->session;
    int workers = s->worker_count;

    c->spec = (struct tfd_worker_session){
        .handle = tfd_str_of(s->handle),
        .master_task = tfd_str_of(tfd_session_task(s, 0)),
        .master_incarnation = s->devices.devices[0].attributes.incarnation,
        .isolate = s->config.isolate_session_state ||
                   (s->renamed && !s->config.share_session_state),
        .cluster_def = s->renamed ? s->config.cluster_def : TFD_STR_EMPTY,
        .task = tfd_str_of(tfd_session_task(s, 0)),
    };

    c->making = true;
    c->pending = workers + 1;
    for (int i = 0; i < workers; i++) {
        struct tfd_worker *w = s->workers[i];

        c->refs++;
        w->ops->create_session(w, &c->spec, session_made, &c->answers[i]);
    }
    if (--c->pending == 0)
        finish_create(c);
}

/* ---- Placing ------------------------------------------------------------- */

static void place_graph(struct tfd_build *b)
{
    struct tfd_create *c = (struct tfd_create *)b;

    if (!TFD_LOAD_RELAXED(&b->stop))
        (void)!tfd_session_place(c->session, 0, &c->built);
}

static enum tfd_code enlist(struct tfd_session *s, struct tfd_status *st)
{
    struct tfd_master *m = s->master;

    TFD_TRY(tfd_master_make_room(m, st));
    snprintf(s->handle, sizeof(s->handle), "%016llx",
             (unsigned long long)tfd_entropy_id());
    if (!tfd_map_put(&m->by_handle, tfd_str_of(s->handle), (uintptr_t)s))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a session");
    s->next = m->sessions;
    if (m->sessions)
        m->sessions->previous = s;
    m->sessions = s;
    m->session_count++;
    s->listed = true;
    tfd_session_use(s, 0);
    if (m->o.activity)
        m->o.activity(m->o.activity_ctx);
    return TFD_OK;
}

static void placed(struct tfd_build *b)
{
    struct tfd_create *c = (struct tfd_create *)b;

    c->building = false;
    (void)tfd_status_copy(&c->status, &c->built);
    if (c->status.code == TFD_OK && enlist(c->session, &c->status) == TFD_OK)
        make_sessions(c);
    else
        finish_create(c);
    tfd_create_unref(c);
}

static void statuses_known(struct tfd_create *c)
{
    tfd_timer_stop(&c->timer);
    if (tfd_create_collect(c) != TFD_OK) {
        finish_create(c);
        return;
    }
    c->refs++;
    c->building = true;
    c->build = (struct tfd_build){
        .work = place_graph,
        .done = placed,
        .large = tfd_session_is_large(c->session, TFD_STR_EMPTY),
    };
    tfd_build_start(c->session, &c->build);
}

void tfd_create_proceed(struct tfd_create *c)
{
    if (c->asking)
        return; /* tfd_create_ask() comes here */
    if (c->status.code != TFD_OK)
        finish_create(c);
    else if (c->missing == 0)
        statuses_known(c);
}

/* ---- Beginning and end --------------------------------------------------- */

/* What a server is started with, and a session cannot ask for. */
static bool is_of_start(const char *name)
{
    return strcmp(name, "device_count") == 0 ||
           strcmp(name, "gpu_options") == 0 ||
           strcmp(name, "intra_op_parallelism_threads") == 0;
}

static enum tfd_code name_unhonoured(struct tfd_master *m, struct tfd_str proto,
                                     bool at_start, struct tfd_status *st)
{
    struct tfd_session_config config;

    TFD_TRY(tfd_session_config_read(proto, &config, st));
    for (size_t i = 0; i < config.unhonoured_count; i++)
        if (!at_start || !is_of_start(config.unhonoured[i]))
            tfd_master_name_option(m, config.unhonoured[i]);
    tfd_session_config_deinit(&config);
    return TFD_OK;
}

static enum tfd_code prepare_create(struct tfd_create *c,
                                    const struct tfd_create_session *spec)
{
    struct tfd_session *s = c->session;

    TFD_TRY(tfd_session_admit(s, &c->status));
    /* Messages one after the other are one message that is merged. */
    tfd_bytes_add_str(&s->config_proto, s->master->o.session_config);
    tfd_bytes_add_str(&s->config_proto, spec->config);
    TFD_TRY(tfd_bytes_ok(&s->config_proto, "a ConfigProto", &c->status));
    TFD_TRY(tfd_session_config_read(tfd_bytes_view(&s->config_proto),
                                    &s->config, &c->status));
    TFD_TRY(name_unhonoured(s->master, s->master->o.session_config, true,
                            &c->status));
    TFD_TRY(name_unhonoured(s->master, spec->config, false, &c->status));
    return tfd_session_choose_cluster(s, spec->target, &c->status);
}

static void read_graph(struct tfd_build *b)
{
    struct tfd_create *c = (struct tfd_create *)b;

    (void)!tfd_session_import(c->session, c->graph_def, &b->stop, &c->built);
}

static void graph_read(struct tfd_build *b)
{
    struct tfd_create *c = (struct tfd_create *)b;
    struct tfd_session *s = c->session;

    c->building = false;
    tfd_session_measure(s);
    (void)tfd_status_copy(&c->status, &c->built);
    if (c->status.code == TFD_OK && tfd_create_choose(c) == TFD_OK) {
        c->start_us = c->reported_us = tfd_loop_now_us(s->master->o.loop);
        tfd_create_ask(c);
    } else {
        finish_create(c);
    }
    tfd_create_unref(c);
}

static void begin_create(struct tfd_create *c, struct tfd_str graph_def)
{
    c->refs++;
    c->building = true;
    c->graph_def = graph_def;
    c->build = (struct tfd_build){
        .work = read_graph,
        .done = graph_read,
        .large = tfd_session_is_large(c->session, graph_def),
    };
    tfd_build_start(c->session, &c->build);
}

static void hurry(struct tfd_create *c)
{
    struct tfd_session *s = c->session;

    if (!c->making || c->pending == 0)
        return;
    c->pending++; /* the last answer finishes */
    for (int i = 0; i < c->answer_count; i++)
        s->workers[i]->ops->cancel_call(s->workers[i], &c->answers[i]);
    if (--c->pending == 0)
        finish_create(c);
}

static struct tfd_create *new_create(struct tfd_master *m,
                                     const struct tfd_create_session *spec)
{
    struct tfd_create *c = calloc(1, sizeof(*c));

    if (c)
        c->session = tfd_session_new(m, NULL);
    if (!c || !c->session) {
        free(c);
        return NULL;
    }
    c->refs = 1;
    c->done = spec->done;
    c->ctx = spec->ctx;
    c->session->create = c;
    c->session->hurry_create = hurry;
    snprintf(c->session->client, sizeof(c->session->client), "%s",
             spec->client ? spec->client : "");
    snprintf(c->session->peer, sizeof(c->session->peer), "%s",
             spec->peer ? spec->peer : "");
    tfd_timer_init(&c->timer, m->o.loop, tfd_create_ask_again);
    link_create(m, c);
    return c;
}

struct tfd_create *
tfd_master_create_session(struct tfd_master *m,
                          const struct tfd_create_session *spec)
{
    struct tfd_create *c = new_create(m, spec);
    struct tfd_status st = TFD_STATUS_INIT;
    bool told;

    if (!c) {
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "No memory for a session");
        spec->done(spec->ctx, &st, NULL);
        return NULL;
    }
    c->refs++;
    if (prepare_create(c, spec) == TFD_OK)
        begin_create(c, spec->graph_def);
    else
        finish_create(c);
    told = c->done == NULL;
    tfd_create_unref(c);
    return told ? NULL : c;
}

/* Workers that are making their sessions borrow the handle: they are waited
 * for, without a caller.  A build borrows the caller's bytes: it is waited for,
 * and then the creation ends. */
void tfd_master_cancel_create(struct tfd_create *c,
                              const struct tfd_status *why)
{
    (void)tfd_status_copy(&c->status, why);
    if (c->building) {
        tfd_build_stop(&c->build);
        return;
    }
    if (!c->making) {
        finish_create(c);
        return;
    }
    c->refs++;
    tell_creator(c, &c->status, NULL);
    if (c->session)
        hurry(c);
    tfd_create_unref(c);
}

void tfd_master_cancel_creates(struct tfd_master *m,
                               const struct tfd_status *why)
{
    struct tfd_create *c = m->creating;

    while (c) {
        if (!c->done) { /* nobody waits for it */
            c = c->next;
        } else if (c->building) { /* it ends later */
            tfd_master_cancel_create(c, why);
            c = c->next;
        } else {
            tfd_master_cancel_create(c, why);
            c = m->creating; /* done() may have ended others */
        }
    }
}
