/*
 * test_h2_flow.c - rpc/http/h2.c, h2_in.c: how much of a body may be under way,
 * and bodies that are read into their place.
 */
#include "config/limits.h"
#include "tests/support/h2_end.h"

/* ---- Flow control -------------------------------------------------------- */

static size_t data_sent(struct end *e)
{
    struct tfd_str s = tfd_bytes_view(&e->out);
    struct seen_frame f;
    size_t n = 0;

    while (next_frame(&s, &f))
        if (f.type == F_DATA)
            n += f.size;
    return n;
}

static void test_settings_changed_mid_stream_apply_to_live_streams(void **state)
{
    struct end s;
    struct body r;
    struct seen_frame f;

    (void)state;
    open_server(&s);
    r = body_of(&s, 'r', 60000);
    put_setting(&s.in, 4, 10); /* INITIAL_WINDOW_SIZE */
    put_request(&s.in, 1, FLAG_END_STREAM, "/a");
    feed_in(&s);
    respond(&s, 1, &r);
    assert_int_equal(data_sent(&s), 10);
    tfd_bytes_clear(&s.out);
    put_setting(&s.in, 4, 30000);
    feed_in(&s);
    assert_int_equal(data_sent(&s), 29990);
    assert_true(find_frame(tfd_bytes_view(&s.out), F_SETTINGS, 0, &f));
    assert_int_equal(f.flags, FLAG_ACK);
    put_setting(&s.in, 4, 20000); /* the window is negative now */
    feed_in(&s);
    assert_int_equal(data_sent(&s), 29990);
    put_setting(&s.in, 4, 1 << 20);
    feed_in(&s);
    assert_int_equal(data_sent(&s), 59990);
    assert_non_null(strstr(log_of(&s), "1 closed 0"));
    close_end(&s);
}

static void test_frames_become_as_large_as_the_peer_allows(void **state)
{
    struct end s;
    struct body r;
    struct seen_frame f;

    (void)state;
    open_server(&s);
    r = body_of(&s, 'r', 8 << 20);
    put_setting(&s.in, 4, 1 << 30);
    put_frame_u32(&s.in, F_WINDOW_UPDATE, 0, 20 << 20);
    put_request(&s.in, 1, FLAG_END_STREAM, "/a");
    feed_in(&s);
    s.full = true;
    respond(&s, 1, &r);
    put_setting(&s.in, 5, 4 << 20); /* MAX_FRAME_SIZE */
    feed_in(&s);
    s.full = false;
    tfd_h2_pump(s.h2);
    assert_true(find_frame(tfd_bytes_view(&s.out), F_DATA, 1, &f));
    assert_int_equal(f.size, 1 << 20);
    assert_int_equal(data_sent(&s), 8 << 20);
    close_end(&s);
}

static void test_large_bodies_flow_both_ways(void **state)
{
    struct end c, s;
    struct body out, in;
    const size_t size = 100 << 20;

    (void)state;
    open_end(&c, TFD_H2_CLIENT);
    open_end(&s, TFD_H2_SERVER);
    c.quiet = s.quiet = true;
    out = body_of(&c, 'q', size);
    in = body_of(&s, 'r', size);
    request(&c, &out);
    tfd_h2_pump(c.h2);
    exchange(&c, &s);
    assert_int_equal(s.data, size);
    respond(&s, 1, &in);
    exchange(&c, &s);
    assert_int_equal(c.data, size);
    assert_int_equal(c.closed, 1);
    close_end(&c);
    close_end(&s);
}

static void test_an_expected_message_needs_no_wait(void **state)
{
    struct end s;
    struct seen_frame f;
    uint32_t stream = 0, connection = 0;
    struct tfd_str view;

    (void)state;
    open_server(&s);
    put_frame(&s.in, F_SETTINGS, FLAG_ACK, 0, NULL, 0);
    put_request(&s.in, 1, FLAG_NONE, "/a");
    feed_in(&s);
    tfd_bytes_clear(&s.out);
    tfd_h2_expect(s.h2, 1, 100); /* fits already */
    tfd_h2_pump(s.h2);
    assert_int_equal(s.out.size, 0);
    tfd_h2_expect(s.h2, 1, 300 << 20);
    tfd_h2_expect(s.h2, 1, 5 << 20); /* never smaller again */
    tfd_h2_pump(s.h2);
    view = tfd_bytes_view(&s.out);
    while (next_frame(&view, &f)) {
        assert_int_equal(f.type, F_WINDOW_UPDATE);
        if (f.id == 1)
            stream += get_u32(f.payload);
        else
            connection += get_u32(f.payload);
    }
    assert_int_equal(stream, (300 << 20) - (64 << 20));
    assert_int_equal(connection, (300 << 20) - (256 << 20));
    tfd_h2_expect(s.h2, 1, UINT64_MAX);
    tfd_h2_expect(s.h2, 99, 1 << 30); /* no such stream */
    tfd_h2_pump(s.h2);
    close_end(&s);
}

static void test_nothing_is_produced_while_the_queue_is_full(void **state)
{
    struct end s;
    struct body r;
    struct seen_frame f;

    (void)state;
    open_server(&s);
    r = body_of(&s, 'r', 1000);
    put_request(&s.in, 1, FLAG_END_STREAM, "/a");
    feed_in(&s);
    tfd_bytes_clear(&s.out);
    s.full = true;
    put_frame(&s.in, F_PING, FLAG_NONE, 0, "12345678", 8);
    feed_in(&s);
    respond(&s, 1, &r);
    assert_int_equal(s.out.size, 0);
    s.full = false;
    tfd_h2_pump(s.h2);
    assert_int_equal(data_sent(&s), 1000);
    assert_true(find_frame(tfd_bytes_view(&s.out), F_PING, 0, &f));
    assert_int_equal(f.flags, FLAG_ACK);
    assert_memory_equal(f.payload, "12345678", 8);
    close_end(&s);
}

static void test_data_can_be_read_into_its_place(void **state)
{
    struct end s;
    void *stream;

    (void)state;
    open_server(&s);
    put_request(&s.in, 1, FLAG_NONE, "/a");
    put_frame(&s.in, F_DATA, FLAG_NONE, 1, "abcdefgh", 8);
    assert_int_equal(feed(&s, s.in.data, s.in.size - 5), TFD_OK);
    assert_int_equal(tfd_h2_data_left(s.h2, &stream), 5);
    assert_int_equal(id_of(stream), 1);
    assert_int_equal(feed(&s, "de", 2), TFD_OK);
    assert_int_equal(tfd_h2_data_left(s.h2, &stream), 3);
    assert_int_equal(feed(&s, "fgh", 3), TFD_OK);
    assert_int_equal(tfd_h2_data_left(s.h2, &stream), 0);
    assert_int_equal(s.data, 8);
    tfd_bytes_clear(&s.in);
    put_frame(&s.in, F_DATA, 8, 1, "\3abc\0\0\0", 7); /* padded: never direct */
    assert_int_equal(feed(&s, s.in.data, s.in.size - 4), TFD_OK);
    assert_int_equal(tfd_h2_data_left(s.h2, &stream), 0);
    assert_int_equal(feed(&s, s.in.data + s.in.size - 4, 4), TFD_OK);
    assert_int_equal(s.data, 11);
    close_end(&s);
}

static void test_a_reset_ends_the_reading_into_a_place(void **state)
{
    struct end s;
    void *stream;

    (void)state;
    open_server(&s);
    put_request(&s.in, 1, FLAG_NONE, "/a");
    put_frame(&s.in, F_DATA, FLAG_NONE, 1, "abcdefgh", 8);
    assert_int_equal(feed(&s, s.in.data, s.in.size - 5), TFD_OK);
    tfd_h2_reset(s.h2, 1, TFD_H2_CANCEL);
    tfd_h2_pump(s.h2);
    assert_int_equal(s.closed, 1);
    assert_int_equal(tfd_h2_data_left(s.h2, &stream), 0);
    assert_int_equal(feed(&s, "defgh", 5), TFD_OK);
    assert_int_equal(s.data, 3);
    close_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_settings_changed_mid_stream_apply_to_live_streams),
        cmocka_unit_test(test_frames_become_as_large_as_the_peer_allows),
        cmocka_unit_test(test_large_bodies_flow_both_ways),
        cmocka_unit_test(test_an_expected_message_needs_no_wait),
        cmocka_unit_test(test_nothing_is_produced_while_the_queue_is_full),
        cmocka_unit_test(test_data_can_be_read_into_its_place),
        cmocka_unit_test(test_a_reset_ends_the_reading_into_a_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
