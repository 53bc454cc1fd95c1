/*
 * pool_loops.c - see pool_loops.h.
 *
 * The innermost loops run along the channels, which lie together, so they are
 * vectorised whatever the window is.  The place of a maximum is found for some
 * channels at a time and then compared with each place of the window: two
 * passes without a branch instead of one with.
 */
#include "kernels/conv/pool_taps.h"

#include "kernels/vector/simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BLOCK 128 /* channels at a time */

/* ---- Gradients of maxima of floats ---------------------------------------
 *
 * Eight channels at a time: where their maximum is stays in registers until dx
 * has been given its parts.
 */

typedef float floats
    __attribute__((vector_size(32), aligned(sizeof(float)), may_alias));
typedef int32_t ints
    __attribute__((vector_size(32), aligned(sizeof(float)), may_alias));

#define EIGHT 8

/* fresh: nothing has been given to these elements of dx. */
INLINE void max_grad_eight(const float *x, const struct taps *taps,
                           const float *dy, float *dx, bool fresh)
{
    const floats none = {0};
    floats best = *(const floats *)(x + taps->at[0]);
    ints at = {0}, d = *(const ints *)dy;

    for (int i = 1; i < taps->count; i++) {
        const floats v = *(const floats *)(x + taps->at[i]);
        const ints more = v > best;

        at = (more & i) | (~more & at);
        best = (floats)((more & (ints)v) | (~more & (ints)best));
    }
    for (int i = 0; i < taps->count; i++) {
        floats *to = (floats *)(dx + taps->at[i]);

        *to = (fresh ? none : *to) + (floats)((at == i) & d);
    }
}

INLINE void max_grad_pixel(const float *x, const struct taps *taps, int64_t n,
                           const float *dy, float *dx, bool fresh)
{
    for (int64_t c = 0; taps->count > 0 && c < n; c += EIGHT)
        max_grad_eight(x + c, taps, dy + c, dx + c, fresh);
}

/* Whether each element is in one window. */
static inline bool is_tiled(const struct tfd_window_side *s)
{
    return s->stride == s->size && s->before == 0 && s->in == s->out * s->size;
}

/* An image; false where that is not for here. */
INLINE bool max_grad_floats(const struct tfd_pooling_window *p, const float *x,
                            const float *dy, float *dx)
{
    const int64_t n = p->channels, stride = p->column.stride;
    const bool fresh = is_tiled(&p->row) && is_tiled(&p->column);
    struct taps taps;

    if (n % EIGHT != 0 || !is_listed(p))
        return false;
    if (!fresh)
        tfd_halt_clear(dx,
                       (size_t)(p->row.in * p->column.in * n) * sizeof(float));
    for (int64_t row = 0; row < p->row.out && !tfd_halted(); row++)
        for (int64_t i = 0, same; i < p->column.out; i += same) {
            const struct span s = span_of(p, row, i);

            same = alike(&p->column, i);
            list_taps(p, &s, &taps);
            for (int64_t j = 0; j < same; j++, dy += n)
                max_grad_pixel(x + j * stride * n, &taps, n, dy,
                               dx + j * stride * n, fresh);
        }
    return true;
}

#define NOT_HERE(p, x, dy, dx) false

/* ---- Maxima -------------------------------------------------------------- */

#define STRETCH 1024 /* elements, which stay in the cache from pass to pass */
#define LARGER(a, b) ((b) > (a) ? (b) : (a))

/* W: sums of T wrap in it. */
#define MAX(name, T, W, LOWEST, QUICK)                                       \
    /* y = the largest of what it is (or LOWEST) and of three taps. */       \
    INLINE void max_##name##_pass(bool first, const T *a, const T *b,        \
                                  const T *c, int64_t n, T *restrict y)      \
    {                                                                        \
        for (int64_t i = 0; i < n; i++) {                                    \
            T best = first ? (LOWEST) : y[i];                                \
                                                                             \
            best = LARGER(best, a[i]);                                       \
            best = LARGER(best, b[i]);                                       \
            y[i] = LARGER(best, c[i]);                                       \
        }                                                                    \
    }                                                                        \
                                                                             \
    /* A tap may be taken twice. */                                          \
    INLINE void max_##name##_run(const void *from, const struct taps *taps,  \
                                 int64_t n, void *to)                        \
    {                                                                        \
        const int last = taps->count - 1;                                    \
        const T *x = from;                                                   \
        T *y = to;                                                           \
                                                                             \
        for (int64_t at = 0, few; at < n; at += few) {                       \
            few = n - at < STRETCH ? n - at : STRETCH;                       \
            for (int64_t c = 0; last < 0 && c < few; c++)                    \
                y[at + c] = (LOWEST);                                        \
            for (int i = 0; i <= last; i += 3) {                             \
                const T *a = x + at + taps->at[i];                           \
                const T *b = x + at + taps->at[i < last ? i + 1 : last];     \
                const T *c = x + at + taps->at[i + 1 < last ? i + 2 : last]; \
                                                                             \
                if (i == 0)                                                  \
                    max_##name##_pass(true, a, b, c, few, y + at);           \
                else                                                         \
                    max_##name##_pass(false, a, b, c, few, y + at);          \
            }                                                                \
        }                                                                    \
    }                                                                        \
                                                                             \
    TFD_SIMD_LOOP(max_##name)                                                \
    {                                                                        \
        const struct tfd_pooling_window *p = arg;                            \
        const int64_t n = p->channels;                                       \
        const int64_t image = p->row.in * p->column.in * n;                  \
        const bool listed = is_listed(p);                                    \
        int64_t since = 0;                                                   \
                                                                             \
        for (int64_t row = begin; row < end; row++) {                        \
            const T *x = (const T *)p->in + row / p->row.out * image;        \
            T *y = (T *)p->out + row * p->column.out * n;                    \
                                                                             \
            if (listed)                                                      \
                make_row(p, x, row % p->row.out, y, SIZE(T),                 \
                         max_##name##_run);                                  \
            for (int64_t i = listed ? p->column.out : 0; i < p->column.out;  \
                 i++, y += n) {                                              \
                const struct span s = span_of(p, row % p->row.out, i);       \
                                                                             \
                for (int64_t c = 0; c < n; c++)                              \
                    y[c] = (LOWEST);                                         \
                for (int64_t a = 0; a < s.rows; a++) {                       \
                    if (tfd_halted_after(s.columns * n, &since))             \
                        return;                                              \
                    for (int64_t b = 0; b < s.columns; b++) {                \
                        const T *from = x + offset_of(p, &s, a, b);          \
                                                                             \
                        for (int64_t c = 0; c < n; c++)                      \
                            y[c] = from[c] > y[c] ? from[c] : y[c];          \
                    }                                                        \
                }                                                            \
            }                                                                \
        }                                                                    \
    }                                                                        \
    TFD_SIMD_CLONES(max_##name)                                              \
                                                                             \
    /* One output pixel, channels [c, c + n). */                             \
    static inline __attribute__((always_inline)) void max_grad_at_##name(    \
        const struct tfd_pooling_window *p, const struct span *s, int64_t c, \
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
        const struct tfd_pooling_window *p = arg;                            \
        const int64_t all = p->channels;                                     \
        const int64_t image = p->row.in * p->column.in * all;                \
        const int64_t pixels = p->row.out * p->column.out;                   \
                                                                             \
        for (int64_t i = begin; i < end; i++) {                              \
            const T *dy = (const T *)p->in + i * pixels * all;               \
            T *dx = (T *)p->out + i * image;                                 \
                                                                             \
            if (QUICK(p, (const T *)p->x + i * image, dy, dx))               \
                continue;                                                    \
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

MAX(FLOAT, float, float, -FLT_MAX, max_grad_floats)
MAX(DOUBLE, double, double, -DBL_MAX, NOT_HERE)
MAX(INT32, int32_t, uint32_t, INT32_MIN, NOT_HERE)
MAX(INT64, int64_t, uint64_t, INT64_MIN, NOT_HERE)
MAX(INT16, int16_t, uint16_t, INT16_MIN, NOT_HERE)
MAX(INT8, int8_t, uint8_t, INT8_MIN, NOT_HERE)
MAX(UINT8, uint8_t, uint8_t, 0, NOT_HERE)
MAX(UINT16, uint16_t, uint16_t, 0, NOT_HERE)
MAX(UINT32, uint32_t, uint32_t, 0, NOT_HERE)
MAX(UINT64, uint64_t, uint64_t, 0, NOT_HERE)

/* ---- Means --------------------------------------------------------------- */

/* `block`: the means of `width` neighbours, at most 64 bytes of them.  Where a
 * product is as exact as the quotient, it is one: times is not 0.
 * `four`: the same of four taps, as most windows have.
 * `blocks`: blocks of a width where there is one; the last begins early rather
 * than being short. */
#define MEAN_RUN(id, T)                                                        \
    INLINE void id##_block(const T *x, const struct taps *taps, T times, T *y, \
                           const int width)                                    \
    {                                                                          \
        T sum[64 / SIZE(T)] = {0};                                             \
                                                                               \
        for (int i = 0; i < taps->count; i++) {                                \
            const T *from = x + taps->at[i];                                   \
                                                                               \
            for (int l = 0; l < width; l++)                                    \
                sum[l] += from[l];                                             \
        }                                                                      \
        if (times != 0)                                                        \
            for (int l = 0; l < width; l++)                                    \
                y[l] = sum[l] * times;                                         \
        else                                                                   \
            for (int l = 0; l < width; l++)                                    \
                y[l] = sum[l] / (T)taps->count;                                \
    }                                                                          \
    INLINE void id##_four(const T *x, const int64_t *at, int64_t n,            \
                          T *restrict y)                                       \
    {                                                                          \
        const T *a = x + at[0], *b = x + at[1];                                \
        const T *c = x + at[2], *d = x + at[3];                                \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            y[i] = ((((T)0 + a[i]) + b[i]) + c[i] + d[i]) * (1 / (T)4);        \
    }                                                                          \
    INLINE bool id##_blocks(const T *x, const struct taps *taps, T times,      \
                            int64_t n, T *y, const int width)                  \
    {                                                                          \
        const int64_t last = n - width;                                        \
                                                                               \
        for (int64_t c = 0; last >= 0;                                         \
             c = c + width < last ? c + width : last) {                        \
            id##_block(x + c, taps, times, y + c, width);                      \
            if (c == last)                                                     \
                return true;                                                   \
        }                                                                      \
        return false;                                                          \
    }                                                                          \
    INLINE void id##_run(const void *from, const struct taps *taps, int64_t n, \
                         void *to)                                             \
    {                                                                          \
        const int count = taps->count;                                         \
        const T times = (count & (count - 1)) == 0 ? 1 / (T)count : 0;         \
                                                                               \
        if (count == 4)                                                        \
            id##_four(from, taps->at, n, to);                                  \
        else if (!id##_blocks(from, taps, times, n, to, 64 / SIZE(T)) &&       \
                 !id##_blocks(from, taps, times, n, to, 16 / SIZE(T)))         \
            (void)id##_blocks(from, taps, times, n, to, 1);                    \
    }

MEAN_RUN(mean_FLOAT, float)
MEAN_RUN(mean_DOUBLE, double)

#define MEAN(name, T)                                                        \
    TFD_SIMD_LOOP(mean_##name)                                               \
    {                                                                        \
        const struct tfd_pooling_window *p = arg;                            \
        const int64_t n = p->channels;                                       \
        const int64_t image = p->row.in * p->column.in * n;                  \
        const bool listed = is_listed(p);                                    \
        int64_t since = 0;                                                   \
                                                                             \
        for (int64_t row = begin; row < end; row++) {                        \
            const T *x = (const T *)p->in + row / p->row.out * image;        \
            T *y = (T *)p->out + row * p->column.out * n;                    \
                                                                             \
            if (listed)                                                      \
                make_row(p, x, row % p->row.out, y, SIZE(T),                 \
                         mean_##name##_run);                                 \
            for (int64_t i = listed ? p->column.out : 0; i < p->column.out;  \
                 i++, y += n) {                                              \
                const struct span s = span_of(p, row % p->row.out, i);       \
                const T count = (T)(s.rows * s.columns);                     \
                                                                             \
                memset(y, 0, (size_t)n * sizeof(T));                         \
                for (int64_t a = 0; a < s.rows; a++) {                       \
                    if (tfd_halted_after(s.columns * n, &since))             \
                        return;                                              \
                    for (int64_t b = 0; b < s.columns; b++) {                \
                        const T *from = x + offset_of(p, &s, a, b);          \
                                                                             \
                        for (int64_t c = 0; c < n; c++)                      \
                            y[c] += from[c];                                 \
                    }                                                        \
                }                                                            \
                for (int64_t c = 0; c < n; c++)                              \
                    y[c] /= count;                                           \
            }                                                                \
        }                                                                    \
    }                                                                        \
    TFD_SIMD_CLONES_WIDE(mean_##name)                                        \
                                                                             \
    INLINE void add_##name(T *restrict to, const T *from, T part, int64_t n) \
    {                                                                        \
        for (int64_t c = 0; c < n; c++)                                      \
            to[c] += from[c] * part;                                         \
    }                                                                        \
                                                                             \
    /* What a row of dy gives one of dx: an element of that gets what it     \
     * gets from the left to the right. */                                   \
    INLINE void mean_grad_##name##_row(const struct tfd_pooling_window *p,   \
                                       int64_t row, const T *dy, T *dx)      \
    {                                                                        \
        const int64_t n = p->channels, stride = p->column.stride;            \
        int64_t since = 0;                                                   \
                                                                             \
        for (int64_t i = 0, same, run; i < p->column.out; i += same) {       \
            const struct span s = span_of(p, row, i);                        \
            const T part = 1 / (T)(s.rows * s.columns);                      \
                                                                             \
            same = alike(&p->column, i);                                     \
            run = stride == 1 ? same : 1;                                    \
            for (int64_t j = 0; j < same; j += run)                          \
                for (int64_t b = s.columns - 1; b >= 0; b--) {               \
                    if (tfd_halted_after(run * n, &since))                   \
                        return;                                              \
                    add_##name(dx + (s.column + j * stride + b) * n,         \
                               dy + (i + j) * n, part, run * n);             \
                }                                                            \
        }                                                                    \
    }                                                                        \
                                                                             \
    TFD_SIMD_LOOP(mean_grad_##name)                                          \
    {                                                                        \
        const struct tfd_pooling_window *p = arg;                            \
        const int64_t n = p->channels, size = p->column.in * n;              \
        const int64_t out = p->column.out * n;                               \
                                                                             \
        for (int64_t i = begin; i < end; i++) {                              \
            const int64_t image = i / p->row.in, row = i % p->row.in;        \
            const T *dy = (const T *)p->in + image * p->row.out * out;       \
            T *dx = (T *)p->out + i * size;                                  \
            int64_t first, last;                                             \
                                                                             \
            tfd_window_over(&p->row, row, &first, &last);                    \
            memset(dx, 0, (size_t)size * sizeof(T));                         \
            for (int64_t a = first; a < last && !tfd_halted(); a++)          \
                mean_grad_##name##_row(p, a, dy + a * out, dx);              \
        }                                                                    \
    }                                                                        \
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

/* ---- Of a kernel ----------------------------------------------------------
 */

#define COST_NS 1 /* of an element of a window */

int tfd_pool_cost(const struct tfd_pooling_window *p, int64_t pixels)
{
    double ns = (double)pixels * (double)p->channels * (double)p->row.size *
                (double)p->column.size / 8;

    return ns < COST_NS ? COST_NS : ns > 1e9 ? 1000000000 : (int)ns;
}

/* Bytes of x and y that a last cache of 32 MiB does not keep: a mean of 3 x 3
 * windows over twice 26 MB takes 1,950 us in place of 2,900 then, over half of
 * that as long as without (Zen 5, one thread). */
#define FAR_SIZE (28 << 20)

static bool is_ahead(const struct tfd_tensor *y, const struct tfd_tensor *x)
{
    return tfd_tensor_size(y) + tfd_tensor_size(x) >= FAR_SIZE;
}

/* Of a half type, where there is one that needs no copies in float. */
static tfd_range_fn *loop_as_it_lies(const struct tfd_kctx *k,
                                     enum tfd_pool_loop loop,
                                     struct tfd_pooling_window *p,
                                     const struct tfd_image *o, int n)
{
    const struct tfd_tensor *out = &k->out[0], *in = o[n - 2].from;

    if (o[0].second || tfd_tensor_elements(in) == 0 ||
        tfd_tensor_elements(out) == 0)
        return NULL;
    p->in = tfd_tensor_data(in);
    p->out = tfd_tensor_data(out);
    p->ahead = is_ahead(out, in);
    return tfd_pool_halves(loop, out->dtype, p);
}

/* rows: of an image, of which the loop counts through all. */
static void share_rows(struct tfd_kctx *k, struct tfd_pooling_window *p,
                       int64_t rows, int64_t images, tfd_range_fn *loop)
{
    tfd_kctx_parallel(
        k, images * rows,
        tfd_pool_cost(p, (p->row.out + rows - 1) / rows * p->column.out), loop,
        p);
}

enum tfd_code tfd_pool_run(struct tfd_kctx *k, enum tfd_pool_loop loop,
                           struct tfd_pooling_window *p, struct tfd_image *o,
                           int n, struct tfd_status *st)
{
    const int64_t rows[] = {[TFD_POOL_MAX] = p->row.out,
                            [TFD_POOL_MAX_GRAD] = 1,
                            [TFD_POOL_MEAN] = p->row.out,
                            [TFD_POOL_MEAN_GRAD] = p->row.in};
    tfd_range_fn *as_it_lies = loop_as_it_lies(k, loop, p, o, n);
    enum tfd_code rc;

    if (as_it_lies) {
        share_rows(k, p, rows[loop], o[0].from->shape.dim[0], as_it_lies);
        return TFD_OK;
    }
    rc = tfd_image_begin(k, o, n, st);
    if (rc == TFD_OK && tfd_image_empty(o, n)) {
        tfd_image_zero(o, n);
    } else if (rc == TFD_OK) {
        p->x = tfd_tensor_data(&o[0].work);
        p->in = tfd_tensor_data(&o[n - 2].work);
        p->out = tfd_tensor_data(&o[n - 1].work);
        p->ahead = is_ahead(&o[n - 1].work, &o[n - 2].work);
        share_rows(k, p, rows[loop], o[0].work.shape.dim[0],
                   tfd_pool_loop(loop, o[0].work.dtype));
    }
    return tfd_image_end(k, o, n, rc, st);
}
