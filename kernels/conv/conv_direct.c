/*
 * conv_direct.c - see conv_gemm.h.
 *
 * Some pixels of y in a row, of 16 channels, are summed in registers: a number
 * of x goes into each of them, and is taken from where it lies.  The taps of a
 * window are told once for all of a row where they are alike.
 */
#include "kernels/conv/conv_gemm.h"

#include "kernels/vector/simd.h"

#if defined(__x86_64__)

#include "common/thread/halt.h"

#include <immintrin.h>

#define TARGET __attribute__((target(TFD_SIMD_AVX512)))
#define INLINE TARGET static inline __attribute__((always_inline))

enum {
    LANES = 8,
    PIXELS = 6,       /* at a time */
    TAPS_MAX = 128,   /* of a window */
    CHANNELS_MAX = 64 /* of y; a product of more has less to pack for each */
};

#define FLOPS_PER_NS 40

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

/* `pixels` neighbours of y, of `vectors` registers of channels each. */
INLINE void sum_block(const struct tfd_conv *c, const struct taps *t,
                      const double *x, const double *w, double *y,
                      const int pixels, const int vectors)
{
    const int64_t step = c->column.stride * c->in_channels;
    __m512d sum[PIXELS][2];

    for (int p = 0; p < pixels; p++)
        for (int v = 0; v < vectors; v++)
            sum[p][v] = _mm512_setzero_pd();
    for (int i = 0; i < t->count; i++) {
        const double *from = x + t->x[i], *by = w + t->w[i];

        for (int64_t n = c->in_channels; n > 0; n--, from++) {
            __m512d weights[2];

            for (int v = 0; v < vectors; v++)
                weights[v] = _mm512_loadu_pd(by + v * LANES);
            by += c->out_channels;
            for (int p = 0; p < pixels; p++)
                for (int v = 0; v < vectors; v++)
                    sum[p][v] = _mm512_fmadd_pd(_mm512_set1_pd(from[p * step]),
                                                weights[v], sum[p][v]);
        }
    }
    for (int p = 0; p < pixels; p++)
        for (int v = 0; v < vectors; v++)
            _mm512_storeu_pd(y + p * c->out_channels + v * LANES, sum[p][v]);
}

/* n neighbours of y, whose taps are alike. */
INLINE void sum_pixels(const struct tfd_conv *c, const struct taps *t,
                       const double *x, const double *w, int64_t n, double *y,
                       const int vectors)
{
    const int64_t step = c->column.stride * c->in_channels;

    for (; n >= PIXELS && !tfd_halted(); n -= PIXELS) {
        sum_block(c, t, x, w, y, PIXELS, vectors);
        x += PIXELS * step;
        y += PIXELS * c->out_channels;
    }
    for (; n > 0 && !tfd_halted(); n--) {
        sum_block(c, t, x, w, y, 1, vectors);
        x += step;
        y += c->out_channels;
    }
}

TARGET static void sum_channels(const struct tfd_conv *c, const struct taps *t,
                                const double *x, int64_t n, double *y)
{
    const double *w = c->w;
    int64_t o = 0;

    for (; o + 2 * LANES <= c->out_channels; o += 2 * LANES)
        sum_pixels(c, t, x, w + o, n, y + o, 2);
    if (o < c->out_channels)
        sum_pixels(c, t, x, w + o, n, y + o, 1);
}

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
        const double *x =
            (const double *)c->x + plane / planes * volume * c->in_channels;
        double *y = (double *)c->y + begin * c->column.out * c->out_channels;

        for (int64_t i = 0, same; i < c->column.out; i += same) {
            same = alike(&c->column, i);
            list_taps(c, &of_plane, &row, i, &taps);
            sum_channels(c, &taps, x, same, y + i * c->out_channels);
        }
    }
}

static bool is_direct(const struct tfd_conv *c)
{
    const int64_t planes = c->plane.size ? c->plane.size : 1;

    return c->dtype == TFD_DOUBLE && c->groups == 1 &&
           c->out_channels % LANES == 0 && c->out_channels <= CHANNELS_MAX &&
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
