/*
 * test_special_functions.c - special_functions.c against identities and values
 * of tables, and with arguments that a loop could run away with.
 */
#include "kernels/math/special_functions.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect_near(double got, double want, double tolerance,
                        const char *what, double a, double b)
{
    if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
        fail_msg("%s at %.17g, %.17g: %.17g, not %.17g", what, a, b, got, want);
}

static void test_values_of_tables(void **state)
{
    const double pi = 3.14159265358979323846;

    (void)state;
    expect_near(tfd_special_digamma(1), -0.57721566490153286, 1e-15, "digamma",
                1, 0);
    expect_near(tfd_special_zeta(2, 1), pi * pi / 6, 1e-15, "zeta", 2, 1);
    expect_near(tfd_special_zeta(4, 1), pow(pi, 4) / 90, 1e-15, "zeta", 4, 1);
    expect_near(tfd_special_polygamma(1, 0.5), pi * pi / 2, 1e-14, "polygamma",
                1, 0.5);
    expect_near(tfd_special_igamma(0.5, 2), erf(sqrt(2)), 1e-15, "igamma", 0.5,
                2);
    /* As many as TensorFlow's fraction comes to where both are equal. */
    expect_near(tfd_special_igammac(1, 1), exp(-1), 1e-15, "igammac", 1, 1);
    expect_near(tfd_special_igammac(1e6, 1e6), .499867, 1e-6, "igammac", 1e6,
                1e6);
    expect_near(tfd_special_igammac(1e-300, 1), 2.193839343955e-301, 1e-312,
                "igammac", 1e-300, 1);
    expect_near(tfd_special_igammac(1, 700), exp(-700), 1e-300, "igammac", 1,
                700);
    expect_near(tfd_special_betainc(2, 3, 0.3), 0.3483, 1e-15, "betainc", 2, 3);
}

static void test_identities(void **state)
{
    (void)state;
    for (double a = 0.3; a < 60; a *= 1.7)
        for (double x = 0.01; x < 90; x *= 1.9) {
            double sum = tfd_special_igamma(a, x) + tfd_special_igammac(a, x);

            expect_near(sum, 1, 1e-13, "igamma + igammac", a, x);
            expect_near(tfd_special_digamma(x + 1),
                        tfd_special_digamma(x) + 1 / x, 1e-13, "digamma", x, 0);
            expect_near(tfd_special_zeta(a + 1, x),
                        tfd_special_zeta(a + 1, x + 1) + pow(x, -a - 1), 1e-13,
                        "zeta", a + 1, x);
            expect_near(tfd_special_betainc(a, x, 0.4),
                        1 - tfd_special_betainc(x, a, 0.6), 1e-12, "betainc", a,
                        x);
        }
    for (double q = -0.25; q > -40; q -= 1)
        for (int n = 2; n < 6; n++)
            expect_near(tfd_special_zeta(n, q),
                        tfd_special_zeta(n, q + 1) + pow(q, -n), 1e-12, "zeta",
                        n, q);
}

/* Rounding to a float is half of 2^-23 of it. */
static void expect_rounded(float got, double want, const char *what, double a,
                           double b)
{
    const double half = fabs(want) * 0x1p-24 + 0x1p-150;

    if (fabs(want) <= (double)FLT_MAX &&
        !(fabs((double)got - want) <= half + 4e-9 * fabs(want)))
        fail_msg("%s at %.9g, %.9g: %.9g, not %.17g", what, a, b, (double)got,
                 want);
}

static void test_floats_are_rounded_doubles(void **state)
{
    (void)state;
    for (float a = 0.3f; a < 60; a *= 1.13f)
        for (float x = 0.01f; x < 90; x *= 1.11f) {
            const double e = (double)a, y = (double)x;

            expect_rounded(tfd_special_digamma_float(x), tfd_special_digamma(y),
                           "digamma", y, 0);
            expect_near((double)tfd_special_lgamma_float(x),
                        tfd_special_lgamma(y), 3e-7, "lgamma", y, 0);
            expect_rounded(tfd_special_igamma_float(a, x),
                           tfd_special_igamma(e, y), "igamma", e, y);
            expect_rounded(tfd_special_igammac_float(a, x),
                           tfd_special_igammac(e, y), "igammac", e, y);
            expect_rounded(tfd_special_zeta_float(a + 1, x),
                           tfd_special_zeta((double)(a + 1), y), "zeta", e, y);
            expect_rounded(tfd_special_polygamma_float(floorf(a) + 1, x),
                           tfd_special_polygamma(floor(e) + 1, y), "polygamma",
                           e, y);
            expect_rounded(tfd_special_betainc_float(a, x, 0.37f),
                           tfd_special_betainc(e, y, (double)0.37f), "betainc",
                           e, y);
        }
    for (float q = -0.25f; q > -40; q -= 1)
        for (int n = 2; n < 6; n++)
            expect_near((double)tfd_special_zeta_float((float)n, q),
                        tfd_special_zeta(n, (double)q), 1e-7, "zeta", n,
                        (double)q);
    assert_true(isnan(tfd_special_zeta_float(3, -2)));
    assert_true(isinf(tfd_special_zeta_float(2, -2)));
    assert_true(isnan(tfd_special_igamma_float(-1, 1)));
    assert_true(isnan(tfd_special_igammac_float(1, -1)));
    assert_true(isnan(tfd_special_betainc_float(1, 1, 1.5f)));
    assert_true(isnan(tfd_special_polygamma_float(0.5f, 1)));
}

/* A factor of these is below the normal doubles, or beyond all of them.  Wanted
 * values were summed in 60 decimal digits. */
static void test_polygamma_of_high_orders(void **state)
{
    static const struct {
        double n, x, y;
    } rows[] = {
        {169, 0x1.1ccccc0000000p+6, 5.64245701151117584e-11},
        {169, 71.2, 5.64241595682293574e-11},
        {170, 71.2, -1.34527509995493698e-10},
        {171, 71.5, 1.56700927644705046e-10},
        {171, 50, 7.68463533073425920e+16},
        {180, 100, -2.40802169974166002e-33},
        {300, 100, -3.22204253870851221e+12},
        {34, 1e9, -8.68331776642828720e-270},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const double n = rows[i].n, x = rows[i].x, y = rows[i].y;

        expect_near(tfd_special_polygamma(n, x) / y, 1, 1e-12, "polygamma", n,
                    x);
        if (fabs(y) > (double)FLT_MIN && (double)(float)x == x)
            expect_rounded(tfd_special_polygamma_float((float)n, (float)x), y,
                           "polygamma", n, x);
    }
    assert_true(isinf(tfd_special_polygamma(300, 2)));
    assert_true(tfd_special_polygamma(300, 1e10) == 0);
    assert_true(tfd_special_polygamma(3, INFINITY) == 0);
    assert_true(isnan(tfd_special_polygamma(INFINITY, 2)));
}

/* A loop that summed up to 0 would take years. */
static void test_hostile_arguments_end(void **state)
{
    static const double numbers[] = {0,      -0.5,       1e-300,   1e300,
                                     -1e300, -1e10 - .5, INFINITY, -INFINITY,
                                     NAN,    1e10};
    const size_t n = sizeof(numbers) / sizeof(numbers[0]);
    volatile double sum = 0;

    (void)state;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            sum += tfd_special_digamma(numbers[i]);
            sum += tfd_special_igamma(numbers[i], numbers[k]);
            sum += tfd_special_igammac(numbers[i], numbers[k]);
            sum += tfd_special_betainc(numbers[i], numbers[k], 0.5);
            sum += tfd_special_zeta(numbers[i], numbers[k]);
            sum += tfd_special_zeta(2, numbers[k]);
            sum += tfd_special_polygamma(numbers[i], numbers[k]);
        }
    (void)sum; /* volatile: every term of it is computed */
    assert_true(isnan(tfd_special_zeta(3, -2)));
    assert_true(isinf(tfd_special_zeta(2, -2)));
    assert_true(isnan(tfd_special_igamma(-1, 1)));
    assert_true(isnan(tfd_special_betainc(1, 1, 1.5)));
    assert_true(isnan(tfd_special_polygamma(0.5, 1)));
    assert_true(isnan(tfd_special_digamma(-3)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_tables),
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_floats_are_rounded_doubles),
        cmocka_unit_test(test_polygamma_of_high_orders),
        cmocka_unit_test(test_hostile_arguments_end),
    };

    return cmocka_run_group_tests_name("special_functions", tests, NULL, NULL);
}
