/*
 * test_narrow_loops.c - elementwise loops of half and bfloat16 (by blocks of
 * floats, or by the processor's own arithmetic) against common/base/half.h, one
 * element at a time: every number, NaN, infinities and subnormals among them.
 */
#define _GNU_SOURCE 1 /* MAP_ANONYMOUS */

#include "kernels/vector/narrow_loops.h"

#include "common/base/half.h"
#include "kernels/core/registry.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { ALL = 1 << 16 };

static const enum tfd_dtype types[] = {TFD_HALF, TFD_BFLOAT16};

static uint16_t a[ALL + 8], b[ALL + 8], y[ALL + 8];

static float wide(enum tfd_dtype t, uint16_t x)
{
    return t == TFD_HALF ? tfd_half_to_float(x) : tfd_bfloat16_to_float(x);
}

static uint16_t narrow(enum tfd_dtype t, float x)
{
    return t == TFD_HALF ? tfd_half_from_float(x) : tfd_bfloat16_from_float(x);
}

static float rounded(enum tfd_dtype t, float x)
{
    return wide(t, narrow(t, x));
}

/* ---- What operations are ------------------------------------------------- */

typedef float function2(enum tfd_dtype t, float l, float r);

#define DEFINE(id, expression)                          \
    static float id(enum tfd_dtype t, float l, float r) \
    {                                                   \
        (void)t;                                        \
        (void)r;                                        \
        return expression;                              \
    }

DEFINE(add, l + r)
DEFINE(sub, l - r)
DEFINE(mul, l *r)
DEFINE(quotient, l / r)
DEFINE(no_nan, r == 0 ? 0 : l / r)
DEFINE(floor_div, floorf(rounded(t, l / r)))
DEFINE(larger, l != l || l > r ? l : r)
DEFINE(least, l != l || l < r ? l : r)
DEFINE(squared, rounded(t, l - r) * rounded(t, l - r))
DEFINE(sigmoid_grad, r *rounded(t, l *rounded(t, 1 - l)))
DEFINE(tanh_grad, r *rounded(t, 1 - rounded(t, l *l)))
DEFINE(sqrt_grad, r == 0 ? 0 : r * rounded(t, 0.5f / l))
DEFINE(rsqrt_part, rounded(t, rounded(t, -0.5f * r) * l))
DEFINE(rsqrt_grad, r == 0 || rsqrt_part(t, l, r) == 0
                       ? 0
                       : rsqrt_part(t, l, r) * rounded(t, l *l))
DEFINE(reciprocal_grad, r == 0 ? 0 : -r * rounded(t, l *l))
DEFINE(softsign_grad,
       l / rounded(t, rounded(t, fabsf(r) + 1) * rounded(t, fabsf(r) + 1)))
DEFINE(relu_grad, l *(r > 0 ? 1 : 0))
DEFINE(relu6_grad, l *(r > 0 && r < 6 ? 1 : 0))
DEFINE(relu, l < 0 ? 0 : l)
DEFINE(relu6, l<0 ? 0 : l> 6 ? 6 : l)
DEFINE(softsign, l / rounded(t, fabsf(l) + 1))
DEFINE(square, l *l)
DEFINE(floor_of, floorf(l))
DEFINE(ceil_of, ceilf(l))
DEFINE(round_of, rintf(l))
DEFINE(root, sqrtf(l))
DEFINE(inverse, 1 / l)
DEFINE(sign, l != l ? l : (float)((l > 0) - (l < 0)))
DEFINE(less, l < r)
DEFINE(greater_equal, l >= r)
DEFINE(not_equal, l != r)
DEFINE(is_nan, l != l)
DEFINE(is_inf, fabsf(l) == INFINITY)
DEFINE(is_finite, fabsf(l) < INFINITY)

static const struct {
    const char *name;
    function2 *function;
    bool one, test; /* of one element; into bool */
    bool alike;     /* operands are of one shape */
} ops[] = {
    {"AddV2", add, false, false, false},
    {"Sub", sub, false, false, false},
    {"Mul", mul, false, false, false},
    {"RealDiv", quotient, false, false, false},
    {"DivNoNan", no_nan, false, false, false},
    {"FloorDiv", floor_div, false, false, false},
    {"Maximum", larger, false, false, false},
    {"Minimum", least, false, false, false},
    {"SquaredDifference", squared, false, false, false},
    {"SigmoidGrad", sigmoid_grad, false, false, true},
    {"TanhGrad", tanh_grad, false, false, true},
    {"SqrtGrad", sqrt_grad, false, false, true},
    {"RsqrtGrad", rsqrt_grad, false, false, true},
    {"ReciprocalGrad", reciprocal_grad, false, false, true},
    {"SoftsignGrad", softsign_grad, false, false, true},
    {"ReluGrad", relu_grad, false, false, true},
    {"Relu6Grad", relu6_grad, false, false, true},
    {"Relu", relu, true, false, false},
    {"Relu6", relu6, true, false, false},
    {"Softsign", softsign, true, false, false},
    {"Square", square, true, false, false},
    {"Floor", floor_of, true, false, false},
    {"Ceil", ceil_of, true, false, false},
    {"Round", round_of, true, false, false},
    {"Sqrt", root, true, false, false},
    {"Reciprocal", inverse, true, false, false},
    {"Sign", sign, true, false, false},
    {"Less", less, false, true, false},
    {"GreaterEqual", greater_equal, false, true, false},
    {"NotEqual", not_equal, false, true, false},
    {"IsNan", is_nan, true, true, false},
    {"IsInf", is_inf, true, true, false},
    {"IsFinite", is_finite, true, true, false},
};

static void check(int op, enum tfd_dtype t, uint16_t left, uint16_t right,
                  uint16_t have)
{
    const float l = wide(t, left), r = wide(t, right);
    const float exact = ops[op].function(t, l, r);
    const uint16_t want =
        ops[op].test ? (uint16_t)(exact != 0) : narrow(t, exact);

    if (!ops[op].test && isnan(wide(t, want)) && isnan(wide(t, have)))
        return;
    if (have != want)
        fail_msg("%s %s: of %04x and %04x %04x, not %04x", ops[op].name,
                 tfd_dtype_name((int)t), left, right, have, want);
}

static uint16_t result(int op, const void *at, int64_t i)
{
    return ops[op].test ? ((const tfd_bool *)at)[i] : ((const uint16_t *)at)[i];
}

/* ---- Tests --------------------------------------------------------------- */

/* Every number, beside others that come from all of the range. */
static void fill(int seed)
{
    for (int i = 0; i < ALL + 8; i++) {
        a[i] = (uint16_t)i;
        b[i] = (uint16_t)((uint32_t)i * 40503u + (uint32_t)seed);
        y[i] = 0x5555;
    }
}

static void test_every_number(void **state)
{
    (void)state;
    for (int op = 0; op < TFD_COUNT(ops); op++)
        for (size_t t = 0; t < TFD_COUNT(types); t++)
            for (int seed = 0; seed < 5; seed++) {
                struct tfd_row row = {
                    .a = a, .b = b, .y = y, .a_step = 1, .b_step = 1};

                fill(seed * 7919);
                row.b = ops[op].one ? NULL : b;
                tfd_registry_loop(ops[op].name, types[t])(&row, 0, ALL);
                for (int i = 0; i < ALL; i++)
                    check(op, types[t], a[i], b[i], result(op, y, i));
            }
}

/* One number beside each of many, on either side. */
static void test_scalars(void **state)
{
    static const uint16_t ones[] = {0, 0x8000, 0x3c00, 0x7c00, 0x7e01, 0x0001};

    (void)state;
    for (int op = 0; op < TFD_COUNT(ops); op++)
        for (size_t t = 0; t < TFD_COUNT(types); t++)
            for (size_t v = 0; v < TFD_COUNT(ones) * 2; v++) {
                const bool left = v % 2;
                const uint16_t one = ones[v / 2];
                const struct tfd_row row = {.a = left ? &one : a,
                                            .b = left ? b : &one,
                                            .y = y,
                                            .a_step = !left,
                                            .b_step = left};

                if (ops[op].one || ops[op].alike)
                    continue;
                fill(1);
                tfd_registry_loop(ops[op].name, types[t])((void *)&row, 3, 999);
                for (int i = 3; i < 999; i++)
                    check(op, types[t], left ? one : a[i], left ? b[i] : one,
                          result(op, y, i));
            }
}

/* Results take the place of an operand, wherever that lies, and nothing beside
 * them is written. */
static void check_in_place(int op, enum tfd_dtype t, int from, int n)
{
    struct tfd_row row = {.a = a + from,
                          .b = ops[op].one ? NULL : b + from,
                          .y = a + from,
                          .a_step = 1,
                          .b_step = 1};
    uint16_t was[ALL / 16];

    fill(n);
    memcpy(was, a, sizeof(was));
    tfd_registry_loop(ops[op].name, t)(&row, 0, n);
    for (int i = 0; i < TFD_COUNT(was); i++)
        if (i < from || i >= from + n)
            assert_int_equal(a[i], was[i]);
        else
            check(op, t, was[i], b[i], a[i]);
}

static void test_lengths_in_place(void **state)
{
    (void)state;
    for (int op = 0; op < TFD_COUNT(ops); op++)
        for (size_t t = 0; t < TFD_COUNT(types) && !ops[op].test; t++)
            for (int n = 0; n < 2100; n += n < 70 ? 1 : 507)
                for (int from = 0; from < 3; from++)
                    check_in_place(op, types[t], from, n);
}

/* The blocks of floats, which processors without halves of their own take. */
static void test_blocks_of_floats(void **state)
{
    tfd_range_fn *loop = tfd_registry_loop("AddV2", TFD_FLOAT);
    const struct tfd_row row = {
        .a = a, .b = b, .y = y, .a_step = 1, .b_step = 1};

    (void)state;
    for (size_t t = 0; t < TFD_COUNT(types); t++) {
        fill(3);
        tfd_narrow_row(types[t], loop, &row, 1, ALL - 1);
        assert_int_equal(y[0], 0x5555);
        assert_int_equal(y[ALL - 1], 0x5555);
        for (int i = 1; i < ALL - 1; i++)
            check(0, types[t], a[i], b[i], y[i]);
    }
}

/* Of nothing nothing is read, not even an operand that stands for all: it may
 * have no element. */
static void test_empty_ranges_touch_nothing(void **state)
{
    static const enum tfd_dtype all[] = {TFD_HALF,   TFD_BFLOAT16, TFD_FLOAT,
                                         TFD_DOUBLE, TFD_INT32,    TFD_INT64};
    static const int steps[][2] = {{1, 1}, {0, 1}, {1, 0}, {0, 0}};
    void *nowhere =
        mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(nowhere != MAP_FAILED);
    for (int op = 0; op < TFD_COUNT(ops); op++)
        for (size_t t = 0; t < TFD_COUNT(all); t++)
            for (size_t i = 0; i < TFD_COUNT(steps); i++) {
                tfd_range_fn *loop = tfd_registry_loop(ops[op].name, all[t]);
                struct tfd_row row = {.a = nowhere,
                                      .b = ops[op].one ? NULL : nowhere,
                                      .y = nowhere,
                                      .a_step = steps[i][0],
                                      .b_step = steps[i][1]};

                if (loop)
                    loop(&row, 0, 0);
            }
    munmap(nowhere, 4096);
}

/* A prime step through all floats. */
static void test_rounding_in_floats(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 4093) {
        const float x = tfd_half_float_of((uint32_t)bits);

        assert_int_equal(tfd_half_float_bits(tfd_half_round(x)),
                         tfd_half_float_bits(rounded(TFD_HALF, x)));
        assert_int_equal(tfd_half_float_bits(tfd_bfloat16_round(x)),
                         tfd_half_float_bits(rounded(TFD_BFLOAT16, x)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_number),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_lengths_in_place),
        cmocka_unit_test(test_blocks_of_floats),
        cmocka_unit_test(test_empty_ranges_touch_nothing),
        cmocka_unit_test(test_rounding_in_floats),
    };

    return cmocka_run_group_tests_name("narrow_loops", tests, NULL, NULL);
}
