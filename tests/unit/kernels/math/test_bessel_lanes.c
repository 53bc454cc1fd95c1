/*
 * test_bessel_lanes.c - bessel_lanes.h beside the functions of one double:
 * usual arguments and all others, wherever in a block they stand.
 */
#include "kernels/core/elementwise.h"
#include "kernels/math/bessel_functions.h"
#include "kernels/math/bessel_lanes.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 8192

#define WRAP(name)                                        \
    static double name##_of(double x)                     \
    {                                                     \
        return (double)tfd_bessel_##name((long double)x); \
    }
WRAP(i0)
WRAP(i0e)
WRAP(i1)
WRAP(i1e)
WRAP(k0)
WRAP(k0e)
WRAP(k1)
WRAP(k1e)

static const struct function {
    const char *name;
    void (*lanes)(void *row, int64_t begin, int64_t end);
    double (*exact)(double x);
    double low; /* of the arguments that make_grid() takes */
    int waves;  /* has zeros */
} functions[] = {
    {"i0", tfd_bessel_lanes_i0, i0_of, -95, 0},
    {"i0e", tfd_bessel_lanes_i0e, i0e_of, -95, 0},
    {"i1", tfd_bessel_lanes_i1, i1_of, -95, 0},
    {"i1e", tfd_bessel_lanes_i1e, i1e_of, -95, 0},
    {"k0", tfd_bessel_lanes_k0, k0_of, 0, 0},
    {"k0e", tfd_bessel_lanes_k0e, k0e_of, 0, 0},
    {"k1", tfd_bessel_lanes_k1, k1_of, 0, 0},
    {"k1e", tfd_bessel_lanes_k1e, k1e_of, 0, 0},
    {"j0", tfd_bessel_lanes_j0, tfd_bessel_j0, -95, 1},
    {"j1", tfd_bessel_lanes_j1, tfd_bessel_j1, -95, 1},
    {"y0", tfd_bessel_lanes_y0, tfd_bessel_y0, 0, 1},
    {"y1", tfd_bessel_lanes_y1, tfd_bessel_y1, 0, 1},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static float x[ROOM], y[ROOM];

static void run(const struct function *f, const float *from, float *to,
                int64_t n)
{
    struct tfd_row row = {.a = from, .y = to, .a_step = 1};

    f->lanes(&row, 0, n);
}

/* Half a unit in the last place of a float and what the polynomials' errors
 * add; those that have zeros are exact beside 1. */
static void expect_rounded(const struct function *f, float at, float got)
{
    const double want = f->exact((double)at), size = fabs(want);
    const double slack = size * (0x1p-24 + 0x1p-33) + 0x1p-149;
    const double error = fabs((double)got - want);

    if (isnan(want)              ? !isnan(got)
        : size > (double)FLT_MAX ? !(fabs((double)got) >= (double)FLT_MAX) ||
                                       !signbit(got) != !signbit(want)
                                 : !(error <= slack + (f->waves ? 0x1p-38 : 0)))
        fail_msg("%s at %.9g: %.9g, not %.17g", f->name, (double)at,
                 (double)got, want);
}

static void expect_all(const struct function *f, int64_t n)
{
    run(f, x, y, n);
    for (int64_t i = 0; i < n; i++)
        expect_rounded(f, x[i], y[i]);
}

static void test_usual(void **state)
{
    (void)state;
    for (size_t k = 0; k < FUNCTIONS; k++) {
        const struct function *f = &functions[k];

        for (int i = 0; i < ROOM; i++)
            x[i] = (float)(f->low + (95 - f->low) * (i + 1) / ROOM);
        expect_all(f, ROOM);
        for (int i = 0; i < ROOM; i++)
            x[i] = (float)(9.0 * (i + 1) / ROOM);
        expect_all(f, ROOM);
    }
}

/* Of every size, from the least float to the largest. */
static void test_sizes(void **state)
{
    (void)state;
    for (int i = 0; i < ROOM; i++)
        x[i] = (float)exp2(-149 + 277.0 * i / ROOM);
    for (size_t k = 0; k < FUNCTIONS; k++)
        expect_all(&functions[k], ROOM);
}

/* Beside the seams of two polynomials, and of what is left to doubles. */
static void test_seams(void **state)
{
    static const float seams[] = {2, 8, 300, 0x1p20f};
    int n = 0;

    (void)state;
    for (int s = 0; s < 4; s++) {
        float below = seams[s], above = seams[s];

        for (int i = 0; i < 100; i++) {
            x[n++] = below = nextafterf(below, 0);
            x[n++] = above = nextafterf(above, INFINITY);
        }
        x[n++] = seams[s];
    }
    for (size_t k = 0; k < FUNCTIONS; k++)
        expect_all(&functions[k], n);
}

static void test_specials(void **state)
{
    static const float special[] = {0,         -0.0f,    NAN,   INFINITY,
                                    -INFINITY, -FLT_MAX, -1.5f, -0x1p-149f,
                                    -3e6f,     FLT_MAX};
    const int n = (int)(sizeof(special) / sizeof(special[0]));

    (void)state;
    memcpy(x, special, sizeof(special));
    for (size_t k = 0; k < FUNCTIONS; k++) {
        expect_all(&functions[k], n);
        for (int i = 0; i < 2; i++)
            assert_int_equal(!signbit(y[i]),
                             !signbit(functions[k].exact((double)x[i])));
    }
}

/* One result, to the bit, at any place of any number of them, of operands that
 * are not aligned to a vector, and where y is where x is. */
static void test_places(void **state)
{
    static float whole[600], part[600];

    (void)state;
    for (int i = 0; i < 600; i++)
        x[i] = i % 37 == 5 ? 3e7f : 0.05f * (float)(i + 1);
    for (size_t k = 0; k < FUNCTIONS; k++) {
        run(&functions[k], x, whole, 600);
        for (int n = 0; n <= 70; n++) {
            memset(part, 0x5a, sizeof(part));
            memcpy(part + 3, x + n, (size_t)n * sizeof(float));
            run(&functions[k], part + 3, part + 3, n);
            assert_memory_equal(part + 3, whole + n, (size_t)n * sizeof(float));
            assert_int_equal(((unsigned char *)(part + 3 + n))[0], 0x5a);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usual),  cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_seams),  cmocka_unit_test(test_specials),
        cmocka_unit_test(test_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
