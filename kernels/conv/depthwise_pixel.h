/*
 * depthwise_pixel.h - a pixel of a depthwise convolution where each channel has
 * one filter, and of its gradient, which is one with other taps: for each
 * channel c,
 *
 *     y[c] = sum over the taps t of  x[t.x + c] * w[t.w + c]
 *
 * in the order of the taps.  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_DEPTHWISE_PIXEL_H
#define TFD_KERNELS_DEPTHWISE_PIXEL_H

#include "kernels/conv/depthwise.h"

#define TFD_TAPS_BLOCK 32 /* channels whose sums stay in registers */
#define TFD_TAPS_FEW 8    /* and where there are fewer */
#define TFD_TAPS_MAX 128

/* What the taps of a pixel meet, written down once for all channels: offsets
 * in an image and in the filter. */
struct tfd_taps {
    int count;
    int64_t x[TFD_TAPS_MAX], w[TFD_TAPS_MAX];
};

/* Whether a filter's taps can be written down. */
static inline bool tfd_taps_fit(const struct tfd_depthwise *d)
{
    return d->multiplier == 1 && d->row.size <= TFD_TAPS_MAX / d->column.size;
}

#define TFD_DEPTHWISE_PIXEL(name, number, T)                                  \
    /* A pixel of y, channels from c on: the taps of a TFD_TAPS_BLOCK are     \
     * added up, in registers, before the next is begun. */                   \
    static inline                                                             \
        __attribute__((always_inline)) void tfd_depthwise_pixel_##name(       \
            const struct tfd_depthwise *d, const struct tfd_taps *taps,       \
            const T *x, T *restrict y, int64_t c)                             \
    {                                                                         \
        for (; d->in - c >= TFD_TAPS_BLOCK; c += TFD_TAPS_BLOCK) {            \
            T one[TFD_TAPS_BLOCK / 2] = {0}, other[TFD_TAPS_BLOCK / 2] = {0}; \
                                                                              \
            for (int i = 0; i < taps->count; i++) {                           \
                const T *from = x + taps->x[i] + c;                           \
                const T *by = (const T *)d->w + taps->w[i] + c;               \
                                                                              \
                for (int l = 0; l < TFD_TAPS_BLOCK / 2; l++)                  \
                    one[l] += from[l] * by[l];                                \
                from += TFD_TAPS_BLOCK / 2;                                   \
                by += TFD_TAPS_BLOCK / 2;                                     \
                for (int l = 0; l < TFD_TAPS_BLOCK / 2; l++)                  \
                    other[l] += from[l] * by[l];                              \
            }                                                                 \
            for (int l = 0; l < TFD_TAPS_BLOCK / 2; l++)                      \
                y[c + l] = one[l];                                            \
            for (int l = 0; l < TFD_TAPS_BLOCK / 2; l++)                      \
                y[c + TFD_TAPS_BLOCK / 2 + l] = other[l];                     \
        }                                                                     \
        for (; d->in - c >= TFD_TAPS_FEW; c += TFD_TAPS_FEW) {                \
            T one[TFD_TAPS_FEW] = {0};                                        \
                                                                              \
            for (int i = 0; i < taps->count; i++) {                           \
                const T *from = x + taps->x[i] + c;                           \
                const T *by = (const T *)d->w + taps->w[i] + c;               \
                                                                              \
                for (int l = 0; l < TFD_TAPS_FEW; l++)                        \
                    one[l] += from[l] * by[l];                                \
            }                                                                 \
            for (int l = 0; l < TFD_TAPS_FEW; l++)                            \
                y[c + l] = one[l];                                            \
        }                                                                     \
        for (; c < d->in; c++) {                                              \
            T sum = 0;                                                        \
                                                                              \
            for (int i = 0; i < taps->count; i++)                             \
                sum += x[taps->x[i] + c] * ((const T *)d->w)[taps->w[i] + c]; \
            y[c] = sum;                                                       \
        }                                                                     \
    }

TFD_FLOAT_DTYPES(TFD_DEPTHWISE_PIXEL)

/* Channels of several pixels at once, which lie anywhere. */
#define TFD_TAPS_VECTOR(name, number, T) \
    typedef T tfd_taps_##name            \
        __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
TFD_FLOAT_DTYPES(TFD_TAPS_VECTOR)

#define TFD_TAPS_PIXELS 4
/* And so many at most where more is gained. */
#define TFD_TAPS_MOST_FLOAT TFD_TAPS_PIXELS
#define TFD_TAPS_MOST_DOUBLE TFD_TAPS_PIXELS
#define TFD_TAPS_MOST_BFLOAT16 32
#define TFD_TAPS_AHEAD 6144 /* bytes */

/* Of `left` pixels that are alike, TFD_TAPS_PIXELS or more, so many at once: as
 * many as leave enough for the next time, or none. */
static inline int64_t tfd_taps_pixels(int64_t left, int64_t most)
{
    if (most == TFD_TAPS_PIXELS || left >= most + TFD_TAPS_PIXELS)
        return most;
    return left <= most ? left : left - TFD_TAPS_PIXELS;
}

/* Asks for a line of each of the pixels that are TFD_TAPS_AHEAD behind those of
 * x and y: a line of a pixel after the other is no order that a processor sees
 * by itself. */
static inline __attribute__((always_inline)) void
tfd_depthwise_fetch(const void *x, int64_t x_step, void *y, int64_t y_step)
{
    for (int64_t p = 0; p < TFD_TAPS_PIXELS; p++) {
        __builtin_prefetch((const char *)x + p * x_step + TFD_TAPS_AHEAD, 0);
        __builtin_prefetch((char *)y + p * y_step + TFD_TAPS_AHEAD, 1);
    }
}

/* The tap that meets what lies furthest, which no pixel has met before: the
 * last one, or in a gradient the first. */
static inline int64_t tfd_taps_furthest(const struct tfd_taps *taps)
{
    const int64_t first = taps->count > 0 ? taps->x[0] : 0;
    const int64_t last = taps->count > 0 ? taps->x[taps->count - 1] : 0;

    return first > last ? first : last;
}

/* As many pixels of y side by side, whose taps are the same, so that they share
 * what is read of the filter; their inputs lie `step` elements apart. */
#define TFD_DEPTHWISE_PIXELS(name, number, T)                                 \
    static inline                                                             \
        __attribute__((always_inline)) void tfd_depthwise_pixels_##name(      \
            const struct tfd_depthwise *d, const struct tfd_taps *taps,       \
            const T *x, int64_t step, int64_t pixels, T *y)                   \
    {                                                                         \
        typedef tfd_taps_##name vector;                                       \
        const int lanes = (int)(sizeof(vector) / sizeof(T));                  \
        const int64_t size = (int64_t)sizeof(T);                              \
        const int count = taps->count;                                        \
        const int64_t last = tfd_taps_furthest(taps);                         \
        int64_t c = 0;                                                        \
                                                                              \
        (void)pixels;                                                         \
        for (; d->in - c >= lanes; c += lanes) {                              \
            const T *const xc = x + c, *const wc = (const T *)d->w + c;       \
            const int64_t step_3 = 3 * step;                                  \
            vector s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                    \
                                                                              \
            tfd_depthwise_fetch(xc + last, step * size, y + c, d->in * size); \
            for (int i = 0; i < count; i++) {                                 \
                const T *from = xc + taps->x[i];                              \
                const vector by = *(const vector *)(wc + taps->w[i]);         \
                                                                              \
                s0 += *(const vector *)from * by;                             \
                s1 += *(const vector *)(from + step) * by;                    \
                s2 += *(const vector *)(from + 2 * step) * by;                \
                s3 += *(const vector *)(from + step_3) * by;                  \
            }                                                                 \
            *(vector *)(y + c) = s0;                                          \
            *(vector *)(y + d->in + c) = s1;                                  \
            *(vector *)(y + 2 * d->in + c) = s2;                              \
            *(vector *)(y + 3 * d->in + c) = s3;                              \
        }                                                                     \
        for (int p = 0; c < d->in && p < TFD_TAPS_PIXELS; p++)                \
            tfd_depthwise_pixel_##name(d, taps, x + p * step, y + p * d->in,  \
                                       c);                                    \
    }

TFD_FLOAT_DTYPES(TFD_DEPTHWISE_PIXELS)

/* One pixel, or TFD_TAPS_PIXELS and more, of bfloat16: two taps at a time, by
 * the processor's dot products (tfd_depthwise_has_bfloat16), summed in float
 * and rounded once. */
void tfd_depthwise_dots(const struct tfd_depthwise *d,
                        const struct tfd_taps *taps, const tfd_bfloat16 *x,
                        int64_t step, int64_t pixels, tfd_bfloat16 *y);

#define TFD_DOT_CHANNELS 32

/* A row of y, and rows of x that meet it: dw, of at most TFD_DOT_CHANNELS,
 * become greater by the sums of products along the pixels. */
struct tfd_dot_rows {
    const tfd_bfloat16 *x[3], *y;
    int64_t x_step, y_step, pixels, channels;
    float *dw[3];
};

/* taps: 1, or 3 that meet the same pixels of y. */
void tfd_depthwise_dot_rows(const struct tfd_dot_rows *r, int taps);

static inline void tfd_depthwise_pixel_BFLOAT16(const struct tfd_depthwise *d,
                                                const struct tfd_taps *taps,
                                                const tfd_bfloat16 *x,
                                                tfd_bfloat16 *y, int64_t c)
{
    (void)c; /* always 0 */
    tfd_depthwise_dots(d, taps, x, 0, 1, y);
}

static inline void tfd_depthwise_pixels_BFLOAT16(const struct tfd_depthwise *d,
                                                 const struct tfd_taps *taps,
                                                 const tfd_bfloat16 *x,
                                                 int64_t step, int64_t pixels,
                                                 tfd_bfloat16 *y)
{
    tfd_depthwise_dots(d, taps, x, step, pixels, y);
}

#endif
