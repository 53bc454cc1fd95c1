/*
 * session_create.c - opening a session: find the tasks in scope, ask each for
 * its devices, place the graph, open a session on each worker.
 *
 * TensorFlow waits for ever for a task that does not answer.  Here the wait is
 * peer_wait, and the failure names each missing task and what is known of it.
 */
#include "daemon/master/session.h"

#include "common/graphdef.h"
#include "common/log.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

/* What one worker answered to GetStatus. */
struct answer {
    struct tfd_create *create;
    int worker;
    struct tfd_status status;
    struct tfd_device_attributes *devices;
    int count;
};

struct tfd_create {
    struct tfd_session *session;
    tfd_session_done_fn *done;
    void *ctx;
    struct answer *answers;
    int pending;
    struct tfd_status status;
    struct tfd_worker_session spec; /* workers borrow it */
};

static void finish(struct tfd_create *c);

/* ---- Scope --------------------------------------------------------------- */

static bool in_scope(const struct tfd_session *s, const char *task)
{
    struct tfd_device_name name;

    if (tfd_device_name_parse(tfd_str_of(task), &name, NULL) != TFD_OK)
        return false;
    return tfd_session_config_admits(&s->config, &name);
}

static enum tfd_code choose_workers(struct tfd_session *s,
                                    struct tfd_status *st)
{
    struct tfd_master *m = s->master;
    int peers = tfd_peers_count(m->o.peers);

    s->workers = calloc((size_t)peers + 1, sizeof(struct tfd_worker *));
    s->native = calloc((size_t)peers + 1, sizeof(*s->native));
    if (!s->workers || !s->native)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a session");
    s->workers[s->worker_count++] = m->o.local;
    for (int i = 0; i < peers; i++) {
        if (i == tfd_peers_self(m->o.peers) ||
            !in_scope(s, tfd_peers_task(m->o.peers, i)))
            continue;
        s->workers[s->worker_count] = tfd_master_worker(m, i);
        if (!s->workers[s->worker_count++])
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "No memory for worker %s",
                            tfd_peers_task(m->o.peers, i));
    }
    return TFD_OK;
}

/* ---- Devices ------------------------------------------------------------- */

/* A task that is known to be another one is as good as missing. */
static void check_identity(struct answer *a)
{
    const char *task = a->create->session->workers[a->worker]->task;
    struct tfd_device_name want, have;

    for (int i = 0; i < a->count && a->status.code == TFD_OK; i++) {
        if (tfd_device_name_parse(tfd_str_of(task), &want, NULL) != TFD_OK ||
            tfd_device_name_parse(tfd_str_of(a->devices[i].name), &have,
                                  NULL) != TFD_OK)
            continue;
        if (!tfd_device_name_same_task(&want, &have))
            (void)tfd_fail(&a->status, TFD_UNAVAILABLE,
                           "another task answered, with device %s",
                           a->devices[i].name);
    }
}

static void missing_tasks(struct tfd_create *c)
{
    struct tfd_bytes text;
    int missing = 0;

    tfd_bytes_init(&text, TFD_STATUS_TEXT_MAX);
    for (int i = 0; i < c->session->worker_count; i++) {
        struct tfd_worker *w = c->session->workers[i];
        const struct answer *a = &c->answers[i];
        const char *why = w->ops->trouble(w);

        if (a->status.code == TFD_OK)
            continue;
        if (a->status.code != TFD_DEADLINE_EXCEEDED || !why[0])
            why = a->status.code == TFD_DEADLINE_EXCEEDED ? "it is silent"
                                                          : a->status.text;
        tfd_bytes_printf(&text, "%s%s (%s)", missing++ ? ", " : "", w->task,
                         why);
    }
    (void)tfd_fail(&c->status, TFD_DEADLINE_EXCEEDED,
                   "CreateSession: no answer within %.3g s from %d of %d "
                   "tasks: " TFD_STR_FMT " (--peer_wait sets the wait)",
                   (double)c->session->master->o.peer_wait_us / 1e6, missing,
                   c->session->worker_count,
                   TFD_STR_ARG(tfd_bytes_view(&text)));
    tfd_bytes_deinit(&text);
}

static enum tfd_code collect_devices(struct tfd_create *c)
{
    struct tfd_session *s = c->session;

    for (int i = 0; i < s->worker_count; i++) {
        const struct answer *a = &c->answers[i];

        if (a->status.code != TFD_OK) {
            missing_tasks(c);
            return c->status.code;
        }
        s->native[i] = i == 0 || s->workers[i]->ops->is_native(s->workers[i]);
        for (int k = 0; k < a->count; k++)
            TFD_TRY(tfd_device_set_add(&s->devices, &a->devices[k], i, NULL,
                                       &c->status));
    }
    if (s->devices.count == 0)
        return tfd_fail(&c->status, TFD_INTERNAL,
                        "No task in scope has a device");
    TFD_TRY(tfd_device_set_finish(&s->devices, &c->status));
    return tfd_session_place(s, 0, &c->status);
}

/* ---- Worker sessions ----------------------------------------------------- */

static void session_made(void *ctx, const struct tfd_status *st)
{
    struct answer *a = ctx;
    struct tfd_create *c = a->create;

    if (st->code != TFD_OK)
        (void)tfd_fail(&c->status, st->code, "From %s:\n%s",
                       c->session->workers[a->worker]->task, st->text);
    if (--c->pending == 0)
        finish(c);
}

static void make_sessions(struct tfd_create *c)
{
    struct tfd_session *s = c->session;

    c->spec = (struct tfd_worker_session){
        .handle = tfd_str_of(s->handle),
        .master_task = tfd_str_of(s->workers[0]->task),
        .master_incarnation = s->devices.devices[0].attributes.incarnation,
        .isolate = s->config.isolate_session_state,
    };

    c->pending = s->worker_count + 1;
    for (int i = 0; i < s->worker_count; i++) {
        struct tfd_worker *w = s->workers[i];

        w->ops->create_session(w, &c->spec, session_made, &c->answers[i]);
    }
    if (--c->pending == 0)
        finish(c);
}

static void statuses_known(struct tfd_create *c)
{
    if (c->status.code == TFD_OK && collect_devices(c) == TFD_OK &&
        tfd_session_enlist(c->session, &c->status) == TFD_OK)
        make_sessions(c);
    else
        finish(c);
}

static void status_known(void *ctx, const struct tfd_status *st,
                         const struct tfd_device_attributes *devices, int count)
{
    struct answer *a = ctx;
    struct tfd_create *c = a->create;

    a->status = *st;
    if (st->code == TFD_OK && count > 0) {
        a->devices = calloc((size_t)count, sizeof(*devices));
        if (a->devices) {
            memcpy(a->devices, devices, sizeof(*devices) * (size_t)count);
            a->count = count;
            check_identity(a);
        } else {
            (void)tfd_fail(&a->status, TFD_RESOURCE_EXHAUSTED,
                           "no memory for %d devices", count);
        }
    }
    if (--c->pending == 0)
        statuses_known(c);
}

/* ---- Beginning and end --------------------------------------------------- */

static void free_create(struct tfd_create *c)
{
    for (int i = 0; c->answers && i < c->session->worker_count; i++)
        free(c->answers[i].devices);
    free(c->answers);
    free(c);
}

static void ignore(void *ctx, const struct tfd_status *st)
{
    (void)ctx;
    (void)st;
}

static void finish(struct tfd_create *c)
{
    struct tfd_session *s = c->session;
    struct tfd_status st = c->status;
    tfd_session_done_fn *done = c->done;
    void *ctx = c->ctx;

    if (s->close_waiters)
        (void)tfd_fail(&st, TFD_CANCELLED,
                       "Session %s was closed while it was created", s->handle);
    s->create = NULL;
    free_create(c);
    if (st.code == TFD_OK) {
        s->state = TFD_SESSION_OPEN;
        tfd_log(TFD_LOG_INFO, "session_open", "session=%s tasks=%d devices=%d",
                s->handle, s->worker_count, s->devices.count);
        done(ctx, &st, s);
        return;
    }
    s->state = TFD_SESSION_OPEN; /* so that it can be closed */
    done(ctx, &st, NULL);
    if (s->next || s->previous || s->master->sessions == s)
        tfd_session_close(s, ignore, NULL);
    else
        tfd_session_unref(s);
}

static void log_unhonoured(const struct tfd_session_config *config)
{
    for (size_t i = 0; i < config->unhonoured_count; i++)
        tfd_log(TFD_LOG_INFO, "option_not_honoured", "field=%s",
                config->unhonoured[i]);
}

static enum tfd_code prepare(struct tfd_create *c,
                             const struct tfd_create_session *spec)
{
    struct tfd_session *s = c->session;
    int32_t first;

    TFD_TRY(tfd_session_config_read(spec->config, &s->config, &c->status));
    log_unhonoured(&s->config);
    if (s->config.has_cluster_def)
        return tfd_fail(&c->status, TFD_UNIMPLEMENTED,
                        "ConfigProto.cluster_def (ClusterSpec propagation)");
    tfd_bytes_add_str(&s->config_proto, spec->config);
    TFD_TRY(tfd_bytes_ok(&s->config_proto, "a ConfigProto", &c->status));
    TFD_TRY(tfd_graphdef_import(s->graph, spec->graph_def, NULL, &first,
                                &c->status));
    TFD_TRY(choose_workers(s, &c->status));
    c->answers = calloc((size_t)s->worker_count, sizeof(*c->answers));
    if (!c->answers)
        return tfd_fail(&c->status, TFD_RESOURCE_EXHAUSTED,
                        "No memory for a session");
    return TFD_OK;
}

static void ask_all(struct tfd_create *c)
{
    struct tfd_session *s = c->session;

    c->pending = s->worker_count + 1;
    for (int i = 0; i < s->worker_count; i++) {
        c->answers[i].create = c;
        c->answers[i].worker = i;
    }
    for (int i = 0; i < s->worker_count; i++) {
        struct tfd_worker *w = s->workers[i];

        w->ops->get_status(w, s->master->o.peer_wait_us, status_known,
                           &c->answers[i]);
    }
    if (--c->pending == 0)
        statuses_known(c);
}

void tfd_master_create_session(struct tfd_master *m,
                               const struct tfd_create_session *spec)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_create *c = calloc(1, sizeof(*c));

    if (c)
        c->session = tfd_session_new(m, &st);
    if (!c || !c->session) {
        free(c);
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "No memory for a session");
        spec->done(spec->ctx, &st, NULL);
        return;
    }
    c->done = spec->done;
    c->ctx = spec->ctx;
    c->session->create = c;
    if (prepare(c, spec) == TFD_OK)
        ask_all(c);
    else
        finish(c);
}
