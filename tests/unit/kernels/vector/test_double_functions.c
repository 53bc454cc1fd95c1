/*
 * test_double_functions.c - double_functions.h and double_trig.h against the C
 * library's functions of long doubles, which have 11 more bits: more than a
 * million arguments each, over all exponents and where the functions change
 * their ways; and what IEEE 754 has for infinities, NaN, zeros and subnormals.
 */
#include "kernels/vector/double_trig.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define DRAWN 400000

static double logistic(double x)
{
    return tfd_double_logistic(x);
}

/* 0 where e^-x is no double. */
static long double logistic_long(long double x)
{
    return x < -709.78L ? 0 : 1 / (1 + expl(-x));
}

#define WRAP(name)                    \
    static double name##_of(double x) \
    {                                 \
        return tfd_double_##name(x);  \
    }
WRAP(exp)
WRAP(expm1)
WRAP(log)
WRAP(log1p)
WRAP(tanh)
WRAP(cosh)
WRAP(sinh)
WRAP(asinh)
WRAP(acosh)
WRAP(atanh)
WRAP(erf)
WRAP(erfc)
WRAP(atan)
WRAP(sin_any)
WRAP(cos_any)
WRAP(tan_any)
WRAP(asin)
WRAP(acos)

static const struct row {
    const char *name;
    double (*have)(double);
    long double (*want)(long double);
    double low, high; /* where it is of interest */
    double ulps;
} rows[] = {
    {"exp", exp_of, expl, -745, 709.7, 1.1},
    {"expm1", expm1_of, expm1l, -45, 709.7, 2.5},
    {"log", log_of, logl, 0, 10, 1},
    {"log1p", log1p_of, log1pl, -1, 3, 2},
    {"logistic", logistic, logistic_long, -700, 40, 2.2},
    {"tanh", tanh_of, tanhl, -20, 20, 4},
    {"cosh", cosh_of, coshl, -710.4, 710.4, 2},
    {"sinh", sinh_of, sinhl, -710.4, 710.4, 3},
    {"asinh", asinh_of, asinhl, -40, 40, 3},
    {"acosh", acosh_of, acoshl, 1, 40, 3},
    {"atanh", atanh_of, atanhl, -1, 1, 3},
    {"erf", erf_of, erfl, -6, 6, 2},
    {"erfc", erfc_of, erfcl, -6, 26.5, 12},
    {"atan", atan_of, atanl, -30, 30, 1},
    {"sin", sin_any_of, sinl, -0x1.1p20, 0x1.1p20, 0.8},
    {"cos", cos_any_of, cosl, -0x1.1p20, 0x1.1p20, 0.8},
    {"tan", tan_any_of, tanl, -0x1.1p20, 0x1.1p20, 2.2},
    {"asin", asin_of, asinl, -1, 1, 1},
    {"acos", acos_of, acosl, -1, 1, 1},
};

static uint64_t drawn(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* How many units of want's last place lie between; subnormal results may be a
 * unit more, as they are rounded twice. */
static double distance(double have, long double want)
{
    const double near = (double)want;
    int exponent;

    if (isnan(near) || isinf(near) || isnan(have) || isinf(have))
        return (isnan(near) && isnan(have)) || have == near ? 0 : INFINITY;
    frexp(near, &exponent);
    exponent = exponent < -1021 ? -1021 : exponent;
    return (double)(fabsl((long double)have - want) /
                    ldexpl(1, exponent - DBL_MANT_DIG)) -
           (fabs(near) < DBL_MIN ? 1 : 0);
}

static double look(const struct row *r, double x, double worst)
{
    const double far = distance(r->have(x), r->want((long double)x));

    if (far > r->ulps)
        fail_msg("%s(%a) = %a: %g units from %La", r->name, x, r->have(x), far,
                 r->want((long double)x));
    return far > worst ? far : worst;
}

static void test_distances(void **state)
{
    uint64_t seed = 88172645463325252u;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct row *r = &rows[i];
        double worst = 0;

        for (int k = 0; k < DRAWN; k++) {
            const uint64_t bits = drawn(&seed);
            const double part = (double)(drawn(&seed) >> 11) * 0x1p-53;

            worst = look(r, r->low + part * (r->high - r->low), worst);
            worst = look(r, (part - 0.5) * 2.5, worst);
            worst = look(r, tfd_double_of(bits), worst);
        }
        printf("%s: %.2f units\n", r->name, worst);
    }
}

/* The same value, -0 apart from 0. */
static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static void test_rare_arguments(void **state)
{
    static const double rare[] = {
        0,        -0.0,      INFINITY,   -INFINITY,  NAN,      1,
        -1,       0x1p-1074, -0x1p-1074, DBL_MIN,    -DBL_MIN, DBL_MAX,
        -DBL_MAX, 710,       710.47,     709.78,     -711,     -745.2,
        -746,     -800,      0x1p-1030,  0x1p-60,    -0x1p-60, 0.66,
        0.625,    2,         -2,         2.41421356, 8,        28,
        -28,      0x1p54};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (size_t k = 0; k < sizeof(rare) / sizeof(*rare); k++) {
            const struct row *r = &rows[i];
            const double want = (double)r->want((long double)rare[k]);

            look(r, rare[k], 0);
            if (want == 0 || isnan(want) || isinf(want))
                if (!same(r->have(rare[k]), want))
                    fail_msg("%s(%a) = %a, not %a", r->name, rare[k],
                             r->have(rare[k]), want);
        }
}

/* The doubles next to multiples of pi/2, where sin, cos or tan is about 0. */
static void look_beside_quarter_turns(const struct row *r)
{
    for (int q = 1; q < 667000; q++) {
        const double at = (double)(q * 1.57079632679489661923L);

        look(r, at, 0);
        look(r, nextafter(at, 0), 0);
        look(r, -nextafter(at, INFINITY), 0);
    }
}

static void test_beside_quarter_turns(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct row r = rows[i];

        r.ulps += 0.4; /* what three parts of pi/2 leave out */
        if (r.high > TFD_DOUBLE_TURNS)
            look_beside_quarter_turns(&r);
    }
}

static void test_atan2(void **state)
{
    static const double rare[] = {
        0,        -0.0,      1,   -1, 0x1p-1074, DBL_MAX,    -DBL_MAX,
        INFINITY, -INFINITY, NAN, 3,  -0.25,     0x1.8p1023, 0x3p-1074};
    static const struct row row = {"atan2", NULL, NULL, 0, 0, 2};
    uint64_t seed = 362436069;

    (void)state;
    for (size_t i = 0; i < sizeof(rare) / sizeof(*rare); i++)
        for (size_t k = 0; k < sizeof(rare) / sizeof(*rare); k++) {
            const double have = tfd_double_atan2(rare[i], rare[k]);
            const double want = atan2(rare[i], rare[k]);

            if (!same(have, want) && distance(have, want) > row.ulps)
                fail_msg("atan2(%a, %a) = %a, not %a", rare[i], rare[k], have,
                         want);
        }
    for (int k = 0; k < DRAWN; k++) {
        const double y = (double)(int64_t)drawn(&seed) * 0x1p-61;
        const double x = (double)(int64_t)drawn(&seed) * 0x1p-61;
        const double have = tfd_double_atan2(y, x);
        const double far =
            distance(have, atan2l((long double)y, (long double)x));

        if (far > row.ulps)
            fail_msg("atan2(%a, %a) = %a: %g units", y, x, have, far);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_rare_arguments),
        cmocka_unit_test(test_beside_quarter_turns),
        cmocka_unit_test(test_atan2),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
