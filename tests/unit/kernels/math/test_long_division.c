/*
 * test_long_division.c - quotients and remainders of int64 beside those of C,
 * one by one: numbers up to and beyond what doubles hold, lengths around a
 * block's, one operand a scalar, in place, divisors of 0.
 */
#include "kernels/core/elementwise.h"
#include "kernels/core/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MOST 600
#define UNTOUCHED 77

static int64_t a[MOST], b[MOST], y[MOST];
static uint64_t drawn = 1;

/* ---- What is right ------------------------------------------------------- */

static int64_t quotient(int64_t x, int64_t by)
{
    return by == -1 ? (int64_t)(0 - (uint64_t)x) : x / by;
}

static int64_t remainder_of(int64_t x, int64_t by)
{
    return by == -1 ? 0 : x % by;
}

static int64_t floored(int64_t x, int64_t by)
{
    const bool adjust = (x < 0) != (by < 0) && remainder_of(x, by) != 0;

    return quotient(x, by) - adjust;
}

static int64_t floor_mod(int64_t x, int64_t by)
{
    const int64_t left = remainder_of(x, by);

    return left != 0 && (left < 0) != (by < 0) ? left + by : left;
}

static const struct {
    const char *op;
    int64_t (*right)(int64_t x, int64_t by);
} functions[] = {
    {"Div", quotient},     {"TruncateDiv", quotient},
    {"FloorDiv", floored}, {"FloorMod", floor_mod},
    {"Mod", remainder_of}, {"TruncateMod", remainder_of},
};

/* ---- Numbers ------------------------------------------------------------- */

/* Of up to so many bits, either sign, never 0. */
static int64_t draw(int bits)
{
    int64_t x;

    drawn = drawn * UINT64_C(6364136223846793005) + 1442695040888963407u;
    x = (int64_t)(drawn >> (64 - bits)) >> (drawn >> 8) % (uint64_t)bits;
    x += x == 0;
    return drawn & 128 ? x : -x;
}

static void fill(int n, int bits_a, int bits_b)
{
    for (int i = 0; i < n; i++) {
        a[i] = draw(bits_a);
        b[i] = draw(bits_b);
        /* Multiples, and what is beside them. */
        if (i % 3 == 0 && bits_a + bits_b < 64)
            a[i] = a[i] * b[i] + i % 2;
    }
}

static void check_row(size_t f, int begin, int n, int a_step, int b_step)
{
    int failed = 0;
    struct tfd_row row = {.a = a,
                          .b = b,
                          .y = y,
                          .a_step = a_step,
                          .b_step = b_step,
                          .failed = &failed};
    bool zero = false;

    for (int i = 0; i < MOST; i++)
        y[i] = UNTOUCHED;
    tfd_registry_loop(functions[f].op, TFD_INT64)(&row, begin, begin + n);
    for (int i = 0; i < MOST; i++) {
        const int64_t x = a[a_step ? i : 0], by = b[b_step ? i : 0];
        const bool inside = i >= begin && i < begin + n;
        int64_t want = UNTOUCHED;

        zero |= inside && by == 0;
        if (inside && by != 0)
            want = functions[f].right(x, by);
        if (y[i] != want && !(inside && by == 0))
            fail_msg("%s(%lld, %lld) is %lld, not %lld", functions[f].op,
                     (long long)x, (long long)by, (long long)y[i],
                     (long long)want);
    }
    assert_int_equal(failed, zero);
}

static void check_steps(int begin, int n)
{
    for (size_t f = 0; f < TFD_COUNT(functions); f++) {
        check_row(f, begin, n, 1, 1);
        check_row(f, begin, n, 0, 1);
        check_row(f, begin, n, 1, 0);
    }
}

/* ---- Tests --------------------------------------------------------------- */

static void test_lengths_and_places(void **state)
{
    static const int counts[] = {0,  1,  2,   7,   8,   9,   15,
                                 16, 17, 255, 256, 257, 512, 590};

    (void)state;
    fill(MOST, 40, 12);
    for (size_t i = 0; i < TFD_COUNT(counts); i++)
        for (int begin = 0; begin < 3; begin++)
            check_steps(begin, counts[i]);
}

static void test_numbers_of_every_size(void **state)
{
    (void)state;
    for (int bits = 2; bits <= 63; bits++) {
        fill(MOST, bits, bits);
        check_steps(0, MOST);
        fill(MOST, bits, bits / 2 + 1);
        check_steps(1, MOST - 1);
    }
}

static void test_numbers_at_the_limits(void **state)
{
    static const int64_t edges[] = {0,
                                    1,
                                    2,
                                    3,
                                    (INT64_C(1) << 52) - 1,
                                    INT64_C(1) << 52,
                                    (INT64_C(1) << 52) + 1,
                                    INT64_C(1) << 53,
                                    (INT64_C(1) << 53) + 1,
                                    (INT64_C(1) << 51) + 1,
                                    INT64_MAX,
                                    INT64_MAX - 1};
    const int count = TFD_COUNT(edges);

    (void)state;
    for (int side = 0; side < 4; side++)
        for (int j = 0; j < count; j++) {
            for (int i = 0; i < MOST; i++) {
                a[i] = side & 1 ? -edges[i % count] : edges[i % count];
                b[i] = side & 2 ? -edges[j] : edges[j];
                b[i] += b[i] == 0;
            }
            check_steps(0, MOST);
            a[MOST / 2] = INT64_MIN;
            b[MOST / 3] = INT64_MIN;
            check_steps(0, MOST);
        }
    for (int i = 0; i < MOST; i++) {
        a[i] = i % 2 ? INT64_MIN : -i;
        b[i] = i % 3 ? -1 : 1;
    }
    check_steps(0, MOST);
}

static void test_a_divisor_of_0_fails_and_others_do_not(void **state)
{
    (void)state;
    fill(MOST, 30, 10);
    b[300] = 0;
    check_steps(0, MOST);
    check_steps(301, 100);
    b[0] = 0;
    check_steps(0, 1);
    check_steps(0, 300);
}

static void test_in_place(void **state)
{
    (void)state;
    for (size_t f = 0; f < TFD_COUNT(functions); f++)
        for (int side = 0; side < 2; side++) {
            struct tfd_row row = {
                .a = a, .b = b, .y = side ? b : a, .a_step = 1, .b_step = 1};

            fill(MOST, 45, 9);
            a[400] = INT64_MAX; /* one block is not of doubles */
            for (int i = 0; i < MOST; i++)
                y[i] = functions[f].right(a[i], b[i]);
            tfd_registry_loop(functions[f].op, TFD_INT64)(&row, 0, MOST);
            assert_memory_equal(row.y, y, sizeof(y));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths_and_places),
        cmocka_unit_test(test_numbers_of_every_size),
        cmocka_unit_test(test_numbers_at_the_limits),
        cmocka_unit_test(test_a_divisor_of_0_fails_and_others_do_not),
        cmocka_unit_test(test_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
