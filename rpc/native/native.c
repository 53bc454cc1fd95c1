/*
 * native.c - the serving side of the native protocol.
 *
 * Two things stop us from reading a connection: requests that no handler has
 * answered yet, and answers that the caller does not read.  A frame that breaks
 * the protocol is answered with an ERROR that says so, then the connection is
 * closed: what follows has no frame boundaries any more.
 */
#include "common/base/container.h"
#include "common/base/log.h"
#include "config/limits.h"
#include "rpc/core/link.h"
#include "rpc/native/native_call.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define GRACE_US (1000 * 1000) /* for the last ERROR */

/* ---- Frames -------------------------------------------------------------- */

/* So much more of a request is announced.  Without room for what comes next of
 * it, that stays where it is: nothing more is read. */
static void announce(struct tfd_native *n, struct tfd_native_call *c,
                     uint64_t size)
{
    c->owed += size;
    if (!tfd_admission_announce(tfd_service_admission(n->service), &n->ticket,
                                size))
        n->held = true;
}

static void came(struct tfd_native *n, struct tfd_native_call *c, uint64_t seen)
{
    uint64_t more = seen - c->seen;

    c->seen = seen;
    if (more > c->owed) { /* or all of a request too small to announce */
        c->small += more - c->owed;
        n->ticket.small_size += more - c->owed;
        n->ticket.small_came += more - c->owed;
        more = c->owed;
    }
    if (more == 0)
        return;
    c->owed -= more;
    c->come += more;
    if (!tfd_admission_came(tfd_service_admission(n->service), &n->ticket,
                            more))
        n->held = true;
}

/* What has come of the frame that is being read. */
static enum tfd_code look_at_body(struct tfd_native *n, struct tfd_status *st)
{
    uint32_t have;
    const struct tfd_frame_header *h =
        tfd_frame_reader_body(&n->reader.frames, &have);
    struct tfd_native_call *c;

    if (!h || h->kind != TFD_FRAME_REQUEST || have == 0)
        return TFD_OK;
    c = tfd_native_call_of(n, h->call);
    assert(c && !c->dispatched);
    TFD_TRY(tfd_native_in_came(&c->in, have, st));
    came(n, c, c->in.done + c->in.have + have);
    return TFD_OK;
}

static enum tfd_code begin_request(struct tfd_native *n,
                                   const struct tfd_frame_header *h,
                                   uint8_t **body, struct tfd_status *st)
{
    enum tfd_code rc;
    struct tfd_native_call *c = tfd_native_call_of(n, h->call);

    if (!c)
        TFD_TRY(tfd_native_call_new(n, h, &c, st));
    if (c->dispatched)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "call %u is open, its number cannot be used", h->call);
    rc = tfd_native_in_begin(&c->in, h, body, st);
    if (rc == TFD_OK && c->in.done == 0 && h->length >= TFD_ADMISSION_MIN)
        announce(n, c, h->length);
    return rc;
}

static void hello(struct tfd_native *n, struct tfd_native_call *c)
{
    struct tfd_status st;
    struct tfd_message m;
    struct tfd_peer_info peer;

    tfd_status_clear(&st);
    if (tfd_peer_info_decode(c->call.in.proto, &peer, &st) != TFD_OK) {
        tfd_native_call_answer(&c->call, &st, NULL);
        return;
    }
    if (n->conn)
        tfd_conn_count(
            n->conn, tfd_service_traffic_of(n->service, tfd_str_of(peer.task)));
    tfd_message_init(&m, true);
    tfd_peer_info_encode(&m.proto, n->self);
    tfd_native_call_answer(&c->call, NULL, &m);
    tfd_message_deinit(&m);
}

static void dispatch(struct tfd_native *n, struct tfd_native_call *c)
{
    struct tfd_status st;

    c->call.in = c->in.message;
    c->in.message = (struct tfd_incoming){0};
    tfd_native_call_settle(n, c);
    n->called_us = tfd_loop_now_us(n->reader.loop);
    n->held = n->ticket.waiting;
    n->assembling -= c->size;
    n->unanswered += c->size;
    c->dispatched = true;
    if (c->number == 0)
        n->calls[0] = NULL; /* the next one-way message may begin */
    if (c->call.method == TFD_METHOD_Hello) {
        hello(n, c);
    } else if (c->call.method > 0 && c->call.method < TFD_METHOD_END) {
        tfd_service_dispatch(n->service, &c->call);
    } else {
        tfd_status_clear(&st);
        (void)tfd_fail(&st, TFD_UNIMPLEMENTED, "no method has the number %d",
                       (int)c->call.method);
        tfd_native_call_answer(&c->call, &st, NULL);
    }
}

/* The first frame has said how large the rest of the request is. */
static void announce_rest(struct tfd_native *n, struct tfd_native_call *c)
{
    uint64_t size = c->in.total - c->in.done;

    if (c->in.at == 0 && c->in.have == 0 && size >= TFD_ADMISSION_MIN)
        announce(n, c, size);
}

static enum tfd_code end_request(struct tfd_native *n,
                                 const struct tfd_frame_header *h,
                                 struct tfd_status *st)
{
    struct tfd_native_call *c = tfd_native_call_of(n, h->call);
    bool complete;

    assert(c && !c->dispatched);
    TFD_TRY(tfd_native_in_end(&c->in, h, &complete, st));
    came(n, c, c->in.done + c->in.have);
    n->assembling += c->in.total - c->size;
    c->size = c->in.total;
    if (n->assembling > (uint64_t)TFD_NATIVE_MESSAGE_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "incomplete requests of %llu bytes, at most %lld",
                        (unsigned long long)n->assembling,
                        (long long)TFD_NATIVE_MESSAGE_SIZE_MAX);
    if (complete)
        dispatch(n, c);
    else
        announce_rest(n, c);
    return TFD_OK;
}

static void end_cancel(struct tfd_native *n, uint32_t number)
{
    struct tfd_native_call *c = number ? tfd_native_call_of(n, number) : NULL;
    struct tfd_status st;

    if (!c)
        return; /* our answer and this crossed */
    if (c->dispatched) {
        tfd_native_call_cancel(c);
        return;
    }
    tfd_status_clear(&st);
    (void)tfd_fail(&st, TFD_CANCELLED, "cancelled by the caller");
    tfd_native_call_answer(&c->call, &st, NULL);
}

static enum tfd_code begin_frame(void *ctx, const struct tfd_frame_header *h,
                                 uint8_t **body, struct tfd_status *st)
{
    struct tfd_native *n = ctx;

    if (n->ending)
        return TFD_CANCELLED;
    n->reader.payload_comes = false;
    n->current = h->call;
    if (h->kind == TFD_FRAME_REQUEST)
        return begin_request(n, h, body, st);
    if (h->kind != TFD_FRAME_CANCEL && h->kind != TFD_FRAME_PING &&
        h->kind != TFD_FRAME_PONG)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a caller cannot send frames of kind %d", h->kind);
    *body = n->small;
    return TFD_OK;
}

/* Of the first frame, of a payload or of all; asked before it is handled. */
static bool ends_part(const struct tfd_native *n,
                      const struct tfd_frame_header *h)
{
    const struct tfd_native_call *c =
        h->kind == TFD_FRAME_REQUEST ? tfd_native_call_of(n, h->call) : NULL;

    return !c || c->in.done == 0 ||
           c->in.have + h->length == c->in.sizes[c->in.at];
}

static enum tfd_code end_frame(void *ctx, const struct tfd_frame_header *h,
                               struct tfd_status *st)
{
    struct tfd_native *n = ctx;

    n->reader.payload_comes = h->flags & TFD_FRAME_MORE;
    n->out.summed |= n->reader.frames.summed;
    TFD_TRY(tfd_native_guard_frame(&n->guard, h, ends_part(n, h), n->open,
                                   n->reader.loop, st));
    if (h->kind == TFD_FRAME_REQUEST)
        TFD_TRY(end_request(n, h, st));
    if (h->kind == TFD_FRAME_CANCEL)
        end_cancel(n, h->call);
    if (h->kind == TFD_FRAME_PING)
        tfd_native_out_small(&n->out, TFD_FRAME_PONG, h->call, n->small,
                             h->length);
    n->current = 0;
    tfd_timer_stop(&n->handshake);
    tfd_native_update_reading(n);
    return TFD_OK;
}

static const struct tfd_frame_sink sink = {begin_frame, end_frame};

/* ---- Connection ---------------------------------------------------------- */

static size_t on_space(void *self, uint8_t **at)
{
    struct tfd_native *n = self;
    size_t room = tfd_native_reader_space(&n->reader, at);

    if (!n->reader.scratch && n->ticket.reserved > 0 &&
        room > n->ticket.reserved)
        room = n->ticket.reserved; /* the rest when there is memory for it */
    return room;
}

/* Asks for a sign of life, and gives one where the caller's own questions are
 * not read. */
static void ask_for_pong(struct tfd_heartbeat *h)
{
    struct tfd_native *n = TFD_CONTAINER_OF(h, struct tfd_native, heartbeat);

    if (!n->ending)
        tfd_native_out_ping(&n->out);
}

/* Four bytes that look like ours, and then too little. */
static void handshake_over(struct tfd_timer *t)
{
    struct tfd_native *n = TFD_CONTAINER_OF(t, struct tfd_native, handshake);

    tfd_conn_close(n->conn, 0);
}

/* Says why, then closes. */
static void refuse_native(struct tfd_native *n, const struct tfd_status *st)
{
    n->ending = true;
    tfd_native_reader_told(&n->reader, n->peer);
    tfd_native_out_error(&n->out, n->current, st);
    tfd_conn_close(n->conn, GRACE_US);
}

/* Frame by frame; what follows one whose request has to wait is kept. */
static enum tfd_code feed(struct tfd_native *n, const uint8_t *data,
                          size_t size, struct tfd_status *st)
{
    while (size > 0 && !n->held) {
        uint8_t *at;
        size_t take = tfd_frame_reader_space(&n->reader.frames, &at);

        if (take > size)
            take = size;
        if (take > 0)
            memcpy(at, data, take);
        TFD_TRY(tfd_frame_reader_commit(&n->reader.frames, take, st));
        data += take;
        size -= take;
    }
    if (size == 0)
        return TFD_OK;
    tfd_bytes_add(&n->unread, data, size);
    return tfd_bytes_ok(&n->unread, "what was read of requests", st);
}

/* After a read: what is incomplete now. */
static void count_small(struct tfd_native *n)
{
    if (n->conn &&
        !tfd_admission_small(tfd_service_admission(n->service), &n->ticket))
        n->held = true;
    tfd_native_update_reading(n);
}

static void commit(struct tfd_native *n, const uint8_t *data, size_t size)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if ((feed(n, data, size, &st) != TFD_OK ||
         look_at_body(n, &st) != TFD_OK) &&
        !n->ending)
        refuse_native(n, &st);
    count_small(n);
}

static enum tfd_code on_commit(void *self, size_t size, struct tfd_status *st)
{
    struct tfd_native *n = self;

    tfd_heartbeat_heard(&n->heartbeat);
    if (n->reader.scratch)
        commit(n, tfd_loop_scratch(n->reader.loop), size);
    else if ((tfd_native_reader_commit(&n->reader, size, st) != TFD_OK ||
              look_at_body(n, st) != TFD_OK) &&
             !n->ending)
        refuse_native(n, st);
    else
        count_small(n);
    return TFD_OK;
}

/* There is memory for what waited. */
static void on_admitted(struct tfd_admission_ticket *t)
{
    struct tfd_native *n = TFD_CONTAINER_OF(t, struct tfd_native, ticket);
    struct tfd_bytes unread = n->unread;

    assert(n->conn);
    n->held = false;
    tfd_bytes_init(&n->unread, TFD_LOOP_SCRATCH_SIZE);
    commit(n, (const uint8_t *)unread.data, unread.size);
    tfd_bytes_deinit(&unread);
}

static void on_late(struct tfd_admission_ticket *t)
{
    struct tfd_native *n = TFD_CONTAINER_OF(t, struct tfd_native, ticket);
    struct tfd_status st = TFD_STATUS_INIT;

    if (n->ending)
        return;
    (void)tfd_fail(&st, TFD_DEADLINE_EXCEEDED,
                   "%u requests are incomplete and the rest does not come: "
                   "less than %llu bytes within %d s, %llu announced",
                   t->incomplete, (unsigned long long)TFD_DELIVERY_SIZE_MIN,
                   TFD_DELIVERY_MS / 1000, (unsigned long long)t->owed);
    tfd_log(TFD_LOG_WARN, "connection_closed", "peer=%s why=\"%s\"", n->peer,
            st.text);
    refuse_native(n, &st);
}

static void on_drained(void *self)
{
    struct tfd_native *n = self;

    tfd_native_out_pump(&n->out);
    tfd_native_update_reading(n);
}

/* Peers answer PINGs for ever, and push without a session: so what counts is
 * when they last said anything, and whether they still read an answer. */
static enum tfd_conn_use native_use(void *self)
{
    struct tfd_native *n = self;
    uint64_t silent = tfd_loop_now_us(n->reader.loop) - n->called_us;

    if (n->open > 0 || tfd_native_out_size(&n->out) > 0 ||
        silent < TFD_CONNECTION_KEPT_MS * UINT64_C(1000) ||
        tfd_links_held(tfd_service_links(n->service), n->link))
        return TFD_CONN_BUSY;
    return TFD_CONN_IDLE;
}

static void on_native_closed(void *self, const struct tfd_status *why)
{
    struct tfd_native *n = self;

    (void)why; /* who waits for an answer is not here to read it */
    tfd_heartbeat_stop(&n->heartbeat);
    tfd_timer_stop(&n->handshake);
    tfd_links_remove(tfd_service_links(n->service), n->link);
    tfd_admission_leave(tfd_service_admission(n->service), &n->ticket);
    tfd_bytes_deinit(&n->unread);
    n->held = false;
    tfd_native_out_deinit(&n->out);
    n->conn = NULL;
    n->open++; /* holds n until all calls were told */
    for (uint32_t i = 0; i < n->calls_capacity; i++) {
        struct tfd_native_call *c = n->calls[i];

        if (!c)
            continue;
        if (c->dispatched)
            tfd_native_call_cancel(c);
        else
            tfd_native_call_free(c);
    }
    n->open--;
    tfd_native_free_when_done(n);
}

static const struct tfd_conn_handler handler = {
    .space = on_space,
    .commit = on_commit,
    .drained = on_drained,
    .use = native_use,
    .closed = on_native_closed,
};

enum tfd_code tfd_native_serve(struct tfd_service *s, struct tfd_conn *c,
                               const struct tfd_peer_info *self,
                               struct tfd_str prefix, struct tfd_status *st)
{
    struct tfd_native *n = calloc(1, sizeof(*n));

    if (!n)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a connection");
    n->service = s;
    n->self = self;
    n->conn = c;
    n->reader.loop = tfd_conn_loop(c);
    strncpy(n->peer, tfd_conn_peer(c), sizeof(n->peer) - 1);
    n->origin = *tfd_conn_origin(c);
    tfd_timer_init(&n->handshake, n->reader.loop, handshake_over);
    /* Without memory for a timer there is one limit less. */
    (void)!tfd_timer_start(&n->handshake, TFD_HANDSHAKE_MS * UINT64_C(1000),
                           NULL);
    n->ticket.admitted = on_admitted;
    n->ticket.late = on_late;
    tfd_bytes_init(&n->unread, TFD_LOOP_SCRATCH_SIZE);
    tfd_frame_reader_init(&n->reader.frames, &sink, n, TFD_NATIVE_BODY_MAX);
    tfd_native_out_init(&n->out, c);
    n->out.summed = tfd_conn_leaves_host(c);
    tfd_conn_handle(c, &handler, n);
    tfd_conn_known(c);
    if (tfd_service_heartbeat(s)->interval_us > 0)
        tfd_conn_patient(c);
    n->link = tfd_links_add(tfd_service_links(s));
    tfd_heartbeat_start(&n->heartbeat, c, tfd_service_heartbeat(s),
                        ask_for_pong);
    TFD_TRY(tfd_frame_reader_feed(
        &n->reader.frames, (const uint8_t *)prefix.data, prefix.size, st));
    return TFD_OK;
}
