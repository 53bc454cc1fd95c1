/*
 * test_loop_turns.c - loops that are code: whom their failures name, and how
 * they let others have their turn.
 */
#include "tests/support/while_rig.h"

/* ---- Failures ------------------------------------------------------------ */

static const struct {
    struct loop loop;
    const char *text;
    enum tfd_code code;
} failing[] = {
    {{"a kernel fails", {NEXT("L/f"), "L/f TestFail L/add"}, "L/exit", {0}, 0},
     "bad luck\n\t [[{{node L/f}}]]",
     TFD_INVALID_ARGUMENT},
    {{"an output is missing",
      {NEXT("L/f"), "L/f TestSilent L/add"},
      "L/exit",
      {0},
      0},
     "Missing 0-th output from {{node L/f}}\n\t [[{{node L/f}}]]",
     TFD_INTERNAL},
    {{"a check does not hold",
      {NEXT("L/f"), "L/f TestVector L/add"},
      "L/exit",
      {0},
      0},
     "\n\t [[{{node L/f}}]]",
     TFD_INVALID_ARGUMENT},
    {{"an output is of another type",
      {NEXT("L/f"), "L/f TestWrongType L/add"},
      "L/exit",
      {0},
      0},
     "of type bool does not match declared output type float",
     TFD_INTERNAL},
    {{"a predicate is no scalar",
      {NEXT("L/phi"), "L/p TestBools L/i", "L/b Switch L/i,L/p",
       "L/f TestCount L/b", "L/phi Merge L/f,L/b:1"},
      "L/exit",
      {0},
      0},
     "The second input must be a scalar, but it has shape [2]\n\t "
     "[[{{node L/b}}]]",
     TFD_INVALID_ARGUMENT},
};

static void test_failures_name_the_node(void **state)
{
    (void)state;
    for (size_t i = 0; i < TFD_COUNT(failing); i++) {
        uint64_t graph = put_loop(&failing[i].loop);

        assert_true(has_code(exec_of(graph)));
        for (int round = 0; round < 6; round++) {
            w.fed[0] = wrig_scalar(TFD_FLOAT, 3);
            assert_int_equal(wrig_run(&w, graph), failing[i].code);
            if (!strstr(w.st.text, failing[i].text))
                fail_msg("%s: %s", failing[i].loop.name, w.st.text);
            w.fed[0] = wrig_scalar(TFD_FLOAT, 0);
            assert_int_equal(wrig_run(&w, graph), TFD_OK);
        }
    }
}

/* ---- Turns --------------------------------------------------------------- */

static void test_an_endless_loop_is_cancelled(void **state)
{
    uint64_t graph = put_loop(&count_to_n);

    (void)state;
    assert_true(has_code(exec_of(graph)));
    for (int i = 0; i < 6; i++) {
        w.fed[0] = wrig_scalar(TFD_FLOAT, 1e30);
        wrig_start(&w, graph);
        w.worker->ops->cancel(w.worker, &w.run);
        wrig_wait(&w);
        assert_int_equal(w.st.code, TFD_CANCELLED);
        w.fed[0] = wrig_scalar(TFD_FLOAT, 1);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
    }
}

/* The step is thought short and begins on the loop thread. */
static void test_a_long_loop_leaves_the_loop_thread(void **state)
{
    uint64_t graph = put_loop(&count_to_n);

    (void)state;
    for (int i = 0; i < 20; i++) {
        w.fed[0] = wrig_scalar(TFD_FLOAT, 1);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
    }
    w.fed[0] = wrig_scalar(TFD_FLOAT, 1000000);
    assert_int_equal(wrig_run(&w, graph), TFD_OK);
    assert_true(wrig_result(&w, 0) == 1000000);
}

static void fail_beside_loops(uint64_t graph)
{
    for (int i = 0; i < 6; i++) {
        w.fed[0] = wrig_scalar(TFD_FLOAT, 1e30);
        assert_int_equal(wrig_run(&w, graph), TFD_INVALID_ARGUMENT);
        assert_string_equal(w.st.text, "bad luck\n\t [[{{node d}}]]");
    }
}

/* Each node is worth a thread, whatever it took; after two steps few are
 * timed. */
static void make_expensive(struct tfd_exec *e)
{
    for (int32_t i = 0; i < e->node_count; i++)
        __atomic_store_n(&e->node_costs[i].ns, 1000000, __ATOMIC_RELAXED);
    e->expensive = e->node_count;
}

/* One thread has two endless loops and a node that fails once it has its turn,
 * after an asynchronous one. */
static void test_loops_let_others_have_their_turn(void **state)
{
    static const struct loop two = {
        "two loops and a failure",
        {NEXT("L/add"), "n2 TestCount n", "I/enter Enter I zero",
         "I/n Always I n2", "I/merge Merge I/enter,I/next",
         "I/less TestLess I/merge,I/n", "I/cond LoopCond I/less",
         "I/switch Switch I/merge,I/cond", "I/more TestMore I/switch:1",
         "I/next NextIteration I/more", "I/exit Exit I/switch",
         "a TestAtOnce n", "b TestCount a", "c TestAtOnce b", "d TestFail c"},
        "L/exit",
        {0},
        true,
    };
    uint64_t graph = put_loop(&two);

    (void)state;
    fail_beside_loops(graph);
    make_expensive(exec_of(graph));
    fail_beside_loops(graph);
    graph = put_loop(&two);
    take_code_away(exec_of(graph));
    fail_beside_loops(graph);
    make_expensive(exec_of(graph));
    fail_beside_loops(graph);
}

struct endless {
    struct tfd_run_graph run;
    struct tfd_tensor feed, fetched;
    enum tfd_code code;
    int *left;
};

static void endless_done(struct tfd_run_graph *run, const struct tfd_status *st)
{
    struct endless *e = (struct endless *)run;

    e->code = st->code;
    tfd_tensor_unref(&e->feed);
    if (--*e->left == 0)
        wrig_stop(&w);
}

#define ENDLESS 6

static void start_endless(struct endless *e, uint64_t graph, int *left)
{
    for (int i = 0; i < ENDLESS; i++) {
        e[i] = (struct endless){.feed = wrig_scalar(TFD_FLOAT, 1e30),
                                .left = left};
        e[i].run.session = w.session;
        e[i].run.graph = graph;
        e[i].run.step_id = 1000 + i;
        e[i].run.feeds = &e[i].feed;
        e[i].run.fetches = &e[i].fetched;
        e[i].run.done = endless_done;
        w.worker->ops->run_graph(w.worker, &e[i].run);
    }
}

static void cancel_endless(struct endless *e, const int *left)
{
    w.done = false;
    for (int i = 0; i < ENDLESS; i++)
        w.worker->ops->cancel(w.worker, &e[i].run);
    if (*left > 0)
        wrig_wait(&w);
    for (int i = 0; i < ENDLESS; i++)
        assert_int_equal(e[i].code, TFD_CANCELLED);
}

/* More loops than threads, none of which ends; steps that need a thread get
 * theirs, again and again. */
static void test_endless_steps_let_others_run(void **state)
{
    static struct endless runs[ENDLESS];
    uint64_t loop, other;
    int left;

    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "b", "TestBlocks", "a");
    wrig_node(&w, "c", "TestAdd", "b,a");
    wrig_fetch(&w, "c");
    other = wrig_register(&w);
    for (int as_code = 1; as_code >= 0; as_code--) {
        loop = put_loop(&count_to_n);
        if (!as_code)
            take_code_away(exec_of(loop));
        left = ENDLESS;
        start_endless(runs, loop, &left);
        for (int i = 0; i < 10; i++) {
            assert_int_equal(wrig_run(&w, other), TFD_OK);
            assert_true(wrig_result(&w, 0) == 2);
        }
        assert_int_equal(left, ENDLESS);
        cancel_endless(runs, &left);
    }
}

/* Spins until two threads do at once: as code they never would. */
static void test_a_loop_that_is_wide_runs_on_several_threads(void **state)
{
    static const struct loop wide = {
        "two nodes worth a thread each",
        {NEXT("L/add2"), "L/a TestSpin L/i", "L/b TestSpin L/one",
         "L/add2 TestAdd L/a,L/b"},
        "L/exit",
        {0, 1, 2, 5},
        true,
    };
    uint64_t graph = put_loop(&wide);

    (void)state;
    assert_true(has_code(exec_of(graph)));
    for (int i = 0; i < 10; i++) {
        w.fed[0] = wrig_scalar(TFD_FLOAT, 3);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == 3);
    }
    assert_int_equal(wrig_threads_max, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_failures_name_the_node),
        TEST_ALONE(test_failures_name_the_node),
        TEST(test_an_endless_loop_is_cancelled),
        TEST(test_a_long_loop_leaves_the_loop_thread),
        TEST(test_loops_let_others_have_their_turn),
        TEST(test_endless_steps_let_others_run),
        TEST(test_a_loop_that_is_wide_runs_on_several_threads),
    };

    return cmocka_run_group_tests_name("loop turns", tests, NULL, NULL);
}
