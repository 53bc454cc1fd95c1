/*
 * component.c - see component.h.
 */
#include "daemon/eager/component.h"

#include "common/proto/eager.pb.h"
#include "config/limits.h"
#include "daemon/eager/enqueue.h"
#include "daemon/eager/function.h"
#include "daemon/eager/operate.h"
#include "daemon/eager/operation.h"
#include "kernels/core/runtime.h"

#include <stdlib.h>

#define ASKED(field) tensorflow_eager_RunComponentFunctionRequest_##field##_tag
#define RAN(field) tensorflow_eager_RunComponentFunctionResponse_##field##_tag

struct component_call {
    struct tfd_call *call;
    struct tfd_eager_context *context;
    struct tfd_eager_run *run;
    struct tfd_str name; /* a view of the request */
    int64_t op;
    int32_t *output; /* numbers of the results */
    int output_count;
};

struct request {
    uint64_t context;
    struct tfd_str operation;
};

/* ---- The request --------------------------------------------------------- */

static enum tfd_code add_output(struct component_call *c, uint64_t number,
                                struct tfd_status *st)
{
    if (c->output_count == TFD_EAGER_INPUTS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "more than %d results of a component function",
                        TFD_EAGER_INPUTS_MAX);
    c->output[c->output_count++] = (int32_t)(uint32_t)number;
    return TFD_OK;
}

/* No number takes less than a byte. */
static enum tfd_code make_outputs(struct component_call *c, size_t size,
                                  struct tfd_status *st)
{
    size_t count =
        size < TFD_EAGER_INPUTS_MAX ? size : (size_t)TFD_EAGER_INPUTS_MAX;

    c->output = malloc((count + 1) * sizeof(*c->output));
    return c->output ? TFD_OK
                     : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                                "no memory for a component function");
}

static enum tfd_code decode_request(struct component_call *c, struct request *q,
                                    struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(c->call->in.proto);
    struct tfd_pb_field f;
    uint64_t number;

    TFD_TRY(make_outputs(c, c->call->in.proto.size, st));
    q->operation = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == ASKED(context_id)) {
            q->context = f.number;
        } else if (f.tag == ASKED(operation)) {
            q->operation = tfd_pb_str(&r, &f);
        } else if (f.tag == ASKED(output_num) && f.wire == TFD_PB_VARINT) {
            TFD_TRY(add_output(c, f.number, st));
        } else if (f.tag == ASKED(output_num)) {
            struct tfd_str packed = tfd_pb_str(&r, &f);

            while (tfd_pb_packed_varint(&packed, &number))
                TFD_TRY(add_output(c, number, st));
        }
    }
    return tfd_service_request_end(&r, st);
}

/* ---- The answer ---------------------------------------------------------- */

static void put_results(const struct component_call *c, struct tfd_message *m)
{
    for (int i = 0; i < c->run->graph->result_count; i++) {
        size_t shape = tfd_pb_begin(&m->proto, RAN(shape));

        tfd_tensor_proto_shape_encode(&m->proto, &c->run->results[i].shape);
        tfd_pb_finish(&m->proto, shape);
    }
    for (int i = 0;
         c->op == TFD_EAGER_NOT_KEPT && i < c->run->graph->result_count; i++)
        tfd_message_put_tensor(m, RAN(tensor), &c->run->results[i],
                               tfd_handle_encode);
}

static enum tfd_code keep_results(const struct component_call *c,
                                  struct tfd_status *st)
{
    if (c->op == TFD_EAGER_NOT_KEPT)
        return TFD_OK;
    for (int i = 0; i < c->run->graph->result_count; i++)
        TFD_TRY(tfd_eager_handles_put(&c->context->handles, c->op,
                                      i < c->output_count ? c->output[i] : i,
                                      &c->run->results[i], st));
    return TFD_OK;
}

static enum tfd_code check_results(const struct component_call *c,
                                   struct tfd_status *st)
{
    for (int i = 0; i < c->run->graph->result_count; i++)
        if (c->run->results[i].dtype == TFD_DTYPE_INVALID)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Retval[%d] does not have value", i);
    return TFD_OK;
}

/* Answers and frees. */
static void answer(struct component_call *c, const struct tfd_status *st,
                   struct tfd_message *take_response)
{
    struct tfd_call *call = c->call;

    call->cancelled = NULL;
    if (c->run)
        tfd_eager_run_free(c->run);
    if (c->context)
        tfd_eager_context_leave(c->context);
    free(c->output);
    free(c);
    if (st->code == TFD_OK)
        tfd_call_respond(call, take_response);
    else
        tfd_call_fail(call, st);
    tfd_message_deinit(take_response);
}

static void run_done(struct tfd_eager_run *r, const struct tfd_status *st)
{
    struct component_call *c = r->ctx;
    struct tfd_status own = TFD_STATUS_INIT;
    struct tfd_message m;

    tfd_message_init(&m, c->call->native);
    if (c->context->is_closed)
        (void)!tfd_eager_context_lost(c->context->id, &own);
    else if (st->code != TFD_OK)
        tfd_eager_run_status(&own, st, c->name, true);
    else
        (void)!check_results(c, &own);
    if (own.code == TFD_OK) {
        put_results(c, &m);
        (void)!keep_results(c, &own);
    }
    answer(c, &own, &m);
}

/* ---- The run ------------------------------------------------------------- */

static enum tfd_code find_component(struct component_call *c,
                                    const struct tfd_eager_operation *o,
                                    struct tfd_eager_function **out,
                                    struct tfd_status *st)
{
    if (!o->is_function || !o->is_component)
        return tfd_fail(st, TFD_INTERNAL,
                        "RunComponentFunction request can only be used to "
                        "execute component functions.");
    *out = tfd_eager_library_find(&c->context->components, o->name);
    if (!*out)
        return tfd_fail(st, TFD_INTERNAL,
                        "Could not find function library for registered "
                        "component function: " TFD_STR_FMT,
                        TFD_STR_ARG(o->name));
    return TFD_OK;
}

/* Steps of sessions, and a context's own, are not a function's to join. */
static enum tfd_code check_step(const struct component_call *c,
                                const struct tfd_eager_operation *o,
                                struct tfd_status *st)
{
    if (o->step_id < 0 && o->step_id != (int64_t)c->context->id)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "component function " TFD_STR_FMT " is run in step %lld, "
                    "which is none of a function",
                    TFD_STR_ARG(o->name), (long long)o->step_id);
}

static enum tfd_code prepare_run(struct component_call *c,
                                 struct tfd_eager_operation *o,
                                 struct tfd_status *st)
{
    struct tfd_eager_function *f;

    TFD_TRY(find_component(c, o, &f, st));
    TFD_TRY(tfd_eager_operation_here(c->context, o, st));
    TFD_TRY(check_step(c, o, st));
    TFD_TRY(tfd_eager_function_graph(c->context, f, true, o->on, st));
    if (f->graph->arg_count != o->in_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "expected %d inputs, got %d",
                        f->graph->arg_count, o->in_count);
    c->run = tfd_eager_run_new(c->context, f->graph, st);
    if (!c->run)
        return TFD_RESOURCE_EXHAUSTED;
    for (int i = 0; i < o->in_count; i++) {
        c->run->args[i] = o->in[i];
        o->in[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    }
    c->name = o->name;
    c->op = o->id;
    return TFD_OK;
}

static void run_cancelled(void *ctx, struct tfd_call *call)
{
    struct component_call *c = ctx;

    (void)call;
    tfd_eager_run_cancel(c->run);
}

static enum tfd_code begin(struct tfd_eager *e, struct component_call *c,
                           int64_t *step, struct tfd_status *st)
{
    struct request q = {.context = 0};
    struct tfd_eager_operation o;
    enum tfd_code rc;

    TFD_TRY(decode_request(c, &q, st));
    TFD_TRY(
        tfd_eager_context_find(e, q.context, c->call->link, &c->context, st));
    tfd_call_meter(c->call, c->context->meter);
    tfd_eager_context_enter(c->context);
    TFD_TRY(tfd_eager_operation_decode(c->context, &c->call->in, q.operation,
                                       &o, st));
    rc = prepare_run(c, &o, st);
    *step = o.step_id;
    tfd_eager_operation_deinit(&o);
    return rc;
}

void tfd_eager_run_component(void *self, struct tfd_call *call)
{
    struct component_call *c = calloc(1, sizeof(*c));
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message none;
    int64_t step = 0;

    if (!c) {
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                 "no memory for a component function");
        tfd_call_fail(call, &st);
        return;
    }
    c->call = call;
    if (begin(self, c, &step, &st) != TFD_OK) {
        tfd_message_init(&none, call->native);
        answer(c, &st, &none);
        return;
    }
    call->ctx = c;
    call->cancelled = run_cancelled;
    c->run->done = run_done;
    /* A part of what another tfd runs, which asks from its own on. */
    c->run->run.master_tells = call->native;
    c->run->ctx = c;
    tfd_eager_run_begin(c->run, step);
}
