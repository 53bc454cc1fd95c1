/*
 * quantized_norm.c - normalisation of quantised images, channels last:
 *
 *     QuantizedInstanceNorm    each channel of each image by its own mean and
 *                              variance
 *     QuantizedBatchNormWithGlobalNormalization
 *                              channels by means and variances that are given
 *
 * The first computes in float, twice where it has to find the range: nothing is
 * kept but a mean and an inverse deviation for each channel.  The second
 * computes in fixed point of about 11 bits, which wraps.
 */
#include "kernels/core/families.h"
#include "kernels/core/op_memory.h"
#include "kernels/quantized/quantized.h"
#include "kernels/quantized/quantized_shape.h"

#include "common/thread/halt.h"

#include <math.h>

#define PIXELS_BETWEEN_LOOKS 4096

/* ---- QuantizedInstanceNorm ----------------------------------------------- */

struct instance_state {
    bool range_given;
    float low, high, epsilon, separation;
};

struct instance {
    const uint8_t *x;
    uint8_t *y;
    int64_t pixels, channels; /* of an image */
    float scale, epsilon;
    float *mean, *inverse; /* by image and channel */
    float *low, *high;     /* by image: of the results */
    struct tfd_quantized_to_int to;
};

static bool stops_at(int64_t pixel)
{
    return pixel % PIXELS_BETWEEN_LOOKS == 0 && tfd_halted();
}

static void find_means(const struct instance *j, const uint8_t *x, float *mean)
{
    for (int64_t c = 0; c < j->channels; c++)
        mean[c] = 0;
    for (int64_t p = 0; p < j->pixels && !stops_at(p); p++)
        for (int64_t c = 0; c < j->channels; c++)
            mean[c] += (float)x[p * j->channels + c];
    for (int64_t c = 0; c < j->channels; c++)
        mean[c] /= (float)j->pixels;
}

static void find_deviations(const struct instance *j, const uint8_t *x,
                            const float *mean, float *inverse)
{
    for (int64_t c = 0; c < j->channels; c++)
        inverse[c] = 0;
    for (int64_t p = 0; p < j->pixels && !stops_at(p); p++)
        for (int64_t c = 0; c < j->channels; c++) {
            const float v =
                j->scale * ((float)x[p * j->channels + c] - mean[c]);

            inverse[c] += v * v;
        }
    for (int64_t c = 0; c < j->channels; c++)
        inverse[c] = 1.0f / sqrtf(inverse[c] / (float)j->pixels + j->epsilon);
}

static inline float normed(const struct instance *j, float x, float mean,
                           float inverse)
{
    return j->scale * (x - mean) * inverse;
}

/* What images need before their results are made. */
static void measure_images(void *arg, int64_t begin, int64_t end)
{
    const struct instance *j = arg;

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        const uint8_t *x = j->x + i * j->pixels * j->channels;
        float *mean = j->mean + i * j->channels;
        float *inverse = j->inverse + i * j->channels;
        float low = INFINITY, high = -INFINITY;

        find_means(j, x, mean);
        find_deviations(j, x, mean, inverse);
        for (int64_t p = 0; p < j->pixels && !stops_at(p); p++)
            for (int64_t c = 0; c < j->channels; c++) {
                const float v = normed(j, (float)x[p * j->channels + c],
                                       mean[c], inverse[c]);

                low = v < low ? v : low;
                high = v > high ? v : high;
            }
        j->low[i] = low;
        j->high[i] = high;
    }
}

/* Pixels of all images. */
static void norm_pixels(void *arg, int64_t begin, int64_t end)
{
    const struct instance *j = arg;
    const struct tfd_quantized_to_int to = j->to;

    for (int64_t p = begin; p < end && !(stops_at(p)); p++) {
        const float *mean = j->mean + p / j->pixels * j->channels;
        const float *inverse = j->inverse + p / j->pixels * j->channels;
        const uint8_t *x = j->x + p * j->channels;
        uint8_t *y = j->y + p * j->channels;

        for (int64_t c = 0; c < j->channels; c++)
            y[c] = (uint8_t)tfd_quantized_of(
                &to, normed(j, (float)x[c], mean[c], inverse[c]));
    }
}

static enum tfd_code check_instance(const struct tfd_kctx *k,
                                    struct tfd_status *st)
{
    static const char *const names[] = {"x_min", "x_max"};

    for (int i = 0; i < 2; i++)
        TFD_TRY(tfd_quantized_check_one(k, 1 + i, names[i], st));
    if (!(tfd_quantized_scalar(k, 1) < tfd_quantized_scalar(k, 2)))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input_min must be less than input_max : %g >= %g",
                        (double)tfd_quantized_scalar(k, 1),
                        (double)tfd_quantized_scalar(k, 2));
    if (k->in[0].shape.rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "x must be 4-dimensional but is rank %d",
                        k->in[0].shape.rank);
    return TFD_OK;
}

static int cost_of_image(const struct instance *j)
{
    const double ns = 3.0 * (double)j->pixels * (double)j->channels;

    return ns < 1 ? 1 : ns > 1e9 ? 1000000000 : (int)ns;
}

static void find_range(struct tfd_kctx *k, struct instance *j, int64_t images,
                       float *low, float *high)
{
    const struct instance_state *s = k->state;

    tfd_kctx_parallel(k, images, cost_of_image(j), measure_images, j);
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t i = 0; i < images; i++) {
        *low = tfd_quantized_min(*low, j->low[i]);
        *high = tfd_quantized_max(*high, j->high[i]);
    }
    if (s->range_given) {
        *low = s->low;
        *high = s->high;
    }
    if (*high - *low < s->separation)
        *high = *low + s->separation;
}

static enum tfd_code instance_norm(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct instance_state *s = k->state;
    const int64_t *dim = k->in[0].shape.dim;
    struct tfd_shape kept;
    struct tfd_tensor work = {0};
    struct instance j;
    float low, high;

    TFD_TRY(check_instance(k, st));
    j = (struct instance){.x = tfd_tensor_data(&k->in[0]),
                          .pixels = dim[1] * dim[2],
                          .channels = dim[3],
                          .epsilon = s->epsilon};
    j.scale =
        (tfd_quantized_scalar(k, 2) - tfd_quantized_scalar(k, 1)) / 255.0f;
    TFD_TRY(tfd_shape_make(&kept, (int64_t[]){2, dim[0], dim[3] + 1}, 3, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_QUINT8, &k->in[0].shape, st));
    TFD_TRY(tfd_op_memory_new(k, TFD_FLOAT, &kept, &work, st));
    j.mean = tfd_tensor_data(&work);
    j.inverse = j.mean + dim[0] * dim[3];
    j.low = j.inverse + dim[0] * dim[3];
    j.high = j.low + dim[0];
    find_range(k, &j, tfd_tensor_elements(&k->in[0]) ? dim[0] : 0, &low, &high);
    j.to = tfd_quantized_to_int(TFD_QUINT8, low, high);
    j.y = tfd_tensor_data(&k->out[0]);
    if (tfd_tensor_elements(&k->in[0]))
        tfd_kctx_parallel(k, dim[0] * j.pixels,
                          (int)(dim[3] < 1000000 ? dim[3] : 1000000),
                          norm_pixels, &j);
    tfd_tensor_unref(&work);
    TFD_TRY(tfd_quantized_give(k, 1, low, st));
    return tfd_quantized_give(k, 2, high, st);
}

static enum tfd_code instance_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct instance_state *s = state;

    TFD_TRY(tfd_node_float(p->node, "variance_epsilon", &s->epsilon, st));
    TFD_TRY(tfd_node_float(p->node, "min_separation", &s->separation, st));
    TFD_TRY(tfd_node_bool(p->node, "output_range_given", &s->range_given, st));
    TFD_TRY(tfd_node_float(p->node, "given_y_min", &s->low, st));
    TFD_TRY(tfd_node_float(p->node, "given_y_max", &s->high, st));
    if (s->range_given && !(s->low < s->high))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "given_y_min must be less than given_y_max : %g >= %g",
                        (double)s->low, (double)s->high);
    return TFD_OK;
}

/* ---- QuantizedBatchNormWithGlobalNormalization --------------------------- */

struct batch_state {
    float epsilon;
    bool scales;
};

/* The range of fixed-point numbers: +- 2^20. */
#define FIXED_RANGE ((float)(1 << 20))
#define VALUES 256

struct batch {
    const uint8_t *x;
    int32_t *y;
    int64_t channels;
    const int32_t *scale, *offset; /* by channel */
    int32_t one;
    int32_t input[VALUES]; /* what a value of x is as a fixed-point number */
};

/* What no int64 can hold, NaN included, becomes the lowest. */
static int32_t fixed_of_float(float x)
{
    const int64_t v =
        tfd_quantized_int_of(TFD_QINT32, x, -FIXED_RANGE, FIXED_RANGE);

    if (v < INT32_MIN || v >= INT64_MAX + (int64_t)INT32_MIN)
        return INT32_MIN;
    return v > INT32_MAX ? INT32_MAX : (int32_t)v;
}

/* Rows of channels. */
static void batch_rows(void *arg, int64_t begin, int64_t end)
{
    const struct batch *j = arg;

    for (int64_t r = begin; r < end && !stops_at(r); r++)
        for (int64_t c = 0; c < j->channels; c++) {
            const int64_t i = r * j->channels + c;
            const int32_t product =
                (int32_t)((uint32_t)j->input[j->x[i]] * (uint32_t)j->scale[c]);

            j->y[i] = (int32_t)((uint32_t)(product / j->one) +
                                (uint32_t)j->offset[c]);
        }
}

/* ---- Its checks ---------------------------------------------------------- */

static const char *const parts[] = {"input", "mean", "var", "beta", "gamma"};

static enum tfd_code check_range_elements(const struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    for (int i = 0; i < 15; i++)
        if (i % 3 && tfd_tensor_elements(&k->in[i]) != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s_%s must have 1 element", parts[i / 3],
                            i % 3 == 1 ? "min" : "max");
    return TFD_OK;
}

static enum tfd_code check_part_ranks(const struct tfd_kctx *k,
                                      struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 5; i++)
        if (k->in[3 * i].shape.rank != (i ? 1 : 4))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be %d-dimensional%s", parts[i], i ? 1 : 4,
                            tfd_shape_text(&k->in[3 * i].shape, text));
    return TFD_OK;
}

static enum tfd_code check_batch_norm(const struct tfd_kctx *k,
                                      struct tfd_status *st)
{
    static const char *const full[] = {"", "", "variance", "beta", "gamma"};
    const struct tfd_shape *x = &k->in[0].shape, *mean = &k->in[3].shape;
    char text[2][TFD_SHAPE_TEXT_MAX];

    TFD_TRY(check_range_elements(k, st));
    TFD_TRY(check_part_ranks(k, st));
    if (mean->dim[0] < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Must have at least a mean value%s",
                        tfd_shape_text(mean, text[0]));
    if (mean->dim[0] != x->dim[3])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Must provide as many means as the last dimension of "
                        "the input tensor: %s vs. %s",
                        tfd_shape_text(mean, text[0]),
                        tfd_shape_text(x, text[1]));
    for (int i = 2; i < 5; i++)
        if (!tfd_shape_equal(mean, &k->in[3 * i].shape))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Mean and %s tensors must have the same shape: %s "
                            "vs. %s",
                            full[i], tfd_shape_text(mean, text[0]),
                            tfd_shape_text(&k->in[3 * i].shape, text[1]));
    return TFD_OK;
}

/* ---- Its kernel ---------------------------------------------------------- */

/* Inputs 3 i, 3 i + 1 and 3 i + 2: a tensor and its range. */
static float batch_value(const struct tfd_kctx *k, int i, int64_t c)
{
    const uint8_t *x = tfd_tensor_data(&k->in[3 * i]);

    return tfd_quantized_float_of(TFD_QUINT8, x[c],
                                  tfd_quantized_scalar(k, 3 * i + 1),
                                  tfd_quantized_scalar(k, 3 * i + 2));
}

static void fill_channels(const struct tfd_kctx *k, int64_t channels,
                          int32_t *scale, int32_t *offset)
{
    const struct batch_state *s = k->state;

    for (int64_t c = 0; c < channels; c++) {
        float by = 1.0f / sqrtf(batch_value(k, 2, c) + s->epsilon);

        if (s->scales)
            by *= batch_value(k, 4, c);
        scale[c] = fixed_of_float(by);
        offset[c] =
            fixed_of_float(-batch_value(k, 1, c) * by + batch_value(k, 3, c));
    }
}

static enum tfd_code batch_norm(struct tfd_kctx *k, struct tfd_status *st)
{
    struct batch j = {.x = tfd_tensor_data(&k->in[0])};
    struct tfd_tensor work = {0};
    struct tfd_shape kept;
    int32_t *numbers;

    TFD_TRY(check_batch_norm(k, st));
    j.channels = k->in[3].shape.dim[0];
    TFD_TRY(tfd_shape_make(&kept, (int64_t[]){2, j.channels}, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_QINT32, &k->in[0].shape, st));
    TFD_TRY(tfd_quantized_give(k, 1, -FIXED_RANGE, st));
    TFD_TRY(tfd_quantized_give(k, 2, FIXED_RANGE, st));
    if (!tfd_tensor_elements(&k->in[0]))
        return TFD_OK;
    TFD_TRY(tfd_op_memory_new(k, TFD_INT32, &kept, &work, st));
    numbers = tfd_tensor_data(&work);
    fill_channels(k, j.channels, numbers, numbers + j.channels);
    j.scale = numbers;
    j.offset = numbers + j.channels;
    j.one = fixed_of_float(1.0f);
    for (int v = 0; v < VALUES; v++)
        j.input[v] = fixed_of_float(
            tfd_quantized_float_of(TFD_QUINT8, v, tfd_quantized_scalar(k, 1),
                                   tfd_quantized_scalar(k, 2)));
    j.y = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]) / j.channels,
                      (int)(j.channels < 1000000 ? 2 * j.channels : 2000000),
                      batch_rows, &j);
    tfd_tensor_unref(&work);
    return TFD_OK;
}

static enum tfd_code batch_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct batch_state *s = state;

    TFD_TRY(tfd_quantized_check_type(p, "out_type", TFD_QINT32, st));
    TFD_TRY(tfd_node_float(p->node, "variance_epsilon", &s->epsilon, st));
    return tfd_node_bool(p->node, "scale_after_normalization", &s->scales, st);
}

/* ---- Tables -------------------------------------------------------------- */

/* Images, and a vector of their channels each: m, v, beta, gamma. */
static enum tfd_code batch_infer(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape channels = {1, {TFD_DIM_UNKNOWN}};
    struct tfd_shape y = {
        4,
        {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};

    tfd_quantized_shape_scalars(s);
    TFD_TRY(tfd_shape_merge(&y, &s->in[0], st));
    channels.dim[0] = y.dim[3];
    for (int i = 3; i < s->in_count; i += 3)
        TFD_TRY(tfd_shape_merge(&channels, &s->in[i], st));
    y.dim[3] = channels.dim[0];
    s->out[0] = y;
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "QuantizedInstanceNorm",
        .inputs = "x: T, x_min: float, x_max: float",
        .outputs = "y: T, y_min: float, y_max: float",
        .attrs = "T: quantizedtype; output_range_given: bool = false; "
                 "given_y_min: float = 0.0; given_y_max: float = 0.0; "
                 "variance_epsilon: float = 1e-05; "
                 "min_separation: float = 0.001",
        .shape = tfd_quantized_shape,
    },
    {
        .name = "QuantizedBatchNormWithGlobalNormalization",
        .inputs = "t: Tinput, t_min: float, t_max: float, m: Tinput, "
                  "m_min: float, m_max: float, v: Tinput, v_min: float, "
                  "v_max: float, beta: Tinput, beta_min: float, "
                  "beta_max: float, gamma: Tinput, gamma_min: float, "
                  "gamma_max: float",
        .outputs = "result: out_type, result_min: float, result_max: float",
        .attrs = "Tinput: quantizedtype; out_type: quantizedtype; "
                 "variance_epsilon: float; scale_after_normalization: bool",
        .key = "Tinput",
        .shape = batch_infer,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("QuantizedInstanceNorm", QUINT8, instance_norm,
               .prepare = instance_prepare,
               .state_size = sizeof(struct instance_state)),
    TFD_KERNEL("QuantizedBatchNormWithGlobalNormalization", QUINT8, batch_norm,
               .prepare = batch_prepare,
               .state_size = sizeof(struct batch_state)),
};

const struct tfd_family tfd_family_quantized_norm = {
    .name = "quantized_norm",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
