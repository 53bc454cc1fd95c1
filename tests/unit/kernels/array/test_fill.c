/*
 * test_fill.c - Fill and OnesLike: lengths that threads share unevenly, widths
 * of elements, sizes that are refused.
 */
#include "tests/support/kernel_rig.h"

/* Lengths whose thirds are uneven, in pieces and whole. */
static void test_fill(void **state)
{
    static const struct krig_case cases[] = {
        {"Fill", "", {"int32[1] 0", "float[] 3"}, {"float[0]"}},
        {"Fill", "", {"int32[1] 1", "float[] 3"}, {"float[1] 3"}},
        {"Fill", "", {"int32[2] 7 11", "half[] 3"}, {"half[7,11] 3"}},
        {"Fill", "", {"int64[1] 1000", "uint8[] 9"}, {"uint8[1000] 9"}},
        {"Fill", "", {"int64[1] 101", "string[] ab"}, {"string[101] ab"}},
        {"Fill",
         "",
         {"int32[1] 67", "complex128[] 1,2"},
         {"complex128[67] 1,2"}},
        {"OnesLike", "", {"bfloat16[3,33] 7"}, {"bfloat16[3,33] 1"}},
        {"Fill", "", {"int32[] 2", "float[] 1"}, {"float[2] 1"}},
        {"Fill", "", {"int32[1] -2", "float[] 1"}, {"!INVALID_ARGUMENT"}},
        {"Fill", "", {"int32[2] 2 2", "float[3] 1"}, {"!INVALID_ARGUMENT"}},
        {"Fill",
         "",
         {"int32[1,2] 2 2", "float[] 1"},
         {"!INVALID_ARGUMENT dims must represent a vector"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),
    };

    return cmocka_run_group_tests_name("fill", tests, krig_setup,
                                       krig_teardown);
}
