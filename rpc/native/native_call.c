/*
 * native_call.c - see native_call.h: from the first frame of a request to the
 * last of its answer.
 */
#include "rpc/native/native_call.h"

#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

#define CALLS_MIN 16

void tfd_native_free_when_done(struct tfd_native *n)
{
    if (n->conn || n->open > 0)
        return;
    while (n->free_calls) {
        struct tfd_native_call *next = n->free_calls->next;

        free(n->free_calls);
        n->free_calls = next;
    }
    free(n->calls);
    free(n);
}

static bool reserve_number(struct tfd_native *n, uint32_t number)
{
    uint32_t capacity = n->calls_capacity ? n->calls_capacity : CALLS_MIN;
    struct tfd_native_call **calls;

    if (number < n->calls_capacity)
        return true;
    while (capacity <= number)
        capacity *= 2;
    calls = realloc(n->calls, capacity * sizeof(struct tfd_native_call *));
    if (!calls)
        return false;
    memset(calls + n->calls_capacity, 0,
           (capacity - n->calls_capacity) * sizeof(struct tfd_native_call *));
    n->calls = calls;
    n->calls_capacity = capacity;
    return true;
}

struct tfd_native_call *tfd_native_call_of(const struct tfd_native *n,
                                           uint32_t number)
{
    return number < n->calls_capacity ? n->calls[number] : NULL;
}

enum tfd_code tfd_native_call_new(struct tfd_native *n,
                                  const struct tfd_frame_header *h,
                                  struct tfd_native_call **out,
                                  struct tfd_status *st)
{
    struct tfd_native_call *c = n->free_calls;

    if (h->call > TFD_STREAMS_PER_CONNECTION_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "call number %u, at most %d calls may be open", h->call,
                        TFD_STREAMS_PER_CONNECTION_MAX);
    if (c)
        n->free_calls = c->next;
    else
        c = malloc(sizeof(*c));
    if (!c || !reserve_number(n, h->call)) {
        free(c);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a call");
    }
    *c = (struct tfd_native_call){.native = n, .number = h->call};
    c->call.method = (enum tfd_method_number)h->method;
    c->call.native = true;
    c->call.peer = n->peer;
    c->call.origin = &n->origin;
    c->call.link = n->link;
    c->call.answer = tfd_native_call_answer;
    n->calls[h->call] = c;
    n->open++;
    n->ticket.incomplete++;
    *out = c;
    return TFD_OK;
}

void tfd_native_update_reading(struct tfd_native *n)
{
    bool pause;

    if (!n->conn)
        return;
    pause = n->held || n->unanswered > (uint64_t)TFD_REQUESTS_SIZE_MAX ||
            tfd_native_out_size(&n->out) > (uint64_t)TFD_WRITE_QUEUE_SIZE_MAX;
    if (pause == n->paused)
        return;
    n->paused = pause;
    n->heartbeat.excused = pause;
    n->ticket.excused = pause;
    if (pause)
        tfd_conn_pause(n->conn);
    else
        tfd_conn_resume(n->conn);
}

/* The request is complete, or will not be. */
void tfd_native_call_settle(struct tfd_native *n, struct tfd_native_call *c)
{
    if (!n->conn)
        return; /* its account is closed */
    n->ticket.incomplete--;
    n->ticket.small_size -= c->small;
    if (c->owed + c->come == 0)
        return;
    tfd_admission_forget(tfd_service_admission(n->service), &n->ticket, c->come,
                         c->owed);
    c->owed = c->come = 0;
}

/* The native may be gone when this returns. */
void tfd_native_call_free(struct tfd_native_call *c)
{
    struct tfd_native *n = c->native;

    if (c->dispatched) {
        n->unanswered -= c->size;
    } else {
        n->assembling -= c->size;
        tfd_native_call_settle(n, c);
    }
    if (n->calls[c->number] == c)
        n->calls[c->number] = NULL;
    tfd_incoming_deinit(&c->call.in);
    tfd_native_in_deinit(&c->in);
    c->next = n->free_calls;
    n->free_calls = c;
    n->open--;
    tfd_native_update_reading(n);
    tfd_native_free_when_done(n);
}

void tfd_native_call_answer(struct tfd_call *call, const struct tfd_status *st,
                            struct tfd_message *take_response)
{
    struct tfd_native_call *c = (struct tfd_native_call *)call;
    struct tfd_native *n = c->native;
    struct tfd_frame_header h = {.kind = TFD_FRAME_RESPONSE, .call = c->number};

    if (n->conn && c->number != 0) {
        struct tfd_status failed;

        tfd_status_clear(&failed);
        if (!st && tfd_native_out_message(&n->out, &h, take_response,
                                          &failed) != TFD_OK)
            st = &failed;
        if (st)
            tfd_native_out_error(&n->out, c->number, st);
    } else if (take_response) {
        tfd_message_deinit(take_response);
    }
    tfd_native_call_free(c);
}

void tfd_native_call_cancel(struct tfd_native_call *c)
{
    void (*cancelled)(void *ctx, struct tfd_call *call) = c->call.cancelled;

    c->call.is_cancelled = true;
    c->call.cancelled = NULL;
    if (cancelled)
        cancelled(c->call.ctx, &c->call);
}
