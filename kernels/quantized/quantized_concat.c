/*
 * quantized_concat.c - joining quantised tensors along a dimension that is
 * there, as integers of one range that holds all of theirs:
 *
 *     QuantizedConcat    the axis comes first, and is not negative
 *     QuantizedConcatV2  the axis comes between the values and their ranges
 *
 * The range begins at 0 or below; that of signed integers is symmetric.  That
 * of unsigned ones begins at 0 in QuantizedConcatV2, as oneDNN has it, and what
 * lies below is clamped.  Each value is of its own range, where TensorFlow
 * counts the ranges of values without elements among the others.
 * Integers of eight bits are looked up in what each value comes to.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/layout/runs.h"
#include "kernels/quantized/quantized.h"
#include "kernels/quantized/quantized_shape.h"

#include <float.h>
#include <string.h>

/* Where an op has its inputs: each list is of `count` tensors. */
struct lists {
    int values, axis, lows, highs, count;
    bool second; /* QuantizedConcatV2 */
};

struct limits {
    float low, high;
};

static struct lists lists_of(int in_count, bool second)
{
    const int n = (in_count - 1) / 3;

    return (struct lists){.values = second ? 0 : 1,
                          .axis = second ? n : 0,
                          .lows = n + 1,
                          .highs = 2 * n + 1,
                          .count = n,
                          .second = second};
}

/* ---- Loops --------------------------------------------------------------- */

#define VALUES 256

/* One input, as runs of its elements, to rows of the output. */
struct piece {
    const void *x;
    void *y; /* at the first row's run */
    int64_t run, row;
    struct tfd_quantized_to_float from;
    struct tfd_quantized_to_int to;
    uint8_t table[VALUES];
    bool same; /* the range is the output's */
};

/* Runs of elements of a piece: from x + i on, n of them, to y. */
#define PIECE_LOOP(name, T, COPY)                              \
    static void name(void *arg, int64_t begin, int64_t end)    \
    {                                                          \
        const struct piece *j = arg;                           \
                                                               \
        for (int64_t i = begin; i < end && !tfd_halted();) {   \
            const int64_t row = i / j->run, at = i % j->run;   \
            const int64_t left = j->run - at;                  \
            const int64_t n = left < end - i ? left : end - i; \
            const T *x = (const T *)j->x + i;                  \
            T *y = (T *)j->y + row * j->row + at;              \
                                                               \
            if (j->same)                                       \
                memcpy(y, x, (size_t)n * sizeof(T));           \
            else                                               \
                for (int64_t e = 0; e < n; e++)                \
                    y[e] = COPY(x[e]);                         \
            i += n;                                            \
        }                                                      \
    }
#define LOOK_UP(v) j->table[v]
#define COMPUTE(v) \
    tfd_quantized_of(&j->to, j->from.offset + (float)(v)*j->from.scale)
PIECE_LOOP(piece_bytes, uint8_t, LOOK_UP)
PIECE_LOOP(piece_words, int32_t, COMPUTE)

static void fill_table(struct piece *j, bool is_signed)
{
    for (int v = 0; v < VALUES; v++) {
        const float x = is_signed ? (float)(int8_t)v : (float)v;

        j->table[v] = (uint8_t)tfd_quantized_of(&j->to, j->from.offset +
                                                            x * j->from.scale);
    }
}

static void copy_piece(struct tfd_kctx *k, struct piece *j, struct limits from,
                       struct limits to, int64_t elements)
{
    const enum tfd_dtype dtype = k->kernel->dtype;

    j->same = from.low == to.low && from.high == to.high;
    j->from = tfd_quantized_to_float(dtype, from.low, from.high);
    j->to = tfd_quantized_to_int(dtype, to.low, to.high);
    if (dtype != TFD_QINT32)
        fill_table(j, dtype == TFD_QINT8);
    tfd_kctx_parallel(k, elements, 1, k->kernel->range, j);
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_range_of(const struct tfd_kctx *k,
                                    const struct lists *l, int first,
                                    const char *name, struct tfd_status *st)
{
    for (int i = 0; i < l->count; i++) {
        const struct tfd_tensor *t = &k->in[first + i];

        if (l->second && t->shape.rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "`%s[%d]` must be rank 0 but is rank %d", name, i,
                            t->shape.rank);
        if (tfd_tensor_elements(t) != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s each tensor's num elements must be 1, given "
                            "num elements %lld in index %d",
                            name, (long long)tfd_tensor_elements(t), i);
    }
    return TFD_OK;
}

static enum tfd_code read_concat_axis(const struct tfd_kctx *k,
                                      const struct lists *l, int *axis,
                                      struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[l->axis];
    const int rank = k->in[l->values].shape.rank;
    const int least = l->second ? -rank : 0;
    char text[TFD_SHAPE_TEXT_MAX];
    int64_t at;

    if (t->shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Concat dim tensor should be a scalar integer, but got "
                        "shape %s",
                        tfd_shape_text(&t->shape, text));
    at = tfd_check_int_at(t, 0);
    if (at < least || at >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ConcatOp : Expected concatenating dimensions in the "
                        "range [%d, %d), but got %lld",
                        least, rank, (long long)at);
    *axis = (int)(at < 0 ? at + rank : at);
    return TFD_OK;
}

static enum tfd_code refuse_rank(const struct tfd_shape *first,
                                 const struct tfd_shape *s, int i, bool second,
                                 struct tfd_status *st)
{
    char text[2][TFD_SHAPE_TEXT_MAX];

    if (second)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "_MklConcatOp : Ranks of all input tensors should "
                        "match: input dimensions = %d vs. expected rank = %d",
                        s->rank, first->rank);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "ConcatOp : Ranks of all input tensors should match: "
                    "shape[0] = %s vs. shape[%d] = %s",
                    tfd_shape_text(first, text[0]), i,
                    tfd_shape_text(s, text[1]));
}

static enum tfd_code refuse_dim(const struct tfd_shape *first,
                                const struct tfd_shape *s, int i, int d,
                                bool second, struct tfd_status *st)
{
    char text[2][TFD_SHAPE_TEXT_MAX];

    if (second)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "_MklConcatOp : Dimensions of inputs should match: "
                        "shape[0][%d]= %lld vs. shape[%d][%d] = %lld",
                        d, (long long)first->dim[d], i, d,
                        (long long)s->dim[d]);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "ConcatOp : Dimensions of inputs should match: shape[0] = "
                    "%s vs. shape[%d] = %s",
                    tfd_shape_text(first, text[0]), i,
                    tfd_shape_text(s, text[1]));
}

static enum tfd_code joined_shape(const struct tfd_kctx *k,
                                  const struct lists *l, int axis,
                                  struct tfd_shape *out, struct tfd_status *st)
{
    const struct tfd_shape *first = &k->in[l->values].shape;

    *out = *first;
    out->dim[axis] = 0;
    for (int i = 0; i < l->count; i++) {
        const struct tfd_shape *s = &k->in[l->values + i].shape;

        if (s->rank != first->rank)
            return refuse_rank(first, s, i, l->second, st);
        for (int d = 0; d < first->rank; d++)
            if (d != axis && s->dim[d] != first->dim[d])
                return refuse_dim(first, s, i, d, l->second, st);
        if (__builtin_add_overflow(out->dim[axis], s->dim[axis],
                                   &out->dim[axis]))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "ConcatOp : the joined dimension overflows");
    }
    return tfd_shape_make(out, out->dim, out->rank, st);
}

/* ---- Kernels ------------------------------------------------------------- */

static struct limits limits_at(const struct tfd_kctx *k, const struct lists *l,
                               int i)
{
    return (struct limits){tfd_quantized_scalar(k, l->lows + i),
                           tfd_quantized_scalar(k, l->highs + i)};
}

static struct limits joined_limits(const struct tfd_kctx *k,
                                   const struct lists *l)
{
    struct limits all = {0, -FLT_MAX};

    for (int i = 0; i < l->count; i++) {
        const struct limits one = limits_at(k, l, i);

        all.low = tfd_quantized_min(all.low, one.low);
        all.high = tfd_quantized_max(all.high, one.high);
    }
    if (k->kernel->dtype == TFD_QUINT8)
        return (struct limits){l->second ? 0 : all.low, all.high};
    all.high = tfd_quantized_max(fabsf(all.low), fabsf(all.high));
    all.low = -all.high;
    return all;
}

static void join_pieces(struct tfd_kctx *k, const struct lists *l, int axis,
                        struct limits to)
{
    const size_t size = tfd_dtype_size(k->kernel->dtype);
    int64_t outer, inner, at = 0;
    struct piece j;

    tfd_runs_around(&k->out[0].shape, axis, &outer, &inner);
    j.row = k->out[0].shape.dim[axis] * inner;
    for (int i = 0; i < l->count; i++) {
        const struct tfd_tensor *x = &k->in[l->values + i];

        j.run = x->shape.dim[axis] * inner;
        j.x = tfd_tensor_data(x);
        j.y = (char *)tfd_tensor_data(&k->out[0]) + (size_t)at * size;
        at += j.run;
        if (j.run)
            copy_piece(k, &j, limits_at(k, l, i), to, tfd_tensor_elements(x));
    }
}

static enum tfd_code concat_lists(struct tfd_kctx *k, bool second,
                                  struct tfd_status *st)
{
    const struct lists l = lists_of(k->in_count, second);
    struct tfd_shape out;
    struct limits to;
    int axis = 0;

    TFD_TRY(read_concat_axis(k, &l, &axis, st));
    TFD_TRY(check_range_of(k, &l, l.lows, "input_mins", st));
    TFD_TRY(check_range_of(k, &l, l.highs, "input_maxes", st));
    TFD_TRY(joined_shape(k, &l, axis, &out, st));
    to = joined_limits(k, &l);
    TFD_TRY(tfd_kctx_output(k, 0, k->kernel->dtype, &out, st));
    TFD_TRY(tfd_quantized_give(k, 1, to.low, st));
    TFD_TRY(tfd_quantized_give(k, 2, to.high, st));
    if (tfd_tensor_data(&k->out[0]) && tfd_shape_elements(&out))
        join_pieces(k, &l, axis, to);
    return TFD_OK;
}

static enum tfd_code concat_first(struct tfd_kctx *k, struct tfd_status *st)
{
    return concat_lists(k, false, st);
}

static enum tfd_code concat_second(struct tfd_kctx *k, struct tfd_status *st)
{
    return concat_lists(k, true, st);
}

static enum tfd_code concat_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    int64_t count;

    (void)state;
    TFD_TRY(tfd_node_int(p->node, "N", &count, st));
    if (count >= 2 && p->node->in_count == 3 * count + 1)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "QuantizedConcatOp : Expected lists of %lld values and as "
                    "many ranges, but got %d inputs",
                    (long long)count, p->node->in_count);
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code concat_infer(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    return tfd_quantized_shape_concat(s, 1, (s->in_count - 1) / 3, 0, st);
}

static enum tfd_code concat_v2_infer(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    const int count = (s->in_count - 1) / 3;

    return tfd_quantized_shape_concat(s, 0, count, count, st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "QuantizedConcat",
        .inputs = "concat_dim: int32, values: N * T, input_mins: N * float, "
                  "input_maxes: N * float",
        .outputs = "output: T, output_min: float, output_max: float",
        .attrs = "N: int >= 2; T: type",
        .key = "T",
        .shape = concat_infer,
    },
    {
        .name = "QuantizedConcatV2",
        .inputs = "values: N * T, axis: Tidx, input_mins: N * float, "
                  "input_maxes: N * float",
        .outputs = "output: T, output_min: float, output_max: float",
        .attrs = "N: int >= 2; T: type; Tidx: {int32, int64} = DT_INT32",
        .key = "T",
        .shape = concat_v2_infer,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("QuantizedConcat", QUINT8, concat_first, piece_bytes,
               .prepare = concat_prepare),
    TFD_KERNEL("QuantizedConcat", QINT32, concat_first, piece_words,
               .prepare = concat_prepare),
    TFD_KERNEL("QuantizedConcatV2", QUINT8, concat_second, piece_bytes,
               .prepare = concat_prepare),
    TFD_KERNEL("QuantizedConcatV2", QINT8, concat_second, piece_bytes,
               .prepare = concat_prepare),
};

const struct tfd_family tfd_family_quantized_concat = {
    .name = "quantized_concat",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
