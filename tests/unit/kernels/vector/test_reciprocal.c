/*
 * test_reciprocal.c - reciprocal.c beside a division, to the bit: all mantissas
 * at some exponents, every 8009th float, lengths around the vectors' lanes.
 */
#include "kernels/core/elementwise.h"
#include "kernels/vector/reciprocal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCK = 4096 };

static float a[BLOCK], y[BLOCK];

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static bool same(float got, float want)
{
    return memcmp(&got, &want, sizeof(got)) == 0 ||
           (got != got && want != want);
}

static tfd_range_fn *const loops[] = {tfd_reciprocal_loop,
                                      tfd_reciprocal_refined_loop,
                                      tfd_reciprocal_mixed_loop};

static void check_results(void)
{
    for (int i = 0; i < BLOCK; i++)
        if (!same(y[i], 1 / a[i]))
            fail_msg("1 / %a is %a, not %a", (double)a[i], (double)y[i],
                     (double)(1 / a[i]));
}

/* Of bits `at`, at + step and so on. */
static void check_block(uint32_t at, uint32_t step)
{
    struct tfd_row row = {.a = a, .y = y, .a_step = 1};

    for (uint32_t i = 0; i < BLOCK; i++)
        a[i] = float_of(at + i * step);
    for (int k = 0; k < TFD_COUNT(loops); k++) {
        loops[k](&row, 0, BLOCK);
        check_results();
    }
}

static void test_all_mantissas(void **state)
{
    static const uint32_t exponents[] = {0,   1,   2,   3,   127, 250,
                                         251, 252, 253, 254, 255, 256 + 130};

    (void)state;
    for (int e = 0; e < TFD_COUNT(exponents); e++)
        for (uint32_t at = 0; at < 1u << 23; at += BLOCK)
            check_block((exponents[e] << 23) + at, 1);
}

static void test_all_exponents(void **state)
{
    const uint32_t step = 8009;

    (void)state;
    for (uint64_t at = 0; at < UINT64_C(1) << 32; at += (uint64_t)BLOCK * step)
        check_block((uint32_t)at, step);
}

static void check_part(tfd_range_fn *loop, int begin, int n)
{
    struct tfd_row row = {.a = a, .y = a, .a_step = 1};

    for (int i = 0; i < BLOCK; i++)
        a[i] = i % 9 == 4 ? 0 : (float)(i - 50) * 0.37f;
    memcpy(y, a, sizeof(y));
    loop(&row, begin, begin + n);
    for (int i = 0; i < BLOCK; i++)
        assert_true(same(a[i], i >= begin && i < begin + n ? 1 / y[i] : y[i]));
}

static void test_lengths_and_places(void **state)
{
    (void)state;
    for (int k = 0; k < TFD_COUNT(loops); k++)
        for (int begin = 0; begin < 3; begin++)
            for (int n = 0; n < 70; n++)
                check_part(loops[k], begin, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_mantissas),
        cmocka_unit_test(test_all_exponents),
        cmocka_unit_test(test_lengths_and_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
