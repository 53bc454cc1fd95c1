/*
 * remote_session.c - a session on a server behind a connection, by
 * MasterService, in native frames or gRPC.
 *
 * The thread that calls builds the request and reads the response; only the
 * bytes in between are the loop thread's:
 *
 *     caller     encode, post, wait              decode, return
 *     loop             call ............ ended, wake
 *
 * A tfd server answers the first step of a signature with a plan number; from
 * then on that stands for its names, and the tensors come in the order of the
 * fetches.
 */
#define _GNU_SOURCE 1 /* strdup() */

#include "client/loop_thread.h"
#include "client/session.h"

#include "common/proto/config.pb.h"
#include "common/proto/master.pb.h"
#include "common/proto/tensor.pb.h"
#include "config/session.h"
#include "kernels/runtime.h"
#include "rpc/channel.h"

#include <stdlib.h>
#include <string.h>

#define DIAL_US UINT64_C(5000000)
/* A server that is not there yet, then its own wait for its peers, which is
 * 60 s by default.  TensorFlow's clients wait for ever; a ConfigProto with
 * operation_timeout_in_ms sets another limit. */
#define OPEN_US UINT64_C(90000000)
/* Nobody who closes waits longer for a server that is gone. */
#define CLOSE_US UINT64_C(5000000)

#define INLINE_PAYLOADS 8

struct remote {
    struct tfd_backend backend; /* first */
    struct tfd_loop *loop;
    char *address;
    enum tfd_protocol protocol;
    struct tfd_channel *channel; /* the loop thread's */
    struct tfd_bytes config;
    uint64_t timeout_us; /* operation_timeout_in_ms; 0: none */
    struct tfd_bytes handle;
    int64_t version;
    struct remote_call *calls; /* under way; the loop thread's */
    bool cancelled;            /* the loop thread's */
};

struct remote_call {
    struct tfd_post post; /* first */
    struct remote *r;
    enum tfd_method_number method;
    struct tfd_message request;
    struct tfd_outcall_options options;
    struct tfd_outcall *outcall;
    struct remote_call *next, **at; /* in r->calls */
    struct tfd_incoming response;   /* owned */
    struct tfd_buffer *inline_payload[INLINE_PAYLOADS];
    struct tfd_status status;
    struct tfd_lock lock;
    struct tfd_cond ended_cond;
    bool ended;
};

static const struct tfd_peer_info self = {.task = "client"};

/* ---- On the loop thread -------------------------------------------------- */

static void finish(struct remote_call *c)
{
    tfd_lock(&c->lock);
    c->ended = true;
    tfd_cond_signal(&c->ended_cond);
    tfd_unlock(&c->lock);
}

/* References to what the transport owns only during the callback. */
static void keep_response(struct remote_call *c, const struct tfd_incoming *in)
{
    c->response.proto = in->proto;
    c->response.payload = c->inline_payload;
    if (in->payload_count > INLINE_PAYLOADS)
        c->response.payload =
            malloc(in->payload_count * sizeof(struct tfd_buffer *));
    if (!c->response.payload) {
        tfd_fail(&c->status, TFD_RESOURCE_EXHAUSTED, "no memory for %u tensors",
                 in->payload_count);
        return;
    }
    c->response.body = tfd_buffer_ref(in->body);
    for (uint32_t i = 0; i < in->payload_count; i++)
        c->response.payload[i] = tfd_buffer_ref(in->payload[i]);
    c->response.payload_count = in->payload_count;
}

static void call_ended(void *ctx, const struct tfd_status *st,
                       const struct tfd_incoming *response)
{
    struct remote_call *c = ctx;

    *c->at = c->next;
    if (c->next)
        c->next->at = c->at;
    if (response)
        keep_response(c, response);
    else
        (void)tfd_status_copy(&c->status, st);
    finish(c);
}

static void begin_call(struct tfd_post *p)
{
    struct remote_call *c = (struct remote_call *)p;
    struct remote *r = c->r;

    if (r->cancelled && c->method != TFD_METHOD_CloseSession) {
        tfd_fail(&c->status, TFD_CANCELLED, "Session has been closed.");
        tfd_message_deinit(&c->request);
        finish(c);
        return;
    }
    c->at = &r->calls;
    c->next = r->calls;
    if (c->next)
        c->next->at = &c->next;
    r->calls = c;
    c->outcall = tfd_channel_call(r->channel, c->method, &c->request,
                                  &c->options, call_ended, c);
}

/* ---- Calls --------------------------------------------------------------- */

static void call_init(struct remote_call *c, struct remote *r,
                      enum tfd_method_number method)
{
    memset(c, 0, offsetof(struct remote_call, inline_payload));
    c->r = r;
    c->method = method;
    c->status.code = TFD_OK;
    c->status.text[0] = '\0';
    c->ended = false;
    /* Without a connection nobody knows what it will speak; what is sent then
     * has no tensors beside it. */
    tfd_message_init(&c->request, r->protocol == TFD_PROTO_NATIVE);
}

static void call_deinit(struct remote_call *c)
{
    for (uint32_t i = 0; i < c->response.payload_count; i++)
        tfd_buffer_unref(c->response.payload[i]);
    if (c->response.payload != c->inline_payload)
        free(c->response.payload);
    tfd_buffer_unref(c->response.body);
    tfd_message_deinit(&c->request);
}

/* Sends the request and waits for its end. */
static enum tfd_code call_run(struct remote_call *c, struct tfd_status *st)
{
    TFD_TRY(tfd_bytes_ok(&c->request.proto, "the request", st));
    tfd_lock_init(&c->lock, TFD_LOCK_SERVER);
    tfd_cond_init(&c->ended_cond);
    c->post.run = begin_call;
    tfd_loop_post(c->r->loop, &c->post);
    tfd_lock(&c->lock);
    while (!c->ended)
        tfd_cond_wait(&c->ended_cond, &c->lock);
    tfd_unlock(&c->lock);
    tfd_cond_deinit(&c->ended_cond);
    tfd_lock_deinit(&c->lock);
    if (c->status.code == TFD_OK)
        return TFD_OK;
    return tfd_status_copy(st, &c->status);
}

/* ---- Open, extend, close ------------------------------------------------- */

static enum tfd_code read_created(struct remote *r, struct tfd_str bytes,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader reader = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    tfd_bytes_clear(&r->handle);
    while (tfd_pb_next(&reader, &f)) {
        if (f.tag == tensorflow_CreateSessionResponse_session_handle_tag)
            tfd_bytes_add_str(&r->handle, tfd_pb_str(&reader, &f));
        else if (f.tag == tensorflow_CreateSessionResponse_graph_version_tag)
            r->version = tfd_pb_int64(&reader, &f);
    }
    TFD_TRY(tfd_pb_end(&reader, "CreateSessionResponse", st));
    return tfd_bytes_ok(&r->handle, "the handle of a session", st);
}

static enum tfd_code remote_open(struct tfd_backend *b,
                                 struct tfd_str graph_def,
                                 struct tfd_status *st)
{
    struct remote *r = (struct remote *)b;
    struct remote_call c;
    enum tfd_code rc;

    call_init(&c, r, TFD_METHOD_CreateSession);
    c.options.wait_ready = true;
    c.options.timeout_us = r->timeout_us ? r->timeout_us : OPEN_US;
    tfd_pb_put_str(&c.request.proto,
                   tensorflow_CreateSessionRequest_graph_def_tag, graph_def);
    tfd_pb_put_str(&c.request.proto, tensorflow_CreateSessionRequest_config_tag,
                   tfd_bytes_view(&r->config));
    tfd_pb_put_str(&c.request.proto, tensorflow_CreateSessionRequest_target_tag,
                   tfd_str_of(r->address));
    rc = call_run(&c, st);
    if (rc == TFD_OK)
        rc = read_created(r, c.response.proto, st);
    call_deinit(&c);
    return rc;
}

static enum tfd_code read_extended(struct remote *r, struct tfd_str bytes,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader reader = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    while (tfd_pb_next(&reader, &f))
        if (f.tag == tensorflow_ExtendSessionResponse_new_graph_version_tag)
            r->version = tfd_pb_int64(&reader, &f);
    return tfd_pb_end(&reader, "ExtendSessionResponse", st);
}

static enum tfd_code remote_extend(struct tfd_backend *b,
                                   struct tfd_str graph_def,
                                   struct tfd_status *st)
{
    struct remote *r = (struct remote *)b;
    struct remote_call c;
    enum tfd_code rc;

    call_init(&c, r, TFD_METHOD_ExtendSession);
    c.options.timeout_us = r->timeout_us;
    tfd_pb_put_str(&c.request.proto,
                   tensorflow_ExtendSessionRequest_session_handle_tag,
                   tfd_bytes_view(&r->handle));
    tfd_pb_put_str(&c.request.proto,
                   tensorflow_ExtendSessionRequest_graph_def_tag, graph_def);
    tfd_pb_put_int(&c.request.proto,
                   tensorflow_ExtendSessionRequest_current_graph_version_tag,
                   r->version);
    rc = call_run(&c, st);
    if (rc == TFD_OK)
        rc = read_extended(r, c.response.proto, st);
    call_deinit(&c);
    return rc;
}

static void close_session(struct remote *r)
{
    struct remote_call c;

    if (!r->handle.size)
        return;
    call_init(&c, r, TFD_METHOD_CloseSession);
    c.options.timeout_us = CLOSE_US;
    tfd_pb_put_str(&c.request.proto,
                   tensorflow_CloseSessionRequest_session_handle_tag,
                   tfd_bytes_view(&r->handle));
    /* A server that lost the session, or is lost, has closed it. */
    (void)!call_run(&c, NULL);
    call_deinit(&c);
}

/* ---- Run: the request ---------------------------------------------------- */

static void put_feed(struct tfd_message *m, const struct tfd_local_run *run,
                     int i)
{
    size_t mark = tfd_message_begin(m, tensorflow_RunStepRequest_feed_tag);

    if (run->plan == 0)
        tfd_pb_put_str(&m->proto, tensorflow_NamedTensorProto_name_tag,
                       run->feed_names[i]);
    tfd_message_put_tensor(m, tensorflow_NamedTensorProto_tensor_tag,
                           &run->feeds[i], tfd_handle_encode);
    tfd_message_finish(m, mark);
}

static void put_names(struct tfd_message *m, const struct tfd_local_run *run)
{
    for (int i = 0; i < run->fetch_count; i++)
        tfd_pb_put_str_always(&m->proto, tensorflow_RunStepRequest_fetch_tag,
                              run->fetch_names[i]);
    for (int i = 0; i < run->target_count; i++)
        tfd_pb_put_str_always(&m->proto, tensorflow_RunStepRequest_target_tag,
                              run->target_names[i]);
}

static void put_request(struct remote *r, struct tfd_message *m,
                        const struct tfd_local_run *run)
{
    size_t mark;

    tfd_pb_put_str(&m->proto, tensorflow_RunStepRequest_session_handle_tag,
                   tfd_bytes_view(&r->handle));
    for (int i = 0; i < run->feed_count; i++)
        put_feed(m, run, i);
    if (run->plan == 0)
        put_names(m, run);
    else
        tfd_pb_put_int(&m->proto, tensorflow_RunStepRequest_plan_tag,
                       run->plan);
    if (run->timeout_us) {
        mark = tfd_message_begin(m, tensorflow_RunStepRequest_options_tag);
        tfd_pb_put_int(&m->proto, tensorflow_RunOptions_timeout_in_ms_tag,
                       (int64_t)(run->timeout_us / 1000));
        tfd_message_finish(m, mark);
    }
    /* A long text does not fit into a trailer. */
    tfd_pb_put_bool(&m->proto,
                    tensorflow_RunStepRequest_store_errors_in_response_body_tag,
                    true);
}

/* ---- Run: the response --------------------------------------------------- */

struct reply {
    struct tfd_local_run *run;
    const struct tfd_incoming *in;
    int tensors; /* so far */
    int32_t code;
    struct tfd_str text;
};

/* The place of a fetch that is named: mostly the next one. */
static int find_fetch(const struct reply *p, struct tfd_str name)
{
    const struct tfd_local_run *run = p->run;

    if (p->tensors < run->fetch_count &&
        tfd_str_eq(run->fetch_names[p->tensors], name))
        return p->tensors;
    for (int i = 0; i < run->fetch_count; i++)
        if (tfd_str_eq(run->fetch_names[i], name))
            return i;
    return -1;
}

static enum tfd_code read_tensor(struct reply *p, struct tfd_str bytes,
                                 bool by_name, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_str name = TFD_STR_EMPTY, tensor = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    int at;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_NamedTensorProto_name_tag)
            name = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_NamedTensorProto_tensor_tag)
            tensor = tfd_pb_str(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "NamedTensorProto", st));
    at = by_name ? find_fetch(p, name) : p->tensors;
    if (at < 0 || at >= p->run->fetch_count || p->run->fetches[at].dtype)
        return tfd_fail(st, TFD_INTERNAL,
                        "the server sent a tensor '" TFD_STR_FMT
                        "' that was not asked for",
                        TFD_STR_ARG(name));
    p->tensors++;
    return tfd_tensor_decode(p->in, tensor, tfd_handle_decode,
                             &p->run->fetches[at], st);
}

static enum tfd_code read_reply(struct reply *p, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(p->in->proto);
    bool by_name = p->run->plan == 0;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        switch (f.tag) {
        case tensorflow_RunStepResponse_tensor_tag:
            TFD_TRY(read_tensor(p, tfd_pb_str(&r, &f), by_name, st));
            break;
        case tensorflow_RunStepResponse_status_code_tag:
            p->code = tfd_pb_int32(&r, &f);
            break;
        case tensorflow_RunStepResponse_status_error_message_tag:
            p->text = tfd_pb_str(&r, &f);
            break;
        case tensorflow_RunStepResponse_plan_tag:
            p->run->plan = (uint32_t)f.number;
            break;
        default:
            break;
        }
    }
    return tfd_pb_end(&r, "RunStepResponse", st);
}

static enum tfd_code check_reply(const struct reply *p, struct tfd_status *st)
{
    if (p->code != 0)
        return tfd_fail(st, (enum tfd_code)p->code, "%.*s", (int)p->text.size,
                        p->text.data);
    if (p->tensors != p->run->fetch_count)
        return tfd_fail(st, TFD_INTERNAL,
                        "the server sent %d tensors of %d fetches", p->tensors,
                        p->run->fetch_count);
    return TFD_OK;
}

static enum tfd_code take_reply(const struct remote_call *c,
                                struct tfd_local_run *run,
                                struct tfd_status *st)
{
    struct reply p = {.run = run, .in = &c->response, .text = TFD_STR_EMPTY};
    uint32_t plan = run->plan;
    enum tfd_code rc = read_reply(&p, st);

    if (rc == TFD_OK)
        rc = check_reply(&p, st);
    if (rc == TFD_OK)
        return TFD_OK;
    run->plan = plan;
    for (int i = 0; i < run->fetch_count; i++)
        tfd_tensor_unref(&run->fetches[i]);
    return rc;
}

static enum tfd_code remote_run(struct tfd_backend *b,
                                struct tfd_local_run *run,
                                struct tfd_status *st)
{
    struct remote *r = (struct remote *)b;
    struct remote_call c;
    enum tfd_code rc;

    for (int i = 0; i < run->fetch_count; i++)
        run->fetches[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    call_init(&c, r, TFD_METHOD_RunStep);
    c.options.timeout_us = run->timeout_us ? run->timeout_us : r->timeout_us;
    put_request(r, &c.request, run);
    for (int i = 0; i < run->feed_count; i++)
        tfd_tensor_unref(&run->feeds[i]);
    rc = call_run(&c, st);
    if (rc == TFD_OK)
        rc = take_reply(&c, run, st);
    call_deinit(&c);
    return rc;
}

/* ---- Life ---------------------------------------------------------------- */

/* Something to be done on the loop thread while the caller waits. */
struct errand {
    struct tfd_post post; /* first */
    void (*fn)(struct remote *r, struct tfd_status *st);
    struct remote *r;
    struct tfd_status *st;
    struct tfd_lock lock;
    struct tfd_cond done_cond;
    bool done;
};

static void do_errand(struct tfd_post *p)
{
    struct errand *e = (struct errand *)p;

    e->fn(e->r, e->st);
    tfd_lock(&e->lock);
    e->done = true;
    tfd_cond_signal(&e->done_cond);
    tfd_unlock(&e->lock);
}

static void on_loop(struct remote *r,
                    void (*fn)(struct remote *r, struct tfd_status *st),
                    struct tfd_status *st)
{
    struct errand e = {.post = {.run = do_errand}, .fn = fn, .r = r, .st = st};

    tfd_lock_init(&e.lock, TFD_LOCK_SERVER);
    tfd_cond_init(&e.done_cond);
    tfd_loop_post(r->loop, &e.post);
    tfd_lock(&e.lock);
    while (!e.done)
        tfd_cond_wait(&e.done_cond, &e.lock);
    tfd_unlock(&e.lock);
    tfd_cond_deinit(&e.done_cond);
    tfd_lock_deinit(&e.lock);
}

static void make_channel(struct remote *r, struct tfd_status *st)
{
    struct tfd_channel_options o = {
        .address = r->address,
        .self = &self,
        .protocol = r->protocol,
        .dial_timeout_us = DIAL_US,
    };

    (void)!tfd_channel_new(r->loop, &o, &r->channel, st);
}

static void cancel_calls(struct remote *r, struct tfd_status *st)
{
    (void)st;
    r->cancelled = true;
    for (struct remote_call *c = r->calls; c; c = c->next)
        tfd_channel_cancel(c->outcall);
}

static void free_channel(struct remote *r, struct tfd_status *st)
{
    (void)st;
    tfd_channel_free(r->channel);
}

static void remote_cancel(struct tfd_backend *b)
{
    struct remote *r = (struct remote *)b;

    on_loop(r, cancel_calls, NULL);
    close_session(r);
}

static void remote_free(struct tfd_backend *b)
{
    struct remote *r = (struct remote *)b;

    if (r->channel)
        on_loop(r, free_channel, NULL);
    if (r->loop)
        tfd_loop_thread_put();
    tfd_bytes_deinit(&r->config);
    tfd_bytes_deinit(&r->handle);
    free(r->address);
    free(r);
}

static const struct tfd_backend_ops ops = {
    remote_open, remote_extend, remote_run, remote_cancel, remote_free,
};

static enum tfd_code read_target(struct remote *r, const char *target,
                                 struct tfd_status *st)
{
    static const struct {
        const char *scheme;
        enum tfd_protocol protocol;
    } schemes[] = {{"tfd://", TFD_PROTO_NATIVE}, {"grpc://", TFD_PROTO_GRPC}};

    for (int i = 0; i < TFD_COUNT(schemes); i++) {
        size_t size = strlen(schemes[i].scheme);

        if (strncmp(target, schemes[i].scheme, size) != 0)
            continue;
        r->protocol = schemes[i].protocol;
        r->address = strdup(target + size);
        return r->address ? TFD_OK
                          : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                                     "no memory for a session");
    }
    return tfd_fail(st, TFD_NOT_FOUND,
                    "No session factory registered for the given session "
                    "options: {target: \"%.200s\"}; targets are \"\", "
                    "tfd://host:port and grpc://host:port",
                    target);
}

static enum tfd_code set_up(struct remote *r, const char *target,
                            struct tfd_str config, struct tfd_status *st)
{
    struct tfd_session_config c;

    TFD_TRY(tfd_session_config_read(config, &c, st));
    if (c.operation_timeout_ms > 0)
        r->timeout_us = (uint64_t)c.operation_timeout_ms * 1000;
    tfd_session_config_deinit(&c);
    tfd_bytes_add_str(&r->config, config);
    TFD_TRY(tfd_bytes_ok(&r->config, "the ConfigProto", st));
    TFD_TRY(read_target(r, target, st));
    r->loop = tfd_loop_thread_get(st);
    if (!r->loop)
        return TFD_RESOURCE_EXHAUSTED;
    on_loop(r, make_channel, st);
    return r->channel ? TFD_OK : TFD_INVALID_ARGUMENT;
}

struct tfd_backend *tfd_remote_backend(const char *target,
                                       struct tfd_str config,
                                       struct tfd_status *st)
{
    struct remote *r = calloc(1, sizeof(*r));

    if (!r) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a session");
        return NULL;
    }
    r->backend.ops = &ops;
    tfd_bytes_init(&r->config, TFD_SESSION_CONFIG_SIZE_MAX);
    tfd_bytes_init(&r->handle, TFD_NAME_SIZE_MAX);
    if (set_up(r, target, config, st) == TFD_OK)
        return &r->backend;
    remote_free(&r->backend);
    return NULL;
}
