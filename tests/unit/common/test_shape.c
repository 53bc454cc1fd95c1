/*
 * test_shape.c - common/base/shape.c: which shapes exist, merging, printing.
 */
#include "common/base/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BIG ((int64_t)1 << 31)

static void test_shapes_that_exist(void **state)
{
    static const struct {
        int rank;
        int64_t dim[TFD_RANK_MAX];
        int64_t elements;
        const char *text;
    } cases[] = {
        {0, {0}, 1, "[]"},
        {1, {0}, 0, "[0]"},
        {2, {2, 3}, 6, "[2,3]"},
        {3, {0, BIG, BIG}, 0, "[0,2147483648,2147483648]"},
        {1, {INT64_MAX}, INT64_MAX, "[9223372036854775807]"},
        {8, {1, 2, 1, 2, 1, 2, 1, 2}, 16, "[1,2,1,2,1,2,1,2]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_shape s = TFD_SHAPE_UNKNOWN;
        char text[TFD_SHAPE_TEXT_MAX];

        assert_int_equal(tfd_shape_make(&s, cases[i].dim, cases[i].rank, NULL),
                         TFD_OK);
        assert_int_equal(tfd_shape_elements(&s), cases[i].elements);
        assert_string_equal(tfd_shape_text(&s, text), cases[i].text);
    }
}

static void test_shapes_that_are_refused(void **state)
{
    static const struct {
        int rank;
        int64_t dim[9];
        const char *text;
    } cases[] = {
        {9,
         {1, 1, 1, 1, 1, 1, 1, 1, 1},
         "A shape has 9 dimensions; 0 to 8 are supported"},
        {-1, {0}, "A shape has -1 dimensions; 0 to 8 are supported"},
        {INT32_MAX,
         {0},
         "A shape has 2147483647 dimensions; 0 to 8 are supported"},
        {2, {3, -1}, "Dimension -1 must be >= 0"},
        {2, {0, INT64_MIN}, "Dimension -9223372036854775808 must be >= 0"},
        {2,
         {INT64_MAX, 2},
         "Shape [9223372036854775807,2] would have more than 2**63 - 1 "
         "elements"},
        {3,
         {BIG, BIG, 2},
         "Shape [2147483648,2147483648,2] would have more than 2**63 - 1 "
         "elements"},
        /* Its strides would not fit, although it has no elements. */
        {3,
         {0, INT64_MAX, 2},
         "Shape [0,9223372036854775807,2] would have more than 2**63 - 1 "
         "elements"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_shape s = {1, {42}};
        struct tfd_status st = TFD_STATUS_INIT;

        assert_int_equal(tfd_shape_make(&s, cases[i].dim, cases[i].rank, &st),
                         TFD_INVALID_ARGUMENT);
        assert_string_equal(st.text, cases[i].text);
        assert_int_equal(s.rank, 1);
        assert_int_equal(s.dim[0], 42);
    }
}

static void test_partial_shapes_may_have_unknown_dimensions(void **state)
{
    int64_t good[] = {-1, 3}, bad[] = {-2, 3}, huge[] = {BIG, -1, BIG, 2};
    struct tfd_shape s;
    char text[TFD_SHAPE_TEXT_MAX];

    (void)state;
    assert_int_equal(tfd_shape_make_partial(&s, good, 2, NULL), TFD_OK);
    assert_int_equal(tfd_shape_elements(&s), -1);
    assert_string_equal(tfd_shape_text(&s, text), "[?,3]");
    assert_int_equal(tfd_shape_make_partial(&s, bad, 2, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_shape_make_partial(&s, huge, 4, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_shape_make_partial(&s, good, 9, NULL),
                     TFD_INVALID_ARGUMENT);
}

static void test_unknown_shape(void **state)
{
    struct tfd_shape s = TFD_SHAPE_UNKNOWN;
    char text[TFD_SHAPE_TEXT_MAX];

    (void)state;
    assert_int_equal(tfd_shape_elements(&s), -1);
    assert_string_equal(tfd_shape_text(&s, text), "<unknown>");
}

static void test_longest_text_fits(void **state)
{
    struct tfd_shape s = {.rank = TFD_RANK_MAX};
    char text[TFD_SHAPE_TEXT_MAX];

    (void)state;
    for (int i = 0; i < TFD_RANK_MAX; i++)
        s.dim[i] = INT64_MIN;
    assert_int_equal(strlen(tfd_shape_text(&s, text)), 8 * 20 + 7 + 2);
}

static void test_merge_takes_what_either_knows(void **state)
{
    struct tfd_shape unknown = TFD_SHAPE_UNKNOWN;
    struct tfd_shape a = {3, {-1, 3, -1}}, b = {3, {2, -1, -1}};
    struct tfd_shape expected = {3, {2, 3, -1}};

    (void)state;
    assert_int_equal(tfd_shape_merge(&a, &b, NULL), TFD_OK);
    assert_true(tfd_shape_equal(&a, &expected));
    assert_int_equal(tfd_shape_merge(&a, &unknown, NULL), TFD_OK);
    assert_true(tfd_shape_equal(&a, &expected));
    assert_int_equal(tfd_shape_merge(&unknown, &a, NULL), TFD_OK);
    assert_true(tfd_shape_equal(&unknown, &expected));
}

static void test_merge_refuses_what_differs(void **state)
{
    static const struct {
        struct tfd_shape a, b;
        const char *text;
    } cases[] = {
        {{2, {-1, 3}},
         {2, {5, 4}},
         "Dimension 1 in both shapes must be equal, but are 3 and 4. "
         "Shapes are [?,3] and [5,4]."},
        {{2, {2, 3}}, {1, {2}}, "Shapes must be equal rank, but are 2 and 1"},
        {{0, {0}}, {1, {1}}, "Shapes must be equal rank, but are 0 and 1"},
        /* Neither is too large; what they agree on would be. */
        {{3, {BIG, BIG, -1}},
         {3, {-1, -1, 4}},
         "Shape [2147483648,2147483648,4] would have more than 2**63 - 1 "
         "elements"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_shape into = cases[i].a;
        struct tfd_status st = TFD_STATUS_INIT;

        assert_int_equal(tfd_shape_merge(&into, &cases[i].b, &st),
                         TFD_INVALID_ARGUMENT);
        assert_string_equal(st.text, cases[i].text);
        assert_true(tfd_shape_equal(&into, &cases[i].a));
    }
}

static void test_equality_is_of_rank_and_dimensions(void **state)
{
    struct tfd_shape a = {2, {2, 3, 99}}, b = {2, {2, 3, 1}}, c = {2, {2, 4}};
    struct tfd_shape d = {1, {2}}, unknown = TFD_SHAPE_UNKNOWN;

    (void)state;
    assert_true(tfd_shape_equal(&a, &b));
    assert_false(tfd_shape_equal(&a, &c));
    assert_false(tfd_shape_equal(&a, &d));
    assert_false(tfd_shape_equal(&a, &unknown));
    assert_true(tfd_shape_equal(&unknown, &unknown));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_that_exist),
        cmocka_unit_test(test_shapes_that_are_refused),
        cmocka_unit_test(test_partial_shapes_may_have_unknown_dimensions),
        cmocka_unit_test(test_unknown_shape),
        cmocka_unit_test(test_longest_text_fits),
        cmocka_unit_test(test_merge_takes_what_either_knows),
        cmocka_unit_test(test_merge_refuses_what_differs),
        cmocka_unit_test(test_equality_is_of_rank_and_dimensions),
    };

    return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
