/*
 * test_quickselect.c - kernels/reduce/quickselect.h against a sort: every type,
 * lengths around every lane count, many and few equal elements, what lies
 * behind the room, rows that are their own room, and NaN.
 */
#include "kernels/reduce/quickselect.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH_MAX 3000

static uint64_t seed = 1;

static uint64_t next(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 20;
}

/* The n-th of x, which is one element off any alignment; x itself as its room
 * gives the same; and the element behind the room is left as it is. */
#define DEFINE_CHECK(name, T)                                                 \
    static int order_##name(const void *a, const void *b)                     \
    {                                                                         \
        const T x = *(const T *)a, y = *(const T *)b;                         \
                                                                              \
        return (x > y) - (x < y);                                             \
    }                                                                         \
    static void check_##name(int64_t length, uint64_t range)                  \
    {                                                                         \
        static T x[LENGTH_MAX + 2], sorted[LENGTH_MAX], room[LENGTH_MAX + 2]; \
        const int64_t step = length / 7 + 1;                                  \
                                                                              \
        for (int64_t i = 0; i < length; i++)                                  \
            sorted[i] = x[1 + i] =                                            \
                (T)((int64_t)(next() % range) - (int64_t)(range / 2));        \
        qsort(sorted, (size_t)length, sizeof(T), order_##name);               \
        for (int64_t n = 0; n < length; n += n + step < length ? step : 1) {  \
            room[1 + length] = 77;                                            \
            assert_true(tfd_quickselect_##name(x + 1, length, n, room + 1) == \
                        sorted[n]);                                           \
            assert_true(room[1 + length] == 77);                              \
            memcpy(room + 1, x + 1, (size_t)length * sizeof(T));              \
            assert_true(tfd_quickselect_##name(room + 1, length, n,           \
                                               room + 1) == sorted[n]);       \
            assert_true(room[1 + length] == 77);                              \
        }                                                                     \
    }

DEFINE_CHECK(FLOAT, float)
DEFINE_CHECK(DOUBLE, double)
DEFINE_CHECK(INT32, int32_t)
DEFINE_CHECK(INT64, int64_t)

static void check_all(int64_t length)
{
    static const uint64_t ranges[] = {1, 2, 10, 1000, 1 << 23};

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        check_FLOAT(length, ranges[i]);
        check_DOUBLE(length, ranges[i]);
        check_INT32(length, ranges[i]);
        check_INT64(length, ranges[i]);
    }
}

static void test_lengths_around_every_lane_count(void **state)
{
    (void)state;
    for (int64_t length = 1; length <= 70; length++)
        check_all(length);
}

static void test_long_rows(void **state)
{
    (void)state;
    for (int64_t length = 71; length <= LENGTH_MAX; length = length * 3 / 2)
        check_all(length);
    check_all(LENGTH_MAX);
}

static void test_infinities_and_zeros_have_their_order(void **state)
{
    float x[100], kept[100];

    (void)state;
    for (int i = 0; i < 100; i++)
        x[i] = i % 4 == 0   ? INFINITY
               : i % 4 == 1 ? -INFINITY
               : i % 4 == 2 ? 0.0f
                            : -0.0f;
    assert_true(tfd_quickselect_FLOAT(x, 100, 24, kept) == -INFINITY);
    assert_true(tfd_quickselect_FLOAT(x, 100, 25, kept) == 0);
    assert_true(tfd_quickselect_FLOAT(x, 100, 74, kept) == 0);
    assert_true(tfd_quickselect_FLOAT(x, 100, 75, kept) == INFINITY);
}

static void test_rows_with_nan_come_to_an_end(void **state)
{
    double x[100], kept[101] = {0};

    (void)state;
    for (int some = 1; some < 8; some++)
        for (int64_t n = 0; n < 100; n += 11) {
            for (int i = 0; i < 100; i++)
                x[i] = i % some == 0 ? (double)NAN : (double)i;
            kept[100] = 77;
            (void)tfd_quickselect_DOUBLE(x, 100, n, kept);
            assert_true(kept[100] == 77);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths_around_every_lane_count),
        cmocka_unit_test(test_long_rows),
        cmocka_unit_test(test_infinities_and_zeros_have_their_order),
        cmocka_unit_test(test_rows_with_nan_come_to_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
