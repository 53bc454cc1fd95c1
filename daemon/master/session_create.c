/*
 * session_create.c - opening a session: find the tasks in scope, ask each for
 * its devices, place the graph, open a session on each worker.
 *
 * A task that cannot be reached, or whose address another task answers at, is
 * asked again every RETRY_US until peer_wait has passed; then the creation
 * fails and names each missing task and what is known of it.  TensorFlow waits
 * for ever; so do we when peer_wait is 0, until the client gives up.
 *
 * A creation that is over stays in memory, without its session, until the last
 * of its calls to workers has been answered.
 */
#include "daemon/master/session.h"

#include "common/graphdef.h"
#include "common/log.h"
#include "config/limits.h"
#include "daemon/master/functions.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_US 500000u
#define ASK_US 10000000u    /* a live task answers GetStatus at once */
#define REPORT_US 10000000u /* as TensorFlow, for the log */
#define MISSING_TEXT_MAX (64 * 1024)

/* What one worker answered to GetStatus. */
struct answer {
    struct tfd_create *create;
    int worker;
    bool asked; /* and not yet answered */
    bool known;
    struct tfd_status status; /* of the last answer that was a failure */
    struct tfd_device_attributes *devices;
    int count;
};

struct tfd_create {
    struct tfd_build build; /* first; of its graph, then of the places */
    bool building;
    struct tfd_str graph_def; /* the caller's */
    int refs; /* calls to workers, and the creation itself until it is over */
    struct tfd_session *session; /* NULL: it is over */
    tfd_session_done_fn *done;   /* NULL: told already */
    void *ctx;
    struct answer *answers;
    int answer_count;
    int missing; /* answers not known */
    int pending; /* CreateWorkerSession calls not answered */
    bool asking; /* calls are being made: what follows waits for their end */
    bool making; /* the workers make their sessions */
    uint64_t start_us, reported_us;
    struct tfd_timer timer; /* asks again */
    struct tfd_status status;
    struct tfd_status built;            /* what a build says */
    struct tfd_worker_session spec;     /* workers borrow it */
    struct tfd_create *next, *previous; /* in the master */
};

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
    size_t room = (size_t)s->peers.count + 1;

    s->workers = calloc(room, sizeof(struct tfd_worker *));
    s->native = calloc(room, sizeof(*s->native));
    if (!s->workers || !s->native)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a session");
    s->workers[s->worker_count++] = m->o.local;
    for (int i = s->peers.first; i < s->peers.first + s->peers.count; i++) {
        if (i == s->peers.own || !in_scope(s, tfd_peers_task(m->o.peers, i)))
            continue;
        s->workers[s->worker_count] = tfd_master_worker(m, i);
        if (!s->workers[s->worker_count++])
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "No memory for worker %s",
                            tfd_peers_task(m->o.peers, i));
    }
    return TFD_OK;
}

/* ---- The life of a creation ---------------------------------------------- */

static void unref(struct tfd_create *c)
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

static void tell(struct tfd_create *c, const struct tfd_status *st,
                 struct tfd_session *s)
{
    tfd_session_done_fn *done = c->done;

    c->done = NULL;
    if (done)
        done(c->ctx, st, s);
}

/* Nobody wants to know any more. */
static void stop_asking(struct tfd_create *c, const struct tfd_session *s)
{
    for (int i = 0; i < c->answer_count; i++)
        if (c->answers[i].asked)
            s->workers[i]->ops->cancel_call(s->workers[i], &c->answers[i]);
}

/* The session is open, or else goes away. */
static void finish(struct tfd_create *c)
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
        tfd_log(s->master->o.quiet ? TFD_LOG_DEBUG : TFD_LOG_INFO,
                "session_open", "session=%s tasks=%d devices=%d", s->handle,
                s->worker_count, s->devices.count);
    else /* clients may try again without a word */
        tfd_log(s->master->o.quiet ? TFD_LOG_DEBUG : TFD_LOG_INFO,
                "session_not_opened", "code=%s why=\"%s\"",
                tfd_code_name(c->status.code), c->status.text);
    stop_asking(c, s);
    tell(c, &c->status, c->status.code == TFD_OK ? s : NULL);
    if (c->status.code != TFD_OK && !s->listed)
        tfd_session_unref(s);
    else if (c->status.code != TFD_OK && s->state == TFD_SESSION_OPEN)
        tfd_session_close(s, ignore, NULL);
    tfd_session_unref(s);
    unref(c);
}

/* ---- Devices ------------------------------------------------------------- */

/* A task that is known to be another one is as good as missing. */
static void check_identity(struct answer *a)
{
    const char *task = tfd_session_task(a->create->session, a->worker);
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

/* What is known of a task that did not answer. */
static const char *reason(struct tfd_create *c, const struct answer *a)
{
    struct tfd_worker *w = c->session->workers[a->worker];
    const char *trouble = w->ops->trouble(w);

    if (trouble[0])
        return trouble;
    if (a->status.code == TFD_OK || a->status.code == TFD_DEADLINE_EXCEEDED)
        return "it is silent";
    return a->status.text;
}

/* Workers are in the order of the peers, so that the search goes on from where
 * the last one ended; but the first is this task. */
static const char *address_of(const struct tfd_create *c, int worker, int *peer)
{
    const struct tfd_session *s = c->session;
    const struct tfd_peers *peers = s->master->o.peers;
    int end = s->peers.first + s->peers.count;

    if (worker == 0)
        return s->peers.own < 0 ? "?" : tfd_peers_address(peers, s->peers.own);
    while (*peer < end &&
           strcmp(tfd_peers_task(peers, *peer), s->workers[worker]->task) != 0)
        ++*peer;
    return *peer < end ? tfd_peers_address(peers, *peer) : "?";
}

static int missing_text(struct tfd_create *c, struct tfd_bytes *text)
{
    int missing = 0, peer = c->session->peers.first;

    tfd_bytes_init(text, MISSING_TEXT_MAX);
    for (int i = 0; i < c->answer_count; i++) {
        if (c->answers[i].known)
            continue;
        tfd_bytes_printf(text, "%s%s at %s (%s)", missing++ ? ", " : "",
                         tfd_session_task(c->session, i),
                         address_of(c, i, &peer), reason(c, &c->answers[i]));
    }
    return missing;
}

static void fail_missing(struct tfd_create *c)
{
    struct tfd_bytes text;
    int missing = missing_text(c, &text);

    (void)tfd_fail(&c->status, TFD_DEADLINE_EXCEEDED,
                   "CreateSession: no answer within %.3g s from %d of %d "
                   "tasks: %s (--peer_wait sets the wait)",
                   (double)c->session->master->o.peer_wait_us / 1e6, missing,
                   c->session->worker_count, text.data ? text.data : "");
    tfd_bytes_deinit(&text);
}

static void report_missing(struct tfd_create *c, uint64_t now)
{
    struct tfd_bytes text;
    int missing;

    if (now - c->reported_us < REPORT_US)
        return;
    c->reported_us = now;
    missing = missing_text(c, &text);
    tfd_log(TFD_LOG_WARN, "session_waits",
            "seconds=%llu missing=%d tasks=\"%s\"",
            (unsigned long long)((now - c->start_us) / 1000000), missing,
            text.data ? text.data : "");
    tfd_bytes_deinit(&text);
}

static enum tfd_code collect_devices(struct tfd_create *c)
{
    struct tfd_session *s = c->session;

    for (int i = 0; i < s->worker_count; i++) {
        const struct answer *a = &c->answers[i];

        s->native[i] = i == 0 || s->workers[i]->ops->is_native(s->workers[i]);
        for (int k = 0; k < a->count; k++)
            TFD_TRY(tfd_device_set_add(&s->devices, &a->devices[k], i, NULL,
                                       &c->status));
        if (s->devices.count == 0) /* the first is the client device */
            return tfd_fail(&c->status, TFD_INTERNAL, "%s has no device",
                            tfd_session_task(s, 0));
    }
    return tfd_device_set_finish(&s->devices, &c->status);
}

/* ---- Worker sessions ----------------------------------------------------- */

static void session_made(void *ctx, const struct tfd_status *st)
{
    struct answer *a = ctx;
    struct tfd_create *c = a->create;

    if (st->code != TFD_OK)
        (void)tfd_fail(&c->status, st->code, "From %s:\n%s",
                       tfd_session_task(c->session, a->worker), st->text);
    if (--c->pending == 0)
        finish(c);
    unref(c);
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
        finish(c);
}

/* ---- Asking -------------------------------------------------------------- */

static void place(struct tfd_build *b)
{
    struct tfd_create *c = (struct tfd_create *)b;

    if (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED))
        (void)!tfd_session_place(c->session, 0, &c->built);
}

static void placed(struct tfd_build *b)
{
    struct tfd_create *c = (struct tfd_create *)b;

    c->building = false;
    (void)tfd_status_copy(&c->status, &c->built);
    if (c->status.code == TFD_OK &&
        tfd_session_enlist(c->session, &c->status) == TFD_OK)
        make_sessions(c);
    else
        finish(c);
    unref(c);
}

static void statuses_known(struct tfd_create *c)
{
    tfd_timer_stop(&c->timer);
    if (collect_devices(c) != TFD_OK) {
        finish(c);
        return;
    }
    c->refs++;
    c->building = true;
    c->build = (struct tfd_build){
        .work = place,
        .done = placed,
        .large = tfd_session_is_large(c->session, TFD_STR_EMPTY),
    };
    tfd_build_start(c->session, &c->build);
}

/* Goes on when something has become known. */
static void proceed(struct tfd_create *c)
{
    if (c->asking)
        return; /* ask_missing() comes here */
    if (c->status.code != TFD_OK)
        finish(c);
    else if (c->missing == 0)
        statuses_known(c);
}

static bool may_come_yet(enum tfd_code code)
{
    return code == TFD_UNAVAILABLE || code == TFD_DEADLINE_EXCEEDED;
}

/* Tasks know the names that they were started with. */
static void rename_devices(struct answer *a)
{
    const char *task = tfd_session_task(a->create->session, a->worker);

    for (int i = 0; i < a->count; i++) {
        char *name = a->devices[i].name;
        const char *local = strstr(name, "/device:");
        char own[64];

        if (!local)
            continue;
        snprintf(own, sizeof(own), "%.63s", local);
        snprintf(name, sizeof(a->devices[i].name), "%.180s%s", task, own);
    }
}

static void keep_devices(struct answer *a,
                         const struct tfd_device_attributes *devices, int count)
{
    a->devices = calloc((size_t)count + 1, sizeof(*devices));
    if (!a->devices) {
        (void)tfd_fail(&a->status, TFD_RESOURCE_EXHAUSTED,
                       "no memory for %d devices", count);
        return;
    }
    if (count > 0)
        memcpy(a->devices, devices, sizeof(*devices) * (size_t)count);
    a->count = count;
    if (a->create->session->renamed)
        rename_devices(a);
    else
        check_identity(a);
}

static void status_known(void *ctx, const struct tfd_status *st,
                         const struct tfd_device_attributes *devices, int count)
{
    struct answer *a = ctx;
    struct tfd_create *c = a->create;

    a->asked = false;
    if (!c->session) {
        unref(c);
        return;
    }
    a->status = *st;
    if (st->code == TFD_OK)
        keep_devices(a, devices, count);
    if (a->status.code == TFD_OK) {
        a->known = true;
        c->missing--;
    } else {
        free(a->devices);
        a->devices = NULL;
        a->count = 0;
    }
    if (a->status.code != TFD_OK && !may_come_yet(a->status.code))
        (void)tfd_fail(&c->status, a->status.code, "GetStatus of %s: %s",
                       tfd_session_task(c->session, a->worker), a->status.text);
    proceed(c);
    unref(c);
}

/* Comes back here in RETRY_US, or at the end of the wait. */
static void start_timer(struct tfd_create *c, uint64_t now)
{
    uint64_t wait = c->session->master->o.peer_wait_us;
    uint64_t spent = now - c->start_us, delay = RETRY_US;

    if (wait > 0 && spent + delay > wait)
        delay = spent < wait ? wait - spent : 0;
    (void)!tfd_timer_start(&c->timer, delay, &c->status);
}

static void ask_missing(struct tfd_create *c)
{
    struct tfd_session *s = c->session;

    c->asking = true;
    start_timer(c, tfd_loop_now_us(s->master->o.loop));
    for (int i = 0; i < c->answer_count && c->status.code == TFD_OK; i++) {
        struct answer *a = &c->answers[i];
        struct tfd_worker *w = s->workers[i];

        if (a->known || a->asked)
            continue;
        a->asked = true;
        c->refs++;
        w->ops->get_status(w, ASK_US, status_known, a);
    }
    c->asking = false;
    proceed(c);
}

static void ask_again(struct tfd_timer *t)
{
    struct tfd_create *c =
        (struct tfd_create *)((char *)t - offsetof(struct tfd_create, timer));
    const struct tfd_master *m = c->session->master;
    uint64_t now = tfd_loop_now_us(m->o.loop);

    if (m->o.peer_wait_us > 0 && now - c->start_us >= m->o.peer_wait_us) {
        fail_missing(c);
        finish(c);
        return;
    }
    report_missing(c, now);
    ask_missing(c);
}

/* ---- Beginning and end --------------------------------------------------- */

/* What a server is started with, and a session cannot ask for. */
static bool is_of_start(const char *name)
{
    return strcmp(name, "gpu_options") == 0 ||
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

static enum tfd_code prepare(struct tfd_create *c,
                             const struct tfd_create_session *spec)
{
    struct tfd_session *s = c->session;

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

static enum tfd_code prepare_answers(struct tfd_create *c)
{
    struct tfd_session *s = c->session;

    TFD_TRY(choose_workers(s, &c->status));
    c->answers = calloc((size_t)s->worker_count, sizeof(*c->answers));
    if (!c->answers)
        return tfd_fail(&c->status, TFD_RESOURCE_EXHAUSTED,
                        "No memory for a session");
    c->answer_count = c->missing = s->worker_count;
    for (int i = 0; i < c->answer_count; i++) {
        c->answers[i].create = c;
        c->answers[i].worker = i;
    }
    return TFD_OK;
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
    s->node_count = s->graph->count;
    (void)tfd_status_copy(&c->status, &c->built);
    if (c->status.code == TFD_OK && prepare_answers(c) == TFD_OK) {
        c->start_us = c->reported_us = tfd_loop_now_us(s->master->o.loop);
        ask_missing(c);
    } else {
        finish(c);
    }
    unref(c);
}

static void begin(struct tfd_create *c, struct tfd_str graph_def)
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
    tfd_timer_init(&c->timer, m->o.loop, ask_again);
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
    if (prepare(c, spec) == TFD_OK)
        begin(c, spec->graph_def);
    else
        finish(c);
    told = c->done == NULL;
    unref(c);
    return told ? NULL : c;
}

void tfd_create_hurry(struct tfd_create *c)
{
    struct tfd_session *s = c->session;

    if (!c->making || c->pending == 0)
        return;
    c->pending++; /* the last answer finishes */
    for (int i = 0; i < c->answer_count; i++)
        s->workers[i]->ops->cancel_call(s->workers[i], &c->answers[i]);
    if (--c->pending == 0)
        finish(c);
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
        finish(c);
        return;
    }
    c->refs++;
    tell(c, &c->status, NULL);
    if (c->session)
        tfd_create_hurry(c);
    unref(c);
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
