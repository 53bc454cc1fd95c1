/*
 * test_compare.c - compare.c and select.c: choices.
 */
#include "kernels/core/elementwise.h"
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

#define LONG_MAX_COUNT 330

static bool long_compared(const char *op, int64_t a, int64_t b)
{
    switch (op[0]) {
    case 'E':
        return a == b;
    case 'N':
        return a != b;
    case 'L':
        return op[4] ? a <= b : a < b;
    default:
        return op[7] ? a >= b : a > b;
    }
}

/* Integers [begin, end) beside one, on the side that is not. */
static void check_longs(const char *op, const int64_t *x, int64_t one,
                        bool left, int64_t begin, int64_t end)
{
    tfd_bool y[LONG_MAX_COUNT + 1];
    const struct tfd_row row = {.a = left ? &one : x,
                                .b = left ? x : &one,
                                .y = y,
                                .a_step = !left,
                                .b_step = left};

    memset(y, 7, sizeof(y));
    tfd_registry_loop(op, TFD_INT64)((void *)&row, begin, end);
    for (int64_t i = 0; i <= LONG_MAX_COUNT; i++) {
        const bool is =
            left ? long_compared(op, one, x[i]) : long_compared(op, x[i], one);

        assert_int_equal(y[i], i < begin || i >= end ? 7 : is);
    }
}

static void test_long_integers_beside_one(void **state)
{
    static const char *const ops[] = {"Equal",     "NotEqual", "Less",
                                      "LessEqual", "Greater",  "GreaterEqual"};
    static const int64_t ones[] = {0, -1, INT64_MIN, INT64_MAX, 1LL << 32};
    int64_t x[LONG_MAX_COUNT + 1];

    (void)state;
    for (int i = 0; i <= LONG_MAX_COUNT; i++)
        x[i] = i % 3 ? ones[i % 5] : i - 99;
    for (size_t f = 0; f < TFD_COUNT(ops); f++)
        for (size_t o = 0; o < TFD_COUNT(ones); o++)
            for (int64_t end = 0; end <= LONG_MAX_COUNT; end += 3)
                for (int side = 0; side < 2; side++)
                    check_longs(ops[f], x, ones[o], side, end % 7 % (end + 1),
                                end);
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

/* ---- Select beside a plain loop ------------------------------------------ */

static bool chosen(int64_t i)
{
    return (i * 7 + i / 5) % 3 != 0;
}

/* Three inputs that are told apart by each byte.  width 0: a condition for
 * every element, of which there are `count`; else one for every row. */
static void fill_sides(const char *type, int64_t count, int64_t width)
{
    char text[3][64];

    snprintf(text[0], sizeof(text[0]), "bool[%lld] 0", (long long)count);
    for (int i = 1; i < 3; i++)
        snprintf(text[i], sizeof(text[i]),
                 width ? "%s[%lld,%lld] 0" : "%s[%lld] 0", type,
                 (long long)count, (long long)width);
    for (int i = 0; i < 3; i++)
        krig.in[i] = krig_tensor(text[i]);
    krig.in_count = 3;
    for (int64_t i = 0; i < count; i++)
        ((tfd_bool *)tfd_tensor_data(&krig.in[0]))[i] = chosen(i);
}

static void fill_bytes(int64_t size)
{
    for (int side = 1; side < 3; side++) {
        unsigned char *x = tfd_tensor_data(&krig.in[side]);

        for (int64_t i = 0; i < size; i++)
            x[i] = (unsigned char)(i * 13 / 8 + i / 509 + side * 101);
    }
}

static void compare_sides(const char *type, int64_t count, int64_t width,
                          int mode)
{
    const struct krig_case c = {"Select", "", {0}, {0}};
    int64_t size, row;
    unsigned char *kept[3];

    fill_sides(type, count, width);
    size = (int64_t)tfd_dtype_size(krig.in[1].dtype) *
           tfd_tensor_elements(&krig.in[1]);
    row = size / count;
    fill_bytes(size);
    for (int side = 1; side < 3; side++) { /* a result may take its place */
        kept[side] = malloc((size_t)size);
        assert_non_null(kept[side]);
        memcpy(kept[side], tfd_tensor_data(&krig.in[side]), (size_t)size);
    }
    assert_int_equal(krig_run(&c, mode), TFD_OK);
    for (int64_t i = 0; i < count; i++)
        assert_memory_equal((char *)tfd_tensor_data(&krig.out[0]) + i * row,
                            kept[chosen(i) ? 1 : 2] + i * row, (size_t)row);
    krig_end();
    free(kept[1]);
    free(kept[2]);
}

static void test_rows_of_every_width_are_chosen(void **state)
{
    static const int64_t widths[] = {1,   3,    31,   32,   33,   63,  64,  65,
                                     127, 128,  129,  255,  256,  257, 319, 320,
                                     511, 1000, 2047, 2048, 2049, 5000};

    (void)state;
    for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++)
        for (int mode = 0; mode < KRIG_ALL; mode++) {
            compare_sides("uint8", 1, widths[w], mode);
            compare_sides("uint8", 23, widths[w], mode);
            compare_sides("float", 24, widths[w], mode);
        }
}

/* More than caches hold is written past them. */
static void test_a_large_choice(void **state)
{
    static const char *const types[] = {"uint8", "half", "float", "double"};
    static const int64_t sizes[] = {1, 2, 4, 8};

    (void)state;
    for (int t = 0; t < 4; t++) {
        compare_sides(types[t], (12 << 20) / sizes[t] + 1237, 0, KRIG_SHARED);
        compare_sides(types[t], (12 << 20) / sizes[t] + 1, 0, KRIG_PIECES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_shapes_that_do_not_fit_may_be_unequal),
        cmocka_unit_test(test_long_integers_beside_one),
        cmocka_unit_test(test_approximately_equal),
        cmocka_unit_test(test_select_broadcasts),
        cmocka_unit_test(test_select_of_old_takes_rows),
        cmocka_unit_test(test_rows_of_every_width_are_chosen),
        cmocka_unit_test(test_a_large_choice),
    };

    return cmocka_run_group_tests_name("compare", tests, krig_setup,
                                       krig_teardown);
}
