/*
 * c_api_session.c - TF_Session: which nodes were sent, who is running.
 *
 * The lock covers sending the graph's growth and counting runs; it is not held
 * while a step runs.  Closing cancels what runs and refuses what comes; the
 * last one to leave finds the session idle.
 */
#include "client/session/backend.h"

#include "common/base/atomic.h"
#include "common/proto/graphdef.h"
#include "common/base/pbio.h"
#include "common/proto/config.pb.h"
#include "common/proto/graph.pb.h"
#include "config/session_config.h"

#include <stdlib.h>
#include <string.h>

struct TF_SessionOptions {
    struct tfd_bytes target, config;
};

struct TF_Session {
    TF_Graph *graph;
    struct tfd_backend *backend;
    struct tfd_lock lock;
    struct tfd_cond idle;
    bool closed; /* atomic */
    bool opened;
    bool task_leaves; /* atomic */
    int running;
    int32_t sent; /* nodes the server has */
    struct tfd_signatures signatures;
};

/* ---- Options ------------------------------------------------------------- */

TF_SessionOptions *TF_NewSessionOptions(void)
{
    TF_SessionOptions *o = calloc(1, sizeof(*o));

    if (!o)
        return NULL;
    tfd_bytes_init(&o->target, TFD_NAME_SIZE_MAX);
    tfd_bytes_init(&o->config, TFD_SESSION_CONFIG_SIZE_MAX);
    return o;
}

void TF_DeleteSessionOptions(TF_SessionOptions *opts)
{
    if (!opts)
        return;
    tfd_bytes_deinit(&opts->target);
    tfd_bytes_deinit(&opts->config);
    free(opts);
}

void TF_SetTarget(TF_SessionOptions *options, const char *target)
{
    tfd_bytes_clear(&options->target);
    tfd_bytes_add(&options->target, target, strlen(target) + 1);
}

void TF_SetConfig(TF_SessionOptions *options, const void *proto,
                  size_t proto_len, TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);
    struct tfd_session_config config;
    struct tfd_pb_reader r =
        tfd_pb_reader_of((struct tfd_str){proto, proto_len});
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        ;
    if (tfd_pb_end(&r, "ConfigProto", NULL) != TFD_OK) {
        tfd_fail(st, TFD_INVALID_ARGUMENT, "Unparseable ConfigProto");
        return;
    }
    if (tfd_session_config_read((struct tfd_str){proto, proto_len}, &config,
                                st) != TFD_OK)
        return;
    tfd_session_config_deinit(&config);
    tfd_bytes_clear(&options->config);
    tfd_bytes_add(&options->config, proto, proto_len);
    (void)!tfd_bytes_ok(&options->config, "the ConfigProto", st);
}

/* ---- Life ---------------------------------------------------------------- */

TF_Session *tfd_c_api_session_open(TF_Graph *g, struct tfd_server *server,
                                   const char *target, struct tfd_str config,
                                   struct tfd_status *st)
{
    TF_Session *s = calloc(1, sizeof(*s));

    if (!s) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a session");
        return NULL;
    }
    if (server || !target || !*target)
        s->backend = tfd_local_backend(server, config, st);
    else
        s->backend = tfd_remote_backend(target, config, st);
    if (!s->backend) {
        free(s);
        return NULL;
    }
    s->graph = tfd_capi_graph_ref(g);
    tfd_lock_init(&s->lock, TFD_LOCK_CLIENT);
    tfd_cond_init(&s->idle);
    return s;
}

bool tfd_c_api_session_task_leaves(const TF_Session *s)
{
    return TFD_LOAD_RELAXED(&s->task_leaves);
}

TF_Session *TF_NewSession(TF_Graph *graph, const TF_SessionOptions *opts,
                          TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);

    if (tfd_bytes_ok(&opts->target, "the target", st) != TFD_OK ||
        tfd_bytes_ok(&opts->config, "the ConfigProto", st) != TFD_OK)
        return NULL;
    return tfd_c_api_session_open(graph, NULL, opts->target.data,
                                  tfd_bytes_view(&opts->config), st);
}

/* Cancels before it takes the lock, which is held while a server that may not
 * answer is asked for a session. */
void TF_CloseSession(TF_Session *session, TF_Status *status)
{
    (void)tfd_capi_status(status);
    if (!TFD_EXCHANGE(&session->closed, true))
        session->backend->ops->cancel(session->backend);
    tfd_lock(&session->lock);
    while (session->running > 0)
        tfd_cond_wait(&session->idle, &session->lock);
    tfd_unlock(&session->lock);
}

void TF_DeleteSession(TF_Session *session, TF_Status *status)
{
    if (!session)
        return;
    TF_CloseSession(session, status);
    session->backend->ops->free(session->backend);
    tfd_signatures_deinit(&session->signatures);
    tfd_capi_graph_unref(session->graph);
    tfd_cond_deinit(&session->idle);
    tfd_lock_deinit(&session->lock);
    free(session);
}

/* ---- Sending the graph --------------------------------------------------- */

/* The nodes from `first` on as a GraphDef; how many nodes there are now. */
static int32_t export_from(TF_Graph *g, int32_t first, struct tfd_bytes *out)
{
    const struct tfd_graph *graph = g->graph;
    size_t mark;

    for (int32_t i = first; i < graph->count; i++) {
        mark = tfd_pb_begin(out, tensorflow_GraphDef_node_tag);
        tfd_graphdef_put_node(out, graph, graph->nodes[i]);
        tfd_pb_finish(out, mark);
    }
    tfd_pb_put_str(out, tensorflow_GraphDef_library_tag, graph->library);
    mark = tfd_pb_begin(out, tensorflow_GraphDef_versions_tag);
    tfd_pb_put_int(out, tensorflow_VersionDef_producer_tag,
                   graph->versions.producer);
    tfd_pb_put_int(out, tensorflow_VersionDef_min_consumer_tag,
                   graph->versions.min_consumer);
    tfd_pb_finish(out, mark);
    return graph->count;
}

static enum tfd_code send_bytes(TF_Session *s, const struct tfd_bytes *bytes,
                                struct tfd_status *st)
{
    TFD_TRY(tfd_bytes_ok(bytes, "the GraphDef", st));
    if (s->opened)
        return s->backend->ops->extend(s->backend, tfd_bytes_view(bytes), st);
    TFD_TRY(s->backend->ops->open(s->backend, tfd_bytes_view(bytes), st));
    s->opened = true;
    return TFD_OK;
}

/* TF_FinishOperation() takes any name, as TensorFlow's does; no server does. */
static enum tfd_code check_names(const TF_Graph *g, int32_t first,
                                 struct tfd_status *st)
{
    for (int32_t i = first; i < g->graph->count; i++)
        TFD_TRY(tfd_graph_name_check(g->graph->nodes[i]->name, st));
    return TFD_OK;
}

/* The lock is held. */
static enum tfd_code send_growth(TF_Session *s, struct tfd_status *st)
{
    struct tfd_bytes bytes;
    enum tfd_code rc = TFD_OK;
    int32_t count;

    tfd_lock(&s->graph->lock);
    count = s->graph->graph->count;
    if (s->opened && count == s->sent) {
        tfd_unlock(&s->graph->lock);
        return TFD_OK;
    }
    tfd_bytes_init(&bytes, TFD_CAPI_MESSAGE_MAX);
    rc = check_names(s->graph, s->sent, st);
    if (rc == TFD_OK)
        count = export_from(s->graph, s->sent, &bytes);
    tfd_unlock(&s->graph->lock);
    if (rc == TFD_OK)
        rc = send_bytes(s, &bytes, st);
    tfd_bytes_deinit(&bytes);
    if (rc == TFD_OK)
        s->sent = count;
    return rc;
}

/* ---- One run ------------------------------------------------------------- */

/* Tensors of a step that need no allocation of their own. */
#define INLINE_TENSORS 16

struct running {
    TF_Session *s;
    struct tfd_signature_names *names;
    struct tfd_local_run run;
    struct tfd_tensor inline_feeds[INLINE_TENSORS];
    struct tfd_tensor inline_fetches[INLINE_TENSORS];
    struct tfd_tensor *feeds, *fetches;
};

static enum tfd_code check_open(const TF_Session *s, struct tfd_status *st)
{
    if (TFD_LOAD_ACQUIRE(&s->closed))
        return tfd_fail(st, TFD_CANCELLED, "Session has been closed.");
    return TFD_OK;
}

/* Counts the run, with everything sent that it may need. */
static enum tfd_code enter_call(TF_Session *s,
                                const struct tfd_call_shape *call,
                                struct tfd_signature_names **names,
                                struct tfd_status *st)
{
    enum tfd_code rc;

    tfd_lock(&s->lock);
    rc = check_open(s, st);
    if (rc == TFD_OK)
        rc = send_growth(s, st);
    if (rc == TFD_OK)
        rc = check_open(s, st); /* while it waited */
    if (rc == TFD_OK)
        rc = tfd_signatures_find(&s->signatures, s->graph, call, names, st);
    if (rc == TFD_OK)
        s->running++;
    tfd_unlock(&s->lock);
    return rc;
}

static void leave_call(TF_Session *s, struct tfd_signature_names *names)
{
    if (!names->kept)
        tfd_signature_names_free(names);
    tfd_lock(&s->lock);
    if (--s->running == 0)
        tfd_cond_broadcast(&s->idle);
    tfd_unlock(&s->lock);
}

static enum tfd_code take_options(const TF_Buffer *options,
                                  struct tfd_local_run *run,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader r;
    struct tfd_pb_field f;
    int64_t ms = 0;

    run->options = TFD_STR_EMPTY;
    if (!options)
        return TFD_OK;
    run->options = (struct tfd_str){options->data, options->length};
    r = tfd_pb_reader_of(run->options);
    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_RunOptions_timeout_in_ms_tag)
            ms = tfd_pb_int64(&r, &f);
    if (ms > 0 && ms <= TFD_DURATION_MS_MAX)
        run->timeout_us = (uint64_t)ms * 1000;
    if (tfd_pb_end(&r, "RunOptions", NULL) == TFD_OK)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Unparseable RunOptions proto");
}

static struct tfd_tensor *room(struct tfd_tensor *inlined, int count)
{
    if (count <= INLINE_TENSORS)
        return inlined;
    return calloc((size_t)count, sizeof(*inlined));
}

/* TensorFlow computes with any byte of a bool as true; servers take 0 and 1
 * only, so a program that feeds other bytes gets a copy of them that is. */
static enum tfd_code take_feed(const struct tfd_tensor *value,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    size_t size = value->buffer ? tfd_tensor_size(value) : 0;

    if (tfd_tensor_check_bytes(value->dtype, tfd_tensor_data(value), size,
                               NULL) == TFD_OK) {
        *out = tfd_tensor_ref(value);
        return TFD_OK;
    }
    TFD_TRY(tfd_tensor_new(out, value->dtype, &value->shape, st));
    memcpy(tfd_tensor_data(out), tfd_tensor_data(value), size);
    tfd_tensor_normalize_bools(out);
    return TFD_OK;
}

static enum tfd_code take_feeds(struct running *r,
                                TF_Tensor *const *input_values,
                                struct tfd_status *st)
{
    int count = r->names->input_count;

    r->feeds = room(r->inline_feeds, count);
    r->fetches = room(r->inline_fetches, r->names->fetch_count);
    if (!r->feeds || !r->fetches)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a step");
    for (int i = 0; i < count; i++)
        if (!input_values[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "no tensor for input %d ('" TFD_STR_FMT "')", i,
                            TFD_STR_ARG(r->names->feeds[i]));
        else if (input_values[i]->tensor.dtype != r->names->feed_types[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expects arg[%d] to be %s but %s is provided", i,
                            tfd_dtype_name(r->names->feed_types[i]),
                            tfd_dtype_name((int)input_values[i]->tensor.dtype));
    for (int i = 0; i < count; i++) {
        enum tfd_code rc =
            take_feed(&input_values[i]->tensor, &r->feeds[i], st);

        if (rc == TFD_OK)
            continue;
        while (i-- > 0)
            tfd_tensor_unref(&r->feeds[i]);
        return rc;
    }
    return TFD_OK;
}

static enum tfd_code give_fetches(struct running *r, TF_Tensor **output_values,
                                  struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;

    for (int i = 0; i < r->names->output_count && rc == TFD_OK; i++) {
        struct tfd_tensor t =
            tfd_tensor_ref(&r->fetches[r->names->fetch_of[i]]);

        output_values[i] = tfd_capi_tensor(&t);
        if (!output_values[i])
            rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a tensor");
    }
    for (int i = 0; rc != TFD_OK && i < r->names->output_count; i++) {
        TF_DeleteTensor(output_values[i]);
        output_values[i] = NULL;
    }
    for (int i = 0; i < r->names->fetch_count; i++)
        tfd_tensor_unref(&r->fetches[i]);
    return rc;
}

static enum tfd_code run_step(struct running *r, TF_Tensor *const *input_values,
                              TF_Tensor **output_values, struct tfd_status *st)
{
    struct tfd_signature_names *n = r->names;

    TFD_TRY(take_feeds(r, input_values, st));
    r->run.feed_names = n->feeds;
    r->run.feeds = r->feeds;
    r->run.feed_count = n->input_count;
    r->run.fetch_names = n->fetches;
    r->run.fetches = r->fetches;
    r->run.fetch_count = n->fetch_count;
    r->run.target_names = n->targets;
    r->run.target_count = n->target_count;
    r->run.plan = TFD_LOAD_RELAXED(&n->plan);
    TFD_TRY(r->s->backend->ops->run(r->s->backend, &r->run, st));
    TFD_STORE_RELAXED(&n->plan, r->run.plan);
    if (r->run.task_leaves)
        TFD_STORE_RELAXED(&r->s->task_leaves, true);
    return give_fetches(r, output_values, st);
}

static void run_call(TF_Session *s, const struct tfd_call_shape *call,
                     const struct tfd_local_run *how,
                     TF_Tensor *const *input_values, TF_Tensor **output_values,
                     struct tfd_status *st)
{
    struct running r;

    if (enter_call(s, call, &r.names, st) != TFD_OK)
        return;
    r.s = s;
    r.run = *how;
    r.feeds = r.inline_feeds;
    r.fetches = r.inline_fetches;
    (void)!run_step(&r, input_values, output_values, st);
    if (r.feeds != r.inline_feeds)
        free(r.feeds);
    if (r.fetches != r.inline_fetches)
        free(r.fetches);
    leave_call(s, r.names);
}

void TF_SessionRun(TF_Session *session, const TF_Buffer *run_options,
                   const TF_Output *inputs, TF_Tensor *const *input_values,
                   int ninputs, const TF_Output *outputs,
                   TF_Tensor **output_values, int noutputs,
                   const TF_Operation *const *target_opers, int ntargets,
                   TF_Buffer *run_metadata, TF_Status *status)
{
    struct tfd_call_shape call = {inputs,   ninputs,      outputs,
                                  noutputs, target_opers, ntargets};
    struct tfd_status *st = tfd_capi_status(status);
    struct tfd_local_run run = {.timeout_us = 0};
    struct tfd_bytes metadata;

    for (int i = 0; i < noutputs; i++)
        output_values[i] = NULL;
    if (run_metadata && run_metadata->data) {
        tfd_fail(st, TFD_INVALID_ARGUMENT,
                 "Passing non-empty run_metadata is invalid.");
        return;
    }
    if (take_options(run_options, &run, st) != TFD_OK)
        return;
    tfd_bytes_init(&metadata, TFD_CAPI_MESSAGE_MAX);
    run.metadata = run_metadata ? &metadata : NULL;
    run_call(session, &call, &run, input_values, output_values, st);
    if (run_metadata && st->code == TFD_OK)
        (void)!tfd_capi_give(run_metadata, &metadata, st);
    else
        tfd_bytes_deinit(&metadata);
}
