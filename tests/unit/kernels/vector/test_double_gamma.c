/*
 * test_double_gamma.c - double_gamma.h against functions of long doubles, which
 * have 11 more bits: the C library's lgammal_r(), and the formulas of digamma.
 * More than a million arguments each: over all exponents, near the places where
 * a result is 0, near poles, and where the functions change their ways.
 */
#define _GNU_SOURCE /* lgammal_r() */
#include "kernels/vector/double_gamma.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define DRAWN 300000
#define NEIGHBOURS 20000

/* ---- References ---------------------------------------------------------- */

static const long double pi = 3.14159265358979323846264338327950288L;

static long double lgamma_long(long double x)
{
    int sign;

    return lgammal_r(x, &sign);
}

/* Where digamma is 0: root + root_rest. */
static const long double root = 0x1.762d86356be3fp+0L;
static const long double root_rest = 9.549995429965697715184199e-17L;

/* By its Taylor series there. */
static long double digamma_near_root(long double x)
{
    static const long double factor[] = {
        0.967672245447621170427444761712L,  -0.442763168983592106092865281853L,
        0.258499760955651010624401385701L,  -0.163942705442406527504251292747L,
        0.107824050691262365757182948867L,  -0.0721995612564547109261217836051L,
        0.0488042881641431072250925255079L, -0.0331161264748473592922583984045L,
    };
    const long double far = (x - root) - root_rest;
    long double sum = 0;

    for (int i = 7; i >= 0; i--)
        sum = (sum + factor[i]) * far;
    return sum;
}

static long double digamma_right(long double x)
{
    static const long double factor[] = {
        1.0L / 12,  -1.0L / 120,     1.0L / 252, -1.0L / 240,
        1.0L / 132, -691.0L / 32760, 1.0L / 12};
    long double below = 0, sum = 0, square;

    if (fabsl(x - root) < 0x1p-8L)
        return digamma_near_root(x);
    for (; x < 20; x++)
        below += 1 / x;
    square = 1 / (x * x);
    for (int i = 6; i >= 0; i--)
        sum = (sum + factor[i]) * square;
    return logl(x) - (0.5L / x + sum + below);
}

static long double digamma_long(long double x)
{
    if (x > 0)
        return digamma_right(x);
    if (!(x > floorl(x)))
        return NAN;
    return digamma_right(1 - x) - pi / tanl(pi * (x - rintl(x)));
}

/* ---- Distances ----------------------------------------------------------- */

static double lgamma_of(double x)
{
    return tfd_double_lgamma(x);
}

static double digamma_of(double x)
{
    return tfd_double_digamma(x);
}

static double lgamma_from_0(double x)
{
    return tfd_double_lgamma_from_0(x);
}

static double digamma_from_0(double x)
{
    return tfd_double_digamma_from_0(x);
}

static const struct row {
    const char *name;
    double (*have)(double);
    double (*from_0)(double);
    long double (*want)(long double);
    double right, left; /* largest distances on either side of 0 */
} rows[] = {
    {"lgamma", lgamma_of, lgamma_from_0, lgamma_long, 4, 3},
    {"digamma", digamma_of, digamma_from_0, digamma_long, 4, 8},
};
#define EACH_ROW(r)                                                           \
    for (const struct row *r = rows; r < rows + sizeof(rows) / sizeof(*rows); \
         r++)

/* The size whose units count: right of 0 that of the result, left of it the
 * largest of the result, 1, and the function of 1 - x. */
static long double size_of(const struct row *r, double x, long double want)
{
    long double term;

    want = fabsl(want);
    if (!(x < 0))
        return want;
    term = fabsl(r->want(1 - (long double)x));
    term = term > 1 ? term : 1;
    return want > term ? want : term;
}

static double distance(const struct row *r, double x)
{
    const double have = r->have(x);
    const long double want = r->want((long double)x);
    const double near = (double)want;
    int exponent;

    if (isnan(near) || isinf(near) || isnan(have) || isinf(have))
        return (isnan(near) && isnan(have)) || have == near ? 0 : INFINITY;
    if (near == 0)
        return have == 0 && !signbit(have) ? 0 : INFINITY;
    frexpl(size_of(r, x, want), &exponent);
    return (double)(fabsl((long double)have - want) /
                    ldexpl(1, exponent - DBL_MANT_DIG));
}

/* The same bits, or both NaN. */
static bool same(double a, double b)
{
    return tfd_double_bits(a) == tfd_double_bits(b) || (isnan(a) && isnan(b));
}

static void look(const struct row *r, double x, double *worst)
{
    const double far = distance(r, x);

    if (far > (x < 0 ? r->left : r->right))
        fail_msg("%s(%a) = %a: %g units from %La", r->name, x, r->have(x), far,
                 r->want((long double)x));
    if (!(x < 0) && !same(r->from_0(x), r->have(x)))
        fail_msg("%s(%a) = %a, not %a", r->name, x, r->from_0(x), r->have(x));
    worst[x < 0] = far > worst[x < 0] ? far : worst[x < 0];
}

static void tell(const struct row *r, const double *worst)
{
    printf("%s: %.2f units right of 0, %.2f left\n", r->name, worst[0],
           worst[1]);
}

static uint64_t drawn(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* ---- Tests --------------------------------------------------------------- */

static void test_distances(void **state)
{
    uint64_t seed = 88172645463325252u;

    (void)state;
    EACH_ROW(r)
    {
        double worst[2] = {0, 0};

        for (int k = 0; k < DRAWN; k++) {
            const uint64_t bits = drawn(&seed);
            const double part = (double)(drawn(&seed) >> 11) * 0x1p-53;

            look(r, part * 3, worst);
            look(r, (part - 0.5) * 24, worst);
            look(r, (part - 0.5) * 400, worst);
            look(r, tfd_double_of(bits), worst);
        }
        tell(r, worst);
    }
}

/* Steps of `near` and of `far` around each of n places. */
static void look_around(const double *places, size_t n, double near, double far)
{
    EACH_ROW(r)
    {
        double worst[2] = {0, 0};

        for (size_t i = 0; i < n; i++)
            for (int k = -NEIGHBOURS; k <= NEIGHBOURS; k++) {
                look(r, places[i] + k * near, worst);
                look(r, places[i] + k * far, worst);
            }
        tell(r, worst);
    }
}

static void test_near_zeros_of_the_result(void **state)
{
    static const double zeros[] = {1,
                                   2,
                                   0x1.762d86356be3fp+0,
                                   -0.50408300826445540,
                                   -1.5734984731623905,
                                   -2.6107208684441447,
                                   -2.4570247382208006,
                                   -2.7476826467274127,
                                   -3.1435808883499799,
                                   -3.9552942848585979,
                                   -4.0393618396740534,
                                   -4.9915445640560048,
                                   -9.7026725};

    (void)state;
    look_around(zeros, sizeof(zeros) / sizeof(*zeros), 0x1p-52, 0x1p-20);
}

static void test_near_poles_and_changes(void **state)
{
    static const double places[] = {0,     0.75, 2.5, 3.75, 8,  10,
                                    -0.25, -0.5, -1,  -2,   -3, -20};

    (void)state;
    look_around(places, sizeof(places) / sizeof(*places), 0x1p-49, 0x1p-17);
}

static void test_tiny_and_huge_arguments(void **state)
{
    static const double places[] = {
        0x1p-1074, 0x1p-1073, 0x1p-1024, 0x1p-1023, DBL_MIN,     0x1p-1021,
        0x1p-500,  0x1p-60,   0x1p-59,   0x1p-53,   0x1p-30,     0x1p51,
        0x1p52,    0x1p53,    0x1p63,    0x1p64,    0x1p1000,    1e300,
        2.5e305,   2.556e305, 2.557e305, DBL_MAX,   0x1p51 + 0.5};

    (void)state;
    EACH_ROW(r)
    {
        double worst[2] = {0, 0};

        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
            look(r, places[i], worst);
            look(r, -places[i], worst);
        }
    }
}

static void test_what_is_no_number(void **state)
{
    int sign;

    (void)state;
    for (double x = 0; x > -200; x--) {
        assert_true(same(tfd_double_lgamma(x), INFINITY));
        assert_true(isnan(tfd_double_digamma(x)));
    }
    assert_true(same(tfd_double_lgamma(-0.0), lgamma_r(-0.0, &sign)));
    assert_true(same(tfd_double_lgamma(-INFINITY), INFINITY));
    assert_true(same(tfd_double_lgamma(INFINITY), INFINITY));
    assert_true(same(tfd_double_digamma(INFINITY), INFINITY));
    assert_true(isnan(tfd_double_digamma(-INFINITY)));
    assert_true(isnan(tfd_double_digamma(-0.0)));
    assert_true(isnan(tfd_double_lgamma(NAN)));
    assert_true(isnan(tfd_double_digamma(NAN)));
    assert_true(isnan(tfd_double_digamma_from_0(0)));
    assert_true(isnan(tfd_double_digamma_from_0(-0.0)));
    assert_true(same(tfd_double_lgamma_from_0(-0.0), INFINITY));
    assert_true(same(tfd_double_lgamma(1), 0));
    assert_true(same(tfd_double_lgamma(2), 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_near_zeros_of_the_result),
        cmocka_unit_test(test_near_poles_and_changes),
        cmocka_unit_test(test_tiny_and_huge_arguments),
        cmocka_unit_test(test_what_is_no_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
