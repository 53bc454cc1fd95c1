/*
 * adjust_color.c - AdjustContrast, AdjustContrastv2, AdjustHue,
 * AdjustSaturation.
 *
 * The hue lies on a circle of six parts, each between two of the colours red,
 * yellow, green, cyan, blue and magenta.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIXEL_COST_NS 15

struct adjusting {
    const float *x;
    float *y;
    float by;
    int64_t pixels, channels; /* of one image */
};

/* Input 0 is an image at least, input 1 a number; makes the output. */
static enum tfd_code begin_adjusting(struct tfd_kctx *k, const char *what,
                                     struct adjusting *a, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank < 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be at least 3-D, got shape%s",
                        tfd_shape_text(x, text));
    if (k->in[1].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be scalar: %s", what,
                        tfd_shape_text(&k->in[1].shape, text));
    a->channels = x->dim[x->rank - 1];
    a->pixels = x->dim[x->rank - 3] * x->dim[x->rank - 2];
    if (strcmp(what, "contrast_factor") != 0 && a->channels != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must have 3 channels but instead has %lld "
                        "channels.",
                        (long long)a->channels);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, x, st));
    a->x = tfd_tensor_data(&k->in[0]);
    a->y = tfd_tensor_data(&k->out[0]);
    a->by = *(const float *)tfd_tensor_data(&k->in[1]);
    return TFD_OK;
}

/* ---- AdjustContrastv2 ---------------------------------------------------- */

/* The sum of each channel in the first pixel of y: the second half of the
 * pixels is added to the first, and so on, as TensorFlow adds them. */
static void sum_pixels(const struct adjusting *a, const float *x, float *y)
{
    for (int64_t left = a->pixels; left > 1 || x != y; x = y) {
        const int64_t half = left / 2 * a->channels;
        const int64_t rest = (left - left / 2) * a->channels;

        if (tfd_halted())
            return;
        for (int64_t i = 0; i < half; i++)
            y[i] = x[i] + x[rest + i];
        if (x != y)
            memcpy(y + half, x + half, (size_t)(rest - half) * sizeof(*y));
        left -= left / 2;
    }
}

static void adjust_contrast(void *arg, int64_t begin, int64_t end)
{
    const struct adjusting *a = arg;
    const int64_t size = a->pixels * a->channels;
    const float part = 1.0f / (float)a->pixels;

    for (int64_t n = begin; n < end && !tfd_halted(); n++) {
        const float *x = a->x + n * size;
        float *y = a->y + n * size;

        sum_pixels(a, x, y);
        for (int64_t c = 0; c < a->channels; c++)
            y[c] *= part;
        for (int64_t i = size; i-- > 0;) {
            const float mean = y[i % a->channels];

            if ((i & 0xfffff) == 0 && tfd_halted())
                return;
            y[i] = mean + (x[i] - mean) * a->by;
        }
    }
}

static int cost_of_pixels(int64_t pixels)
{
    return pixels < INT32_MAX / PIXEL_COST_NS ? (int)pixels * PIXEL_COST_NS
                                              : INT32_MAX;
}

static enum tfd_code contrast_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct adjusting a;
    int64_t n;

    TFD_TRY(begin_adjusting(k, "contrast_factor", &a, st));
    n = tfd_tensor_elements(&k->in[0]);
    if (n > 0)
        tfd_kctx_parallel(k, n / (a.pixels * a.channels),
                          cost_of_pixels(a.pixels), adjust_contrast, &a);
    return TFD_OK;
}

/* ---- AdjustContrast ------------------------------------------------------ */

/* Of graphs of before 2015: images of any type, and bounds of the result. */
struct old_contrast {
    struct adjusting a;
    const void *image;
    float least, most;
};

#define OLD_CONTRAST(name, T)                                              \
    static void old_contrast_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                      \
        const struct old_contrast *o = arg;                                \
        const struct adjusting *a = &o->a;                                 \
        const int64_t size = a->pixels * a->channels;                      \
                                                                           \
        for (int64_t n = begin; n < end && !tfd_halted(); n++) {           \
            const T *x = (const T *)o->image + n * size;                   \
            float *y = a->y + n * size;                                    \
                                                                           \
            for (int64_t i = 0; i < size; i++)                             \
                y[i] = (float)x[i];                                        \
            sum_pixels(a, y, y);                                           \
            for (int64_t c = 0; c < a->channels; c++)                      \
                y[c] /= (float)a->pixels;                                  \
            for (int64_t i = size; i-- > 0;) {                             \
                const float mean = y[i % a->channels];                     \
                float v = ((float)x[i] - mean) * a->by + mean;             \
                                                                           \
                v = o->most < v ? o->most : v;                             \
                y[i] = v < o->least ? o->least : v;                        \
            }                                                              \
        }                                                                  \
    }

#define OLD_CONTRAST_TYPES(X) \
    X(FLOAT, float)           \
    X(DOUBLE, double)         \
    X(INT32, int32_t)         \
    X(INT16, int16_t)         \
    X(INT8, int8_t)           \
    X(UINT8, uint8_t)
OLD_CONTRAST_TYPES(OLD_CONTRAST)

static enum tfd_code read_bound(const struct tfd_kctx *k, int arg,
                                const char *name, float *out,
                                struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[arg].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be scalar: %s", name,
                        tfd_shape_text(&k->in[arg].shape, text));
    *out = *(const float *)tfd_tensor_data(&k->in[arg]);
    return TFD_OK;
}

static enum tfd_code old_contrast_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    struct old_contrast o;
    int64_t n;

    TFD_TRY(begin_adjusting(k, "contrast_factor", &o.a, st));
    TFD_TRY(read_bound(k, 2, "min_value", &o.least, st));
    TFD_TRY(read_bound(k, 3, "max_value", &o.most, st));
    o.image = tfd_tensor_data(&k->in[0]);
    n = tfd_tensor_elements(&k->in[0]);
    if (n > 0)
        tfd_kctx_parallel(k, n / (o.a.pixels * o.a.channels),
                          cost_of_pixels(o.a.pixels), k->kernel->range, &o);
    return TFD_OK;
}

/* ---- AdjustHue ----------------------------------------------------------- */

/* A part of the circle: which channel is largest, which one is between, which
 * one is smallest. */
static const int parts[6][3] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0},
                                {2, 1, 0}, {2, 0, 1}, {0, 2, 1}};

static int part_of(float r, float g, float b)
{
    if (r < g)
        return b < r ? 1 : b > g ? 3 : 2;
    return b < g ? 0 : b > r ? 4 : 5;
}

static float wrap_hue(float h)
{
    if (fabsf(h) < 1000) {
        while (h < 0)
            h += 6;
        while (h >= 6)
            h -= 6;
        return h;
    }
    h = fmodf(h, 6);
    return h < 0 ? h + 6 : h;
}

static void adjust_hue(void *arg, int64_t begin, int64_t end)
{
    const struct adjusting *a = arg;
    const float *x = a->x + 3 * begin;
    float *y = a->y + 3 * begin;

    for (int64_t i = begin; i < end; i++, x += 3, y += 3) {
        const int part = part_of(x[0], x[1], x[2]);
        const float most = x[parts[part][0]], least = x[parts[part][2]];
        const float ratio = (x[parts[part][1]] - least) / (most - least);
        float h =
            most == least ? 0 : (float)part + (part & 1 ? 1 - ratio : ratio);
        int to;

        h = wrap_hue(h + a->by * 6);
        to = h >= 0 && h < 6 ? (int)h : 5;
        h -= (float)to;
        y[parts[to][0]] = most;
        y[parts[to][1]] = least + (to & 1 ? 1 - h : h) * (most - least);
        y[parts[to][2]] = least;
    }
}

static enum tfd_code hue_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct adjusting a;

    TFD_TRY(begin_adjusting(k, "delta", &a, st));
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]) / 3, PIXEL_COST_NS,
                      adjust_hue, &a);
    return TFD_OK;
}

/* ---- AdjustSaturation ---------------------------------------------------- */

static float hue_of(const float *x, float most, float range)
{
    const float norm = 1.0f / (6.0f * range);
    float h;

    if (range <= 0)
        return 0;
    if (x[0] == most)
        h = norm * (x[1] - x[2]);
    else if (x[1] == most)
        h = (float)((double)(norm * (x[2] - x[0])) + 2.0 / 6.0);
    else
        h = (float)((double)(norm * (x[0] - x[1])) + 4.0 / 6.0);
    return h < 0 ? h + 1 : h;
}

/* The two parts before and behind a colour: how much of it is in there. */
static float between(float h)
{
    while (h <= 0)
        h += 2;
    while (h >= 2)
        h -= 2;
    return 1 - fabsf(h - 1);
}

static void put_color(float h, float chroma, float least, float *y)
{
    const float middle = chroma * between(h * 6);
    const int part = (int)(h * 6);

    y[0] = y[1] = y[2] = least;
    if (part < 0 || part > 5)
        return;
    y[parts[part][0]] = chroma + least;
    y[parts[part][1]] = middle + least;
}

static void adjust_saturation(void *arg, int64_t begin, int64_t end)
{
    const struct adjusting *a = arg;
    const float *x = a->x + 3 * begin;
    float *y = a->y + 3 * begin;

    for (int64_t i = begin; i < end; i++, x += 3, y += 3) {
        const float most = fmaxf(x[0], fmaxf(x[1], x[2]));
        const float range = most - fminf(x[0], fminf(x[1], x[2]));
        const float h = hue_of(x, most, range);
        float s = (most > 0 ? range / most : 0) * a->by;

        s = s > 0 ? s < 1 ? s : 1 : 0;
        put_color(h >= 0 && h <= 1 ? h : 1, s * most, most - s * most, y);
    }
}

static enum tfd_code saturation_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    struct adjusting a;

    TFD_TRY(begin_adjusting(k, "scale", &a, st));
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]) / 3, PIXEL_COST_NS,
                      adjust_saturation, &a);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code adjust_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    if (s->in[0].rank != TFD_RANK_UNKNOWN && s->in[0].rank < 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 3 but is rank %d",
                        s->in[0].rank);
    return tfd_shape_like_first(s, st);
}

#define ADJUSTS(op, by)                                                 \
    {                                                                   \
        .name = op, .inputs = "images: T, " by ": float",               \
        .outputs = "output: T", .attrs = "T: {half, float} = DT_FLOAT", \
        .shape = adjust_shape,                                          \
    }

static const struct tfd_opdef ops[] = {
    {
        .name = "AdjustContrast",
        .inputs = "images: T, contrast_factor: float, min_value: float, "
                  "max_value: float",
        .outputs = "output: float",
        .attrs = "T: {uint8, int8, int16, int32, int64, float, double}",
        .shape = adjust_shape,
    },
    ADJUSTS("AdjustContrastv2", "contrast_factor"),
    ADJUSTS("AdjustHue", "delta"),
    ADJUSTS("AdjustSaturation", "scale"),
};

#define OLD_CONTRAST_KERNEL(name, T)                         \
    TFD_KERNEL("AdjustContrast", name, old_contrast_compute, \
               old_contrast_##name),

static const struct tfd_kernel kernels[] = {
    OLD_CONTRAST_TYPES(OLD_CONTRAST_KERNEL)
        TFD_KERNEL("AdjustContrastv2", FLOAT, contrast_compute),
    TFD_KERNEL("AdjustHue", FLOAT, hue_compute),
    TFD_KERNEL("AdjustSaturation", FLOAT, saturation_compute),
};

const struct tfd_family tfd_family_adjust_color = {
    .name = "adjust_color",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
