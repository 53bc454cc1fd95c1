/*
 * test_binary.c - binary.c, divide.c and power.c: two tensors in, one out.
 */
#include "tests/support/kernel_rig.h"

/* Halves are compared as integers: against what floats say, in each lane. */
static void test_extremes_of_halves_are_those_of_floats(void **state)
{
    static const struct krig_case cases[] = {
        {"Maximum",
         "",
         {"half[9] nan 1 -1 -2 inf -inf 0 6e-8 -65504",
          "half[9] 1 nan -2 -1 1 -1 -1 0 65504"},
         {"half[9] nan nan -1 -1 inf -1 0 6e-8 65504"}},
        {"Minimum",
         "",
         {"half[9] nan 1 -1 -2 inf -inf 0 -6e-8 -65504",
          "half[9] 1 nan -2 -1 1 -1 -1 0 65504"},
         {"half[9] nan nan -2 -2 1 -inf -1 -6e-8 -65504"}},
        {"Maximum",
         "",
         {"bfloat16[8] nan 1 -1 -2 inf -inf 0 -3e38",
          "bfloat16[8] -1 nan -2 -1 1 -1 -1 3e38"},
         {"bfloat16[8] nan nan -1 -1 inf -1 0 3e38"}},
        {"Minimum",
         "",
         {"bfloat16[8] nan 1 -1 -2 inf -inf 0 -3e38",
          "bfloat16[8] -1 nan -2 -1 1 -1 -1 3e38"},
         {"bfloat16[8] nan nan -2 -2 1 -inf -1 -3e38"}},
        {"Maximum", "", {"half[131] -1", "half[] -2"}, {"half[131] -1"}},
        {"Minimum", "", {"half[131] -1", "half[131] -2"}, {"half[131] -2"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_shapes_are_broadcast(void **state)
{
    static const struct krig_case cases[] = {
        {"AddV2", "", {"float[2] 1 2", "float[2] 10 20"}, {"float[2] 11 22"}},
        {"AddV2", "", {"float[] 1", "float[] 10"}, {"float[] 11"}},
        {"AddV2", "", {"float[3] 1 2 3", "float[] 10"}, {"float[3] 11 12 13"}},
        {"Sub", "", {"float[] 10", "float[3] 1 2 3"}, {"float[3] 9 8 7"}},
        {"Sub",
         "",
         {"float[2,1] 10 20", "float[1,3] 1 2 3"},
         {"float[2,3] 9 8 7 19 18 17"}},
        {"Sub",
         "",
         {"float[3] 10 20 30", "float[2,3] 1 2 3 4 5 6"},
         {"float[2,3] 9 18 27 6 15 24"}},
        {"Mul",
         "",
         {"int32[2,1,2] 1 2 3 4", "int32[3,1] 1 10 100"},
         {"int32[2,3,2] 1 2 10 20 100 200 3 4 30 40 300 400"}},
        {"Mul",
         "",
         {"int32[1,2,1,2] 1 2 3 4", "int32[2,1,2,1] 1 10 100 1000"},
         {"int32[2,2,2,2] 1 2 10 20 3 4 30 40 100 200 1000 2000 300 400 3000 "
          "4000"}},
        {"Mul", "", {"float[0]", "float[]  3"}, {"float[0]"}},
        {"Mul", "", {"float[0]", "float[1] 3"}, {"float[0]"}},
        {"Mul", "", {"float[2,0]", "float[1,1] 3"}, {"float[2,0]"}},
        {"AddV2",
         "",
         {"float[1000] 1 2", "float[1000] 3"},
         {"float[1000] 4 5"}},
        {"AddV2", "", {"float[300,7] 1", "float[7] 3"}, {"float[300,7] 4"}},
        {"AddV2", "", {"float[300,7] 1", "float[300,1] 3"}, {"float[300,7] 4"}},
        {"AddV2",
         "",
         {"float[2] 1", "float[3] 1"},
         {"!INVALID_ARGUMENT Incompatible shapes: [2] vs. [3]"}},
        {"Maximum",
         "",
         {"float[2,3] 1", "float[2,2] 1"},
         {"!INVALID_ARGUMENT Incompatible shapes: [2,3] vs. [2,2]"}},
        {"Mul",
         "",
         {"float[0]", "float[2] 1"},
         {"!INVALID_ARGUMENT Incompatible shapes: [0] vs. [2]"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_integers_wrap(void **state)
{
    static const struct krig_case cases[] = {
        {"AddV2",
         "",
         {"int8[2] 127 -128", "int8[2] 1 -1"},
         {"int8[2] -128 127"}},
        {"Mul", "", {"int16[1] 300", "int16[1] 300"}, {"int16[1] 24464"}},
        {"Mul", "", {"uint16[1] 65535", "uint16[1] 65535"}, {"uint16[1] 1"}},
        {"AddV2",
         "",
         {"int32[1] 2147483647", "int32[1] 1"},
         {"int32[1] -2147483648"}},
        {"Mul",
         "",
         {"int64[1] 4611686018427387904", "int64[1] 4"},
         {"int64[1] 0"}},
        {"Sub",
         "",
         {"uint64[1] 0", "uint64[1] 1"},
         {"uint64[1] 18446744073709551615"}},
        {"SquaredDifference",
         "",
         {"int32[1] 2147483647", "int32[1] -2147483648"},
         {"int32[1] 1"}},
        {"FloorDiv",
         "",
         {"int32[1] -2147483648", "int32[1] -1"},
         {"int32[1] -2147483648"}},
        {"FloorMod",
         "",
         {"int64[1] -9223372036854775808", "int64[1] -1"},
         {"int64[1] 0"}},
        {"Pow",
         "",
         {"int8[3] 2 3 -2", "int8[3] 7 5 3"},
         {"int8[3] -128 -13 -8"}},
        {"Pow",
         "",
         {"int32[3] 2 3 0", "int32[3] 31 40 0"},
         {"int32[3] -2147483648 689956897 1"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_every_kind_of_number(void **state)
{
    static const struct krig_case cases[] = {
        {"AddV2",
         "",
         {"double[1] 1e-9", "double[1] 1"},
         {"double[1] 1.000000001"}},
        {"AddV2",
         "",
         {"half[2] 2048 1.5", "half[2] 1 1"},
         {"half[2] 2048 2.5"}},
        {"AddV2",
         "",
         {"bfloat16[1] 256", "bfloat16[1] 1"},
         {"bfloat16[1] 256"}},
        {"SquaredDifference", "", {"half[1] 3", "half[1] 1"}, {"half[1] 4"}},
        {"Mul",
         "",
         {"complex64[1] 1,2", "complex64[1] 3,4"},
         {"complex64[1] -5,10"}},
        {"RealDiv",
         "",
         {"complex128[2] 1,2 1,1", "complex128[2] 3,4 1e300,1e300"},
         {"complex128[2] 0.44,0.08 1e-300,0"}},
        {"SquaredDifference",
         "",
         {"complex64[1] 1,2", "complex64[1] 0,0"},
         {"complex64[1] 5,0"}},
        {"Add", "", {"string[2] a bc", "string[] x"}, {"string[2] ax bcx"}},
        {"Add", "", {"string[0]", "string[] x"}, {"string[0]"}},
        {"AddV2", "", {"string[] a", "string[] b"}, {"!INVALID_ARGUMENT T"}},
        {"Pow", "", {"float[2] 2 4", "float[2] -1 0.5"}, {"float[2] 0.5 2"}},
        {"Pow",
         "",
         {"complex64[1] 3,0", "complex64[1] 2,0"},
         {"complex64[1] 9,0"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_nan_wins_extremes(void **state)
{
    static const struct krig_case cases[] = {
        {"Maximum",
         "",
         {"float[4] nan 1 -inf 2", "float[4] 1 nan 3 inf"},
         {"float[4] nan nan 3 inf"}},
        {"Minimum",
         "",
         {"double[3] nan 1 -inf", "double[3] 1 nan 3"},
         {"double[3] nan nan -inf"}},
        {"Maximum", "", {"half[2] nan 1", "half[] 2"}, {"half[2] nan 2"}},
        {"Minimum",
         "",
         {"uint8[3] 1 200 7", "uint8[] 100"},
         {"uint8[3] 1 100 7"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_quotients_round_as_named(void **state)
{
    static const struct krig_case cases[] = {
        {"FloorDiv",
         "",
         {"int32[4] 7 -7 7 -7", "int32[4] 3 3 -3 -3"},
         {"int32[4] 2 -3 -3 2"}},
        {"FloorMod",
         "",
         {"int32[4] 7 -7 7 -7", "int32[4] 3 3 -3 -3"},
         {"int32[4] 1 2 -2 -1"}},
        {"TruncateDiv",
         "",
         {"int32[4] 7 -7 7 -7", "int32[4] 3 3 -3 -3"},
         {"int32[4] 2 -2 -2 2"}},
        {"TruncateMod",
         "",
         {"int32[4] 7 -7 7 -7", "int32[4] 3 3 -3 -3"},
         {"int32[4] 1 -1 1 -1"}},
        {"Mod", "", {"int64[2] 7 -7", "int64[] 3"}, {"int64[2] 1 -1"}},
        {"Div", "", {"uint8[1] 200", "uint8[1] 7"}, {"uint8[1] 28"}},
        {"FloorDiv",
         "",
         {"float[4] 5 -5 inf 7.5", "float[4] 3 3 2 0"},
         {"float[4] 1 -2 inf inf"}},
        {"FloorMod",
         "",
         {"float[5] 5 -5 5 1 7.5", "float[5] 3 3 -3 -inf 0"},
         {"float[5] 2 1 -1 -inf nan"}},
        {"RealDiv",
         "",
         {"float[3] 1 -1 0", "float[] 0"},
         {"float[3] inf -inf nan"}},
        {"DivNoNan",
         "",
         {"float[3] 1 nan 6", "float[3] 0 0 3"},
         {"float[3] 0 0 2"}},
        {"DivNoNan",
         "",
         {"complex64[1] 1,1", "complex64[1] 0,0"},
         {"complex64[1] 0,0"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_integers_that_have_no_answer_fail(void **state)
{
    static const struct krig_case cases[] = {
        {"Div",
         "",
         {"int32[2] 1 2", "int32[2] 1 0"},
         {"!INVALID_ARGUMENT Integer division by zero"}},
        {"FloorDiv",
         "",
         {"uint8[3] 1", "uint8[] 0"},
         {"!INVALID_ARGUMENT Integer division by zero"}},
        {"FloorMod",
         "",
         {"int64[] 1", "int64[3] 1 2 0"},
         {"!INVALID_ARGUMENT Integer division by zero"}},
        {"Mod",
         "",
         {"int32[2,1] 1", "int32[1,2] 3 0"},
         {"!INVALID_ARGUMENT Integer division by zero"}},
        {"TruncateDiv",
         "",
         {"int32[] 1", "int32[] 0"},
         {"!INTERNAL Unexpected error in binary operator"}},
        {"Pow",
         "",
         {"int32[2] 1 2", "int32[2] 2 -1"},
         {"!INVALID_ARGUMENT Integers to negative integer powers"}},
        {"FloorDiv", "", {"int32[0]", "int32[] 0"}, {"int32[0]"}},
        {"RealDiv", "", {"int32[] 1", "int32[] 1"}, {"!NOT_FOUND no kernel"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extremes_of_halves_are_those_of_floats),
        cmocka_unit_test(test_shapes_are_broadcast),
        cmocka_unit_test(test_integers_wrap),
        cmocka_unit_test(test_every_kind_of_number),
        cmocka_unit_test(test_nan_wins_extremes),
        cmocka_unit_test(test_quotients_round_as_named),
        cmocka_unit_test(test_integers_that_have_no_answer_fail),
    };

    return cmocka_run_group_tests_name("binary", tests, krig_setup,
                                       krig_teardown);
}
