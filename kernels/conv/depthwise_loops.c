/*
 * depthwise_loops.c - the loops of depthwise convolutions: see depthwise.h.
 *
 * Each tap of a window is a loop along the channels, which is vectorised where
 * the multiplier is 1.
 */
#include "kernels/conv/depthwise_back.h"

#include "common/thread/halt.h"
#include "kernels/conv/depthwise_pixel.h"
#include "kernels/vector/simd.h"

#include <string.h>

struct span {
    int64_t row, rows, column, columns;
};

static inline struct span span_of(const struct tfd_depthwise *d, int64_t y,
                                  int64_t x)
{
    struct span s;

    tfd_window_inside(&d->row, y, &s.row, &s.rows);
    tfd_window_inside(&d->column, x, &s.column, &s.columns);
    return s;
}

/* Offsets of what tap (i, j) of output pixel (y, x) meets, in an image of x and
 * in the filter. */
static inline int64_t x_of(const struct tfd_depthwise *d, int64_t y, int64_t x,
                           int64_t i, int64_t j)
{
    int64_t row = y * d->row.stride - d->row.before + i * d->row.dilation;
    int64_t column =
        x * d->column.stride - d->column.before + j * d->column.dilation;

    return (row * d->column.in + column) * d->in;
}

static inline int64_t w_of(const struct tfd_depthwise *d, int64_t i, int64_t j)
{
    return (i * d->column.size + j) * d->in * d->multiplier;
}

/* Runs BODY for each tap of each output pixel of images or rows. */
#define EACH_TAP(y_, x_, BODY)                               \
    do {                                                     \
        const struct span s = span_of(d, y_, x_);            \
                                                             \
        for (int64_t i = s.row; i < s.rows; i++)             \
            for (int64_t j = s.column; j < s.columns; j++) { \
                const int64_t at_x = x_of(d, y_, x_, i, j);  \
                const int64_t at_w = w_of(d, i, j);          \
                                                             \
                BODY                                         \
            }                                                \
    } while (0)

/* The taps of a pixel, and of those after it in its row that have as many. */
struct taps {
    struct span span;
    int64_t pixel; /* of the row */
    struct tfd_taps of;
};

static inline void find_taps(const struct tfd_depthwise *d, int64_t row,
                             int64_t column, struct taps *taps)
{
    taps->span = span_of(d, row, column);
    taps->pixel = column;
    taps->of.count = 0;
    EACH_TAP(row, column, taps->of.x[taps->of.count] = at_x;
             taps->of.w[taps->of.count++] = at_w;);
}

/* Offset of a pixel's input from that of the pixel whose taps are known, which
 * are made known where they differ. */
static inline int64_t move_taps(const struct tfd_depthwise *d, int64_t row,
                                int64_t column, struct taps *taps)
{
    const struct span s = span_of(d, row, column);

    if (column == 0 || s.column != taps->span.column ||
        s.columns != taps->span.columns)
        find_taps(d, row, column, taps);
    return (column - taps->pixel) * d->column.stride * d->in;
}

#define LOOPS(name, number, T)                                                \
    /* Rows of y. */                                                          \
    TFD_SIMD_LOOP(forward_##name)                                             \
    {                                                                         \
        const struct tfd_depthwise *d = arg;                                  \
        const int64_t m = d->multiplier, all = d->in * m;                     \
        const int64_t image = d->row.in * d->column.in * d->in;               \
        const bool listed = tfd_taps_fit(d);                                  \
        struct taps taps;                                                     \
                                                                              \
        for (int64_t r = begin; r < end; r++)                                 \
            for (int64_t p = 0; p < d->column.out && !tfd_halted(); p++) {    \
                const T *x = (const T *)d->x + r / d->row.out * image;        \
                const T *w = d->w;                                            \
                T *y = (T *)d->y + (r * d->column.out + p) * all;             \
                                                                              \
                if (listed) {                                                 \
                    x += move_taps(d, r % d->row.out, p, &taps);              \
                    tfd_depthwise_pixel_##name(d, &taps.of, x, y);            \
                    continue;                                                 \
                }                                                             \
                memset(y, 0, (size_t)all * sizeof(T));                        \
                EACH_TAP(r % d->row.out, p,                                   \
                         for (int64_t c = 0; c < all; c++) y[c] +=            \
                         x[at_x + c / m] * w[at_w + c];);                     \
            }                                                                 \
    }                                                                         \
    TFD_SIMD_CLONES_WIDE(forward_##name)                                      \
                                                                              \
    /* Images of x. */                                                        \
    TFD_SIMD_LOOP(input_##name)                                               \
    {                                                                         \
        const struct tfd_depthwise *d = arg;                                  \
        const int64_t m = d->multiplier, all = d->in * m;                     \
        const int64_t image = d->row.in * d->column.in * d->in;               \
        const int64_t pixels = d->row.out * d->column.out;                    \
                                                                              \
        for (int64_t b = begin; b < end; b++) {                               \
            const T *dy = (const T *)d->y + b * pixels * all, *w = d->w;      \
            T *dx = (T *)d->x + b * image;                                    \
                                                                              \
            tfd_halt_clear(dx, (size_t)image * sizeof(T));                    \
            for (int64_t p = 0; p < pixels && !tfd_halted(); p++, dy += all)  \
                EACH_TAP(p / d->column.out, p % d->column.out,                \
                         if (m == 1) for (int64_t c = 0; c < all; c++)        \
                             dx[at_x + c] += dy[c] * w[at_w + c];             \
                         else for (int64_t c = 0; c < all; c++)               \
                             dx[at_x + c / m] += dy[c] * w[at_w + c];);       \
        }                                                                     \
    }                                                                         \
    TFD_SIMD_CLONES(input_##name)                                             \
                                                                              \
    /* Channels of x, so that no two threads add to one filter. */            \
    TFD_SIMD_LOOP(filter_##name)                                              \
    {                                                                         \
        const struct tfd_depthwise *d = arg;                                  \
        const int64_t m = d->multiplier, all = d->in * m;                     \
        const int64_t image = d->row.in * d->column.in * d->in;               \
        const int64_t pixels = d->row.out * d->column.out;                    \
        const int64_t from = begin * m, to = end * m;                         \
        T *dw = d->w;                                                         \
                                                                              \
        for (int64_t i = d->row.size * d->column.size - 1; i >= 0; i--)       \
            memset(dw + i * all + from, 0, (size_t)(to - from) * sizeof(T));  \
        for (int64_t p = 0; p < d->batch * pixels && !tfd_halted(); p++) {    \
            const T *x = (const T *)d->x + p / pixels * image;                \
            const T *dy = (const T *)d->y + p * all;                          \
            const int64_t at = p % pixels;                                    \
                                                                              \
            EACH_TAP(at / d->column.out, at % d->column.out,                  \
                     if (m == 1) for (int64_t c = from; c < to; c++)          \
                         dw[at_w + c] += x[at_x + c] * dy[c];                 \
                     else for (int64_t c = from; c < to; c++) dw[at_w + c] += \
                     x[at_x + c / m] * dy[c];);                               \
        }                                                                     \
    }                                                                         \
    TFD_SIMD_CLONES(filter_##name)

TFD_FLOAT_DTYPES(LOOPS)

int tfd_depthwise_cost(const struct tfd_depthwise *d, int64_t count)
{
    const double ns = (double)d->batch * (double)d->row.out *
                      (double)d->column.out * (double)d->row.size *
                      (double)d->column.size * (double)d->in *
                      (double)d->multiplier / 4 / (double)count;

    return ns < 1 ? 1 : ns > 1e9 ? 1000000000 : (int)ns;
}

void tfd_depthwise_run(struct tfd_kctx *k, const struct tfd_depthwise *d,
                       enum tfd_depthwise_loop loop, enum tfd_dtype dtype)
{
    static tfd_range_fn *const loops[][2] = {{forward_FLOAT, forward_DOUBLE},
                                             {input_FLOAT, input_DOUBLE},
                                             {filter_FLOAT, filter_DOUBLE}};
    const int64_t count[] = {d->batch * d->row.out, d->batch, d->in};

    if (tfd_depthwise_back(k, d, loop, dtype))
        return;
    tfd_kctx_parallel(k, count[loop], tfd_depthwise_cost(d, count[loop]),
                      loops[loop][dtype == TFD_DOUBLE], (void *)d);
}
