/*
 * test_conn_line.c - rpc/conn/conn_line.c: who is read at once, and who has to
 * wait for a turn.  The loop, its clock and the sockets are this file's own.
 */
#define _GNU_SOURCE 1 /* libuv's header needs POSIX threads */

#include "rpc/conn/conn_io.h"
#include "rpc/conn/loop_uv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define READ_US 50   /* of the clock, for one read */
#define LITTLE 1     /* reads: far from a slice */
#define MUCH 20      /* reads: four slices */
#define TURN_US 1250 /* a millisecond, and the slice that is under way then */
#define ENDED_TURN_US 250
#define STRANGERS_TURN_US 250
#define SECOND_US (1000 * 1000)
#define FLOODS 40

struct tfd_loop {
    struct tfd_conn_line line;
    struct tfd_post *posted;
    uint64_t now_us;
    int reads; /* of all connections */
};

struct peer {
    struct tfd_conn conn; /* first: conn_line.c's is ours */
    int waiting;          /* reads until its socket is empty */
    int reads;
    bool polled; /* for what there is to read */
    bool tells;  /* what it is for, with its first bytes */
};

static struct tfd_loop loop;
static struct peer peers[FLOODS];

/* ---- In the place of loop.c and conn_io.c -------------------------------- */

struct tfd_conn_line *tfd_loop_line(struct tfd_loop *l)
{
    return &l->line;
}

uint64_t tfd_loop_now_us(struct tfd_loop *l)
{
    return l->now_us;
}

void tfd_loop_post(struct tfd_loop *l, struct tfd_post *p)
{
    assert_null(l->posted);
    l->posted = p;
}

bool tfd_conn_read_once(struct tfd_conn *c, size_t *n)
{
    struct peer *p = (struct peer *)c;

    *n = 1000;
    if (p->tells)
        c->stranger = false; /* as tfd_conn_known() has it */
    p->waiting--;
    p->reads++;
    loop.reads++;
    loop.now_us += READ_US;
    return p->waiting > 0;
}

bool tfd_conn_discard_once(struct tfd_conn *c)
{
    size_t n;

    assert_int_equal(c->state, TFD_CONN_LINGER);
    return tfd_conn_read_once(c, &n);
}

void tfd_conn_io_poll(struct tfd_conn *c)
{
    ((struct peer *)c)->polled = !c->in_line;
}

/* ---- What happens -------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    memset(&loop, 0, sizeof(loop));
    memset(peers, 0, sizeof(peers));
    loop.now_us = 5 * SECOND_US;
    loop.line = (struct tfd_conn_line){.ending = false};
    for (int i = 0; i < FLOODS; i++) {
        peers[i].conn.loop = &loop;
        peers[i].conn.state = TFD_CONN_OPEN;
    }
    return 0;
}

/* Its socket has so many reads' worth: how many were made at once? */
static int says(struct peer *p, int reads)
{
    int before = p->reads;

    p->waiting += reads;
    tfd_conn_line_read(&p->conn);
    return p->reads - before;
}

/* What was posted to the loop: a turn of the line. */
static void turn(void)
{
    struct tfd_post *p = loop.posted;

    loop.posted = NULL;
    if (p)
        p->run(p);
}

static void turn_until_quiet(void)
{
    while (loop.posted)
        turn();
}

static void be_greedy(struct peer *p)
{
    (void)says(p, MUCH);
    turn_until_quiet();
    assert_int_equal(p->waiting, 0);
}

/* ---- Tests --------------------------------------------------------------- */

static void test_who_says_little_is_read_at_once(void **state)
{
    (void)state;
    be_greedy(&peers[1]);
    be_greedy(&peers[2]);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(says(&peers[0], LITTLE), LITTLE);
    assert_null(loop.posted);
}

static void test_a_bulk_stream_alone_is_read_at_once(void **state)
{
    (void)state;
    be_greedy(&peers[0]);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(says(&peers[0], LITTLE), LITTLE);
        assert_null(loop.posted);
        assert_int_equal(says(&peers[1], LITTLE), LITTLE);
        be_greedy(&peers[0]);
    }
}

static void test_a_slice_of_it_is_bounded_nevertheless(void **state)
{
    (void)state;
    be_greedy(&peers[0]);
    assert_true(says(&peers[0], MUCH) < MUCH);
    assert_non_null(loop.posted);
    assert_non_null(peers[0].conn.in_line);
    assert_int_equal(says(&peers[0], LITTLE), 0); /* when it has its turn */
    turn_until_quiet();
    assert_int_equal(peers[0].waiting, 0);
}

static void test_two_of_them_wait_for_their_turns(void **state)
{
    (void)state;
    be_greedy(&peers[0]);
    be_greedy(&peers[1]);
    assert_int_equal(says(&peers[0], LITTLE), 0);
    assert_int_equal(says(&peers[1], LITTLE), 0);
    turn();
    assert_int_equal(peers[0].waiting + peers[1].waiting, 0);
    assert_null(loop.posted);
    assert_int_equal(says(&peers[0], LITTLE), 0); /* still, without new cause */
    turn();
    assert_int_equal(peers[0].waiting, 0);
}

static void test_who_is_left_alone_is_read_at_once_again(void **state)
{
    (void)state;
    be_greedy(&peers[0]);
    be_greedy(&peers[1]);
    for (int i = 0; i < 4; i++) { /* one of them goes on */
        loop.now_us += SECOND_US / 4;
        be_greedy(&peers[0]);
    }
    assert_int_equal(says(&peers[0], LITTLE), LITTLE);
    be_greedy(&peers[1]); /* and the other is back */
    assert_int_equal(says(&peers[0], LITTLE), 0);
    turn_until_quiet();
}

static void test_floods_share_a_turn(void **state)
{
    (void)state;
    for (int i = 0; i < FLOODS; i++)
        be_greedy(&peers[i]);
    for (int round = 0; round < 20; round++) {
        int before = loop.reads;

        for (int i = 0; i < FLOODS; i++)
            (void)says(&peers[i], LITTLE); /* each far less than its slice */
        assert_int_equal(loop.reads, before);
        turn();
        assert_true((loop.reads - before) * READ_US <= TURN_US);
    }
    turn_until_quiet();
}

static void test_who_goes_leaves_the_line(void **state)
{
    (void)state;
    be_greedy(&peers[0]);
    be_greedy(&peers[1]);
    be_greedy(&peers[2]);
    for (int i = 0; i < 3; i++)
        assert_int_equal(says(&peers[i], LITTLE), 0);
    tfd_conn_line_leave(&peers[1].conn);
    tfd_conn_line_leave(&peers[1].conn);
    peers[1].conn.state = TFD_CONN_CLOSED;
    turn_until_quiet();
    assert_int_equal(peers[0].waiting, 0);
    assert_int_equal(peers[1].waiting, LITTLE);
    assert_int_equal(peers[2].waiting, 0);
}

/* All have been ended by us, and have so many reads' worth to throw away. */
static void linger(int reads)
{
    for (int i = 0; i < FLOODS; i++) {
        peers[i].conn.state = TFD_CONN_LINGER;
        peers[i].waiting = reads;
        tfd_conn_line_discard(&peers[i].conn);
        tfd_conn_line_discard(&peers[i].conn); /* it stands there already */
        assert_false(peers[i].polled);
    }
}

static void test_the_ended_cost_little_of_a_turn(void **state)
{
    struct peer honest = {.conn = {.loop = &loop, .state = TFD_CONN_OPEN}};

    (void)state;
    linger(MUCH);
    while (loop.posted) {
        int before = loop.reads;

        turn();
        assert_true((loop.reads - before) * READ_US <= ENDED_TURN_US);
        assert_int_equal(says(&honest, LITTLE), LITTLE);
    }
    for (int i = 0; i < FLOODS; i++) {
        assert_int_equal(peers[i].waiting, 0);
        assert_true(peers[i].polled);
    }
}

static void test_the_ended_are_read_in_turn(void **state)
{
    (void)state;
    linger(MUCH);
    for (int i = 0; i < FLOODS; i++) /* four reads a turn, at least */
        turn();
    for (int i = 0; i < FLOODS; i++)
        assert_in_range(peers[i].reads, 2, MUCH);
    turn_until_quiet();
}

static void test_an_ended_one_that_goes_is_read_no_more(void **state)
{
    (void)state;
    linger(MUCH);
    turn();
    tfd_conn_line_leave(&peers[FLOODS - 1].conn);
    peers[FLOODS - 1].conn.state = TFD_CONN_CLOSED;
    turn_until_quiet();
    assert_int_equal(peers[FLOODS - 1].waiting, MUCH);
    assert_int_equal(peers[0].waiting, 0);
}

static void test_when_the_loop_ends_the_ended_stay_polled(void **state)
{
    (void)state;
    linger(MUCH);
    loop.line.ending = true;
    turn_until_quiet();
    for (int i = 0; i < FLOODS; i++) {
        int waiting = peers[i].waiting;

        assert_true(peers[i].polled);
        tfd_conn_line_discard(&peers[i].conn);
        assert_int_equal(peers[i].waiting, waiting - 1); /* at once */
        assert_true(peers[i].polled);
    }
    assert_null(loop.posted);
}

/* ---- Strangers ----------------------------------------------------------- */

static void all_are_strangers(int reads)
{
    for (int i = 0; i < FLOODS; i++) {
        peers[i].conn.stranger = true;
        assert_int_equal(says(&peers[i], reads), 0);
        assert_int_equal(says(&peers[i], 0), 0); /* it stands there already */
        assert_false(peers[i].polled);
    }
}

static void test_strangers_share_a_turn(void **state)
{
    struct peer honest = {.conn = {.loop = &loop, .state = TFD_CONN_OPEN}};
    int turns = 0;

    (void)state;
    all_are_strangers(LITTLE);
    for (; loop.posted; turns++) {
        int before = loop.reads;

        turn();
        assert_true((loop.reads - before) * READ_US <= STRANGERS_TURN_US);
        assert_int_equal(says(&honest, LITTLE), LITTLE);
    }
    assert_in_range(turns, FLOODS / 5, FLOODS / 4);
    for (int i = 0; i < FLOODS; i++) {
        assert_int_equal(peers[i].waiting, 0);
        assert_true(peers[i].polled);
    }
}

/* One that says more than fits into a slice is read on after the others. */
static void test_strangers_are_read_in_turn(void **state)
{
    (void)state;
    all_are_strangers(MUCH);
    for (int i = 0; i < FLOODS; i++)
        turn();
    for (int i = 0; i < FLOODS; i++) {
        assert_in_range(peers[i].reads, 2, MUCH);
        assert_false(peers[i].polled);
    }
    turn_until_quiet();
    for (int i = 0; i < FLOODS; i++)
        assert_int_equal(peers[i].waiting, 0);
    assert_int_equal(says(&peers[0], LITTLE), 0); /* it is one still */
    turn_until_quiet();
}

static void test_who_tells_what_it_is_for_waits_no_more(void **state)
{
    (void)state;
    peers[0].tells = true;
    all_are_strangers(LITTLE);
    turn();
    assert_int_equal(peers[0].waiting, 0);
    assert_true(peers[0].polled);
    for (int i = 0; i < 10; i++)
        assert_int_equal(says(&peers[0], LITTLE), LITTLE);
    turn_until_quiet();
}

static void test_a_stranger_that_goes_is_read_no_more(void **state)
{
    (void)state;
    all_are_strangers(LITTLE);
    tfd_conn_line_leave(&peers[0].conn);
    tfd_conn_line_leave(&peers[FLOODS - 1].conn);
    peers[0].conn.state = peers[FLOODS - 1].conn.state = TFD_CONN_CLOSED;
    turn_until_quiet();
    assert_int_equal(peers[0].waiting, LITTLE);
    assert_int_equal(peers[1].waiting, 0);
    assert_int_equal(peers[FLOODS - 1].waiting, LITTLE);
}

static void test_a_stranger_that_is_paused_keeps_its_bytes(void **state)
{
    (void)state;
    all_are_strangers(LITTLE);
    peers[1].conn.paused = true;
    turn_until_quiet();
    assert_int_equal(peers[1].waiting, LITTLE);
    assert_null(peers[1].conn.in_line);
    assert_int_equal(peers[2].waiting, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_who_says_little_is_read_at_once, setup),
        cmocka_unit_test_setup(test_a_bulk_stream_alone_is_read_at_once, setup),
        cmocka_unit_test_setup(test_a_slice_of_it_is_bounded_nevertheless,
                               setup),
        cmocka_unit_test_setup(test_two_of_them_wait_for_their_turns, setup),
        cmocka_unit_test_setup(test_who_is_left_alone_is_read_at_once_again,
                               setup),
        cmocka_unit_test_setup(test_floods_share_a_turn, setup),
        cmocka_unit_test_setup(test_who_goes_leaves_the_line, setup),
        cmocka_unit_test_setup(test_the_ended_cost_little_of_a_turn, setup),
        cmocka_unit_test_setup(test_the_ended_are_read_in_turn, setup),
        cmocka_unit_test_setup(test_an_ended_one_that_goes_is_read_no_more,
                               setup),
        cmocka_unit_test_setup(test_when_the_loop_ends_the_ended_stay_polled,
                               setup),
        cmocka_unit_test_setup(test_strangers_share_a_turn, setup),
        cmocka_unit_test_setup(test_strangers_are_read_in_turn, setup),
        cmocka_unit_test_setup(test_who_tells_what_it_is_for_waits_no_more,
                               setup),
        cmocka_unit_test_setup(test_a_stranger_that_goes_is_read_no_more,
                               setup),
        cmocka_unit_test_setup(test_a_stranger_that_is_paused_keeps_its_bytes,
                               setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
