/*
 * uniform_dot.c - products of matrices with scales and zero points:
 *
 *     UniformQuantizedDot        qint8 by qint8, as qint32 of another scale
 *     UniformQuantizedDotHybrid  float by qint8, as float
 *
 * A float row becomes integers of eight bits on its way, of a scale and a zero
 * point that its own range gives.  Sums are of 32 bits, which wrap:
 *
 *     sum (a - zero a) (b - zero b) = sum (a - zero a) b
 *                                     - zero b * sum (a - zero a)
 *
 * so that the long loop goes along a row of b as it lies in memory.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/core/families.h"
#include "kernels/core/op_memory.h"
#include "kernels/quantized/uniform.h"

#define TERMS_BETWEEN_LOOKS 256

struct dot_state {
    int32_t low, high;
};

struct dot {
    const void *a;
    const int8_t *b;
    void *y;
    int64_t depth, columns;
    int32_t zero_a;
    const int32_t *zero_b; /* by column, or one */
    bool by_column;
    const struct tfd_uniform_ratio *ratio; /* by column, or one */
    const int32_t *zero_y;
    bool y_by_column;
    const float *scale_b; /* the hybrid's: by column, or one */
    int32_t low, high;
};

/* ---- Loops --------------------------------------------------------------- */

/* sum += a b, for a row of b. */
static inline void add_row(uint32_t *sum, int32_t a, const int8_t *b, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        sum[j] += (uint32_t)a * (uint32_t)(int32_t)b[j];
}

/* What the zeros of b come to leaves the sums. */
static void take_zeros(const struct dot *j, uint32_t *sum, uint32_t of_a)
{
    for (int64_t c = 0; c < j->columns; c++)
        sum[c] -= of_a * (uint32_t)j->zero_b[j->by_column ? c : 0];
}

static int32_t requantized_sum(const struct dot *j, int32_t sum, int64_t c)
{
    return tfd_uniform_sum(sum, j->ratio[j->by_column ? c : 0],
                           j->zero_y[j->y_by_column ? c : 0], j->low, j->high);
}

static void dot_rows(void *arg, int64_t begin, int64_t end)
{
    const struct dot *j = arg;

    for (int64_t i = begin; i < end; i++) {
        const int8_t *a = (const int8_t *)j->a + i * j->depth;
        int32_t *y = (int32_t *)j->y + i * j->columns;
        uint32_t of_a = 0;

        for (int64_t c = 0; c < j->columns; c++)
            y[c] = 0;
        for (int64_t l = 0; l < j->depth; l++) {
            const int32_t v = (int32_t)((uint32_t)a[l] - (uint32_t)j->zero_a);

            if (l % TERMS_BETWEEN_LOOKS == 0 && tfd_halted())
                return;
            of_a += (uint32_t)v;
            add_row((uint32_t *)y, v, j->b + l * j->columns, j->columns);
        }
        take_zeros(j, (uint32_t *)y, of_a);
        for (int64_t c = 0; c < j->columns; c++)
            y[c] = requantized_sum(j, y[c], c);
    }
}

static struct tfd_uniform_row row_scale_of(const float *x, int64_t n)
{
    double low = 0, high = 0;

    tfd_uniform_widen(x, n, &low, &high);
    return tfd_uniform_row(low, high);
}

static void hybrid_rows(void *arg, int64_t begin, int64_t end, uint32_t *sum)
{
    const struct dot *j = arg;

    for (int64_t i = begin; i < end; i++) {
        const float *a = (const float *)j->a + i * j->depth;
        float *y = (float *)j->y + i * j->columns;
        const struct tfd_uniform_row r = row_scale_of(a, j->depth);
        uint32_t of_a = 0;

        for (int64_t c = 0; c < j->columns; c++)
            sum[c] = 0;
        for (int64_t l = 0; l < j->depth; l++) {
            const int32_t v = tfd_uniform_row_integer(&r, a[l]);

            if (l % TERMS_BETWEEN_LOOKS == 0 && tfd_halted())
                return;
            of_a += (uint32_t)v;
            add_row(sum, v, j->b + l * j->columns, j->columns);
        }
        take_zeros(j, sum, of_a);
        for (int64_t c = 0; c < j->columns; c++)
            y[c] = (float)(int32_t)sum[c] * r.scale *
                   j->scale_b[j->by_column ? c : 0];
    }
}

static enum tfd_code try_hybrid_rows(void *arg, int64_t begin, int64_t end,
                                     struct tfd_status *st)
{
    const struct dot *j = arg;
    struct tfd_buffer *sum =
        tfd_buffer_new((size_t)j->columns * sizeof(uint32_t));

    if (!sum)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating a row of %lld sums",
                        (long long)j->columns);
    hybrid_rows(arg, begin, end, sum->data);
    tfd_buffer_unref(sum);
    return TFD_OK;
}

/* ---- Checks -------------------------------------------------------------- */

/* The shape of the product. */
static enum tfd_code dot_shape(const struct tfd_kctx *k, struct tfd_shape *y,
                               struct tfd_status *st)
{
    static const char *const names[] = {"lhs", "rhs"};
    char text[2][TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 2; i++)
        if (k->in[i].shape.rank != 2)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s rank must be 2, but given %s shape %s",
                            names[i], names[i],
                            tfd_shape_text(&k->in[i].shape, text[0]));
    if (k->in[0].shape.dim[1] != k->in[1].shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "lhs.dim_size(1) and rhs.dim_size(0) must be equal, "
                        "but given lhs shape %s and rhs shape %s",
                        tfd_shape_text(&k->in[0].shape, text[0]),
                        tfd_shape_text(&k->in[1].shape, text[1]));
    return tfd_shape_make(
        y, (int64_t[]){k->in[0].shape.dim[0], k->in[1].shape.dim[1]}, 2, st);
}

static int64_t axis_of_scales(const struct tfd_kctx *k, int at)
{
    return k->in[at].shape.rank ? 1 : -1;
}

static enum tfd_code check_dot(const struct tfd_kctx *k, struct tfd_shape *y,
                               struct tfd_status *st)
{
    static const char *const names[] = {"lhs", "rhs", "output"};
    char text[2][TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 3; i++)
        TFD_TRY(tfd_uniform_check_positive(k, 2 + 2 * i, names[i], st));
    TFD_TRY(dot_shape(k, y, st));
    if (k->in[2].shape.rank || k->in[3].shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "lhs scales/zero_points must be all scalar tensors. "
                        "Given: %s%s",
                        tfd_shape_text(&k->in[2].shape, text[0]),
                        tfd_shape_text(&k->in[3].shape, text[1]));
    TFD_TRY(tfd_uniform_check_scales(k, &k->in[1].shape, 4,
                                     axis_of_scales(k, 4), st));
    TFD_TRY(tfd_uniform_check_scales(k, y, 6, axis_of_scales(k, 6), st));
    if (!k->in[4].shape.rank && k->in[6].shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "If rhs is per-tensor quantized, output must be also "
                        "per-tensor quantized. Given rhs scales and "
                        "zero_points of shape %s but given output scales and "
                        "zero_points of shape %s",
                        tfd_shape_text(&k->in[4].shape, text[0]),
                        tfd_shape_text(&k->in[6].shape, text[1]));
    return TFD_OK;
}

/* ---- Kernels ------------------------------------------------------------- */

static int dot_cost(const struct dot *j)
{
    const double ns = (double)j->columns * (double)j->depth / 8 + 1;

    return ns < 1e9 ? (int)ns : 1000000000;
}

static enum tfd_code run_dot(struct tfd_kctx *k, struct dot *j,
                             struct tfd_uniform_ratio *ratios,
                             struct tfd_status *st)
{
    const struct dot_state *s = k->state;

    TFD_TRY(tfd_uniform_ratios(k, ratios, st));
    j->ratio = ratios;
    j->zero_a = *(const int32_t *)tfd_tensor_data(&k->in[3]);
    j->zero_y = tfd_tensor_data(&k->in[7]);
    j->y_by_column = k->in[7].shape.rank == 1;
    j->low = s->low;
    j->high = s->high;
    if (tfd_tensor_elements(&k->out[0]))
        tfd_kctx_parallel(k, k->out[0].shape.dim[0], dot_cost(j), dot_rows, j);
    return TFD_OK;
}

static struct dot dot_of(const struct tfd_kctx *k, int zero_b)
{
    return (struct dot){.a = tfd_tensor_data(&k->in[0]),
                        .b = tfd_tensor_data(&k->in[1]),
                        .y = tfd_tensor_data(&k->out[0]),
                        .depth = k->in[1].shape.dim[0],
                        .columns = k->in[1].shape.dim[1],
                        .zero_b = tfd_tensor_data(&k->in[zero_b]),
                        .by_column = k->in[zero_b].shape.rank == 1};
}

static enum tfd_code uniform_dot(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor ratios = {0};
    struct tfd_shape y, kept;
    enum tfd_code rc;
    struct dot j;

    TFD_TRY(check_dot(k, &y, st));
    TFD_TRY(tfd_shape_make(
        &kept, (int64_t[]){tfd_tensor_elements(&k->in[4]), 2}, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_QINT32, &y, st));
    TFD_TRY(tfd_op_memory_new(k, TFD_INT32, &kept, &ratios, st));
    j = dot_of(k, 5);
    rc = run_dot(k, &j, tfd_tensor_data(&ratios), st);
    tfd_tensor_unref(&ratios);
    return rc;
}

static enum tfd_code hybrid_dot(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape y;
    struct dot j;

    TFD_TRY(dot_shape(k, &y, st));
    TFD_TRY(tfd_uniform_check_scales(k, &k->in[1].shape, 2,
                                     axis_of_scales(k, 2), st));
    TFD_TRY(tfd_uniform_check_positive(k, 2, "rhs", st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &y, st));
    if (!tfd_shape_elements(&y))
        return TFD_OK;
    j = dot_of(k, 3);
    j.scale_b = tfd_tensor_data(&k->in[2]);
    return tfd_kctx_try(k, y.dim[0], dot_cost(&j), try_hybrid_rows, &j, st);
}

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code check_column_axis(const struct tfd_prepare *p,
                                       const char *name, struct tfd_status *st)
{
    int64_t axis;

    TFD_TRY(tfd_node_int(p->node, name, &axis, st));
    if (axis == 1 || axis == -1)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s Attr must be 1 (per-channel) or -1 (per-tensor).",
                    name);
}

static enum tfd_code dot_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct dot_state *s = state;
    int64_t axis;

    TFD_TRY(tfd_uniform_int32(p, "output_quantization_min_val", &s->low, st));
    TFD_TRY(tfd_uniform_int32(p, "output_quantization_max_val", &s->high, st));
    TFD_TRY(tfd_node_int(p->node, "lhs_quantization_axis", &axis, st));
    if (axis != -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "lhs_quantization_axis Attr must be -1 (per-tensor).");
    TFD_TRY(check_column_axis(p, "rhs_quantization_axis", st));
    return check_column_axis(p, "output_quantization_axis", st);
}

static enum tfd_code hybrid_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    (void)state;
    return check_column_axis(p, "rhs_quantization_axis", st);
}

static enum tfd_code dot_infer(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape y = {2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};

    (void)st;
    for (int i = 0; i < 2; i++)
        if (s->in[i].rank == 2)
            y.dim[i] = s->in[i].dim[i];
    s->out[0] = y;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "UniformQuantizedDot",
        .inputs = "lhs: Tin, rhs: Tin, lhs_scales: float, "
                  "lhs_zero_points: int32, rhs_scales: float, "
                  "rhs_zero_points: int32, output_scales: float, "
                  "output_zero_points: int32",
        .outputs = "output: Tout",
        .attrs = "Tin: {qint8}; Tout: {qint32}; " TFD_UNIFORM_AXIS(
            "lhs_") "; " TFD_UNIFORM_AXIS("rhs_") "; " TFD_UNIFORM_AXIS("output"
                                                                        "_"),
        .key = "Tin",
        .shape = dot_infer,
    },
    {
        .name = "UniformQuantizedDotHybrid",
        .inputs = "lhs: Tlhs, rhs: Trhs, rhs_scales: float, "
                  "rhs_zero_points: int32",
        .outputs = "output: Tout",
        .attrs =
            "Tlhs: {float}; Trhs: {qint8}; Tout: {float}; " TFD_UNIFORM_AXIS(
                "rhs_"),
        .key = "Trhs",
        .shape = dot_infer,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("UniformQuantizedDot", QINT8, uniform_dot,
               .prepare = dot_prepare, .state_size = sizeof(struct dot_state)),
    TFD_KERNEL("UniformQuantizedDotHybrid", QINT8, hybrid_dot,
               .prepare = hybrid_prepare),
};

const struct tfd_family tfd_family_uniform_dot = {
    .name = "uniform_dot",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
