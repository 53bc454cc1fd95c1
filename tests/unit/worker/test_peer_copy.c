/*
 * test_peer_copy.c - values that go from a GPU of one task to one of another,
 * both of which are not there (tests/support/fake_cuda.h).
 */
#include "tests/support/gpu_rig.h"
#include "tests/support/two_tasks.h"

#define GPU(task) task "/device:GPU:0"
#define COUNT 100000 /* floats of a value that is worth a copy */
#define COUNT_SIZE (COUNT * sizeof(float))

static struct tfd_gpus *gpus[2];

/* ---- Kernels ------------------------------------------------------------- */

struct args {
    const float *x;
    float *y;
    int64_t count;
};

/* x, x + 1, ...: as many as COUNT says, or one. */
static void spread(void *p)
{
    const struct args *a = p;

    for (int64_t i = 0; i < a->count; i++)
        a->y[i] = *a->x + (float)i;
}

static enum tfd_code spread_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const bool wide = strcmp(k->kernel->op, "TestNarrow") != 0;
    const struct tfd_shape shape = {wide, {COUNT}};
    struct args a = {tfd_tensor_data(&k->in[0]), NULL, wide ? COUNT : 1};

    assert_non_null(tfd_cuda_memory_pool_of(k->in[0].buffer));
    if (strcmp(k->kernel->op, "TestHeld") == 0)
        fake_hold(k->stream);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &shape, st));
    a.y = tfd_tensor_data(&k->out[0]);
    return gpu_launch(k, spread, &a, sizeof(a), st);
}

static const struct tfd_opdef ops[] = {
    GPU_OP("TestWide"),
    GPU_OP("TestNarrow"),
    GPU_OP("TestHeld"),
};

static const struct tfd_kernel kernels[] = {
    GPU_KERNEL("TestWide", spread_gpu),
    GPU_KERNEL("TestNarrow", spread_gpu),
    GPU_KERNEL("TestHeld", spread_gpu),
};

static const struct tfd_family family = GPU_FAMILY(ops, kernels);

/* ---- The rig ------------------------------------------------------------- */

static int setup_gpus(void **state)
{
    struct tfd_cuda_options o = gpu_options(8, TFD_CUDA_GRAPHS_OFF);
    struct tfd_status st = TFD_STATUS_INIT;

    o.count_max = 1;
    fake_init();
    wrig_own_family = &family;
    task_device_count = 1;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            tfd_gpus_new(&fake_driver, &o, NULL, NULL, &gpus[i], &st), TFD_OK);
        task_devices[i] = tfd_gpus_rows(gpus[i]);
    }
    return setup(state);
}

static int teardown_gpus(void **state)
{
    fake_let_go();
    teardown(state);
    for (int i = 0; i < 2; i++)
        tfd_gpus_free(gpus[i]);
    fake_deinit();
    return 0;
}

static size_t copied(void)
{
    return __atomic_load_n(&tfd_gpus_at(gpus[1], 0)->peer_bytes,
                           __ATOMIC_RELAXED);
}

static size_t in_use(int i)
{
    struct tfd_cuda_memory_pool_stats stats;

    tfd_cuda_memory_pool_stats(&tfd_gpus_at(gpus[i], 0)->pool, &stats);
    return stats.in_use;
}

/* The loop runs until there is nothing of a step on either card. */
static void check_memory(struct tfd_timer *t)
{
    if (in_use(0) + in_use(1) == 0)
        wrig_stop(&task[0].w);
    else
        assert_int_equal(tfd_timer_start(t, 1000, NULL), TFD_OK);
}

static void wait_for_memory(void)
{
    struct tfd_timer t;

    tfd_timer_init(&t, loop, check_memory);
    assert_int_equal(tfd_timer_start(&t, 0, NULL), TFD_OK);
    task[0].w.done = false;
    wrig_wait(&task[0].w);
}

static void gpu_ends(struct wrig *w, const char *name, int channel)
{
    wrig_attr_str(w, "tensor_name", name);
    wrig_attr_str(w, "send_device", GPU(WRIG_TASK));
    wrig_attr_int(w, "send_device_incarnation", 1);
    wrig_attr_str(w, "recv_device", GPU(TASK1));
    wrig_attr_int(w, "_tfd_channel", channel);
}

static uint64_t gpu_producer(const char *op)
{
    struct wrig *w = &task[0].w;
    uint64_t graph;

    w->device = CPU(WRIG_TASK);
    wrig_feed(w, "x");
    w->device = GPU(WRIG_TASK);
    wrig_attr_type(w, "T", TFD_FLOAT);
    wrig_node(w, "wide", op, "x");
    gpu_ends(w, "e", 4);
    wrig_attr_type(w, "T", TFD_FLOAT);
    wrig_node(w, "send", "_Send", "wide");
    graph = wrig_register(w);
    if (!graph)
        fail_msg("%s", w->st.text);
    return graph;
}

static uint64_t gpu_consumer(void)
{
    struct wrig *w = &task[1].w;
    uint64_t graph;

    w->device = GPU(TASK1);
    gpu_ends(w, "e", 4);
    wrig_attr_type(w, "tensor_type", TFD_FLOAT);
    wrig_node(w, "recv", "_Recv", "");
    w->device = CPU(TASK1);
    wrig_fetch(w, "recv");
    graph = wrig_register(w);
    if (!graph)
        fail_msg("%s", w->st.text);
    return graph;
}

static void check_result(float x, int64_t count)
{
    const struct tfd_tensor *t = &task[1].w.fetched[0];
    const float *y = tfd_tensor_data(t);

    if (task[1].w.st.code != TFD_OK)
        fail_msg("%s", task[1].w.st.text);
    assert_int_equal(task[0].w.st.code, TFD_OK);
    assert_int_equal(tfd_tensor_elements(t), count);
    for (int64_t i = 0; i < count; i++)
        assert_true(y[i] == x + (float)i);
}

static void run_steps(uint64_t graph0, uint64_t graph1, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        run_both(graph0, graph1, 100 + i, (float)i, i % 2);
        check_result((float)i, COUNT);
        clean_both(100 + i);
    }
}

/* ---- Tests --------------------------------------------------------------- */

static void test_large_values_are_copied(void **state)
{
    uint64_t graph0 = gpu_producer("TestWide"), graph1 = gpu_consumer();

    (void)state;
    run_steps(graph0, graph1, 0, 20);
    assert_true(copied() >= 15 * COUNT_SIZE);
    assert_int_equal(copied() % COUNT_SIZE, 0);
    assert_int_equal(fake.maps, 1);
    wait_for_memory();
}

static void test_small_values_are_pushed(void **state)
{
    uint64_t graph0 = gpu_producer("TestNarrow"), graph1 = gpu_consumer();

    (void)state;
    for (int i = 0; i < 10; i++) {
        run_both(graph0, graph1, 100 + i, (float)i, i % 2);
        check_result((float)i, 1);
        clean_both(100 + i);
    }
    assert_int_equal(copied(), 0);
    assert_int_equal(fake.maps, 0);
    wait_for_memory();
}

static void test_a_peer_that_cannot_map_is_pushed_to(void **state)
{
    uint64_t graph0 = gpu_producer("TestWide"), graph1 = gpu_consumer();

    (void)state;
    fake.map_error = FAKE_INVALID;
    run_steps(graph0, graph1, 0, 5);
    fake.map_error = 0; /* it is not asked again */
    run_steps(graph0, graph1, 5, 5);
    assert_int_equal(copied(), 0);
    assert_int_equal(fake.maps, 0);
    wait_for_memory();
}

static void test_a_dead_value_crosses(void **state)
{
    struct wrig *w = &task[0].w;
    uint64_t graph0, graph1 = gpu_consumer();

    (void)state;
    w->device = CPU(WRIG_TASK);
    wrig_feed(w, "x");
    wrig_feed_of(w, "pred", TFD_BOOL);
    w->device = GPU(WRIG_TASK);
    wrig_attr_type(w, "T", TFD_FLOAT);
    wrig_node(w, "wide", "TestWide", "x");
    wrig_node(w, "switch", "Switch", "wide,pred");
    gpu_ends(w, "e", 4);
    wrig_attr_type(w, "T", TFD_FLOAT);
    wrig_node(w, "send", "_Send", "switch:1");
    graph0 = wrig_register(w);
    assert_true(graph0 != 0);
    for (int i = 0; i < 8; i++) {
        tfd_tensor_unref(&w->fed[1]);
        w->fed[1] = wrig_scalar(TFD_BOOL, i % 2);
        run_both(graph0, graph1, 100 + i, 3, i % 4 < 2);
        if (i % 2)
            check_result(3, COUNT);
        else
            assert_true(wrig_is_dead(&task[1].w, 0));
        clean_both(100 + i);
    }
    wait_for_memory();
}

/* What was never asked for goes with the step, and so does its sender's. */
static void test_a_value_that_nobody_takes_is_given_back(void **state)
{
    uint64_t graph0 = gpu_producer("TestWide"), graph1 = gpu_consumer();
    struct wrig *w = &task[0].w;
    size_t before;

    (void)state;
    run_steps(graph0, graph1, 0, 6);
    wait_for_memory();
    before = copied();
    for (int i = 0; i < 6; i++) {
        w->step = 200 + i;
        w->fed[0] = wrig_scalar(TFD_FLOAT, 1);
        wrig_start(w, graph0);
        wrig_wait(w);
        assert_int_equal(w->st.code, TFD_OK);
        assert_true(in_use(0) > 0);
        cleanup(&task[1], 200 + i);
        clean_both(200 + i);
        wait_for_memory();
    }
    assert_int_equal(copied(), before);
    run_steps(graph0, graph1, 10, 4);
    wait_for_memory();
}

/* The value has been offered and is not copied when the connection breaks. */
static void test_a_connection_that_breaks_gives_values_back(void **state)
{
    uint64_t graph0 = gpu_producer("TestWide"), graph1 = gpu_consumer();
    struct wrig *w0 = &task[0].w, *w1 = &task[1].w;

    (void)state;
    run_steps(graph0, graph1, 0, 6);
    wait_for_memory();
    w0->step = w1->step = 300;
    w0->fed[0] = wrig_scalar(TFD_FLOAT, 1);
    wrig_start(w0, graph0);
    wrig_wait(w0);
    assert_int_equal(w0->st.code, TFD_OK);
    break_connections();
    wait_for_memory();
    wrig_start(w1, graph1);
    wrig_wait(w1);
    assert_int_equal(w1->st.code, TFD_UNAVAILABLE);
    clean_both(300);
}

/* The producer's kernel has not run when its step fails. */
static void test_a_step_that_fails_ends_in_time(void **state)
{
    uint64_t graph0 = gpu_producer("TestWide"), graph1 = gpu_consumer();
    uint64_t held = gpu_producer("TestHeld");
    struct tfd_status why = {TFD_CANCELLED, "given up"};
    struct wrig *w0 = &task[0].w, *w1 = &task[1].w;

    (void)state;
    run_steps(graph0, graph1, 0, 6);
    w0->step = w1->step = 400;
    w0->fed[0] = wrig_scalar(TFD_FLOAT, 1);
    wrig_start(w0, held);
    wrig_start(w1, graph1);
    w1->worker->ops->cleanup_graph(w1->worker, 400);
    wrig_wait(w1);
    assert_int_equal(w1->st.code, TFD_ABORTED);
    tfd_worker_stop(w0->service, &why);
    fake_let_go();
    wrig_wait(w0);
    clean_both(400);
    wait_for_memory();
}

/* ---- Messages ------------------------------------------------------------ */

static void put_map(struct tfd_message *m, const char *host, const void *handle,
                    size_t size, int64_t device)
{
    begin(m);
    tfd_pb_put_str(&m->proto, tfd_MapMemory_host_tag, tfd_str_of(host));
    tfd_pb_put_str(&m->proto, tfd_MapMemory_handle_tag,
                   (struct tfd_str){handle, size});
    tfd_pb_put_int(&m->proto, tfd_MapMemory_device_tag, device);
}

static void test_bad_requests_to_map_are_refused(void **state)
{
    const char *host = task_devices[1]->share->host;
    static const char junk[TFD_DEVICE_HANDLE_SIZE + 1];
    const struct {
        const char *host;
        size_t size;
        int64_t device;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {host, 64, 0, TFD_INTERNAL, "map another process's memory"},
        {host, 63, 0, TFD_INVALID_ARGUMENT, "63 bytes"},
        {host, 65, 0, TFD_INVALID_ARGUMENT, "65 bytes"},
        {host, 0, 0, TFD_INVALID_ARGUMENT, "0 bytes"},
        {host, 64, 1, TFD_INVALID_ARGUMENT, "has no GPU:1"},
        {host, 64, -1, TFD_INVALID_ARGUMENT, "has no GPU:"},
        {"", 64, 0, TFD_FAILED_PRECONDITION, "another host"},
        {"elsewhere", 64, 0, TFD_FAILED_PRECONDITION, "another host"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_message m;
        struct answer a;

        put_map(&m, cases[i].host, junk, cases[i].size, cases[i].device);
        call(&task[1], TFD_METHOD_MapMemory, &m, &a);
        assert_int_equal(a.st.code, cases[i].code);
        assert_non_null(strstr(a.st.text, cases[i].text));
    }
}

struct numbered {
    struct answer a; /* first */
    uint64_t number;
};

static void mapped(void *ctx, const struct tfd_status *st,
                   const struct tfd_incoming *in)
{
    struct numbered *n = ctx;
    struct tfd_pb_reader r;
    struct tfd_pb_field f;

    if (in) {
        r = tfd_pb_reader_of(in->proto);
        while (tfd_pb_next(&r, &f))
            if (f.tag == tfd_MappedMemory_number_tag)
                n->number = f.number;
    }
    n->a.st = *st;
    n->a.done = true;
    wrig_stop(n->a.w);
}

static void put_copy(struct tfd_message *m, int64_t step, uint64_t memory,
                     int64_t offset, int dtype, const int64_t *dim, int rank)
{
    begin(m);
    tfd_pb_put_int(&m->proto, tfd_CopyTensor_step_id_tag, step);
    tfd_pb_put_int(&m->proto, tfd_CopyTensor_channel_tag, 4);
    tfd_pb_put_fixed64(&m->proto, tfd_CopyTensor_memory_tag, memory);
    tfd_pb_put_int(&m->proto, tfd_CopyTensor_offset_tag, offset);
    tfd_pb_put_int(&m->proto, tfd_CopyTensor_dtype_tag, dtype);
    for (int i = 0; i < rank; i++)
        tfd_pb_put_int_always(&m->proto, tfd_CopyTensor_dim_tag, dim[i]);
}

/* The test maps 1 KiB by its own connection to task 1. */
static uint64_t map_own(void **at)
{
    struct tfd_cuda_handle h;
    struct numbered n = {.number = 0};
    struct tfd_message m;

    fake_use(0);
    assert_int_equal(fake_allocate(at, 1024), 0);
    memset(*at, 0, 1024);
    fake_share(*at, &h);
    put_map(&m, task_devices[1]->share->host, h.bytes, sizeof(h.bytes), 0);
    start_call(&task[1], TFD_METHOD_MapMemory, &m, &n.a, mapped);
    wait_for(&n.a);
    assert_int_equal(n.a.st.code, TFD_OK);
    assert_true(n.number != 0);
    return n.number;
}

static void test_bad_copies_fail_their_steps(void **state)
{
    static const struct {
        uint64_t memory; /* added to the true one */
        int64_t offset;
        int dtype;
        int rank;
        int64_t dim[255];
        const char *text;
    } cases[] = {
        {1, 0, TFD_FLOAT, 1, {4}, "no memory is mapped"},
        {0, 0, TFD_FLOAT, 1, {257}, "not within the 1024 bytes"},
        {0, 1024, TFD_FLOAT, 1, {1}, "not within the 1024 bytes"},
        {0, 1021, TFD_FLOAT, 0, {0}, "not within the 1024 bytes"},
        {0, -4, TFD_FLOAT, 1, {1}, "not within the 1024 bytes"},
        {0, 0, TFD_FLOAT, 1, {0}, "not within the 1024 bytes"},
        {0, 0, TFD_DOUBLE, 1, {INT64_MAX}, "not within the 1024 bytes"},
        {0, 0, TFD_FLOAT, 1, {-1}, "-1"},
        {0, 0, TFD_FLOAT, 2, {INT64_MAX, 2}, ""},
        {0, 0, TFD_FLOAT, 255, {1}, "A shape has 255 dimensions"},
        {0, 0, TFD_STRING, 1, {1}, "cannot be copied"},
        {0, 0, TFD_RESOURCE, 1, {1}, "cannot be copied"},
        {0, 0, TFD_VARIANT, 1, {1}, "cannot be copied"},
        {0, 0, 0, 1, {1}, "cannot be copied"},
        {0, 0, -1, 1, {1}, "cannot be copied"},
        {0, 0, TFD_REF + TFD_FLOAT, 1, {1}, "cannot be copied"},
        {0, 0, TFD_HALF, 1, {1}, "type half was sent"},
    };
    uint64_t graph1 = gpu_consumer(), memory;
    struct wrig *w = &task[1].w;
    void *at;

    (void)state;
    memory = map_own(&at);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_message m;
        struct answer a;

        w->step = 500 + (int64_t)i;
        wrig_start(w, graph1);
        put_copy(&m, 500 + (int64_t)i, memory + cases[i].memory,
                 cases[i].offset, cases[i].dtype, cases[i].dim, cases[i].rank);
        call(&task[1], TFD_METHOD_CopyTensor, &m, &a);
        wrig_wait(w);
        assert_int_equal(w->st.code, TFD_INVALID_ARGUMENT);
        assert_non_null(strstr(w->st.text, cases[i].text));
        clean_both(500 + (int64_t)i);
    }
    assert_int_equal(copied(), 0);
    fake_release(at);
}

static void test_good_copies_are_made(void **state)
{
    static const int64_t dim[] = {256};
    uint64_t graph1 = gpu_consumer(), memory;
    struct wrig *w = &task[1].w;
    struct tfd_message m;
    struct answer a;
    void *at;

    (void)state;
    memory = map_own(&at);
    for (int i = 0; i < 256; i++)
        ((float *)at)[i] = (float)i;
    w->step = 600;
    wrig_start(w, graph1);
    put_copy(&m, 600, memory, 0, TFD_FLOAT, dim, 1);
    call(&task[1], TFD_METHOD_CopyTensor, &m, &a);
    assert_int_equal(a.st.code, TFD_OK);
    wrig_wait(w);
    assert_int_equal(w->st.code, TFD_OK);
    assert_true(((float *)tfd_tensor_data(&w->fetched[0]))[255] == 255);
    clean_both(600);
    fake_release(at);
}

/* A CPU's Recv, or a call that asks for it, must not see such a value. */
static void test_a_copy_to_the_host_is_refused(void **state)
{
    static const int64_t dim[] = {4};
    uint64_t graph = consumer("e", 4), memory;
    struct wrig *w = &task[1].w;
    struct tfd_message m;
    struct answer a;
    void *at;

    (void)state;
    memory = map_own(&at);
    w->step = 700;
    wrig_start(w, graph);
    put_copy(&m, 700, memory, 0, TFD_FLOAT, dim, 1);
    call(&task[1], TFD_METHOD_CopyTensor, &m, &a);
    wrig_wait(w);
    assert_int_equal(w->st.code, TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(w->st.text, "in host memory"));
    clean_both(700);
    fake_release(at);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_gpus, teardown_gpus)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_large_values_are_copied),
        TEST(test_small_values_are_pushed),
        TEST(test_a_peer_that_cannot_map_is_pushed_to),
        TEST(test_a_dead_value_crosses),
        TEST(test_a_value_that_nobody_takes_is_given_back),
        TEST(test_a_connection_that_breaks_gives_values_back),
        TEST(test_a_step_that_fails_ends_in_time),
        TEST(test_bad_requests_to_map_are_refused),
        TEST(test_bad_copies_fail_their_steps),
        TEST(test_good_copies_are_made),
        TEST(test_a_copy_to_the_host_is_refused),
    };

    return cmocka_run_group_tests_name("peer_copy", tests, NULL, NULL);
}
