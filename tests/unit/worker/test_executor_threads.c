/*
 * test_executor_threads.c - daemon/worker/run/executor.c: asynchronous kernels,
 * and steps on many threads.
 */
#include "tests/support/executor_rig.h"

static void test_kernels_may_finish_at_once(void **state)
{
    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "b", "TestAtOnce", "a");
    wrig_node(&w, "c", "TestAtOnce", "b");
    wrig_node(&w, "d", "TestAdd", "c,b");
    wrig_fetch(&w, "d");
    run_repeatedly(wrig_register(&w), 2);
}

static void test_kernels_finish_on_this_thread(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "hold", "TestHold", "a");
    wrig_node(&w, "d", "TestAdd", "hold,a");
    wrig_fetch(&w, "d");
    graph = wrig_register(&w);
    for (int i = 0; i < 40; i++) {
        wrig_start(&w, graph);
        assert_true(wrig_let_go(wrig_wait_held(i)));
        wrig_wait(&w);
        assert_true(wrig_result(&w, 0) == 2);
    }
}

static void test_expensive_branches_run_side_by_side(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "s1", "TestSpin", "a");
    wrig_node(&w, "s2", "TestSpin", "a");
    wrig_node(&w, "s3", "TestSpin", "a");
    wrig_node(&w, "d", "TestAdd", "s1,s2,s3");
    wrig_fetch(&w, "d");
    graph = wrig_register(&w);
    assert_int_equal(wrig_run(&w, graph), TFD_OK);
    assert_true(wrig_result(&w, 0) == 3);
    assert_true(wrig_threads_max >= 2);
}

static void test_wide_graphs_on_many_threads(void **state)
{
    char name[16], list[256] = "";
    uint64_t graph;

    (void)state;
    wrig_const(&w, "a", 1);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        wrig_node(&w, name, i % 3 ? "TestCount" : "TestSpin", "a");
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                 i ? "," : "", name);
    }
    wrig_node(&w, "t1", "TestAdd", list);
    wrig_node(&w, "t2", "TestAdd", list);
    wrig_node(&w, "d", "TestAdd", "t1,t2");
    wrig_fetch(&w, "d");
    graph = wrig_register(&w);
    wrig_threads_max = 2; /* nobody waits for another thread */
    for (int i = 0; i < 300; i++) {
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == 40);
    }
}

static void test_a_kernel_that_blocks_never_runs_here(void **state)
{
    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "b", "TestBlocks", "a");
    wrig_fetch(&w, "b");
    run_repeatedly(wrig_register(&w), 1);
}

static void test_a_long_chain_needs_no_stack(void **state)
{
    const int count = 100000;
    char name[24], input[24];
    uint64_t graph;

    (void)state;
    wrig_const(&w, "n0", 1);
    for (int i = 1; i <= count; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        snprintf(input, sizeof(input), "n%d", i - 1);
        wrig_node(&w, name, i % 2 ? "TestCount" : "Identity", input);
    }
    wrig_fetch(&w, name);
    graph = wrig_register(&w);
    assert_true(graph != 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
    assert_int_equal(wrig_runs, 3 * count / 2);
}

struct parallel {
    struct tfd_run_graph run;
    struct tfd_tensor fetched;
    struct tfd_status st;
    int *left;
};

static void parallel_done(struct tfd_run_graph *run,
                          const struct tfd_status *st)
{
    struct parallel *p = (struct parallel *)run;

    p->st = *st;
    if (--*p->left == 0)
        wrig_stop(&w);
}

static void test_steps_of_one_graph_run_at_once(void **state)
{
    static struct parallel runs[200];
    int left = 200;
    uint64_t graph;

    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "b", "TestBlocks", "a");
    wrig_node(&w, "c", "TestAdd", "b,a");
    wrig_fetch(&w, "c");
    graph = wrig_register(&w);
    w.done = false;
    for (int i = 0; i < 200; i++) {
        runs[i] = (struct parallel){.left = &left};
        runs[i].run.graph = graph;
        runs[i].run.step_id = i;
        runs[i].run.fetches = &runs[i].fetched;
        runs[i].run.done = parallel_done;
        w.worker->ops->run_graph(w.worker, &runs[i].run);
    }
    wrig_wait(&w);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(runs[i].st.code, TFD_OK);
        assert_true(wrig_float_at(&runs[i].fetched) == 2);
        tfd_tensor_unref(&runs[i].fetched);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_kernels_may_finish_at_once),
        TEST_ALONE(test_kernels_may_finish_at_once),
        TEST(test_kernels_finish_on_this_thread),
        TEST(test_expensive_branches_run_side_by_side),
        TEST(test_wide_graphs_on_many_threads),
        TEST(test_a_kernel_that_blocks_never_runs_here),
        TEST(test_a_long_chain_needs_no_stack),
        TEST(test_steps_of_one_graph_run_at_once),
    };

    return cmocka_run_group_tests_name("executor_threads", tests, NULL, NULL);
}
