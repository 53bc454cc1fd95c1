/*
 * sampling.c - see sampling.h.
 *
 * The curves: D. Turkowski, "Filters for common resampling tasks", 1990; R.
 * Keys, "Cubic convolution interpolation for digital image processing", 1981;
 * D. Mitchell, A. Netravali, "Reconstruction filters in computer graphics",
 * 1988.
 */
#include "kernels/image/sampling.h"

#include "common/thread/halt.h"
#include "kernels/core/op_memory.h"

#include <math.h>
#include <string.h>

/* ---- Curves -------------------------------------------------------------- */

static float lanczos(float x, float radius)
{
    const float pi = 3.14159265359f;

    if (x > radius)
        return 0;
    if (x <= 1e-3f)
        return 1;
    return radius * sinf(pi * x) * sinf(pi * x / radius) / (pi * pi * x * x);
}

static float lanczos1(float x)
{
    return lanczos(x, 1);
}

static float lanczos3(float x)
{
    return lanczos(x, 3);
}

static float lanczos5(float x)
{
    return lanczos(x, 5);
}

#define GAUSSIAN_RADIUS 1.5f
#define GAUSSIAN_SIGMA (GAUSSIAN_RADIUS / 3.0f)

static float gaussian(float x)
{
    const double twice = 2.0 * (double)GAUSSIAN_SIGMA * (double)GAUSSIAN_SIGMA;

    return x >= GAUSSIAN_RADIUS ? 0 : (float)exp((double)(-x * x) / twice);
}

static float box(float x)
{
    return x < 0.5f ? 1 : x == 0.5f ? 0.5f : 0;
}

static float triangle(float x)
{
    return x < 1 ? 1 - x : 0;
}

static float keys_cubic(float x)
{
    if (x >= 2)
        return 0;
    if (x >= 1)
        return ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f;
    return ((1.5f * x - 2.5f) * x) * x + 1.0f;
}

static float mitchell_cubic(float x)
{
    if (x >= 2)
        return 0;
    if (x >= 1)
        return (((-7.0f / 18.0f) * x + 2.0f) * x - 10.0f / 3.0f) * x +
               16.0f / 9.0f;
    return (((7.0f / 6.0f) * x - 2.0f) * x) * x + 8.0f / 9.0f;
}

/* TensorFlow takes capitals, too. */
static bool is_named(struct tfd_str text, const char *name)
{
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.data[i];

        if (name[i] == '\0' ||
            (c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != name[i])
            return false;
    }
    return name[text.size] == '\0';
}

const struct tfd_sampling *tfd_sampling_named(struct tfd_str name)
{
    static const struct tfd_sampling curves[] = {
        {"lanczos1", lanczos1, 1},
        {"lanczos3", lanczos3, 3},
        {"lanczos5", lanczos5, 5},
        {"gaussian", gaussian, GAUSSIAN_RADIUS},
        {"box", box, 1},
        {"triangle", triangle, 1},
        {"keyscubic", keys_cubic, 2},
        {"mitchellcubic", mitchell_cubic, 2},
    };

    for (int i = 0; i < TFD_COUNT(curves); i++)
        if (is_named(name, curves[i].name))
            return &curves[i];
    return NULL;
}

/* ---- Spans --------------------------------------------------------------- */

static enum tfd_code new_spans(const struct tfd_kctx *k, int64_t count,
                               int64_t size, struct tfd_spans *s,
                               struct tfd_status *st)
{
    struct tfd_shape shape;

    s->count = count;
    s->size = size;
    TFD_TRY(tfd_shape_make(&shape, (int64_t[]){count, size}, 2, st));
    TFD_TRY(tfd_op_memory_zeros(k, TFD_FLOAT, &shape, &s->memory[1], st));
    TFD_TRY(tfd_shape_make(&shape, &count, 1, st));
    TFD_TRY(tfd_op_memory_zeros(k, TFD_INT32, &shape, &s->memory[0], st));
    s->starts = tfd_tensor_data(&s->memory[0]);
    s->weights = tfd_tensor_data(&s->memory[1]);
    return TFD_OK;
}

void tfd_spans_release(struct tfd_spans *s)
{
    for (int i = 0; i < 2; i++)
        tfd_tensor_unref(&s->memory[i]);
}

/* As processors convert it: the least number for what has no place. */
static int64_t whole_number(float v)
{
    return v > -9e18f && v < 9e18f ? (int64_t)v : INT64_MIN;
}

static int32_t narrow_number(float v)
{
    return v > -2147483904.0f && v < 2147483648.0f ? (int32_t)v : INT32_MIN;
}

/* In an image without pixels the last one is -1. */
static int64_t pixel_at(int64_t i, int64_t count)
{
    return i > count - 1 ? count - 1 : i < 0 ? 0 : i;
}

struct sampling_job {
    const struct tfd_sampling *curve;
    const struct tfd_sampling_axis *axis;
    float inverse, shift; /* from a result's place to the image's */
    float stretch;        /* of the curve */
};

static struct sampling_job begin_sampling(const struct tfd_sampling *curve,
                                          bool antialias,
                                          const struct tfd_sampling_axis *axis)
{
    struct sampling_job j = {.curve = curve, .axis = axis, .stretch = 1};

    j.inverse = (float)(1.0 / (double)axis->scale);
    j.shift = -j.inverse * axis->translation;
    if (antialias && j.inverse > 1)
        j.stretch = j.inverse;
    return j;
}

static int64_t size_of_spans(const struct sampling_job *j)
{
    const int32_t half = narrow_number(ceilf(j->curve->radius * j->stretch));
    const int32_t size = (int32_t)(2u * (uint32_t)half + 1u);

    return size < j->axis->in ? size : j->axis->in;
}

/* Result number i; one whose place is outside of the image has no weights. */
static enum tfd_code weigh_pixels(const struct sampling_job *j, int64_t i,
                                  int64_t size, int32_t *start, float *weights,
                                  struct tfd_status *st)
{
    const float at = ((float)i + 0.5f) * j->inverse + j->shift;
    const float reach = j->curve->radius * j->stretch;
    const float narrowed = 1.0f / j->stretch;
    int64_t first, end;
    float sum = 0;

    if (at < 0 || at > (float)j->axis->in)
        return TFD_OK;
    first = pixel_at(whole_number(ceilf(at - reach - 0.5f)), j->axis->in);
    end = pixel_at(whole_number(floorf(at + reach - 0.5f)), j->axis->in) + 1;
    if (end - first > size)
        return tfd_fail(st, TFD_INTERNAL, "Span is too large: %lld vs %lld.",
                        (long long)(end - first), (long long)size);
    for (int64_t p = first; p < end; p++) {
        const float distance = (float)p + 0.5f - at;

        weights[p - first] = j->curve->weight(fabsf(distance * narrowed));
        sum += weights[p - first];
    }
    if (fabsf(sum) >= 1000.0f * 1.17549435e-38f) {
        const float part = 1.0f / sum;

        for (int64_t p = first; p < end; p++)
            weights[p - first] *= part;
    } else {
        for (int64_t p = first; p < end; p++)
            weights[p - first] = 0;
    }
    *start = (int32_t)first;
    return TFD_OK;
}

enum tfd_code tfd_spans_make(const struct tfd_kctx *k,
                             const struct tfd_sampling *curve, bool antialias,
                             const struct tfd_sampling_axis *axis,
                             struct tfd_spans *s, struct tfd_status *st)
{
    const struct sampling_job j = begin_sampling(curve, antialias, axis);
    const int64_t size = size_of_spans(&j);
    int32_t *starts;
    float *weights;

    if (size < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a scale of %g makes of each pixel a part of %d and "
                        "more",
                        (double)axis->scale, INT32_MAX);
    TFD_TRY(new_spans(k, axis->out, size, s, st));
    starts = tfd_tensor_data(&s->memory[0]);
    weights = tfd_tensor_data(&s->memory[1]);
    for (int64_t i = 0; i < axis->out && !tfd_halted(); i++)
        TFD_TRY(weigh_pixels(&j, i, size, &starts[i], weights + i * size, st));
    return TFD_OK;
}

/* ---- Swapped ------------------------------------------------------------- */

/* Calls for every weight that is not 0: its pixel, its result. */
#define FOR_WEIGHTS(of, in, pixel, result, weight)                            \
    for (int64_t result = 0; result < (of)->count && !tfd_halted(); result++) \
        for (int64_t pixel = (of)->starts[result], end_ = pixel + (of)->size; \
             pixel < end_ && pixel < (in); pixel++)                           \
            if ((weight = (of)->weights[result * (of)->size + pixel -         \
                                        (of)->starts[result]]) != 0)

/* From the first result of each pixel to its last one; results come in order.
 */
static enum tfd_code measure_swapped(const struct tfd_kctx *k,
                                     const struct tfd_spans *of, int64_t in,
                                     int64_t *size, struct tfd_status *st)
{
    struct tfd_tensor firsts;
    struct tfd_shape shape;
    int32_t *first; /* and 1; 0: none yet */
    float weight;

    *size = 0;
    TFD_TRY(tfd_shape_make(&shape, &in, 1, st));
    TFD_TRY(tfd_op_memory_zeros(k, TFD_INT32, &shape, &firsts, st));
    first = tfd_tensor_data(&firsts);
    FOR_WEIGHTS(of, in, pixel, result, weight)
    {
        if (first[pixel] == 0)
            first[pixel] = (int32_t)result + 1;
        if (result + 2 - first[pixel] > *size)
            *size = result + 2 - first[pixel];
    }
    tfd_tensor_unref(&firsts);
    return TFD_OK;
}

enum tfd_code tfd_spans_swap(const struct tfd_kctx *k,
                             const struct tfd_spans *of, int64_t in,
                             struct tfd_spans *s, struct tfd_status *st)
{
    int64_t size;
    int32_t *starts;
    float *weights, weight;

    TFD_TRY(measure_swapped(k, of, in, &size, st));
    TFD_TRY(new_spans(k, in, size, s, st));
    starts = tfd_tensor_data(&s->memory[0]);
    weights = tfd_tensor_data(&s->memory[1]);
    for (int64_t i = 0; i < in; i++)
        starts[i] = -1;
    FOR_WEIGHTS(of, in, pixel, result, weight)
    {
        if (starts[pixel] < 0)
            starts[pixel] = (int32_t)result;
        weights[pixel * size + result - starts[pixel]] += weight;
    }
    for (int64_t i = 0; i < in; i++)
        starts[i] = starts[i] < 0 ? 0 : starts[i];
    return TFD_OK;
}
