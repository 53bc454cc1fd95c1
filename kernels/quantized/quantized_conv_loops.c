/*
 * quantized_conv_loops.c - see quantized_conv.h.
 *
 * A thread takes pixels of y; the sums of one lie in a row of its own, to which
 * each element under the window adds its multiple of a row of w, as that lies
 * in memory.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/quantized/quantized_conv.h"

#define TERMS_BETWEEN_LOOKS 256

/* ---- Scales -------------------------------------------------------------- */

float tfd_quantized_conv_step(enum tfd_dtype t, float low, float high)
{
    const float most = tfd_quantized_max(fabsf(low), fabsf(high));

    return most / (t == TFD_QUINT8 ? 255.0f : 127.0f);
}

float tfd_quantized_conv_level(enum tfd_dtype t, float low, float high)
{
    return (high - low) / (t == TFD_QUINT8 ? 255.0f : 254.0f);
}

/* ---- Sums ---------------------------------------------------------------- */

/* A pixel of y. */
struct conv_place {
    int64_t image, row, column;
};

static struct conv_place conv_place_of(const struct tfd_conv *s, int64_t pixel)
{
    const int64_t in_image = pixel % (s->row.out * s->column.out);

    return (struct conv_place){pixel / (s->row.out * s->column.out),
                               in_image / s->column.out,
                               in_image % s->column.out};
}

/* sum += v (w - zero), for the n channels of a group. */
static void add_weights(const struct tfd_quantized_conv *c, uint32_t *sum,
                        uint32_t v, int64_t at, int64_t n)
{
    const uint32_t zero = (uint32_t)c->w_zero;

    if (c->w_signed) {
        const int8_t *w = (const int8_t *)c->sizes.w + at;

        for (int64_t i = 0; i < n; i++)
            sum[i] += v * (uint32_t)(int32_t)w[i];
    } else {
        const uint8_t *w = (const uint8_t *)c->sizes.w + at;

        for (int64_t i = 0; i < n; i++)
            sum[i] += v * ((uint32_t)w[i] - zero);
    }
}

/* Channel i of a pixel of x without its zero; below 0: outside of x. */
static uint32_t element_of(const struct tfd_quantized_conv *c, int64_t at,
                           int64_t i)
{
    if (at < 0)
        return (uint32_t)c->outside;
    if (c->x_signed)
        return (uint32_t)(int32_t)((const int8_t *)c->sizes.x)[at + i];
    return (uint32_t)((const uint8_t *)c->sizes.x)[at + i] -
           (uint32_t)c->x_zero;
}

/* Adds all channels of one pixel of x, number `at` of w's pixels. */
static void add_channels(const struct tfd_quantized_conv *c, uint32_t *sum,
                         int64_t pixel, int64_t at)
{
    const struct tfd_conv *s = &c->sizes;
    const int64_t n = s->out_channels / s->groups;

    for (int64_t i = 0; i < s->in_channels; i++) {
        const int64_t group = i / c->depth;
        const uint32_t v = element_of(c, pixel, i);

        if (i % TERMS_BETWEEN_LOOKS == 0 && tfd_halted())
            return;
        if (v)
            add_weights(c, sum + group * n, v,
                        (at * c->depth + i % c->depth) * s->out_channels +
                            group * n,
                        n);
    }
}

/* Where the pixel of x lies that element `window` of a window sees; below 0:
 * outside. */
static int64_t seen(const struct tfd_window_side *s, int64_t out,
                    int64_t window)
{
    const int64_t at = out * s->stride - s->before + window * s->dilation;

    return at < s->in ? at : -1;
}

static void sum_pixel(const struct tfd_quantized_conv *c,
                      const struct conv_place *p, uint32_t *sum)
{
    const struct tfd_conv *s = &c->sizes;

    for (int64_t i = 0; i < s->out_channels; i++)
        sum[i] = 0;
    for (int64_t a = 0; a < s->row.size && !tfd_halted(); a++) {
        const int64_t row = seen(&s->row, p->row, a);

        for (int64_t b = 0; b < s->column.size; b++) {
            const int64_t column = seen(&s->column, p->column, b);
            const bool inside = row >= 0 && column >= 0;
            const int64_t pixel =
                (p->image * s->row.in + row) * s->column.in + column;

            if (inside || c->outside)
                add_channels(c, sum, inside ? pixel * s->in_channels : -1,
                             a * s->column.size + b);
        }
    }
}

/* ---- Outputs ------------------------------------------------------------- */

static float with_summand(const struct tfd_quantized_conv_finish *f, float v,
                          int64_t at)
{
    const double scale = (double)f->summand_scale;

    if (f->summand_dtype == TFD_FLOAT)
        return v + ((const float *)f->summand)[at];
    /* Multiplied and added with one rounding, as processors do. */
    if (f->summand_dtype == TFD_QINT8)
        return (float)((double)v + scale * ((const int8_t *)f->summand)[at]);
    return (float)((double)v + scale * ((const uint8_t *)f->summand)[at]);
}

static float finished(const struct tfd_quantized_conv_finish *f, int32_t sum,
                      int64_t channel, int64_t at)
{
    const float lowest = f->dtype == TFD_QINT32  ? -2147483648.0f
                         : f->dtype == TFD_QINT8 ? -128
                                                 : 0;
    float v = (float)sum * f->scale[channel];

    if (f->bias)
        v += f->bias[channel];
    if (f->summand)
        v = with_summand(f, v, at);
    if (f->relu && !(v > 0))
        v = 0;
    v *= f->inverse;
    v = v > lowest ? v : lowest;
    return rintf(v < f->highest ? v : f->highest);
}

/* The outputs of a pixel, from number `at` on; sum may be where they go. */
static void finish_pixel(const struct tfd_quantized_conv *c, const int32_t *sum,
                         int64_t at)
{
    const struct tfd_quantized_conv_finish *f = c->finish;

    for (int64_t i = 0; i < c->sizes.out_channels; i++) {
        const int32_t v = (int32_t)finished(f, sum[i], i, at + i);

        if (f->dtype == TFD_QINT32)
            ((int32_t *)c->sizes.y)[at + i] = v;
        else if (f->dtype == TFD_QINT8)
            ((int8_t *)c->sizes.y)[at + i] = (int8_t)v;
        else
            ((uint8_t *)c->sizes.y)[at + i] = (uint8_t)v;
    }
}

/* ---- Threads ------------------------------------------------------------- */

static void convolve_pixels(const struct tfd_quantized_conv *c, int64_t begin,
                            int64_t end, uint32_t *sum)
{
    for (int64_t pixel = begin; pixel < end && !tfd_halted(); pixel++) {
        const struct conv_place p = conv_place_of(&c->sizes, pixel);
        const int64_t at = pixel * c->sizes.out_channels;
        uint32_t *to = sum ? sum : (uint32_t *)c->sizes.y + at;

        sum_pixel(c, &p, to);
        if (c->finish)
            finish_pixel(c, (const int32_t *)to, at);
    }
}

static enum tfd_code try_convolve_pixels(void *arg, int64_t begin, int64_t end,
                                         struct tfd_status *st)
{
    const struct tfd_quantized_conv *c = arg;
    struct tfd_buffer *sum;

    if (!c->finish || c->finish->dtype == TFD_QINT32) {
        convolve_pixels(c, begin, end, NULL);
        return TFD_OK;
    }
    sum = tfd_buffer_new((size_t)c->sizes.out_channels * sizeof(uint32_t));
    if (!sum)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating a row of %lld sums",
                        (long long)c->sizes.out_channels);
    convolve_pixels(c, begin, end, sum->data);
    tfd_buffer_unref(sum);
    return TFD_OK;
}

enum tfd_code tfd_quantized_conv_run(struct tfd_kctx *k,
                                     const struct tfd_quantized_conv *c,
                                     struct tfd_status *st)
{
    const struct tfd_conv *s = &c->sizes;
    const double cost = (double)(s->row.size * s->column.size) *
                            (double)c->depth * (double)s->out_channels / 8 +
                        1;

    return tfd_kctx_try(k, s->batch * s->row.out * s->column.out,
                        cost < 1e9 ? (int)cost : 1000000000,
                        try_convolve_pixels, (void *)c, st);
}
