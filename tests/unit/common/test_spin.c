/* Tests of common/thread/spin.c and common/thread/event.c. */
#include "common/thread/event.h"
#include "common/thread/spin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define LIMIT_US 50
#define SHORT_NS 1000
#define LONG_NS (INT64_C(1) << 40)

static int64_t turns_until_sleep(struct tfd_spin *s)
{
    int64_t turns = 0;

    tfd_spin_begin(s);
    while (tfd_spin_again(s))
        turns++;
    return turns;
}

static void test_a_place_without_a_limit_never_spins(void **state)
{
    struct tfd_spin zero = {0}, never;

    (void)state;
    tfd_spin_init(&never, 0);
    for (int i = 0; i < 100; i++) {
        tfd_spin_learn(&zero, SHORT_NS);
        tfd_spin_learn(&never, SHORT_NS);
        tfd_spin_end(&never);
    }
    assert_false(tfd_spin_pays(&zero));
    assert_false(tfd_spin_pays(&never));
    assert_int_equal(turns_until_sleep(&zero), 0);
    assert_int_equal(turns_until_sleep(&never), 0);
}

static void test_spinning_begins_after_short_waits(void **state)
{
    struct tfd_spin s;

    (void)state;
    tfd_spin_init(&s, LIMIT_US);
    assert_int_equal(turns_until_sleep(&s), 0);
    tfd_spin_learn(&s, SHORT_NS);
    assert_false(tfd_spin_pays(&s));
    tfd_spin_learn(&s, SHORT_NS);
    assert_true(tfd_spin_pays(&s));
}

static void test_spinning_ends_with_waits_that_were_long(void **state)
{
    struct tfd_spin s;

    (void)state;
    tfd_spin_init(&s, LIMIT_US);
    for (int i = 0; i < 1000000; i++)
        tfd_spin_learn(&s, SHORT_NS);
    for (int i = 0; i < 3; i++)
        tfd_spin_learn(&s, LONG_NS);
    assert_false(tfd_spin_pays(&s));
    tfd_spin_learn(&s, LONG_NS);
    assert_false(tfd_spin_pays(&s));
}

/* Whatever else the machine does: by the limit or because another thread took
 * the processor. */
static void test_a_wait_that_nobody_ends_goes_to_sleep(void **state)
{
    struct tfd_spin s;

    (void)state;
    tfd_spin_init_eager(&s, LIMIT_US);
    assert_true(tfd_spin_pays(&s));
    assert_true(turns_until_sleep(&s) > 0);
    assert_true(tfd_spin_elapsed_ns(&s) > 0);
}

static void test_a_thread_rests_after_it_lost_the_processor(void **state)
{
    struct tfd_spin s;

    (void)state;
    tfd_spin_init_eager(&s, LIMIT_US);
    tfd_spin_begin(&s);
    s.rest_until_ns = s.began_ns + 1;
    assert_false(tfd_spin_again(&s));
    s.rest_until_ns = s.began_ns;
    assert_true(tfd_spin_again(&s));
    s.seen_ns -= LONG_NS / 1000; /* it was gone for a second */
    while (tfd_spin_again(&s))
        ;
    assert_true(s.rest_until_ns > s.began_ns + LONG_NS / 1000);
    assert_int_equal(turns_until_sleep(&s), 0);
    assert_true(tfd_spin_pays(&s)); /* and not for ever */
}

/* ---- Events -------------------------------------------------------------- */

#define ROUNDS 2000

struct pair {
    struct tfd_event *ping, *pong;
};

static void *answer(void *arg)
{
    struct pair *p = arg;

    for (int i = 0; i < ROUNDS; i++) {
        tfd_event_wait(&p->ping[i], i % 2 ? LIMIT_US : 0);
        tfd_event_set(&p->pong[i]);
    }
    return NULL;
}

static void play(int64_t spin_us)
{
    struct pair p = {calloc(ROUNDS, sizeof(*p.ping)),
                     calloc(ROUNDS, sizeof(*p.pong))};
    pthread_t other;

    for (int i = 0; i < ROUNDS; i++) {
        tfd_event_init(&p.ping[i], TFD_LOCK_SERVER);
        tfd_event_init(&p.pong[i], TFD_LOCK_SERVER);
    }
    assert_int_equal(pthread_create(&other, NULL, answer, &p), 0);
    for (int i = 0; i < ROUNDS; i++) {
        tfd_event_set(&p.ping[i]);
        tfd_event_wait(&p.pong[i], spin_us);
        tfd_event_deinit(&p.pong[i]); /* nobody touches it any more */
    }
    pthread_join(other, NULL);
    for (int i = 0; i < ROUNDS; i++)
        tfd_event_deinit(&p.ping[i]);
    free(p.ping);
    free(p.pong);
}

static void test_an_event_ends_the_wait_of_another_thread(void **state)
{
    (void)state;
    play(0);
    play(LIMIT_US);
}

static void test_an_event_that_is_set_is_not_waited_for(void **state)
{
    struct tfd_event e;

    (void)state;
    tfd_event_init(&e, TFD_LOCK_SERVER);
    tfd_event_set(&e);
    tfd_event_wait(&e, 0);
    tfd_event_wait(&e, LIMIT_US);
    tfd_event_deinit(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_place_without_a_limit_never_spins),
        cmocka_unit_test(test_spinning_begins_after_short_waits),
        cmocka_unit_test(test_spinning_ends_with_waits_that_were_long),
        cmocka_unit_test(test_a_wait_that_nobody_ends_goes_to_sleep),
        cmocka_unit_test(test_a_thread_rests_after_it_lost_the_processor),
        cmocka_unit_test(test_an_event_ends_the_wait_of_another_thread),
        cmocka_unit_test(test_an_event_that_is_set_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
