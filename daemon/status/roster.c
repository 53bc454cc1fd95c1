/*
 * roster.c - see roster.h.
 */
#include "daemon/status/roster.h"

#include "config/limits.h"
#include "rpc/core/peer_info.h"
#include "rpc/core/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tfd_roster {
    const struct tfd_view *view;
    struct tfd_roster_task *tasks;
    int count;
    int awaited; /* questions that waiters wait for */
    int waiter_count;
    uint64_t answers; /* ever */
    bool asking;      /* refresh() is at work: nobody is told before it ends */
    struct tfd_roster_waiter *waiters;
    struct tfd_peer_info self;
};

static const char *const names[] = {
    [TFD_ROSTER_UNKNOWN] = "unknown",
    [TFD_ROSTER_UP] = "up",
    [TFD_ROSTER_DRAINING] = "draining",
    [TFD_ROSTER_SILENT] = "silent",
    [TFD_ROSTER_REFUSED] = "refused",
    [TFD_ROSTER_UNRESOLVED] = "unresolved",
    [TFD_ROSTER_UNREACHABLE] = "unreachable",
    [TFD_ROSTER_ANOTHER] = "another task",
};

const char *tfd_roster_state_name(enum tfd_roster_state s)
{
    return names[s];
}

const struct tfd_roster_task *tfd_roster_task(const struct tfd_roster *r, int i)
{
    return &r->tasks[i];
}

/* ---- Answers ------------------------------------------------------------- */

static void set_state(struct tfd_roster_task *t, enum tfd_roster_state state,
                      const char *why)
{
    snprintf(t->why, sizeof(t->why), "%.250s", why);
    if (t->state != state)
        t->changed_us = tfd_loop_now_us(t->roster->view->loop);
    t->state = state;
}

/* The words of rpc/conn/conn_dial.c, rpc/core/channel.c and heartbeat.c. */
static enum tfd_roster_state state_of_failure(const char *text)
{
    static const struct {
        const char *words;
        enum tfd_roster_state state;
    } rows[] = {
        {"cannot resolve", TFD_ROSTER_UNRESOLVED},
        {"has no address", TFD_ROSTER_UNRESOLVED},
        {"Connection refused", TFD_ROSTER_REFUSED},
        {"was silent for", TFD_ROSTER_SILENT},
        {"no sign of life", TFD_ROSTER_SILENT},
        {"timed out", TFD_ROSTER_SILENT},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strstr(text, rows[i].words))
            return rows[i].state;
    return TFD_ROSTER_UNREACHABLE;
}

/* The deadline may have passed while it was dialled again and again: then the
 * last dial knows more. */
static void note_failure(struct tfd_roster_task *t, const struct tfd_status *st)
{
    struct tfd_channel *ch = tfd_peers_made(t->roster->view->peers, t->peer);
    const char *trouble = ch ? tfd_channel_trouble(ch) : "";

    if (st->code == TFD_UNIMPLEMENTED) {
        t->heard_us = tfd_loop_now_us(t->roster->view->loop);
        set_state(t, TFD_ROSTER_UP, "");
    } else if (st->code != TFD_DEADLINE_EXCEEDED) {
        set_state(t, state_of_failure(st->text), st->text);
    } else if (ch && !tfd_channel_up(ch) && *trouble) {
        set_state(t, state_of_failure(trouble), trouble);
    } else {
        set_state(t, TFD_ROSTER_SILENT, "it does not answer");
    }
}

static void note_answer(struct tfd_roster_task *t, struct tfd_str proto)
{
    const struct tfd_view *v = t->roster->view;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_task_state said;

    if (tfd_task_state_decode(proto, &said, &st) != TFD_OK) {
        set_state(t, TFD_ROSTER_UNREACHABLE, st.text);
        return;
    }
    t->said = said;
    t->spoke = true;
    t->heard_us = tfd_loop_now_us(v->loop);
    t->round_trip_us = t->heard_us - t->asked_us;
    if (strcmp(said.task, tfd_peers_task(v->peers, t->peer)) != 0) {
        set_state(t, TFD_ROSTER_ANOTHER, "");
        snprintf(t->why, sizeof(t->why), "it is %.200s", said.task);
    } else {
        set_state(t, said.draining ? TFD_ROSTER_DRAINING : TFD_ROSTER_UP, "");
    }
}

static void tell_waiters(struct tfd_roster *r)
{
    while (r->awaited == 0 && !r->asking && r->waiters) {
        struct tfd_roster_waiter *w = r->waiters;

        r->waiters = w->next;
        r->waiter_count--;
        w->ready(w);
    }
}

static void state_told(void *ctx, const struct tfd_status *st,
                       const struct tfd_incoming *response)
{
    struct tfd_roster_task *t = ctx;

    t->asking = false;
    t->roster->answers++;
    if (st->code == TFD_OK)
        note_answer(t, response->proto);
    else if (st->code != TFD_CANCELLED) /* else we stop */
        note_failure(t, st);
    if (t->awaited)
        t->roster->awaited--;
    t->awaited = false;
    tell_waiters(t->roster);
}

/* ---- Questions ----------------------------------------------------------- */

static void ask_task(struct tfd_roster *r, struct tfd_roster_task *t)
{
    struct tfd_outcall_options o = {.timeout_us = TFD_STATUS_PEER_WAIT_MS *
                                                  UINT64_C(1000)};
    struct tfd_channel *ch = tfd_peers_channel(r->view->peers, t->peer);
    struct tfd_message m;

    if (!ch) {
        set_state(t, TFD_ROSTER_UNREACHABLE, "no memory for a connection");
        return;
    }
    t->asking = true;
    t->awaited = t->state != TFD_ROSTER_SILENT;
    r->awaited += t->awaited;
    t->asked_us = tfd_loop_now_us(r->view->loop);
    tfd_message_init(&m, tfd_channel_protocol(ch) != TFD_PROTO_GRPC);
    tfd_peer_info_encode(&m.proto, &r->self);
    (void)tfd_channel_call(ch, TFD_METHOD_GetTaskState, &m, &o, state_told, t);
}

static bool is_fresh(const struct tfd_roster *r,
                     const struct tfd_roster_task *t)
{
    uint64_t now = tfd_loop_now_us(r->view->loop);

    return t->asking ||
           (t->asked_us > 0 &&
            now - t->asked_us < TFD_STATUS_PEER_FRESH_MS * UINT64_C(1000));
}

bool tfd_roster_refresh(struct tfd_roster *r, struct tfd_roster_waiter *w)
{
    r->asking = true;
    for (int i = 0; i < r->count; i++)
        if (i != tfd_peers_self(r->view->peers) && !is_fresh(r, &r->tasks[i]))
            ask_task(r, &r->tasks[i]);
    r->asking = false;
    if (r->awaited == 0 || r->waiter_count == TFD_STATUS_WAITING_MAX)
        return true;
    w->next = r->waiters;
    r->waiters = w;
    r->waiter_count++;
    return false;
}

void tfd_roster_forget(struct tfd_roster *r, struct tfd_roster_waiter *w)
{
    for (struct tfd_roster_waiter **at = &r->waiters; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            r->waiter_count--;
            return;
        }
}

uint64_t tfd_roster_answers(const struct tfd_roster *r)
{
    return r->answers;
}

/* ---- Being asked --------------------------------------------------------- */

static void tell_state(void *self, struct tfd_call *call)
{
    const struct tfd_roster *r = self;
    struct tfd_task_state state;
    struct tfd_message m;

    tfd_task_state_fill(r->view, &state);
    tfd_message_init(&m, call->native);
    tfd_task_state_encode(&m.proto, &state);
    tfd_call_respond(call, &m);
}

enum tfd_code tfd_roster_new(const struct tfd_view *v, struct tfd_roster **out,
                             struct tfd_status *st)
{
    int count = tfd_peers_count(v->peers);
    struct tfd_roster *r = calloc(1, sizeof(*r));

    if (r)
        r->tasks = calloc((size_t)count + 1, sizeof(*r->tasks));
    if (!r || !r->tasks) {
        free(r);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "No memory for a roster of %d tasks", count);
    }
    r->view = v;
    r->count = count;
    r->self.incarnation = v->incarnation;
    snprintf(r->self.task, sizeof(r->self.task), "%s",
             tfd_peers_task(v->peers, tfd_peers_self(v->peers)));
    for (int i = 0; i < count; i++) {
        r->tasks[i].roster = r;
        r->tasks[i].peer = i;
    }
    tfd_service_bind(v->service, TFD_METHOD_GetTaskState, tell_state, r);
    *out = r;
    return TFD_OK;
}

void tfd_roster_free(struct tfd_roster *r)
{
    if (!r)
        return;
    free(r->tasks);
    free(r);
}
