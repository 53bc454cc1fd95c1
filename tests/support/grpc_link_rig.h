/*
 * grpc_link_rig.h - a gRPC link whose peer is an HTTP/2 session that answers
 * whatever the test says, for tests of rpc/grpc/grpc_client.c.
 */
#ifndef TFD_TESTS_SUPPORT_GRPC_LINK_RIG_H
#define TFD_TESTS_SUPPORT_GRPC_LINK_RIG_H

#include "common/base/alloc.h"
#include "rpc/core/link.h"
#include "tests/support/fake_net.h"
#include "tests/support/h2_end.h"

#define CALLS_MAX 2000

struct ending {
    int count; /* of ended() */
    struct tfd_status st;
    struct tfd_str response; /* copied */
    struct tfd_tensor tensor;
    bool in_place;
};

static struct rig {
    struct tfd_loop net;
    struct tfd_conn *conn;
    struct tfd_conn *far;
    struct tfd_link *link;
    struct end s;
    struct ending ended[CALLS_MAX];
    int failed;
    bool other;
    struct tfd_status why;
    bool decode;        /* responses are TensorProtos in field 1 */
    uint32_t then_call; /* from inside ended() */
    uint32_t then_cancel;
    bool then_close;
} rig;

/* ---- What the channel would be ------------------------------------------- */

static inline enum tfd_code call(uint32_t id, const char *text,
                                 uint64_t timeout_us)
{
    struct tfd_message m;

    tfd_message_init(&m, false);
    tfd_bytes_add(&m.proto, text, strlen(text));
    return tfd_grpc_link.call(rig.link, id, TFD_METHOD_RunStep, &m, timeout_us,
                              true, NULL);
}

static inline void decode(struct ending *e, const struct tfd_incoming *response)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(response->proto);
    struct tfd_pb_field f;
    const char *begin, *at;

    assert_true(tfd_pb_next(&r, &f));
    assert_int_equal(
        tfd_tensor_decode(response, f.bytes, NULL, &e->tensor, NULL), TFD_OK);
    begin = response->body->data;
    at = tfd_tensor_data(&e->tensor);
    e->in_place = at >= begin && at < begin + response->body->size;
}

static inline void on_ended(void *ctx, uint32_t id, const struct tfd_status *st,
                            const struct tfd_incoming *response)
{
    struct ending *e = &rig.ended[id];
    uint32_t then = rig.then_call;

    (void)ctx;
    assert_true((st->code == TFD_OK) == (response != NULL));
    e->count++;
    e->st = *st;
    if (response && rig.decode)
        decode(e, response);
    if (response) {
        char *copy = malloc(response->proto.size + 1);

        memcpy(copy, response->proto.data, response->proto.size);
        e->response = (struct tfd_str){copy, response->proto.size};
    }
    rig.then_call = 0;
    if (then)
        assert_int_equal(call(then, "again", 0), TFD_OK);
    if (rig.then_cancel)
        tfd_grpc_link.cancel(rig.link, rig.then_cancel);
    if (rig.then_close)
        tfd_grpc_link.close(rig.link);
}

static inline void on_failed(void *ctx, const struct tfd_status *why,
                             enum tfd_link_heard heard)
{
    (void)ctx;
    rig.failed++;
    rig.why = *why;
    rig.other = heard == TFD_LINK_HEARD_OTHER;
}

static const struct tfd_link_events link_events = {on_ended, NULL, on_failed};

/* ---- The far side -------------------------------------------------------- */

static inline void flush(void)
{
    tfd_h2_pump(rig.s.h2);
    tfd_conn_write(rig.far, rig.s.out.data, rig.s.out.size);
    tfd_bytes_clear(&rig.s.out);
}

static inline size_t far_space(void *self, uint8_t **at)
{
    (void)self;
    *at = rig.net.scratch;
    return sizeof(rig.net.scratch);
}

static inline enum tfd_code far_commit(void *self, size_t n,
                                       struct tfd_status *st)
{
    (void)self;
    (void)st;
    (void)!tfd_h2_receive(rig.s.h2, rig.net.scratch, n, rig.net.now_us, NULL);
    flush();
    return TFD_OK;
}

static inline void far_closed(void *self, const struct tfd_status *why)
{
    (void)self;
    (void)why;
}

static const struct tfd_conn_handler far_handler = {
    .space = far_space, .commit = far_commit, .closed = far_closed};

static inline void rig_open(bool with_session)
{
    memset(&rig, 0, sizeof(rig));
    net_open(&rig.net);
    net_pair(&rig.net, &rig.conn, &rig.far);
    if (with_session) {
        open_end(&rig.s, TFD_H2_SERVER);
        tfd_conn_handle(rig.far, &far_handler, NULL);
        flush();
    }
    assert_int_equal(tfd_grpc_link.open(rig.conn, "there:2222", NULL,
                                        &link_events, NULL, &rig.link, NULL),
                     TFD_OK);
}

static inline void rig_close(void)
{
    if (!rig.failed && !rig.then_close)
        tfd_grpc_link.close(rig.link);
    net_close(&rig.net);
    if (rig.s.h2)
        close_end(&rig.s);
    for (size_t i = 0; i < CALLS_MAX; i++) {
        tfd_tensor_unref(&rig.ended[i].tensor);
        free((char *)(uintptr_t)rig.ended[i].response.data);
    }
}

static inline bool heard(const char *what)
{
    return strstr(log_of(&rig.s), what) != NULL;
}

struct bytes_body {
    struct tfd_h2_source source;
    const char *data;
};

static inline void put_bytes(struct tfd_h2_source *s, size_t n)
{
    struct bytes_body *b = (struct bytes_body *)s;

    tfd_bytes_add(&rig.s.out, b->data, n);
    b->data += n;
}

/* Headers as "name=value" texts. */
struct answer {
    const char *headers[4];
    const char *trailers[3];
    const char *body;
    size_t size;
};

static inline size_t split(const char *const *texts, size_t max,
                           struct tfd_h2_header *out)
{
    size_t n = 0;

    for (; n < max && texts[n]; n++) {
        const char *eq = strchr(texts[n] + 1, '=');

        out[n] = (struct tfd_h2_header){
            {texts[n], (size_t)(eq - texts[n])}, tfd_str_of(eq + 1), false};
    }
    return n;
}

static struct bytes_body bodies[CALLS_MAX];
static struct tfd_h2_header trailers[CALLS_MAX][3];

static inline void respond_with(int32_t id, const struct answer *a)
{
    struct bytes_body *b = &bodies[id / 2];
    struct tfd_h2_header h[4];
    size_t count = split(a->headers, 4, h);

    *b = (struct bytes_body){{.left = a->size, .write = put_bytes}, a->body};
    b->source.trailers = trailers[id / 2];
    b->source.trailer_count = split(a->trailers, 3, trailers[id / 2]);
    assert_int_equal(tfd_h2_respond(rig.s.h2, id, h, count,
                                    a->body ? &b->source : NULL, NULL),
                     TFD_OK);
    flush();
}

#define BODY(literal) .body = (literal), .size = sizeof(literal) - 1
#define GRPC ":status=200", "content-type=application/grpc"

static const struct answer good = {
    {GRPC}, {"grpc-status=0"}, BODY("\0\0\0\0\2ok")};

#endif
