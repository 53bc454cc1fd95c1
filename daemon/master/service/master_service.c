/*
 * master_service.c - MasterService but RunStep, which has run_step.c to itself.
 */
#include "daemon/master/service/master_service.h"

#include "common/proto/master.pb.h"
#include "config/limits.h"
#include "daemon/device_proto.h"
#include "daemon/master/session/session_idle.h"
#include "daemon/master/session/callable_calls.h"
#include "daemon/rewrite/names.h"
#include "daemon/master/session/partial_run.h"
#include "daemon/master/service/run_step.h"
#include "daemon/master/service/trace_steps.h"

#include <stdio.h>
#include <stdlib.h>

struct tfd_master_service {
    struct tfd_master *master;
    struct tfd_seen_ids *seen;
    struct tfd_run_step_service *run_step;
    struct tfd_callable_calls callables;
    struct tfd_trace_steps trace;
};

static void answer_call(struct tfd_call *call, struct tfd_message *m)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (tfd_bytes_ok(&m->proto, "the response", &st) != TFD_OK) {
        tfd_message_deinit(m);
        tfd_call_fail(call, &st);
        return;
    }
    tfd_call_respond(call, m);
}

/* An empty response, or the failure. */
static void answer_empty(void *ctx, const struct tfd_status *st)
{
    struct tfd_call *call = ctx;
    struct tfd_message m;

    if (st->code != TFD_OK) {
        tfd_call_fail(call, st);
        return;
    }
    tfd_message_init(&m, call->native);
    answer_call(call, &m);
}

/* The one string field `tag` of a request. */
static enum tfd_code string_field(struct tfd_str message, uint32_t tag,
                                  struct tfd_str *out, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;

    *out = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f))
        if (f.tag == tag)
            *out = tfd_pb_str(&r, &f);
    return tfd_service_request_end(&r, st);
}

/* ---- CreateSession ------------------------------------------------------- */

static void session_created(void *ctx, const struct tfd_status *st,
                            struct tfd_session *session)
{
    struct tfd_call *call = ctx;
    struct tfd_message m;

    if (st->code != TFD_OK) {
        tfd_call_fail(call, st);
        return;
    }
    tfd_session_use(session, call->link);
    tfd_call_meter(call, session->meter);
    tfd_message_init(&m, call->native);
    tfd_pb_put_str(&m.proto,
                   tensorflow_CreateSessionResponse_session_handle_tag,
                   tfd_str_of(tfd_session_handle(session)));
    answer_call(call, &m);
}

static void creation_cancelled(void *ctx, struct tfd_call *call)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)call;
    (void)tfd_fail(&st, TFD_CANCELLED,
                   "CreateSession was cancelled by the client");
    tfd_master_cancel_create(ctx, &st);
}

static void create_session(void *self, struct tfd_call *call)
{
    struct tfd_master_service *s = self;
    struct tfd_create_session c = {
        .done = session_created, .ctx = call, .client = call->peer};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_create *creation;

    if (call->origin)
        c.peer = call->origin->key;

    if (string_field(call->in.proto,
                     tensorflow_CreateSessionRequest_graph_def_tag,
                     &c.graph_def, &st) != TFD_OK ||
        string_field(call->in.proto, tensorflow_CreateSessionRequest_config_tag,
                     &c.config, &st) != TFD_OK ||
        string_field(call->in.proto, tensorflow_CreateSessionRequest_target_tag,
                     &c.target, &st) != TFD_OK) {
        tfd_call_fail(call, &st);
        return;
    }
    creation = tfd_master_create_session(s->master, &c);
    if (!creation)
        return; /* answered, and gone */
    call->ctx = creation;
    call->cancelled = creation_cancelled;
}

/* ---- ExtendSession ------------------------------------------------------- */

static void session_extended(void *ctx, const struct tfd_status *st,
                             int64_t version)
{
    struct tfd_call *call = ctx;
    struct tfd_message m;

    if (st->code != TFD_OK) {
        tfd_call_fail(call, st);
        return;
    }
    tfd_message_init(&m, call->native);
    tfd_pb_put_int(&m.proto,
                   tensorflow_ExtendSessionResponse_new_graph_version_tag,
                   version);
    answer_call(call, &m);
}

static void extension_cancelled(void *ctx, struct tfd_call *call)
{
    (void)call;
    tfd_session_cancel_extend(ctx);
}

static enum tfd_code read_extension(struct tfd_master *m,
                                    const struct tfd_call *call,
                                    struct tfd_session **session,
                                    struct tfd_extend_session *x,
                                    struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(call->in.proto);
    struct tfd_str handle = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_ExtendSessionRequest_session_handle_tag)
            handle = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_ExtendSessionRequest_graph_def_tag)
            x->graph_def = tfd_pb_str(&r, &f);
        else if (f.tag ==
                 tensorflow_ExtendSessionRequest_current_graph_version_tag)
            x->version = tfd_pb_int64(&r, &f);
    }
    TFD_TRY(tfd_service_request_end(&r, st));
    return tfd_master_find(m, handle, session, st);
}

static void extend_session(void *self, struct tfd_call *call)
{
    struct tfd_master_service *s = self;
    struct tfd_extend_session x = {
        .graph_def = TFD_STR_EMPTY, .done = session_extended, .ctx = call};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_extend *extension;
    struct tfd_session *session;

    if (read_extension(s->master, call, &session, &x, &st) != TFD_OK) {
        tfd_call_fail(call, &st);
        return;
    }
    tfd_session_use(session, call->link);
    tfd_call_meter(call, session->meter);
    extension = tfd_session_extend(session, &x);
    if (!extension)
        return; /* answered, and gone */
    call->ctx = extension;
    call->cancelled = extension_cancelled;
}

/* ---- CloseSession, Reset ------------------------------------------------- */

/* What TensorFlow adds where no step is asked for. */
static void not_found(struct tfd_call *call, enum tfd_code code,
                      struct tfd_str handle)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)tfd_fail(&st, code,
                   "Session " TFD_STR_FMT
                   " is not found. Possibly, this master has restarted.",
                   TFD_STR_ARG(handle));
    tfd_call_fail(call, &st);
}

static void close_session(void *self, struct tfd_call *call)
{
    struct tfd_master_service *s = self;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_session *session;
    struct tfd_str handle;

    if (string_field(call->in.proto,
                     tensorflow_CloseSessionRequest_session_handle_tag, &handle,
                     &st) != TFD_OK)
        tfd_call_fail(call, &st);
    else if (tfd_master_find(s->master, handle, &session, NULL) != TFD_OK)
        not_found(call, TFD_ABORTED, handle);
    else
        tfd_session_close(session, answer_empty, call);
}

/* The fields with this tag, at most max of them. */
static enum tfd_code names_in(struct tfd_str request, uint32_t tag, int max,
                              const char *what, struct tfd_names *out,
                              struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(request);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag)
            TFD_TRY(tfd_names_add(out, tfd_pb_str(&r, &f), max, what, st));
    return tfd_service_request_end(&r, st);
}

static void reset(void *self, struct tfd_call *call)
{
    struct tfd_master_service *s = self;
    struct tfd_names containers = {NULL, 0, 0}, filters = {NULL, 0, 0};
    struct tfd_status st = TFD_STATUS_INIT;

    if (names_in(call->in.proto, tensorflow_ResetRequest_container_tag,
                 TFD_CONTAINERS_MAX, "containers", &containers,
                 &st) == TFD_OK &&
        names_in(call->in.proto, tensorflow_ResetRequest_device_filters_tag,
                 TFD_DEVICE_FILTERS_MAX, "filters", &filters, &st) == TFD_OK) {
        struct tfd_reset q = {containers.list, containers.count, filters.list,
                              filters.count};

        tfd_master_reset(s->master, &q, answer_empty, call);
    } else {
        tfd_call_fail(call, &st);
    }
    free(containers.list);
    free(filters.list);
}

/* ---- PartialRunSetup ----------------------------------------------------- */

#define SETUP(field) tensorflow_PartialRunSetupRequest_##field##_tag

static void partial_run_set_up(void *ctx, const struct tfd_status *st,
                               int64_t handle)
{
    struct tfd_call *call = ctx;
    struct tfd_message m;
    char text[32];

    if (st->code != TFD_OK) {
        tfd_call_fail(call, st);
        return;
    }
    snprintf(text, sizeof(text), "%lld", (long long)handle);
    tfd_message_init(&m, call->native);
    tfd_pb_put_str(&m.proto,
                   tensorflow_PartialRunSetupResponse_partial_run_handle_tag,
                   tfd_str_of(text));
    answer_call(call, &m);
}

static enum tfd_code find_for_setup(struct tfd_master_service *s,
                                    struct tfd_str request,
                                    struct tfd_session **out,
                                    struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(request);
    struct tfd_str handle = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    int64_t id = 0;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == SETUP(session_handle))
            handle = tfd_pb_str(&r, &f);
        else if (f.tag == SETUP(request_id))
            id = tfd_pb_int64(&r, &f);
    }
    TFD_TRY(tfd_service_request_end(&r, st));
    TFD_TRY(tfd_seen_ids_add(s->seen, id, "PartialRunSetup", handle, st));
    return tfd_master_find(s->master, handle, out, st);
}

static void partial_run_setup(void *self, struct tfd_call *call)
{
    struct tfd_names feeds = {NULL, 0, 0}, fetches = feeds, targets = feeds;
    struct tfd_str q = call->in.proto;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_session *session;

    if (names_in(q, SETUP(feed), TFD_FEEDS_MAX, "feeds", &feeds, &st) ==
            TFD_OK &&
        names_in(q, SETUP(fetch), TFD_FETCHES_MAX, "fetches", &fetches, &st) ==
            TFD_OK &&
        names_in(q, SETUP(target), TFD_TARGETS_MAX, "targets", &targets, &st) ==
            TFD_OK &&
        find_for_setup(self, q, &session, &st) == TFD_OK) {
        struct tfd_run_step names = {.feed_names = feeds.list,
                                     .feed_count = feeds.count,
                                     .fetch_names = fetches.list,
                                     .fetch_count = fetches.count,
                                     .target_names = targets.list,
                                     .target_count = targets.count};

        tfd_call_meter(call, session->meter);
        tfd_partial_run_setup(session, &names, partial_run_set_up, call);
    } else {
        tfd_call_fail(call, &st);
    }
    free(feeds.list);
    free(fetches.list);
    free(targets.list);
}

/* ---- ListDevices --------------------------------------------------------- */

/* Without a session every task is asked; the answer is written as they come. */
struct listing {
    struct tfd_call *call; /* NULL: the client has left, and was told */
    struct tfd_message message;
    struct tfd_status status;
    int pending;
};

struct listed {
    struct listing *listing;
    bool own;
};

static void listing_done(struct listing *l)
{
    if (--l->pending > 0)
        return;
    if (!l->call) {
        tfd_message_deinit(&l->message);
    } else if (l->status.code != TFD_OK) {
        tfd_message_deinit(&l->message);
        tfd_call_fail(l->call, &l->status);
    } else {
        answer_call(l->call, &l->message);
    }
    free(l);
}

static void one_listed(void *ctx, const struct tfd_status *st,
                       const struct tfd_device_attributes *devices, int count)
{
    struct listed *task = ctx;
    struct listing *l = task->listing;

    tfd_status_copy(&l->status, st);
    for (int i = 0; st->code == TFD_OK && i < count; i++)
        tfd_device_proto_put(
            &l->message.proto,
            task->own ? tensorflow_ListDevicesResponse_local_device_tag
                      : tensorflow_ListDevicesResponse_remote_device_tag,
            &devices[i]);
    free(task);
    listing_done(l);
}

static void listing_cancelled(void *ctx, struct tfd_call *call)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct listing *l = ctx;

    l->call = NULL;
    (void)tfd_fail(&st, TFD_CANCELLED,
                   "ListDevices was cancelled by the client");
    tfd_call_fail(call, &st);
}

static void list_all(struct tfd_master *m, struct tfd_call *call)
{
    struct listing *l = calloc(1, sizeof(*l));
    struct tfd_status st = TFD_STATUS_INIT;

    if (!l) {
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                       "No memory to list devices");
        tfd_call_fail(call, &st);
        return;
    }
    l->call = call;
    call->ctx = l;
    call->cancelled = listing_cancelled;
    l->pending = 1;
    tfd_message_init(&l->message, call->native);
    for (int i = 0; i < tfd_master_peer_count(m); i++) {
        struct listed *task = malloc(sizeof(*task));

        if (!task) {
            (void)tfd_fail(&l->status, TFD_RESOURCE_EXHAUSTED,
                           "No memory to list devices");
            break;
        }
        *task = (struct listed){l, i == tfd_master_own_peer(m)};
        l->pending++;
        tfd_master_list(m, i, one_listed, task);
    }
    listing_done(l);
}

static void list_devices(void *self, struct tfd_call *call)
{
    struct tfd_master_service *s = self;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_session *session;
    struct tfd_str handle;
    struct tfd_message m;

    if (string_field(call->in.proto,
                     tensorflow_ListDevicesRequest_session_handle_tag, &handle,
                     &st) != TFD_OK) {
        tfd_call_fail(call, &st);
        return;
    }
    if (handle.size == 0) {
        list_all(s->master, call);
        return;
    }
    if (tfd_master_find(s->master, handle, &session, NULL) != TFD_OK) {
        not_found(call, TFD_INVALID_ARGUMENT, handle);
        return;
    }
    tfd_call_meter(call, session->meter);
    tfd_message_init(&m, call->native);
    for (int i = 0; i < tfd_session_devices(session)->count; i++)
        tfd_device_proto_put(
            &m.proto,
            i > 0 && tfd_session_renamed(session)
                ? tensorflow_ListDevicesResponse_remote_device_tag
                : tensorflow_ListDevicesResponse_local_device_tag,
            &tfd_session_devices(session)->devices[i].attributes);
    answer_call(call, &m);
}

/* ---- The table ----------------------------------------------------------- */

enum tfd_code tfd_master_service_new(struct tfd_master *m,
                                     struct tfd_service *service,
                                     struct tfd_master_service **out,
                                     struct tfd_status *st)
{
    static const struct {
        enum tfd_method_number method;
        tfd_handler_fn *handler;
    } rows[] = {
        {TFD_METHOD_CreateSession, create_session},
        {TFD_METHOD_ExtendSession, extend_session},
        {TFD_METHOD_CloseSession, close_session},
        {TFD_METHOD_ListDevices, list_devices},
        {TFD_METHOD_Reset, reset},
        {TFD_METHOD_PartialRunSetup, partial_run_setup},
    };
    struct tfd_master_service *s = calloc(1, sizeof(*s));

    if (s)
        s->seen = tfd_seen_ids_new();
    if (s && s->seen)
        s->run_step = tfd_run_step_service_new(m, s->seen);
    if (!s || !s->run_step) {
        if (s)
            tfd_seen_ids_free(s->seen);
        free(s);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "No memory for MasterService");
    }
    s->master = m;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tfd_service_bind(service, rows[i].method, rows[i].handler, s);
    tfd_service_bind(service, TFD_METHOD_RunStep, tfd_run_step_handle,
                     s->run_step);
    s->callables = (struct tfd_callable_calls){m, s->seen};
    tfd_callable_calls_bind(&s->callables, service);
    tfd_trace_steps_bind(&s->trace, m, service);
    *out = s;
    return TFD_OK;
}

void tfd_master_service_free(struct tfd_master_service *s)
{
    tfd_trace_steps_deinit(&s->trace);
    tfd_run_step_service_free(s->run_step);
    tfd_seen_ids_free(s->seen);
    free(s);
}
