/*
 * test_h2_limits.c - rpc/http/h2.c, h2_in.c and h2_guard.c: peers that break
 * the protocol or use more of us than an honest one would.
 */
#include "config/limits.h"
#include "tests/support/h2_end.h"

/* ---- Limits -----------------------------------------------------------------
 */

static void test_long_headers_are_cut_and_longer_ones_end_it(void **state)
{
    struct tfd_bytes head;
    char value[121];
    struct end s;

    (void)state;
    memset(value, 'v', 120);
    value[120] = '\0';
    tfd_bytes_init(&head, 1 << 24);
    for (int n = 90; n <= 90 * 16; n *= 16) {
        open_server(&s);
        s.quiet = n > 90;
        tfd_bytes_clear(&head);
        put_request_head(&head, "/a");
        for (int i = 0; i < n; i++)
            put_header(&head, "x-long", value);
        put_frame(&s.in, F_HEADERS, 0, 1, head.data, 10);
        for (size_t at = 10; at < head.size; at += 16000) {
            bool last = head.size - at <= 16000;

            put_frame(&s.in, F_CONTINUATION, last ? FLAG_END_HEADERS : 0, 1,
                      head.data + at, last ? head.size - at : 16000);
        }
        feed_in(&s);
        assert_int_equal(tfd_h2_done(s.h2), n > 90);
        if (n == 90)
            assert_null(strstr(log_of(&s), "cut"));
        close_end(&s);
    }
    open_server(&s);
    tfd_bytes_clear(&head);
    put_request_head(&head, "/a");
    for (int i = 0; i < 110; i++)
        put_header(&head, "x-long", value);
    put_frame(&s.in, F_HEADERS, 0, 1, head.data, 10);
    put_frame(&s.in, F_CONTINUATION, FLAG_END_HEADERS, 1, head.data + 10,
              head.size - 10);
    feed_in(&s);
    assert_non_null(strstr(log_of(&s), "1 headers cut\n"));
    assert_false(tfd_h2_done(s.h2));
    close_end(&s);
    tfd_bytes_deinit(&head);
}

static void put_ping(struct tfd_bytes *b, uint32_t i)
{
    (void)i;
    put_frame(b, F_PING, FLAG_NONE, 0, "12345678", 8);
}

static void put_settings(struct tfd_bytes *b, uint32_t i)
{
    put_setting(b, 4, 65535 + i);
}

static void put_priority(struct tfd_bytes *b, uint32_t i)
{
    (void)i;
    put_frame(b, F_PRIORITY, FLAG_NONE, 1, "\0\0\0\0\17", 5);
}

static void put_empty_data(struct tfd_bytes *b, uint32_t i)
{
    (void)i;
    put_frame(b, F_DATA, FLAG_NONE, 1, NULL, 0);
}

static void put_rapid_reset(struct tfd_bytes *b, uint32_t i)
{
    put_request(b, 3 + 2 * i, FLAG_NONE, "/a");
    put_frame_u32(b, F_RST_STREAM, 3 + 2 * i, TFD_H2_CANCEL);
}

static void put_unknown(struct tfd_bytes *b, uint32_t i)
{
    put_frame(b, 200 + i % 50, FLAG_NONE, 0, "what", 4);
}

static void put_window(struct tfd_bytes *b, uint32_t i)
{
    put_frame_u32(b, F_WINDOW_UPDATE, i % 2, 1);
}

static void put_small_data(struct tfd_bytes *b, uint32_t i)
{
    (void)i;
    put_frame(b, F_DATA, FLAG_NONE, 1, "x", 1);
}

static void put_padded_data(struct tfd_bytes *b, uint32_t i)
{
    static const char padded[66] = {64};

    (void)i;
    put_frame(b, F_DATA, 8, 1, padded, sizeof(padded));
}

static void put_trailers(struct tfd_bytes *b, uint32_t i)
{
    (void)i;
    put_request(b, 1, FLAG_NONE, "/a");
}

/* What one call more allows. */
#define MORE TFD_SMALL_FRAMES_PER_STREAM

/* limit: as many are fine, one more is not.  2 streams are open at once at
 * most. */
static const struct {
    const char *name;
    void (*put)(struct tfd_bytes *b, uint32_t i);
    uint32_t limit;
} floods[] = {
    {"PING", put_ping, TFD_PINGS_MAX},
    {"SETTINGS", put_settings, TFD_SETTINGS_MAX - 1}, /* and the first */
    {"PRIORITY", put_priority, TFD_PRIORITIES_MAX},
    {"empty DATA", put_empty_data, TFD_EMPTY_DATA_MAX},
    {"unknown", put_unknown, TFD_UNKNOWN_FRAMES_MAX},
    {"WINDOW_UPDATE", put_window, TFD_WINDOW_UPDATES_MAX + MORE},
    {"small DATA", put_small_data, TFD_SMALL_DATA_MAX + MORE},
    {"padded DATA", put_padded_data, TFD_SMALL_DATA_MAX + MORE},
    {"trailers", put_trailers, TFD_TRAILERS_MAX},
    {"reset", put_rapid_reset, TFD_STREAM_RESETS_MAX + 2 * 10},
};

static void test_floods_end_the_session(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT(floods); f++) {
        struct end s;
        struct seen_frame seen;

        open_server(&s);
        s.quiet = true;
        s.now_us = 1000000000;
        put_request(&s.in, 1, FLAG_NONE, "/a");
        for (uint32_t i = 0; i < floods[f].limit; i++)
            floods[f].put(&s.in, i);
        assert_int_equal(feed_in(&s), TFD_OK);
        if (tfd_h2_done(s.h2))
            fail_msg("%s: ended below its limit", floods[f].name);
        tfd_bytes_clear(&s.out);
        floods[f].put(&s.in, floods[f].limit);
        (void)!feed_in(&s);
        if (!tfd_h2_done(s.h2))
            fail_msg("%s: not ended", floods[f].name);
        assert_true(find_frame(tfd_bytes_view(&s.out), F_GOAWAY, 0, &seen));
        assert_int_equal(get_u32(seen.payload + 4), TFD_H2_ENHANCE_YOUR_CALM);
        close_end(&s);
    }
}

static void test_the_same_spread_over_time_is_fine(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT(floods); f++) {
        struct end s;

        open_server(&s);
        s.quiet = true;
        put_request(&s.in, 1, FLAG_NONE, "/a");
        for (uint32_t i = 0; i < 3 * floods[f].limit; i++) {
            s.now_us +=
                UINT64_C(1000) * TFD_STREAM_RESETS_WINDOW_MS / floods[f].limit +
                1;
            floods[f].put(&s.in, i);
            assert_int_equal(feed_in(&s), TFD_OK);
        }
        if (tfd_h2_done(s.h2))
            fail_msg("%s: ended", floods[f].name);
        close_end(&s);
    }
}

static void test_cancelling_all_pending_calls_is_honest(void **state)
{
    enum { N = 3000 };
    struct end s;

    (void)state;
    open_server(&s);
    s.quiet = true;
    for (uint32_t i = 0; i < N; i++)
        put_request(&s.in, 2 * i + 1, FLAG_END_STREAM, "/a");
    feed_in(&s);
    s.now_us += 100 * 1000000; /* the step took longer than the window */
    for (uint32_t i = 0; i < N; i++)
        put_frame_u32(&s.in, F_RST_STREAM, 2 * i + 1, TFD_H2_CANCEL);
    assert_int_equal(feed_in(&s), TFD_OK);
    assert_false(tfd_h2_done(s.h2));
    assert_int_equal(s.closed, N);
    close_end(&s);
}

static void test_a_continuation_flood_ends_the_session(void **state)
{
    struct tfd_bytes head;
    struct end s;

    (void)state;
    tfd_bytes_init(&head, 1 << 20);
    put_request_head(&head, "/a");
    open_server(&s);
    put_frame(&s.in, F_HEADERS, 0, 1, head.data, head.size);
    for (int i = 0; i <= TFD_CONTINUATIONS_MAX; i++)
        put_frame(&s.in, F_CONTINUATION, 0, 1, NULL, 0);
    (void)!feed_in(&s);
    assert_true(tfd_h2_done(s.h2));
    assert_int_equal(s.ended, 0);
    close_end(&s);
    tfd_bytes_deinit(&head);
}

static void test_unread_acknowledgements_are_bounded(void **state)
{
    struct end s;
    int rounds = 0;

    (void)state;
    open_server(&s);
    s.quiet = true;
    s.full = true; /* the peer reads nothing */
    for (; rounds < 10000 && !tfd_h2_done(s.h2); rounds++) {
        s.now_us += 1000000;
        for (int i = 0; i < 10; i++)
            put_ping(&s.in, 0);
        (void)!feed_in(&s);
    }
    assert_true(rounds <= (TFD_PINGS_MAX + TFD_SETTINGS_MAX) / 5);
    close_end(&s);
}

/* Frames that break the protocol: GOAWAY and done, or a reset; never more. */
static void test_protocol_errors_are_survived(void **state)
{
    static const struct {
        enum frame_type type;
        uint32_t flags, id;
        const char *payload;
        size_t size;
    } bad[] = {
        {F_DATA, 0, 0, "abc", 3},             /* DATA on stream 0 */
        {F_DATA, 0, 99, "abc", 3},            /* of an idle stream */
        {F_DATA, 8, 1, "\11abc", 4},          /* padding longer than frame */
        {F_HEADERS, 4, 0, "\x82", 1},         /* HEADERS on stream 0 */
        {F_HEADERS, 4, 2, "\x82", 1},         /* even stream */
        {F_HEADERS, 4, 3, "\xff\xff\xff", 3}, /* HPACK damage */
        {F_HEADERS, 4, 3, "\x82", 1},         /* pseudo headers missing */
        {F_SETTINGS, 0, 0, "abcde", 5},       /* not a multiple of 6 */
        {F_SETTINGS, 0, 1, "", 0},
        {F_SETTINGS, 0, 0, "\0\4\xff\xff\xff\xff", 6}, /* window too large */
        {F_SETTINGS, 0, 0, "\0\5\0\0\0\1", 6},         /* frame size < 16 k */
        {F_PING, 0, 0, "1234567", 7},
        {F_PING, 0, 1, "12345678", 8},
        {F_WINDOW_UPDATE, 0, 0, "\0\0\0\0", 4},
        {F_WINDOW_UPDATE, 0, 0, "\x7f\xff\xff\xff", 4},
        {F_WINDOW_UPDATE, 0, 1, "\0\0\0", 3},
        {F_RST_STREAM, 0, 0, "\0\0\0\1", 4},
        {F_RST_STREAM, 0, 99, "\0\0\0\1", 4},
        {F_CONTINUATION, 4, 1, "", 0},
        {F_PUSH_PROMISE, 4, 1, "\0\0\0\2", 4},
        {F_GOAWAY, 0, 1, "\0\0\0\0\0\0\0\0", 8},
        {F_PRIORITY, 0, 0, "\0\0\0\0\0", 5},
        {F_PRIORITY, 0, 1, "\0\0\0\1\0", 5}, /* depends on itself */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct end s;
        struct seen_frame f;

        open_server(&s);
        put_request(&s.in, 1, FLAG_NONE, "/a");
        put_frame(&s.in, bad[i].type, bad[i].flags, bad[i].id, bad[i].payload,
                  bad[i].size);
        (void)!feed_in(&s);
        if (!find_frame(tfd_bytes_view(&s.out), F_GOAWAY, 0, &f) &&
            !find_frame(tfd_bytes_view(&s.out), F_RST_STREAM, 0, &f))
            fail_msg("bad frame %zu was accepted", i);
        close_end(&s);
    }
}

static void test_unknown_frames_and_settings_are_ignored(void **state)
{
    struct end s;
    struct seen_frame f;

    (void)state;
    open_server(&s);
    put_setting(&s.in, 0xfe03, 1); /* gRPC's allow-true-binary-metadata */
    put_setting(&s.in, 3, 0);      /* limits pushes, not requests */
    put_frame(&s.in, (enum frame_type)0x42, 0xff, 0, "what", 4);
    put_request(&s.in, 1, FLAG_END_STREAM, "/a");
    assert_int_equal(feed_in(&s), TFD_OK);
    assert_int_equal(s.ended, 1);
    assert_false(find_frame(tfd_bytes_view(&s.out), F_GOAWAY, 0, &f));
    respond(&s, 1, NULL);
    assert_int_equal(s.closed, 1);
    close_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_headers_are_cut_and_longer_ones_end_it),
        cmocka_unit_test(test_floods_end_the_session),
        cmocka_unit_test(test_the_same_spread_over_time_is_fine),
        cmocka_unit_test(test_cancelling_all_pending_calls_is_honest),
        cmocka_unit_test(test_a_continuation_flood_ends_the_session),
        cmocka_unit_test(test_unread_acknowledgements_are_bounded),
        cmocka_unit_test(test_protocol_errors_are_survived),
        cmocka_unit_test(test_unknown_frames_and_settings_are_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
