/*
 * grpc_rig.h - a gRPC server on a connection in memory, called by an HTTP/2
 * client session:
 *
 *     rig_open();
 *     send_request(&(struct request){BODY("\0\0\0\0\3abc")});
 *     net_run(&rig.net);                       what was said: said(), rig.c
 *     rig_close();
 *
 * RunStep echoes, CloseSession refuses, Reset is held until answer_held().
 *
 * Included once by a test program: fake_net.h stands in for the loop.
 */
#ifndef TFD_TESTS_SUPPORT_GRPC_RIG_H
#define TFD_TESTS_SUPPORT_GRPC_RIG_H

#include "config/limits.h"
#include "rpc/core/health.h"
#include "rpc/core/link.h"
#include "tests/support/fake_net.h"
#include "tests/support/h2_end.h"

#define HELD_MAX 2000

#define MASTER "/tensorflow.MasterService/"

struct rig {
    struct tfd_loop net;
    struct tfd_service *service;
    struct tfd_health health;
    struct tfd_conn *client;
    struct tfd_conn *server;
    struct end c;
    struct tfd_call *held[HELD_MAX]; /* by the handler of Reset */
    int held_count;
    int cancelled;
    bool answer_in_cancel;
    bool answer_next_in_cancel;
};

struct bytes_body {
    struct tfd_h2_source source;
    struct end *end;
    const char *data;
};

static struct rig rig;

/* ---- Handlers ------------------------------------------------------------ */

static inline void echo(void *self, struct tfd_call *call)
{
    struct tfd_message m;

    (void)self;
    tfd_message_init(&m, call->native);
    tfd_bytes_add_str(&m.proto, call->in.proto);
    tfd_call_respond(call, &m);
}

static inline void answer_failure(struct tfd_call *call, enum tfd_code code,
                                  const char *text)
{
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, code, "%s", text);
    tfd_call_fail(call, &st);
}

static inline void refuse(void *self, struct tfd_call *call)
{
    (void)self;
    answer_failure(call, TFD_NOT_FOUND, "no such thing:\n\t100% \xc3\xa4");
}

static inline void on_cancelled(void *ctx, struct tfd_call *call)
{
    (void)ctx;
    assert_true(call->is_cancelled);
    rig.cancelled++;
    if (rig.answer_next_in_cancel && rig.held[1] && rig.held[1] != call) {
        answer_failure(rig.held[1], TFD_ABORTED, "the other");
        rig.held[1] = NULL;
    }
    if (rig.answer_in_cancel) {
        for (int i = 0; i < rig.held_count; i++)
            if (rig.held[i] == call)
                rig.held[i] = NULL;
        answer_failure(call, TFD_CANCELLED, "as you wish");
    }
}

static inline void hold(void *self, struct tfd_call *call)
{
    (void)self;
    assert_true(rig.held_count < HELD_MAX);
    call->cancelled = on_cancelled;
    rig.held[rig.held_count++] = call;
}

static inline void answer_held(int i)
{
    struct tfd_message m;

    tfd_message_init(&m, false);
    tfd_bytes_printf(&m.proto, "%d", i);
    tfd_call_respond(rig.held[i], &m);
    rig.held[i] = NULL;
}

/* ---- The rig ------------------------------------------------------------- */

static inline void flush(void)
{
    tfd_h2_pump(rig.c.h2);
    tfd_conn_write(rig.client, rig.c.out.data, rig.c.out.size);
    tfd_bytes_clear(&rig.c.out);
}

static inline size_t client_space(void *self, uint8_t **at)
{
    (void)self;
    *at = rig.net.scratch;
    return sizeof(rig.net.scratch);
}

static inline enum tfd_code client_commit(void *self, size_t n,
                                          struct tfd_status *st)
{
    (void)self;
    (void)st;
    (void)!tfd_h2_receive(rig.c.h2, rig.net.scratch, n, rig.net.now_us, NULL);
    flush();
    return TFD_OK;
}

static inline void client_closed(void *self, const struct tfd_status *why)
{
    (void)self;
    (void)why;
}

static const struct tfd_conn_handler client_handler = {
    .space = client_space, .commit = client_commit, .closed = client_closed};

static inline void rig_open(void)
{
    memset(&rig, 0, sizeof(rig));
    net_open(&rig.net);
    rig.service = tfd_service_new(&rig.net, NULL);
    assert_non_null(rig.service);
    tfd_service_bind(rig.service, TFD_METHOD_RunStep, echo, NULL);
    tfd_service_bind(rig.service, TFD_METHOD_Reset, hold, NULL);
    tfd_service_bind(rig.service, TFD_METHOD_CloseSession, refuse, NULL);
    tfd_health_bind(&rig.health, rig.service);
    net_pair(&rig.net, &rig.client, &rig.server);
    tfd_conn_handle(rig.client, &client_handler, NULL);
    open_end(&rig.c, TFD_H2_CLIENT);
    assert_int_equal(
        tfd_grpc_serve(rig.service, rig.server, TFD_STR_EMPTY, NULL), TFD_OK);
}

static inline void rig_close(void)
{
    net_close(&rig.net);
    for (int i = 0; i < rig.held_count; i++)
        if (rig.held[i])
            answer_failure(rig.held[i], TFD_CANCELLED, "the end");
    assert_int_equal(tfd_service_in_flight(rig.service), 0);
    assert_int_equal(rig.net.timer_count, 0);
    tfd_service_free(rig.service);
    close_end(&rig.c);
}

static inline void put_bytes(struct tfd_h2_source *s, size_t n)
{
    struct bytes_body *b = (struct bytes_body *)s;

    tfd_bytes_add(&b->end->out, b->data, n);
    b->data += n;
}

struct request {
    const char *path, *method, *type, *timeout; /* NULL: what is usual */
    const char *encoding;                       /* likewise */
    const char *body;
    size_t size;
    const char *extra; /* value of one more header */
};

#define BODIES_MAX 4000
static struct bytes_body bodies[BODIES_MAX];
static int body_count;

static inline int32_t send_request(const struct request *r)
{
    struct tfd_h2_header h[9] = {
        {TFD_STR(":path"), tfd_str_of(r->path ? r->path : MASTER "RunStep"),
         false},
        {TFD_STR(":authority"), TFD_STR("here:1"), false},
        {TFD_STR(":method"), tfd_str_of(r->method ? r->method : "POST"), false},
        {TFD_STR(":scheme"), TFD_STR("http"), false},
        {TFD_STR("content-type"),
         tfd_str_of(r->type ? r->type : "application/grpc"), false},
        {TFD_STR("te"), TFD_STR("trailers"), false},
    };
    size_t count = 6;
    struct bytes_body *b = &bodies[body_count++ % BODIES_MAX];
    int32_t id = 0;

    *b = (struct bytes_body){
        {.left = r->size, .write = put_bytes}, &rig.c, r->body};
    if (r->timeout)
        h[count++] = (struct tfd_h2_header){TFD_STR("grpc-timeout"),
                                            tfd_str_of(r->timeout), false};
    if (r->encoding)
        h[count++] = (struct tfd_h2_header){TFD_STR("grpc-encoding"),
                                            tfd_str_of(r->encoding), false};
    if (r->extra)
        h[count++] = (struct tfd_h2_header){TFD_STR("x-extra"),
                                            tfd_str_of(r->extra), false};
    assert_int_equal(tfd_h2_request(rig.c.h2, h, count, &b->source,
                                    &stream_ids[1], &id, NULL),
                     TFD_OK);
    flush();
    return id;
}

#define BODY(literal) .body = (literal), .size = sizeof(literal) - 1
#define EMPTY_BODY BODY("\0\0\0\0\0")

static inline bool said(const char *what)
{
    return strstr(log_of(&rig.c), what) != NULL;
}

#endif
