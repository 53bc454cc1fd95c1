/*
 * quantized_pairs.c - sums and products of two tensors of quint8, as qint32:
 *
 *     QuantizedAdd  the sum, in a range 2^14 times as wide as the inputs'
 *     QuantizedMul  the product of the numbers less their zeros
 *
 * A quint8 has 256 values, so what each of them comes to is written down once
 * for either operand, and elements are looked up.  As in TensorFlow, one of the
 * shapes must be repeated along one block of dimensions at most; a tensor of
 * one column is repeated along rows, where TensorFlow repeats it as if it were
 * one row.
 */
#include "kernels/core/broadcast.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/quantized/quantized.h"

#define VALUES 256

struct pair_job {
    const uint8_t *x, *y;
    uint32_t *z;
    struct tfd_broadcast plan;
    uint32_t of_x[VALUES], of_y[VALUES]; /* by the element's value */
};

/* ---- Loops --------------------------------------------------------------- */

#define PAIR_LOOP(name, OP)                                                   \
    static void name(void *arg, int64_t begin, int64_t end)                   \
    {                                                                         \
        const struct pair_job *j = arg;                                       \
        const int64_t size = j->plan.row_size;                                \
        const int step_x = j->plan.row_step[0], step_y = j->plan.row_step[1]; \
                                                                              \
        for (int64_t i = begin; i < end;) {                                   \
            const int64_t first = i % size;                                   \
            const int64_t left = size - first;                                \
            const int64_t n = left < end - i ? left : end - i;                \
            struct tfd_broadcast_at at;                                       \
            const uint8_t *x, *y;                                             \
                                                                              \
            tfd_broadcast_seek(&j->plan, i / size, &at);                      \
            x = j->x + at.offset[0] + first * step_x;                         \
            y = j->y + at.offset[1] + first * step_y;                         \
            for (int64_t e = 0; e < n; e++)                                   \
                j->z[i + e] =                                                 \
                    j->of_x[x[e * step_x]] OP j->of_y[y[e * step_y]];         \
            i += n;                                                           \
        }                                                                     \
    }
PAIR_LOOP(add_pairs, +)
PAIR_LOOP(multiply_pairs, *)

/* ---- Shapes -------------------------------------------------------------- */

/* Dimension `back` from the end, 1 where there is none. */
static int64_t dim_from_end(const struct tfd_shape *s, int back)
{
    return back < s->rank ? s->dim[s->rank - 1 - back] : 1;
}

/* Blocks of dimensions in which the same operands are repeated. */
static int blocks_of(const struct tfd_shape *x, const struct tfd_shape *y)
{
    const int rank = x->rank > y->rank ? x->rank : y->rank;
    int blocks = 0, before = -1;

    if (tfd_shape_equal(x, y))
        return 1;
    for (int i = 0; i < rank; i++) {
        const int64_t a = dim_from_end(x, i), b = dim_from_end(y, i);
        const int kind = 2 * (a == 1) + (b == 1);

        if (kind == 3)
            continue;
        blocks += kind != before;
        before = kind;
    }
    return blocks;
}

static enum tfd_code check_blocks(const struct tfd_kctx *k, int blocks,
                                  const char *none, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *y = &k->in[1].shape;
    const int64_t a = tfd_shape_elements(x), b = tfd_shape_elements(y);
    char text[2][TFD_SHAPE_TEXT_MAX];

    if (blocks > 2)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Broadcast between %s and %s is not supported yet.",
                        tfd_shape_text(x, text[0]), tfd_shape_text(y, text[1]));
    if (blocks == 2 && (a < b ? a : b) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s", none);
    return TFD_OK;
}

static enum tfd_code pair_shape(const struct tfd_kctx *k, struct tfd_shape *z,
                                struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *y = &k->in[1].shape;
    char text[2][TFD_SHAPE_TEXT_MAX];

    if (!tfd_broadcast_fits(x, y))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Incompatible shapes: %s vs. %s",
                        tfd_shape_text(x, text[0]), tfd_shape_text(y, text[1]));
    return tfd_broadcast_shape(x, y, z, st);
}

static enum tfd_code give_pairs(struct tfd_kctx *k, struct pair_job *j,
                                const struct tfd_shape *z, float low,
                                float high, struct tfd_status *st)
{
    const struct tfd_shape *const in[] = {&k->in[0].shape, &k->in[1].shape};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_QINT32, z, st));
    TFD_TRY(tfd_quantized_give(k, 1, low, st));
    TFD_TRY(tfd_quantized_give(k, 2, high, st));
    if (!tfd_shape_elements(z))
        return TFD_OK;
    tfd_broadcast_plan(&j->plan, z, in, 2);
    j->x = tfd_tensor_data(&k->in[0]);
    j->y = tfd_tensor_data(&k->in[1]);
    j->z = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel(k, tfd_shape_elements(z), 1, k->kernel->range, j);
    return TFD_OK;
}

/* ---- QuantizedAdd -------------------------------------------------------- */

static uint32_t clamped32(int64_t v)
{
    return (uint32_t)(v < INT32_MIN   ? INT32_MIN
                      : v > INT32_MAX ? INT32_MAX
                                      : v);
}

/* What the values come to in the range of the sum: as steps of the first two,
 * or each exactly where an operand is but one element. */
static void fill_terms(uint32_t *out, bool exact, float low, float high,
                       float range)
{
    int64_t at[2];
    int32_t step;

    for (int v = 0; v < 2; v++)
        at[v] = tfd_quantized_int_of(
            TFD_QINT32, tfd_quantized_float_of(TFD_QUINT8, v, low, high),
            -range, range);
    step = (int32_t)((uint64_t)at[1] - (uint64_t)at[0]);
    for (int v = 0; v < VALUES; v++)
        out[v] = clamped32(
            exact ? tfd_quantized_int_of(
                        TFD_QINT32,
                        tfd_quantized_float_of(TFD_QUINT8, v, low, high),
                        -range, range)
                  : (int64_t)((uint64_t)at[0] +
                              (uint64_t)((int64_t)v * (int64_t)step)));
}

static enum tfd_code check_add(const struct tfd_kctx *k, struct tfd_status *st)
{
    static const char *const names[] = {"min_x", "max_x", "min_y", "max_y"};

    for (int i = 0; i < 4; i++)
        TFD_TRY(tfd_quantized_check_one(k, 2 + i, names[i], st));
    return TFD_OK;
}

static enum tfd_code quantized_add(struct tfd_kctx *k, struct tfd_status *st)
{
    const int64_t x_count = tfd_tensor_elements(&k->in[0]);
    const int64_t y_count = tfd_tensor_elements(&k->in[1]);
    float limit[4], range;
    struct tfd_shape z;
    struct pair_job j;
    int blocks;

    TFD_TRY(check_add(k, st));
    TFD_TRY(pair_shape(k, &z, st));
    for (int i = 0; i < 4; i++)
        limit[i] = tfd_quantized_scalar(k, 2 + i);
    for (int i = 0; i < 2; i++)
        if (!(limit[2 * i + 1] > limit[2 * i]))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "max_%c must be larger than min_%c.", "xy"[i],
                            "xy"[i]);
    blocks = blocks_of(&k->in[0].shape, &k->in[1].shape);
    TFD_TRY(check_blocks(k, blocks, "Must have some elements to add", st));
    range = tfd_quantized_max(fabsf(tfd_quantized_min(limit[0], limit[2])),
                              fabsf(tfd_quantized_max(limit[1], limit[3])));
    range *= (float)(1 << 14);
    fill_terms(j.of_x, blocks < 2 && x_count == 1, limit[0], limit[1], range);
    fill_terms(j.of_y, blocks < 2 && x_count != 1 && y_count == 1, limit[2],
               limit[3], range);
    return give_pairs(k, &j, &z, -range, range, st);
}

/* ---- QuantizedMul -------------------------------------------------------- */

static void fill_factors(uint32_t *out, float low, float high)
{
    const uint32_t zero =
        (uint32_t)tfd_quantized_int_of(TFD_QUINT8, 0, low, high);

    for (uint32_t v = 0; v < VALUES; v++)
        out[v] = v - zero;
}

static enum tfd_code check_mul(const struct tfd_kctx *k, struct tfd_status *st)
{
    static const char *const names[] = {"min_x", "max_x", "min_y", "max_y"};

    for (int i = 0; i < 4; i++)
        if (k->in[2 + i].shape.rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be a scalar",
                            names[i]);
    return TFD_OK;
}

static enum tfd_code quantized_mul(struct tfd_kctx *k, struct tfd_status *st)
{
    float limit[4], step;
    struct tfd_shape z;
    struct pair_job j;

    TFD_TRY(check_mul(k, st));
    TFD_TRY(pair_shape(k, &z, st));
    for (int i = 0; i < 4; i++)
        limit[i] = tfd_quantized_scalar(k, 2 + i);
    for (int i = 0; i < 2; i++)
        if (!(limit[2 * i + 1] > limit[2 * i]))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "max_%c must be larger than min_%c.", "xx"[i],
                            "ab"[i]);
    TFD_TRY(check_blocks(k, blocks_of(&k->in[0].shape, &k->in[1].shape),
                         "vector must have at least 1 element", st));
    fill_factors(j.of_x, limit[0], limit[1]);
    fill_factors(j.of_y, limit[2], limit[3]);
    step = (limit[1] - limit[0]) / 255.0f * ((limit[3] - limit[2]) / 255.0f);
    return give_pairs(k, &j, &z, step * -2147483648.0f, step * 2147483648.0f,
                      st);
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code pair_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    (void)state;
    TFD_TRY(tfd_quantized_check_type(p, "T2", TFD_QUINT8, st));
    return tfd_quantized_check_type(p, "Toutput", TFD_QINT32, st);
}

static enum tfd_code pair_infer(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    TFD_TRY(tfd_shape_broadcast2(s, st));
    s->out[1] = s->out[2] = (struct tfd_shape){.rank = 0};
    return TFD_OK;
}

#define PAIR_OP(name_)                                         \
    {                                                          \
        .name = name_,                                         \
        .inputs = "x: T1, y: T2, min_x: float, max_x: float, " \
                  "min_y: float, max_y: float",                \
        .outputs = "z: Toutput, min_z: float, max_z: float",   \
        .attrs = "T1: quantizedtype; T2: quantizedtype; "      \
                 "Toutput: quantizedtype = DT_QINT32",         \
        .key = "T1", .shape = pair_infer,                      \
    }

static const struct tfd_opdef ops[] = {
    PAIR_OP("QuantizedAdd"),
    PAIR_OP("QuantizedMul"),
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("QuantizedAdd", QUINT8, quantized_add, add_pairs,
               .prepare = pair_prepare),
    TFD_KERNEL("QuantizedMul", QUINT8, quantized_mul, multiply_pairs,
               .prepare = pair_prepare),
};

const struct tfd_family tfd_family_quantized_pairs = {
    .name = "quantized_pairs",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
