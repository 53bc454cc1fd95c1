/*
 * test_alarm.c - daemon/worker/state/alarm.c: when alarms ring, and that each
 * does once, whoever is first.
 */
#define _DEFAULT_SOURCE 1 /* clock_gettime() */

#include "daemon/worker/state/containers.h"

#include "common/base/container.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/moved_clock.h"

#define MINUTE_US (INT64_C(60) * 1000 * 1000)

struct bell {
    struct tfd_alarm alarm;
    int rung, again; /* how often it is set again when it rings */
    int64_t next_us;
};

static struct tfd_rt rt;

static int begin(void **state)
{
    (void)state;
    rt.loop = tfd_loop_new(NULL);
    return rt.loop ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    tfd_loop_free(rt.loop);
    return 0;
}

static void set(struct bell *b, int64_t delay_us)
{
    assert_int_equal(tfd_rt_alarm(&rt, &b->alarm, delay_us, NULL), TFD_OK);
}

static void ring(struct tfd_alarm *a)
{
    struct bell *b = TFD_CONTAINER_OF(a, struct bell, alarm);

    b->rung++;
    if (b->again-- > 0)
        set(b, b->next_us);
}

#define BELL             \
    {                    \
        .alarm.fn = ring \
    }

/* ---- Time ---------------------------------------------------------------- */

static void it_rings_when_its_time_has_come(void **state)
{
    struct bell b = BELL;

    (void)state;
    set(&b, 2 * MINUTE_US);
    tfd_loop_settle(rt.loop);
    clock_move(rt.loop, MINUTE_US);
    assert_int_equal(b.rung, 0);
    clock_move(rt.loop, MINUTE_US);
    assert_int_equal(b.rung, 1);
    clock_move(rt.loop, 10 * MINUTE_US);
    assert_int_equal(b.rung, 1);
}

static void no_time_and_less_are_soon(void **state)
{
    static const int64_t soon[] = {0, -1, INT64_MIN};

    (void)state;
    for (size_t i = 0; i < sizeof(soon) / sizeof(soon[0]); i++) {
        struct bell b = BELL;

        set(&b, soon[i]);
        assert_int_equal(b.rung, 0); /* the loop rings, not the caller */
        tfd_loop_settle(rt.loop);
        assert_int_equal(b.rung, 1);
    }
}

static void they_ring_in_the_order_of_their_times(void **state)
{
    struct bell late = BELL, early = BELL;

    (void)state;
    set(&late, 3 * MINUTE_US);
    set(&early, MINUTE_US);
    tfd_loop_settle(rt.loop);
    clock_move(rt.loop, 2 * MINUTE_US);
    assert_int_equal(early.rung, 1);
    assert_int_equal(late.rung, 0);
    clock_move(rt.loop, 2 * MINUTE_US);
    assert_int_equal(late.rung, 1);
}

static void one_that_is_set_again_rings_again(void **state)
{
    struct bell b = {.alarm.fn = ring, .again = 2, .next_us = MINUTE_US};

    (void)state;
    set(&b, 0);
    tfd_loop_settle(rt.loop);
    assert_int_equal(b.rung, 1);
    clock_move(rt.loop, MINUTE_US);
    tfd_loop_settle(rt.loop);
    assert_int_equal(b.rung, 2);
    clock_move(rt.loop, MINUTE_US);
    tfd_loop_settle(rt.loop);
    assert_int_equal(b.rung, 3);
    clock_move(rt.loop, 10 * MINUTE_US);
    assert_int_equal(b.rung, 3);
}

/* ---- Haste --------------------------------------------------------------- */

static void one_in_a_hurry_rings_before_its_time_and_once(void **state)
{
    struct bell b = BELL;

    (void)state;
    set(&b, MINUTE_US);
    tfd_loop_settle(rt.loop);
    tfd_alarm_ring_now(&b.alarm);
    assert_int_equal(b.rung, 0);
    tfd_loop_settle(rt.loop);
    assert_int_equal(b.rung, 1);
    clock_move(rt.loop, 2 * MINUTE_US);
    assert_int_equal(b.rung, 1);
}

static void a_hurry_before_the_loop_knows_of_it_is_kept(void **state)
{
    struct bell b = BELL;

    (void)state;
    set(&b, MINUTE_US);
    tfd_alarm_ring_now(&b.alarm);
    tfd_alarm_ring_now(&b.alarm);
    tfd_loop_settle(rt.loop);
    assert_int_equal(b.rung, 1);
    clock_move(rt.loop, 2 * MINUTE_US);
    assert_int_equal(b.rung, 1);
}

static void one_at_the_end_of_time_waits_for_its_hurry(void **state)
{
    struct bell b = BELL;

    (void)state;
    set(&b, INT64_MAX);
    tfd_loop_settle(rt.loop);
    clock_move(rt.loop, 1000 * MINUTE_US);
    assert_int_equal(b.rung, 0);
    tfd_alarm_ring_now(&b.alarm);
    tfd_loop_settle(rt.loop);
    assert_int_equal(b.rung, 1);
}

static void *hurry(void *arg)
{
    tfd_alarm_ring_now(&((struct bell *)arg)->alarm);
    return NULL;
}

static void threads_that_hurry_at_once_ring_once(void **state)
{
    pthread_t threads[8];

    (void)state;
    for (int turn = 0; turn < 50; turn++) {
        struct bell b = BELL;

        set(&b, turn % 2 ? MINUTE_US : 0);
        for (int i = 0; i < 8; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, hurry, &b), 0);
        for (int i = 0; i < 8; i++)
            pthread_join(threads[i], NULL);
        tfd_loop_settle(rt.loop);
        assert_int_equal(b.rung, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_rings_when_its_time_has_come),
        cmocka_unit_test(no_time_and_less_are_soon),
        cmocka_unit_test(they_ring_in_the_order_of_their_times),
        cmocka_unit_test(one_that_is_set_again_rings_again),
        cmocka_unit_test(one_in_a_hurry_rings_before_its_time_and_once),
        cmocka_unit_test(a_hurry_before_the_loop_knows_of_it_is_kept),
        cmocka_unit_test(one_at_the_end_of_time_waits_for_its_hurry),
        cmocka_unit_test(threads_that_hurry_at_once_ring_once),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
