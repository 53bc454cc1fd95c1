/*
 * test_lock.c - common/thread/lock.c and common/base/clock.c: the order of
 * ranks, and waiting with a deadline.
 */
#define _GNU_SOURCE 1 /* fork() */

#include "common/base/clock.h"
#include "common/thread/lock.h"
#include "common/thread/lock_try.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct tfd_lock outer = TFD_LOCK_INIT(TFD_LOCK_STEP);
static struct tfd_lock inner = TFD_LOCK_INIT(TFD_LOCK_POOL);

static void test_locks_in_order(void **state)
{
    (void)state;
    tfd_lock(&outer);
    tfd_lock(&inner);
    assert_true(tfd_lock_held(&outer) && tfd_lock_held(&inner));
    tfd_unlock(&inner);
    assert_false(tfd_lock_held(&inner));
    tfd_unlock(&outer);
    assert_false(tfd_lock_held(&outer));
}

static void test_locks_may_be_released_in_any_order(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        tfd_lock(&outer);
        tfd_lock(&inner);
        tfd_unlock(&outer);
        assert_true(tfd_lock_held(&inner));
        tfd_unlock(&inner);
    }
}

static void *try_outer(void *arg)
{
    bool *got = arg;

    *got = tfd_lock_try(&outer);
    if (*got)
        tfd_unlock(&outer);
    return NULL;
}

static bool another_gets_outer(void)
{
    pthread_t thread;
    bool got = false;

    assert_int_equal(pthread_create(&thread, NULL, try_outer, &got), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return got;
}

static void test_who_tries_does_not_wait(void **state)
{
    (void)state;
    assert_true(tfd_lock_try(&outer));
    assert_true(tfd_lock_held(&outer));
    assert_false(another_gets_outer());
    assert_false(tfd_lock_try(&outer)); /* nor gets it twice */
    tfd_unlock(&outer);
    assert_false(tfd_lock_held(&outer));
    assert_true(another_gets_outer());
}

struct ending {
    struct tfd_deferred end;
    struct ending *next; /* ends with this one, which holds a lock then */
    int runs;
};

static void end_it(struct tfd_deferred *u)
{
    struct ending *e = (struct ending *)u;

    e->runs++;
    tfd_lock(&outer);
    if (e->next)
        tfd_lock_defer(&e->next->end);
    tfd_unlock(&outer);
}

static void test_ends_wait_for_the_last_lock(void **state)
{
    struct ending third = {{NULL, end_it}, NULL, 0};
    struct ending second = {{NULL, end_it}, &third, 0};
    struct ending first = {{NULL, end_it}, NULL, 0};

    (void)state;
    tfd_lock(&outer);
    tfd_lock(&inner);
    tfd_lock_defer(&first.end);
    tfd_lock_defer(&second.end);
    tfd_unlock(&outer);
    assert_int_equal(first.runs + second.runs, 0);
    tfd_unlock(&inner);
    assert_int_equal(first.runs, 1);
    assert_int_equal(second.runs, 1);
    assert_int_equal(third.runs, 1);
    tfd_lock_defer(&first.end);
    assert_int_equal(first.runs, 2);
}

static void lock_inside_out(void)
{
    tfd_lock(&inner);
    tfd_lock(&outer);
}

static void lock_two_of_one_rank(void)
{
    struct tfd_lock other = TFD_LOCK_INIT(TFD_LOCK_STEP);

    tfd_lock(&outer);
    tfd_lock(&other);
}

static void lock_twice(void)
{
    tfd_lock(&outer);
    tfd_lock(&outer);
}

static void unlock_what_is_free(void)
{
    tfd_unlock(&outer);
}

static void wait_without_the_lock(void)
{
    struct tfd_cond c;

    tfd_cond_init(&c);
    tfd_cond_wait(&c, &outer);
}

/* In a child with its own stderr, which the assertion writes to. */
static int signal_of(void (*misuse)(void))
{
    static const struct rlimit no_core = {0, 0};
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL); /* cmocka reports it otherwise */
        close(STDERR_FILENO);
        misuse();
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_misuse_aborts(void **state)
{
    static void (*const misuse[])(void) = {
        lock_inside_out,     lock_two_of_one_rank,  lock_twice,
        unlock_what_is_free, wait_without_the_lock,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(misuse) / sizeof(misuse[0]); i++)
        assert_int_equal(signal_of(misuse[i]), SIGABRT);
}

static void test_a_wait_ends_at_its_deadline(void **state)
{
    static const int64_t past[] = {INT64_MIN, -1, 0, 1};
    struct tfd_cond c;
    int64_t until_us = tfd_clock_now_us() + 2000;

    (void)state;
    tfd_cond_init(&c);
    tfd_lock(&outer);
    for (int i = 0; i < 4; i++)
        assert_false(tfd_cond_wait_until(&c, &outer, past[i]));
    while (tfd_cond_wait_until(&c, &outer, until_us))
        ;
    assert_true(tfd_clock_now_us() >= until_us);
    assert_true(tfd_lock_held(&outer));
    tfd_unlock(&outer);
    tfd_cond_deinit(&c);
}

struct flag {
    struct tfd_cond cond;
    bool up;
};

static void *raise_flag(void *arg)
{
    struct flag *f = arg;

    tfd_lock(&outer);
    f->up = true;
    tfd_cond_signal(&f->cond);
    tfd_unlock(&outer);
    return NULL;
}

static void test_a_signal_ends_a_wait(void **state)
{
    int64_t until_us = tfd_clock_now_us() + 30000000;
    struct flag f = {.up = false};
    pthread_t thread;

    (void)state;
    tfd_cond_init(&f.cond);
    tfd_lock(&outer);
    assert_int_equal(pthread_create(&thread, NULL, raise_flag, &f), 0);
    while (!f.up)
        assert_true(tfd_cond_wait_until(&f.cond, &outer, until_us));
    tfd_unlock(&outer);
    pthread_join(thread, NULL);
    tfd_cond_deinit(&f.cond);
}

static void test_clocks(void **state)
{
    int64_t before = tfd_clock_now_us();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t now = tfd_clock_now_us();

        assert_true(now >= before);
        before = now;
    }
    /* After this was written, in microseconds and not in another unit. */
    assert_true(tfd_clock_wall_us() > INT64_C(1700000000) * 1000000);
    assert_true(tfd_clock_wall_us() < INT64_C(17000000000) * 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_locks_in_order),
        cmocka_unit_test(test_locks_may_be_released_in_any_order),
        cmocka_unit_test(test_who_tries_does_not_wait),
        cmocka_unit_test(test_ends_wait_for_the_last_lock),
        cmocka_unit_test(test_misuse_aborts),
        cmocka_unit_test(test_a_wait_ends_at_its_deadline),
        cmocka_unit_test(test_a_signal_ends_a_wait),
        cmocka_unit_test(test_clocks),
    };

    return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
