/*
 * test_c_api_while.c - TF_NewWhile() and TF_FinishWhile(): loops that can be,
 * what they are called, and what is said of those that cannot.  The texts are
 * TensorFlow's, of one process for each row; run in one they hang there.
 */
#include "tests/support/refusals.h"

#include <cmocka.h>

/* A loop "x0 < 10: x0 + 1" in the making, which a row spoils. */
struct loop {
    struct fixture *f;
    struct fixture cond, body; /* the small graphs */
    TF_WhileParams p;
};

static TF_Output typed(struct fixture *f, const char *name, TF_DataType type,
                       int rank)
{
    static const int64_t dims[] = {2};
    TF_OperationDescription *d = TF_NewOperation(f->g, "Placeholder", name);

    TF_SetAttrType(d, "dtype", type);
    TF_SetAttrShape(d, "shape", dims, rank);
    return (TF_Output){TF_FinishOperation(d, f->st), 0};
}

static struct loop describe(struct fixture *f, TF_WhileParams p)
{
    struct loop l = {f, {p.cond_graph, f->st}, {p.body_graph, f->st}, p};

    expect(f, TF_OK, "");
    l.p.cond_output = op2(&l.cond, "Less", "less", l.p.cond_inputs[0],
                          scalar(&l.cond, "ten", 10));
    l.p.body_outputs[0] = op2(&l.body, "AddV2", "sum", l.p.body_inputs[0],
                              scalar(&l.body, "one", 1));
    l.p.name = "loop";
    return l;
}

static struct loop begin(struct fixture *f)
{
    TF_Output x = {TF_GraphOperationByName(f->g, "x"), 0};

    if (!x.oper)
        x = placeholder(f, "x", NULL, 0);
    return describe(f, TF_NewWhile(f->g, &x, 1, f->st));
}
static struct loop begin_of_row(struct fixture *f)
{
    begin_row(f);
    return begin(f);
}

/* The output's name, when it was made. */
static const char *finish(struct loop *l)
{
    TF_Output out = {NULL, 0};

    TF_FinishWhile(&l->p, l->f->st, &out);
    return out.oper ? TF_OperationName(out.oper) : "";
}

/* ---- Loops --------------------------------------------------------------- */

static void is_plain(struct loop *l)
{
    (void)l;
}

static void has_no_name(struct loop *l)
{
    l->p.name = "";
}

static void ends_in_a_slash(struct loop *l)
{
    l->p.name = "loop/";
}

static void gives_its_input(struct loop *l)
{
    l->p.body_outputs[0] = l->p.body_inputs[0];
}

static void asks_what_nobody_knows(struct loop *l)
{
    l->p.cond_output = typed(&l->cond, "c", TF_BOOL, -1);
}

static void finds_its_name_taken(struct loop *l)
{
    scalar(l->f, "loop", 1);
}

static void finds_its_scope_taken(struct loop *l)
{
    scalar(l->f, "loop/cond/less", 1);
}

static void test_loops_and_what_they_are_called(void **state)
{
    static const struct {
        void (*change)(struct loop *l);
        const char *output;
    } cases[] = {
        {is_plain, "loop/Exit"},
        {has_no_name, "Exit"},
        {ends_in_a_slash, "loop//Exit"},
        {gives_its_input, "loop/Exit"},
        {asks_what_nobody_knows, "loop/Exit"},
        {finds_its_name_taken, "loop_1/Exit"},
        {finds_its_scope_taken, "loop_1/Exit"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct loop l = begin_of_row(f);

        cases[i].change(&l);
        assert_string_equal(finish(&l), cases[i].output);
        expect(f, TF_OK, "");
    }
}

/* ---- No loops ------------------------------------------------------------ */

static void lacks_a_cond(struct loop *l)
{
    l->p.cond_output.oper = NULL;
}

static void lacks_an_output(struct loop *l)
{
    l->p.body_outputs[0].oper = NULL;
}

static void lacks_a_name(struct loop *l)
{
    l->p.name = NULL;
}

static void has_a_space_in_its_name(struct loop *l)
{
    l->p.name = "a b";
}

static void is_named_as_runtimes_name(struct loop *l)
{
    l->p.name = "_loop";
}

static void asks_a_float(struct loop *l)
{
    l->p.cond_output = scalar(&l->cond, "c", 1);
}

static void asks_an_int(struct loop *l)
{
    l->p.cond_output = typed(&l->cond, "c", TF_INT32, 0);
}

static void asks_a_vector(struct loop *l)
{
    l->p.cond_output = typed(&l->cond, "c", TF_BOOL, 1);
}

static void asks_output_1(struct loop *l)
{
    l->p.cond_output.index = 1;
}

static void asks_output_minus_1(struct loop *l)
{
    l->p.cond_output.index = -1;
}

static void asks_the_body(struct loop *l)
{
    l->p.cond_output = typed(&l->body, "c", TF_BOOL, 0);
}

static void asks_its_graph(struct loop *l)
{
    l->p.cond_output = typed(l->f, "c", TF_BOOL, 0);
}

static void gives_output_1(struct loop *l)
{
    l->p.body_outputs[0].index = 1;
}

static void gives_output_minus_1(struct loop *l)
{
    l->p.body_outputs[0].index = -1;
}

static void gives_an_input_of_cond(struct loop *l)
{
    l->p.body_outputs[0] = l->p.cond_inputs[0];
}

static void gives_what_its_graph_has(struct loop *l)
{
    l->p.body_outputs[0] = scalar(l->f, "q", 1);
}

static void gives_an_int(struct loop *l)
{
    l->p.body_outputs[0] = typed(&l->body, "c", TF_INT32, 0);
}

static void has_a_bad_node_in_cond(struct loop *l)
{
    op1(&l->cond, "Neg", "a b", l->p.cond_inputs[0]);
}

static void has_a_bad_node_in_body(struct loop *l)
{
    op1(&l->body, "Neg", "_b", l->p.body_inputs[0]);
}

static void is_the_second_of_its_name(struct loop *l)
{
    struct loop first = begin(l->f);

    finish(&first);
    expect(l->f, TF_OK, "");
}

static int count_nodes(struct fixture *f)
{
    size_t at = 0;
    int count = 0;

    while (TF_GraphNextOperation(f->g, &at))
        count++;
    return count;
}

static const char not_scalar[] =
    "Shape must be rank 0 but is rank 1 for '{{node loop/LoopCond}} = "
    "LoopCond[](loop/cond/c)' with input shapes: [2].";

static const struct {
    const char *row;
    void (*change)(struct loop *l);
    const char *text;
    TF_Code code; /* 0: INVALID_ARGUMENT */
} no_loops[] = {
    {"no cond", lacks_a_cond, "TF_WhileParams `cond_output` field isn't set",
     0},
    {"no output", lacks_an_output,
     "TF_WhileParams `body_outputs[0]` field isn't set", 0},
    {"no name", lacks_a_name, "TF_WhileParams `name` field is null", 0},
    {"bad name", has_a_space_in_its_name,
     "Imported node name prefix 'a b/cond/' would lead to invalid node "
     "names",
     0},
    {"name of a runtime", is_named_as_runtimes_name,
     "Imported node name prefix '_loop/cond/' would lead to invalid node "
     "names",
     0},
    {"float", asks_a_float,
     "BuildWhileLoop: 'cond' argument must return a boolean output, got "
     "float",
     0},
    {"int", asks_an_int,
     "BuildWhileLoop: 'cond' argument must return a boolean output, got "
     "int32",
     0},
    {"vector", asks_a_vector, not_scalar, 0},
    {"cond:1", asks_output_1,
     "Invalid return output 1 of node 'less', which has 1 output(s)", 0},
    {"cond:-1", asks_output_minus_1,
     "Node 'loop/cond/less' (type: 'Less', num of outputs: 1) does not "
     "have output -1",
     TF_OUT_OF_RANGE},
    {"cond of body", asks_the_body,
     "Requested return tensor 'c:0' not found in graph def", 0},
    {"cond of the graph", asks_its_graph,
     "Requested return tensor 'c:0' not found in graph def", 0},
    {"body:1", gives_output_1,
     "Invalid return output 1 of node 'sum', which has 1 output(s)", 0},
    {"body:-1", gives_output_minus_1,
     "Node 'loop/body/sum' (type: 'AddV2', num of outputs: 1) does not "
     "have output -1",
     TF_OUT_OF_RANGE},
    {"body of cond", gives_an_input_of_cond,
     "Requested return tensor 'cond_input0:0' not found in graph def", 0},
    {"body of the graph", gives_what_its_graph_has,
     "Requested return tensor 'q:0' not found in graph def", 0},
    /* TensorFlow's sessions say this when the loop is run. */
    {"another type", gives_an_int,
     OURS "Input 1 of node loop/Merge was passed int32 from "
          "loop/NextIteration:0 incompatible with expected float.",
     0},
    {"bad node in cond", has_a_bad_node_in_cond,
     "Node 'a b': Node name contains invalid characters", 0},
    {"bad node in body", has_a_bad_node_in_body,
     "Node '_b': Node name contains invalid characters", 0},
    {"twice", is_the_second_of_its_name,
     "WhileContext with frame name 'loop' already exists", 0},
};

static void test_no_loops(void **state)
{
    struct fixture *f = *state;
    int failed = 0;

    for (size_t i = 0; i < sizeof(no_loops) / sizeof(no_loops[0]); i++) {
        TF_Code code =
            no_loops[i].code ? no_loops[i].code : TF_INVALID_ARGUMENT;
        struct loop l = begin_of_row(f);
        int before;

        no_loops[i].change(&l);
        before = count_nodes(f);
        if (is_skipped(no_loops[i].text)) {
            TF_AbortWhile(&l.p);
            continue;
        }
        assert_string_equal(finish(&l), "");
        failed += check_refusal(f, no_loops[i].row, code, no_loops[i].text);
        if (!IS_ORACLE) /* which leaves the half of the loop that it has made */
            assert_int_equal(count_nodes(f), before);
    }
    assert_int_equal(failed, 0);
}

/* ---- Inputs -------------------------------------------------------------- */

static TF_Output of_no_operation(struct fixture *f)
{
    (void)f;
    return (TF_Output){NULL, 0};
}

static TF_Output beyond(struct fixture *f)
{
    return (TF_Output){placeholder(f, "x", NULL, 0).oper, 1};
}

static TF_Output below(struct fixture *f)
{
    return (TF_Output){placeholder(f, "x", NULL, 0).oper, -1};
}

static TF_Output reference(struct fixture *f)
{
    TF_OperationDescription *d = TF_NewOperation(f->g, "VariableV2", "v");

    TF_SetAttrType(d, "dtype", TF_FLOAT);
    TF_SetAttrShape(d, "shape", NULL, 0);
    return (TF_Output){TF_FinishOperation(d, f->st), 0};
}

#define OF_INPUT                                                 \
    "\n\t for attr 'dtype'\n\t; NodeDef: {{node cond_input0}}; " \
    "Op<Placeholder>"

static void test_inputs_of_loops(void **state)
{
    static const struct {
        const char *row;
        TF_Output (*input)(struct fixture *f);
        int count;
        const char *text;
    } cases[] = {
        {"none", beyond, 0, "TF_NewWhile() must be passed at least one input"},
        {"x:1", beyond, 1, "AttrValue has invalid DataType" OF_INPUT},
        {"x:-1", below, 1, "AttrValue has invalid DataType" OF_INPUT},
        {"a reference", reference, 1,
         "AttrValue must not have reference type value of float_ref" OF_INPUT},
        /* TensorFlow's library dies. */
        {"fewer than none", beyond, -1,
         OURS "TF_NewWhile() must be passed at least one input"},
        {"no operation", of_no_operation, 1,
         OURS "an output without operation was given"},
    };
    struct fixture *f = *state;
    int failed = 0;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        TF_Output in;

        if (is_skipped(cases[i].text))
            continue;
        begin_row(f);
        in = cases[i].input(f);
        TF_NewWhile(f->g, &in, cases[i].count, f->st);
        failed +=
            check_refusal(f, cases[i].row, TF_INVALID_ARGUMENT, cases[i].text);
    }
    assert_int_equal(failed, 0);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_loops_and_what_they_are_called),
        TEST(test_no_loops),
        TEST(test_inputs_of_loops),
    };

    return cmocka_run_group_tests_name("c_api_while", tests, NULL, NULL);
}
