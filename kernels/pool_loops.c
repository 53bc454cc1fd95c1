/*
 * pool_loops.c - see pool_loops.h.
 *
 * The innermost loops run along the channels, which lie together, so they are
 * vectorised whatever the window is.  The place of a maximum is found for some
 * channels at a time and then compared with each place of the window: two
 * passes without a branch instead of one with.
 */
#include "kernels/pool_loops.h"

#include "common/halt.h"
#include "kernels/simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BLOCK 128 /* channels at a time */

/* The elements of a window that exist: rows and columns of the input. */
struct span {
    int64_t row, rows, column, columns;
    bool large; /* worth asking for each row of it whether to stop */
};

/* Sizes of windows are attributes: one may be all that there is to do. */
#define LARGE (INT64_C(1) << 16) /* elements */

static inline struct span span_of(const struct tfd_pool_window *p, int64_t y,
                                  int64_t x)
{
    int64_t first, last;
    struct span s;

    tfd_window_inside(&p->row, y, &first, &last);
    s.row = y * p->row.stride - p->row.before + first;
    s.rows = last - first;
    tfd_window_inside(&p->column, x, &first, &last);
    s.column = x * p->column.stride - p->column.before + first;
    s.columns = last - first;
    s.large = s.rows * s.columns > LARGE / p->channels;
    return s;
}

static inline bool stops(const struct span *s)
{
    return s->large && tfd_halted();
}

/* Offset of element `i` of a span in its image. */
static inline int64_t offset_of(const struct tfd_pool_window *p,
                                const struct span *s, int64_t i, int64_t j)
{
    return ((s->row + i) * p->column.in + s->column + j) * p->channels;
}

/* ---- Maxima -------------------------------------------------------------- */

/* W: sums of T wrap in it. */
#define MAX(name, T, W, LOWEST)                                              \
    TFD_SIMD_LOOP(max_##name)                                                \
    {                                                                        \
        const struct tfd_pool_window *p = arg;                               \
        const int64_t n = p->channels;                                       \
        const int64_t image = p->row.in * p->column.in * n;                  \
                                                                             \
        for (int64_t row = begin; row < end; row++) {                        \
            const T *x = (const T *)p->in + row / p->row.out * image;        \
            T *y = (T *)p->out + row * p->column.out * n;                    \
                                                                             \
            for (int64_t i = 0; i < p->column.out; i++, y += n) {            \
                const struct span s = span_of(p, row % p->row.out, i);       \
                                                                             \
                for (int64_t c = 0; c < n; c++)                              \
                    y[c] = (LOWEST);                                         \
                for (int64_t a = 0; a < s.rows && !stops(&s); a++)           \
                    for (int64_t b = 0; b < s.columns; b++) {                \
                        const T *from = x + offset_of(p, &s, a, b);          \
                                                                             \
                        for (int64_t c = 0; c < n; c++)                      \
                            y[c] = from[c] > y[c] ? from[c] : y[c];          \
                    }                                                        \
            }                                                                \
        }                                                                    \
    }                                                                        \
    TFD_SIMD_CLONES(max_##name)                                              \
                                                                             \
    /* One output pixel, channels [c, c + n). */                             \
    static inline __attribute__((always_inline)) void max_grad_at_##name(    \
        const struct tfd_pool_window *p, const struct span *s, int64_t c,    \
        int64_t n, const T *x, const T *dy, T *dx)                           \
    {                                                                        \
        T best[BLOCK];                                                       \
        int32_t at[BLOCK], place = 0;                                        \
                                                                             \
        for (int64_t i = 0; i < n; i++) {                                    \
            best[i] = x[offset_of(p, s, 0, 0) + c + i];                      \
            at[i] = 0;                                                       \
        }                                                                    \
        for (int64_t a = 0; a < s->rows && !stops(s); a++)                   \
            for (int64_t b = 0; b < s->columns; b++, place++) {              \
                const T *from = x + offset_of(p, s, a, b) + c;               \
                                                                             \
                for (int64_t i = 0; i < n; i++) {                            \
                    at[i] = from[i] > best[i] ? place : at[i];               \
                    best[i] = from[i] > best[i] ? from[i] : best[i];         \
                }                                                            \
            }                                                                \
        place = 0;                                                           \
        for (int64_t a = 0; a < s->rows && !stops(s); a++)                   \
            for (int64_t b = 0; b < s->columns; b++, place++) {              \
                T *to = dx + offset_of(p, s, a, b) + c;                      \
                                                                             \
                for (int64_t i = 0; i < n; i++)                              \
                    to[i] =                                                  \
                        (T)((W)to[i] + (at[i] == place ? (W)dy[c + i] : 0)); \
            }                                                                \
    }                                                                        \
                                                                             \
    TFD_SIMD_LOOP(max_grad_##name)                                           \
    {                                                                        \
        const struct tfd_pool_window *p = arg;                               \
        const int64_t all = p->channels;                                     \
        const int64_t image = p->row.in * p->column.in * all;                \
        const int64_t pixels = p->row.out * p->column.out;                   \
                                                                             \
        for (int64_t i = begin; i < end; i++) {                              \
            const T *dy = (const T *)p->in + i * pixels * all;               \
            T *dx = (T *)p->out + i * image;                                 \
                                                                             \
            tfd_halt_clear(dx, (size_t)image * sizeof(T));                   \
            for (int64_t at = 0; at < pixels && !tfd_halted();               \
                 at++, dy += all) {                                          \
                const struct span s =                                        \
                    span_of(p, at / p->column.out, at % p->column.out);      \
                                                                             \
                for (int64_t c = 0; s.rows && s.columns && c < all;          \
                     c += BLOCK)                                             \
                    max_grad_at_##name(p, &s, c,                             \
                                       all - c < BLOCK ? all - c : BLOCK,    \
                                       (const T *)p->x + i * image, dy, dx); \
            }                                                                \
        }                                                                    \
    }                                                                        \
    TFD_SIMD_CLONES(max_grad_##name)

MAX(FLOAT, float, float, -FLT_MAX)
MAX(DOUBLE, double, double, -DBL_MAX)
MAX(INT32, int32_t, uint32_t, INT32_MIN)
MAX(INT64, int64_t, uint64_t, INT64_MIN)
MAX(INT16, int16_t, uint16_t, INT16_MIN)
MAX(INT8, int8_t, uint8_t, INT8_MIN)
MAX(UINT8, uint8_t, uint8_t, 0)
MAX(UINT16, uint16_t, uint16_t, 0)
MAX(UINT32, uint32_t, uint32_t, 0)
MAX(UINT64, uint64_t, uint64_t, 0)

/* ---- Means --------------------------------------------------------------- */

#define VECTORS 4 /* of 16 bytes, which stay in registers */
#define TAPS_MAX 128

/* Offsets of the elements of a span, of which there are TAPS_MAX at most. */
static inline int list_taps(const struct tfd_pool_window *p,
                            const struct span *s, int64_t *taps)
{
    int count = 0;

    for (int64_t a = 0; a < s->rows; a++)
        for (int64_t b = 0; b < s->columns; b++)
            taps[count++] = offset_of(p, s, a, b);
    return count;
}

/* The elements of a window are added up, some channels at a time, before the
 * sum goes anywhere. */
#define MEAN_OF_TAPS(name, T)                                                 \
    typedef T vector_##name __attribute__((vector_size(16)));                 \
                                                                              \
    static inline __attribute__((always_inline)) void mean_of_taps_##name(    \
        const T *x, const int64_t *taps, int count, int64_t n, T *restrict y) \
    {                                                                         \
        const int64_t per = 16 / sizeof(T);                                   \
        int64_t c = 0;                                                        \
                                                                              \
        for (; n - c >= VECTORS * per; c += VECTORS * per) {                  \
            vector_##name sum[VECTORS] = {{0}}, in;                           \
                                                                              \
            for (int i = 0; i < count; i++)                                   \
                for (int v = 0; v < VECTORS; v++) {                           \
                    memcpy(&in, x + taps[i] + c + v * per, sizeof(in));       \
                    sum[v] += in;                                             \
                }                                                             \
            memcpy(y + c, sum, sizeof(sum));                                  \
        }                                                                     \
        for (; c < n; c++) {                                                  \
            T sum = 0;                                                        \
                                                                              \
            for (int i = 0; i < count; i++)                                   \
                sum += x[taps[i] + c];                                        \
            y[c] = sum;                                                       \
        }                                                                     \
        for (int64_t k = 0; k < n; k++)                                       \
            y[k] /= (T)count;                                                 \
    }

#define MEAN(name, T)                                                       \
    MEAN_OF_TAPS(name, T)                                                   \
                                                                            \
    TFD_SIMD_LOOP(mean_##name)                                              \
    {                                                                       \
        const struct tfd_pool_window *p = arg;                              \
        const int64_t n = p->channels;                                      \
        const int64_t image = p->row.in * p->column.in * n;                 \
        int64_t taps[TAPS_MAX];                                             \
                                                                            \
        for (int64_t row = begin; row < end; row++) {                       \
            const T *x = (const T *)p->in + row / p->row.out * image;       \
            T *y = (T *)p->out + row * p->column.out * n;                   \
                                                                            \
            for (int64_t i = 0; i < p->column.out; i++, y += n) {           \
                const struct span s = span_of(p, row % p->row.out, i);      \
                const T count = (T)(s.rows * s.columns);                    \
                                                                            \
                if (s.rows <= TAPS_MAX / p->column.size) {                  \
                    mean_of_taps_##name(x, taps, list_taps(p, &s, taps), n, \
                                        y);                                 \
                    continue;                                               \
                }                                                           \
                memset(y, 0, (size_t)n * sizeof(T));                        \
                for (int64_t a = 0; a < s.rows && !stops(&s); a++)          \
                    for (int64_t b = 0; b < s.columns; b++) {               \
                        const T *from = x + offset_of(p, &s, a, b);         \
                                                                            \
                        for (int64_t c = 0; c < n; c++)                     \
                            y[c] += from[c];                                \
                    }                                                       \
                for (int64_t c = 0; c < n; c++)                             \
                    y[c] /= count;                                          \
            }                                                               \
        }                                                                   \
    }                                                                       \
    TFD_SIMD_CLONES(mean_##name)                                            \
                                                                            \
    TFD_SIMD_LOOP(mean_grad_##name)                                         \
    {                                                                       \
        const struct tfd_pool_window *p = arg;                              \
        const int64_t n = p->channels;                                      \
        const int64_t image = p->row.in * p->column.in * n;                 \
        const int64_t pixels = p->row.out * p->column.out;                  \
                                                                            \
        for (int64_t i = begin; i < end; i++) {                             \
            const T *dy = (const T *)p->in + i * pixels * n;                \
            T *dx = (T *)p->out + i * image;                                \
                                                                            \
            tfd_halt_clear(dx, (size_t)image * sizeof(T));                  \
            for (int64_t at = 0; at < pixels && !tfd_halted();              \
                 at++, dy += n) {                                           \
                const struct span s =                                       \
                    span_of(p, at / p->column.out, at % p->column.out);     \
                const T part = 1 / (T)(s.rows * s.columns);                 \
                                                                            \
                for (int64_t a = 0; a < s.rows && !stops(&s); a++)          \
                    for (int64_t b = 0; b < s.columns; b++) {               \
                        T *to = dx + offset_of(p, &s, a, b);                \
                                                                            \
                        for (int64_t c = 0; c < n; c++)                     \
                            to[c] += dy[c] * part;                          \
                    }                                                       \
            }                                                               \
        }                                                                   \
    }                                                                       \
    TFD_SIMD_CLONES(mean_grad_##name)

MEAN(FLOAT, float)
MEAN(DOUBLE, double)

/* ---- By type ------------------------------------------------------------- */

#define MAXIMA(name, number, T) \
    [TFD_##name] = {            \
        [TFD_POOL_MAX] = max_##name, [TFD_POOL_MAX_GRAD] = max_grad_##name},
#define ALL(name, number, T) \
    [TFD_##name] = {max_##name, max_grad_##name, mean_##name, mean_grad_##name},

tfd_range_fn *tfd_pool_loop(enum tfd_pool_loop loop, enum tfd_dtype dtype)
{
    static tfd_range_fn *const loops[TFD_DTYPE_END][TFD_POOL_LOOPS] = {
        TFD_FLOAT_DTYPES(ALL) TFD_INT_DTYPES(MAXIMA)};

    return loops[dtype][loop];
}
