/*
 * test_grpc.c - rpc/grpc.c: a server on a connection in memory, called by an
 * HTTP/2 client session that also does what gRPC clients do not.
 */
#include "common/alloc.h"
#include "config/limits.h"
#include "rpc/health.h"
#include "rpc/link.h"
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

/* ---- Handlers ---------------------------------------------------------------
 */

static void echo(void *self, struct tfd_call *call)
{
    struct tfd_message m;

    (void)self;
    tfd_message_init(&m, call->native);
    tfd_bytes_add_str(&m.proto, call->in.proto);
    tfd_call_respond(call, &m);
}

static void answer_failure(struct tfd_call *call, enum tfd_code code,
                           const char *text)
{
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, code, "%s", text);
    tfd_call_fail(call, &st);
}

static void refuse(void *self, struct tfd_call *call)
{
    (void)self;
    answer_failure(call, TFD_NOT_FOUND, "no such thing:\n\t100% \xc3\xa4");
}

static bool all_compute(void *ctx)
{
    (void)ctx;
    return true;
}

static void on_cancelled(void *ctx, struct tfd_call *call)
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

static void hold(void *self, struct tfd_call *call)
{
    (void)self;
    assert_true(rig.held_count < HELD_MAX);
    call->cancelled = on_cancelled;
    rig.held[rig.held_count++] = call;
}

static void answer_held(int i)
{
    struct tfd_message m;

    tfd_message_init(&m, false);
    tfd_bytes_printf(&m.proto, "%d", i);
    tfd_call_respond(rig.held[i], &m);
    rig.held[i] = NULL;
}

/* ---- The rig
 * ------------------------------------------------------------------ */

static void flush(void)
{
    tfd_h2_pump(rig.c.h2);
    tfd_conn_write(rig.client, rig.c.out.data, rig.c.out.size);
    tfd_bytes_clear(&rig.c.out);
}

static size_t client_space(void *self, uint8_t **at)
{
    (void)self;
    *at = rig.net.scratch;
    return sizeof(rig.net.scratch);
}

static enum tfd_code client_commit(void *self, size_t n, struct tfd_status *st)
{
    (void)self;
    (void)st;
    (void)!tfd_h2_receive(rig.c.h2, rig.net.scratch, n, rig.net.now_us, NULL);
    flush();
    return TFD_OK;
}

static void client_closed(void *self, const struct tfd_status *why)
{
    (void)self;
    (void)why;
}

static const struct tfd_conn_handler client_handler = {
    .space = client_space, .commit = client_commit, .closed = client_closed};

static void rig_open(void)
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

static void rig_close(void)
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

static void put_bytes(struct tfd_h2_source *s, size_t n)
{
    struct bytes_body *b = (struct bytes_body *)s;

    tfd_bytes_add(&b->end->out, b->data, n);
    b->data += n;
}

struct request {
    const char *path, *method, *type, *timeout; /* NULL: what is usual */
    const char *body;
    size_t size;
    const char *extra; /* value of one more header */
};

#define BODIES_MAX 4000
static struct bytes_body bodies[BODIES_MAX];
static int body_count;

static int32_t send_request(const struct request *r)
{
    struct tfd_h2_header h[8] = {
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

static bool said(const char *what)
{
    return strstr(log_of(&rig.c), what) != NULL;
}

/* ---- Calls that work
 * ------------------------------------------------------------ */

static void test_a_call_is_answered(void **state)
{
    (void)state;
    rig_open();
    send_request(&(struct request){BODY("\0\0\0\0\3abc")});
    net_run(&rig.net);
    assert_string_equal(log_of(&rig.c), "1 :status=200\n"
                                        "1 content-type=application/grpc\n"
                                        "1 grpc-accept-encoding=identity\n"
                                        "1 headers\n"
                                        "1 #00\n1 #00\n1 #00\n1 #00\n1 #03\n"
                                        "1 a\n1 b\n1 c\n"
                                        "1 grpc-status=0\n"
                                        "1 headers\n"
                                        "1 end\n"
                                        "1 closed 0\n");
    rig_close();
}

static void test_answers_are_the_same_however_they_are_cut(void **state)
{
    size_t whole = 0;

    (void)state;
    for (size_t chunk = 0; chunk < 40; chunk++) {
        rig_open();
        rig.net.chunk = chunk;
        for (int i = 0; i < 3; i++)
            send_request(&(struct request){BODY("\0\0\0\0\3abc")});
        send_request(&(struct request){EMPTY_BODY});
        net_run(&rig.net);
        assert_int_equal(rig.c.data, 3 * 8 + 5);
        assert_int_equal(rig.c.ended, 4);
        assert_int_equal(rig.c.closed, 4);
        if (chunk == 0)
            whole = rig.server->written;
        assert_true(chunk == 0 || rig.server->written >= whole);
        rig_close();
    }
}

static void test_large_messages_keep_their_bytes(void **state)
{
    enum { SIZE = 3 << 20 };
    static char wire[SIZE + 5] = {0, 0, 0x30, 0, 0};

    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        wire[5 + i] = (char)(i * 7);
    for (size_t chunk = 0; chunk < 60000; chunk = chunk * 7 + 999) {
        rig_open();
        rig.net.chunk = chunk;
        rig.c.quiet = true;
        send_request(&(struct request){.body = wire, .size = sizeof(wire)});
        send_request(&(struct request){.body = wire, .size = sizeof(wire)});
        net_run(&rig.net);
        assert_int_equal(rig.c.data, 2 * sizeof(wire));
        assert_int_equal(rig.c.closed, 2);
        rig_close();
    }
}

/* The end of a frame brings the head of the next one; the message may be over
 * by then, in all three ways. */
static void test_large_messages_that_are_too_short_or_too_long(void **state)
{
    enum { SIZE = 3 << 20 };
    static char wire[SIZE + 5 + (1 << 20)] = {0, 0, 0x30, 0, 0};
    static const struct {
        size_t size;
        const char *answer;
    } cases[] = {
        {5 + (2 << 20) + 77777, "of 3145728 bytes"},
        {5 + SIZE - 1, "ended after 3145727 of 3145728 bytes"},
        {5 + SIZE + 1, "more than one message"},
        {sizeof(wire), "more than one message"},
    };

    (void)state;
    tfd_alloc_cache_limit(0); /* what is read after it was freed shows */
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t chunk = 0; chunk < 900000; chunk = chunk * 7 + 99999) {
            rig_open();
            rig.net.chunk = chunk;
            send_request(
                &(struct request){.body = wire, .size = cases[i].size});
            send_request(&(struct request){EMPTY_BODY});
            net_run(&rig.net);
            assert_true(said(cases[i].answer));
            assert_int_equal(rig.c.closed, 2);
            assert_true(said("grpc-status=0\n"));
            rig_close();
        }
    tfd_alloc_cache_limit((size_t)1 << 30);
}

static void test_a_thousand_calls_wait_and_are_answered(void **state)
{
    (void)state;
    rig_open();
    for (int i = 0; i < 1000; i++)
        send_request(&(struct request){.path = MASTER "Reset", EMPTY_BODY});
    net_run(&rig.net);
    assert_int_equal(rig.held_count, 1000);
    send_request(&(struct request){EMPTY_BODY}); /* others still get through */
    net_run(&rig.net);
    assert_int_equal(rig.c.closed, 1);
    for (int i = 999; i >= 0; i--)
        answer_held(i);
    net_run(&rig.net);
    assert_int_equal(rig.c.closed, 1001);
    rig_close();
}

static void test_answers_wait_for_a_slow_reader(void **state)
{
    static char wire[64 * 1024 + 5] = {0, 0, 1, 0, 0};
    size_t queued;

    (void)state;
    rig_open();
    rig.c.quiet = true;
    net_run(&rig.net);
    rig.server->stuck = true;
    for (int i = 0; i < 500; i++)
        send_request(&(struct request){.body = wire, .size = sizeof(wire)});
    net_run(&rig.net);
    queued = tfd_conn_queued(rig.server);
    assert_true(queued < TFD_CONN_HIGH + (1 << 20));
    rig.server->stuck = false;
    net_run(&rig.net);
    assert_int_equal(rig.c.data, 500 * sizeof(wire));
    assert_int_equal(rig.c.closed, 500);
    rig_close();
}

/* ---- Calls that are refused
 * ------------------------------------------------------- */

static void test_refused_requests(void **state)
{
    static const struct {
        struct request r;
        const char *answer;
    } cases[] = {
        {{.path = MASTER "CloseSession", EMPTY_BODY},
         "grpc-message=no such thing:%0A%09100%25 %C3%A4\n"},
        {{.path = MASTER "CloseSession", EMPTY_BODY}, "grpc-status=5\n"},
        {{.path = MASTER "Nope", EMPTY_BODY},
         "grpc-message=" MASTER "Nope is unimplemented"},
        {{.path = MASTER "Nope", EMPTY_BODY}, "grpc-status=12\n"},
        {{.path = MASTER "ExtendSession", EMPTY_BODY},
         "grpc-message=" MASTER "ExtendSession is not implemented"},
        {{.path = "/", EMPTY_BODY}, "grpc-status=12\n"},
        {{.path = "/tensorflow.eager.EagerService/KeepAlive", EMPTY_BODY},
         "grpc-status=12\n"},
        {{.method = "GET", EMPTY_BODY}, ":status=405\n"},
        {{.method = "PUT", EMPTY_BODY}, ":status=405\n"},
        {{.type = "text/plain", EMPTY_BODY}, ":status=415\n"},
        {{.type = "application/json", EMPTY_BODY}, ":status=415\n"},
        {{.timeout = "5", EMPTY_BODY}, "grpc-status=13\n"},
        {{.timeout = "S5", EMPTY_BODY}, "grpc-status=13\n"},
        {{.timeout = "0u", EMPTY_BODY}, "grpc-status=0\n"}, /* in time */
        {{BODY("\1\0\0\0\3abc")}, "grpc-status=12\n"},      /* compressed */
        {{BODY("\2\0\0\0\3abc")}, "grpc-status=13\n"},
        {{BODY("\0\x80\0\0\0ab")}, "grpc-status=8\n"}, /* 2 GiB */
        {{BODY("\0\x80\0\0\1ab")},
         "gRPC message of 2147483649 bytes; the limit is 2147483647"},
        {{BODY("\0\xff\xff\xff\xff")}, "grpc-status=8\n"},
        {{BODY("\0\0\0\0\3ab")}, "ended after 2 of 3 bytes"},
        {{BODY("\0\0\0\0")}, "grpc-status=13\n"},
        {{BODY("\0")}, "grpc-status=13\n"},
        {{BODY("\0\0\0\0\1a\0\0\0\0\0")}, "more than one message"},
        {{BODY("\0\0\0\0\0\0")}, "more than one message"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rig_open();
        send_request(&cases[i].r);
        net_run(&rig.net);
        if (!said(cases[i].answer))
            fail_msg("case %zu: no %s in\n%s", i, cases[i].answer,
                     log_of(&rig.c));
        assert_int_equal(rig.c.closed, 1);
        send_request(&(struct request){EMPTY_BODY}); /* others go on */
        net_run(&rig.net);
        assert_int_equal(rig.c.closed, 2);
        rig_close();
    }
}

static void test_a_claimed_size_is_not_believed(void **state)
{
    struct tfd_alloc_stats before, after;

    (void)state;
    rig_open();
    net_run(&rig.net);
    tfd_alloc_stats(&before);
    rig.server->stuck = true;
    send_request(&(struct request){BODY("\0\x7f\xff\xff\xff"
                                        "abc")});
    rig.client->out.size -= 3; /* not even the first byte of it */
    net_run(&rig.net);
    tfd_alloc_stats(&after);
    assert_int_equal(after.in_use, before.in_use);
    tfd_conn_write(rig.client, "abc", 3);
    net_run(&rig.net);
    tfd_alloc_stats(&after);
    assert_true(after.in_use - before.in_use < 4 << 20);
    rig.server->stuck = false;
    net_run(&rig.net);
    assert_true(said("ended after 3 of 2147483647 bytes"));
    rig_close();
}

static void test_too_many_headers_are_refused(void **state)
{
    static char value[TFD_HEADER_LIST_SIZE_MAX + 1];

    (void)state;
    memset(value, 'v', TFD_HEADER_LIST_SIZE_MAX);
    rig_open();
    send_request(&(struct request){.extra = value, EMPTY_BODY});
    net_run(&rig.net);
    assert_true(said("grpc-status=8\n"));
    value[TFD_HEADER_LIST_SIZE_MAX - 500] = '\0';
    send_request(&(struct request){.extra = value, EMPTY_BODY});
    net_run(&rig.net);
    assert_true(said("grpc-status=0\n"));
    rig_close();
}

/* ---- Deadlines, cancellation, ends
 * ------------------------------------------------- */

static void test_a_deadline_cancels_and_answers(void **state)
{
    (void)state;
    rig_open();
    send_request(
        &(struct request){.path = MASTER "Reset", .timeout = "5S", EMPTY_BODY});
    net_run(&rig.net);
    assert_int_equal(rig.held_count, 1);
    assert_int_equal(rig.held[0]->deadline_us, rig.net.now_us + 5000000);
    net_advance(&rig.net, 4999999);
    assert_int_equal(rig.cancelled, 0);
    net_advance(&rig.net, 1);
    assert_int_equal(rig.cancelled, 1);
    assert_true(said("grpc-status=4\n"));
    assert_int_equal(rig.c.closed, 1);
    answer_held(0); /* nobody hears it */
    net_run(&rig.net);
    assert_false(said("grpc-status=0\n"));
    rig_close();
}

static void test_a_handler_may_answer_when_its_deadline_passes(void **state)
{
    (void)state;
    rig_open();
    rig.answer_in_cancel = true;
    send_request(&(struct request){
        .path = MASTER "Reset", .timeout = "10m", EMPTY_BODY});
    net_run(&rig.net);
    net_advance(&rig.net, 10000);
    assert_true(said("grpc-status=4\n"));
    assert_int_equal(rig.c.closed, 1);
    rig_close();
}

static void test_an_answer_in_time_stops_the_deadline(void **state)
{
    (void)state;
    rig_open();
    send_request(
        &(struct request){.path = MASTER "Reset", .timeout = "5S", EMPTY_BODY});
    net_run(&rig.net);
    answer_held(0);
    net_run(&rig.net);
    assert_int_equal(rig.net.timer_count, 1); /* of an idle connection */
    assert_true(said("grpc-status=0\n"));
    rig_close();
}

static void test_a_deadline_passes_while_the_request_arrives(void **state)
{
    (void)state;
    rig_open();
    rig.server->stuck = true; /* or its SETTINGS are answered */
    send_request(&(struct request){.timeout = "1S", BODY("\0\0\0\0\3abc")});
    rig.client->out.size -= 2; /* cut off the last bytes */
    net_run(&rig.net);
    net_advance(&rig.net, 1000000);
    rig.server->stuck = false;
    net_run(&rig.net);
    assert_true(said("grpc-status=4\n"));
    rig_close();
}

static void test_a_reset_cancels(void **state)
{
    int32_t id;

    (void)state;
    for (int answer = 0; answer < 2; answer++) {
        rig_open();
        rig.answer_in_cancel = answer;
        id =
            send_request(&(struct request){.path = MASTER "Reset", EMPTY_BODY});
        net_run(&rig.net);
        tfd_h2_reset(rig.c.h2, id, TFD_H2_CANCEL);
        flush();
        net_run(&rig.net);
        assert_int_equal(rig.cancelled, 1);
        assert_int_equal(tfd_service_in_flight(rig.service), !answer);
        if (!answer)
            answer_held(0);
        assert_int_equal(tfd_service_in_flight(rig.service), 0);
        rig_close();
    }
}

static void test_a_reset_before_the_end_of_a_request(void **state)
{
    struct tfd_bytes b;

    (void)state;
    rig_open();
    tfd_bytes_init(&b, 1 << 20);
    put_magic(&b);
    put_request(&b, 1, FLAG_NONE, MASTER "Reset");
    put_frame(&b, F_DATA, FLAG_NONE, 1, "\0\0\1\0\0abc", 8);
    put_frame_u32(&b, F_RST_STREAM, 1, TFD_H2_CANCEL);
    rig.server->to = NULL; /* our session has not sent this */
    tfd_conn_write(rig.client, b.data, b.size);
    net_run(&rig.net);
    assert_int_equal(rig.held_count, 0);
    rig_close();
    tfd_bytes_deinit(&b);
}

static void test_the_end_of_the_connection_cancels_all(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        rig_open();
        rig.answer_in_cancel = how & 1;
        rig.answer_next_in_cancel = how & 2;
        for (int i = 0; i < 10; i++)
            send_request(&(struct request){
                .path = MASTER "Reset", .timeout = "5S", EMPTY_BODY});
        net_run(&rig.net);
        assert_int_equal(rig.held_count, 10);
        tfd_conn_close(rig.client, 0);
        net_run(&rig.net);
        assert_int_equal(rig.cancelled, how & 2 ? 9 : 10);
        for (int i = 0; i < 10; i++)
            if (rig.held[i])
                answer_held(i);
        assert_int_equal(tfd_service_in_flight(rig.service), 0);
        rig_close();
    }
}

static void test_one_cancelled_call_may_answer_another(void **state)
{
    int32_t id;

    (void)state;
    rig_open();
    rig.answer_next_in_cancel = true;
    id = send_request(&(struct request){.path = MASTER "Reset", EMPTY_BODY});
    send_request(&(struct request){.path = MASTER "Reset", EMPTY_BODY});
    net_run(&rig.net);
    tfd_h2_reset(rig.c.h2, id, TFD_H2_CANCEL);
    flush();
    net_run(&rig.net);
    assert_true(said("grpc-status=10\n"));
    assert_int_equal(rig.c.closed, 2);
    rig_close();
}

/* ---- Peers that are slow, or no peers
 * ---------------------------------------------- */

static void test_a_silent_peer_is_dropped(void **state)
{
    (void)state;
    rig_open();
    net_advance(&rig.net, TFD_HANDSHAKE_MS * 1000 - 1);
    assert_false(rig.server->closed);
    rig_close();
    rig_open();
    rig.client->stuck = true;
    /* The first bytes decide when the wait begins. */
    assert_int_equal(rig.net.timer_count, 2);
    net_advance(&rig.net, TFD_HANDSHAKE_MS * 1000);
    assert_true(rig.server->closed);
    rig_close();
}

static void test_a_slow_head_is_dropped(void **state)
{
    struct tfd_bytes b;

    (void)state;
    rig_open();
    tfd_bytes_init(&b, 1 << 20);
    put_magic(&b);
    put_request(&b, 1, FLAG_NONE, MASTER "Reset");
    rig.server->to = NULL; /* our session has not sent this */
    tfd_conn_write(rig.client, b.data, b.size - 5);
    net_run(&rig.net);
    net_advance(&rig.net, TFD_HANDSHAKE_MS * 1000 - 1);
    assert_false(rig.server->closed);
    net_advance(&rig.net, 1);
    assert_true(rig.server->closed);
    rig_close();
    tfd_bytes_deinit(&b);
}

#define IDLE_US (TFD_CONNECTION_IDLE_MS * UINT64_C(1000))

static void test_an_idle_connection_is_ended(void **state)
{
    (void)state;
    rig_open();
    send_request(&(struct request){EMPTY_BODY});
    net_run(&rig.net);
    net_advance(&rig.net, IDLE_US); /* something had come */
    assert_false(rig.server->closed);
    net_advance(&rig.net, IDLE_US);
    assert_true(rig.server->closed);
    rig_close();
}

static void test_a_connection_is_not_idle_while_a_call_is_open(void **state)
{
    (void)state;
    rig_open();
    send_request(&(struct request){.path = MASTER "Reset", EMPTY_BODY});
    net_run(&rig.net);
    net_advance(&rig.net, 10 * IDLE_US);
    assert_false(rig.server->closed);
    answer_held(0);
    net_run(&rig.net);
    net_advance(&rig.net, 2 * IDLE_US);
    assert_true(rig.server->closed);
    rig_close();
}

static void
test_a_connection_is_not_idle_while_something_is_kept_for_it(void **state)
{
    struct tfd_links *links;
    uint64_t link;

    (void)state;
    rig_open();
    links = tfd_service_links(rig.service);
    send_request(&(struct request){.path = MASTER "Reset", EMPTY_BODY});
    net_run(&rig.net);
    link = rig.held[0]->link;
    tfd_links_hold(links, link);
    answer_held(0);
    net_run(&rig.net);
    net_advance(&rig.net, 10 * IDLE_US);
    assert_false(rig.server->closed);
    assert_true(tfd_links_open(links, link));
    tfd_links_unhold(links, link);
    net_advance(&rig.net, 2 * IDLE_US);
    assert_true(rig.server->closed);
    assert_false(tfd_links_open(links, link));
    rig_close();
}

/* ---- Memory for requests --------------------------------------------------
 */

enum { BIG = 1 << 20 };
static char big[BIG + 5] = {0, 0, 0x10, 0, 0};

static void test_a_request_that_does_not_fit_waits_unread(void **state)
{
    struct tfd_intake *intake;
    struct tfd_buffer *other = tfd_buffer_new(8 * BIG);

    (void)state;
    rig_open();
    rig.c.quiet = true;
    intake = tfd_service_intake(rig.service);
    tfd_intake_limit(intake, 16 * BIG, all_compute, NULL);
    for (int i = 0; i < 3; i++)
        send_request(&(struct request){.body = big, .size = sizeof(big)});
    net_run(&rig.net);
    assert_int_equal(rig.c.closed, 3); /* each fitted alone */
    tfd_intake_limit(intake, 8 * BIG, all_compute, NULL);
    for (int i = 0; i < 3; i++)
        send_request(&(struct request){.body = big, .size = sizeof(big)});
    net_run(&rig.net);
    net_advance(&rig.net, 5 * 1000 * 1000);
    assert_int_equal(rig.c.closed, 3);
    assert_int_equal(intake->waiting, 1); /* the others are behind it */
    assert_true(rig.server->paused);
    tfd_buffer_unref(other);
    net_advance(&rig.net, 10 * 1000);
    assert_int_equal(rig.c.closed, 6);
    assert_int_equal(intake->waiting, 0);
    assert_int_equal(intake->reserved, 0);
    assert_false(rig.server->paused);
    rig_close();
}

static void test_a_waiting_request_may_go_away(void **state)
{
    struct tfd_buffer *other = tfd_buffer_new(8 * BIG);
    struct tfd_intake *intake;

    (void)state;
    for (int deadline = 0; deadline < 2; deadline++) {
        rig_open();
        intake = tfd_service_intake(rig.service);
        tfd_intake_limit(intake, BIG, all_compute, NULL);
        send_request(&(struct request){.body = big,
                                       .size = sizeof(big),
                                       .timeout = deadline ? "1S" : NULL});
        net_run(&rig.net);
        assert_int_equal(intake->waiting, 1);
        if (deadline) {
            net_advance(&rig.net, 1000 * 1000);
            assert_true(said("grpc-status=4\n"));
            assert_int_equal(intake->waiting, 0);
            assert_int_equal(intake->reserved, 0);
        }
        rig_close();
    }
    tfd_buffer_unref(other);
}

static void test_garbage_ends_the_connection(void **state)
{
    (void)state;
    rig_open();
    tfd_conn_write(rig.client, "GET / HTTP/1.1\r\nHost: here\r\n\r\n", 30);
    net_run(&rig.net);
    assert_true(rig.server->closed);
    rig_close();
}

static void test_first_bytes_may_come_from_elsewhere(void **state)
{
    struct tfd_bytes b;
    struct tfd_conn *a, *s;

    (void)state;
    rig_open();
    tfd_bytes_init(&b, 1 << 20);
    put_magic(&b);
    put_request(&b, 1, FLAG_NONE, MASTER "Reset");
    put_frame(&b, F_DATA, FLAG_END_STREAM, 1, "\0\0\0\0\0", 5);
    net_pair(&rig.net, &a, &s);
    assert_int_equal(tfd_grpc_serve(rig.service, s, tfd_bytes_view(&b), NULL),
                     TFD_OK);
    assert_int_equal(rig.held_count, 1);
    net_pair(&rig.net, &a, &s);
    assert_int_equal(
        tfd_grpc_serve(rig.service, s, TFD_STR("PRI * HTTP/1.0"), NULL),
        TFD_OK);
    net_run(&rig.net);
    assert_true(s->closed);
    rig_close();
    tfd_bytes_deinit(&b);
}

/* ---- Health
 * ------------------------------------------------------------------------- */

static void test_health(void **state)
{
    static const char path[] = "/grpc.health.v1.Health/Check";

    (void)state;
    rig_open();
    send_request(&(struct request){.path = path, EMPTY_BODY});
    net_run(&rig.net);
    assert_true(said("1 #08\n1 #01\n1 grpc-status=0\n")); /* SERVING */
    send_request(&(struct request){
        .path = path, BODY("\0\0\0\0\x1a\x0a\x18tensorflow.WorkerService")});
    net_run(&rig.net);
    assert_int_equal(rig.c.data, 2 * 7);
    send_request(&(struct request){.path = path, BODY("\0\0\0\0\3\x0a\1x")});
    net_run(&rig.net);
    assert_true(said("grpc-status=5\n"));
    send_request(&(struct request){.path = path, BODY("\0\0\0\0\2\x0a\7")});
    net_run(&rig.net);
    assert_true(said("grpc-status=3\n"));
    rig_close();
}

static void test_health_is_watched(void **state)
{
    static const char path[] = "/grpc.health.v1.Health/Watch";

    (void)state;
    rig_open();
    send_request(&(struct request){.path = path, EMPTY_BODY});
    net_run(&rig.net);
    assert_true(said("1 #08\n1 #01\n")); /* SERVING, and no end */
    send_request(&(struct request){.path = path, BODY("\0\0\0\0\3\x0a\1x")});
    net_run(&rig.net);
    assert_true(said("1 #08\n1 #03\n")); /* SERVICE_UNKNOWN */
    send_request(&(struct request){.path = path, BODY("\0\0\0\0\2\x0a\7")});
    net_run(&rig.net);
    assert_true(said("grpc-status=3\n"));
    tfd_service_drain(rig.service, NULL, NULL);
    net_run(&rig.net);
    assert_true(said("1 #08\n1 #02\n")); /* NOT_SERVING */
    assert_non_null(rig.health.watchers);
    rig_close();
    assert_null(rig.health.watchers);
}

static void test_a_watch_ends_with_its_deadline_or_its_client(void **state)
{
    static const char path[] = "/grpc.health.v1.Health/Watch";
    int32_t id;

    (void)state;
    rig_open();
    send_request(&(struct request){.path = path, .timeout = "1S", EMPTY_BODY});
    net_run(&rig.net);
    assert_non_null(rig.health.watchers);
    net_advance(&rig.net, 1000000);
    assert_true(said("grpc-status=4\n"));
    assert_null(rig.health.watchers);
    id = send_request(&(struct request){.path = path, EMPTY_BODY});
    net_run(&rig.net);
    assert_non_null(rig.health.watchers);
    tfd_h2_reset(rig.c.h2, id, TFD_H2_CANCEL);
    flush();
    net_run(&rig.net);
    assert_null(rig.health.watchers);
    rig_close();
}

static void test_health_while_draining(void **state)
{
    static const char path[] = "/grpc.health.v1.Health/Check";

    (void)state;
    rig_open();
    tfd_service_drain(rig.service, NULL, NULL);
    send_request(&(struct request){.path = path, EMPTY_BODY});
    net_run(&rig.net);
    /* field 1, varint 2: NOT_SERVING */
    assert_true(said("1 #08\n1 #02\n1 grpc-status=0\n"));
    rig_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_is_answered),
        cmocka_unit_test(test_answers_are_the_same_however_they_are_cut),
        cmocka_unit_test(test_large_messages_keep_their_bytes),
        cmocka_unit_test(test_large_messages_that_are_too_short_or_too_long),
        cmocka_unit_test(test_a_thousand_calls_wait_and_are_answered),
        cmocka_unit_test(test_answers_wait_for_a_slow_reader),
        cmocka_unit_test(test_refused_requests),
        cmocka_unit_test(test_a_claimed_size_is_not_believed),
        cmocka_unit_test(test_too_many_headers_are_refused),
        cmocka_unit_test(test_a_deadline_cancels_and_answers),
        cmocka_unit_test(test_a_handler_may_answer_when_its_deadline_passes),
        cmocka_unit_test(test_an_answer_in_time_stops_the_deadline),
        cmocka_unit_test(test_a_deadline_passes_while_the_request_arrives),
        cmocka_unit_test(test_a_reset_cancels),
        cmocka_unit_test(test_a_reset_before_the_end_of_a_request),
        cmocka_unit_test(test_the_end_of_the_connection_cancels_all),
        cmocka_unit_test(test_one_cancelled_call_may_answer_another),
        cmocka_unit_test(test_a_silent_peer_is_dropped),
        cmocka_unit_test(test_a_slow_head_is_dropped),
        cmocka_unit_test(test_an_idle_connection_is_ended),
        cmocka_unit_test(test_a_connection_is_not_idle_while_a_call_is_open),
        cmocka_unit_test(
            test_a_connection_is_not_idle_while_something_is_kept_for_it),
        cmocka_unit_test(test_a_request_that_does_not_fit_waits_unread),
        cmocka_unit_test(test_a_waiting_request_may_go_away),
        cmocka_unit_test(test_garbage_ends_the_connection),
        cmocka_unit_test(test_first_bytes_may_come_from_elsewhere),
        cmocka_unit_test(test_health),
        cmocka_unit_test(test_health_is_watched),
        cmocka_unit_test(test_a_watch_ends_with_its_deadline_or_its_client),
        cmocka_unit_test(test_health_while_draining),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
