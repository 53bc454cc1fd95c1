/*
 * test_grpc.c - rpc/grpc/grpc.c: calls that are answered, refused, cancelled,
 * or too late, from a client that also does what gRPC clients do not.
 */
#include "tests/support/grpc_rig.h"

#include "common/base/alloc.h"

/* ---- Calls that work ----------------------------------------------------- */

static void test_a_call_is_answered(void **state)
{
    (void)state;
    rig_open();
    send_request(&(struct request){BODY("\0\0\0\0\3abc")});
    net_run(&rig.net);
    assert_string_equal(log_of(&rig.c),
                        "1 :status=200\n"
                        "1 content-type=application/grpc\n"
                        "1 grpc-accept-encoding=identity,deflate,gzip\n"
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

/* ---- Calls that are refused ---------------------------------------------- */

/* Nothing, compressed; the last byte is 1. */
#define EMPTY_ZLIB_7 "\x78\x9c\x03\x00\x00\x00\x00"

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
        {{BODY("\1\0\0\0\3abc")}, "grpc-status=13\n"},      /* compressed */
        {{BODY("\2\0\0\0\3abc")}, "grpc-status=13\n"},
        {{.encoding = "identity", BODY("\1\0\0\0\3abc")}, "does not say how"},
        {{.encoding = "gzip", BODY("\1\0\0\0\3abc")}, "grpc-status=13\n"},
        {{.encoding = "deflate", BODY("\1\0\0\0\0")}, "ends too early"},
        {{.encoding = "deflate", BODY("\1\0\0\0\7" EMPTY_ZLIB_7)},
         "ends too early"},
        {{.encoding = "deflate", BODY("\1\0\0\0\x09" EMPTY_ZLIB_7 "\1x")},
         "other bytes follow"},
        {{.encoding = "gzip", BODY("\1\0\0\0\x08" EMPTY_ZLIB_7 "\1")},
         "incorrect header check"},
        {{.encoding = "deflate", BODY("\1\0\0\0\x08" EMPTY_ZLIB_7 "\2")},
         "incorrect data check"},
        {{.encoding = "deflate", BODY("\1\0\0\0\x08" EMPTY_ZLIB_7 "\1")},
         "grpc-status=0\n"},
        {{.encoding = "gzip", EMPTY_BODY}, "grpc-status=0\n"}, /* plain */
        {{.encoding = "br", EMPTY_BODY}, "grpc-status=12\n"},
        {{.encoding = "br", EMPTY_BODY},
         "grpc-accept-encoding=identity,deflate,gzip\n"},
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
        net_advance(&rig.net, 1000); /* a turn for what is compressed */
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

/* ---- Deadlines, cancellation, ends --------------------------------------- */

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
    };

    return cmocka_run_group_tests_name("grpc", tests, NULL, NULL);
}
