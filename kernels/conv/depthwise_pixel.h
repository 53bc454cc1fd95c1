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
    /* A pixel of y: the taps of a TFD_TAPS_BLOCK are                         \
     * added up, in registers, before the next is begun. */                   \
    static inline                                                             \
        __attribute__((always_inline)) void tfd_depthwise_pixel_##name(       \
            const struct tfd_depthwise *d, const struct tfd_taps *taps,       \
            const T *x, T *restrict y)                                        \
    {                                                                         \
        int64_t c = 0;                                                        \
                                                                              \
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

#endif
