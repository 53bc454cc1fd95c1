/*
 * test_grpc_client_ends.c - rpc/grpc/grpc_client.c: links whose peer falls
 * silent, says GOAWAY, or is gone.
 */
#include "tests/support/grpc_link_rig.h"

/* ---- Peers that fall silent ---------------------------------------------- */

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

/* ---- Ends of the connection ---------------------------------------------- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_silent_peer_fails_the_link),
        cmocka_unit_test(test_a_silent_peer_does_not_matter_without_calls),
        cmocka_unit_test(test_a_long_call_is_not_asked_about_too_often),
        cmocka_unit_test(test_close_is_silent),
        cmocka_unit_test(test_the_end_of_the_connection_fails_the_link),
        cmocka_unit_test(test_a_peer_without_http2_is_named),
        cmocka_unit_test(test_goaway_lets_calls_finish_then_fails_the_link),
        cmocka_unit_test(test_a_call_without_an_answer_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
