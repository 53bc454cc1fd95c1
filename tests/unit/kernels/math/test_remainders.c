/*
 * test_remainders.c - FloorMod, Mod and TruncateMod against the C
 * library: lengths around a block's, one operand a scalar, quotients that can
 * be had quickly and some that cannot.
 */
#include "common/base/denormals.h"
#include "tests/support/kernel_rig.h"

#include <math.h>

#define MOST 600
#define TEXT_SIZE (MOST * 24 + 64)

static char left[TEXT_SIZE], right[TEXT_SIZE], output[TEXT_SIZE];

enum operands { BOTH, LEFT_SCALAR, RIGHT_SCALAR };

struct numbers {
    int count;
    enum operands operands;
    float spread; /* of the exponents */
};

static uint32_t drawn;

/* Between -2^spread and 2^spread, rarely 0. */
static float draw(float spread)
{
    float exponent;

    drawn = drawn * 1664525u + 1013904223u;
    exponent = ((float)(drawn >> 8) / 8388608.0f - 1) * spread;
    drawn = drawn * 1664525u + 1013904223u;
    if (drawn >> 26 == 0)
        return 0;
    return ldexpf((float)(int32_t)drawn / 2147483648.0f, (int)exponent);
}

static double floored(double a, double b)
{
    double m = fmod(a, b);

    return m != 0 && (m < 0) != (b < 0) ? (float)m + (float)b : m;
}

static void check(const char *op, double (*reference)(double, double),
                  struct numbers n)
{
    const struct krig_case cases[] = {{op, "", {left, right}, {output}}};
    float a[MOST], b[MOST];
    size_t in = 0, by = 0, out = 0;

    for (int i = 0; i < n.count; i++) {
        a[i] = draw(n.spread);
        b[i] = draw(n.spread);
    }
    in += (size_t)sprintf(
        left, n.operands == LEFT_SCALAR ? "float[]" : "float[%d]", n.count);
    by += (size_t)sprintf(
        right, n.operands == RIGHT_SCALAR ? "float[]" : "float[%d]", n.count);
    out += (size_t)sprintf(output, "float[%d]", n.count);
    for (int i = 0; i < n.count; i++) {
        float x = a[n.operands == LEFT_SCALAR ? 0 : i];
        float y = b[n.operands == RIGHT_SCALAR ? 0 : i];

        if (n.operands != LEFT_SCALAR || i == 0)
            in += (size_t)sprintf(left + in, " %.9g", (double)x);
        if (n.operands != RIGHT_SCALAR || i == 0)
            by += (size_t)sprintf(right + by, " %.9g", (double)y);
        out += (size_t)sprintf(output + out, " %.9g",
                               reference((double)x, (double)y));
    }
    KRIG_CHECK(cases);
}

static void check_all(float spread)
{
    static const int counts[] = {1, 2, 7, 15, 16, 17, 255, 256, 257, 512, MOST};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        for (int o = BOTH; o <= RIGHT_SCALAR; o++) {
            struct numbers n = {counts[i], (enum operands)o, spread};

            check("FloorMod", floored, n);
            check("Mod", fmod, n);
            check("TruncateMod", fmod, n);
        }
}

/* Remainders of doubles are exact: fmod() is the truth. */
static void check_doubles(const char *op, int count, float spread)
{
    const struct krig_case cases[] = {{op, "", {left, right}, {output}}};
    const bool is_floor = strcmp(op, "FloorMod") == 0;
    size_t in = (size_t)sprintf(left, "double[%d]", count);
    size_t by = (size_t)sprintf(right, "double[%d]", count);
    size_t out = (size_t)sprintf(output, "double[%d]", count);

    for (int i = 0; i < count; i++) {
        const double a = (double)draw(spread) * (1 + (double)draw(0));
        const double b = (double)draw(spread) * (1 + (double)draw(0));
        double m = fmod(a, b);

        m = is_floor && m != 0 && (m < 0) != (b < 0) ? m + b : m;
        in += (size_t)sprintf(left + in, " %.17g", a);
        by += (size_t)sprintf(right + by, " %.17g", b);
        out += (size_t)sprintf(output + out, " %.17g", m);
    }
    KRIG_CHECK(cases);
}

static void test_doubles(void **state)
{
    static const int counts[] = {1, 3, 4, 7, 8, 9, 255, 256, 257, MOST};
    static const float spreads[] = {3, 30, 126};

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        for (size_t k = 0; k < sizeof(spreads) / sizeof(spreads[0]); k++) {
            check_doubles("FloorMod", counts[i], spreads[k]);
            check_doubles("TruncateMod", counts[i], spreads[k]);
        }
}

static void test_rare_doubles(void **state)
{
    static const struct krig_case cases[] = {
        {"TruncateMod",
         "",
         {"double[9] 7 -7 7 inf 3 -3 nan 5 -0",
          "double[9] 3 3 -3 3 inf -inf 3 0 3"},
         {"double[9] 1 -1 1 nan 3 -3 nan nan -0"}},
        {"FloorMod",
         "",
         {"double[4] 7 -7 3 -3", "double[4] -3 3 -inf inf"},
         {"double[4] -2 2 -inf inf"}},
        /* A quotient that is rounded up to a whole number, subnormals, and one
         * above 2^52. */
        {"TruncateMod",
         "",
         {"double[4] 0.99999999999999989 1e-310 9007199254740993e3 1",
          "double[4] 0.33333333333333331 3e-320 7 5e-324"},
         {"double[4] 0.33333333333333326 4.125e-321 5 0"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_quotients_that_are_near_one(void **state)
{
    (void)state;
    check_all(3);
}

static void test_quotients_around_the_limit(void **state)
{
    (void)state;
    check_all(16);
}

static void test_quotients_that_no_double_holds(void **state)
{
    (void)state;
    check_all(100);
}

static void test_whole_and_special_numbers(void **state)
{
    static const struct krig_case cases[] = {
        {"FloorMod",
         "",
         {"float[12] 7 -7 7 -7 -4 4 inf 3 3 nan 5 -0",
          "float[12] 3 3 -3 -3 2 -2 3 inf -inf 3 0 3"},
         {"float[12] 1 2 -2 -1 0 0 nan 3 -inf nan nan 0"}},
        {"Mod",
         "",
         {"float[8] 7 -7 7 -7 inf 3 nan 5", "float[8] 3 3 -3 -3 3 inf 3 0"},
         {"float[8] 1 -1 1 -1 nan 3 nan nan"}},
        /* nothing but those can be told quickly */
        {"Mod",
         "",
         {"float[4] 3 -3 0 2", "float[4] inf inf -inf -inf"},
         {"float[4] 3 -3 0 2"}},
        {"FloorMod",
         "",
         {"float[] 3", "float[3] inf -inf 2"},
         {"float[3] 3 -inf 1"}},
        {"FloorMod",
         "",
         {"float[3] 16777216 16777215 268435456", "float[3] 3 0.5 0.75"},
         {"float[3] 1 0 0.25"}},
        {"FloorMod", "", {"float[0]", "float[0]"}, {"float[0]"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

/* To threads of kernels they are 0, but not to fmod(). */
static void test_subnormal_remainders(void **state)
{
    static const struct krig_case cases[] = {
        {"Mod",
         "",
         {"float[4] 1e-45 -3e-39 2e-38 0", "float[4] 2 1 1.2e-38 3"},
         {"float[4] 1e-45 -3e-39 8e-39 0"}},
        {"TruncateMod",
         "",
         {"double[4] 5e-324 -1e-310 3.5e-308 0", "double[4] 2 1 3e-308 3"},
         {"double[4] 5e-324 -1e-310 5e-309 0"}},
    };
    const uint64_t before = tfd_denormals_flush();

    (void)state;
    KRIG_CHECK(cases);
    tfd_denormals_set(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_rare_doubles),
        cmocka_unit_test(test_subnormal_remainders),
        cmocka_unit_test(test_quotients_that_are_near_one),
        cmocka_unit_test(test_quotients_around_the_limit),
        cmocka_unit_test(test_quotients_that_no_double_holds),
        cmocka_unit_test(test_whole_and_special_numbers),
    };

    return cmocka_run_group_tests_name("remainders", tests, krig_setup,
                                       krig_teardown);
}
