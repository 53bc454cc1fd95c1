/*
 * test_executor_ends.c - daemon/worker/run/executor.c: steps that fail, are
 * cancelled or too late, and workers that stop under them.
 */
#include "tests/support/executor_rig.h"

/* ---- Failures ------------------------------------------------------------ */

static void test_a_failure_names_its_node(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "x", "TestFail", "a");
    wrig_node(&w, "y", "TestCount", "x");
    wrig_fetch(&w, "y");
    graph = wrig_register(&w);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(wrig_run(&w, graph), TFD_INVALID_ARGUMENT);
        assert_string_equal(w.st.text, "bad luck\n\t [[{{node x}}]]");
        assert_true(wrig_is_dead(&w, 0));
    }
    assert_int_equal(wrig_runs, 0);
}

static void test_kernels_that_lie_are_caught(void **state)
{
    static const struct {
        const char *op, *text;
    } cases[] = {
        {"TestSilent", "Missing 0-th output from {{node x}}"},
        {"TestWrongType", "Output 0 of type bool does not match declared "
                          "output type float for node {{node x}}"},
    };

    (void)state;
    for (int i = 0; i < 2; i++) {
        uint64_t graph;

        wrig_const(&w, "a", 1);
        wrig_node(&w, "x", cases[i].op, "a");
        graph = wrig_register(&w);
        assert_int_equal(wrig_run(&w, graph), TFD_INTERNAL);
        assert_text(cases[i].text);
    }
}

static void test_checks_come_before_the_kernel(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "x", "TestVector", "a");
    graph = wrig_register(&w);
    assert_int_equal(wrig_run(&w, graph), TFD_INVALID_ARGUMENT);
    assert_text("[[{{node x}}]]");
}

static void test_a_failure_cancels_what_waits(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "hold", "TestHold", "a");
    wrig_ends(&w, WRIG_CPU0, WRIG_CPU1, "never sent");
    wrig_attr_type(&w, "tensor_type", TFD_FLOAT);
    wrig_node(&w, "recv", "_Recv", "");
    wrig_node(&w, "x", "TestFail", "a,^start");
    wrig_node(&w, "start", "NoOp", "");
    wrig_fetch(&w, "hold");
    graph = wrig_register(&w);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(wrig_run(&w, graph), TFD_INVALID_ARGUMENT);
        assert_string_equal(w.st.text, "bad luck\n\t [[{{node x}}]]");
    }
}

/* ---- Steps that are ended ------------------------------------------------ */

static void test_a_step_is_cancelled(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "hold", "TestHold", "a");
    wrig_node(&w, "count", "TestCount", "hold");
    graph = wrig_register(&w);
    for (int i = 0; i < 10; i++) {
        wrig_start(&w, graph);
        (void)wrig_wait_held(i);
        w.worker->ops->cancel(w.worker, &w.run);
        wrig_wait(&w);
        assert_int_equal(w.st.code, TFD_CANCELLED);
        assert_string_equal(w.st.text, "Step was cancelled.");
        w.worker->ops->cancel(w.worker, &w.run); /* too late: nothing */
    }
    assert_int_equal(wrig_cancelled_count, 10);
    assert_int_equal(wrig_runs, 0);
}

static void test_a_deadline_ends_a_step(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "hold", "TestHold", "a");
    graph = wrig_register(&w);
    for (int i = 0; i < 3; i++) {
        w.done = false;
        w.run = (struct tfd_run_graph){
            .session = TFD_STR_EMPTY,
            .graph = graph,
            .step_id = w.step++,
            .feeds = w.fed,
            .fetches = w.fetched,
            .deadline_us = tfd_loop_now_us(w.loop) + 2000,
            .done = wrig_ran,
            .master = &w,
        };
        w.worker->ops->run_graph(w.worker, &w.run);
        wrig_wait(&w);
        assert_int_equal(w.st.code, TFD_DEADLINE_EXCEEDED);
    }
}

static void test_a_cleanup_ends_who_waits(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_ends(&w, WRIG_CPU0, WRIG_CPU1, "never sent");
    wrig_attr_type(&w, "tensor_type", TFD_FLOAT);
    wrig_node(&w, "recv", "_Recv", "");
    graph = wrig_register(&w);
    wrig_start(&w, graph);
    assert_false(w.done);
    w.worker->ops->cleanup_graph(w.worker, w.run.step_id);
    wrig_wait(&w);
    assert_int_equal(w.st.code, TFD_ABORTED);
    assert_text("Cleanup 1000");
}

static void test_the_worker_stops_its_steps(void **state)
{
    struct tfd_status why = TFD_STATUS_INIT;
    uint64_t graph;

    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "hold", "TestHold", "a");
    graph = wrig_register(&w);
    wrig_start(&w, graph);
    tfd_fail(&why, TFD_UNAVAILABLE, "going down");
    tfd_worker_stop(w.service, &why);
    wrig_wait(&w);
    assert_int_equal(w.st.code, TFD_UNAVAILABLE);
    assert_string_equal(w.st.text, "going down");
}

static void test_freeing_a_worker_ends_what_runs(void **state)
{
    static struct wrig own;
    uint64_t graph;

    (void)state;
    wrig_init(&own, 2);
    wrig_const(&own, "a", 1);
    wrig_node(&own, "hold", "TestHold", "a");
    wrig_node(&own, "slow", "TestSpin", "a");
    graph = wrig_register(&own);
    wrig_start(&own, graph);
    (void)wrig_wait_held(0);
    wrig_deinit(&own);
    assert_true(own.done);
    assert_int_equal(own.st.code, TFD_UNAVAILABLE);
    assert_string_equal(own.st.text, WRIG_TASK " is shutting down");
}

static void test_a_stopped_worker_begins_nothing(void **state)
{
    struct tfd_status why = TFD_STATUS_INIT;
    uint64_t graph = wrig_register(&w);

    (void)state;
    tfd_fail(&why, TFD_UNAVAILABLE, "going down");
    tfd_worker_stop(w.service, &why);
    assert_int_equal(wrig_run(&w, graph), TFD_UNAVAILABLE);
    assert_int_equal(wrig_register(&w), 0);
    assert_int_equal(w.st.code, TFD_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_failure_names_its_node),
        TEST(test_kernels_that_lie_are_caught),
        TEST(test_checks_come_before_the_kernel),
        TEST(test_a_failure_cancels_what_waits),
        TEST_ALONE(test_a_failure_cancels_what_waits),
        TEST(test_a_step_is_cancelled),
        TEST_ALONE(test_a_step_is_cancelled),
        TEST(test_a_deadline_ends_a_step),
        TEST(test_a_cleanup_ends_who_waits),
        TEST(test_the_worker_stops_its_steps),
        TEST(test_freeing_a_worker_ends_what_runs),
        TEST(test_a_stopped_worker_begins_nothing),
    };

    return cmocka_run_group_tests_name("executor_ends", tests, NULL, NULL);
}
