/*
 * channel.c - see channel.h.
 *
 *     IDLE --> [WAITING -->] DIALING --> GREETING --> UP
 *       ^___________________________________________|  lost, or failed
 *
 * WAITING is the backoff, GREETING waits for the answer to Hello (native only).
 * Calls wait in the queue until UP.  Failures that are found while somebody is
 * inside this file are put on a list and told from the loop's deferred phase.
 */
#include "rpc/core/channel.h"

#include "common/base/container.h"
#include "config/limits.h"
#include "rpc/conn/conn_dial.h"
#include "rpc/core/link.h"
#include "rpc/core/outcall.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BACKOFF_FIRST_US (50 * 1000)
#define BACKOFF_MAX_US (1000 * 1000)

enum channel_state { IDLE, WAITING, DIALING, GREETING, UP };
struct tfd_channel {
    struct tfd_loop *loop;
    char address[TFD_ADDRESS_SIZE_MAX];
    struct tfd_channel_options options;
    enum channel_state state;
    enum tfd_protocol spoken; /* by the peer, as far as we know */
    const struct tfd_link_ops *ops;
    struct tfd_conn *conn;  /* DIALING: until it is up or closed() came */
    struct tfd_link *link;  /* GREETING, UP */
    struct tfd_timer timer; /* WAITING, GREETING */
    uint64_t backoff_us, next_dial_us;
    struct tfd_outcall_pool pool;
    struct tfd_outcall_list queue, ending;
    struct tfd_post turn;
    bool deferred;
    bool by_unix; /* the connection took the short way of same_host.h ... */
    bool by_tcp;  /* ... which the next one shall not */
    bool stopped; /* dials no more */
    bool dying;   /* freed by its owner */
    struct tfd_peer_info peer;
    struct tfd_status trouble;
};

static void kick(struct tfd_channel *ch);
static void deadline(struct tfd_timer *t);

/* ---- Calls that end ----------------------------------------------------- */

/* Back among the free, then told: done() may call again at once. */
static void finish_call(struct tfd_outcall *c, const struct tfd_status *st,
                        const struct tfd_incoming *response)
{
    struct tfd_channel *ch = c->channel;
    tfd_outcall_fn *done = c->done;
    void *ctx = c->ctx;

    tfd_timer_stop(&c->timer);
    tfd_message_deinit(&c->request);
    tfd_outcall_give_back(&ch->pool, c);
    done(ctx, st, response);
}

static void schedule_turn(struct tfd_channel *ch)
{
    if (ch->deferred)
        return;
    ch->deferred = true;
    tfd_loop_defer(ch->loop, &ch->turn);
}

/* c is in no list any more. */
static void end_later(struct tfd_outcall *c, const struct tfd_status *st)
{
    struct tfd_channel *ch = c->channel;

    assert(st->code != TFD_OK && c->state != TFD_OUTCALL_ENDING);
    tfd_timer_stop(&c->timer);
    c->state = TFD_OUTCALL_ENDING;
    c->code = st->code;
    c->text = malloc(sizeof(*c->text));
    if (c->text)
        *c->text = *st;
    tfd_outcall_append(&ch->ending, c);
    schedule_turn(ch);
}

static void tell_ending(struct tfd_outcall *c)
{
    struct tfd_status st;

    tfd_status_clear(&st);
    (void)tfd_fail(&st, c->code, "%s",
                   c->text ? c->text->text : "no memory for the reason");
    free(c->text);
    c->text = NULL;
    finish_call(c, &st, NULL);
}

static void channel_delete(struct tfd_channel *ch)
{
    tfd_outcall_pool_deinit(&ch->pool);
    free(ch);
}

/* Until nothing points here: a dial's handler does, and the turn. */
static void delete_when_done(struct tfd_channel *ch)
{
    if (ch->dying && !ch->conn && !ch->deferred)
        channel_delete(ch);
}

static void run_turn(struct tfd_post *p)
{
    struct tfd_channel *ch = TFD_CONTAINER_OF(p, struct tfd_channel, turn);
    struct tfd_outcall *c;

    /* Still deferred: a channel that is freed by done() lives until the end. */
    while ((c = tfd_outcall_pop(&ch->ending)))
        tell_ending(c);
    ch->deferred = false;
    delete_when_done(ch);
}

/* ---- Failures ------------------------------------------------------------ */

static void fail_sent(struct tfd_channel *ch, const struct tfd_status *why)
{
    for (uint32_t i = 0; i < ch->pool.count; i++)
        if (ch->pool.calls[i]->state == TFD_OUTCALL_SENT)
            end_later(ch->pool.calls[i], why);
}

/* Those that do not wait for a connection fail with the dial they waited for;
 * the others stay. */
static void fail_queued(struct tfd_channel *ch, const struct tfd_status *why,
                        bool all)
{
    struct tfd_outcall_list queue = ch->queue;
    struct tfd_outcall *c;

    ch->queue = (struct tfd_outcall_list){NULL, NULL};
    while ((c = tfd_outcall_pop(&queue))) {
        if (c->options.wait_ready && !all)
            tfd_outcall_append(&ch->queue, c);
        else
            end_later(c, why);
    }
}

/* With the task, so that who reads it knows which one to look after. */
static void name_peer(const struct tfd_channel *ch, struct tfd_status *st)
{
    const char *task = ch->options.task;

    tfd_status_context(st, "%s%s%s", task ? task : "", task ? " at " : "",
                       ch->address);
}

/* A quarter up or down, so that peers of a restarted task do not dial in
 * step. */
static uint64_t with_jitter(struct tfd_channel *ch, uint64_t us)
{
    uint64_t x = tfd_loop_now_us(ch->loop) * UINT64_C(0x9e3779b97f4a7c15);

    return us - us / 4 + (us ? (x >> 33) % (us / 2 + 1) : 0);
}

static void lost(struct tfd_channel *ch)
{
    ch->state = IDLE;
    tfd_timer_stop(&ch->timer);
    if (ch->queue.first)
        kick(ch);
}

static void dial_failed(struct tfd_channel *ch, const struct tfd_status *why)
{
    struct tfd_status named = *why;

    ch->trouble = *why;
    ch->by_tcp = false;
    ch->spoken = ch->options.protocol;
    ch->next_dial_us =
        tfd_loop_now_us(ch->loop) + with_jitter(ch, ch->backoff_us);
    ch->backoff_us = ch->backoff_us ? ch->backoff_us * 2 : BACKOFF_FIRST_US;
    if (ch->backoff_us > BACKOFF_MAX_US)
        ch->backoff_us = BACKOFF_MAX_US;
    name_peer(ch, &named);
    fail_queued(ch, &named, false);
    lost(ch);
}

/* ---- Sending ------------------------------------------------------------- */

static void send_call(struct tfd_outcall *c)
{
    struct tfd_channel *ch = c->channel;
    struct tfd_status st;

    tfd_status_clear(&st);
    c->state = TFD_OUTCALL_SENT;
    if (ch->ops->call(ch->link, c->id, c->method, &c->request,
                      c->options.timeout_us, true, &st) != TFD_OK)
        end_later(c, &st);
}

static void came_up(struct tfd_channel *ch)
{
    struct tfd_status ok;
    struct tfd_outcall *c;

    tfd_timer_stop(&ch->timer);
    ch->state = UP;
    ch->spoken = ch->ops->protocol;
    ch->by_tcp = false;
    ch->backoff_us = 0;
    ch->next_dial_us = 0;
    tfd_status_clear(&ch->trouble);
    while ((c = tfd_outcall_pop(&ch->queue)))
        send_call(c);
    tfd_status_clear(&ok);
    if (ch->options.changed)
        ch->options.changed(ch->options.ctx, ch, true, &ok);
}

/* ---- Events of the link -------------------------------------------------- */

static void on_ended(void *ctx, uint32_t id, const struct tfd_status *st,
                     const struct tfd_incoming *response)
{
    struct tfd_channel *ch = ctx;

    assert(id < ch->pool.count &&
           ch->pool.calls[id]->state == TFD_OUTCALL_SENT);
    finish_call(ch->pool.calls[id], st, response);
}

static void on_hello(void *ctx, const struct tfd_peer_info *peer)
{
    struct tfd_channel *ch = ctx;

    ch->peer = *peer;
    if (ch->state == GREETING)
        came_up(ch);
}

static void dial(struct tfd_channel *ch);

static void on_failed(void *ctx, const struct tfd_status *why,
                      enum tfd_link_heard heard)
{
    struct tfd_channel *ch = ctx;
    bool was_up = ch->state == UP;
    struct tfd_status named = *why;

    ch->link = NULL;
    if (!was_up && heard == TFD_LINK_HEARD_OTHER &&
        ch->options.protocol == TFD_PROTO_UNKNOWN) {
        ch->spoken = TFD_PROTO_GRPC;
        tfd_timer_stop(&ch->timer);
        dial(ch);
        return;
    }
    if (!was_up && ch->by_unix && heard == TFD_LINK_HEARD_NOTHING) {
        /* It has no room for us there, or we are nobody to it. */
        ch->by_tcp = true;
        tfd_timer_stop(&ch->timer);
        dial(ch);
        return;
    }
    if (!was_up) {
        dial_failed(ch, why);
        return;
    }
    ch->trouble = *why;
    name_peer(ch, &named);
    fail_sent(ch, &named);
    lost(ch);
    if (ch->options.changed)
        ch->options.changed(ch->options.ctx, ch, false, why);
}

static const struct tfd_link_events events = {on_ended, on_hello, on_failed};

/* ---- Dialling ------------------------------------------------------------ */

static void closed_nobody(void *self, const struct tfd_status *why)
{
    (void)self;
    (void)why;
}

static const struct tfd_conn_handler nobody = {.closed = closed_nobody};

static void on_connected(void *self)
{
    struct tfd_channel *ch = self;
    struct tfd_conn *conn = ch->conn;
    struct tfd_status st;

    tfd_status_clear(&st);
    ch->conn = NULL;
    ch->by_unix = tfd_conn_is_unix(conn);
    tfd_conn_handle(conn, &nobody, NULL);
    ch->state = GREETING;
    if (ch->ops->open(conn, ch->address, ch->options.self, &events, ch,
                      &ch->link, &st) != TFD_OK) {
        tfd_conn_close(conn, 0);
        dial_failed(ch, &st);
        return;
    }
    ch->ops->watch(ch->link, &ch->options.heartbeat);
    if (ch->ops->protocol != TFD_PROTO_NATIVE) {
        came_up(ch);
        return;
    }
    if (tfd_timer_start(&ch->timer, ch->options.dial_timeout_us, &st) !=
        TFD_OK) {
        ch->ops->close(ch->link);
        ch->link = NULL;
        dial_failed(ch, &st);
    }
}

static void on_channel_closed(void *self, const struct tfd_status *why)
{
    struct tfd_channel *ch = self;

    ch->conn = NULL;
    if (ch->stopped)
        delete_when_done(ch);
    else
        dial_failed(ch, why);
}

/* Nothing is read before another handler is in place. */
static const struct tfd_conn_handler dial_handler = {
    .connected = on_connected,
    .closed = on_channel_closed,
};

static void dial(struct tfd_channel *ch)
{
    struct tfd_status st;

    tfd_status_clear(&st);
    ch->state = DIALING;
    ch->ops = ch->spoken == TFD_PROTO_GRPC ? &tfd_grpc_link : &tfd_native_link;
    if (tfd_conn_dial(ch->loop, ch->address, ch->options.dial_timeout_us,
                      &dial_handler, ch, &ch->conn, &st) != TFD_OK)
        dial_failed(ch, &st);
    else {
        tfd_conn_count(ch->conn, ch->options.traffic);
        if (ch->by_tcp)
            tfd_conn_by_tcp(ch->conn);
    }
}

static void on_timer(struct tfd_timer *t)
{
    struct tfd_channel *ch = TFD_CONTAINER_OF(t, struct tfd_channel, timer);
    struct tfd_status st;

    if (ch->state == WAITING) {
        dial(ch);
        return;
    }
    assert(ch->state == GREETING && ch->link);
    tfd_status_clear(&st);
    (void)tfd_fail(&st, TFD_UNAVAILABLE,
                   "%s accepted the connection, but was silent for %llu ms",
                   ch->address,
                   (unsigned long long)(ch->options.dial_timeout_us / 1000));
    ch->ops->close(ch->link);
    ch->link = NULL;
    dial_failed(ch, &st);
}

/* Somebody wants the connection. */
static void kick(struct tfd_channel *ch)
{
    uint64_t now = tfd_loop_now_us(ch->loop);

    if (ch->state != IDLE)
        return;
    if (now < ch->next_dial_us &&
        tfd_timer_start(&ch->timer, ch->next_dial_us - now, NULL) == TFD_OK)
        ch->state = WAITING;
    else
        dial(ch);
}

/* ---- The caller's side --------------------------------------------------- */

enum tfd_code tfd_channel_new(struct tfd_loop *l,
                              const struct tfd_channel_options *o,
                              struct tfd_channel **out, struct tfd_status *st)
{
    char host[TFD_ADDRESS_SIZE_MAX], port[TFD_PORT_TEXT_MAX];
    size_t size = strlen(o->address);
    struct tfd_channel *ch;

    if (size >= sizeof(ch->address))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "address of %zu bytes, at most %d", size,
                        TFD_ADDRESS_SIZE_MAX - 1);
    TFD_TRY(tfd_dial_split(o->address, host, port, st)); /* a typing error */
    ch = calloc(1, sizeof(*ch));
    if (!ch)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a channel");
    ch->loop = l;
    memcpy(ch->address, o->address, size);
    ch->options = *o;
    ch->options.address = ch->address;
    ch->spoken = o->protocol;
    ch->turn.run = run_turn;
    tfd_timer_init(&ch->timer, l, on_timer);
    *out = ch;
    return TFD_OK;
}

void tfd_channel_stop(struct tfd_channel *ch)
{
    struct tfd_status st;

    if (ch->stopped)
        return;
    ch->stopped = true;
    tfd_timer_stop(&ch->timer);
    if (ch->link)
        ch->ops->close(ch->link);
    ch->link = NULL;
    if (ch->conn)
        tfd_conn_close(ch->conn, 0);
    ch->state = IDLE;
    tfd_status_clear(&st);
    (void)tfd_fail(&st, TFD_CANCELLED, "the channel to %s was closed",
                   ch->address);
    fail_sent(ch, &st);
    fail_queued(ch, &st, true);
}

void tfd_channel_free(struct tfd_channel *ch)
{
    if (!ch)
        return;
    assert(!ch->dying);
    tfd_channel_stop(ch);
    ch->dying = true;
    schedule_turn(ch);
}

static void fail_stopped(struct tfd_outcall *c)
{
    struct tfd_status st;

    tfd_status_clear(&st);
    (void)tfd_fail(&st, TFD_CANCELLED, "the channel to %s was closed",
                   c->channel->address);
    end_later(c, &st);
}

struct tfd_outcall *tfd_channel_call(struct tfd_channel *ch,
                                     enum tfd_method_number method,
                                     struct tfd_message *take_request,
                                     const struct tfd_outcall_options *o,
                                     tfd_outcall_fn *done, void *ctx)
{
    struct tfd_outcall *c = tfd_outcall_take(&ch->pool);
    struct tfd_status st;

    assert(c); /* a few hundred bytes; the promise of done() needs them */
    tfd_status_clear(&st);
    c->channel = ch;
    tfd_timer_init(&c->timer, ch->loop, deadline);
    c->state = TFD_OUTCALL_QUEUED;
    c->method = method;
    c->request = *take_request;
    tfd_message_init(take_request, take_request->native);
    c->options = *o;
    c->done = done;
    c->ctx = ctx;
    if (o->timeout_us > 0 &&
        tfd_timer_start(&c->timer, o->timeout_us, &st) != TFD_OK) {
        end_later(c, &st);
    } else if (ch->stopped) {
        fail_stopped(c);
    } else if (ch->state == UP) {
        send_call(c);
    } else {
        tfd_outcall_append(&ch->queue, c);
        kick(ch);
    }
    return c;
}

/* Out of the queue, or of the link. */
static void detach(struct tfd_outcall *c)
{
    struct tfd_channel *ch = c->channel;

    if (c->state == TFD_OUTCALL_QUEUED)
        tfd_outcall_take_out(&ch->queue, c);
    else if (c->state == TFD_OUTCALL_SENT && ch->link)
        ch->ops->cancel(ch->link, c->id);
}

void tfd_channel_cancel(struct tfd_outcall *c)
{
    struct tfd_status st;

    assert(c->state != TFD_OUTCALL_FREE);
    if (c->state == TFD_OUTCALL_ENDING)
        return;
    tfd_status_clear(&st);
    (void)tfd_fail(&st, TFD_CANCELLED, "%s was cancelled",
                   tfd_service_path(c->method));
    detach(c);
    end_later(c, &st);
}

static void deadline(struct tfd_timer *t)
{
    struct tfd_outcall *c = TFD_CONTAINER_OF(t, struct tfd_outcall, timer);
    struct tfd_channel *ch = c->channel;
    struct tfd_status st;

    tfd_status_clear(&st);
    if (c->state == TFD_OUTCALL_QUEUED)
        (void)tfd_fail(&st, TFD_DEADLINE_EXCEEDED,
                       "Deadline Exceeded: no connection to %s: %s",
                       ch->address,
                       ch->trouble.text[0] ? ch->trouble.text : "no answer");
    else
        (void)tfd_fail(&st, TFD_DEADLINE_EXCEEDED, "Deadline Exceeded");
    detach(c);
    end_later(c, &st);
}

enum tfd_code tfd_channel_send(struct tfd_channel *ch,
                               enum tfd_method_number method,
                               struct tfd_message *take_request,
                               struct tfd_status *st)
{
    if (ch->state == UP && ch->spoken == TFD_PROTO_NATIVE)
        return ch->ops->call(ch->link, 0, method, take_request, 0, false, st);
    tfd_message_deinit(take_request);
    if (!ch->stopped)
        kick(ch);
    return tfd_fail(st, TFD_UNAVAILABLE, "no native connection to %s%s%s",
                    ch->address, ch->trouble.text[0] ? ": " : "",
                    ch->trouble.text);
}

enum tfd_protocol tfd_channel_protocol(const struct tfd_channel *ch)
{
    return ch->spoken;
}

bool tfd_channel_up(const struct tfd_channel *ch)
{
    return ch->state == UP;
}

const struct tfd_peer_info *tfd_channel_peer(const struct tfd_channel *ch)
{
    return &ch->peer;
}

const char *tfd_channel_address(const struct tfd_channel *ch)
{
    return ch->address;
}

const char *tfd_channel_trouble(const struct tfd_channel *ch)
{
    return ch->trouble.text;
}

size_t tfd_channel_queued(const struct tfd_channel *ch)
{
    return ch->link ? ch->ops->queued(ch->link) : 0;
}
