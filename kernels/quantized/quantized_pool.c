/*
 * quantized_pool.c - maxima and means of windows over quantised images, of the
 * same range as those: QuantizedMaxPool, QuantizedAvgPool.
 *
 * A mean is the sum by the count, which goes towards zero, as in TensorFlow
 * without oneDNN; with it, TensorFlow rounds to the nearest.
 */
#include "common/thread/halt.h"
#include "kernels/conv/pooling.h"
#include "kernels/core/families.h"
#include "kernels/quantized/quantized.h"

/* ---- Loops --------------------------------------------------------------- */

#define BLOCK 256 /* channels at a time */

/* The elements of a window that exist. */
struct area {
    int64_t row, rows, column, columns;
};

static struct area area_of(const struct tfd_pooling_window *p, int64_t y,
                           int64_t x)
{
    int64_t first, last;
    struct area a;

    tfd_window_inside(&p->row, y, &first, &last);
    a.row = y * p->row.stride - p->row.before + first;
    a.rows = last - first;
    tfd_window_inside(&p->column, x, &first, &last);
    a.column = x * p->column.stride - p->column.before + first;
    a.columns = last - first;
    return a;
}

#define MEAN_LOOP(name, T)                                                     \
    /* False where it was told to stop. */                                     \
    static bool mean_block_##name(const struct tfd_pooling_window *p,          \
                                  const T *x, const struct area *a,            \
                                  int64_t channels, T *y, int64_t *since)      \
    {                                                                          \
        const int64_t count = a->rows * a->columns;                            \
        int64_t sum[BLOCK] = {0};                                              \
                                                                               \
        for (int64_t i = 0; i < a->rows; i++) {                                \
            if (tfd_halted_after(a->columns * channels, since))                \
                return false;                                                  \
            for (int64_t j = 0; j < a->columns; j++) {                         \
                const T *from =                                                \
                    x + ((a->row + i) * p->column.in + a->column + j) *        \
                            p->channels;                                       \
                                                                               \
                for (int64_t c = 0; c < channels; c++)                         \
                    sum[c] += from[c];                                         \
            }                                                                  \
        }                                                                      \
        for (int64_t c = 0; c < channels; c++)                                 \
            y[c] = (T)(sum[c] / count);                                        \
        return true;                                                           \
    }                                                                          \
                                                                               \
    static void mean_##name(void *arg, int64_t begin, int64_t end)             \
    {                                                                          \
        const struct tfd_pooling_window *p = arg;                              \
        const int64_t image = p->row.in * p->column.in * p->channels;          \
        int64_t since = 0;                                                     \
                                                                               \
        for (int64_t r = begin; r < end && !tfd_halted(); r++) {               \
            const T *x = (const T *)p->in + r / p->row.out * image;            \
            T *y = (T *)p->out + r * p->column.out * p->channels;              \
                                                                               \
            for (int64_t i = 0; i < p->column.out; i++, y += p->channels) {    \
                const struct area a = area_of(p, r % p->row.out, i);           \
                                                                               \
                for (int64_t c = 0; c < p->channels; c += BLOCK) {             \
                    const int64_t left = p->channels - c;                      \
                                                                               \
                    if (!mean_block_##name(p, x + c, &a,                       \
                                           left < BLOCK ? left : BLOCK, y + c, \
                                           &since))                            \
                        return;                                                \
                }                                                              \
            }                                                                  \
        }                                                                      \
    }
MEAN_LOOP(QUINT8, uint8_t)
MEAN_LOOP(QINT8, int8_t)

/* ---- Kernels ------------------------------------------------------------- */

static int cost_of_pools(const struct tfd_pooling_window *p)
{
    const double ns = (double)p->column.out * (double)p->channels *
                      (double)p->row.size * (double)p->column.size / 8;

    return ns < 1 ? 1 : ns > 1e9 ? 1000000000 : (int)ns;
}

static enum tfd_code check_pool(const struct tfd_kctx *k, struct tfd_status *st)
{
    static const char *const names[] = {"min_input", "max_input"};
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 2; i++)
        if (k->in[1 + i].shape.rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s shape must be rank 0 but is rank %d, received "
                            "shape: %s",
                            names[i], k->in[1 + i].shape.rank,
                            tfd_shape_text(&k->in[1 + i].shape, text));
    if (k->in[0].shape.rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "tensor_in_shape must have 2 spatial dimensions. %d 0",
                        k->in[0].shape.rank);
    return TFD_OK;
}

static enum tfd_code pool_with(struct tfd_kctx *k, tfd_range_fn *loop,
                               struct tfd_status *st)
{
    struct tfd_pooling_plan plan = {.w = *(struct tfd_window *)k->state,
                                    .x = k->in[0].shape};

    TFD_TRY(check_pool(k, st));
    TFD_TRY(tfd_pooling_spatial(&plan, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &plan.y, st));
    TFD_TRY(tfd_quantized_give(k, 1, tfd_quantized_scalar(k, 1), st));
    TFD_TRY(tfd_quantized_give(k, 2, tfd_quantized_scalar(k, 2), st));
    plan.p.in = plan.p.x = tfd_tensor_data(&k->in[0]);
    plan.p.out = tfd_tensor_data(&k->out[0]);
    if (plan.p.out)
        tfd_kctx_parallel(k, plan.y.dim[0] * plan.p.row.out,
                          cost_of_pools(&plan.p), loop, &plan.p);
    return TFD_OK;
}

static enum tfd_code pool_max(struct tfd_kctx *k, struct tfd_status *st)
{
    return pool_with(k,
                     tfd_pool_loop(TFD_POOL_MAX, k->kernel->dtype == TFD_QINT8
                                                     ? TFD_INT8
                                                     : TFD_UINT8),
                     st);
}

static enum tfd_code pool_mean(struct tfd_kctx *k, struct tfd_status *st)
{
    return pool_with(k, k->kernel->range, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code pool_infer(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape y = {
        4,
        {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    struct tfd_window w;

    s->out[1] = s->out[2] = (struct tfd_shape){.rank = 0};
    if (!s->node)
        return TFD_OK;
    TFD_TRY(tfd_window_read(s->node, &w, st));
    TFD_TRY(tfd_shape_merge(&y, &s->in[0], st));
    for (int d = TFD_WINDOW_ROW; d < TFD_WINDOW_DIMS; d++)
        TFD_TRY(tfd_window_out(&w, (enum tfd_window_dim)d, y.dim[d], w.size[d],
                               &y.dim[d], st));
    s->out[0] = y;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define POOL_OP(name_)                                                \
    {                                                                 \
        .name = name_,                                                \
        .inputs = "input: T, min_input: float, max_input: float",     \
        .outputs = "output: T, min_output: float, max_output: float", \
        .attrs = "T: quantizedtype; ksize: list(int); "               \
                 "strides: list(int); padding: {'SAME', 'VALID'}",    \
        .shape = pool_infer,                                          \
    }

static const struct tfd_opdef ops[] = {
    POOL_OP("QuantizedMaxPool"),
    POOL_OP("QuantizedAvgPool"),
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("QuantizedMaxPool", QUINT8, pool_max,
               .prepare = tfd_pooling_prepare,
               .state_size = sizeof(struct tfd_window)),
    TFD_KERNEL("QuantizedMaxPool", QINT8, pool_max,
               .prepare = tfd_pooling_prepare,
               .state_size = sizeof(struct tfd_window)),
    TFD_KERNEL("QuantizedAvgPool", QUINT8, pool_mean, mean_QUINT8,
               .prepare = tfd_pooling_prepare,
               .state_size = sizeof(struct tfd_window)),
    TFD_KERNEL("QuantizedAvgPool", QINT8, pool_mean, mean_QINT8,
               .prepare = tfd_pooling_prepare,
               .state_size = sizeof(struct tfd_window)),
};

const struct tfd_family tfd_family_quantized_pool = {
    .name = "quantized_pool",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
