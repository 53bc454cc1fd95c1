/*
 * peer.c - see peer.h.
 */
#include "daemon/eager/parts/peer.h"

#include "common/proto/eager.pb.h"
#include "config/limits.h"
#include "daemon/eager/parts/tasks.h"
#include "daemon/eager/graph.h"
#include "kernels/core/runtime.h"

#include <stdio.h>
#include <stdlib.h>

#define QUEUE tensorflow_eager_EnqueueRequest_queue_tag
#define ITEM(field) tensorflow_eager_QueueItem_##field##_tag
#define OP(field) tensorflow_eager_Operation_##field##_tag
#define RUN(field) tensorflow_eager_RunComponentFunctionRequest_##field##_tag

/* Of a message that is told twice. */
#define TOLD_MAX 800

struct peer_call;

struct peer {
    struct tfd_worker worker; /* first: what others see */
    struct tfd_eager_tasks *tasks;
    struct tfd_channel *channel;
    char device[TFD_DEVICE_NAME_MAX];
    struct peer_call *idle;
    struct peer_call *registering;
};

struct peer_call {
    struct peer *peer;
    struct tfd_outcall *outcall;
    tfd_worker_registered_fn *registered;
    tfd_worker_done_fn *met;
    void *ctx;
    struct tfd_eager_run *run;
    struct peer_call *next;
};

static struct peer *peer_of(struct tfd_worker *w)
{
    return (struct peer *)w;
}

/* ---- Calls --------------------------------------------------------------- */

static struct peer_call *call_new(struct peer *p)
{
    struct peer_call *c = p->idle;

    if (c)
        p->idle = c->next;
    else
        c = malloc(sizeof(*c));
    if (c) {
        *c = (struct peer_call){.peer = p};
        tfd_eager_tasks_ref(p->tasks);
    }
    return c;
}

/* The last thing a call does: its peer may be gone afterwards. */
static void call_free(struct peer_call *c)
{
    struct peer *p = c->peer;

    c->next = p->idle;
    p->idle = c;
    tfd_eager_tasks_unref(p->tasks);
}

static void send_call(struct peer_call *c, enum tfd_method_number method,
                      struct tfd_message *m, tfd_outcall_fn *done)
{
    const struct tfd_outcall_options o = {.timeout_us = 0};

    c->outcall = tfd_channel_call(c->peer->channel, method, m, &o, done, c);
}

static void begin_message(const struct peer *p, struct tfd_message *m)
{
    tfd_message_init(m, tfd_channel_protocol(p->channel) == TFD_PROTO_NATIVE);
}

static void no_memory(struct tfd_status *st)
{
    tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a call");
}

/* A coordinator reads which task has failed in these words, of TensorFlow's
 * gRPC. */
static void name_peer(const struct peer *p, enum tfd_method_number method,
                      const struct tfd_status *st, struct tfd_status *out)
{
    if (st->code == TFD_OK)
        return;
    tfd_fail(out, st->code,
             "%.*s\nAdditional GRPC error information from remote target %s "
             "while calling %s:\n:UNKNOWN:Error received from peer  "
             "{grpc_status:%d, grpc_message:\"%.*s\"}",
             TOLD_MAX, st->text, p->device, tfd_service_path(method),
             (int)st->code, TOLD_MAX, st->text);
}

void tfd_eager_peer_blame(struct tfd_worker *w, struct tfd_status *st)
{
    struct tfd_status own = *st;

    tfd_status_clear(st);
    name_peer(peer_of(w), TFD_METHOD_RunComponentFunction, &own, st);
}

/* ---- Registering --------------------------------------------------------- */

static void delist(struct peer_call *c)
{
    struct peer_call **at = &c->peer->registering;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
}

static void got_registered(void *ctx, const struct tfd_status *st,
                           const struct tfd_incoming *response)
{
    struct peer_call *c = ctx;
    struct tfd_status own = TFD_STATUS_INIT;

    (void)response;
    delist(c);
    name_peer(c->peer, TFD_METHOD_Enqueue, st, &own);
    c->registered(c->ctx, &own, own.code == TFD_OK ? 1 : 0);
    call_free(c);
}

static void put_item(struct tfd_message *m, const struct peer *p, uint32_t tag,
                     struct tfd_str item)
{
    size_t mark;

    tfd_pb_put_fixed64(&m->proto,
                       tensorflow_eager_EnqueueRequest_context_id_tag,
                       p->tasks->context);
    mark = tfd_pb_begin(&m->proto, QUEUE);
    tfd_pb_put_str_always(&m->proto, tag, item);
    tfd_pb_finish(&m->proto, mark);
}

static void register_component(struct tfd_worker *w,
                               const struct tfd_register_graph *g,
                               tfd_worker_registered_fn *done, void *ctx)
{
    struct peer *p = peer_of(w);
    struct peer_call *c = call_new(p);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message m;

    if (!c) {
        no_memory(&st);
        done(ctx, &st, 0);
        return;
    }
    c->registered = done;
    c->ctx = ctx;
    c->next = p->registering;
    p->registering = c;
    begin_message(p, &m);
    put_item(&m, p, ITEM(register_function), g->graph_def);
    send_call(c, TFD_METHOD_Enqueue, &m, got_registered);
}

static void cancel_call(struct tfd_worker *w, const void *ctx)
{
    for (struct peer_call *c = peer_of(w)->registering; c; c = c->next)
        if (c->ctx == ctx)
            tfd_channel_cancel(c->outcall);
}

/* Nothing tells a task that a component is needed no more: they end with the
 * context. */
static void deregister_graph(struct tfd_worker *w, struct tfd_str session,
                             uint64_t graph)
{
    (void)w;
    (void)session;
    (void)graph;
}

/* ---- Running ------------------------------------------------------------- */

static void put_inputs(struct tfd_message *m, const struct tfd_eager_run *r)
{
    for (int i = 0; i < r->graph->arg_count; i++) {
        size_t mark;

        if (r->args[i].dtype == TFD_DTYPE_INVALID) {
            tfd_pb_put_str_always(&m->proto, OP(op_inputs), r->inputs[i]);
            continue;
        }
        mark = tfd_message_begin(m, OP(op_inputs));
        tfd_message_put_tensor(m, tensorflow_eager_Operation_Input_tensor_tag,
                               &r->args[i], tfd_handle_encode);
        tfd_message_finish(m, mark);
    }
}

static void put_operation(struct tfd_message *m, const struct peer *p,
                          const struct tfd_eager_run *r)
{
    size_t mark = tfd_message_begin(m, RUN(operation));
    struct tfd_bytes *b = &m->proto;

    tfd_pb_put_int(b, OP(id), r->op);
    tfd_pb_put_str(b, OP(name), tfd_str_of(r->graph->name));
    tfd_pb_put_str(b, OP(device), tfd_str_of(p->device));
    tfd_pb_put_bool(b, OP(is_component_function), true);
    tfd_pb_put_int(b, OP(func_step_id), r->run.step_id);
    tfd_pb_put_bool(b, OP(is_function), true);
    put_inputs(m, r);
    tfd_message_finish(m, mark);
}

static void put_outputs(struct tfd_bytes *b, const struct tfd_eager_run *r)
{
    size_t mark;

    if (r->graph->result_count == 0)
        return;
    mark = tfd_pb_begin(b, RUN(output_num));
    for (int i = 0; i < r->graph->result_count; i++)
        tfd_pb_put_varint(b, (uint64_t)r->outputs[i]);
    tfd_pb_finish(b, mark);
}

/* The results stay there; what comes is their shapes. */
static void take_shapes(struct tfd_str response, struct tfd_eager_run *r,
                        struct tfd_status *st)
{
    struct tfd_pb_reader reader = tfd_pb_reader_of(response);
    struct tfd_pb_field f;
    int count = 0;

    while (st->code == TFD_OK && tfd_pb_next(&reader, &f))
        if (f.tag == tensorflow_eager_RunComponentFunctionResponse_shape_tag &&
            count < r->graph->result_count)
            (void)!tfd_tensor_proto_shape_decode(
                tfd_pb_str(&reader, &f), &r->results[count++].shape, st);
    (void)!tfd_pb_end(&reader, "RunComponentFunctionResponse", st);
    if (st->code == TFD_OK && count < r->graph->result_count)
        tfd_fail(st, TFD_INTERNAL, "%s gave %d results of %d",
                 r->graph->worker->task, count, r->graph->result_count);
}

static void got_run(void *ctx, const struct tfd_status *st,
                    const struct tfd_incoming *response)
{
    struct peer_call *c = ctx;
    struct tfd_eager_run *r = c->run;
    struct tfd_status own = TFD_STATUS_INIT;

    name_peer(c->peer, TFD_METHOD_RunComponentFunction, st, &own);
    if (own.code == TFD_OK)
        take_shapes(response->proto, r, &own);
    r->run.worker = NULL;
    r->run.done(&r->run, &own);
    call_free(c);
}

static void run_graph(struct tfd_worker *w, struct tfd_run_graph *run)
{
    struct tfd_eager_run *r = (struct tfd_eager_run *)run;
    struct peer *p = peer_of(w);
    struct peer_call *c = call_new(p);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message m;

    if (!c) {
        no_memory(&st);
        run->done(run, &st);
        return;
    }
    c->run = r;
    run->worker = c;
    begin_message(p, &m);
    tfd_pb_put_fixed64(&m.proto, RUN(context_id), p->tasks->context);
    put_operation(&m, p, r);
    put_outputs(&m.proto, r);
    send_call(c, TFD_METHOD_RunComponentFunction, &m, got_run);
}

static void cancel(struct tfd_worker *w, struct tfd_run_graph *run)
{
    struct peer_call *c = run->worker;

    (void)w;
    if (c)
        tfd_channel_cancel(c->outcall);
}

static void ignore(void *ctx, const struct tfd_status *st,
                   const struct tfd_incoming *response)
{
    (void)st;
    (void)response;
    call_free(ctx);
}

/* A task that is gone has nothing left to drop. */
static void cleanup_graph(struct tfd_worker *w, int64_t step_id)
{
    struct peer *p = peer_of(w);
    struct peer_call *c = call_new(p);
    struct tfd_bytes step;
    struct tfd_message m;

    if (!c)
        return;
    tfd_bytes_init(&step, 64);
    tfd_pb_put_int(&step, tensorflow_eager_CleanupFunctionOp_step_id_tag,
                   step_id);
    begin_message(p, &m);
    put_item(&m, p, ITEM(cleanup_function), tfd_bytes_view(&step));
    tfd_bytes_deinit(&step);
    send_call(c, TFD_METHOD_Enqueue, &m, ignore);
}

/* ---- What it speaks ------------------------------------------------------ */

static void got_status(void *ctx, const struct tfd_status *st,
                       const struct tfd_incoming *response)
{
    struct peer_call *c = ctx;

    (void)response;
    c->met(c->ctx, st);
    call_free(c);
}

void tfd_eager_peer_meet(struct tfd_worker *w, tfd_worker_done_fn *done,
                         void *ctx)
{
    struct peer *p = peer_of(w);
    struct tfd_status st = TFD_STATUS_INIT;
    struct peer_call *c = NULL;
    struct tfd_message m;

    if (tfd_channel_protocol(p->channel) == TFD_PROTO_UNKNOWN) {
        c = call_new(p);
        if (!c)
            no_memory(&st);
    }
    if (!c) {
        done(ctx, &st);
        return;
    }
    c->met = done;
    c->ctx = ctx;
    begin_message(p, &m);
    send_call(c, TFD_METHOD_GetStatus, &m, got_status);
}

/* ---- The whole ----------------------------------------------------------- */

static bool is_native(const struct tfd_worker *w)
{
    return tfd_channel_protocol(((const struct peer *)w)->channel) ==
           TFD_PROTO_NATIVE;
}

static const char *link_trouble(const struct tfd_worker *w)
{
    return tfd_channel_trouble(((const struct peer *)w)->channel);
}

static const struct tfd_worker_ops ops = {
    .cancel_call = cancel_call,
    .register_graph = register_component,
    .deregister_graph = deregister_graph,
    .run_graph = run_graph,
    .cancel = cancel,
    .cleanup_graph = cleanup_graph,
    .is_native = is_native,
    .trouble = link_trouble,
};

struct tfd_worker *tfd_eager_peer_new(struct tfd_eager_tasks *c,
                                      struct tfd_channel *channel,
                                      const char *device)
{
    struct tfd_device_name name;
    struct peer *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->worker.ops = &ops;
    if (tfd_device_name_parse(tfd_str_of(device), &name, NULL) == TFD_OK)
        tfd_device_name_task(&name, p->worker.task);
    snprintf(p->device, sizeof(p->device), "%s", device);
    p->tasks = c;
    p->channel = channel;
    return &p->worker;
}

void tfd_eager_peer_free(struct tfd_worker *w)
{
    struct peer *p = peer_of(w);

    while (p && p->idle) {
        struct peer_call *c = p->idle;

        p->idle = c->next;
        free(c);
    }
    free(p);
}
