/*
 * uniform_quantize.c - numbers as integers by a scale and a zero point:
 *
 *     UniformQuantize    floor(x / scale + 0.5) + zero, clamped
 *     UniformDequantize  (x - zero) * scale
 *     UniformRequantize  from one scale and zero point to others
 *     UniformQuantizedClipByValue
 *
 * Scales and zero points are one for all or one for each index along an axis.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/quantized/uniform.h"
#include "kernels/vector/simd.h"

#include "common/base/alloc.h"

struct state {
    int64_t axis, to_axis; /* to_axis: UniformRequantize's output */
    int32_t low, high;
};

/* Of a channel. */
struct scaling {
    float scale;                    /* what a number is multiplied with */
    int32_t zero, to_zero;          /* of the input and of the output */
    struct tfd_uniform_ratio ratio; /* UniformRequantize */
    int32_t low, high;
};

struct job {
    const void *x;
    void *y;
    const struct scaling *scaling;
    struct tfd_quantized_view view;
};

/* As the processor adds. */
static inline int32_t plus(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t minus(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

static inline int32_t clamp(int32_t x, const struct scaling *c)
{
    const int32_t least = x < c->high ? x : c->high;

    return least > c->low ? least : c->low;
}

/* ---- Loops --------------------------------------------------------------- */

static inline int32_t quantized(const struct scaling *c, float x)
{
    return clamp(
        plus(tfd_quantized_int32(floorf(x * c->scale + 0.5f)), c->zero), c);
}

/* By way of a float, as TensorFlow's integers go. */
static inline int32_t rounded(int32_t x)
{
    return tfd_quantized_int32((float)x);
}

static inline float dequantized(const struct scaling *c, int32_t x)
{
    return (float)minus(rounded(x), c->zero) * c->scale;
}

static inline int32_t requantized(const struct scaling *c, int32_t x)
{
    const int32_t v = tfd_uniform_times(minus(rounded(x), c->zero), c->ratio);

    return clamp(plus(v, c->to_zero), c);
}

/* Here the high limit wins. */
static inline int32_t clipped(const struct scaling *c, int32_t x)
{
    const int32_t most = x > c->low ? x : c->low;

    return most < c->high ? most : c->high;
}

#define LOOP(name, FROM, TO, one)                                        \
    TFD_SIMD_LOOP(name)                                                  \
    {                                                                    \
        const struct job *j = arg;                                       \
        const FROM *x = j->x;                                            \
        TO *y = j->y;                                                    \
                                                                         \
        for (int64_t i = begin; i < end;) {                              \
            const int64_t row = i / j->view.inner;                       \
            const int64_t rest = (row + 1) * j->view.inner;              \
            const int64_t stop = rest < end ? rest : end;                \
            const struct scaling c = j->scaling[row % j->view.channels]; \
                                                                         \
            for (; i < stop; i++)                                        \
                y[i] = (TO)one(&c, x[i]);                                \
        }                                                                \
    }                                                                    \
    TFD_SIMD_CLONES_WIDE(name)
LOOP(quantize_QINT8, float, int8_t, quantized)
LOOP(quantize_QUINT8, float, uint8_t, quantized)
LOOP(quantize_QINT32, float, int32_t, quantized)
LOOP(dequantize_QINT8, int8_t, float, dequantized)
LOOP(dequantize_QUINT8, uint8_t, float, dequantized)
LOOP(dequantize_QINT32, int32_t, float, dequantized)
LOOP(requantize_QINT8, int8_t, int8_t, requantized)
LOOP(requantize_QINT32, int32_t, int8_t, requantized)
LOOP(clip_QINT32, int32_t, int32_t, clipped)

/* ---- Checks -------------------------------------------------------------- */

enum tfd_code tfd_uniform_check_scales(const struct tfd_kctx *k,
                                       const struct tfd_shape *x, int at,
                                       int64_t axis, struct tfd_status *st)
{
    const struct tfd_shape *scales = &k->in[at].shape;
    char text[2][TFD_SHAPE_TEXT_MAX];
    const char *a = tfd_shape_text(scales, text[0]);
    const char *b = tfd_shape_text(&k->in[at + 1].shape, text[1]);

    if (!tfd_shape_equal(scales, &k->in[at + 1].shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "scales and zero_points shape must be same, but given "
                        "scales shape %s and zero_points shape %s",
                        a, b);
    if (axis >= x->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "quantization_axis must be -1 or in range [0, "
                        "input.rank), but given %lld",
                        (long long)axis);
    if (axis == -1 && scales->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "If quantization_axis is -1, scales and zero_points "
                        "must be scalar tensors, but given scales shape %s and "
                        "zero_points shape %s",
                        a, b);
    if (axis != -1 && (scales->rank != 1 || scales->dim[0] != x->dim[axis]))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "If quantization_axis is not -1, scales and "
                        "zero_points must be a tensor of rank 1 and the size "
                        "must be equal to the input.dim_size("
                        "quantization_axis), but given quantization_axis "
                        "%lld, scales shape %s and zero_points shape %s",
                        (long long)axis, a, b);
    return TFD_OK;
}

static enum tfd_code check_scales(const struct tfd_kctx *k, int at,
                                  int64_t axis, struct tfd_status *st)
{
    return tfd_uniform_check_scales(k, &k->in[0].shape, at, axis, st);
}

bool tfd_uniform_positive(const struct tfd_tensor *t)
{
    const float *scale = tfd_tensor_data(t);

    for (int64_t i = 0; i < tfd_tensor_elements(t); i++)
        if (!(scale[i] > 0))
            return false;
    return true;
}

static enum tfd_code check_positive(const struct tfd_kctx *k, const char *words,
                                    struct tfd_status *st)
{
    if (tfd_uniform_positive(&k->in[1]))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s", words);
}

/* ---- Running them -------------------------------------------------------- */

typedef enum tfd_code make_fn(const struct tfd_kctx *k, struct scaling *out,
                              int64_t channel, struct tfd_status *st);

static enum tfd_code run_uniform(struct tfd_kctx *k, struct job *j,
                                 make_fn *make, struct scaling *scaling,
                                 struct tfd_status *st)
{
    for (int64_t c = 0; c < j->view.channels; c++)
        TFD_TRY(make(k, &scaling[c], c, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    j->scaling = scaling;
    j->x = k->in[0].buffer->data;
    j->y = k->out[0].buffer->data;
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]), 1, k->kernel->range,
                      j);
    return TFD_OK;
}

static enum tfd_code compute_uniform(struct tfd_kctx *k, enum tfd_dtype dtype,
                                     int64_t axis, make_fn *make,
                                     struct tfd_status *st)
{
    struct job j = {.view = tfd_quantized_view(&k->in[0].shape, axis)};
    struct tfd_buffer *scaling;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_output(k, 0, dtype, &k->in[0].shape, st));
    scaling = tfd_buffer_new((size_t)j.view.channels * sizeof(struct scaling));
    if (!scaling)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the scales of %lld channels",
                        (long long)j.view.channels);
    rc = run_uniform(k, &j, make, scaling->data, st);
    tfd_buffer_unref(scaling);
    return rc;
}

static float scale_at(const struct tfd_kctx *k, int in, int64_t c)
{
    return ((const float *)tfd_tensor_data(&k->in[in]))[c];
}

static int32_t int_at(const struct tfd_kctx *k, int in, int64_t c)
{
    return ((const int32_t *)tfd_tensor_data(&k->in[in]))[c];
}

/* ---- UniformQuantize, UniformDequantize ---------------------------------- */

static enum tfd_code to_quantize(const struct tfd_kctx *k, struct scaling *out,
                                 int64_t c, struct tfd_status *st)
{
    const struct state *s = k->state;

    (void)st;
    *out = (struct scaling){.scale = 1.0f / scale_at(k, 1, c),
                            .zero = int_at(k, 2, c),
                            .low = s->low,
                            .high = s->high};
    return TFD_OK;
}

static enum tfd_code quantize(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;

    TFD_TRY(check_scales(k, 1, s->axis, st));
    return compute_uniform(k, k->kernel->dtype, s->axis, to_quantize, st);
}

static enum tfd_code to_dequantize(const struct tfd_kctx *k,
                                   struct scaling *out, int64_t c,
                                   struct tfd_status *st)
{
    (void)st;
    *out =
        (struct scaling){.scale = scale_at(k, 1, c), .zero = int_at(k, 2, c)};
    return TFD_OK;
}

static enum tfd_code dequantize(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;

    TFD_TRY(check_scales(k, 1, s->axis, st));
    TFD_TRY(check_positive(k, "rhs scales elements must be all positive.", st));
    return compute_uniform(k, TFD_FLOAT, s->axis, to_dequantize, st);
}

/* ---- UniformRequantize --------------------------------------------------- */

enum tfd_code tfd_uniform_ratio(double ratio, struct tfd_uniform_ratio *out,
                                struct tfd_status *st)
{
    int64_t fixed;

    if (!isfinite(ratio) || ratio <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "double_multiplier must be a poisitive finite number. "
                        "Given %g",
                        ratio);
    fixed = (int64_t)round(frexp(ratio, &out->shift) * 2147483648.0);
    if (fixed == INT64_C(1) << 31) {
        fixed /= 2;
        out->shift++;
    }
    if (out->shift < -31)
        fixed = out->shift = 0;
    if (out->shift > 30) {
        fixed = INT32_MAX;
        out->shift = 30;
    }
    out->fixed = (int32_t)fixed;
    return TFD_OK;
}

static enum tfd_code to_requantize(const struct tfd_kctx *k,
                                   struct scaling *out, int64_t c,
                                   struct tfd_status *st)
{
    const struct state *s = k->state;
    const int64_t from = s->axis == -1 ? 0 : c, to = s->to_axis == -1 ? 0 : c;

    *out = (struct scaling){.zero = int_at(k, 2, from),
                            .to_zero = int_at(k, 4, to),
                            .low = s->low,
                            .high = s->high};
    return tfd_uniform_ratio((double)scale_at(k, 1, from) /
                                 (double)scale_at(k, 3, to),
                             &out->ratio, st);
}

static enum tfd_code requantize(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;

    TFD_TRY(check_scales(k, 1, s->axis, st));
    TFD_TRY(check_scales(k, 3, s->to_axis, st));
    if (!tfd_uniform_positive(&k->in[1]) || !tfd_uniform_positive(&k->in[3]))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input/output scales elements must be all positive.");
    return compute_uniform(k, TFD_QINT8, s->axis == -1 ? s->to_axis : s->axis,
                           to_requantize, st);
}

/* ---- UniformQuantizedClipByValue ----------------------------------------- */

static enum tfd_code to_clip(const struct tfd_kctx *k, struct scaling *out,
                             int64_t c, struct tfd_status *st)
{
    (void)st;
    *out = (struct scaling){.low = int_at(k, 1, c), .high = int_at(k, 2, c)};
    return TFD_OK;
}

static enum tfd_code clip(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;
    char text[2][TFD_SHAPE_TEXT_MAX];

    TFD_TRY(check_scales(k, 3, s->axis, st));
    for (int i = 1; i < 3; i++)
        if (!tfd_shape_equal(&k->in[i].shape, &k->in[3].shape))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input %s shape must be same as "
                            "scales/zero_points. Given %s of shape %s and "
                            "scales/zero_points of shape %s",
                            i == 1 ? "min" : "max", i == 1 ? "min" : "max",
                            tfd_shape_text(&k->in[i].shape, text[0]),
                            tfd_shape_text(&k->in[3].shape, text[1]));
    return compute_uniform(k, TFD_QINT32, s->axis, to_clip, st);
}

/* ---- Attributes ---------------------------------------------------------- */

enum tfd_code tfd_uniform_int32(const struct tfd_prepare *p, const char *name,
                                int32_t *out, struct tfd_status *st)
{
    int64_t value;

    TFD_TRY(tfd_node_int(p->node, name, &value, st));
    if (value < INT32_MIN || value > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Attr %s has value %lld out of range for an int32",
                        name, (long long)value);
    *out = (int32_t)value;
    return TFD_OK;
}

static enum tfd_code read_scale_axis(const struct tfd_prepare *p,
                                     const char *name, int64_t *out,
                                     struct tfd_status *st)
{
    TFD_TRY(tfd_node_int(p->node, name, out, st));
    return *out >= -1 ? TFD_OK
                      : tfd_fail(st, TFD_INVALID_ARGUMENT,
                                 "%s must be >= -1, given: %lld", name,
                                 (long long)*out);
}

static enum tfd_code prepare_axis(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return read_scale_axis(p, "quantization_axis",
                           &((struct state *)state)->axis, st);
}

static enum tfd_code prepare_quantize(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct state *s = state;

    TFD_TRY(prepare_axis(p, state, st));
    TFD_TRY(tfd_uniform_int32(p, "quantization_min_val", &s->low, st));
    return tfd_uniform_int32(p, "quantization_max_val", &s->high, st);
}

static enum tfd_code prepare_requantize(const struct tfd_prepare *p,
                                        void *state, struct tfd_status *st)
{
    struct state *s = state;

    TFD_TRY(tfd_uniform_int32(p, "output_quantization_min_val", &s->low, st));
    TFD_TRY(tfd_uniform_int32(p, "output_quantization_max_val", &s->high, st));
    TFD_TRY(read_scale_axis(p, "input_quantization_axis", &s->axis, st));
    TFD_TRY(read_scale_axis(p, "output_quantization_axis", &s->to_axis, st));
    if (s->axis >= 0 && s->to_axis >= 0 && s->axis != s->to_axis)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "If input and output is both per-axis quantized, the "
                        "quantization axis must be same.");
    return tfd_quantized_check_type(p, "Tout", TFD_QINT8, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "UniformQuantize",
        .inputs = "input: Tin, scales: float, zero_points: int32",
        .outputs = "output: Tout",
        .attrs =
            "Tin: {float}; Tout: {qint8, quint8, qint32}; " TFD_UNIFORM_AXIS(
                ""),
        .key = "Tout",
        .shape = tfd_shape_like_first,
    },
    {
        .name = "UniformDequantize",
        .inputs = "input: Tin, scales: float, zero_points: int32",
        .outputs = "output: Tout",
        .attrs =
            "Tin: {qint8, quint8, qint32}; Tout: {float}; " TFD_UNIFORM_AXIS(
                ""),
        .key = "Tin",
        .shape = tfd_shape_like_first,
    },
    {
        .name = "UniformRequantize",
        .inputs = "input: Tin, input_scales: float, input_zero_points: int32, "
                  "output_scales: float, output_zero_points: int32",
        .outputs = "output: Tout",
        .attrs =
            "Tin: {qint8, qint32}; Tout: {qint8, qint32}; " TFD_UNIFORM_AXIS(
                "input_") "; " TFD_UNIFORM_AXIS("output_"),
        .key = "Tin",
        .shape = tfd_shape_like_first,
    },
    {
        .name = "UniformQuantizedClipByValue",
        .inputs = "operand: T, min: T, max: T, scales: float, "
                  "zero_points: int32",
        .outputs = "output: T",
        .attrs = "T: {qint32}; " TFD_UNIFORM_AXIS(""),
        .shape = tfd_shape_like_first,
    },
};

#define STATE(prepare_) .prepare = prepare_, .state_size = sizeof(struct state)
#define QUANTIZE(type)                                             \
    TFD_KERNEL("UniformQuantize", type, quantize, quantize_##type, \
               STATE(prepare_quantize))
#define DEQUANTIZE(type)                                                 \
    TFD_KERNEL("UniformDequantize", type, dequantize, dequantize_##type, \
               STATE(prepare_quantize))
#define REQUANTIZE(type)                                                 \
    TFD_KERNEL("UniformRequantize", type, requantize, requantize_##type, \
               STATE(prepare_requantize))

static const struct tfd_kernel kernels[] = {
    QUANTIZE(QINT8),
    QUANTIZE(QUINT8),
    QUANTIZE(QINT32),
    DEQUANTIZE(QINT8),
    DEQUANTIZE(QUINT8),
    DEQUANTIZE(QINT32),
    REQUANTIZE(QINT8),
    REQUANTIZE(QINT32),
    TFD_KERNEL("UniformQuantizedClipByValue", QINT32, clip, clip_QINT32,
               STATE(prepare_axis)),
};

const struct tfd_family tfd_family_uniform_quantize = {
    .name = "uniform_quantize",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
