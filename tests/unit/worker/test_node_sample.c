/*
 * test_node_sample.c - daemon/worker/run/node_sample.c and
 * daemon/worker/service/graph_facts.c: which steps are sampled, what is kept of
 * them, and what a page is told.
 */
#include "daemon/worker/run/node_sample.h"
#include "daemon/worker/service/graph_facts.h"
#include "tests/support/while_rig.h"

static struct tfd_graph_facts facts_of(uint64_t graph)
{
    struct tfd_graph_facts f;

    assert_true(tfd_graph_facts_of(w.service, graph, &f));
    return f;
}

static const struct tfd_slow_op_facts *op_of(const struct tfd_graph_facts *f,
                                             const char *name)
{
    for (int i = 0; i < f->slow_count; i++)
        if (tfd_str_is(f->slow[i].name, name))
            return &f->slow[i];
    return NULL;
}

static void run_times(uint64_t graph, int count, enum tfd_code code)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(wrig_run(&w, graph), code);
}

/* ---- Steps --------------------------------------------------------------- */

static void test_steps_are_sampled_ever_more_rarely(void **state)
{
    static const uint64_t sampled[] = {0, 1, 2, 4, 8, 512, 1024, 3072, 1 << 20};
    static const uint64_t others[] = {3, 5, 6, 7, 9, 1023, 1025, 1536};
    int count = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(sampled) / sizeof(sampled[0]); i++)
        assert_true(tfd_node_sample_wanted(sampled[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(tfd_node_sample_wanted(others[i]));
    for (uint64_t i = 0; i < 1 << 20; i++)
        count += tfd_node_sample_wanted(i);
    assert_in_range(count, 1024, 1024 + 20);
}

static uint64_t slow_graph(void)
{
    wrig_const(&w, "a", 1);
    wrig_node(&w, "count", "TestCount", "a");
    wrig_node(&w, "spin", "TestSpin", "count"); /* alone: 100 ms */
    wrig_node(&w, "more", "TestMore", "spin");
    wrig_fetch(&w, "more");
    wrig_threads_max = 0;
    return wrig_register(&w);
}

static void test_the_slowest_op_is_told_first(void **state)
{
    uint64_t graph = slow_graph();
    struct tfd_graph_facts f = facts_of(graph);

    (void)state;
    assert_int_equal(f.steps + f.sampled + f.mean_us, 0);
    assert_int_equal(f.slow_count, 0);
    run_times(graph, 3, TFD_OK);
    f = facts_of(graph);
    assert_int_equal(f.steps, 3);
    assert_int_equal(f.sampled, 2); /* the first is forgotten */
    assert_int_equal(f.slow_count, 3);
    assert_true(tfd_str_is(f.slow[0].name, "spin"));
    assert_true(tfd_str_is(f.slow[0].op, "TestSpin"));
    assert_true(tfd_str_is(f.slow[0].device, WRIG_CPU0));
    assert_true(f.slow[0].runs == 1 && !f.slow[0].waits);
    assert_true(f.slow[0].mean_us >= 100000);
    assert_true(f.slow[0].mean_us <= (double)f.mean_us + 1);
    assert_true(f.slow[0].share > 0.5 && f.slow[0].share <= 1);
}

static void test_the_first_step_counts_while_it_is_the_only_one(void **state)
{
    uint64_t graph = slow_graph();

    (void)state;
    run_times(graph, 1, TFD_OK);
    assert_int_equal(facts_of(graph).sampled, 1);
    assert_int_equal(facts_of(graph).slow_count, 3);
}

/* The slowest five of many, in their order. */
static void test_no_more_are_kept_than_there_is_room_for(void **state)
{
    struct tfd_exec_node nodes[20] = {0};
    struct tfd_node_time times[20] = {0};
    struct tfd_node_samples s = {.of = times};
    struct tfd_exec e = {.nodes = nodes, .node_count = 20, .samples = &s};

    (void)state;
    for (int32_t i = 0; i < 20; i++)
        if (i != 11)
            tfd_node_sample_add(&e, &nodes[i], (uint64_t)(i * 7 % 20), 3);
    tfd_node_sample_end(&e, 100);
    assert_int_equal(s.slow_count, TFD_SLOW_NODES_MAX);
    for (int i = 0; i < TFD_SLOW_NODES_MAX; i++) {
        assert_int_equal(s.slow[i].runs, 3);
        if (i > 0)
            assert_true(s.slow[i].ns <= s.slow[i - 1].ns);
    }
    assert_int_equal(s.slow[0].ns, 3 * 19);
    assert_ptr_equal(s.slow[0].node, &nodes[17]);
    assert_int_equal(s.slow[4].ns, 3 * 14); /* 17 did not run */
    /* A second step makes a new beginning, a third does not. */
    for (e.steps = 1; e.steps < 3; e.steps++) {
        tfd_node_sample_begin(&e);
        tfd_node_sample_add(&e, &nodes[11], 5, 1);
        tfd_node_sample_end(&e, 50);
        assert_int_equal(s.slow_count, 1);
        assert_int_equal(s.slow[0].ns, 5 * e.steps);
    }
    assert_int_equal(s.steps, 2);
    assert_int_equal(s.took_ns, 100);
}

static void test_a_failing_step_counts(void **state)
{
    struct tfd_graph_facts f;
    uint64_t graph;

    (void)state;
    wrig_const(&w, "a", 1);
    wrig_node(&w, "count", "TestCount", "a");
    wrig_node(&w, "fail", "TestFail", "count");
    wrig_node(&w, "never", "TestMore", "fail");
    wrig_fetch(&w, "never");
    graph = wrig_register(&w);
    run_times(graph, 5, TFD_INVALID_ARGUMENT);
    f = facts_of(graph);
    assert_int_equal(f.sampled, 3);
    assert_non_null(op_of(&f, "count"));
    assert_non_null(op_of(&f, "fail"));
    assert_null(op_of(&f, "never"));
}

static void test_untaken_sides_and_ends_are_left_out(void **state)
{
    struct tfd_graph_facts f;
    uint64_t graph;

    (void)state;
    wrig_feed(&w, "x");
    wrig_const_of(&w, "no", TFD_BOOL, 0, "");
    wrig_node(&w, "switch", "Switch", "x,no");
    wrig_node(&w, "taken", "TestCount", "switch");
    wrig_node(&w, "untaken", "TestCount", "switch:1");
    wrig_node(&w, "merge", "Merge", "taken,untaken");
    wrig_fetch(&w, "merge");
    graph = wrig_register(&w);
    for (int i = 0; i < 5; i++) {
        w.fed[0] = wrig_scalar(TFD_FLOAT, i);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
    }
    f = facts_of(graph);
    assert_non_null(op_of(&f, "taken"));
    assert_null(op_of(&f, "untaken"));
    assert_null(op_of(&f, "x"));
    for (int i = 0; i < f.slow_count; i++)
        assert_true(f.slow[i].runs == 1);
}

/* ---- Loops --------------------------------------------------------------- */

static const struct loop sum = {"a sum",
                                {NEXT("L/add"), VARIABLE("zero"),
                                 "L/x_add TestAdd L/x_switch:1,L/i",
                                 "L/x_next NextIteration L/x_add"},
                                "L/x_exit",
                                {0, 0, 1, 10},
                                true};

/* Of a node in a mean sampled step; the loop has more nodes than are kept as
 * the slowest, and which of these are depends on the machine. */
static double runs_of(const struct tfd_exec *e, const char *name)
{
    for (int32_t i = 0; i < e->node_count; i++)
        if (e->nodes[i].node && tfd_str_is(e->nodes[i].node->name, name))
            return (double)e->samples->of[i].runs / (double)e->samples->steps;
    fail_msg("no node %s", name);
    return 0;
}

static double runs_in_loop(int rounds, bool as_code)
{
    uint64_t graph = put_loop(&sum);

    assert_true(has_code(exec_of(graph)));
    if (!as_code)
        take_code_away(exec_of(graph));
    for (int i = 0; i < 3; i++) {
        w.fed[0] = wrig_scalar(TFD_FLOAT, rounds);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
    }
    assert_int_equal(facts_of(graph).sampled, 2);
    return runs_of(exec_of(graph), "L/x_add");
}

static void test_rounds_of_loops_count(void **state)
{
    (void)state;
    assert_true(runs_in_loop(7, true) == 7);
    assert_true(runs_in_loop(60, true) == 60);
    assert_true(runs_in_loop(300, false) == 300);
    for (int rounds = 100; rounds < 20000; rounds *= 3) {
        double off = runs_in_loop(rounds, true) - rounds;

        assert_true(off >= -31 && off <= 31);
    }
}

/* ---- Asynchronous ones, and steps that end late -------------------------- */

static uint64_t held_graph(void)
{
    wrig_const(&w, "a", 4);
    wrig_node(&w, "hold", "TestHold", "a");
    wrig_fetch(&w, "hold");
    return wrig_register(&w);
}

static void test_an_asynchronous_op_counts_until_it_ends(void **state)
{
    struct tfd_graph_facts f;
    uint64_t graph = held_graph();
    int64_t begun = tfd_clock_now_us();

    (void)state;
    wrig_start(&w, graph);
    assert_true(wrig_let_go(wrig_wait_held(0)));
    wrig_wait(&w);
    assert_int_equal(w.st.code, TFD_OK);
    f = facts_of(graph);
    assert_int_equal(f.slow_count, 1);
    assert_true(f.slow[0].waits && f.slow[0].mean_us > 0);
    assert_true(f.slow[0].mean_us <= (double)(tfd_clock_now_us() - begun) + 1);
}

static void test_a_graph_that_goes_amid_a_sampled_step_is_freed(void **state)
{
    struct tfd_graph_facts f;
    uint64_t graph = held_graph();

    (void)state;
    wrig_start(&w, graph);
    (void)wrig_wait_held(0);
    w.worker->ops->deregister_graph(w.worker, TFD_STR_EMPTY, graph);
    assert_false(tfd_graph_facts_of(w.service, graph, &f));
    assert_true(wrig_let_go(wrig_wait_held(0)));
    wrig_wait(&w);
    assert_int_equal(w.st.code, TFD_OK);
    assert_false(tfd_graph_facts_of(w.service, graph, &f));
}

static void test_a_cancelled_step_counts_and_leaves_nothing(void **state)
{
    uint64_t graph = held_graph();

    (void)state;
    wrig_start(&w, graph);
    (void)wrig_wait_held(0);
    w.worker->ops->cancel(w.worker, &w.run);
    wrig_wait(&w);
    assert_int_equal(w.st.code, TFD_CANCELLED);
    assert_int_equal(facts_of(graph).sampled, 1);
}

/* ---- Many graphs --------------------------------------------------------- */

struct seen {
    uint64_t ids[8];
    int count;
};

static void see(void *ctx, const struct tfd_graph_facts *f)
{
    struct seen *s = ctx;

    assert_true(s->count < 8);
    s->ids[s->count++] = f->id;
}

static void test_graphs_come_by_the_time_they_took(void **state)
{
    struct seen s = {.count = 0};
    uint64_t ids[4];

    (void)state;
    assert_int_equal(tfd_graph_facts_each(w.service, 8, see, &s), 0);
    assert_int_equal(s.count, 0);
    for (int i = 0; i < 4; i++)
        ids[i] = i == 2 ? slow_graph() : held_graph();
    run_times(ids[2], 2, TFD_OK);
    assert_int_equal(tfd_graph_facts_each(w.service, 3, see, &s), 4);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.ids[0], ids[2]);
    assert_int_equal(s.ids[1], ids[3]); /* the youngest of the others */
    assert_int_equal(s.ids[2], ids[1]);
}

static void test_a_graph_nobody_registered_is_not_told(void **state)
{
    struct tfd_graph_facts f;

    (void)state;
    assert_false(tfd_graph_facts_of(w.service, 0, &f));
    assert_false(tfd_graph_facts_of(w.service, 12345, &f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_sampled_ever_more_rarely),
        TEST_ALONE(test_the_slowest_op_is_told_first),
        TEST(test_the_slowest_op_is_told_first),
        TEST_ALONE(test_the_first_step_counts_while_it_is_the_only_one),
        cmocka_unit_test(test_no_more_are_kept_than_there_is_room_for),
        TEST(test_a_failing_step_counts),
        TEST_ALONE(test_a_failing_step_counts),
        TEST(test_untaken_sides_and_ends_are_left_out),
        TEST_ALONE(test_untaken_sides_and_ends_are_left_out),
        TEST(test_rounds_of_loops_count),
        TEST(test_an_asynchronous_op_counts_until_it_ends),
        TEST(test_a_graph_that_goes_amid_a_sampled_step_is_freed),
        TEST(test_a_cancelled_step_counts_and_leaves_nothing),
        TEST(test_graphs_come_by_the_time_they_took),
        TEST(test_a_graph_nobody_registered_is_not_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
