/*
 * test_captures.c - static parts of a graph on a GPU: what captured kernels
 * make is what they make one by one, and memory that is still read is not
 * written over.
 */
#include "tests/support/captures_rig.h"

/* A value that is still held when a step begins, which is a matter of when
 * threads run, has its kernels asked once more: so it is a question of steps
 * until one asks only what it must. */
#define STEPS_TO_SETTLE 200

/* ---- Values -------------------------------------------------------------- */

static void test_captured_kernels_are_asked_once(void **state)
{
    struct gpu_rig r;
    int asked;

    (void)state;
    for (int threads = 1; threads < 3; threads++) {
        init_as(&r, threads, TFD_CUDA_GRAPHS_ON);
        reg_chain(&r, 5);
        asked = 5;
        for (int i = 0; asked > 0 || i < 30; i++) {
            assert_in_range(i, 0, STEPS_TO_SETTLE);
            gpu_go_with(&r, i);
            assert_true(wrig_result(&r.w, 0) == chained(i, 5));
            asked = computed_now();
            assert_true(asked == 0 || asked == 5);
        }
        gpu_deinit(&r);
    }
}

static void test_without_graphs_kernels_are_asked_each_time(void **state)
{
    struct gpu_rig r;

    (void)state;
    init_as(&r, 2, TFD_CUDA_GRAPHS_OFF);
    reg_chain(&r, 5);
    for (int i = 0; i < 10; i++)
        gpu_go_with(&r, i);
    assert_int_equal(computed_now(), 50);
    gpu_deinit(&r);
}

static void test_a_trial_decides(void **state)
{
    struct gpu_rig r;
    int captured = 0;

    (void)state;
    init_as(&r, 2, TFD_CUDA_GRAPHS_AUTO);
    reg_chain(&r, 12);
    for (int i = 0; i < 60 || captured == 0; i++) {
        assert_in_range(i, 0, STEPS_TO_SETTLE);
        gpu_go_with(&r, i);
        assert_true(wrig_result(&r.w, 0) == chained(i, 12));
        if (i <= 10)
            assert_int_equal(computed_now(), 12);
        else
            captured += computed_now() == 0;
    }
    gpu_deinit(&r);
}

static void test_few_kernels_are_not_tried(void **state)
{
    struct gpu_rig r;

    (void)state;
    init_as(&r, 2, TFD_CUDA_GRAPHS_AUTO);
    reg_chain(&r, 3);
    for (int i = 0; i < 40; i++)
        gpu_go_with(&r, i);
    assert_int_equal(computed_now(), 120);
    gpu_deinit(&r);
}

static void test_other_shapes_run_as_they_come(void **state)
{
    static const int64_t sizes[] = {8, 8, 8, 3, 8, 0, 8, 8, 3, 3, 3, 3,
                                    3, 3, 3, 8, 3, 1, 0, 0, 0, 0, 0, 8};
    struct gpu_rig r;

    (void)state;
    init(&r);
    reg_chain(&r, 4);
    for (size_t i = 0; i < TFD_COUNT(sizes); i++)
        check_vector(&r, sizes[i], (double)i, 4);
    gpu_deinit(&r);
}

static void test_host_values_are_part_of_what_was_captured(void **state)
{
    static const double by[] = {2, 2, 2, 3, 2, 5, 5, 5, 5, 5, 5, 2, 5};
    struct gpu_rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    wrig_feed(&r.w, "by");
    gpu_node(&r.w, GPU0, "y", "TestScale", "x,by");
    gpu_node(&r.w, GPU0, "z", "TestMap", "y");
    gpu_fetch(&r.w, "z");
    gpu_ready(&r);
    for (size_t i = 0; i < TFD_COUNT(by); i++) {
        r.w.fed[1] = wrig_scalar(TFD_FLOAT, by[i]);
        gpu_go_with(&r, (double)i);
        assert_true(wrig_result(&r.w, 0) == chained((double)i * by[i] + 1, 1));
    }
    gpu_deinit(&r);
}

static void test_values_that_are_passed_through(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    r.w.device = GPU0;
    wrig_const(&r.w, "c", 7);
    gpu_node(&r.w, GPU0, "same", "TestAlias", "x");
    gpu_node(&r.w, GPU0, "fixed", "TestAlias", "c");
    gpu_node(&r.w, GPU0, "y", "TestPlus", "same,fixed");
    gpu_node(&r.w, GPU0, "again", "TestAlias", "y");
    gpu_fetch(&r.w, "same");
    gpu_fetch(&r.w, "fixed");
    gpu_fetch(&r.w, "again");
    gpu_fetch(&r.w, "y");
    gpu_ready(&r);
    for (int i = 0; i < 12 || computed_now() > 0; i++) {
        assert_in_range(i, 0, STEPS_TO_SETTLE);
        gpu_go_with(&r, i);
        assert_true(wrig_result(&r.w, 0) == i);
        assert_true(wrig_result(&r.w, 1) == 7);
        assert_true(wrig_result(&r.w, 2) == i + 7);
        assert_true(wrig_result(&r.w, 3) == i + 7);
    }
    gpu_deinit(&r);
}

static void test_what_has_a_state_splits_parts(void **state)
{
    struct gpu_rig r;
    int asked = 7;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    chain(&r, "x", "a", 3);
    gpu_node(&r.w, GPU0, "s", "TestState", "a");
    gpu_node(&r.w, GPU0, "b", "TestPlus", "s,a");
    gpu_node(&r.w, GPU1, "c", "TestMap", "b");
    gpu_node(&r.w, GPU0, "d", "TestPlus", "c,b");
    gpu_fetch(&r.w, "d");
    gpu_ready(&r);
    for (int i = 0; asked != 1; i++) {
        double a = chained(i, 3), b = chained(a, 1) + a;

        assert_in_range(i, 0, STEPS_TO_SETTLE);
        gpu_go_with(&r, i);
        assert_true(wrig_result(&r.w, 0) == chained(b, 1) + b);
        asked = computed_now();
        assert_in_range(asked, 1, 7);
    }
    gpu_deinit(&r);
}

/* ---- Memory -------------------------------------------------------------- */

static void handle(struct gpu_rig *r, const char *name)
{
    r->w.device = GPU0;
    gpu_variable(&r->w, name, name, "VarHandleOp");
}

static void on_variable(struct gpu_rig *r, const char *name, const char *op,
                        const char *inputs)
{
    r->w.device = GPU0;
    wrig_attr_type(&r->w, "dtype", TFD_FLOAT);
    wrig_node(&r->w, name, op, inputs);
}

/* A variable keeps what it was given while the part goes on. */
static void test_outputs_that_are_kept_are_not_written_over(void **state)
{
    struct gpu_rig r;
    uint64_t step, keep, read;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    handle(&r, "v");
    chain(&r, "x", "y", 3);
    on_variable(&r, "set", "AssignVariableOp", "v,y");
    gpu_fetch(&r.w, "y");
    gpu_ready(&r);
    step = r.graph;
    handle(&r, "v");
    handle(&r, "w");
    on_variable(&r, "now", "ReadVariableOp", "v");
    on_variable(&r, "set", "AssignVariableOp", "w,now");
    gpu_ready(&r);
    keep = r.graph;
    handle(&r, "w");
    on_variable(&r, "kept", "ReadVariableOp", "w");
    gpu_fetch(&r.w, "kept");
    gpu_ready(&r);
    read = r.graph;
    for (int i = 0; i < 12; i++) {
        r.graph = step;
        gpu_go_with(&r, i);
        assert_true(wrig_result(&r.w, 0) == chained(i, 3));
        r.graph = keep;
        if (i % 3 == 0)
            gpu_go(&r);
        r.graph = read;
        gpu_go(&r);
        assert_true(wrig_result(&r.w, 0) == chained(i - i % 3, 3));
    }
    gpu_deinit(&r);
}

/* Read where it lies, which changes when it is assigned. */
static void test_variables_are_read_where_they_lie(void **state)
{
    struct gpu_rig r;
    uint64_t set, use;
    double now = 0;
    int captured = 0;

    (void)state;
    init_as(&r, 2, TFD_CUDA_GRAPHS_AUTO);
    wrig_feed(&r.w, "x");
    handle(&r, "v");
    on_variable(&r, "set", "AssignVariableOp", "v,x");
    gpu_ready(&r);
    set = r.graph;
    handle(&r, "v");
    on_variable(&r, "now", "ReadVariableOp", "v");
    gpu_node(&r.w, GPU0, "same", "TestAlias", "now");
    chain(&r, "same", "y", 10);
    gpu_fetch(&r.w, "y");
    gpu_fetch(&r.w, "same");
    gpu_ready(&r);
    use = r.graph;
    for (int i = 0; i < 40 || captured == 0; i++) {
        assert_in_range(i, 0, STEPS_TO_SETTLE);
        if (i == 0 || (i > 13 && i % 3 == 0)) {
            r.graph = set;
            now = i;
            gpu_go_with(&r, now);
        }
        r.graph = use;
        gpu_go(&r);
        assert_true(wrig_result(&r.w, 0) == chained(now, 10));
        assert_true(wrig_result(&r.w, 1) == now);
        captured += computed_now() == 0;
    }
    gpu_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_captured_kernels_are_asked_once),
        cmocka_unit_test(test_without_graphs_kernels_are_asked_each_time),
        cmocka_unit_test(test_a_trial_decides),
        cmocka_unit_test(test_few_kernels_are_not_tried),
        cmocka_unit_test(test_other_shapes_run_as_they_come),
        cmocka_unit_test(test_host_values_are_part_of_what_was_captured),
        cmocka_unit_test(test_values_that_are_passed_through),
        cmocka_unit_test(test_what_has_a_state_splits_parts),
        cmocka_unit_test(test_outputs_that_are_kept_are_not_written_over),
        cmocka_unit_test(test_variables_are_read_where_they_lie),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
