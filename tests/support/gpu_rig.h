/*
 * gpu_rig.h - a worker with two GPUs that are not there, for tests of what
 * daemon/worker does with devices.
 *
 * Kernels run on the threads of fake_cuda.h, so that order, completion and
 * what lies in which memory are real.  A test has a family of its kernels and
 * makes its graphs with worker_rig.h.
 */
#ifndef TFD_TESTS_SUPPORT_GPU_RIG_H
#define TFD_TESTS_SUPPORT_GPU_RIG_H

#include "daemon/gpu.h"
#include "daemon/worker/state/device.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/worker_rig.h"

#define GPU0 WRIG_TASK "/device:GPU:0"
#define GPU1 WRIG_TASK "/device:GPU:1"

struct gpu_rig {
    struct wrig w;
    struct tfd_gpus *gpus;
    uint64_t graph; /* of tests that have one */
    int lost;       /* atomic: devices */
};

/* ---- Kernels ------------------------------------------------------------- */

/* Where a pointer lies is what the pools say, so a tensor of the wrong memory
 * is seen here and not only on a card. */
static inline void gpu_check_memory(const struct tfd_kctx *k,
                                    const struct tfd_tensor *t)
{
    struct tfd_cuda_memory_pool *pool = tfd_cuda_memory_pool_of(t->buffer);

    assert_non_null(pool);
    assert_ptr_equal(tfd_cuda_device_of(&pool->memory),
                     tfd_cuda_device_of(k->memory));
}

static inline enum tfd_code gpu_launch(struct tfd_kctx *k,
                                       void (*kernel)(void *args),
                                       const void *args, size_t size,
                                       struct tfd_status *st)
{
    return tfd_cuda_device_check(tfd_cuda_device_of(k->memory),
                                 fake_launch(k->stream, kernel, args, size),
                                 "launch", st);
}

struct gpu_sum {
    const float *x, *y;
    float *z;
};

static inline void gpu_sum(void *args)
{
    const struct gpu_sum *a = args;

    *a->z = *a->x + (a->y ? *a->y : 0);
}

/* TestAdd of one or two inputs. */
static inline enum tfd_code gpu_compute_add(struct tfd_kctx *k,
                                            struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct gpu_sum a = {NULL, NULL, NULL};

    for (int i = 0; i < k->in_count; i++)
        gpu_check_memory(k, &k->in[i]);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &scalar, st));
    gpu_check_memory(k, &k->out[0]);
    a.x = tfd_tensor_data(&k->in[0]);
    a.y = k->in_count > 1 ? tfd_tensor_data(&k->in[1]) : NULL;
    a.z = tfd_tensor_data(&k->out[0]);
    return gpu_launch(k, gpu_sum, &a, sizeof(a), st);
}

/* ---- A family ------------------------------------------------------------ */

#define GPU_OP(name_)                                         \
    {                                                         \
        .name = (name_), .inputs = "x: T", .outputs = "y: T", \
        .attrs = "T: type"                                    \
    }

#define GPU_STATEFUL(name_)                                   \
    {                                                         \
        .name = (name_), .inputs = "x: T", .outputs = "y: T", \
        .attrs = "T: type", .flags = TFD_OP_STATEFUL          \
    }

#define GPU_KERNEL(op_, compute_)                             \
    {                                                         \
        .op = (op_), .device = TFD_GPU, .compute = (compute_) \
    }

#define GPU_FLOAT (UINT32_C(1) << TFD_FLOAT)
#define GPU_INT32 (UINT32_C(1) << TFD_INT32)

static const struct tfd_borrowed gpu_borrowed[] = {
    {"Const", GPU_FLOAT, 0, 0},
    {"Const", GPU_INT32, TFD_HOST_ALL, TFD_HOST_ALL},
    {"Identity", GPU_FLOAT, 0, 0},
    {"Switch", GPU_FLOAT, 2, 0},
    {"Merge", GPU_FLOAT, 0, 2},
    {"Enter", GPU_FLOAT, 0, 0},
    {"Exit", GPU_FLOAT, 0, 0},
    {"NextIteration", GPU_FLOAT, 0, 0},
    {"LoopCond", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"NoOp", 0, 0, 0},
    {"_Send", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"_Recv", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"TestLess", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"TestCount", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"TestAtOnce", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"VariableV2", GPU_FLOAT, 0, 0},
    {"Assign", GPU_FLOAT, 0, 0},
    {"VarHandleOp", GPU_FLOAT, 0, 1},
    {"ReadVariableOp", GPU_FLOAT, 1, 0},
    {"AssignVariableOp", GPU_FLOAT, 1, 0},
};

#define GPU_FAMILY(ops_, kernels_)                                           \
    {                                                                        \
        .name = "fakegpu", .ops = (ops_), .op_count = TFD_COUNT(ops_),       \
        .kernels = (kernels_), .kernel_count = TFD_COUNT(kernels_),          \
        .borrowed = gpu_borrowed, .borrowed_count = TFD_COUNT(gpu_borrowed), \
    }

/* ---- The rig ------------------------------------------------------------- */

static inline struct tfd_cuda_options gpu_options(size_t memory_mib,
                                                  enum tfd_cuda_graphs graphs)
{
    return (struct tfd_cuda_options){
        .count_max = -1,
        .memory_limit = (int64_t)(memory_mib * FAKE_MIB),
        .graphs = graphs,
    };
}

static inline void gpu_count_lost(void *ctx, const struct tfd_cuda_device *d)
{
    (void)d;
    __atomic_add_fetch(&((struct gpu_rig *)ctx)->lost, 1, __ATOMIC_RELAXED);
}

static inline void gpu_init(struct gpu_rig *r, int threads,
                            const struct tfd_family *family,
                            const struct tfd_cuda_options *o)
{
    struct tfd_status st = TFD_STATUS_INIT;

    fake_init();
    r->lost = 0;
    assert_int_equal(
        tfd_gpus_new(&fake_driver, o, gpu_count_lost, r, &r->gpus, &st),
        TFD_OK);
    wrig_own_family = family;
    wrig_init_as(&r->w, threads,
                 (struct tfd_worker_options){
                     .devices = tfd_gpus_rows(r->gpus),
                     .device_count = tfd_gpus_count(r->gpus),
                 });
}

static inline void gpu_deinit(struct gpu_rig *r)
{
    fake_let_go();
    wrig_deinit(&r->w);
    tfd_gpus_free(r->gpus);
    fake_deinit();
}

/* ---- Graphs of floats ---------------------------------------------------- */

static inline void gpu_fetch(struct wrig *w, const char *from)
{
    w->device = WRIG_CPU0;
    wrig_fetch(w, from);
}

static inline void gpu_node(struct wrig *w, const char *device,
                            const char *name, const char *op,
                            const char *inputs)
{
    w->device = device;
    wrig_attr_type(w, "T", TFD_FLOAT);
    wrig_node(w, name, op, inputs);
}

static inline void gpu_add(struct wrig *w, const char *device, const char *name,
                           const char *inputs)
{
    wrig_attr_int(w, "N", *inputs && strchr(inputs, ',') ? 2 : 1);
    gpu_node(w, device, name, "TestAdd", inputs);
}

/* Of the device that is the next nodes'. */
static inline void gpu_variable(struct wrig *w, const char *name,
                                const char *shared_name, const char *op)
{
    const struct tfd_shape scalar = {0, {0}};

    wrig_attr_type(w, "dtype", TFD_FLOAT);
    tfd_attr_put_shape(wrig_attr(w, "shape"), &scalar);
    wrig_attr_str(w, "shared_name", shared_name);
    wrig_node(w, name, op, "");
}

static inline uint64_t gpu_register(struct wrig *w)
{
    uint64_t graph = wrig_register(w);

    if (!graph)
        fail_msg("%s", w->st.text);
    return graph;
}

static inline void gpu_run(struct wrig *w, uint64_t graph)
{
    if (wrig_run(w, graph) != TFD_OK)
        fail_msg("%s", w->st.text);
}

/* ---- The one graph of a test --------------------------------------------- */

static inline void gpu_ready(struct gpu_rig *r)
{
    r->graph = gpu_register(&r->w);
}

static inline void gpu_go(struct gpu_rig *r)
{
    gpu_run(&r->w, r->graph);
}

/* With x as what is fed first. */
static inline void gpu_go_with(struct gpu_rig *r, double x)
{
    r->w.fed[0] = wrig_scalar(TFD_FLOAT, x);
    gpu_go(r);
}

#endif
