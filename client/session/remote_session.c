/*
 * remote_session.c - a session on a server behind a connection, by
 * MasterService, in native frames or gRPC.
 *
 * The thread that calls builds the request and reads the response; only the
 * bytes in between are the loop thread's:
 *
 *     caller     encode, post, wait              decode, return
 *     loop             call ............ ended, wake
 */
#define _GNU_SOURCE 1 /* strdup() */

#include "client/session/remote.h"

#include "client/session/loop_thread.h"
#include "common/proto/master.pb.h"
#include "config/flags.h"
#include "config/session_config.h"

#include <stdlib.h>
#include <string.h>

#define DIAL_US UINT64_C(5000000)
/* A server that is not there yet, then its own wait for its peers, which is
 * 60 s by default.  TensorFlow's clients wait for ever; a ConfigProto with
 * operation_timeout_in_ms sets another limit. */
#define OPEN_US UINT64_C(90000000)
/* Nobody who closes waits longer for a server that is gone. */
#define CLOSE_US UINT64_C(5000000)

static const struct tfd_peer_info self = {.task = "client"};

/* ---- On the loop thread -------------------------------------------------- */

/* References to what the transport owns only during the callback. */
static void keep_response(struct tfd_remote_call *c,
                          const struct tfd_incoming *in)
{
    c->response.proto = in->proto;
    c->response.payload = c->inline_payload;
    if (in->payload_count > TFD_REMOTE_INLINE_PAYLOADS)
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
    struct tfd_remote_call *c = ctx;

    *c->at = c->next;
    if (c->next)
        c->next->at = c->at;
    if (response)
        keep_response(c, response);
    else
        (void)tfd_status_copy(&c->status, st);
    tfd_event_set(&c->ended);
}

static void begin_call(struct tfd_post *p)
{
    struct tfd_remote_call *c = (struct tfd_remote_call *)p;
    struct tfd_remote *r = c->r;

    if (r->cancelled && c->method != TFD_METHOD_CloseSession) {
        tfd_fail(&c->status, TFD_CANCELLED, "Session has been closed.");
        tfd_message_deinit(&c->request);
        tfd_event_set(&c->ended);
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

void tfd_remote_call_init(struct tfd_remote_call *c, struct tfd_remote *r,
                          enum tfd_method_number method)
{
    memset(c, 0, offsetof(struct tfd_remote_call, inline_payload));
    c->r = r;
    c->method = method;
    c->status.code = TFD_OK;
    c->status.text[0] = '\0';
    /* Without a connection nobody knows what it will speak; what is sent then
     * has no tensors beside it. */
    tfd_message_init(&c->request, r->protocol == TFD_PROTO_NATIVE);
}

void tfd_remote_call_deinit(struct tfd_remote_call *c)
{
    for (uint32_t i = 0; i < c->response.payload_count; i++)
        tfd_buffer_unref(c->response.payload[i]);
    if (c->response.payload != c->inline_payload)
        free(c->response.payload);
    tfd_buffer_unref(c->response.body);
    tfd_message_deinit(&c->request);
}

/* Sends the request and waits for its end. */
enum tfd_code tfd_remote_call_run(struct tfd_remote_call *c,
                                  struct tfd_status *st)
{
    TFD_TRY(tfd_bytes_ok(&c->request.proto, "the request", st));
    tfd_event_init(&c->ended, TFD_LOCK_SERVER);
    c->post.run = begin_call;
    tfd_loop_post(c->r->loop, &c->post);
    tfd_event_wait(&c->ended, TFD_SPIN_US);
    tfd_event_deinit(&c->ended);
    if (c->status.code == TFD_OK)
        return TFD_OK;
    return tfd_status_copy(st, &c->status);
}

/* ---- Open, extend, close ------------------------------------------------- */

static enum tfd_code read_created(struct tfd_remote *r, struct tfd_str bytes,
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
    struct tfd_remote *r = (struct tfd_remote *)b;
    struct tfd_remote_call c;
    enum tfd_code rc;

    tfd_remote_call_init(&c, r, TFD_METHOD_CreateSession);
    c.options.wait_ready = true;
    c.options.timeout_us = r->timeout_us ? r->timeout_us : OPEN_US;
    tfd_pb_put_str(&c.request.proto,
                   tensorflow_CreateSessionRequest_graph_def_tag, graph_def);
    tfd_pb_put_str(&c.request.proto, tensorflow_CreateSessionRequest_config_tag,
                   tfd_bytes_view(&r->config));
    tfd_pb_put_str(&c.request.proto, tensorflow_CreateSessionRequest_target_tag,
                   tfd_str_of(r->address));
    rc = tfd_remote_call_run(&c, st);
    if (rc == TFD_OK)
        rc = read_created(r, c.response.proto, st);
    tfd_remote_call_deinit(&c);
    return rc;
}

static enum tfd_code read_extended(struct tfd_remote *r, struct tfd_str bytes,
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
    struct tfd_remote *r = (struct tfd_remote *)b;
    struct tfd_remote_call c;
    enum tfd_code rc;

    tfd_remote_call_init(&c, r, TFD_METHOD_ExtendSession);
    c.options.timeout_us = r->timeout_us;
    tfd_pb_put_str(&c.request.proto,
                   tensorflow_ExtendSessionRequest_session_handle_tag,
                   tfd_bytes_view(&r->handle));
    tfd_pb_put_str(&c.request.proto,
                   tensorflow_ExtendSessionRequest_graph_def_tag, graph_def);
    tfd_pb_put_int(&c.request.proto,
                   tensorflow_ExtendSessionRequest_current_graph_version_tag,
                   r->version);
    rc = tfd_remote_call_run(&c, st);
    if (rc == TFD_OK)
        rc = read_extended(r, c.response.proto, st);
    tfd_remote_call_deinit(&c);
    return rc;
}

static void close_session(struct tfd_remote *r)
{
    struct tfd_remote_call c;

    if (!r->handle.size)
        return;
    tfd_remote_call_init(&c, r, TFD_METHOD_CloseSession);
    c.options.timeout_us = CLOSE_US;
    tfd_pb_put_str(&c.request.proto,
                   tensorflow_CloseSessionRequest_session_handle_tag,
                   tfd_bytes_view(&r->handle));
    /* A server that lost the session, or is lost, has closed it. */
    (void)!tfd_remote_call_run(&c, NULL);
    tfd_remote_call_deinit(&c);
}

/* ---- Life ---------------------------------------------------------------- */

/* Something to be done on the loop thread while the caller waits. */
struct errand {
    struct tfd_post post; /* first */
    void (*fn)(struct tfd_remote *r, struct tfd_status *st);
    struct tfd_remote *r;
    struct tfd_status *st;
    struct tfd_event done;
};

static void do_errand(struct tfd_post *p)
{
    struct errand *e = (struct errand *)p;

    e->fn(e->r, e->st);
    tfd_event_set(&e->done);
}

static void on_loop(struct tfd_remote *r,
                    void (*fn)(struct tfd_remote *r, struct tfd_status *st),
                    struct tfd_status *st)
{
    struct errand e = {.post = {.run = do_errand}, .fn = fn, .r = r, .st = st};

    tfd_event_init(&e.done, TFD_LOCK_SERVER);
    tfd_loop_post(r->loop, &e.post);
    tfd_event_wait(&e.done, 0);
    tfd_event_deinit(&e.done);
}

static void make_channel(struct tfd_remote *r, struct tfd_status *st)
{
    struct tfd_channel_options o = {
        .address = r->address,
        .self = &self,
        .protocol = r->protocol,
        .dial_timeout_us = DIAL_US,
        .heartbeat = {TFD_HEARTBEAT_INTERVAL_US, TFD_PEER_TIMEOUT_US},
    };

    (void)!tfd_channel_new(r->loop, &o, &r->channel, st);
}

static void cancel_calls(struct tfd_remote *r, struct tfd_status *st)
{
    (void)st;
    r->cancelled = true;
    for (struct tfd_remote_call *c = r->calls; c; c = c->next)
        tfd_channel_cancel(c->outcall);
}

static void free_channel(struct tfd_remote *r, struct tfd_status *st)
{
    (void)st;
    tfd_channel_free(r->channel);
}

static void remote_cancel(struct tfd_backend *b)
{
    struct tfd_remote *r = (struct tfd_remote *)b;

    on_loop(r, cancel_calls, NULL);
    close_session(r);
}

static void remote_free(struct tfd_backend *b)
{
    struct tfd_remote *r = (struct tfd_remote *)b;

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
    remote_open, remote_extend, tfd_remote_run, remote_cancel, remote_free,
};

static enum tfd_code read_target(struct tfd_remote *r, const char *target,
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

static enum tfd_code set_up(struct tfd_remote *r, const char *target,
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
    struct tfd_remote *r = calloc(1, sizeof(*r));

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
