/*
 * calls.h - what fuzz targets of requests share: a whole server of one task in
 * this process, whose rows are called as a transport calls them.
 *
 *     struct calls *s = calls_server();
 *     calls_ask(s, TFD_METHOD_RunStep, bytes, &response);
 *
 * A call that is not answered within CANCEL_US is cancelled, and must then be.
 * The handle of a session or graph that a corpus cannot know is written "S" or
 * "G" there, and given its real value behind: the last field counts.
 */
#ifndef TFD_TESTS_FUZZ_CALLS_H
#define TFD_TESTS_FUZZ_CALLS_H

#include "common/base/alloc.h"
#include "common/proto/graphdef.h"
#include "common/base/log.h"
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "common/proto/master.pb.h"
#include "common/proto/worker.pb.h"
#include "config/limits.h"
#include "daemon/server_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CALLS_MEMORY_MAX ((size_t)512 << 20)
#define CALLS_RESPONSE_MAX ((size_t)64 << 20)
#define CALLS_CANCEL_US 20000u
/* Of what must succeed: a busy machine may need seconds. */
#define CALLS_PATIENCE_US 8000000u

struct calls {
    struct tfd_config config;
    struct tfd_server *server;
    struct tfd_loop *loop;
    struct tfd_post post;
    struct tfd_timer timer;
    struct tfd_call call;           /* the one under way */
    const struct tfd_str *messages; /* of a stream of requests */
    int message_count;
    uint64_t cancel_us;
    bool answered;
    struct tfd_status status;
    struct tfd_bytes response;
};

/* The one of this process: making it anew for each input would test nothing
 * else. */
static struct calls calls;

static inline void calls_answer(struct tfd_call *call,
                                const struct tfd_status *st,
                                struct tfd_message *take_response)
{
    assert(!calls.answered && call == &calls.call);
    calls.answered = true;
    if (st)
        calls.status = *st;
    if (take_response) {
        tfd_bytes_add_str(&calls.response,
                          tfd_bytes_view(&take_response->proto));
        tfd_message_deinit(take_response);
    }
    tfd_incoming_deinit(&call->in);
    tfd_timer_stop(&calls.timer);
    tfd_loop_stop(calls.loop);
}

static inline void calls_cancel(struct tfd_timer *t)
{
    (void)t;
    calls.call.is_cancelled = true;
    if (calls.call.cancelled)
        calls.call.cancelled(calls.call.ctx, &calls.call);
}

static inline void calls_dispatch(struct tfd_post *p)
{
    enum tfd_code rc = tfd_timer_start(&calls.timer, calls.cancel_us, NULL);

    (void)p;
    assert(rc == TFD_OK);
    tfd_service_dispatch(tfd_server_service(calls.server), &calls.call);
}

static inline struct calls *calls_server(void)
{
    static char *arguments[] = {"tfd", "--threads=1", "--file_root=/proc/self",
                                NULL};
    struct tfd_server_options o = {.config = &calls.config};
    enum tfd_code rc;

    if (calls.server)
        return &calls;
    tfd_log_level_set(TFD_LOG_ERROR);
    rc = tfd_flags_parse(&calls.config, 3, arguments, "", stdout, stderr) ==
                 TFD_FLAGS_RUN
             ? tfd_server_new(&o, &calls.server, NULL)
             : TFD_INTERNAL;
    assert(rc == TFD_OK);
    tfd_alloc_limit(CALLS_MEMORY_MAX);
    tfd_alloc_cache_limit(0);
    calls.cancel_us = CALLS_CANCEL_US;
    calls.loop = tfd_server_loop(calls.server);
    tfd_timer_init(&calls.timer, calls.loop, calls_cancel);
    tfd_bytes_init(&calls.response, CALLS_RESPONSE_MAX);
    return &calls;
}

/* The response is valid until the next call; "" when there is none. */
static inline enum tfd_code calls_ask(enum tfd_method_number method,
                                      struct tfd_str request, bool native,
                                      struct tfd_str *response)
{
    struct tfd_buffer *body = tfd_buffer_new(request.size + 1);

    assert(body);
    if (request.size)
        memcpy(body->data, request.data, request.size);
    calls.call = (struct tfd_call){
        .method = method,
        .native = native,
        .in = {.proto = {(char *)body->data, request.size}, .body = body},
        .peer = "fuzz",
        .answer = calls_answer,
    };
    calls.answered = false;
    tfd_status_clear(&calls.status);
    tfd_bytes_clear(&calls.response);
    calls.post = (struct tfd_post){.run = calls_dispatch};
    tfd_loop_post(calls.loop, &calls.post);
    tfd_loop_run(calls.loop);
    assert(calls.answered);
    if (response)
        *response = tfd_bytes_view(&calls.response);
    return calls.status.code;
}

/* Answers within a stream are dropped. */
static inline enum tfd_code calls_sent(struct tfd_call *call,
                                       const struct tfd_message *m,
                                       struct tfd_status *st)
{
    (void)call;
    (void)m;
    (void)st;
    return TFD_OK;
}

static inline struct tfd_incoming calls_incoming(struct tfd_str bytes)
{
    struct tfd_buffer *body = tfd_buffer_new(bytes.size + 1);

    assert(body);
    if (bytes.size)
        memcpy(body->data, bytes.data, bytes.size);
    return (struct tfd_incoming){.proto = {(char *)body->data, bytes.size},
                                 .body = body};
}

static inline void calls_dispatch_stream(struct tfd_post *p)
{
    calls_dispatch(p);
    for (int i = 0; i < calls.message_count && !calls.answered; i++) {
        struct tfd_incoming in = calls_incoming(calls.messages[i]);

        calls.call.received(calls.call.ctx, &calls.call, &in);
    }
    if (!calls.answered)
        calls.call.ended(calls.call.ctx, &calls.call);
}

/* A stream of these requests, and its end. */
static inline enum tfd_code calls_stream(enum tfd_method_number method,
                                         const struct tfd_str *messages,
                                         int count)
{
    calls.call = (struct tfd_call){
        .method = method,
        .peer = "fuzz",
        .answer = calls_answer,
        .send = calls_sent,
    };
    calls.messages = messages;
    calls.message_count = count;
    calls.answered = false;
    tfd_status_clear(&calls.status);
    tfd_bytes_clear(&calls.response);
    calls.post = (struct tfd_post){.run = calls_dispatch_stream};
    tfd_loop_post(calls.loop, &calls.post);
    tfd_loop_run(calls.loop);
    assert(calls.answered);
    return calls.status.code;
}

/* One that must succeed. */
static inline void calls_must(enum tfd_method_number method,
                              struct tfd_str request, struct tfd_str *response)
{
    enum tfd_code rc;

    calls.cancel_us = CALLS_PATIENCE_US;
    rc = calls_ask(method, request, false, response);
    calls.cancel_us = CALLS_CANCEL_US;
    if (rc != TFD_OK)
        fprintf(stderr, "%s\n", calls.status.text);
    assert(rc == TFD_OK);
}

/* The last string field with this tag. */
static inline struct tfd_str calls_field(struct tfd_str message, uint32_t tag)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_str value = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag)
            value = tfd_pb_str(&r, &f);
    return value;
}

/* The number behind the last field with this tag. */
static inline int64_t calls_number(struct tfd_str message, uint32_t tag)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;
    int64_t value = 0;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag)
            value = tfd_pb_int64(&r, &f);
    return value;
}

/* "S", or whatever a corpus writes for it, becomes the handle. */
static inline void calls_set_handle(struct tfd_bytes *b, uint32_t tag,
                                    const char *written, const char *handle)
{
    if (tfd_str_is(calls_field(tfd_bytes_view(b), tag), written))
        tfd_pb_put_str(b, tag, tfd_str_of(handle));
}

/* ---- Graphs -------------------------------------------------------------- */

static inline void calls_node(struct tfd_bytes *graph, const char *name,
                              const char *op, const char *in, const char *attr,
                              int type)
{
    struct tfd_str input = tfd_str_of(in);
    struct tfd_bytes value;
    struct tfd_attr list;
    struct tfd_nodedef def = {
        .name = tfd_str_of(name),
        .op = tfd_str_of(op),
        .device = TFD_STR_EMPTY,
        .in = &input,
        .in_count = in[0] ? 1 : 0,
        .attrs = &list,
        .attr_count = attr[0] ? 1 : 0,
    };

    tfd_bytes_init(&value, 100);
    if (attr[0] && strcmp(attr, "component_types") == 0)
        tfd_attr_put_types(&value, &type, 1);
    else
        tfd_attr_put_type(&value, type);
    list = (struct tfd_attr){tfd_str_of(attr), tfd_bytes_view(&value)};
    tfd_graphdef_put(graph, &def);
    tfd_bytes_deinit(&value);
}

/* An extension must have the version that the graph has. */
static inline void calls_put_versions(struct tfd_bytes *graph)
{
    size_t mark = tfd_pb_begin(graph, tensorflow_GraphDef_versions_tag);

    tfd_pb_put_int(graph, tensorflow_VersionDef_producer_tag,
                   TFD_GRAPH_DEF_VERSION);
    tfd_pb_finish(graph, mark);
}

/* Placeholders of four types, what reads them, and a queue that blocks. */
static inline void calls_put_graph(struct tfd_bytes *request, uint32_t tag)
{
    size_t mark = tfd_pb_begin(request, tag);

    calls_node(request, "p", "Placeholder", "", "dtype", TFD_FLOAT);
    calls_node(request, "s", "Square", "p", "T", TFD_FLOAT);
    calls_node(request, "t", "Placeholder", "", "dtype", TFD_STRING);
    calls_node(request, "u", "Identity", "t", "T", TFD_STRING);
    calls_node(request, "b", "Placeholder", "", "dtype", TFD_BOOL);
    calls_node(request, "n", "LogicalNot", "b", "", 0);
    calls_node(request, "h", "Placeholder", "", "dtype", TFD_RESOURCE);
    calls_node(request, "r", "Identity", "h", "T", TFD_RESOURCE);
    calls_node(request, "q", "FIFOQueueV2", "", "component_types", TFD_FLOAT);
    calls_node(request, "d", "QueueDequeueV2", "q", "component_types",
               TFD_FLOAT);
    calls_put_versions(request);
    tfd_pb_finish(request, mark);
}

/* A session with that graph; its handle into text. */
static inline void calls_open(char *text, size_t room)
{
    struct tfd_str response, handle;
    struct tfd_bytes b;

    tfd_bytes_init(&b, 1 << 16);
    calls_put_graph(&b, tensorflow_CreateSessionRequest_graph_def_tag);
    calls_must(TFD_METHOD_CreateSession, tfd_bytes_view(&b), &response);
    handle = calls_field(response,
                         tensorflow_CreateSessionResponse_session_handle_tag);
    assert(handle.size > 0 && handle.size < room);
    memcpy(text, handle.data, handle.size);
    text[handle.size] = '\0';
    tfd_bytes_deinit(&b);
}

static inline void calls_close(struct tfd_str handle)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, 1 << 16);
    tfd_pb_put_str(&b, tensorflow_CloseSessionRequest_session_handle_tag,
                   handle);
    calls_must(TFD_METHOD_CloseSession, tfd_bytes_view(&b), NULL);
    tfd_bytes_deinit(&b);
}

#endif
