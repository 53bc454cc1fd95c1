/*
 * test_cuda_run_ahead.c - steps do not run ahead of a device without bound:
 * those that are too far ahead end later, in their order, and nobody blocks.
 */
#include "cuda/device/cuda_device.h"

#include "tests/support/gpu_rig.h"

#define MAX TFD_DEVICE_STEPS_AHEAD_MAX
#define RUNS (MAX + 20)

/* ---- A device alone ------------------------------------------------------ */

struct waiting {
    struct tfd_continuation turn;
    int number;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int order[RUNS], count;
} told = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER};

static void tell(struct tfd_continuation *t)
{
    pthread_mutex_lock(&told.lock);
    told.order[told.count++] = ((struct waiting *)t)->number;
    pthread_cond_broadcast(&told.changed);
    pthread_mutex_unlock(&told.lock);
}

static int told_count(void)
{
    int count;

    pthread_mutex_lock(&told.lock);
    count = told.count;
    pthread_mutex_unlock(&told.lock);
    return count;
}

static void wait_told(int count)
{
    pthread_mutex_lock(&told.lock);
    while (told.count < count)
        pthread_cond_wait(&told.changed, &told.lock);
    pthread_mutex_unlock(&told.lock);
}

struct rig {
    struct tfd_cuda_memory_pool pinned;
    struct tfd_cuda_device device;
    struct waiting step[RUNS];
};

static void begin(struct rig *r)
{
    struct tfd_cuda_device_options o = {
        .driver = &fake_driver,
        .memory_limit = FAKE_MIB,
        .pinned = &r->pinned,
    };
    struct tfd_status st = TFD_STATUS_INIT;

    fake_init();
    told.count = 0;
    tfd_cuda_pinned_init(&r->pinned, &fake_driver, FAKE_MIB);
    assert_int_equal(tfd_cuda_device_init(&r->device, &o, &st), TFD_OK);
    for (int i = 0; i < RUNS; i++)
        r->step[i] = (struct waiting){.turn.fn = tell, .number = i};
}

static void end(struct rig *r)
{
    fake_let_go(); /* it may not have seen that it was broken */
    tfd_cuda_device_deinit(&r->device);
    tfd_cuda_memory_pool_deinit(&r->pinned);
    fake_deinit();
}

/* How many of the steps may end at once. */
static int run_steps(struct rig *r, int count, int nodes)
{
    int may = 0;

    for (int i = 0; i < count; i++)
        may += tfd_cuda_run_ahead_step(&r->device, nodes, &r->step[i].turn);
    return may;
}

/* Each once the one before it has ended. */
static void run_and_wait(struct rig *r, int count)
{
    for (int i = 0; i < count; i++) {
        told.count = 0;
        if (!tfd_cuda_run_ahead_step(&r->device, 1, &r->step[0].turn))
            wait_told(1);
    }
}

static void test_steps_wait_beyond_the_limit_and_in_their_order(void **state)
{
    struct rig r;

    (void)state;
    begin(&r);
    fake_hold(r.device.stream);
    assert_int_equal(run_steps(&r, RUNS, 1), MAX);
    assert_int_equal(told_count(), 0);
    fake_let_go();
    wait_told(RUNS - MAX);
    for (int i = 0; i < RUNS - MAX; i++)
        assert_int_equal(told.order[i], MAX + i);
    end(&r);
}

static void test_large_steps_count_by_their_nodes(void **state)
{
    static const struct {
        int nodes, ahead;
    } cases[] = {
        {0, MAX},
        {TFD_RUN_AHEAD_NODES / TFD_RUN_AHEAD_STEPS, MAX},
        {TFD_RUN_AHEAD_NODES / 2, 2 * (TFD_RUN_AHEAD_MARKS + 1)},
        {TFD_RUN_AHEAD_NODES, TFD_RUN_AHEAD_MARKS + 1},
        {TFD_RUN_AHEAD_NODES + 1, TFD_RUN_AHEAD_MARKS + 1},
        {INT32_MAX, TFD_RUN_AHEAD_MARKS + 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig r;

        begin(&r);
        fake_hold(r.device.stream);
        assert_int_equal(run_steps(&r, RUNS, cases[i].nodes), cases[i].ahead);
        fake_let_go();
        wait_told(RUNS - cases[i].ahead);
        end(&r);
    }
}

static void test_a_device_that_keeps_up_is_asked_once_a_batch(void **state)
{
    struct rig r;
    int asked;

    (void)state;
    begin(&r);
    asked = fake.asked;
    assert_int_equal(run_steps(&r, TFD_RUN_AHEAD_STEPS, 1),
                     TFD_RUN_AHEAD_STEPS);
    assert_int_equal(fake.asked, asked);
    assert_int_equal(fake.events, 0);
    run_and_wait(&r, 50);
    assert_in_range(fake.events, 1, TFD_RUN_AHEAD_MARKS);
    end(&r);
}

static void test_a_lost_device_lets_everybody_go(void **state)
{
    struct rig r;

    (void)state;
    begin(&r);
    fake_hold(r.device.stream);
    assert_int_equal(run_steps(&r, MAX + 5, 1), MAX);
    fake_break(TFD_CUDA_ILLEGAL_ADDRESS);
    wait_told(5);
    assert_int_equal(__atomic_load_n(&r.device.lost, __ATOMIC_ACQUIRE),
                     TFD_CUDA_ILLEGAL_ADDRESS);
    run_and_wait(&r, 4 * MAX);
    fake_break(0);
    end(&r);
}

/* ---- A worker ------------------------------------------------------------ */

static const struct tfd_opdef ops[] = {GPU_STATEFUL("TestStay")};

static const struct tfd_kernel kernels[] = {
    GPU_KERNEL("TestAdd", gpu_compute_add),
    GPU_KERNEL("TestStay", gpu_compute_add),
};

static const struct tfd_family family = GPU_FAMILY(ops, kernels);

struct run {
    struct tfd_run_graph graph;
    struct wrig *w;
};

static int ended, wanted, failed;

static void ran(struct tfd_run_graph *graph, const struct tfd_status *st)
{
    struct wrig *w = ((struct run *)graph->master)->w;

    failed += st->code != TFD_OK;
    if (++ended == wanted)
        wrig_stop(w);
}

/* A graph that fetches nothing. */
static uint64_t silent_graph(struct gpu_rig *r, const char *device)
{
    r->w.device = device;
    wrig_const(&r->w, "c", 3);
    gpu_node(&r->w, device, "y", "TestStay", "c");
    return gpu_register(&r->w);
}

static uint64_t graph_of_the_host(struct gpu_rig *r)
{
    r->w.device = WRIG_CPU0;
    wrig_const(&r->w, "c", 3);
    wrig_fetch(&r->w, "c");
    return gpu_register(&r->w);
}

static void start(struct run *run, struct wrig *w, uint64_t graph)
{
    *run = (struct run){.w = w};
    run->graph = (struct tfd_run_graph){
        .session = w->session,
        .graph = graph,
        .step_id = w->step++,
        .done = ran,
        .master = run,
    };
    w->worker->ops->run_graph(w->worker, &run->graph);
}

static void init(struct gpu_rig *r, int threads)
{
    const struct tfd_cuda_options o = gpu_options(8, TFD_CUDA_GRAPHS_OFF);

    gpu_init(r, threads, &family, &o);
    ended = failed = wanted = 0;
}

static void wait_ended(struct gpu_rig *r, int count)
{
    wanted = count;
    r->w.done = ended >= count;
    wrig_wait(&r->w);
}

static void test_steps_of_a_worker_end_later_and_the_loop_goes_on(void **state)
{
    struct run runs[RUNS];

    (void)state;
    for (int threads = 0; threads < 3; threads++) {
        struct gpu_rig r;
        uint64_t silent, host;

        init(&r, threads);
        silent = silent_graph(&r, GPU0);
        host = graph_of_the_host(&r);
        fake_hold(tfd_gpus_rows(r.gpus)[0].stream);
        for (int i = 0; i < RUNS; i++)
            start(&runs[i], &r.w, silent);
        wait_ended(&r, MAX);
        for (int i = 0; i < 10; i++)
            gpu_run(&r.w, host);
        assert_int_equal(ended, MAX);
        fake_let_go();
        wait_ended(&r, RUNS);
        assert_int_equal(failed, 0);
        gpu_deinit(&r);
    }
}

static void test_devices_are_counted_each_for_itself(void **state)
{
    struct run runs[2 * MAX + 1];
    struct gpu_rig r;
    uint64_t silent[2];

    (void)state;
    init(&r, 2);
    silent[0] = silent_graph(&r, GPU0);
    silent[1] = silent_graph(&r, GPU1);
    fake_hold(tfd_gpus_rows(r.gpus)[0].stream);
    for (int i = 0; i < 2 * MAX; i++)
        start(&runs[i], &r.w, silent[i % 2]);
    wait_ended(&r, 2 * MAX);
    start(&runs[2 * MAX], &r.w, silent[0]);
    fake_let_go();
    wait_ended(&r, 2 * MAX + 1);
    assert_int_equal(failed, 0);
    gpu_deinit(&r);
}

static void test_steps_that_wait_end_when_the_device_is_lost(void **state)
{
    struct run runs[MAX + 5];
    struct gpu_rig r;
    uint64_t silent;

    (void)state;
    init(&r, 2);
    silent = silent_graph(&r, GPU0);
    fake_hold(tfd_gpus_rows(r.gpus)[0].stream);
    for (int i = 0; i < MAX + 5; i++)
        start(&runs[i], &r.w, silent);
    wait_ended(&r, MAX);
    fake_break(TFD_CUDA_ILLEGAL_ADDRESS);
    wait_ended(&r, MAX + 5);
    assert_int_equal(__atomic_load_n(&r.lost, __ATOMIC_RELAXED), 1);
    fake_break(0);
    gpu_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_wait_beyond_the_limit_and_in_their_order),
        cmocka_unit_test(test_large_steps_count_by_their_nodes),
        cmocka_unit_test(test_a_device_that_keeps_up_is_asked_once_a_batch),
        cmocka_unit_test(test_a_lost_device_lets_everybody_go),
        cmocka_unit_test(test_steps_of_a_worker_end_later_and_the_loop_goes_on),
        cmocka_unit_test(test_devices_are_counted_each_for_itself),
        cmocka_unit_test(test_steps_that_wait_end_when_the_device_is_lost),
    };

    return cmocka_run_group_tests_name("cuda pace", tests, NULL, NULL);
}
