/*
 * test_vector_gamma.c - vector_gamma.h against the C library's function of long
 * doubles: over all exponents of both signs, near 1 and 2, where a result has
 * lost most of its digits, and near the places left of 0 where it crosses 0.
 */
#define _DEFAULT_SOURCE /* lgammal_r() */

#include "kernels/vector/vector_gamma.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* Distance from the true value in units of the last place of a float. */
static double ulps_of(float x)
{
    const float have = tfd_vector_lgamma(x);
    int sign;
    const long double want = lgammal_r((long double)x, &sign);
    const float near = fabsf((float)want);

    if ((float)want == have)
        return 0;
    return (double)fabsl((long double)have - want) /
           (double)(nextafterf(near, INFINITY) - near);
}

static void expect_ulps(float x, double limit)
{
    const double ulps = ulps_of(x);

    if (ulps <= limit)
        return;
    print_error("lgamma(%a) is %a, %g units off\n", (double)x,
                (double)tfd_vector_lgamma(x), ulps);
    fail();
}

static void test_all_exponents(void **state)
{
    (void)state;
    for (uint32_t bits = 0x00800000; bits < 0x7b800000; bits += 9973) {
        const float x = tfd_half_float_of(bits);

        assert_false(tfd_vector_lgamma_is_rare(x));
        expect_ulps(x, 1);
        if (x < 0x1p23f)
            expect_ulps(-x, 1);
    }
}

static void test_near_one_and_two(void **state)
{
    (void)state;
    for (int i = -20000; i <= 20000; i++) {
        expect_ulps(1 + (float)i * 0x1p-24f, 1);
        expect_ulps(2 + (float)i * 0x1p-23f, 1);
        expect_ulps(1 + (float)i * 0x1p-15f, 1);
    }
    assert_true(tfd_vector_lgamma(1) == 0 && tfd_vector_lgamma(2) == 0);
}

static void test_where_it_crosses_zero(void **state)
{
    static const float zeros[] = {-2.4570248f, -2.7476827f, -3.1435809f,
                                  -3.9552943f, -4.0393610f, -4.9915447f};

    (void)state;
    for (int i = 0; i < 6; i++)
        for (int j = -5000; j <= 5000; j++)
            expect_ulps(zeros[i] + (float)j * 0x1p-22f, 1.5);
}

static void test_whole_numbers_left_of_0(void **state)
{
    (void)state;
    for (float x = -1; x > -1000; x--)
        assert_true(tfd_vector_lgamma(x) == INFINITY);
    assert_true(tfd_vector_lgamma(-0x1p23f) == INFINITY);
    assert_true(tfd_vector_lgamma(-0x1p100f) == INFINITY);
    /* The nearest number to one of them is none. */
    assert_true(tfd_vector_lgamma(nextafterf(-4096, 0)) < 0);
}

static void test_what_it_leaves_to_others(void **state)
{
    static const float rare[] = {0, -0.0f, 0x1p-127f, -0x1p-149f, 0x1p120f};

    (void)state;
    for (int i = 0; i < 5; i++)
        assert_true(tfd_vector_lgamma_is_rare(rare[i]));
    assert_true(tfd_vector_lgamma_is_rare(INFINITY));
    assert_true(tfd_vector_lgamma_is_rare(-INFINITY));
    assert_true(tfd_vector_lgamma_is_rare(NAN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_exponents),
        cmocka_unit_test(test_near_one_and_two),
        cmocka_unit_test(test_where_it_crosses_zero),
        cmocka_unit_test(test_whole_numbers_left_of_0),
        cmocka_unit_test(test_what_it_leaves_to_others),
    };

    return cmocka_run_group_tests_name("vector_gamma", tests, NULL, NULL);
}
