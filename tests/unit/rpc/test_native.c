/*
 * test_native.c - rpc/native/native.c and native_client.c end to end in one
 * loop: calls, their cancellation and deadlines, and heartbeats.
 */
#include "tests/support/native_rig.h"

#include "config/limits.h"

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
        struct tfd_message m = rig_text("x");
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
    m = rig_text("small");
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
        struct tfd_message m = rig_text("wait");

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
        struct tfd_message m = rig_text("x");

        /* Not connected: refused, and a dial begins. */
        assert_int_equal(tfd_channel_send(ch, TFD_METHOD_PushTensors, &m, &st),
                         TFD_UNAVAILABLE);
    }
    connect(r, ch);
    for (int i = 0; i < 20; i++) {
        struct tfd_message m =
            i % 3 ? rig_text("push") : payload_message(&b, 1);

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
    struct tfd_message m = rig_text("x");
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
    struct tfd_message m = rig_text("x");
    struct tfd_outcall *c = call(ch, TFD_METHOD_RecvTensor, &m, &first);

    (void)state;
    rig_run(r, 1);
    tfd_channel_cancel(c);
    rig_run(r, 2);
    m = rig_text("y");
    call(ch, TFD_METHOD_RecvTensor, &m, &second);
    rig_run(r, 1);
    assert_int_equal(r->held_count, 2);
    for (int i = 0; i < 2; i++) { /* the old one first */
        struct tfd_message answer = rig_text(i ? "new answer" : "old");

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
    m = rig_text("x");
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
    struct tfd_message m = rig_text("x");
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

/* ---- Heartbeats ---------------------------------------------------------- */

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
    struct tfd_message m = rig_text("x");
    struct tfd_channel *ch;

    (void)state;
    tfd_service_watch(r->service, &quick);
    ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    call(ch, TFD_METHOD_RecvTensor, &m, &waits);
    rig_run(r, 1);
    m = rig_text("y");
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
        cmocka_unit_test(test_a_caller_without_a_sign_of_life_is_hung_up_on),
        cmocka_unit_test(test_who_answers_stays),
    };

    return cmocka_run_group_tests_name("native", tests, NULL, NULL);
}
