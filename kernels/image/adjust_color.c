/*
 * adjust_color.c - AdjustContrast, AdjustContrastv2, AdjustHue,
 * AdjustSaturation.
 *
 * The hue lies on a circle of six parts, each between two of the colours red,
 * yellow, green, cyan, blue and magenta.
 */
#include "common/base/min.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/image/pixels.h"

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

/* y[i] = (a[i] + b[i]) + (c[i] + d[i]), or without c and d.  y may be a, and
 * what the others have lies behind it. */
struct sum {
    const float *a, *b, *c, *d;
    float *y;
};

/*
 * The means of an image's channels, as many times as fit a place in the first
 * cache, so that the loop over the image runs over all of those at once; of
 * many channels once.  Blocks begin where lines of the cache do.
 */
#define MEANS_MAX 256
#define LINE_FLOATS 16

/* y[i] = mean[i] + (x[i] - mean[i]) * by */
struct away {
    const float *x, *mean;
    float *y;
    float by;
    int64_t step; /* of the means */
};

/* The vector at x. */
#define AT(name, x) (*(lanes_##name *)(uintptr_t)(x))

/* The loops over both in vectors of `bytes`: sum_name(), put_away_name(). */
#define LOOPS(name, bytes)                                              \
    typedef float lanes_##name __attribute__((                          \
        vector_size(bytes), aligned(sizeof(float)), may_alias));        \
    TFD_SIMD_LOOP(sum_##name)                                           \
    {                                                                   \
        const int64_t lanes = (bytes) / (int64_t)sizeof(float);         \
        const struct sum *s = arg;                                      \
        const float *a = s->a, *b = s->b, *c = s->c, *d = s->d;         \
        float *y = s->y;                                                \
        int64_t i = begin;                                              \
                                                                        \
        for (; !c && end - i >= lanes; i += lanes)                      \
            AT(name, y + i) = AT(name, a + i) + AT(name, b + i);        \
        for (; c && end - i >= lanes; i += lanes)                       \
            AT(name, y + i) = (AT(name, a + i) + AT(name, b + i)) +     \
                              (AT(name, c + i) + AT(name, d + i));      \
        for (; i < end; i++)                                            \
            y[i] = c ? (a[i] + b[i]) + (c[i] + d[i]) : a[i] + b[i];     \
    }                                                                   \
    TFD_SIMD_LOOP(put_away_##name)                                      \
    {                                                                   \
        const int64_t lanes = (bytes) / (int64_t)sizeof(float);         \
        const struct away *w = arg;                                     \
        const float *x = w->x;                                          \
        const float by = w->by;                                         \
        float *y = w->y;                                                \
                                                                        \
        for (int64_t i = begin; i < end && !tfd_halted();) {            \
            const int64_t block = i / w->step * w->step;                \
            const int64_t stop = tfd_min(end, block + w->step);         \
            const float *m = w->mean;                                   \
                                                                        \
            for (; stop - i >= lanes; i += lanes)                       \
                AT(name, y + i) =                                       \
                    AT(name, m + (i - block)) +                         \
                    (AT(name, x + i) - AT(name, m + (i - block))) * by; \
            for (; i < stop; i++)                                       \
                y[i] = m[i - block] + (x[i] - m[i - block]) * by;       \
        }                                                               \
    }

LOOPS(plain, 32)
TFD_SIMD_CLONES(sum_plain)
TFD_SIMD_CLONES(put_away_plain)
#if defined(__x86_64__)
LOOPS(wide, 64)
TFD_SIMD_COPY(sum_wide, , TFD_SIMD_AVX512)
TFD_SIMD_COPY(put_away_wide, , TFD_SIMD_AVX512)
#else
#define sum_wide sum_plain
#define put_away_wide put_away_plain
#endif

static void sum(struct sum *s, int64_t n)
{
    if (tfd_simd_has_avx512())
        sum_wide(s, 0, n);
    else
        sum_plain(s, 0, n);
}

static void put_away(struct away *w, int64_t begin, int64_t end)
{
    if (tfd_simd_has_avx512())
        put_away_wide(w, begin, end);
    else
        put_away_plain(w, begin, end);
}

/* The second half of `left` pixels to the first; of an odd number the one in
 * the middle stays as it is. */
static void add_half(const struct adjusting *a, const float *x, float *y,
                     int64_t left)
{
    const int64_t half = left / 2 * a->channels;
    const int64_t rest = (left - left / 2) * a->channels;
    struct sum pair = {.a = x, .b = x + rest, .y = y};

    sum(&pair, half);
    if (x != y)
        memcpy(y + half, x + half, (size_t)(rest - half) * sizeof(*y));
}

/* The same twice, with half the way through memory; `left` is at least 4.
 * Returns how many are left. */
static int64_t add_quarters(const struct adjusting *a, const float *x, float *y,
                            int64_t left)
{
    const int64_t n = a->channels, half = left / 2, rest = left - half;
    const int64_t quarter = rest / 2, last = rest - quarter;
    struct sum four = {x, x + rest * n, x + last * n, x + (last + rest) * n, y};
    const float *lone = x + half * n;

    sum(&four, (quarter - left % 2) * n);
    if (left % 2)
        for (int64_t i = (quarter - 1) * n, c = 0; c < n; i++, c++)
            y[i] = (x[i] + x[i + rest * n]) + lone[c];
    if (rest % 2)
        for (int64_t i = quarter * n; i < last * n; i++)
            y[i] = x[i] + x[i + rest * n];
    return last;
}

/* The sum of each channel in the first pixel of y: the second half of the
 * pixels is added to the first, and so on, as TensorFlow adds them. */
static void sum_pixels(const struct adjusting *a, const float *x, float *y)
{
    for (int64_t left = a->pixels; left > 1 || x != y; x = y) {
        if (tfd_halted())
            return;
        if (left >= 4) {
            left = add_quarters(a, x, y, left);
        } else {
            add_half(a, x, y, left);
            left -= left / 2;
        }
    }
}

/* The means are where the first pixel comes, which is the last one done. */
static void put_image(const struct adjusting *a, const float *x, float *y)
{
    const int64_t size = a->pixels * a->channels;
    const int64_t line = LINE_FLOATS * a->channels;
    struct away w = {.x = x, .y = y, .by = a->by, .mean = y};
    float means[MEANS_MAX];

    w.step = line <= MEANS_MAX ? MEANS_MAX / line * line : a->channels;
    if (w.step > a->channels) {
        for (int64_t i = 0; i < w.step; i++)
            means[i] = i < a->channels ? y[i] : means[i - a->channels];
        w.mean = means;
    }
    put_away(&w, a->channels, size);
    put_away(&w, 0, a->channels);
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
        put_image(a, x, y);
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

static void adjust_hue_far(void *arg, int64_t begin, int64_t end)
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

/* 1 - x in the odd parts. */
TFD_PIXELS_INLINE float along(float part, float x)
{
    const float odd = part - 2 * (float)(int)(part / 2);

    return odd + (1 - 2 * odd) * x;
}

/* The hue, turned by at most 6, and the largest and the smallest channel. */
TFD_PIXELS_INLINE struct tfd_pixel turn_hue(struct tfd_pixel p, float by)
{
    const float lower = p.a < p.b ? p.a : p.b, upper = p.a < p.b ? p.b : p.a;
    const float most = p.c > upper ? p.c : upper;
    const float least = p.c < lower ? p.c : lower;
    const float inner = p.c > upper ? upper : p.c;
    const float between = p.c < lower ? lower : inner;
    const float green = p.c > upper ? 3 : 2, red = p.c > upper ? 4 : 5;
    const float yellow = p.c < lower ? 1 : green, pink = p.c < lower ? 0 : red;
    const float part = p.a < p.b ? yellow : pink;
    const float ratio = (between - least) / (most - least);
    const float turned = part + along(part, ratio);
    float h = (most == least ? 0 : turned) + by;

    h = h < 0 ? h + 6 : h;
    h = h >= 6 ? h - 6 : h;
    return (struct tfd_pixel){h >= 6 ? h - 6 : h, most, least};
}

/* A channel that is the largest in part `first` and the one behind it. */
TFD_PIXELS_INLINE float put_part(float part, float first, struct tfd_pixel p,
                                 float between)
{
    const float away = part < first ? part - first + 6 : part - first;
    const float more = away < 2 ? p.b : between;

    return ((away >= 3) & (away < 5)) ? p.c : more;
}

/* 5 where h is no number; else 0 <= h < 6. */
TFD_PIXELS_INLINE float part_at(float h)
{
    return (h < 1 ? 0.0f : 1.0f) + (h < 2 ? 0.0f : 1.0f) +
           (h < 3 ? 0.0f : 1.0f) + (h < 4 ? 0.0f : 1.0f) +
           (h < 5 ? 0.0f : 1.0f);
}

TFD_PIXELS_INLINE struct tfd_pixel put_hue(struct tfd_pixel p, float by)
{
    const float part = part_at(p.a);
    const float between = p.c + along(part, p.a - part) * (p.b - p.c);

    (void)by;
    return (struct tfd_pixel){put_part(part, 5, p, between),
                              put_part(part, 1, p, between),
                              put_part(part, 3, p, between)};
}

TFD_SIMD_LOOP(adjust_hue)
{
    const struct adjusting *a = arg;

    tfd_pixels_each(a->x, a->y, begin, end, a->by * 6, turn_hue, put_hue);
}
TFD_SIMD_CLONES_WIDE(adjust_hue)

static enum tfd_code hue_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct adjusting a;

    TFD_TRY(begin_adjusting(k, "delta", &a, st));
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]) / 3, PIXEL_COST_NS,
                      fabsf(a.by * 6) <= 6 ? adjust_hue : adjust_hue_far, &a);
    return TFD_OK;
}

/* ---- AdjustSaturation ---------------------------------------------------- */

TFD_PIXELS_INLINE float hue_of(struct tfd_pixel p, float most, float range)
{
    const float norm = 1.0f / (6.0f * range);
    const float red = norm * (p.b - p.c);
    const float green = (float)((double)(norm * (p.c - p.a)) + 2.0 / 6.0);
    const float blue = (float)((double)(norm * (p.a - p.b)) + 4.0 / 6.0);
    float h = p.b == most ? green : blue;

    h = p.a == most ? red : h;
    h = h < 0 ? h + 1 : h;
    h = ((h >= 0) & (h <= 1)) ? h : 1;
    return range <= 0 ? 0 : h;
}

/* The two parts before and behind a colour: how much of it is in there.
 * 0 <= h <= 6. */
TFD_PIXELS_INLINE float between(float h)
{
    const float two = h >= 2 ? 2 : 0, four = h >= 4 ? two + 2 : two;
    const float turns = h >= 6 ? four + 2 : four;

    return 1 - fabsf(h - turns - 1);
}

/* Of the first when one is no number, as TensorFlow's. */
TFD_PIXELS_INLINE float most_of(float a, float b)
{
    return a < b ? b : a;
}

TFD_PIXELS_INLINE float least_of(float a, float b)
{
    return b < a ? b : a;
}

/* From part `first` of the circle on the colour is there for two parts, in the
 * one before and the one behind between; of the whole circle, 6, none is. */
TFD_PIXELS_INLINE float color_at(float part, float first, float chroma,
                                 float middle, float least)
{
    const float behind = part - first;
    const float away = behind < 0 ? behind + 6 : behind;
    const float color = (away < 2 ? chroma : middle) + least;
    const int none = ((away >= 3) & (away < 5)) | (part >= 6);

    return none ? least : color;
}

/* Hue, saturation and value; these to a pixel. */
TFD_PIXELS_INLINE struct tfd_pixel saturate(struct tfd_pixel p, float by)
{
    const float most = most_of(p.a, most_of(p.b, p.c));
    const float range = most - least_of(p.a, least_of(p.b, p.c));
    const float share = range / most;
    float s = (most > 0 ? share : 0) * by;

    s = s > 0 ? s : 0;
    s = s < 1 ? s : 1;
    return (struct tfd_pixel){hue_of(p, most, range), s, most};
}

TFD_PIXELS_INLINE struct tfd_pixel color(struct tfd_pixel p, float by)
{
    const float h = p.a * 6, part = (float)(int)h;
    const float chroma = p.b * p.c, least = p.c - chroma;
    const float middle = chroma * between(h);

    (void)by;
    return (struct tfd_pixel){color_at(part, 5, chroma, middle, least),
                              color_at(part, 1, chroma, middle, least),
                              color_at(part, 3, chroma, middle, least)};
}

TFD_SIMD_LOOP(adjust_saturation)
{
    const struct adjusting *a = arg;

    tfd_pixels_each(a->x, a->y, begin, end, a->by, saturate, color);
}
TFD_SIMD_CLONES_WIDE(adjust_saturation)

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
