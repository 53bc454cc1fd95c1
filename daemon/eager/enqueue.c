/*
 * enqueue.c - see enqueue.h.
 */
#include "daemon/eager/enqueue.h"

#include "common/base/container.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/pbio.h"
#include "common/proto/eager.pb.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"
#include "daemon/eager/operate.h"
#include "daemon/eager/operation.h"
#include "daemon/eager/packed.h"
#include "daemon/eager/parts/spread_run.h"
#include "kernels/core/runtime.h"

#include <inttypes.h>

#define ITEM(field) tensorflow_eager_QueueItem_##field##_tag
#define QUEUE tensorflow_eager_EnqueueRequest_queue_tag
#define ANSWERS tensorflow_eager_EnqueueResponse_queue_response_tag

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

/* The next tensor of those that are sent; after the last one, the answer. */
static enum tfd_code put_sent(struct tfd_eager_request *q,
                              struct tfd_status *st)
{
    struct tfd_tensor t = TFD_TENSOR_INIT;
    struct tfd_pb_field f = {.tag = 0};

    while (tfd_pb_next(&q->tensors, &f) &&
           f.tag != tensorflow_eager_SendTensorOp_tensors_tag)
        f.tag = 0;
    if (f.tag == 0) {
        q->sends = false;
        tfd_pb_put_str_always(&q->response.proto, ANSWERS, TFD_STR_EMPTY);
        return tfd_pb_end(&q->tensors, "SendTensorOp", st);
    }
    TFD_TRY(tfd_tensor_decode(q->in, tfd_pb_str(&q->tensors, &f),
                              tfd_handle_decode, &t, st));
    return tfd_eager_handles_put(&q->context->handles, q->op_id, q->output++,
                                 &t, st);
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
    q->op_id = op;
    TFD_TRY(tfd_eager_find_device(q->context, device, false, &on, st));
    q->tensors = tfd_pb_reader_of(item);
    q->output = 0;
    q->sends = true;
    return TFD_OK;
}

/* The entries of a protobuf map come in any order. */
static uint64_t hash_fields(struct tfd_str message)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;
    uint64_t sum = 0;

    while (tfd_pb_next(&r, &f))
        sum += tfd_hash_number(f.tag) ^ tfd_hash_str(tfd_pb_str(&r, &f));
    return sum;
}

/* Of its nodes: equal for functions that do the same, whatever they are called.
 * Processes have numbers of their own (hash.h). */
static uint64_t body_hash(struct tfd_str def)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    struct tfd_pb_field f;
    uint64_t sum = 0;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_FunctionDef_node_def_tag)
            sum += tfd_hash_number(hash_fields(tfd_pb_str(&r, &f)));
    return sum;
}

static void tell_of_function(struct tfd_str def, bool component)
{
    if (tfd_log_enabled(TFD_LOG_DEBUG))
        tfd_log(TFD_LOG_DEBUG, "register_function",
                "component=%d bytes=%zu body=%016" PRIx64, component, def.size,
                body_hash(def));
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
    tell_of_function(def, component);
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
    tfd_eager_library_forget_spreads(function);
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
    struct tfd_eager_packed *p;
    int64_t op;

    TFD_TRY(tfd_eager_packed_decode(q->context, q->in, item, &op, &p, st));
    return tfd_eager_handles_put_packed(&q->context->handles, op, p, st);
}

/* ---- Items --------------------------------------------------------------- */

static const struct {
    uint32_t tag;
    bool answers; /* itself; else its answer is empty */
    enum tfd_code (*run)(struct tfd_eager_request *q, struct tfd_str item,
                         struct tfd_status *st);
} rows[] = {
    {ITEM(handle_to_decref), false, drop_value},
    {ITEM(operation), true, tfd_eager_operate},
    {ITEM(send_tensor), true, send_tensor},
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

    q->op_id = TFD_EAGER_NOT_KEPT;
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
    else if (q->op_id != TFD_EAGER_NOT_KEPT && !c->is_closed)
        tfd_eager_failures_add(&c->failures, q->op_id, &q->st);
    q->done(q);
    tfd_eager_context_leave(c);
}

static bool is_busy(const struct tfd_eager_request *q)
{
    return q->run || q->spread || q->waits;
}

static bool may_go_on(struct tfd_eager_request *q)
{
    if (is_busy(q) || q->st.code != TFD_OK)
        return false;
    if (q->context->is_closed)
        (void)!tfd_eager_context_lost(q->context->id, &q->st);
    else if (q->cancelled)
        tfd_fail(&q->st, TFD_CANCELLED, "The request was cancelled.");
    return q->st.code == TFD_OK;
}

static bool next_item(struct tfd_eager_request *q, struct tfd_str *item)
{
    struct tfd_pb_field f;

    while (tfd_pb_next(&q->items, &f))
        if (f.tag == QUEUE) {
            *item = tfd_pb_str(&q->items, &f);
            return !q->items.failed;
        }
    return false;
}

/* False: there is nothing more. */
static bool do_next(struct tfd_eager_request *q)
{
    struct tfd_str item;

    if (q->sends) {
        (void)!put_sent(q, &q->st);
        return true;
    }
    if (!next_item(q, &item))
        return false;
    run_item(q, item);
    return true;
}

static void stand_in_line(struct tfd_eager_request *q)
{
    q->waits = true;
    tfd_eager_line_wait(&q->context->eager->line, &q->wait);
}

static void turn_comes(struct tfd_eager_waiter *w)
{
    struct tfd_eager_request *q =
        TFD_CONTAINER_OF(w, struct tfd_eager_request, wait);

    q->waits = false;
    tfd_eager_request_go_on(q);
}

/* One that ends at once comes back here from inside. */
void tfd_eager_request_go_on(struct tfd_eager_request *q)
{
    struct tfd_eager_line *line = &q->context->eager->line;
    int64_t entered = tfd_eager_line_enter();

    if (q->inside)
        return;
    q->inside = true;
    while (may_go_on(q) && do_next(q))
        if (!is_busy(q) && tfd_eager_line_over(line, entered))
            stand_in_line(q);
    q->inside = false;
    tfd_eager_line_leave(line, entered);
    if (!is_busy(q))
        finish(q);
}

void tfd_eager_request_begin(struct tfd_eager_request *q,
                             struct tfd_eager_context *c,
                             const struct tfd_incoming *in, bool native)
{
    q->context = c;
    q->in = in;
    q->items = tfd_pb_reader_of(in->proto);
    q->op_id = TFD_EAGER_NOT_KEPT;
    q->run = NULL;
    q->spread = NULL;
    q->wait.go = turn_comes;
    q->inside = q->cancelled = q->waits = q->sends = false;
    tfd_status_clear(&q->st);
    tfd_message_init(&q->response, native);
    tfd_eager_context_enter(c);
    if (tfd_eager_line_busy(&c->eager->line))
        stand_in_line(q);
    else
        tfd_eager_request_go_on(q);
}

void tfd_eager_request_cancel(struct tfd_eager_request *q)
{
    q->cancelled = true;
    if (q->run)
        tfd_eager_run_cancel(q->run);
    if (q->spread)
        tfd_eager_spread_run_cancel(q->spread);
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
