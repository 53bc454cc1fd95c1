/*
 * remote_worker.c - encodes worker_api.h into WorkerService calls.
 *
 * A graph is known to the master by a number: the index into the table of
 * handles that the worker gave; a session that is deleted takes its rows along.
 * The state of calls is pooled.  The table and the pool outlive
 * tfd_remote_worker_free() until the last call has been answered.
 */
#define _GNU_SOURCE 1 /* strndup */

#include "daemon/master/remote_worker.h"

#include "common/proto/config.pb.h"
#include "common/proto/worker.pb.h"
#include "config/device_name.h"
#include "config/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PROMPT_US 60000000u /* for calls that a live peer answers at once */

struct graph {
    char *handle; /* NULL: free */
    char session[TFD_SESSION_HANDLE_MAX];
    size_t next; /* number of the next free row, 0: none */
};

struct remote;

/* One call in flight. */
struct call {
    struct remote *remote;
    struct tfd_outcall *outcall;
    struct call *next; /* pooled, or among those that may be cancelled */
    bool listed;       /* there */
    struct tfd_run_graph *run;
    const struct tfd_register_graph *graph;
    union {
        tfd_worker_done_fn *done;
        tfd_worker_status_fn *status;
        tfd_worker_registered_fn *registered;
    };
    void *ctx;
};

struct remote {
    struct tfd_worker worker; /* first: what others see */
    struct tfd_loop *loop;
    struct tfd_channel *channel;
    struct graph *graphs; /* graph number n is graphs[n - 1] */
    size_t graph_count;
    size_t free_graph; /* number of a free row, 0: none */
    struct call *idle;
    struct call *cancellable;
    int calls; /* not yet answered */
    bool freed;
    int64_t request_id;
};

static struct remote *remote_of(struct tfd_worker *w)
{
    return (struct remote *)w;
}

static const struct remote *remote_of_const(const struct tfd_worker *w)
{
    return (const struct remote *)w;
}

static struct call *new_call(struct remote *r)
{
    struct call *c = r->idle;

    if (c)
        r->idle = c->next;
    else
        c = malloc(sizeof(*c));
    if (c) {
        memset(c, 0, sizeof(*c));
        c->remote = r;
        r->calls++;
    }
    return c;
}

/* cancel_call() finds it by its ctx. */
static void list_call(struct call *c)
{
    c->listed = true;
    c->next = c->remote->cancellable;
    c->remote->cancellable = c;
}

/* Before its done() is called. */
static void delist_call(struct call *c)
{
    struct call **at = &c->remote->cancellable;

    if (!c->listed)
        return;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->listed = false;
}

static void cancel_call(struct tfd_worker *w, const void *ctx)
{
    for (struct call *c = remote_of(w)->cancellable; c; c = c->next)
        if (c->ctx == ctx)
            tfd_channel_cancel(c->outcall);
}

static void delete_remote(struct remote *r);

/* The last thing a call does. */
static void free_call(struct call *c)
{
    struct remote *r = c->remote;

    c->next = r->idle;
    r->idle = c;
    if (--r->calls == 0 && r->freed)
        delete_remote(r);
}

static void no_memory(struct tfd_status *st)
{
    tfd_status_clear(st);
    (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a call");
}

static void send(struct call *c, enum tfd_method_number method,
                 struct tfd_message *m, uint64_t timeout_us, bool wait,
                 tfd_outcall_fn *done)
{
    struct tfd_outcall_options o = {.timeout_us = timeout_us,
                                    .wait_ready = wait};

    c->outcall = tfd_channel_call(c->remote->channel, method, m, &o, done, c);
}

static void begin(struct remote *r, struct tfd_message *m)
{
    tfd_message_init(m, tfd_channel_protocol(r->channel) == TFD_PROTO_NATIVE);
}

/* ---- GetStatus ----------------------------------------------------------- */

static void copy_text(char *out, size_t size, struct tfd_str s)
{
    snprintf(out, size, "%.*s", (int)(s.size < size ? s.size : size - 1),
             s.data);
}

static enum tfd_code decode_device(struct tfd_str bytes,
                                   struct tfd_device_attributes *out,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_DeviceAttributes_name_tag)
            copy_text(out->name, sizeof(out->name), tfd_pb_str(&r, &f));
        else if (f.tag == tensorflow_DeviceAttributes_device_type_tag)
            copy_text(out->type, sizeof(out->type), tfd_pb_str(&r, &f));
        else if (f.tag == tensorflow_DeviceAttributes_physical_device_desc_tag)
            copy_text(out->physical, sizeof(out->physical), tfd_pb_str(&r, &f));
        else if (f.tag == tensorflow_DeviceAttributes_memory_limit_tag)
            out->memory_limit = tfd_pb_int64(&r, &f);
        else if (f.tag == tensorflow_DeviceAttributes_incarnation_tag)
            out->incarnation = f.number;
    }
    return tfd_pb_end(&r, "DeviceAttributes", st);
}

static enum tfd_code decode_status(struct tfd_str bytes,
                                   struct tfd_device_attributes *out, int max,
                                   int *count, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag != tensorflow_GetStatusResponse_device_attributes_tag)
            continue;
        if (*count == max)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "a worker with more than %d devices", max);
        TFD_TRY(decode_device(tfd_pb_str(&r, &f), &out[(*count)++], st));
    }
    return tfd_pb_end(&r, "GetStatusResponse", st);
}

static void got_status(void *ctx, const struct tfd_status *st,
                       const struct tfd_incoming *response)
{
    struct tfd_device_attributes *devices = NULL;
    struct tfd_status own = *st;
    struct call *c = ctx;
    int count = 0;

    delist_call(c);
    if (st->code == TFD_OK) {
        devices = calloc(TFD_DEVICES_PER_TYPE_MAX, sizeof(*devices));
        if (!devices)
            no_memory(&own);
        else
            (void)decode_status(response->proto, devices,
                                TFD_DEVICES_PER_TYPE_MAX, &count, &own);
    }
    c->status(c->ctx, &own, devices, own.code == TFD_OK ? count : 0);
    free(devices);
    free_call(c);
}

static void get_status(struct tfd_worker *w, uint64_t timeout_us,
                       tfd_worker_status_fn *done, void *ctx)
{
    struct call *c = new_call(remote_of(w));
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message m;

    if (!c) {
        no_memory(&st);
        done(ctx, &st, NULL, 0);
        return;
    }
    c->status = done;
    c->ctx = ctx;
    list_call(c);
    begin(c->remote, &m);
    send(c, TFD_METHOD_GetStatus, &m, timeout_us, true, got_status);
}

/* ---- Calls that answer nothing ------------------------------------------- */

static void got_empty(void *ctx, const struct tfd_status *st,
                      const struct tfd_incoming *response)
{
    struct call *c = ctx;

    (void)response;
    delist_call(c);
    if (c->done)
        c->done(c->ctx, st);
    free_call(c);
}

/* NULL without memory: done() was called. */
static struct call *call_empty(struct tfd_worker *w,
                               enum tfd_method_number method,
                               struct tfd_message *m, uint64_t timeout_us,
                               tfd_worker_done_fn *done, void *ctx)
{
    struct call *c = new_call(remote_of(w));
    struct tfd_status st = TFD_STATUS_INIT;

    if (!c) {
        tfd_message_deinit(m);
        no_memory(&st);
        if (done)
            done(ctx, &st);
        return NULL;
    }
    c->done = done;
    c->ctx = ctx;
    send(c, method, m, timeout_us, false, got_empty);
    return c;
}

static void put_server_def(struct tfd_bytes *b, const char *task,
                           struct tfd_str cluster_def)
{
    size_t mark =
        tfd_pb_begin(b, tensorflow_CreateWorkerSessionRequest_server_def_tag);
    struct tfd_device_name name;

    tfd_pb_put_str(b, tensorflow_ServerDef_cluster_tag, cluster_def);
    if (tfd_device_name_parse(tfd_str_of(task), &name, NULL) == TFD_OK) {
        tfd_pb_put_str(b, tensorflow_ServerDef_job_name_tag,
                       tfd_str_of(name.job));
        tfd_pb_put_int(b, tensorflow_ServerDef_task_index_tag, name.task);
    }
    tfd_pb_put_str(b, tensorflow_ServerDef_protocol_tag, TFD_STR("grpc"));
    tfd_pb_finish(b, mark);
}

static void forget_graph(struct remote *r, uint64_t number)
{
    struct graph *g = &r->graphs[number - 1];

    free(g->handle);
    g->handle = NULL;
    g->next = r->free_graph;
    r->free_graph = number;
}

static void create_session(struct tfd_worker *w,
                           const struct tfd_worker_session *s,
                           tfd_worker_done_fn *done, void *ctx)
{
    struct tfd_message m;
    struct call *c;

    begin(remote_of(w), &m);
    tfd_pb_put_str(&m.proto,
                   tensorflow_CreateWorkerSessionRequest_session_handle_tag,
                   s->handle);
    put_server_def(&m.proto, w->task, s->cluster_def);
    tfd_pb_put_bool(
        &m.proto,
        tensorflow_CreateWorkerSessionRequest_isolate_session_state_tag,
        s->isolate);
    tfd_pb_put_str(&m.proto,
                   tensorflow_CreateWorkerSessionRequest_master_task_tag,
                   s->master_task);
    tfd_pb_put_int(&m.proto,
                   tensorflow_CreateWorkerSessionRequest_master_incarnation_tag,
                   (int64_t)s->master_incarnation);
    c = call_empty(w, TFD_METHOD_CreateWorkerSession, &m, PROMPT_US, done, ctx);
    if (c)
        list_call(c);
}

/* The worker frees a session's graphs with it. */
static void forget_graphs(struct remote *r, struct tfd_str session)
{
    for (size_t i = 0; i < r->graph_count; i++)
        if (r->graphs[i].handle && tfd_str_is(session, r->graphs[i].session))
            forget_graph(r, i + 1);
}

static void delete_session(struct tfd_worker *w, struct tfd_str handle,
                           uint64_t timeout_us, tfd_worker_done_fn *done,
                           void *ctx)
{
    struct tfd_message m;

    forget_graphs(remote_of(w), handle);
    begin(remote_of(w), &m);
    tfd_pb_put_str(&m.proto,
                   tensorflow_DeleteWorkerSessionRequest_session_handle_tag,
                   handle);
    call_empty(w, TFD_METHOD_DeleteWorkerSession, &m, timeout_us, done, ctx);
}

static void cleanup_graph(struct tfd_worker *w, int64_t step_id)
{
    struct tfd_message m;

    begin(remote_of(w), &m);
    tfd_pb_put_int(&m.proto, tensorflow_CleanupGraphRequest_step_id_tag,
                   step_id);
    call_empty(w, TFD_METHOD_CleanupGraph, &m, PROMPT_US, NULL, NULL);
}

static void cleanup_all(struct tfd_worker *w, const struct tfd_str *containers,
                        int count, tfd_worker_done_fn *done, void *ctx)
{
    struct tfd_message m;

    begin(remote_of(w), &m);
    for (int i = 0; i < count; i++)
        tfd_pb_put_str_always(&m.proto,
                              tensorflow_CleanupAllRequest_container_tag,
                              containers[i]);
    call_empty(w, TFD_METHOD_CleanupAll, &m, PROMPT_US, done, ctx);
}

/* ---- RegisterGraph ------------------------------------------------------- */

static bool reserve_graph(struct remote *r)
{
    struct graph *grown;

    if (r->free_graph != 0)
        return true;
    grown = realloc(r->graphs, sizeof(*grown) * (r->graph_count + 1));
    if (!grown)
        return false;
    r->graphs = grown;
    r->graphs[r->graph_count++] = (struct graph){.handle = NULL};
    r->free_graph = r->graph_count;
    return true;
}

/* Its number; 0 without memory. */
static uint64_t add_graph(struct remote *r, struct tfd_str session,
                          struct tfd_str handle)
{
    char *copy = strndup(handle.data ? handle.data : "", handle.size);
    uint64_t number;
    struct graph *g;

    if (!copy || !reserve_graph(r)) {
        free(copy);
        return 0;
    }
    number = r->free_graph;
    g = &r->graphs[number - 1];
    r->free_graph = g->next;
    g->handle = copy;
    copy_text(g->session, sizeof(g->session), session);
    return number;
}

static struct tfd_str handle_in(struct tfd_str bytes, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_str handle = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_RegisterGraphResponse_graph_handle_tag)
            handle = tfd_pb_str(&r, &f);
    if (tfd_pb_end(&r, "RegisterGraphResponse", st) != TFD_OK)
        return TFD_STR_EMPTY;
    return handle;
}

static void got_registered(void *ctx, const struct tfd_status *st,
                           const struct tfd_incoming *response)
{
    struct tfd_status own = *st;
    struct call *c = ctx;
    uint64_t graph = 0;

    delist_call(c);
    if (st->code == TFD_OK) {
        struct tfd_str handle = handle_in(response->proto, &own);

        graph = own.code == TFD_OK
                    ? add_graph(c->remote, c->graph->session, handle)
                    : 0;
        if (own.code == TFD_OK && graph == 0)
            no_memory(&own);
    }
    c->registered(c->ctx, &own, graph);
    free_call(c);
}

static void register_graph(struct tfd_worker *w,
                           const struct tfd_register_graph *g,
                           tfd_worker_registered_fn *done, void *ctx)
{
    struct call *c = new_call(remote_of(w));
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message m;

    if (!c) {
        no_memory(&st);
        done(ctx, &st, 0);
        return;
    }
    c->registered = done;
    c->ctx = ctx;
    c->graph = g;
    list_call(c);
    begin(c->remote, &m);
    tfd_pb_put_str(&m.proto, tensorflow_RegisterGraphRequest_session_handle_tag,
                   g->session);
    tfd_pb_put_str_always(
        &m.proto, tensorflow_RegisterGraphRequest_graph_def_tag, g->graph_def);
    tfd_pb_put_bool(
        &m.proto,
        tensorflow_RegisterGraphRequest_create_worker_session_called_tag, true);
    tfd_pb_put_str(&m.proto, tensorflow_RegisterGraphRequest_config_proto_tag,
                   g->config_proto);
    send(c, TFD_METHOD_RegisterGraph, &m, PROMPT_US, false, got_registered);
}

static void deregister_graph(struct tfd_worker *w, struct tfd_str session,
                             uint64_t graph)
{
    struct remote *r = remote_of(w);
    struct tfd_message m;

    if (graph == 0 || graph > r->graph_count || !r->graphs[graph - 1].handle)
        return;
    begin(r, &m);
    tfd_pb_put_str(&m.proto, tensorflow_DeregisterGraphRequest_graph_handle_tag,
                   tfd_str_of(r->graphs[graph - 1].handle));
    tfd_pb_put_str(&m.proto,
                   tensorflow_DeregisterGraphRequest_session_handle_tag,
                   session);
    tfd_pb_put_bool(
        &m.proto,
        tensorflow_DeregisterGraphRequest_create_worker_session_called_tag,
        true);
    forget_graph(r, graph);
    call_empty(w, TFD_METHOD_DeregisterGraph, &m, PROMPT_US, NULL, NULL);
}

/* ---- RunGraph ------------------------------------------------------------ */

/* What the worker says of the step goes to what the others said. */
static void take_trace(struct tfd_str response, struct tfd_run_trace *t)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(response);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_RunGraphResponse_step_stats_tag && t->timeline)
            tfd_bytes_add_str(&t->stats, tfd_pb_str(&r, &f));
        else if (f.tag == tensorflow_RunGraphResponse_partition_graph_tag &&
                 t->partition_graphs)
            tfd_pb_put_str_always(&t->graphs,
                                  tensorflow_RunMetadata_partition_graphs_tag,
                                  tfd_pb_str(&r, &f));
    }
}

static void decode_run(struct tfd_str bytes, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_str text = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    int code = 0;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_RunGraphResponse_status_code_tag)
            code = tfd_pb_int32(&r, &f);
        else if (f.tag == tensorflow_RunGraphResponse_status_error_message_tag)
            text = tfd_pb_str(&r, &f);
    }
    if (code < 0 || code > TFD_UNAUTHENTICATED)
        code = TFD_UNKNOWN; /* of a newer peer */
    if (tfd_pb_end(&r, "RunGraphResponse", st) == TFD_OK && code != 0)
        (void)tfd_fail(st, (enum tfd_code)code, "%.*s",
                       (int)(text.size < TFD_STATUS_TEXT_MAX
                                 ? text.size
                                 : TFD_STATUS_TEXT_MAX),
                       text.data);
}

static void put_options(struct tfd_bytes *b, const struct tfd_run_trace *t)
{
    size_t mark = tfd_pb_begin(b, tensorflow_RunGraphRequest_exec_opts_tag);

    tfd_pb_put_bool(b, tensorflow_ExecutorOpts_record_timeline_tag,
                    t->timeline);
    tfd_pb_put_bool(b, tensorflow_ExecutorOpts_record_partition_graphs_tag,
                    t->partition_graphs);
    tfd_pb_finish(b, mark);
}

static void put_run(struct tfd_message *m, struct remote *r,
                    const struct tfd_run_graph *run)
{
    tfd_pb_put_str(&m->proto, tensorflow_RunGraphRequest_graph_handle_tag,
                   tfd_str_of(r->graphs[run->graph - 1].handle));
    tfd_pb_put_int(&m->proto, tensorflow_RunGraphRequest_step_id_tag,
                   run->step_id);
    tfd_pb_put_str(&m->proto, tensorflow_RunGraphRequest_session_handle_tag,
                   run->session);
    tfd_pb_put_bool(
        &m->proto, tensorflow_RunGraphRequest_store_errors_in_response_body_tag,
        true);
    tfd_pb_put_bool(&m->proto,
                    tensorflow_RunGraphRequest_create_worker_session_called_tag,
                    true);
    tfd_pb_put_int(&m->proto, tensorflow_RunGraphRequest_request_id_tag,
                   ++r->request_id);
    if (run->trace)
        put_options(&m->proto, run->trace);
}

static void end_run(struct call *c, const struct tfd_status *st)
{
    struct tfd_run_graph *run = c->run;

    run->worker = NULL;
    run->done(run, st);
    free_call(c);
}

/* ---- What a TensorFlow worker logs of a traced step: its RecvTensor calls,
 * which it does not tell with the step itself ------------------------------ */

static void put_logging(struct tfd_message *m, struct remote *r, uint32_t tag)
{
    begin(r, m);
    tfd_pb_put_bool(&m->proto, tag, true);
}

static void take_log(struct tfd_str bytes, const struct tfd_run_graph *run)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_str stats = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    int64_t step = 0;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_LabeledStepStats_step_id_tag)
            step = tfd_pb_int64(&r, &f);
        else if (f.tag == tensorflow_LabeledStepStats_step_stats_tag)
            stats = tfd_pb_str(&r, &f);
    }
    if (step == run->step_id)
        tfd_bytes_add_str(&run->trace->stats, stats);
}

static void log_off(struct remote *r)
{
    struct tfd_message m;

    put_logging(&m, r, tensorflow_LoggingRequest_disable_rpc_logging_tag);
    call_empty(&r->worker, TFD_METHOD_Logging, &m, PROMPT_US, NULL, NULL);
}

static void got_log(void *ctx, const struct tfd_status *st,
                    const struct tfd_incoming *response)
{
    struct call *c = ctx;
    struct tfd_status ok = TFD_STATUS_INIT;

    if (st->code == TFD_OK) {
        struct tfd_pb_reader r = tfd_pb_reader_of(response->proto);
        struct tfd_pb_field f;

        while (tfd_pb_next(&r, &f))
            if (f.tag == tensorflow_LoggingResponse_step_tag)
                take_log(tfd_pb_str(&r, &f), c->run);
    }
    log_off(c->remote);
    end_run(c, &ok); /* the step has succeeded, with or without its log */
}

static void fetch_log(struct call *c)
{
    struct tfd_message m;

    begin(c->remote, &m);
    tfd_pb_put_int_always(&m.proto, tensorflow_LoggingRequest_fetch_step_id_tag,
                          c->run->step_id);
    send(c, TFD_METHOD_Logging, &m, PROMPT_US, false, got_log);
}

/* ---- Running ------------------------------------------------------------- */

static bool is_logged(const struct call *c)
{
    return c->run->trace && c->run->trace->timeline &&
           tfd_channel_protocol(c->remote->channel) == TFD_PROTO_GRPC;
}

static void got_run(void *ctx, const struct tfd_status *st,
                    const struct tfd_incoming *response)
{
    struct tfd_status own = *st;
    struct call *c = ctx;

    if (st->code == TFD_OK)
        decode_run(response->proto, &own);
    if (own.code == TFD_OK && c->run->trace)
        take_trace(response->proto, c->run->trace);
    if (own.code == TFD_OK && is_logged(c)) {
        fetch_log(c);
        return;
    }
    if (is_logged(c))
        log_off(c->remote);
    end_run(c, &own);
}

static void send_run(struct call *c)
{
    struct tfd_message m;

    begin(c->remote, &m);
    put_run(&m, c->remote, c->run);
    send(c, TFD_METHOD_RunGraph, &m, 0, false, got_run);
}

static void logging_on(void *ctx, const struct tfd_status *st,
                       const struct tfd_incoming *response)
{
    struct call *c = ctx;

    (void)response;
    if (st->code == TFD_CANCELLED)
        end_run(c, st);
    else
        send_run(c); /* other failures: there will be no log */
}

static void run_graph(struct tfd_worker *w, struct tfd_run_graph *run)
{
    struct remote *r = remote_of(w);
    struct tfd_status st = TFD_STATUS_INIT;
    struct call *c = new_call(r);
    struct tfd_message m;

    if (!c || run->graph == 0 || run->graph > r->graph_count ||
        !r->graphs[run->graph - 1].handle) {
        if (c)
            free_call(c);
        (void)tfd_fail(&st, TFD_INTERNAL, "Graph %llu is not registered on %s",
                       (unsigned long long)run->graph, w->task);
        run->done(run, &st);
        return;
    }
    c->run = run;
    run->worker = c;
    if (!is_logged(c)) {
        send_run(c);
        return;
    }
    put_logging(&m, r, tensorflow_LoggingRequest_enable_rpc_logging_tag);
    send(c, TFD_METHOD_Logging, &m, PROMPT_US, false, logging_on);
}

static void cancel(struct tfd_worker *w, struct tfd_run_graph *run)
{
    struct call *c = run->worker;

    (void)w;
    if (c)
        tfd_channel_cancel(c->outcall);
}

static bool is_native(const struct tfd_worker *w)
{
    return tfd_channel_protocol(remote_of_const(w)->channel) ==
           TFD_PROTO_NATIVE;
}

static const char *trouble(const struct tfd_worker *w)
{
    return tfd_channel_trouble(remote_of_const(w)->channel);
}

static const struct tfd_worker_ops ops = {
    .get_status = get_status,
    .cancel_call = cancel_call,
    .create_session = create_session,
    .delete_session = delete_session,
    .register_graph = register_graph,
    .deregister_graph = deregister_graph,
    .run_graph = run_graph,
    .cancel = cancel,
    .cleanup_graph = cleanup_graph,
    .cleanup_all = cleanup_all,
    .is_native = is_native,
    .trouble = trouble,
};

struct tfd_worker *tfd_remote_worker_new(struct tfd_loop *l,
                                         struct tfd_channel *ch,
                                         const char *task)
{
    struct remote *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->worker.ops = &ops;
    snprintf(r->worker.task, sizeof(r->worker.task), "%s", task);
    r->loop = l;
    r->channel = ch;
    /* Ids start anywhere, so that two masters do not use the same. */
    if (getrandom(&r->request_id, sizeof(r->request_id), 0) < 0)
        r->request_id = (int64_t)(uintptr_t)r;
    r->request_id &= INT64_MAX >> 1;
    return &r->worker;
}

static void delete_remote(struct remote *r)
{
    while (r->idle) {
        struct call *c = r->idle;

        r->idle = c->next;
        free(c);
    }
    for (size_t i = 0; i < r->graph_count; i++)
        free(r->graphs[i].handle);
    free(r->graphs);
    free(r);
}

void tfd_remote_worker_free(struct tfd_worker *w)
{
    struct remote *r = remote_of(w);

    r->freed = true;
    if (r->calls == 0)
        delete_remote(r);
}
