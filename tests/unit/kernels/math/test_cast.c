/*
 * test_cast.c - cast.c: every pair of types, and what does not fit.
 */
#include "tests/support/kernel_rig.h"

/* Small numbers every type can hold go from each type to each and arrive. */
static void test_every_pair(void **state)
{
    static const char *const types[] = {
        "bool",     "uint8", "uint16", "uint32",    "uint64",
        "int8",     "int16", "int32",  "int64",     "half",
        "bfloat16", "float", "double", "complex64", "complex128"};
    const int count = (int)(sizeof(types) / sizeof(types[0]));

    (void)state;
    for (int from = 0; from < count; from++)
        for (int to = 0; to < count; to++) {
            char attrs[40], in[40], out[40];
            const struct krig_case c = {"Cast", attrs, {in}, {out}};

            snprintf(attrs, sizeof(attrs), "DstT=%s", types[to]);
            snprintf(in, sizeof(in), "%s[3] 0 1 1", types[from]);
            snprintf(out, sizeof(out), "%s[3] 0 1 1", types[to]);
            krig_check(&c);
        }
}

static void test_values(void **state)
{
    static const struct krig_case cases[] = {
        {"Cast",
         "DstT=int32",
         {"float[4] 1.9 -1.9 0.4 -0.4"},
         {"int32[4] 1 -1 0 0"}},
        {"Cast",
         "DstT=int32",
         {"float[5] nan inf -inf 1e10 -1e10"},
         {"int32[5] -2147483648"}},
        {"Cast",
         "DstT=int64",
         {"double[3] nan 1e19 -1e19"},
         {"int64[3] -9223372036854775808"}},
        {"Cast",
         "DstT=int64",
         {"double[2] 1e15 -1e15"},
         {"int64[2] 1000000000000000 -1000000000000000"}},
        {"Cast",
         "DstT=uint64",
         {"double[3] 1e19 -1 nan"},
         {"uint64[3] 10000000000000000000 18446744073709551615 "
          "9223372036854775808"}},
        {"Cast", "DstT=uint8", {"int32[3] 300 -1 256"}, {"uint8[3] 44 255 0"}},
        {"Cast", "DstT=int8", {"uint16[2] 200 255"}, {"int8[2] -56 -1"}},
        {"Cast", "DstT=uint32", {"int64[1] -1"}, {"uint32[1] 4294967295"}},
        {"Cast",
         "DstT=float",
         {"uint64[1] 18446744073709551615"},
         {"float[1] 18446744073709551616"}},
        {"Cast",
         "DstT=half",
         {"float[4] 65519 65520 1e-8 nan"},
         {"half[4] 65504 inf 0 nan"}},
        {"Cast", "DstT=half", {"int32[1] 70000"}, {"half[1] inf"}},
        {"Cast",
         "DstT=bfloat16",
         {"float[2] 1.005859375 -3.3e38"},
         {"bfloat16[2] 1.0078125 -3.3e38"}},
        {"Cast", "DstT=float", {"double[1] 1e300"}, {"float[1] inf"}},
        {"Cast", "DstT=bool", {"float[4] 0 -0 0.1 nan"}, {"bool[4] 0 0 1 1"}},
        {"Cast", "DstT=bool", {"complex64[2] 0,1 1,0"}, {"bool[2] 0 1"}},
        {"Cast", "DstT=int32", {"complex64[1] 3,4"}, {"int32[1] 3"}},
        {"Cast",
         "DstT=complex128",
         {"complex64[1] 3,4"},
         {"complex128[1] 3,4"}},
        {"Cast", "DstT=complex64", {"half[1] 1.5"}, {"complex64[1] 1.5,0"}},
        {"Cast", "DstT=qint8", {"int32[1] 5"}, {"qint8[1] 5"}},
        {"Cast", "DstT=float", {"quint8[1] 200"}, {"float[1] 200"}},
        {"Cast", "DstT=string", {"string[2] a b"}, {"string[2] a b"}},
        {"Cast", "DstT=float", {"uint8[784] 0 255"}, {"float[784] 0 255"}},
        {"Cast", "DstT=float", {"int8[0]"}, {"float[0]"}},
        {"Cast",
         "DstT=int32",
         {"string[1] a"},
         {"!UNIMPLEMENTED Cast string to int32 is not supported"}},
        {"Cast",
         "DstT=string",
         {"int32[1] 1"},
         {"!UNIMPLEMENTED Cast int32 to string is not supported"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_truncation(void **state)
{
    static const struct krig_case cases[] = {
        {"Cast",
         "DstT=bfloat16 Truncate=true",
         {"float[3] 1.0078124 -1.0078124 nan"},
         {"bfloat16[3] 1 -1 nan"}},
        {"Cast",
         "DstT=half Truncate=true",
         {"float[2] 1.0009765 inf"},
         {"half[2] 1 inf"}},
        {"Cast",
         "DstT=float Truncate=true",
         {"double[2] 1.00000011 nan"},
         {"float[2] 1 nan"}},
        {"Cast",
         "DstT=complex64 Truncate=true",
         {"complex128[1] 1.00000011,1"},
         {"complex64[1] 1,1"}},
        {"Cast", "DstT=int32 Truncate=true", {"float[1] 1.5"}, {"int32[1] 1"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_truncation),
    };

    return cmocka_run_group_tests_name("cast", tests, krig_setup,
                                       krig_teardown);
}
