/*
 * worker_methods.c - the rows of WorkerService: messages to calls of this
 * folder and back.  RunGraph is in run_call.c; RecvTensor and the pushes of
 * other tfds are in recv_call.c.
 *
 * Texts and codes of failures are TensorFlow's: masters and clients tell a
 * restarted worker by them.
 */
#include "daemon/worker/service/stuck_steps.h"
#include "daemon/worker/service/task_session_use.h"
#include "daemon/worker/service/partial_call.h"

#include "common/proto/config.pb.h"
#include "common/proto/worker.pb.h"
#include "daemon/device_proto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CREATE(field) tensorflow_CreateWorkerSessionRequest_##field##_tag
#define DELETE(field) tensorflow_DeleteWorkerSessionRequest_##field##_tag
#define REGISTER(field) tensorflow_RegisterGraphRequest_##field##_tag
#define REGISTERED(field) tensorflow_RegisterGraphResponse_##field##_tag
#define DEREGISTER(field) tensorflow_DeregisterGraphRequest_##field##_tag
#define CLEANUP(field) tensorflow_CleanupGraphRequest_##field##_tag
#define CLEANUP_ALL(field) tensorflow_CleanupAllRequest_##field##_tag

#define CONTAINERS_MAX 1024

static void respond_empty(struct tfd_call *call)
{
    struct tfd_message m;

    tfd_message_init(&m, call->native);
    tfd_call_respond(call, &m);
}

static void finish_call(struct tfd_call *call, const struct tfd_status *st)
{
    if (st->code == TFD_OK)
        respond_empty(call);
    else
        tfd_call_fail(call, st);
}

/* ---- GetStatus ----------------------------------------------------------- */

/* A request of which nothing is used must be a message all the same.  False
 * when it was answered with an error. */
static bool check_request(struct tfd_call *call)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(call->in.proto);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        ;
    if (tfd_service_request_end(&r, &st) == TFD_OK)
        return true;
    tfd_call_fail(call, &st);
    return false;
}

static void get_status(void *self, struct tfd_call *call)
{
    struct tfd_worker_service *w = self;
    struct tfd_message m;

    if (!check_request(call))
        return;
    tfd_message_init(&m, call->native);
    for (int i = 0; i < w->devices.count; i++)
        tfd_device_proto_put(&m.proto,
                             tensorflow_GetStatusResponse_device_attributes_tag,
                             &w->attributes[i]);
    tfd_call_respond(call, &m);
}

/* ---- Sessions ------------------------------------------------------------ */

/* task has TFD_DEVICE_NAME_MAX bytes. */
static enum tfd_code decode_server_def(struct tfd_str proto,
                                       struct tfd_worker_session *s, char *task,
                                       struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_str job = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    int32_t index = 0;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_ServerDef_cluster_tag)
            s->cluster_def = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_ServerDef_job_name_tag)
            job = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_ServerDef_task_index_tag)
            index = tfd_pb_int32(&r, &f);
    }
    snprintf(task, TFD_DEVICE_NAME_MAX,
             "/job:" TFD_STR_FMT "/replica:0/task:%d", TFD_STR_ARG(job), index);
    s->task = tfd_str_of(task);
    return tfd_pb_end(&r, "ServerDef", st);
}

static enum tfd_code decode_session(struct tfd_str proto,
                                    struct tfd_worker_session *s, char *task,
                                    struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        switch (f.tag) {
        case CREATE(session_handle):
            s->handle = tfd_pb_str(&r, &f);
            break;
        case CREATE(server_def):
            TFD_TRY(decode_server_def(tfd_pb_str(&r, &f), s, task, st));
            break;
        case CREATE(isolate_session_state):
            s->isolate = tfd_pb_bool(&r, &f);
            break;
        case CREATE(master_task):
            s->master_task = tfd_pb_str(&r, &f);
            break;
        case CREATE(master_incarnation):
            s->master_incarnation = (uint64_t)tfd_pb_int64(&r, &f);
            break;
        default:
            break;
        }
    }
    return tfd_service_request_end(&r, st);
}

static void create_session(void *self, struct tfd_call *call)
{
    struct tfd_worker_session s = {0};
    struct tfd_status st = TFD_STATUS_INIT;
    char task[TFD_DEVICE_NAME_MAX];

    s.peer = call->origin ? call->origin->key : "";
    s.link = call->link;
    if (decode_session(call->in.proto, &s, task, &st) == TFD_OK)
        (void)!tfd_worker_create_session(self, &s, &st);
    finish_call(call, &st);
}

/* Messages of which one string matters. */
static enum tfd_code decode_string(struct tfd_str proto, uint32_t tag,
                                   struct tfd_str *out, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    *out = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f))
        if (f.tag == tag)
            *out = tfd_pb_str(&r, &f);
    return tfd_service_request_end(&r, st);
}

/* What a later tfd may say besides is an end without a word. */
static enum tfd_session_end decode_end(struct tfd_str proto)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    int64_t end = TFD_SESSION_LAST;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == DELETE(end))
            end = tfd_pb_int64(&r, &f);
    if (end == TFD_SESSION_LAST || end == TFD_SESSION_ONE)
        return (enum tfd_session_end)end;
    return TFD_SESSION_BROKEN;
}

static void delete_session(void *self, struct tfd_call *call)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_str handle;

    if (decode_string(call->in.proto, DELETE(session_handle), &handle, &st) ==
        TFD_OK)
        tfd_worker_delete_session(self, handle, decode_end(call->in.proto));
    finish_call(call, &st);
}

/* ---- Graphs -------------------------------------------------------------- */

struct register_call {
    struct tfd_call *call;
    struct tfd_worker_service *worker;
    struct tfd_register_graph request; /* views of the call */
};

static enum tfd_code decode_register(struct tfd_str proto,
                                     struct tfd_register_graph *q,
                                     struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    bool has_session = false;
    struct tfd_pb_field f;

    q->session = q->graph_def = q->config_proto = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == REGISTER(session_handle))
            q->session = tfd_pb_str(&r, &f);
        else if (f.tag == REGISTER(graph_def))
            q->graph_def = tfd_pb_str(&r, &f);
        else if (f.tag == REGISTER(create_worker_session_called))
            has_session = tfd_pb_bool(&r, &f);
    }
    if (!has_session)
        q->session = TFD_STR_EMPTY;
    return tfd_service_request_end(&r, st);
}

static void registered(void *ctx, const struct tfd_status *st, uint64_t graph)
{
    struct register_call *c = ctx;
    struct tfd_call *call = c->call;
    struct tfd_message m;
    char handle[24];

    free(c);
    if (graph == 0) {
        tfd_call_fail(call, st);
        return;
    }
    snprintf(handle, sizeof(handle), "%016" PRIx64, graph);
    tfd_message_init(&m, call->native);
    tfd_pb_put_str(&m.proto, REGISTERED(graph_handle), tfd_str_of(handle));
    if (graph <= UINT32_MAX)
        tfd_pb_put_int(&m.proto, REGISTERED(graph_number), (int64_t)graph);
    tfd_call_respond(call, &m);
}

static void register_cancelled(void *ctx, struct tfd_call *call)
{
    struct register_call *c = ctx;

    (void)call;
    tfd_graphs_cancel_register(c->worker, c);
}

static void register_graph(void *self, struct tfd_call *call)
{
    struct register_call *c = calloc(1, sizeof(*c));
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_task_session *session;

    if (!c)
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a graph");
    else if (decode_register(call->in.proto, &c->request, &st) == TFD_OK &&
             tfd_worker_find_session(self, c->request.session, &session, &st) ==
                 TFD_OK) {
        tfd_worker_session_over(self, session, call->link);
        c->call = call;
        c->worker = self;
        call->ctx = c;
        call->cancelled = register_cancelled;
        tfd_graphs_register(self, &c->request, session, false, registered, c);
        return;
    }
    free(c);
    tfd_call_fail(call, &st);
}

struct graph_name {
    struct tfd_str handle, session;
    bool has_session;
};

static enum tfd_code decode_deregister(struct tfd_str proto,
                                       struct graph_name *n,
                                       struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == DEREGISTER(graph_handle))
            n->handle = tfd_pb_str(&r, &f);
        else if (f.tag == DEREGISTER(session_handle))
            n->session = tfd_pb_str(&r, &f);
        else if (f.tag == DEREGISTER(create_worker_session_called))
            n->has_session = tfd_pb_bool(&r, &f);
    }
    return tfd_service_request_end(&r, st);
}

static void deregister_graph(void *self, struct tfd_call *call)
{
    struct graph_name n = {TFD_STR_EMPTY, TFD_STR_EMPTY, false};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_task_session *session;
    struct tfd_graph_entry *g;

    if (decode_deregister(call->in.proto, &n, &st) == TFD_OK &&
        tfd_worker_find_session(self, n.has_session ? n.session : TFD_STR_EMPTY,
                                &session, &st) == TFD_OK) {
        g = tfd_graphs_find(self, tfd_graphs_number(n.handle));
        if (g && g->session == session)
            tfd_graphs_remove(g);
        else
            tfd_fail(&st, TFD_ABORTED,
                     "Graph handle is not found: " TFD_STR_FMT
                     ". Possibly, this worker just restarted.",
                     TFD_STR_ARG(n.handle));
    }
    finish_call(call, &st);
}

/* ---- Cleaning up --------------------------------------------------------- */

static void cleanup_graph(void *self, struct tfd_call *call)
{
    struct tfd_worker_service *w = self;
    struct tfd_pb_reader r = tfd_pb_reader_of(call->in.proto);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_pb_field f;
    int64_t step = 0;

    while (tfd_pb_next(&r, &f))
        if (f.tag == CLEANUP(step_id))
            step = tfd_pb_int64(&r, &f);
    if (tfd_service_request_end(&r, &st) == TFD_OK) {
        tfd_partial_call_drop(w, step);
        tfd_rendezvous_cleanup(w->rendezvous, step);
    }
    finish_call(call, &st);
}

static enum tfd_code decode_containers(struct tfd_str proto,
                                       struct tfd_str *out, int *count,
                                       struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag != CLEANUP_ALL(container))
            continue;
        if (*count == CONTAINERS_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "more than %d containers to reset", CONTAINERS_MAX);
        out[(*count)++] = tfd_pb_str(&r, &f);
    }
    return tfd_service_request_end(&r, st);
}

static void cleanup_all(void *self, struct tfd_call *call)
{
    struct tfd_str containers[CONTAINERS_MAX];
    struct tfd_status st = TFD_STATUS_INIT;
    int count = 0;

    if (decode_containers(call->in.proto, containers, &count, &st) == TFD_OK)
        tfd_worker_cleanup_all(self, containers, count);
    finish_call(call, &st);
}

/* ---- The rest ------------------------------------------------------------ */

/* Steps are not recorded, so there is nothing to switch on or to hand out. */
static void logging(void *self, struct tfd_call *call)
{
    (void)self;
    if (check_request(call))
        respond_empty(call);
}

static void tracing(void *self, struct tfd_call *call)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)self;
    if (!check_request(call))
        return;
    tfd_fail(&st, TFD_UNIMPLEMENTED, "Tracing");
    tfd_call_fail(call, &st);
}

void tfd_worker_bind(struct tfd_worker_service *w)
{
    static const struct {
        enum tfd_method_number method;
        tfd_handler_fn *handler;
    } rows[] = {
        {TFD_METHOD_GetStatus, get_status},
        {TFD_METHOD_CreateWorkerSession, create_session},
        {TFD_METHOD_DeleteWorkerSession, delete_session},
        {TFD_METHOD_RegisterGraph, register_graph},
        {TFD_METHOD_DeregisterGraph, deregister_graph},
        {TFD_METHOD_RunGraph, tfd_worker_run_graph},
        {TFD_METHOD_RecvTensor, tfd_worker_recv_tensor},
        {TFD_METHOD_CleanupGraph, cleanup_graph},
        {TFD_METHOD_CleanupAll, cleanup_all},
        {TFD_METHOD_Logging, logging},
        {TFD_METHOD_Tracing, tracing},
        {TFD_METHOD_PushTensors, tfd_worker_push_tensors},
        {TFD_METHOD_MapMemory, tfd_peer_map_memory},
        {TFD_METHOD_CopyTensor, tfd_peer_copy_tensor},
        {TFD_METHOD_GetStepWaits, tfd_stuck_steps_answer},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tfd_service_bind(w->options.service, rows[i].method, rows[i].handler,
                         w);
}
