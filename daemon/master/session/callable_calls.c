/*
 * callable_calls.c - see callable_calls.h.  Failures are statuses of the call,
 * never in the response: the messages have no field for them.
 */
#include "daemon/master/session/callable_calls.h"

#include "common/proto/config.pb.h"
#include "common/proto/master.pb.h"
#include "config/limits.h"
#include "daemon/master/session/callable.h"
#include "daemon/master/session/session.h"
#include "daemon/rewrite/names.h"
#include "kernels/core/runtime.h"

#include <stdlib.h>

#define OPTIONS(field) tensorflow_CallableOptions_##field##_tag
#define MAKE(field) tensorflow_MakeCallableRequest_##field##_tag
#define RUN(field) tensorflow_RunCallableRequest_##field##_tag
#define RELEASE(field) tensorflow_ReleaseCallableRequest_##field##_tag

/* The fields that the three requests share. */
struct head {
    struct tfd_str session;
    int64_t request_id;
    int64_t handle;
};

static enum tfd_code find_session(struct tfd_callable_calls *c,
                                  struct tfd_call *call, const struct head *h,
                                  const char *method, struct tfd_session **out,
                                  struct tfd_status *st)
{
    TFD_TRY(tfd_seen_ids_add(c->seen, h->request_id, method, h->session, st));
    TFD_TRY(tfd_master_find(c->master, h->session, out, st));
    tfd_call_meter(call, (*out)->meter);
    return TFD_OK;
}

/* ---- MakeCallable -------------------------------------------------------- */

struct making {
    struct head head;
    struct tfd_names feeds, fetches, targets;
    struct tfd_names connections; /* from, to, from, to, ... */
    struct tfd_run_options options;
};

static enum tfd_code add_connection(struct making *k, struct tfd_str bytes,
                                    struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_str ends[2] = {TFD_STR_EMPTY, TFD_STR_EMPTY};
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_TensorConnection_from_tensor_tag)
            ends[0] = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_TensorConnection_to_tensor_tag)
            ends[1] = tfd_pb_str(&r, &f);
    }
    TFD_TRY(tfd_service_request_end(&r, st));
    for (int i = 0; i < 2; i++)
        TFD_TRY(tfd_names_add(&k->connections, ends[i],
                              2 * TFD_TENSOR_CONNECTIONS_MAX,
                              "ends of tensor connections", st));
    return TFD_OK;
}

static enum tfd_code decode_option(struct tfd_master *m, struct making *k,
                                   struct tfd_pb_reader *r,
                                   const struct tfd_pb_field *f,
                                   struct tfd_status *st)
{
    switch (f->tag) {
    case OPTIONS(feed):
        return tfd_names_add(&k->feeds, tfd_pb_str(r, f), TFD_FEEDS_MAX,
                             "feeds", st);
    case OPTIONS(fetch):
        return tfd_names_add(&k->fetches, tfd_pb_str(r, f), TFD_FETCHES_MAX,
                             "fetches", st);
    case OPTIONS(target):
        return tfd_names_add(&k->targets, tfd_pb_str(r, f), TFD_TARGETS_MAX,
                             "targets", st);
    case OPTIONS(run_options):
        return tfd_run_options_read(m, tfd_pb_str(r, f), &k->options, st);
    case OPTIONS(tensor_connection):
        return add_connection(k, tfd_pb_str(r, f), st);
    case OPTIONS(feed_devices):
    case OPTIONS(fetch_devices):
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "CallableOptions::feed_devices and "
                        "CallableOptions::fetch_devices to configure "
                        "feeding/fetching tensors to/from device memory is "
                        "not yet supported when using a remote session.");
    default: /* fetch_skip_sync: there is nothing to wait for on a CPU */
        return TFD_OK;
    }
}

static enum tfd_code decode_options(struct tfd_master *m, struct making *k,
                                    struct tfd_str bytes, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        TFD_TRY(decode_option(m, k, &r, &f, st));
    return tfd_service_request_end(&r, st);
}

static enum tfd_code decode_making(struct tfd_master *m, struct tfd_str proto,
                                   struct making *k, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_str options = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == MAKE(session_handle))
            k->head.session = tfd_pb_str(&r, &f);
        else if (f.tag == MAKE(request_id))
            k->head.request_id = tfd_pb_int64(&r, &f);
        else if (f.tag == MAKE(options))
            options = tfd_pb_str(&r, &f);
    }
    TFD_TRY(tfd_service_request_end(&r, st));
    return decode_options(m, k, options, st);
}

static void made(void *ctx, const struct tfd_status *st, int64_t handle)
{
    struct tfd_call *call = ctx;
    struct tfd_message m;

    if (st->code != TFD_OK) {
        tfd_call_fail(call, st);
        return;
    }
    tfd_message_init(&m, call->native);
    tfd_pb_put_int(&m.proto, tensorflow_MakeCallableResponse_handle_tag,
                   handle);
    tfd_call_respond(call, &m);
}

static void make_callable(void *self, struct tfd_call *call)
{
    struct tfd_callable_calls *c = self;
    struct making k = {.head.session = TFD_STR_EMPTY};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_session *session;

    if (decode_making(c->master, call->in.proto, &k, &st) == TFD_OK &&
        find_session(c, call, &k.head, "MakeCallable", &session, &st) ==
            TFD_OK) {
        struct tfd_run_step names = {.feed_names = k.feeds.list,
                                     .feed_count = k.feeds.count,
                                     .fetch_names = k.fetches.list,
                                     .fetch_count = k.fetches.count,
                                     .target_names = k.targets.list,
                                     .target_count = k.targets.count,
                                     .connections = k.connections.list,
                                     .connection_count =
                                         k.connections.count / 2};

        tfd_callable_make(session, &names, &k.options, made, call);
    } else {
        tfd_call_fail(call, &st);
    }
    free(k.feeds.list);
    free(k.fetches.list);
    free(k.targets.list);
    free(k.connections.list);
}

/* ---- RunCallable --------------------------------------------------------- */

struct running {
    struct tfd_run_step run; /* first: callable_done() finds us */
    struct tfd_call *call;
    struct tfd_session *session;
    int feed_room;
};

static void end_callable(struct running *x)
{
    for (int i = 0; i < x->run.feed_count; i++)
        tfd_tensor_unref(&x->run.feeds[i]);
    free(x->run.feeds);
    tfd_run_trace_free(x->run.trace);
    free(x);
}

static void callable_done(struct tfd_run_step *run, const struct tfd_status *st,
                          struct tfd_tensor *fetches, uint32_t plan)
{
    struct running *x = (struct running *)run;
    struct tfd_call *call = x->call;
    struct tfd_message m;

    (void)plan;
    if (st->code != TFD_OK) {
        tfd_call_fail(call, st);
        end_callable(x);
        return;
    }
    tfd_message_init(&m, call->native);
    for (int i = 0; i < run->fetch_count; i++)
        tfd_message_put_tensor(&m, tensorflow_RunCallableResponse_fetch_tag,
                               &fetches[i], tfd_handle_encode);
    tfd_run_trace_put(&m.proto, tensorflow_RunCallableResponse_metadata_tag,
                      run->trace);
    tfd_call_respond(call, &m);
    end_callable(x);
}

static void callable_cancelled(void *ctx, struct tfd_call *call)
{
    struct running *x = ctx;

    (void)call;
    tfd_session_cancel(x->session, &x->run);
}

static enum tfd_code add_feed(struct running *x, struct tfd_str bytes,
                              struct tfd_status *st)
{
    int at = x->run.feed_count;

    if (at == x->feed_room) {
        int room = at ? 2 * at : 8;
        struct tfd_tensor *grown =
            realloc(x->run.feeds, (size_t)room * sizeof(*grown));

        if (!grown || at >= TFD_FEEDS_MAX)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "More than %d feeds in one step, or no memory for "
                            "them",
                            TFD_FEEDS_MAX);
        x->run.feeds = grown;
        x->feed_room = room;
    }
    if (tfd_tensor_decode(&x->call->in, bytes, tfd_handle_decode,
                          &x->run.feeds[at], st) != TFD_OK) {
        tfd_status_context(st, "Invalid TensorProto for feed value %d", at);
        return st->code;
    }
    x->run.feed_count++;
    return TFD_OK;
}

static enum tfd_code decode_running(struct running *x, struct head *h,
                                    struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(x->call->in.proto);
    struct tfd_pb_field f;

    h->session = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == RUN(session_handle))
            h->session = tfd_pb_str(&r, &f);
        else if (f.tag == RUN(handle))
            h->handle = tfd_pb_int64(&r, &f);
        else if (f.tag == RUN(request_id))
            h->request_id = tfd_pb_int64(&r, &f);
        else if (f.tag == RUN(feed))
            TFD_TRY(add_feed(x, tfd_pb_str(&r, &f), st));
    }
    return tfd_service_request_end(&r, st);
}

/* TensorFlow runs with whatever is there when feeds are missing. */
static enum tfd_code use_callable(struct running *x,
                                  const struct tfd_callable *c,
                                  struct tfd_status *st)
{
    struct tfd_run_options options = c->options;
    struct tfd_run_step *run = &x->run;

    if (run->feed_count != c->names.feed_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Callable %lld takes %d feeds, %d were given",
                        (long long)c->handle, c->names.feed_count,
                        run->feed_count);
    run->feed_names = c->names.feed_names;
    run->fetch_names = c->names.fetch_names;
    run->fetch_count = c->names.fetch_count;
    run->target_names = c->names.target_names;
    run->target_count = c->names.target_count;
    run->connections = c->names.connections;
    run->connection_count = c->names.connection_count;
    run->timeout_us = c->options.timeout_us;
    run->done = callable_done;
    options.costs = tfd_session_wants_costs(x->session);
    return tfd_run_trace_new(&options, &run->trace, st);
}

static enum tfd_code prepare_callable(struct tfd_callable_calls *c,
                                      struct running *x, struct tfd_status *st)
{
    const struct tfd_callable *callable;
    struct head h = {.handle = 0};

    TFD_TRY(decode_running(x, &h, st));
    TFD_TRY(find_session(c, x->call, &h, "RunCallable", &x->session, st));
    TFD_TRY(tfd_callable_find(x->session, h.handle, &callable, st));
    return use_callable(x, callable, st);
}

static void run_callable(void *self, struct tfd_call *call)
{
    struct running *x = calloc(1, sizeof(*x));
    struct tfd_status st = TFD_STATUS_INIT;

    if (!x) {
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "No memory for a step");
        tfd_call_fail(call, &st);
        return;
    }
    x->call = call;
    if (prepare_callable(self, x, &st) != TFD_OK) {
        tfd_call_fail(call, &st);
        end_callable(x);
        return;
    }
    call->ctx = x;
    call->cancelled = callable_cancelled;
    tfd_session_run(x->session, &x->run);
}

/* ---- ReleaseCallable ----------------------------------------------------- */

static void release_callables(void *self, struct tfd_call *call)
{
    struct tfd_callable_calls *c = self;
    struct tfd_pb_reader r = tfd_pb_reader_of(call->in.proto);
    struct tfd_str handle = TFD_STR_EMPTY;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_session *session;
    struct tfd_pb_field f;
    struct tfd_message m;
    int64_t number = 0;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == RELEASE(session_handle))
            handle = tfd_pb_str(&r, &f);
        else if (f.tag == RELEASE(handle))
            number = tfd_pb_int64(&r, &f);
    }
    if (tfd_service_request_end(&r, &st) != TFD_OK ||
        tfd_master_find(c->master, handle, &session, &st) != TFD_OK) {
        tfd_call_fail(call, &st);
        return;
    }
    tfd_call_meter(call, session->meter);
    tfd_callable_release(session, number);
    tfd_message_init(&m, call->native);
    tfd_call_respond(call, &m);
}

void tfd_callable_calls_bind(struct tfd_callable_calls *c,
                             struct tfd_service *service)
{
    tfd_service_bind(service, TFD_METHOD_MakeCallable, make_callable, c);
    tfd_service_bind(service, TFD_METHOD_RunCallable, run_callable, c);
    tfd_service_bind(service, TFD_METHOD_ReleaseCallable, release_callables, c);
}
