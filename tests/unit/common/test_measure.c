/*
 * test_measure.c - common/measure: histograms against a loop over their bounds,
 * medians against sorting.
 */
#include "common/measure/histogram.h"
#include "common/measure/recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int bucket_of(uint64_t us)
{
    int i = 0;

    while (i < TFD_HISTOGRAM_BOUNDS && us > tfd_histogram_bound_us(i))
        i++;
    return i;
}

static void assert_counted(uint64_t us)
{
    struct tfd_histogram h = {0};

    tfd_histogram_add(&h, us);
    assert_int_equal(h.counts[bucket_of(us)], 1);
    assert_int_equal(tfd_histogram_count(&h), 1);
    assert_int_equal(h.sum_us, us);
}

static void test_each_bound_and_its_neighbours(void **state)
{
    (void)state;
    assert_counted(0);
    for (int i = 0; i < TFD_HISTOGRAM_BOUNDS; i++) {
        assert_counted(tfd_histogram_bound_us(i) - 1);
        assert_counted(tfd_histogram_bound_us(i));
        assert_counted(tfd_histogram_bound_us(i) + 1);
        assert_true(i == 0 ||
                    tfd_histogram_bound_us(i) > tfd_histogram_bound_us(i - 1));
    }
    assert_counted(UINT64_MAX);
}

static void test_sums(void **state)
{
    struct tfd_histogram h = {0};
    uint64_t sum = 0, x = 1;

    (void)state;
    assert_int_equal(tfd_histogram_count(&h), 0);
    for (int i = 0; i < 10000; i++) {
        x = x * UINT64_C(6364136223846793005) + 1;
        tfd_histogram_add(&h, x >> 40);
        sum += x >> 40;
    }
    assert_int_equal(tfd_histogram_count(&h), 10000);
    assert_int_equal(h.sum_us, sum);
}

/* ---- Medians ------------------------------------------------------------- */

static void test_too_few_have_no_median(void **state)
{
    struct tfd_recent r = {0};

    (void)state;
    for (int i = 1; i < TFD_RECENT_MIN; i++) {
        tfd_recent_add(&r, 5);
        assert_int_equal(tfd_recent_median_us(&r), 0);
    }
    tfd_recent_add(&r, 5);
    assert_int_equal(tfd_recent_median_us(&r), 5);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void test_a_median_is_the_middle_of_the_last(void **state)
{
    uint32_t all[5 * TFD_RECENT_COUNT], last[TFD_RECENT_COUNT], x = 1;
    struct tfd_recent r = {0};

    (void)state;
    for (int i = 0; i < 5 * TFD_RECENT_COUNT; i++) {
        int count = i + 1 < TFD_RECENT_COUNT ? i + 1 : TFD_RECENT_COUNT;

        x = x * 1664525 + 1013904223;
        all[i] = x >> 8;
        tfd_recent_add(&r, all[i]);
        if ((i + 1) % TFD_RECENT_MIN != 0)
            continue;
        memcpy(last, all + i + 1 - count, (size_t)count * sizeof(*last));
        qsort(last, (size_t)count, sizeof(*last), by_value);
        assert_int_equal(tfd_recent_median_us(&r), last[count / 2]);
    }
}

/* One that took for ever moves the median no further than any other. */
static void test_the_longest_and_a_count_that_wraps(void **state)
{
    struct tfd_recent r = {.count = UINT32_MAX - 3};

    (void)state;
    for (int i = 0; i < 64; i++)
        tfd_recent_add(&r, i % 8 == 0 ? UINT64_MAX : 7);
    assert_int_equal(tfd_recent_median_us(&r), 7);
    assert_true(r.count < 200);
    for (int i = 0; i < TFD_RECENT_COUNT; i++)
        tfd_recent_add(&r, UINT64_MAX);
    assert_int_equal(tfd_recent_median_us(&r), UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_bound_and_its_neighbours),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_too_few_have_no_median),
        cmocka_unit_test(test_a_median_is_the_middle_of_the_last),
        cmocka_unit_test(test_the_longest_and_a_count_that_wraps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
