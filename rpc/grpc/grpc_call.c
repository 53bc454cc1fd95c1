/* grpc_call.c - see grpc_call.h. */
#include "rpc/grpc/grpc_call.h"

#include "common/base/container.h"
#include "common/base/log.h"
#include "config/limits.h"
#include "rpc/http/percent.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Memory for requests ------------------------------------------------ */

static void update_reading(struct tfd_grpc_server *v)
{
    if (v->closing)
        return;
    if (v->ticket.waiting)
        tfd_conn_pause(v->conn);
    else
        tfd_conn_resume(v->conn);
}

void tfd_grpc_call_begin(struct tfd_grpc_call *s)
{
    s->incomplete = true;
    s->server->ticket.incomplete++;
}

static void forget_small(struct tfd_grpc_call *s)
{
    s->server->ticket.incomplete -= s->incomplete;
    s->server->ticket.small_size -= s->small;
    s->small = 0;
    s->incomplete = false;
}

void tfd_grpc_server_count_small(struct tfd_grpc_server *v)
{
    if (!v->closing &&
        !tfd_admission_small(tfd_service_admission(v->service), &v->ticket))
        update_reading(v);
}

void tfd_grpc_call_announce(struct tfd_grpc_call *s)
{
    struct tfd_grpc_server *v = s->server;

    s->owed = s->in.size;
    tfd_h2_expect(v->h2, s->id, (uint64_t)s->in.size + TFD_GRPC_PREFIX_SIZE);
    if (!tfd_admission_announce(tfd_service_admission(v->service), &v->ticket,
                                s->in.size))
        update_reading(v);
}

void tfd_grpc_call_came(struct tfd_grpc_call *s, size_t n)
{
    struct tfd_grpc_server *v = s->server;

    if (s->owed == 0) {
        s->small += n;
        v->ticket.small_size += n;
        v->ticket.small_came += n;
        return;
    }
    assert(n <= s->owed); /* more is more than one message */
    s->owed -= n;
    s->come += n;
    if (!tfd_admission_came(tfd_service_admission(v->service), &v->ticket, n))
        update_reading(v);
}

void tfd_grpc_call_settle(struct tfd_grpc_call *s)
{
    struct tfd_grpc_server *v = s->server;

    if (!v)
        return;
    forget_small(s);
    if (s->owed + s->come == 0)
        return;
    tfd_admission_forget(tfd_service_admission(v->service), &v->ticket, s->come,
                         s->owed);
    s->owed = s->come = 0;
    update_reading(v);
}

void tfd_grpc_server_admitted(struct tfd_admission_ticket *t)
{
    struct tfd_grpc_server *v =
        TFD_CONTAINER_OF(t, struct tfd_grpc_server, ticket);

    update_reading(v);
}

void tfd_grpc_server_late(struct tfd_admission_ticket *t)
{
    struct tfd_grpc_server *v =
        TFD_CONTAINER_OF(t, struct tfd_grpc_server, ticket);

    tfd_log(TFD_LOG_WARN, "connection_closed",
            "peer=%s why=\"it began messages and does not send them\" "
            "requests=%u owed=%llu come=%llu small=%llu seconds=%d least=%llu",
            tfd_conn_peer(v->conn), t->incomplete, (unsigned long long)t->owed,
            (unsigned long long)t->come, (unsigned long long)t->small_size,
            TFD_DELIVERY_MS / 1000, (unsigned long long)TFD_DELIVERY_SIZE_MIN);
    tfd_h2_terminate(v->h2, TFD_H2_ENHANCE_YOUR_CALM);
    tfd_grpc_server_go_on(v);
}

/* ---- A call's end ------------------------------------------------------- */

static void unlink_stream(struct tfd_grpc_call *s)
{
    if (!s->link)
        return;
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    s->link = NULL;
}

void tfd_grpc_call_link(struct tfd_grpc_call *s, struct tfd_grpc_call **list)
{
    s->next = *list;
    s->link = list;
    if (s->next)
        s->next->link = &s->next;
    *list = s;
}

static void tfd_grpc_call_free(struct tfd_grpc_call *s)
{
    assert(!s->server && (!s->handed || s->answered));
    unlink_stream(s);
    tfd_incoming_deinit(&s->call.in);
    tfd_grpc_reader_deinit(&s->in);
    tfd_grpc_inflate_free(s->inflate);
    tfd_grpc_writer_deinit(&s->out);
    if (s->stream)
        tfd_grpc_stream_deinit(s->stream);
    free(s->stream);
    free(s);
}

/* Tells the handler, which may answer this and other calls from inside. */
void tfd_grpc_call_cancel(struct tfd_grpc_call *s)
{
    if (!s->handed || s->answered || s->call.is_cancelled)
        return;
    s->call.is_cancelled = true;
    if (s->call.cancelled)
        s->call.cancelled(s->call.ctx, &s->call);
}

/* The HTTP/2 stream is over; the call may outlive it. */
void tfd_grpc_call_detach(struct tfd_grpc_call *s)
{
    tfd_timer_stop(&s->deadline);
    tfd_inflate_line_leave(&s->inflating);
    tfd_grpc_call_settle(s);
    s->server = NULL;
    s->replied = true;
    s->call.peer = "(disconnected)";
}

/* What a detached stream still has to do. */
void tfd_grpc_call_let_go(struct tfd_grpc_call *s)
{
    unlink_stream(s);
    if (!s->handed || s->answered)
        tfd_grpc_call_free(s);
    else
        tfd_grpc_call_cancel(s);
}

/* ---- Responses ---------------------------------------------------------- */

#define HEADER(name, value)                                         \
    {                                                               \
        {name, sizeof(name) - 1}, {value, sizeof(value) - 1}, false \
    }

static const struct tfd_h2_header ok_headers[] = {
    HEADER(":status", "200"),
    HEADER("content-type", "application/grpc"),
    HEADER("grpc-accept-encoding", "identity,deflate,gzip"),
};

static const struct tfd_h2_header ok_trailers[] = {
    HEADER("grpc-status", "0"),
};

static void reply(struct tfd_grpc_call *s, const struct tfd_h2_header *headers,
                  size_t count, struct tfd_h2_source *source)
{
    s->replied = true;
    tfd_timer_stop(&s->deadline);
    if (tfd_h2_respond(s->server->h2, s->id, headers, count, source, NULL) !=
        TFD_OK)
        tfd_h2_reset(s->server->h2, s->id, TFD_H2_INTERNAL_ERROR);
}

/* Trailers-Only. */
static void tfd_grpc_call_fail(struct tfd_grpc_call *s,
                               const struct tfd_status *st)
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
        ok_headers[2],
    };
    size_t count = sizeof(headers) / sizeof(headers[0]);

    assert(st->code != TFD_OK);
    /* Who compressed in a way that we do not know is told what we do. */
    reply(s, headers, s->encoding == TFD_GRPC_OTHER ? count : count - 1, NULL);
}

/* Not gRPC at all: answered in HTTP's terms. */
void tfd_grpc_call_reply_http(struct tfd_grpc_call *s, const char *status)
{
    const struct tfd_h2_header header = {TFD_STR(":status"), tfd_str_of(status),
                                         false};

    reply(s, &header, 1, NULL);
}

static void reply_message(struct tfd_grpc_call *s,
                          struct tfd_message *take_response)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (tfd_grpc_writer_init(&s->out, s->server->conn, take_response, &st) !=
        TFD_OK) {
        tfd_grpc_call_fail(s, &st);
        return;
    }
    s->out.source.trailers = ok_trailers;
    s->out.source.trailer_count = 1;
    reply(s, ok_headers, sizeof(ok_headers) / sizeof(ok_headers[0]),
          &s->out.source);
}

/* After the messages of a stream. */
static void reply_end(struct tfd_grpc_call *s, const struct tfd_status *st)
{
    s->replied = true;
    tfd_timer_stop(&s->deadline);
    tfd_grpc_stream_end(s->stream, st);
    tfd_h2_resume(s->server->h2, s->id);
}

/* The request is not going to reach a handler. */
void tfd_grpc_call_refuse(struct tfd_grpc_call *s, const struct tfd_status *st)
{
    assert(!s->handed);
    if (!s->replied)
        tfd_grpc_call_fail(s, st);
    tfd_grpc_call_settle(s);
    tfd_grpc_reader_deinit(&s->in);
}

/* ---- What a handler says ------------------------------------------------ */

static enum tfd_code open_stream(struct tfd_grpc_call *s,
                                 struct tfd_status *st);

/* Of a stream that had no message an end is no message, either. */
static void reply_result(struct tfd_grpc_call *s, const struct tfd_status *st,
                         struct tfd_message *take_response)
{
    struct tfd_status own = TFD_STATUS_INIT;

    if (!s->stream && (!st || st->code == TFD_OK) &&
        tfd_service_streams(s->call.method) && open_stream(s, &own) != TFD_OK)
        st = &own;
    if (s->stream)
        reply_end(s, st);
    else if (st && st->code != TFD_OK)
        tfd_grpc_call_fail(s, st);
    else
        reply_message(s, take_response);
}

/* struct tfd_call.answer */
void tfd_grpc_call_answer(struct tfd_call *call, const struct tfd_status *st,
                          struct tfd_message *take_response)
{
    struct tfd_grpc_call *s = (struct tfd_grpc_call *)call;
    struct tfd_grpc_server *v = s->server;

    assert(s->handed && !s->answered);
    s->answered = true;
    tfd_incoming_deinit(&call->in);
    if (!s->replied)
        reply_result(s, st, take_response);
    if (take_response)
        tfd_message_deinit(take_response);
    if (v)
        tfd_grpc_server_go_on(v);
    else
        tfd_grpc_call_free(s);
}

static enum tfd_code open_stream(struct tfd_grpc_call *s, struct tfd_status *st)
{
    s->stream = calloc(1, sizeof(*s->stream));
    if (!s->stream)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a stream");
    tfd_grpc_stream_init(s->stream, s->server->conn,
                         tfd_service_streams(s->call.method)
                             ? TFD_STREAM_UNREAD_SIZE_MAX
                             : TFD_WATCH_UNREAD_SIZE_MAX);
    return tfd_h2_respond(s->server->h2, s->id, ok_headers,
                          sizeof(ok_headers) / sizeof(ok_headers[0]),
                          &s->stream->source, st);
}

/* struct tfd_call.send */
enum tfd_code tfd_grpc_call_send(struct tfd_call *call,
                                 const struct tfd_message *m,
                                 struct tfd_status *st)
{
    struct tfd_grpc_call *s = (struct tfd_grpc_call *)call;

    if (s->replied)
        return TFD_OK; /* or never will have */
    if (!s->stream)
        TFD_TRY(open_stream(s, st));
    TFD_TRY(tfd_grpc_stream_add(s->stream, m, st));
    tfd_h2_resume(s->server->h2, s->id);
    tfd_grpc_server_go_on(s->server);
    return TFD_OK;
}

void tfd_grpc_call_break(struct tfd_grpc_call *s, const struct tfd_status *st)
{
    struct tfd_grpc_server *v = s->server;
    bool inside = v->inside;

    if (s->replied)
        return;
    if (s->stream) /* first: a cancelled handler has other reasons */
        reply_end(s, st);
    else
        tfd_grpc_call_fail(s, st);
    v->inside = true; /* so that an answer does not free the stream */
    tfd_grpc_call_cancel(s);
    v->inside = inside;
}

void tfd_grpc_call_deadline(struct tfd_timer *t)
{
    struct tfd_grpc_call *s =
        TFD_CONTAINER_OF(t, struct tfd_grpc_call, deadline);
    struct tfd_grpc_server *v = s->server;
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, TFD_DEADLINE_EXCEEDED, "Deadline Exceeded");
    tfd_grpc_call_break(s, &st);
    tfd_grpc_server_go_on(v);
}
