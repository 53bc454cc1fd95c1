/*
 * grpc_client.c - the calling side of gRPC: a link (link.h) that carries the
 * calls of a channel as HTTP/2 streams.
 *
 * A struct outgoing lives as long as its HTTP/2 stream.  The channel hears of
 * its end once: when the peer has said everything (on_end), or when the stream
 * is closed without that (on_closed).  A call that was cancelled is silent.
 *
 * The channel may make calls, cancel and close from inside an event, that is
 * from inside the session; what that would free waits until we are outside
 * again (leave_link()).
 */
#include "rpc/core/link.h"

#include "common/base/container.h"
#include "config/limits.h"
#include "rpc/core/heartbeat.h"
#include "rpc/grpc/grpc_body.h"
#include "rpc/http/h2.h"
#include "rpc/http/percent.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USER_AGENT "grpc-c-tfd/0.1"

/* Calls are found by number only to be cancelled. */
#define BUCKETS 256

/* A gRPC server ends a connection on which more PINGs come between two of its
 * own messages; TensorFlow's does so at the fifth. */
#define PINGS_MAX 2

/* For a GOAWAY to leave before the connection does. */
#define CLOSE_GRACE_US 100000

struct outgoing {
    struct tfd_link *link;
    struct outgoing *next; /* of the bucket */
    struct outgoing **at;
    uint32_t call;
    int32_t id;
    bool probe;  /* our own question */
    bool silent; /* ended, or the channel does not want to know */
    bool has_status;
    bool is_grpc;
    bool cut; /* headers were too large */
    enum tfd_code code;
    int http_status;
    char *text; /* grpc-message, decoded; NULL when none was sent */
    struct tfd_grpc_reader in;
    struct tfd_grpc_writer out;
};

struct tfd_link {
    struct tfd_conn *conn;
    struct tfd_loop *loop;
    struct tfd_h2 *h2;
    const struct tfd_link_events *events; /* NULL: closed by the channel */
    void *ctx;
    uint8_t *read_at;
    struct tfd_buffer *read_into; /* not counted; NULL: the scratch */
    bool received;                /* anything at all */
    bool inside;
    bool closing;
    uint32_t calls; /* open, our own questions apart */
    uint32_t pings; /* since the peer last answered a call */
    uint32_t probe; /* the number of the next question */
    struct tfd_heartbeat heartbeat;
    struct outgoing *buckets[BUCKETS];
    char authority[TFD_ADDRESS_SIZE_MAX + 1];
};

/* ---- Calls ----------------------------------------------------------------
 */

static void add_outgoing(struct tfd_link *l, struct outgoing *o)
{
    struct outgoing **bucket = &l->buckets[o->call % BUCKETS];

    o->next = *bucket;
    o->at = bucket;
    if (o->next)
        o->next->at = &o->next;
    *bucket = o;
}

static void count_call(struct tfd_link *l, int by)
{
    l->calls += (uint32_t)by;
    l->heartbeat.excused = l->calls == 0;
}

static void free_outgoing(struct outgoing *o)
{
    if (!o->probe)
        count_call(o->link, -1);
    *o->at = o->next;
    if (o->next)
        o->next->at = o->at;
    tfd_grpc_reader_deinit(&o->in);
    tfd_grpc_writer_deinit(&o->out);
    free(o->text);
    free(o);
}

static struct outgoing *find_outgoing(struct tfd_link *l, uint32_t call)
{
    struct outgoing *o = l->buckets[call % BUCKETS];

    while (o && (o->call != call || o->silent))
        o = o->next;
    return o;
}

static void report(struct outgoing *o, const struct tfd_status *st,
                   const struct tfd_incoming *response)
{
    struct tfd_link *l = o->link;

    if (o->silent || !l->events)
        return;
    o->silent = true;
    l->events->ended(l->ctx, o->call, st, response);
}

static void report_failure(struct outgoing *o, enum tfd_code code,
                           const char *text)
{
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, code, "%s", text);
    report(o, &st, NULL);
}

static void report_response(struct outgoing *o)
{
    static const struct tfd_status ok = TFD_STATUS_INIT;
    struct tfd_incoming response;

    tfd_grpc_reader_take(&o->in, &response);
    report(o, &ok, &response);
    tfd_incoming_deinit(&response);
}

/* The peer ended the stream in order. */
static void report_end(struct outgoing *o)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (o->cut)
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                 "the response has more than %d bytes of headers",
                 TFD_HEADER_LIST_SIZE_MAX);
    else if (o->has_status && o->code != TFD_OK)
        tfd_fail(&st, o->code, "%s", o->text ? o->text : "");
    else if (!o->has_status || !o->is_grpc)
        tfd_fail(&st, tfd_grpc_code_of_http(o->http_status),
                 "the peer answered HTTP status %d and no grpc-status",
                 o->http_status);
    else if (!tfd_grpc_reader_complete(&o->in))
        tfd_fail(&st, TFD_INTERNAL,
                 "the response ended after %u of %u bytes of its message",
                 o->in.have, o->in.size);
    if (st.code != TFD_OK)
        report(o, &st, NULL);
    else
        report_response(o);
}

/* ---- What the session tells ------------------------------------------------
 */

static void take_text(struct outgoing *o, struct tfd_str value)
{
    if (o->text)
        return;
    o->text = malloc(value.size + 1); /* without memory: no text */
    if (o->text)
        tfd_percent_decode(value, o->text, value.size + 1);
}

static int parse_http_status(struct tfd_str value)
{
    int status = 0;

    for (size_t i = 0; i < value.size && i < 3; i++)
        status = status * 10 + (value.data[i] - '0');
    return status; /* nghttp2 has checked that these are digits */
}

static void on_header(void *ctx, void *stream, struct tfd_str name,
                      struct tfd_str value)
{
    struct outgoing *o = stream;

    (void)ctx;
    if (tfd_str_is(name, ":status")) {
        o->http_status = parse_http_status(value);
    } else if (tfd_str_is(name, "content-type")) {
        o->is_grpc = tfd_grpc_is_content_type(value);
    } else if (tfd_str_is(name, "grpc-status")) {
        o->has_status = true;
        o->code = tfd_grpc_code_parse(value);
    } else if (tfd_str_is(name, "grpc-message")) {
        take_text(o, value);
    }
}

static void on_headers(void *ctx, void *stream, bool cut)
{
    struct tfd_link *l = ctx;
    struct outgoing *o = stream;

    l->pings = 0;
    o->cut = o->cut || cut;
}

static void on_data(void *ctx, void *stream, const uint8_t *data, size_t n)
{
    struct tfd_link *l = ctx;
    struct outgoing *o = stream;
    struct tfd_status st = TFD_STATUS_INIT;
    bool known = o->in.prefix_have == TFD_GRPC_PREFIX_SIZE;

    if (o->silent || !o->is_grpc)
        return;
    if (tfd_grpc_reader_feed(&o->in, data, n, TFD_GRPC_MESSAGE_SIZE_MAX, &st) !=
        TFD_OK) {
        tfd_h2_reset(l->h2, o->id, TFD_H2_CANCEL);
        report(o, &st, NULL);
        tfd_grpc_reader_deinit(&o->in);
    } else if (!known && o->in.size > 0) {
        tfd_h2_expect(l->h2, o->id,
                      (uint64_t)o->in.size + TFD_GRPC_PREFIX_SIZE);
    }
}

static void on_end(void *ctx, void *stream)
{
    struct tfd_link *l = ctx;
    struct outgoing *o = stream;

    if (o->out.source.left > 0) /* the peer does not want the rest */
        tfd_h2_reset(l->h2, o->id, TFD_H2_CANCEL);
    if (!o->silent)
        report_end(o);
}

static void on_stream_closed(void *ctx, void *stream, uint32_t error)
{
    struct outgoing *o = stream;
    char text[80];

    (void)ctx;
    snprintf(text, sizeof(text), "the peer reset the call (HTTP/2 error %u)",
             error);
    report_failure(o, tfd_grpc_code_of_reset(error), text);
    free_outgoing(o);
}

static void on_write(void *ctx, const uint8_t *data, size_t n)
{
    struct tfd_link *l = ctx;

    tfd_conn_write(l->conn, data, n);
}

static bool is_full(void *ctx)
{
    struct tfd_link *l = ctx;

    return tfd_conn_queued(l->conn) >= TFD_CONN_HIGH;
}

static const struct tfd_h2_events h2_events = {
    .write = on_write,
    .full = is_full,
    .header = on_header,
    .headers = on_headers,
    .data = on_data,
    .end = on_end,
    .closed = on_stream_closed,
};

/* ---- The connection --------------------------------------------------------
 */

static void close_conn(struct tfd_link *l)
{
    if (l->closing)
        return;
    l->closing = true;
    tfd_conn_close(l->conn, l->events ? CLOSE_GRACE_US : 0); /* may free l */
}

/* Sends what is queued and does what had to wait. */
static void leave_link(struct tfd_link *l)
{
    if (l->inside || l->closing)
        return;
    l->inside = true;
    tfd_h2_pump(l->h2);
    l->inside = false;
    if (!l->events || tfd_h2_done(l->h2))
        close_conn(l);
}

static size_t conn_space(void *self, uint8_t **at)
{
    struct tfd_link *l = self;
    void *stream;
    size_t left = tfd_h2_data_left(l->h2, &stream);
    struct tfd_grpc_reader *in = left ? &((struct outgoing *)stream)->in : NULL;
    size_t room = in ? tfd_grpc_reader_room(in, left, &l->read_at) : 0;

    l->read_into = room ? in->body : NULL;
    if (room == 0) {
        room = TFD_LOOP_SCRATCH_SIZE;
        l->read_at = tfd_loop_scratch(l->loop);
    }
    *at = l->read_at;
    return room;
}

static enum tfd_code conn_commit(void *self, size_t n, struct tfd_status *st)
{
    struct tfd_link *l = self;
    struct tfd_buffer *b;
    enum tfd_code code;

    if (l->closing)
        return TFD_OK;
    l->received = true;
    tfd_heartbeat_heard(&l->heartbeat);
    l->inside = true;
    b = tfd_buffer_ref(l->read_into);
    code = tfd_h2_receive(l->h2, l->read_at, n, tfd_loop_now_us(l->loop), st);
    tfd_buffer_unref(b);
    l->inside = false;
    if (code == TFD_OK)
        leave_link(l);
    return code;
}

static void conn_drained(void *self)
{
    leave_link(self);
}

static void free_link(struct tfd_link *l)
{
    tfd_h2_free(l->h2);
    for (size_t i = 0; i < BUCKETS; i++)
        while (l->buckets[i])
            free_outgoing(l->buckets[i]);
    free(l);
}

static void conn_closed(void *self, const struct tfd_status *why)
{
    struct tfd_link *l = self;
    const struct tfd_link_events *to = l->events;
    void *ctx = l->ctx;
    bool other = l->received && !tfd_h2_greeted(l->h2);
    struct tfd_status st = TFD_STATUS_INIT;

    assert(!l->inside);
    tfd_heartbeat_stop(&l->heartbeat);
    if (other)
        tfd_fail(&st, TFD_UNAVAILABLE, "%s does not speak HTTP/2",
                 l->authority);
    else if (why->code != TFD_OK)
        tfd_status_copy(&st, why);
    else
        tfd_fail(&st, TFD_UNAVAILABLE, "Socket closed");
    free_link(l);
    if (to)
        to->failed(ctx, &st, other ? TFD_LINK_HEARD_OTHER : TFD_LINK_HEARD);
}

static const struct tfd_conn_handler handler = {
    .space = conn_space,
    .commit = conn_commit,
    .drained = conn_drained,
    .closed = conn_closed,
};

/* ---- The link --------------------------------------------------------------
 */

static enum tfd_code link_open(struct tfd_conn *conn, const char *authority,
                               const struct tfd_peer_info *self,
                               const struct tfd_link_events *events, void *ctx,
                               struct tfd_link **out, struct tfd_status *st)
{
    struct tfd_link *l = calloc(1, sizeof(*l));

    (void)self; /* gRPC has no place for it */
    if (!l)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a connection to %s", authority);
    l->conn = conn;
    l->loop = tfd_conn_loop(conn);
    l->events = events;
    l->ctx = ctx;
    snprintf(l->authority, sizeof(l->authority), "%s", authority);
    if (tfd_h2_new(TFD_H2_CLIENT, &h2_events, l, &l->h2, st) != TFD_OK) {
        free(l);
        return TFD_RESOURCE_EXHAUSTED;
    }
    tfd_conn_handle(conn, &handler, l);
    *out = l;
    leave_link(l);
    return TFD_OK;
}

/* The order is TensorFlow's. */
static enum tfd_code send_request(struct tfd_link *l, struct outgoing *o,
                                  enum tfd_method_number method,
                                  uint64_t timeout_us, struct tfd_status *st)
{
    char timeout[TFD_GRPC_TIMEOUT_TEXT_MAX];
    struct tfd_h2_header headers[9] = {
        {TFD_STR(":path"), tfd_str_of(tfd_service_path(method)), false},
        {TFD_STR(":authority"), tfd_str_of(l->authority), false},
        {TFD_STR(":method"), TFD_STR("POST"), false},
        {TFD_STR(":scheme"), TFD_STR("http"), false},
        {TFD_STR("content-type"), TFD_STR("application/grpc"), false},
        {TFD_STR("te"), TFD_STR("trailers"), false},
        {TFD_STR("grpc-accept-encoding"), TFD_STR("identity"), false},
        {TFD_STR("user-agent"), TFD_STR(USER_AGENT), false},
    };
    size_t count = 8;

    if (timeout_us > 0)
        headers[count++] = (struct tfd_h2_header){
            TFD_STR("grpc-timeout"),
            tfd_str_of(tfd_grpc_timeout_text(timeout_us, timeout)), true};
    return tfd_h2_request(l->h2, headers, count, &o->out.source, o, &o->id, st);
}

static enum tfd_code begin_call(struct tfd_link *l, struct outgoing *o,
                                enum tfd_method_number method,
                                struct tfd_message *take_request,
                                uint64_t timeout_us, struct tfd_status *st)
{
    enum tfd_code code;

    o->link = l;
    add_outgoing(l, o);
    if (!o->probe)
        count_call(l, 1);
    code = tfd_grpc_writer_init(&o->out, l->conn, take_request, st);
    if (code == TFD_OK)
        code = send_request(l, o, method, timeout_us, st);
    if (code != TFD_OK)
        free_outgoing(o);
    leave_link(l);
    return code;
}

static enum tfd_code link_call(struct tfd_link *l, uint32_t call,
                               enum tfd_method_number method,
                               struct tfd_message *take_request,
                               uint64_t timeout_us, bool want_answer,
                               struct tfd_status *st)
{
    struct outgoing *o = NULL;
    enum tfd_code code;

    if (!want_answer)
        code = tfd_fail(st, TFD_UNAVAILABLE,
                        "gRPC has no calls without an answer");
    else if (!(o = calloc(1, sizeof(*o))))
        code = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a call");
    if (!o) {
        tfd_message_deinit(take_request);
        return code;
    }
    o->call = call;
    return begin_call(l, o, method, take_request, timeout_us, st);
}

/* A call that any server answers at once, if only with UNIMPLEMENTED. */
static void ask_by_call(struct tfd_link *l)
{
    struct outgoing *o = calloc(1, sizeof(*o));
    struct tfd_message m;

    if (!o)
        return;
    o->probe = o->silent = true;
    o->call = l->probe++;
    tfd_message_init(&m, false);
    (void)!begin_call(l, o, TFD_METHOD_Check, &m, 0, NULL);
}

static void ask_for_pong(struct tfd_heartbeat *h)
{
    struct tfd_link *l = TFD_CONTAINER_OF(h, struct tfd_link, heartbeat);

    if (l->calls == 0 || l->closing || !l->events)
        return;
    if (l->pings >= PINGS_MAX) {
        ask_by_call(l);
        return;
    }
    l->pings++;
    tfd_h2_ping(l->h2);
    leave_link(l);
}

static void link_watch(struct tfd_link *l,
                       const struct tfd_heartbeat_options *o)
{
    tfd_heartbeat_start(&l->heartbeat, l->conn, o, ask_for_pong);
    count_call(l, 0);
}

static void link_cancel(struct tfd_link *l, uint32_t call)
{
    struct outgoing *o = find_outgoing(l, call);

    if (!o)
        return;
    o->silent = true;
    tfd_h2_reset(l->h2, o->id, TFD_H2_CANCEL);
    leave_link(l);
}

static void link_close(struct tfd_link *l)
{
    l->events = NULL;
    if (!l->inside)
        close_conn(l);
}

static size_t link_queued(const struct tfd_link *l)
{
    return tfd_conn_queued(l->conn);
}

const struct tfd_link_ops tfd_grpc_link = {
    .protocol = TFD_PROTO_GRPC,
    .open = link_open,
    .call = link_call,
    .cancel = link_cancel,
    .close = link_close,
    .watch = link_watch,
    .queued = link_queued,
};
