/*
 * test_node_cost.c - daemon/worker/run/node_cost.c: what a node costs by what
 * its runs took.
 */
#include "daemon/worker/run/runner.h"

#include "tests/support/rig.h"

#define NODES 3
#define MS 1000000

static struct tfd_exec_node nodes[NODES];
static struct tfd_node_cost costs[NODES];
static struct tfd_exec e;

static int setup(void **state)
{
    (void)state;
    memset(nodes, 0, sizeof(nodes));
    memset(costs, 0, sizeof(costs));
    e = (struct tfd_exec){.nodes = nodes, .node_costs = costs};
    return 0;
}

/* What node 1 costs after a run that took so long. */
static uint32_t cost_after(uint64_t took)
{
    tfd_runner_cost(&e, &nodes[1], took);
    return tfd_runner_cost_of(&e, &nodes[1]);
}

static void test_two_runs_tell_a_cost(void **state)
{
    (void)state;
    assert_int_equal(tfd_runner_cost_of(&e, &nodes[1]), 0);
    assert_int_equal(cost_after(5 * MS), 0);
    assert_int_equal(cost_after(5 * MS), 5 * MS);
    assert_true(tfd_runner_is_expensive(&e, &nodes[1]));
    assert_int_equal(tfd_runner_cost_of(&e, &nodes[0]), 0);
    assert_int_equal(tfd_runner_cost_of(&e, &nodes[2]), 0);
}

/* Its thread lost its processor: at first, and later. */
static void test_one_long_run_alone_says_nothing(void **state)
{
    (void)state;
    assert_int_equal(cost_after(4 * MS), 0);
    assert_int_equal(cost_after(800), 800);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(cost_after(4 * MS), 800);
        assert_int_equal(cost_after(800), 800);
    }
    assert_false(tfd_runner_is_expensive(&e, &nodes[1]));
}

static void test_costs_rise_slowly_and_fall_at_once(void **state)
{
    (void)state;
    cost_after(1000);
    cost_after(1000);
    assert_int_equal(cost_after(9000), 1000);
    assert_int_equal(cost_after(9000), 3000);
    assert_int_equal(cost_after(9000), 4500);
    for (int i = 0; i < 60; i++)
        cost_after(9000);
    assert_in_range(tfd_runner_cost_of(&e, &nodes[1]), 8990, 9000);
    assert_int_equal(cost_after(2000), 2000);
}

/* ---- What is out of the ordinary ----------------------------------------- */

static void test_a_run_of_hours_is_not_a_short_one(void **state)
{
    (void)state;
    cost_after((uint64_t)UINT32_MAX + 5);
    assert_int_equal(cost_after(UINT64_MAX), UINT32_MAX);
    assert_int_equal(cost_after((uint64_t)UINT32_MAX * 4096), UINT32_MAX);
    assert_true(tfd_runner_is_expensive(&e, &nodes[1]));
}

static void test_a_run_of_no_time_costs_nothing(void **state)
{
    (void)state;
    assert_int_equal(cost_after(0), 0);
    assert_int_equal(cost_after(0), 0);
    assert_int_equal(cost_after(700), 0);
    assert_int_equal(cost_after(700), 700);
    assert_int_equal(cost_after(0), 0);
}

static void test_a_kind_of_node_is_worth_a_thread_unmeasured(void **state)
{
    (void)state;
    nodes[1].flags = TFD_EXEC_EXPENSIVE;
    assert_true(tfd_runner_is_expensive(&e, &nodes[1]));
    assert_false(tfd_runner_is_expensive(&e, &nodes[0]));
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_two_runs_tell_a_cost),
        TEST(test_one_long_run_alone_says_nothing),
        TEST(test_costs_rise_slowly_and_fall_at_once),
        TEST(test_a_run_of_hours_is_not_a_short_one),
        TEST(test_a_run_of_no_time_costs_nothing),
        TEST(test_a_kind_of_node_is_worth_a_thread_unmeasured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
