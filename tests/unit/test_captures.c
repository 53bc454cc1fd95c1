/*
 * test_captures.c - static parts of a graph on a GPU that is not there: what
 * captured kernels make is what they make one by one, and nothing waits that
 * did not wait before.
 */
#include "daemon/worker/captures.h"

#include "daemon/gpu.h"
#include "daemon/worker/device.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/worker_rig.h"

#define GPU0 WRIG_TASK "/device:GPU:0"
#define GPU1 WRIG_TASK "/device:GPU:1"

/* ---- Kernels ------------------------------------------------------------- */

static int computed; /* atomic: kernels that were asked to enqueue */

struct map_args {
    const float *x, *y;
    float *z;
    int64_t n;
    float by;
};

/* z = x * by + y */
static void map(void *args)
{
    const struct map_args *a = args;

    for (int64_t i = 0; i < a->n; i++)
        a->z[i] = a->x[i] * a->by + (a->y ? a->y[i] : 1);
}

static enum tfd_code enqueue(struct tfd_kctx *k, float by,
                             const struct tfd_tensor *y, struct tfd_status *st)
{
    struct map_args a = {.by = by, .n = tfd_tensor_elements(&k->in[0])};

    __atomic_add_fetch(&computed, 1, __ATOMIC_RELAXED);
    if (y && !tfd_shape_equal(&y->shape, &k->in[0].shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "shapes differ");
    TFD_TRY(tfd_kctx_output_reuse(k, 1, 0, TFD_FLOAT, &k->in[0].shape, st));
    a.x = tfd_tensor_data(&k->in[0]);
    a.y = y ? tfd_tensor_data(y) : NULL;
    a.z = tfd_tensor_data(&k->out[0]);
    return tfd_cuda_device_check(tfd_cuda_device_of(k->memory),
                                 fake_launch(k->stream, map, &a, sizeof(a)),
                                 "launch", st);
}

static enum tfd_code map_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    return enqueue(k, 2, NULL, st);
}

static enum tfd_code plus_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    return enqueue(k, 1, &k->in[1], st);
}

/* The factor is in host memory. */
static enum tfd_code scale_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    return enqueue(k, wrig_float_at(&k->in[1]), NULL, st);
}

static enum tfd_code alias_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    (void)st;
    tfd_kctx_output_alias(k, 0, 0, &k->in[0].shape);
    return TFD_OK;
}

#define ONE_INPUT(name_)                                      \
    {                                                         \
        .name = (name_), .inputs = "x: T", .outputs = "y: T", \
        .attrs = "T: type"                                    \
    }
#define TWO_INPUTS(name_)                                           \
    {                                                               \
        .name = (name_), .inputs = "x: T, y: T", .outputs = "z: T", \
        .attrs = "T: type"                                          \
    }

static const struct tfd_opdef ops[] = {
    ONE_INPUT("TestMap"),
    ONE_INPUT("TestAlias"),
    {.name = "TestState",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type",
     .flags = TFD_OP_STATEFUL},
    TWO_INPUTS("TestPlus"),
    TWO_INPUTS("TestScale"),
};

static const struct tfd_kernel kernels[] = {
    {.op = "TestMap", .device = TFD_GPU, .compute = map_gpu},
    {.op = "TestState", .device = TFD_GPU, .compute = map_gpu},
    {.op = "TestAlias", .device = TFD_GPU, .compute = alias_gpu},
    {.op = "TestPlus", .device = TFD_GPU, .compute = plus_gpu},
    {.op = "TestScale", .device = TFD_GPU, .compute = scale_gpu, .host_in = 2},
};

#define FLOAT_BIT (UINT32_C(1) << TFD_FLOAT)
static const struct tfd_borrowed borrowed[] = {
    {"Const", FLOAT_BIT, 0, 0},
    {"Identity", FLOAT_BIT, 0, 0},
    {"Switch", FLOAT_BIT, 2, 0},
    {"Merge", FLOAT_BIT, 0, 2},
    {"NoOp", 0, 0, 0},
    {"_Send", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"_Recv", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"VarHandleOp", FLOAT_BIT, 0, 1},
    {"ReadVariableOp", FLOAT_BIT, 1, 0},
    {"AssignVariableOp", FLOAT_BIT, 1, 0},
};

static const struct tfd_family family = {
    .name = "captures",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
    .borrowed = borrowed,
    .borrowed_count = TFD_COUNT(borrowed),
};

/* ---- The rig ------------------------------------------------------------- */

struct rig {
    struct wrig w;
    struct tfd_gpus *gpus;
    uint64_t graph;
};

static void lost(void *ctx, const struct tfd_cuda_device *d)
{
    (void)ctx;
    (void)d;
}

static void init_as(struct rig *r, int threads, enum tfd_cuda_graphs graphs)
{
    const struct tfd_cuda_options o = {.count_max = -1,
                                       .memory_limit = (int64_t)(32 * FAKE_MIB),
                                       .graphs = graphs};
    struct tfd_status st = TFD_STATUS_INIT;

    fake_init();
    computed = 0;
    assert_int_equal(tfd_gpus_new(&fake_driver, &o, lost, r, &r->gpus, &st),
                     TFD_OK);
    wrig_own_family = &family;
    wrig_init_as(&r->w, threads,
                 (struct tfd_worker_options){
                     .devices = tfd_gpus_rows(r->gpus),
                     .device_count = tfd_gpus_count(r->gpus),
                 });
}

static void init(struct rig *r)
{
    init_as(r, 2, TFD_CUDA_GRAPHS_ON);
}

static void deinit(struct rig *r)
{
    fake_let_go();
    wrig_deinit(&r->w);
    tfd_gpus_free(r->gpus);
    fake_deinit();
}

static void node(struct rig *r, const char *device, const char *name,
                 const char *op, const char *inputs)
{
    r->w.device = device;
    wrig_attr_type(&r->w, "T", TFD_FLOAT);
    wrig_node(&r->w, name, op, inputs);
}

/* x, mapped so many times. */
static void chain(struct rig *r, const char *from, const char *name, int count)
{
    char before[64], after[64];

    snprintf(before, sizeof(before), "%s", from);
    for (int i = 0; i < count; i++) {
        if (i + 1 < count)
            snprintf(after, sizeof(after), "%s_%d", name, i);
        else
            snprintf(after, sizeof(after), "%s", name);
        node(r, GPU0, after, "TestMap", before);
        memcpy(before, after, sizeof(before));
    }
}

static double chained(double x, int count)
{
    for (int i = 0; i < count; i++)
        x = 2 * x + 1;
    return x;
}

static void fetch(struct rig *r, const char *from)
{
    r->w.device = WRIG_CPU0;
    wrig_fetch(&r->w, from);
}

static void reg(struct rig *r)
{
    r->graph = wrig_register(&r->w);
    if (!r->graph)
        fail_msg("%s", r->w.st.text);
}

/* The graph of most tests: y is x, mapped so many times. */
static void reg_chain(struct rig *r, int count)
{
    wrig_feed(&r->w, "x");
    chain(r, "x", "y", count);
    fetch(r, "y");
    reg(r);
}

static void run_unfed(struct rig *r)
{
    if (wrig_run(&r->w, r->graph) != TFD_OK)
        fail_msg("%s", r->w.st.text);
}

static void run(struct rig *r, double x)
{
    r->w.fed[0] = wrig_scalar(TFD_FLOAT, x);
    run_unfed(r);
}

static struct tfd_tensor vector(int64_t n, double first)
{
    const struct tfd_shape shape = {1, {n}};
    struct tfd_tensor t;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &shape, NULL), TFD_OK);
    for (int64_t i = 0; i < n; i++)
        ((float *)tfd_tensor_data(&t))[i] = (float)(first + (double)i);
    return t;
}

/* Computed since it was last asked. */
static int computed_now(void)
{
    return __atomic_exchange_n(&computed, 0, __ATOMIC_RELAXED);
}

/* ---- Values -------------------------------------------------------------- */

static void test_captured_kernels_are_asked_once(void **state)
{
    struct rig r;

    (void)state;
    for (int threads = 1; threads < 3; threads++) {
        init_as(&r, threads, TFD_CUDA_GRAPHS_ON);
        reg_chain(&r, 5);
        for (int i = 0; i < 30; i++) {
            run(&r, i);
            assert_true(wrig_result(&r.w, 0) == chained(i, 5));
        }
        /* A step that was on the loop thread may have left it to the next. */
        assert_in_range(computed_now(), 5, 10);
        deinit(&r);
    }
}

static void test_without_graphs_kernels_are_asked_each_time(void **state)
{
    struct rig r;

    (void)state;
    init_as(&r, 2, TFD_CUDA_GRAPHS_OFF);
    reg_chain(&r, 5);
    for (int i = 0; i < 10; i++)
        run(&r, i);
    assert_int_equal(computed_now(), 50);
    deinit(&r);
}

static void test_a_trial_decides(void **state)
{
    struct rig r;

    (void)state;
    init_as(&r, 2, TFD_CUDA_GRAPHS_AUTO);
    reg_chain(&r, 12);
    for (int i = 0; i < 60; i++) {
        run(&r, i);
        assert_true(wrig_result(&r.w, 0) == chained(i, 12));
        if (i == 10)
            assert_int_equal(computed_now(), 11 * 12); /* plain */
        if (i == 14)
            assert_in_range(computed_now(), 12, 2 * 12); /* captured */
    }
    deinit(&r);
}

static void test_few_kernels_are_not_tried(void **state)
{
    struct rig r;

    (void)state;
    init_as(&r, 2, TFD_CUDA_GRAPHS_AUTO);
    reg_chain(&r, 3);
    for (int i = 0; i < 40; i++)
        run(&r, i);
    assert_int_equal(computed_now(), 120);
    deinit(&r);
}

static void check_vector(struct rig *r, int64_t n, double first, int count)
{
    r->w.fed[0] = vector(n, first);
    assert_int_equal(wrig_run(&r->w, r->graph), TFD_OK);
    assert_int_equal(tfd_tensor_elements(&r->w.fetched[0]), n);
    for (int64_t i = 0; i < n; i++)
        assert_true((double)((float *)tfd_tensor_data(&r->w.fetched[0]))[i] ==
                    chained(first + (double)i, count));
}

static void test_other_shapes_run_as_they_come(void **state)
{
    static const int64_t sizes[] = {8, 8, 8, 3, 8, 0, 8, 8, 3, 3, 3, 3,
                                    3, 3, 3, 8, 3, 1, 0, 0, 0, 0, 0, 8};
    struct rig r;

    (void)state;
    init(&r);
    reg_chain(&r, 4);
    for (size_t i = 0; i < TFD_COUNT(sizes); i++)
        check_vector(&r, sizes[i], (double)i, 4);
    deinit(&r);
}

static void test_host_values_are_part_of_what_was_captured(void **state)
{
    static const double by[] = {2, 2, 2, 3, 2, 5, 5, 5, 5, 5, 5, 2, 5};
    struct rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    wrig_feed(&r.w, "by");
    node(&r, GPU0, "y", "TestScale", "x,by");
    node(&r, GPU0, "z", "TestMap", "y");
    fetch(&r, "z");
    reg(&r);
    for (size_t i = 0; i < TFD_COUNT(by); i++) {
        r.w.fed[1] = wrig_scalar(TFD_FLOAT, by[i]);
        run(&r, (double)i);
        assert_true(wrig_result(&r.w, 0) == chained((double)i * by[i] + 1, 1));
    }
    deinit(&r);
}

static void test_values_that_are_passed_through(void **state)
{
    struct rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    r.w.device = GPU0;
    wrig_const(&r.w, "c", 7);
    node(&r, GPU0, "same", "TestAlias", "x");
    node(&r, GPU0, "fixed", "TestAlias", "c");
    node(&r, GPU0, "y", "TestPlus", "same,fixed");
    node(&r, GPU0, "again", "TestAlias", "y");
    fetch(&r, "same");
    fetch(&r, "fixed");
    fetch(&r, "again");
    fetch(&r, "y");
    reg(&r);
    for (int i = 0; i < 12; i++) {
        run(&r, i);
        assert_true(wrig_result(&r.w, 0) == i);
        assert_true(wrig_result(&r.w, 1) == 7);
        assert_true(wrig_result(&r.w, 2) == i + 7);
        assert_true(wrig_result(&r.w, 3) == i + 7);
    }
    assert_in_range(computed_now(), 1, 2);
    deinit(&r);
}

static void test_what_has_a_state_splits_parts(void **state)
{
    struct rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    chain(&r, "x", "a", 3);
    node(&r, GPU0, "s", "TestState", "a");
    node(&r, GPU0, "b", "TestPlus", "s,a");
    node(&r, GPU1, "c", "TestMap", "b");
    node(&r, GPU0, "d", "TestPlus", "c,b");
    fetch(&r, "d");
    reg(&r);
    for (int i = 0; i < 20; i++) {
        double a = chained(i, 3), b = chained(a, 1) + a;

        run(&r, i);
        assert_true(wrig_result(&r.w, 0) == chained(b, 1) + b);
    }
    assert_in_range(computed_now(), 20 + 6, 20 + 12);
    deinit(&r);
}

/* ---- Memory -------------------------------------------------------------- */

static void variable(struct rig *r, const char *name)
{
    const struct tfd_shape scalar = {0, {0}};

    r->w.device = GPU0;
    wrig_attr_type(&r->w, "dtype", TFD_FLOAT);
    tfd_attr_put_shape(wrig_attr(&r->w, "shape"), &scalar);
    wrig_attr_str(&r->w, "shared_name", name);
    wrig_node(&r->w, name, "VarHandleOp", "");
}

static void on_variable(struct rig *r, const char *name, const char *op,
                        const char *inputs)
{
    r->w.device = GPU0;
    wrig_attr_type(&r->w, "dtype", TFD_FLOAT);
    wrig_node(&r->w, name, op, inputs);
}

/* A variable keeps what it was given while the part goes on. */
static void test_outputs_that_are_kept_are_not_written_over(void **state)
{
    struct rig r;
    uint64_t step, keep, read;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    variable(&r, "v");
    chain(&r, "x", "y", 3);
    on_variable(&r, "set", "AssignVariableOp", "v,y");
    fetch(&r, "y");
    reg(&r);
    step = r.graph;
    variable(&r, "v");
    variable(&r, "w");
    on_variable(&r, "now", "ReadVariableOp", "v");
    on_variable(&r, "set", "AssignVariableOp", "w,now");
    reg(&r);
    keep = r.graph;
    variable(&r, "w");
    on_variable(&r, "kept", "ReadVariableOp", "w");
    fetch(&r, "kept");
    reg(&r);
    read = r.graph;
    for (int i = 0; i < 12; i++) {
        r.graph = step;
        run(&r, i);
        assert_true(wrig_result(&r.w, 0) == chained(i, 3));
        r.graph = keep;
        if (i % 3 == 0)
            run_unfed(&r);
        r.graph = read;
        run_unfed(&r);
        assert_true(wrig_result(&r.w, 0) == chained(i - i % 3, 3));
    }
    deinit(&r);
}

/* Read where it lies, which changes when it is assigned. */
static void test_variables_are_read_where_they_lie(void **state)
{
    struct rig r;
    uint64_t set, use;
    double now = 0;

    (void)state;
    init_as(&r, 2, TFD_CUDA_GRAPHS_AUTO);
    wrig_feed(&r.w, "x");
    variable(&r, "v");
    on_variable(&r, "set", "AssignVariableOp", "v,x");
    reg(&r);
    set = r.graph;
    variable(&r, "v");
    on_variable(&r, "now", "ReadVariableOp", "v");
    node(&r, GPU0, "same", "TestAlias", "now");
    chain(&r, "same", "y", 10);
    fetch(&r, "y");
    fetch(&r, "same");
    reg(&r);
    use = r.graph;
    for (int i = 0; i < 40; i++) {
        if (i == 0 || (i > 13 && i % 3 == 0)) {
            r.graph = set;
            now = i;
            run(&r, now);
        }
        r.graph = use;
        run_unfed(&r);
        assert_true(wrig_result(&r.w, 0) == chained(now, 10));
        assert_true(wrig_result(&r.w, 1) == now);
        if (i == 14)
            assert_in_range(computed_now(), 12 * 10, 13 * 10);
    }
    deinit(&r);
}

/* ---- Order --------------------------------------------------------------- */

/* What is received here was sent by the same step: no gate is in between. */
static void send_and_receive(struct rig *r)
{
    wrig_ends(&r->w, GPU0, GPU0, "t");
    node(r, GPU0, "send", "_Send", "a");
    wrig_ends(&r->w, GPU0, GPU0, "t");
    r->w.device = GPU0;
    wrig_attr_type(&r->w, "tensor_type", TFD_FLOAT);
    wrig_node(&r->w, "recv", "_Recv", "");
}

static void test_no_gate_waits_for_what_is_behind_it(void **state)
{
    struct rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    chain(&r, "x", "a", 2);
    send_and_receive(&r);
    chain(&r, "recv", "b", 2);
    node(&r, GPU0, "c", "TestPlus", "a,b");
    fetch(&r, "c");
    reg(&r);
    for (int i = 0; i < 20; i++) {
        run(&r, i);
        assert_true(wrig_result(&r.w, 0) == chained(i, 2) + chained(i, 4));
    }
    deinit(&r);
}

/* The kernel whose value a part needs goes on once another was seen, which
 * needs a value of the same part.  First steps are on compute threads. */
static void test_no_gate_waits_for_what_waits_for_others(void **state)
{
    struct rig r;

    (void)state;
    for (int i = 0; i < 4; i++) {
        init(&r);
        wrig_feed(&r.w, "x");
        node(&r, WRIG_CPU0, "held", "TestHold", "x");
        chain(&r, "x", "a", 2);
        node(&r, WRIG_CPU0, "seen", "TestHold", "a");
        chain(&r, "held", "b", 3);
        node(&r, GPU0, "c", "TestPlus", "a,b");
        fetch(&r, "c");
        fetch(&r, "seen");
        reg(&r);
        r.w.fed[0] = wrig_scalar(TFD_FLOAT, i);
        wrig_start(&r.w, r.graph);
        assert_true(wrig_wait_held(0) != wrig_wait_held(1));
        assert_true(wrig_let_go(wrig_wait_held(0)));
        assert_true(wrig_let_go(wrig_wait_held(1)));
        wrig_wait(&r.w);
        assert_int_equal(r.w.st.code, TFD_OK);
        assert_true(wrig_result(&r.w, 0) == chained(i, 2) + chained(i, 3));
        assert_true(wrig_result(&r.w, 1) == chained(i, 2));
        deinit(&r);
    }
}

static void test_dead_inputs_kill_what_they_did(void **state)
{
    struct rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    wrig_feed_of(&r.w, "p", TFD_BOOL);
    node(&r, GPU0, "s", "Switch", "x,p");
    node(&r, GPU0, "no", "TestMap", "s:0");
    node(&r, GPU0, "yes", "TestPlus", "s:1,x");
    wrig_attr_int(&r.w, "N", 2);
    node(&r, GPU0, "m", "Merge", "no,yes");
    chain(&r, "m", "y", 3);
    chain(&r, "x", "z", 2);
    fetch(&r, "y");
    fetch(&r, "z");
    fetch(&r, "no");
    reg(&r);
    for (int i = 0; i < 24; i++) {
        bool taken = i % 5 > 1;

        r.w.fed[1] = wrig_scalar(TFD_BOOL, taken);
        run(&r, i);
        assert_true(wrig_result(&r.w, 0) ==
                    chained(taken ? 2.0 * i : 2.0 * i + 1, 3));
        assert_true(wrig_result(&r.w, 1) == chained(i, 2));
        assert_int_equal(wrig_is_dead(&r.w, 2), taken);
    }
    deinit(&r);
}

static void test_dead_control_inputs_kill_what_they_did(void **state)
{
    struct rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    wrig_feed_of(&r.w, "p", TFD_BOOL);
    node(&r, GPU0, "s", "Switch", "x,p");
    node(&r, WRIG_CPU0, "when", "Identity", "s:1");
    node(&r, GPU0, "y", "TestMap", "x,^when");
    chain(&r, "x", "z", 2);
    fetch(&r, "y");
    fetch(&r, "z");
    reg(&r);
    for (int i = 0; i < 12; i++) {
        r.w.fed[1] = wrig_scalar(TFD_BOOL, i % 3 == 0);
        run(&r, i);
        assert_int_equal(wrig_is_dead(&r.w, 0), i % 3 != 0);
        assert_true(wrig_result(&r.w, 1) == chained(i, 2));
    }
    deinit(&r);
}

static void test_a_part_that_waits_for_nothing(void **state)
{
    struct rig r;

    (void)state;
    init(&r);
    r.w.device = GPU0;
    wrig_const(&r.w, "c", 3);
    chain(&r, "c", "y", 4);
    fetch(&r, "y");
    reg(&r);
    for (int i = 0; i < 10; i++) {
        run_unfed(&r);
        assert_true(wrig_result(&r.w, 0) == chained(3, 4));
    }
    deinit(&r);
}

/* ---- Failures ------------------------------------------------------------ */

static void test_kernels_that_fail_say_so_as_ever(void **state)
{
    struct rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    wrig_feed(&r.w, "y");
    chain(&r, "x", "a", 2);
    node(&r, GPU0, "sum", "TestPlus", "a,y");
    fetch(&r, "sum");
    reg(&r);
    for (int i = 0; i < 10; i++) {
        r.w.fed[0] = vector(4, i);
        r.w.fed[1] = vector(i % 2 ? 5 : 4, 0);
        assert_int_equal(wrig_run(&r.w, r.graph),
                         i % 2 ? TFD_INVALID_ARGUMENT : TFD_OK);
        if (i % 2)
            assert_string_equal(r.w.st.text,
                                "shapes differ\n\t [[{{node sum}}]]");
    }
    deinit(&r);
}

static void check_with_errors(int *error)
{
    struct rig r;

    init(&r);
    reg_chain(&r, 3);
    for (int i = 0; i < 12; i++) {
        *error = i % 4 < 3 ? TFD_CUDA_NO_MEMORY : TFD_CUDA_OK;
        run(&r, i);
        assert_true(wrig_result(&r.w, 0) == chained(i, 3));
    }
    *error = TFD_CUDA_OK;
    deinit(&r);
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
    struct rig r;

    (void)state;
    init(&r);
    wrig_feed(&r.w, "x");
    wrig_feed(&r.w, "by");
    node(&r, GPU0, "y", "TestScale", "x,by");
    fetch(&r, "y");
    reg(&r);
    for (int i = 0; i < 8; i++) {
        r.w.fed[1] = vector(5000, i);
        run(&r, i);
        assert_true(wrig_result(&r.w, 0) == (double)i * i + 1);
    }
    assert_int_equal(computed_now(), 8);
    deinit(&r);
}

/* More than a quarter of the card's memory: a capture may not have it. */
static void test_large_outputs_are_not_captured(void **state)
{
    struct rig r;

    (void)state;
    init(&r);
    reg_chain(&r, 3);
    for (int i = 0; i < 6; i++)
        check_vector(&r, 3 << 20 >> 1, i, 3);
    deinit(&r);
}

static void test_a_lost_device_ends_its_steps(void **state)
{
    struct rig r;

    (void)state;
    init(&r);
    reg_chain(&r, 3);
    for (int i = 0; i < 4; i++)
        run(&r, i);
    fake_break(TFD_CUDA_ILLEGAL_ADDRESS);
    for (int i = 0; i < 3; i++) {
        r.w.fed[0] = wrig_scalar(TFD_FLOAT, i);
        assert_int_equal(wrig_run(&r.w, r.graph), TFD_UNAVAILABLE);
    }
    deinit(&r);
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
