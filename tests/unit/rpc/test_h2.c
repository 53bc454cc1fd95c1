/*
 * test_h2.c - rpc/http/h2.c, h2_in.c: a session fed from arrays, in both roles.
 *
 * Good streams come from our own client session and are cut at every byte; bad
 * ones are written by hand (and continue in test_h2_limits.c).
 */
#include "config/limits.h"
#include "tests/support/h2_end.h"

/* ---- Streams in order ---------------------------------------------------- */

static void test_request_and_response(void **state)
{
    struct end c, s;
    struct body out, in;

    (void)state;
    open_end(&c, TFD_H2_CLIENT);
    open_end(&s, TFD_H2_SERVER);
    out = body_of(&c, 'q', 3);
    in = body_of(&s, 'r', 2);
    request(&c, &out);
    tfd_h2_pump(c.h2);
    exchange(&c, &s);
    assert_string_equal(log_of(&s), "begin 1\n"
                                    "1 :path=/a\n"
                                    "1 :authority=here:1\n"
                                    "1 :method=POST\n"
                                    "1 :scheme=http\n"
                                    "1 x-unique=1\n"
                                    "1 headers\n"
                                    "1 q\n1 q\n1 q\n"
                                    "1 end\n");
    respond(&s, 1, &in);
    exchange(&c, &s);
    assert_non_null(strstr(log_of(&c), " :status=200\n"));
    assert_non_null(strstr(log_of(&c), " r\n"));
    assert_non_null(strstr(log_of(&c), " grpc-status=0\n"));
    assert_non_null(strstr(log_of(&c), " closed 0\n"));
    assert_non_null(strstr(log_of(&s), "1 closed 0\n"));
    assert_true(tfd_h2_greeted(c.h2) && tfd_h2_greeted(s.h2));
    assert_false(tfd_h2_done(c.h2) || tfd_h2_done(s.h2));
    close_end(&c);
    close_end(&s);
}

/* What a client session sends for three requests. */
static void record(struct tfd_bytes *wire)
{
    struct end c;
    struct body b[3];

    open_end(&c, TFD_H2_CLIENT);
    for (int i = 0; i < 3; i++) {
        b[i] = body_of(&c, (char)('a' + i), (uint64_t)(i * 7 + 1));
        request(&c, &b[i]);
    }
    tfd_h2_pump(c.h2);
    tfd_bytes_add(wire, c.out.data, c.out.size);
    close_end(&c);
}

static void test_a_stream_survives_any_cut(void **state)
{
    struct tfd_bytes wire;
    struct end whole;

    (void)state;
    tfd_bytes_init(&wire, 1 << 20);
    record(&wire);
    open_end(&whole, TFD_H2_SERVER);
    assert_int_equal(feed(&whole, wire.data, wire.size), TFD_OK);
    assert_int_equal(whole.ended, 3);
    for (size_t cut = 0; cut <= wire.size; cut++) {
        struct end s;

        open_end(&s, TFD_H2_SERVER);
        assert_int_equal(feed(&s, wire.data, cut), TFD_OK);
        assert_int_equal(feed(&s, wire.data + cut, wire.size - cut), TFD_OK);
        assert_string_equal(log_of(&s), log_of(&whole));
        close_end(&s);
    }
    close_end(&whole);
    tfd_bytes_deinit(&wire);
}

static void test_a_stream_survives_single_bytes(void **state)
{
    struct tfd_bytes wire;
    struct end s;

    (void)state;
    tfd_bytes_init(&wire, 1 << 20);
    record(&wire);
    open_end(&s, TFD_H2_SERVER);
    for (size_t i = 0; i < wire.size; i++)
        assert_int_equal(feed(&s, wire.data + i, 1), TFD_OK);
    assert_int_equal(s.ended, 3);
    close_end(&s);
    tfd_bytes_deinit(&wire);
}

static void test_damaged_streams_never_crash(void **state)
{
    struct tfd_bytes wire;

    (void)state;
    tfd_bytes_init(&wire, 1 << 20);
    record(&wire);
    for (size_t i = 0; i < wire.size; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct end s;

            open_end(&s, TFD_H2_SERVER);
            wire.data[i] = (char)(wire.data[i] ^ (1 << bit));
            (void)!feed(&s, wire.data, wire.size);
            wire.data[i] = (char)(wire.data[i] ^ (1 << bit));
            close_end(&s);
        }
    tfd_bytes_deinit(&wire);
}

static void test_a_thousand_streams_may_wait(void **state)
{
    enum { N = 1500 };
    static struct body out[N], in[N];
    struct end c, s;

    (void)state;
    open_end(&c, TFD_H2_CLIENT);
    open_end(&s, TFD_H2_SERVER);
    c.quiet = s.quiet = true;
    for (int i = 0; i < N; i++) {
        out[i] = body_of(&c, 'q', 10);
        request(&c, &out[i]);
    }
    tfd_h2_pump(c.h2);
    exchange(&c, &s);
    assert_int_equal(s.ended, N);
    assert_int_equal(s.closed, 0);
    for (int i = N - 1; i >= 0; i--) {
        in[i] = body_of(&s, 'r', 10);
        respond(&s, 2 * i + 1, &in[i]);
    }
    exchange(&c, &s);
    assert_int_equal(c.ended, N);
    assert_int_equal(c.closed, N);
    assert_int_equal(s.closed, N);
    close_end(&c);
    close_end(&s);
}

static void test_streams_past_the_limit_are_refused(void **state)
{
    struct end s;
    struct seen_frame f;
    uint32_t id = 1;

    (void)state;
    open_server(&s);
    s.quiet = true;
    put_frame(&s.in, F_SETTINGS, FLAG_ACK, 0, NULL, 0);
    for (int i = 0; i < TFD_STREAMS_PER_CONNECTION_MAX; i++, id += 2)
        put_request(&s.in, id, FLAG_NONE, "/a");
    feed_in(&s);
    assert_int_equal(s.begun, TFD_STREAMS_PER_CONNECTION_MAX);
    assert_false(find_frame(tfd_bytes_view(&s.out), F_RST_STREAM, 0, &f));
    put_request(&s.in, id, FLAG_NONE, "/a");
    feed_in(&s);
    assert_int_equal(s.begun, TFD_STREAMS_PER_CONNECTION_MAX);
    assert_true(tfd_h2_done(s.h2) ||
                find_frame(tfd_bytes_view(&s.out), F_RST_STREAM, 0, &f));
    close_end(&s);
}

/* ---- Ends ---------------------------------------------------------------- */

static void test_an_early_answer_tells_the_peer_to_stop(void **state)
{
    struct end s;
    struct seen_frame f;

    (void)state;
    open_server(&s);
    put_request(&s.in, 1, FLAG_NONE, "/a");
    feed_in(&s);
    respond(&s, 1, NULL);
    assert_true(find_frame(tfd_bytes_view(&s.out), F_HEADERS, 0, &f));
    assert_true(f.flags & FLAG_END_STREAM);
    assert_true(find_frame(tfd_bytes_view(&s.out), F_RST_STREAM, 0, &f));
    assert_int_equal(get_u32(f.payload), TFD_H2_NO_ERROR);
    put_frame(&s.in, F_DATA, FLAG_END_STREAM, 1, "late", 4);
    assert_int_equal(feed_in(&s), TFD_OK);
    assert_false(tfd_h2_done(s.h2));
    assert_int_equal(s.data, 0);
    close_end(&s);
}

static void test_a_refused_stream_is_reset(void **state)
{
    struct end s;
    struct seen_frame f;

    (void)state;
    open_server(&s);
    s.refuse = true;
    put_request(&s.in, 1, FLAG_NONE, "/a");
    put_frame(&s.in, F_DATA, FLAG_END_STREAM, 1, "abc", 3);
    assert_int_equal(feed_in(&s), TFD_OK);
    assert_true(find_frame(tfd_bytes_view(&s.out), F_RST_STREAM, 0, &f));
    assert_string_equal(log_of(&s), "begin 1\n");
    close_end(&s);
}

static void test_cancelled_requests_close_sent_or_not(void **state)
{
    struct end c, s;
    struct body one, two;
    int32_t first, second;

    (void)state;
    open_end(&c, TFD_H2_CLIENT);
    open_end(&s, TFD_H2_SERVER);
    one = body_of(&c, 'q', 3);
    two = body_of(&c, 'q', 3);
    first = request(&c, &one);
    tfd_h2_pump(c.h2);
    exchange(&c, &s);
    second = request(&c, &two);
    tfd_h2_reset(c.h2, second, TFD_H2_CANCEL); /* before it was sent */
    tfd_h2_reset(c.h2, first, TFD_H2_CANCEL);
    tfd_h2_pump(c.h2);
    exchange(&c, &s);
    assert_int_equal(c.closed, 2);
    assert_int_equal(s.closed, s.begun);
    assert_non_null(strstr(log_of(&s), "1 closed 8\n"));
    close_end(&c);
    close_end(&s);
}

static void test_goaway_refuses_what_the_server_never_saw(void **state)
{
    static const struct tfd_h2_header h = {{":path", 5}, {"/", 1}, false};
    struct end c;
    struct body one, two, three;
    uint8_t goaway[8] = {0, 0, 0, 1};
    int32_t id;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    open_end(&c, TFD_H2_CLIENT);
    one = body_of(&c, 'q', 3);
    two = body_of(&c, 'q', 3);
    three = body_of(&c, 'q', 3);
    request(&c, &one);
    request(&c, &two);
    tfd_h2_pump(c.h2);
    put_frame(&c.in, F_SETTINGS, FLAG_NONE, 0, NULL, 0);
    put_frame(&c.in, F_GOAWAY, FLAG_NONE, 0, goaway, sizeof(goaway));
    feed_in(&c);
    assert_int_equal(c.closed, 1); /* stream 3 */
    assert_non_null(strstr(log_of(&c), "closed 7\n"));
    assert_true(tfd_h2_closing(c.h2));
    assert_false(tfd_h2_done(c.h2));
    assert_int_equal(tfd_h2_request(c.h2, &h, 1, &three.source, &c, &id, &st),
                     TFD_UNAVAILABLE);
    put_frame_u32(&c.in, F_RST_STREAM, 1, TFD_H2_CANCEL);
    feed_in(&c);
    assert_int_equal(c.closed, 2);
    assert_true(tfd_h2_done(c.h2));
    close_end(&c);
}

static void test_terminate_says_goaway_and_is_done(void **state)
{
    struct end s;
    struct seen_frame f;

    (void)state;
    open_server(&s);
    put_request(&s.in, 1, FLAG_NONE, "/a");
    feed_in(&s);
    tfd_h2_terminate(s.h2, TFD_H2_INTERNAL_ERROR);
    tfd_h2_pump(s.h2);
    assert_true(find_frame(tfd_bytes_view(&s.out), F_GOAWAY, 0, &f));
    assert_int_equal(get_u32(f.payload + 4), TFD_H2_INTERNAL_ERROR);
    assert_true(tfd_h2_done(s.h2));
    close_end(&s);
}

static void test_a_peer_that_owes_bytes_is_known(void **state)
{
    struct end s;

    (void)state;
    open_server(&s);
    assert_true(tfd_h2_owed(s.h2));
    feed_in(&s);
    assert_false(tfd_h2_owed(s.h2));
    put_request(&s.in, 1, FLAG_NONE, "/a");
    feed(&s, s.in.data, s.in.size - 3);
    assert_true(tfd_h2_owed(s.h2));
    feed(&s, s.in.data + s.in.size - 3, 3);
    assert_false(tfd_h2_owed(s.h2));
    close_end(&s);
}

static void test_other_protocols_are_noticed(void **state)
{
    static const char *const words[] = {
        "TFD1\1\0\0\0\0\0\0\0\0\0\0\0",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "SSH-2.0-OpenSSH\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(words); i++) {
        struct end e;

        open_end(&e, TFD_H2_CLIENT);
        (void)!feed(&e, words[i], 11);
        assert_true(tfd_h2_done(e.h2));
        assert_false(tfd_h2_greeted(e.h2));
        close_end(&e);
        open_end(&e, TFD_H2_SERVER);
        assert_int_not_equal(feed(&e, words[i], 11), TFD_OK);
        assert_true(tfd_h2_done(e.h2));
        assert_int_not_equal(feed(&e, words[i], 11), TFD_OK);
        close_end(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_and_response),
        cmocka_unit_test(test_a_stream_survives_any_cut),
        cmocka_unit_test(test_a_stream_survives_single_bytes),
        cmocka_unit_test(test_damaged_streams_never_crash),
        cmocka_unit_test(test_a_thousand_streams_may_wait),
        cmocka_unit_test(test_streams_past_the_limit_are_refused),
        cmocka_unit_test(test_an_early_answer_tells_the_peer_to_stop),
        cmocka_unit_test(test_a_refused_stream_is_reset),
        cmocka_unit_test(test_cancelled_requests_close_sent_or_not),
        cmocka_unit_test(test_goaway_refuses_what_the_server_never_saw),
        cmocka_unit_test(test_terminate_says_goaway_and_is_done),
        cmocka_unit_test(test_a_peer_that_owes_bytes_is_known),
        cmocka_unit_test(test_other_protocols_are_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
