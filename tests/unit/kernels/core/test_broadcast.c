/*
 * test_broadcast.c - broadcast.c and broadcast_ops.c.
 */
#include "kernels/core/broadcast.h"
#include "tests/support/kernel_rig.h"

/* The rows of a plan, compared with indices computed one by one. */
static void check_plan(const struct tfd_shape *a, const struct tfd_shape *b)
{
    const struct tfd_shape *const in[] = {a, b};
    struct tfd_broadcast plan;
    struct tfd_broadcast_at at;
    struct tfd_shape out;
    int64_t n;

    assert_true(tfd_broadcast_fits(a, b));
    assert_int_equal(tfd_broadcast_shape(a, b, &out, NULL), TFD_OK);
    n = tfd_shape_elements(&out);
    tfd_broadcast_plan(&plan, &out, in, 2);
    assert_int_equal(plan.rows * plan.row_size, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = i / plan.row_size, column = i % plan.row_size;

        if (column == 0 && row == plan.rows / 2) /* from the middle, too */
            tfd_broadcast_seek(&plan, row, &at);
        else if (column == 0 && row == 0)
            tfd_broadcast_seek(&plan, 0, &at);
        else if (column == 0)
            tfd_broadcast_next(&plan, &at);
        for (int k = 0; k < 2; k++) {
            int64_t expected = 0, step = 1, rest = i;

            for (int d = 1; d <= out.rank; d++) {
                int64_t dim =
                    d <= in[k]->rank ? in[k]->dim[in[k]->rank - d] : 1;
                int64_t index = rest % out.dim[out.rank - d];

                rest /= out.dim[out.rank - d];
                expected += dim == 1 ? 0 : index * step;
                step *= dim;
            }
            assert_int_equal(at.offset[k] + column * plan.row_step[k],
                             expected);
        }
    }
}

static void test_plans_meet_the_right_elements(void **state)
{
    static const struct tfd_shape shapes[][2] = {
        {{0, {0}}, {0, {0}}},
        {{1, {5}}, {0, {0}}},
        {{2, {2, 3}}, {2, {2, 3}}},
        {{2, {2, 3}}, {1, {3}}},
        {{2, {2, 1}}, {2, {1, 3}}},
        {{3, {2, 3, 4}}, {3, {2, 1, 4}}},
        {{4, {2, 3, 1, 1}}, {2, {4, 5}}},
        {{4, {1, 2, 1, 3}}, {4, {4, 1, 5, 1}}},
        {{8, {2, 1, 2, 1, 2, 1, 2, 1}}, {8, {1, 2, 1, 2, 1, 2, 1, 2}}},
        {{5, {1, 1, 1, 1, 1}}, {3, {2, 1, 3}}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        check_plan(&shapes[i][0], &shapes[i][1]);
        check_plan(&shapes[i][1], &shapes[i][0]);
    }
}

static void test_plans_merge_dimensions(void **state)
{
    const struct tfd_shape a = {4, {2, 3, 4, 5}}, b = {4, {1, 1, 4, 5}};
    const struct tfd_shape *const in[] = {&a, &b};
    struct tfd_broadcast plan;

    (void)state;
    tfd_broadcast_plan(&plan, &a, in, 2);
    assert_int_equal(plan.rows, 6);
    assert_int_equal(plan.rank, 1);
    assert_int_equal(plan.row_size, 20);
    assert_false(tfd_broadcast_fits(&a, &(struct tfd_shape){1, {4}}));
}

static void test_broadcast_to(void **state)
{
    static const struct krig_case cases[] = {
        {"BroadcastTo",
         "",
         {"float[3] 1 2 3", "int32[2] 2 3"},
         {"float[2,3] 1 2 3"}},
        {"BroadcastTo",
         "",
         {"int8[2,1] 1 2", "int64[2] 2 3"},
         {"int8[2,3] 1 1 1 2 2 2"}},
        {"BroadcastTo", "", {"string[] x", "int32[1] 2"}, {"string[2] x"}},
        {"BroadcastTo",
         "",
         {"complex128[] 1,2", "int32[1] 2"},
         {"complex128[2] 1,2"}},
        {"BroadcastTo", "", {"float[] 1", "int32[2] 2 0"}, {"float[2,0]"}},
        {"BroadcastTo", "", {"float[] 1", "int32[0]"}, {"float[] 1"}},
        {"BroadcastTo",
         "",
         {"bool[1,1] 1", "int32[2] 700 3"},
         {"bool[700,3] 1"}},
        {"BroadcastTo",
         "",
         {"float[3] 1", "int32[2] 2 4"},
         {"!INVALID_ARGUMENT Incompatible shapes: [3] vs. [2,4]"}},
        {"BroadcastTo",
         "",
         {"float[2,3] 1", "int32[1] 3"},
         {"!INVALID_ARGUMENT Rank of input (2) must be no greater than rank of "
          "output shape (1)."}},
        {"BroadcastTo",
         "",
         {"float[0]", "int32[1] 1"},
         {"!INVALID_ARGUMENT Unable to broadcast tensor of shape [0] to tensor "
          "of shape [1]"}},
        {"BroadcastTo",
         "",
         {"float[1] 1", "int32[1] -1"},
         {"!INVALID_ARGUMENT"}},
        {"BroadcastTo",
         "",
         {"float[1] 1", "int32[3] 2147483647"},
         {"!INVALID_ARGUMENT"}},
        {"BroadcastTo",
         "",
         {"float[1] 1", "int32[1,1] 2"},
         {"!INVALID_ARGUMENT shape must be a vector of {int32,int64}, got "
          "shape [1,1]"}},
        {"BroadcastTo",
         "",
         {"float[1] 1", "int32[20] 1"},
         {"!INVALID_ARGUMENT"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_arguments(void **state)
{
    static const char args[] = "BroadcastArgs",
                      grad[] = "BroadcastGradientArgs";
    static const struct krig_case cases[] = {
        {args, "", {"int32[2] 2 3", "int32[1] 3"}, {"int32[2] 2 3"}},
        {args, "", {"int64[0]", "int64[2] 2 1"}, {"int64[2] 2 1"}},
        {args, "", {"int32[1] 0", "int32[1] 1"}, {"int32[1] 0"}},
        {args,
         "",
         {"int32[2] 2 3", "int32[1] 2"},
         {"!INVALID_ARGUMENT Incompatible shapes: [2,3] vs. [2]"}},
        {args,
         "",
         {"int32[1,1] 2", "int32[1] 2"},
         {"!INVALID_ARGUMENT In[0] must be a vector.[1,1]"}},
        {grad, "", {"int32[2] 2 3", "int32[1] 3"}, {"int32[0]", "int32[1] 0"}},
        {grad,
         "",
         {"int32[2] 2 1", "int32[2] 1 3"},
         {"int32[1] 1", "int32[1] 0"}},
        {grad,
         "",
         {"int32[0]", "int32[2] 2 1"},
         {"int32[2] 0 1", "int32[1] 1"}},
        {grad,
         "",
         {"int64[2] 1 1", "int64[1] 1"},
         {"int64[2] 0 1", "int64[2] 0 1"}},
        {grad, "", {"int32[2] 1 1", "int32[2] 1 1"}, {"int32[0]", "int32[0]"}},
        {grad,
         "",
         {"int32[12] 1", "int32[1] 4"},
         {"int32[12] 0 1 2 3 4 5 6 7 8 9 10 11",
          "int32[11] 0 1 2 3 4 5 6 7 8 9 10"}},
        {grad,
         "",
         {"int32[1] -1", "int32[1] 3"},
         {"!INVALID_ARGUMENT Incompatible shapes: [-1] vs. [3]"}},
        {grad,
         "",
         {"int32[1] 1", "int32[] 3"},
         {"!INVALID_ARGUMENT In[1] must be a vector.[]"}},
        {grad,
         "",
         {"int32[5000] 7", "int32[5000] 8"},
         {"!INVALID_ARGUMENT Incompatible shapes: [7,7,"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_meet_the_right_elements),
        cmocka_unit_test(test_plans_merge_dimensions),
        cmocka_unit_test(test_broadcast_to),
        cmocka_unit_test(test_arguments),
    };

    return cmocka_run_group_tests_name("broadcast", tests, krig_setup,
                                       krig_teardown);
}
