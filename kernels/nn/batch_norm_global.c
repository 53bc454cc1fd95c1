/*
 * batch_norm_global.c - the oldest batch normalisation, which is given mean and
 * variance:
 *
 *     BatchNormWithGlobalNormalization BatchNormWithGlobalNormalizationGrad
 *
 *     y = (t - m) * rsqrt(v + epsilon) [* gamma] + beta
 *
 * over the last of four dimensions; gamma counts where
 * scale_after_normalization is set.  half is computed in float.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/conv/image.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

#include <math.h>

#define IMAGE_DIMS 4
#define COST_NS 1 /* of an element */
#define BLOCK 64  /* channels at a time */

struct global_norm {
    float epsilon;
    bool scaled;
};

static enum tfd_code prepare_global_norm(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st)
{
    struct global_norm *s = state;

    TFD_TRY(tfd_node_float(p->node, "variance_epsilon", &s->epsilon, st));
    return tfd_node_bool(p->node, "scale_after_normalization", &s->scaled, st);
}

/* ---- Loops --------------------------------------------------------------- */

struct norm_work {
    const struct global_norm *s;
    int64_t rows, channels;
    const void *x, *m, *v, *beta, *gamma, *dy;
    void *y;                        /* or dx */
    void *dm, *dv, *dbeta, *dgamma; /* of the gradient */
};

#define LOOPS(name, T, SQRT)                                                 \
    static inline T factor_##name(const struct norm_work *w, int64_t c)      \
    {                                                                        \
        return 1 / SQRT(((const T *)w->v)[c] + (T)w->s->epsilon);            \
    }                                                                        \
                                                                             \
    static inline T gamma_##name(const struct norm_work *w, int64_t c)       \
    {                                                                        \
        return w->s->scaled ? ((const T *)w->gamma)[c] : (T)1;               \
    }                                                                        \
                                                                             \
    /* Rows. */                                                              \
    static void normalize_##name(void *arg, int64_t begin, int64_t end)      \
    {                                                                        \
        const struct norm_work *w = arg;                                     \
        const T *m = w->m, *beta = w->beta;                                  \
        const int64_t n = w->channels;                                       \
        T scale[BLOCK];                                                      \
                                                                             \
        for (int64_t c = 0; c < n && !tfd_halted(); c += BLOCK) {            \
            const int64_t few = n - c < BLOCK ? n - c : BLOCK;               \
                                                                             \
            for (int64_t d = 0; d < few; d++)                                \
                scale[d] = factor_##name(w, c + d) * gamma_##name(w, c + d); \
            for (int64_t i = begin; i < end; i++) {                          \
                const T *x = (const T *)w->x + i * n + c;                    \
                T *y = (T *)w->y + i * n + c;                                \
                                                                             \
                for (int64_t d = 0; d < few; d++)                            \
                    y[d] = (x[d] - m[c + d]) * scale[d] + beta[c + d];       \
            }                                                                \
        }                                                                    \
    }                                                                        \
                                                                             \
    /* A few channels from c on: dx, and the sums over all rows. */          \
    static void derive_few_##name(const struct norm_work *w, int64_t c,      \
                                  int64_t few)                               \
    {                                                                        \
        const T *m = (const T *)w->m + c;                                    \
        T scale[BLOCK], sum[BLOCK] = {0}, product[BLOCK] = {0};              \
                                                                             \
        for (int64_t d = 0; d < few; d++)                                    \
            scale[d] = factor_##name(w, c + d) * gamma_##name(w, c + d);     \
        for (int64_t i = 0; i < w->rows && !tfd_halted(); i++) {             \
            const int64_t at = i * w->channels + c;                          \
            const T *x = (const T *)w->x + at, *dy = (const T *)w->dy + at;  \
                                                                             \
            for (int64_t d = 0; d < few; d++) {                              \
                sum[d] += dy[d];                                             \
                product[d] += dy[d] * (x[d] - m[d]);                         \
                ((T *)w->y)[at + d] = dy[d] * scale[d];                      \
            }                                                                \
        }                                                                    \
        for (int64_t d = 0; d < few; d++) {                                  \
            const T factor = factor_##name(w, c + d);                        \
                                                                             \
            ((T *)w->dm)[c + d] = -sum[d] * scale[d];                        \
            ((T *)w->dv)[c + d] =                                            \
                product[d] * (factor * factor * scale[d] * (T)-0.5);         \
            ((T *)w->dbeta)[c + d] = sum[d];                                 \
            ((T *)w->dgamma)[c + d] =                                        \
                w->s->scaled ? product[d] * factor : (T)0;                   \
        }                                                                    \
    }                                                                        \
                                                                             \
    /* Blocks of channels. */                                                \
    static void derive_##name(void *arg, int64_t begin, int64_t end)         \
    {                                                                        \
        const struct norm_work *w = arg;                                     \
                                                                             \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {             \
            const int64_t left = w->channels - i * BLOCK;                    \
                                                                             \
            derive_few_##name(w, i *BLOCK, left < BLOCK ? left : BLOCK);     \
        }                                                                    \
    }

LOOPS(float, float, sqrtf)
LOOPS(double, double, sqrt)

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_norm_rank(const struct tfd_kctx *k, int in,
                                     const char *what, int rank,
                                     struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[in].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (s->rank == rank)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be %d-dimensional%s",
                    what, rank, tfd_shape_text(s, text));
}

/* TensorFlow reads beyond a vector of another length. */
static enum tfd_code check_channels(const struct tfd_kctx *k, int in,
                                    const char *what, struct tfd_status *st)
{
    const int64_t have = k->in[in].shape.dim[0];
    const int64_t want = k->in[0].shape.dim[IMAGE_DIMS - 1];

    if (have == want)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s must have the %lld channels of the input, but has %lld",
                    what, (long long)want, (long long)have);
}

static enum tfd_code check_norm(const struct tfd_kctx *k,
                                const char *const names[5], const int ranks[5],
                                struct tfd_status *st)
{
    for (int i = 0; i < 5; i++)
        TFD_TRY(check_norm_rank(k, i, names[i], ranks[i], st));
    for (int i = 0; i < 5; i++)
        if (ranks[i] == 1)
            TFD_TRY(check_channels(k, i, names[i], st));
    return TFD_OK;
}

static struct norm_work work_of(const struct tfd_kctx *k)
{
    const struct tfd_shape *x = &k->in[0].shape;

    return (struct norm_work){.s = k->state,
                              .rows = x->dim[0] * x->dim[1] * x->dim[2],
                              .channels = x->dim[3]};
}

static int cost_of_line(int64_t elements)
{
    return elements > INT32_MAX / COST_NS ? INT32_MAX : (int)elements * COST_NS;
}

/* Of derive_few_*(). */
static int cost_of_block(const struct norm_work *w)
{
    const int64_t few = w->channels < BLOCK ? w->channels : BLOCK;

    return cost_of_line(w->rows > INT32_MAX / few ? INT32_MAX : w->rows * few);
}

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code global_norm_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    static const char *const names[] = {"input", "mean", "var", "beta",
                                        "gamma"};
    static const int ranks[] = {IMAGE_DIMS, 1, 1, 1, 1};
    struct tfd_image o[6];
    struct norm_work w;
    enum tfd_code rc;

    TFD_TRY(check_norm(k, names, ranks, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));
    w = work_of(k);
    for (int i = 0; i < 5; i++)
        o[i] = tfd_image_operand(&k->in[i], false);
    o[5] = tfd_image_result(0, false);
    rc = tfd_image_begin(k, o, 6, st);
    if (rc == TFD_OK && tfd_tensor_elements(&k->in[0]) > 0) {
        w.x = tfd_tensor_data(&o[0].work);
        w.m = tfd_tensor_data(&o[1].work);
        w.v = tfd_tensor_data(&o[2].work);
        w.beta = tfd_tensor_data(&o[3].work);
        w.gamma = tfd_tensor_data(&o[4].work);
        w.y = tfd_tensor_data(&o[5].work);
        tfd_kctx_parallel(k, w.rows, cost_of_line(w.channels),
                          o[0].work.dtype == TFD_FLOAT ? normalize_float
                                                       : normalize_double,
                          &w);
    }
    return tfd_image_end(k, o, 6, rc, st);
}

/* Outputs: dx as x, and four vectors of as many elements as there are
 * channels. */
static enum tfd_code make_gradients(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));
    for (int i = 1; i < 5; i++)
        TFD_TRY(tfd_kctx_output(k, i, k->in[0].dtype, &k->in[1].shape, st));
    return TFD_OK;
}

static enum tfd_code check_backprop(const struct tfd_kctx *k,
                                    struct tfd_status *st)
{
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (tfd_shape_equal(&k->in[0].shape, &k->in[4].shape))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "out_backprop of shape %s must have the shape of the "
                    "input, %s",
                    tfd_shape_text(&k->in[4].shape, one),
                    tfd_shape_text(&k->in[0].shape, other));
}

static enum tfd_code global_norm_grad_compute(struct tfd_kctx *k,
                                              struct tfd_status *st)
{
    static const char *const names[] = {"input", "mean", "var", "gamma",
                                        "out_backprop"};
    static const int ranks[] = {IMAGE_DIMS, 1, 1, 1, IMAGE_DIMS};
    struct tfd_image o[10];
    struct norm_work w;
    enum tfd_code rc;

    TFD_TRY(check_norm(k, names, ranks, st));
    TFD_TRY(check_backprop(k, st));
    TFD_TRY(make_gradients(k, st));
    w = work_of(k);
    for (int i = 0; i < 5; i++) {
        o[i] = tfd_image_operand(&k->in[i], false);
        o[5 + i] = tfd_image_result(i, false);
    }
    rc = tfd_image_begin(k, o, 10, st);
    if (rc == TFD_OK && w.channels > 0) {
        w.x = tfd_tensor_data(&o[0].work);
        w.m = tfd_tensor_data(&o[1].work);
        w.v = tfd_tensor_data(&o[2].work);
        w.gamma = tfd_tensor_data(&o[3].work);
        w.dy = tfd_tensor_data(&o[4].work);
        w.y = tfd_tensor_data(&o[5].work);
        w.dm = tfd_tensor_data(&o[6].work);
        w.dv = tfd_tensor_data(&o[7].work);
        w.dbeta = tfd_tensor_data(&o[8].work);
        w.dgamma = tfd_tensor_data(&o[9].work);
        tfd_kctx_parallel(
            k, (w.channels + BLOCK - 1) / BLOCK, cost_of_block(&w),
            o[1].work.dtype == TFD_FLOAT ? derive_float : derive_double, &w);
    }
    return tfd_image_end(k, o, 10, rc, st);
}

/* ---- Shapes and gradients ------------------------------------------------ */

static enum tfd_code global_norm_shape(struct tfd_shape_ctx *s,
                                       struct tfd_status *st)
{
    struct tfd_shape x = {
        4,
        {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};

    TFD_TRY(tfd_shape_merge(&x, &s->in[0], st));
    s->out[0] = x;
    for (int i = 1; i < s->out_count; i++)
        s->out[i] = (struct tfd_shape){.rank = 1, .dim = {x.dim[3]}};
    return TFD_OK;
}

static enum tfd_code global_norm_gradient(struct tfd_grad *g,
                                          struct tfd_status *st)
{
    static const char *const attributes[] = {"variance_epsilon",
                                             "scale_after_normalization", NULL};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->x[0], g->x[1], g->x[2], g->x[4], g->dy[0]};

    tfd_gradient_copying(&b, "BatchNormWithGlobalNormalizationGrad", in, 5,
                         attributes, g->dx, 5);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define ATTRS                                  \
    "T: numbertype; variance_epsilon: float; " \
    "scale_after_normalization: bool"

static const struct tfd_opdef ops[] = {
    {
        .name = "BatchNormWithGlobalNormalization",
        .inputs = "t: T, m: T, v: T, beta: T, gamma: T",
        .outputs = "result: T",
        .attrs = ATTRS,
        .shape = global_norm_shape,
        .grad = global_norm_gradient,
    },
    {
        .name = "BatchNormWithGlobalNormalizationGrad",
        .inputs = "t: T, m: T, v: T, gamma: T, backprop: T",
        .outputs = "dx: T, dm: T, dv: T, db: T, dg: T",
        .attrs = ATTRS,
        .shape = global_norm_shape,
    },
};

#define ROW(op, name, compute)                                    \
    TFD_KERNEL(op, name, compute, .prepare = prepare_global_norm, \
               .state_size = sizeof(struct global_norm)),
#define ROWS(name)                                                     \
    ROW("BatchNormWithGlobalNormalization", name, global_norm_compute) \
    ROW("BatchNormWithGlobalNormalizationGrad", name, global_norm_grad_compute)

static const struct tfd_kernel kernels[] = {ROWS(FLOAT) ROWS(DOUBLE)
                                                ROWS(HALF)};

const struct tfd_family tfd_family_batch_norm_global = {
    .name = "batch_norm_global",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
