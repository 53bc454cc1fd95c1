/*
 * remote_rig.h - a worker of another task over a real connection, whose peer
 * answers what it is told, for tests of daemon/master/remote/remote_worker.c.
 */
#ifndef TFD_TESTS_SUPPORT_REMOTE_RIG_H
#define TFD_TESTS_SUPPORT_REMOTE_RIG_H

#include "daemon/master/remote/remote_worker.h"

#include "common/base/pbio.h"
#include "common/proto/worker.pb.h"
#include "config/limits.h"
#include "tests/support/rig.h"

/* Too long for a line of code. */
#define ISOLATE_TAG \
    tensorflow_CreateWorkerSessionRequest_isolate_session_state_tag
#define CALLED_TAG \
    tensorflow_RegisterGraphRequest_create_worker_session_called_tag

/* ---- A peer that answers what it is told --------------------------------- */

struct peer {
    struct rig *rig;
    struct tfd_channel *channel;
    struct tfd_worker *worker;
    struct tfd_bytes request;  /* the last one */
    struct tfd_bytes answer;   /* to every call */
    struct tfd_status failure; /* instead */
    int calls;
};

static inline void answers(void *self, struct tfd_call *call)
{
    struct peer *p = self;
    struct tfd_message m;

    p->calls++;
    tfd_bytes_clear(&p->request);
    tfd_bytes_add_str(&p->request, call->in.proto);
    if (p->failure.code != TFD_OK) {
        tfd_call_fail(call, &p->failure);
    } else {
        tfd_message_init(&m, call->native);
        tfd_bytes_add_str(&m.proto, tfd_bytes_view(&p->answer));
        tfd_call_respond(call, &m);
    }
    rig_tick(p->rig);
}

static inline struct peer *open_peer(enum tfd_protocol protocol)
{
    static const enum tfd_method_number methods[] = {
        TFD_METHOD_GetStatus,       TFD_METHOD_CreateWorkerSession,
        TFD_METHOD_RegisterGraph,   TFD_METHOD_DeleteWorkerSession,
        TFD_METHOD_DeregisterGraph, TFD_METHOD_RunGraph,
        TFD_METHOD_CleanupGraph,    TFD_METHOD_CleanupAll,
    };
    struct peer *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    p->rig = rig_new();
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        tfd_service_bind(p->rig->service, methods[i], answers, p);
    tfd_bytes_init(&p->request, 1 << 20);
    tfd_bytes_init(&p->answer, 1 << 20);
    p->channel = rig_channel(p->rig, p->rig->address, protocol);
    p->worker = tfd_remote_worker_new(p->rig->loop, p->channel,
                                      "/job:ps/replica:0/task:3");
    assert_non_null(p->worker);
    return p;
}

static inline void close_peer(struct peer *p)
{
    tfd_channel_free(p->channel);
    tfd_remote_worker_free(p->worker);
    rig_free(p->rig);
    tfd_bytes_deinit(&p->request);
    tfd_bytes_deinit(&p->answer);
    free(p);
}

static const enum tfd_protocol protocols[] = {TFD_PROTO_NATIVE, TFD_PROTO_GRPC};

/* The field of the last request; "?" when it is not there. */
static inline struct tfd_str sent(const struct peer *p, uint32_t tag)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(tfd_bytes_view(&p->request));
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag && f.wire == TFD_PB_BYTES)
            return f.bytes;
    return TFD_STR("?");
}

static inline uint64_t sent_number(const struct peer *p, uint32_t tag)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(tfd_bytes_view(&p->request));
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag && f.wire != TFD_PB_BYTES)
            return f.number;
    return UINT64_MAX;
}

/* ---- What came of a call ------------------------------------------------- */

struct result {
    struct peer *peer;
    int done;
    struct tfd_status status;
    struct tfd_device_attributes devices[TFD_DEVICES_PER_TYPE_MAX];
    int count;
    uint64_t graph;
};

static inline void got(struct result *r, const struct tfd_status *st)
{
    r->done++;
    r->status = *st;
    rig_tick(r->peer->rig);
}

static inline void got_done(void *ctx, const struct tfd_status *st)
{
    got(ctx, st);
}

static inline void got_status(void *ctx, const struct tfd_status *st,
                              const struct tfd_device_attributes *devices,
                              int count)
{
    struct result *r = ctx;

    r->count = count;
    if (count > 0)
        memcpy(r->devices, devices, sizeof(*devices) * (size_t)count);
    got(r, st);
}

static inline void got_graph(void *ctx, const struct tfd_status *st,
                             uint64_t graph)
{
    struct result *r = ctx;

    assert_true((st->code == TFD_OK) == (graph != 0));
    r->graph = graph;
    got(r, st);
}

static inline void assert_result(const struct result *r, enum tfd_code code,
                                 const char *text)
{
    assert_int_equal(r->done, 1);
    if (r->status.code != code || !strstr(r->status.text, text))
        fail_msg("%s: %s, not %s: %s", tfd_code_name(r->status.code),
                 r->status.text, tfd_code_name(code), text);
}

#endif
