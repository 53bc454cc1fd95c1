/*
 * test_deadness.c - daemon/worker/run/executor.c: which side of a switch runs,
 * and what is told to those on the other.
 */
#include "tests/support/executor_rig.h"

static void put_conditional(void)
{
    wrig_feed_of(&w, "pred", TFD_BOOL);
    wrig_const(&w, "a", 10);
    wrig_node(&w, "switch", "Switch", "a,pred");
    wrig_node(&w, "pivot_f", "Identity", "switch");
    wrig_node(&w, "pivot_t", "Identity", "switch:1");
    wrig_const_of(&w, "five", TFD_FLOAT, 5, "^pivot_t");
    wrig_node(&w, "f", "TestCount", "switch");
    wrig_node(&w, "t", "TestAdd", "switch:1,five");
    wrig_node(&w, "merge", "Merge", "f,t");
    wrig_node(&w, "untaken", "NoOp", "^pivot_f");
}

static void test_only_the_taken_side_runs(void **state)
{
    uint64_t graph;

    (void)state;
    put_conditional();
    wrig_fetch(&w, "merge");
    wrig_fetch(&w, "merge:1");
    graph = wrig_register(&w);
    for (int i = 0; i < 20; i++) {
        w.fed[0] = wrig_scalar(TFD_BOOL, i % 2);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == (i % 2 ? 15 : 10));
        assert_true(wrig_result(&w, 1) == i % 2);
    }
    assert_int_equal(wrig_runs, 10);
}

static void test_a_dead_fetch_is_empty(void **state)
{
    uint64_t graph;

    (void)state;
    put_conditional();
    wrig_fetch(&w, "f");
    wrig_fetch(&w, "t");
    wrig_fetch(&w, "five");
    graph = wrig_register(&w);
    for (int i = 0; i < 20; i++) {
        w.fed[0] = wrig_scalar(TFD_BOOL, 0);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_false(wrig_is_dead(&w, 0));
        assert_true(wrig_is_dead(&w, 1));
        assert_true(wrig_is_dead(&w, 2));
    }
}

static void test_deadness_crosses_send_and_recv(void **state)
{
    uint64_t graph;

    (void)state;
    put_conditional();
    wrig_ends(&w, WRIG_CPU0, WRIG_CPU1, "t");
    wrig_node(&w, "send", "_Send", "t");
    wrig_ends(&w, WRIG_CPU0, WRIG_CPU1, "t");
    wrig_attr_type(&w, "tensor_type", TFD_FLOAT);
    wrig_node(&w, "recv", "_Recv", "");
    wrig_node(&w, "again", "TestAdd", "recv,recv");
    wrig_node(&w, "both", "Merge", "again,f");
    wrig_fetch(&w, "both");
    wrig_fetch(&w, "again");
    graph = wrig_register(&w);
    for (int i = 0; i < 20; i++) {
        w.fed[0] = wrig_scalar(TFD_BOOL, i % 2);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == (i % 2 ? 30 : 10));
        assert_true(wrig_is_dead(&w, 1) == (i % 2 == 0));
    }
}

static void test_a_control_trigger_is_never_dead(void **state)
{
    uint64_t graph;

    (void)state;
    put_conditional();
    wrig_node(&w, "trigger", "ControlTrigger", "^pivot_t,^pivot_f");
    wrig_const_of(&w, "after", TFD_FLOAT, 1, "^trigger");
    wrig_fetch(&w, "after");
    graph = wrig_register(&w);
    for (int i = 0; i < 4; i++) {
        w.fed[0] = wrig_scalar(TFD_BOOL, i % 2);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == 1);
    }
}

static void test_a_merge_waits_for_its_control_inputs(void **state)
{
    uint64_t graph;

    (void)state;
    put_conditional();
    wrig_const(&w, "one", 1);
    wrig_node(&w, "hold", "TestHold", "one");
    wrig_node(&w, "late", "Merge", "f,t,^hold");
    wrig_fetch(&w, "late");
    graph = wrig_register(&w);
    w.fed[0] = wrig_scalar(TFD_BOOL, 1);
    wrig_start(&w, graph);
    (void)wrig_wait_held(0);
    assert_false(w.done);
    assert_true(wrig_let_go(wrig_wait_held(0)));
    wrig_wait(&w);
    assert_int_equal(w.st.code, TFD_OK);
    assert_true(wrig_result(&w, 0) == 15);
}

static void test_a_switch_wants_a_scalar(void **state)
{
    const struct tfd_shape two = {1, {2}};
    uint64_t graph;

    (void)state;
    put_conditional();
    wrig_fetch(&w, "merge");
    graph = wrig_register(&w);
    assert_int_equal(tfd_tensor_new(&w.fed[0], TFD_BOOL, &two, NULL), TFD_OK);
    assert_int_equal(wrig_run(&w, graph), TFD_INVALID_ARGUMENT);
    assert_text("The second input must be a scalar, but it has shape [2]"
                "\n\t [[{{node switch}}]]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_only_the_taken_side_runs),
        TEST_ALONE(test_only_the_taken_side_runs),
        TEST(test_a_dead_fetch_is_empty),
        TEST(test_deadness_crosses_send_and_recv),
        TEST(test_a_control_trigger_is_never_dead),
        TEST(test_a_merge_waits_for_its_control_inputs),
        TEST(test_a_switch_wants_a_scalar),
    };

    return cmocka_run_group_tests_name("deadness", tests, NULL, NULL);
}
