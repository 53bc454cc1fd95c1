/*
 * task_session_idle.c - see task_session_idle.h.
 *
 * The question is ListDevices with the session's handle, which TensorFlow's
 * masters answer like ours.
 */
#include "daemon/worker/service/task_session_idle.h"
#include "daemon/worker/service/task_session_use.h"

#include "common/base/container.h"
#include "common/base/log.h"
#include "common/proto/master.pb.h"
#include "daemon/worker/service/worker_service.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOKS_PER_LIMIT 4
#define LOOK_MIN_US 100000u
#define LOOK_MAX_US 60000000u
#define ASK_US 10000000u /* a live master answers at once */

struct tfd_idle_question {
    struct tfd_worker_service *worker; /* NULL: it is gone */
    struct tfd_idle_question *next, **at;
    char handle[TFD_SESSION_HANDLE_MAX + 1];
};

static void drop_session(struct tfd_worker_service *w,
                         struct tfd_task_session *s, const char *why)
{
    tfd_log(TFD_LOG_INFO, "worker_session_abandoned",
            "session=%s master=%s why=\"%s\"", s->handle, s->master_task, why);
    w->abandoned++;
    tfd_worker_delete_session(w, tfd_str_of(s->handle), TFD_SESSION_BROKEN);
}

/* ---- Asking -------------------------------------------------------------- */

static bool is_unreachable(enum tfd_code code)
{
    return code == TFD_UNAVAILABLE || code == TFD_DEADLINE_EXCEEDED ||
           code == TFD_CANCELLED;
}

static void judge(struct tfd_worker_service *w, struct tfd_task_session *s,
                  const struct tfd_status *st)
{
    uint64_t now = tfd_loop_now_us(w->options.loop);

    s->asked = false;
    if (st->code == TFD_OK) {
        tfd_worker_session_used(w, s);
        return;
    }
    if (!is_unreachable(st->code)) {
        drop_session(w, s, st->text);
        return;
    }
    if (s->lost_us == 0)
        s->lost_us = now;
    if (now - s->lost_us >= w->options.session_idle_us &&
        !tfd_worker_session_runs(s))
        drop_session(w, s, st->text);
}

static void answered(void *ctx, const struct tfd_status *st,
                     const struct tfd_incoming *response)
{
    struct tfd_idle_question *q = ctx;
    uintptr_t session;

    (void)response;
    if (q->worker) {
        *q->at = q->next;
        if (q->next)
            q->next->at = q->at;
        if (tfd_map_get(&q->worker->sessions, tfd_str_of(q->handle), &session))
            judge(q->worker, (struct tfd_task_session *)session, st);
    }
    free(q);
}

static struct tfd_idle_question *new_question(struct tfd_worker_service *w,
                                              struct tfd_task_session *s)
{
    struct tfd_idle_question *q = calloc(1, sizeof(*q));

    if (!q)
        return NULL;
    q->worker = w;
    snprintf(q->handle, sizeof(q->handle), "%s", s->handle);
    q->next = w->questions;
    q->at = &w->questions;
    if (q->next)
        q->next->at = &q->next;
    w->questions = q;
    s->asked = true;
    return q;
}

static void ask_master(struct tfd_worker_service *w, struct tfd_task_session *s)
{
    const struct tfd_outcall_options o = {.timeout_us = ASK_US};
    struct tfd_peers *peers = w->options.peers;
    int peer = tfd_peers_find_in(peers, s->peers, tfd_str_of(s->master_task));
    struct tfd_channel *ch = peer < 0 ? NULL : tfd_peers_channel(peers, peer);
    struct tfd_idle_question *q = ch ? new_question(w, s) : NULL;
    struct tfd_message m;

    if (!q)
        return; /* of this task, whose master drops it, or of a stranger */
    tfd_message_init(&m, tfd_channel_protocol(ch) == TFD_PROTO_NATIVE);
    tfd_pb_put_str(&m.proto, tensorflow_ListDevicesRequest_session_handle_tag,
                   tfd_str_of(s->handle));
    (void)tfd_channel_call(ch, TFD_METHOD_ListDevices, &m, &o, answered, q);
}

/* ---- Looking ------------------------------------------------------------- */

static void start_idle_timer(struct tfd_worker_service *w)
{
    uint64_t delay = w->options.session_idle_us / LOOKS_PER_LIMIT;

    if (delay < LOOK_MIN_US)
        delay = LOOK_MIN_US;
    if (delay > LOOK_MAX_US)
        delay = LOOK_MAX_US;
    (void)!tfd_timer_start(&w->idle_timer, delay, NULL);
}

/* No answer comes from inside ask_master(), so that the table stays as it is.
 */
static void look_for_idle(struct tfd_timer *t)
{
    struct tfd_worker_service *w =
        TFD_CONTAINER_OF(t, struct tfd_worker_service, idle_timer);
    uint64_t now = tfd_loop_now_us(w->options.loop);
    const struct tfd_map_entry *e;
    size_t at = 0;

    while (tfd_map_next(&w->sessions, &at, &e)) {
        struct tfd_task_session *s = (struct tfd_task_session *)e->value;

        if (!s->asked && now - s->used_us >= w->options.session_idle_us &&
            !tfd_worker_session_runs(s))
            ask_master(w, s);
    }
    start_idle_timer(w);
}

void tfd_worker_watch_idle(struct tfd_worker_service *w)
{
    tfd_timer_init(&w->idle_timer, w->options.loop, look_for_idle);
    if (w->options.session_idle_us > 0 && w->options.peers)
        start_idle_timer(w);
}

void tfd_worker_stop_watching(struct tfd_worker_service *w)
{
    tfd_timer_stop(&w->idle_timer);
    for (struct tfd_idle_question *q = w->questions; q; q = q->next)
        q->worker = NULL;
    w->questions = NULL;
}
