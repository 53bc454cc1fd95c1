/*
 * test_vector_loops.c - loops over vectorised functions of floats and doubles,
 * compiled for several sets of instructions: an element has the same bits
 * wherever it stands, as one alone has; lengths around every number of lanes,
 * begun at every place in a vector, in place and beside.
 */
#include "kernels/vector/complex_math.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/registry.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH_MAX 70 /* more than four vectors of 16 */
#define ROOM 96
#define BLOCK ((int)(TFD_BLOCK_SIZE / sizeof(float)))
#define LONG (3 * BLOCK + 5)

/* As many as make every pair of places in two vectors meet: a prime. */
static const float values[] = {
    0,      -0.0f, INFINITY, -INFINITY, NAN,    -3,     6,     7.5f,
    1e-40f, 2.5f,  -1e-45f,  1,         -1,     0.3f,   -0.7f, 88.9f,
    -104,   1e30f, -70000,   3.3e38f,   -1e-9f, 1e-20f, 13.5f};

static const char *const unary[] = {
    "Rsqrt", "Exp",  "Log",  "Log1p", "Sigmoid",  "Tanh",
    "Sin",   "Cos",  "Erf",  "Tan",   "Asin",     "Acos",
    "Atan",  "Sinh", "Cosh", "Asinh", "Acosh",    "Atanh",
    "Expm1", "Erfc", "Elu",  "Selu",  "Softplus", "Softsign"};
static const char *const binary[] = {
    "Atan2", "Xlogy", "Xlog1py", "NextAfter", "Pow", "Xdivy", "SoftplusGrad"};

static float a[LONG], b[LONG], y[LONG];

static void fill(void)
{
    for (int i = 0; i < LONG; i++) {
        a[i] = values[i % TFD_COUNT(values)];
        b[i] = values[i / TFD_COUNT(values) % TFD_COUNT(values)];
        y[i] = 77;
    }
}

static void assert_same(const char *op, int n, int i, float have, float want)
{
    if (isnan(want) ? isnan(have) : memcmp(&have, &want, sizeof(have)) == 0)
        return;
    fail_msg("%s: element %d of %d is %.9g, not %.9g", op, i, n, (double)have,
             (double)want);
}

static float alone(tfd_range_fn *loop, float left, float right)
{
    float result = 77;
    struct tfd_row row = {&left, &right, &result, 1, 1, NULL, 0, false};

    loop(&row, 0, 1);
    return result;
}

static void check(const char *op, int n, int offset, bool in_place)
{
    tfd_range_fn *loop = tfd_registry_loop(op, TFD_FLOAT);
    struct tfd_row row = {a, b, in_place ? a : y, 1, 1, NULL, 0, false};
    const float *have = row.y;
    static float before[LONG];

    assert_non_null(loop);
    fill();
    memcpy(before, a, sizeof(before));
    loop(&row, offset, offset + n);
    for (int i = 0; i < (n < ROOM ? ROOM : n); i++) {
        float rest = in_place ? before[i] : 77;
        bool inside = i >= offset && i < offset + n;

        assert_same(op, n, i, have[i],
                    inside ? alone(loop, before[i], b[i]) : rest);
    }
}

static void check_lengths(const char *op)
{
    for (int n = 0; n <= LENGTH_MAX; n++)
        for (int offset = 0; offset < 9; offset++)
            for (int in_place = 0; in_place < 2; in_place++)
                check(op, n, offset, in_place);
    check(op, LONG, 0, false);
    check(op, LONG - 1, 1, true);
}

static void test_every_length_and_alignment(void **state)
{
    (void)state;
    for (int i = 0; i < TFD_COUNT(unary); i++)
        check_lengths(unary[i]);
    for (int i = 0; i < TFD_COUNT(binary); i++)
        check_lengths(binary[i]);
}

/* ---- Doubles ------------------------------------------------------------- */

static const char *const of_doubles[] = {
    "Exp",   "Log",   "Log1p",  "Sigmoid", "Tanh",       "Sin",  "Cos",  "Erf",
    "Tan",   "Asin",  "Acos",   "Atan",    "Sinh",       "Cosh", "Erfc", "Elu",
    "Acosh", "Atanh", "Lgamma", "Digamma", "Reciprocal", "Abs",  "Round"};
#define LONG_OF_DOUBLES (LONG / 2)

static double from[LONG_OF_DOUBLES], to[LONG_OF_DOUBLES];

static double alone_of_doubles(tfd_range_fn *loop, double x)
{
    double result = 77;
    struct tfd_row row = {.a = &x, .y = &result, .a_step = 1};

    loop(&row, 0, 1);
    return result;
}

/* From `from`, whose elements are set, to `to`, or in place. */
static void check_doubles(const char *op, int offset, int n, bool in_place)
{
    tfd_range_fn *loop = tfd_registry_loop(op, TFD_DOUBLE);
    static double want[LONG_OF_DOUBLES];
    struct tfd_row row = {
        .a = from, .y = in_place ? from : to, .a_step = 1, .far = n % 2 == 1};
    const double *have = row.y;

    assert_non_null(loop);
    for (int i = 0; i < LONG_OF_DOUBLES; i++) {
        const bool inside = i >= offset && i < offset + n;

        to[i] = 77;
        want[i] = inside     ? alone_of_doubles(loop, from[i])
                  : in_place ? from[i]
                             : 77;
    }
    loop(&row, offset, offset + n);
    for (int i = 0; i < LONG_OF_DOUBLES; i++)
        if (isnan(want[i]) ? !isnan(have[i])
                           : memcmp(&have[i], &want[i], sizeof(*have)) != 0)
            fail_msg("%s: element %d of %d is %a, not %a", op, i, n, have[i],
                     want[i]);
}

static void set_doubles(bool rare)
{
    for (int i = 0; i < LONG_OF_DOUBLES; i++)
        from[i] =
            rare ? (double)values[i % TFD_COUNT(values)] : 0.013 * (i + 1);
}

static void test_doubles(void **state)
{
    (void)state;
    for (int op = 0; op < TFD_COUNT(of_doubles); op++)
        for (int rare = 0; rare < 2; rare++)
            for (int n = 0; n <= LENGTH_MAX / 2; n++) {
                set_doubles(rare);
                check_doubles(of_doubles[op], n % 5, n, false);
                check_doubles(of_doubles[op], n % 7, n, true);
            }
}

/* A huge angle, or a negative number, at an end of one block of several. */
static void test_rare_doubles_disturb_nobody(void **state)
{
    static const double rare[] = {1e30, -3e6, -2.5, -0.0, NAN, -INFINITY};
    const int block = BLOCK / 2;
    const int at[] = {0, block - 1, block, 2 * block + 3};

    (void)state;
    for (int op = 0; op < TFD_COUNT(of_doubles); op++)
        for (int v = 0; v < TFD_COUNT(rare); v++)
            for (int i = 0; i < TFD_COUNT(at); i++) {
                set_doubles(false);
                from[at[i]] = rare[v];
                check_doubles(of_doubles[op], 0, LONG_OF_DOUBLES - i, i % 2);
            }
}

/* ---- Quotients, scalars, rare floats ------------------------------------- */

/* Of so many that they lie far away: a loop of its own. */
#define FAR_COUNT ((1 << 18) + 21)

static void test_far_quotients(void **state)
{
    static float x[FAR_COUNT], z[FAR_COUNT], q[FAR_COUNT];
    static double wide_x[FAR_COUNT], wide_z[FAR_COUNT], wide_q[FAR_COUNT];
    struct tfd_row row = {x, z, q, 1, 1, NULL, 0, false};
    struct tfd_row wide = {wide_x, wide_z, wide_q, 1, 1, NULL, 0, false};

    (void)state;
    for (int i = 0; i < FAR_COUNT; i++) {
        wide_x[i] = (double)(x[i] = values[i % TFD_COUNT(values)]);
        z[i] = values[i / TFD_COUNT(values) % TFD_COUNT(values)];
        wide_z[i] = (double)z[i];
    }
    tfd_registry_loop("Xdivy", TFD_FLOAT)(&row, 1, FAR_COUNT - 1);
    tfd_registry_loop("Xdivy", TFD_DOUBLE)(&wide, 1, FAR_COUNT - 1);
    for (int i = 0; i < FAR_COUNT; i++) {
        const bool inside = i > 0 && i < FAR_COUNT - 1;
        const float want = !inside || x[i] == 0 ? 0 : x[i] / z[i];
        const double wide_want =
            !inside || wide_x[i] == 0 ? 0 : wide_x[i] / wide_z[i];

        assert_same("Xdivy", FAR_COUNT, i, q[i], want);
        assert_true(isnan(wide_want) ? isnan(wide_q[i])
                                     : memcmp(&wide_q[i], &wide_want,
                                              sizeof(wide_want)) == 0);
    }
}

/* One side is the same element again and again; but of SoftplusGrad, whose
 * operands are of one shape. */
static void test_scalars_beside_vectors(void **state)
{
    (void)state;
    for (int op = 0; op < TFD_COUNT(binary); op++)
        for (int v = 0; v < TFD_COUNT(values); v++)
            for (int left = 0; left < 2; left++) {
                tfd_range_fn *loop = tfd_registry_loop(binary[op], TFD_FLOAT);
                float one = values[v];
                struct tfd_row row = {left ? &one : a,
                                      left ? a : &one,
                                      y,
                                      !left,
                                      left,
                                      NULL,
                                      0,
                                      false};

                if (strcmp(binary[op], "SoftplusGrad") == 0)
                    continue;
                fill();
                loop(&row, 0, 70);
                for (int i = 0; i < 70; i++)
                    assert_same(binary[op], 70, i, y[i],
                                left ? alone(loop, one, a[i])
                                     : alone(loop, a[i], one));
            }
}

/* A rare argument in a block changes no value beside it. */
static void test_rare_arguments_disturb_nobody(void **state)
{
    static const char *const ops[] = {"Rsqrt", "Sin", "Cos", "Tan"};
    static const float rare[] = {1e30f, 0, -2e20f, 1e-41f, INFINITY, NAN};
    static float usual[LONG];
    struct tfd_row row = {a, NULL, y, 1, 0, NULL, 0, false};

    (void)state;
    for (int op = 0; op < TFD_COUNT(ops); op++)
        for (int v = 0; v < TFD_COUNT(rare); v++) {
            tfd_range_fn *loop = tfd_registry_loop(ops[op], TFD_FLOAT);

            for (int i = 0; i < LONG; i++)
                a[i] = 0.37f * (float)(i + 1);
            loop(&row, 0, LONG);
            memcpy(usual, y, sizeof(usual));
            a[BLOCK + 17] = rare[v];
            loop(&row, 0, LONG);
            usual[BLOCK + 17] = alone(loop, rare[v], 0);
            for (int i = 0; i < LONG; i++)
                assert_same(ops[op], LONG, i, y[i], usual[i]);
        }
}

static void assert_part(float got, float want)
{
    assert_true(isnan(want)
                    ? isnan(got)
                    : got == want || fabsf(got - want) <= 1e-6f * fabsf(want));
}

/* e^z beside the C library's in double: lengths around the vectors' lanes, and
 * one rare argument in the second block. */
static void test_complex_exponentials(void **state)
{
    static const tfd_complex64 rare[] = {
        {0, 1},        {-3, 70000},      {88.5f, 2},     {200, 1},  {-200, 1},
        {INFINITY, 0}, {-INFINITY, 2},   {INFINITY, 2},  {NAN, 0},  {0, NAN},
        {1, INFINITY}, {-INFINITY, NAN}, {-0.0f, -0.0f}, {1, 1e30f}};
    enum { BLOCK_OF = TFD_BLOCK_SIZE / sizeof(tfd_complex64) };
    static tfd_complex64 z[3 * BLOCK_OF], e[3 * BLOCK_OF];
    tfd_range_fn *loop = tfd_registry_loop("Exp", TFD_COMPLEX64);
    struct tfd_row row = {z, NULL, e, 1, 0, NULL, 0, false};

    (void)state;
    for (int n = 1; n < 3 * BLOCK_OF; n += n < 40 ? 1 : 97) {
        const tfd_complex64 odd = rare[n % TFD_COUNT(rare)];

        for (int i = 0; i < n; i++)
            z[i] = (tfd_complex64){0.13f * (float)(i % 601 - 300),
                                   0.37f * (float)(i % 997 - 500)};
        if (n > BLOCK_OF + 17)
            z[BLOCK_OF + 17] = odd;
        memset(e, 0, sizeof(e));
        loop(&row, 0, n);
        for (int i = 0; i < n; i++) {
            const double complex want =
                cexp(tfd_complex128_native((tfd_complex128){z[i].re, z[i].im}));
            const double size = isfinite(cabs(want)) ? cabs(want) : 1;

            if (size > FLT_MAX || i == BLOCK_OF + 17)
                continue;
            assert_true(fabs((double)e[i].re - creal(want)) <= 1e-6 * size);
            assert_true(fabs((double)e[i].im - cimag(want)) <= 1e-6 * size);
        }
        if (n > BLOCK_OF + 17) {
            const float complex want = cexpf(tfd_complex64_native(odd));

            assert_part(e[BLOCK_OF + 17].re, crealf(want));
            assert_part(e[BLOCK_OF + 17].im, cimagf(want));
        }
        assert_true(e[n].re == 0 && e[n].im == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length_and_alignment),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_rare_doubles_disturb_nobody),
        cmocka_unit_test(test_far_quotients),
        cmocka_unit_test(test_scalars_beside_vectors),
        cmocka_unit_test(test_rare_arguments_disturb_nobody),
        cmocka_unit_test(test_complex_exponentials),
    };

    return cmocka_run_group_tests_name("vector loops", tests, NULL, NULL);
}
