/*
 * test_grpc_client.c - rpc/grpc_client.c: a link whose peer is an HTTP/2
 * session that answers whatever the case says, or our own server.
 */
#include "common/alloc.h"
#include "config/limits.h"
#include "rpc/link.h"
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

/* ---- What the channel would be
 * ------------------------------------------------ */

static enum tfd_code call(uint32_t id, const char *text, uint64_t timeout_us)
{
    struct tfd_message m;

    tfd_message_init(&m, false);
    tfd_bytes_add(&m.proto, text, strlen(text));
    return tfd_grpc_link.call(rig.link, id, TFD_METHOD_RunStep, &m, timeout_us,
                              true, NULL);
}

static void decode(struct ending *e, const struct tfd_incoming *response)
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

static void on_ended(void *ctx, uint32_t id, const struct tfd_status *st,
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

static void on_failed(void *ctx, const struct tfd_status *why, bool other)
{
    (void)ctx;
    rig.failed++;
    rig.why = *why;
    rig.other = other;
}

static const struct tfd_link_events link_events = {on_ended, NULL, on_failed};

/* ---- The far side
 * --------------------------------------------------------------- */

static void flush(void)
{
    tfd_h2_pump(rig.s.h2);
    tfd_conn_write(rig.far, rig.s.out.data, rig.s.out.size);
    tfd_bytes_clear(&rig.s.out);
}

static size_t far_space(void *self, uint8_t **at)
{
    (void)self;
    *at = rig.net.scratch;
    return sizeof(rig.net.scratch);
}

static enum tfd_code far_commit(void *self, size_t n, struct tfd_status *st)
{
    (void)self;
    (void)st;
    (void)!tfd_h2_receive(rig.s.h2, rig.net.scratch, n, rig.net.now_us, NULL);
    flush();
    return TFD_OK;
}

static void far_closed(void *self, const struct tfd_status *why)
{
    (void)self;
    (void)why;
}

static const struct tfd_conn_handler far_handler = {
    .space = far_space, .commit = far_commit, .closed = far_closed};

static void rig_open(bool with_session)
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

static void rig_close(void)
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

static bool heard(const char *what)
{
    return strstr(log_of(&rig.s), what) != NULL;
}

struct bytes_body {
    struct tfd_h2_source source;
    const char *data;
};

static void put_bytes(struct tfd_h2_source *s, size_t n)
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

static size_t split(const char *const *texts, size_t max,
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

static void respond_with(int32_t id, const struct answer *a)
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

/* ---- Calls
 * ------------------------------------------------------------------------ */

static void test_a_request_looks_like_tensorflows(void **state)
{
    (void)state;
    rig_open(true);
    assert_int_equal(call(7, "abc", 5010000), TFD_OK);
    net_run(&rig.net);
    assert_string_equal(log_of(&rig.s),
                        "begin 1\n"
                        "1 :path=/tensorflow.MasterService/RunStep\n"
                        "1 :authority=there:2222\n"
                        "1 :method=POST\n"
                        "1 :scheme=http\n"
                        "1 content-type=application/grpc\n"
                        "1 te=trailers\n"
                        "1 grpc-accept-encoding=identity\n"
                        "1 user-agent=grpc-c-tfd/0.1\n"
                        "1 grpc-timeout=5010000u\n"
                        "1 headers\n"
                        "1 #00\n1 #00\n1 #00\n1 #00\n1 #03\n"
                        "1 a\n1 b\n1 c\n"
                        "1 end\n");
    respond_with(1, &good);
    net_run(&rig.net);
    assert_int_equal(rig.ended[7].count, 1);
    assert_true(tfd_str_is(rig.ended[7].response, "ok"));
    rig_close();
}

static void test_a_response_survives_any_cut(void **state)
{
    (void)state;
    for (size_t chunk = 1; chunk < 50; chunk++) {
        rig_open(true);
        rig.net.chunk = chunk;
        for (uint32_t i = 0; i < 3; i++)
            call(i, "abc", 0);
        net_run(&rig.net);
        for (int32_t id = 5; id > 0; id -= 2)
            respond_with(id, &good);
        net_run(&rig.net);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(rig.ended[i].count, 1);
            assert_true(tfd_str_is(rig.ended[i].response, "ok"));
        }
        rig_close();
    }
}

static void test_endings(void **state)
{
    static const struct {
        struct answer a;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {{.headers = {GRPC, "grpc-status=5",
                      "grpc-message=no%0Ax %25 %C3%A4 %zz"}},
         TFD_NOT_FOUND,
         "no\nx % \xc3\xa4 %zz"},
        {{.headers = {GRPC, "grpc-status=3", "grpc-message=Invalid key: "}},
         TFD_INVALID_ARGUMENT,
         "Invalid key: "},
        {{.headers = {GRPC, "grpc-status=10"}}, TFD_ABORTED, ""},
        {{.headers = {GRPC, "grpc-status=99"}}, TFD_UNKNOWN, ""},
        {{.headers = {GRPC}}, TFD_UNKNOWN, "no grpc-status"},
        {{.headers = {":status=200", "grpc-status=0"}},
         TFD_UNKNOWN,
         "no grpc-status"},
        {{.headers = {":status=503", "content-type=text/html"}},
         TFD_UNAVAILABLE,
         "503"},
        {{.headers = {":status=404"}}, TFD_UNIMPLEMENTED, "404"},
        {{{":status=500"}, {NULL}, BODY("oops")}, TFD_UNKNOWN, "500"},
        {{.headers = {GRPC, "grpc-status=0"}},
         TFD_INTERNAL,
         "ended after 0 of 0"},
        {{{GRPC}, {"grpc-status=0"}, BODY("\0\0\0\0\3ab")},
         TFD_INTERNAL,
         "ended after 2 of 3"},
        {{{GRPC}, {"grpc-status=9", "grpc-message=late"}, BODY("\0\0\0\0\1a")},
         TFD_FAILED_PRECONDITION,
         "late"},
        {{{GRPC}, {"grpc-status=0"}, BODY("\0\0\0\0\1ab")},
         TFD_INTERNAL,
         "more than one message"},
        {{{GRPC}, {"grpc-status=0"}, BODY("\1\0\0\0\1a")},
         TFD_UNIMPLEMENTED,
         "compressed"},
        {{{GRPC}, {"grpc-status=0"}, BODY("\0\xff\0\0\0a")},
         TFD_RESOURCE_EXHAUSTED,
         "4278190080 bytes"},
        {{{GRPC}, {NULL}, BODY("\0\0\0\0\1a")}, TFD_UNKNOWN, "no grpc-status"},
        {{{GRPC},
          {"grpc-status=0", "grpc-status-details-bin=AAAA"},
          BODY("\0\0\0\0\1a")},
         TFD_OK,
         ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rig_open(true);
        call(1, "abc", 0);
        net_run(&rig.net);
        respond_with(1, &cases[i].a);
        net_run(&rig.net);
        assert_int_equal(rig.ended[1].count, 1);
        assert_int_equal(rig.ended[1].st.code, cases[i].code);
        if (!strstr(rig.ended[1].st.text, cases[i].text))
            fail_msg("case %zu: %s", i, rig.ended[1].st.text);
        call(2, "abc", 0); /* the connection goes on */
        net_run(&rig.net);
        respond_with(3, &good);
        net_run(&rig.net);
        assert_int_equal(rig.ended[2].st.code, TFD_OK);
        assert_int_equal(rig.ended[2].count, 1);
        rig_close();
    }
}

static void test_resets_have_codes(void **state)
{
    static const struct {
        uint32_t error;
        enum tfd_code code;
    } cases[] = {
        {TFD_H2_NO_ERROR, TFD_INTERNAL},
        {TFD_H2_REFUSED_STREAM, TFD_UNAVAILABLE},
        {TFD_H2_CANCEL, TFD_CANCELLED},
        {TFD_H2_ENHANCE_YOUR_CALM, TFD_RESOURCE_EXHAUSTED},
        {12345, TFD_INTERNAL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rig_open(true);
        call(1, "abc", 0);
        net_run(&rig.net);
        tfd_h2_reset(rig.s.h2, 1, cases[i].error);
        flush();
        net_run(&rig.net);
        assert_int_equal(rig.ended[1].count, 1);
        assert_int_equal(rig.ended[1].st.code, cases[i].code);
        rig_close();
    }
}

static void test_an_answer_before_the_end_of_a_request(void **state)
{
    static char text[6 << 20];

    (void)state;
    memset(text, 'x', sizeof(text) - 1); /* more than the window */
    rig_open(true);
    rig.s.quiet = true;
    rig.far->stuck = true; /* no window updates */
    call(1, text, 0);
    net_run(&rig.net);
    rig.far->stuck = false;
    respond_with(1, &(struct answer){.headers = {GRPC, "grpc-status=8"}});
    net_run(&rig.net);
    assert_int_equal(rig.ended[1].count, 1);
    assert_int_equal(rig.ended[1].st.code, TFD_RESOURCE_EXHAUSTED);
    assert_int_equal(rig.s.closed, 1);
    rig_close();
}

static void test_a_cancelled_call_is_silent(void **state)
{
    (void)state;
    rig_open(true);
    call(1, "abc", 0);
    net_run(&rig.net);
    tfd_grpc_link.cancel(rig.link, 1);
    tfd_grpc_link.cancel(rig.link, 1);
    tfd_grpc_link.cancel(rig.link, 99);
    net_run(&rig.net);
    assert_true(heard("1 closed 8\n"));
    call(1, "abc", 0); /* the number is free again */
    net_run(&rig.net);
    respond_with(3, &good);
    net_run(&rig.net);
    assert_int_equal(rig.ended[1].count, 1);
    assert_int_equal(rig.failed, 0);
    rig_close();
}

static void test_a_thousand_calls_pend(void **state)
{
    (void)state;
    rig_open(true);
    rig.s.quiet = true;
    for (uint32_t i = 0; i < 1500; i++)
        call(i, "abc", 0);
    net_run(&rig.net);
    assert_int_equal(rig.s.begun, 1500);
    for (uint32_t i = 0; i < 500; i++)
        tfd_grpc_link.cancel(rig.link, i);
    for (int32_t i = 1499; i >= 500; i--)
        respond_with(2 * i + 1, &good);
    net_run(&rig.net);
    for (uint32_t i = 0; i < 1500; i++)
        assert_int_equal(rig.ended[i].count, i >= 500);
    assert_int_equal(rig.s.closed, 1500);
    rig_close();
}

/* ---- What the channel does from inside
 * -------------------------------------------- */

static void test_ended_may_call_cancel_and_close(void **state)
{
    (void)state;
    rig_open(true);
    rig.then_call = 3;
    rig.then_cancel = 2;
    call(1, "abc", 0);
    call(2, "abc", 0);
    net_run(&rig.net);
    respond_with(1, &good);
    net_run(&rig.net);
    assert_true(heard("3 closed 8\n"));
    assert_true(heard("5 end\n"));
    rig.then_close = true;
    respond_with(5, &good);
    net_run(&rig.net);
    assert_int_equal(rig.ended[3].count, 1);
    assert_int_equal(rig.ended[2].count, 0);
    assert_int_equal(rig.failed, 0);
    assert_true(rig.conn->closed);
    rig_close();
}

/* ---- Peers that fall silent -----------------------------------------------
 */

#define SECOND UINT64_C(1000000)
#define HEALTH "/grpc.health.v1.Health/Check"

static const struct tfd_heartbeat_options heartbeat = {2 * SECOND, 8 * SECOND};

static void test_a_silent_peer_fails_the_link(void **state)
{
    (void)state;
    rig_open(true);
    tfd_grpc_link.watch(rig.link, &heartbeat);
    call(1, "abc", 0);
    net_run(&rig.net);
    rig.far->paused = true;
    net_advance(&rig.net, 7 * SECOND);
    assert_int_equal(rig.failed, 0);
    net_advance(&rig.net, 3 * SECOND);
    assert_int_equal(rig.failed, 1);
    assert_int_equal(rig.conn->broken.code, TFD_UNAVAILABLE);
    assert_non_null(strstr(rig.conn->broken.text, "no sign of life"));
    rig_close();
}

static void test_a_silent_peer_does_not_matter_without_calls(void **state)
{
    (void)state;
    rig_open(true);
    tfd_grpc_link.watch(rig.link, &heartbeat);
    call(1, "abc", 0);
    net_run(&rig.net);
    respond_with(1, &good);
    net_run(&rig.net);
    assert_int_equal(rig.ended[1].count, 1);
    rig.far->paused = true;
    net_advance(&rig.net, 3600 * SECOND);
    assert_int_equal(rig.failed, 0);
    rig_close();
}

/* A real server hangs up at the fifth PING between two of its messages, so
 * every third question is a call; as long as those are answered all is well. */
static void test_a_long_call_is_not_asked_about_too_often(void **state)
{
    static const struct answer no = {.headers = {GRPC, "grpc-status=12"}};
    int32_t next = 3;
    int calls = 0;

    (void)state;
    rig_open(true);
    tfd_grpc_link.watch(rig.link, &heartbeat);
    call(1, "abc", 0);
    net_run(&rig.net);
    for (int second = 0; second < 60; second++) {
        net_advance(&rig.net, SECOND);
        if (!heard(HEALTH))
            continue;
        calls++;
        tfd_bytes_clear(&rig.s.log);
        respond_with(next, &no);
        next += 2;
        net_run(&rig.net);
    }
    assert_int_equal(rig.failed, 0);
    assert_in_range(calls, 5, 12);
    assert_int_equal(rig.ended[1].count, 0);
    respond_with(1, &good);
    net_run(&rig.net);
    assert_int_equal(rig.ended[1].count, 1);
    rig_close();
}

static void test_close_is_silent(void **state)
{
    (void)state;
    rig_open(true);
    call(1, "abc", 0);
    net_run(&rig.net);
    rig.then_close = true; /* rig_close() must not close again */
    tfd_grpc_link.close(rig.link);
    net_run(&rig.net);
    assert_int_equal(rig.ended[1].count, 0);
    assert_int_equal(rig.failed, 0);
    rig_close();
}

/* ---- Ends of the connection
 * -------------------------------------------------------- */

static void test_the_end_of_the_connection_fails_the_link(void **state)
{
    (void)state;
    rig_open(true);
    call(1, "abc", 0);
    net_run(&rig.net);
    tfd_conn_close(rig.far, 0);
    net_run(&rig.net);
    assert_int_equal(rig.failed, 1);
    assert_int_equal(rig.why.code, TFD_UNAVAILABLE);
    assert_string_equal(rig.why.text, "Socket closed");
    assert_false(rig.other);
    assert_int_equal(rig.ended[1].count, 0);
    rig_close();
}

static void test_a_peer_without_http2_is_named(void **state)
{
    static const char *const words[] = {
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
        "TFD1\3\0\0\0\0\0\0\0\0\0\0\0",
        "\x15\x03\x01\x00\x02\x02\x16 and more",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(words); i++) {
        rig_open(false);
        call(1, "abc", 0);
        tfd_conn_write(rig.far, words[i], 16);
        net_run(&rig.net);
        assert_int_equal(rig.failed, 1);
        assert_true(rig.other);
        assert_string_equal(rig.why.text, "there:2222 does not speak HTTP/2");
        rig_close();
    }
}

static void test_goaway_lets_calls_finish_then_fails_the_link(void **state)
{
    uint8_t goaway[8] = {0, 0, 0, 1};

    (void)state;
    rig_open(true);
    call(1, "abc", 0);
    call(2, "abc", 0);
    net_run(&rig.net);
    put_frame(&rig.s.out, F_GOAWAY, FLAG_NONE, 0, goaway, sizeof(goaway));
    flush();
    net_run(&rig.net);
    assert_int_equal(rig.ended[2].st.code, TFD_UNAVAILABLE);
    assert_int_equal(rig.ended[1].count, 0);
    assert_int_equal(call(3, "abc", 0), TFD_UNAVAILABLE);
    assert_int_equal(rig.failed, 0);
    respond_with(1, &good);
    net_run(&rig.net);
    assert_int_equal(rig.ended[1].st.code, TFD_OK);
    assert_int_equal(rig.failed, 1);
    assert_int_equal(rig.why.code, TFD_UNAVAILABLE);
    rig_close();
}

static void test_a_call_without_an_answer_is_refused(void **state)
{
    struct tfd_message m;

    (void)state;
    rig_open(true);
    tfd_message_init(&m, false);
    tfd_bytes_add(&m.proto, "abc", 3);
    assert_int_equal(tfd_grpc_link.call(rig.link, 1, TFD_METHOD_PushTensors, &m,
                                        0, false, NULL),
                     TFD_UNAVAILABLE);
    assert_null(m.proto.data);
    rig_close();
}

/* ---- Against our own server
 * ---------------------------------------------------------- */

static struct tfd_tensor make_tensor(int64_t floats)
{
    struct tfd_shape shape;
    struct tfd_tensor t;
    float *data;

    assert_int_equal(tfd_shape_make(&shape, &floats, 1, NULL), TFD_OK);
    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &shape, NULL), TFD_OK);
    data = tfd_tensor_data(&t);
    for (int64_t i = 0; i < floats; i++)
        data[i] = (float)i;
    return t;
}

/* Decodes the request's tensor and sends it back, in field 1. */
static void tensor_echo(void *self, struct tfd_call *c)
{
    struct ending *e = self;
    struct tfd_message m;
    struct tfd_tensor t;

    decode(e, &c->in);
    t = tfd_tensor_ref(&e->tensor);
    tfd_tensor_unref(&e->tensor);
    tfd_message_init(&m, c->native);
    tfd_message_put_tensor(&m, 1, &t, NULL);
    tfd_tensor_unref(&t);
    tfd_call_respond(c, &m);
}

static void send_tensor(int64_t floats)
{
    struct tfd_tensor t = make_tensor(floats);
    struct tfd_message m;

    tfd_message_init(&m, false);
    tfd_message_put_tensor(&m, 1, &t, NULL);
    tfd_tensor_unref(&t);
    assert_int_equal(
        tfd_grpc_link.call(rig.link, 1, TFD_METHOD_RunStep, &m, 0, true, NULL),
        TFD_OK);
    net_run(&rig.net);
}

static void check_tensor(const struct tfd_tensor *t, int64_t floats)
{
    const float *data = tfd_tensor_data(t);

    assert_int_equal(tfd_tensor_elements(t), floats);
    for (int64_t i = 0; i < floats; i++)
        if (data[i] != (float)i)
            fail_msg("element %lld", (long long)i);
}

static void test_tensors_arrive_where_they_are_used(void **state)
{
    static const int64_t sizes[] = {1, 100, 5000, 100000, 3000000};

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct tfd_service *service;
        struct ending at_server = {0};
        bool large = sizes[i] >= 100000;

        rig_open(false);
        rig.decode = true;
        service = tfd_service_new(&rig.net, NULL);
        tfd_service_bind(service, TFD_METHOD_RunStep, tensor_echo, &at_server);
        assert_int_equal(tfd_grpc_serve(service, rig.far, TFD_STR_EMPTY, NULL),
                         TFD_OK);
        send_tensor(sizes[i]);
        assert_int_equal(rig.ended[1].st.code, TFD_OK);
        check_tensor(&rig.ended[1].tensor, sizes[i]);
        if (large) {
            assert_true(at_server.in_place);
            assert_true(rig.ended[1].in_place);
            assert_int_equal((uintptr_t)tfd_tensor_data(&rig.ended[1].tensor) %
                                 TFD_BUFFER_ALIGN,
                             0);
        }
        rig_close();
        tfd_service_free(service);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_looks_like_tensorflows),
        cmocka_unit_test(test_a_response_survives_any_cut),
        cmocka_unit_test(test_endings),
        cmocka_unit_test(test_resets_have_codes),
        cmocka_unit_test(test_an_answer_before_the_end_of_a_request),
        cmocka_unit_test(test_a_cancelled_call_is_silent),
        cmocka_unit_test(test_a_thousand_calls_pend),
        cmocka_unit_test(test_ended_may_call_cancel_and_close),
        cmocka_unit_test(test_a_silent_peer_fails_the_link),
        cmocka_unit_test(test_a_silent_peer_does_not_matter_without_calls),
        cmocka_unit_test(test_a_long_call_is_not_asked_about_too_often),
        cmocka_unit_test(test_close_is_silent),
        cmocka_unit_test(test_the_end_of_the_connection_fails_the_link),
        cmocka_unit_test(test_a_peer_without_http2_is_named),
        cmocka_unit_test(test_goaway_lets_calls_finish_then_fails_the_link),
        cmocka_unit_test(test_a_call_without_an_answer_is_refused),
        cmocka_unit_test(test_tensors_arrive_where_they_are_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
