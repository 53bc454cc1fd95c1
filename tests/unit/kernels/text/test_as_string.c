/*
 * test_as_string.c - as_string.c against printf(): ties, limits of each path,
 * and numbers of any bits.
 */
#include "tests/support/kernel_rig.h"

#define VALUES 4000
#define TEXT_SIZE (VALUES * 512)

static char input[TEXT_SIZE], output[TEXT_SIZE];

static uint64_t next_bits(void)
{
    static uint64_t seed = 88172645463325252;

    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static double real_of(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Any sign, any of the exponents around what is written as 0.000000 and around
 * 2^63, and now and then few bits, so that halves come up. */
static double some_real(int i)
{
    uint64_t bits = next_bits(), exponent = 1023 - 26 + next_bits() % 92;
    uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);

    if (i % 3 == 0)
        mantissa &= ~UINT64_C(0) << (bits >> 58) % 53;
    return real_of(bits >> 63 << 63 | exponent << 52 | mantissa);
}

static void check_reals(const char *type, const double *x, int n)
{
    const struct krig_case cases[] = {{"AsString", "", {input}, {output}}};
    size_t in = (size_t)sprintf(input, "%s[%d]", type, n);
    size_t out = (size_t)sprintf(output, "string[%d]", n);
    bool narrow = strcmp(type, "float") == 0;

    for (int i = 0; i < n; i++) {
        double value = narrow ? (double)(float)x[i] : x[i];

        in += (size_t)sprintf(input + in, " %.17g", value);
        out += (size_t)sprintf(output + out, " %f", value);
    }
    KRIG_CHECK(cases);
}

static void test_reals_of_any_bits(void **state)
{
    static double x[VALUES];

    (void)state;
    for (int i = 0; i < VALUES; i++)
        x[i] = some_real(i);
    check_reals("double", x, VALUES);
    check_reals("float", x, VALUES);
}

/* k / 2^7 and k / 2^8 lie halfway between two texts for odd k. */
static void test_halves_go_to_the_even_one(void **state)
{
    static double x[VALUES];

    (void)state;
    for (int i = 0; i < VALUES; i++)
        x[i] = ldexp(i - VALUES / 2, i % 2 ? -7 : -8);
    check_reals("double", x, VALUES);
    check_reals("float", x, VALUES);
}

static void test_real_limits(void **state)
{
    static const double x[] = {
        0,
        -0.0,
        5e-7,
        -5e-7,
        4.9999999e-7,
        5.0000001e-7,
        1.5e-6,
        2.5e-6,
        0.9999995,
        0.99999949,
        999999.9999995,
        1e-310,
        -4.9e-324,
        2.2250738585072014e-308,
        0x1p42,
        0x1p43,
        0x1p44,
        0x1p52,
        0x1p53,
        0x1p63,
        0x1p64,
        1e30,
        1e38,
        3.5,
        -1e-30,
        0x1.fffffffffffffp42,
        -0x1.fffffffffffffp42,
        0x1.fffffffffffffp41,
        0x1p-20,
        0x1p-21,
        0x1p-22,
        0x1.8p-21,
        0x1p-74,
        0x1p-126,
    };

    (void)state;
    check_reals("double", x, (int)(sizeof(x) / sizeof(x[0])));
    check_reals("float", x, (int)(sizeof(x) / sizeof(x[0])));
}

static void test_texts(void **state)
{
    static const struct krig_case cases[] = {
        {"AsString",
         "",
         {"int64[4] -9223372036854775808 9223372036854775807 0 -1"},
         {"string[4] -9223372036854775808 9223372036854775807 0 -1"}},
        {"AsString",
         "",
         {"uint64[3] 18446744073709551615 10 9"},
         {"string[3] 18446744073709551615 10 9"}},
        {"AsString", "", {"int8[3] -128 127 -1"}, {"string[3] -128 127 -1"}},
        {"AsString", "", {"uint8[2] 255 100"}, {"string[2] 255 100"}},
        {"AsString", "", {"int16[2] -32768 99"}, {"string[2] -32768 99"}},
        {"AsString", "", {"int32[1] -2147483648"}, {"string[1] -2147483648"}},
        {"AsString", "", {"float[3] nan inf -inf"}, {"string[3] nan inf -inf"}},
        {"AsString",
         "",
         {"half[3] 65504 -0 1.5"},
         {"string[3] 65504.000000 -0.000000 1.500000"}},
        {"AsString",
         "",
         {"bfloat16[2] 3 -2"},
         {"string[2] 3.000000 -2.000000"}},
        {"AsString", "", {"bool[2] 1 0"}, {"string[2] true false"}},
        {"AsString",
         "",
         {"complex64[1] 1,-2"},
         {"string[1] (1.000000,-2.000000)"}},
        {"AsString", "", {"float[0]"}, {"string[0]"}},
        /* With a format. */
        {"AsString",
         "width=3 fill=0",
         {"int32[2] 7 -1"},
         {"string[2] 007 -01"}},
        {"AsString", "precision=0", {"float[2] 0.5 1.5"}, {"string[2] 0 2"}},
        {"AsString",
         "shortest=true",
         {"float[2] 0.5 1e9"},
         {"string[2] 0.5 1e+09"}},
        {"AsString",
         "scientific=true",
         {"float[1] 5"},
         {"string[1] 5.000000e+00"}},
        {"AsString",
         "precision=1",
         {"int32[1] 5"},
         {"!INVALID_ARGUMENT precision not supported for datatype"}},
        {"AsString",
         "scientific=true",
         {"bool[1] 1"},
         {"!INVALID_ARGUMENT scientific and shortest format not supported"}},
        {"AsString",
         "scientific=true shortest=true",
         {"float[1] 1"},
         {"!INVALID_ARGUMENT Cannot select both"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reals_of_any_bits),
        cmocka_unit_test(test_halves_go_to_the_even_one),
        cmocka_unit_test(test_real_limits),
        cmocka_unit_test(test_texts),
    };

    return cmocka_run_group_tests(tests, krig_setup, krig_teardown);
}
