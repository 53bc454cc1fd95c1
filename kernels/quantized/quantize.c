/*
 * quantize.c - QuantizeV2: floats of a range as integers.
 *
 *     MIN_COMBINED  the range's low end is the lowest integer
 *     MIN_FIRST     the same, and the low end is rounded by itself
 *     SCALED        0 is 0; the range grows to be the integers' times a scale
 *
 * The range, which contains 0 and is not too narrow, is one for all or one for
 * each index along an axis.
 */
#include "kernels/core/families.h"
#include "kernels/quantized/quantized.h"
#include "kernels/quantized/quantized_shape.h"
#include "kernels/vector/simd.h"

#include "common/base/alloc.h"
#include "common/base/str.h"

#include <float.h>

enum mode { MIN_COMBINED, MIN_FIRST, SCALED };

struct state {
    enum mode mode;
    int64_t axis;
    bool narrow, to_even;
    float least; /* width of a range */
};

/* Of a channel. */
struct scaling {
    float low, high, scale, half;
    struct tfd_quantized_to_int first; /* MIN_FIRST */
};

struct job {
    const float *x;
    void *y;
    struct scaling *scaling;
    struct tfd_quantized_view view;
    const struct state *state;
    bool is_signed;
    int32_t nan; /* what stands for no number, but in MIN_FIRST */
};

/* ---- Ranges -------------------------------------------------------------- */

static void scale_to(const struct state *s,
                     const struct tfd_quantized_limits *l, struct scaling *c)
{
    const float first = (float)(l->lowest + s->narrow);
    const float last = (float)l->highest;
    const float from_low = first * c->low > 0 ? first / c->low : FLT_MAX;
    const float from_high = last * c->high > 0 ? last / c->high : FLT_MAX;

    c->scale = tfd_quantized_min(from_low, from_high);
    c->low = first / c->scale;
    c->high = last / c->scale;
}

static struct scaling make_scaling(const struct state *s, enum tfd_dtype t,
                                   float low, float high)
{
    const struct tfd_quantized_limits l = tfd_quantized_limits(t);
    const float size =
        tfd_quantized_max(1.0f, tfd_quantized_max(fabsf(low), fabsf(high)));
    struct scaling c = {.low = tfd_quantized_min(0.0f, low)};

    c.high = tfd_quantized_max(
        0.0f, tfd_quantized_max(high, c.low + size * s->least));
    c.half =
        l.lowest ? (float)(((double)l.highest - (double)l.lowest + 1) / 2) : 0;
    if (s->mode == MIN_FIRST)
        c.first = tfd_quantized_to_int(t, c.low, c.high);
    else if (s->mode == SCALED)
        scale_to(s, &l, &c);
    else
        c.scale =
            (float)((double)(l.highest - l.lowest) / (double)(c.high - c.low));
    return c;
}

/* ---- Loops --------------------------------------------------------------- */

static inline float clamp(float x, const struct scaling *c)
{
    const float least = c->high < x ? c->high : x;

    return least < c->low ? c->low : least;
}

/* A piece of a row, which is made integers of 32 bits first. */
#define PIECE 2048

struct piece {
    const float *x;
    _Alignas(64) int32_t y[PIECE];
    struct scaling c;
    int32_t nan;
};

/* v: of x and the scaling c; whole: the integer that v becomes. */
#define FLOATS(name, v_of, whole)                         \
    TFD_SIMD_LOOP(name)                                   \
    {                                                     \
        struct piece *p = arg;                            \
        const struct scaling c = p->c;                    \
        const float *x = p->x;                            \
        const int32_t nan = p->nan;                       \
                                                          \
        for (int64_t i = begin; i < end; i++) {           \
            const float v = v_of;                         \
            const int32_t n = tfd_quantized_int32(whole); \
                                                          \
            p->y[i] = v != v ? nan : n;                   \
        }                                                 \
    }                                                     \
    TFD_SIMD_CLONES_WIDE(name)
#define COMBINED ((clamp(x[i], &c) - c.low) * c.scale)
#define SCALED_V (clamp(x[i], &c) * c.scale)

FLOATS(combined_signed, COMBINED, tfd_quantized_round(v - c.half))
FLOATS(combined_unsigned, COMBINED, v + 0.5f)
FLOATS(scaled_away, SCALED_V, tfd_quantized_round(v))
FLOATS(scaled_even, SCALED_V, rintf(v))

TFD_SIMD_LOOP(low_first)
{
    struct piece *p = arg;
    const struct tfd_quantized_to_int first = p->c.first;
    const float *x = p->x;

    for (int64_t i = begin; i < end; i++)
        p->y[i] = tfd_quantized_of(&first, x[i]);
}
TFD_SIMD_CLONES_WIDE(low_first)

static tfd_range_fn *integers_of(const struct job *j)
{
    switch (j->state->mode) {
    case MIN_FIRST:
        return low_first;
    case SCALED:
        return j->state->to_even ? scaled_even : scaled_away;
    default:
        return j->is_signed ? combined_signed : combined_unsigned;
    }
}

/* Elements of the whole, row by row. */
#define LOOP(name, number, T)                                          \
    TFD_SIMD_LOOP(narrow_##name)                                       \
    {                                                                  \
        const struct narrow *n = arg;                                  \
        const int32_t *x = n->x; /* once: bytes may be anything */     \
        T *y = n->y;                                                   \
                                                                       \
        for (int64_t i = begin; i < end; i++)                          \
            y[i] = (T)x[i];                                            \
    }                                                                  \
    TFD_SIMD_CLONES_WIDE(narrow_##name)                                \
                                                                       \
    static void run_##name(void *arg, int64_t begin, int64_t end)      \
    {                                                                  \
        const struct job *j = arg;                                     \
        tfd_range_fn *const integers = integers_of(j);                 \
        struct piece p;                                                \
                                                                       \
        p.nan = j->state->to_even ? 0 : j->nan;                        \
        for (int64_t i = begin, n; i < end; i += n) {                  \
            const int64_t row = i / j->view.inner;                     \
            const int64_t rest = (row + 1) * j->view.inner;            \
            const int64_t stop = rest < end ? rest : end;              \
                                                                       \
            n = stop - i < PIECE ? stop - i : PIECE;                   \
            p.x = j->x + i;                                            \
            p.c = j->scaling[row % j->view.channels];                  \
            integers(&p, 0, n);                                        \
            narrow_##name(&(struct narrow){p.y, (T *)j->y + i}, 0, n); \
        }                                                              \
    }

struct narrow {
    const int32_t *x;
    void *y;
};
TFD_QUANT_DTYPES(LOOP)

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_quantize_limit(const struct tfd_kctx *k, int in,
                                          const char *name,
                                          struct tfd_status *st)
{
    const struct state *s = k->state;
    const struct tfd_shape *shape = &k->in[in].shape;
    const int64_t n = tfd_tensor_elements(&k->in[in]);

    if (s->axis == -1)
        return n == 1 ? TFD_OK
                      : tfd_fail(st, TFD_INVALID_ARGUMENT,
                                 "If axis is not specified, %s must contain a "
                                 "single float element, but it contains %lld "
                                 "elements",
                                 name, (long long)n);
    if (shape->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "If axis is specified, %s must be a 1-D tensor whose "
                        "size matches the axis dimension of the input and "
                        "output tensors, but %s dims are %d",
                        name, name, shape->rank);
    if (n == k->in[0].shape.dim[s->axis])
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "If axis is specified, %s must be a 1-D tensor whose size "
                    "matches the axis dimension of the input and output "
                    "tensors, but %s is a 1-D tensor of size %lld and input's "
                    "axis dimension is of size %lld",
                    name, name, (long long)n,
                    (long long)k->in[0].shape.dim[s->axis]);
}

static enum tfd_code check(const struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;
    const int rank = k->in[0].shape.rank;

    if (s->axis >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Axis is on a zero-based index, so its value must "
                        "always be less than number of input's dims, but given "
                        "axis value was %lld and input's dims was %d",
                        (long long)s->axis, rank);
    TFD_TRY(check_quantize_limit(k, 1, "min_range", st));
    TFD_TRY(check_quantize_limit(k, 2, "max_range", st));
    if (s->axis == -1 || s->mode != MIN_FIRST ||
        k->in[0].shape.dim[s->axis] == 1)
        return TFD_OK;
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "MIN_FIRST mode is not implemented for Quantize with axis "
                    "!= -1.");
}

/* ---- Kernel -------------------------------------------------------------- */

/* The ranges that were taken. */
static enum tfd_code give_ranges(struct tfd_kctx *k, struct job *j,
                                 struct tfd_status *st)
{
    const struct tfd_shape none = {.rank = 0};
    const struct tfd_shape *shape =
        j->view.channels == 1 ? &none : &k->in[1].shape;
    const float *low = tfd_tensor_data(&k->in[1]);
    const float *high = tfd_tensor_data(&k->in[2]);

    TFD_TRY(tfd_kctx_output(k, 1, TFD_FLOAT, shape, st));
    TFD_TRY(tfd_kctx_output(k, 2, TFD_FLOAT, shape, st));
    for (int64_t c = 0; c < j->view.channels; c++) {
        if (high[c] < low[c])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "input_max_range must be larger than "
                            "input_min_range.");
        j->scaling[c] =
            make_scaling(j->state, k->kernel->dtype, low[c], high[c]);
        ((float *)k->out[1].buffer->data)[c] = j->scaling[c].low;
        ((float *)k->out[2].buffer->data)[c] = j->scaling[c].high;
    }
    return TFD_OK;
}

static enum tfd_code run_quantize_v2(struct tfd_kctx *k, struct job *j,
                                     struct tfd_status *st)
{
    TFD_TRY(give_ranges(k, j, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->kernel->dtype, &k->in[0].shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    j->x = tfd_tensor_data(&k->in[0]);
    j->y = k->out[0].buffer->data;
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]), 1, k->kernel->range,
                      j);
    return TFD_OK;
}

static enum tfd_code quantize_v2(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;
    const enum tfd_dtype dtype = k->kernel->dtype;
    struct job j = {.state = s,
                    .is_signed = tfd_quantized_limits(dtype).lowest != 0};
    struct tfd_buffer *scaling;
    enum tfd_code rc;

    TFD_TRY(check(k, st));
    if (dtype != TFD_QINT32)
        j.nan = (int32_t)tfd_quantized_limits(dtype).lowest;
    j.view = tfd_quantized_view(&k->in[0].shape, s->axis);
    scaling = tfd_buffer_new((size_t)j.view.channels * sizeof(*j.scaling));
    if (!scaling)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the ranges of %lld channels",
                        (long long)j.view.channels);
    j.scaling = scaling->data;
    rc = run_quantize_v2(k, &j, st);
    tfd_buffer_unref(scaling);
    return rc;
}

static enum tfd_code prepare_quantize_v2(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st)
{
    struct state *s = state;
    struct tfd_str mode, rounding;

    TFD_TRY(tfd_node_str(p->node, "mode", &mode, st));
    TFD_TRY(tfd_node_str(p->node, "round_mode", &rounding, st));
    TFD_TRY(tfd_node_int(p->node, "axis", &s->axis, st));
    TFD_TRY(tfd_node_bool(p->node, "narrow_range", &s->narrow, st));
    TFD_TRY(tfd_node_float(p->node, "ensure_minimum_range", &s->least, st));
    s->mode = tfd_str_is(mode, "SCALED")      ? SCALED
              : tfd_str_is(mode, "MIN_FIRST") ? MIN_FIRST
                                              : MIN_COMBINED;
    s->to_even = tfd_str_is(rounding, "HALF_TO_EVEN");
    if (s->to_even && s->mode != SCALED)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Round mode 'HALF_TO_EVEN' only supported for mode "
                        "'SCALED', but mode is '" TFD_STR_FMT "'.",
                        TFD_STR_ARG(mode));
    if (s->axis < -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "axis should be at least -1, got %lld",
                        (long long)s->axis);
    return TFD_OK;
}

static enum tfd_code quantize_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    s->out[0] = s->in[0];
    TFD_TRY(tfd_quantized_shape_range(s, &s->in[0], 1, &s->out[1], st));
    s->out[2] = s->out[1];
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {{
    .name = "QuantizeV2",
    .inputs = "input: float, min_range: float, max_range: float",
    .outputs = "output: T, output_min: float, output_max: float",
    .attrs = "T: quantizedtype; mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} "
             "= 'MIN_COMBINED'; round_mode: {'HALF_AWAY_FROM_ZERO', "
             "'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'; narrow_range: bool = "
             "false; axis: int = -1; ensure_minimum_range: float = 0.01",
    .shape = quantize_shape,
}};

#define KERNEL(name, number, T)                             \
    TFD_KERNEL("QuantizeV2", name, quantize_v2, run_##name, \
               .prepare = prepare_quantize_v2,              \
               .state_size = sizeof(struct state)),
static const struct tfd_kernel kernels[] = {TFD_QUANT_DTYPES(KERNEL)};

const struct tfd_family tfd_family_quantize = {
    .name = "quantize",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
