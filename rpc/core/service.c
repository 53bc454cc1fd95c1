/*
 * service.c - see service.h.
 *
 * drained() is deferred, never called from inside an answer, so that whoever
 * stops the loop there does not pull it from under a transport.
 */
#include "rpc/core/service.h"

#include "common/base/container.h"
#include "config/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const paths[TFD_METHOD_END] = {
#define X(number, service, method) [number] = "/" #service "/" #method,
    TFD_METHODS(X)
#undef X
};

/* What opens new work of its own.  The rest belongs to steps that run: here, or
 * on a master that we work for and that may be about to end, too, with a last
 * checkpoint. */
static bool begins_work(enum tfd_method_number m)
{
    switch (m) {
    case TFD_METHOD_CreateSession:
    case TFD_METHOD_ExtendSession:
    case TFD_METHOD_RunStep:
    case TFD_METHOD_PartialRunSetup:
    case TFD_METHOD_MakeCallable:
    case TFD_METHOD_RunCallable:
    case TFD_METHOD_CreateWorkerSession:
    case TFD_METHOD_CreateContext:
    case TFD_METHOD_TraceSteps:
        return true;
    default:
        return false;
    }
}

bool tfd_service_streams(enum tfd_method_number method)
{
    return method == TFD_METHOD_StreamingEnqueue;
}

/* Health is asked until the end, and what is a stream never ends by itself. */
static bool is_endless(enum tfd_method_number m)
{
    return m == TFD_METHOD_Check || m == TFD_METHOD_Watch ||
           tfd_service_streams(m);
}

struct binding {
    tfd_handler_fn *handler;
    void *self;
    struct tfd_method_stats stats;
};

struct page {
    const char *path;
    tfd_page_fn *fn;
    void *self;
};

struct tfd_service {
    struct tfd_loop *loop;
    struct tfd_heartbeat_options heartbeat;
    struct tfd_links links;
    struct tfd_traffic *traffic; /* NULL: no memory */
    struct tfd_traffic *(*on_hello)(void *ctx, struct tfd_str task);
    void *on_hello_ctx;
    struct tfd_admission admission;
    struct tfd_inflate_line inflate_line;
    struct binding methods[TFD_METHOD_END];
    struct page pages[TFD_PAGES_MAX];
    int page_count;
    int in_flight;
    bool draining;
    void (*on_drain)(void *ctx);
    void *on_drain_ctx;
    bool (*spares)(void *ctx, const struct tfd_call *call);
    void *spares_ctx;
    void (*drained)(void *ctx); /* NULL once it was called */
    void *drained_ctx;
    struct tfd_post drained_post;
    bool drained_posted;
};

static void run_drained(struct tfd_post *p)
{
    struct tfd_service *s =
        TFD_CONTAINER_OF(p, struct tfd_service, drained_post);
    void (*drained)(void *ctx) = s->drained;

    s->drained_posted = false;
    if (s->in_flight > 0 || !drained)
        return;
    s->drained = NULL;
    drained(s->drained_ctx);
}

static void check_drained(struct tfd_service *s)
{
    if (!s->draining || !s->drained || s->in_flight > 0 || s->drained_posted)
        return;
    s->drained_posted = true;
    tfd_loop_defer(s->loop, &s->drained_post);
}

struct tfd_service *tfd_service_new(struct tfd_loop *l, struct tfd_status *st)
{
    struct tfd_service *s = calloc(1, sizeof(*s));

    if (!s) {
        (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for the service");
        return NULL;
    }
    s->loop = l;
    s->drained_post.run = run_drained;
    s->traffic = tfd_traffic_new();
    tfd_admission_init(&s->admission, l);
    tfd_inflate_line_init(&s->inflate_line, l);
    return s;
}

void tfd_service_free(struct tfd_service *s)
{
    assert(!s || s->in_flight == 0);
    if (!s)
        return;
    tfd_links_deinit(&s->links);
    tfd_traffic_unref(s->traffic);
    tfd_admission_deinit(&s->admission);
    tfd_inflate_line_deinit(&s->inflate_line);
    free(s);
}

void tfd_service_bind(struct tfd_service *s, enum tfd_method_number method,
                      tfd_handler_fn *handler, void *self)
{
    assert(method > 0 && method < TFD_METHOD_END && paths[method]);
    s->methods[method].handler = handler;
    s->methods[method].self = self;
}

void tfd_service_watch(struct tfd_service *s,
                       const struct tfd_heartbeat_options *o)
{
    s->heartbeat = *o;
}

const struct tfd_heartbeat_options *
tfd_service_heartbeat(const struct tfd_service *s)
{
    return &s->heartbeat;
}

struct tfd_links *tfd_service_links(struct tfd_service *s)
{
    return &s->links;
}

struct tfd_traffic *tfd_service_traffic(struct tfd_service *s)
{
    return s->traffic;
}

void tfd_service_on_hello(struct tfd_service *s,
                          struct tfd_traffic *(*fn)(void *ctx,
                                                    struct tfd_str task),
                          void *ctx)
{
    s->on_hello = fn;
    s->on_hello_ctx = ctx;
}

struct tfd_traffic *tfd_service_traffic_of(struct tfd_service *s,
                                           struct tfd_str task)
{
    struct tfd_traffic *t =
        s->on_hello ? s->on_hello(s->on_hello_ctx, task) : NULL;

    return t ? t : s->traffic;
}

struct tfd_admission *tfd_service_admission(struct tfd_service *s)
{
    return &s->admission;
}

struct tfd_inflate_line *tfd_service_inflate_line(struct tfd_service *s)
{
    return &s->inflate_line;
}

enum tfd_method_number tfd_service_find(struct tfd_str path)
{
    for (int m = 1; m < TFD_METHOD_END; m++)
        if (paths[m] && tfd_str_is(path, paths[m]))
            return (enum tfd_method_number)m;
    return (enum tfd_method_number)0;
}

const char *tfd_service_path(enum tfd_method_number method)
{
    if (method <= 0 || method >= TFD_METHOD_END || !paths[method])
        return "unknown method";
    return paths[method];
}

/* ---- Calls --------------------------------------------------------------- */

static bool is_refused(const struct tfd_service *s, const struct tfd_call *call)
{
    return begins_work(call->method) &&
           !(s->spares && s->spares(s->spares_ctx, call));
}

void tfd_service_dispatch(struct tfd_service *s, struct tfd_call *call)
{
    struct binding *b;
    struct tfd_status st;

    assert(call->method > 0 && call->method < TFD_METHOD_END);
    b = &s->methods[call->method];
    call->service = s;
    call->start_us = tfd_loop_now_us(s->loop);
    b->stats.calls++;
    call->request_size = tfd_incoming_size(&call->in);
    call->meter = NULL;
    b->stats.request_bytes += call->request_size;
    if (!is_endless(call->method))
        s->in_flight++;
    if (b->handler && !(s->draining && is_refused(s, call))) {
        b->handler(b->self, call);
        return;
    }
    tfd_status_clear(&st);
    if (b->handler)
        (void)tfd_fail(&st, TFD_UNAVAILABLE, "%s: this server is shutting down",
                       tfd_service_path(call->method));
    else
        (void)tfd_fail(&st, TFD_UNIMPLEMENTED, "%s is not implemented",
                       tfd_service_path(call->method));
    tfd_call_fail(call, &st);
}

/* The meter may be gone when this returns. */
static void end_meter(struct tfd_call *call, uint64_t response_size)
{
    struct tfd_meter *m = call->meter;

    if (!m)
        return;
    call->meter = NULL;
    m->sent += response_size;
    tfd_meter_give_back(m, call->request_size);
    tfd_meter_unref(m);
}

/* The call is gone when this returns. */
static void answer_call(struct tfd_call *call, const struct tfd_status *st,
                        struct tfd_message *response)
{
    struct tfd_service *s = call->service;
    struct tfd_method_stats *stats = &s->methods[call->method].stats;
    uint64_t size = response ? tfd_message_size(response) : 0;
    bool endless = is_endless(call->method);

    tfd_histogram_add(&stats->durations,
                      tfd_loop_now_us(s->loop) - call->start_us);
    if (st)
        stats->failures++;
    stats->response_bytes += size;
    end_meter(call, size);
    call->cancelled = NULL;
    call->received = NULL;
    call->ended = NULL;
    call->answer(call, st, response);
    if (!endless)
        s->in_flight--;
    check_drained(s);
}

void tfd_call_respond(struct tfd_call *call, struct tfd_message *take_response)
{
    struct tfd_status st;

    tfd_status_clear(&st);
    if (tfd_bytes_ok(&take_response->proto, "the response", &st) == TFD_OK)
        answer_call(call, NULL, take_response);
    else
        answer_call(call, &st, NULL);
    tfd_message_deinit(take_response);
}

enum tfd_code tfd_call_send(struct tfd_call *call, struct tfd_message *m,
                            struct tfd_status *st)
{
    enum tfd_code rc = tfd_bytes_ok(&m->proto, "a message of a stream", st);

    if (rc == TFD_OK && !call->send)
        rc = tfd_fail(st, TFD_UNIMPLEMENTED,
                      "%s is a stream, which native frames have not",
                      tfd_service_path(call->method));
    if (rc == TFD_OK)
        rc = call->send(call, m, st);
    tfd_message_deinit(m);
    return rc;
}

void tfd_call_fail(struct tfd_call *call, const struct tfd_status *st)
{
    assert(st->code != TFD_OK);
    answer_call(call, st, NULL);
}

int tfd_service_in_flight(const struct tfd_service *s)
{
    return s->in_flight;
}

void tfd_service_drain(struct tfd_service *s, void (*drained)(void *ctx),
                       void *ctx)
{
    bool begins = !s->draining;

    s->draining = true;
    s->drained = drained;
    s->drained_ctx = ctx;
    if (begins && s->on_drain)
        s->on_drain(s->on_drain_ctx);
    check_drained(s);
}

void tfd_service_on_drain(struct tfd_service *s, void (*fn)(void *ctx),
                          void *ctx)
{
    s->on_drain = fn;
    s->on_drain_ctx = ctx;
}

void tfd_service_spare(struct tfd_service *s,
                       bool (*fn)(void *ctx, const struct tfd_call *call),
                       void *ctx)
{
    s->spares = fn;
    s->spares_ctx = ctx;
}

bool tfd_service_draining(const struct tfd_service *s)
{
    return s->draining;
}

const struct tfd_method_stats *tfd_service_stats(const struct tfd_service *s,
                                                 enum tfd_method_number m)
{
    assert(m > 0 && m < TFD_METHOD_END);
    return &s->methods[m].stats;
}

/* ---- Pages --------------------------------------------------------------- */

enum tfd_code tfd_service_page(struct tfd_service *s, const char *path,
                               tfd_page_fn *fn, void *self,
                               struct tfd_status *st)
{
    if (s->page_count == TFD_PAGES_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "page %s: there are %d already", path, TFD_PAGES_MAX);
    s->pages[s->page_count++] = (struct page){path, fn, self};
    return TFD_OK;
}

tfd_page_fn *tfd_service_find_page(const struct tfd_service *s,
                                   struct tfd_str path, void **self)
{
    for (int i = 0; i < s->page_count; i++) {
        if (!tfd_str_is(path, s->pages[i].path))
            continue;
        *self = s->pages[i].self;
        return s->pages[i].fn;
    }
    return NULL;
}

enum tfd_code tfd_service_request_end(const struct tfd_pb_reader *r,
                                      struct tfd_status *st)
{
    if (!r->failed)
        return TFD_OK;
    return tfd_fail(st, TFD_INTERNAL, "Unable to parse request");
}
