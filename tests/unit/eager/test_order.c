/*
 * test_order.c - daemon/eager/order.c: who waits for whom.
 */
#include "daemon/eager/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

struct waiting {
    struct tfd_eager_turn turn;
    int *came;
    int at;
};

static void comes(struct tfd_eager_turn *t)
{
    struct waiting *w = (struct waiting *)t;

    w->at = ++*w->came;
}

static void test_nobody_to_wait_for(void **state)
{
    struct tfd_eager_order o = {0};
    struct waiting w = {.turn.comes = comes};

    (void)state;
    assert_false(tfd_eager_order_wait(&o, &w.turn));
}

static void test_what_came_before_is_waited_for(void **state)
{
    struct tfd_eager_order o = {0};
    struct tfd_eager_place a, b, later;
    int came = 0;
    struct waiting w = {.turn.comes = comes, .came = &came};

    (void)state;
    tfd_eager_order_enter(&o, &a);
    tfd_eager_order_enter(&o, &b);
    assert_true(tfd_eager_order_wait(&o, &w.turn));
    tfd_eager_order_enter(&o, &later);
    tfd_eager_order_leave(&o, &b); /* of another stream */
    assert_int_equal(came, 0);
    tfd_eager_order_leave(&o, &a);
    assert_int_equal(came, 1);
    tfd_eager_order_leave(&o, &later);
    assert_int_equal(came, 1);
    assert_null(o.oldest);
    assert_null(o.newest);
}

static void test_turns_come_in_their_order(void **state)
{
    struct tfd_eager_order o = {0};
    struct tfd_eager_place a, b;
    int came = 0;
    struct waiting first = {.turn.comes = comes, .came = &came};
    struct waiting second = first, third = first;

    (void)state;
    tfd_eager_order_enter(&o, &a);
    assert_true(tfd_eager_order_wait(&o, &first.turn));
    assert_true(tfd_eager_order_wait(&o, &second.turn));
    tfd_eager_order_enter(&o, &b);
    assert_true(tfd_eager_order_wait(&o, &third.turn));
    tfd_eager_order_leave(&o, &a);
    assert_int_equal(first.at, 1);
    assert_int_equal(second.at, 2);
    assert_int_equal(third.at, 0);
    tfd_eager_order_leave(&o, &b);
    assert_int_equal(third.at, 3);
}

static void test_one_that_gave_up_is_not_called(void **state)
{
    struct tfd_eager_order o = {0};
    struct tfd_eager_place a;
    int came = 0;
    struct waiting first = {.turn.comes = comes, .came = &came};
    struct waiting second = first, stranger = first;

    (void)state;
    tfd_eager_order_enter(&o, &a);
    assert_true(tfd_eager_order_wait(&o, &first.turn));
    assert_true(tfd_eager_order_wait(&o, &second.turn));
    tfd_eager_order_forget(&o, &first.turn);
    tfd_eager_order_forget(&o, &stranger.turn);
    tfd_eager_order_leave(&o, &a);
    assert_int_equal(first.at, 0);
    assert_int_equal(second.at, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_to_wait_for),
        cmocka_unit_test(test_what_came_before_is_waited_for),
        cmocka_unit_test(test_turns_come_in_their_order),
        cmocka_unit_test(test_one_that_gave_up_is_not_called),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
