/*
 * test_gradient_walk.c - the walk that puts gradients together, and those that
 * need more than fed numbers.
 */
#include "tests/support/graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void test_paths_that_meet_again_are_summed(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0);
    TF_Output square = op1(f, "Square", "square", x);
    TF_Output cube = op2(f, "Mul", "cube", square, x);
    TF_Output y = op2(f, "AddV2", "y", cube, square), dx;

    TF_AddGradients(f->g, &y, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_OK, "");
    assert_non_null(TF_GraphOperationByName(f->g, "gradients/AddN"));
    assert_true(run_scalar(f, dx, x, 2) == 3 * 4 + 2 * 2);
}

/* |x + 3i| + Re (x + 3i)^2 + Im (x + 3i)^2 */
static void test_gradients_go_through_complex_numbers(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), dx;
    TF_Output z = op2(f, "Complex", "z", x, scalar(f, "three", 3));
    TF_Output square = op2(f, "Mul", "square", z, z);
    TF_Output y[3] = {op1(f, "ComplexAbs", "abs", z),
                      op1(f, "Real", "real", square),
                      op1(f, "Imag", "imag", square)};

    TF_AddGradients(f->g, y, 3, &x, 1, NULL, f->st, &dx);
    expect(f, TF_OK, "");
    assert_true(fabsf(run_scalar(f, dx, x, 4) - (0.8f + 8 + 6)) < 1e-5f);
}

static void test_names_tell_what_a_gradient_belongs_to(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0);
    TF_Output y = op1(f, "Relu", "layer/act", x), dx;

    TF_AddGradients(f->g, &y, 1, &x, 1, NULL, f->st, &dx);
    assert_string_equal(TF_OperationName(dx.oper),
                        "gradients/layer/act_grad/ReluGrad");
    TF_AddGradients(f->g, &y, 1, &x, 1, NULL, f->st, &dx);
    assert_string_equal(TF_OperationName(dx.oper),
                        "gradients_1/layer/act_grad/ReluGrad");
    TF_AddGradientsWithPrefix(f->g, "mine", &y, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_OK, "");
    assert_string_equal(TF_OperationName(dx.oper),
                        "mine/layer/act_grad/ReluGrad");
    TF_AddGradientsWithPrefix(f->g, "layer", &y, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_INVALID_ARGUMENT, "layer");
}

static void test_given_gradients_of_y_and_several_y(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), dx;
    TF_Output y[2] = {op1(f, "Square", "a", x), op1(f, "Neg", "b", x)};
    TF_Output dy[2] = {scalar(f, "ten", 10), scalar(f, "two", 2)};

    TF_AddGradients(f->g, y, 2, &x, 1, dy, f->st, &dx);
    expect(f, TF_OK, "");
    assert_true(run_scalar(f, dx, x, 3) == 10 * 2 * 3 - 2);
}

static void test_x_behind_a_stop_has_no_gradient(void **state)
{
    struct fixture *f = *state;
    TF_Output x[2] = {placeholder(f, "x", NULL, 0),
                      placeholder(f, "stopped", NULL, 0)};
    TF_Output stop = op1(f, "StopGradient", "stop", x[1]);
    TF_Output y = op2(f, "Mul", "y", x[0], stop), dx[2];

    TF_AddGradients(f->g, &y, 1, x, 2, NULL, f->st, dx);
    expect(f, TF_OK, "");
    assert_non_null(dx[0].oper);
    assert_null(dx[1].oper);
}

/* As TensorFlow's C API has it. */
static void test_x_that_y_is_not_reached_from_is_refused(void **state)
{
    struct fixture *f = *state;
    TF_Output x[2] = {placeholder(f, "x", NULL, 0),
                      placeholder(f, "other", NULL, 0)};
    TF_Output y = op1(f, "Square", "y", x[0]), dx[2];

    TF_AddGradients(f->g, &y, 1, x, 2, NULL, f->st, dx);
    expect(f, TF_INVALID_ARGUMENT, "node 'other'");
    expect(f, TF_INVALID_ARGUMENT, "unreachable");
}

static void test_an_inner_x_gets_what_arrives_there(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0);
    TF_Output inner = op1(f, "Square", "inner", x);
    TF_Output y = op1(f, "Square", "y", inner), dx[2];
    TF_Output by[2] = {x, inner};

    TF_AddGradients(f->g, &y, 1, by, 2, NULL, f->st, dx);
    expect(f, TF_OK, "");
    assert_true(run_scalar(f, dx[1], x, 3) == 2 * 9);
    assert_true(run_scalar(f, dx[0], x, 3) == 4 * 27);
}

static TF_Output ints(struct fixture *f, const char *name,
                      const int32_t *values, int64_t count)
{
    TF_OperationDescription *d = TF_NewOperation(f->g, "Const", name);
    TF_Tensor *t =
        TF_AllocateTensor(TF_INT32, &count, 1, (size_t)count * sizeof(int32_t));

    memcpy(TF_TensorData(t), values, (size_t)count * sizeof(int32_t));
    TF_SetAttrType(d, "dtype", TF_INT32);
    TF_SetAttrTensor(d, "value", t, f->st);
    TF_DeleteTensor(t);
    return (TF_Output){TF_FinishOperation(d, f->st), 0};
}

static TF_Output variable(struct fixture *f, const char *name,
                          const int64_t *dims, int rank)
{
    TF_OperationDescription *d = TF_NewOperation(f->g, "VarHandleOp", name);

    TF_SetAttrType(d, "dtype", TF_FLOAT);
    TF_SetAttrShape(d, "shape", dims, rank);
    return (TF_Output){TF_FinishOperation(d, f->st), 0};
}

/* The sums of squares of two rows, one of them taken twice. */
static void check_gather(struct fixture *f, const char *op)
{
    static const float values[] = {1, 2, 3, 4, 5, 6};
    static const float expected[] = {2, 4, 0, 0, 20, 24};
    static const int32_t rows[] = {2, 0, 2}, last = 1;
    const int64_t dims[] = {3, 2};
    TF_Output at = ints(f, "rows", rows, 3);
    TF_Output v = variable(f, "v", dims, 2), gathered, y, dv;
    TF_Operation *assign = op2(f, "AssignVariableOp", "assign", v,
                               constant(f, "values", values, dims, 2))
                               .oper;
    TF_OperationDescription *d = TF_NewOperation(f->g, op, "r");
    TF_SessionOptions *o = TF_NewSessionOptions();
    TF_Session *s = TF_NewSession(f->g, o, f->st);
    TF_Tensor *out = NULL;

    if (strcmp(op, "ResourceGatherNd") == 0)
        at = op2(f, "ExpandDims", "at", at, ints(f, "last", &last, 1));
    TF_AddInput(d, v);
    TF_AddInput(d, at);
    TF_SetAttrType(d, "dtype", TF_FLOAT);
    gathered = (TF_Output){TF_FinishOperation(d, f->st), 0};
    y = op1(f, "Square", "y", gathered);
    TF_AddGradients(f->g, &y, 1, &v, 1, NULL, f->st, &dv);
    expect(f, TF_OK, "");
    TF_SessionRun(s, NULL, NULL, NULL, 0, NULL, NULL, 0,
                  (const TF_Operation *const *)&assign, 1, NULL, f->st);
    TF_SessionRun(s, NULL, NULL, NULL, 0, &dv, &out, 1, NULL, 0, NULL, f->st);
    expect(f, TF_OK, "");
    assert_int_equal(TF_TensorByteSize(out), sizeof(expected));
    assert_memory_equal(TF_TensorData(out), expected, sizeof(expected));
    TF_DeleteTensor(out);
    TF_DeleteSession(s, f->st);
    TF_DeleteSessionOptions(o);
}

static void test_a_gather_from_a_variable_has_a_dense_gradient(void **state)
{
    check_gather(*state, "ResourceGather");
}

static void test_a_gather_of_points_has_a_dense_gradient(void **state)
{
    check_gather(*state, "ResourceGatherNd");
}

static void test_parts_that_nobody_reads_have_zero_gradients(void **state)
{
    const int64_t dims[] = {2};
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", dims, 1), y, dx;
    TF_OperationDescription *d = TF_NewOperation(f->g, "Unpack", "parts");
    const float fed[] = {3, 4}, expected[] = {0, 8};
    TF_SessionOptions *o = TF_NewSessionOptions();
    TF_Session *s = TF_NewSession(f->g, o, f->st);
    TF_Tensor *in = floats(fed, dims, 1), *out = NULL;

    TF_AddInput(d, x);
    TF_SetAttrInt(d, "num", 2);
    y = op1(f, "Square", "y", (TF_Output){TF_FinishOperation(d, f->st), 1});
    TF_AddGradients(f->g, &y, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_OK, "");
    TF_SessionRun(s, NULL, &x, &in, 1, &dx, &out, 1, NULL, 0, NULL, f->st);
    expect(f, TF_OK, "");
    assert_memory_equal(TF_TensorData(out), expected, sizeof(expected));
    TF_DeleteTensor(in);
    TF_DeleteTensor(out);
    TF_DeleteSession(s, f->st);
    TF_DeleteSessionOptions(o);
}

static int count_operations(struct fixture *f)
{
    size_t pos = 0;
    int count = 0;

    while (TF_GraphNextOperation(f->g, &pos))
        count++;
    return count;
}

static void test_an_operation_without_gradient_is_named(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), dx = {NULL, 0};
    TF_Output y = op1(f, "Square", "y", op2(f, "TruncateMod", "up", x, x));
    int before;

    expect(f, TF_OK, "");
    before = count_operations(f);
    TF_AddGradients(f->g, &y, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_NOT_FOUND, "No gradient defined for op: TruncateMod");
    expect(f, TF_NOT_FOUND, "'up'");
    assert_int_equal(count_operations(f), before);
    y = op1(f, "Square", "y2", op1(f, "PreventGradient", "never", x));
    TF_AddGradients(f->g, &y, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_INVALID_ARGUMENT, "gradient of 'never'");
}

static void test_bad_arguments_of_gradients(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), dx;
    TF_Output y = op1(f, "Square", "y", x), none = {NULL, 0};
    TF_Output beyond = {x.oper, 3};
    TF_OperationDescription *d = TF_NewOperation(f->g, "Cast", "int");
    TF_Output integer;

    TF_AddInput(d, x);
    TF_SetAttrType(d, "DstT", TF_INT32);
    integer = (TF_Output){TF_FinishOperation(d, f->st), 0};
    TF_AddGradients(f->g, &none, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_INVALID_ARGUMENT, "");
    TF_AddGradients(f->g, &y, 1, &beyond, 1, NULL, f->st, &dx);
    expect(f, TF_OUT_OF_RANGE, "");
    TF_AddGradients(f->g, &y, 1, &x, 1, &integer, f->st, &dx);
    expect(f, TF_INVALID_ARGUMENT, "gradient given");
    TF_AddGradients(f->g, &integer, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_OK, "");
    assert_null(dx.oper); /* an integer has none */
}

/* As TensorFlow: a node may have the prefix, or lie under it. */
static void test_a_prefix_in_use_is_refused(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), dx;
    TF_Output y = op1(f, "Neg", "y", x);

    scalar(f, "p", 1);
    scalar(f, "q/r", 1);
    scalar(f, "similar", 1);
    TF_AddGradientsWithPrefix(f->g, "p", &y, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_INVALID_ARGUMENT,
           "prefix [p] conflicts with existing node in the graph named [p]");
    TF_AddGradientsWithPrefix(f->g, "q", &y, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_INVALID_ARGUMENT,
           "prefix [q] conflicts with existing node in the graph named [q/r]");
    TF_AddGradientsWithPrefix(f->g, "sim", &y, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_OK, "");
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_paths_that_meet_again_are_summed),
        TEST(test_gradients_go_through_complex_numbers),
        TEST(test_names_tell_what_a_gradient_belongs_to),
        TEST(test_given_gradients_of_y_and_several_y),
        TEST(test_x_behind_a_stop_has_no_gradient),
        TEST(test_x_that_y_is_not_reached_from_is_refused),
        TEST(test_an_inner_x_gets_what_arrives_there),
        TEST(test_a_gather_from_a_variable_has_a_dense_gradient),
        TEST(test_parts_that_nobody_reads_have_zero_gradients),
        TEST(test_a_gather_of_points_has_a_dense_gradient),
        TEST(test_an_operation_without_gradient_is_named),
        TEST(test_bad_arguments_of_gradients),
        TEST(test_a_prefix_in_use_is_refused),
    };

    return cmocka_run_group_tests_name("gradient_walk", tests, NULL, NULL);
}
