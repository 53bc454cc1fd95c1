/*
 * remote_worker.c - encodes worker_api.h into WorkerService calls.
 *
 * A graph is known to the master by a number: the index into the table of
 * handles that the worker gave; a session that is deleted takes its rows along.
 */
#define _GNU_SOURCE 1 /* strndup */

#include "daemon/master/remote/remote_worker.h"

#include "common/base/entropy.h"
#include "daemon/device_proto.h"
#include "daemon/master/remote/worker_rpc.h"

#include "common/proto/config.pb.h"
#include "common/proto/worker.pb.h"
#include "config/device_name.h"
#include "config/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void cancel_call(struct tfd_worker *w, const void *ctx)
{
    for (struct tfd_worker_rpc *c = tfd_rpc_worker_of(w)->cancellable; c;
         c = c->next)
        if (c->ctx == ctx)
            tfd_channel_cancel(c->outcall);
}

/* ---- GetStatus ----------------------------------------------------------- */

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
        TFD_TRY(tfd_device_proto_get(tfd_pb_str(&r, &f), &out[(*count)++], st));
    }
    return tfd_pb_end(&r, "GetStatusResponse", st);
}

static void got_status(void *ctx, const struct tfd_status *st,
                       const struct tfd_incoming *response)
{
    struct tfd_device_attributes *devices = NULL;
    struct tfd_status own = *st;
    struct tfd_worker_rpc *c = ctx;
    int count = 0;

    tfd_worker_rpc_delist(c);
    if (st->code == TFD_OK) {
        devices = calloc(TFD_DEVICES_PER_TYPE_MAX, sizeof(*devices));
        if (!devices)
            tfd_worker_rpc_no_memory(&own);
        else
            (void)decode_status(response->proto, devices,
                                TFD_DEVICES_PER_TYPE_MAX, &count, &own);
    }
    c->status(c->ctx, &own, devices, own.code == TFD_OK ? count : 0);
    free(devices);
    tfd_worker_rpc_free(c);
}

static void get_status(struct tfd_worker *w, uint64_t timeout_us,
                       tfd_worker_status_fn *done, void *ctx)
{
    struct tfd_worker_rpc *c = tfd_worker_rpc_new(tfd_rpc_worker_of(w));
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message m;

    if (!c) {
        tfd_worker_rpc_no_memory(&st);
        done(ctx, &st, NULL, 0);
        return;
    }
    c->status = done;
    c->ctx = ctx;
    tfd_worker_rpc_list(c);
    tfd_worker_rpc_begin(c->remote, &m);
    tfd_worker_rpc_send(c, TFD_METHOD_GetStatus, &m, timeout_us, true,
                        got_status);
}

/* ---- Calls that answer nothing ------------------------------------------- */

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

static void forget_graph(struct tfd_rpc_worker *r, uint64_t number)
{
    struct tfd_rpc_graph *g = &r->graphs[number - 1];

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
    struct tfd_worker_rpc *c;

    tfd_worker_rpc_begin(tfd_rpc_worker_of(w), &m);
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
    c = tfd_worker_rpc_empty(w, TFD_METHOD_CreateWorkerSession, &m,
                             TFD_WORKER_RPC_PROMPT_US, done, ctx);
    if (c)
        tfd_worker_rpc_list(c);
}

/* The worker frees a session's graphs with it. */
static void forget_graphs(struct tfd_rpc_worker *r, struct tfd_str session)
{
    for (size_t i = 0; i < r->graph_count; i++)
        if (r->graphs[i].handle && tfd_str_is(session, r->graphs[i].session))
            forget_graph(r, i + 1);
}

static void delete_session(struct tfd_worker *w, struct tfd_str handle,
                           enum tfd_session_end end, uint64_t timeout_us,
                           tfd_worker_done_fn *done, void *ctx)
{
    struct tfd_message m;

    forget_graphs(tfd_rpc_worker_of(w), handle);
    tfd_worker_rpc_begin(tfd_rpc_worker_of(w), &m);
    tfd_pb_put_str(&m.proto,
                   tensorflow_DeleteWorkerSessionRequest_session_handle_tag,
                   handle);
    tfd_pb_put_int(&m.proto, tensorflow_DeleteWorkerSessionRequest_end_tag,
                   end);
    tfd_worker_rpc_empty(w, TFD_METHOD_DeleteWorkerSession, &m, timeout_us,
                         done, ctx);
}

static void cleanup_graph(struct tfd_worker *w, int64_t step_id)
{
    struct tfd_message m;

    tfd_worker_rpc_begin(tfd_rpc_worker_of(w), &m);
    tfd_pb_put_int(&m.proto, tensorflow_CleanupGraphRequest_step_id_tag,
                   step_id);
    tfd_worker_rpc_empty(w, TFD_METHOD_CleanupGraph, &m,
                         TFD_WORKER_RPC_PROMPT_US, NULL, NULL);
}

static void cleanup_all(struct tfd_worker *w, const struct tfd_str *containers,
                        int count, tfd_worker_done_fn *done, void *ctx)
{
    struct tfd_message m;

    tfd_worker_rpc_begin(tfd_rpc_worker_of(w), &m);
    for (int i = 0; i < count; i++)
        tfd_pb_put_str_always(&m.proto,
                              tensorflow_CleanupAllRequest_container_tag,
                              containers[i]);
    tfd_worker_rpc_empty(w, TFD_METHOD_CleanupAll, &m, TFD_WORKER_RPC_PROMPT_US,
                         done, ctx);
}

/* ---- RegisterGraph ------------------------------------------------------- */

static bool reserve_graph(struct tfd_rpc_worker *r)
{
    struct tfd_rpc_graph *grown;

    if (r->free_graph != 0)
        return true;
    grown = realloc(r->graphs, sizeof(*grown) * (r->graph_count + 1));
    if (!grown)
        return false;
    r->graphs = grown;
    r->graphs[r->graph_count++] = (struct tfd_rpc_graph){.handle = NULL};
    r->free_graph = r->graph_count;
    return true;
}

/* Its number; 0 without memory. */
static uint64_t add_graph(struct tfd_rpc_worker *r, struct tfd_str session,
                          struct tfd_str handle)
{
    char *copy = strndup(handle.data ? handle.data : "", handle.size);
    uint64_t number;
    struct tfd_rpc_graph *g;

    if (!copy || !reserve_graph(r)) {
        free(copy);
        return 0;
    }
    number = r->free_graph;
    g = &r->graphs[number - 1];
    r->free_graph = g->next;
    g->handle = copy;
    tfd_device_proto_copy(g->session, sizeof(g->session), session);
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
    struct tfd_worker_rpc *c = ctx;
    uint64_t graph = 0;

    tfd_worker_rpc_delist(c);
    if (st->code == TFD_OK) {
        struct tfd_str handle = handle_in(response->proto, &own);

        graph = own.code == TFD_OK
                    ? add_graph(c->remote, c->graph->session, handle)
                    : 0;
        if (own.code == TFD_OK && graph == 0)
            tfd_worker_rpc_no_memory(&own);
    }
    c->registered(c->ctx, &own, graph);
    tfd_worker_rpc_free(c);
}

/* A TensorFlow server gives the kernels of a graph what they need for
 * collectives only where the graph has a key for them.  The steps of a session
 * have one number for all tasks, so it says no more.  A node that only has such
 * a name costs that server a little. */
static bool has_collectives(const struct tfd_register_graph *g)
{
    static const struct tfd_str name = TFD_STR_INIT("Collective");

    return memmem(g->graph_def.data, g->graph_def.size, name.data, name.size);
}

static void register_graph(struct tfd_worker *w,
                           const struct tfd_register_graph *g,
                           tfd_worker_registered_fn *done, void *ctx)
{
    struct tfd_worker_rpc *c = tfd_worker_rpc_new(tfd_rpc_worker_of(w));
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message m;

    if (!c) {
        tfd_worker_rpc_no_memory(&st);
        done(ctx, &st, 0);
        return;
    }
    c->registered = done;
    c->ctx = ctx;
    c->graph = g;
    tfd_worker_rpc_list(c);
    tfd_worker_rpc_begin(c->remote, &m);
    tfd_pb_put_str(&m.proto, tensorflow_RegisterGraphRequest_session_handle_tag,
                   g->session);
    tfd_pb_put_str_always(
        &m.proto, tensorflow_RegisterGraphRequest_graph_def_tag, g->graph_def);
    tfd_pb_put_bool(
        &m.proto,
        tensorflow_RegisterGraphRequest_create_worker_session_called_tag, true);
    tfd_pb_put_str(&m.proto, tensorflow_RegisterGraphRequest_config_proto_tag,
                   g->config_proto);
    if (has_collectives(g))
        tfd_pb_put_int(&m.proto,
                       tensorflow_RegisterGraphRequest_collective_graph_key_tag,
                       1);
    tfd_worker_rpc_send(c, TFD_METHOD_RegisterGraph, &m,
                        TFD_WORKER_RPC_PROMPT_US, false, got_registered);
}

static void deregister_graph(struct tfd_worker *w, struct tfd_str session,
                             uint64_t graph)
{
    struct tfd_rpc_worker *r = tfd_rpc_worker_of(w);
    struct tfd_message m;

    if (graph == 0 || graph > r->graph_count || !r->graphs[graph - 1].handle)
        return;
    tfd_worker_rpc_begin(r, &m);
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
    tfd_worker_rpc_empty(w, TFD_METHOD_DeregisterGraph, &m,
                         TFD_WORKER_RPC_PROMPT_US, NULL, NULL);
}

static bool is_native(const struct tfd_worker *w)
{
    return tfd_channel_protocol(((const struct tfd_rpc_worker *)w)->channel) ==
           TFD_PROTO_NATIVE;
}

static const char *trouble(const struct tfd_worker *w)
{
    return tfd_channel_trouble(((const struct tfd_rpc_worker *)w)->channel);
}

static const struct tfd_worker_ops ops = {
    .get_status = get_status,
    .cancel_call = cancel_call,
    .create_session = create_session,
    .delete_session = delete_session,
    .register_graph = register_graph,
    .deregister_graph = deregister_graph,
    .run_graph = tfd_remote_run_graph,
    .cancel = tfd_remote_run_cancel,
    .cleanup_graph = cleanup_graph,
    .cleanup_all = cleanup_all,
    .is_native = is_native,
    .trouble = trouble,
};

struct tfd_worker *tfd_remote_worker_new(struct tfd_loop *l,
                                         struct tfd_channel *ch,
                                         const char *task)
{
    struct tfd_rpc_worker *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->worker.ops = &ops;
    snprintf(r->worker.task, sizeof(r->worker.task), "%s", task);
    r->loop = l;
    r->channel = ch;
    /* Ids start anywhere, so that two masters do not use the same. */
    r->request_id = (int64_t)(tfd_entropy_id() & INT64_MAX >> 1);
    return &r->worker;
}

void tfd_remote_worker_free(struct tfd_worker *w)
{
    struct tfd_rpc_worker *r = tfd_rpc_worker_of(w);

    r->freed = true;
    if (r->calls == 0)
        tfd_worker_rpc_end_of(r);
}
