/*
 * conv_direct.c - see conv_gemm.h.
 *
 * Some pixels of y in a row, of one or two vectors of channels, are summed in
 * registers: a number of x goes into each of them, and is taken from where it
 * lies.  The taps of a window are told once for all of a row where they are
 * alike.  Of floats it is small images that are computed so, for which oneDNN
 * has more to set up than to do.
 */
#include "kernels/conv/conv_gemm.h"

#include "kernels/vector/simd.h"

#if defined(__x86_64__)

#include "common/thread/halt.h"

#include <immintrin.h>

#define TARGET __attribute__((target(TFD_SIMD_AVX512)))
#define INLINE TARGET static inline __attribute__((always_inline))

enum {
    PIXELS = 8,       /* at a time, of one vector */
    WAYS = 4,         /* sums that a pixel's are parted into, if few */
    PIXELS_TWO = 6,   /* of two, of which more would not stay in registers */
    TAPS_MAX = 128,   /* of a window */
    CHANNELS_MAX = 64 /* of y; a product of more has less to pack for each */
};

#define FLOPS_PER_NS 40

/* Products of floats up to which this is faster: where no window reaches beyond
 * the image, and where some do, which are summed alone.  oneDNN has its set-up
 * once for all images; of more than one, rows need some pixels for this to be
 * ahead of products of matrices, too. */
#define FLOATS_MAX 600000
#define FLOATS_EDGE_MAX 300000
#define FLOATS_ROW_MIN 6

/* The elements of a window that exist: offsets of their channels in x, from
 * where its volume begins, and in w. */
struct taps {
    int count;
    int64_t x[TAPS_MAX], w[TAPS_MAX];
};

/* Those along one side: [first, last) of it, of which the first one that a
 * window has lies at `at`. */
struct reach {
    int64_t at, first, last;
};

static struct reach reach_of(const struct tfd_window_side *s, int64_t window)
{
    struct reach r = {.at = window * s->stride - s->before};

    tfd_window_inside(s, window, &r.first, &r.last);
    return r;
}

/* Of a plane of an image, which has no side for it. */
static struct reach plane_reach(const struct tfd_conv *c, int64_t window)
{
    return c->plane.size ? reach_of(&c->plane, window)
                         : (struct reach){.last = 1};
}

/* Windows from i on that have the same elements: all that lie inside, or one.
 */
static int64_t alike(const struct tfd_window_side *s, int64_t i)
{
    const int64_t end = s->in - (s->size - 1) * s->dilation + s->before;
    const int64_t last = end < 1 ? 0 : (end - 1) / s->stride + 1;
    const int64_t same = (last < s->out ? last : s->out) - i;

    return i * s->stride >= s->before && same > 0 ? same : 1;
}

static void list_taps(const struct tfd_conv *c, const struct reach *plane,
                      const struct reach *row, int64_t column, struct taps *t)
{
    const struct reach r = reach_of(&c->column, column);

    t->count = 0;
    for (int64_t a = plane->first; a < plane->last; a++)
        for (int64_t b = row->first; b < row->last; b++)
            for (int64_t d = r.first; d < r.last; d++, t->count++) {
                const int64_t y = plane->at + a * c->plane.dilation;
                const int64_t x = row->at + b * c->row.dilation;

                t->x[t->count] = ((y * c->row.in + x) * c->column.in + r.at +
                                  d * c->column.dilation) *
                                 c->in_channels;
                t->w[t->count] = ((a * c->row.size + b) * c->column.size + d) *
                                 c->in_channels * c->out_channels;
            }
}

/* ---- Sums ---------------------------------------------------------------- */

/* Of n pixels the next that are summed at a time: all, or most, or half, so
 * that none is left alone. */
static int64_t pixels_next(int64_t n, int64_t most)
{
    return n <= most ? n : n < 2 * most ? (n + 1) / 2 : most;
}

/* add_channel: of some pixels, one number of x each.
 * sum_block: `pixels` neighbours of y, of `vectors` registers of channels each;
 * of few, sums of each fourth or second channel, which need not wait for each
 * other.
 * sum_pixels: n neighbours of y, whose taps are alike. */
#define SUMS(T, V, suffix, lanes)                                              \
    INLINE void add_channel_##T(const T *from, int64_t step, const T *by,      \
                                V sum[PIXELS][2], const int pixels,            \
                                const int vectors)                             \
    {                                                                          \
        V weights[2];                                                          \
                                                                               \
        for (int v = 0; v < vectors; v++)                                      \
            weights[v] = _mm512_loadu_##suffix(by + v * (lanes));              \
        for (int p = 0; p < pixels; p++)                                       \
            for (int v = 0; v < vectors; v++)                                  \
                sum[p][v] = _mm512_fmadd_##suffix(                             \
                    _mm512_set1_##suffix(from[p * step]), weights[v],          \
                    sum[p][v]);                                                \
    }                                                                          \
                                                                               \
    INLINE void sum_block_##T(const struct tfd_conv *c, const struct taps *t,  \
                              const T *x, const T *w, T *y, const int pixels,  \
                              const int vectors)                               \
    {                                                                          \
        const int64_t step = c->column.stride * c->in_channels;                \
        const int64_t depth = c->in_channels, next = c->out_channels;          \
        const int ways =                                                       \
            pixels * vectors > WAYS / 2 ? 1 : WAYS / (pixels * vectors);       \
        V sum[WAYS][PIXELS][2];                                                \
                                                                               \
        for (int i = 0; i < ways; i++)                                         \
            for (int p = 0; p < pixels; p++)                                   \
                for (int v = 0; v < vectors; v++)                              \
                    sum[i][p][v] = _mm512_setzero_##suffix();                  \
        for (int i = 0; i < t->count; i++) {                                   \
            const T *from = x + t->x[i], *by = w + t->w[i];                    \
            int64_t n = 0;                                                     \
                                                                               \
            for (; n + ways <= depth; n += ways, by += ways * next)            \
                for (int j = 0; j < ways; j++)                                 \
                    add_channel_##T(from + n + j, step, by + j * next, sum[j], \
                                    pixels, vectors);                          \
            for (; ways > 1 && n < depth; n++, by += next)                     \
                add_channel_##T(from + n, step, by, sum[0], pixels, vectors);  \
        }                                                                      \
        for (int i = 1; i < ways; i++)                                         \
            for (int p = 0; p < pixels; p++)                                   \
                for (int v = 0; v < vectors; v++)                              \
                    sum[0][p][v] =                                             \
                        _mm512_add_##suffix(sum[0][p][v], sum[i][p][v]);       \
        for (int p = 0; p < pixels; p++)                                       \
            for (int v = 0; v < vectors; v++)                                  \
                _mm512_storeu_##suffix(y + p * next + v * (lanes),             \
                                       sum[0][p][v]);                          \
    }                                                                          \
                                                                               \
    INLINE void sum_some_##T(const struct tfd_conv *c, const struct taps *t,   \
                             const T *x, const T *w, T *y, int64_t pixels,     \
                             const int vectors)                                \
    {                                                                          \
        switch (pixels) {                                                      \
            BLOCK(T, 1)                                                        \
            BLOCK(T, 2)                                                        \
            BLOCK(T, 3)                                                        \
            BLOCK(T, 4)                                                        \
            BLOCK(T, 5)                                                        \
            BLOCK(T, 6)                                                        \
        default:                                                               \
            if (vectors == 1 && pixels == PIXELS)                              \
                sum_block_##T(c, t, x, w, y, PIXELS, vectors);                 \
            else if (vectors == 1)                                             \
                sum_block_##T(c, t, x, w, y, PIXELS - 1, vectors);             \
        }                                                                      \
    }                                                                          \
                                                                               \
    INLINE void sum_pixels_##T(const struct tfd_conv *c, const struct taps *t, \
                               const T *x, const T *w, int64_t n, T *y,        \
                               const int vectors)                              \
    {                                                                          \
        const int64_t step = c->column.stride * c->in_channels;                \
        const int64_t most = vectors == 1 ? PIXELS : PIXELS_TWO;               \
                                                                               \
        for (int64_t some; n > 0 && !tfd_halted(); n -= some) {                \
            some = pixels_next(n, most);                                       \
            sum_some_##T(c, t, x, w, y, some, vectors);                        \
            x += some * step;                                                  \
            y += some * c->out_channels;                                       \
        }                                                                      \
    }                                                                          \
                                                                               \
    TARGET static void sum_channels_##T(const struct tfd_conv *c,              \
                                        const struct taps *t, const T *x,      \
                                        int64_t n, T *y)                       \
    {                                                                          \
        const T *w = c->w;                                                     \
        int64_t o = 0;                                                         \
                                                                               \
        for (; o + 2 * (lanes) <= c->out_channels; o += 2 * (lanes))           \
            sum_pixels_##T(c, t, x, w + o, n, y + o, 2);                       \
        if (o < c->out_channels)                                               \
            sum_pixels_##T(c, t, x, w + o, n, y + o, 1);                       \
    }

#define BLOCK(T, pixels)                                 \
    case pixels:                                         \
        sum_block_##T(c, t, x, w, y, (pixels), vectors); \
        break;

SUMS(float, __m512, ps, 16)
SUMS(double, __m512d, pd, 8)

/* ---- Rows of y ----------------------------------------------------------- */

static void direct_rows(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_conv *c = arg;
    const int64_t planes = tfd_conv_planes_out(c);
    const int64_t volume = tfd_conv_planes_in(c) * c->row.in * c->column.in;
    struct taps taps;

    for (; begin < end && !tfd_halted(); begin++) {
        const int64_t plane = begin / c->row.out;
        const struct reach of_plane = plane_reach(c, plane % planes);
        const struct reach row = reach_of(&c->row, begin % c->row.out);
        const int64_t x = plane / planes * volume * c->in_channels;
        const int64_t y = begin * c->column.out * c->out_channels;

        for (int64_t i = 0, same; i < c->column.out; i += same) {
            same = alike(&c->column, i);
            list_taps(c, &of_plane, &row, i, &taps);
            if (c->dtype == TFD_FLOAT)
                sum_channels_float(c, &taps, (const float *)c->x + x, same,
                                   (float *)c->y + y + i * c->out_channels);
            else
                sum_channels_double(c, &taps, (const double *)c->x + x, same,
                                    (double *)c->y + y + i * c->out_channels);
        }
    }
}

static bool is_small(const struct tfd_conv *c)
{
    const bool inside = alike(&c->column, 0) == c->column.out;

    return c->dtype == TFD_FLOAT &&
           (c->batch == 1 || c->column.out >= FLOATS_ROW_MIN) &&
           tfd_conv_products(c) * (double)c->batch <=
               (inside ? FLOATS_MAX : FLOATS_EDGE_MAX);
}

static bool is_direct(const struct tfd_conv *c)
{
    const int64_t planes = c->plane.size ? c->plane.size : 1;
    const int lanes = c->dtype == TFD_FLOAT ? 16 : 8;

    return (c->dtype == TFD_DOUBLE || is_small(c)) && c->groups == 1 &&
           c->out_channels % lanes == 0 && c->out_channels <= CHANNELS_MAX &&
           planes <= TAPS_MAX && c->row.size <= TAPS_MAX / planes &&
           c->column.size <= TAPS_MAX / planes / c->row.size &&
           planes * c->row.size * c->column.size > 1 && tfd_simd_has_avx512();
}

bool tfd_conv_direct(struct tfd_kctx *k, const struct tfd_conv *c)
{
    const int64_t rows = c->batch * tfd_conv_planes_out(c) * c->row.out;
    const double ns = 2 * tfd_conv_products(c) /
                      (double)(tfd_conv_planes_out(c) * c->row.out) /
                      FLOPS_PER_NS;

    if (!is_direct(c))
        return false;
    tfd_kctx_parallel(k, rows,
                      ns < 1     ? 1
                      : ns > 1e9 ? 1000000000
                                 : (int)ns,
                      direct_rows, (void *)c);
    return true;
}

#else

bool tfd_conv_direct(struct tfd_kctx *k, const struct tfd_conv *c)
{
    (void)k;
    (void)c;
    return false;
}

#endif
