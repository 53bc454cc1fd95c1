/*
 * color_space.c - RGBToHSV and HSVToRGB: colours as hue, saturation and value,
 * and back.  All of them are parts of 1.
 *
 * Halves and bfloat16 are rounded after each operation, as TensorFlow does it.
 */
#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/image/color_space_grad.h"
#include "kernels/image/pixels.h"

#include <math.h>

#define PIXEL_COST_NS 10

struct colors {
    const void *x;
    void *y;
};

#define SAME(v) (v)
#define HALF(v) tfd_half_to_float(tfd_half_from_float(v))
#define BFLOAT(v) tfd_bfloat16_to_float(tfd_bfloat16_from_float(v))

/* name, type of elements, type to compute with, conversions from and to the
 * elements, rounding; floats are vectorised. */
#define COLOR_TYPES(X)                                                     \
    X(DOUBLE, double, double, SAME, SAME, SAME)                            \
    X(HALF, tfd_half, float, tfd_half_to_float, tfd_half_from_float, HALF) \
    X(BFLOAT16, tfd_bfloat16, float, tfd_bfloat16_to_float,                \
      tfd_bfloat16_from_float, BFLOAT)

/* ---- RGBToHSV ------------------------------------------------------------ */

#define TO_HSV(name, T, W, FROM, TO, R)                              \
    static W hue_##name(W r, W g, W b, W most, W range)              \
    {                                                                \
        const W sixth = R((W)1 / 6), norm = R(R(1 / range) * sixth); \
        W h;                                                         \
                                                                     \
        if (!(range > 0))                                            \
            return 0;                                                \
        if (r == most)                                               \
            h = R(norm * R(g - b));                                  \
        else if (g == most)                                          \
            h = R(R(norm * R(b - r)) + R((W)2 / 6));                 \
        else                                                         \
            h = R(R(norm * R(r - g)) + R((W)4 / 6));                 \
        return h < 0 ? R(h + 1) : h;                                 \
    }                                                                \
                                                                     \
    static void to_hsv_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                \
        const struct colors *c = arg;                                \
        const T *x = (const T *)c->x + 3 * begin;                    \
        T *y = (T *)c->y + 3 * begin;                                \
                                                                     \
        for (int64_t i = begin; i < end; i++, x += 3, y += 3) {      \
            const W r = FROM(x[0]), g = FROM(x[1]), b = FROM(x[2]);  \
            const W gb = g > b ? g : b, low = g < b ? g : b;         \
            const W most = r > gb ? r : gb;                          \
            const W range = R(most - (r < low ? r : low));           \
                                                                     \
            y[0] = TO(hue_##name(r, g, b, most, range));             \
            y[1] = TO(most > 0 ? R(range / most) : 0);               \
            y[2] = TO(most);                                         \
        }                                                            \
    }
COLOR_TYPES(TO_HSV)

TFD_PIXELS_INLINE struct tfd_pixel to_hsv(struct tfd_pixel p, float unused)
{
    const float gb = p.b > p.c ? p.b : p.c, low = p.b < p.c ? p.b : p.c;
    const float most = p.a > gb ? p.a : gb;
    const float range = most - (p.a < low ? p.a : low);
    const float norm = 1 / range * (1.0f / 6), red = norm * (p.b - p.c);
    const float green = norm * (p.c - p.a) + 2.0f / 6;
    const float blue = norm * (p.a - p.b) + 4.0f / 6;
    float h = p.b == most ? green : blue;

    (void)unused;
    h = p.a == most ? red : h;
    h = h < 0 ? h + 1 : h;
    return (struct tfd_pixel){range > 0 ? h : 0, most > 0 ? range / most : 0,
                              most};
}

TFD_SIMD_LOOP(to_hsv_FLOAT)
{
    const struct colors *c = arg;

    tfd_pixels_each(c->x, c->y, begin, end, 0, to_hsv, NULL);
}
TFD_SIMD_CLONES_WIDE(to_hsv_FLOAT)

/* ---- HSVToRGB ------------------------------------------------------------ */

#define TO_RGB(name, T, W, FROM, TO, R)                                    \
    static W part_##name(W v)                                              \
    {                                                                      \
        return v < 0 ? 0 : v > 1 ? 1 : v;                                  \
    }                                                                      \
                                                                           \
    static void to_rgb_##name(void *arg, int64_t begin, int64_t end)       \
    {                                                                      \
        const struct colors *c = arg;                                      \
        const T *x = (const T *)c->x + 3 * begin;                          \
        T *y = (T *)c->y + 3 * begin;                                      \
                                                                           \
        for (int64_t i = begin; i < end; i++, x += 3, y += 3) {            \
            const W h = R(FROM(x[0]) * 6), s = FROM(x[1]), v = FROM(x[2]); \
            const W away[] = {R(h - 3), R(h - 2), R(h - 4)};               \
                                                                           \
            for (int j = 0; j < 3; j++) {                                  \
                const W d = (W)fabs((double)away[j]);                      \
                const W part = part_##name(j ? R(2 - d) : R(d - 1));       \
                                                                           \
                y[j] = TO(R(R(R(1 - s) + R(s * part)) * v));               \
            }                                                              \
        }                                                                  \
    }
COLOR_TYPES(TO_RGB)

TFD_PIXELS_INLINE float color_of(float part, float s, float v)
{
    part = part < 0 ? 0 : part;
    part = part > 1 ? 1 : part;
    return (1 - s + s * part) * v;
}

TFD_PIXELS_INLINE struct tfd_pixel to_rgb(struct tfd_pixel p, float unused)
{
    const float h = p.a * 6, s = p.b, v = p.c;

    (void)unused;
    return (struct tfd_pixel){color_of(fabsf(h - 3) - 1, s, v),
                              color_of(2 - fabsf(h - 2), s, v),
                              color_of(2 - fabsf(h - 4), s, v)};
}

TFD_SIMD_LOOP(to_rgb_FLOAT)
{
    const struct colors *c = arg;

    tfd_pixels_each(c->x, c->y, begin, end, 0, to_rgb, NULL);
}
TFD_SIMD_CLONES_WIDE(to_rgb_FLOAT)

/* ---- Both ---------------------------------------------------------------- */

static enum tfd_code space_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    struct colors c;
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "input must be at least 1D%s",
                        tfd_shape_text(x, text));
    if (x->dim[x->rank - 1] != 3)
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "input must have 3 channels but input only has %lld "
                        "channels.",
                        (long long)x->dim[x->rank - 1]);
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, x, st));
    c.x = tfd_tensor_data(&k->in[0]);
    c.y = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel(k, tfd_shape_elements(x) / 3, PIXEL_COST_NS,
                      k->kernel->range, &c);
    return TFD_OK;
}

static enum tfd_code space_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    if (s->in[0].rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 1 but is rank 0");
    return tfd_shape_like_first(s, st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "RGBToHSV",
        .inputs = "images: T",
        .outputs = "output: T",
        .attrs = "T: {half, bfloat16, float, double} = DT_FLOAT",
        .shape = space_shape,
        .grad = tfd_color_hsv_gradient,
    },
    {
        .name = "HSVToRGB",
        .inputs = "images: T",
        .outputs = "output: T",
        .attrs = "T: {half, bfloat16, float, double} = DT_FLOAT",
        .shape = space_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define KERNELS(name, T, W, FROM, TO, R)                        \
    TFD_KERNEL("RGBToHSV", name, space_compute, to_hsv_##name), \
        TFD_KERNEL("HSVToRGB", name, space_compute, to_rgb_##name),

static const struct tfd_kernel kernels[] = {
    KERNELS(FLOAT, float, float, SAME, SAME, SAME) COLOR_TYPES(KERNELS)};

const struct tfd_family tfd_family_color_space = {
    .name = "color_space",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
