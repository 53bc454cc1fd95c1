/*
 * test_narrow.c - kernels/vector/narrow.c against common/base/half.h: the same
 * bits many at a time, for every length around a vector's and wherever the
 * numbers lie.
 */
#include "kernels/vector/narrow.h"

#include "common/base/half.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const enum tfd_dtype types[] = {TFD_HALF, TFD_BFLOAT16};

static uint16_t rounded(enum tfd_dtype t, float x)
{
    return t == TFD_HALF ? tfd_half_from_float(x) : tfd_bfloat16_from_float(x);
}

static float widened(enum tfd_dtype t, uint16_t x)
{
    return t == TFD_HALF ? tfd_half_to_float(x) : tfd_bfloat16_to_float(x);
}

static void test_every_number_is_widened_alike(void **state)
{
    enum { COUNT = 1 << 16 };
    uint16_t *x = calloc(COUNT, sizeof(*x));
    float *y = calloc(COUNT, sizeof(*y));

    (void)state;
    assert_true(x && y);
    for (int i = 0; i < COUNT; i++)
        x[i] = (uint16_t)i;
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        tfd_narrow_widen(types[t], x, y, COUNT);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(tfd_half_float_bits(y[i]),
                             tfd_half_float_bits(widened(types[t], x[i])));
    }
    free(x);
    free(y);
}

/* A prime step through all floats: each exponent, both signs, NaNs. */
static void test_floats_are_rounded_alike(void **state)
{
    enum { COUNT = 100003 };
    float *x = calloc(COUNT, sizeof(*x));
    uint16_t *y = calloc(COUNT, sizeof(*y));

    (void)state;
    assert_true(x && y);
    for (int i = 0; i < COUNT; i++)
        x[i] = tfd_half_float_of((uint32_t)i * 42953u);
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        tfd_narrow_round(types[t], x, y, COUNT);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(y[i], rounded(types[t], x[i]));
    }
    free(x);
    free(y);
}

static void test_any_length_anywhere_and_no_further(void **state)
{
    enum { MOST = 70 };
    float x[MOST + 4], wide[MOST + 4];
    uint16_t y[MOST + 4];

    (void)state;
    for (int i = 0; i < MOST + 4; i++)
        x[i] = (float)(i * 37) / 11 - 100;
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
        for (int from = 0; from < 3; from++)
            for (int n = 0; n < MOST; n++) {
                y[from + n] = 0x1234;
                wide[from + n] = -5;
                tfd_narrow_round(types[t], x + from, y + from, n);
                tfd_narrow_widen(types[t], y + from, wide + from, n);
                assert_int_equal(y[from + n], 0x1234);
                assert_true(wide[from + n] == -5);
                for (int i = from; i < from + n; i++) {
                    assert_int_equal(y[i], rounded(types[t], x[i]));
                    assert_true(wide[i] == widened(types[t], y[i]));
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_number_is_widened_alike),
        cmocka_unit_test(test_floats_are_rounded_alike),
        cmocka_unit_test(test_any_length_anywhere_and_no_further),
    };

    return cmocka_run_group_tests_name("narrow", tests, NULL, NULL);
}
