/*
 * run_call.c - RunGraph from outside: one step of a registered graph.
 *
 * Call objects are kept for reuse with their arrays of feeds and fetches, which
 * grow to what the largest graph needs.  Between tfds and for TensorFlow
 * masters in ordinary sessions both are empty.
 */
#include "daemon/worker/service/partial_call.h"

#include "common/proto/config.pb.h"
#include "common/proto/tensor.pb.h"
#include "common/proto/worker.pb.h"
#include "daemon/worker/service/task_session_use.h"

#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>

#define RUN(field) tensorflow_RunGraphRequest_##field##_tag
#define RAN(field) tensorflow_RunGraphResponse_##field##_tag
#define OPTION(field) tensorflow_ExecutorOpts_##field##_tag
#define NAMED(field) tensorflow_NamedTensorProto_##field##_tag

struct tfd_run_call {
    struct tfd_run_graph run; /* first: run_done() gets it */
    struct tfd_worker_service *worker;
    struct tfd_call *call;
    struct tfd_graph_entry *graph;
    struct tfd_tensor *tensors; /* feeds, then fetches */
    size_t capacity, used;
    bool errors_in_body;
    struct tfd_run_trace trace;
    struct tfd_run_call *next;
};

/* ---- Objects ------------------------------------------------------------- */

static struct tfd_run_call *new_call(struct tfd_worker_service *w)
{
    struct tfd_run_call *c = w->idle_calls;

    if (c)
        w->idle_calls = c->next;
    else
        c = calloc(1, sizeof(*c));
    return c;
}

static void keep_run(struct tfd_run_call *c)
{
    for (size_t i = 0; i < c->used; i++)
        tfd_tensor_unref(&c->tensors[i]);
    c->used = 0;
    tfd_bytes_deinit(&c->trace.stats);
    tfd_bytes_deinit(&c->trace.graphs);
    c->next = c->worker->idle_calls;
    c->worker->idle_calls = c;
}

void tfd_worker_free_run_calls(struct tfd_worker_service *w)
{
    while (w->idle_calls) {
        struct tfd_run_call *next = w->idle_calls->next;

        free(w->idle_calls->tensors);
        free(w->idle_calls);
        w->idle_calls = next;
    }
}

static enum tfd_code make_fetch_room(struct tfd_run_call *c,
                                     struct tfd_status *st)
{
    const struct tfd_exec *e = c->graph->exec;
    size_t count = (size_t)e->feed_count + (size_t)e->fetch_count;

    if (count > c->capacity) {
        struct tfd_tensor *more =
            realloc(c->tensors, count * sizeof(*c->tensors));

        if (!more)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for %zu feeds and fetches", count);
        c->tensors = more;
        c->capacity = count;
    }
    for (size_t i = 0; i < count; i++)
        c->tensors[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    c->used = count;
    c->run.feeds = c->tensors;
    c->run.fetches = count ? c->tensors + e->feed_count : NULL;
    return TFD_OK;
}

/* ---- The request --------------------------------------------------------- */

static enum tfd_code decode_run(struct tfd_str proto, struct tfd_run_request *q,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        switch (f.tag) {
        case RUN(graph_handle):
            q->graph = tfd_pb_str(&r, &f);
            break;
        case RUN(session_handle):
            q->session = tfd_pb_str(&r, &f);
            break;
        case RUN(step_id):
            q->step_id = tfd_pb_int64(&r, &f);
            break;
        case RUN(request_id):
            q->request_id = (uint64_t)tfd_pb_int64(&r, &f);
            break;
        case RUN(create_worker_session_called):
            q->has_session = tfd_pb_bool(&r, &f);
            break;
        case RUN(store_errors_in_response_body):
            q->errors_in_body = tfd_pb_bool(&r, &f);
            break;
        case RUN(is_partial):
            q->is_partial = tfd_pb_bool(&r, &f);
            break;
        case RUN(is_last_partial_run):
            q->is_last = tfd_pb_bool(&r, &f);
            break;
        case RUN(send):
        case RUN(recv_key):
            q->has_ends = true;
            break;
        case RUN(exec_opts):
            q->options = tfd_pb_str(&r, &f);
            break;
        case RUN(graph_number):
            q->number = (uint64_t)tfd_pb_int64(&r, &f);
            break;
        default:
            break;
        }
    }
    return tfd_service_request_end(&r, st);
}

static enum tfd_code decode_feed(struct tfd_run_call *c, struct tfd_str named,
                                 struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(named);
    struct tfd_str key = TFD_STR_EMPTY, tensor = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    uintptr_t at;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == NAMED(name))
            key = tfd_pb_str(&r, &f);
        else if (f.tag == NAMED(tensor))
            tensor = tfd_pb_str(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "NamedTensorProto", st));
    if (!tfd_map_get(&c->graph->feeds, key, &at))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        TFD_STR_FMT " is not fed in this graph",
                        TFD_STR_ARG(key));
    if (c->run.feeds[at].dtype != TFD_DTYPE_INVALID)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, TFD_STR_FMT " is fed twice",
                        TFD_STR_ARG(key));
    return tfd_tensor_decode(&c->call->in, tensor, tfd_handle_decode,
                             &c->run.feeds[at], st);
}

static enum tfd_code decode_feeds(struct tfd_run_call *c, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(c->call->in.proto);
    const struct tfd_exec *e = c->graph->exec;
    struct tfd_pb_field f;

    if (e->feed_count == 0)
        return TFD_OK;
    while (tfd_pb_next(&r, &f))
        if (f.tag == RUN(send))
            TFD_TRY(decode_feed(c, tfd_pb_str(&r, &f), st));
    for (int32_t i = 0; i < e->feed_count; i++)
        if (e->feeds[i].node && c->run.feeds[i].dtype == TFD_DTYPE_INVALID)
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s is not fed",
                            e->feeds[i].key);
    return TFD_OK;
}

/* ---- The answer ---------------------------------------------------------- */

static enum tfd_code put_fetch(struct tfd_run_call *c, struct tfd_message *m,
                               struct tfd_str key, struct tfd_status *st)
{
    size_t mark;
    uintptr_t at;

    if (!tfd_map_get(&c->graph->fetches, key, &at))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        TFD_STR_FMT " is not fetched in this graph",
                        TFD_STR_ARG(key));
    if (c->run.fetches[at].dtype == TFD_DTYPE_INVALID)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The tensor returned for " TFD_STR_FMT
                        " was not valid.",
                        TFD_STR_ARG(key));
    mark = tfd_message_begin(m, RAN(recv));
    tfd_pb_put_str(&m->proto, NAMED(name), key);
    tfd_message_put_tensor(m, NAMED(tensor), &c->run.fetches[at],
                           tfd_handle_encode);
    tfd_message_finish(m, mark);
    return TFD_OK;
}

static enum tfd_code put_fetches(struct tfd_run_call *c, struct tfd_message *m,
                                 struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(c->call->in.proto);
    struct tfd_pb_field f;

    if (c->graph->exec->fetch_count == 0)
        return TFD_OK;
    while (tfd_pb_next(&r, &f))
        if (f.tag == RUN(recv_key))
            TFD_TRY(put_fetch(c, m, tfd_pb_str(&r, &f), st));
    return TFD_OK;
}

/* Graphs come as fields of RunMetadata and go as fields of the response. */
static void put_trace(struct tfd_message *m, const struct tfd_run_trace *t)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(tfd_bytes_view(&t->graphs));
    struct tfd_pb_field f;

    if (t->timeline)
        tfd_pb_put_str_always(&m->proto, RAN(step_stats),
                              tfd_bytes_view(&t->stats));
    while (tfd_pb_next(&r, &f))
        tfd_pb_put_str_always(&m->proto, RAN(partition_graph), f.bytes);
}

static void run_done(struct tfd_run_graph *run, const struct tfd_status *st)
{
    struct tfd_run_call *c = (struct tfd_run_call *)run;
    struct tfd_call *call = c->call;
    struct tfd_status own = TFD_STATUS_INIT;
    struct tfd_message m;

    call->cancelled = NULL;
    tfd_status_copy(&own, st);
    tfd_message_init(&m, call->native);
    if (own.code == TFD_OK)
        (void)put_fetches(c, &m, &own);
    if (own.code == TFD_OK && c->run.trace)
        put_trace(&m, c->run.trace);
    if (own.code == TFD_OK)
        tfd_call_respond(call, &m);
    else
        tfd_run_call_fail(call, c->errors_in_body, &own);
    tfd_message_deinit(&m);
    keep_run(c);
}

static void run_cancelled(void *ctx, struct tfd_call *call)
{
    struct tfd_run_call *c = ctx;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)call;
    tfd_fail(&st, TFD_CANCELLED, "RunGraph was cancelled by its caller.");
    tfd_graphs_cancel(&c->run, &st);
}

static enum tfd_code take_options(struct tfd_run_call *c, struct tfd_str bytes,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    c->trace = (struct tfd_run_trace){.timeline = false};
    tfd_bytes_init(&c->trace.stats, TFD_TRACE_SIZE_MAX);
    tfd_bytes_init(&c->trace.graphs, TFD_TRACE_SIZE_MAX);
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == OPTION(record_timeline))
            c->trace.timeline = tfd_pb_bool(&r, &f);
        else if (f.tag == OPTION(record_partition_graphs))
            c->trace.partition_graphs = tfd_pb_bool(&r, &f);
    }
    if (c->trace.timeline || c->trace.partition_graphs)
        c->run.trace = &c->trace;
    return tfd_pb_end(&r, "ExecutorOpts", st);
}

static enum tfd_code prepare_run(struct tfd_worker_service *w,
                                 struct tfd_run_call *c,
                                 const struct tfd_run_request *q,
                                 struct tfd_status *st)
{
    TFD_TRY(tfd_request_ids_add(&w->run_ids, q->request_id, "RunGraph (Worker)",
                                st));
    TFD_TRY(tfd_run_call_graph(w, q, &c->graph, st));
    tfd_worker_session_over(w, c->graph->session, c->call->link);
    TFD_TRY(make_fetch_room(c, st));
    TFD_TRY(decode_feeds(c, st));
    c->run.trace = NULL;
    if (q->options.size > 0)
        TFD_TRY(take_options(c, q->options, st));
    c->run.step_id = q->step_id;
    c->run.graph = c->graph->id;
    c->run.done = run_done;
    c->run.master_tells = c->call->native;
    c->errors_in_body = q->errors_in_body;
    return TFD_OK;
}

void tfd_worker_run_graph(void *self, struct tfd_call *call)
{
    struct tfd_worker_service *w = self;
    struct tfd_run_request q = {.session = TFD_STR_EMPTY,
                                .graph = TFD_STR_EMPTY,
                                .options = TFD_STR_EMPTY};
    struct tfd_run_call *c = NULL;
    struct tfd_status st;

    tfd_status_clear(&st);
    if (decode_run(call->in.proto, &q, &st) == TFD_OK) {
        if (q.is_partial) {
            tfd_partial_call_run(w, call, &q);
            return;
        }
        c = new_call(w);
        if (!c)
            tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a step");
    }
    if (!c) {
        tfd_call_fail(call, &st);
        return;
    }
    c->worker = w;
    c->call = call;
    if (prepare_run(w, c, &q, &st) != TFD_OK) {
        keep_run(c);
        tfd_run_call_fail(call, q.errors_in_body, &st);
        return;
    }
    call->ctx = c;
    call->cancelled = run_cancelled;
    tfd_graphs_run(c->graph, &c->run);
}
