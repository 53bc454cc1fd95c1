/*
 * test_piecewise.c - loops of floats by tables (piecewise.h) beside integrals
 * and series in long double; numbers that no table has; lengths around those
 * of vectors and blocks, wherever the numbers lie.
 */
#include "kernels/core/elementwise.h"
#include "kernels/core/families.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define PI 3.14159265358979323846L
#define EULER 0.57721566490153286061L
#define NUMBERS 200
#define ROOM 600

typedef long double real;
typedef real reference(real x);

/* ---- References ---------------------------------------------------------- */

/* The integral from a to b by Gauss's rule of four points. */
static real integral(real (*f)(real t, real x), real x, real a, real b)
{
    static const real at[] = {0.33998104358485626480L, 0.86113631159405257522L};
    static const real weight[] = {0.65214515486254614263L,
                                  0.34785484513745385737L};
    const int steps = 1024;
    const real half = (b - a) / steps / 2;
    real sum = 0;

    for (int i = 0; i < steps; i++) {
        const real middle = a + (2 * i + 1) * half;

        for (int k = 0; k < 2; k++)
            sum += weight[k] *
                   (f(middle - at[k] * half, x) + f(middle + at[k] * half, x));
    }
    return sum * half;
}

static real dawson_part(real t, real x)
{
    return expl(t * t - x * x);
}

static real cosine_part(real t, real x)
{
    (void)x;
    return cosl(PI / 2 * t * t);
}

static real sine_part(real t, real x)
{
    (void)x;
    return sinl(PI / 2 * t * t);
}

static real dilogarithm_part(real t, real x)
{
    (void)x;
    return -logl(t) / (t - 1);
}

static real dawsn(real x)
{
    return integral(dawson_part, x, 0, x);
}

static real fresnel_cos(real x)
{
    return integral(cosine_part, x, 0, x);
}

static real fresnel_sin(real x)
{
    return integral(sine_part, x, 0, x);
}

static real spence(real x)
{
    return integral(dilogarithm_part, x, 1, x);
}

static real expint(real x)
{
    real term = 1, sum = EULER + logl(x);

    for (int k = 1; k < 400; k++) {
        term *= x / k;
        sum += term / k;
    }
    return sum;
}

/* The y of this share of the normal distribution, by halves. */
static real ndtri(real share)
{
    real low = -8, high = 8;

    for (int i = 0; i < 90; i++) {
        const real y = (low + high) / 2;

        if (erfcl(-y / sqrtl(2)) / 2 < share)
            low = y;
        else
            high = y;
    }
    return low;
}

static real erfinv(real x)
{
    const real u = (1 - fabsl(x)) / 2;

    return copysignl(ndtri(u) / sqrtl(2), x);
}

static const struct function {
    const char *op;
    reference *exact;
    float low, high;
} functions[] = {
    {"Dawsn", dawsn, -9, 9},
    {"Expint", expint, 0.000244140625f, 40},
    {"FresnelCos", fresnel_cos, -9, 9},
    {"FresnelSin", fresnel_sin, -9, 9},
    {"Spence", spence, 0.125f, 30},
    {"Erfinv", erfinv, -0.99999f, 0.99999f},
    {"Ndtri", ndtri, 0.00001f, 0.9999f},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* ---- Running them -------------------------------------------------------- */

static tfd_range_fn *loop_of(const char *op)
{
    const struct tfd_family *f = &tfd_family_integrals;

    for (int i = 0; i < f->kernel_count; i++)
        if (strcmp(f->kernels[i].op, op) == 0 &&
            f->kernels[i].dtype == TFD_FLOAT)
            return f->kernels[i].range;
    fail_msg("no loop of %s", op);
    return NULL;
}

static void run(const char *op, const float *x, float *y, int64_t n)
{
    struct tfd_row row = {.a = x, .y = y, .a_step = 1};

    loop_of(op)(&row, 0, n);
}

static float one(const char *op, float x)
{
    float y = -77;

    run(op, &x, &y, 1);
    return y;
}

/* Within half a unit in the last place and a little, or the error of double
 * beside 1 where the function crosses 0. */
static void check_number(const struct function *f, float x)
{
    const real exact = f->exact((real)x), y = (real)one(f->op, x);
    const real unit = exact == 0 ? 0 : ldexpl(1, ilogbl(exact) - 23);

    if (!(fabsl(y - exact) <= 0.502L * unit + 1e-11L))
        fail_msg("%s(%.9g) is %.9Lg, not %.12Lg", f->op, (double)x, y, exact);
}

static void test_beside_references(void **state)
{
    (void)state;
    for (size_t k = 0; k < FUNCTIONS; k++) {
        const struct function *f = &functions[k];

        check_number(f, f->low);
        check_number(f, f->high);
        for (int i = 1; i < NUMBERS; i++) {
            const float x = f->low + (f->high - f->low) * (float)i / NUMBERS;

            check_number(f, x);
            if (x / 32 > f->low)
                check_number(f, x / 32);
        }
    }
}

/* By hand: what is beyond a table's ends and outside of a domain. */
static void test_rare_numbers(void **state)
{
    static const struct {
        const char *op;
        float x, y;
    } rows[] = {
        {"Dawsn", -0.0f, -0.0f},
        {"Dawsn", 0x1p100f, 0x1p-101f},
        {"Dawsn", -INFINITY, -0.0f},
        {"Expint", 0, -INFINITY},
        {"Expint", -1, NAN},
        {"Expint", 100, INFINITY},
        {"FresnelCos", INFINITY, 0.5f},
        {"FresnelCos", -0x1p60f, -0.5f},
        {"FresnelCos", 8192, 0.5f},
        {"FresnelSin", -0.0f, -0.0f},
        {"FresnelSin", -INFINITY, -0.5f},
        {"Spence", 1, 0},
        {"Spence", 0, 1.644934066848226f},
        {"Spence", -1, NAN},
        {"Erfinv", 1, INFINITY},
        {"Erfinv", -1, -INFINITY},
        {"Erfinv", 1.5f, NAN},
        {"Erfinv", -0.0f, -0.0f},
        {"Ndtri", 0.5f, 0},
        {"Ndtri", 0, -INFINITY},
        {"Ndtri", 1, INFINITY},
        {"Ndtri", 2, NAN},
    };

    (void)state;
    for (size_t k = 0; k < FUNCTIONS; k++)
        assert_true(isnan(one(functions[k].op, NAN)));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const float y = one(rows[i].op, rows[i].x);

        if (isnan(rows[i].y)
                ? !isnan(y)
                : y != rows[i].y || signbit(y) != signbit(rows[i].y))
            fail_msg("%s(%g) is %g", rows[i].op, (double)rows[i].x, (double)y);
    }
}

/* A result is the same wherever in a block its argument stands, whatever
 * stands beside it, and in the place of its argument. */
static void test_lengths_and_places(void **state)
{
    static const int lengths[] = {0,  1,  2,   3,   4,   5,   7,   8,
                                  9,  15, 16,  17,  31,  32,  33,  63,
                                  64, 65, 255, 256, 257, 511, 512, 513};
    float x[ROOM], y[ROOM], expected[ROOM];

    (void)state;
    for (size_t k = 0; k < FUNCTIONS; k++) {
        const struct function *f = &functions[k];

        for (int i = 0; i < ROOM; i++) {
            x[i] = i % 37 == 5 ? NAN
                               : f->low + (f->high - f->low) *
                                              (float)(i * 7 % ROOM) / ROOM;
            expected[i] = one(f->op, x[i]);
        }
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            const int n = lengths[l], from = (int)l % 5;

            memcpy(y, x, sizeof(x));
            run(f->op, y + from, y + from, n);
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
        cmocka_unit_test(test_beside_references),
        cmocka_unit_test(test_rare_numbers),
        cmocka_unit_test(test_lengths_and_places),
    };

    return cmocka_run_group_tests_name("piecewise", tests, NULL, NULL);
}
