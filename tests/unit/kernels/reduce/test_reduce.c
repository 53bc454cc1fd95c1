/*
 * test_reduce.c - reduce.c, reduce_run.c and arg.c: folding along axes.
 */
#include "tests/support/kernel_rig.h"

static const struct krig_case axes_cases[] = {
    {"Sum", "", {"float[2,3] 1 2 3 4 5 6", "int32[1] 0"}, {"float[3] 5 7 9"}},
    {"Sum", "", {"float[2,3] 1 2 3 4 5 6", "int32[1] 1"}, {"float[2] 6 15"}},
    {"Sum", "", {"float[2,3] 1 2 3 4 5 6", "int32[] -1"}, {"float[2] 6 15"}},
    {"Sum", "", {"float[2,3] 1 2 3 4 5 6", "int64[2] 1 0"}, {"float[] 21"}},
    {"Sum",
     "keep_dims=true",
     {"float[2,3] 1 2 3 4 5 6", "int32[1] 1"},
     {"float[2,1] 6 15"}},
    {"Sum",
     "keep_dims=true",
     {"float[2,3] 1 2 3 4 5 6", "int32[2] 0 1"},
     {"float[1,1] 21"}},
    {"Sum",
     "",
     {"float[2,3] 1 2 3 4 5 6", "int32[0]"},
     {"float[2,3] 1 2 3 4 5 6"}},
    {"Sum", "", {"float[] 3", "int32[0]"}, {"float[] 3"}},
    {"Sum",
     "",
     {"float[2,1,3] 1 2 3 4 5 6", "int32[1] 1"},
     {"float[2,3] 1 2 3 4 5 6"}},
    {"Sum",
     "",
     {"int32[2,2,2] 1 2 3 4 5 6 7 8", "int32[1] 1"},
     {"int32[2,2] 4 6 12 14"}},
    {"Sum",
     "",
     {"int32[2,2,2] 1 2 3 4 5 6 7 8", "int32[2] 0 2"},
     {"int32[2] 14 22"}},
    {"Sum",
     "",
     {"int32[2,1,2,2,1] 1 2 3 4 5 6 7 8", "int32[2] 0 3"},
     {"int32[1,2,1] 14 22"}},
    {"Sum", "", {"int32[2,2,2,2] 1", "int32[2] 1 3"}, {"int32[2,2] 4"}},
    {"Sum", "", {"int32[2,2,2,2] 1", "int32[2] 0 2"}, {"int32[2,2] 4"}},
    {"Sum",
     "",
     {"float[2,3] 1", "int32[1] 2"},
     {"!INVALID_ARGUMENT Invalid reduction dimension (2 for input with 2 "
      "dimension(s)"}},
    {"Sum",
     "",
     {"float[2,3] 1", "int32[1] -3"},
     {"!INVALID_ARGUMENT Invalid reduction dimension (-3"}},
    {"Sum",
     "",
     {"float[] 1", "int32[1] 0"},
     {"!INVALID_ARGUMENT Invalid reduction dimension (0 for input with 0"}},
    {"Sum",
     "",
     {"float[2,3] 1", "int64[1] 9223372036854775807"},
     {"!INVALID_ARGUMENT Invalid reduction dimension "
      "(9223372036854775807"}},
    {"Max",
     "",
     {"float[2,3] 1", "int32[2] 0 -2"},
     {"!INVALID_ARGUMENT Axes contains duplicate dimension: 0"}},
};

static void test_axes(void **state)
{
    (void)state;
    KRIG_CHECK(axes_cases);
}

/* More than the caches hold: rows of few columns come in other groups then. */
static void test_far_rows(void **state)
{
    static const struct krig_case cases[] = {
        {"Sum",
         "",
         {"float[300003,7] 1", "int32[] 0"},
         {"float[7] 300003 300003 300003 300003 300003 300003 300003"}},
        {"Sum",
         "",
         {"double[262146,5] 2", "int32[] 0"},
         {"double[5] 524292 524292 524292 524292 524292"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_operations(void **state)
{
    static const struct krig_case cases[] = {
        {"Mean", "", {"float[4] 1 2 3 5", "int32[] 0"}, {"float[] 2.75"}},
        {"Mean", "", {"int8[3] 100 100 101", "int32[] 0"}, {"int8[] 100"}},
        {"Mean", "", {"int32[3] 100 -100 -1", "int32[] 0"}, {"int32[] 0"}},
        {"Mean",
         "",
         {"uint32[2] 4294967295", "int32[] 0"},
         {"uint32[] 4294967295"}},
        {"Mean",
         "",
         {"complex64[2] 1,2 3,4", "int32[] 0"},
         {"complex64[] 2,3"}},
        {"Sum", "", {"int8[3] 100 100 101", "int32[] 0"}, {"int8[] 45"}},
        {"Sum", "", {"half[3] 1 2 3.5", "int32[] 0"}, {"half[] 6.5"}},
        {"Prod", "", {"int8[3] 100 100 101", "int32[] 0"}, {"int8[] 80"}},
        {"Prod", "", {"double[2,2] 1 2 3 4", "int32[] 0"}, {"double[2] 3 8"}},
        {"Prod",
         "",
         {"complex128[2] 1,1 1,1", "int32[] 0"},
         {"complex128[] 0,2"}},
        {"Max", "", {"float[3] 1 nan 2", "int32[] 0"}, {"float[] nan"}},
        {"Min", "", {"half[2,2] 1 nan 2 3", "int32[] 0"}, {"half[2] 1 nan"}},
        {"Max", "", {"bfloat16[3] -1 -2 -3", "int32[] 0"}, {"bfloat16[] -1"}},
        {"Min",
         "",
         {"uint64[2] 1 18446744073709551615", "int32[] 0"},
         {"uint64[] 1"}},
        {"Max", "", {"int64[2,2] 1 2 3 -4", "int32[] 1"}, {"int64[2] 2 3"}},
        {"All", "", {"bool[2,2] 1 1 1 0", "int32[] 1"}, {"bool[2] 1 0"}},
        {"Any", "", {"bool[2,2] 0 0 1 0", "int32[] 0"}, {"bool[2] 1 0"}},
        {"L2Loss", "", {"float[2,2] 1 2 3 4"}, {"float[] 15"}},
        {"L2Loss", "", {"half[] 3"}, {"half[] 4.5"}},
        {"Max", "", {"half[3] -2 -1 -3", "int32[] 0"}, {"half[] -1"}},
        {"Max", "", {"half[0]", "int32[] 0"}, {"half[] -inf"}},
        {"Min", "", {"bfloat16[0]", "int32[] 0"}, {"bfloat16[] inf"}},
        {"Max",
         "",
         {"bfloat16[3] -inf nan inf", "int32[] 0"},
         {"bfloat16[] nan"}},
        {"Min",
         "",
         {"bfloat16[3] -inf nan inf", "int32[] 0"},
         {"bfloat16[] nan"}},
        {"Max",
         "",
         {"half[2,300] -6e-8", "int32[] 1"},
         {"half[2] -6e-8 -6e-8"}},
        {"Sum", "", {"half[2,300] 1", "int32[] 1"}, {"half[2] 300 300"}},
        {"Sum", "", {"bfloat16[3,300] 1", "int32[] 0"}, {"bfloat16[300] 3"}},
        {"Prod", "", {"bfloat16[259] 1", "int32[] 0"}, {"bfloat16[] 1"}},
        {"L2Loss", "", {"half[515] 1"}, {"half[] 257.5"}},
        {"L2Loss", "", {"double[0]"}, {"double[] 0"}},
        {"Max", "", {"complex64[2] 1,2", "int32[] 0"}, {"!INVALID_ARGUMENT T"}},
        {"L2Loss", "", {"int32[1] 1"}, {"!INVALID_ARGUMENT T"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_nothing_folds_to_the_identity(void **state)
{
    static const struct krig_case cases[] = {
        {"Sum", "", {"float[0]", "int32[] 0"}, {"float[] 0"}},
        {"Sum", "", {"float[0,2]", "int32[] 0"}, {"float[2] 0"}},
        {"Sum", "", {"float[2,0]", "int32[] 0"}, {"float[0]"}},
        {"Prod", "", {"int32[0]", "int32[] 0"}, {"int32[] 1"}},
        {"Mean", "", {"float[0]", "int32[] 0"}, {"float[] nan"}},
        {"Mean", "", {"int32[0]", "int32[] 0"}, {"int32[] 0"}},
        {"Mean", "", {"complex64[0]", "int32[] 0"}, {"complex64[] 0,0"}},
        {"Max", "", {"float[0]", "int32[] 0"}, {"float[] -inf"}},
        {"Min", "", {"bfloat16[0]", "int32[] 0"}, {"bfloat16[] inf"}},
        {"Max", "", {"int16[0,2]", "int32[] 0"}, {"int16[2] -32768"}},
        {"Min", "", {"uint8[0]", "int32[] 0"}, {"uint8[] 255"}},
        {"All", "", {"bool[0]", "int32[] 0"}, {"bool[] 1"}},
        {"Any", "", {"bool[0]", "int32[] 0"}, {"bool[] 0"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

/* Long enough for lanes, tiles and pieces, with remainders. */
static void test_large_tensors(void **state)
{
    static const struct krig_case cases[] = {
        {"Sum", "", {"float[100003] 0.25", "int32[] 0"}, {"float[] 25000.75"}},
        {"Max",
         "",
         {"float[100003] 1 2 3 4 5 6 7", "int32[] 0"},
         {"float[] 7"}},
        {"Sum",
         "",
         {"float[5000,7] 1 2 3 4 5 6 7", "int32[] 0"},
         {"float[7] 5000 10000 15000 20000 25000 30000 35000"}},
        {"Sum", "", {"float[3,1030] 1", "int32[] 1"}, {"float[3] 1030"}},
        {"Min", "", {"int32[9,1030] 5", "int32[] 0"}, {"int32[1030] 5"}},
        {"Sum",
         "",
         {"float[2,1023] 1 2 3 4 5 6 7", "int32[] 1"},
         {"float[2] 4089 4090"}},
        {"Sum",
         "",
         {"double[2,1024] 1 2 3 4 5 6 7", "int32[] 1"},
         {"double[2] 4091 4095"}},
        {"Sum",
         "",
         {"float[2,1039] 1 2 3 4 5 6 7", "int32[] 1"},
         {"float[2] 4150 4159"}},
        {"Sum", "", {"int32[1030,3] 1 2 3", "int32[] 1"}, {"int32[1030] 6"}},
        {"Mean",
         "",
         {"double[2,9000,3] 1 2 3", "int32[] 1"},
         {"double[2,3] 1 2 3"}},
        {"Sum", "", {"float[40,50,60] 1", "int32[2] 0 2"}, {"float[50] 2400"}},
        {"L2Loss", "", {"float[100000] 0.5"}, {"float[] 12500"}},
        {"Prod", "", {"float[999] 1 2 0.5", "int32[] 0"}, {"float[] 1"}},
        {"All", "", {"bool[70000] 1", "int32[] 0"}, {"bool[] 1"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

/* Rows of bools are taken eight at a time: one that differs is found wherever
 * it is, and only in its row. */
static void test_bools_in_rows(void **state)
{
    (void)state;
    for (int n = 1; n < 36; n += n < 18 ? 1 : 7)
        for (int at = 0; at < n; at += 1 + n / 12)
            for (int any = 0; any < 2; any++) {
                const char *const op = any ? "Any" : "All";
                char in[400], out[40];
                size_t used = (size_t)snprintf(in, sizeof(in), "bool[3,%d]", n);
                struct krig_case c = {op, "", {in, "int32[] 1"}, {out}};

                for (int i = 0; i < 3 * n; i++)
                    used += (size_t)snprintf(in + used, sizeof(in) - used,
                                             " %d", (i == n + at) == any);
                snprintf(out, sizeof(out), "bool[3] %d %d %d", !any, any, !any);
                krig_check(&c);
            }
}

/* The place of the extreme: every length around vectors, the extreme at every
 * place, a second one behind it, and NaN before it. */
static void test_an_extreme_is_found_in_every_row(void **state)
{
    (void)state;
    for (int n = 1; n < 40; n += 1 + n / 12)
        for (int at = 0; at < n; at++)
            for (int min = 0; min < 2; min++) {
                char in[600], out[40];
                size_t used = (size_t)snprintf(in, sizeof(in), "%s[2,%d]",
                                               at % 2 ? "float" : "double", n);
                struct krig_case c = {
                    min ? "ArgMin" : "ArgMax", "", {in, "int32[] 1"}, {out}};

                for (int i = 0; i < 2 * n; i++) {
                    const char *text = i % n == at       ? min ? " -9" : " 9"
                                       : i % n > at + 2  ? min ? " -9" : " 9"
                                       : i % n == at - 1 ? " nan"
                                                         : " -1";

                    used += (size_t)snprintf(in + used, sizeof(in) - used, "%s",
                                             text);
                }
                snprintf(out, sizeof(out), "int64[2] %d %d", at, at);
                krig_check(&c);
            }
}

/* Columns are searched some rows at a time. */
static void test_an_extreme_is_found_far_down_a_column(void **state)
{
    enum { ROWS = 9001, COLUMNS = 2 };
    static const int places[] = {0, 1, 4095, 4096, 8191, 8192, 9000};
    static char in[ROWS * COLUMNS * 2 + 40];
    static const char *const types[] = {"float", "double", "int8", "half",
                                        "int64"};

    (void)state;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char out[40];
        size_t used = (size_t)snprintf(in, sizeof(in), "%s[%d,%d]",
                                       types[i % 5], ROWS, COLUMNS);
        const struct krig_case c = {"ArgMax", "", {in, "int32[] 0"}, {out}};

        for (int r = 0; r < ROWS; r++) {
            memcpy(in + used, r >= places[i] ? " 7 1" : " 2 1", 4);
            used += 4;
        }
        in[used] = 0;
        snprintf(out, sizeof(out), "int64[2] %d 0", places[i]);
        krig_check(&c);
    }
}

static void test_where_the_extreme_is(void **state)
{
    static const struct krig_case cases[] = {
        {"ArgMax",
         "",
         {"float[2,3] 1 5 2 7 3 7", "int32[] 1"},
         {"int64[2] 1 0"}},
        {"ArgMax",
         "",
         {"float[2,3] 1 5 2 7 3 7", "int64[] 0"},
         {"int64[3] 1 0 1"}},
        {"ArgMin", "", {"int32[4] 3 1 1 3", "int32[] -1"}, {"int64[] 1"}},
        {"ArgMax",
         "output_type=int32",
         {"half[2] 1 2", "int32[] 0"},
         {"int32[] 1"}},
        {"ArgMax",
         "output_type=uint16",
         {"bool[3] 0 1 1", "int32[] 0"},
         {"uint16[] 1"}},
        {"ArgMax",
         "output_type=int16",
         {"uint64[2] 0 18446744073709551615", "int16[] 0"},
         {"int16[] 1"}},
        {"ArgMax", "", {"float[5] 1 nan 3 3 nan", "int32[] 0"}, {"int64[] 2"}},
        {"ArgMin", "", {"float[3] nan nan nan", "int32[] 0"}, {"int64[] 0"}},
        {"ArgMax",
         "",
         {"int8[2,2,2] 1 2 3 4 8 7 6 5", "int32[] 1"},
         {"int64[2,2] 1 1 0 0"}},
        {"ArgMax", "", {"float[0,3]", "int32[] 1"}, {"int64[0]"}},
        {"ArgMax",
         "",
         {"float[2,0,3]", "int32[] 1"},
         {"!INVALID_ARGUMENT Reduction axis 1 is empty in shape [2,0,3]"}},
        {"ArgMin",
         "",
         {"float[2] 1", "int32[] 1"},
         {"!INVALID_ARGUMENT Expected dimension in the range [-1, 1), but got "
          "1"}},
        {"ArgMin",
         "",
         {"float[] 1", "int32[] 0"},
         {"!INVALID_ARGUMENT Expected dimension in the range [0, 0), but got "
          "0"}},
        {"ArgMax",
         "",
         {"float[2] 1", "int32[1] 0"},
         {"!INVALID_ARGUMENT dim must be a scalar, but received tensor of "
          "shape: [1]"}},
        {"ArgMin",
         "output_type=int16",
         {"float[2] 1", "int32[] 0"},
         {"!INVALID_ARGUMENT output_type"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_far_rows),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_nothing_folds_to_the_identity),
        cmocka_unit_test(test_large_tensors),
        cmocka_unit_test(test_bools_in_rows),
        cmocka_unit_test(test_where_the_extreme_is),
        cmocka_unit_test(test_an_extreme_is_found_in_every_row),
        cmocka_unit_test(test_an_extreme_is_found_far_down_a_column),
    };

    return cmocka_run_group_tests_name("reduce", tests, krig_setup,
                                       krig_teardown);
}
