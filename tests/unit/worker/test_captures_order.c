/*
 * test_captures_order.c - captured parts of a graph: nothing waits that did
 * not wait before, dead values kill what they did, and failures are what they
 * are without captures.
 */
#include "tests/support/captures_rig.h"

/* ---- Order --------------------------------------------------------------- */

/* What is received here was sent by the same step: no gate is in between. */
static void send_and_receive(struct gpu_rig *r)
{
    wrig_ends(&r->w, GPU0, GPU0, "t");
    gpu_node(&r->w, GPU0, "send", "_Send", "a");
    wrig_ends(&r->w, GPU0, GPU0, "t");
    r->w.device = GPU0;
    wrig_attr_type(&r->w, "tensor_type", TFD_FLOAT);
    wrig_node(&r->w, "recv", "_Recv", "");
}

static void test_no_gate_waits_for_what_is_behind_it(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    chain(&r, "x", "a", 2);
    send_and_receive(&r);
    chain(&r, "recv", "b", 2);
    gpu_node(&r.w, GPU0, "c", "TestPlus", "a,b");
    gpu_fetch(&r.w, "c");
    gpu_ready(&r);
    for (int i = 0; i < 20; i++) {
        gpu_go_with(&r, i);
        assert_true(wrig_result(&r.w, 0) == chained(i, 2) + chained(i, 4));
    }
    gpu_deinit(&r);
}

/* The kernel whose value a part needs goes on once another was seen, which
 * needs a value of the same part.  First steps are on compute threads. */
static void test_no_gate_waits_for_what_waits_for_others(void **state)
{
    struct gpu_rig r;

    (void)state;
    for (int i = 0; i < 4; i++) {
        init(&r);
        wrig_feed(&r.w, "x");
        gpu_node(&r.w, WRIG_CPU0, "held", "TestHold", "x");
        chain(&r, "x", "a", 2);
        gpu_node(&r.w, WRIG_CPU0, "seen", "TestHold", "a");
        chain(&r, "held", "b", 3);
        gpu_node(&r.w, GPU0, "c", "TestPlus", "a,b");
        gpu_fetch(&r.w, "c");
        gpu_fetch(&r.w, "seen");
        gpu_ready(&r);
        r.w.fed[0] = wrig_scalar(TFD_FLOAT, i);
        wrig_start(&r.w, r.graph);
        assert_true(wrig_wait_held(0) != wrig_wait_held(1));
        assert_true(wrig_let_go(wrig_wait_held(0)));
        assert_true(wrig_let_go(wrig_wait_held(1)));
        wrig_wait(&r.w);
        assert_int_equal(r.w.st.code, TFD_OK);
        assert_true(wrig_result(&r.w, 0) == chained(i, 2) + chained(i, 3));
        assert_true(wrig_result(&r.w, 1) == chained(i, 2));
        gpu_deinit(&r);
    }
}

static void test_dead_inputs_kill_what_they_did(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    wrig_feed_of(&r.w, "p", TFD_BOOL);
    gpu_node(&r.w, GPU0, "s", "Switch", "x,p");
    gpu_node(&r.w, GPU0, "no", "TestMap", "s:0");
    gpu_node(&r.w, GPU0, "yes", "TestPlus", "s:1,x");
    wrig_attr_int(&r.w, "N", 2);
    gpu_node(&r.w, GPU0, "m", "Merge", "no,yes");
    chain(&r, "m", "y", 3);
    chain(&r, "x", "z", 2);
    gpu_fetch(&r.w, "y");
    gpu_fetch(&r.w, "z");
    gpu_fetch(&r.w, "no");
    gpu_ready(&r);
    for (int i = 0; i < 24; i++) {
        bool taken = i % 5 > 1;

        r.w.fed[1] = wrig_scalar(TFD_BOOL, taken);
        gpu_go_with(&r, i);
        assert_true(wrig_result(&r.w, 0) ==
                    chained(taken ? 2.0 * i : 2.0 * i + 1, 3));
        assert_true(wrig_result(&r.w, 1) == chained(i, 2));
        assert_int_equal(wrig_is_dead(&r.w, 2), taken);
    }
    gpu_deinit(&r);
}

static void test_dead_control_inputs_kill_what_they_did(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    wrig_feed_of(&r.w, "p", TFD_BOOL);
    gpu_node(&r.w, GPU0, "s", "Switch", "x,p");
    gpu_node(&r.w, WRIG_CPU0, "when", "Identity", "s:1");
    gpu_node(&r.w, GPU0, "y", "TestMap", "x,^when");
    chain(&r, "x", "z", 2);
    gpu_fetch(&r.w, "y");
    gpu_fetch(&r.w, "z");
    gpu_ready(&r);
    for (int i = 0; i < 12; i++) {
        r.w.fed[1] = wrig_scalar(TFD_BOOL, i % 3 == 0);
        gpu_go_with(&r, i);
        assert_int_equal(wrig_is_dead(&r.w, 0), i % 3 != 0);
        assert_true(wrig_result(&r.w, 1) == chained(i, 2));
    }
    gpu_deinit(&r);
}

static void test_a_part_that_waits_for_nothing(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r);
    r.w.device = GPU0;
    wrig_const(&r.w, "c", 3);
    chain(&r, "c", "y", 4);
    gpu_fetch(&r.w, "y");
    gpu_ready(&r);
    for (int i = 0; i < 10; i++) {
        gpu_go(&r);
        assert_true(wrig_result(&r.w, 0) == chained(3, 4));
    }
    gpu_deinit(&r);
}

/* ---- Failures ------------------------------------------------------------ */

static void test_kernels_that_fail_say_so_as_ever(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    wrig_feed(&r.w, "y");
    chain(&r, "x", "a", 2);
    gpu_node(&r.w, GPU0, "sum", "TestPlus", "a,y");
    gpu_fetch(&r.w, "sum");
    gpu_ready(&r);
    for (int i = 0; i < 10; i++) {
        r.w.fed[0] = vector(4, i);
        r.w.fed[1] = vector(i % 2 ? 5 : 4, 0);
        assert_int_equal(wrig_run(&r.w, r.graph),
                         i % 2 ? TFD_INVALID_ARGUMENT : TFD_OK);
        if (i % 2)
            assert_string_equal(r.w.st.text,
                                "shapes differ\n\t [[{{node sum}}]]");
    }
    gpu_deinit(&r);
}

static void check_with_errors(int *error)
{
    struct gpu_rig r;

    init(&r);
    reg_chain(&r, 3);
    for (int i = 0; i < 12; i++) {
        *error = i % 4 < 3 ? TFD_CUDA_NO_MEMORY : TFD_CUDA_OK;
        gpu_go_with(&r, i);
        assert_true(wrig_result(&r.w, 0) == chained(i, 3));
    }
    *error = TFD_CUDA_OK;
    gpu_deinit(&r);
}

static void test_without_a_capture_kernels_run_as_they_come(void **state)
{
    (void)state;
    check_with_errors(&fake.begin_error);
    check_with_errors(&fake.end_error);
    check_with_errors(&fake.launch_error);
}

static void test_large_values_in_host_memory_are_not_captured(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    wrig_feed(&r.w, "by");
    gpu_node(&r.w, GPU0, "y", "TestScale", "x,by");
    gpu_fetch(&r.w, "y");
    gpu_ready(&r);
    for (int i = 0; i < 8; i++) {
        r.w.fed[1] = vector(5000, i);
        gpu_go_with(&r, i);
        assert_true(wrig_result(&r.w, 0) == (double)i * i + 1);
    }
    assert_int_equal(computed_now(), 8);
    gpu_deinit(&r);
}

/* More than a quarter of the card's memory: a capture may not have it. */
static void test_large_outputs_are_not_captured(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r);
    reg_chain(&r, 3);
    for (int i = 0; i < 6; i++)
        check_vector(&r, 3 << 20 >> 1, i, 3);
    gpu_deinit(&r);
}

static void test_a_lost_device_ends_its_steps(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r);
    reg_chain(&r, 3);
    for (int i = 0; i < 4; i++)
        gpu_go_with(&r, i);
    fake_break(TFD_CUDA_ILLEGAL_ADDRESS);
    for (int i = 0; i < 3; i++) {
        r.w.fed[0] = wrig_scalar(TFD_FLOAT, i);
        assert_int_equal(wrig_run(&r.w, r.graph), TFD_UNAVAILABLE);
    }
    gpu_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_gate_waits_for_what_is_behind_it),
        cmocka_unit_test(test_no_gate_waits_for_what_waits_for_others),
        cmocka_unit_test(test_dead_inputs_kill_what_they_did),
        cmocka_unit_test(test_dead_control_inputs_kill_what_they_did),
        cmocka_unit_test(test_a_part_that_waits_for_nothing),
        cmocka_unit_test(test_kernels_that_fail_say_so_as_ever),
        cmocka_unit_test(test_without_a_capture_kernels_run_as_they_come),
        cmocka_unit_test(test_large_values_in_host_memory_are_not_captured),
        cmocka_unit_test(test_large_outputs_are_not_captured),
        cmocka_unit_test(test_a_lost_device_ends_its_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
