/*
 * test_stream_loops.c - loops that run at the speed of memory, compiled for
 * several sets of instructions: lengths around every number of lanes, begun at
 * every place in a vector, in place and beside, against one element at a time.
 */
#include "kernels/core/elementwise.h"
#include "kernels/core/registry.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH_MAX 70 /* more than four vectors of 16 */
#define ROOM 96

static const double specials[] = {0,  -0.0, INFINITY, -INFINITY, NAN,
                                  -3, 6,    7.5,      1e-40,     2.5};

/* What is computed of one element, twice: here, and in the loop. */
static double neg(double a, double b)
{
    (void)b;
    return -a;
}

static double sign(double a, double b)
{
    (void)b;
    return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a;
}

static double relu(double a, double b)
{
    (void)b;
    return a < 0 ? 0 : a;
}

static double relu6(double a, double b)
{
    (void)b;
    return a < 0 ? 0 : a > 6 ? 6 : a;
}

static double relu_grad(double dy, double x)
{
    return dy * (x > 0 ? 1 : 0);
}

static double relu6_grad(double dy, double x)
{
    return dy * (x > 0 && x < 6 ? 1 : 0);
}

static double sum(double a, double b)
{
    return a + b;
}

static double difference(double a, double b)
{
    return a - b;
}

static const struct {
    const char *op;
    double (*of)(double a, double b);
} loops[] = {
    {"Neg", neg},        {"Sign", sign},
    {"Relu", relu},      {"Relu6", relu6},
    {"AddV2", sum},      {"ReluGrad", relu_grad},
    {"Sub", difference}, {"Relu6Grad", relu6_grad},
};

static void assert_same(const char *op, int n, int i, double have, double want)
{
    if (isnan(want) ? isnan(have)
                    : have == want && !signbit(have) == !signbit(want))
        return;
    fail_msg("%s: element %d of %d is %g, not %g", op, i, n, have, want);
}

/* Every type goes through doubles, which hold all that it does. */
#define DEFINE_CHECK(T, DTYPE)                                                 \
    static void check_##T(int which, int n, int offset, bool in_place)         \
    {                                                                          \
        _Alignas(64) T a[ROOM], b[ROOM], y[ROOM], before[ROOM];                \
        tfd_range_fn *loop = tfd_registry_loop(loops[which].op, TFD_##DTYPE);  \
        struct tfd_row row = {.a = a,                                          \
                              .b = b,                                          \
                              .y = in_place ? a : y,                           \
                              .a_step = 1,                                     \
                              .b_step = 1,                                     \
                              .far = offset % 2 == 1};                         \
        const T *have = row.y;                                                 \
                                                                               \
        assert_non_null(loop);                                                 \
        for (int i = 0; i < ROOM; i++) {                                       \
            a[i] = (T)specials[i % 10];                                        \
            b[i] = (T)specials[i * 7 / 10 % 10];                               \
            y[i] = 77;                                                         \
        }                                                                      \
        memcpy(before, a, sizeof(a));                                          \
        loop(&row, offset, offset + n);                                        \
        for (int i = 0; i < ROOM; i++) {                                       \
            double rest = in_place ? (double)before[i] : 77;                   \
            bool inside = i >= offset && i < offset + n;                       \
                                                                               \
            assert_same(loops[which].op, n, i, (double)have[i],                \
                        inside ? (double)(T)loops[which].of((double)before[i], \
                                                            (double)b[i])      \
                               : rest);                                        \
        }                                                                      \
    }

DEFINE_CHECK(float, FLOAT)
DEFINE_CHECK(double, DOUBLE)

static void test_every_length_and_alignment(void **state)
{
    (void)state;
    for (int which = 0; which < TFD_COUNT(loops); which++)
        for (int n = 0; n <= LENGTH_MAX; n++)
            for (int offset = 0; offset < 9; offset++)
                for (int in_place = 0; in_place < 2; in_place++) {
                    check_float(which, n, offset, in_place);
                    check_double(which, n, offset, in_place);
                }
}

/* ---- Complex numbers ----------------------------------------------------- */

static void check_complex(const char *op, int n)
{
    tfd_complex64 x[ROOM], y[ROOM];
    float real[ROOM];
    bool conj = strcmp(op, "Conj") == 0;
    struct tfd_row row = {.a = x, .y = conj ? (void *)y : real, .a_step = 1};

    for (int i = 0; i < ROOM; i++)
        x[i] = (tfd_complex64){(float)specials[i % 10],
                               (float)specials[i * 7 / 10 % 10]};
    tfd_registry_loop(op, TFD_COMPLEX64)(&row, 0, n);
    for (int i = 0; i < n; i++) {
        if (conj) {
            assert_same(op, n, i, (double)y[i].re, (double)x[i].re);
            assert_same(op, n, i, (double)y[i].im, -(double)x[i].im);
        } else {
            assert_same(op, n, i, (double)real[i],
                        (double)hypotf(x[i].re, x[i].im));
        }
    }
}

static void test_complex_numbers(void **state)
{
    (void)state;
    for (int n = 0; n <= LENGTH_MAX; n++) {
        check_complex("Conj", n);
        check_complex("ComplexAbs", n);
    }
}

/* Rounded once, without overflow: the library's own bits. */
static void test_absolute_values_are_the_librarys(void **state)
{
    tfd_range_fn *loop = tfd_registry_loop("ComplexAbs", TFD_COMPLEX64);
    tfd_complex64 x;
    float y;
    struct tfd_row row = {.a = &x, .y = &y, .a_step = 1};
    uint32_t bits = 1;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        for (int part = 0; part < 2; part++) {
            bits = bits * 1664525 + 1013904223;
            memcpy(part ? &x.im : &x.re, &bits, sizeof(bits));
        }
        loop(&row, 0, 1);
        assert_same("ComplexAbs", 1, i, (double)y, (double)hypotf(x.re, x.im));
    }
}

/* ---- Divisions of 32-bit integers ---------------------------------------- */

static const int32_t numbers[] = {
    0,          1,          -1,        2,          -2,
    3,          7,          -7,        46341,      -46340,
    1000000007, INT32_MAX,  INT32_MIN, -INT32_MAX, INT32_MAX - 1,
    1 << 30,    -(1 << 30), 12345,     -98765};
#define NUMBERS TFD_COUNT(numbers)

static int64_t floor_of(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int32_t divided(const char *op, int64_t a, int64_t b)
{
    if (strcmp(op, "TruncateDiv") == 0)
        return (int32_t)(uint32_t)(a / b);
    if (strcmp(op, "TruncateMod") == 0)
        return (int32_t)(a % b);
    if (strcmp(op, "FloorDiv") == 0)
        return (int32_t)(uint32_t)floor_of(a, b);
    return (int32_t)(a - floor_of(a, b) * b);
}

/* All pairs: two vectors; a vector by a number; a number by a vector. */
static void check_division(const char *op, int a_step, int b_step)
{
    tfd_range_fn *loop = tfd_registry_loop(op, TFD_INT32);
    int32_t b[NUMBERS], y[NUMBERS];
    int failed = 0;

    for (int shift = 1; shift < NUMBERS; shift++) {
        struct tfd_row row = {numbers, b, y, a_step, b_step, &failed, 0, false};

        for (int i = 0; i < NUMBERS; i++) {
            b[i] = numbers[(i + shift) % NUMBERS];
            b[i] = b[i] ? b[i] : 5;
        }
        row.a = a_step ? numbers : numbers + shift;
        loop(&row, 0, NUMBERS);
        for (int i = 0; i < NUMBERS; i++) {
            int32_t left = numbers[a_step ? i : shift];
            int32_t right = b[b_step ? i : 0];

            assert_int_equal(y[i], divided(op, left, right));
        }
    }
    assert_int_equal(failed, 0);
}

static void test_divisions(void **state)
{
    static const char *const ops[] = {"TruncateDiv", "TruncateMod", "FloorDiv",
                                      "FloorMod"};

    (void)state;
    for (int i = 0; i < TFD_COUNT(ops); i++) {
        check_division(ops[i], 1, 1);
        check_division(ops[i], 1, 0);
        check_division(ops[i], 0, 1);
    }
}

static void test_a_divisor_of_zero_is_seen_wherever_it_is(void **state)
{
    tfd_range_fn *loop = tfd_registry_loop("FloorMod", TFD_INT32);
    int32_t a[ROOM], b[ROOM], y[ROOM];

    (void)state;
    for (int i = 0; i < ROOM; i++)
        a[i] = b[i] = 3;
    for (int n = 1; n <= LENGTH_MAX; n++)
        for (int at = 0; at <= n; at++)
            for (int step = 0; step < 2; step++) {
                int failed = 0;
                struct tfd_row row = {a, b, y, step, 1, &failed, 0, false};

                b[at] = 0;
                loop(&row, 0, n);
                b[at] = 3;
                assert_int_equal(failed, at < n);
            }
}

/* ---- Truth --------------------------------------------------------------- */

static void test_logic(void **state)
{
    uint8_t a[ROOM], b[ROOM], y[ROOM];
    struct tfd_row row = {a, b, y, 1, 1, NULL, 0, false};
    tfd_range_fn *both = tfd_registry_loop("LogicalAnd", TFD_DTYPE_INVALID);
    tfd_range_fn *either = tfd_registry_loop("LogicalOr", TFD_DTYPE_INVALID);
    tfd_range_fn *not = tfd_registry_loop("LogicalNot", TFD_DTYPE_INVALID);

    (void)state;
    for (int i = 0; i < ROOM; i++) {
        a[i] = i % 3 == 0;
        b[i] = i % 2 == 0;
    }
    for (int n = 0; n <= LENGTH_MAX; n++)
        for (int i = 0; i < n; i++) {
            both(&row, 0, n);
            assert_int_equal(y[i], i % 6 == 0);
            either(&row, 0, n);
            assert_int_equal(y[i], i % 3 == 0 || i % 2 == 0);
            not(&row, 0, n);
            assert_int_equal(y[i], i % 3 != 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length_and_alignment),
        cmocka_unit_test(test_complex_numbers),
        cmocka_unit_test(test_absolute_values_are_the_librarys),
        cmocka_unit_test(test_divisions),
        cmocka_unit_test(test_a_divisor_of_zero_is_seen_wherever_it_is),
        cmocka_unit_test(test_logic),
    };

    return cmocka_run_group_tests_name("stream loops", tests, NULL, NULL);
}
