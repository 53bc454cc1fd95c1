/*
 * test_heartbeat.c - when a peer is asked for a sign of life, and given up.
 */
#include "rpc/core/heartbeat.h"

#include "tests/support/fake_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000)

static struct {
    struct tfd_loop net;
    struct tfd_conn *us, *peer;
    struct tfd_heartbeat heartbeat;
    int asked;
} rig;

static void ask(struct tfd_heartbeat *h)
{
    assert_ptr_equal(h, &rig.heartbeat);
    rig.asked++;
}

static size_t space(void *self, uint8_t **at)
{
    (void)self;
    *at = rig.net.scratch;
    return sizeof(rig.net.scratch);
}

static enum tfd_code commit(void *self, size_t n, struct tfd_status *st)
{
    (void)self;
    (void)n;
    (void)st;
    return TFD_OK;
}

static void closed(void *self, const struct tfd_status *why)
{
    (void)self;
    (void)why;
    tfd_heartbeat_stop(&rig.heartbeat);
}

static const struct tfd_conn_handler handler = {
    .space = space, .commit = commit, .closed = closed};

static void rig_open(uint64_t interval_us, uint64_t timeout_us)
{
    const struct tfd_heartbeat_options o = {interval_us, timeout_us};

    memset(&rig, 0, sizeof(rig));
    net_open(&rig.net);
    net_pair(&rig.net, &rig.us, &rig.peer);
    tfd_conn_handle(rig.us, &handler, NULL);
    tfd_conn_handle(rig.peer, &handler, NULL);
    tfd_heartbeat_start(&rig.heartbeat, rig.us, &o, ask);
}

static void rig_close(void)
{
    tfd_heartbeat_stop(&rig.heartbeat);
    assert_int_equal(rig.net.timer_count, 0);
    net_close(&rig.net);
}

static void assert_given_up(void)
{
    assert_true(rig.us->closing);
    assert_int_equal(rig.us->broken.code, TFD_UNAVAILABLE);
    assert_non_null(strstr(rig.us->broken.text, "192.0.2.1:4711"));
    assert_non_null(strstr(rig.us->broken.text, "--peer_timeout"));
}

/* ---- Silence --------------------------------------------------------------
 */

static void test_a_silent_peer_is_asked_and_given_up(void **state)
{
    (void)state;
    rig_open(2 * SECOND, 8 * SECOND);
    net_advance(&rig.net, 2 * SECOND);
    assert_int_equal(rig.asked, 0);
    net_advance(&rig.net, SECOND + 10); /* a tick late at most */
    assert_int_equal(rig.asked, 1);
    net_advance(&rig.net, 5 * SECOND - 20);
    assert_false(rig.us->closing);
    net_advance(&rig.net, SECOND + 30);
    assert_given_up();
    assert_int_equal(rig.asked, 3);
    rig_close();
}

static void test_any_sign_of_life_counts(void **state)
{
    (void)state;
    rig_open(2 * SECOND, 8 * SECOND);
    for (int i = 0; i < 100; i++) {
        net_advance(&rig.net, 7 * SECOND);
        tfd_heartbeat_heard(&rig.heartbeat);
    }
    assert_false(rig.us->closing);
    net_advance(&rig.net, 10 * SECOND);
    assert_given_up();
    rig_close();
}

static void test_who_speaks_is_not_asked(void **state)
{
    (void)state;
    rig_open(2 * SECOND, 8 * SECOND);
    for (int i = 0; i < 100; i++) {
        net_advance(&rig.net, SECOND);
        tfd_heartbeat_heard(&rig.heartbeat);
    }
    assert_int_equal(rig.asked, 0);
    rig_close();
}

/* Timers that were due while we were stopped fire once. */
static void test_our_own_absence_is_no_silence(void **state)
{
    (void)state;
    rig_open(2 * SECOND, 8 * SECOND);
    net_advance(&rig.net, 2 * SECOND);
    rig.net.now_us += 3600 * SECOND;
    net_advance(&rig.net, SECOND / 2);
    assert_false(rig.us->closing);
    tfd_heartbeat_heard(&rig.heartbeat);
    net_advance(&rig.net, 7 * SECOND);
    assert_false(rig.us->closing);
    rig_close();
}

/* ---- Exceptions -----------------------------------------------------------
 */

static void test_who_is_excused_is_asked_and_not_given_up(void **state)
{
    (void)state;
    rig_open(2 * SECOND, 8 * SECOND);
    rig.heartbeat.excused = true;
    net_advance(&rig.net, 100 * SECOND);
    assert_false(rig.us->closing);
    assert_in_range(rig.asked, 30, 60);
    rig.heartbeat.excused = false;
    net_advance(&rig.net, 10 * SECOND);
    assert_given_up();
    rig_close();
}

/* The question waits behind a megabyte that goes out slowly. */
static void test_taking_bytes_slowly_is_a_sign_of_life(void **state)
{
    static char bytes[1 << 20];

    (void)state;
    rig_open(2 * SECOND, 8 * SECOND);
    rig.us->stuck = true;
    tfd_conn_write(rig.us, bytes, sizeof(bytes));
    for (int i = 0; i < 14; i++) {
        net_advance(&rig.net, 2 * SECOND);
        rig.us->out.size -= 64 << 10; /* taken by the peer */
    }
    assert_false(rig.us->closing);
    net_advance(&rig.net, 20 * SECOND); /* no more */
    assert_given_up();
    rig_close();
}

/* Its kernel still takes our questions. */
static void test_taking_questions_is_none(void **state)
{
    (void)state;
    rig_open(2 * SECOND, 8 * SECOND);
    for (int i = 0; i < 9 && !rig.us->closing; i++) {
        tfd_conn_write(rig.us, "question", 8);
        net_advance(&rig.net, SECOND + 100);
    }
    assert_given_up();
    rig_close();
}

static void test_options_of_nothing(void **state)
{
    (void)state;
    rig_open(0, 8 * SECOND); /* no heartbeats */
    net_advance(&rig.net, 100 * SECOND);
    assert_int_equal(rig.asked, 0);
    assert_false(rig.us->closing);
    rig_close();
    rig_open(SECOND, 0); /* never given up */
    net_advance(&rig.net, 100 * SECOND);
    assert_int_equal(rig.asked, 99); /* the first second counts as heard */
    assert_false(rig.us->closing);
    rig_close();
    rig_open(100 * SECOND, SECOND); /* given up without being asked */
    net_advance(&rig.net, 2 * SECOND);
    assert_int_equal(rig.asked, 0);
    assert_given_up();
    rig_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_silent_peer_is_asked_and_given_up),
        cmocka_unit_test(test_any_sign_of_life_counts),
        cmocka_unit_test(test_who_speaks_is_not_asked),
        cmocka_unit_test(test_our_own_absence_is_no_silence),
        cmocka_unit_test(test_who_is_excused_is_asked_and_not_given_up),
        cmocka_unit_test(test_taking_bytes_slowly_is_a_sign_of_life),
        cmocka_unit_test(test_taking_questions_is_none),
        cmocka_unit_test(test_options_of_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
