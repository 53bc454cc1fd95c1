/*
 * cross_product.c - vectors at right angles to two others: Cross, of the last
 * dimension, which has three elements.
 *
 * Integers wrap; of halves each product is rounded, as in TensorFlow.
 */
#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

struct cross_job {
    const void *a, *b;
    void *y;
};

/* ---- Loops --------------------------------------------------------------- */

/* Vectors [begin, end); PART(a, b, c, d) is a b - c d, rounded to T. */
#define CROSS(name, T, V, TO, PART)                                      \
    static void cross_##name(void *arg, int64_t begin, int64_t end)      \
    {                                                                    \
        const struct cross_job *s = arg;                                 \
        const T *a = s->a, *b = s->b;                                    \
        T *y = s->y;                                                     \
                                                                         \
        for (int64_t i = 3 * begin; i < 3 * end; i += 3) {               \
            const V a0 = TO(a[i]), a1 = TO(a[i + 1]), a2 = TO(a[i + 2]); \
            const V b0 = TO(b[i]), b1 = TO(b[i + 1]), b2 = TO(b[i + 2]); \
                                                                         \
            y[i] = (T)PART(a1, b2, a2, b1);                              \
            y[i + 1] = (T)PART(a2, b0, a0, b2);                          \
            y[i + 2] = (T)PART(a0, b1, a1, b0);                          \
        }                                                                \
    }

#define SAME(x) (x)
#define WRAPPED(x) ((uint64_t)(x))
#define PART(a, b, c, d) ((a) * (b) - (c) * (d))
#define PART_HALF(a, b, c, d) \
    tfd_half_from_float(tfd_half_round((a) * (b)) - tfd_half_round((c) * (d)))
#define PART_BFLOAT16(a, b, c, d)                           \
    tfd_bfloat16_from_float(tfd_bfloat16_round((a) * (b)) - \
                            tfd_bfloat16_round((c) * (d)))

CROSS(FLOAT, float, float, SAME, PART)
CROSS(DOUBLE, double, double, SAME, PART)
CROSS(INT8, int8_t, uint64_t, WRAPPED, PART)
CROSS(INT16, int16_t, uint64_t, WRAPPED, PART)
CROSS(INT32, int32_t, uint64_t, WRAPPED, PART)
CROSS(INT64, int64_t, uint64_t, WRAPPED, PART)
CROSS(UINT8, uint8_t, uint64_t, WRAPPED, PART)
CROSS(UINT16, uint16_t, uint64_t, WRAPPED, PART)
CROSS(UINT32, uint32_t, uint64_t, WRAPPED, PART)
CROSS(UINT64, uint64_t, uint64_t, WRAPPED, PART)
CROSS(HALF, tfd_half, float, tfd_half_to_float, PART_HALF)
CROSS(BFLOAT16, tfd_bfloat16, float, tfd_bfloat16_to_float, PART_BFLOAT16)

/* ---- Kernel, shape, gradient --------------------------------------------- */

static enum tfd_code cross_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *a = &k->in[0], *b = &k->in[1];
    char own[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];
    struct cross_job job = {tfd_tensor_data(a), tfd_tensor_data(b), NULL};

    if (!tfd_shape_equal(&a->shape, &b->shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Both inputs must be of same shape: %s vs. %s",
                        tfd_shape_text(&a->shape, own),
                        tfd_shape_text(&b->shape, other));
    if (a->shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Input must be at least 1D%s",
                        tfd_shape_text(&a->shape, own));
    if (a->shape.dim[a->shape.rank - 1] != 3)
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "Cross-products are only defined for 3-element "
                        "vectors.");
    TFD_TRY(tfd_kctx_output(k, 0, a->dtype, &a->shape, st));
    job.y = tfd_tensor_data(&k->out[0]);
    if (job.y)
        tfd_kctx_parallel_bytes(k, tfd_tensor_elements(a) / 3,
                                9 * (int)tfd_dtype_size(a->dtype),
                                k->kernel->range, &job);
    return TFD_OK;
}

static enum tfd_code cross_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape both = s->in[0];

    TFD_TRY(tfd_shape_merge(&both, &s->in[1], st));
    s->out[0] = both;
    if (both.rank > 0 && both.dim[both.rank - 1] >= 0 &&
        both.dim[both.rank - 1] != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dimension must be 3 but is %lld",
                        (long long)both.dim[both.rank - 1]);
    return TFD_OK;
}

static enum tfd_code cross_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = tfd_gradient_op2(&b, "Cross", g->x[1], g->dy[0]);
    g->dx[1] = tfd_gradient_op2(&b, "Cross", g->dy[0], g->x[0]);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Cross",
        .inputs = "a: T, b: T",
        .outputs = "product: T",
        .attrs = "T: realnumbertype",
        .shape = cross_shape,
        .grad = cross_gradient,
    },
};

#define KERNEL(name, number, T) \
    TFD_KERNEL("Cross", name, cross_compute, cross_##name),

static const struct tfd_kernel kernels[] = {TFD_REAL_DTYPES(KERNEL)
                                                TFD_HALF_DTYPES(KERNEL)};

const struct tfd_family tfd_family_cross_product = {
    .name = "cross_product",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
