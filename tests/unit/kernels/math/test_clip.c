/*
 * test_clip.c - clip.c: limits of every shape, numbers that are none, lengths
 * around those of vectors, inputs that lie anywhere.
 */
#include "common/base/denormals.h"
#include "tests/support/kernel_rig.h"

static void test_limits(void **state)
{
    static const struct krig_case cases[] = {
        {"ClipByValue",
         "",
         {"float[5] nan -inf inf 0.5 2", "float[] -1", "float[] 1"},
         {"float[5] nan -1 1 0.5 1"}},
        {"ClipByValue",
         "",
         {"double[2] 1 9", "double[2] 2 3", "double[] 4"},
         {"double[2] 2 4"}},
        {"ClipByValue",
         "",
         {"half[2] 1 9", "half[] 2", "half[2] 5 6"},
         {"half[2] 2 6"}},
        {"ClipByValue",
         "",
         {"bfloat16[2] -1 9", "bfloat16[2] 0 1", "bfloat16[2] 5 6"},
         {"bfloat16[2] 0 6"}},
        {"ClipByValue",
         "",
         {"int8[3] -128 0 127", "int8[] -5", "int8[] 5"},
         {"int8[3] -5 0 5"}},
        {"ClipByValue",
         "",
         {"int64[] 7", "int64[] 1", "int64[] 3"},
         {"int64[] 3"}},
        /* limits that are no number are none; the lower one wins */
        {"ClipByValue",
         "",
         {"float[2] -9 9", "float[] nan", "float[] 1"},
         {"float[2] -9 1"}},
        {"ClipByValue",
         "",
         {"float[2] -9 9", "float[2] 1 1", "float[2] nan nan"},
         {"float[2] 1 9"}},
        {"ClipByValue",
         "",
         {"uint16[3] 0 1 2", "uint16[] 5", "uint16[] 1"},
         {"uint16[3] 5 5 5"}},
        /* parts by themselves */
        {"ClipByValue",
         "",
         {"complex64[2] 3,-4 1,2", "complex64[] 0,0", "complex64[] 2,2"},
         {"complex64[2] 2,0 1,2"}},
        {"ClipByValue",
         "",
         {"float[0,3]", "float[] 1", "float[] 2"},
         {"float[0,3]"}},
        {"ClipByValue", "", {"float[0]", "float[0]", "float[0]"}, {"float[0]"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_halves_around_the_numbers_of_a_vector(void **state)
{
    static const struct krig_case cases[] = {
        {"ClipByValue",
         "",
         {"half[7] nan -9 9 inf -inf 1 2", "half[7] 1 -1 0 nan 0 2 1",
          "half[] 4"},
         {"half[7] nan -1 4 4 0 2 2"}},
        {"ClipByValue",
         "",
         {"half[7] nan -9 9 inf -inf", "half[] -2", "half[7] 1 -1 nan 7 0"},
         {"half[7] nan -2 9 7 -2"}},
        {"ClipByValue",
         "",
         {"half[8] nan -9 9 inf -inf 1 2", "half[8] 1 -1 0 nan 0 2 1",
          "half[] 4"},
         {"half[8] nan -1 4 4 0 2 2"}},
        {"ClipByValue",
         "",
         {"half[8] nan -9 9 inf -inf", "half[] -2", "half[8] 1 -1 nan 7 0"},
         {"half[8] nan -2 9 7 -2"}},
        {"ClipByValue",
         "",
         {"half[27] nan -9 9 inf -inf 1 2", "half[27] 1 -1 0 nan 0 2 1",
          "half[] 4"},
         {"half[27] nan -1 4 4 0 2 2"}},
        {"ClipByValue",
         "",
         {"half[27] nan -9 9 inf -inf", "half[] -2", "half[27] 1 -1 nan 7 0"},
         {"half[27] nan -2 9 7 -2"}},
        {"ClipByValue",
         "",
         {"bfloat16[7] nan -9 9 inf -inf 1 2", "bfloat16[7] 1 -1 0 nan 0 2 1",
          "bfloat16[] 4"},
         {"bfloat16[7] nan -1 4 4 0 2 2"}},
        {"ClipByValue",
         "",
         {"bfloat16[7] nan -9 9 inf -inf", "bfloat16[] -2",
          "bfloat16[7] 1 -1 nan 7 0"},
         {"bfloat16[7] nan -2 9 7 -2"}},
        {"ClipByValue",
         "",
         {"bfloat16[8] nan -9 9 inf -inf 1 2", "bfloat16[8] 1 -1 0 nan 0 2 1",
          "bfloat16[] 4"},
         {"bfloat16[8] nan -1 4 4 0 2 2"}},
        {"ClipByValue",
         "",
         {"bfloat16[8] nan -9 9 inf -inf", "bfloat16[] -2",
          "bfloat16[8] 1 -1 nan 7 0"},
         {"bfloat16[8] nan -2 9 7 -2"}},
        {"ClipByValue",
         "",
         {"bfloat16[27] nan -9 9 inf -inf 1 2", "bfloat16[27] 1 -1 0 nan 0 2 1",
          "bfloat16[] 4"},
         {"bfloat16[27] nan -1 4 4 0 2 2"}},
        {"ClipByValue",
         "",
         {"bfloat16[27] nan -9 9 inf -inf", "bfloat16[] -2",
          "bfloat16[27] 1 -1 nan 7 0"},
         {"bfloat16[27] nan -2 9 7 -2"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_limits_that_do_not_fit_are_refused(void **state)
{
    static const struct krig_case cases[] = {
        {"ClipByValue",
         "",
         {"int32[2] 1 2", "int32[1] 1", "int32[] 3"},
         {"!INVALID_ARGUMENT clip_value_min and clip_value_max must be either "
          "of the same shape as input, or a scalar. input shape: "
          "[2]clip_value_min shape: [1]clip_value_max shape: []"}},
        {"ClipByValue",
         "",
         {"int32[] 1", "int32[] 1", "int32[1] 3"},
         {"!INVALID_ARGUMENT input shape: []clip_value_min shape: "
          "[]clip_value_max shape: [1]"}},
        {"ClipByValue",
         "",
         {"float[0,3]", "float[0]", "float[] 2"},
         {"!INVALID_ARGUMENT input shape: [0,3]clip_value_min shape: [0]"}},
        {"ClipByValue",
         "",
         {"float[2,3] 1", "float[3] 0", "float[] 2"},
         {"!INVALID_ARGUMENT input shape: [2,3]clip_value_min shape: [3]"}},
        {"ClipByValue",
         "",
         {"bool[1] 1", "bool[] 0", "bool[] 1"},
         {"!INVALID_ARGUMENT T"}},
        {"ClipByValue",
         "",
         {"string[1] a", "string[] a", "string[] b"},
         {"!INVALID_ARGUMENT T"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

/* Values and limits repeat every five elements, so that one text has all. */
static void check_length(int n, bool lows, bool highs)
{
    char t[64], low[64], high[64], y[64];
    const struct krig_case c = {"ClipByValue", "", {t, low, high}, {y}};

    (void)snprintf(t, sizeof(t), "float[%d] -2 -0.5 0.25 3 nan", n);
    (void)snprintf(y, sizeof(y), "float[%d] -1 -0.5 0.25 1 nan", n);
    (void)snprintf(low, sizeof(low), "float[] -1");
    if (lows)
        (void)snprintf(low, sizeof(low), "float[%d] -1 -1 0 nan 7", n);
    (void)snprintf(high, sizeof(high), "float[] 1");
    if (highs)
        (void)snprintf(high, sizeof(high), "float[%d] 0 1 0.5 1 nan", n);
    krig_check(&c);
}

static void test_lengths_around_those_of_vectors(void **state)
{
    static const int lengths[] = {1,  2,   3,   4,   5,   7,   8,    9,
                                  15, 16,  17,  31,  32,  33,  63,   64,
                                  65, 127, 129, 255, 256, 257, 1000, 70001};

    (void)state;
    for (size_t i = 0; i < TFD_COUNT(lengths); i++)
        for (int form = 0; form < 4; form++)
            check_length(lengths[i], form & 1, form & 2);
}

/* With one limit for all they are compared as 0, and come out as they are. */
static void test_subnormal_numbers_stay(void **state)
{
    static const struct krig_case cases[] = {
        {"ClipByValue",
         "",
         {"bfloat16[3] 1e-39 -1e-39 2", "bfloat16[] -1", "bfloat16[] 1"},
         {"bfloat16[3] 1e-39 -1e-39 1"}},
        {"ClipByValue",
         "",
         {"bfloat16[3] 1e-39 -2 2", "bfloat16[3] -1 1e-39 -1", "bfloat16[] 1"},
         {"bfloat16[3] 1e-39 1e-39 1"}},
    };
    const uint64_t before = tfd_denormals_flush();

    (void)state;
    KRIG_CHECK(cases);
    tfd_denormals_set(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_halves_around_the_numbers_of_a_vector),
        cmocka_unit_test(test_subnormal_numbers_stay),
        cmocka_unit_test(test_limits_that_do_not_fit_are_refused),
        cmocka_unit_test(test_lengths_around_those_of_vectors),
    };

    return cmocka_run_group_tests_name("clip", tests, krig_setup,
                                       krig_teardown);
}
