/*
 * test_narrow_functions.c - Rsqrt and Sigmoid of every half and bfloat16, and
 * comparisons of many pairs, beside those of floats.
 */
#include "common/base/denormals.h"
#include "common/base/half.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/registry.h"
#include "kernels/vector/vector_functions.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ALL 65536

static uint16_t x[ALL], y[ALL];

static float wide(enum tfd_dtype t, uint16_t v)
{
    return t == TFD_HALF ? tfd_half_to_float(v) : tfd_bfloat16_to_float(v);
}

static uint16_t narrow(enum tfd_dtype t, float v)
{
    return t == TFD_HALF ? tfd_half_from_float(v) : tfd_bfloat16_from_float(v);
}

static float rounded(enum tfd_dtype t, float v)
{
    return wide(t, narrow(t, v));
}

static float rsqrt_of(enum tfd_dtype t, float v)
{
    return rounded(t, tfd_rsqrt_any(v));
}

/* e^v / (1 + e^v), of which every step is rounded. */
static float sigmoid_of(enum tfd_dtype t, float v)
{
    const float e = rounded(t, tfd_vector_exp(v));

    return e > FLT_MAX ? 1 : rounded(t, e / rounded(t, 1 + e));
}

static void check_all(const char *op, enum tfd_dtype t,
                      float (*right)(enum tfd_dtype t, float v))
{
    const struct tfd_row row = {.a = x, .y = y, .a_step = 1};

    for (int i = 0; i < ALL; i++)
        x[i] = (uint16_t)i;
    tfd_registry_loop(op, t)((void *)&row, 0, ALL);
    for (int i = 0; i < ALL; i++) {
        const float want = right(t, wide(t, x[i])), got = wide(t, y[i]);

        if (narrow(t, want) != y[i] && !(want != want && got != got))
            fail_msg("%s(%a) is %a, not %a", op, (double)wide(t, x[i]),
                     (double)got, (double)want);
    }
}

static void test_every_number(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const enum tfd_dtype t = i ? TFD_BFLOAT16 : TFD_HALF;

        check_all("Rsqrt", t, rsqrt_of);
        check_all("Sigmoid", t, sigmoid_of);
    }
}

static void test_sigmoid_in_place_and_in_parts(void **state)
{
    struct tfd_row row = {.a = x, .y = x, .a_step = 1};

    (void)state;
    for (int begin = 0; begin < 3; begin++)
        for (int n = 0; n < 40; n++) {
            for (int i = 0; i < 64; i++)
                x[i] = narrow(TFD_HALF, (float)(i - 32) * 0.21f);
            tfd_registry_loop("Sigmoid", TFD_HALF)(&row, begin, begin + n);
            for (int i = 0; i < 64; i++) {
                float want = rounded(TFD_HALF, (float)(i - 32) * 0.21f);

                if (i >= begin && i < begin + n)
                    want = sigmoid_of(TFD_HALF, want);
                assert_int_equal(x[i], narrow(TFD_HALF, want));
            }
        }
}

/* ---- Comparisons --------------------------------------------------------- */

#define FEW 1000

static tfd_bool results[FEW];

static bool compared(const char *op, float a, float b)
{
    switch (op[0]) {
    case 'E':
        return a == b;
    case 'N':
        return a != b;
    case 'L':
        return op[4] ? a <= b : a < b;
    default:
        return op[7] ? a >= b : a > b;
    }
}

/* Each of the first numbers with the same one, or on either side of it. */
static void check_pairs(const char *op, enum tfd_dtype t, uint16_t other,
                        int a_step, int b_step)
{
    const struct tfd_row row = {.a = a_step ? x : &other,
                                .b = b_step ? y : &other,
                                .y = results,
                                .a_step = a_step,
                                .b_step = b_step};

    tfd_registry_loop(op, t)((void *)&row, 0, FEW);
    for (int i = 0; i < FEW; i++) {
        const float a = wide(t, a_step ? x[i] : other);
        const float b = wide(t, b_step ? y[i] : other);

        if (results[i] != compared(op, a, b))
            fail_msg("%s(%a, %a) is %d", op, (double)a, (double)b, results[i]);
    }
}

static void check_each_pair(void)
{
    static const char *const ops[] = {"Equal",     "NotEqual", "Less",
                                      "LessEqual", "Greater",  "GreaterEqual"};
    static const uint16_t others[] = {0,      0x8000, 1,      0x8001, 0x3c00,
                                      0x7c00, 0xfc00, 0x7f80, 0xff80, 0x7c01,
                                      0x7fc0, 0xffff, 0x7fff, 0xfbff, 0x7bff};

    for (int i = 0; i < FEW; i++) {
        x[i] = i < 15 ? others[i] : (uint16_t)(i * 40503);
        y[i] = i % 5 ? others[(i / 5) % 15] : x[i];
    }
    for (size_t f = 0; f < TFD_COUNT(ops); f++)
        for (int k = 0; k < 2; k++) {
            const enum tfd_dtype t = k ? TFD_BFLOAT16 : TFD_HALF;

            check_pairs(ops[f], t, 0, 1, 1);
            for (size_t i = 0; i < TFD_COUNT(others); i++) {
                check_pairs(ops[f], t, others[i], 0, 1);
                check_pairs(ops[f], t, others[i], 1, 0);
            }
        }
}

static void test_pairs(void **state)
{
    (void)state;
    check_each_pair();
}

/* As threads of a step have it: what is below normal numbers is 0. */
static void test_pairs_without_subnormal_numbers(void **state)
{
    const uint64_t before = tfd_denormals_get();

    (void)state;
    tfd_denormals_set(before | TFD_DENORMALS_FLUSH);
    check_each_pair();
    tfd_denormals_set(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_number),
        cmocka_unit_test(test_sigmoid_in_place_and_in_parts),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_pairs_without_subnormal_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
