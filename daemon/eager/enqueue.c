/*
 * enqueue.c - see enqueue.h.
 */
#include "daemon/eager/enqueue.h"

#include "common/base/entropy.h"
#include "common/proto/eager.pb.h"
#include "config/limits.h"
#include "daemon/eager/function.h"
#include "daemon/eager/operation.h"
#include "kernels/core/runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ITEM(field) tensorflow_eager_QueueItem_##field##_tag
#define ANSWER(field) tensorflow_eager_QueueResponse_##field##_tag
#define QUEUE tensorflow_eager_EnqueueRequest_queue_tag
#define ANSWERS tensorflow_eager_EnqueueResponse_queue_response_tag

static void go_on(struct tfd_eager_request *q);

/* ---- What runs ----------------------------------------------------------- */

void tfd_eager_run_status(struct tfd_status *to, const struct tfd_status *from,
                          struct tfd_str name, bool is_function)
{
    struct tfd_status own = *from;
    char tail[128];
    size_t size = strlen(own.text), n;

    if (is_function) {
        tfd_status_context(&own, "{{function_node " TFD_STR_FMT "}}",
                           TFD_STR_ARG(name));
    } else {
        n = (size_t)snprintf(tail, sizeof(tail),
                             "\n\t [[{{node " TFD_STR_FMT "}}]]",
                             TFD_STR_ARG(name));
        if (n < sizeof(tail) && n <= size &&
            memcmp(own.text + size - n, tail, n) == 0)
            own.text[size - n] = '\0';
    }
    tfd_status_copy(to, &own);
}

static void put_answer(struct tfd_eager_request *q,
                       const struct tfd_eager_run *r)
{
    struct tfd_bytes *b = &q->response.proto;
    size_t answer = tfd_pb_begin(b, ANSWERS);

    for (int i = 0; i < r->graph->result_count; i++) {
        size_t shape = tfd_pb_begin(b, ANSWER(shape));

        tfd_tensor_proto_shape_encode(b, &r->results[i].shape);
        tfd_pb_finish(b, shape);
    }
    for (int i = 0; q->is_function && i < r->graph->result_count; i++)
        tfd_pb_put_str_always(b, ANSWER(device), TFD_STR_EMPTY);
    tfd_pb_finish(b, answer);
}

static enum tfd_code keep_results(struct tfd_eager_request *q,
                                  struct tfd_eager_run *r,
                                  struct tfd_status *st)
{
    for (int i = 0; i < r->graph->result_count; i++)
        if (r->results[i].dtype == TFD_DTYPE_INVALID)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Retval[%d] does not have value", i);
    put_answer(q, r);
    for (int i = 0; i < r->graph->result_count; i++)
        TFD_TRY(tfd_eager_handles_put(&q->context->handles, q->op_id, i,
                                      &r->results[i], st));
    return TFD_OK;
}

static void run_done(struct tfd_eager_run *r, const struct tfd_status *st)
{
    struct tfd_eager_request *q = r->ctx;

    if (q->context->is_closed)
        (void)!tfd_eager_context_lost(q->context->id, &q->st);
    else if (st->code != TFD_OK)
        tfd_eager_run_status(&q->st, st, q->op, q->is_function);
    else
        (void)keep_results(q, r, &q->st);
    q->run = NULL;
    tfd_eager_run_free(r);
    go_on(q);
}

static void begin_run(struct tfd_eager_request *q, struct tfd_eager_graph *g,
                      struct tfd_eager_operation *o, int64_t step_id)
{
    struct tfd_eager_run *r = tfd_eager_run_new(q->context, g, &q->st);

    if (!r)
        return;
    for (int i = 0; i < o->in_count; i++) {
        r->args[i] = o->in[i];
        o->in[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    }
    q->op = o->name;
    q->op_id = o->id;
    q->is_function = o->is_function;
    q->run = r;
    r->done = run_done;
    r->ctx = q;
    tfd_eager_run_begin(r, step_id);
}

/* ---- Operations ---------------------------------------------------------- */

/* The attributes of a _Send as TensorFlow's rendezvous key. */
static enum tfd_code put_key(struct tfd_bytes *key,
                             const struct tfd_eager_request *q,
                             const struct tfd_eager_operation *o,
                             struct tfd_status *st)
{
    const struct tfd_node n = {
        .name = o->name,
        .op = tfd_op_find(&q->context->eager->options.registry->ops, o->name),
        .attrs = o->attrs,
        .attr_count = o->attr_count,
    };
    struct tfd_str from, to, name;
    int64_t incarnation;

    TFD_TRY(tfd_node_str(&n, "send_device", &from, st));
    TFD_TRY(tfd_node_int(&n, "send_device_incarnation", &incarnation, st));
    TFD_TRY(tfd_node_str(&n, "recv_device", &to, st));
    TFD_TRY(tfd_node_str(&n, "tensor_name", &name, st));
    tfd_bytes_add_str(key, from);
    tfd_bytes_printf(key, ";%016" PRIx64 ";", (uint64_t)incarnation);
    tfd_bytes_add_str(key, to);
    tfd_bytes_add(key, ";", 1);
    tfd_bytes_add_str(key, name);
    return tfd_bytes_ok(key, "a rendezvous key", st);
}

/* A _Send has no kernel to wait for: its value goes where it is asked for. */
static enum tfd_code send_value(struct tfd_eager_request *q,
                                struct tfd_eager_operation *o,
                                struct tfd_status *st)
{
    struct tfd_worker *w = q->context->eager->options.worker;
    struct tfd_bytes key;
    enum tfd_code rc;

    if (o->in_count != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "expected 1 inputs, got %d",
                        o->in_count);
    tfd_bytes_init(&key, 4 * TFD_NAME_SIZE_MAX);
    rc = put_key(&key, q, o, st);
    if (rc == TFD_OK)
        rc = w->ops->put(w, (int64_t)q->context->id, tfd_bytes_view(&key),
                         &o->in[0], st);
    tfd_bytes_deinit(&key);
    if (rc == TFD_OK)
        tfd_pb_put_str_always(&q->response.proto, ANSWERS, TFD_STR_EMPTY);
    return rc;
}

/* TensorFlow draws these, too, and the sign keeps them apart from steps of
 * sessions. */
static int64_t draw_step(void)
{
    return (int64_t)(tfd_entropy_id() | (uint64_t)1 << 63);
}

static enum tfd_code run_function(struct tfd_eager_request *q,
                                  struct tfd_eager_operation *o,
                                  struct tfd_eager_function *f,
                                  struct tfd_status *st)
{
    TFD_TRY(tfd_eager_function_graph(q->context, f, false, o->on, st));
    if (f->graph->arg_count != o->in_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "expected %d inputs, got %d",
                        f->graph->arg_count, o->in_count);
    o->is_function = true;
    begin_run(q, f->graph, o, draw_step());
    return q->st.code;
}

static enum tfd_code run_op(struct tfd_eager_request *q,
                            struct tfd_eager_operation *o,
                            struct tfd_status *st)
{
    struct tfd_eager_graph *g;

    TFD_TRY(tfd_eager_single_op(q->context, o, &g, st));
    begin_run(q, g, o, (int64_t)q->context->id);
    tfd_eager_graph_unref(g);
    return q->st.code;
}

static enum tfd_code run_operation(struct tfd_eager_request *q,
                                   struct tfd_str item, struct tfd_status *st)
{
    struct tfd_eager_function *f;
    struct tfd_eager_operation o;
    enum tfd_code rc;

    TFD_TRY(tfd_eager_operation_decode(q->context, q->in, item, &o, st));
    f = tfd_eager_library_find(&q->context->functions, o.name);
    if (o.is_component)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "component function " TFD_STR_FMT
                      " is run by RunComponentFunction only",
                      TFD_STR_ARG(o.name));
    else if (f)
        rc = run_function(q, &o, f, st);
    else if (tfd_str_is(o.name, "_Send") || tfd_str_is(o.name, "_HostSend"))
        rc = send_value(q, &o, st);
    else
        rc = run_op(q, &o, st);
    tfd_eager_operation_deinit(&o);
    return rc;
}

/* ---- Other items --------------------------------------------------------- */

static enum tfd_code drop_value(struct tfd_eager_request *q,
                                struct tfd_str item, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(item);
    struct tfd_pb_field f;
    int32_t output = 0;
    int64_t op = 0;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_eager_RemoteTensorHandle_op_id_tag)
            op = tfd_pb_int64(&r, &f);
        else if (f.tag == tensorflow_eager_RemoteTensorHandle_output_num_tag)
            output = tfd_pb_int32(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "RemoteTensorHandle", st));
    return tfd_eager_handles_drop(&q->context->handles, op, output, st);
}

static enum tfd_code put_tensors(struct tfd_eager_request *q,
                                 struct tfd_str item, int64_t op,
                                 struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(item);
    struct tfd_pb_field f;
    int32_t output = 0;

    while (tfd_pb_next(&r, &f)) {
        struct tfd_tensor t = TFD_TENSOR_INIT;

        if (f.tag != tensorflow_eager_SendTensorOp_tensors_tag)
            continue;
        TFD_TRY(tfd_tensor_decode(q->in, tfd_pb_str(&r, &f), tfd_handle_decode,
                                  &t, st));
        TFD_TRY(
            tfd_eager_handles_put(&q->context->handles, op, output++, &t, st));
    }
    return tfd_pb_end(&r, "SendTensorOp", st);
}

static enum tfd_code send_tensor(struct tfd_eager_request *q,
                                 struct tfd_str item, struct tfd_status *st)
{
    const struct tfd_device_attributes *on;
    struct tfd_pb_reader r = tfd_pb_reader_of(item);
    struct tfd_str device = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    int64_t op = 0;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_eager_SendTensorOp_op_id_tag)
            op = tfd_pb_int64(&r, &f);
        else if (f.tag == tensorflow_eager_SendTensorOp_device_name_tag)
            device = tfd_pb_str(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "SendTensorOp", st));
    TFD_TRY(tfd_eager_find_device(q->context, device, false, &on, st));
    return put_tensors(q, item, op, st);
}

static enum tfd_code register_function(struct tfd_eager_request *q,
                                       struct tfd_str item,
                                       struct tfd_status *st)
{
    struct tfd_str def = TFD_STR_EMPTY, library = TFD_STR_EMPTY;
    struct tfd_pb_reader r = tfd_pb_reader_of(item);
    struct tfd_pb_field f;
    bool component = false;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_eager_RegisterFunctionOp_function_def_tag)
            def = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_eager_RegisterFunctionOp_library_tag)
            library = tfd_pb_str(&r, &f);
        else if (f.tag ==
                 tensorflow_eager_RegisterFunctionOp_is_component_function_tag)
            component = tfd_pb_bool(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "RegisterFunctionOp", st));
    return tfd_eager_library_add(component ? &q->context->components
                                           : &q->context->functions,
                                 def, component ? library : TFD_STR_EMPTY, st);
}

static enum tfd_code remove_function(struct tfd_eager_request *q,
                                     struct tfd_str item, struct tfd_status *st)
{
    struct tfd_eager_library *l = &q->context->functions;
    struct tfd_pb_reader r = tfd_pb_reader_of(item);
    struct tfd_str name = TFD_STR_EMPTY;
    struct tfd_eager_function *function;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_eager_RemoveFunctionOp_function_name_tag)
            name = tfd_pb_str(&r, &f);
    TFD_TRY(tfd_pb_end(&r, "RemoveFunctionOp", st));
    function = tfd_eager_library_find(l, name);
    if (!function)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tried to remove non-existent function '" TFD_STR_FMT
                        "'.",
                        TFD_STR_ARG(name));
    tfd_eager_graph_unref(function->graph);
    function->graph = NULL;
    tfd_eager_library_remove(l, function);
    return TFD_OK;
}

static enum tfd_code clean_up(struct tfd_eager_request *q, struct tfd_str item,
                              struct tfd_status *st)
{
    struct tfd_worker *w = q->context->eager->options.worker;
    struct tfd_pb_reader r = tfd_pb_reader_of(item);
    struct tfd_pb_field f;
    int64_t step = 0;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_eager_CleanupFunctionOp_step_id_tag)
            step = tfd_pb_int64(&r, &f);
    TFD_TRY(tfd_pb_end(&r, "CleanupFunctionOp", st));
    /* Those of sessions, and of contexts, are not its to end. */
    if (step < 0 && step != (int64_t)q->context->id)
        w->ops->cleanup_graph(w, step);
    return TFD_OK;
}

/* What came before it has ended. */
static enum tfd_code sync_stream(struct tfd_eager_request *q,
                                 struct tfd_str item, struct tfd_status *st)
{
    (void)q;
    (void)item;
    (void)st;
    return TFD_OK;
}

static enum tfd_code send_packed(struct tfd_eager_request *q,
                                 struct tfd_str item, struct tfd_status *st)
{
    (void)q;
    (void)item;
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "packed handles (send_packed_handle) are not implemented");
}

/* ---- Items --------------------------------------------------------------- */

static const struct {
    uint32_t tag;
    bool answers; /* itself; else its answer is empty */
    enum tfd_code (*run)(struct tfd_eager_request *q, struct tfd_str item,
                         struct tfd_status *st);
} rows[] = {
    {ITEM(handle_to_decref), false, drop_value},
    {ITEM(operation), true, run_operation},
    {ITEM(send_tensor), false, send_tensor},
    {ITEM(register_function), false, register_function},
    {ITEM(cleanup_function), false, clean_up},
    {ITEM(sync_remote_executor_for_stream), false, sync_stream},
    {ITEM(send_packed_handle), false, send_packed},
    {ITEM(remove_function), false, remove_function},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

/* The member that is set; tag 0 when none is. */
static struct tfd_pb_field read_item(struct tfd_str item, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(item);
    struct tfd_pb_field f, last = {.tag = 0};

    while (tfd_pb_next(&r, &f))
        if (f.tag >= ITEM(handle_to_decref) && f.tag <= ITEM(remove_function))
            last = f;
    if (last.tag)
        (void)tfd_pb_str(&r, &last);
    (void)!tfd_pb_end(&r, "QueueItem", st);
    return last;
}

static void run_item(struct tfd_eager_request *q, struct tfd_str bytes)
{
    struct tfd_pb_field item = read_item(bytes, &q->st);
    size_t i = 0;

    while (i < ROW_COUNT && rows[i].tag != item.tag)
        i++;
    if (q->st.code != TFD_OK)
        return;
    if (i < ROW_COUNT && rows[i].run(q, item.bytes, &q->st) != TFD_OK)
        return;
    if (i == ROW_COUNT || !rows[i].answers) /* one that is empty syncs, too */
        tfd_pb_put_str_always(&q->response.proto, ANSWERS, TFD_STR_EMPTY);
}

static void finish(struct tfd_eager_request *q)
{
    struct tfd_eager_context *c = q->context;

    if (q->st.code == TFD_OK)
        (void)!tfd_service_request_end(&q->items, &q->st);
    q->done(q);
    tfd_eager_context_leave(c);
}

static bool next_item(struct tfd_eager_request *q, struct tfd_str *item)
{
    struct tfd_pb_field f;

    if (q->run || q->st.code != TFD_OK)
        return false;
    if (q->context->is_closed)
        (void)!tfd_eager_context_lost(q->context->id, &q->st);
    else if (q->cancelled)
        tfd_fail(&q->st, TFD_CANCELLED, "The request was cancelled.");
    if (q->st.code != TFD_OK)
        return false;
    while (tfd_pb_next(&q->items, &f))
        if (f.tag == QUEUE) {
            *item = tfd_pb_str(&q->items, &f);
            return !q->items.failed;
        }
    return false;
}

/* One that ends at once comes back here from inside. */
static void go_on(struct tfd_eager_request *q)
{
    struct tfd_str item;

    if (q->inside)
        return;
    q->inside = true;
    while (next_item(q, &item))
        run_item(q, item);
    q->inside = false;
    if (!q->run)
        finish(q);
}

void tfd_eager_request_begin(struct tfd_eager_request *q,
                             struct tfd_eager_context *c,
                             const struct tfd_incoming *in, bool native)
{
    q->context = c;
    q->in = in;
    q->items = tfd_pb_reader_of(in->proto);
    q->run = NULL;
    q->inside = q->cancelled = false;
    tfd_status_clear(&q->st);
    tfd_message_init(&q->response, native);
    tfd_eager_context_enter(c);
    go_on(q);
}

void tfd_eager_request_cancel(struct tfd_eager_request *q)
{
    q->cancelled = true;
    if (q->run)
        tfd_eager_run_cancel(q->run);
}

enum tfd_code tfd_eager_request_head(struct tfd_str proto,
                                     struct tfd_eager_request_head *out,
                                     struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_status item = TFD_STATUS_INIT;
    struct tfd_pb_field f;
    bool first = true;

    *out = (struct tfd_eager_request_head){.drops = false};
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_eager_EnqueueRequest_context_id_tag) {
            out->context = f.number;
        } else if (f.tag == QUEUE && first) {
            out->drops = read_item(tfd_pb_str(&r, &f), &item).tag ==
                         ITEM(handle_to_decref);
            first = false;
        }
    }
    return tfd_service_request_end(&r, st);
}
