/*
 * test_cuda_overlap.c - a worker whose copies to GPUs are held: what reads a
 * value that is on its way waits for it, whichever way it comes and goes, and
 * nothing else does.  The GPUs are those of tests/support/fake_cuda.h.
 */
#include "tests/support/gpu_rig.h"

#include <sched.h>

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
    return gpu_launch(k, ends, &a, sizeof(a), st);
}

static const struct tfd_opdef ops[] = {
    {.name = "TestEnds",
     .inputs = "x: N * T",
     .outputs = "y: T",
     .attrs = "T: type; N: int >= 1"},
};

static const struct tfd_kernel kernels[] = {
    GPU_KERNEL("TestEnds", ends_gpu),
};

static const struct tfd_family family = GPU_FAMILY(ops, kernels);

/* ---- The rig ------------------------------------------------------------- */

static void init(struct gpu_rig *r, enum tfd_cuda_graphs graphs)
{
    const struct tfd_cuda_options o = gpu_options(32, graphs);

    gpu_init(r, 2, &family, &o);
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

static void node(struct gpu_rig *r, const char *device, const char *name,
                 const char *inputs)
{
    wrig_attr_int(&r->w, "N", strchr(inputs, ',') ? 2 : 1);
    gpu_node(&r->w, device, name, "TestEnds", inputs);
}

static uint64_t reg(struct gpu_rig *r)
{
    uint64_t graph = wrig_register(&r->w);

    if (!graph)
        fail_msg("%s", r->w.st.text);
    return graph;
}

static void run(struct gpu_rig *r, uint64_t graph, float x)
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
static void run_held(struct gpu_rig *r, uint64_t graph,
                     struct tfd_cuda_device *d)
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
    struct gpu_rig r;
    uint64_t graph;

    (void)state;
    for (int i = 0; i < 2; i++) {
        init(&r, both[i]);
        wrig_feed(&r.w, "x");
        node(&r, GPU0, "y", "x");
        node(&r, GPU0, "z", "y,x");
        gpu_fetch(&r.w, "z");
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
        gpu_deinit(&r);
    }
}

static void test_copies_between_devices_wait_for_what_they_read(void **state)
{
    struct gpu_rig r;
    uint64_t graph;

    (void)state;
    for (int i = 0; i < 2; i++) {
        init(&r, both[i]);
        wrig_feed(&r.w, "x");
        gpu_node(&r.w, GPU0, "i", "Identity", "x");
        node(&r, GPU1, "y", "i");
        gpu_fetch(&r.w, "y");
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
        gpu_deinit(&r);
    }
}

/* Holds a GPU's thread until that GPU is about to end, or another has. */
static struct {
    struct tfd_cuda_closure closure;
    bool armed;
    int uses, streams;
} late;

static void wait_for_the_end(struct tfd_cuda_closure *c, int error)
{
    (void)c;
    assert_int_equal(error, 0);
    pthread_mutex_lock(&fake.lock);
    while (!late.armed ||
           (fake.uses[1] == late.uses && fake.streams == late.streams))
        pthread_cond_wait(&fake.changed, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
}

static void
test_what_a_copy_holds_is_let_go_before_either_gpu_ends(void **state)
{
    struct tfd_cuda_device *to;
    struct gpu_rig r;

    (void)state;
    init(&r, TFD_CUDA_GRAPHS_OFF);
    wrig_feed(&r.w, "x");
    gpu_node(&r.w, GPU0, "i", "Identity", "x");
    node(&r, GPU1, "y", "i");
    gpu_fetch(&r.w, "y");
    late.armed = false;
    late.closure.fn = wait_for_the_end;
    to = tfd_gpus_at(r.gpus, 1);
    tfd_cuda_events_after(&to->crossings, to->across, &late.closure);
    run(&r, reg(&r), 1);
    pthread_mutex_lock(&fake.lock);
    late.uses = fake.uses[1];
    late.streams = fake.streams;
    late.armed = true;
    pthread_mutex_unlock(&fake.lock);
    gpu_deinit(&r);
}

/* Captured kernels read it, and it is no input of theirs. */
static void test_constants_are_there_for_the_first_step(void **state)
{
    struct gpu_rig r;
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
        node(&r, GPU0, "y", "x,c");
        node(&r, GPU0, "z", "y,c");
        gpu_fetch(&r.w, "z");
        hold(tfd_gpus_at(r.gpus, 0)->in);
        graph = reg(&r);
        r.w.fed[0] = wrig_scalar(TFD_FLOAT, 1);
        run_held(&r, graph, tfd_gpus_at(r.gpus, 0));
        assert_true(wrig_result(&r.w, 0) == 604 + 6 * i);
        for (int step = 0; step < 5; step++) {
            run(&r, graph, (float)step);
            assert_true(wrig_result(&r.w, 0) == 600 + 4 * step + 6 * i);
        }
        gpu_deinit(&r);
        tfd_tensor_unref(&c);
    }
}

static void variable(struct gpu_rig *r, const char *name)
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
    struct gpu_rig r;

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
        node(&r, GPU0, "y", "v");
        gpu_fetch(&r.w, "y");
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
        gpu_deinit(&r);
    }
}

/* A value is on its way to another graph, and nobody has read it yet. */
static void test_steps_that_read_nothing_of_it_end(void **state)
{
    uint64_t feed, other;
    struct gpu_rig r;

    (void)state;
    for (int i = 0; i < 2; i++) {
        init(&r, both[i]);
        wrig_feed(&r.w, "x");
        gpu_node(&r.w, GPU0, "i", "Identity", "x");
        node(&r, GPU0, "y", "i");
        gpu_fetch(&r.w, "y");
        feed = reg(&r);
        wrig_feed(&r.w, "x");
        node(&r, GPU0, "y", "x");
        node(&r, GPU0, "z", "y,y");
        gpu_fetch(&r.w, "z");
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
        gpu_deinit(&r);
    }
}

/* ---- Cards of a process -------------------------------------------------- */

static const struct {
    const char *limits; /* of virtual devices */
    int devices, error, peers;
} cards[] = {
    {NULL, 1, 0, 0},   {NULL, 2, 0, 2},    {NULL, 3, 0, 6},
    {NULL, 3, 217, 0}, {"8,8;8", 2, 0, 2}, /* two of one card */
    {"8,8", 2, 0, 0},
};

static void test_cards_reach_each_other_where_they_can(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++) {
        const struct tfd_cuda_options o = {.count_max = -1,
                                           .virtual_limits = cards[i].limits};
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_gpus *gpus;

        fake_init();
        fake.devices = cards[i].devices;
        fake.peer_error = cards[i].error;
        for (int j = 0; j < FAKE_DEVICES; j++)
            fake.total[j] = 1024 * FAKE_MIB;
        assert_int_equal(tfd_gpus_new(&fake_driver, &o, NULL, NULL, &gpus, &st),
                         TFD_OK);
        assert_int_equal(
            tfd_gpus_count(gpus),
            cards[i].limits && cards[i].peers == 2 ? 3 : cards[i].devices);
        assert_int_equal(fake.peers, cards[i].peers);
        tfd_gpus_free(gpus);
        fake_deinit();
    }
}

#define TEST(f) cmocka_unit_test(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_kernels_wait_for_what_they_read),
        TEST(test_copies_between_devices_wait_for_what_they_read),
        TEST(test_what_a_copy_holds_is_let_go_before_either_gpu_ends),
        TEST(test_constants_are_there_for_the_first_step),
        TEST(test_variables_may_be_given_values_on_their_way),
        TEST(test_steps_that_read_nothing_of_it_end),
        TEST(test_cards_reach_each_other_where_they_can),
    };

    tfd_alloc_cache_limit(0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
