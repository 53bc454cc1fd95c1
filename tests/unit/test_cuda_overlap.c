/*
 * test_cuda_overlap.c - a worker whose copies to GPUs are held: what reads a
 * value that is on its way waits for it, whichever way it comes and goes, and
 * nothing else does.  The GPUs are those of tests/support/fake_cuda.h.
 */
#include "daemon/gpu.h"

#include "daemon/worker/device.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/worker_rig.h"

#include <sched.h>

#define GPU0 WRIG_TASK "/device:GPU:0"
#define GPU1 WRIG_TASK "/device:GPU:1"
#define COUNT 50000 /* floats */

/* ---- Kernels ------------------------------------------------------------- */

struct ends_args {
    const float *x[2];
    int64_t count[2];
    float *y;
};

static void ends(void *args)
{
    const struct ends_args *a = args;

    *a->y = 0;
    for (int i = 0; i < 2 && a->x[i]; i++)
        *a->y += a->x[i][0] + a->x[i][a->count[i] - 1];
}

/* The sum of the first and the last element of each input. */
static enum tfd_code ends_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct ends_args a = {.y = NULL};

    for (int i = 0; i < k->in_count; i++) {
        a.x[i] = tfd_tensor_data(&k->in[i]);
        a.count[i] = tfd_tensor_elements(&k->in[i]);
    }
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &scalar, st));
    a.y = tfd_tensor_data(&k->out[0]);
    return tfd_cuda_device_check(tfd_cuda_device_of(k->memory),
                                 fake_launch(k->stream, ends, &a, sizeof(a)),
                                 "launch", st);
}

static const struct tfd_opdef ops[] = {
    {.name = "TestEnds",
     .inputs = "x: N * T",
     .outputs = "y: T",
     .attrs = "T: type; N: int >= 1"},
};

static const struct tfd_kernel kernels[] = {
    {.op = "TestEnds", .device = TFD_GPU, .compute = ends_gpu},
};

#define FLOAT_BIT (UINT32_C(1) << TFD_FLOAT)
static const struct tfd_borrowed borrowed[] = {
    {"Const", FLOAT_BIT, 0, 0},
    {"Identity", FLOAT_BIT, 0, 0},
    {"VarHandleOp", FLOAT_BIT, 0, 1},
    {"ReadVariableOp", FLOAT_BIT, 1, 0},
    {"AssignVariableOp", FLOAT_BIT, 1, 0},
};

static const struct tfd_family family = {
    .name = "overlap",
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
};

static void lost(void *ctx, const struct tfd_cuda_device *d)
{
    (void)ctx;
    (void)d;
}

static void init(struct rig *r, enum tfd_cuda_graphs graphs)
{
    const struct tfd_cuda_options o = {.count_max = -1,
                                       .memory_limit = (int64_t)(32 * FAKE_MIB),
                                       .graphs = graphs};
    struct tfd_status st = TFD_STATUS_INIT;

    fake_init();
    assert_int_equal(tfd_gpus_new(&fake_driver, &o, lost, r, &r->gpus, &st),
                     TFD_OK);
    wrig_own_family = &family;
    wrig_init_as(&r->w, 2,
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

/* Also after what was held has been let go. */
static void hold(void *stream)
{
    pthread_mutex_lock(&fake.lock);
    fake.let_go = 0;
    pthread_mutex_unlock(&fake.lock);
    fake_hold(stream);
}

static struct tfd_tensor wide(float x)
{
    const struct tfd_shape shape = {1, {COUNT}};
    struct tfd_tensor t;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &shape, NULL), TFD_OK);
    for (int i = 0; i < COUNT; i++)
        ((float *)tfd_tensor_data(&t))[i] = x;
    return t;
}

static void node(struct rig *r, const char *device, const char *name,
                 const char *op, const char *inputs)
{
    r->w.device = device;
    wrig_attr_type(&r->w, "T", TFD_FLOAT);
    if (strcmp(op, "TestEnds") == 0)
        wrig_attr_int(&r->w, "N", strchr(inputs, ',') ? 2 : 1);
    wrig_node(&r->w, name, op, inputs);
}

static uint64_t reg(struct rig *r)
{
    uint64_t graph = wrig_register(&r->w);

    if (!graph)
        fail_msg("%s", r->w.st.text);
    return graph;
}

static void fetch(struct rig *r, const char *from)
{
    r->w.device = WRIG_CPU0;
    wrig_fetch(&r->w, from);
}

static void run(struct rig *r, uint64_t graph, float x)
{
    r->w.fed[0] = wide(x);
    if (wrig_run(&r->w, graph) != TFD_OK)
        fail_msg("%s", r->w.st.text);
}

/* Copies to the host that a device was asked for. */
static uint64_t asked(struct tfd_cuda_device *d)
{
    uint64_t count;

    tfd_lock(&d->events.lock);
    count = d->events.recorded;
    tfd_unlock(&d->events.lock);
    return count;
}

static bool is_waiting(void *stream)
{
    bool is = true;
    void *event;

    assert_int_equal(fake_event_make(&event), 0);
    assert_int_equal(fake_event_record(event, stream), 0);
    for (int i = 0; i < 20 && is; i++) {
        sched_yield();
        is = fake_event_query(event) == TFD_CUDA_NOT_READY;
    }
    fake_event_release(event);
    return is;
}

/* A step whose kernels on d, from which it fetches, have been enqueued and wait
 * for what is held. */
static void run_held(struct rig *r, uint64_t graph, struct tfd_cuda_device *d)
{
    uint64_t before = asked(d);

    wrig_start(&r->w, graph);
    while (asked(d) == before) {
        tfd_loop_settle(r->w.loop);
        sched_yield();
    }
    assert_true(is_waiting(d->stream));
    fake_let_go();
    wrig_wait(&r->w);
    r->w.worker->ops->cleanup_graph(r->w.worker, r->w.run.step_id);
    if (r->w.st.code != TFD_OK)
        fail_msg("%s", r->w.st.text);
}

static const enum tfd_cuda_graphs both[] = {TFD_CUDA_GRAPHS_OFF,
                                            TFD_CUDA_GRAPHS_ON};

/* ---- Tests --------------------------------------------------------------- */

static void test_kernels_wait_for_what_they_read(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    for (int i = 0; i < 2; i++) {
        init(&r, both[i]);
        wrig_feed(&r.w, "x");
        node(&r, GPU0, "y", "TestEnds", "x");
        node(&r, GPU0, "z", "TestEnds", "y,x");
        fetch(&r, "z");
        graph = reg(&r);
        for (int step = 0; step < 12; step++) {
            /* Captured by then, or not. */
            if (step % 3 == 2) {
                hold(tfd_gpus_at(r.gpus, 0)->in);
                r.w.fed[0] = wide((float)step);
                run_held(&r, graph, tfd_gpus_at(r.gpus, 0));
            } else {
                run(&r, graph, (float)step);
            }
            assert_true(wrig_result(&r.w, 0) == 6 * step);
        }
        deinit(&r);
    }
}

static void test_copies_between_devices_wait_for_what_they_read(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    for (int i = 0; i < 2; i++) {
        init(&r, both[i]);
        wrig_feed(&r.w, "x");
        node(&r, GPU0, "i", "Identity", "x");
        node(&r, GPU1, "y", "TestEnds", "i");
        fetch(&r, "y");
        graph = reg(&r);
        for (int step = 0; step < 12; step++) {
            if (step % 3 == 0) {
                run(&r, graph, (float)step);
            } else {
                hold(step % 3 == 1 ? tfd_gpus_at(r.gpus, 0)->in
                                   : tfd_gpus_at(r.gpus, 1)->across);
                r.w.fed[0] = wide((float)step);
                run_held(&r, graph, tfd_gpus_at(r.gpus, 1));
            }
            assert_true(wrig_result(&r.w, 0) == 2 * step);
        }
        deinit(&r);
    }
}

/* Captured kernels read it, and it is no input of theirs. */
static void test_constants_are_there_for_the_first_step(void **state)
{
    struct rig r;
    uint64_t graph;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct tfd_tensor c = wide((float)(100 + i));

        init(&r, both[i]);
        wrig_feed(&r.w, "x");
        tfd_attr_put_tensor(wrig_attr(&r.w, "value"), &c);
        wrig_attr_type(&r.w, "dtype", TFD_FLOAT);
        r.w.device = GPU0;
        wrig_node(&r.w, "c", "Const", "");
        node(&r, GPU0, "y", "TestEnds", "x,c");
        node(&r, GPU0, "z", "TestEnds", "y,c");
        fetch(&r, "z");
        hold(tfd_gpus_at(r.gpus, 0)->in);
        graph = reg(&r);
        r.w.fed[0] = wrig_scalar(TFD_FLOAT, 1);
        run_held(&r, graph, tfd_gpus_at(r.gpus, 0));
        assert_true(wrig_result(&r.w, 0) == 604 + 6 * i);
        for (int step = 0; step < 5; step++) {
            run(&r, graph, (float)step);
            assert_true(wrig_result(&r.w, 0) == 600 + 4 * step + 6 * i);
        }
        deinit(&r);
        tfd_tensor_unref(&c);
    }
}

static void variable(struct rig *r, const char *name)
{
    const struct tfd_shape shape = {1, {COUNT}};

    r->w.device = GPU0;
    wrig_attr_type(&r->w, "dtype", TFD_FLOAT);
    tfd_attr_put_shape(wrig_attr(&r->w, "shape"), &shape);
    wrig_attr_str(&r->w, "shared_name", "v");
    wrig_node(&r->w, name, "VarHandleOp", "");
}

/* The step that assigns it has long ended. */
static void test_variables_may_be_given_values_on_their_way(void **state)
{
    uint64_t assign, read;
    struct rig r;

    (void)state;
    for (int i = 0; i < 2; i++) {
        init(&r, both[i]);
        wrig_feed(&r.w, "x");
        variable(&r, "h");
        wrig_attr_type(&r.w, "dtype", TFD_FLOAT);
        wrig_node(&r.w, "a", "AssignVariableOp", "h,x");
        assign = reg(&r);
        variable(&r, "h");
        wrig_attr_type(&r.w, "dtype", TFD_FLOAT);
        wrig_node(&r.w, "v", "ReadVariableOp", "h");
        node(&r, GPU0, "y", "TestEnds", "v");
        fetch(&r, "y");
        read = reg(&r);
        for (int step = 0; step < 6; step++) {
            if (step % 2)
                hold(tfd_gpus_at(r.gpus, 0)->in);
            run(&r, assign, (float)step);
            if (step % 2)
                run_held(&r, read, tfd_gpus_at(r.gpus, 0));
            else if (wrig_run(&r.w, read) != TFD_OK)
                fail_msg("%s", r.w.st.text);
            assert_true(wrig_result(&r.w, 0) == 2 * step);
        }
        deinit(&r);
    }
}

/* A value is on its way to another graph, and nobody has read it yet. */
static void test_steps_that_read_nothing_of_it_end(void **state)
{
    uint64_t feed, other;
    struct rig r;

    (void)state;
    for (int i = 0; i < 2; i++) {
        init(&r, both[i]);
        wrig_feed(&r.w, "x");
        node(&r, GPU0, "i", "Identity", "x");
        node(&r, GPU0, "y", "TestEnds", "i");
        fetch(&r, "y");
        feed = reg(&r);
        wrig_feed(&r.w, "x");
        node(&r, GPU0, "y", "TestEnds", "x");
        node(&r, GPU0, "z", "TestEnds", "y,y");
        fetch(&r, "z");
        other = reg(&r);
        for (int step = 0; step < 4; step++) {
            struct tfd_tensor value = wide((float)step), out;
            struct tfd_device *d =
                (struct tfd_device *)(uintptr_t)tfd_gpus_rows(r.gpus);

            hold(tfd_gpus_at(r.gpus, 0)->in);
            assert_int_equal(d->place(d, &value, &out, NULL), TFD_OK);
            r.w.fed[0] = wrig_scalar(TFD_FLOAT, step);
            assert_int_equal(wrig_run(&r.w, other), TFD_OK);
            assert_true(wrig_result(&r.w, 0) == 8 * step);
            r.w.fed[0] = value;
            run_held(&r, feed, tfd_gpus_at(r.gpus, 0));
            assert_true(wrig_result(&r.w, 0) == 2 * step);
            tfd_tensor_unref(&out);
        }
        deinit(&r);
    }
}

#define TEST(f) cmocka_unit_test(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_kernels_wait_for_what_they_read),
        TEST(test_copies_between_devices_wait_for_what_they_read),
        TEST(test_constants_are_there_for_the_first_step),
        TEST(test_variables_may_be_given_values_on_their_way),
        TEST(test_steps_that_read_nothing_of_it_end),
    };

    tfd_alloc_cache_limit(0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
