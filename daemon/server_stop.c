/*
 * server_stop.c - a server stops in stages, each bounded, so that nobody waits
 * for ever:
 *
 *     draining   no new calls; running ones go on, and clients that are told of
 *                it (drain_notice.c) save, until drain_timeout.  Who connects
 *                finds out: pages and health are answered, work is refused
 *     closing    no new connections; sessions close, which cancels their steps;
 *                peers are told that we leave; GOODBYE_US at most
 *     stopped    the loop ends; what is left is freed
 */
#include "daemon/server_state.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "common/base/log.h"
#include "common/proto/peer.pb.h"
#include "daemon/master/session/session.h"
#include "daemon/worker/service/worker.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#define GOODBYE_US 2000000u
#define LINGER_US 200000u

/* ---- Closing ------------------------------------------------------------- */

/* What watchers of our health were told, and the callers of steps that were cut
 * off, is lost to those who have not read it when the connection ends.  One of
 * TensorFlow's clients that hears nothing of its step waits for ever. */
static bool lingers(struct tfd_server *s)
{
    if ((!s->health.watchers && !s->cut_off) || s->lingered)
        return false;
    s->lingered = true;
    return tfd_timer_start(&s->timer, LINGER_US, NULL) == TFD_OK;
}

static void enter_stopped(struct tfd_server *s)
{
    s->said_goodbye = true;
    if (s->stage == TFD_SERVER_STOPPED || s->holds > 0 || lingers(s))
        return;
    s->stage = TFD_SERVER_STOPPED;
    tfd_timer_stop(&s->timer);
    tfd_loop_stop(s->loop);
}

static void goodbye_answered(void *ctx, const struct tfd_status *st,
                             const struct tfd_incoming *response)
{
    struct tfd_server *s = ctx;

    (void)st;
    (void)response;
    if (--s->goodbyes == 0)
        enter_stopped(s);
}

static void say_goodbye(struct tfd_server *s, struct tfd_channel *ch)
{
    struct tfd_outcall_options o = {.timeout_us = GOODBYE_US};
    struct tfd_message m;

    tfd_message_init(&m, true);
    tfd_pb_put_str(&m.proto, tfd_Hello_task_tag, tfd_str_of(s->self.task));
    tfd_pb_put_fixed64(&m.proto, tfd_Hello_incarnation_tag,
                       s->self.incarnation);
    s->goodbyes++;
    (void)tfd_channel_call(ch, TFD_METHOD_Leaving, &m, &o, goodbye_answered, s);
}

static void sessions_closed(void *ctx, const struct tfd_status *st)
{
    struct tfd_server *s = ctx;

    (void)st;
    if (s->stage != TFD_SERVER_CLOSING)
        return;
    s->goodbyes = 1;
    for (int i = 0; i < tfd_peers_count(s->peers); i++) {
        struct tfd_channel *ch = tfd_peers_made(s->peers, i);

        if (ch && tfd_channel_up(ch) &&
            tfd_channel_protocol(ch) == TFD_PROTO_NATIVE)
            say_goodbye(s, ch);
    }
    if (--s->goodbyes == 0)
        enter_stopped(s);
}

static void enter_closing(struct tfd_server *s)
{
    struct tfd_status why = TFD_STATUS_INIT;

    if (s->stage >= TFD_SERVER_CLOSING)
        return;
    s->stage = TFD_SERVER_CLOSING;
    if (s->listener)
        tfd_listener_close(s->listener);
    s->listener = NULL;
    tfd_fail(&why, TFD_UNAVAILABLE, "%s is shutting down", s->self.task);
    tfd_worker_stop(s->worker, &why);
    if (tfd_timer_start(&s->timer, GOODBYE_US, NULL) != TFD_OK)
        enter_stopped(s);
    else
        tfd_master_close_all(s->master, sessions_closed, s);
}

static void drained(void *ctx)
{
    struct tfd_server *s = ctx;

    s->service_drained = s->notices == 0; /* else there are steps to come */
    if (s->service_drained && s->holds == 0)
        enter_closing(s);
}

void tfd_server_noticed(struct tfd_server *s)
{
    if (--s->notices == 0 && s->stage == TFD_SERVER_DRAINING)
        tfd_service_drain(s->service, drained, s);
}

/* ---- Threads that use the server ----------------------------------------- */

bool tfd_server_stopping(const struct tfd_server *s)
{
    return s->stage != TFD_SERVER_SERVING;
}

bool tfd_server_by_signal(const struct tfd_server *s)
{
    return s->by_signal;
}

static void released(struct tfd_post *p)
{
    struct tfd_server *s = ((struct tfd_server_hold *)p)->server;

    if (--s->holds > 0)
        return;
    if (s->stage == TFD_SERVER_DRAINING && s->service_drained)
        enter_closing(s);
    else if (s->stage == TFD_SERVER_CLOSING && s->said_goodbye)
        enter_stopped(s);
}

void tfd_server_hold(struct tfd_server *s, struct tfd_server_hold *h)
{
    *h = (struct tfd_server_hold){.post = {.run = released}, .server = s};
    s->holds++;
}

void tfd_server_unhold(struct tfd_server_hold *h)
{
    h->server->holds--;
}

void tfd_server_release(struct tfd_server_hold *h)
{
    tfd_loop_post(h->server->loop, &h->post);
}

/* ---- Stages -------------------------------------------------------------- */

void tfd_server_stage_over(struct tfd_timer *t)
{
    struct tfd_server *s = TFD_CONTAINER_OF(t, struct tfd_server, timer);

    if (s->stage == TFD_SERVER_DRAINING) {
        tfd_log(TFD_LOG_WARN, "drain_timeout", "calls=%d",
                tfd_service_in_flight(s->service));
        s->cut_off = true;
        enter_closing(s);
    } else if (s->stage == TFD_SERVER_CLOSING) {
        enter_stopped(s);
    }
}

void tfd_server_drain(struct tfd_server *s, const char *why)
{
    uint64_t limit = (uint64_t)s->o.config->drain_timeout_ms * 1000;
    struct tfd_status st = TFD_STATUS_INIT;

    if (s->stage != TFD_SERVER_SERVING)
        return;
    s->stage = TFD_SERVER_DRAINING;
    tfd_log(s->o.listen ? TFD_LOG_INFO : TFD_LOG_DEBUG, "stopping",
            "why=\"%s\" steps_running=%d", why,
            tfd_master_step_count(s->master));
    if (s->o.stopping)
        s->o.stopping(s->o.ctx);
    /* A session that waits for its tasks has nothing to finish. */
    (void)tfd_fail(&st, TFD_UNAVAILABLE, "The server is stopping.");
    tfd_master_cancel_creates(s->master, &st);
    tfd_step_watch_stop(&s->master->watch, "the server stops");
    if (tfd_timer_start(&s->timer, limit, NULL) != TFD_OK)
        enter_closing(s);
    else {
        s->notices = 1;
        tfd_service_drain(s->service, drained, s);
        tfd_server_tell_of_drain(s);
        tfd_server_noticed(s);
    }
}

static void stop_on_loop(struct tfd_post *p)
{
    struct tfd_server *s = TFD_CONTAINER_OF(p, struct tfd_server, stop_post);

    tfd_server_drain(s, "asked to");
}

/* Posted at most once: later calls find it posted already. */
void tfd_server_stop(struct tfd_server *s)
{
    static void (*const posted)(struct tfd_post *) = stop_on_loop;

    if (TFD_EXCHANGE(&s->stop_post.run, posted))
        return;
    tfd_loop_post(s->loop, &s->stop_post);
}

static void on_signal(void *ctx, int number)
{
    struct tfd_server *s = ctx;

    const char *name = number == SIGTERM ? "SIGTERM" : "SIGINT";

    if (s->signalled)
        _exit(128 + number); /* the second one: at once */
    s->signalled = true;
    s->by_signal = s->stage == TFD_SERVER_SERVING;
    if (s->by_signal)
        tfd_server_drain(s, name);
    else /* by itself: whoever sends the first one cannot know */
        tfd_log(TFD_LOG_INFO, "stopping_already",
                "why=%s hint=\"one more ends it at once\"", name);
}

/* A terminal has closed, or somebody hopes for a reload. */
static void on_hangup(void *ctx, int number)
{
    (void)ctx;
    (void)number;
    tfd_log(TFD_LOG_INFO, "hangup",
            "why=SIGHUP hint=\"nothing is read again; it goes on\"");
}

static void on_usr1(void *ctx, int number)
{
    struct tfd_server *s = ctx;

    (void)number;
    if (s->flight_recorder)
        tfd_flight_recorder_write(s->flight_recorder, "SIGUSR1");
}

enum tfd_code tfd_server_watch_signals(struct tfd_server *s,
                                       struct tfd_status *st)
{
    if (!s->o.signals)
        return TFD_OK;
    TFD_TRY(tfd_loop_signal(s->loop, SIGTERM, on_signal, s, st));
    TFD_TRY(tfd_loop_signal(s->loop, SIGUSR1, on_usr1, s, st));
    TFD_TRY(tfd_loop_signal(s->loop, SIGHUP, on_hangup, s, st));
    return tfd_loop_signal(s->loop, SIGINT, on_signal, s, st);
}
