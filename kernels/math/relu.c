/*
 * relu.c - Relu and its gradient.
 *
 *     Relu(x)         = max(x, 0)
 *     ReluGrad(dy, x) = dy where x > 0, else 0
 *
 * Two details follow TensorFlow, and the conformance tests check them:
 *
 *   - Relu passes NaN through, so a diverging model shows NaN in its loss
 *     and not a plausible number.
 *   - ReluGrad multiplies by 0 or 1 instead of selecting, so an infinite dy at
 *     an inactive unit becomes NaN.
 */
#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/vector/narrow.h"
#include "kernels/vector/narrow_loops.h"

/* The comparison is written so that NaN, for which it is false, is kept.
 * `zero` is a variable because `x < 0` does not compile cleanly for unsigned
 * types, where it is never true. */
#define DEFINE_LOOPS(name, number, T)              \
    TFD_SIMD_LOOP(relu_##T)                        \
    {                                              \
        const struct tfd_row *job = arg;           \
        const T *x = job->a;                       \
        const T zero = 0;                          \
        T *y = job->y;                             \
                                                   \
        for (int64_t i = begin; i < end; i++)      \
            y[i] = x[i] < zero ? zero : x[i];      \
    }                                              \
    TFD_SIMD_CLONES_WIDE(relu_##T)                 \
                                                   \
    TFD_SIMD_LOOP(relu_grad_##T)                   \
    {                                              \
        const struct tfd_row *job = arg;           \
        const T *dy = job->a;                      \
        const T *x = job->b;                       \
        const T zero = 0;                          \
        T *dx = job->y;                            \
                                                   \
        for (int64_t i = begin; i < end; i++)      \
            dx[i] = (T)(dy[i] * (T)(x[i] > zero)); \
    }                                              \
    TFD_SIMD_CLONES_WIDE(relu_grad_##T)

TFD_REAL_DTYPES(DEFINE_LOOPS)

/* Of vectors of floats: see TFD_LANES_LOOP. */
#define RELU_GRAD(R, dy, x)                                                   \
    tfd_lanes_mul(dy,                                                         \
                  _mm256_maskz_mov_ps(                                        \
                      _mm256_cmp_ps_mask(x, _mm256_setzero_ps(), _CMP_GT_OQ), \
                      _mm256_set1_ps(1)))

/* By their bits: those of the numbers below 0 lie between -0 and -infinity;
 * above that there is NaN, which stays, as -0 does. */
#define DEFINE_HALF_LOOPS(name, number, T)                                 \
    TFD_SIMD_LOOP(relu_##T)                                                \
    {                                                                      \
        const struct tfd_row *job = arg;                                   \
        const T *x = job->a;                                               \
        T *y = job->y;                                                     \
                                                                           \
        for (int64_t i = begin; i < end; i++)                              \
            y[i] = (T)(x[i] - 0x8001) < (T)TFD_INFINITE_##name ? 0 : x[i]; \
    }                                                                      \
    TFD_SIMD_CLONES(relu_##T)                                              \
    TFD_LANES_OR(relu_grad_##T, name, BINARY, RELU_GRAD, relu_grad_float)

TFD_HALF_DTYPES(DEFINE_HALF_LOOPS)

/* ---- Gradients ---------------------------------------------------------- */

/* Uses y where the mathematics says x.  Both have the same sign, and y is kept
 * alive by the next layer anyway, so x can be overwritten in place. */
static enum tfd_code relu_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    const struct tfd_edge in[] = {g->dy[0], g->y[0]};

    return tfd_grad_emit(g, "ReluGrad", in, TFD_COUNT(in), &g->dx[0], st);
}

/* Linear in dy; in x it is a step, whose derivative is 0 almost everywhere. */
static enum tfd_code relu_grad_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    const struct tfd_edge in[] = {g->dy[0], g->x[1]};

    TFD_TRY(tfd_grad_emit(g, "ReluGrad", in, TFD_COUNT(in), &g->dx[0], st));
    return tfd_grad_emit(g, "ZerosLike", &g->x[1], 1, &g->dx[1], st);
}

/* ---- CPU kernels -------------------------------------------------------- */

static enum tfd_code relu_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {.dtype = k->in[0].dtype,
                                      .cost = TFD_COST_MEMORY};
    struct tfd_row job = {.a_step = 1};

    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    if (!k->out[0].buffer)
        return TFD_OK;

    job.a = k->in[0].buffer->data;
    job.y = k->out[0].buffer->data;
    tfd_elementwise_row(k, &e, tfd_shape_elements(&k->in[0].shape), &job);
    return TFD_OK;
}

static enum tfd_code relu_grad_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {.dtype = k->in[0].dtype,
                                      .cost = TFD_COST_MEMORY};
    struct tfd_shape shape = k->in[0].shape;
    struct tfd_row job = {.a_step = 1, .b_step = 1};

    /* Shape inference may have seen unknown dimensions, so ask again. */
    TFD_TRY(tfd_shape_merge(&shape, &k->in[1].shape, st));
    TFD_TRY(tfd_kctx_output_reuse(k, 3, 0, k->in[0].dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;

    job.a = k->in[0].buffer->data;
    job.b = k->in[1].buffer->data;
    job.y = k->out[0].buffer->data;
    tfd_elementwise_row(k, &e, tfd_shape_elements(&shape), &job);
    return TFD_OK;
}

/* ---- Tables ------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Relu",
        .inputs = "features: T",
        .outputs = "activations: T",
        .attrs = "T: {realnumbertype, qint8}",
        .shape = tfd_shape_same,
        .grad = relu_gradient,
    },
    {
        .name = "ReluGrad",
        .inputs = "gradients: T, features: T",
        .outputs = "backprops: T",
        .attrs = "T: realnumbertype",
        .shape = tfd_shape_same,
        .grad = relu_grad_gradient,
    },
};

#define KERNELS(name, number, T)                                           \
    TFD_KERNEL("Relu", name, relu_cpu, relu_##T, .flags = TFD_KERNEL_ROW), \
        TFD_KERNEL("ReluGrad", name, relu_grad_cpu, relu_grad_##T,         \
                   .flags = TFD_KERNEL_ROW | TFD_KERNEL_PAIR),

static const struct tfd_kernel kernels[] = {TFD_REAL_DTYPES(KERNELS)
                                                TFD_HALF_DTYPES(KERNELS)};

const struct tfd_family tfd_family_relu = {
    .name = "relu",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
