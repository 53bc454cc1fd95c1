/*
 * test_cuda_worker.c - a worker with GPUs that are not there: kernels run on
 * the threads of tests/support/fake_cuda.h, so that order, completion and what
 * lies in which memory are real.
 */
#include "daemon/gpu.h"

#include "daemon/worker/device.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/worker_rig.h"

#define GPU0 WRIG_TASK "/device:GPU:0"
#define GPU1 WRIG_TASK "/device:GPU:1"

/* ---- Kernels ------------------------------------------------------------- */

struct sum_args {
    const float *x, *y;
    float *z;
};

static void sum(void *args)
{
    const struct sum_args *a = args;

    *a->z = *a->x + (a->y ? *a->y : 0);
}

static enum tfd_code launched(struct tfd_kctx *k, int error,
                              struct tfd_status *st)
{
    return tfd_cuda_device_check(tfd_cuda_device_of(k->memory), error, "launch",
                                 st);
}

/* Where a pointer lies is what the pools say, so a tensor of the wrong memory
 * is seen here and not only on a card. */
static void check_memory(const struct tfd_kctx *k, const struct tfd_tensor *t)
{
    struct tfd_cuda_pool *pool = tfd_cuda_pool_of(t->buffer);

    assert_non_null(pool);
    assert_ptr_equal(tfd_cuda_device_of(&pool->memory),
                     tfd_cuda_device_of(k->memory));
}

static enum tfd_code add_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct sum_args a = {NULL, NULL, NULL};

    for (int i = 0; i < k->in_count; i++)
        check_memory(k, &k->in[i]);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &scalar, st));
    check_memory(k, &k->out[0]);
    a.x = tfd_tensor_data(&k->in[0]);
    a.y = k->in_count > 1 ? tfd_tensor_data(&k->in[1]) : NULL;
    a.z = tfd_tensor_data(&k->out[0]);
    return launched(k, fake_launch(k->stream, sum, &a, sizeof(a)), st);
}

static enum tfd_code hold_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    fake_hold(k->stream);
    return add_gpu(k, st);
}

static void wide(void *args)
{
    const struct sum_args *a = args;

    for (int i = 0; i < 100000; i++)
        a->z[i] = *a->x + (float)i;
}

static enum tfd_code wide_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = {1, {100000}};
    struct sum_args a = {.x = tfd_tensor_data(&k->in[0])};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &shape, st));
    a.z = tfd_tensor_data(&k->out[0]);
    return launched(k, fake_launch(k->stream, wide, &a, sizeof(a)), st);
}

static void last(void *args)
{
    const struct sum_args *a = args;

    *a->z = a->x[99999];
}

static enum tfd_code last_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct sum_args a = {.x = tfd_tensor_data(&k->in[0])};

    check_memory(k, &k->in[0]);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &scalar, st));
    a.z = tfd_tensor_data(&k->out[0]);
    return launched(k, fake_launch(k->stream, last, &a, sizeof(a)), st);
}

/* 1 GiB, which no fake card has. */
static enum tfd_code huge_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = {1, {1 << 28}};

    return tfd_kctx_output(k, 0, TFD_FLOAT, &shape, st);
}

/* A kernel that breaks its device. */
static enum tfd_code break_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(add_gpu(k, st));
    fake_break(TFD_CUDA_ILLEGAL_ADDRESS);
    return TFD_OK;
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

    if (launched(k, error, &st) == TFD_OK && st.code == TFD_OK)
        (void)!add_gpu(k, &st);
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

#define ROW(op_, compute_)                                    \
    {                                                         \
        .op = (op_), .device = TFD_GPU, .compute = (compute_) \
    }

static const struct tfd_opdef ops[] = {
    {.name = "TestWide",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type"},
    {.name = "TestLast",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type"},
    {.name = "TestHuge",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type"},
    {.name = "TestBreak",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type",
     .flags = TFD_OP_STATEFUL},
    {.name = "TestStay",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type",
     .flags = TFD_OP_STATEFUL},
    {.name = "TestLater",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type"},
    {.name = "TestTooLate",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type"},
};

static const struct tfd_kernel kernels[] = {
    ROW("TestAdd", add_gpu),     ROW("TestWide", wide_gpu),
    ROW("TestLast", last_gpu),   ROW("TestHuge", huge_gpu),
    ROW("TestBreak", break_gpu), ROW("TestStay", hold_gpu),
    LATER("TestLater"),          LATER("TestTooLate"),
};

#define FLOAT_BIT (UINT32_C(1) << TFD_FLOAT)
#define INT_BIT (UINT32_C(1) << TFD_INT32)
static const struct tfd_borrowed borrowed[] = {
    {"Const", FLOAT_BIT, 0, 0},
    {"Const", INT_BIT, TFD_HOST_ALL, TFD_HOST_ALL},
    {"Identity", FLOAT_BIT, 0, 0},
    {"Switch", FLOAT_BIT, 2, 0},
    {"Merge", FLOAT_BIT, 0, 2},
    {"Enter", FLOAT_BIT, 0, 0},
    {"Exit", FLOAT_BIT, 0, 0},
    {"NextIteration", FLOAT_BIT, 0, 0},
    {"LoopCond", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"NoOp", 0, 0, 0},
    {"TestLess", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"TestCount", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"TestAtOnce", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"VariableV2", FLOAT_BIT, 0, 0},
    {"Assign", FLOAT_BIT, 0, 0},
    {"VarHandleOp", FLOAT_BIT, 0, 1},
    {"ReadVariableOp", FLOAT_BIT, 1, 0},
    {"AssignVariableOp", FLOAT_BIT, 1, 0},
};

static const struct tfd_family family = {
    .name = "fakegpu",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
    .borrowed = borrowed,
    .borrowed_count = TFD_COUNT(borrowed),
};

/* ---- The rig ------------------------------------------------------------- */

/* The tests run with kernels as they come, and captured. */
static enum tfd_cuda_graphs graphs;

struct rig {
    struct wrig w;
    struct tfd_gpus *gpus;
    int lost; /* atomic */
};

static void count_lost(void *ctx, const struct tfd_cuda_device *d)
{
    (void)d;
    __atomic_add_fetch(&((struct rig *)ctx)->lost, 1, __ATOMIC_RELAXED);
}

static void init(struct rig *r, int threads)
{
    const struct tfd_cuda_options o = {.count_max = -1,
                                       .memory_limit = (int64_t)(8 * FAKE_MIB),
                                       .graphs = graphs};
    struct tfd_status st = TFD_STATUS_INIT;

    fake_init();
    r->lost = 0;
    assert_int_equal(
        tfd_gpus_new(&fake_driver, &o, count_lost, r, &r->gpus, &st), TFD_OK);
    wrig_own_family = &family;
    wrig_init_as(&r->w, threads,
                 (struct tfd_worker_options){
                     .devices = tfd_gpus_rows(r->gpus),
                     .device_count = tfd_gpus_count(r->gpus),
                 });
}

static void deinit(struct rig *r)
{
    fake_let_go();
    wrig_deinit(&r->w);
    tfd_gpus_free(r->gpus);
    fake_deinit();
}

static void fetch_on_cpu(struct wrig *w, const char *from)
{
    w->device = WRIG_CPU0;
    wrig_fetch(w, from);
}

static void node(struct wrig *w, const char *device, const char *name,
                 const char *op, const char *inputs)
{
    w->device = device;
    wrig_attr_type(w, "T", TFD_FLOAT);
    wrig_node(w, name, op, inputs);
}

static void add(struct wrig *w, const char *device, const char *name,
                const char *inputs)
{
    wrig_attr_int(w, "N", *inputs && strchr(inputs, ',') ? 2 : 1);
    node(w, device, name, "TestAdd", inputs);
}

static void run_ok(struct wrig *w, uint64_t graph)
{
    if (wrig_run(w, graph) != TFD_OK)
        fail_msg("%s", w->st.text);
}

static uint64_t reg(struct wrig *w)
{
    uint64_t graph = wrig_register(w);

    if (!graph)
        fail_msg("%s", w->st.text);
    return graph;
}

/* ---- Tests --------------------------------------------------------------- */

static void test_values_cross_both_ways(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    for (int threads = 0; threads < 3; threads++) {
        init(&r, threads);
        wrig_feed(&r.w, "x");
        r.w.device = GPU0;
        wrig_const(&r.w, "c", 3);
        add(&r.w, GPU0, "y", "x,c");
        add(&r.w, GPU0, "z", "y,y");
        fetch_on_cpu(&r.w, "z");
        fetch_on_cpu(&r.w, "c");
        graph = reg(&r.w);
        for (int i = 0; i < 20; i++) {
            r.w.fed[0] = wrig_scalar(TFD_FLOAT, i);
            run_ok(&r.w, graph);
            assert_true(wrig_result(&r.w, 0) == 2 * (i + 3));
            assert_true(wrig_result(&r.w, 1) == 3);
        }
        deinit(&r);
    }
}

static void test_kernels_may_end_by_an_event(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    for (int threads = 0; threads < 3; threads++) {
        init(&r, threads);
        wrig_feed(&r.w, "x");
        node(&r.w, GPU0, "a", "TestLater", "x");
        add(&r.w, GPU0, "y", "a,a");
        node(&r.w, GPU0, "b", "TestLater", "y");
        fetch_on_cpu(&r.w, "b");
        graph = reg(&r.w);
        for (int i = 0; i < 20; i++) {
            r.w.fed[0] = wrig_scalar(TFD_FLOAT, i);
            run_ok(&r.w, graph);
            assert_true(wrig_result(&r.w, 0) == 2 * i);
        }
        deinit(&r);
    }
}

static void test_kernels_may_fail_by_an_event(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    init(&r, 2);
    wrig_feed(&r.w, "x");
    node(&r.w, GPU0, "a", "TestTooLate", "x");
    add(&r.w, GPU0, "y", "a,a");
    fetch_on_cpu(&r.w, "y");
    graph = reg(&r.w);
    for (int i = 0; i < 20; i++) {
        r.w.fed[0] = wrig_scalar(TFD_FLOAT, i);
        assert_int_equal(wrig_run(&r.w, graph), TFD_INVALID_ARGUMENT);
        assert_non_null(strstr(r.w.st.text, "seen too late"));
    }
    deinit(&r);
}

static void test_devices_say_what_they_are(void **state)
{
    const struct tfd_device *rows;
    struct rig r;

    (void)state;
    init(&r, 0);
    rows = tfd_gpus_rows(r.gpus);
    assert_int_equal(tfd_gpus_count(r.gpus), 2);
    assert_string_equal(rows[1].attributes.physical,
                        "device: 1, name: Fake 1, pci bus id: 0000:02:00.0, "
                        "compute capability: 9.1");
    assert_int_equal(rows[1].attributes.memory_limit, 8 * FAKE_MIB);
    deinit(&r);
}

static void test_values_cross_between_devices(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    init(&r, 2);
    r.w.device = GPU0;
    wrig_const(&r.w, "c", 5);
    add(&r.w, GPU0, "a", "c,c");
    add(&r.w, GPU1, "b", "a,c");
    add(&r.w, GPU0, "d", "b,a");
    fetch_on_cpu(&r.w, "d");
    graph = reg(&r.w);
    for (int i = 0; i < 10; i++) {
        run_ok(&r.w, graph);
        assert_true(wrig_result(&r.w, 0) == 25);
    }
    deinit(&r);
}

/* Larger copies go by streams of their own. */
static void test_large_values_cross_in_order(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    init(&r, 2);
    wrig_feed(&r.w, "x");
    node(&r.w, GPU0, "wide", "TestWide", "x");
    node(&r.w, WRIG_CPU0, "host", "Identity", "wide");
    node(&r.w, GPU1, "last", "TestLast", "host");
    node(&r.w, GPU0, "again", "TestLast", "host");
    fetch_on_cpu(&r.w, "last");
    fetch_on_cpu(&r.w, "again");
    fetch_on_cpu(&r.w, "wide");
    graph = reg(&r.w);
    for (int i = 0; i < 5; i++) {
        r.w.fed[0] = wrig_scalar(TFD_FLOAT, i);
        run_ok(&r.w, graph);
        assert_true(wrig_result(&r.w, 0) == i + 99999);
        assert_true(wrig_result(&r.w, 1) == i + 99999);
        assert_int_equal(tfd_tensor_elements(&r.w.fetched[2]), 100000);
    }
    deinit(&r);
}

static void test_steps_do_not_wait_for_what_nobody_reads(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    init(&r, 1);
    wrig_const(&r.w, "c", 5);
    node(&r.w, GPU0, "held", "TestStay", "c");
    add(&r.w, GPU0, "more", "held,held");
    fetch_on_cpu(&r.w, "c");
    graph = reg(&r.w);
    run_ok(&r.w, graph); /* while the stream is held */
    assert_true(wrig_result(&r.w, 0) == 5);
    deinit(&r);
}

static void test_steps_wait_for_what_is_fetched(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    init(&r, 1);
    wrig_const(&r.w, "c", 5);
    node(&r.w, GPU0, "held", "TestStay", "c");
    fetch_on_cpu(&r.w, "held");
    graph = reg(&r.w);
    wrig_start(&r.w, graph);
    tfd_loop_settle(r.w.loop);
    assert_false(r.w.done);
    fake_let_go();
    wrig_wait(&r.w);
    assert_int_equal(r.w.st.code, TFD_OK);
    assert_true(wrig_result(&r.w, 0) == 5);
    deinit(&r);
}

/* TestCount is a CPU kernel with everything in host memory. */
static void test_host_kernels_see_host_memory(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    init(&r, 1);
    r.w.device = GPU0;
    wrig_const(&r.w, "c", 5);
    add(&r.w, GPU0, "a", "c,c");
    node(&r.w, GPU0, "host", "TestCount", "a");
    node(&r.w, GPU0, "async", "TestAtOnce", "host");
    add(&r.w, GPU0, "b", "async,a");
    fetch_on_cpu(&r.w, "b");
    graph = reg(&r.w);
    run_ok(&r.w, graph);
    assert_true(wrig_result(&r.w, 0) == 20);
    deinit(&r);
}

static void test_int32_constants_stay_in_host_memory(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    init(&r, 1);
    r.w.device = GPU0;
    wrig_const_of(&r.w, "c", TFD_INT32, 5, "");
    fetch_on_cpu(&r.w, "c");
    graph = reg(&r.w);
    run_ok(&r.w, graph);
    assert_true(wrig_result(&r.w, 0) == 5);
    for (int i = 0; i < 2; i++) {
        struct tfd_cuda_pool_stats s;

        tfd_cuda_pool_stats(&tfd_gpus_at(r.gpus, i)->pool, &s);
        assert_int_equal(s.allocs, 0);
    }
    deinit(&r);
}

static void test_constants_with_control_inputs_cross(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    init(&r, 1);
    r.w.device = GPU0;
    wrig_node(&r.w, "n", "NoOp", "");
    wrig_const_of(&r.w, "c", TFD_FLOAT, 4, "^n");
    add(&r.w, GPU0, "a", "c,c");
    fetch_on_cpu(&r.w, "a");
    fetch_on_cpu(&r.w, "c");
    graph = reg(&r.w);
    run_ok(&r.w, graph);
    assert_true(wrig_result(&r.w, 0) == 8);
    assert_true(wrig_result(&r.w, 1) == 4);
    deinit(&r);
}

static void variable(struct wrig *w, const char *name, const char *op)
{
    const struct tfd_shape scalar = {0, {0}};

    wrig_attr_type(w, "dtype", TFD_FLOAT);
    tfd_attr_put_shape(wrig_attr(w, "shape"), &scalar);
    wrig_attr_str(w, "shared_name", "v");
    wrig_node(w, name, op, "");
}

static void test_variables_live_in_the_device(void **state)
{
    uint64_t assign, read;
    struct rig r;

    (void)state;
    init(&r, 1);
    r.w.device = GPU0;
    wrig_const(&r.w, "c", 7);
    variable(&r.w, "v", "VariableV2");
    node(&r.w, GPU0, "a", "Assign", "v,c");
    fetch_on_cpu(&r.w, "a");
    assign = reg(&r.w);
    r.w.device = GPU0;
    variable(&r.w, "v", "VariableV2");
    node(&r.w, GPU0, "i", "Identity", "v");
    add(&r.w, GPU0, "twice", "i,v");
    fetch_on_cpu(&r.w, "twice");
    fetch_on_cpu(&r.w, "v");
    read = reg(&r.w);
    assert_int_equal(wrig_run(&r.w, read), TFD_FAILED_PRECONDITION);
    run_ok(&r.w, assign);
    assert_true(wrig_result(&r.w, 0) == 7);
    run_ok(&r.w, read);
    assert_true(wrig_result(&r.w, 0) == 14);
    assert_true(wrig_result(&r.w, 1) == 7);
    deinit(&r);
}

static void test_resource_variables_live_in_the_device(void **state)
{
    uint64_t assign, read;
    struct rig r;

    (void)state;
    init(&r, 1);
    wrig_const(&r.w, "c", 7);
    r.w.device = GPU0;
    variable(&r.w, "h", "VarHandleOp");
    wrig_attr_type(&r.w, "dtype", TFD_FLOAT);
    wrig_node(&r.w, "a", "AssignVariableOp", "h,c");
    fetch_on_cpu(&r.w, "c");
    assign = reg(&r.w);
    r.w.device = GPU0;
    variable(&r.w, "h", "VarHandleOp");
    wrig_attr_type(&r.w, "dtype", TFD_FLOAT);
    wrig_node(&r.w, "v", "ReadVariableOp", "h");
    add(&r.w, GPU0, "twice", "v,v");
    fetch_on_cpu(&r.w, "twice");
    read = reg(&r.w);
    run_ok(&r.w, assign);
    run_ok(&r.w, read);
    assert_true(wrig_result(&r.w, 0) == 14);
    deinit(&r);
}

static void test_untaken_sides_are_dead_across_memories(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    init(&r, 1);
    wrig_feed_of(&r.w, "p", TFD_BOOL);
    r.w.device = GPU0;
    wrig_const(&r.w, "c", 3);
    node(&r.w, GPU0, "s", "Switch", "c,p");
    add(&r.w, GPU0, "t", "s:1,c");
    add(&r.w, WRIG_CPU0, "f", "s:0,s:0");
    wrig_attr_int(&r.w, "N", 2);
    node(&r.w, GPU0, "m", "Merge", "f,t");
    fetch_on_cpu(&r.w, "m");
    fetch_on_cpu(&r.w, "m:1");
    fetch_on_cpu(&r.w, "t");
    graph = reg(&r.w);
    for (int i = 0; i < 6; i++) {
        r.w.fed[0] = wrig_scalar(TFD_BOOL, i % 2);
        run_ok(&r.w, graph);
        assert_true(wrig_result(&r.w, 0) == 6);
        assert_true(wrig_result(&r.w, 1) == i % 2);
        assert_int_equal(wrig_is_dead(&r.w, 2), i % 2 == 0);
    }
    deinit(&r);
}

/* i = 0; while (i < 10) i += 1: on the GPU, its condition on the host, and its
 * Enter and NextIteration where the CPU is. */
static void test_loops_run_on_a_device(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    for (int threads = 0; threads < 3; threads++) {
        init(&r, threads);
        r.w.device = GPU0;
        wrig_const(&r.w, "zero", 0);
        wrig_const(&r.w, "ten", 10);
        wrig_const(&r.w, "one", 1);
        wrig_attr_str(&r.w, "frame_name", "f");
        node(&r.w, WRIG_CPU0, "enter", "Enter", "zero");
        wrig_attr_str(&r.w, "frame_name", "f");
        wrig_attr_bool(&r.w, "is_constant", true);
        node(&r.w, GPU0, "limit", "Enter", "ten");
        wrig_attr_str(&r.w, "frame_name", "f");
        wrig_attr_bool(&r.w, "is_constant", true);
        node(&r.w, WRIG_CPU0, "by", "Enter", "one");
        wrig_attr_int(&r.w, "N", 2);
        node(&r.w, GPU0, "merge", "Merge", "enter,next");
        node(&r.w, GPU0, "less", "TestLess", "merge,limit");
        r.w.device = GPU0;
        wrig_node(&r.w, "cond", "LoopCond", "less");
        node(&r.w, GPU0, "switch", "Switch", "merge,cond");
        node(&r.w, GPU0, "exit", "Exit", "switch:0");
        add(&r.w, GPU0, "more", "switch:1,by");
        node(&r.w, WRIG_CPU0, "next", "NextIteration", "more");
        fetch_on_cpu(&r.w, "exit");
        graph = reg(&r.w);
        for (int i = 0; i < 5; i++) {
            run_ok(&r.w, graph);
            assert_true(wrig_result(&r.w, 0) == 10);
        }
        deinit(&r);
    }
}

static void test_running_out_of_memory_is_survived(void **state)
{
    uint64_t huge, small;
    struct rig r;

    (void)state;
    init(&r, 1);
    wrig_const(&r.w, "c", 5);
    node(&r.w, GPU0, "h", "TestHuge", "c");
    fetch_on_cpu(&r.w, "h");
    huge = reg(&r.w);
    wrig_const(&r.w, "c", 5);
    add(&r.w, GPU0, "a", "c,c");
    fetch_on_cpu(&r.w, "a");
    small = reg(&r.w);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wrig_run(&r.w, huge), TFD_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(
            r.w.st.text, "OOM when allocating 1073741824 bytes on GPU:0"));
        run_ok(&r.w, small);
        assert_true(wrig_result(&r.w, 0) == 10);
    }
    assert_int_equal(r.lost, 0);
    deinit(&r);
}

static void test_failed_copy_fails_its_step_only(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    init(&r, 1);
    wrig_feed(&r.w, "x");
    add(&r.w, GPU0, "a", "x,x");
    fetch_on_cpu(&r.w, "a");
    graph = reg(&r.w);
    fake.copy_error = 1;
    r.w.fed[0] = wrig_scalar(TFD_FLOAT, 1);
    assert_int_equal(wrig_run(&r.w, graph), TFD_INTERNAL);
    assert_non_null(strstr(r.w.st.text, "GPU:0: copy to device: some error"));
    fake.copy_error = 0;
    r.w.fed[0] = wrig_scalar(TFD_FLOAT, 1);
    run_ok(&r.w, graph);
    assert_int_equal(r.lost, 0);
    deinit(&r);
}

static void test_lost_device_ends_its_steps_once(void **state)
{
    uint64_t breaks, others;
    struct rig r;

    (void)state;
    init(&r, 1);
    wrig_const(&r.w, "c", 5);
    node(&r.w, GPU0, "b", "TestBreak", "c");
    fetch_on_cpu(&r.w, "b");
    breaks = reg(&r.w);
    wrig_const(&r.w, "c", 5);
    add(&r.w, GPU0, "a", "c,c");
    fetch_on_cpu(&r.w, "a");
    others = reg(&r.w);
    assert_int_equal(wrig_run(&r.w, breaks), TFD_UNAVAILABLE);
    assert_non_null(strstr(r.w.st.text, "GPU:0 is lost: an illegal memory"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wrig_run(&r.w, others), TFD_UNAVAILABLE);
        assert_non_null(strstr(r.w.st.text, "GPU:0 is lost"));
    }
    assert_int_equal(__atomic_load_n(&r.lost, __ATOMIC_RELAXED), 1);
    fake_break(0);
    deinit(&r);
}

static void test_no_gpu_without_a_driver(void **state)
{
    const struct tfd_cuda_options o = {.count_max = -1};
    struct tfd_gpus *g;

    (void)state;
    assert_int_equal(tfd_gpus_new(NULL, &o, NULL, NULL, &g, NULL), TFD_OK);
    assert_int_equal(tfd_gpus_count(g), 0);
    tfd_gpus_free(g);
}

static void test_device_that_cannot_be_used_is_an_error(void **state)
{
    const struct tfd_cuda_options o = {.count_max = -1};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_gpus *g;

    (void)state;
    fake_init();
    fake.stream_error = 46;
    assert_int_equal(tfd_gpus_new(&fake_driver, &o, NULL, NULL, &g, &st),
                     TFD_INTERNAL);
    assert_string_equal(st.text, "GPU:0: cannot be used: some error");
    fake_deinit();
}

/* Every row of cuda/host.c has its kernel. */
static void test_borrowed_kernels_are_there(void **state)
{
    const struct tfd_family *families[256];
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_registry r;

    (void)state;
    assert_true(tfd_family_count < 256);
    memcpy(families, tfd_families,
           sizeof(*families) * (size_t)tfd_family_count);
    families[tfd_family_count] = &tfd_cuda_family_host;
    if (tfd_registry_init(&r, families, tfd_family_count + 1, &st) != TFD_OK)
        fail_msg("%s", st.text);
    for (int i = 0; i < tfd_cuda_family_host.borrowed_count; i++) {
        const struct tfd_borrowed *b = &tfd_cuda_family_host.borrowed[i];
        const struct tfd_op *op = tfd_op_find(&r.ops, tfd_str_of(b->op));
        const struct tfd_kernel *const *row = r.kernels[op->index];

        while (*row && (*row)->device != TFD_GPU)
            row++;
        if (!*row)
            fail_msg("%s", b->op);
    }
    tfd_registry_deinit(&r);
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
        cmocka_unit_test(test_running_out_of_memory_is_survived),
        cmocka_unit_test(test_failed_copy_fails_its_step_only),
        cmocka_unit_test(test_lost_device_ends_its_steps_once),
        cmocka_unit_test(test_no_gpu_without_a_driver),
        cmocka_unit_test(test_device_that_cannot_be_used_is_an_error),
        cmocka_unit_test(test_borrowed_kernels_are_there),
    };

    int failed;

    graphs = TFD_CUDA_GRAPHS_OFF;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    graphs = TFD_CUDA_GRAPHS_ON;
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
