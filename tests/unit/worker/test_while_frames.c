/*
 * test_while_frames.c - while loops: daemon/worker/run/while_frames.c and
 * frames.c.
 *
 * The loops are written as TensorFlow's while_loop() writes them: Enter, Merge,
 * LoopCond, Switch, Exit, NextIteration.
 */
#include "tests/support/while_rig.h"

#include "daemon/worker/compile/compile.h"

static void enter(const char *name, const char *frame, const char *input,
                  bool constant, int parallel)
{
    wrig_attr_str(&w, "frame_name", frame);
    wrig_attr_bool(&w, "is_constant", constant);
    wrig_attr_int(&w, "parallel_iterations", parallel);
    wrig_node(&w, name, "Enter", input);
}

static char text[8][64];

/* "P/name" in one of a few places. */
static const char *at(int place, const char *prefix, const char *name)
{
    snprintf(text[place], sizeof(text[place]), "%s/%s", prefix, name);
    return text[place];
}

static const char *pair(int place, const char *a, const char *b)
{
    static char lists[8][160];

    snprintf(lists[place], sizeof(lists[place]), "%s,%s", a, b);
    return lists[place];
}

/* i = start; while (i < limit) i = i + step; leaves p/exit.  p/body is what the
 * body computes from p/i; the caller writes p/next's input. */
static void begin_loop(const char *p, const char *start, const char *limit,
                       int parallel)
{
    char next[64], enter_name[64], merge[64], cond[64], limit_name[64];

    snprintf(next, sizeof(next), "%s/next", p);
    snprintf(enter_name, sizeof(enter_name), "%s/enter", p);
    snprintf(merge, sizeof(merge), "%s/merge", p);
    snprintf(cond, sizeof(cond), "%s/cond", p);
    snprintf(limit_name, sizeof(limit_name), "%s/limit", p);
    enter(enter_name, p, start, false, parallel);
    enter(limit_name, p, limit, true, parallel);
    wrig_node(&w, merge, "Merge", pair(0, enter_name, next));
    wrig_node(&w, at(0, p, "less"), "TestLess", pair(1, merge, limit_name));
    wrig_node(&w, cond, "LoopCond", at(0, p, "less"));
    wrig_node(&w, at(1, p, "switch"), "Switch", pair(2, merge, cond));
    wrig_node(&w, at(2, p, "exit"), "Exit", at(1, p, "switch"));
    snprintf(text[3], sizeof(text[3]), "%s/switch:1", p);
    wrig_node(&w, at(4, p, "i"), "Identity", text[3]);
}

static void end_loop(const char *p, const char *value)
{
    wrig_node(&w, at(0, p, "next"), "NextIteration", value);
}

/* Counts up to the feed "n". */
static void put_counter(int parallel)
{
    wrig_feed(&w, "n");
    wrig_const(&w, "zero", 0);
    begin_loop("L", "zero", "n", parallel);
    wrig_const_of(&w, "L/one", TFD_FLOAT, 1, "^L/i");
    wrig_node(&w, "L/add", "TestAdd", "L/i,L/one");
    end_loop("L", "L/add");
}

static void run_counter(uint64_t graph, int n)
{
    w.fed[0] = wrig_scalar(TFD_FLOAT, n);
    assert_int_equal(wrig_run(&w, graph), TFD_OK);
    assert_true(wrig_result(&w, 0) == n);
}

static void test_a_loop_counts(void **state)
{
    uint64_t graph;

    (void)state;
    put_counter(10);
    wrig_fetch(&w, "L/exit");
    graph = wrig_register(&w);
    assert_true(graph != 0);
    for (int i = 0; i < 30; i++)
        run_counter(graph, i % 7 * 10);
    run_counter(graph, 10000);
}

static void test_one_iteration_at_a_time(void **state)
{
    uint64_t graph;

    (void)state;
    put_counter(1);
    wrig_fetch(&w, "L/exit");
    graph = wrig_register(&w);
    for (int i = 0; i < 30; i++)
        run_counter(graph, i);
}

/* L/late enters the loop with what leaves it never, which is known when the
 * loop ends, which waits for L/late. */
static void test_a_loop_that_waits_for_itself_is_dropped(void **state)
{
    uint64_t graph;

    (void)state;
    put_counter(10);
    wrig_node(&w, "L/never", "Exit", "L/switch:1");
    enter("L/late", "L", "L/never", false, 10);
    wrig_node(&w, "L/end", "TestCount", "L/late");
    wrig_fetch(&w, "L/exit");
    graph = wrig_register(&w);
    assert_true(graph != 0);
    for (int i = 0; i < 3; i++)
        run_counter(graph, 0);
    run_counter(graph, 1);
}

/* A loop of which the loop thread thought it was short goes on elsewhere. */
static void test_a_long_loop_leaves_the_loop_thread(void **state)
{
    uint64_t graph;

    (void)state;
    put_counter(10);
    wrig_fetch(&w, "L/exit");
    graph = wrig_register(&w);
    for (int i = 0; i < 20; i++)
        run_counter(graph, 1);
    run_counter(graph, 300000);
}

/* sum = 0; for i in 0..n: for j in 0..i: sum += 1 */
static void put_nested(void)
{
    wrig_feed(&w, "n");
    wrig_const(&w, "zero", 0);
    begin_loop("O", "zero", "n", 10);
    /* a second variable of the outer loop */
    enter("O/s_enter", "O", "zero", false, 10);
    wrig_node(&w, "O/s_merge", "Merge", "O/s_enter,O/s_next");
    wrig_node(&w, "O/s_switch", "Switch", "O/s_merge,O/cond");
    wrig_node(&w, "O/s_exit", "Exit", "O/s_switch");
    wrig_node(&w, "O/s", "Identity", "O/s_switch:1");
    wrig_const_of(&w, "O/one", TFD_FLOAT, 1, "^O/i");
    wrig_node(&w, "O/add", "TestAdd", "O/i,O/one");
    end_loop("O", "O/add");
    wrig_const_of(&w, "O/zero", TFD_FLOAT, 0, "^O/i");
    begin_loop("I", "O/zero", "O/i", 3);
    enter("I/s_enter", "I", "O/s", false, 3);
    wrig_node(&w, "I/s_merge", "Merge", "I/s_enter,I/s_next");
    wrig_node(&w, "I/s_switch", "Switch", "I/s_merge,I/cond");
    wrig_node(&w, "I/s_exit", "Exit", "I/s_switch");
    wrig_const_of(&w, "I/one", TFD_FLOAT, 1, "^I/i");
    wrig_node(&w, "I/s_add", "TestAdd", "I/s_switch:1,I/one");
    wrig_node(&w, "I/s_next", "NextIteration", "I/s_add");
    wrig_node(&w, "I/add", "TestAdd", "I/i,I/one");
    end_loop("I", "I/add");
    wrig_node(&w, "O/s_next", "NextIteration", "I/s_exit");
}

static void test_nested_loops(void **state)
{
    uint64_t graph;

    (void)state;
    put_nested();
    wrig_fetch(&w, "O/s_exit");
    graph = wrig_register(&w);
    assert_true(graph != 0);
    for (int n = 0; n < 30; n++) {
        w.fed[0] = wrig_scalar(TFD_FLOAT, n);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == n * (n - 1) / 2);
    }
}

/* The loop stands on one side of a conditional. */
static void test_a_loop_on_the_side_not_taken(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_feed_of(&w, "pred", TFD_BOOL);
    wrig_const(&w, "zero", 0);
    wrig_const(&w, "five", 5);
    wrig_node(&w, "switch", "Switch", "zero,pred");
    wrig_node(&w, "limit", "Switch", "five,pred");
    begin_loop("L", "switch:1", "limit:1", 4);
    wrig_const_of(&w, "L/one", TFD_FLOAT, 1, "^L/i");
    wrig_node(&w, "L/add", "TestAdd", "L/i,L/one");
    end_loop("L", "L/add");
    wrig_node(&w, "other", "TestCount", "switch");
    wrig_node(&w, "merge", "Merge", "other,L/exit");
    wrig_fetch(&w, "merge");
    wrig_fetch(&w, "L/exit");
    graph = wrig_register(&w);
    assert_true(graph != 0);
    for (int i = 0; i < 30; i++) {
        w.fed[0] = wrig_scalar(TFD_BOOL, i % 2);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == (i % 2 ? 5 : 0));
        assert_true(wrig_is_dead(&w, 1) == (i % 2 == 0));
    }
}

/* if (i < 3) once else twice, within a loop: deadness in iterations. */
static void test_a_conditional_within_a_loop(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_feed(&w, "n");
    wrig_const(&w, "zero", 0);
    wrig_const(&w, "three", 3);
    begin_loop("L", "zero", "n", 10);
    enter("L/three", "L", "three", true, 10);
    wrig_const_of(&w, "L/one", TFD_FLOAT, 1, "^L/i");
    wrig_node(&w, "L/small", "TestLess", "L/i,L/three");
    wrig_node(&w, "L/branch", "Switch", "L/i,L/small");
    wrig_node(&w, "L/f", "TestAdd", "L/branch,L/one,L/one");
    wrig_node(&w, "L/t", "TestAdd", "L/branch:1,L/one");
    wrig_node(&w, "L/phi", "Merge", "L/f,L/t");
    end_loop("L", "L/phi");
    wrig_fetch(&w, "L/exit");
    graph = wrig_register(&w);
    assert_true(graph != 0);
    for (int i = 0; i < 30; i++) {
        w.fed[0] = wrig_scalar(TFD_FLOAT, 10);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == 11); /* 1 2 3 5 7 9 11 */
    }
}

static void test_a_failure_within_nested_loops(void **state)
{
    uint64_t graph;

    (void)state;
    put_nested();
    wrig_node(&w, "O/fail", "TestFail", "I/s_exit");
    wrig_fetch(&w, "O/s_exit");
    graph = wrig_register(&w);
    for (int i = 0; i < 30; i++) {
        w.fed[0] = wrig_scalar(TFD_FLOAT, 5);
        assert_int_equal(wrig_run(&w, graph), TFD_INVALID_ARGUMENT);
        assert_string_equal(w.st.text, "bad luck\n\t [[{{node O/fail}}]]");
    }
}

static void test_an_endless_loop_is_cancelled(void **state)
{
    uint64_t graph;

    (void)state;
    put_counter(10);
    wrig_fetch(&w, "L/exit");
    graph = wrig_register(&w);
    for (int i = 0; i < 3; i++) {
        w.fed[0] = wrig_scalar(TFD_FLOAT, 1e30);
        wrig_start(&w, graph);
        w.worker->ops->cancel(w.worker, &w.run);
        wrig_wait(&w);
        assert_int_equal(w.st.code, TFD_CANCELLED);
        run_counter(graph, 1);
    }
}

static void test_send_and_recv_meet_in_each_iteration(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_feed(&w, "n");
    wrig_const(&w, "zero", 0);
    begin_loop("L", "zero", "n", 10);
    wrig_const_of(&w, "L/one", TFD_FLOAT, 1, "^L/i");
    wrig_node(&w, "L/add", "TestAdd", "L/i,L/one");
    wrig_ends(&w, WRIG_CPU0, WRIG_CPU1, "edge_1_add");
    wrig_node(&w, "L/send", "_Send", "L/add");
    wrig_ends(&w, WRIG_CPU0, WRIG_CPU1, "edge_1_add");
    wrig_attr_type(&w, "tensor_type", TFD_FLOAT);
    wrig_node(&w, "L/recv", "_Recv", "^L/i");
    end_loop("L", "L/recv");
    wrig_fetch(&w, "L/exit");
    graph = wrig_register(&w);
    assert_true(graph != 0);
    for (int i = 0; i < 20; i++)
        run_counter(graph, 100);
}

static void test_asynchronous_kernels_in_loops(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_feed(&w, "n");
    wrig_const(&w, "zero", 0);
    begin_loop("L", "zero", "n", 10);
    wrig_const_of(&w, "L/one", TFD_FLOAT, 1, "^L/i");
    wrig_node(&w, "L/later", "TestAtOnce", "L/one");
    wrig_node(&w, "L/add", "TestAdd", "L/i,L/later");
    end_loop("L", "L/add");
    wrig_fetch(&w, "L/exit");
    graph = wrig_register(&w);
    for (int i = 0; i < 20; i++)
        run_counter(graph, 50);
}

static void test_expensive_nodes_in_loops(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_threads_max = 2;
    wrig_feed(&w, "n");
    wrig_const(&w, "zero", 0);
    begin_loop("L", "zero", "n", 10);
    wrig_const_of(&w, "L/one", TFD_FLOAT, 1, "^L/i");
    wrig_node(&w, "L/a", "TestSpin", "L/i");
    wrig_node(&w, "L/b", "TestSpin", "L/one");
    wrig_node(&w, "L/c", "TestSpin", "L/one");
    wrig_node(&w, "L/add", "TestAdd", "L/a,L/b");
    wrig_node(&w, "L/rest", "NoOp", "^L/c");
    end_loop("L", "L/add");
    wrig_fetch(&w, "L/exit");
    graph = wrig_register(&w);
    for (int i = 0; i < 30; i++)
        run_counter(graph, 40);
}

/* ---- What is wrong ------------------------------------------------------- */

static void test_inputs_of_different_frames_are_refused(void **state)
{
    (void)state;
    put_counter(10);
    wrig_node(&w, "bad", "TestAdd", "L/i,n");
    assert_int_equal(wrig_register(&w), 0);
    assert_int_equal(w.st.code, TFD_INVALID_ARGUMENT);
    assert_string_equal(w.st.text,
                        "{{node bad}} has inputs from different frames. The "
                        "input {{node n}} is in frame ''. The input {{node "
                        "L/i}} is in frame 'L'.");
}

/* There would be a value an iteration, and place for one. */
static void test_what_is_in_a_loop_cannot_be_fetched(void **state)
{
    (void)state;
    put_counter(10);
    wrig_fetch(&w, "L/i");
    assert_int_equal(wrig_register(&w), 0);
    assert_int_equal(w.st.code, TFD_INVALID_ARGUMENT);
    assert_string_equal(w.st.text,
                        "{{node L/i}} is in frame 'L' and cannot be fetched");
}

static void test_a_loop_that_is_nested_too_deep_is_refused(void **state)
{
    char name[16], frame[16], input[16] = "a";

    (void)state;
    wrig_const_of(&w, "c", TFD_FLOAT, 1, "");
    wrig_node(&w, "a", "TestCount", "c");
    for (int i = 0; i < 66; i++) {
        snprintf(name, sizeof(name), "e%d", i);
        snprintf(frame, sizeof(frame), "f%d", i);
        enter(name, frame, input, false, 10);
        snprintf(input, sizeof(input), "e%d", i);
    }
    assert_int_equal(wrig_register(&w), 0);
    assert_string_equal(w.st.text, "loop f64 is nested deeper than 64");
}

static void test_no_iteration_at_all_is_refused(void **state)
{
    (void)state;
    wrig_const(&w, "a", 1);
    enter("e", "f", "a", false, 0);
    assert_int_equal(wrig_register(&w), 0);
    assert_non_null(strstr(w.st.text, "must be positive"));
}

/* The numbers of frames are in rendezvous keys, so both ends of an edge must
 * compute the same.  The value was recorded from TensorFlow. */
static void test_names_of_frames_hash_as_in_tensorflow(void **state)
{
    uint64_t h = tfd_exec_hash(TFD_STR("while/while_context"));
    uint64_t id;

    (void)state;
    id = 0 ^ (h + 0x9e3779b97f4a7800u); /* combine(0, h): the iteration */
    id = 0 ^ (id + 0x9e3779b97f4a7800u);
    assert_true(id == 18186195969791715286u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_loop_counts),
        TEST_ALONE(test_a_loop_counts),
        TEST(test_one_iteration_at_a_time),
        TEST(test_a_loop_that_waits_for_itself_is_dropped),
        TEST_ALONE(test_a_loop_that_waits_for_itself_is_dropped),
        TEST(test_a_long_loop_leaves_the_loop_thread),
        TEST(test_nested_loops),
        TEST_ALONE(test_nested_loops),
        TEST(test_a_loop_on_the_side_not_taken),
        TEST(test_a_conditional_within_a_loop),
        TEST(test_a_failure_within_nested_loops),
        TEST(test_an_endless_loop_is_cancelled),
        TEST(test_send_and_recv_meet_in_each_iteration),
        TEST(test_asynchronous_kernels_in_loops),
        TEST(test_expensive_nodes_in_loops),
        TEST(test_inputs_of_different_frames_are_refused),
        TEST(test_what_is_in_a_loop_cannot_be_fetched),
        TEST(test_a_loop_that_is_nested_too_deep_is_refused),
        TEST(test_no_iteration_at_all_is_refused),
        TEST(test_names_of_frames_hash_as_in_tensorflow),
    };

    return cmocka_run_group_tests_name("loops", tests, NULL, NULL);
}
