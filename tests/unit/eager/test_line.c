/*
 * test_line.c - daemon/eager/line.c: who has more to do than fits a turn waits,
 * and so do those who come then.
 */
#include "daemon/eager/line.h"

#include "common/base/clock.h"
#include "common/base/container.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define LONG_US 1000 /* more than a turn */

struct work {
    struct tfd_eager_waiter waiter;
    struct tfd_eager_line *line;
    int left;  /* turns of LONG_US */
    int *done; /* by all */
    int at;    /* when it was done, of all */
};

struct watch {
    struct tfd_timer timer;
    struct tfd_loop *loop;
    int turns; /* of the loop, meanwhile */
    const int *done;
    int wanted;
};

static struct tfd_eager_line line;
static struct tfd_loop *loop;

static int setup(void **state)
{
    (void)state;
    loop = tfd_loop_new(NULL);
    tfd_eager_line_init(&line, loop);
    return loop ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    tfd_loop_free(loop);
    return 0;
}

static void spend(int64_t us)
{
    const int64_t end = tfd_clock_now_us() + us;

    while (tfd_clock_now_us() < end)
        ;
}

static void go(struct tfd_eager_waiter *w)
{
    struct work *x = TFD_CONTAINER_OF(w, struct work, waiter);
    const int64_t entered = tfd_eager_line_enter();

    spend(LONG_US);
    assert_true(tfd_eager_line_over(x->line, entered));
    tfd_eager_line_leave(x->line, entered);
    if (--x->left > 0)
        tfd_eager_line_wait(x->line, w);
    else
        x->at = ++*x->done;
}

static struct work new_work(int turns, int *done)
{
    return (struct work){{.go = go}, &line, turns, done, 0};
}

static void test_short_ones_do_not_wait(void **state)
{
    int64_t entered;

    (void)state;
    assert_false(tfd_eager_line_busy(&line));
    entered = tfd_eager_line_enter();
    assert_false(tfd_eager_line_over(&line, entered));
    tfd_eager_line_leave(&line, entered);
    assert_false(tfd_eager_line_busy(&line));
    tfd_loop_settle(loop);
}

static void test_a_turn_that_is_spent_comes_back(void **state)
{
    const int64_t entered = tfd_eager_line_enter();

    (void)state;
    spend(LONG_US);
    assert_true(tfd_eager_line_over(&line, entered));
    tfd_eager_line_leave(&line, entered);
    assert_true(tfd_eager_line_busy(&line));
    tfd_loop_settle(loop); /* the next turn */
    assert_false(tfd_eager_line_busy(&line));
}

static void test_those_who_wait_go_round(void **state)
{
    int done = 0;
    struct work a = new_work(3, &done), b = new_work(1, &done);
    struct work c = new_work(2, &done);

    (void)state;
    tfd_eager_line_wait(&line, &a.waiter);
    tfd_eager_line_wait(&line, &b.waiter);
    tfd_eager_line_wait(&line, &c.waiter);
    assert_true(tfd_eager_line_busy(&line));
    assert_int_equal(done, 0);
    tfd_loop_settle(loop);
    assert_int_equal(done, 3);
    assert_int_equal(b.at, 1);
    assert_int_equal(c.at, 2);
    assert_int_equal(a.at, 3);
    assert_false(tfd_eager_line_busy(&line));
}

static void look(struct tfd_timer *t)
{
    struct watch *w = TFD_CONTAINER_OF(t, struct watch, timer);

    w->turns++;
    if (*w->done == w->wanted)
        tfd_loop_stop(w->loop);
    else
        assert_int_equal(tfd_timer_start(t, 0, NULL), TFD_OK);
}

/* Each has its piece, and the loop does other work between any two. */
static void test_others_have_their_turn_between(void **state)
{
    int done = 0;
    struct work a = new_work(40, &done), b = new_work(40, &done);
    struct watch w = {.loop = loop, .done = &done, .wanted = 2};

    (void)state;
    tfd_timer_init(&w.timer, loop, look);
    assert_int_equal(tfd_timer_start(&w.timer, 0, NULL), TFD_OK);
    tfd_eager_line_wait(&line, &a.waiter);
    tfd_eager_line_wait(&line, &b.waiter);
    tfd_loop_run(loop);
    assert_in_range(w.turns, 30, 100000);
}

static void test_at_the_end_all_go(void **state)
{
    int done = 0;
    struct work a = new_work(2, &done), b = new_work(1, &done);

    (void)state;
    tfd_eager_line_wait(&line, &a.waiter);
    tfd_eager_line_wait(&line, &b.waiter);
    tfd_eager_line_end(&line);
    assert_int_equal(done, 2);
    tfd_loop_settle(loop);
    assert_int_equal(done, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_short_ones_do_not_wait, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_turn_that_is_spent_comes_back,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_those_who_wait_go_round, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_others_have_their_turn_between,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_at_the_end_all_go, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
