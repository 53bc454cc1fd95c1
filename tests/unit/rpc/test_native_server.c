/*
 * test_native_server.c - the serving side of rpc/native/native.c: bytes that no
 * caller of ours sends, and requests that wait for memory.
 */
#define _GNU_SOURCE 1 /* clock_gettime() */

#include "tests/support/moved_clock.h"
#include "tests/support/native_rig.h"

#include "config/limits.h"

/* ---- Bytes of a caller that is not ours ---------------------------------- */

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

static void put_flood(struct wire *w, bool cancels, int count)
{
    if (!cancels)
        put_frame(w, TFD_FRAME_REQUEST, 1, TFD_METHOD_RunGraph, 1,
                  "\1\0\0\0\0\0\1\0\0\0\0\0", 12);
    for (int i = 0; i < count; i++) {
        if (cancels)
            put_frame(w, TFD_FRAME_CANCEL, 0, 0, 9, NULL, 0);
        else
            put_frame(w, TFD_FRAME_REQUEST, 1, TFD_METHOD_RunGraph, 1, "x", 1);
    }
}

/* As many as an honest caller may send are fine: what ends it is garbage. */
static void test_floods_of_cheap_frames_are_refused(void **state)
{
    static const struct {
        bool cancels;
        int most;
        const char *text;
    } floods[] = {
        {true, TFD_CANCELS_MAX, "more than 1000 CANCELs within 10 s"},
        {false, TFD_SMALL_PARTS_MAX, "more than 1000 small parts"},
    };
    struct rig *r = rig_new();

    (void)state;
    for (int i = 0; i < 2; i++) {
        for (int more = 0; more < 2; more++) {
            struct wire wire = {NULL, 0};

            put_flood(&wire, floods[i].cancels, floods[i].most + more);
            put_frame(&wire, TFD_FRAME_PONG, 0, 0, 9, "01234567", 8);
            memcpy(wire.bytes + wire.size - 24, "garbage.garbage.garbage.", 24);
            expect_refusal(r, &wire,
                           more ? TFD_RESOURCE_EXHAUSTED : TFD_INVALID_ARGUMENT,
                           more ? floods[i].text : "no frame: begins");
            free(wire.bytes);
        }
    }
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

/* ---- Memory for requests ------------------------------------------------- */

static bool all_compute(void *ctx)
{
    (void)ctx;
    return true;
}

/* A limit under which nothing fits as long as the buffer lives. */
static struct tfd_buffer *fill_memory(struct rig *r)
{
    struct tfd_buffer *b = tfd_buffer_new(64 << 20);

    tfd_admission_limit(tfd_service_admission(r->service), 64 << 20,
                        all_compute, r);
    return b;
}

static void test_a_request_that_does_not_fit_waits(void **state)
{
    struct rig *r = rig_new();
    struct tfd_channel *one = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct tfd_channel *other = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    const struct tfd_admission *admission = tfd_service_admission(r->service);
    struct rig_result large = {.rig = r}, behind = {.rig = r};
    struct tfd_buffer *b = rig_buffer(3 << 20), *full;
    struct tfd_message m = payload_message(&b, 1);

    (void)state;
    connect(r, one);
    full = fill_memory(r);
    call(one, TFD_METHOD_RunGraph, &m, &large);
    m = rig_text("behind it");
    call(one, TFD_METHOD_RunGraph, &m, &behind);
    for (int i = 0; i < 20; i++)
        connect(r, other); /* small ones get through elsewhere */
    assert_int_equal(large.done + behind.done, 0);
    assert_int_equal(admission->waiting, 1);
    assert_true(admission->waiting_size > 0);
    tfd_buffer_unref(full);
    rig_run(r, 2);
    assert_int_equal(large.code, TFD_OK);
    assert_int_equal(large.payload_count, 1);
    assert_int_equal(behind.code, TFD_OK);
    assert_int_equal(admission->waiting, 0);
    assert_int_equal(admission->reserved, 0);
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
        while (tfd_service_admission(r->service)->waiting == 0)
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
    struct tfd_admission *admission = tfd_service_admission(r->service);
    struct wire wire = large_request();
    struct tfd_buffer *full = fill_memory(r);
    struct rig_raw *w = rig_raw_new(r, r->address);

    (void)state;
    tfd_conn_write(w->conn, wire.bytes, wire.size);
    while (admission->waiting == 0)
        connect(r, other);
    rig_raw_free(w);
    tfd_buffer_unref(full);
    while (tfd_listener_connections(r->listener) > 1)
        connect(r, other);
    assert_int_equal(admission->waiting, 0);
    assert_int_equal(admission->reserved, 0);
    free(wire.bytes);
    tfd_channel_free(other);
    rig_free(r);
}

/* ---- Requests that stop on their way ------------------------------------- */

#define PING_SIZE 8
#define ERROR_TEXT_AT (2 * TFD_FRAME_HEADER_SIZE + 4) /* behind the PONG */

/* A frame that is complete, as the handshake wants; then of so many calls the
 * first one, which says that a payload of 100 bytes follows; of that, so much.
 */
static struct wire incomplete_requests(uint32_t calls, uint32_t payload)
{
    static const uint8_t head[] = {1, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t body[100];
    struct wire w = {NULL, 0};

    put_frame(&w, TFD_FRAME_PING, 0, 0, 0, "12345678", PING_SIZE);
    for (uint32_t i = 1; i <= calls; i++) {
        put_frame(&w, TFD_FRAME_REQUEST, 1, TFD_METHOD_RunGraph, i, head,
                  sizeof(head));
        if (payload)
            put_frame(&w, TFD_FRAME_REQUEST, payload < sizeof(body),
                      TFD_METHOD_RunGraph, i, body, payload);
    }
    return w;
}

/* One whose frame has not come altogether. */
static struct wire cut_request(size_t missing)
{
    static const uint8_t body[1000];
    struct wire w = {NULL, 0};

    put_frame(&w, TFD_FRAME_PING, 0, 0, 0, "12345678", PING_SIZE);
    put_frame(&w, TFD_FRAME_REQUEST, 0, TFD_METHOD_RunGraph, 1, body,
              sizeof(body));
    w.size -= missing;
    return w;
}

static void pass_delivery_time(struct rig *r)
{
    for (int ms = 0; ms <= TFD_DELIVERY_MS + 2000; ms += 1000)
        clock_move(r->loop, 1000 * 1000);
}

static void test_small_requests_that_stop_end_the_connection(void **state)
{
    struct wire wires[] = {
        cut_request(1), cut_request(999), incomplete_requests(1, 0),
        incomplete_requests(1, 99), incomplete_requests(1000, 0)};
    struct rig *r = rig_new();
    struct tfd_channel *other = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct tfd_admission *admission = tfd_service_admission(r->service);

    (void)state;
    for (size_t i = 0; i < sizeof(wires) / sizeof(wires[0]); i++) {
        struct rig_raw *w = rig_raw_new(r, r->address);

        tfd_conn_write(w->conn, wires[i].bytes, wires[i].size);
        while (!admission->active)
            connect(r, other);
        pass_delivery_time(r);
        assert_int_equal(admission->late, i + 1);
        while (!w->closed)
            rig_run(r, 1);
        r->awaited = 0;
        tfd_bytes_add(&w->in, "", 1);
        assert_non_null(strstr(w->in.data + PING_SIZE + ERROR_TEXT_AT,
                               "incomplete and the rest does not come"));
        assert_null(admission->active);
        rig_raw_free(w);
        free(wires[i].bytes);
    }
    connect(r, other); /* which says little, has not been late */
    tfd_channel_free(other);
    rig_free(r);
}

static void test_complete_requests_are_never_late(void **state)
{
    struct wire wire = incomplete_requests(3, 100);
    struct rig *r = rig_new();
    struct rig_raw *w = rig_raw_new(r, r->address);
    struct tfd_admission *admission = tfd_service_admission(r->service);

    (void)state;
    w->tick_at = wire.size; /* echoed */
    tfd_conn_write(w->conn, wire.bytes, wire.size);
    rig_run(r, 1);
    pass_delivery_time(r);
    assert_null(admission->active);
    assert_int_equal(admission->late, 0);
    assert_false(w->closed);
    free(wire.bytes);
    rig_raw_free(w);
    rig_free(r);
}

/* ---- Who makes room ------------------------------------------------------ */

static bool is_let_in(struct rig *r)
{
    struct wire ping = {NULL, 0};
    struct rig_raw *w = rig_raw_new(r, r->address);
    bool in;

    put_frame(&ping, TFD_FRAME_PING, 0, 0, 0, "12345678", PING_SIZE);
    w->tick_at = ping.size;
    tfd_conn_write(w->conn, ping.bytes, ping.size);
    while (!w->closed && w->in.size < ping.size)
        rig_run(r, 1);
    in = w->in.size == ping.size;
    rig_raw_free(w);
    while (in && tfd_listener_connections(r->listener) > 0)
        clock_move(r->loop, 0);
    free(ping.bytes);
    r->awaited = 0;
    return in;
}

/* A caller that only answers PINGs keeps its place for a minute after its last
 * call; one whose call is open keeps it. */
static void test_a_caller_keeps_its_place_for_a_minute(void **state)
{
    const uint64_t minute_us = TFD_CONNECTION_KEPT_MS * UINT64_C(1000);

    (void)state;
    for (int open = 0; open < 2; open++) {
        struct rig *r = rig_new();
        struct wire wire =
            open ? incomplete_requests(1, 0) : incomplete_requests(1, 100);
        struct rig_raw *w = rig_raw_new(r, r->address);

        tfd_listener_per_peer(r->listener, 1);
        w->tick_at = open ? PING_SIZE + TFD_FRAME_HEADER_SIZE : wire.size;
        tfd_conn_write(w->conn, wire.bytes, wire.size);
        rig_run(r, 1);
        clock_ahead_us += minute_us / 2;
        assert_false(is_let_in(r));
        clock_ahead_us += minute_us / 2 - 1000 * 1000;
        assert_false(is_let_in(r));
        clock_ahead_us += 2 * 1000 * 1000;
        assert_int_equal(is_let_in(r), !open);
        rig_raw_free(w);
        free(wire.bytes);
        rig_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_cut_anywhere_is_read_the_same),
        cmocka_unit_test(test_a_caller_that_leaves_anywhere_leaves_nothing),
        cmocka_unit_test(test_broken_protocol_is_refused_with_a_reason),
        cmocka_unit_test(test_floods_of_cheap_frames_are_refused),
        cmocka_unit_test(test_frames_a_caller_cannot_send),
        cmocka_unit_test(test_the_answer_to_a_broken_hello),
        cmocka_unit_test(test_a_request_that_does_not_fit_waits),
        cmocka_unit_test(test_what_was_read_behind_a_waiting_request_is_kept),
        cmocka_unit_test(test_a_caller_may_leave_while_its_request_waits),
        cmocka_unit_test(test_small_requests_that_stop_end_the_connection),
        cmocka_unit_test(test_complete_requests_are_never_late),
        cmocka_unit_test(test_a_caller_keeps_its_place_for_a_minute),
    };

    return cmocka_run_group_tests_name("native_server", tests, NULL, NULL);
}
