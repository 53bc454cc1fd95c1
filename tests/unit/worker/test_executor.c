/*
 * test_executor.c - daemon/worker/run/executor.c and what it runs: flat graphs,
 * devices, references, memories, states.  Loops are in test_while_frames.c,
 * deadness in test_deadness.c, ends of steps and threads in
 * test_executor_ends.c and test_executor_threads.c.
 */
#include "tests/support/executor_rig.h"

#include "common/base/alloc.h"

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

/* ---- Memories ------------------------------------------------------------ */

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

/* Values are there as soon as they are copied. */
static enum tfd_code await_values(struct tfd_device *d,
                                  const struct tfd_tensor *values, int count,
                                  struct tfd_status *st)
{
    (void)d;
    (void)values;
    (void)count;
    (void)st;
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
    d->await = await_values;
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
        TEST(test_a_variable_is_read_and_assigned),
        TEST(test_an_uninitialized_variable_may_be_asked),
        TEST(test_a_reference_passes_a_switch),
        TEST(test_values_are_copied_between_memories),
        TEST(test_a_copy_that_fails_names_its_source),
        TEST(test_states_are_shared_by_name_within_a_session),
        TEST(test_a_graph_outlives_its_deregistration),
    };

    return cmocka_run_group_tests_name("executor", tests, NULL, NULL);
}
