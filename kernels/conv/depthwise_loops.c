/*
 * depthwise_loops.c - the loops of depthwise convolutions: see depthwise.h.
 *
 * Each tap of a window is a loop along the channels, which is vectorised where
 * the multiplier is 1.
 */

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

#define INLINE static inline __attribute__((always_inline))

/* What a tap meets, of which `to` gets its part: channels [begin, end). */
struct meeting {
    const void *a, *b;
    void *to;
    int64_t multiplier, begin, end;
};

/* x, w: offsets in an image of x and in the filter. */
typedef void tap_fn(const struct meeting *m, int64_t x, int64_t w);

/* Runs `tap`, which is inlined, for each tap of output pixel (y, x). */
INLINE void each_tap(const struct tfd_depthwise *d, int64_t y, int64_t x,
                     const struct meeting *m, tap_fn *tap)
{
    const struct span s = span_of(d, y, x);

    for (int64_t i = s.row; i < s.rows; i++)
        for (int64_t j = s.column; j < s.columns; j++)
            tap(m, x_of(d, y, x, i, j), w_of(d, i, j));
}

/* The taps of a pixel, and of those after it in its row that have as many. */
struct taps {
    struct span span;
    int64_t pixel; /* of the row */
    int64_t same;  /* pixels of the row from that one to here have them, too */
    struct tfd_taps of;
};

INLINE void list_tap(const struct meeting *m, int64_t x, int64_t w)
{
    struct tfd_taps *taps = m->to;

    taps->x[taps->count] = x;
    taps->w[taps->count++] = w;
}

/* The pixel behind the last one whose window lies inside. */
static inline int64_t end_of_inner(const struct tfd_window_side *s)
{
    const int64_t room = s->in - (s->size - 1) * s->dilation - 1 + s->before;
    const int64_t end = room < 0 ? 0 : room / s->stride + 1;

    return end < s->out ? end : s->out;
}

static inline void find_taps(const struct tfd_depthwise *d, int64_t row,
                             int64_t column, struct taps *taps)
{
    const struct meeting m = {.to = &taps->of};

    taps->span = span_of(d, row, column);
    taps->pixel = column;
    taps->same = end_of_inner(&d->column);
    if (taps->span.column > 0 || taps->span.columns < d->column.size ||
        taps->same <= column)
        taps->same = column + 1;
    taps->of.count = 0;
    each_tap(d, row, column, &m, list_tap);
}

static inline bool same_columns(const struct tfd_depthwise *d, int64_t column,
                                const struct span *s)
{
    int64_t first, last;

    tfd_window_inside(&d->column, column, &first, &last);
    return first == s->column && last == s->columns;
}

/* Whether a pixel of the row that the taps are of, at or behind theirs, has the
 * same ones. */
static inline bool has_taps(const struct tfd_depthwise *d, int64_t column,
                            struct taps *taps)
{
    if (column >= taps->same && same_columns(d, column, &taps->span))
        taps->same = column + 1;
    return column < taps->same;
}

/* Offset of a pixel's input from that of the pixel whose taps are known, which
 * are made known where they differ. */
static inline int64_t move_taps(const struct tfd_depthwise *d, int64_t row,
                                int64_t column, struct taps *taps)
{
    if (column == 0 || !has_taps(d, column, taps))
        find_taps(d, row, column, taps);
    return (column - taps->pixel) * d->column.stride * d->in;
}

/* Of pixels of y and dy at their first channel. */
#define TAPS(name, number, T)                                            \
    INLINE void forward_tap_##name(const struct meeting *s, int64_t x,   \
                                   int64_t w)                            \
    {                                                                    \
        const T *from = s->a, *by = s->b;                                \
        const int64_t m = s->multiplier;                                 \
        T *y = s->to;                                                    \
                                                                         \
        for (int64_t c = 0; c < s->end; c++)                             \
            y[c] += from[x + c / m] * by[w + c];                         \
    }                                                                    \
    INLINE void input_tap_##name(const struct meeting *s, int64_t x,     \
                                 int64_t w)                              \
    {                                                                    \
        const T *dy = s->a, *by = s->b;                                  \
        const int64_t m = s->multiplier, end = s->end;                   \
        T *dx = s->to;                                                   \
                                                                         \
        if (m == 1)                                                      \
            for (int64_t c = 0; c < end; c++)                            \
                dx[x + c] += dy[c] * by[w + c];                          \
        else                                                             \
            for (int64_t c = 0; c < end; c++)                            \
                dx[x + c / m] += dy[c] * by[w + c];                      \
    }                                                                    \
    INLINE void filter_tap_##name(const struct meeting *s, int64_t x,    \
                                  int64_t w)                             \
    {                                                                    \
        const T *from = s->a, *dy = s->b;                                \
        const int64_t m = s->multiplier, begin = s->begin, end = s->end; \
        T *dw = s->to;                                                   \
                                                                         \
        if (m == 1)                                                      \
            for (int64_t c = begin; c < end; c++)                        \
                dw[w + c] += from[x + c] * dy[c];                        \
        else                                                             \
            for (int64_t c = begin; c < end; c++)                        \
                dw[w + c] += from[x + c / m] * dy[c];                    \
    }

TFD_FLOAT_DTYPES(TAPS)

#define LISTED(name, number, T)                                               \
    /* A row of y, by taps that are listed. */                                \
    INLINE void listed_row_##name(const struct tfd_depthwise *d, int64_t row, \
                                  const T *x, T *y)                           \
    {                                                                         \
        const int64_t step = d->column.stride * d->in;                        \
        const int64_t end = d->column.out;                                    \
        struct taps taps;                                                     \
                                                                              \
        for (int64_t p = 0; p < end && !tfd_halted();) {                      \
            const T *from = x + move_taps(d, row, p, &taps);                  \
            const int64_t last = p + TFD_TAPS_PIXELS - 1;                     \
                                                                              \
            if (last < end && has_taps(d, last, &taps)) {                     \
                const int64_t n =                                             \
                    tfd_taps_pixels(taps.same - p, TFD_TAPS_MOST_##name);     \
                                                                              \
                tfd_depthwise_pixels_##name(d, &taps.of, from, step, n,       \
                                            y + p * d->in);                   \
                p += n;                                                       \
            } else {                                                          \
                tfd_depthwise_pixel_##name(d, &taps.of, from, y + p * d->in,  \
                                           0);                                \
                p++;                                                          \
            }                                                                 \
        }                                                                     \
    }

TFD_FLOAT_DTYPES(LISTED)
LISTED(BFLOAT16, 14, tfd_bfloat16)

#define LOOPS(name, number, T)                                                 \
    /* Rows of y. */                                                           \
    TFD_SIMD_LOOP(forward_##name)                                              \
    {                                                                          \
        const struct tfd_depthwise *d = arg;                                   \
        const int64_t m = d->multiplier, all = d->in * m;                      \
        const int64_t image = d->row.in * d->column.in * d->in;                \
        const bool listed = tfd_taps_fit(d);                                   \
                                                                               \
        for (int64_t r = begin; r < end; r++) {                                \
            const T *x = (const T *)d->x + r / d->row.out * image;             \
            T *y = (T *)d->y + r * d->column.out * all;                        \
                                                                               \
            if (listed)                                                        \
                listed_row_##name(d, r % d->row.out, x, y);                    \
            for (int64_t p = 0; !listed && p < d->column.out && !tfd_halted(); \
                 p++, y += all) {                                              \
                const struct meeting s = {x, d->w, y, m, 0, all};              \
                                                                               \
                memset(y, 0, (size_t)all * sizeof(T));                         \
                each_tap(d, r % d->row.out, p, &s, forward_tap_##name);        \
            }                                                                  \
        }                                                                      \
    }                                                                          \
    TFD_SIMD_CLONES_WIDE(forward_##name)                                       \
                                                                               \
    /* Images of x. */                                                         \
    TFD_SIMD_LOOP(input_##name)                                                \
    {                                                                          \
        const struct tfd_depthwise *d = arg;                                   \
        const int64_t m = d->multiplier, all = d->in * m;                      \
        const int64_t image = d->row.in * d->column.in * d->in;                \
        const int64_t pixels = d->row.out * d->column.out;                     \
                                                                               \
        for (int64_t b = begin; b < end; b++) {                                \
            const T *dy = (const T *)d->y + b * pixels * all;                  \
            T *dx = (T *)d->x + b * image;                                     \
                                                                               \
            tfd_halt_clear(dx, (size_t)image * sizeof(T));                     \
            for (int64_t p = 0; p < pixels && !tfd_halted(); p++) {            \
                const struct meeting s = {dy + p * all, d->w, dx, m, 0, all};  \
                                                                               \
                each_tap(d, p / d->column.out, p % d->column.out, &s,          \
                         input_tap_##name);                                    \
            }                                                                  \
        }                                                                      \
    }                                                                          \
    TFD_SIMD_CLONES(input_##name)                                              \
                                                                               \
    /* Channels of x, so that no two threads add to one filter. */             \
    TFD_SIMD_LOOP(filter_##name)                                               \
    {                                                                          \
        const struct tfd_depthwise *d = arg;                                   \
        const int64_t m = d->multiplier, all = d->in * m;                      \
        const int64_t image = d->row.in * d->column.in * d->in;                \
        const int64_t pixels = d->row.out * d->column.out;                     \
        const int64_t from = begin * m, to = end * m;                          \
        T *dw = d->w;                                                          \
                                                                               \
        for (int64_t i = d->row.size * d->column.size - 1; i >= 0; i--)        \
            memset(dw + i * all + from, 0, (size_t)(to - from) * sizeof(T));   \
        for (int64_t p = 0; p < d->batch * pixels && !tfd_halted(); p++) {     \
            const T *x = (const T *)d->x + p / pixels * image;                 \
            const T *dy = (const T *)d->y + p * all;                           \
            const struct meeting s = {x, dy, dw, m, from, to};                 \
            const int64_t at = p % pixels;                                     \
                                                                               \
            each_tap(d, at / d->column.out, at % d->column.out, &s,            \
                     filter_tap_##name);                                       \
        }                                                                      \
    }                                                                          \
    TFD_SIMD_CLONES(filter_##name)

TFD_FLOAT_DTYPES(LOOPS)

/* Rows of y. */
static void forward_BFLOAT16(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_depthwise *d = arg;
    const int64_t image = d->row.in * d->column.in * d->in;

    for (int64_t r = begin; r < end; r++)
        listed_row_BFLOAT16(d, r % d->row.out,
                            (const tfd_bfloat16 *)d->x + r / d->row.out * image,
                            (tfd_bfloat16 *)d->y + r * d->column.out * d->in);
}

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
    if (dtype == TFD_BFLOAT16) {
        tfd_kctx_parallel(k, count[loop], tfd_depthwise_cost(d, count[loop]),
                          forward_BFLOAT16, (void *)d);
        return;
    }
    tfd_kctx_parallel(k, count[loop], tfd_depthwise_cost(d, count[loop]),
                      loops[loop][dtype == TFD_DOUBLE], (void *)d);
}
