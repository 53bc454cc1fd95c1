/*
 * test_double_tables.c - functions of doubles by tables (piecewise.h) beside
 * long doubles: series without cancellation, integrals by the trapezoidal rule,
 * and inverses by bisection; numbers that no table has; lengths around those of
 * vectors and blocks, wherever the numbers lie.
 */
#include "kernels/core/elementwise.h"
#include "kernels/core/families.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PI 3.14159265358979323846264338L
#define EULER 0.57721566490153286060651209L
#define DRAWN 250
#define ROOM 600

typedef long double real;
typedef real reference(real x);

/* ---- References ---------------------------------------------------------- */

/* e^(-x^2) times the sum of x^(2k+1) / (k! (2k+1)): no term is negative. */
static real dawsn(real x)
{
    const real h = (real)(float)x, square = x * x;
    real term = x, sum = x;

    for (int k = 1; k < 4000 && fabsl(term) > fabsl(sum) * 0x1p-70L; k++) {
        term *= square / k;
        sum += term / (2 * k + 1);
    }
    return sum * expl(-h * h) * expl(-(x - h) * (x + h));
}

static real expint(real x)
{
    real term = 1, sum = 0;

    for (int k = 1; k < 600; k++) {
        term *= x / k;
        sum += term / k;
    }
    return EULER + logl(x) + sum;
}

/* x^power from 0 on, by Gauss's rule of four points in as many steps as the
 * wave needs. */
static real wave_integral(real x, real (*wave)(real))
{
    static const real at[] = {0.339981043584856264802666L,
                              0.861136311594052575223946L};
    static const real weight[] = {0.652145154862546142626936L,
                                  0.347854845137453857373064L};
    const int steps = 400 + (int)(400 * fabsl(x));
    const real half = x / steps / 2;
    real sum = 0;

    for (int i = 0; i < steps; i++) {
        const real middle = (2 * i + 1) * half;

        for (int k = 0; k < 2; k++)
            for (int side = -1; side < 2; side += 2) {
                const real t = middle + side * at[k] * half;

                sum += weight[k] * wave(PI / 2 * t * t);
            }
    }
    return sum * half;
}

static real fresnel_cos(real x)
{
    return wave_integral(x, cosl);
}

static real fresnel_sin(real x)
{
    return wave_integral(x, sinl);
}

/* The sum of z^k / k^2, |z| <= 1/2. */
static real dilogarithm(real z)
{
    real power = 1, sum = 0;

    for (int k = 1; k < 80; k++) {
        power *= z;
        sum += power / ((real)k * k);
    }
    return sum;
}

/* The dilogarithm of 1 - x by those of arguments up to a half. */
static real spence(real x)
{
    const real l = logl(x);

    if (x < 0.5L)
        return PI * PI / 6 - l * log1pl(-x) - dilogarithm(x);
    if (x <= 1.5L)
        return dilogarithm(1 - x);
    if (x <= 2)
        return -l * l / 2 - dilogarithm((x - 1) / x);
    return dilogarithm(1 / x) - PI * PI / 6 - l * log1pl(-1 / x) - l * l / 2;
}

/* A better y than `near`, whose share of the bell is known exactly. */
static real erfinv(real x)
{
    const real a = fabsl(x);
    real low = 0, high = 7;

    for (int i = 0; i < 90; i++) {
        const real y = (low + high) / 2;
        const int below = a < 0.5L ? erfl(y) < a : erfcl(y) > 1 - a;

        low = below ? y : low;
        high = below ? high : y;
    }
    return copysignl(low, x);
}

static real ndtri(real p)
{
    const real few = p < 0.5L ? p : 1 - p;
    real low = 0, high = 40;

    if (few > 0.25L)
        return sqrtl(2) * erfinv(2 * p - 1);
    for (int i = 0; i < 90; i++) {
        const real y = (low + high) / 2;
        const int below = erfcl(y / sqrtl(2)) > 2 * few;

        low = below ? y : low;
        high = below ? high : y;
    }
    return p < 0.5L ? -low : low;
}

/* 1/pi times the integral of e^(x (cos t - 1)) cos(n t) to pi. */
static real scaled_i(real x, int n)
{
    const int steps = 200;
    real sum = 0;

    for (int i = 0; i <= steps; i++) {
        const real t = PI * i / steps, s = sinl(t / 2);
        const real part = expl(-2 * x * s * s) * (n ? cosl(t) : 1);

        sum += i % steps ? part : part / 2;
    }
    return sum / steps;
}

/* The same by its series, where that integral cancels. */
static real series_i(real x, int n)
{
    real term = n ? x / 2 : 1, sum = term;

    for (int k = 1; k < 400; k++) {
        term *= x * x / 4 / k / (k + n);
        sum += term;
    }
    return sum;
}

static real i0e(real x)
{
    return scaled_i(fabsl(x), 0);
}

static real i0(real x)
{
    return series_i(x, 0);
}

static real i1(real x)
{
    return series_i(x, 1);
}

static real i1e(real x)
{
    return series_i(x, 1) * expl(-fabsl(x));
}

/* The integral of e^(x (1 - cosh t)) cosh(n t) from 0. */
static real scaled_k(real x, int n)
{
    const real step = 1.0L / 32;
    real sum = 0.5L;

    for (int i = 1; i < 1000; i++) {
        const real t = step * i, s = sinhl(t / 2);

        sum += expl(-2 * x * s * s) * (n ? coshl(t) : 1);
    }
    return sum * step;
}

static real k0e(real x)
{
    return scaled_k(x, 0);
}

static real k1e(real x)
{
    return scaled_k(x, 1);
}

static real k0(real x)
{
    return scaled_k(x, 0) * expl(-x);
}

static real k1(real x)
{
    return scaled_k(x, 1) * expl(-x);
}

/* 1/pi times the integral of cos(x sin t - n t) to pi. */
static real whole_j(real x, int n)
{
    const int steps = 200;
    real sum = 0;

    for (int i = 0; i <= steps; i++) {
        const real t = PI * i / steps;
        const real part = cosl(x * sinl(t) - n * t);

        sum += i % steps ? part : part / 2;
    }
    return sum / steps;
}

static real j0_real(real x)
{
    return whole_j(x, 0);
}

static real j1_real(real x)
{
    return whole_j(x, 1);
}

/* ---- Functions ----------------------------------------------------------- */

/* Where it crosses 0 a function is that exact beside `size`. */
static const struct function {
    const struct tfd_family *family;
    const char *op;
    reference *exact;
    double low, high;
    double units, size;
} functions[] = {
    {&tfd_family_integrals, "Dawsn", dawsn, -20, 20, 2, 0},
    {&tfd_family_integrals, "Expint", expint, 0x1p-30, 80, 2.5, 0.5},
    {&tfd_family_integrals, "FresnelCos", fresnel_cos, -12, 12, 2, 0},
    {&tfd_family_integrals, "FresnelSin", fresnel_sin, -12, 12, 3, 0},
    {&tfd_family_integrals, "Spence", spence, 0x1p-30, 30, 2.5, 0},
    {&tfd_family_integrals, "Erfinv", erfinv, -1, 1, 2, 0},
    {&tfd_family_integrals, "Ndtri", ndtri, 0x1p-50, 1, 2.5, 0},
    {&tfd_family_bessel, "BesselI0", i0, -90, 90, 3, 0},
    {&tfd_family_bessel, "BesselI0e", i0e, -90, 90, 2, 0},
    {&tfd_family_bessel, "BesselI1", i1, -90, 90, 3, 0},
    {&tfd_family_bessel, "BesselI1e", i1e, -90, 90, 2, 0},
    {&tfd_family_bessel, "BesselK0", k0, 0x1p-30, 90, 3, 0},
    {&tfd_family_bessel, "BesselK0e", k0e, 0x1p-30, 90, 1.5, 0},
    {&tfd_family_bessel, "BesselK1", k1, 0x1p-30, 90, 3, 0},
    {&tfd_family_bessel, "BesselK1e", k1e, 0x1p-30, 90, 1.5, 0},
    {&tfd_family_bessel, "BesselJ0", j0_real, -40, 40, 1.5, 0.25},
    {&tfd_family_bessel, "BesselJ1", j1_real, -40, 40, 2, 0.25},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static const struct function *function_of(const char *op)
{
    for (size_t k = 0; k < FUNCTIONS; k++)
        if (strcmp(functions[k].op, op) == 0)
            return &functions[k];
    fail_msg("no function %s", op);
    return NULL;
}

static void run(const struct function *f, const double *x, double *y, int64_t n)
{
    struct tfd_row row = {.a = x, .y = y, .a_step = 1};

    for (int i = 0; i < f->family->kernel_count; i++) {
        const struct tfd_kernel *k = &f->family->kernels[i];

        if (strcmp(k->op, f->op) == 0 && k->dtype == TFD_DOUBLE) {
            k->range(&row, 0, n);
            return;
        }
    }
    fail_msg("no loop of %s", f->op);
}

static double one(const struct function *f, double x)
{
    double y = -77;

    run(f, &x, &y, 1);
    return y;
}

/* ---- Distances ----------------------------------------------------------- */

static double look(const struct function *f, double x, double worst)
{
    const real want = f->exact((real)x);
    const real size = fabsl(want) > f->size ? fabsl(want) : f->size;
    const real unit = ldexpl(1, ilogbl(size) - (DBL_MANT_DIG - 1));
    const double y = one(f, x), far = (double)(fabsl((real)y - want) / unit);

    if (!(far <= f->units))
        fail_msg("%s(%a) = %.17g: %g units from %.20Lg", f->op, x, y, far,
                 want);
    return far > worst ? far : worst;
}

static double drawn(void)
{
    static uint64_t seed = 88172645463325252u;

    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) * 0x1p-53;
}

/* Over the whole range, and over the octaves beside its middle or its end. */
static void test_distances(void **state)
{
    (void)state;
    for (size_t k = 0; k < FUNCTIONS; k++) {
        const struct function *f = &functions[k];
        const double middle = f->low < 0 ? 0 : f->low;
        double worst = 0;

        for (int i = 0; i < DRAWN; i++) {
            const double x = f->low + (f->high - f->low) * drawn();

            worst = look(f, x, worst);
            worst = look(f, middle + (x - middle) * exp2(-20 * drawn()), worst);
        }
        printf("%s: %.2f units\n", f->op, worst);
    }
}

/* By hand: what is beyond a table's ends and outside of a domain. */
static void test_rare_numbers(void **state)
{
    static const struct {
        const char *op;
        double x, y;
    } rows[] = {
        {"Dawsn", -0.0, -0.0},
        {"Dawsn", 0x1p100, 0x1p-101},
        {"Dawsn", -INFINITY, -0.0},
        {"Expint", 0, -INFINITY},
        {"Expint", -1, NAN},
        {"Expint", 800, INFINITY},
        {"FresnelCos", INFINITY, 0.5},
        {"FresnelCos", -0x1p60, -0.5},
        {"FresnelSin", -0.0, -0.0},
        {"FresnelSin", -INFINITY, -0.5},
        {"Spence", 1, 0},
        {"Spence", 0, 1.6449340668482264},
        {"Spence", -1, NAN},
        {"Erfinv", 1, INFINITY},
        {"Erfinv", -1, -INFINITY},
        {"Erfinv", 1.5, NAN},
        {"Erfinv", -0.0, -0.0},
        {"Ndtri", 0.5, 0},
        {"Ndtri", 0, -INFINITY},
        {"Ndtri", 1, INFINITY},
        {"Ndtri", 2, NAN},
        {"Ndtri", -1, NAN},
        {"BesselI0", 0, 1},
        {"BesselI0", -800, INFINITY},
        {"BesselI1", -0.0, -0.0},
        {"BesselI1", -800, -INFINITY},
        {"BesselK0", 0, INFINITY},
        {"BesselK0", -1, INFINITY},
        {"BesselK0", 800, 0},
        {"BesselK0e", INFINITY, 0},
        {"BesselK1", 0x1p-60, 0x1p60},
        {"BesselK1e", -3, INFINITY},
        {"BesselJ0", -0.0, 1},
        {"BesselJ0", INFINITY, NAN},
        {"BesselJ1", -0.0, -0.0},
        {"BesselJ1", -INFINITY, NAN},
    };

    (void)state;
    for (size_t k = 0; k < FUNCTIONS; k++)
        assert_true(isnan(one(&functions[k], NAN)));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const double y = one(function_of(rows[i].op), rows[i].x);

        if (isnan(rows[i].y)
                ? !isnan(y)
                : y != rows[i].y || !signbit(y) != !signbit(rows[i].y))
            fail_msg("%s(%g) is %.17g", rows[i].op, rows[i].x, y);
    }
}

/* Beyond the tables the functions themselves are computed: no step lies
 * between, which a number and its neighbour would show. */
static void test_seams(void **state)
{
    static const struct {
        const char *op;
        double x;
    } rows[] = {
        {"Dawsn", 255},     {"Expint", 0x1p-24}, {"Expint", 128},
        {"FresnelCos", 3},  {"FresnelSin", 3},   {"Spence", 0x1p-24},
        {"Spence", 0x1p24}, {"Ndtri", 0x1p-40},  {"BesselI0e", 511},
        {"BesselI1e", 511}, {"BesselK0e", 1024}, {"BesselK1", 0x1p-24},
        {"BesselJ0", 31},   {"BesselJ1", 31},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct function *f = function_of(rows[i].op);
        const double below = one(f, nextafter(rows[i].x, 0));
        const double above = one(f, nextafter(rows[i].x, INFINITY));
        const double size = fmax(fabs(below), f->size);

        if (!(fabs(above - below) <= 0x1p-43 * size))
            fail_msg("%s at %g: %.17g and %.17g", f->op, rows[i].x, below,
                     above);
    }
}

/* A result is the same wherever in a block its argument stands, whatever
 * stands beside it, and in the place of its argument. */
static void test_lengths_and_places(void **state)
{
    static const int lengths[] = {0,  1,  2,   3,   4,   5,   7,   8,
                                  9,  15, 16,  17,  31,  32,  33,  63,
                                  64, 65, 255, 256, 257, 511, 512, 513};
    double x[ROOM], y[ROOM], expected[ROOM];

    (void)state;
    for (size_t k = 0; k < FUNCTIONS; k++) {
        const struct function *f = &functions[k];

        for (int i = 0; i < ROOM; i++) {
            x[i] = i % 37 == 5
                       ? NAN
                       : f->low + (f->high - f->low) * (i * 7 % ROOM) / ROOM;
            expected[i] = one(f, x[i]);
        }
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            const int n = lengths[l], from = (int)l % 5;

            memcpy(y, x, sizeof(x));
            run(f, y + from, y + from, n);
            assert_memory_equal(y + from, expected + from,
                                (size_t)n * sizeof(*y));
            assert_memory_equal(y + from + n, x + from + n,
                                sizeof(x) - (size_t)(from + n) * sizeof(*x));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_rare_numbers),
        cmocka_unit_test(test_seams),
        cmocka_unit_test(test_lengths_and_places),
    };

    return cmocka_run_group_tests_name("double tables", tests, NULL, NULL);
}
