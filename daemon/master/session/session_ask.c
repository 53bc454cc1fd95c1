/*
 * session_ask.c - asks each task that a session is created for what devices it
 * has.
 *
 * A task that cannot be reached, or whose address another task answers at, is
 * asked again every RETRY_US until peer_wait has passed; then the creation
 * fails and names each missing task and what is known of it.  TensorFlow waits
 * for ever; so do we when peer_wait is 0, until the client gives up.
 */
#include "daemon/master/session/session_create.h"

#include "common/base/container.h"
#include "common/base/log.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_US 500000u
#define ASK_US 10000000u    /* a live task answers GetStatus at once */
#define REPORT_US 10000000u /* as TensorFlow, for the log */
#define MISSING_TEXT_MAX (64 * 1024)

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

enum tfd_code tfd_create_choose(struct tfd_create *c)
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

/* ---- Who is missing ------------------------------------------------------ */

/* What is known of a task that did not answer. */
static const char *reason(struct tfd_create *c,
                          const struct tfd_create_answer *a)
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

static void fail_missing_workers(struct tfd_create *c)
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

/* ---- Devices ------------------------------------------------------------- */

/* A task that is known to be another one is as good as missing. */
static void check_identity(struct tfd_create_answer *a)
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

/* Tasks know the names that they were started with. */
static void rename_devices(struct tfd_create_answer *a)
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

static void keep_devices(struct tfd_create_answer *a,
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

enum tfd_code tfd_create_collect(struct tfd_create *c)
{
    struct tfd_session *s = c->session;

    for (int i = 0; i < s->worker_count; i++) {
        const struct tfd_create_answer *a = &c->answers[i];

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

/* ---- Asking -------------------------------------------------------------- */

static bool may_come_yet(enum tfd_code code)
{
    return code == TFD_UNAVAILABLE || code == TFD_DEADLINE_EXCEEDED;
}

static void status_known(void *ctx, const struct tfd_status *st,
                         const struct tfd_device_attributes *devices, int count)
{
    struct tfd_create_answer *a = ctx;
    struct tfd_create *c = a->create;

    a->asked = false;
    if (!c->session) {
        tfd_create_unref(c);
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
    tfd_create_proceed(c);
    tfd_create_unref(c);
}

/* Comes back here in RETRY_US, or at the end of the wait. */
static void start_ask_timer(struct tfd_create *c, uint64_t now)
{
    uint64_t wait = c->session->master->o.peer_wait_us;
    uint64_t spent = now - c->start_us, delay = RETRY_US;

    if (wait > 0 && spent + delay > wait)
        delay = spent < wait ? wait - spent : 0;
    (void)!tfd_timer_start(&c->timer, delay, &c->status);
}

void tfd_create_ask(struct tfd_create *c)
{
    struct tfd_session *s = c->session;

    c->asking = true;
    start_ask_timer(c, tfd_loop_now_us(s->master->o.loop));
    for (int i = 0; i < c->answer_count && c->status.code == TFD_OK; i++) {
        struct tfd_create_answer *a = &c->answers[i];
        struct tfd_worker *w = s->workers[i];

        if (a->known || a->asked)
            continue;
        a->asked = true;
        c->refs++;
        w->ops->get_status(w, ASK_US, status_known, a);
    }
    c->asking = false;
    tfd_create_proceed(c);
}

void tfd_create_ask_again(struct tfd_timer *t)
{
    struct tfd_create *c = TFD_CONTAINER_OF(t, struct tfd_create, timer);
    const struct tfd_master *m = c->session->master;
    uint64_t now = tfd_loop_now_us(m->o.loop);

    if (m->o.peer_wait_us > 0 && now - c->start_us >= m->o.peer_wait_us) {
        fail_missing_workers(c);
        tfd_create_proceed(c);
        return;
    }
    report_missing(c, now);
    tfd_create_ask(c);
}

void tfd_create_stop_asking(struct tfd_create *c, const struct tfd_session *s)
{
    for (int i = 0; i < c->answer_count; i++)
        if (c->answers[i].asked)
            s->workers[i]->ops->cancel_call(s->workers[i], &c->answers[i]);
}
