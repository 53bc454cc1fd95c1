/*
 * test_inflate_line.c - rpc/core/inflate_line.c: who is made plain when.
 */
#include "rpc/core/inflate_line.h"

#include "config/limits.h"

#include "tests/support/fake_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CALLS 32
#define SLICE_US 200

struct call {
    struct tfd_inflate_place place;
    int slices; /* to do */
    int leaves; /* number of the call that leaves in its turn; -1: none */
};

static struct {
    struct tfd_loop net;
    struct tfd_inflate_line line;
    struct call calls[CALLS];
    char peers[CALLS][8];
    char order[256]; /* of turns, a letter each */
    size_t turns;
    int active_most;
} rig;

static bool turn(struct tfd_inflate_place *p)
{
    struct call *c = (struct call *)p;

    assert_true(rig.turns < sizeof(rig.order) - 1);
    rig.order[rig.turns++] = (char)('a' + (c - rig.calls));
    rig.net.now_us += SLICE_US;
    if (rig.line.active.count + 1 > rig.active_most)
        rig.active_most = rig.line.active.count + 1;
    if (c->leaves >= 0)
        tfd_inflate_line_leave(&rig.calls[c->leaves].place);
    if (--c->slices > 0)
        return true;
    tfd_inflate_line_leave(p);
    return false;
}

static void rig_open(void)
{
    memset(&rig, 0, sizeof(rig));
    net_open(&rig.net);
    tfd_inflate_line_init(&rig.line, &rig.net);
}

static void rig_close(void)
{
    tfd_inflate_line_deinit(&rig.line);
    net_close(&rig.net);
}

static void join(int i, int peer, int slices)
{
    struct tfd_status st = TFD_STATUS_INIT;

    snprintf(rig.peers[i], sizeof(rig.peers[i]), "uid %d", peer);
    rig.calls[i] = (struct call){
        .place = {.turn = turn, .peer = rig.peers[i]},
        .slices = slices,
        .leaves = -1,
    };
    assert_int_equal(tfd_inflate_line_join(&rig.line, &rig.calls[i].place, &st),
                     TFD_OK);
}

/* Until nobody is in the line, or so many turns of the loop. */
static int run(int most)
{
    int ticks = 0;

    for (; ticks < most && rig.line.active.count + rig.line.waiting.count > 0;
         ticks++)
        net_advance(&rig.net, 1000);
    return ticks;
}

static void test_nothing_is_done_from_inside(void **state)
{
    (void)state;
    rig_open();
    join(0, 0, 1);
    assert_int_equal(rig.turns, 0);
    assert_int_equal(run(10), 1);
    assert_string_equal(rig.order, "a");
    rig_close();
}

static void test_peers_take_turns(void **state)
{
    (void)state;
    rig_open();
    join(0, 0, 3);
    join(1, 1, 2);
    join(2, 2, 1);
    run(10);
    assert_string_equal(rig.order, "abcaba");
    rig_close();
}

/* Else one peer's thousand calls would stand before everybody else's one. */
static void test_one_of_each_peer_is_active(void **state)
{
    (void)state;
    rig_open();
    join(0, 0, 4);
    join(1, 0, 1);
    join(2, 0, 1);
    join(3, 1, 2);
    run(10);
    assert_string_equal(rig.order, "adadaabc");
    assert_int_equal(rig.active_most, 2);
    rig_close();
}

static void test_so_many_have_memory(void **state)
{
    (void)state;
    rig_open();
    for (int i = 0; i < 3 * TFD_INFLATING_MAX; i++)
        join(i, i, 2);
    run(100);
    assert_int_equal(rig.turns, 6 * TFD_INFLATING_MAX);
    assert_int_equal(rig.active_most, TFD_INFLATING_MAX);
    rig_close();
}

/* A thousand microseconds of each turn of the loop, whoever is in the line. */
static void test_a_turn_of_the_loop_is_bounded(void **state)
{
    (void)state;
    rig_open();
    for (int i = 0; i < 20; i++)
        join(i, i, 10);
    net_advance(&rig.net, 1);
    assert_in_range(rig.turns, 1, 1000 / SLICE_US + 1);
    assert_true(run(1000) >= 200 * SLICE_US / 1200);
    assert_int_equal(rig.turns, 200);
    rig_close();
}

static void test_who_leaves_has_no_turn(void **state)
{
    (void)state;
    rig_open();
    join(0, 0, 1);
    join(1, 1, 1);
    join(2, 0, 1);
    tfd_inflate_line_leave(&rig.calls[1].place);
    tfd_inflate_line_leave(&rig.calls[1].place);
    run(10);
    assert_string_equal(rig.order, "ac");
    rig_close();
}

static void test_the_last_may_leave_and_come_again(void **state)
{
    (void)state;
    rig_open();
    join(0, 0, 1);
    tfd_inflate_line_leave(&rig.calls[0].place);
    assert_int_equal(rig.line.waiting.count, 0);
    join(0, 0, 1);
    join(1, 1, 1);
    tfd_inflate_line_leave(&rig.calls[1].place);
    join(2, 2, 1);
    run(10);
    assert_string_equal(rig.order, "ac");
    rig_close();
}

/* A connection that ends in the turn of one takes its others along. */
static void test_others_leave_in_a_turn(void **state)
{
    (void)state;
    rig_open();
    join(0, 0, 2);
    join(1, 1, 2);
    join(2, 2, 2);
    rig.calls[0].leaves = 1;
    run(10);
    assert_string_equal(rig.order, "acac");
    rig.turns = 0;
    join(0, 0, 1);
    rig.calls[0].leaves = 0; /* itself */
    run(10);
    assert_int_equal(rig.turns, 1);
    rig_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_done_from_inside),
        cmocka_unit_test(test_peers_take_turns),
        cmocka_unit_test(test_one_of_each_peer_is_active),
        cmocka_unit_test(test_so_many_have_memory),
        cmocka_unit_test(test_a_turn_of_the_loop_is_bounded),
        cmocka_unit_test(test_who_leaves_has_no_turn),
        cmocka_unit_test(test_the_last_may_leave_and_come_again),
        cmocka_unit_test(test_others_leave_in_a_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
