/*
 * requantize.c - integers of one range as integers of another:
 *
 *     Requantize                    to a range that is given
 *     QuantizeDownAndShrinkRange    to the range that is used
 *     RequantizationRange           that range alone
 *     RequantizePerChannel, RequantizationRangePerChannel
 *                                   with a range of its own for each index of
 *                                   the last dimension
 *
 * To quint8 numbers go in fixed point, to qint8 by way of floats, and by
 * channel as oneDNN has it, whose ranges are symmetric.
 */
#include "kernels/core/families.h"
#include "kernels/quantized/quantized.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"

#include <float.h>

/* ---- Fixed point --------------------------------------------------------- */

#define SHIFT 16

struct fixed {
    int64_t scale, offset;
};

static struct fixed fixed_of(float low, float high, float new_low,
                             float new_high)
{
    const float range = high - low, new_range = new_high - new_low;
    const float one = (float)(1 << SHIFT);
    const float inverse = (float)(255.0 / (double)new_range);
    const float middle = (float)((double)(low + high) / 2.0);
    struct fixed f = {0, 0};
    int64_t bottom = 0;

    if (new_range != 0) {
        f.scale = tfd_quantized_int64(255.0 * (double)one * (double)range /
                                      (double)new_range);
        f.offset = tfd_quantized_int64((double)(middle * inverse * one));
        bottom = tfd_quantized_int64(
            round((double)one * ((double)new_low * 255.0) / (double)new_range));
    }
    f.offset = (int64_t)((uint64_t)f.offset - (uint64_t)bottom +
                         (UINT64_C(1) << (SHIFT - 1)));
    return f;
}

static inline uint8_t fixed_one(const struct fixed *f, int32_t x)
{
    const int64_t product =
        (int64_t)((uint64_t)(int64_t)x * (uint64_t)f->scale) >> 32;
    const int64_t v =
        (int64_t)((uint64_t)product + (uint64_t)f->offset) >> SHIFT;

    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* ---- Loops --------------------------------------------------------------- */

struct job {
    const int32_t *x;
    void *y;
    struct fixed fixed;
    struct tfd_quantized_to_float from;
    struct tfd_quantized_to_int to;
    const float *scale; /* by channel */
    int64_t channels;
};

static void run_QUINT8(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;
    const struct fixed f = j->fixed;
    uint8_t *y = j->y;

    for (int64_t i = begin; i < end; i++)
        y[i] = fixed_one(&f, j->x[i]);
}

static void run_QINT8(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;
    const struct tfd_quantized_to_float from = j->from;
    const struct tfd_quantized_to_int to = j->to;
    int8_t *y = j->y;

    for (int64_t i = begin; i < end; i++)
        y[i] = (int8_t)tfd_quantized_of(&to, from.offset +
                                                 (float)j->x[i] * from.scale);
}

/* Rows of channels. */
#define CHANNELS(name, T, LOW, HIGH)                                   \
    static void channels_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                  \
        const struct job *j = arg;                                     \
                                                                       \
        for (int64_t r = begin; r < end; r++) {                        \
            const int32_t *x = j->x + r * j->channels;                 \
            T *y = (T *)j->y + r * j->channels;                        \
                                                                       \
            for (int64_t c = 0; c < j->channels; c++) {                \
                const float v = (float)x[c] * j->scale[c];             \
                                                                       \
                y[c] = (T)tfd_quantized_int32(rintf(tfd_quantized_min( \
                    tfd_quantized_max((float)(LOW), v), (HIGH))));     \
            }                                                          \
        }                                                              \
    }
CHANNELS(QUINT8, uint8_t, 0, 255)
CHANNELS(QINT8, int8_t, -128, 127)

/* ---- One range ----------------------------------------------------------- */

struct span {
    int32_t low, high;
};

static struct span span_of(const int32_t *x, int64_t n)
{
    struct span s = {INT32_MAX, INT32_MIN};

    for (int64_t i = 0; i < n; i++) {
        s.low = x[i] < s.low ? x[i] : s.low;
        s.high = x[i] > s.high ? x[i] : s.high;
    }
    return s;
}

static enum tfd_code check_ones(const struct tfd_kctx *k, int count,
                                struct tfd_status *st)
{
    static const char *const names[] = {"input_min", "input_max",
                                        "requested_output_min",
                                        "requested_output_max"};

    for (int i = 0; i < count; i++)
        TFD_TRY(tfd_quantized_check_one(k, 1 + i, names[i], st));
    return TFD_OK;
}

/* The range in use, which contains 0 at its low end. */
static void used_range(const struct tfd_kctx *k, float *low, float *high)
{
    const float from = tfd_quantized_scalar(k, 1),
                to = tfd_quantized_scalar(k, 2);
    const struct span s =
        span_of(tfd_tensor_data(&k->in[0]), tfd_tensor_elements(&k->in[0]));

    *low = tfd_quantized_min(
        0.0f, tfd_quantized_float_of(TFD_QINT32, s.low, from, to));
    *high = tfd_quantized_float_of(TFD_QINT32, s.high, from, to);
}

static enum tfd_code to_range(struct tfd_kctx *k, float low, float high,
                              struct tfd_status *st)
{
    const float from = tfd_quantized_scalar(k, 1),
                to = tfd_quantized_scalar(k, 2);
    const enum tfd_dtype dtype = k->kernel->dtype;
    struct job j = {.x = tfd_tensor_data(&k->in[0])};

    j.fixed = fixed_of(from, to, low, high);
    j.from = tfd_quantized_to_float(TFD_QINT32, from, to);
    j.to = tfd_quantized_to_int(dtype, low, high);
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &k->in[0].shape, st));
    TFD_TRY(tfd_quantized_give(k, 1, low, st));
    TFD_TRY(tfd_quantized_give(k, 2, high, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    j.y = k->out[0].buffer->data;
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]), 1, k->kernel->range,
                      &j);
    return TFD_OK;
}

static enum tfd_code requantize(struct tfd_kctx *k, struct tfd_status *st)
{
    float low, high;

    TFD_TRY(check_ones(k, 4, st));
    low = tfd_quantized_scalar(k, 3);
    high = tfd_quantized_scalar(k, 4);
    if (!(low <= 0))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "requested_output_min must be <= 0, but got %g",
                        (double)low);
    if (!(high >= low))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "requested_output_max must be >= requested_output_min, "
                        "but got %g and %g",
                        (double)high, (double)low);
    return to_range(k, low, high, st);
}

static enum tfd_code shrink(struct tfd_kctx *k, struct tfd_status *st)
{
    float low, high;

    TFD_TRY(check_ones(k, 2, st));
    used_range(k, &low, &high);
    return to_range(k, low, high, st);
}

static enum tfd_code range(struct tfd_kctx *k, struct tfd_status *st)
{
    float low, high;

    used_range(k, &low, &high);
    TFD_TRY(tfd_quantized_give(k, 0, low, st));
    return tfd_quantized_give(k, 1, high, st);
}

/* ---- By channel ---------------------------------------------------------- */

#define HALF_RANGE 2147483648.0f
#define ROWS_BETWEEN_LOOKS 65536

static float size_at(const struct tfd_kctx *k, int64_t c)
{
    const float *low = tfd_tensor_data(&k->in[1]);
    const float *high = tfd_tensor_data(&k->in[2]);

    return tfd_quantized_max(fabsf(low[c]), fabsf(high[c]));
}

/* All inputs have as many channels. */
static enum tfd_code check_channels(const struct tfd_kctx *k, int64_t *out,
                                    struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    const int64_t channels = x->rank ? x->dim[x->rank - 1] : 1;
    const int64_t low = tfd_tensor_elements(&k->in[1]);
    const int64_t high = tfd_tensor_elements(&k->in[2]);

    *out = high;
    if (low != high)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input_min has incorrect size, expected %lld was %lld",
                        (long long)high, (long long)low);
    if (channels != high)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input_max has incorrect size, expected %lld was %lld",
                        (long long)channels, (long long)high);
    return TFD_OK;
}

/* By way of a float, as TensorFlow's integers go, and as C++ has abs(), by
 * which the lowest number stays itself. */
static int32_t absolute(int32_t x)
{
    const int32_t rounded = tfd_quantized_int32((float)x);

    return rounded < 0 ? (int32_t)(0 - (uint32_t)rounded) : rounded;
}

static struct span channel_span(const int32_t *x, int64_t rows, int64_t step)
{
    struct span s = {INT32_MAX, INT32_MIN};

    for (int64_t r = 0; r < rows; r++) {
        if (r % ROWS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        s.low = x[r * step] < s.low ? x[r * step] : s.low;
        s.high = x[r * step] > s.high ? x[r * step] : s.high;
    }
    return s;
}

static enum tfd_code channels_range(struct tfd_kctx *k, struct tfd_status *st)
{
    const float most = *(const float *)k->state;
    const int32_t *x = tfd_tensor_data(&k->in[0]);
    float width = FLT_MIN;
    bool negative = false;
    int64_t channels;

    if (k->in[0].shape.rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be in NHWC format");
    TFD_TRY(check_channels(k, &channels, st));
    for (int64_t c = 0; c < channels; c++) {
        const struct span s = channel_span(
            x + c, tfd_tensor_elements(&k->in[0]) / channels, channels);
        const int32_t low = absolute(s.low), high = absolute(s.high);

        width = tfd_quantized_max(width, size_at(k, c) *
                                             (float)(low > high ? low : high) /
                                             HALF_RANGE);
        negative = negative || s.low < 0;
    }
    if (width > most)
        width = most;
    TFD_TRY(tfd_quantized_give(k, 0, negative ? -width : 0.0f, st));
    return tfd_quantized_give(k, 1, width, st);
}

static enum tfd_code channels_check(const struct tfd_kctx *k, int64_t *channels,
                                    struct tfd_status *st)
{
    if (k->in[0].shape.rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Current RequantizePerChannel operatorsupports 4D "
                        "tensors only.");
    if (tfd_tensor_elements(&k->in[1]) != tfd_tensor_elements(&k->in[2]))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input_max has incorrect size, expected %lld was %lld",
                        (long long)tfd_tensor_elements(&k->in[1]),
                        (long long)tfd_tensor_elements(&k->in[2]));
    TFD_TRY(check_channels(k, channels, st));
    for (int i = 3; i < 5; i++)
        if (tfd_tensor_elements(&k->in[i]) != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "requested_output_%s must be a scalar",
                            i == 3 ? "min" : "max");
    if (k->kernel->dtype == TFD_QINT8 && !(tfd_quantized_scalar(k, 3) < 0))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "If out_type is QINT8, requested_output_max must be "
                        "non negative, got %g",
                        (double)tfd_quantized_scalar(k, 3));
    return TFD_OK;
}

static enum tfd_code channels_requantize(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    const enum tfd_dtype dtype = k->kernel->dtype;
    const float factor = dtype == TFD_QINT8 ? 127 : 255;
    struct job j = {.x = tfd_tensor_data(&k->in[0])};
    struct tfd_tensor scales = TFD_TENSOR_INIT;
    float low, high, width, *scale;

    TFD_TRY(channels_check(k, &j.channels, st));
    low = tfd_quantized_scalar(k, 3);
    high = tfd_quantized_scalar(k, 4);
    width = tfd_quantized_max(fabsf(low), fabsf(high));
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &k->in[0].shape, st));
    TFD_TRY(tfd_quantized_give(k, 1, low, st));
    TFD_TRY(tfd_quantized_give(k, 2, high, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    TFD_TRY(tfd_tensor_new(&scales, TFD_FLOAT, &k->in[1].shape, st));
    scale = tfd_tensor_data(&scales);
    for (int64_t c = 0; c < j.channels; c++)
        scale[c] = factor * (size_at(k, c) / width / HALF_RANGE);
    j.scale = scale;
    j.y = k->out[0].buffer->data;
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]) / j.channels,
                      j.channels < 1000000 ? (int)j.channels : 1000000,
                      k->kernel->range, &j);
    tfd_tensor_unref(&scales);
    return TFD_OK;
}

/* ---- Attributes, shapes -------------------------------------------------- */

/* All kernels take 32 bits. */
static enum tfd_code prepare_input(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    (void)state;
    return tfd_quantized_check_type(p, "Tinput", TFD_QINT32, st);
}

static enum tfd_code prepare_channels(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    (void)state;
    return tfd_quantized_check_type(p, "T", TFD_QINT32, st);
}

static enum tfd_code prepare_clip(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return tfd_node_float(p->node, "clip_value_max", state, st);
}

static enum tfd_code scalars(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    for (int i = 0; i < s->out_count; i++)
        s->out[i] = (struct tfd_shape){.rank = 0};
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define RANGE "input_min: float, input_max: float"
#define REQUESTED ", requested_output_min: float, requested_output_max: float"
#define OUTPUTS "output_min: float, output_max: float"

static const struct tfd_opdef ops[] = {
    {
        .name = "QuantizeDownAndShrinkRange",
        .inputs = "input: Tinput, " RANGE,
        .outputs = "output: out_type, " OUTPUTS,
        .attrs = "Tinput: quantizedtype; out_type: quantizedtype",
        .key = "out_type",
        .shape = tfd_quantized_shape,
    },
    {
        .name = "Requantize",
        .inputs = "input: Tinput, " RANGE REQUESTED,
        .outputs = "output: out_type, " OUTPUTS,
        .attrs = "Tinput: quantizedtype; out_type: quantizedtype",
        .key = "out_type",
        .shape = tfd_quantized_shape,
    },
    {
        .name = "RequantizationRange",
        .inputs = "input: Tinput, " RANGE,
        .outputs = OUTPUTS,
        .attrs = "Tinput: quantizedtype",
        .checks = "input_min: nonempty; input_max: nonempty",
        .key = "Tinput",
        .shape = scalars,
    },
    {
        .name = "RequantizationRangePerChannel",
        .inputs = "input: T, " RANGE,
        .outputs = OUTPUTS,
        .attrs = "T: quantizedtype = DT_QINT32; clip_value_max: float",
        .shape = scalars,
    },
    {
        .name = "RequantizePerChannel",
        .inputs = "input: T, " RANGE REQUESTED,
        .outputs = "output: out_type, " OUTPUTS,
        .attrs = "T: quantizedtype = DT_QINT32; "
                 "out_type: quantizedtype = DT_QUINT8",
        .key = "out_type",
        .shape = tfd_quantized_shape,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("QuantizeDownAndShrinkRange", QUINT8, shrink, run_QUINT8,
               .prepare = prepare_input),
    TFD_KERNEL("Requantize", QUINT8, requantize, run_QUINT8,
               .prepare = prepare_input),
    TFD_KERNEL("Requantize", QINT8, requantize, run_QINT8,
               .prepare = prepare_input),
    TFD_KERNEL("RequantizationRange", QINT32, range),
    TFD_KERNEL("RequantizationRangePerChannel", QINT32, channels_range,
               .prepare = prepare_clip, .state_size = sizeof(float)),
    TFD_KERNEL("RequantizePerChannel", QUINT8, channels_requantize,
               channels_QUINT8, .prepare = prepare_channels),
    TFD_KERNEL("RequantizePerChannel", QINT8, channels_requantize,
               channels_QINT8, .prepare = prepare_channels),
};

const struct tfd_family tfd_family_requantize = {
    .name = "requantize",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
