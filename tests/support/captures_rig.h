/*
 * captures_rig.h - graphs of kernels of which a worker captures the static
 * parts, on a GPU that is not there, for tests of daemon/worker/captures.c.
 *
 * TestMap makes 2 * x + 1 of each element, TestPlus the sum of two tensors,
 * TestScale x * y + 1 with y in host memory, TestAlias the same tensor;
 * TestState is TestMap with a state, which is never captured.
 */
#ifndef TFD_TESTS_SUPPORT_CAPTURES_RIG_H
#define TFD_TESTS_SUPPORT_CAPTURES_RIG_H

#include "daemon/worker/run/captures.h"

#include "tests/support/gpu_rig.h"

/* ---- Kernels ------------------------------------------------------------- */

static int computed; /* atomic: kernels that were asked to enqueue */

struct map_args {
    const float *x, *y;
    float *z;
    int64_t n;
    float by;
};

/* z = x * by + y */
static inline void map(void *args)
{
    const struct map_args *a = args;

    for (int64_t i = 0; i < a->n; i++)
        a->z[i] = a->x[i] * a->by + (a->y ? a->y[i] : 1);
}

static inline enum tfd_code enqueue(struct tfd_kctx *k, float by,
                                    const struct tfd_tensor *y,
                                    struct tfd_status *st)
{
    struct map_args a = {.by = by, .n = tfd_tensor_elements(&k->in[0])};

    __atomic_add_fetch(&computed, 1, __ATOMIC_RELAXED);
    if (y && !tfd_shape_equal(&y->shape, &k->in[0].shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "shapes differ");
    TFD_TRY(tfd_kctx_output_reuse(k, 1, 0, TFD_FLOAT, &k->in[0].shape, st));
    a.x = tfd_tensor_data(&k->in[0]);
    a.y = y ? tfd_tensor_data(y) : NULL;
    a.z = tfd_tensor_data(&k->out[0]);
    return gpu_launch(k, map, &a, sizeof(a), st);
}

static inline enum tfd_code map_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    return enqueue(k, 2, NULL, st);
}

static inline enum tfd_code plus_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    return enqueue(k, 1, &k->in[1], st);
}

/* The factor is in host memory. */
static inline enum tfd_code scale_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    return enqueue(k, wrig_float_at(&k->in[1]), NULL, st);
}

static inline enum tfd_code alias_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    (void)st;
    tfd_kctx_output_alias(k, 0, 0, &k->in[0].shape);
    return TFD_OK;
}

#define TWO_INPUTS(name_)                                           \
    {                                                               \
        .name = (name_), .inputs = "x: T, y: T", .outputs = "z: T", \
        .attrs = "T: type"                                          \
    }

static const struct tfd_opdef ops[] = {
    GPU_OP("TestMap"),      GPU_OP("TestAlias"),     GPU_STATEFUL("TestState"),
    TWO_INPUTS("TestPlus"), TWO_INPUTS("TestScale"),
};

static const struct tfd_kernel kernels[] = {
    GPU_KERNEL("TestMap", map_gpu),
    GPU_KERNEL("TestState", map_gpu),
    GPU_KERNEL("TestAlias", alias_gpu),
    GPU_KERNEL("TestPlus", plus_gpu),
    {.op = "TestScale", .device = TFD_GPU, .compute = scale_gpu, .host_in = 2},
};

static const struct tfd_family family = GPU_FAMILY(ops, kernels);

/* ---- The rig ------------------------------------------------------------- */

static inline void init_as(struct gpu_rig *r, int threads,
                           enum tfd_cuda_graphs graphs)
{
    const struct tfd_cuda_options o = gpu_options(32, graphs);

    computed = 0;
    gpu_init(r, threads, &family, &o);
}

static inline void init(struct gpu_rig *r)
{
    init_as(r, 2, TFD_CUDA_GRAPHS_ON);
}

/* x, mapped so many times. */
static inline void chain(struct gpu_rig *r, const char *from, const char *name,
                         int count)
{
    char before[64], after[64];

    snprintf(before, sizeof(before), "%s", from);
    for (int i = 0; i < count; i++) {
        if (i + 1 < count)
            snprintf(after, sizeof(after), "%s_%d", name, i);
        else
            snprintf(after, sizeof(after), "%s", name);
        gpu_node(&r->w, GPU0, after, "TestMap", before);
        memcpy(before, after, sizeof(before));
    }
}

static inline double chained(double x, int count)
{
    for (int i = 0; i < count; i++)
        x = 2 * x + 1;
    return x;
}

/* The graph of most tests: y is x, mapped so many times. */
static inline void reg_chain(struct gpu_rig *r, int count)
{
    wrig_feed(&r->w, "x");
    chain(r, "x", "y", count);
    gpu_fetch(&r->w, "y");
    gpu_ready(r);
}

static inline struct tfd_tensor vector(int64_t n, double first)
{
    const struct tfd_shape shape = {1, {n}};
    struct tfd_tensor t;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &shape, NULL), TFD_OK);
    for (int64_t i = 0; i < n; i++)
        ((float *)tfd_tensor_data(&t))[i] = (float)(first + (double)i);
    return t;
}

static inline void check_vector(struct gpu_rig *r, int64_t n, double first,
                                int count)
{
    r->w.fed[0] = vector(n, first);
    assert_int_equal(wrig_run(&r->w, r->graph), TFD_OK);
    assert_int_equal(tfd_tensor_elements(&r->w.fetched[0]), n);
    for (int64_t i = 0; i < n; i++)
        assert_true((double)((float *)tfd_tensor_data(&r->w.fetched[0]))[i] ==
                    chained(first + (double)i, count));
}

/* Computed since it was last asked. */
static inline int computed_now(void)
{
    return __atomic_exchange_n(&computed, 0, __ATOMIC_RELAXED);
}

#endif
