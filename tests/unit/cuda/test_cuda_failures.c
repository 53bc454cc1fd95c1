/*
 * test_cuda_failures.c - a worker with GPUs whose memory ends, whose copies
 * fail, that are lost, or that cannot be used.
 */
#include "tests/support/gpu_rig.h"

/* ---- Kernels ------------------------------------------------------------- */

/* 1 GiB, which no fake card has. */
static enum tfd_code huge_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = {1, {1 << 28}};

    return tfd_kctx_output(k, 0, TFD_FLOAT, &shape, st);
}

/* A kernel that breaks its device. */
static enum tfd_code break_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(gpu_compute_add(k, st));
    fake_break(TFD_CUDA_ILLEGAL_ADDRESS);
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    GPU_OP("TestHuge"),
    GPU_STATEFUL("TestBreak"),
};

static const struct tfd_kernel kernels[] = {
    GPU_KERNEL("TestAdd", gpu_compute_add),
    GPU_KERNEL("TestHuge", huge_gpu),
    GPU_KERNEL("TestBreak", break_gpu),
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

static void test_running_out_of_memory_is_survived(void **state)
{
    uint64_t huge, small;
    struct gpu_rig r;

    (void)state;
    init(&r, 1);
    wrig_const(&r.w, "c", 5);
    gpu_node(&r.w, GPU0, "h", "TestHuge", "c");
    gpu_fetch(&r.w, "h");
    huge = gpu_register(&r.w);
    wrig_const(&r.w, "c", 5);
    gpu_add(&r.w, GPU0, "a", "c,c");
    gpu_fetch(&r.w, "a");
    small = gpu_register(&r.w);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wrig_run(&r.w, huge), TFD_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(
            r.w.st.text, "OOM when allocating 1073741824 bytes on GPU:0"));
        gpu_run(&r.w, small);
        assert_true(wrig_result(&r.w, 0) == 10);
    }
    assert_int_equal(r.lost, 0);
    gpu_deinit(&r);
}

static void test_failed_copy_fails_its_step_only(void **state)
{
    struct gpu_rig r;

    (void)state;
    init(&r, 1);
    wrig_feed(&r.w, "x");
    gpu_add(&r.w, GPU0, "a", "x,x");
    gpu_fetch(&r.w, "a");
    gpu_ready(&r);
    fake.copy_error = 1;
    r.w.fed[0] = wrig_scalar(TFD_FLOAT, 1);
    assert_int_equal(wrig_run(&r.w, r.graph), TFD_INTERNAL);
    assert_non_null(strstr(r.w.st.text, "GPU:0: copy to device: some error"));
    fake.copy_error = 0;
    gpu_go_with(&r, 1);
    assert_int_equal(r.lost, 0);
    gpu_deinit(&r);
}

static void test_lost_device_ends_its_steps_once(void **state)
{
    uint64_t breaks, others;
    struct gpu_rig r;

    (void)state;
    init(&r, 1);
    wrig_const(&r.w, "c", 5);
    gpu_node(&r.w, GPU0, "b", "TestBreak", "c");
    gpu_fetch(&r.w, "b");
    breaks = gpu_register(&r.w);
    wrig_const(&r.w, "c", 5);
    gpu_add(&r.w, GPU0, "a", "c,c");
    gpu_fetch(&r.w, "a");
    others = gpu_register(&r.w);
    assert_int_equal(wrig_run(&r.w, breaks), TFD_UNAVAILABLE);
    assert_non_null(strstr(r.w.st.text, "GPU:0 is lost: an illegal memory"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wrig_run(&r.w, others), TFD_UNAVAILABLE);
        assert_non_null(strstr(r.w.st.text, "GPU:0 is lost"));
    }
    assert_int_equal(__atomic_load_n(&r.lost, __ATOMIC_RELAXED), 1);
    fake_break(0);
    gpu_deinit(&r);
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

#define FAMILIES_MAX 1024

/* Every row of cuda/device/host.c has its kernel. */
static void test_borrowed_kernels_are_there(void **state)
{
    const struct tfd_family *families[FAMILIES_MAX];
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_registry r;

    (void)state;
    assert_true(tfd_family_count < FAMILIES_MAX);
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
