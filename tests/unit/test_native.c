/*
 * test_native.c - rpc/native.c and native_client.c end to end in one loop, and
 * the serving side against bytes that no caller of ours sends.
 */
#include "tests/support/rig.h"

#include "config/limits.h"

static const struct tfd_outcall_options patient = {.wait_ready = true};

static struct tfd_message text_message(const char *text)
{
    struct tfd_message m;

    tfd_message_init(&m, true);
    tfd_bytes_add_str(&m.proto, tfd_str_of(text));
    return m;
}

static struct tfd_message payload_message(struct tfd_buffer **b, int count)
{
    struct tfd_message m = text_message("with payloads");

    for (int i = 0; i < count; i++)
        tfd_message_splice(&m, b[i], b[i]->size);
    return m;
}

static struct tfd_outcall *call(struct tfd_channel *ch,
                                enum tfd_method_number method,
                                struct tfd_message *m,
                                struct rig_result *result)
{
    return tfd_channel_call(ch, method, m, &patient, rig_done, result);
}

static void connect(struct rig *r, struct tfd_channel *ch)
{
    struct tfd_message m = text_message("hello");
    struct rig_result result = {.rig = r};

    call(ch, TFD_METHOD_RunGraph, &m, &result);
    rig_run(r, 1);
    assert_int_equal(result.code, TFD_OK);
    assert_int_equal(result.size, 5);
}

/* ---- Calls --------------------------------------------------------------- */

static void test_a_call_is_answered(void **state)
{
    struct rig *r = rig_new();
    struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_UNKNOWN);

    (void)state;
    assert_false(tfd_channel_up(ch));
    connect(r, ch);
    assert_true(tfd_channel_up(ch));
    assert_int_equal(tfd_channel_protocol(ch), TFD_PROTO_NATIVE);
    assert_string_equal(tfd_channel_peer(ch)->task, rig_self.task);
    assert_int_equal(tfd_channel_peer(ch)->incarnation, rig_self.incarnation);
    assert_string_equal(tfd_channel_trouble(ch), "");
    assert_int_equal(tfd_service_stats(r->service, TFD_METHOD_RunGraph)->calls,
                     1);
    tfd_channel_free(ch);
    rig_free(r);
}

static void test_errors_keep_code_and_text(void **state)
{
    static const struct {
        enum tfd_method_number method;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {TFD_METHOD_GetStatus, TFD_NOT_FOUND, "no such thing"},
        {TFD_METHOD_Tracing, TFD_UNIMPLEMENTED,
         "/tensorflow.WorkerService/Tracing is not implemented"},
        {(enum tfd_method_number)77, TFD_UNIMPLEMENTED,
         "unknown method is not implemented"},
        {(enum tfd_method_number)500, TFD_UNIMPLEMENTED,
         "no method has the number 500"},
    };
    struct rig *r = rig_new();
    struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_message m = text_message("x");
        struct rig_result result = {.rig = r};

        call(ch, cases[i].method, &m, &result);
        rig_run(r, 1);
        assert_int_equal(result.code, cases[i].code);
        assert_string_equal(result.text, cases[i].text);
    }
    tfd_channel_free(ch);
    rig_free(r);
}

static void test_payloads_come_back(void **state)
{
    static const size_t sizes[][3] = {
        {1},         {1025},
        {1 << 20},   {(1 << 20) + 1},
        {100 << 20}, {5, 3 << 20, 70000},
        {1, 1, 1},
    };
    struct rig *r = rig_new();
    struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct rig_result result = {.rig = r};
        struct tfd_buffer *b[3];
        uint64_t size = strlen("with payloads"), sum = 0;
        struct tfd_message m;
        int count = 0;

        for (; count < 3 && sizes[i][count]; count++) {
            b[count] = rig_buffer(sizes[i][count]);
            size += b[count]->size;
            for (size_t k = 0; k < b[count]->size; k += 4093)
                sum += ((uint8_t *)b[count]->data)[k] * (k + 1);
        }
        m = payload_message(b, count);
        call(ch, TFD_METHOD_RunGraph, &m, &result);
        assert_int_equal(m.splice_count, 0); /* taken */
        rig_run(r, 1);
        assert_int_equal(result.code, TFD_OK);
        assert_int_equal(result.payload_count, count);
        assert_int_equal(result.size, size);
        assert_int_equal(result.sum, sum);
        while (count > 0) {
            assert_true(tfd_buffer_sole(b[--count]));
            tfd_buffer_unref(b[count]);
        }
    }
    assert_int_equal(tfd_channel_queued(ch), 0);
    tfd_channel_free(ch);
    rig_free(r);
}

/* A small call is not stuck behind a large one: its answer comes first. */
static void test_small_calls_pass_large_ones(void **state)
{
    struct rig *r = rig_new();
    struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct tfd_buffer *b = rig_buffer(200 << 20);
    struct rig_result large = {.rig = r}, small = {.rig = r};
    struct tfd_message m;

    (void)state;
    connect(r, ch);
    m = payload_message(&b, 1);
    call(ch, TFD_METHOD_RunGraph, &m, &large);
    m = text_message("small");
    call(ch, TFD_METHOD_RunGraph, &m, &small);
    rig_run(r, 1);
    assert_int_equal(small.done, 1);
    assert_int_equal(large.done, 0);
    rig_run(r, 1);
    assert_int_equal(large.code, TFD_OK);
    tfd_buffer_unref(b);
    tfd_channel_free(ch);
    rig_free(r);
}

static void test_a_thousand_calls_may_wait(void **state)
{
    enum { COUNT = 1000 };
    struct rig *r = rig_new();
    struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct rig_result *result = calloc(COUNT, sizeof(*result));

    (void)state;
    assert_non_null(result);
    for (int i = 0; i < COUNT; i++) {
        struct tfd_message m = text_message("wait");

        result[i].rig = r;
        call(ch, TFD_METHOD_RecvTensor, &m, &result[i]);
    }
    rig_run(r, COUNT); /* all are held */
    assert_int_equal(tfd_service_in_flight(r->service), COUNT);
    connect(r, ch); /* others still pass */
    rig_release(r);
    rig_run(r, COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(result[i].done, 1);
        assert_int_equal(result[i].code, TFD_OK);
    }
    free(result);
    tfd_channel_free(ch);
    rig_free(r);
}

static void test_one_way_messages_keep_their_order_and_size(void **state)
{
    struct rig *r = rig_new();
    struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct tfd_buffer *b = rig_buffer(10 << 20);
    struct tfd_status st = TFD_STATUS_INIT;
    uint64_t size = 0;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct tfd_message m = text_message("x");

        /* Not connected: refused, and a dial begins. */
        assert_int_equal(tfd_channel_send(ch, TFD_METHOD_PushTensors, &m, &st),
                         TFD_UNAVAILABLE);
    }
    connect(r, ch);
    for (int i = 0; i < 20; i++) {
        struct tfd_message m =
            i % 3 ? text_message("push") : payload_message(&b, 1);

        size += tfd_message_size(&m);
        assert_int_equal(tfd_channel_send(ch, TFD_METHOD_PushTensors, &m, NULL),
                         TFD_OK);
    }
    assert_true(tfd_channel_queued(ch) > (60 << 20));
    rig_run(r, 20);
    assert_int_equal(r->one_way_count, 20);
    assert_int_equal(r->one_way_size, size);
    assert_true(tfd_buffer_sole(b));
    tfd_buffer_unref(b);
    tfd_channel_free(ch);
    rig_free(r);
}

/* ---- Cancellation and deadlines ------------------------------------------ */

static void test_a_cancelled_call_tells_its_handler(void **state)
{
    struct rig *r = rig_new();
    struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct tfd_message m = text_message("x");
    struct rig_result result = {.rig = r};
    struct tfd_outcall *c = call(ch, TFD_METHOD_RecvTensor, &m, &result);

    (void)state;
    rig_run(r, 1); /* held */
    tfd_channel_cancel(c);
    tfd_channel_cancel(c); /* once is enough */
    assert_int_equal(result.done, 0);
    rig_run(r, 2); /* done, and the handler heard of it */
    assert_int_equal(result.done, 1);
    assert_int_equal(result.code, TFD_CANCELLED);
    assert_int_equal(r->cancelled_count, 1);
    assert_true(r->held[0]->is_cancelled);
    rig_release(r);
    connect(r, ch); /* the late answer went to nobody */
    assert_int_equal(result.done, 1);
    tfd_channel_free(ch);
    rig_free(r);
}

/* The number of a cancelled call is not used before its answer has come. */
static void test_an_answer_never_reaches_another_call(void **state)
{
    struct rig *r = rig_new();
    struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct rig_result first = {.rig = r}, second = {.rig = r};
    struct tfd_message m = text_message("x");
    struct tfd_outcall *c = call(ch, TFD_METHOD_RecvTensor, &m, &first);

    (void)state;
    rig_run(r, 1);
    tfd_channel_cancel(c);
    rig_run(r, 2);
    m = text_message("y");
    call(ch, TFD_METHOD_RecvTensor, &m, &second);
    rig_run(r, 1);
    assert_int_equal(r->held_count, 2);
    for (int i = 0; i < 2; i++) { /* the old one first */
        struct tfd_message answer = text_message(i ? "new answer" : "old");

        tfd_call_respond(r->held[i], &answer);
    }
    r->held_count = 0;
    rig_run(r, 1);
    assert_int_equal(second.size, strlen("new answer"));
    tfd_channel_free(ch);
    rig_free(r);
}

static void test_a_half_sent_request_can_be_cancelled(void **state)
{
    struct rig *r = rig_new();
    struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct tfd_buffer *b = rig_buffer(300 << 20);
    struct rig_result large = {.rig = r};
    struct tfd_outcall *c;
    struct tfd_message m;

    (void)state;
    connect(r, ch);
    m = payload_message(&b, 1);
    c = call(ch, TFD_METHOD_RunGraph, &m, &large);
    connect(r, ch); /* by now some of it is on its way */
    assert_int_equal(large.done, 0);
    assert_true(tfd_channel_queued(ch) > 0);
    tfd_channel_cancel(c);
    rig_run(r, 1);
    assert_int_equal(large.code, TFD_CANCELLED);
    connect(r, ch);
    assert_int_equal(tfd_service_stats(r->service, TFD_METHOD_RunGraph)->calls,
                     3);
    assert_true(tfd_channel_queued(ch) < (8 << 20));
    tfd_channel_free(ch);
    rig_free(r);
    assert_true(tfd_buffer_sole(b));
    tfd_buffer_unref(b);
}

static void test_a_deadline_ends_a_call(void **state)
{
    struct tfd_outcall_options o = {.timeout_us = 10 * 1000,
                                    .wait_ready = true};
    struct rig *r = rig_new();
    struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct tfd_message m;
    struct rig_result result = {.rig = r};

    (void)state;
    connect(r, ch);
    m = text_message("x");
    tfd_channel_call(ch, TFD_METHOD_RecvTensor, &m, &o, rig_done, &result);
    rig_run(r, 3); /* held, done, cancelled */
    assert_int_equal(result.code, TFD_DEADLINE_EXCEEDED);
    assert_int_equal(r->cancelled_count, 1);
    tfd_channel_free(ch);
    rig_free(r);
}

static void test_a_lost_connection_cancels_its_calls(void **state)
{
    struct rig *r = rig_new();
    struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct tfd_message m = text_message("x");
    struct rig_result result = {.rig = r};

    (void)state;
    call(ch, TFD_METHOD_RecvTensor, &m, &result);
    rig_run(r, 1);
    tfd_channel_free(ch); /* fails what is pending, closes */
    rig_run(r, 2);
    assert_int_equal(result.done, 1);
    assert_int_equal(result.code, TFD_CANCELLED);
    assert_int_equal(r->cancelled_count, 1);
    assert_int_equal(tfd_service_in_flight(r->service), 1); /* until answered */
    rig_free(r);
}

/* ---- Bytes of a caller that is not ours ---------------------------------- */

struct wire {
    uint8_t *bytes;
    size_t size;
};

static void put_frame(struct wire *w, enum tfd_frame_kind kind, uint8_t flags,
                      uint16_t method, uint32_t call_number, const void *body,
                      uint32_t size)
{
    struct tfd_frame_header h = {kind, flags, method, call_number, size};

    w->bytes = realloc(w->bytes, w->size + TFD_FRAME_HEADER_SIZE + size);
    assert_non_null(w->bytes);
    tfd_frame_encode(&h, w->bytes + w->size);
    if (size)
        memcpy(w->bytes + w->size + TFD_FRAME_HEADER_SIZE, body, size);
    w->size += TFD_FRAME_HEADER_SIZE + size;
}

/* Two calls with payloads, in turns. */
static struct wire interleaved(void)
{
    static const uint8_t first[] = {2, 0, 0, 0, 3, 0, 0, 0, 0, 0,  0,
                                    0, 2, 0, 0, 0, 0, 0, 0, 0, 'p'};
    static const uint8_t second[] = {1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0};
    struct wire w = {NULL, 0};

    put_frame(&w, TFD_FRAME_REQUEST, 1, TFD_METHOD_RunGraph, 1, first,
              sizeof(first));
    put_frame(&w, TFD_FRAME_REQUEST, 1, TFD_METHOD_RunGraph, 1, "ab", 2);
    put_frame(&w, TFD_FRAME_REQUEST, 1, TFD_METHOD_RunGraph, 2, second,
              sizeof(second));
    put_frame(&w, TFD_FRAME_PING, 0, 0, 0, "12345678", 8);
    put_frame(&w, TFD_FRAME_REQUEST, 1, TFD_METHOD_RunGraph, 1, "c", 1);
    put_frame(&w, TFD_FRAME_REQUEST, 0, TFD_METHOD_RunGraph, 2, "wxyz", 4);
    put_frame(&w, TFD_FRAME_REQUEST, 0, TFD_METHOD_RunGraph, 1, "de", 2);
    put_frame(&w, TFD_FRAME_CANCEL, 0, 0, 1, NULL, 0); /* too late */
    return w;
}

/* PONG, then both answers: the second call was complete first. */
static struct wire interleaved_answer(void)
{
    static const uint8_t first[] = {2, 0, 0, 0, 3, 0, 0, 0, 0, 0,  0,
                                    0, 2, 0, 0, 0, 0, 0, 0, 0, 'p'};
    static const uint8_t second[] = {1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0};
    struct wire w = {NULL, 0};

    put_frame(&w, TFD_FRAME_PONG, 0, 0, 0, "12345678", 8);
    put_frame(&w, TFD_FRAME_RESPONSE, 1, 0, 2, second, sizeof(second));
    put_frame(&w, TFD_FRAME_RESPONSE, 0, 0, 2, "wxyz", 4);
    put_frame(&w, TFD_FRAME_RESPONSE, 1, 0, 1, first, sizeof(first));
    put_frame(&w, TFD_FRAME_RESPONSE, 1, 0, 1, "abc", 3);
    put_frame(&w, TFD_FRAME_RESPONSE, 0, 0, 1, "de", 2);
    return w;
}

/* The rest is sent a turn of the loop or more later. */
struct cut {
    struct tfd_timer timer;
    struct rig_raw *raw;
    struct wire wire;
    size_t at;
};

static void send_rest(struct tfd_timer *t)
{
    struct cut *c = (struct cut *)t;

    tfd_conn_write(c->raw->conn, c->wire.bytes + c->at, c->wire.size - c->at);
}

static void test_a_stream_cut_anywhere_is_read_the_same(void **state)
{
    struct rig *r = rig_new();
    struct wire wire = interleaved(), answer = interleaved_answer();

    (void)state;
    for (size_t at = 0; at <= wire.size; at++) {
        struct cut c = {.wire = wire, .at = at};

        c.raw = rig_raw_new(r, r->address);
        c.raw->tick_at = answer.size;
        tfd_timer_init(&c.timer, r->loop, send_rest);
        tfd_conn_write(c.raw->conn, wire.bytes, at);
        assert_int_equal(tfd_timer_start(&c.timer, 500, NULL), TFD_OK);
        rig_run(r, 1);
        tfd_timer_stop(&c.timer);
        assert_int_equal(c.raw->in.size, answer.size);
        assert_memory_equal(c.raw->in.data, answer.bytes, answer.size);
        rig_raw_free(c.raw);
    }
    free(wire.bytes);
    free(answer.bytes);
    rig_free(r);
}

static void test_a_caller_that_leaves_anywhere_leaves_nothing(void **state)
{
    struct rig *r = rig_new();
    struct wire wire = interleaved();

    (void)state;
    for (size_t at = 0; at <= wire.size; at++) {
        struct rig_raw *w = rig_raw_new(r, r->address);

        w->tick_connected = true;
        rig_run(r, 1);
        tfd_conn_write(w->conn, wire.bytes, at);
        tfd_conn_close(w->conn, 1000 * 1000);
        rig_run(r, 1);
        rig_raw_free(w);
    }
    free(wire.bytes);
    rig_free(r); /* checks that no connection and no call is left */
}

/* Everything that breaks the protocol ends with one ERROR and the end. */
static void expect_refusal(struct rig *r, const struct wire *wire,
                           enum tfd_code code, const char *text)
{
    struct rig_raw *w = rig_raw_new(r, r->address);
    struct tfd_frame_header h;
    struct tfd_status st;

    tfd_conn_write(w->conn, wire->bytes, wire->size);
    rig_run(r, 1);
    assert_true(w->closed);
    assert_true(w->in.size >= TFD_FRAME_HEADER_SIZE + 4);
    assert_int_equal(tfd_frame_decode((uint8_t *)w->in.data, 1 << 20, &h, NULL),
                     TFD_OK);
    assert_int_equal(h.kind, TFD_FRAME_ERROR);
    tfd_native_error_decode((uint8_t *)w->in.data + TFD_FRAME_HEADER_SIZE,
                            h.length, &st);
    if (st.code != code || !strstr(st.text, text))
        fail_msg("got %d \"%s\", not %d \"%s\"", st.code, st.text, code, text);
    rig_raw_free(w);
}

static void test_broken_protocol_is_refused_with_a_reason(void **state)
{
    /* count, sizes, a protobuf of 1 byte: count and flags are what varies */
    static const struct {
        uint8_t flags;
        uint8_t body[24];
        uint32_t size;
        uint32_t call;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {0, {0}, 3, 1, TFD_INVALID_ARGUMENT, "begins with 3 bytes"},
        {0, {0}, 0, 1, TFD_INVALID_ARGUMENT, "begins with 0 bytes"},
        {1, {0}, 5, 1, TFD_INVALID_ARGUMENT, "says more after 0 of 0"},
        {0, {1, 0, 0, 0, 9}, 12, 1, TFD_INVALID_ARGUMENT, "says no more"},
        {1, {2, 0, 0, 0, 9}, 12, 1, TFD_INVALID_ARGUMENT, "2 payloads in"},
        {1, {0, 0, 1, 0}, 12, 1, TFD_INVALID_ARGUMENT, "65536 payloads"},
        {1, {255, 255, 255, 255}, 12, 1, TFD_INVALID_ARGUMENT, "payloads in"},
        {1, {1, 0, 0, 0, 0}, 12, 1, TFD_RESOURCE_EXHAUSTED, "of 0 bytes"},
        {1,
         {1, 0, 0, 0, 0, 0, 0, 0, 255},
         12,
         1,
         TFD_RESOURCE_EXHAUSTED,
         "at most 68719476736"},
        {1,
         {1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255},
         12,
         1,
         TFD_RESOURCE_EXHAUSTED,
         "payload 0 of 18446744073709551615 bytes"},
        {0, {0}, 4, 5000, TFD_RESOURCE_EXHAUSTED, "call number 5000"},
        {0, {0}, 4, 0xffffffff, TFD_RESOURCE_EXHAUSTED, "call number"},
    };
    struct rig *r = rig_new();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wire wire = {NULL, 0};

        put_frame(&wire, TFD_FRAME_REQUEST, cases[i].flags, TFD_METHOD_RunGraph,
                  cases[i].call, cases[i].body, cases[i].size);
        expect_refusal(r, &wire, cases[i].code, cases[i].text);
        free(wire.bytes);
    }
    rig_free(r);
}

static void test_frames_a_caller_cannot_send(void **state)
{
    struct rig *r = rig_new();
    struct wire wire;

    (void)state;
    wire = (struct wire){NULL, 0};
    put_frame(&wire, TFD_FRAME_RESPONSE, 0, 0, 1, "\0\0\0\0", 4);
    expect_refusal(r, &wire, TFD_INVALID_ARGUMENT, "cannot send frames");
    free(wire.bytes);

    wire = (struct wire){NULL, 0}; /* the same number twice */
    put_frame(&wire, TFD_FRAME_REQUEST, 0, TFD_METHOD_RecvTensor, 1, "\0\0\0\0",
              4);
    put_frame(&wire, TFD_FRAME_REQUEST, 0, TFD_METHOD_RecvTensor, 1, "\0\0\0\0",
              4);
    r->awaited += 2; /* held, and cancelled at the end */
    expect_refusal(r, &wire, TFD_INVALID_ARGUMENT, "call 1 is open");
    free(wire.bytes);

    wire = (struct wire){NULL, 0}; /* more bytes than announced */
    put_frame(&wire, TFD_FRAME_REQUEST, 1, TFD_METHOD_RunGraph, 1,
              "\1\0\0\0\2\0\0\0\0\0\0\0", 12);
    put_frame(&wire, TFD_FRAME_REQUEST, 0, TFD_METHOD_RunGraph, 1, "abc", 3);
    expect_refusal(r, &wire, TFD_INVALID_ARGUMENT, "frame of 3 bytes where 2");
    free(wire.bytes);

    wire = (struct wire){NULL, 0}; /* garbage behind a good frame */
    put_frame(&wire, TFD_FRAME_CANCEL, 0, 0, 9, NULL, 0);
    put_frame(&wire, TFD_FRAME_PING, 0, 0, 9, "01234567", 8);
    memcpy(wire.bytes + 16, "garbage.garbage.garbage.", 24);
    expect_refusal(r, &wire, TFD_INVALID_ARGUMENT, "no frame: begins");
    free(wire.bytes);
    rig_free(r);
}

static void test_the_answer_to_a_broken_hello(void **state)
{
    struct rig *r = rig_new();
    struct wire wire = {NULL, 0};
    struct rig_raw *w = rig_raw_new(r, r->address);
    struct tfd_frame_header h;

    (void)state;
    put_frame(&wire, TFD_FRAME_REQUEST, 0, TFD_METHOD_Hello, 1,
              "\0\0\0\0\xff\xff", 6);
    tfd_conn_write(w->conn, wire.bytes, wire.size);
    w->tick_at = TFD_FRAME_HEADER_SIZE + 4;
    rig_run(r, 1);
    assert_int_equal(tfd_frame_decode((uint8_t *)w->in.data, 1 << 20, &h, NULL),
                     TFD_OK);
    assert_int_equal(h.kind, TFD_FRAME_ERROR); /* of the call alone */
    assert_int_equal(h.call, 1);
    assert_false(w->closed);
    free(wire.bytes);
    rig_raw_free(w);
    rig_free(r);
}

/* ---- Memory for requests --------------------------------------------------
 */

static bool all_compute(void *ctx)
{
    (void)ctx;
    return true;
}

/* A limit under which nothing fits as long as the buffer lives. */
static struct tfd_buffer *fill_memory(struct rig *r)
{
    struct tfd_buffer *b = tfd_buffer_new(64 << 20);

    tfd_intake_limit(tfd_service_intake(r->service), 64 << 20, all_compute, r);
    return b;
}

static void test_a_request_that_does_not_fit_waits(void **state)
{
    struct rig *r = rig_new();
    struct tfd_channel *one = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct tfd_channel *other = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    const struct tfd_intake *intake = tfd_service_intake(r->service);
    struct rig_result large = {.rig = r}, behind = {.rig = r};
    struct tfd_buffer *b = rig_buffer(3 << 20), *full;
    struct tfd_message m = payload_message(&b, 1);

    (void)state;
    connect(r, one);
    full = fill_memory(r);
    call(one, TFD_METHOD_RunGraph, &m, &large);
    m = text_message("behind it");
    call(one, TFD_METHOD_RunGraph, &m, &behind);
    for (int i = 0; i < 20; i++)
        connect(r, other); /* small ones get through elsewhere */
    assert_int_equal(large.done + behind.done, 0);
    assert_int_equal(intake->waiting, 1);
    assert_true(intake->waiting_size >= 3 << 20);
    tfd_buffer_unref(full);
    rig_run(r, 2);
    assert_int_equal(large.code, TFD_OK);
    assert_int_equal(large.payload_count, 1);
    assert_int_equal(behind.code, TFD_OK);
    assert_int_equal(intake->waiting, 0);
    assert_int_equal(intake->reserved, 0);
    tfd_buffer_unref(b);
    tfd_channel_free(one);
    tfd_channel_free(other);
    rig_free(r);
}

/* One call with a payload that is asked for, and a PING behind it. */
static struct wire large_request(void)
{
    static const uint8_t head[] = {1, 0, 0, 0, 0xa0, 0x86, 1, 0, 0, 0, 0, 0};
    static uint8_t payload[100000];
    struct wire w = {NULL, 0};

    memset(payload, 'p', sizeof(payload));
    put_frame(&w, TFD_FRAME_REQUEST, 1, TFD_METHOD_RunGraph, 1, head,
              sizeof(head));
    put_frame(&w, TFD_FRAME_REQUEST, 0, TFD_METHOD_RunGraph, 1, payload,
              sizeof(payload));
    put_frame(&w, TFD_FRAME_PING, 0, 0, 0, "12345678", 8);
    return w;
}

/* The frames at hand when it has to wait come in their order afterwards. */
static void test_what_was_read_behind_a_waiting_request_is_kept(void **state)
{
    struct rig *r = rig_new();
    struct tfd_channel *other = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct wire wire = large_request();
    size_t answer =
        2 * TFD_FRAME_HEADER_SIZE + 12 + 100000 + TFD_FRAME_HEADER_SIZE + 8;

    (void)state;
    for (size_t at = 0; at <= wire.size; at += at < 60 ? 1 : 33331) {
        struct cut c = {.wire = wire, .at = at};
        struct tfd_buffer *full = fill_memory(r);

        c.raw = rig_raw_new(r, r->address);
        c.raw->tick_at = answer;
        tfd_timer_init(&c.timer, r->loop, send_rest);
        tfd_conn_write(c.raw->conn, wire.bytes, at);
        assert_int_equal(tfd_timer_start(&c.timer, 500, NULL), TFD_OK);
        while (tfd_service_intake(r->service)->waiting == 0)
            connect(r, other);
        assert_int_equal(c.raw->in.size, 0);
        tfd_buffer_unref(full);
        rig_run(r, 1);
        tfd_timer_stop(&c.timer);
        assert_int_equal(c.raw->in.size, answer);
        assert_int_equal(c.raw->in.data[4], TFD_FRAME_RESPONSE);
        assert_int_equal(c.raw->in.data[answer - 24 + 4], TFD_FRAME_PONG);
        rig_raw_free(c.raw);
    }
    free(wire.bytes);
    tfd_channel_free(other);
    rig_free(r);
}

static void test_a_caller_may_leave_while_its_request_waits(void **state)
{
    struct rig *r = rig_new();
    struct tfd_channel *other = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct tfd_intake *intake = tfd_service_intake(r->service);
    struct wire wire = large_request();
    struct tfd_buffer *full = fill_memory(r);
    struct rig_raw *w = rig_raw_new(r, r->address);

    (void)state;
    tfd_conn_write(w->conn, wire.bytes, wire.size);
    while (intake->waiting == 0)
        connect(r, other);
    rig_raw_free(w);
    tfd_buffer_unref(full);
    while (tfd_listener_connections(r->listener) > 1)
        connect(r, other);
    assert_int_equal(intake->waiting, 0);
    assert_int_equal(intake->reserved, 0);
    free(wire.bytes);
    tfd_channel_free(other);
    rig_free(r);
}

/* ---- Heartbeats -----------------------------------------------------------
 */

static void test_a_caller_without_a_sign_of_life_is_hung_up_on(void **state)
{
    static const struct tfd_heartbeat_options quick = {10 * 1000, 100 * 1000};
    struct rig *r = rig_new();
    struct rig_raw *w;
    struct tfd_frame_header h;

    (void)state;
    tfd_service_watch(r->service, &quick);
    w = rig_raw_new(r, r->address);
    tfd_conn_write(w->conn, "TFD1", 4);
    rig_run(r, 1);
    assert_true(w->closed);
    assert_true(w->in.size >= TFD_FRAME_HEADER_SIZE + 8); /* it was asked */
    assert_int_equal(tfd_frame_decode((uint8_t *)w->in.data, 8, &h, NULL),
                     TFD_OK);
    assert_int_equal(h.kind, TFD_FRAME_PING);
    rig_raw_free(w);
    rig_free(r);
}

static void test_who_answers_stays(void **state)
{
    static const struct tfd_heartbeat_options quick = {5 * 1000, 100 * 1000};
    struct rig *r = rig_new();
    struct rig_result waits = {.rig = r}, late = {.rig = r};
    struct tfd_outcall_options o = {.timeout_us = 400 * 1000,
                                    .wait_ready = true};
    struct tfd_message m = text_message("x");
    struct tfd_channel *ch;

    (void)state;
    tfd_service_watch(r->service, &quick);
    ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    call(ch, TFD_METHOD_RecvTensor, &m, &waits);
    rig_run(r, 1);
    m = text_message("y");
    (void)tfd_channel_call(ch, TFD_METHOD_RecvTensor, &m, &o, rig_done, &late);
    rig_run(r, 3); /* held; its deadline, which the handler hears of */
    assert_int_equal(late.code, TFD_DEADLINE_EXCEEDED);
    assert_int_equal(waits.done, 0);
    assert_true(tfd_channel_up(ch));
    rig_release(r);
    rig_run(r, 1);
    assert_int_equal(waits.code, TFD_OK);
    tfd_channel_free(ch);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_is_answered),
        cmocka_unit_test(test_errors_keep_code_and_text),
        cmocka_unit_test(test_payloads_come_back),
        cmocka_unit_test(test_small_calls_pass_large_ones),
        cmocka_unit_test(test_a_thousand_calls_may_wait),
        cmocka_unit_test(test_one_way_messages_keep_their_order_and_size),
        cmocka_unit_test(test_a_cancelled_call_tells_its_handler),
        cmocka_unit_test(test_an_answer_never_reaches_another_call),
        cmocka_unit_test(test_a_half_sent_request_can_be_cancelled),
        cmocka_unit_test(test_a_deadline_ends_a_call),
        cmocka_unit_test(test_a_lost_connection_cancels_its_calls),
        cmocka_unit_test(test_a_stream_cut_anywhere_is_read_the_same),
        cmocka_unit_test(test_a_caller_that_leaves_anywhere_leaves_nothing),
        cmocka_unit_test(test_broken_protocol_is_refused_with_a_reason),
        cmocka_unit_test(test_frames_a_caller_cannot_send),
        cmocka_unit_test(test_the_answer_to_a_broken_hello),
        cmocka_unit_test(test_a_request_that_does_not_fit_waits),
        cmocka_unit_test(test_what_was_read_behind_a_waiting_request_is_kept),
        cmocka_unit_test(test_a_caller_may_leave_while_its_request_waits),
        cmocka_unit_test(test_a_caller_without_a_sign_of_life_is_hung_up_on),
        cmocka_unit_test(test_who_answers_stays),
    };

    return cmocka_run_group_tests_name("native", tests, NULL, NULL);
}
