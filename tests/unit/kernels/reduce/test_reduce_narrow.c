/*
 * test_reduce_narrow.c - reducers of half, bfloat16 and bool against one
 * element at a time: every length around vectors and blocks, wherever the input
 * begins, rows, columns and slabs; the extreme, NaN and infinities at every
 * place, and one bool that differs.
 */
#include "kernels/reduce/reduce_bools.h"
#include "kernels/reduce/reduce_halves.h"

#include "common/base/half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 32768
#define OUTPUTS 64

enum op { SUM, MEAN, MAX, MIN, OPS };

static const char *const names[] = {"Sum", "Mean", "Max", "Min"};

#define ROW(name)                                          \
    {                                                      \
        &tfd_reduce_sum_##name, &tfd_reduce_mean_##name,   \
            &tfd_reduce_max_##name, &tfd_reduce_min_##name \
    }
static const struct tfd_reducer *const reducers[2][OPS] = {ROW(HALF),
                                                           ROW(BFLOAT16)};

static _Alignas(64) uint16_t narrow[2][ROOM];
static _Alignas(64) tfd_bool bools[ROOM];

static void put(int i, float value)
{
    narrow[0][i] = tfd_half_from_float(value);
    narrow[1][i] = tfd_bfloat16_from_float(value);
}

static double value_of(int type, uint16_t bits)
{
    return (double)(type ? tfd_bfloat16_to_float(bits)
                         : tfd_half_to_float(bits));
}

/* Small whole numbers, of which every sum is exact before it is rounded. */
static void fill(void)
{
    uint32_t seed = 7;

    for (int i = 0; i < ROOM; i++) {
        seed = seed * 1664525 + 1013904223;
        put(i, (float)((int)(seed >> 24) % 9 - 4));
    }
}

static double reference(enum op op, int type, const uint16_t *x, int64_t n,
                        int64_t stride)
{
    double acc = op == MAX ? -INFINITY : op == MIN ? INFINITY : 0;

    for (int64_t i = 0; i < n; i++) {
        const double v = value_of(type, x[i * stride]);

        if (op == SUM || op == MEAN)
            acc += v;
        else if (isnan(v) || isnan(acc))
            acc = NAN;
        else
            acc = (op == MAX ? v > acc : v < acc) ? v : acc;
    }
    acc = op == MEAN ? acc / (double)n : acc;
    return (double)(type ? tfd_bfloat16_to_float(
                               tfd_bfloat16_from_float((float)acc))
                         : tfd_half_to_float(tfd_half_from_float((float)acc)));
}

/* Dimension 1 of [outer, n, width], from element `offset` on. */
static void check(enum op op, int type, int64_t outer, int64_t n, int64_t width,
                  int offset)
{
    const struct tfd_shape shape = {.rank = 3, .dim = {outer, n, width}};
    const bool reduced[TFD_RANK_MAX] = {false, true, false};
    struct tfd_kctx k = {.rt = NULL};
    uint16_t y[OUTPUTS];

    assert_true(outer * n * width + offset <= ROOM);
    assert_true(outer * width <= OUTPUTS);
    tfd_reduce_view(&k, reducers[type][op], &shape, reduced, sizeof(uint16_t),
                    narrow[type] + offset, y);
    for (int64_t i = 0; i < outer * width; i++) {
        const uint16_t *x =
            narrow[type] + offset + i / width * n * width + i % width;
        const double want = reference(op, type, x, n, width);
        const double have = value_of(type, y[i]);

        if (isnan(want) ? !isnan(have) : have != want)
            fail_msg("%s of %s[%d, %d, %d] from %d, output %d: %.9g, not %.9g",
                     names[op], type ? "bfloat16" : "half", (int)outer, (int)n,
                     (int)width, offset, (int)i, have, want);
    }
}

static void check_shapes(enum op op, int64_t n, int offset)
{
    for (int type = 0; type < 2; type++) {
        check(op, type, 1, n, 1, offset);
        check(op, type, 3, n, 1, offset);
        check(op, type, 1, n, 5, offset);
        check(op, type, 2, n, 3, offset);
        if (n < 120)
            check(op, type, 2, n, 31, offset);
    }
}

static void test_every_length_and_place(void **state)
{
    (void)state;
    fill();
    for (int op = 0; op < OPS; op++)
        for (int64_t n = 1; n < 140; n++)
            for (int offset = 0; offset < 5; offset += 1 + (n > 40))
                check_shapes((enum op)op, n, offset);
}

static void test_lengths_around_blocks(void **state)
{
    static const int64_t lengths[] = {255,  256,  257,  1023, 1024, 1025,
                                      1087, 2047, 2048, 2049, 2111, 5000};

    (void)state;
    fill();
    for (int op = 0; op < OPS; op++)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
            for (int offset = 0; offset < 2; offset++)
                check_shapes((enum op)op, lengths[i], offset);
}

static void test_what_is_special_is_seen_wherever_it_is(void **state)
{
    static const int64_t lengths[] = {1, 2, 3, 7, 8, 16, 33, 64, 71};
    static const float special[] = {NAN, -NAN, INFINITY, -INFINITY, 77, -77};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        for (int64_t at = 0; at < lengths[i]; at++)
            for (size_t s = 0; s < sizeof(special) / sizeof(special[0]); s++) {
                fill();
                put((int)at, special[s]);
                for (int op = 0; op < OPS; op++)
                    check_shapes((enum op)op, lengths[i], 0);
            }
}

/* Of the two zeros the negative one is the smaller. */
static void test_zeros(void **state)
{
    const struct tfd_shape shape = {.rank = 2, .dim = {1, 40}};
    const bool reduced[TFD_RANK_MAX] = {false, true};
    struct tfd_kctx k = {.rt = NULL};
    uint16_t y;

    (void)state;
    for (int type = 0; type < 2; type++)
        for (int at = 0; at < 40; at++) {
            memset(narrow[type], 0, 80);
            narrow[type][at] = 0x8000;
            tfd_reduce_view(&k, reducers[type][MAX], &shape, reduced, 2,
                            narrow[type], &y);
            assert_int_equal(y, 0);
            tfd_reduce_view(&k, reducers[type][MIN], &shape, reduced, 2,
                            narrow[type], &y);
            assert_int_equal(y, 0x8000);
        }
}

/* ---- Bools --------------------------------------------------------------- */

/* Row or column 1 of three has one bool that differs, if `at` is in it. */
static void check_bools(int any, int64_t n, int64_t at, bool columns)
{
    const struct tfd_shape shape = {.rank = 2,
                                    .dim = {columns ? n : 3, columns ? 3 : n}};
    const bool reduced[TFD_RANK_MAX] = {columns, !columns};
    struct tfd_kctx k = {.rt = NULL};
    tfd_bool *x = bools + at % 7, y[3];

    assert_true(3 * n + 7 <= ROOM);
    memset(bools, !any, sizeof(bools));
    if (at < n)
        x[columns ? at * 3 + 1 : n + at] = (tfd_bool)any;
    /* What lies behind is not theirs. */
    x[3 * n] = (tfd_bool)any;
    tfd_reduce_view(&k, any ? &tfd_reduce_any : &tfd_reduce_all, &shape,
                    reduced, 1, x, y);
    for (int i = 0; i < 3; i++)
        if (y[i] != (i == 1 && at < n ? any : !any))
            fail_msg("%s of %d in %s, one at %d: output %d is %d",
                     any ? "Any" : "All", (int)n, columns ? "columns" : "rows",
                     (int)at, i, y[i]);
}

static void test_a_bool_that_differs(void **state)
{
    static const int64_t lengths[] = {31,   32,   33,   63,   64,
                                      65,   127,  128,  129,  4095,
                                      4096, 4097, 8191, 8192, 8193};

    (void)state;
    for (int any = 0; any < 2; any++) {
        for (int64_t n = 1; n < 30; n++)
            for (int64_t at = 0; at <= n; at++) {
                check_bools(any, n, at, false);
                check_bools(any, n, at, true);
            }
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
            for (int64_t at = 0; at <= lengths[i]; at += 1 + lengths[i] / 37)
                check_bools(any, lengths[i], at, i % 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length_and_place),
        cmocka_unit_test(test_lengths_around_blocks),
        cmocka_unit_test(test_what_is_special_is_seen_wherever_it_is),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_a_bool_that_differs),
    };

    return cmocka_run_group_tests_name("reduce narrow", tests, NULL, NULL);
}
