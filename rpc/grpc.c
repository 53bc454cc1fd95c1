/*
 * grpc.c - serves gRPC on an accepted connection (declared in link.h).
 *
 * One struct server per connection, one struct stream per call.  A stream has
 * two lives that end independently: the HTTP/2 stream (until closed()) and the
 * call (until its handler answers).  It is freed when both are over:
 *
 *     begin --> headers --> data ... --> end --> dispatch --> answer
 *        \         \           \                    |           |
 *         \         +-----------+--> refuse         |  deadline, reset, end of
 *          \                           |            |  the connection:
 * cancelled
 *           +--> closed <--------------+------------+-----------+
 *
 * After a deadline the peer is answered at once, and what the handler says
 * later is dropped.
 */
#include "rpc/link.h"

#include "config/limits.h"
#include "rpc/grpc_body.h"
#include "rpc/grpc_stream.h"
#include "rpc/h2.h"
#include "rpc/percent.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For the last frames of a connection that ends, GOAWAY above all. */
#define CLOSE_GRACE_US 1000000

#define PATH_ROOM 128 /* of an unknown method, to name it */

struct stream {
    struct tfd_call call;  /* first: answer() gets a pointer to it */
    struct server *server; /* NULL once the HTTP/2 stream is closed */
    struct stream *next;
    struct stream **link; /* the pointer to this one */
    int32_t id;
    bool got_headers;
    bool is_post;
    bool is_grpc;
    bool has_timeout;
    bool bad_timeout;
    bool handed;   /* to a handler */
    bool answered; /* by it */
    bool replied;  /* the peer has its response, or never will */
    uint64_t timeout_us;
    uint64_t wanted;   /* the size of a message that was not asked for yet */
    uint64_t reserved; /* of one that was */
    char path[PATH_ROOM];
    struct tfd_timer deadline;
    struct tfd_grpc_reader in;
    struct tfd_grpc_writer out;
    struct tfd_grpc_stream *stream; /* NULL: one message answers */
};

struct server {
    struct tfd_service *service;
    struct tfd_conn *conn;
    struct tfd_loop *loop;
    struct tfd_h2 *h2;
    struct stream *streams;
    uint8_t *read_at;
    struct tfd_buffer *read_into; /* not counted; NULL: the loop's scratch */
    struct tfd_timer patience;    /* runs while the peer owes us something */
    bool patience_on;
    struct tfd_timer idle; /* runs always, looks whether anything came */
    bool received;         /* since it last looked */
    uint64_t link;
    struct tfd_intake_ticket ticket;
    struct stream *waits; /* for memory; the connection is not read */
    bool inside; /* the session or a handler is running: do not enter it */
    bool closing;
};

/* ---- A call's end ---------------------------------------------------------
 */

static void unlink_stream(struct stream *s)
{
    if (!s->link)
        return;
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    s->link = NULL;
}

static void link_stream(struct stream *s, struct stream **list)
{
    s->next = *list;
    s->link = list;
    if (s->next)
        s->next->link = &s->next;
    *list = s;
}

/* What was reserved lies in the message now, or will never. */
static void took(struct stream *s)
{
    tfd_intake_took(tfd_service_intake(s->call.service), s->reserved);
    s->reserved = 0;
}

static void free_stream(struct stream *s)
{
    assert(!s->server && (!s->handed || s->answered));
    unlink_stream(s);
    took(s);
    tfd_incoming_deinit(&s->call.in);
    tfd_grpc_reader_deinit(&s->in);
    tfd_grpc_writer_deinit(&s->out);
    if (s->stream)
        tfd_grpc_stream_deinit(s->stream);
    free(s->stream);
    free(s);
}

/* Tells the handler, which may answer this and other calls from inside. */
static void cancel_call(struct stream *s)
{
    if (!s->handed || s->answered || s->call.is_cancelled)
        return;
    s->call.is_cancelled = true;
    if (s->call.cancelled)
        s->call.cancelled(s->call.ctx, &s->call);
}

static void stop_waiting(struct stream *s);

/* The HTTP/2 stream is over; the call may outlive it. */
static void detach(struct stream *s)
{
    tfd_timer_stop(&s->deadline);
    stop_waiting(s);
    s->server = NULL;
    s->replied = true;
    s->call.peer = "(disconnected)";
}

/* What a detached stream still has to do. */
static void let_go(struct stream *s)
{
    unlink_stream(s);
    if (!s->handed || s->answered)
        free_stream(s);
    else
        cancel_call(s);
}

/* ---- Responses ------------------------------------------------------------
 */

#define HEADER(name, value)                                         \
    {                                                               \
        {name, sizeof(name) - 1}, {value, sizeof(value) - 1}, false \
    }

static const struct tfd_h2_header ok_headers[] = {
    HEADER(":status", "200"),
    HEADER("content-type", "application/grpc"),
    HEADER("grpc-accept-encoding", "identity"),
};

static const struct tfd_h2_header ok_trailers[] = {
    HEADER("grpc-status", "0"),
};

static void reply(struct stream *s, const struct tfd_h2_header *headers,
                  size_t count, struct tfd_h2_source *source)
{
    s->replied = true;
    tfd_timer_stop(&s->deadline);
    if (tfd_h2_respond(s->server->h2, s->id, headers, count, source, NULL) !=
        TFD_OK)
        tfd_h2_reset(s->server->h2, s->id, TFD_H2_INTERNAL_ERROR);
}

/* Trailers-Only. */
static void reply_failure(struct stream *s, const struct tfd_status *st)
{
    char number[8];
    char text[3 * TFD_STATUS_TEXT_MAX + 1];
    int digits = snprintf(number, sizeof(number), "%d", (int)st->code);
    size_t size = tfd_percent_encode(tfd_str_of(st->text), text, sizeof(text));
    const struct tfd_h2_header headers[] = {
        ok_headers[0],
        ok_headers[1],
        {TFD_STR("grpc-status"), {number, (size_t)digits}, false},
        {TFD_STR("grpc-message"), {text, size}, true},
    };

    assert(st->code != TFD_OK);
    reply(s, headers, sizeof(headers) / sizeof(headers[0]), NULL);
}

/* Not gRPC at all: answered in HTTP's terms. */
static void reply_http(struct stream *s, const char *status)
{
    const struct tfd_h2_header header = {TFD_STR(":status"), tfd_str_of(status),
                                         false};

    reply(s, &header, 1, NULL);
}

static void reply_message(struct stream *s, struct tfd_message *take_response)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (tfd_grpc_writer_init(&s->out, s->server->conn, take_response, &st) !=
        TFD_OK) {
        reply_failure(s, &st);
        return;
    }
    s->out.source.trailers = ok_trailers;
    s->out.source.trailer_count = 1;
    reply(s, ok_headers, sizeof(ok_headers) / sizeof(ok_headers[0]),
          &s->out.source);
}

/* After the messages of a stream. */
static void reply_end(struct stream *s, enum tfd_code code)
{
    s->replied = true;
    tfd_timer_stop(&s->deadline);
    tfd_grpc_stream_end(s->stream, code);
    tfd_h2_resume(s->server->h2, s->id);
}

/* The request is not going to reach a handler. */
static void refuse(struct stream *s, const struct tfd_status *st)
{
    assert(!s->handed);
    if (!s->replied)
        reply_failure(s, st);
    stop_waiting(s);
    took(s);
    tfd_grpc_reader_deinit(&s->in);
}

static void go_on(struct server *v);

/* ---- Memory for requests --------------------------------------------------
 */

static void expect(struct stream *s, uint64_t size)
{
    s->reserved = size;
    s->in.held = false;
    tfd_h2_expect(s->server->h2, s->id, size);
}

/* Asks for every message that has been announced, one after the other; the
 * connection is read while none waits. */
static void ask_for_memory(struct server *v)
{
    for (struct stream *s = v->streams; s && !v->waits; s = s->next) {
        uint64_t size = s->wanted;

        if (size == 0)
            continue;
        s->wanted = 0;
        if (tfd_intake_ask(tfd_service_intake(v->service), &v->ticket, size))
            expect(s, size);
        else
            v->waits = s;
    }
    if (v->waits)
        tfd_conn_pause(v->conn);
    else
        tfd_conn_resume(v->conn);
}

static void on_admitted(struct tfd_intake_ticket *t)
{
    struct server *v =
        (struct server *)((char *)t - offsetof(struct server, ticket));
    struct stream *s = v->waits;

    assert(s);
    v->waits = NULL;
    expect(s, t->size);
    ask_for_memory(v);
    go_on(v);
}

static void stop_waiting(struct stream *s)
{
    struct server *v = s->server;

    s->wanted = 0;
    if (!v || v->waits != s)
        return;
    v->waits = NULL;
    tfd_intake_leave(tfd_service_intake(v->service), &v->ticket);
    if (!v->closing)
        ask_for_memory(v);
}

/* ---- The connection -------------------------------------------------------
 */

static void close_server(struct server *v)
{
    if (v->closing)
        return;
    v->closing = true;
    tfd_conn_close(v->conn, CLOSE_GRACE_US); /* v may be gone now */
}

/* After anything that may have given us something to send or to wait for. */
static void go_on(struct server *v)
{
    bool owed;

    if (v->closing || v->inside)
        return;
    v->inside = true;
    tfd_h2_pump(v->h2);
    v->inside = false;
    owed = tfd_h2_owed(v->h2);
    if (!owed)
        tfd_timer_stop(&v->patience);
    /* Without memory for a timer there is one limit less. */
    if (owed && !v->patience_on)
        (void)!tfd_timer_start(&v->patience, TFD_HANDSHAKE_MS * 1000u, NULL);
    v->patience_on = owed;
    if (tfd_h2_done(v->h2))
        close_server(v);
}

static void patience_over(struct tfd_timer *t)
{
    struct server *v =
        (struct server *)((char *)t - offsetof(struct server, patience));

    v->patience_on = false;
    tfd_h2_terminate(v->h2, TFD_H2_ENHANCE_YOUR_CALM);
    go_on(v);
}

/* Without memory for a timer there is one limit less. */
static void start_idle(struct server *v)
{
    v->received = false;
    (void)!tfd_timer_start(&v->idle, TFD_CONNECTION_IDLE_MS * UINT64_C(1000),
                           NULL);
}

/* A call in the hands of its handler may be silent for ever, and a client with
 * a session may think for long; who has neither can dial again. */
static void idle_over(struct tfd_timer *t)
{
    struct server *v =
        (struct server *)((char *)t - offsetof(struct server, idle));
    bool busy =
        v->received || tfd_links_held(tfd_service_links(v->service), v->link);

    for (struct stream *s = v->streams; s && !busy; s = s->next)
        busy = s->handed;
    start_idle(v);
    if (busy)
        return;
    tfd_h2_terminate(v->h2, TFD_H2_NO_ERROR);
    go_on(v);
}

/* struct tfd_call.answer */
static void answer(struct tfd_call *call, const struct tfd_status *st,
                   struct tfd_message *take_response)
{
    struct stream *s = (struct stream *)call;
    struct server *v = s->server;

    assert(s->handed && !s->answered);
    s->answered = true;
    tfd_incoming_deinit(&call->in);
    if (!s->replied && s->stream)
        reply_end(s, st ? st->code : TFD_OK);
    else if (!s->replied && st && st->code != TFD_OK)
        reply_failure(s, st);
    else if (!s->replied)
        reply_message(s, take_response);
    if (take_response)
        tfd_message_deinit(take_response);
    if (v)
        go_on(v);
    else
        free_stream(s);
}

static enum tfd_code open_stream(struct stream *s, struct tfd_status *st)
{
    s->stream = calloc(1, sizeof(*s->stream));
    if (!s->stream)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a stream");
    tfd_grpc_stream_init(s->stream, s->server->conn);
    return tfd_h2_respond(s->server->h2, s->id, ok_headers,
                          sizeof(ok_headers) / sizeof(ok_headers[0]),
                          &s->stream->source, st);
}

/* struct tfd_call.send */
static enum tfd_code send_one(struct tfd_call *call,
                              const struct tfd_message *m,
                              struct tfd_status *st)
{
    struct stream *s = (struct stream *)call;

    if (s->replied)
        return TFD_OK; /* or never will have */
    if (!s->stream)
        TFD_TRY(open_stream(s, st));
    TFD_TRY(tfd_grpc_stream_add(s->stream, m, st));
    tfd_h2_resume(s->server->h2, s->id);
    go_on(s->server);
    return TFD_OK;
}

static void deadline_over(struct tfd_timer *t)
{
    struct stream *s =
        (struct stream *)((char *)t - offsetof(struct stream, deadline));
    struct server *v = s->server;
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, TFD_DEADLINE_EXCEEDED, "Deadline Exceeded");
    if (s->stream) /* first: a cancelled handler has other reasons */
        reply_end(s, st.code);
    else
        reply_failure(s, &st);
    v->inside = true; /* so that an answer does not free the stream */
    cancel_call(s);
    v->inside = false;
    go_on(v);
}

/* ---- A request ------------------------------------------------------------
 */

static void *on_begin(void *ctx, int32_t id)
{
    struct server *v = ctx;
    struct stream *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->id = id;
    s->server = v;
    s->call.service = v->service;
    s->call.peer = tfd_conn_peer(v->conn);
    s->call.link = v->link;
    s->call.answer = answer;
    s->call.send = send_one;
    s->call.start_us = tfd_loop_now_us(v->loop);
    tfd_timer_init(&s->deadline, v->loop, deadline_over);
    link_stream(s, &v->streams);
    return s;
}

static void take_path(struct stream *s, struct tfd_str path)
{
    s->call.method = tfd_service_find(path);
    if (s->call.method == 0)
        snprintf(s->path, sizeof(s->path), "%.*s", (int)path.size, path.data);
}

static void take_timeout(struct stream *s, struct tfd_str value)
{
    s->has_timeout = tfd_grpc_timeout_parse(value, &s->timeout_us);
    s->bad_timeout = !s->has_timeout;
}

static void on_header(void *ctx, void *stream, struct tfd_str name,
                      struct tfd_str value)
{
    struct stream *s = stream;

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
}

static enum tfd_code check_head(const struct stream *s, bool cut,
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
    return TFD_OK;
}

static void start_deadline(struct stream *s)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (!s->has_timeout)
        return;
    s->call.deadline_us = s->call.start_us + s->timeout_us;
    if (tfd_timer_start(&s->deadline, s->timeout_us, &st) != TFD_OK)
        refuse(s, &st);
}

static void on_headers(void *ctx, void *stream, bool cut)
{
    struct stream *s = stream;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)ctx;
    if (s->got_headers || s->replied)
        return;
    s->got_headers = true;
    if (!cut && !s->is_post)
        reply_http(s, "405");
    else if (!cut && !s->is_grpc)
        reply_http(s, "415");
    else if (check_head(s, cut, &st) != TFD_OK)
        refuse(s, &st);
    else
        start_deadline(s);
}

/* The size comes first; memory for a large message must be asked for. */
static enum tfd_code read_prefix(struct stream *s, const uint8_t **data,
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
    if (part < missing || s->in.size < TFD_INTAKE_MIN)
        return TFD_OK;
    s->wanted = (uint64_t)s->in.size + TFD_GRPC_PREFIX_SIZE;
    s->in.held = true;
    if (!s->server->waits)
        ask_for_memory(s->server);
    return TFD_OK;
}

static void on_data(void *ctx, void *stream, const uint8_t *data, size_t n)
{
    struct stream *s = stream;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)ctx;
    if (s->replied)
        return;
    if (read_prefix(s, &data, &n, &st) != TFD_OK ||
        tfd_grpc_reader_feed(&s->in, data, n, TFD_GRPC_MESSAGE_SIZE_MAX, &st) !=
            TFD_OK)
        refuse(s, &st);
    if (s->in.capacity == s->in.size && s->in.body)
        took(s);
}

static void on_end(void *ctx, void *stream)
{
    struct server *v = ctx;
    struct stream *s = stream;
    struct tfd_status st = TFD_STATUS_INIT;

    if (s->replied)
        return;
    if (!tfd_grpc_reader_complete(&s->in)) {
        tfd_fail(&st, TFD_INTERNAL,
                 "the request ended after %u of %u bytes of its message",
                 s->in.have, s->in.size);
        refuse(s, &st);
        return;
    }
    tfd_grpc_reader_take(&s->in, &s->call.in);
    stop_waiting(s);
    took(s);
    s->handed = true;
    tfd_service_dispatch(v->service, &s->call);
}

static void on_closed(void *ctx, void *stream, uint32_t error)
{
    (void)ctx;
    (void)error;
    detach(stream);
    let_go(stream);
}

static void on_write(void *ctx, const uint8_t *data, size_t n)
{
    struct server *v = ctx;

    tfd_conn_write(v->conn, data, n);
}

static bool is_full(void *ctx)
{
    struct server *v = ctx;

    return tfd_conn_queued(v->conn) >= TFD_CONN_HIGH;
}

static const struct tfd_h2_events events = {
    .write = on_write,
    .full = is_full,
    .begin = on_begin,
    .header = on_header,
    .headers = on_headers,
    .data = on_data,
    .end = on_end,
    .closed = on_closed,
};

/* ---- Bytes ----------------------------------------------------------------
 */

static size_t conn_space(void *self, uint8_t **at)
{
    struct server *v = self;
    void *stream;
    size_t left = tfd_h2_data_left(v->h2, &stream);
    struct tfd_grpc_reader *in = left ? &((struct stream *)stream)->in : NULL;
    size_t room = in ? tfd_grpc_reader_room(in, left, &v->read_at) : 0;

    v->read_into = room ? in->body : NULL;
    if (room == 0) {
        room = TFD_LOOP_SCRATCH_SIZE;
        v->read_at = tfd_loop_scratch(v->loop);
    }
    *at = v->read_at;
    return room;
}

static enum tfd_code receive(struct server *v, const void *data, size_t n,
                             struct tfd_status *st)
{
    enum tfd_code code;

    if (v->closing)
        return TFD_OK;
    v->received = true;
    v->inside = true;
    code = tfd_h2_receive(v->h2, data, n, tfd_loop_now_us(v->loop), st);
    v->inside = false;
    if (code == TFD_OK)
        go_on(v);
    return code;
}

static enum tfd_code conn_commit(void *self, size_t n, struct tfd_status *st)
{
    struct server *v = self;
    struct tfd_buffer *b = tfd_buffer_ref(v->read_into);
    enum tfd_code code = receive(v, v->read_at, n, st);

    tfd_buffer_unref(b);
    return code;
}

static void conn_drained(void *self)
{
    go_on(self);
}

static void conn_closed(void *self, const struct tfd_status *why)
{
    struct server *v = self;

    (void)why;
    assert(!v->inside);
    v->closing = true;
    tfd_timer_stop(&v->patience);
    tfd_timer_stop(&v->idle);
    tfd_links_remove(tfd_service_links(v->service), v->link);
    tfd_h2_free(v->h2);
    /* All first: one cancelled call may make its handler answer another. */
    for (struct stream *s = v->streams; s; s = s->next)
        detach(s);
    while (v->streams)
        let_go(v->streams);
    free(v);
}

static const struct tfd_conn_handler handler = {
    .space = conn_space,
    .commit = conn_commit,
    .drained = conn_drained,
    .closed = conn_closed,
};

enum tfd_code tfd_grpc_serve(struct tfd_service *service, struct tfd_conn *c,
                             struct tfd_str prefix, struct tfd_status *st)
{
    struct server *v = calloc(1, sizeof(*v));

    if (!v)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a gRPC connection");
    v->service = service;
    v->conn = c;
    v->loop = tfd_conn_loop(c);
    tfd_timer_init(&v->patience, v->loop, patience_over);
    if (tfd_h2_new(TFD_H2_SERVER, &events, v, &v->h2, st) != TFD_OK) {
        free(v);
        return TFD_RESOURCE_EXHAUSTED;
    }
    v->link = tfd_links_add(tfd_service_links(service));
    v->ticket.admitted = on_admitted;
    tfd_timer_init(&v->idle, v->loop, idle_over);
    start_idle(v);
    tfd_conn_handle(c, &handler, v);
    if (receive(v, prefix.data, prefix.size, NULL) != TFD_OK)
        close_server(v);
    return TFD_OK;
}
