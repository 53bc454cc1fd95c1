/*
 * test_check.c - kernels/core/check.c: scalars, axes and shapes that a kernel
 * finds in tensors; and kernels/core/shape_fn.c.
 */
#include "kernels/core/check.h"

#include "tests/support/graph_rig.h"

/* ---- Named checkers ------------------------------------------------------ */

static void test_scalars_are_read_with_care(void **state)
{
    struct tfd_tensor in[] = {
        tensor(TFD_INT32, 0, 0, 0), tensor(TFD_INT64, 1, 1, 0),
        tensor(TFD_INT32, 1, 2, 0), tensor(TFD_FLOAT, 0, 0, 0),
        tensor(TFD_BOOL, 0, 0, 0),  tensor(TFD_STRING, 1, 0, 0)};
    struct tfd_kctx k = {.in = in, .in_count = 6};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_str text;
    int64_t v;
    bool b;

    (void)state;
    *(int32_t *)tfd_tensor_data(&in[0]) = INT32_MIN;
    *(int64_t *)tfd_tensor_data(&in[1]) = INT64_MAX;
    *(uint8_t *)tfd_tensor_data(&in[4]) = 2;
    assert_int_equal(tfd_check_int(&k, 0, &v, NULL), TFD_OK);
    assert_true(v == INT32_MIN);
    assert_int_equal(tfd_check_int(&k, 1, &v, NULL), TFD_OK);
    assert_true(v == INT64_MAX);
    expect_and_clear(tfd_check_int(&k, 2, &v, &st), TFD_INVALID_ARGUMENT, &st,
                     "input 2 must be a scalar, but its shape is [2]");
    expect_and_clear(tfd_check_int(&k, 3, &v, &st), TFD_INVALID_ARGUMENT, &st,
                     "input 3 must be int32 or int64, but is float");
    assert_int_equal(tfd_check_bool(&k, 4, &b, NULL), TFD_OK);
    assert_true(b);
    expect_and_clear(tfd_check_bool(&k, 0, &b, &st), TFD_INVALID_ARGUMENT, &st,
                     "input 0 must be bool, but is int32");
    expect_and_clear(tfd_check_str(&k, 5, &text, &st), TFD_INVALID_ARGUMENT,
                     &st, "input 5 must be a scalar, but its shape is [0]");
    for (int i = 0; i < 6; i++)
        tfd_tensor_unref(&in[i]);
}

static void test_axes(void **state)
{
    static const struct {
        int64_t axis;
        int rank, expected; /* -1: refused */
    } cases[] = {
        {0, 1, 0},  {-1, 1, 0},         {2, 3, 2},          {-3, 3, 0},
        {1, 1, -1}, {-2, 1, -1},        {0, 0, -1},         {-1, 0, -1},
        {3, 3, -1}, {INT64_MIN, 3, -1}, {INT64_MAX, 3, -1},
    };
    struct tfd_status st = TFD_STATUS_INIT;
    int axis;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum tfd_code rc =
            tfd_check_axis(cases[i].axis, cases[i].rank, &axis, NULL);

        assert_int_equal(rc,
                         cases[i].expected < 0 ? TFD_INVALID_ARGUMENT : TFD_OK);
        if (rc == TFD_OK)
            assert_int_equal(axis, cases[i].expected);
    }
    expect_and_clear(tfd_check_axis(5, 2, &axis, &st), TFD_INVALID_ARGUMENT,
                     &st, "Expected axis in the range [-2, 2), but got 5");
}

static void test_shapes_in_tensors(void **state)
{
    static const struct {
        int rank;
        int64_t count, dim[10];
        bool partial;
        const char *text; /* NULL: taken */
        int expected_rank;
    } cases[] = {
        {1, 2, {3, 4}, false, NULL, 2},
        {1, 0, {0}, false, NULL, 0},
        {1, 2, {-1, 4}, true, NULL, 2},
        {0, 1, {-1}, true, NULL, TFD_RANK_UNKNOWN},
        {1, 2, {-1, 4}, false, "Dimension -1 must be >= 0", 0},
        {1, 2, {-2, 4}, true, "Dimension -2 must be >= -1", 0},
        {0, 1, {-1}, false, "shape must be a vector of {int32,int64}, got", 0},
        {0, 1, {3}, true, "shape must be a vector of {int32,int64}, got", 0},
        {1,
         9,
         {1, 1, 1, 1, 1, 1, 1, 1, 1},
         false,
         "A shape has 9 dimensions",
         0},
        {1, 2, {INT64_MAX, 2}, false, "Shape [9223372036854775807,2] would", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_tensor t =
            tensor(TFD_INT64, cases[i].rank, cases[i].count, 0);
        struct tfd_kctx k = {.in = &t, .in_count = 1};
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_shape s;
        enum tfd_code rc;

        if (cases[i].count)
            memcpy(tfd_tensor_data(&t), cases[i].dim,
                   sizeof(int64_t) * (size_t)cases[i].count);
        rc = tfd_check_shape(&k, 0, cases[i].partial, &s, &st);
        if (cases[i].text) {
            expect_and_clear(rc, TFD_INVALID_ARGUMENT, &st, cases[i].text);
        } else {
            assert_int_equal(rc, TFD_OK);
            assert_int_equal(s.rank, cases[i].expected_rank);
        }
        tfd_tensor_unref(&t);
    }
}

/* ---- Shape functions ----------------------------------------------------- */

static void test_broadcast_shapes(void **state)
{
    static const struct {
        struct tfd_shape a, b, out;
        bool fails;
    } cases[] = {
        {{2, {2, 3}}, {2, {2, 3}}, {2, {2, 3}}, false},
        {{2, {2, 3}}, {1, {3}}, {2, {2, 3}}, false},
        {{0}, {2, {2, 3}}, {2, {2, 3}}, false},
        {{2, {2, 1}}, {2, {1, 3}}, {2, {2, 3}}, false},
        {{1, {0}}, {1, {1}}, {1, {0}}, false},
        {{1, {-1}}, {1, {3}}, {1, {3}}, false},
        {{1, {-1}}, {1, {1}}, {1, {-1}}, false},
        {{1, {-1}}, {1, {0}}, {1, {-1}}, false},
        {{1, {-1}}, {1, {-1}}, {1, {-1}}, false},
        {TFD_SHAPE_UNKNOWN, {1, {3}}, TFD_SHAPE_UNKNOWN, false},
        {{1, {2}}, {1, {3}}, {0}, true},
        {{1, {0}}, {1, {3}}, {0}, true},
        {{2, {2, 3}}, {2, {3, 3}}, {0}, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int swap = 0; swap < 2; swap++) {
            struct tfd_shape in[] = {swap ? cases[i].b : cases[i].a,
                                     swap ? cases[i].a : cases[i].b};
            struct tfd_shape out = TFD_SHAPE_UNKNOWN;
            struct tfd_shape_ctx s = {
                .in = in, .in_count = 2, .out = &out, .out_count = 1};

            assert_int_equal(tfd_shape_broadcast2(&s, NULL),
                             cases[i].fails ? TFD_INVALID_ARGUMENT : TFD_OK);
            if (!cases[i].fails)
                assert_true(tfd_shape_equal(&out, &cases[i].out));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars_are_read_with_care),
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_shapes_in_tensors),
        cmocka_unit_test(test_broadcast_shapes),
    };

    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
