/*
 * span.c - see span.h.
 */
#include "kernels/quantized/span.h"

#include "common/thread/halt.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_math.h"

/* In lanes, so that a vector takes them at once. */
#define LANES 64
#define ROWS_BETWEEN_LOOKS 65536

#define SPAN(name, T, MAX)                                                 \
    TFD_VECTOR int64_t span_lanes_##name(const T *x, int64_t n, T *low,    \
                                         T *high)                          \
    {                                                                      \
        T least[LANES], most[LANES];                                       \
        int64_t i = 0;                                                     \
                                                                           \
        for (int j = 0; j < LANES; j++) {                                  \
            least[j] = *low;                                               \
            most[j] = *high;                                               \
        }                                                                  \
        for (; i + LANES <= n; i += LANES)                                 \
            for (int j = 0; j < LANES; j++) {                              \
                least[j] = x[i + j] < least[j] ? x[i + j] : least[j];      \
                most[j] = x[i + j] > most[j] ? x[i + j] : most[j];         \
            }                                                              \
        for (int j = 0; j < LANES; j++) {                                  \
            *low = least[j] < *low ? least[j] : *low;                      \
            *high = most[j] > *high ? most[j] : *high;                     \
        }                                                                  \
        return i;                                                          \
    }                                                                      \
                                                                           \
    TFD_VECTOR void span_##name(const T *x, int64_t n, T *low, T *high)    \
    {                                                                      \
        int64_t i = n < LANES ? 0 : span_lanes_##name(x, n, low, high);    \
                                                                           \
        for (; i < n; i++) {                                               \
            *low = x[i] < *low ? x[i] : *low;                              \
            *high = x[i] > *high ? x[i] : *high;                           \
        }                                                                  \
    }                                                                      \
                                                                           \
    struct range_##name {                                                  \
        const T *x;                                                        \
        const struct tfd_quantized_view *v;                                \
        T low, high;                                                       \
    };                                                                     \
                                                                           \
    /* Of rows, which are some of a channel's. */                          \
    TFD_SIMD_LOOP(widen_##name)                                            \
    {                                                                      \
        struct range_##name *r = arg;                                      \
        const struct tfd_quantized_view *v = r->v;                         \
        T low = r->low, high = r->high;                                    \
                                                                           \
        for (int64_t row = begin; row < end; row += v->channels)           \
            span_##name(r->x + row * v->inner, v->inner, &low, &high);     \
        r->low = low;                                                      \
        r->high = high;                                                    \
    }                                                                      \
    TFD_SIMD_CLONES_WIDE(widen_##name)                                     \
                                                                           \
    void tfd_quantized_span_##name(const T *x,                             \
                                   const struct tfd_quantized_view *v,     \
                                   int64_t channel, T *low, T *high)       \
    {                                                                      \
        const int64_t rows = v->outer * v->channels;                       \
        const int64_t step = ROWS_BETWEEN_LOOKS * v->channels;             \
        struct range_##name r = {x, v, MAX, -MAX};                         \
                                                                           \
        for (int64_t at = channel; at < rows && !tfd_halted(); at += step) \
            widen_##name(&r, at, rows - at < step ? rows : at + step);     \
        *low = r.low;                                                      \
        *high = r.high;                                                    \
    }
SPAN(float, float, (float)INFINITY)
SPAN(double, double, (double)INFINITY)
