/*
 * test_merge_sort.c - kernels/reduce/merge_sort.h beside qsort().
 */
#include "kernels/reduce/merge_sort.h"

#include "common/thread/halt.h"
#include "common/thread/pool.h"
#include "kernels/core/runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct tfd_rt {
    struct tfd_pool *pool;
};

struct tfd_pool *tfd_rt_pool(struct tfd_rt *rt)
{
    return rt->pool;
}

struct thing {
    int64_t key;
    int64_t check; /* goes along */
    char rest[24];
};

#define RUN ((INT64_C(512) << 10) / (int64_t)sizeof(struct thing))

static int stop;          /* atomic */
static int64_t stop_left; /* comparisons until it is set; 0: never */

static int compare(const void *x, const void *y)
{
    const struct thing *a = x, *b = y;

    if (stop_left > 0 &&
        __atomic_sub_fetch(&stop_left, 1, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    return a->key < b->key ? -1 : a->key > b->key;
}

static uint64_t state_of_random = 1;

static int64_t next_random(void)
{
    state_of_random = state_of_random * 6364136223846793005u + 1;
    return (int64_t)(state_of_random >> 33);
}

/* How the keys lie before they are sorted. */
static int64_t random_key(int64_t i, int64_t n)
{
    (void)i;
    (void)n;
    return next_random();
}

static int64_t few_key(int64_t i, int64_t n)
{
    (void)i;
    (void)n;
    return next_random() % 3;
}

static int64_t rising_key(int64_t i, int64_t n)
{
    (void)n;
    return i;
}

static int64_t falling_key(int64_t i, int64_t n)
{
    return n - i;
}

static int64_t grouped_key(int64_t i, int64_t n)
{
    (void)n;
    return i / 1000 * 1000 + next_random() % 1000;
}

static struct thing *make(int64_t n, int64_t (*key)(int64_t, int64_t))
{
    struct thing *t = calloc((size_t)n + 1, sizeof(*t));

    assert_non_null(t);
    for (int64_t i = 0; i < n; i++) {
        t[i].key = key(i, n);
        t[i].check = ~t[i].key;
    }
    t[n].key = 77; /* is not touched */
    return t;
}

static void check_sorted(const struct thing *t, int64_t n, int64_t sum)
{
    for (int64_t i = 0; i < n; i++) {
        assert_true(t[i].check == ~t[i].key);
        if (i > 0)
            assert_true(t[i - 1].key <= t[i].key);
        sum -= t[i].key;
    }
    assert_true(sum == 0);
    assert_true(t[n].key == 77);
}

static int64_t sum_of(const struct thing *t, int64_t n)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += t[i].key;
    return sum;
}

static void test_items_are_in_order(void **state)
{
    static const int64_t counts[] = {0,       1,       2,           3,
                                     RUN - 1, RUN,     RUN + 1,     2 * RUN,
                                     3 * RUN, 5 * RUN, 8 * RUN + 17};
    int64_t (*const keys[])(int64_t, int64_t) = {
        random_key, few_key, rising_key, falling_key, grouped_key};

    (void)state;
    for (int threads = 0; threads < 3; threads += 2) {
        struct tfd_rt rt = {threads ? tfd_pool_new(threads, NULL) : NULL};
        struct tfd_kctx k = {.rt = &rt};

        for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++)
            for (size_t j = 0; j < sizeof(keys) / sizeof(*keys); j++) {
                struct thing *t = make(counts[c], keys[j]);
                int64_t sum = sum_of(t, counts[c]);

                assert_int_equal(
                    tfd_merge_sort(&k, t, counts[c], sizeof(*t), compare, NULL),
                    TFD_OK);
                check_sorted(t, counts[c], sum);
                free(t);
            }
        tfd_pool_free(rt.pool);
    }
}

/* ---- Told to stop -------------------------------------------------------- */

static void check_stop(int64_t after)
{
    const int64_t n = 20 * RUN;
    struct thing *t = make(n, random_key);
    struct tfd_rt rt = {NULL};
    struct tfd_kctx k = {.rt = &rt};
    int64_t sum = sum_of(t, n);

    stop = 0;
    stop_left = after;
    tfd_halt_at(&stop);
    assert_int_equal(tfd_merge_sort(&k, t, n, sizeof(*t), compare, NULL),
                     TFD_CANCELLED);
    tfd_halt_at(NULL);
    stop_left = 0;
    for (int64_t i = 0; i < n; i++) /* nothing is lost */
        sum -= t[i].key;
    assert_true(sum == 0);
    free(t);
}

static void test_it_ends_while_runs_are_sorted(void **state)
{
    (void)state;
    check_stop(1);
    check_stop(3 * RUN);
}

static void test_it_ends_while_runs_are_merged(void **state)
{
    (void)state;
    check_stop(20 * RUN * 15);
}

static void test_who_is_told_before_does_nothing(void **state)
{
    struct thing *t = make(2 * RUN, falling_key);
    struct tfd_rt rt = {NULL};
    struct tfd_kctx k = {.rt = &rt};

    (void)state;
    stop = 1;
    tfd_halt_at(&stop);
    assert_int_equal(tfd_merge_sort(&k, t, 2 * RUN, sizeof(*t), compare, NULL),
                     TFD_CANCELLED);
    tfd_halt_at(NULL);
    assert_true(t[0].key == 2 * RUN);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items_are_in_order),
        cmocka_unit_test(test_it_ends_while_runs_are_sorted),
        cmocka_unit_test(test_it_ends_while_runs_are_merged),
        cmocka_unit_test(test_who_is_told_before_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
