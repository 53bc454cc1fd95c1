/*
 * quantize_dequantize.c - numbers as they were after being made integers and
 * numbers again:
 *
 *     QuantizeAndDequantize, V2, V3, V4, V4Grad
 *
 * 0 stays 0.  A range that is not given is that of the numbers themselves;
 * ranges are one for all or one for each index along an axis, and the input is
 * seen as [outer, channels, inner].
 */
#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/quantized/quantized.h"
#include "kernels/quantized/quantized_shape.h"
#include "kernels/quantized/span.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_math.h"

#include "common/base/alloc.h"
#include "common/base/str.h"

#include <float.h>
#include <string.h>

struct state {
    int64_t axis, bits;
    bool is_signed, given, narrow, half_up;
    bool has_limits; /* V1: the range, where given, is low to high */
    float low, high;
};

/* Of a channel, in double for either type. */
struct scaling {
    double low, high, scale, inverse;
};

struct job {
    const void *x, *dy;
    void *y;
    const struct scaling *scaling; /* a channel each */
    struct tfd_quantized_view view;
    const struct state *state;
    bool clamps, half_up;
};

/* ---- Ranges -------------------------------------------------------------- */

/* From the side of the range that leaves less room for integers. */
#define SCALING(name, T, MAX)                                                  \
    static struct scaling scaling_##name(const struct state *s, T low, T high) \
    {                                                                          \
        const int64_t half = INT64_C(1) << (s->bits - 1);                      \
        const T first = (T)(s->is_signed ? s->narrow - half : 0);              \
        const T last = (T)(s->is_signed ? half - 1 : 2 * (half - 1) + 1);      \
        const T from_low = first * low > 0 ? first / low : MAX;                \
        const T from_high = last * high > 0 ? last / high : MAX;               \
        T inverse;                                                             \
                                                                               \
        if (from_low < from_high) {                                            \
            inverse = low / first;                                             \
            return (struct scaling){low, last * inverse, from_low, inverse};   \
        }                                                                      \
        inverse = high / last;                                                 \
        return (struct scaling){first * inverse, high, from_high, inverse};    \
    }
SCALING(FLOAT, float, FLT_MAX)
SCALING(DOUBLE, double, DBL_MAX)

/* ---- Loops --------------------------------------------------------------- */

/* clamps, half_up: constants where it is called, so that neither is asked of
 * an element. */
#define ONE(name, T, RINT, FLOOR)                                          \
    TFD_VECTOR void each_##name(const T *x, T *y, int64_t n,               \
                                const struct scaling *s, bool clamps,      \
                                bool half_up)                              \
    {                                                                      \
        const T low = (T)s->low, high = (T)s->high, scale = (T)s->scale,   \
                inverse = (T)s->inverse;                                   \
                                                                           \
        for (int64_t i = 0; i < n; i++) {                                  \
            T v = x[i];                                                    \
                                                                           \
            if (clamps) {                                                  \
                v = high < v ? high : v;                                   \
                v = v < low ? low : v;                                     \
            }                                                              \
            v *= scale;                                                    \
            y[i] = (half_up ? FLOOR(v + (T)0.5) : RINT(v)) * inverse;      \
        }                                                                  \
    }                                                                      \
                                                                           \
    /* Elements of the whole, so that few channels are shared out, too. */ \
    TFD_SIMD_LOOP(run_##name)                                              \
    {                                                                      \
        const struct job *j = arg;                                         \
        const T *x = j->x;                                                 \
        T *y = j->y;                                                       \
                                                                           \
        for (int64_t i = begin, stop; i < end; i = stop) {                 \
            const int64_t row = i / j->view.inner;                         \
            const int64_t rest = (row + 1) * j->view.inner;                \
            const struct scaling s = j->scaling[row % j->view.channels];   \
                                                                           \
            stop = rest < end ? rest : end;                                \
            if (j->clamps && j->half_up)                                   \
                each_##name(x + i, y + i, stop - i, &s, true, true);       \
            else if (j->clamps)                                            \
                each_##name(x + i, y + i, stop - i, &s, true, false);      \
            else if (j->half_up)                                           \
                each_##name(x + i, y + i, stop - i, &s, false, true);      \
            else                                                           \
                each_##name(x + i, y + i, stop - i, &s, false, false);     \
        }                                                                  \
    }                                                                      \
    TFD_SIMD_CLONES_WIDE(run_##name)                                       \
                                                                           \
    TFD_SIMD_LOOP(back_##name)                                             \
    {                                                                      \
        const struct job *j = arg;                                         \
        const T *x = j->x, *dy = j->dy;                                    \
        T *y = j->y;                                                       \
                                                                           \
        for (int64_t i = begin; i < end;) {                                \
            const int64_t row = i / j->view.inner;                         \
            const int64_t rest = (row + 1) * j->view.inner;                \
            const int64_t stop = rest < end ? rest : end;                  \
            const struct scaling *s = &j->scaling[row % j->view.channels]; \
            const T low = (T)s->low, high = (T)s->high;                    \
                                                                           \
            for (; i < stop; i++)                                          \
                y[i] = dy[i] * (((x[i] >= low) & (x[i] <= high)) ? 1 : 0); \
        }                                                                  \
    }                                                                      \
    TFD_SIMD_CLONES(back_##name)
ONE(FLOAT, float, rintf, floorf)
ONE(DOUBLE, double, rint, floor)

/* ---- Running them -------------------------------------------------------- */

static double number_at(const struct tfd_tensor *t, int64_t i)
{
    if (t->dtype == TFD_FLOAT)
        return (double)((const float *)t->buffer->data)[i];
    return ((const double *)t->buffer->data)[i];
}

static void make_scaling(const struct tfd_kctx *k, const struct job *j,
                         struct scaling *out)
{
    const struct state *s = j->state;
    const bool is_float = k->in[0].dtype == TFD_FLOAT;

    for (int64_t c = 0; c < j->view.channels; c++) {
        double low = (double)s->low, high = (double)s->high;
        float some, most;

        if (s->given && !s->has_limits) {
            low = number_at(&k->in[1], c);
            high = number_at(&k->in[2], c);
        } else if (!s->given && is_float) {
            tfd_quantized_span_float(j->x, &j->view, c, &some, &most);
            low = (double)some;
            high = (double)most;
        } else if (!s->given) {
            tfd_quantized_span_double(j->x, &j->view, c, &low, &high);
        }
        out[c] = is_float ? scaling_FLOAT(s, (float)low, (float)high)
                          : scaling_DOUBLE(s, low, high);
    }
}

static enum tfd_code new_scaling(int64_t channels, struct tfd_buffer **out,
                                 struct tfd_status *st)
{
    *out = tfd_buffer_new((size_t)channels * sizeof(struct scaling));
    return *out ? TFD_OK
                : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                           "OOM when allocating the ranges of %lld channels",
                           (long long)channels);
}

/* Channels of fewer elements in a row cost more than their bytes. */
#define LONG_ROW 256

/* streams: tensors that the loop goes through. */
static void run_loop(struct tfd_kctx *k, struct job *j, int streams)
{
    const int64_t n = tfd_tensor_elements(&k->out[0]);

    if (j->view.inner >= LONG_ROW)
        tfd_elementwise_streams(k, k->out[0].dtype, streams, n,
                                k->kernel->range, j);
    else
        tfd_kctx_parallel(k, n, 1, k->kernel->range, j);
}

static enum tfd_code run_channels(struct tfd_kctx *k, const struct state *s,
                                  struct tfd_status *st)
{
    struct job j = {.view = tfd_quantized_view(&k->in[0].shape, s->axis),
                    .state = s,
                    .clamps = s->given,
                    .half_up = s->half_up};
    struct tfd_buffer *scaling;
    enum tfd_code rc;

    if (!k->in[0].buffer)
        return tfd_kctx_output_like(k, 0, 0, st);
    j.x = k->in[0].buffer->data;
    TFD_TRY(new_scaling(j.view.channels, &scaling, st));
    make_scaling(k, &j, scaling->data);
    j.scaling = scaling->data;
    rc = tfd_kctx_output_like(k, 0, 0, st);
    if (rc == TFD_OK) {
        j.y = k->out[0].buffer->data;
        run_loop(k, &j, 2);
    }
    tfd_buffer_unref(scaling);
    return rc;
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_bits(const struct state *s, const char *quote,
                                struct tfd_status *st)
{
    if (s->bits > 0 && s->bits < (s->is_signed ? 62 : 63))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "num_bits is out of range: %lld with %ssigned_input_%s %d",
                    (long long)s->bits, quote, quote, s->is_signed);
}

static enum tfd_code check_range(double low, double high, struct tfd_status *st)
{
    return low <= high ? TFD_OK
                       : tfd_fail(st, TFD_INVALID_ARGUMENT,
                                  "Invalid range: input_min %g > input_max %g",
                                  low, high);
}

static enum tfd_code check_scalar(const struct tfd_kctx *k, int in,
                                  const char *name, struct tfd_status *st)
{
    return k->in[in].shape.rank == 0
               ? TFD_OK
               : tfd_fail(st, TFD_INVALID_ARGUMENT,
                          "input_%s must be a scalar.", name);
}

static enum tfd_code check_axis_size(const struct tfd_kctx *k, int in,
                                     const char *name, int64_t axis,
                                     struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *s = &k->in[in].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (s->rank == 1 && s->dim[0] == x->dim[axis])
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s has incorrect size, was %lld expected %lld to match "
                    "dim %lld of the input %s",
                    name, (long long)(s->rank ? s->dim[0] : 1),
                    (long long)x->dim[axis], (long long)axis,
                    tfd_shape_text(s, text));
}

static enum tfd_code check_given(const struct tfd_kctx *k,
                                 const struct state *s, struct tfd_status *st)
{
    if (!s->given)
        return TFD_OK;
    if (s->axis != -1) {
        TFD_TRY(check_axis_size(k, 1, "input_min_tensor", s->axis, st));
        return check_axis_size(k, 2, "input_max_tensor", s->axis, st);
    }
    TFD_TRY(check_scalar(k, 1, "min", st));
    TFD_TRY(check_scalar(k, 2, "max", st));
    return check_range(number_at(&k->in[1], 0), number_at(&k->in[2], 0), st);
}

static enum tfd_code check_axis(const struct tfd_kctx *k, int64_t axis,
                                struct tfd_status *st)
{
    const int rank = k->in[0].shape.rank;

    if (axis < -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Axis must be at least -1. Found %lld",
                        (long long)axis);
    if (axis >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank %lld but is rank %d",
                        (long long)axis + 1, rank);
    return TFD_OK;
}

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code compute_v2(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;

    TFD_TRY(check_axis(k, s->axis, st));
    /* TensorFlow wants one range here, whatever the axis. */
    if (s->given) {
        TFD_TRY(check_scalar(k, 1, "min", st));
        TFD_TRY(check_scalar(k, 2, "max", st));
    }
    TFD_TRY(check_given(k, s, st));
    return run_channels(k, s, st);
}

static enum tfd_code compute_v1(struct tfd_kctx *k, struct tfd_status *st)
{
    return run_channels(k, k->state, st);
}

/* The number of bits is an input; an axis may count from the end, but for -1,
 * which is none. */
static enum tfd_code compute_v3(struct tfd_kctx *k, struct tfd_status *st)
{
    struct state s = *(const struct state *)k->state;
    const int rank = k->in[0].shape.rank;

    if (s.axis < -rank || s.axis >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Axis requested is larger than input dimensions. Axis: "
                        "%lld Input Dimensions: %d",
                        (long long)s.axis, rank);
    if (s.axis < -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Axis must be at least -1. Found %lld",
                        (long long)s.axis);
    s.bits = *(const int32_t *)k->in[3].buffer->data;
    TFD_TRY(check_bits(&s, "`", st));
    TFD_TRY(check_given(k, &s, st));
    return run_channels(k, &s, st);
}

static enum tfd_code check_back_limit(const struct tfd_kctx *k, int in,
                                      const char *name, struct tfd_status *st)
{
    const struct state *s = k->state;
    const struct tfd_shape *shape = &k->in[in].shape;
    int64_t channels;

    if (shape->rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input %s tensor must have dimension 0 or 1. Received "
                        "%d.",
                        name, shape->rank);
    if (s->axis == -1)
        return shape->rank == 0
                   ? TFD_OK
                   : tfd_fail(st, TFD_INVALID_ARGUMENT,
                              "input_%s must be a scalar if axis is "
                              "unspecified",
                              name);
    channels = k->in[1].shape.dim[s->axis];
    if (shape->rank == 1 && shape->dim[0] == channels)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s has incorrect size, expected %lld was %lld", name,
                    (long long)channels,
                    (long long)(shape->rank ? shape->dim[0] : 1));
}

static enum tfd_code check_back(const struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;
    const int rank = k->in[1].shape.rank;

    if (s->axis < -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Axis must be at least -1. Found %lld",
                        (long long)s->axis);
    if (s->axis >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Axis should be -1 or 0 or a positive value less than "
                        "%dbut given axis value was %lld",
                        rank, (long long)s->axis);
    if (!tfd_shape_equal(&k->in[0].shape, &k->in[1].shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "gradient and input must be the same size");
    TFD_TRY(check_back_limit(k, 2, "min", st));
    return check_back_limit(k, 3, "max", st);
}

/* Nothing flows to the limits. */
static enum tfd_code give_zeros(struct tfd_kctx *k, struct tfd_status *st)
{
    for (int i = 1; i < 3; i++) {
        TFD_TRY(tfd_kctx_output(k, i, k->in[2].dtype, &k->in[2].shape, st));
        if (k->out[i].buffer)
            memset(k->out[i].buffer->data, 0, tfd_tensor_size(&k->out[i]));
    }
    return TFD_OK;
}

static enum tfd_code compute_back(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;
    struct job j = {.view = tfd_quantized_view(&k->in[1].shape, s->axis)};
    struct tfd_buffer *scaling;
    struct scaling *range;

    TFD_TRY(check_back(k, st));
    TFD_TRY(give_zeros(k, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[1].dtype, &k->in[1].shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    TFD_TRY(new_scaling(j.view.channels, &scaling, st));
    range = scaling->data;
    for (int64_t c = 0; c < j.view.channels; c++) {
        range[c].low = number_at(&k->in[2], c);
        range[c].high = number_at(&k->in[3], c);
    }
    j.scaling = range;
    j.dy = k->in[0].buffer->data;
    j.x = k->in[1].buffer->data;
    j.y = k->out[0].buffer->data;
    run_loop(k, &j, 3);
    tfd_buffer_unref(scaling);
    return TFD_OK;
}

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code read_common(const struct tfd_prepare *p, struct state *s,
                                 struct tfd_status *st)
{
    TFD_TRY(tfd_node_bool(p->node, "signed_input", &s->is_signed, st));
    return tfd_node_bool(p->node, "range_given", &s->given, st);
}

static enum tfd_code prepare_v1(const struct tfd_prepare *p, void *state,
                                struct tfd_status *st)
{
    struct state *s = state;

    *s = (struct state){.axis = -1, .has_limits = true};
    TFD_TRY(read_common(p, s, st));
    TFD_TRY(tfd_node_int(p->node, "num_bits", &s->bits, st));
    TFD_TRY(tfd_node_float(p->node, "input_min", &s->low, st));
    TFD_TRY(tfd_node_float(p->node, "input_max", &s->high, st));
    TFD_TRY(check_bits(s, "", st));
    return s->given ? check_range((double)s->low, (double)s->high, st) : TFD_OK;
}

static enum tfd_code prepare_v3(const struct tfd_prepare *p, void *state,
                                struct tfd_status *st)
{
    struct state *s = state;

    TFD_TRY(read_common(p, s, st));
    TFD_TRY(tfd_node_int(p->node, "axis", &s->axis, st));
    return tfd_node_bool(p->node, "narrow_range", &s->narrow, st);
}

static enum tfd_code prepare_v2(const struct tfd_prepare *p, void *state,
                                struct tfd_status *st)
{
    struct state *s = state;
    struct tfd_str mode;

    TFD_TRY(prepare_v3(p, state, st));
    TFD_TRY(tfd_node_int(p->node, "num_bits", &s->bits, st));
    TFD_TRY(tfd_node_str(p->node, "round_mode", &mode, st));
    s->half_up = tfd_str_is(mode, "HALF_UP");
    return check_bits(s, "", st);
}

static enum tfd_code prepare_back(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return tfd_node_int(p->node, "axis", &((struct state *)state)->axis, st);
}

/* ---- Shapes, gradients --------------------------------------------------- */

/* As if nothing were rounded. */
static enum tfd_code straight(struct tfd_grad *g, struct tfd_status *st)
{
    (void)st;
    g->dx[0] = g->dy[0];
    return TFD_OK;
}

static enum tfd_code gradient_v4(struct tfd_grad *g, struct tfd_status *st)
{
    static const char *const names[] = {"axis", NULL};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], g->x[0], g->x[1], g->x[2]};

    tfd_gradient_copying(&b, "QuantizeAndDequantizeV4Grad", in, 4, names, g->dx,
                         3);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define TYPES "T: {bfloat16, half, float, double}"
#define V2_ATTRS                                     \
    "signed_input: bool = true; num_bits: int = 8; " \
    "range_given: bool = false; " TYPES              \
    "; round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = "   \
    "'HALF_TO_EVEN'; narrow_range: bool = false; axis: int = -1"

static const struct tfd_opdef ops[] = {
    {
        .name = "QuantizeAndDequantize",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = "signed_input: bool = true; num_bits: int = 8; "
                 "range_given: bool = false; input_min: float = 0; "
                 "input_max: float = 0; " TYPES,
        .shape = tfd_shape_like_first,
        .grad = straight,
    },
    {
        .name = "QuantizeAndDequantizeV2",
        .inputs = "input: T, input_min: T, input_max: T",
        .outputs = "output: T",
        .attrs = V2_ATTRS,
        .shape = tfd_shape_like_first,
        .grad = straight,
    },
    {
        .name = "QuantizeAndDequantizeV3",
        .inputs = "input: T, input_min: T, input_max: T, num_bits: int32",
        .outputs = "output: T",
        .attrs = "signed_input: bool = true; range_given: bool = true; " TYPES
                 "; narrow_range: bool = false; axis: int = -1",
        .checks = "num_bits: scalar 'Invalid shape. The `num_bits` tensor "
                  "should be a scalar. Got dimensions: %d'",
        .shape = tfd_shape_like_first,
        .grad = straight,
    },
    {
        .name = "QuantizeAndDequantizeV4",
        .inputs = "input: T, input_min: T, input_max: T",
        .outputs = "output: T",
        .attrs = V2_ATTRS,
        .shape = tfd_shape_like_first,
        .grad = gradient_v4,
    },
    {
        .name = "QuantizeAndDequantizeV4Grad",
        .inputs = "gradients: T, input: T, input_min: T, input_max: T",
        .outputs = "input_backprop: T, input_min_backprop: T, "
                   "input_max_backprop: T",
        .attrs = TYPES "; axis: int = -1",
        .shape = tfd_quantized_shape_back,
    },
};

#define ROW(op, type, compute_, loop, prepare_)                           \
    TFD_KERNEL("QuantizeAndDequantize" op, type, compute_, loop##_##type, \
               .prepare = prepare_, .state_size = sizeof(struct state))
#define ROWS(op, compute_, loop, prepare_)    \
    ROW(op, FLOAT, compute_, loop, prepare_), \
        ROW(op, DOUBLE, compute_, loop, prepare_)

static const struct tfd_kernel kernels[] = {
    ROWS("", compute_v1, run, prepare_v1),
    ROWS("V2", compute_v2, run, prepare_v2),
    ROWS("V3", compute_v3, run, prepare_v3),
    ROWS("V4", compute_v2, run, prepare_v2),
    ROWS("V4Grad", compute_back, back, prepare_back),
};

const struct tfd_family tfd_family_quantize_dequantize = {
    .name = "quantize_dequantize",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
