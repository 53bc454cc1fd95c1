/*
 * test_compare.c - compare.c and select.c: choices.
 */
#include "tests/support/kernel_rig.h"

static void test_comparisons(void **state)
{
    static const struct krig_case cases[] = {
        {"Equal",
         "",
         {"float[4] 1 nan 0 3", "float[4] 1 nan -0 4"},
         {"bool[4] 1 0 1 0"}},
        {"NotEqual", "", {"float[2] nan 1", "float[2] nan 1"}, {"bool[2] 1 0"}},
        {"Less", "", {"int8[3] -1 0 1", "int8[] 0"}, {"bool[3] 1 0 0"}},
        {"LessEqual",
         "",
         {"uint64[2] 0 18446744073709551615", "uint64[] 1"},
         {"bool[2] 1 0"}},
        {"Greater", "", {"half[2] 1.5 nan", "half[2] 1 1"}, {"bool[2] 1 0"}},
        {"GreaterEqual",
         "",
         {"bfloat16[2,1] 1 2", "bfloat16[2] 1 2"},
         {"bool[2,2] 1 0 1 1"}},
        {"Equal",
         "",
         {"complex64[2] 1,2 1,3", "complex64[] 1,2"},
         {"bool[2] 1 0"}},
        {"Equal", "", {"string[3] a b ab", "string[] a"}, {"bool[3] 1 0 0"}},
        {"NotEqual", "", {"bool[2] 0 1", "bool[] 1"}, {"bool[2] 1 0"}},
        {"Equal", "", {"qint8[2] 1 2", "qint8[] 2"}, {"bool[2] 0 1"}},
        {"Equal", "", {"uint8[0]", "uint8[] 1"}, {"bool[0]"}},
        {"Equal", "", {"uint8[600] 1 2", "uint8[600] 1"}, {"bool[600] 1 0"}},
        {"LogicalAnd",
         "",
         {"bool[4] 0 0 1 1", "bool[4] 0 1 0 1"},
         {"bool[4] 0 0 0 1"}},
        {"LogicalOr",
         "",
         {"bool[4] 0 0 1 1", "bool[4] 0 1 0 1"},
         {"bool[4] 0 1 1 1"}},
        {"LogicalNot", "", {"bool[2] 0 1"}, {"bool[2] 1 0"}},
        {"Less", "", {"bool[2] 0 1", "bool[] 1"}, {"!INVALID_ARGUMENT T"}},
        {"Less",
         "",
         {"float[2] 1", "float[3] 1"},
         {"!INVALID_ARGUMENT Incompatible shapes: [2] vs. [3]"}},
        {"LogicalOr",
         "",
         {"bool[2] 1", "bool[3] 1"},
         {"!INVALID_ARGUMENT Incompatible shapes: [2] vs. [3]"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_shapes_that_do_not_fit_may_be_unequal(void **state)
{
    static const struct krig_case cases[] = {
        {"Equal",
         "",
         {"float[2] 1", "float[3] 1"},
         {"!INVALID_ARGUMENT Incompatible shapes: [2] vs. [3]"}},
        {"Equal",
         "incompatible_shape_error=false",
         {"float[2] 1", "float[3] 1"},
         {"bool[] 0"}},
        {"NotEqual",
         "incompatible_shape_error=false",
         {"float[2] 1", "float[3] 1"},
         {"bool[] 1"}},
        {"Equal",
         "incompatible_shape_error=false",
         {"float[2] 1 2", "float[1] 1"},
         {"bool[2] 1 0"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_approximately_equal(void **state)
{
    static const struct krig_case cases[] = {
        {"ApproximateEqual",
         "tolerance=0.5",
         {"float[6] 1 1 1 nan inf -0", "float[6] 1.5 1.501 0.5 nan inf 0"},
         {"bool[6] 1 0 1 0 0 1"}},
        /* the tolerance is a float: 9.99999974e-06 */
        {"ApproximateEqual",
         "",
         {"double[3] 0 0 0", "double[3] 1e-5 9.9999e-6 -9.9999e-6"},
         {"bool[3] 0 1 1"}},
        {"ApproximateEqual",
         "tolerance=0.0",
         {"double[2] 1 1", "double[2] 1 1.0000001"},
         {"bool[2] 1 0"}},
        {"ApproximateEqual",
         "tolerance=-1.0",
         {"float[] 1", "float[] 1"},
         {"bool[] 0"}},
        {"ApproximateEqual", "", {"float[0,2]", "float[0,2]"}, {"bool[0,2]"}},
        {"ApproximateEqual",
         "tolerance=1.0",
         {"float[70001] 1 2 3 4 5", "float[70001] 1 3.5 3 5 8"},
         {"bool[70001] 1 0 1 1 0"}},
        {"ApproximateEqual",
         "",
         {"float[2] 1", "float[3] 1"},
         {"!INVALID_ARGUMENT"}},
        {"ApproximateEqual",
         "",
         {"float[2] 1", "float[] 1"},
         {"!INVALID_ARGUMENT"}},
        {"ApproximateEqual",
         "",
         {"bool[2] 1", "bool[2] 1"},
         {"!INVALID_ARGUMENT T"}},
        {"ApproximateEqual",
         "",
         {"string[1] a", "string[1] a"},
         {"!INVALID_ARGUMENT T"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_select_broadcasts(void **state)
{
    static const struct krig_case cases[] = {
        {"SelectV2",
         "",
         {"bool[3] 1 0 1", "float[2,3] 0 1 2 3 4 5", "float[] 9"},
         {"float[2,3] 0 9 2 3 9 5"}},
        {"SelectV2",
         "",
         {"bool[2,1] 1 0", "int32[3] 1 2 3", "int32[] 7"},
         {"int32[2,3] 1 2 3 7 7 7"}},
        {"SelectV2",
         "",
         {"bool[] 0", "double[2] 1 2", "double[2] 3 4"},
         {"double[2] 3 4"}},
        {"SelectV2",
         "",
         {"bool[] 1", "double[1] 1", "double[2] 3 4"},
         {"double[2] 1 1"}},
        {"SelectV2",
         "",
         {"bool[2] 1 0", "string[] a", "string[] b"},
         {"string[2] a b"}},
        {"SelectV2",
         "",
         {"bool[2] 1 0", "complex128[] 1,2", "complex128[] 3,4"},
         {"complex128[2] 1,2 3,4"}},
        {"SelectV2", "", {"bool[0]", "float[1] 1", "float[1] 2"}, {"float[0]"}},
        {"SelectV2",
         "",
         {"bool[700] 1 0", "half[700] 1", "half[] 2"},
         {"half[700] 1 2"}},
        {"SelectV2",
         "",
         {"bool[700] 1 0", "uint8[] 1", "uint8[700] 2"},
         {"uint8[700] 1 2"}},
        {"SelectV2",
         "",
         {"bool[2] 1", "float[3] 1", "float[] 2"},
         {"!INVALID_ARGUMENT condition [2], then [3], and else [] must be "
          "broadcastable"}},
        {"SelectV2",
         "",
         {"bool[] 1", "float[3] 1", "float[2] 2"},
         {"!INVALID_ARGUMENT condition [], then [3], and else [2] must be"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_select_of_old_takes_rows(void **state)
{
    static const struct krig_case cases[] = {
        {"Select",
         "",
         {"bool[2] 1 0", "float[2,3] 1", "float[2,3] 2"},
         {"float[2,3] 1 1 1 2 2 2"}},
        {"Select",
         "",
         {"bool[] 0", "float[2,3] 1", "float[2,3] 2"},
         {"float[2,3] 2"}},
        {"Select",
         "",
         {"bool[2,2] 1 0 0 1", "int64[2,2] 1", "int64[2,2] 2"},
         {"int64[2,2] 1 2 2 1"}},
        {"Select",
         "",
         {"bool[2] 1 0", "string[2] a b", "string[2] c d"},
         {"string[2] a d"}},
        {"Select", "", {"bool[0]", "float[0,3]", "float[0,3]"}, {"float[0,3]"}},
        {"Select",
         "",
         {"bool[3] 1", "float[2,3] 1", "float[2,3] 2"},
         {"!INVALID_ARGUMENT Number of batches of 'then' must match size of "
          "'cond', but saw: 2 vs. 3"}},
        {"Select",
         "",
         {"bool[2] 1", "float[2,3] 1", "float[2] 2"},
         {"!INVALID_ARGUMENT 'then' and 'else' must have the same size"}},
        {"Select",
         "",
         {"bool[] 1", "float[3] 1", "float[2] 2"},
         {"!INVALID_ARGUMENT 'then' and 'else' must have the same size"}},
        {"Select",
         "",
         {"bool[1] 1", "float[] 1", "float[] 2"},
         {"!INVALID_ARGUMENT 'then' must be at least a vector, but saw shape: "
          "[]"}},
        {"Select",
         "",
         {"bool[1,2] 1", "float[2,3] 1", "float[2,3] 2"},
         {"!INVALID_ARGUMENT Input 0: [1,2] != input 1: [2,3]"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_shapes_that_do_not_fit_may_be_unequal),
        cmocka_unit_test(test_approximately_equal),
        cmocka_unit_test(test_select_broadcasts),
        cmocka_unit_test(test_select_of_old_takes_rows),
    };

    return cmocka_run_group_tests_name("compare", tests, krig_setup,
                                       krig_teardown);
}
