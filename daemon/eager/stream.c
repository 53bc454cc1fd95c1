/*
 * stream.c - see stream.h.
 *
 *     received -> queue -> served -> answered -> next
 *                    |        |
 *                    +--------+--> a failure, the caller has gone: ended
 */
#include "daemon/eager/stream.h"

#include "common/base/container.h"
#include "config/limits.h"
#include "daemon/eager/enqueue.h"

#include <stdlib.h>

/* One message of a stream. */
struct queued {
    struct tfd_incoming in;
    struct tfd_eager_context *context; /* NULL: there is none ... */
    uint64_t id;                       /* ... of this number */
    struct tfd_eager_place place;
    uint64_t metered; /* bytes, with tensors */
    struct queued *next;
};

struct tfd_eager_stream {
    struct tfd_eager *eager;
    struct tfd_call *call;
    struct tfd_eager_request request; /* of the first in the queue */
    struct queued *first, **last;
    int count;
    size_t size;   /* bytes of all */
    bool serving;  /* the first one */
    bool inside;   /* serve() is running */
    bool is_ended; /* the caller sends no more */
    bool is_over;  /* nothing more is served: `why`, or the caller has gone */
    struct tfd_status why;
    struct tfd_eager_stream *next, *previous;
};

static void serve(struct tfd_eager_stream *s);

/* ---- The queue ----------------------------------------------------------- */

static void drop_first(struct tfd_eager_stream *s)
{
    struct queued *q = s->first;

    s->first = q->next;
    if (!s->first)
        s->last = &s->first;
    s->count--;
    s->size -= q->in.proto.size;
    if (q->context) {
        tfd_meter_give_back(q->context->meter, q->metered);
        tfd_eager_order_leave(&q->context->order, &q->place);
        tfd_eager_context_leave(q->context);
    }
    tfd_incoming_deinit(&q->in);
    free(q);
}

static enum tfd_code check_room(const struct tfd_eager_stream *s, size_t size,
                                struct tfd_status *st)
{
    if (s->count < TFD_EAGER_QUEUED_MAX &&
        (s->count == 0 || size <= TFD_EAGER_QUEUED_SIZE_MAX - s->size))
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "%d requests of %zu bytes of a stream wait, at most %d and "
                    "%zu may",
                    s->count, s->size, TFD_EAGER_QUEUED_MAX,
                    TFD_EAGER_QUEUED_SIZE_MAX);
}

static enum tfd_code add_message(struct tfd_eager_stream *s,
                                 struct tfd_incoming *take_in,
                                 struct tfd_status *st)
{
    struct tfd_eager_request_head head;
    struct queued *q;

    TFD_TRY(check_room(s, take_in->proto.size, st));
    TFD_TRY(tfd_eager_request_head(take_in->proto, &head, st));
    q = calloc(1, sizeof(*q));
    if (!q)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a request of a stream");
    q->in = *take_in;
    *take_in = (struct tfd_incoming){.proto = TFD_STR_EMPTY};
    q->id = head.context;
    if (tfd_eager_context_find(s->eager, head.context, s->call->link,
                               &q->context, NULL) == TFD_OK) {
        q->metered = tfd_incoming_size(&q->in);
        tfd_meter_take(q->context->meter, q->metered);
        tfd_eager_context_enter(q->context);
        tfd_eager_order_enter(&q->context->order, &q->place);
    } else {
        q->context = NULL;
    }
    *s->last = q;
    s->last = &q->next;
    s->count++;
    s->size += q->in.proto.size;
    return TFD_OK;
}

/* ---- The end ------------------------------------------------------------- */

static void end_stream(struct tfd_eager_stream *s)
{
    struct tfd_call *call = s->call;
    struct tfd_message none;

    while (s->first)
        drop_first(s);
    if (s->previous)
        s->previous->next = s->next;
    else
        s->eager->streams = s->next;
    if (s->next)
        s->next->previous = s->previous;
    call->received = NULL;
    call->ended = NULL;
    tfd_message_init(&none, call->native);
    if (s->why.code != TFD_OK)
        tfd_call_fail(call, &s->why);
    else
        tfd_call_respond(call, &none);
    free(s);
}

/* What is being served is cancelled, and the stream ends after it. */
static void break_stream(struct tfd_eager_stream *s,
                         const struct tfd_status *why)
{
    s->is_over = true;
    tfd_status_copy(&s->why, why);
    if (s->serving)
        tfd_eager_request_cancel(&s->request);
    serve(s);
}

/* ---- Serving ------------------------------------------------------------- */

static void request_done(struct tfd_eager_request *q)
{
    struct tfd_eager_stream *s = q->ctx;

    s->serving = false;
    if (!s->is_over && q->st.code == TFD_OK)
        s->first->context->meter->sent += tfd_message_size(&q->response);
    if (!s->is_over && q->st.code == TFD_OK &&
        tfd_call_send(s->call, &q->response, &q->st) != TFD_OK)
        s->is_over = true;
    if (q->st.code != TFD_OK) {
        s->is_over = true;
        tfd_status_copy(&s->why, &q->st);
    }
    tfd_message_deinit(&q->response);
    drop_first(s);
    serve(s);
}

static void serve_first(struct tfd_eager_stream *s)
{
    struct queued *q = s->first;

    if (!q->context) {
        s->is_over = true;
        (void)!tfd_eager_context_lost(q->id, &s->why);
        return;
    }
    s->serving = true;
    s->request.done = request_done;
    s->request.ctx = s;
    tfd_eager_request_begin(&s->request, q->context, &q->in, false);
}

/* The stream may be gone when this returns. */
static void serve(struct tfd_eager_stream *s)
{
    if (s->inside)
        return;
    s->inside = true;
    while (!s->serving && !s->is_over && s->first)
        serve_first(s);
    s->inside = false;
    if (!s->serving && (s->is_over || (s->is_ended && !s->first)))
        end_stream(s);
}

/* ---- What the caller does ------------------------------------------------ */

static void received(void *ctx, struct tfd_call *call,
                     struct tfd_incoming *take_message)
{
    struct tfd_eager_stream *s = ctx;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)call;
    if (!s->is_over && add_message(s, take_message, &st) != TFD_OK)
        break_stream(s, &st);
    else if (!s->is_over)
        serve(s);
    tfd_incoming_deinit(take_message);
}

static void ended(void *ctx, struct tfd_call *call)
{
    struct tfd_eager_stream *s = ctx;

    (void)call;
    s->is_ended = true;
    serve(s);
}

static void cancelled(void *ctx, struct tfd_call *call)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)call;
    tfd_fail(&st, TFD_CANCELLED, "The stream was cancelled by its caller.");
    break_stream(ctx, &st);
}

void tfd_eager_streaming_enqueue(void *self, struct tfd_call *call)
{
    struct tfd_eager *e = self;
    struct tfd_eager_stream *s = calloc(1, sizeof(*s));
    struct tfd_status st = TFD_STATUS_INIT;

    if (!s)
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a stream");
    else if (call->native)
        tfd_fail(&st, TFD_UNIMPLEMENTED,
                 "streams of requests are not sent natively");
    else if (e->stopping)
        tfd_fail(&st, TFD_UNAVAILABLE, "this server is shutting down");
    if (st.code != TFD_OK) {
        free(s);
        tfd_call_fail(call, &st);
        return;
    }
    s->eager = e;
    s->call = call;
    s->last = &s->first;
    s->next = e->streams;
    if (s->next)
        s->next->previous = s;
    e->streams = s;
    call->ctx = s;
    call->received = received;
    call->ended = ended;
    call->cancelled = cancelled;
}

void tfd_eager_end_streams(struct tfd_eager *e)
{
    struct tfd_eager_stream *s = e->streams;
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, TFD_UNAVAILABLE, "this server is shutting down");
    while (s) {
        struct tfd_eager_stream *next = s->next;

        if (!s->is_over)
            break_stream(s, &st);
        s = next;
    }
}
