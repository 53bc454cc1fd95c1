/*
 * test_cuda_worker.c - a worker with GPUs: where values lie, how they cross,
 * and who waits for whom.
 */
#include "tests/support/gpu_rig.h"

/* ---- Kernels ------------------------------------------------------------- */

struct args {
    const float *x;
    float *y;
};

static enum tfd_code hold_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    fake_hold(k->stream);
    return gpu_compute_add(k, st);
}

static void wide(void *args)
{
    const struct args *a = args;

    for (int i = 0; i < 100000; i++)
        a->y[i] = *a->x + (float)i;
}

static enum tfd_code wide_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = {1, {100000}};
    struct args a = {.x = tfd_tensor_data(&k->in[0])};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &shape, st));
    a.y = tfd_tensor_data(&k->out[0]);
    return gpu_launch(k, wide, &a, sizeof(a), st);
}

static void last(void *args)
{
    const struct args *a = args;

    *a->y = a->x[99999];
}

static enum tfd_code last_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct args a = {.x = tfd_tensor_data(&k->in[0])};

    gpu_check_memory(k, &k->in[0]);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &scalar, st));
    a.y = tfd_tensor_data(&k->out[0]);
    return gpu_launch(k, last, &a, sizeof(a), st);
}

/* ---- A kernel that ends by an event -------------------------------------- */

struct later {
    struct tfd_cuda_closure closure; /* first */
    struct tfd_kctx *k;
    struct tfd_status st;
};

static void later_passed(struct tfd_cuda_closure *c, int error)
{
    struct later *l = (struct later *)c;
    struct tfd_kctx *k = l->k;
    struct tfd_status st = l->st;

    if (tfd_cuda_device_check(tfd_cuda_device_of(k->memory), error, "launch",
                              &st) == TFD_OK &&
        st.code == TFD_OK)
        (void)!gpu_compute_add(k, &st);
    free(l);
    tfd_kctx_finish(k, st.code == TFD_OK ? NULL : &st);
}

static void later_start(struct tfd_kctx *k)
{
    struct later *l = calloc(1, sizeof(*l));

    assert_non_null(l);
    assert_non_null(k->stream);
    l->closure.fn = later_passed;
    l->k = k;
    if (strcmp(k->kernel->op, "TestTooLate") == 0)
        tfd_fail(&l->st, TFD_INVALID_ARGUMENT, "seen too late");
    tfd_cuda_events_after(&tfd_cuda_device_of(k->memory)->events, k->stream,
                          &l->closure);
}

#define LATER(op_)                                             \
    {                                                          \
        .op = (op_), .device = TFD_GPU, .start = (later_start) \
    }

static const struct tfd_opdef ops[] = {
    GPU_OP("TestWide"),  GPU_OP("TestLast"),    GPU_STATEFUL("TestStay"),
    GPU_OP("TestLater"), GPU_OP("TestTooLate"),
};

static const struct tfd_kernel kernels[] = {
    GPU_KERNEL("TestAdd", gpu_compute_add),
    GPU_KERNEL("TestWide", wide_gpu),
    GPU_KERNEL("TestLast", last_gpu),
    GPU_KERNEL("TestStay", hold_gpu),
    LATER("TestLater"),
    LATER("TestTooLate"),
};

static const struct tfd_family family = GPU_FAMILY(ops, kernels);

/* ---- The rig ------------------------------------------------------------- */

/* The tests run with kernels as they come, and captured. */
static enum tfd_cuda_graphs graphs;

static void init(struct gpu_rig *r, int threads)
{
    const struct tfd_cuda_options o = gpu_options(8, graphs);

    gpu_init(r, threads, &family, &o);
}

/* ---- Tests --------------------------------------------------------------- */

static void test_values_cross_both_ways(void **state)
{
    struct gpu_rig r;

    (void)state;
    for (int threads = 0; threads < 3; threads++) {
        init(&r, threads);
        wrig_feed(&r.w, "x");
        r.w.device = GPU0;
        wrig_const(&r.w, "c", 3);
        gpu_add(&r.w, GPU0, "y", "x,c");
        gpu_add(&r.w, GPU0, "z", "y,y");
        gpu_fetch(&r.w, "z");
        gpu_fetch(&r.w, "c");
        gpu_ready(&r);
        for (int i = 0; i < 20; i++) {
            gpu_go_with(&r, i);
            assert_true(wrig_result(&r.w, 0) == 2 * (i + 3));
            assert_true(wrig_result(&r.w, 1) == 3);
        }
        gpu_deinit(&r);
    }
}

static void test_kernels_may_end_by_an_event(void **state)
{
    struct gpu_rig r;

    (void)state;
    for (int threads = 0; threads < 3; threads++) {
        init(&r, threads);
        wrig_feed(&r.w, "x");
        gpu_node(&r.w, GPU0, "a", "TestLater", "x");
        gpu_add(&r.w, GPU0, "y", "a,a");
        gpu_node(&r.w, GPU0, "b", "TestLater", "y");
        gpu_fetch(&r.w, "b");
        gpu_ready(&r);
        for (int i = 0; i < 20; i++) {
            gpu_go_with(&r, i);
            assert_true(wrig_result(&r.w, 0) == 2 * i);
        }
        gpu_deinit(&r);
    }
}

static void test_kernels_may_fail_by_an_event(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r, 2);
    wrig_feed(&r.w, "x");
    gpu_node(&r.w, GPU0, "a", "TestTooLate", "x");
    gpu_add(&r.w, GPU0, "y", "a,a");
    gpu_fetch(&r.w, "y");
    gpu_ready(&r);
    for (int i = 0; i < 20; i++) {
        r.w.fed[0] = wrig_scalar(TFD_FLOAT, i);
        assert_int_equal(wrig_run(&r.w, r.graph), TFD_INVALID_ARGUMENT);
        assert_non_null(strstr(r.w.st.text, "seen too late"));
    }
    gpu_deinit(&r);
}

static void test_devices_say_what_they_are(void **state)
{
    const struct tfd_device *rows;
    struct gpu_rig r;

    (void)state;
    init(&r, 0);
    rows = tfd_gpus_rows(r.gpus);
    assert_int_equal(tfd_gpus_count(r.gpus), 2);
    assert_string_equal(rows[1].attributes.physical,
                        "device: 1, name: Fake 1, pci bus id: 0000:02:00.0, "
                        "compute capability: 9.1");
    assert_int_equal(rows[1].attributes.memory_limit, 8 * FAKE_MIB);
    gpu_deinit(&r);
}

static void test_values_cross_between_devices(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r, 2);
    r.w.device = GPU0;
    wrig_const(&r.w, "c", 5);
    gpu_add(&r.w, GPU0, "a", "c,c");
    gpu_add(&r.w, GPU1, "b", "a,c");
    gpu_add(&r.w, GPU0, "d", "b,a");
    gpu_fetch(&r.w, "d");
    gpu_ready(&r);
    for (int i = 0; i < 10; i++) {
        gpu_go(&r);
        assert_true(wrig_result(&r.w, 0) == 25);
    }
    gpu_deinit(&r);
}

/* Larger copies go by streams of their own. */
static void test_large_values_cross_in_order(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r, 2);
    wrig_feed(&r.w, "x");
    gpu_node(&r.w, GPU0, "wide", "TestWide", "x");
    gpu_node(&r.w, WRIG_CPU0, "host", "Identity", "wide");
    gpu_node(&r.w, GPU1, "last", "TestLast", "host");
    gpu_node(&r.w, GPU0, "again", "TestLast", "host");
    gpu_fetch(&r.w, "last");
    gpu_fetch(&r.w, "again");
    gpu_fetch(&r.w, "wide");
    gpu_ready(&r);
    for (int i = 0; i < 5; i++) {
        gpu_go_with(&r, i);
        assert_true(wrig_result(&r.w, 0) == i + 99999);
        assert_true(wrig_result(&r.w, 1) == i + 99999);
        assert_int_equal(tfd_tensor_elements(&r.w.fetched[2]), 100000);
    }
    gpu_deinit(&r);
}

static void test_steps_do_not_wait_for_what_nobody_reads(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r, 1);
    wrig_const(&r.w, "c", 5);
    gpu_node(&r.w, GPU0, "held", "TestStay", "c");
    gpu_add(&r.w, GPU0, "more", "held,held");
    gpu_fetch(&r.w, "c");
    gpu_ready(&r);
    gpu_go(&r); /* while the stream is held */
    assert_true(wrig_result(&r.w, 0) == 5);
    gpu_deinit(&r);
}

static void test_steps_wait_for_what_is_fetched(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r, 1);
    wrig_const(&r.w, "c", 5);
    gpu_node(&r.w, GPU0, "held", "TestStay", "c");
    gpu_fetch(&r.w, "held");
    gpu_ready(&r);
    wrig_start(&r.w, r.graph);
    tfd_loop_settle(r.w.loop);
    assert_false(r.w.done);
    fake_let_go();
    wrig_wait(&r.w);
    assert_int_equal(r.w.st.code, TFD_OK);
    assert_true(wrig_result(&r.w, 0) == 5);
    gpu_deinit(&r);
}

/* TestCount is a CPU kernel with everything in host memory. */
static void test_host_kernels_see_host_memory(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r, 1);
    r.w.device = GPU0;
    wrig_const(&r.w, "c", 5);
    gpu_add(&r.w, GPU0, "a", "c,c");
    gpu_node(&r.w, GPU0, "host", "TestCount", "a");
    gpu_node(&r.w, GPU0, "async", "TestAtOnce", "host");
    gpu_add(&r.w, GPU0, "b", "async,a");
    gpu_fetch(&r.w, "b");
    gpu_ready(&r);
    gpu_go(&r);
    assert_true(wrig_result(&r.w, 0) == 20);
    gpu_deinit(&r);
}

static void test_int32_constants_stay_in_host_memory(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r, 1);
    r.w.device = GPU0;
    wrig_const_of(&r.w, "c", TFD_INT32, 5, "");
    gpu_fetch(&r.w, "c");
    gpu_ready(&r);
    gpu_go(&r);
    assert_true(wrig_result(&r.w, 0) == 5);
    for (int i = 0; i < 2; i++) {
        struct tfd_cuda_memory_pool_stats s;

        tfd_cuda_memory_pool_stats(&tfd_gpus_at(r.gpus, i)->pool, &s);
        assert_int_equal(s.allocs, 0);
    }
    gpu_deinit(&r);
}

static void test_constants_with_control_inputs_cross(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r, 1);
    r.w.device = GPU0;
    wrig_node(&r.w, "n", "NoOp", "");
    wrig_const_of(&r.w, "c", TFD_FLOAT, 4, "^n");
    gpu_add(&r.w, GPU0, "a", "c,c");
    gpu_fetch(&r.w, "a");
    gpu_fetch(&r.w, "c");
    gpu_ready(&r);
    gpu_go(&r);
    assert_true(wrig_result(&r.w, 0) == 8);
    assert_true(wrig_result(&r.w, 1) == 4);
    gpu_deinit(&r);
}

static void test_variables_live_in_the_device(void **state)
{
    uint64_t assign, read;
    struct gpu_rig r;

    (void)state;
    init(&r, 1);
    r.w.device = GPU0;
    wrig_const(&r.w, "c", 7);
    gpu_variable(&r.w, "v", "v", "VariableV2");
    gpu_node(&r.w, GPU0, "a", "Assign", "v,c");
    gpu_fetch(&r.w, "a");
    assign = gpu_register(&r.w);
    r.w.device = GPU0;
    gpu_variable(&r.w, "v", "v", "VariableV2");
    gpu_node(&r.w, GPU0, "i", "Identity", "v");
    gpu_add(&r.w, GPU0, "twice", "i,v");
    gpu_fetch(&r.w, "twice");
    gpu_fetch(&r.w, "v");
    read = gpu_register(&r.w);
    assert_int_equal(wrig_run(&r.w, read), TFD_FAILED_PRECONDITION);
    gpu_run(&r.w, assign);
    assert_true(wrig_result(&r.w, 0) == 7);
    gpu_run(&r.w, read);
    assert_true(wrig_result(&r.w, 0) == 14);
    assert_true(wrig_result(&r.w, 1) == 7);
    gpu_deinit(&r);
}

static void test_resource_variables_live_in_the_device(void **state)
{
    uint64_t assign, read;
    struct gpu_rig r;

    (void)state;
    init(&r, 1);
    wrig_const(&r.w, "c", 7);
    r.w.device = GPU0;
    gpu_variable(&r.w, "h", "v", "VarHandleOp");
    wrig_attr_type(&r.w, "dtype", TFD_FLOAT);
    wrig_node(&r.w, "a", "AssignVariableOp", "h,c");
    gpu_fetch(&r.w, "c");
    assign = gpu_register(&r.w);
    r.w.device = GPU0;
    gpu_variable(&r.w, "h", "v", "VarHandleOp");
    wrig_attr_type(&r.w, "dtype", TFD_FLOAT);
    wrig_node(&r.w, "v", "ReadVariableOp", "h");
    gpu_add(&r.w, GPU0, "twice", "v,v");
    gpu_fetch(&r.w, "twice");
    read = gpu_register(&r.w);
    gpu_run(&r.w, assign);
    gpu_run(&r.w, read);
    assert_true(wrig_result(&r.w, 0) == 14);
    gpu_deinit(&r);
}

static void test_untaken_sides_are_dead_across_memories(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r, 1);
    wrig_feed_of(&r.w, "p", TFD_BOOL);
    r.w.device = GPU0;
    wrig_const(&r.w, "c", 3);
    gpu_node(&r.w, GPU0, "s", "Switch", "c,p");
    gpu_add(&r.w, GPU0, "t", "s:1,c");
    gpu_add(&r.w, WRIG_CPU0, "f", "s:0,s:0");
    wrig_attr_int(&r.w, "N", 2);
    gpu_node(&r.w, GPU0, "m", "Merge", "f,t");
    gpu_fetch(&r.w, "m");
    gpu_fetch(&r.w, "m:1");
    gpu_fetch(&r.w, "t");
    gpu_ready(&r);
    for (int i = 0; i < 6; i++) {
        r.w.fed[0] = wrig_scalar(TFD_BOOL, i % 2);
        gpu_go(&r);
        assert_true(wrig_result(&r.w, 0) == 6);
        assert_true(wrig_result(&r.w, 1) == i % 2);
        assert_int_equal(wrig_is_dead(&r.w, 2), i % 2 == 0);
    }
    gpu_deinit(&r);
}

/* i = 0; while (i < 10) i += 1: on the GPU, its condition on the host, and its
 * Enter and NextIteration where the CPU is. */
static void test_loops_run_on_a_device(void **state)
{
    struct gpu_rig r;

    (void)state;
    for (int threads = 0; threads < 3; threads++) {
        init(&r, threads);
        r.w.device = GPU0;
        wrig_const(&r.w, "zero", 0);
        wrig_const(&r.w, "ten", 10);
        wrig_const(&r.w, "one", 1);
        wrig_attr_str(&r.w, "frame_name", "f");
        gpu_node(&r.w, WRIG_CPU0, "enter", "Enter", "zero");
        wrig_attr_str(&r.w, "frame_name", "f");
        wrig_attr_bool(&r.w, "is_constant", true);
        gpu_node(&r.w, GPU0, "limit", "Enter", "ten");
        wrig_attr_str(&r.w, "frame_name", "f");
        wrig_attr_bool(&r.w, "is_constant", true);
        gpu_node(&r.w, WRIG_CPU0, "by", "Enter", "one");
        wrig_attr_int(&r.w, "N", 2);
        gpu_node(&r.w, GPU0, "merge", "Merge", "enter,next");
        gpu_node(&r.w, GPU0, "less", "TestLess", "merge,limit");
        r.w.device = GPU0;
        wrig_node(&r.w, "cond", "LoopCond", "less");
        gpu_node(&r.w, GPU0, "switch", "Switch", "merge,cond");
        gpu_node(&r.w, GPU0, "exit", "Exit", "switch:0");
        gpu_add(&r.w, GPU0, "more", "switch:1,by");
        gpu_node(&r.w, WRIG_CPU0, "next", "NextIteration", "more");
        gpu_fetch(&r.w, "exit");
        gpu_ready(&r);
        for (int i = 0; i < 5; i++) {
            gpu_go(&r);
            assert_true(wrig_result(&r.w, 0) == 10);
        }
        gpu_deinit(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_cross_both_ways),
        cmocka_unit_test(test_kernels_may_end_by_an_event),
        cmocka_unit_test(test_kernels_may_fail_by_an_event),
        cmocka_unit_test(test_devices_say_what_they_are),
        cmocka_unit_test(test_values_cross_between_devices),
        cmocka_unit_test(test_large_values_cross_in_order),
        cmocka_unit_test(test_steps_do_not_wait_for_what_nobody_reads),
        cmocka_unit_test(test_steps_wait_for_what_is_fetched),
        cmocka_unit_test(test_host_kernels_see_host_memory),
        cmocka_unit_test(test_int32_constants_stay_in_host_memory),
        cmocka_unit_test(test_constants_with_control_inputs_cross),
        cmocka_unit_test(test_variables_live_in_the_device),
        cmocka_unit_test(test_resource_variables_live_in_the_device),
        cmocka_unit_test(test_untaken_sides_are_dead_across_memories),
        cmocka_unit_test(test_loops_run_on_a_device),
    };

    int failed;

    graphs = TFD_CUDA_GRAPHS_OFF;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    graphs = TFD_CUDA_GRAPHS_ON;
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
