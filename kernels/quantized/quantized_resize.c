/*
 * quantized_resize.c - QuantizedResizeBilinear: quantised images of another
 * size, of the same range.
 *
 * Integers are blended in fixed point, of 7 bits for quint8 and of 30 for
 * qint32, with quotients that go towards zero.  Floats are blended as floats,
 * whatever their range.
 */
#include "common/thread/halt.h"
#include "kernels/core/families.h"
#include "kernels/image/resize.h"
#include "kernels/quantized/quantized.h"

#include <string.h>

struct resize_job {
    struct tfd_resize r;
    const struct tfd_resize_taps *columns;
};

/* Four neighbours: left and right first, then top and bottom. */
#define FIXED_BLEND(a, b, c, d, T, BITS, across, down)                   \
    do {                                                                 \
        const T one = (T)1 << (BITS);                                    \
        const T above = (T)(a)*one + ((T)(b) - (T)(a)) * (across);       \
        const T below = (T)(c)*one + ((T)(d) - (T)(c)) * (across);       \
                                                                         \
        return (above + (below - above) / one * (down) + one / 2) / one; \
    } while (0)

static inline int32_t blend_QUINT8(uint8_t a, uint8_t b, uint8_t c, uint8_t d,
                                   int32_t across, int32_t down)
{
    FIXED_BLEND(a, b, c, d, int32_t, 7, across, down);
}

static inline int64_t blend_QINT32(int32_t a, int32_t b, int32_t c, int32_t d,
                                   int64_t across, int64_t down)
{
    FIXED_BLEND(a, b, c, d, int64_t, 30, across, down);
}

static inline float blend_FLOAT(float a, float b, float c, float d,
                                float across, float down)
{
    const float above = a + (b - a) * across;
    const float below = c + (d - c) * across;

    return above + (below - above) * down;
}

#define RESIZE_LOOP(name, T, WEIGHT, ONE)                                     \
    static void resize_row_##name(const struct resize_job *j, const T *top,   \
                                  const T *low, WEIGHT down, T *y)            \
    {                                                                         \
        const int64_t depth = j->r.channels;                                  \
                                                                              \
        for (int64_t i = 0; i < j->r.out[1]; i++, y += depth) {               \
            const struct tfd_resize_taps *t = &j->columns[i];                 \
            const int64_t left = t->at[0] * depth, right = t->at[1] * depth;  \
            const WEIGHT across = (WEIGHT)(t->weight[1] * (float)(ONE));      \
                                                                              \
            for (int64_t c = 0; c < depth; c++)                               \
                y[c] = (T)blend_##name(top[left + c], top[right + c],         \
                                       low[left + c], low[right + c], across, \
                                       down);                                 \
        }                                                                     \
    }                                                                         \
                                                                              \
    static void resize_##name(void *arg, int64_t begin, int64_t end)          \
    {                                                                         \
        const struct resize_job *j = arg;                                     \
        const int64_t line = j->r.in[1] * j->r.channels;                      \
                                                                              \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {              \
            const struct tfd_resize_taps t =                                  \
                tfd_resize_linear(&j->r, TFD_RESIZE_HIGH, i % j->r.out[0]);   \
            const T *x =                                                      \
                (const T *)j->r.x + i / j->r.out[0] * j->r.in[0] * line;      \
                                                                              \
            resize_row_##name(j, x + t.at[0] * line, x + t.at[1] * line,      \
                              (WEIGHT)(t.weight[1] * (float)(ONE)),           \
                              (T *)j->r.y + i * j->r.out[1] * j->r.channels); \
        }                                                                     \
    }
RESIZE_LOOP(QUINT8, uint8_t, int32_t, 1 << 7)
RESIZE_LOOP(QINT32, int32_t, int64_t, 1 << 30)
RESIZE_LOOP(FLOAT, float, float, 1)

static enum tfd_code quantized_resize(struct tfd_kctx *k, struct tfd_status *st)
{
    static const char *const names[] = {"min", "max"};
    struct tfd_buffer *columns;
    struct resize_job j;

    for (int i = 0; i < 2; i++)
        if (k->in[2 + i].shape.rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be a scalar",
                            names[i]);
    TFD_TRY(tfd_resize_begin_any(k, &j.r, k->kernel->dtype, st));
    TFD_TRY(tfd_quantized_give(k, 1, tfd_quantized_scalar(k, 2), st));
    TFD_TRY(tfd_quantized_give(k, 2, tfd_quantized_scalar(k, 3), st));
    if (!j.r.y || !j.r.batch)
        return TFD_OK;
    if (j.r.in[0] == j.r.out[0] && j.r.in[1] == j.r.out[1]) {
        memcpy(j.r.y, j.r.x,
               (size_t)tfd_tensor_elements(&k->in[0]) *
                   tfd_dtype_size(k->in[0].dtype));
        return TFD_OK;
    }
    TFD_TRY(tfd_resize_columns(&j.r, tfd_resize_linear, &columns, st));
    j.columns = columns->data;
    tfd_kctx_parallel(
        k, j.r.batch * j.r.out[0],
        tfd_resize_cost((double)j.r.out[1] * (double)j.r.channels + 1),
        k->kernel->range, &j);
    tfd_buffer_unref(columns);
    return TFD_OK;
}

static enum tfd_code resize_infer(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    s->out[1] = s->out[2] = (struct tfd_shape){.rank = 0};
    return tfd_resize_shape(s, st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "QuantizedResizeBilinear",
        .inputs = "images: T, size: int32, min: float, max: float",
        .outputs = "resized_images: T, out_min: float, out_max: float",
        .attrs = "T: {quint8, qint32, float}; align_corners: bool = false; "
                 "half_pixel_centers: bool = false",
        .shape = resize_infer,
    },
};

#define RESIZE_ROW(type)                                          \
    TFD_KERNEL("QuantizedResizeBilinear", type, quantized_resize, \
               resize_##type, .prepare = tfd_resize_prepare,      \
               .state_size = sizeof(struct tfd_resize_state))

static const struct tfd_kernel kernels[] = {
    RESIZE_ROW(QUINT8),
    RESIZE_ROW(QINT32),
    RESIZE_ROW(FLOAT),
};

const struct tfd_family tfd_family_quantized_resize = {
    .name = "quantized_resize",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
