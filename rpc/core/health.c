/*
 * health.c - the handlers of Check and Watch, and the names of services that
 * they know: see health.h.
 */
#include "rpc/core/health.h"

#include "common/proto/health.pb.h"

#include <stdlib.h>

/* HealthCheckResponse.status */
#define SERVING 1
#define NOT_SERVING 2
#define SERVICE_UNKNOWN 3

static const char *const names[] = {
    "", /* the whole server */
    "tensorflow.MasterService",
    "tensorflow.WorkerService",
};

static enum tfd_code read_name(struct tfd_str request, struct tfd_str *name,
                               struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(request);
    struct tfd_pb_field f;

    *name = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f))
        if (f.tag == grpc_health_v1_HealthCheckRequest_service_tag)
            *name = tfd_pb_str(&r, &f);
    return tfd_pb_end(&r, "HealthCheckRequest", st);
}

static enum tfd_code find_name(struct tfd_str name, struct tfd_status *st)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (tfd_str_is(name, names[i]))
            return TFD_OK;
    return tfd_fail(st, TFD_NOT_FOUND, "no service named " TFD_STR_FMT,
                    TFD_STR_ARG(name));
}

static void put_status(struct tfd_message *m, const struct tfd_call *call,
                       int status)
{
    tfd_message_init(m, call->native);
    tfd_pb_put_int(&m->proto, grpc_health_v1_HealthCheckResponse_status_tag,
                   status);
}

static int status_of(const struct tfd_health *h)
{
    return tfd_service_draining(h->service) ? NOT_SERVING : SERVING;
}

static void check_health(void *self, struct tfd_call *call)
{
    struct tfd_health *h = self;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message m;
    struct tfd_str name;

    if (read_name(call->in.proto, &name, &st) != TFD_OK ||
        find_name(name, &st) != TFD_OK) {
        tfd_call_fail(call, &st);
        return;
    }
    put_status(&m, call, status_of(h));
    tfd_call_respond(call, &m);
}

/* ---- Watch --------------------------------------------------------------- */

struct tfd_watcher {
    struct tfd_health *health;
    struct tfd_call *call;
    bool known; /* its name */
    struct tfd_watcher *next, *previous;
};

/* Answers the call, too. */
static void end_watch(struct tfd_watcher *w, const struct tfd_status *why)
{
    struct tfd_call *call = w->call;

    if (w->previous)
        w->previous->next = w->next;
    else
        w->health->watchers = w->next;
    if (w->next)
        w->next->previous = w->previous;
    free(w);
    tfd_call_fail(call, why);
}

static void watch_cancelled(void *ctx, struct tfd_call *call)
{
    struct tfd_status why = TFD_STATUS_INIT;

    (void)call;
    tfd_fail(&why, TFD_CANCELLED, "nobody watches any more");
    end_watch(ctx, &why);
}

static void tell_watcher(struct tfd_watcher *w)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message m;

    put_status(&m, w->call, w->known ? status_of(w->health) : SERVICE_UNKNOWN);
    if (tfd_call_send(w->call, &m, &st) != TFD_OK)
        end_watch(w, &st);
}

static void watch(void *self, struct tfd_call *call)
{
    struct tfd_health *h = self;
    struct tfd_watcher *w = calloc(1, sizeof(*w));
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_str name;

    if (!w)
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory to watch");
    if (!w || read_name(call->in.proto, &name, &st) != TFD_OK) {
        free(w);
        tfd_call_fail(call, &st);
        return;
    }
    *w = (struct tfd_watcher){.health = h, .call = call, .next = h->watchers};
    w->known = find_name(name, NULL) == TFD_OK;
    if (w->next)
        w->next->previous = w;
    h->watchers = w;
    call->ctx = w;
    call->cancelled = watch_cancelled;
    tell_watcher(w);
}

static void draining(void *ctx)
{
    struct tfd_health *h = ctx;
    struct tfd_watcher *w = h->watchers;

    while (w) {
        struct tfd_watcher *next = w->next; /* telling may end w, and only w */

        if (w->known)
            tell_watcher(w);
        w = next;
    }
}

void tfd_health_bind(struct tfd_health *h, struct tfd_service *s)
{
    *h = (struct tfd_health){.service = s};
    tfd_service_bind(s, TFD_METHOD_Check, check_health, h);
    tfd_service_bind(s, TFD_METHOD_Watch, watch, h);
    tfd_service_on_drain(s, draining, h);
}
