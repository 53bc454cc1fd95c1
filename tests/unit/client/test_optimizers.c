/*
 * test_optimizers.c - TFD_Minimize(): what a step does to the variables, and
 * the names it gives.
 */
#include "tests/support/model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* With w = 0.5, b = 0 the mean of (w x + b - y)^2 over the batch has the
 * gradients -3.5 (w) and 0.5 (b). */
#define W_GRADIENT -3.5
#define B_GRADIENT 0.5
/* That of w after one step of 0.1 down both. */
#define W_GRADIENT_2 -2.5

static void test_gradient_descent_goes_down_the_gradient(void **state)
{
    struct fixture *f = *state;
    struct line_model m = line_model(f, "GradientDescent", 0.1f);
    TF_Session *s = open_session(f);

    run(f, s, "w/Assign");
    run(f, s, "b/Assign");
    run(f, s, "global_step/Assign");
    run(f, s, "GradientDescent");
    check_near(value(f, s, "w/Read/ReadVariableOp"), 0.5 - 0.1 * W_GRADIENT);
    check_near(value(f, s, "b/Read/ReadVariableOp"), 0 - 0.1 * B_GRADIENT);
    check_near(value(f, s, "global_step/Read/ReadVariableOp"), 1);
    for (int i = 0; i < 200; i++)
        run(f, s, TF_OperationName(m.train_op));
    assert_true(value(f, s, "Mean") < 1e-6);
    check_near(value(f, s, "global_step/Read/ReadVariableOp"), 201);
    TF_DeleteSession(s, f->st);
    TFD_DeleteScope(m.scope);
}

static void test_adagrad_divides_by_the_root_of_what_it_has_seen(void **state)
{
    struct fixture *f = *state;
    struct line_model m = line_model(f, "Adagrad", 0.5f);
    TF_Session *s = open_session(f);
    double accumulator = (double)0.1f + W_GRADIENT * W_GRADIENT;

    run(f, s, "w/Assign");
    run(f, s, "b/Assign");
    run(f, s, "w/Adagrad/Assign");
    run(f, s, "b/Adagrad/Assign");
    run(f, s, "global_step/Assign");
    check_near(value(f, s, "w/Adagrad/Read/ReadVariableOp"), (double)0.1f);
    run(f, s, "Adagrad");
    check_near(value(f, s, "w/Adagrad/Read/ReadVariableOp"), accumulator);
    check_near(value(f, s, "w/Read/ReadVariableOp"),
               0.5 - 0.5 * W_GRADIENT / sqrt(accumulator));
    TF_DeleteSession(s, f->st);
    TFD_DeleteScope(m.scope);
}

static void test_momentum_goes_on_where_it_went(void **state)
{
    struct fixture *f = *state;
    struct line_model m = line_model(f, "Momentum", 0.1f);
    TF_Session *s = open_session(f);
    const double w = 0.5 - 0.1 * W_GRADIENT;
    double second;

    run(f, s, "w/Assign");
    run(f, s, "b/Assign");
    run(f, s, "w/Momentum/Assign");
    run(f, s, "b/Momentum/Assign");
    run(f, s, "global_step/Assign");
    check_near(value(f, s, "w/Momentum/Read/ReadVariableOp"), 0);
    run(f, s, "Momentum");
    check_near(value(f, s, "w/Momentum/Read/ReadVariableOp"), W_GRADIENT);
    check_near(value(f, s, "w/Read/ReadVariableOp"), w);
    run(f, s, "Momentum");
    /* accum = 0.9 accum + gradient;  w -= rate accum */
    second = value(f, s, "w/Momentum/Read/ReadVariableOp");
    check_near(value(f, s, "w/Read/ReadVariableOp"), w - 0.1 * second);
    check_near(second, 0.9 * W_GRADIENT + W_GRADIENT_2);
    check_near(value(f, s, "Momentum/update_w/momentum"), (double)0.9f);
    for (int i = 0; i < 300; i++)
        run(f, s, TF_OperationName(m.train_op));
    assert_true(value(f, s, "Mean") < 1e-6);
    TF_DeleteSession(s, f->st);
    TFD_DeleteScope(m.scope);
}

/* 0.1 / (1 + global_step): the step that is being taken counts not yet. */
static TF_Output slower_rate(struct fixture *f, TFD_Scope *s)
{
    TFD_Attr type = TFD_AttrType("DstT", TF_FLOAT);
    TF_Output x = TFD_Read(TFD_GlobalStep(s, f->st));

    x = TFD_Op(s, "Cast", NULL, &x, 1, &type, 1, f->st);
    x = TFD_Op2(s, "AddV2", x, TFD_ConstFloat(s, NULL, 1, f->st), f->st);
    return TFD_Op2(s, "RealDiv", TFD_ConstFloat(s, NULL, 0.1f, f->st), x,
                   f->st);
}

static void test_a_rate_may_be_computed_of_the_step(void **state)
{
    struct fixture *f = *state;
    struct line_model m = line_model(f, NULL, 0);
    TF_Session *s;
    double w;

    TFD_MinimizeAtRate(m.scope, "GradientDescent", slower_rate(f, m.scope),
                       m.loss, f->st);
    s = open_session(f);
    run(f, s, "w/Assign");
    run(f, s, "b/Assign");
    run(f, s, "global_step/Assign");
    run(f, s, "GradientDescent");
    w = 0.5 - 0.1 * W_GRADIENT;
    check_near(value(f, s, "w/Read/ReadVariableOp"), w);
    run(f, s, "GradientDescent");
    w -= 0.1 / 2 * W_GRADIENT_2;
    check_near(value(f, s, "w/Read/ReadVariableOp"), w);
    TF_DeleteSession(s, f->st);
    TFD_DeleteScope(m.scope);
}

static void test_operations_have_the_names_python_gives(void **state)
{
    static const char *const names[] = {
        "w/IsInitialized/VarIsInitializedOp",
        "w/Adagrad/Initializer/Const",
        "Adagrad/update_w/ResourceApplyAdagrad",
        "Adagrad/update",
        "Adagrad/value",
        "global_step/Initializer/zeros",
        "gradients/SquaredDifference_grad/Mul",
    };
    struct fixture *f = *state;
    struct line_model m = line_model(f, "Adagrad", 0.5f);

    expect(f, TF_OK, "");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!TF_GraphOperationByName(f->g, names[i]))
            fail_msg("no operation %s", names[i]);
    TFD_DeleteScope(m.scope);
}

static void test_replicas_put_variables_on_ps_tasks_in_turn(void **state)
{
    static const struct {
        const char *name, *device;
    } places[] = {
        {"w", "/job:ps/task:0"},
        {"w/Assign", "/job:ps/task:0"},
        {"b", "/job:ps/task:1"},
        {"b/Read/ReadVariableOp", "/job:ps/task:1"},
        {"b/Adagrad", "/job:ps/task:1"},
        {"Adagrad/update_b/ResourceApplyAdagrad", "/job:ps/task:1"},
        {"global_step", "/job:ps/task:0"},
        {"Adagrad", "/job:ps/task:0"},
        {"Square", "/job:worker/task:3"},
        {"gradients/Square_grad/Mul_1", "/job:worker/task:3"},
        {"scratch", "/job:worker/task:3"},
    };
    struct fixture *f = *state;
    TFD_Scope *s = TFD_NewScope(f->g);
    TFD_Variable *w, *b;
    TF_Output loss;

    TFD_SetReplicas(s, "/job:worker/task:3", 2, f->st);
    w = TFD_NewVariable(s, "w", TFD_ConstFloat(s, NULL, 1, f->st),
                        TFD_TRAINABLE, f->st);
    TFD_NewVariable(s, "scratch", TFD_ConstFloat(s, NULL, 1, f->st), TFD_LOCAL,
                    f->st);
    b = TFD_NewVariable(s, "b", TFD_ConstFloat(s, NULL, 1, f->st),
                        TFD_TRAINABLE, f->st);
    loss = TFD_Op1(s, "Square",
                   TFD_Op2(s, "Mul", TFD_Read(w), TFD_Read(b), f->st), f->st);
    TFD_Minimize(s, "Adagrad", 0.1f, loss, f->st);
    TFD_AddSaver(s, f->st);
    expect(f, TF_OK, "");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        TF_Operation *op = TF_GraphOperationByName(f->g, places[i].name);

        if (!op)
            fail_msg("no operation %s", places[i].name);
        assert_string_equal(TF_OperationDevice(op), places[i].device);
    }
    TFD_DeleteScope(s);
}

static void test_what_cannot_be_minimized_says_why(void **state)
{
    struct fixture *f = *state;
    struct line_model m = line_model(f, NULL, 0);
    TFD_Scope *empty = TFD_NewScope(f->g);
    TF_Output c = TFD_ConstFloat(m.scope, "c", 1, f->st);

    expect(f, TF_OK, "");
    assert_null(TFD_Minimize(m.scope, "Adamax", 0.1f, m.loss, f->st));
    expect(f, TF_INVALID_ARGUMENT, "Adamax");
    /* A status that says a failure stops everything. */
    assert_null(TFD_Minimize(m.scope, "Adagrad", 0.1f, m.loss, f->st));
    expect(f, TF_INVALID_ARGUMENT, "Adamax");
    assert_null(TFD_Op1(m.scope, "Neg", c, f->st).oper);
    TF_SetStatus(f->st, TF_OK, "");
    assert_null(TFD_MinimizeAtRate(m.scope, "Momentum", (TF_Output){NULL, 0},
                                   m.loss, f->st));
    expect(f, TF_INVALID_ARGUMENT, "learning rate");
    TF_SetStatus(f->st, TF_OK, "");
    assert_null(TFD_Minimize(m.scope, "Adagrad", 0.1f, c, f->st));
    expect(f, TF_INVALID_ARGUMENT, "No gradients provided");
    TF_SetStatus(f->st, TF_OK, "");
    assert_null(TFD_Minimize(empty, "Adagrad", 0.1f, m.loss, f->st));
    expect(f, TF_INVALID_ARGUMENT, "No gradients provided");
    TF_SetStatus(f->st, TF_OK, "");
    TFD_AddSaver(empty, f->st);
    expect(f, TF_INVALID_ARGUMENT, "No variables to save");
    TFD_DeleteScope(empty);
    TFD_DeleteScope(m.scope);
}

static void test_scopes_name_and_order(void **state)
{
    struct fixture *f = *state;
    TFD_Scope *s = TFD_NewScope(f->g), *a, *b;
    TF_Output x, y;

    a = TFD_SubScope(s, "layer", f->st);
    x = TFD_ConstFloat(a, "c", 1, f->st);
    b = TFD_SubScope(s, "layer", f->st);
    TFD_AddScopeControl(b, x.oper, f->st);
    y = TFD_ConstFloat(b, "c", 1, f->st);
    expect(f, TF_OK, "");
    assert_string_equal(TF_OperationName(x.oper), "layer/c");
    assert_string_equal(TF_OperationName(y.oper), "layer_1/c");
    assert_int_equal(TF_OperationNumControlInputs(y.oper), 1);
    y = TFD_Op1(a, "Neg", x, f->st);
    y = TFD_Op1(a, "Neg", x, f->st);
    assert_string_equal(TF_OperationName(y.oper), "layer/Neg_1");
    TFD_ConstInt(s, "big", TF_INT32, INT64_C(1) << 40, f->st);
    expect(f, TF_INVALID_ARGUMENT, "big");
    assert_null(TFD_SubScope(s, "x", f->st));
    TF_SetStatus(f->st, TF_OK, "");
    TFD_SetReplicas(s, "", -1, f->st);
    expect(f, TF_INVALID_ARGUMENT, "-1");
    TFD_DeleteScope(s);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_gradient_descent_goes_down_the_gradient),
        TEST(test_adagrad_divides_by_the_root_of_what_it_has_seen),
        TEST(test_momentum_goes_on_where_it_went),
        TEST(test_a_rate_may_be_computed_of_the_step),
        TEST(test_operations_have_the_names_python_gives),
        TEST(test_replicas_put_variables_on_ps_tasks_in_turn),
        TEST(test_what_cannot_be_minimized_says_why),
        TEST(test_scopes_name_and_order),
    };

    return cmocka_run_group_tests_name("optimizers", tests, NULL, NULL);
}
