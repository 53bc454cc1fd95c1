/*
 * remote_graph.c - RunGraph of a remote worker, and the log that is asked of a
 * TensorFlow worker when the step is traced.
 */
#include "daemon/master/remote/worker_rpc.h"

#include "common/proto/config.pb.h"
#include "common/proto/worker.pb.h"

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

static void put_run(struct tfd_message *m, struct tfd_rpc_worker *r,
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

static void end_run(struct tfd_worker_rpc *c, const struct tfd_status *st)
{
    struct tfd_run_graph *run = c->run;

    run->worker = NULL;
    run->done(run, st);
    tfd_worker_rpc_free(c);
}

/* ---- What a TensorFlow worker logs of a traced step: its RecvTensor calls,
 * which it does not tell with the step itself ------------------------------ */

static void put_logging(struct tfd_message *m, struct tfd_rpc_worker *r,
                        uint32_t tag)
{
    tfd_worker_rpc_begin(r, m);
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

static void log_off(struct tfd_rpc_worker *r)
{
    struct tfd_message m;

    put_logging(&m, r, tensorflow_LoggingRequest_disable_rpc_logging_tag);
    tfd_worker_rpc_empty(&r->worker, TFD_METHOD_Logging, &m,
                         TFD_WORKER_RPC_PROMPT_US, NULL, NULL);
}

static void got_log(void *ctx, const struct tfd_status *st,
                    const struct tfd_incoming *response)
{
    struct tfd_worker_rpc *c = ctx;
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

static void fetch_log(struct tfd_worker_rpc *c)
{
    struct tfd_message m;

    tfd_worker_rpc_begin(c->remote, &m);
    tfd_pb_put_int_always(&m.proto, tensorflow_LoggingRequest_fetch_step_id_tag,
                          c->run->step_id);
    tfd_worker_rpc_send(c, TFD_METHOD_Logging, &m, TFD_WORKER_RPC_PROMPT_US,
                        false, got_log);
}

/* ---- Running ------------------------------------------------------------- */

static bool is_logged(const struct tfd_worker_rpc *c)
{
    return c->run->trace && c->run->trace->timeline &&
           tfd_channel_protocol(c->remote->channel) == TFD_PROTO_GRPC;
}

static void got_run(void *ctx, const struct tfd_status *st,
                    const struct tfd_incoming *response)
{
    struct tfd_status own = *st;
    struct tfd_worker_rpc *c = ctx;

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

static void send_run(struct tfd_worker_rpc *c)
{
    struct tfd_message m;

    tfd_worker_rpc_begin(c->remote, &m);
    put_run(&m, c->remote, c->run);
    tfd_worker_rpc_send(c, TFD_METHOD_RunGraph, &m, 0, false, got_run);
}

static void logging_on(void *ctx, const struct tfd_status *st,
                       const struct tfd_incoming *response)
{
    struct tfd_worker_rpc *c = ctx;

    (void)response;
    if (st->code == TFD_CANCELLED)
        end_run(c, st);
    else
        send_run(c); /* other failures: there will be no log */
}

void tfd_remote_run_graph(struct tfd_worker *w, struct tfd_run_graph *run)
{
    struct tfd_rpc_worker *r = tfd_rpc_worker_of(w);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_worker_rpc *c = tfd_worker_rpc_new(r);
    struct tfd_message m;

    if (!c || run->graph == 0 || run->graph > r->graph_count ||
        !r->graphs[run->graph - 1].handle) {
        if (c)
            tfd_worker_rpc_free(c);
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
    tfd_worker_rpc_send(c, TFD_METHOD_Logging, &m, TFD_WORKER_RPC_PROMPT_US,
                        false, logging_on);
}

void tfd_remote_run_cancel(struct tfd_worker *w, struct tfd_run_graph *run)
{
    struct tfd_worker_rpc *c = run->worker;

    (void)w;
    if (c)
        tfd_channel_cancel(c->outcall);
}
