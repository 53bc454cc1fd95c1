/*
 * test_own_name.c - daemon/own_name.c with answers of its own instead of
 * config/bind.c: names that come late, never, or are never answered.
 */
#define _GNU_SOURCE 1 /* kill(), pthread_kill() */
#include "daemon/own_name.h"

#include "common/base/clock.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The n-th question has this answer; after the last one the last again. */
static enum tfd_code answers[8];
static int answer_count, asked;
/* Of those three: threads that were left behind have read them. */
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t silent = PTHREAD_MUTEX_INITIALIZER; /* held: no answer */
static int told;
static int raise_when_told; /* a signal; 0: none */
static int raise_when_asked;
/* Who gets that one: the main thread, or the process and so any thread that
 * blocks no signals, such as those that OpenBLAS starts. */
static int raise_in_main;
static pthread_t main_thread;

static void raise_in_answer(int number)
{
    if (number && __atomic_load_n(&raise_in_main, __ATOMIC_RELAXED))
        pthread_kill(main_thread, number);
    else if (number)
        kill(getpid(), number);
}

enum tfd_code tfd_bind_resolve(const char *bind, const char *own, int32_t port,
                               struct tfd_bind *out, struct tfd_status *st)
{
    enum tfd_code code;
    int n;

    pthread_mutex_lock(&table);
    n = asked++;
    code = answers[n < answer_count ? n : answer_count - 1];
    pthread_mutex_unlock(&table);
    pthread_mutex_lock(&silent);
    pthread_mutex_unlock(&silent);
    raise_in_answer(__atomic_load_n(&raise_when_asked, __ATOMIC_RELAXED));
    memset(out, 0, sizeof(*out));
    snprintf(out->host, sizeof(out->host), "%.60s", bind ? bind : own);
    out->port = port;
    return code ? tfd_fail(st, code, "answer %d of %s", n, own) : TFD_OK;
}

static void waiting(void *ctx, const char *why)
{
    assert_ptr_equal(ctx, &told);
    assert_non_null(strstr(why, "answer 0 of ps-0:1"));
    told++;
    if (raise_when_told)
        kill(getpid(), raise_when_told);
}

static enum tfd_code find(int count, const enum tfd_code *codes,
                          int64_t wait_ms, struct tfd_bind *out,
                          struct tfd_status *st)
{
    pthread_mutex_lock(&table);
    memcpy(answers, codes, (size_t)count * sizeof(*codes));
    answer_count = count;
    asked = told = 0;
    pthread_mutex_unlock(&table);
    tfd_status_clear(st);
    return tfd_own_name_find(NULL, "ps-0:1", 7, wait_ms, waiting, &told, out,
                             st);
}

static void test_a_name_that_is_known_is_asked_for_once(void **state)
{
    static const enum tfd_code codes[] = {TFD_OK};
    struct tfd_status st;
    struct tfd_bind bind;

    (void)state;
    assert_int_equal(find(1, codes, 1000, &bind, &st), TFD_OK);
    assert_string_equal(bind.host, "ps-0:1");
    assert_int_equal(bind.port, 7);
    assert_int_equal(asked, 1);
    assert_int_equal(told, 0);
    assert_int_equal(tfd_own_name_find("any", "", 1, 0, NULL, NULL, &bind, &st),
                     TFD_OK);
    assert_string_equal(bind.host, "any");
}

static void test_a_name_that_comes_late_is_waited_for(void **state)
{
    static const enum tfd_code codes[] = {TFD_UNAVAILABLE, TFD_UNAVAILABLE,
                                          TFD_OK};
    static const int64_t waits[] = {60000, 0};
    struct tfd_status st;
    struct tfd_bind bind;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(find(3, codes, waits[i], &bind, &st), TFD_OK);
        assert_int_equal(st.code, TFD_OK);
        assert_int_equal(asked, 3);
        assert_int_equal(told, 1); /* however often it asks */
    }
}

static void test_other_failures_are_final(void **state)
{
    static const enum tfd_code codes[] = {TFD_UNAVAILABLE,
                                          TFD_FAILED_PRECONDITION};
    struct tfd_status st;
    struct tfd_bind bind;

    (void)state;
    assert_int_equal(find(1, codes + 1, 60000, &bind, &st),
                     TFD_FAILED_PRECONDITION);
    assert_int_equal(asked, 1);
    assert_int_equal(find(2, codes, 60000, &bind, &st),
                     TFD_FAILED_PRECONDITION);
    assert_string_equal(st.text, "answer 1 of ps-0:1");
}

static void test_the_wait_ends(void **state)
{
    static const enum tfd_code codes[] = {TFD_UNAVAILABLE};
    int64_t begun = tfd_clock_now_us();
    struct tfd_status st;
    struct tfd_bind bind;

    (void)state;
    assert_int_equal(find(1, codes, 500, &bind, &st), TFD_UNAVAILABLE);
    assert_true(tfd_clock_now_us() - begun >= 500000);
    assert_true(asked >= 2 && asked <= 4); /* 0, 100, 300 ms */
    assert_int_equal(told, 1);
    assert_non_null(strstr(st.text, "of ps-0:1"));
}

static void test_signals_end_it(void **state)
{
    static const enum tfd_code codes[] = {TFD_UNAVAILABLE};
    static const int numbers[] = {SIGTERM, SIGINT};
    struct tfd_status st;
    struct tfd_bind bind;
    struct sigaction after;

    (void)state;
    for (int i = 0; i < 2; i++) {
        raise_when_told = numbers[i];
        assert_int_equal(find(1, codes, 0, &bind, &st), TFD_CANCELLED);
        assert_non_null(strstr(st.text, i ? "SIGINT" : "SIGTERM"));
        assert_int_equal(sigaction(numbers[i], NULL, &after), 0);
        assert_ptr_equal(after.sa_handler, SIG_DFL);
    }
    raise_when_told = 0;
}

/* One that comes beside the answer is not lost. */
static void test_signals_win_over_the_answer(void **state)
{
    static const enum tfd_code codes[] = {TFD_OK};
    struct tfd_status st;
    struct tfd_bind bind;

    (void)state;
    __atomic_store_n(&raise_in_main, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&raise_when_asked, SIGTERM, __ATOMIC_RELAXED);
    for (int i = 0; i < 200; i++)
        assert_int_equal(find(1, codes, 0, &bind, &st), TFD_CANCELLED);
    __atomic_store_n(&raise_when_asked, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&raise_in_main, 0, __ATOMIC_RELAXED);
}

static int raised_again;

static void count_signal(int number)
{
    __atomic_add_fetch(&raised_again, number == SIGTERM, __ATOMIC_RELAXED);
}

static void *take_signals(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
        continue;
    return NULL;
}

/* A library's thread takes it, and may come to its handler late. */
static void test_a_signal_that_another_thread_takes_is_not_lost(void **state)
{
    static const enum tfd_code codes[] = {TFD_OK};
    struct sigaction count = {.sa_handler = count_signal}, before;
    struct tfd_bind bind;
    struct tfd_status st;
    pthread_t threads[3];
    int stop = 0;

    (void)state;
    assert_int_equal(sigaction(SIGTERM, &count, &before), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_signals, &stop),
                         0);
    __atomic_store_n(&raise_when_asked, SIGTERM, __ATOMIC_RELAXED);
    for (int i = 0; i < 200; i++) {
        __atomic_store_n(&raised_again, 0, __ATOMIC_RELAXED);
        if (find(1, codes, 0, &bind, &st) == TFD_CANCELLED)
            continue;
        while (__atomic_load_n(&raised_again, __ATOMIC_RELAXED) == 0)
            sched_yield();
    }
    __atomic_store_n(&raise_when_asked, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(sigaction(SIGTERM, &before, NULL), 0);
}

static int questions(void)
{
    int n;

    pthread_mutex_lock(&table);
    n = asked;
    pthread_mutex_unlock(&table);
    return n;
}

static void *raise_soon(void *arg)
{
    (void)arg;
    while (questions() == 0)
        sched_yield();
    kill(getpid(), SIGTERM);
    return NULL;
}

/* A name server that drops everything must stop neither the clock nor SIGTERM.
 */
static void test_silence_is_bounded(void **state)
{
    static const enum tfd_code codes[] = {TFD_OK};
    struct tfd_status st;
    struct tfd_bind bind;
    pthread_t thread;

    (void)state;
    pthread_mutex_lock(&silent);
    assert_int_equal(find(1, codes, 100, &bind, &st), TFD_UNAVAILABLE);
    assert_non_null(strstr(st.text, "did not answer for ps-0:1"));
    pthread_mutex_lock(&table);
    asked = 0;
    pthread_mutex_unlock(&table);
    assert_int_equal(pthread_create(&thread, NULL, raise_soon, NULL), 0);
    assert_int_equal(find(1, codes, 0, &bind, &st), TFD_CANCELLED);
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&silent); /* those left behind end */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_that_is_known_is_asked_for_once),
        cmocka_unit_test(test_a_name_that_comes_late_is_waited_for),
        cmocka_unit_test(test_other_failures_are_final),
        cmocka_unit_test(test_the_wait_ends),
        cmocka_unit_test(test_signals_end_it),
        cmocka_unit_test(test_signals_win_over_the_answer),
        cmocka_unit_test(test_a_signal_that_another_thread_takes_is_not_lost),
        cmocka_unit_test(test_silence_is_bounded),
    };

    main_thread = pthread_self();
    return cmocka_run_group_tests_name("own_name", tests, NULL, NULL);
}
