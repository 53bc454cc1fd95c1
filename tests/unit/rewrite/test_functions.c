/*
 * test_functions.c - libraries of functions (common/graph/function*.c) and what
 * the master makes of calls (daemon/rewrite/functions.c and what it
 * uses).
 */
#include "daemon/rewrite/functions.h"

#include "common/graph/function_body.h"
#include "config/limits.h"
#include "tests/support/functions_rig.h"

#define DOUBLE "D x -> z: a Add x x; z = a:z:0\n"
#define SQUARE "S x -> z: a Mul x x; z = a:z:0\n"
#define LESS "L x -> b: c Less x x; b = c:z:0\n"

/* ---- Libraries ----------------------------------------------------------- */

static void test_bad_libraries_are_refused(void **state)
{
    static const struct {
        const char *functions, *text;
    } cases[] = {
        {"F x -> z: a Add x x", "return z missing"},
        {"F x -> z: a/_/ Add x x; a! Add x x; z = a:z:0", "invalid characters"},
        {"Add x -> z: a Mul x x; z = a:z:0", "same name already exists"},
        {"F x -> z: a Add x x; z = a:z:0\nF x -> z: a Mul x x; z = a:z:0",
         "a different function with the same name"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(import(cases[i].functions, "p Placeholder"),
                         TFD_INVALID_ARGUMENT);
        if (!strstr(st.text, cases[i].text))
            fail_msg("%s: %s", cases[i].text, st.text);
        assert_null(g->functions);
        assert_int_equal(g->count, 0);
    }
}

static void test_bad_bodies_are_refused_when_they_are_called(void **state)
{
    static const struct {
        const char *functions, *text;
    } cases[] = {
        {"F x -> z: a Add x y; z = a:z:0", "input y is not found"},
        {"F x -> z: a Add x x:1; z = a:z:0", "input x:1 is not found"},
        {"F x -> z: a Add x x; z = a", "input a is not found"},
        {"F x -> z: a Add x x; z = a:y:0", "input a:y:0 is not found"},
        {"F x -> z: a Add x x; z = a:z:1", "input a:z:1 is not found"},
        {"F x -> z: a Add x x ^b; z = a:z:0", "input b is not found"},
        {"F x -> z: a Add ^x x x; z = a:z:0", "to be a control input"},
        {"F x -> z: a Add x b:z:0; b Add a:z:0 x; z = a:z:0", "cycle"},
        {"F x -> z: a Add x x; a Mul x x; z = a:z:0", "Duplicated name 'a'"},
        {"F x -> z: x Add x x; z = x", "Duplicated name 'x'"},
        {"F x -> z: a Nope x x; z = a:z:0", "Op type not registered 'Nope'"},
        {"F x -> z: a Add:$U x x; z = a:z:0", "without the attr 'U'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_not_equal(import(cases[i].functions, "p Placeholder; c F p"),
                             TFD_OK);
        if (!strstr(st.text, cases[i].text))
            fail_msg("%s: %s", cases[i].text, st.text);
        assert_int_equal(g->count, 0);
        assert_int_equal(import(cases[i].functions, "p Placeholder"), TFD_OK);
    }
}

/* Also those of functions that nobody has called yet. */
static void test_all_unknown_ops_of_a_library_are_named_at_once(void **state)
{
    static const char library[] = "F x -> z: a Nope x; b Nada x; z = a:z:0\n"
                                  "G x -> z: a Nix x; b Nope x; z = a:z:0";

    (void)state;
    assert_int_equal(import(library, "p Placeholder; c F p"), TFD_NOT_FOUND);
    assert_non_null(strstr(st.text, "Op type not registered 'Nope' in"));
    assert_non_null(strstr(st.text, "3 ops of this graph: Nope, "));
    assert_non_null(strstr(st.text, "Nada"));
    assert_non_null(strstr(st.text, "Nix"));
    assert_non_null(strstr(st.text, "\n\t while building function F"));
    assert_int_equal(import(library, "p Never"), TFD_NOT_FOUND);
    assert_non_null(strstr(st.text, "4 ops of this graph: Never, "));
    assert_int_equal(import(library, "p Placeholder"), TFD_OK);
}

static void test_a_call_is_checked_against_the_signature(void **state)
{
    (void)state;
    assert_int_equal(import(DOUBLE, "p Placeholder; c D p p"),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(import(DOUBLE, "p Placeholder:B; c D p"),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(import(DOUBLE, "p Placeholder; c E p"), TFD_NOT_FOUND);
}

static void test_the_same_function_may_come_again(void **state)
{
    (void)state;
    assert_int_equal(import(DOUBLE DOUBLE, "p Placeholder; c D p"), TFD_OK);
    assert_null(g->functions->next);
}

static void test_a_functions_types_may_be_the_calls(void **state)
{
    (void)state;
    assert_int_equal(import("P* x -> z: a Identity:$T x; z = a:output:0",
                            "p Placeholder:B; c P:B p"),
                     TFD_OK);
    assert_int_equal(node("c/a")->out_types[0], TFD_BOOL);
}

/* ---- Calls --------------------------------------------------------------- */

static void test_a_call_becomes_its_body(void **state)
{
    (void)state;
    assert_int_equal(
        import(DOUBLE, "p Placeholder; c D p; e Mul c c; n NoOp ^c"), TFD_OK);
    assert_true(tfd_str_is(node("c/a")->op->name, "Add"));
    assert_ptr_equal(producer(node("c/a"), 0), node("p"));
    assert_ptr_equal(producer(node("e"), 1), node("c/a"));
    assert_true(tfd_str_is(node("c")->op->name, "IdentityN"));
    assert_ptr_equal(producer(node("c"), 0), node("c/a"));
    assert_true(waits_for(node("n"), node("c/output_control_node")));
}

static void test_a_body_waits_for_what_its_call_waits_for(void **state)
{
    (void)state;
    assert_int_equal(import("F x -> z: k Placeholder; a Add x k:output:0; "
                            "z = a:z:0",
                            "p Placeholder; w NoOp; c F p ^w"),
                     TFD_OK);
    assert_true(waits_for(node("c/input_control_node"), node("w")));
    assert_true(waits_for(node("c/k"), node("c/input_control_node")));
    assert_true(waits_for(node("c/x"), node("c/input_control_node")));
    assert_int_equal(node("c/a")->control_count, 0);
}

/* A body's constants belong where its call is: in its frame and branch. */
static void
test_calls_in_a_body_wait_for_what_the_outer_call_waits(void **state)
{
    static const char *const calls[] = {"D x", "PartitionedCall:@D x",
                                        "StatefulPartitionedCall:@D x"};
    char functions[256];

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        snprintf(functions, sizeof(functions),
                 "D x -> z: k Placeholder; z = k:output:0\n"
                 "F x -> z: a %s; z = a:%s:0",
                 calls[i], i == 0 ? "z" : "output");
        assert_int_equal(import(functions, "p Placeholder; w NoOp; "
                                           "c PartitionedCall:@F p ^w"),
                         TFD_OK);
        assert_true(waits_for(node("c/a/k"), node("c/a/input_control_node")));
        assert_true(waits_for(node("c/a/input_control_node"),
                              node("c/input_control_node")));
    }
}

/* A v1 branch or loop has the call by its inputs alone. */
static void test_constants_wait_for_arguments_in_v1_control_flow(void **state)
{
    static const char functions[] =
        "K x -> z: k Placeholder; z = k:output:0\n"
        "F x y -> z: a PartitionedCall:@K x; b Add x x; z = a:output:0";

    (void)state;
    assert_int_equal(import(functions, "p Placeholder; b Placeholder:B; "
                                       "s Switch p b; c F s p"),
                     TFD_OK);
    assert_true(waits_for(node("c/arguments_ready"), node("c/x")));
    assert_true(waits_for(node("c/arguments_ready"), node("c/y")));
    assert_true(waits_for(node("c/a/k"), node("c/a/arguments_ready")));
    assert_true(waits_for(node("c/a/arguments_ready"), node("c/a/x")));
    assert_int_equal(node("c/b")->control_count, 0);
}

static void test_constants_wait_for_nothing_where_nothing_is_v1(void **state)
{
    (void)state;
    assert_int_equal(import("K x -> z: k Placeholder; z = k:output:0",
                            "p Placeholder; c K p"),
                     TFD_OK);
    assert_int_equal(node("c/k")->control_count, 0);
    assert_null(tfd_graph_find(g, TFD_STR("c/arguments_ready")));
}

static void test_control_results_are_the_end(void **state)
{
    (void)state;
    assert_int_equal(import("F x -> z: e NoOp; a Add x x; ^e e; z = a:z:0",
                            "p Placeholder; c PartitionedCall:@F p; n NoOp ^c"),
                     TFD_OK);
    assert_true(waits_for(node("c/output_control_node"), node("c/e")));
    assert_true(waits_for(node("n"), node("c/output_control_node")));
    assert_int_equal(count_op("PartitionedCall"), 0);
}

static void test_calls_within_bodies_are_expanded(void **state)
{
    (void)state;
    assert_int_equal(import(DOUBLE "F x -> z: a D x; b D a:z:0; z = b:z:0",
                            "p Placeholder; c F p"),
                     TFD_OK);
    assert_true(tfd_str_is(node("c/b/a")->op->name, "Add"));
    assert_ptr_equal(producer(node("c/b/a"), 1), node("c/a/a"));
}

static void test_some_calls_stay(void **state)
{
    static const char *const functions[] = {
        "F! x -> z: a Add x x; z = a:z:0",
        "F x -> z: a F x; z = a:z:0",
        "F x -> z: a G x; z = a:z:0\nG x -> z: a F x; z = a:z:0",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        assert_int_equal(import(functions[i], "p Placeholder; c F p"), TFD_OK);
        assert_int_equal(count_op("F"), 1);
    }
}

static void test_what_grows_without_end_is_refused(void **state)
{
    struct tfd_bytes text;

    (void)state;
    tfd_bytes_init(&text, 1 << 16);
    for (int i = 0; i < 14; i++) /* 4^14 nodes */
        tfd_bytes_printf(&text,
                         "F%d x -> z: a F%d x; b F%d x; c F%d x; d F%d x; "
                         "z = d:z:0\n",
                         i, i + 1, i + 1, i + 1, i + 1);
    tfd_bytes_printf(&text, "F14 x -> z: a Add x x; z = a:z:0\n%c", 0);
    assert_int_equal(import(text.data, "p Placeholder; c F0 p"),
                     TFD_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(st.text, "functions are expanded"));
    assert_int_equal(g->count, 0);
    tfd_bytes_deinit(&text);
}

/* ---- Branches and loops -------------------------------------------------- */

static void test_an_if_becomes_switch_and_merge(void **state)
{
    const struct tfd_node *merge, *side;

    (void)state;
    assert_int_equal(import(DOUBLE SQUARE,
                            "b Placeholder:B; p Placeholder; w NoOp; "
                            "i If:@D:@S b p ^w; e Mul i i; n NoOp ^i"),
                     TFD_OK);
    assert_int_equal(count_op("If"), 0);
    assert_int_equal(count_op("Switch"), 2);
    merge = producer(node("e"), 0);
    assert_true(tfd_str_is(merge->op->name, "Merge"));
    assert_true(tfd_str_is(producer(merge, 0)->op->name, "Add"));
    assert_true(tfd_str_is(producer(merge, 1)->op->name, "Mul"));
    side = producer(producer(merge, 0), 0);
    assert_true(tfd_str_is(side->op->name, "Switch"));
    assert_ptr_equal(producer(side, 0), node("p"));
    assert_ptr_equal(producer(side, 1), node("b"));
    assert_true(tfd_str_is(node("i")->op->name, "IdentityN"));
    assert_true(tfd_str_is(g->nodes[node("n")->control[0]]->op->name, "Merge"));
}

static void test_a_while_becomes_a_loop(void **state)
{
    const struct tfd_node *exit, *merge, *back;

    (void)state;
    assert_int_equal(
        import(LESS DOUBLE, "p Placeholder; l While:@L:@D p; e Mul l l"),
        TFD_OK);
    exit = producer(node("e"), 0);
    assert_true(tfd_str_is(exit->op->name, "Exit"));
    merge = producer(producer(exit, 0), 0);
    assert_true(tfd_str_is(merge->op->name, "Merge"));
    assert_true(tfd_str_is(producer(merge, 0)->op->name, "Enter"));
    back = producer(merge, 1);
    assert_true(tfd_str_is(back->op->name, "NextIteration"));
    assert_true(tfd_str_is(producer(back, 0)->op->name, "Add"));
    assert_int_equal(count_op("LoopCond"), 1);
}

static void test_control_flow_without_the_attribute_stays(void **state)
{
    (void)state;
    assert_int_equal(import(LESS DOUBLE SQUARE,
                            "b Placeholder:B; p Placeholder; "
                            "i If:@D:@S:no b p; l While:@L:@D:no p"),
                     TFD_OK);
    assert_int_equal(count_op("If"), 1);
    assert_int_equal(count_op("While"), 1);
}

/* share_cluster_devices_in_session */
static void test_all_that_can_be_is_expanded_across_tasks(void **state)
{
    (void)state;
    how.across_tasks = true;
    assert_int_equal(import(LESS DOUBLE SQUARE "N! x -> z: a D x; z = a:z:0\n"
                                               "R x -> z: a R x; z = a:z:0\n",
                            "b Placeholder:B; p Placeholder; c N p; r R p; "
                            "i If:@D:@S:no b p; l While:@L:@D:no p"),
                     TFD_OK);
    assert_int_equal(count_op("If") + count_op("While"), 0);
    assert_int_equal(count_op("N"), 0);
    assert_int_equal(count_op("R"), 1); /* it calls itself */
    how.across_tasks = false;
}

static void test_an_expansion_that_nobody_wants_ends(void **state)
{
    static const bool stop = true;

    (void)state;
    how.stop = &stop;
    assert_int_equal(import(DOUBLE, "p Placeholder; c D p"), TFD_CANCELLED);
    assert_int_equal(g->count, 0);
    assert_int_equal(import("", "p Placeholder; c Mul p p"), TFD_OK);
    how.stop = NULL;
}

static void test_branches_of_branches_are_expanded(void **state)
{
    (void)state;
    assert_int_equal(import(LESS DOUBLE SQUARE
                            "F x -> z: c Less x x; i If:@D:@S c:z:0 x; "
                            "z = i:output:0",
                            "b Placeholder:B; p Placeholder; i If:@F:@D b p"),
                     TFD_OK);
    assert_int_equal(count_op("If"), 0);
    assert_int_equal(count_op("Merge"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_libraries_are_refused),
        cmocka_unit_test(test_bad_bodies_are_refused_when_they_are_called),
        cmocka_unit_test(test_all_unknown_ops_of_a_library_are_named_at_once),
        cmocka_unit_test(test_a_call_is_checked_against_the_signature),
        cmocka_unit_test(test_the_same_function_may_come_again),
        cmocka_unit_test(test_a_functions_types_may_be_the_calls),
        cmocka_unit_test(test_a_call_becomes_its_body),
        cmocka_unit_test(test_a_body_waits_for_what_its_call_waits_for),
        cmocka_unit_test(
            test_calls_in_a_body_wait_for_what_the_outer_call_waits),
        cmocka_unit_test(test_constants_wait_for_arguments_in_v1_control_flow),
        cmocka_unit_test(test_constants_wait_for_nothing_where_nothing_is_v1),
        cmocka_unit_test(test_control_results_are_the_end),
        cmocka_unit_test(test_calls_within_bodies_are_expanded),
        cmocka_unit_test(test_some_calls_stay),
        cmocka_unit_test(test_what_grows_without_end_is_refused),
        cmocka_unit_test(test_an_if_becomes_switch_and_merge),
        cmocka_unit_test(test_a_while_becomes_a_loop),
        cmocka_unit_test(test_control_flow_without_the_attribute_stays),
        cmocka_unit_test(test_all_that_can_be_is_expanded_across_tasks),
        cmocka_unit_test(test_an_expansion_that_nobody_wants_ends),
        cmocka_unit_test(test_branches_of_branches_are_expanded),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
