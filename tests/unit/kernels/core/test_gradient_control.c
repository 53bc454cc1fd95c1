/*
 * test_gradient_control.c - gradients of conditionals and while loops, and the
 * loops that programs build with TF_NewWhile().
 */
#include "tests/support/graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static TF_Output gradient(struct fixture *f, TF_Output y, TF_Output x)
{
    TF_Output dx = {NULL, 0};

    TF_AddGradients(f->g, &y, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_OK, "");
    assert_non_null(dx.oper);
    return dx;
}

static void expect_near(float value, double wanted)
{
    if (fabs((double)value - wanted) > 1e-4 * (1 + fabs(wanted)))
        fail_msg("%g is not %g", (double)value, wanted);
}

/* ---- Conditionals -------------------------------------------------------- */

static TF_Output merge(struct fixture *f, const char *name, TF_Output *in,
                       int count)
{
    TF_OperationDescription *d = TF_NewOperation(f->g, "Merge", name);

    TF_AddInputList(d, in, count);
    return (TF_Output){TF_FinishOperation(d, f->st), 0};
}

/* x < 0 ? -x * other : x * x, where other is 5. */
static TF_Output conditional(struct fixture *f, TF_Output x)
{
    TF_Output negative = op2(f, "Less", "negative", x, scalar(f, "zero", 0));
    TF_Output in = op2(f, "Switch", "switch", x, negative), yes = {in.oper, 1};
    TF_Output ways[2] = {op2(f, "Mul", "square", in, in),
                         op2(f, "Mul", "scaled", op1(f, "Neg", "neg", yes),
                             scalar(f, "five", 5))};

    return merge(f, "merge", ways, 2);
}

static void test_a_conditional_derives_the_branch_that_ran(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0);
    TF_Output dx = gradient(f, conditional(f, x), x);

    expect_near(run_scalar(f, dx, x, 3), 6);
    expect_near(run_scalar(f, dx, x, -3), -5);
}

static void test_a_branch_that_does_not_read_x_gives_zero(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0);
    TF_Output negative = op2(f, "Less", "negative", x, scalar(f, "zero", 0));
    TF_Output in = op2(f, "Switch", "switch", x, negative);
    TF_Output seven =
        op2(f, "Switch", "other", scalar(f, "seven", 7), negative);
    TF_Output ways[2] = {op1(f, "Square", "square", in), {seven.oper, 1}}, dx;

    dx = gradient(f, merge(f, "merge", ways, 2), x);
    expect_near(run_scalar(f, dx, x, 4), 8);
    expect_near(run_scalar(f, dx, x, -4), 0);
}

static void test_a_merge_of_three_has_no_gradient(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), dx;
    TF_Output ways[3] = {x, x, x}, y = merge(f, "merge", ways, 3);

    TF_AddGradients(f->g, &y, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_NOT_FOUND, "No gradient defined for op: Merge");
}

/* ---- Loops --------------------------------------------------------------- */

typedef TF_Output body_fn(struct fixture *f, const TF_Output *x);

static TF_Output doubled(struct fixture *f, const TF_Output *x)
{
    return op2(f, "AddV2", "next", x[1], x[1]);
}

static TF_Output squared(struct fixture *f, const TF_Output *x)
{
    return op2(f, "Mul", "next", x[1], x[1]);
}

static TF_Output mixed(struct fixture *f, const TF_Output *x)
{
    TF_Output scaled =
        op2(f, "Mul", "scaled", op1(f, "Sin", "sin", x[1]), x[0]);

    return op2(f, "AddV2", "next", scaled,
               op2(f, "Mul", "more", x[1], scalar(f, "constant", 1.25f)));
}

static TF_Output kept(struct fixture *f, const TF_Output *x)
{
    (void)f;
    return x[1];
}

static TF_Output forgotten(struct fixture *f, const TF_Output *x)
{
    (void)x;
    return scalar(f, "next", 3);
}

/* for (i = 0; i < steps; i++) x = body(i, x); both are floats. */
static void loop(struct fixture *f, const char *name, TF_Output x, float steps,
                 body_fn *body, TF_Output *out)
{
    TF_Output in[2] = {scalar(f, name, 0), x};
    TF_WhileParams p = TF_NewWhile(f->g, in, 2, f->st);
    struct fixture cond = {p.cond_graph, f->st}, inner = {p.body_graph, f->st};

    expect(f, TF_OK, "");
    p.cond_output = op2(&cond, "Less", "less", p.cond_inputs[0],
                        scalar(&cond, "steps", steps));
    p.body_outputs[0] =
        op2(&inner, "AddV2", "up", p.body_inputs[0], scalar(&inner, "one", 1));
    p.body_outputs[1] = body(&inner, p.body_inputs);
    p.name = strcmp(name, "i") == 0 ? "loop" : "again";
    TF_FinishWhile(&p, f->st, out);
    expect(f, TF_OK, "");
}

static double value_of(body_fn *body, int i, double x)
{
    if (body == doubled)
        return x + x;
    if (body == squared)
        return x * x;
    if (body == mixed)
        return sin(x) * i + x * 1.25;
    return body == kept ? x : 3;
}

static double value_after(body_fn *body, int steps, double x)
{
    for (int i = 0; i < steps; i++)
        x = value_of(body, i, x);
    return x;
}

static const struct loop_case {
    body_fn *body;
    int steps;
    double x;
} loops[] = {{doubled, 5, 3},  {doubled, 0, 3}, {squared, 3, 1.5},
             {squared, 1, -2}, {mixed, 6, 0.4}, {mixed, 3, -2},
             {doubled, 60, 1}, {kept, 7, 2},    {forgotten, 2, 4},
             {forgotten, 0, 4}};

static void check_loop(const struct loop_case *c)
{
    struct fixture f = {TF_NewGraph(), TF_NewStatus()};
    TF_Output x = placeholder(&f, "x", NULL, 0), out[2], dx;
    double step = 1e-6;

    loop(&f, "i", x, (float)c->steps, c->body, out);
    expect_near(run_scalar(&f, out[1], x, (float)c->x),
                value_after(c->body, c->steps, c->x));
    dx = gradient(&f, out[1], x);
    expect_near(run_scalar(&f, dx, x, (float)c->x),
                (value_after(c->body, c->steps, c->x + step) -
                 value_after(c->body, c->steps, c->x - step)) /
                    (2 * step));
    TF_DeleteGraph(f.g);
    TF_DeleteStatus(f.st);
}

static void test_gradients_of_loops_are_limits_of_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
        check_loop(&loops[i]);
}

/* ((x + x) + (x + x))^2 */
static void test_a_loop_may_read_another(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), out[2], again[2];

    loop(f, "i", x, 2, doubled, out);
    loop(f, "k", out[1], 1, squared, again);
    expect_near(run_scalar(f, gradient(f, again[1], x), x, 3), 2 * 16 * 3);
}

static void test_all_that_leaves_a_loop_counts(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), out[2], sum;

    loop(f, "i", x, 3, squared, out);
    sum = op2(f, "Mul", "sum", op2(f, "AddV2", "both", out[0], out[1]), x);
    /* (3 + x^8) x */
    expect_near(run_scalar(f, gradient(f, sum, x), x, 1.25f),
                3 + 9 * pow(1.25, 8));
}

static void test_a_loop_is_derived_as_often_as_asked(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), out[2], one, two;

    loop(f, "i", x, 2, squared, out);
    one = gradient(f, out[1], x);
    two = gradient(f, out[1], x);
    expect_near(run_scalar(f, op2(f, "AddV2", "both", one, two), x, 2),
                2 * 4 * 8);
}

static void test_a_gradient_of_a_gradient_of_a_loop_is_refused(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), out[2], dx, none;

    loop(f, "i", x, 2, squared, out);
    dx = gradient(f, out[1], x);
    TF_AddGradients(f->g, &dx, 1, &x, 1, NULL, f->st, &none);
    expect(f, TF_NOT_FOUND, "No gradient defined");
}

static TF_Output inner_loop(struct fixture *f, const TF_Output *x)
{
    TF_Output out[2];

    loop(f, "i", x[1], 2, squared, out);
    return out[1];
}

static void test_loops_within_loops_run_but_are_not_derived(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), out[2], dx;

    loop(f, "i", x, 2, inner_loop, out);
    expect_near(run_scalar(f, out[1], x, 1.25f), pow(1.25, 16));
    TF_AddGradients(f->g, &out[1], 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_NOT_FOUND, "a loop within another loop");
}

static void test_an_exit_of_no_loop_is_refused(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), exit, dx;
    TF_OperationDescription *d = TF_NewOperation(f->g, "Enter", "enter");

    TF_AddInput(d, x);
    TF_SetAttrString(d, "frame_name", "frame", 5);
    exit = op1(f, "Exit", "exit", (TF_Output){TF_FinishOperation(d, f->st), 0});
    TF_AddGradients(f->g, &exit, 1, &x, 1, NULL, f->st, &dx);
    expect(f, TF_NOT_FOUND, "No gradient defined for op: Exit");
}

/* ---- TF_NewWhile() ------------------------------------------------------- */

static void test_a_loop_has_tensorflows_names(void **state)
{
    static const char *const names[] = {
        "loop/Enter",     "loop/Enter_1",   "loop/Merge",
        "loop/cond/less", "loop/LoopCond",  "loop/Switch_1",
        "loop/Exit_1",    "loop/body/next", "loop/NextIteration"};
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), out[2];

    loop(f, "i", x, 2, squared, out);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!TF_GraphOperationByName(f->g, names[i]))
            fail_msg("no operation %s", names[i]);
    assert_string_equal(TF_OperationName(out[1].oper), "loop/Exit_1");
}

static void test_a_loop_of_nothing_is_refused(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0), none = {NULL, 0};
    TF_Output beyond = {x.oper, 7};
    TF_WhileParams p = TF_NewWhile(f->g, &x, 0, f->st);

    expect(f, TF_INVALID_ARGUMENT, "at least one input");
    TF_FinishWhile(&p, f->st, &none);
    expect(f, TF_INVALID_ARGUMENT, "TF_NewWhile()");
    (void)TF_NewWhile(f->g, &x, -1, f->st);
    expect(f, TF_INVALID_ARGUMENT, "");
    (void)TF_NewWhile(f->g, &none, 1, f->st);
    expect(f, TF_INVALID_ARGUMENT, "");
    (void)TF_NewWhile(f->g, &beyond, 1, f->st);
    expect(f, TF_INVALID_ARGUMENT, "AttrValue has invalid DataType");
}

static void test_a_loop_may_be_given_up(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, 0);
    TF_WhileParams p = TF_NewWhile(f->g, &x, 1, f->st);

    expect(f, TF_OK, "");
    TF_AbortWhile(&p);
    assert_null(TF_GraphOperationByName(f->g, "loop/Enter"));
}

enum lack { COND, BODY, NAME, BOOL, FOREIGN, TYPE, TAKEN };

static void check_lack(enum lack lack, TF_Code code, const char *part)
{
    struct fixture f = {TF_NewGraph(), TF_NewStatus()};
    TF_Output x = placeholder(&f, "x", NULL, 0), out;
    TF_WhileParams p = TF_NewWhile(f.g, &x, 1, f.st);
    struct fixture cond = {p.cond_graph, f.st}, body = {p.body_graph, f.st};
    TF_Output less = op2(&cond, "Less", "less", p.cond_inputs[0],
                         scalar(&cond, "limit", 100));
    TF_Output next =
        op2(&body, "AddV2", "next", p.body_inputs[0], p.body_inputs[0]);

    if (lack != COND)
        p.cond_output = less;
    if (lack == BOOL)
        p.cond_output = p.cond_inputs[0];
    if (lack == FOREIGN)
        p.cond_output = next;
    if (lack != BODY)
        p.body_outputs[0] = next;
    if (lack == TYPE)
        p.body_outputs[0] = op2(&body, "Less", "bool", next, next);
    if (lack == TAKEN)
        placeholder(&f, "loop/body/next", NULL, 0);
    if (lack != NAME)
        p.name = "loop";
    TF_FinishWhile(&p, f.st, &out);
    expect(&f, code, part);
    assert_null(TF_GraphOperationByName(f.g, "loop/Enter"));
    TF_DeleteGraph(f.g);
    TF_DeleteStatus(f.st);
}

static void test_a_loop_that_lacks_something_changes_nothing(void **state)
{
    (void)state;
    check_lack(COND, TF_INVALID_ARGUMENT, "`cond_output` field isn't set");
    check_lack(BODY, TF_INVALID_ARGUMENT, "`body_outputs[0]` field isn't set");
    check_lack(NAME, TF_INVALID_ARGUMENT, "`name` field is null");
    check_lack(BOOL, TF_INVALID_ARGUMENT, "");
    check_lack(FOREIGN, TF_INVALID_ARGUMENT, "");
    check_lack(TYPE, TF_INVALID_ARGUMENT, "");
    check_lack(TAKEN, TF_OK, ""); /* it is called loop_1 */
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_conditional_derives_the_branch_that_ran),
        TEST(test_a_branch_that_does_not_read_x_gives_zero),
        TEST(test_a_merge_of_three_has_no_gradient),
        TEST(test_gradients_of_loops_are_limits_of_differences),
        TEST(test_a_loop_may_read_another),
        TEST(test_all_that_leaves_a_loop_counts),
        TEST(test_a_loop_is_derived_as_often_as_asked),
        TEST(test_a_gradient_of_a_gradient_of_a_loop_is_refused),
        TEST(test_loops_within_loops_run_but_are_not_derived),
        TEST(test_an_exit_of_no_loop_is_refused),
        TEST(test_a_loop_has_tensorflows_names),
        TEST(test_a_loop_of_nothing_is_refused),
        TEST(test_a_loop_may_be_given_up),
        TEST(test_a_loop_that_lacks_something_changes_nothing),
    };

    return cmocka_run_group_tests_name("gradient_control", tests, NULL, NULL);
}
