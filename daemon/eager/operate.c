/*
 * operate.c - see operate.h.
 */
#include "daemon/eager/operate.h"

#include "common/base/entropy.h"
#include "common/proto/eager.pb.h"
#include "config/limits.h"
#include "daemon/eager/function.h"
#include "daemon/eager/operation.h"
#include "daemon/eager/parts/spread_run.h"
#include "kernels/core/runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ANSWER(field) tensorflow_eager_QueueResponse_##field##_tag
#define ANSWERS tensorflow_eager_EnqueueResponse_queue_response_tag

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

/* A coordinator takes CANCELLED for the echo of what it did itself and runs the
 * function again, for ever.  Where nobody has cancelled it, an op has said so,
 * and that is the program's to know. */
static void check_cancelled(struct tfd_eager_request *q)
{
    const struct tfd_status own = q->st;

    if (own.code != TFD_CANCELLED || q->cancelled || !q->is_function)
        return;
    tfd_status_clear(&q->st);
    tfd_fail(
        &q->st, TFD_FAILED_PRECONDITION,
        "%s\n\t (CANCELLED by an op of the function, which nobody else has "
        "cancelled)",
        own.text);
}

/* The values themselves, of which none is kept. */
static void answer_values(struct tfd_eager_request *q,
                          const struct tfd_eager_run *r)
{
    struct tfd_message *m = &q->response;
    size_t answer = tfd_message_begin(m, ANSWERS);

    for (int i = 0; i < r->graph->result_count; i++)
        tfd_message_put_tensor(m, ANSWER(tensor), &r->results[i],
                               tfd_handle_encode);
    tfd_message_finish(m, answer);
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
    if (q->op_id == TFD_EAGER_NOT_KEPT) {
        answer_values(q, r);
        return TFD_OK;
    }
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
    check_cancelled(q);
    q->run = NULL;
    tfd_eager_run_free(r);
    tfd_eager_request_go_on(q);
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

    if (o->arg_count != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "expected 1 inputs, got %d",
                        o->arg_count);
    TFD_TRY(tfd_eager_operation_here(q->context, o, st));
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

/* ---- Functions on several tasks ------------------------------------------ */

static void put_spread_answer(struct tfd_eager_request *q,
                              const struct tfd_eager_spread_run *r)
{
    struct tfd_bytes *b = &q->response.proto;
    size_t answer = tfd_pb_begin(b, ANSWERS);

    for (int i = 0; i < r->spread->result_count; i++) {
        struct tfd_eager_spread_result x = tfd_eager_spread_run_result(r, i);
        size_t shape = tfd_pb_begin(b, ANSWER(shape));

        tfd_tensor_proto_shape_encode(b, &x.value->shape);
        tfd_pb_finish(b, shape);
    }
    for (int i = 0; q->is_function && i < r->spread->result_count; i++)
        tfd_pb_put_str_always(
            b, ANSWER(device),
            tfd_str_of(tfd_eager_spread_run_result(r, i).device));
    tfd_pb_finish(b, answer);
}

static enum tfd_code keep_spread(struct tfd_eager_request *q,
                                 const struct tfd_eager_spread_run *r,
                                 struct tfd_status *st)
{
    struct tfd_eager_spread_result x;

    for (int i = 0; i < r->spread->result_count; i++) {
        x = tfd_eager_spread_run_result(r, i);
        if (!x.value || (!x.device && x.value->dtype == TFD_DTYPE_INVALID))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Retval[%d] does not have value", i);
    }
    put_spread_answer(q, r);
    for (int i = 0; i < r->spread->result_count; i++) {
        x = tfd_eager_spread_run_result(r, i);
        if (!x.device)
            TFD_TRY(tfd_eager_handles_put(&q->context->handles, q->op_id, i,
                                          x.value, st));
    }
    return TFD_OK;
}

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* A part has a name that nobody knows: a client finds the line of its program
 * by the function that it called.  Whose task is lost has no such line. */
static void spread_status(struct tfd_eager_request *q,
                          const struct tfd_status *st)
{
    static const enum tfd_code lost[] = {TFD_UNAVAILABLE, TFD_ABORTED,
                                         TFD_CANCELLED};
    char name[256];

    snprintf(name, sizeof(name), "{{function_node " TFD_STR_FMT "}}",
             TFD_STR_ARG(q->op));
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
        if (st->code == lost[i]) {
            tfd_status_copy(&q->st, st);
            return;
        }
    if (q->is_function && begins_with(st->text, name))
        tfd_status_copy(&q->st, st);
    else
        tfd_eager_run_status(&q->st, st, q->op, q->is_function);
}

static void spread_done(struct tfd_eager_spread_run *r,
                        const struct tfd_status *st)
{
    struct tfd_eager_request *q = r->ctx;

    if (q->context->is_closed)
        (void)!tfd_eager_context_lost(q->context->id, &q->st);
    else if (st->code != TFD_OK)
        spread_status(q, st);
    else
        (void)!keep_spread(q, r, &q->st);
    check_cancelled(q);
    q->spread = NULL;
    tfd_eager_spread_run_free(r);
    tfd_eager_request_go_on(q);
}

static enum tfd_code run_spread(struct tfd_eager_request *q,
                                struct tfd_eager_operation *o,
                                struct tfd_eager_function *f,
                                struct tfd_status *st)
{
    struct tfd_eager_spread *s;

    TFD_TRY(tfd_eager_spread_get(q->context, f, o, &s, st));
    q->spread = tfd_eager_spread_run_new(q->context, s, o, draw_step(), st);
    tfd_eager_spread_unref(s);
    if (!q->spread)
        return TFD_RESOURCE_EXHAUSTED;
    q->op = o->name;
    q->is_function = f != &q->context->spread_ops;
    q->spread->done = spread_done;
    q->spread->ctx = q;
    tfd_eager_spread_run_begin(q->spread);
    return q->st.code;
}

/* ---- Functions and single ops -------------------------------------------- */

static enum tfd_code run_function(struct tfd_eager_request *q,
                                  struct tfd_eager_operation *o,
                                  struct tfd_eager_function *f,
                                  struct tfd_status *st)
{
    if (tfd_eager_spread_needed(q->context, f, o))
        return run_spread(q, o, f, st);
    TFD_TRY(tfd_eager_function_graph(q->context, f, false, o->on, st));
    if (f->graph->arg_count != o->in_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "InstantiateOptions.input_devices must have the same "
                        "length as the number of arguments: input_devices "
                        "length = %d number of arguments = %d",
                        o->in_count, f->graph->arg_count);
    o->is_function = true;
    begin_run(q, f->graph, o, draw_step());
    return q->st.code;
}

/* Those of its values that lie elsewhere are fetched, or where it uses a
 * resource of another task, it goes there. */
static enum tfd_code run_op(struct tfd_eager_request *q,
                            struct tfd_eager_operation *o,
                            struct tfd_status *st)
{
    struct tfd_eager_graph *g;

    if (tfd_eager_operation_spans(o))
        return run_spread(q, o, &q->context->spread_ops, st);
    TFD_TRY(tfd_eager_operation_here(q->context, o, st));
    TFD_TRY(tfd_eager_single_op(q->context, o, &g, st));
    begin_run(q, g, o, (int64_t)q->context->id);
    tfd_eager_graph_unref(g);
    return q->st.code;
}

static enum tfd_code refuse_component(const struct tfd_eager_context *c,
                                      const struct tfd_eager_operation *o,
                                      struct tfd_status *st)
{
    if (!tfd_eager_library_find(&c->components, o->name))
        return tfd_fail(st, TFD_INTERNAL,
                        "Could not find function library for registered "
                        "component function: " TFD_STR_FMT,
                        TFD_STR_ARG(o->name));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "component function " TFD_STR_FMT
                    " is run by RunComponentFunction only",
                    TFD_STR_ARG(o->name));
}

static bool is_send(struct tfd_str name)
{
    return tfd_str_is(name, "Send") || tfd_str_is(name, "_Send") ||
           tfd_str_is(name, "_HostSend");
}

enum tfd_code tfd_eager_operate(struct tfd_eager_request *q,
                                struct tfd_str item, struct tfd_status *st)
{
    struct tfd_eager_function *f;
    struct tfd_eager_operation o;
    enum tfd_code rc;

    rc = tfd_eager_operation_decode(q->context, q->in, item, &o, st);
    q->op_id = is_send(o.name) ? TFD_EAGER_NOT_KEPT : o.id;
    TFD_TRY(rc);
    f = tfd_eager_library_find(&q->context->functions, o.name);
    if (o.is_component && o.is_function)
        rc = refuse_component(q->context, &o, st);
    else if (f)
        rc = run_function(q, &o, f, st);
    else if (o.is_function &&
             tfd_op_find(&q->context->eager->options.registry->ops, o.name))
        rc =
            tfd_fail(st, TFD_INTERNAL,
                     "KernelAndDeviceOp does not support EagerFunctionParams.");
    else if (is_send(o.name))
        rc = send_value(q, &o, st);
    else
        rc = run_op(q, &o, st);
    tfd_eager_operation_deinit(&o);
    return rc;
}
