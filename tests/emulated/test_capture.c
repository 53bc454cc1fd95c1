/*
 * test_capture.c - kernels of .cu files, and the libraries that they use, are
 * captured: launches give what the CPU gives, also of inputs that are others by
 * then.
 */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "cuda/device/capture.h"
#include "cuda/device/copy.h"
#include "cuda/device/cuda.h"
#include "tests/support/kernel_rig.h"

#include <dlfcn.h>

/* Inputs of the capture, and of a later launch: those that lie on the device
 * are replaced. */
struct pair {
    struct krig_case c;
    const char *then[KRIG_IN_MAX];
};

static struct tfd_cuda_device device;
static struct tfd_cuda_memory_pool pinned;

static int set_up(void **state)
{
    const struct tfd_cuda_device_options o = {.driver = tfd_cuda_driver(),
                                              .memory_limit = (size_t)1 << 30,
                                              .grows = true,
                                              .pinned = &pinned};
    static const struct tfd_family *families[512];
    int host = tfd_family_count, gpu = tfd_cuda_family_count, count = 0;

    (void)state;
    assert_true(host + gpu <= TFD_COUNT(families));
    memcpy(families, tfd_families, (size_t)host * sizeof(families[0]));
    memcpy(families + host, tfd_cuda_families,
           (size_t)gpu * sizeof(families[0]));
    assert_int_equal(
        tfd_registry_init(&krig.registry, families, host + gpu, NULL), TFD_OK);
    assert_int_equal(o.driver->device_count(&count), 0);
    assert_true(count > 0);
    tfd_cuda_pinned_init(&pinned, o.driver, (size_t)64 << 20);
    assert_int_equal(tfd_cuda_device_init(&device, &o, NULL), TFD_OK);
    return 0;
}

static int tear_down(void **state)
{
    tfd_cuda_device_deinit(&device);
    tfd_cuda_memory_pool_deinit(&pinned);
    return krig_teardown(state);
}

/* ---- Between memories ---------------------------------------------------- */

static void wait_for(void *stream)
{
    const struct tfd_cuda_driver *driver = device.driver;
    void *event;

    assert_int_equal(driver->event_make(&event), 0);
    assert_int_equal(driver->event_record(event, stream), 0);
    assert_int_equal(driver->event_wait(event), 0);
    assert_int_equal(driver->event_release(event), 0);
}

static void check_output(const char *label, const struct tfd_tensor *out)
{
    struct tfd_tensor host;

    assert_int_equal(tfd_tensor_new(&host, out->dtype, &out->shape, NULL),
                     TFD_OK);
    assert_int_equal(device.driver->copy(
                         tfd_tensor_data(&host), tfd_tensor_data(out),
                         tfd_tensor_size(out), TFD_CUDA_TO_HOST, device.stream),
                     0);
    wait_for(device.stream);
    krig_compare(label, &host, &krig.out[0]);
    tfd_tensor_unref(&host);
}

/* The values of `text` in the place of input i, on the host and the device. */
static void replace(int i, const char *text, const struct tfd_tensor *in)
{
    struct tfd_tensor t = krig_tensor(text);

    assert_true(tfd_shape_equal(&t.shape, &krig.in[i].shape));
    memcpy(tfd_tensor_data(&krig.in[i]), tfd_tensor_data(&t),
           tfd_tensor_size(&t));
    assert_int_equal(device.driver->copy(tfd_tensor_data(in),
                                         tfd_tensor_data(&t),
                                         tfd_tensor_size(&t),
                                         TFD_CUDA_TO_DEVICE, device.stream),
                     0);
    wait_for(device.stream);
    tfd_tensor_unref(&t);
}

/* ---- A case -------------------------------------------------------------- */

struct gpu {
    struct tfd_kctx k;
    struct tfd_tensor in[KRIG_IN_MAX], out;
};

static void make_gpu(struct gpu *g)
{
    const struct tfd_prepare p = {krig.node, NULL, tfd_registry_loop};
    const struct tfd_kernel *kernel =
        tfd_registry_kernel(&krig.registry, krig.node, TFD_GPU);

    assert_non_null(kernel);
    *g = (struct gpu){.k = {.kernel = kernel,
                            .in = g->in,
                            .in_count = krig.in_count,
                            .out = &g->out,
                            .out_count = 1,
                            .node = krig.node}};
    g->k.state = calloc(1, kernel->state_size + 1);
    if (kernel->prepare)
        assert_int_equal(kernel->prepare(&p, g->k.state, NULL), TFD_OK);
    for (int i = 0; i < krig.in_count; i++)
        if (tfd_kernel_host_in(kernel, krig.node, i))
            g->in[i] = tfd_tensor_ref(&krig.in[i]);
        else
            assert_int_equal(
                tfd_cuda_copy_in(&device, &krig.in[i], &g->in[i], NULL),
                TFD_OK);
    assert_int_equal(tfd_cuda_copy_await(&device, g->in, krig.in_count, NULL),
                     TFD_OK);
}

static void drop_gpu(struct gpu *g)
{
    for (int i = 0; i < g->k.in_count; i++)
        tfd_tensor_unref(&g->in[i]);
    if (g->k.kernel->release)
        g->k.kernel->release(g->k.state);
    free(g->k.state);
}

/* Inputs have other readers, so that none is overwritten. */
static enum tfd_code compute(struct gpu *g, void *stream,
                             struct tfd_memory *memory, struct tfd_status *st)
{
    struct tfd_tensor kept[KRIG_IN_MAX];
    enum tfd_code rc;

    for (int i = 0; i < g->k.in_count; i++)
        kept[i] = tfd_tensor_ref(&g->in[i]);
    g->k.stream = stream;
    g->k.memory = memory;
    rc = tfd_cuda_device_use(&device, st);
    if (rc == TFD_OK)
        rc = g->k.kernel->compute(&g->k, st);
    for (int i = 0; i < g->k.in_count; i++)
        tfd_tensor_unref(&kept[i]);
    return rc;
}

static void drop_output(struct gpu *g)
{
    tfd_tensor_unref(&g->out);
    g->out = (struct tfd_tensor)TFD_TENSOR_INIT;
}

/* As a step that is not captured: also what opens the libraries. */
static void compute_and_check(const char *label, struct gpu *g)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (compute(g, device.stream, &device.pool.memory, &st) != TFD_OK)
        fail_msg("%s: %s", label, st.text);
    check_output(label, &g->out);
    drop_output(g);
}

static struct tfd_cuda_capture *capture(struct gpu *g)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c;

    assert_int_equal(tfd_cuda_capture_begin(&device, &c, &st), TFD_OK);
    if (compute(g, c->stream, c->memory, &st) != TFD_OK ||
        tfd_cuda_capture_end(c, &st) != TFD_OK)
        fail_msg("%s: %s", g->k.kernel->op, st.text);
    return c;
}

static void launch_and_check(const char *label, struct gpu *g,
                             struct tfd_cuda_capture *c)
{
    assert_int_equal(tfd_cuda_capture_launch(c, NULL), TFD_OK);
    check_output(label, &g->out);
}

static enum tfd_code run_on_host(const struct krig_case *c)
{
    krig.in_count = 0;
    for (int i = 0; i < KRIG_IN_MAX && c->in[i]; i++)
        krig.in[krig.in_count++] = krig_tensor(c->in[i]);
    return krig_run(c, KRIG_SHARED);
}

static void check(const struct pair *p)
{
    struct tfd_cuda_capture *c;
    struct gpu g;

    if (run_on_host(&p->c) != TFD_OK)
        fail_msg("%s: %s", p->c.op, krig.st.text);
    make_gpu(&g);
    compute_and_check(p->c.op, &g);
    c = capture(&g);
    launch_and_check(p->c.op, &g, c);
    for (int i = 0; i < krig.in_count; i++)
        if (p->then[i])
            replace(i, p->then[i], &g.in[i]);
    tfd_tensor_unref(&krig.out[0]);
    krig.out[0] = (struct tfd_tensor)TFD_TENSOR_INIT;
    assert_int_equal(krig_compute(), TFD_OK);
    launch_and_check(p->c.op, &g, c);
    tfd_cuda_capture_drop(c);
    drop_output(&g);
    compute_and_check(p->c.op, &g);
    drop_gpu(&g);
    krig_end();
}

/* A capture of `bad` ends with `code`; the next is good. */
static void check_refused(const struct krig_case *bad, enum tfd_code code,
                          const char *text)
{
    static const struct pair good = {
        {"MatMul", "", {"float[1,1] 3", "float[1,1] 5"}, {0}},
        {"float[1,1] 2", "float[1,1] 7"}};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c;
    struct gpu g;

    (void)!run_on_host(bad);
    make_gpu(&g);
    assert_int_equal(tfd_cuda_capture_begin(&device, &c, &st), TFD_OK);
    assert_int_equal(compute(&g, c->stream, c->memory, &st), code);
    assert_non_null(strstr(st.text, text));
    tfd_cuda_capture_drop(c);
    drop_output(&g);
    drop_gpu(&g);
    krig_end();
    assert_int_equal(device.captures.reserved, 0);
    check(&good);
}

#define CHECK(pairs)                              \
    for (int i_ = 0; i_ < TFD_COUNT(pairs); i_++) \
    check(&(pairs)[i_])

/* ---- Cases --------------------------------------------------------------- */

static void test_our_kernels(void **state)
{
    const struct pair pairs[] = {
        {{"Relu", "", {"float[5] -1 2 -3 4 0"}, {0}}, {"float[5] 7 -7 1 0 -2"}},
        {{"AddV2", "", {"float[2,2] 1 2 3 4", "float[2] 10 20"}, {0}},
         {"float[2,2] -1 0 5 6", "float[2] 3 4"}},
        {{"Sum", "", {"float[2,3] 1 2 3 4 5 6", "int32[1] 1"}, {0}},
         {"float[2,3] 0 0 7 1 1 1"}},
        {{"Sum", "", {"float[300,50] 1 2 3", "int32[1] 0"}, {0}},
         {"float[300,50] 4 5 7 8"}},
        {{"Softmax", "", {"float[2,2] 1 1 0 0"}, {0}}, {"float[2,2] 3 3 9 9"}},
        {{"BiasAdd", "", {"float[2,2] 1 2 3 4", "float[2] 1 -1"}, {0}},
         {"float[2,2] 4 3 2 1", "float[2] 0 5"}},
    };

    (void)state;
    CHECK(pairs);
}

/* Their tables are brought from the host. */
static void test_kernels_with_tables(void **state)
{
    const struct pair pairs[] = {
        {{"DynamicStitch",
          "",
          {"int32[2] 2 0", "int32[1] 1", "float[2,2] 1 2 3 4",
           "float[1,2] 5 6"},
          {0}},
         {NULL, NULL, "float[2,2] 9 8 7 6", "float[1,2] 0 1"}},
        {{"SegmentSum", "", {"float[4] 1 2 3 4", "int64[4] 0 0 1 1"}, {0}},
         {"float[4] 10 20 30 40"}},
    };

    (void)state;
    CHECK(pairs);
}

static void test_products(void **state)
{
    const struct pair pairs[] = {
        {{"MatMul", "", {"float[2,3] 1 2 3 4 5 6", "float[3,2] 1 0 2"}, {0}},
         {"float[2,3] 6 5 4 3 2 1", "float[3,2] 0 1 1"}},
        {{"MatMul",
          "transpose_a=true",
          {"double[3,2] 1 2 3 4 5 6", "double[3,2] 1 0 2"},
          {0}},
         {"double[3,2] 1 1 1 2 2 2", "double[3,2] 2"}},
        {{"BatchMatMulV2",
          "",
          {"float[2,2,2] 1 2 3", "float[2,2] 1 0 2 1"},
          {0}},
         {"float[2,2,2] 4 5 6", "float[2,2] 0 1 1 2"}},
    };

    (void)state;
    CHECK(pairs);
}

static void test_convolutions(void **state)
{
    const struct pair pairs[] = {
        {{"Conv2D",
          "strides=1,1,1,1 padding=VALID",
          {"float[1,4,4,2] 1 2 3 4 5", "float[2,2,2,3] 1 0 2 -1"},
          {0}},
         {"float[1,4,4,2] 3 1 2", "float[2,2,2,3] 2 1 -1"}},
        {{"Conv2D",
          "strides=1,2,2,1 padding=SAME",
          {"float[2,5,5,1] 1 2 3 4", "float[3,3,1,2] 1 0 2"},
          {0}},
         {"float[2,5,5,1] 0 1 5", "float[3,3,1,2] 2 1 0 1"}},
        {{"Conv2DBackpropInput",
          "strides=1,1,1,1 padding=VALID",
          {"int32[4] 1 4 4 2", "float[2,2,2,3] 1 0 2 -1", "float[1,3,3,3] 1 2"},
          {0}},
         {NULL, "float[2,2,2,3] 2 1 -1", "float[1,3,3,3] 2 1 3"}},
        {{"Conv2DBackpropFilter",
          "strides=1,1,1,1 padding=VALID",
          {"float[1,4,4,2] 1 2 3 4 5", "int32[4] 2 2 2 3",
           "float[1,3,3,3] 1 2"},
          {0}},
         {"float[1,4,4,2] 3 1 2", NULL, "float[1,3,3,3] 2 1 3"}},
    };

    (void)state;
    CHECK(pairs);
}

/* How often the library was asked for algorithms: cudnn_conv.c. */
static int offers(void)
{
    void *library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_NOLOAD);
    const int *count = library ? dlsym(library, "emulated_offers") : NULL;

    assert_non_null(count);
    dlclose(library);
    return *count;
}

static void convolve(int rows)
{
    char x[32];
    const struct krig_case c = {"Conv2D",
                                "strides=1,1,1,1 padding=SAME",
                                {x, "float[3,3,2,1] 1 0 2"},
                                {0}};
    struct gpu g;

    (void)snprintf(x, sizeof(x), "float[1,%d,9,2] 1 2 3", rows);
    assert_int_equal(run_on_host(&c), TFD_OK);
    make_gpu(&g);
    compute_and_check(x, &g);
    drop_gpu(&g);
    krig_end();
}

static void test_each_of_many_shapes_is_asked_for_once(void **state)
{
    int before;

    (void)state;
    convolve(40);
    before = offers();
    for (int rows = 20; rows < 32; rows++)
        convolve(rows);
    assert_in_range(offers() - before, 12, 24); /* in both layouts */
    before = offers();
    for (int rows = 20; rows < 32; rows++)
        convolve(rows);
    assert_int_equal(offers(), before);
}

static void test_kernels_that_fail_leave_the_device_good(void **state)
{
    static const struct krig_case shapes = {
        "MatMul", "", {"float[2,3] 1", "float[2,3] 1"}, {0}};
    static const struct krig_case filter = {
        "Conv2D",
        "strides=1,1,1,1 padding=VALID",
        {"float[1,2,2,1] 1", "float[3,3,2,1] 1"},
        {0}};
    static const struct krig_case ids = {
        "SegmentSum", "", {"float[2] 1", "int64[2] 1 0"}, {0}};
    /* 324 MB, where captures may have 256 MiB. */
    static const struct krig_case large = {
        "MatMul", "", {"float[9000,1] 1", "float[1,9000] 1"}, {0}};

    (void)state;
    check_refused(&shapes, TFD_INVALID_ARGUMENT, "");
    check_refused(&filter, TFD_INVALID_ARGUMENT, "");
    check_refused(&ids, TFD_INVALID_ARGUMENT, "");
    check_refused(&large, TFD_RESOURCE_EXHAUSTED, "captured");
}

/* What a begin has made is there for the next. */
static void test_captures_share_handles(void **state)
{
    struct tfd_cuda_capture *c;
    size_t in_use;

    (void)state;
    assert_non_null(device.blas.own);
    assert_non_null(device.dnn.own);
    in_use = device.pool.stats.in_use;
    assert_int_equal(tfd_cuda_capture_begin(&device, &c, NULL), TFD_OK);
    tfd_cuda_capture_drop(c);
    assert_int_equal(device.pool.stats.in_use, in_use);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_our_kernels),
        cmocka_unit_test(test_kernels_with_tables),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_each_of_many_shapes_is_asked_for_once),
        cmocka_unit_test(test_kernels_that_fail_leave_the_device_good),
        cmocka_unit_test(test_captures_share_handles),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
