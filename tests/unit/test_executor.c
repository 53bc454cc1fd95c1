/*
 * test_executor.c - daemon/worker/executor.c and what it runs: flat graphs,
 * deadness, references, failures, asynchronous kernels, threads.  Loops are in
 * test_loops.c.
 */
#include "tests/support/worker_rig.h"

#include "common/alloc.h"
#include "daemon/worker/worker_service.h"

static struct wrig w;

static int setup(void **state)
{
    (void)state;
    wrig_init(&w, 2);
    return 0;
}

static int setup_without_threads(void **state)
{
    (void)state;
    wrig_init(&w, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(tfd_worker_counts(w.service).steps, 0);
    wrig_deinit(&w);
    return 0;
}

static void assert_text(const char *part)
{
    if (!strstr(w.st.text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, w.st.text);
}

/* Several times: the first steps run on a compute thread, later ones here. */
static void run_repeatedly(uint64_t graph, double expected)
{
    assert_true(graph != 0);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == expected);
    }
}

/* ---- Flat graphs --------------------------------------------------------- */

static void test_a_sum_of_constants_is_fetched(void **state)
{
    (void)state;
    wrig_const(&w, "a", 1);
    wrig_const(&w, "b", 2);
    wrig_node(&w, "c", "TestAdd", "a,b");
    wrig_node(&w, "d", "TestAdd", "c,c");
    wrig_fetch(&w, "d");
    run_repeatedly(wrig_register(&w), 6);
}

static void test_a_constant_itself_is_fetched(void **state)
{
    (void)state;
    wrig_const(&w, "a", 7);
    wrig_fetch(&w, "a");
    run_repeatedly(wrig_register(&w), 7);
}

static void test_an_empty_graph_runs(void **state)
{
    uint64_t graph = wrig_register(&w);

    (void)state;
    assert_true(graph != 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
}

static void test_feeds_reach_their_consumers(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_feed(&w, "x");
    wrig_feed(&w, "y");
    wrig_node(&w, "z", "TestAdd", "x,y,x");
    wrig_fetch(&w, "z");
    graph = wrig_register(&w);
    for (int i = 0; i < 20; i++) {
        w.fed[0] = wrig_scalar(TFD_FLOAT, i);
        w.fed[1] = wrig_scalar(TFD_FLOAT, 100);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == 100 + 2 * i);
        assert_int_equal(w.fed[0].dtype, TFD_DTYPE_INVALID);
    }
}

static void test_a_feed_of_another_type_is_refused(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_feed(&w, "x");
    wrig_node(&w, "z", "TestAdd", "x,x");
    wrig_fetch(&w, "z");
    graph = wrig_register(&w);
    w.fed[0] = wrig_scalar(TFD_BOOL, 1);
    assert_int_equal(wrig_run(&w, graph), TFD_INTERNAL);
    assert_text("of type bool does not match declared output type float");
}

static void test_identities_and_no_ops_are_passed_through(void **state)
{
    (void)state;
    wrig_const(&w, "a", 3);
    wrig_node(&w, "count", "TestCount", "a");
    wrig_node(&w, "i1", "Identity", "count");
    wrig_node(&w, "i2", "Identity", "i1");
    wrig_node(&w, "gate", "NoOp", "^i2");
    wrig_node(&w, "late", "TestCount", "i2,^gate,^count");
    wrig_node(&w, "end", "NoOp", "^late,^gate");
    wrig_node(&w, "after", "NoOp", "^end");
    wrig_node(&w, "sum", "TestAdd", "late,i1");
    wrig_fetch(&w, "sum");
    run_repeatedly(wrig_register(&w), 6);
    assert_int_equal(wrig_runs, 80);
}

static void test_an_identity_with_many_outputs(void **state)
{
    (void)state;
    wrig_const(&w, "a", 1);
    wrig_attr_int(&w, "N", 7);
    wrig_node(&w, "s", "TestSplit", "a");
    wrig_node(&w, "i", "IdentityN", "s:0,s:1,s:2,s:3,s:4,s:5,s:6,a");
    wrig_node(&w, "j", "IdentityN", "i:6,i:5,i:7,^s");
    wrig_node(&w, "sum", "TestAdd", "j:0,j:1,j:2,s:3");
    wrig_fetch(&w, "sum");
    run_repeatedly(wrig_register(&w), 15);
}

static void test_a_value_is_moved_to_its_last_reader(void **state)
{
    struct tfd_alloc_stats before, after;
    uint64_t graph;

    (void)state;
    wrig_feed(&w, "x");
    wrig_node(&w, "y", "Identity", "x");
    wrig_fetch(&w, "y");
    graph = wrig_register(&w);
    w.fed[0] = wrig_scalar(TFD_FLOAT, 1);
    tfd_alloc_stats(&before);
    assert_int_equal(wrig_run(&w, graph), TFD_OK);
    tfd_alloc_stats(&after);
    assert_true(tfd_buffer_sole(w.fetched[0].buffer));
    assert_int_equal(before.in_use, after.in_use);
}

/* ---- Devices ------------------------------------------------------------- */

static void test_devices_of_one_task_share_values(void **state)
{
    (void)state;
    wrig_const(&w, "a", 1);
    w.device = WRIG_CPU1;
    wrig_node(&w, "b", "TestAdd", "a,a");
    w.device = WRIG_CPU0;
    wrig_node(&w, "c", "TestAdd", "b,a");
    wrig_fetch(&w, "c");
    run_repeatedly(wrig_register(&w), 3);
}

static void test_send_and_recv_meet_within_a_task(void **state)
{
    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "b", "TestAdd", "a,a");
    wrig_ends(&w, WRIG_CPU0, WRIG_CPU1, "edge_1_b");
    wrig_node(&w, "send", "_Send", "b");
    w.device = WRIG_CPU1;
    wrig_ends(&w, WRIG_CPU0, WRIG_CPU1, "edge_1_b");
    wrig_attr_type(&w, "tensor_type", TFD_FLOAT);
    wrig_node(&w, "recv", "_Recv", "");
    wrig_node(&w, "c", "TestAdd", "recv,a");
    w.device = WRIG_CPU0;
    wrig_fetch(&w, "c");
    run_repeatedly(wrig_register(&w), 3);
}

static void test_a_received_type_is_checked(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_const(&w, "a", 1);
    wrig_ends(&w, WRIG_CPU0, WRIG_CPU1, "e");
    wrig_node(&w, "send", "_Send", "a");
    wrig_ends(&w, WRIG_CPU0, WRIG_CPU1, "e");
    wrig_attr_type(&w, "tensor_type", TFD_BOOL);
    wrig_node(&w, "recv", "_Recv", "");
    wrig_fetch(&w, "recv");
    graph = wrig_register(&w);
    assert_int_equal(wrig_run(&w, graph), TFD_INVALID_ARGUMENT);
    assert_text("received a tensor of type float where bool is expected");
}

/* ---- Registering what is wrong ------------------------------------------- */

static void test_bad_graphs_are_refused(void **state)
{
    static const struct {
        const char *device, *op, *text;
        enum tfd_code code;
    } cases[] = {
        {"/job:other/replica:0/task:0/device:CPU:0", "TestCount",
         "/job:other/replica:0/task:0/device:CPU:0 unknown device.",
         TFD_INVALID_ARGUMENT},
        {"", "TestCount", "Node 'n' is missing a device specification",
         TFD_INVALID_ARGUMENT},
        {WRIG_CPU0, "TestNothing", "Op type not registered 'TestNothing'",
         TFD_NOT_FOUND},
        {WRIG_CPU0, "TestBadPrepare", "cannot be prepared\n\t [[{{node n}}]]",
         TFD_INVALID_ARGUMENT},
        {WRIG_CPU0, "Exit", "is outside of any loop", TFD_INVALID_ARGUMENT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wrig_const(&w, "a", 1);
        w.device = cases[i].device;
        wrig_node(&w, "n", cases[i].op, "a");
        assert_int_equal(wrig_register(&w), 0);
        assert_text(cases[i].text);
        assert_int_equal(w.st.code, cases[i].code);
    }
}

static void test_a_fetch_nobody_named_is_refused(void **state)
{
    (void)state;
    wrig_const(&w, "a", 1);
    wrig_fetch(&w, "a");
    w.fetch_count = 0;
    assert_int_equal(wrig_register(&w), 0);
    assert_text("is fetched and not among the 0 fetches");
}

static void test_an_unknown_session_is_refused(void **state)
{
    (void)state;
    w.session = TFD_STR("nosuch");
    assert_int_equal(wrig_register(&w), 0);
    assert_int_equal(w.st.code, TFD_ABORTED);
    assert_string_equal(w.st.text,
                        "Session handle is not found: nosuch. Possibly this "
                        "worker (\"" WRIG_TASK "\") just restarted.");
}

static void test_an_unknown_graph_is_refused(void **state)
{
    (void)state;
    assert_int_equal(wrig_run(&w, 77), TFD_ABORTED);
    assert_string_equal(w.st.text,
                        "Graph handle is not found: 000000000000004d");
}

/* ---- Deadness ------------------------------------------------------------ */

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

/* ---- References ---------------------------------------------------------- */

static void put_variable(const char *name)
{
    const struct tfd_shape scalar = {0, {0}};

    tfd_attr_put_shape(wrig_attr(&w, "shape"), &scalar);
    wrig_attr_type(&w, "dtype", TFD_FLOAT);
    wrig_node(&w, name, "VariableV2", "");
}

static void test_a_variable_is_read_and_assigned(void **state)
{
    uint64_t read, init;

    (void)state;
    put_variable("v");
    wrig_node(&w, "v/read", "Identity", "v");
    wrig_fetch(&w, "v/read");
    read = wrig_register(&w);
    put_variable("v");
    wrig_const(&w, "one", 1);
    wrig_node(&w, "init", "Assign", "v,one");
    wrig_node(&w, "sum", "TestAdd", "init,one");
    wrig_fetch(&w, "sum");
    init = wrig_register(&w);
    assert_int_equal(wrig_run(&w, read), TFD_FAILED_PRECONDITION);
    assert_string_equal(w.st.text, "Attempting to use uninitialized value v"
                                   "\n\t [[{{node v/read}}]]");
    assert_int_equal(wrig_run(&w, init), TFD_OK);
    assert_true(wrig_result(&w, 0) == 2);
    run_repeatedly(read, 1);
}

static void test_an_uninitialized_variable_may_be_asked(void **state)
{
    uint64_t graph;

    (void)state;
    put_variable("v");
    wrig_attr_type(&w, "dtype", TFD_FLOAT);
    wrig_node(&w, "is", "IsVariableInitialized", "v");
    wrig_fetch(&w, "is");
    graph = wrig_register(&w);
    run_repeatedly(graph, 0);
    put_variable("v");
    wrig_const(&w, "one", 1);
    wrig_node(&w, "add", "AssignAdd", "v,one");
    graph = wrig_register(&w);
    assert_int_equal(wrig_run(&w, graph), TFD_FAILED_PRECONDITION);
    assert_text("Attempting to use uninitialized value v");
}

static void test_a_reference_passes_a_switch(void **state)
{
    uint64_t graph;

    (void)state;
    put_variable("v");
    wrig_feed_of(&w, "pred", TFD_BOOL);
    wrig_const(&w, "one", 1);
    wrig_node(&w, "switch", "RefSwitch", "v,pred");
    wrig_node(&w, "init", "Assign", "switch:1,one");
    wrig_fetch(&w, "init");
    graph = wrig_register(&w);
    for (int i = 0; i < 10; i++) {
        w.fed[0] = wrig_scalar(TFD_BOOL, i % 2);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_is_dead(&w, 0) == (i % 2 == 0));
    }
}

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

/* ---- Memories -------------------------------------------------------------
 */

static int copies;

/* Between host memory and a device that only says it has its own. */
static void copy_tensor(struct tfd_kctx *k, struct tfd_device *from,
                        struct tfd_device *to)
{
    struct tfd_status st = TFD_STATUS_INIT;

    assert_true(!from || !to); /* one is the host */
    __atomic_add_fetch(&copies, 1, __ATOMIC_RELAXED);
    if (k->in[0].dtype == TFD_FLOAT)
        (void)!wrig_put(k, TFD_FLOAT, (double)wrig_float_at(&k->in[0]), &st);
    else
        tfd_fail(&st, TFD_UNIMPLEMENTED, "this device has floats only");
    tfd_kctx_finish(k, st.code == TFD_OK ? NULL : &st);
}

static enum tfd_code place_tensor(struct tfd_device *to,
                                  const struct tfd_tensor *value,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    (void)to;
    (void)st;
    *out = tfd_tensor_ref(value);
    return TFD_OK;
}

/* One copy for all readers of a value on the other side; constants are there
 * from the start. */
static void test_values_are_copied_between_memories(void **state)
{
    struct tfd_device *d = &w.service->devices.device[1];
    uint64_t graph;

    (void)state;
    d->memory = 1;
    d->copy = copy_tensor;
    d->place = place_tensor;
    wrig_feed(&w, "x");
    wrig_const(&w, "c", 1);
    w.device = WRIG_CPU1;
    wrig_node(&w, "id", "Identity", "x");
    wrig_node(&w, "a", "TestAdd", "id,x,c");
    wrig_node(&w, "b", "TestAdd", "a,x,a");
    wrig_node(&w, "last", "NoOp", "^b");
    w.device = WRIG_CPU0;
    wrig_node(&w, "e", "TestAdd", "b,x,^last");
    wrig_fetch(&w, "e");
    graph = wrig_register(&w);
    for (int i = 0; i < 20; i++) {
        copies = 0;
        w.fed[0] = wrig_scalar(TFD_FLOAT, i);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == 2 * (2 * i + 1) + i + i);
        assert_int_equal(copies, 2); /* x over, b back */
    }
}

static void test_a_copy_that_fails_names_its_source(void **state)
{
    struct tfd_device *d = &w.service->devices.device[1];
    uint64_t graph;

    (void)state;
    d->memory = 1;
    d->copy = copy_tensor;
    wrig_feed_of(&w, "x", TFD_BOOL);
    w.device = WRIG_CPU1;
    wrig_node(&w, "a", "Identity", "x");
    wrig_node(&w, "b", "NoOp", "^a");
    graph = wrig_register(&w);
    w.fed[0] = wrig_scalar(TFD_BOOL, 1);
    assert_int_equal(wrig_run(&w, graph), TFD_UNIMPLEMENTED);
    assert_string_equal(w.st.text, "this device has floats only"
                                   "\n\t [[{{node x}}]]");
}

/* ---- Asynchronous kernels and threads ------------------------------------ */

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

/* ---- States -------------------------------------------------------------- */

static uint64_t shared_graph(const char *name, int64_t seed)
{
    wrig_attr_int(&w, "seed", seed);
    wrig_node(&w, name, "TestShared", "");
    wrig_fetch(&w, name);
    return wrig_register(&w);
}

static void test_states_are_shared_by_name_within_a_session(void **state)
{
    uint64_t first = shared_graph("q", 1), second = shared_graph("q", 1);
    uint64_t other = shared_graph("r", 1), another = shared_graph("q", 2);
    double value;

    (void)state;
    assert_int_equal(wrig_run(&w, first), TFD_OK);
    value = wrig_result(&w, 0);
    run_repeatedly(second, value);
    assert_int_equal(wrig_run(&w, other), TFD_OK);
    assert_true(wrig_result(&w, 0) != value);
    assert_int_equal(wrig_run(&w, another), TFD_OK);
    assert_true(wrig_result(&w, 0) != value);
}

static void test_a_graph_outlives_its_deregistration(void **state)
{
    uint64_t graph;

    (void)state;
    wrig_const(&w, "a", 4);
    wrig_node(&w, "hold", "TestHold", "a");
    wrig_fetch(&w, "hold");
    graph = wrig_register(&w);
    wrig_start(&w, graph);
    (void)wrig_wait_held(0);
    w.worker->ops->deregister_graph(w.worker, TFD_STR_EMPTY, graph);
    assert_int_equal(tfd_worker_counts(w.service).graphs, 0);
    assert_true(wrig_let_go(wrig_wait_held(0)));
    wrig_wait(&w);
    assert_int_equal(w.st.code, TFD_OK);
    assert_int_equal(wrig_run(&w, graph), TFD_ABORTED);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_ALONE(f) \
    cmocka_unit_test_setup_teardown(f, setup_without_threads, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_sum_of_constants_is_fetched),
        TEST_ALONE(test_a_sum_of_constants_is_fetched),
        TEST(test_a_constant_itself_is_fetched),
        TEST(test_an_empty_graph_runs),
        TEST(test_feeds_reach_their_consumers),
        TEST(test_a_feed_of_another_type_is_refused),
        TEST(test_identities_and_no_ops_are_passed_through),
        TEST(test_an_identity_with_many_outputs),
        TEST_ALONE(test_a_value_is_moved_to_its_last_reader),
        TEST(test_devices_of_one_task_share_values),
        TEST(test_send_and_recv_meet_within_a_task),
        TEST_ALONE(test_send_and_recv_meet_within_a_task),
        TEST(test_a_received_type_is_checked),
        TEST(test_bad_graphs_are_refused),
        TEST(test_a_fetch_nobody_named_is_refused),
        TEST(test_an_unknown_session_is_refused),
        TEST(test_an_unknown_graph_is_refused),
        TEST(test_only_the_taken_side_runs),
        TEST_ALONE(test_only_the_taken_side_runs),
        TEST(test_a_dead_fetch_is_empty),
        TEST(test_deadness_crosses_send_and_recv),
        TEST(test_a_control_trigger_is_never_dead),
        TEST(test_a_merge_waits_for_its_control_inputs),
        TEST(test_a_switch_wants_a_scalar),
        TEST(test_a_variable_is_read_and_assigned),
        TEST(test_an_uninitialized_variable_may_be_asked),
        TEST(test_a_reference_passes_a_switch),
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
        TEST(test_values_are_copied_between_memories),
        TEST(test_a_copy_that_fails_names_its_source),
        TEST(test_kernels_may_finish_at_once),
        TEST_ALONE(test_kernels_may_finish_at_once),
        TEST(test_kernels_finish_on_this_thread),
        TEST(test_expensive_branches_run_side_by_side),
        TEST(test_wide_graphs_on_many_threads),
        TEST(test_a_kernel_that_blocks_never_runs_here),
        TEST(test_a_long_chain_needs_no_stack),
        TEST(test_steps_of_one_graph_run_at_once),
        TEST(test_states_are_shared_by_name_within_a_session),
        TEST(test_a_graph_outlives_its_deregistration),
    };

    return cmocka_run_group_tests_name("executor", tests, NULL, NULL);
}
