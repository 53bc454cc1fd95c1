/*
 * service.c - the rows of EagerService: contexts are made, kept alive and
 * closed here, the rest is handed on.
 */
#include "daemon/eager/eager_impl.h"

#include "common/base/container.h"
#include "common/proto/config.pb.h"
#include "common/proto/eager.pb.h"
#include "config/limits.h"
#include "daemon/device_proto.h"
#include "daemon/eager/component.h"
#include "daemon/eager/enqueue.h"
#include "daemon/eager/stream.h"

#include <stdlib.h>

#define CREATE(field) tensorflow_eager_CreateContextRequest_##field##_tag
#define SERVER(field) tensorflow_ServerDef_##field##_tag

static void respond_empty(struct tfd_call *call)
{
    struct tfd_message m;

    tfd_message_init(&m, call->native);
    tfd_call_respond(call, &m);
}

static void finish(struct tfd_call *call, const struct tfd_status *st)
{
    if (st->code == TFD_OK)
        respond_empty(call);
    else
        tfd_call_fail(call, st);
}

/* ---- CreateContext, UpdateContext ---------------------------------------- */

static enum tfd_code decode_server(struct tfd_str proto,
                                   struct tfd_eager_context_request *q,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == SERVER(cluster))
            q->cluster_def = tfd_pb_str(&r, &f);
        else if (f.tag == SERVER(job_name))
            q->job = tfd_pb_str(&r, &f);
        else if (f.tag == SERVER(task_index))
            q->index = tfd_pb_int32(&r, &f);
    }
    return tfd_service_request_end(&r, st);
}

static enum tfd_code decode_create(struct tfd_str proto,
                                   struct tfd_eager_context_request *q,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_str server = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        switch (f.tag) {
        case CREATE(server_def):
            server = tfd_pb_str(&r, &f);
            break;
        case CREATE(keep_alive_secs):
            q->keep_alive_secs = tfd_pb_int64(&r, &f);
            break;
        case CREATE(context_id):
            q->id = f.number;
            break;
        case CREATE(context_view_id):
            q->view = f.number;
            break;
        case CREATE(clear_existing_contexts):
            q->clears = tfd_pb_bool(&r, &f);
            break;
        default:
            break;
        }
    }
    TFD_TRY(tfd_service_request_end(&r, st));
    q->devices = proto;
    q->devices_tag = CREATE(cluster_device_attributes);
    return decode_server(server, q, st);
}

#define UPDATE(field) tensorflow_eager_UpdateContextRequest_##field##_tag

static enum tfd_code decode_update(struct tfd_str proto,
                                   struct tfd_eager_context_request *q,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_str server = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == UPDATE(server_def))
            server = tfd_pb_str(&r, &f);
        else if (f.tag == UPDATE(context_id))
            q->id = f.number;
        else if (f.tag == UPDATE(context_view_id))
            q->view = f.number;
    }
    TFD_TRY(tfd_service_request_end(&r, st));
    q->devices = proto;
    q->devices_tag = UPDATE(cluster_device_attributes);
    return decode_server(server, q, st);
}

static void close_all(struct tfd_eager *e)
{
    struct tfd_eager_context *c;
    size_t at;

    for (at = 0; (c = tfd_id_map_next(&e->contexts, &at)); at = 0)
        tfd_eager_context_close(c);
}

/* As if the task had just started. */
static void clear_all(struct tfd_eager *e)
{
    struct tfd_worker *w = e->options.worker;

    close_all(e);
    w->ops->cleanup_all(w, NULL, 0, NULL, NULL);
}

static void respond_devices(struct tfd_call *call,
                            const struct tfd_eager_context *c, uint32_t tag)
{
    struct tfd_message m;

    tfd_message_init(&m, call->native);
    for (int i = 0; i < c->device_count; i++)
        tfd_device_proto_put(&m.proto, tag, &c->devices[i]);
    tfd_call_respond(call, &m);
}

static void create_context(void *self, struct tfd_call *call)
{
    struct tfd_eager *e = self;
    struct tfd_eager_context_request q = {
        .cluster_def = TFD_STR_EMPTY,
        .job = TFD_STR_EMPTY,
        .peer = call->origin ? call->origin->key : "",
        .link = call->link,
    };
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_eager_context *c;

    if (decode_create(call->in.proto, &q, &st) == TFD_OK) {
        if (q.clears)
            clear_all(e);
        (void)!tfd_eager_context_new(e, &q, &c, &st);
    }
    if (st.code != TFD_OK) {
        tfd_call_fail(call, &st);
        return;
    }
    tfd_call_meter(call, c->meter);
    respond_devices(
        call, c, tensorflow_eager_CreateContextResponse_device_attributes_tag);
}

/* The context that a call names, which counts for it from now on. */
static enum tfd_code find_context(struct tfd_eager *e, struct tfd_call *call,
                                  uint64_t id, struct tfd_eager_context **out,
                                  struct tfd_status *st)
{
    TFD_TRY(tfd_eager_context_find(e, id, call->link, out, st));
    tfd_call_meter(call, (*out)->meter);
    return TFD_OK;
}

static void update_context(void *self, struct tfd_call *call)
{
    struct tfd_eager_context_request q = {.cluster_def = TFD_STR_EMPTY,
                                          .job = TFD_STR_EMPTY};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_eager_context *c;

    if (decode_update(call->in.proto, &q, &st) == TFD_OK &&
        find_context(self, call, q.id, &c, &st) == TFD_OK &&
        tfd_eager_context_update(c, &q, &st) == TFD_OK)
        respond_devices(
            call, c,
            tensorflow_eager_UpdateContextResponse_device_attributes_tag);
    else
        tfd_call_fail(call, &st);
}

/* ---- KeepAlive, CloseContext, WaitQueueDone ------------------------------ */

struct named {
    uint64_t context, view;
    bool has_ops;
};

/* The three begin alike, and what follows has a number of its own in each. */
static enum tfd_code decode_named(struct tfd_str proto, struct named *n,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_eager_CloseContextRequest_context_id_tag)
            n->context = f.number;
        else if (f.tag ==
                 tensorflow_eager_CloseContextRequest_context_view_id_tag)
            n->view = f.number;
        if (f.tag == tensorflow_eager_WaitQueueDoneRequest_op_id_tag)
            n->has_ops = true;
    }
    return tfd_service_request_end(&r, st);
}

static void keep_alive(void *self, struct tfd_call *call)
{
    struct named n = {.context = 0};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_eager_context *c;
    struct tfd_message m;

    if (decode_named(call->in.proto, &n, &st) != TFD_OK ||
        find_context(self, call, n.context, &c, &st) != TFD_OK) {
        tfd_call_fail(call, &st);
        return;
    }
    tfd_message_init(&m, call->native);
    tfd_pb_put_fixed64(&m.proto,
                       tensorflow_eager_KeepAliveResponse_context_view_id_tag,
                       c->view);
    tfd_call_respond(call, &m);
}

/* One that is not there any more is closed; a coordinator's word on a view that
 * was replaced since is too late. */
static void close_context(void *self, struct tfd_call *call)
{
    struct named n = {.context = 0};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_eager_context *c;

    if (decode_named(call->in.proto, &n, &st) == TFD_OK &&
        tfd_eager_context_find(self, n.context, call->link, &c, NULL) ==
            TFD_OK &&
        n.view >= c->view)
        tfd_eager_context_close(c);
    finish(call, &st);
}

/* Nothing is queued that its sender was not told of. */
static void wait_queue_done(void *self, struct tfd_call *call)
{
    struct named n = {.context = 0};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_eager_context *c;

    if (decode_named(call->in.proto, &n, &st) == TFD_OK &&
        find_context(self, call, n.context, &c, &st) == TFD_OK && n.has_ops)
        tfd_fail(&st, TFD_UNIMPLEMENTED,
                 "EagerServiceImpl::WaitQueueDone is not implemented for "
                 "particular op IDs.");
    finish(call, &st);
}

/* ---- Enqueue ------------------------------------------------------------- */

struct enqueue_call {
    struct tfd_eager_request request;
    struct tfd_call *call;
    struct tfd_eager_context *context; /* while it waits for its turn */
    struct tfd_eager_turn turn;
};

static void request_done(struct tfd_eager_request *q)
{
    struct enqueue_call *x = q->ctx;
    struct tfd_call *call = x->call;

    call->cancelled = NULL;
    if (q->st.code == TFD_OK)
        tfd_call_respond(call, &q->response);
    else
        tfd_call_fail(call, &q->st);
    tfd_message_deinit(&q->response);
    free(x);
}

static void request_cancelled(void *ctx, struct tfd_call *call)
{
    struct enqueue_call *x = ctx;
    struct tfd_eager_context *c = x->context;
    struct tfd_status st = TFD_STATUS_INIT;

    if (!c) {
        tfd_eager_request_cancel(&x->request);
        return;
    }
    tfd_eager_order_forget(&c->order, &x->turn);
    tfd_fail(&st, TFD_CANCELLED, "The request was cancelled by its caller.");
    free(x);
    tfd_call_fail(call, &st);
    tfd_eager_context_leave(c);
}

static void begin_request(struct enqueue_call *x, struct tfd_eager_context *c)
{
    x->request.done = request_done;
    x->request.ctx = x;
    x->call->ctx = x;
    x->call->cancelled = request_cancelled;
    tfd_eager_request_begin(&x->request, c, &x->call->in, x->call->native);
}

static void turn_comes(struct tfd_eager_turn *t)
{
    struct enqueue_call *x = TFD_CONTAINER_OF(t, struct enqueue_call, turn);
    struct tfd_eager_context *c = x->context;

    x->context = NULL;
    begin_request(x, c);
    tfd_eager_context_leave(c);
}

static void wait_for_turn(struct enqueue_call *x, struct tfd_eager_context *c)
{
    x->turn.comes = turn_comes;
    if (!tfd_eager_order_wait(&c->order, &x->turn)) {
        begin_request(x, c);
        return;
    }
    tfd_eager_context_enter(c);
    x->context = c;
    x->call->ctx = x;
    x->call->cancelled = request_cancelled;
}

static void enqueue(void *self, struct tfd_call *call)
{
    struct enqueue_call *x = calloc(1, sizeof(*x));
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_eager_request_head head;
    struct tfd_eager_context *c;

    if (!x)
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a request");
    if (!x || tfd_eager_request_head(call->in.proto, &head, &st) != TFD_OK ||
        find_context(self, call, head.context, &c, &st) != TFD_OK) {
        free(x);
        tfd_call_fail(call, &st);
        return;
    }
    x->call = call;
    if (head.drops)
        wait_for_turn(x, c);
    else
        begin_request(x, c);
}

/* ---- The table ----------------------------------------------------------- */

void tfd_eager_bind(struct tfd_eager *e)
{
    static const struct {
        enum tfd_method_number method;
        tfd_handler_fn *handler;
    } rows[] = {
        {TFD_METHOD_CreateContext, create_context},
        {TFD_METHOD_UpdateContext, update_context},
        {TFD_METHOD_KeepAlive, keep_alive},
        {TFD_METHOD_CloseContext, close_context},
        {TFD_METHOD_WaitQueueDone, wait_queue_done},
        {TFD_METHOD_Enqueue, enqueue},
        {TFD_METHOD_StreamingEnqueue, tfd_eager_streaming_enqueue},
        {TFD_METHOD_RunComponentFunction, tfd_eager_run_component},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tfd_service_bind(e->options.service, rows[i].method, rows[i].handler,
                         e);
}
