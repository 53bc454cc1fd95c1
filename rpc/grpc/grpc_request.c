/*
 * grpc_request.c - a gRPC request, from the first header to its handler: what
 * grpc_call.h calls begin, headers, data, end and closed.
 */
#include "rpc/grpc/grpc_call.h"

#include "common/base/container.h"
#include "config/limits.h"

#include <stdio.h>
#include <stdlib.h>

static bool inflate_turn(struct tfd_inflate_place *p);

static void *on_begin(void *ctx, int32_t id)
{
    struct tfd_grpc_server *v = ctx;
    struct tfd_grpc_call *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->id = id;
    s->server = v;
    s->call.service = v->service;
    s->call.peer = tfd_conn_peer(v->conn);
    s->origin = *tfd_conn_origin(v->conn);
    s->call.origin = &s->origin;
    s->call.link = v->link;
    s->call.answer = tfd_grpc_call_answer;
    s->call.send = tfd_grpc_call_send;
    s->call.start_us = tfd_loop_now_us(v->loop);
    tfd_timer_init(&s->deadline, v->loop, tfd_grpc_call_deadline);
    s->inflating.turn = inflate_turn;
    s->inflating.peer = s->origin.key;
    tfd_grpc_call_link(s, &v->streams);
    tfd_grpc_call_begin(s);
    return s;
}

static void take_path(struct tfd_grpc_call *s, struct tfd_str path)
{
    s->call.method = tfd_service_find(path);
    if (s->call.method == 0)
        snprintf(s->path, sizeof(s->path), "%.*s", (int)path.size, path.data);
}

static void take_timeout(struct tfd_grpc_call *s, struct tfd_str value)
{
    s->has_timeout = tfd_grpc_timeout_parse(value, &s->timeout_us);
    s->bad_timeout = !s->has_timeout;
}

static void take_encoding(struct tfd_grpc_call *s, struct tfd_str value)
{
    s->encoding = tfd_grpc_encoding_of(value);
    s->in.may_be_compressed = s->encoding != TFD_GRPC_IDENTITY;
}

static void on_header(void *ctx, void *stream, struct tfd_str name,
                      struct tfd_str value)
{
    struct tfd_grpc_call *s = stream;

    (void)ctx;
    if (s->got_headers)
        return; /* trailers of a request mean nothing */
    if (tfd_str_is(name, ":path"))
        take_path(s, value);
    else if (tfd_str_is(name, ":method"))
        s->is_post = tfd_str_is(value, "POST");
    else if (tfd_str_is(name, "content-type"))
        s->is_grpc = tfd_grpc_is_content_type(value);
    else if (tfd_str_is(name, "grpc-timeout"))
        take_timeout(s, value);
    else if (tfd_str_is(name, "grpc-encoding"))
        take_encoding(s, value);
}

static enum tfd_code check_head(const struct tfd_grpc_call *s, bool cut,
                                struct tfd_status *st)
{
    if (cut)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "the request has more than %d bytes of headers",
                        TFD_HEADER_LIST_SIZE_MAX);
    if (s->bad_timeout)
        return tfd_fail(st, TFD_INTERNAL, "grpc-timeout cannot be read");
    if (s->call.method == 0)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "%s is unimplemented: no method has this name",
                        s->path);
    if (s->encoding == TFD_GRPC_OTHER)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "grpc-encoding is none of those that are supported: "
                        "identity, deflate, gzip");
    return TFD_OK;
}

static void start_deadline(struct tfd_grpc_call *s)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (!s->has_timeout)
        return;
    s->call.deadline_us = s->call.start_us + s->timeout_us;
    if (tfd_timer_start(&s->deadline, s->timeout_us, &st) != TFD_OK)
        tfd_grpc_call_refuse(s, &st);
}

static void dispatch(struct tfd_grpc_call *s)
{
    s->handed = true;
    tfd_service_dispatch(s->server->service, &s->call);
}

/* Between its messages nothing is owed. */
static void begin_stream(struct tfd_grpc_call *s)
{
    s->in.may_be_compressed = false;
    tfd_grpc_call_settle(s);
    dispatch(s);
}

static void on_headers(void *ctx, void *stream, bool cut)
{
    struct tfd_grpc_call *s = stream;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)ctx;
    if (s->got_headers || s->replied)
        return;
    s->got_headers = true;
    if (!cut && !s->is_post)
        tfd_grpc_call_reply_http(s, "405");
    else if (!cut && !s->is_grpc)
        tfd_grpc_call_reply_http(s, "415");
    else if (check_head(s, cut, &st) != TFD_OK)
        tfd_grpc_call_refuse(s, &st);
    else
        start_deadline(s);
    if (!s->replied && tfd_service_streams(s->call.method))
        begin_stream(s);
}

/* The size comes first; of a large message others must know. */
static enum tfd_code read_prefix(struct tfd_grpc_call *s, const uint8_t **data,
                                 size_t *n, struct tfd_status *st)
{
    size_t missing = TFD_GRPC_PREFIX_SIZE - s->in.prefix_have;
    size_t part = *n < missing ? *n : missing;

    if (missing == 0)
        return TFD_OK;
    TFD_TRY(tfd_grpc_reader_feed(&s->in, *data, part, TFD_GRPC_MESSAGE_SIZE_MAX,
                                 st));
    *data += part;
    *n -= part;
    if (part < missing || s->in.size < TFD_ADMISSION_MIN)
        return TFD_OK;
    tfd_grpc_call_announce(s);
    return TFD_OK;
}

/* ---- Streams of requests ------------------------------------------------- */

static void hand_message(struct tfd_grpc_call *s)
{
    struct tfd_incoming message;

    tfd_grpc_call_settle(s);
    tfd_grpc_reader_take(&s->in, &message);
    if (s->call.received)
        s->call.received(s->call.ctx, &s->call, &message);
    else
        tfd_incoming_deinit(&message);
}

/* Bytes of the message that comes, and no more than those. */
static enum tfd_code read_part(struct tfd_grpc_call *s, const uint8_t **data,
                               size_t *n, struct tfd_status *st)
{
    size_t part;

    if (!s->incomplete)
        tfd_grpc_call_begin(s);
    TFD_TRY(read_prefix(s, data, n, st));
    if (s->in.prefix_have < TFD_GRPC_PREFIX_SIZE)
        return TFD_OK;
    part = s->in.size - s->in.have;
    part = *n < part ? *n : part;
    TFD_TRY(tfd_grpc_reader_feed(&s->in, *data, part, TFD_GRPC_MESSAGE_SIZE_MAX,
                                 st));
    tfd_grpc_call_came(s, part);
    *data += part;
    *n -= part;
    return TFD_OK;
}

static void stream_data(struct tfd_grpc_call *s, const uint8_t *data, size_t n)
{
    struct tfd_status st = TFD_STATUS_INIT;

    while (n > 0 && !s->replied) {
        if (read_part(s, &data, &n, &st) != TFD_OK) {
            tfd_grpc_call_settle(s);
            tfd_grpc_call_break(s, &st);
        } else if (tfd_grpc_reader_complete(&s->in)) {
            hand_message(s);
        }
    }
}

static void stream_end(struct tfd_grpc_call *s)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (s->incomplete) {
        tfd_fail(&st, TFD_INTERNAL,
                 "the stream ended within one of its messages");
        tfd_grpc_call_settle(s);
        tfd_grpc_call_break(s, &st);
    } else if (s->call.ended) {
        s->call.ended(s->call.ctx, &s->call);
    }
}

/* ---- The request's message ----------------------------------------------- */

static void on_data(void *ctx, void *stream, const uint8_t *data, size_t n)
{
    struct tfd_grpc_call *s = stream;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)ctx;
    if (s->replied)
        return;
    if (s->handed) {
        stream_data(s, data, n);
        return;
    }
    if (read_prefix(s, &data, &n, &st) != TFD_OK ||
        tfd_grpc_reader_feed(&s->in, data, n, TFD_GRPC_MESSAGE_SIZE_MAX, &st) !=
            TFD_OK)
        tfd_grpc_call_refuse(s, &st);
    else
        tfd_grpc_call_came(s, n);
}

/* ---- Compressed messages ------------------------------------------------- */

static void end_inflating(struct tfd_grpc_call *s)
{
    tfd_inflate_line_leave(&s->inflating);
    tfd_grpc_inflate_free(s->inflate);
    s->inflate = NULL;
}

/* What the message grows to is known slice by slice; between them the loop
 * does its other work.  True when there is more. */
static bool inflate_slice(struct tfd_grpc_call *s)
{
    struct tfd_status st = TFD_STATUS_INIT;
    bool done = false;

    if ((!s->inflate && tfd_grpc_inflate_new(s->encoding, &s->call.in,
                                             &s->inflate, &st) != TFD_OK) ||
        tfd_grpc_inflate_go_on(s->inflate, &done, &st) != TFD_OK) {
        end_inflating(s);
        tfd_grpc_call_refuse(s, &st);
        return false;
    }
    if (!done)
        return true;
    tfd_grpc_inflate_take(s->inflate, &s->call.in);
    end_inflating(s);
    dispatch(s);
    return false;
}

static bool inflate_turn(struct tfd_inflate_place *p)
{
    struct tfd_grpc_call *s =
        TFD_CONTAINER_OF(p, struct tfd_grpc_call, inflating);
    struct tfd_grpc_server *v = s->server;
    bool more;

    if (s->replied) { /* its deadline is over */
        end_inflating(s);
        return false;
    }
    v->inside = true;
    more = inflate_slice(s);
    v->inside = false;
    if (!more)
        tfd_grpc_server_go_on(v);
    return more;
}

static void begin_inflating(struct tfd_grpc_call *s)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (tfd_inflate_line_join(tfd_service_inflate_line(s->server->service),
                              &s->inflating, &st) != TFD_OK)
        tfd_grpc_call_refuse(s, &st);
}

static void on_end(void *ctx, void *stream)
{
    struct tfd_grpc_call *s = stream;
    struct tfd_status st = TFD_STATUS_INIT;
    bool compressed = tfd_grpc_reader_compressed(&s->in);

    (void)ctx;
    if (s->replied)
        return;
    if (s->handed) {
        stream_end(s);
        return;
    }
    if (!tfd_grpc_reader_complete(&s->in)) {
        tfd_fail(&st, TFD_INTERNAL,
                 "the request ended after %u of %u bytes of its message",
                 s->in.have, s->in.size);
        tfd_grpc_call_refuse(s, &st);
        return;
    }
    tfd_grpc_call_settle(s);
    tfd_grpc_reader_take(&s->in, &s->call.in);
    if (compressed)
        begin_inflating(s);
    else
        dispatch(s);
}

static void on_request_closed(void *ctx, void *stream, uint32_t error)
{
    (void)ctx;
    (void)error;
    tfd_grpc_call_detach(stream);
    tfd_grpc_call_let_go(stream);
}

static void on_write(void *ctx, const uint8_t *data, size_t n)
{
    struct tfd_grpc_server *v = ctx;

    tfd_conn_write(v->conn, data, n);
}

static bool is_full(void *ctx)
{
    struct tfd_grpc_server *v = ctx;

    return tfd_conn_queued(v->conn) >= TFD_CONN_HIGH;
}

const struct tfd_h2_events tfd_grpc_events = {
    .write = on_write,
    .full = is_full,
    .begin = on_begin,
    .header = on_header,
    .headers = on_headers,
    .data = on_data,
    .end = on_end,
    .closed = on_request_closed,
};
