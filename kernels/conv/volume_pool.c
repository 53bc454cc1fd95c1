/*
 * volume_pool.c - see volume_pool.h.
 *
 * Maxima and means stay in registers, for some channels at a time, till the
 * elements of the window, which are told once for all of a row where they are
 * alike, have been met.  Where windows move by one column, those are one run
 * over columns and channels.  The other loops run along the channels of a
 * pixel.
 */
#include "kernels/conv/volume_pool.h"

#include "common/thread/halt.h"
#include "kernels/conv/pool_taps.h"
#include "kernels/vector/simd.h"

#include <math.h>
#include <string.h>

#define BLOCK 64 /* channels at a time */

/* The elements of a window that exist along one side: [at, at + count). */
struct extent {
    int64_t at, count;
};

static inline struct extent extent_of(const struct tfd_window_side *s,
                                      int64_t window)
{
    int64_t first, last;

    tfd_window_inside(s, window, &first, &last);
    return (struct extent){window * s->stride - s->before + first,
                           last - first};
}

/* The first float of a pixel of an input volume. */
static inline int64_t pixel_at(const struct tfd_volume_pool *p, int64_t plane,
                               int64_t row, int64_t column)
{
    return ((plane * p->row.in + row) * p->column.in + column) * p->channels;
}

static inline int64_t volume_size(const struct tfd_volume_pool *p)
{
    return p->plane.in * p->row.in * p->column.in * p->channels;
}

/* A row of y, by its number among all volumes. */
struct y_row {
    int64_t volume;
    struct extent plane, row;
};

static inline struct y_row y_row_of(const struct tfd_volume_pool *p, int64_t i)
{
    const int64_t plane = i / p->row.out;

    return (struct y_row){plane / p->plane.out,
                          extent_of(&p->plane, plane % p->plane.out),
                          extent_of(&p->row, i % p->row.out)};
}

/* 1 / a count, where it is a power of two, or 0. */
INLINE float exact_inverse(float count)
{
    const int64_t all = (int64_t)count;

    return (all & (all - 1)) == 0 ? 1 / count : 0;
}

/* ---- Maxima and means ---------------------------------------------------- */

#define WIDE 16 /* elements of y that stay in registers from tap to tap */
#define FEW_WIDE 4

/* The taps of a window, or some of many: what y comes to is kept in y till the
 * last ones. */
struct piece {
    struct taps taps;
    bool first, last;
    float all, times; /* taps of the window; 1 / that, if exact, or 0 */
};

INLINE void add_block(const float *x, const struct piece *t, float *y,
                      const int width)
{
    float sum[WIDE];

    for (int i = 0; i < width; i++)
        sum[i] = t->first ? 0 : y[i];
    for (int tap = 0; tap < t->taps.count; tap++) {
        const float *from = x + t->taps.at[tap];

        for (int i = 0; i < width; i++)
            sum[i] += from[i];
    }
    if (t->last && t->times > 0)
        for (int i = 0; i < width; i++)
            y[i] = sum[i] * t->times;
    else if (t->last)
        for (int i = 0; i < width; i++)
            y[i] = sum[i] / t->all;
    else
        for (int i = 0; i < width; i++)
            y[i] = sum[i];
}

/* n neighbours of y, whose taps in x lie side by side. */
INLINE void add_taps(const float *x, const struct piece *t, int64_t n, float *y)
{
    int64_t i = 0;

    for (; i + WIDE <= n; i += WIDE)
        add_block(x + i, t, y + i, WIDE);
    for (; i + FEW_WIDE <= n; i += FEW_WIDE)
        add_block(x + i, t, y + i, FEW_WIDE);
    for (; i < n; i++)
        add_block(x + i, t, y + i, 1);
}

#define LARGER(a, b) ((b) > (a) ? (b) : (a))
#define TOGETHER 4   /* taps */
#define STRETCH 1024 /* elements, which stay in the cache from pass to pass */

INLINE void max_four(const float *x, const int64_t *at, bool first, int64_t n,
                     float *restrict y)
{
    const float *a = x + at[0], *b = x + at[1];
    const float *c = x + at[2], *d = x + at[3];

    for (int64_t i = 0; i < n; i++) {
        float best = first ? -INFINITY : y[i];

        best = LARGER(best, a[i]);
        best = LARGER(best, b[i]);
        best = LARGER(best, c[i]);
        y[i] = LARGER(best, d[i]);
    }
}

INLINE void max_taps(const float *x, const struct piece *t, int64_t n, float *y)
{
    for (int64_t i = 0, few; i < n; i += few) {
        few = n - i < STRETCH ? n - i : STRETCH;
        if (t->first)
            max_four(x + i, t->taps.at, true, few, y + i);
        for (int tap = t->first ? TOGETHER : 0; tap < t->taps.count;
             tap += TOGETHER)
            max_four(x + i, t->taps.at + tap, false, few, y + i);
    }
}

/* A maximum may take a tap twice. */
INLINE void fill_up(struct taps *t)
{
    for (; t->count % TOGETHER != 0; t->count++)
        t->at[t->count] = t->at[t->count - 1];
}

/* `same` windows of a row of y, from column i on, whose taps are alike. */
INLINE void make_windows(const struct tfd_volume_pool *p, const struct y_row *r,
                         int64_t i, int64_t same, bool sum, float *y)
{
    const struct extent column = extent_of(&p->column, i);
    const float *x = p->in + r->volume * volume_size(p);
    const int64_t all = r->plane.count * r->row.count * column.count;
    const int64_t stride = p->column.stride, n = p->channels;
    const int64_t run = stride == 1 ? same : 1;
    struct piece t = {
        .first = true, .all = (float)all, .times = exact_inverse((float)all)};
    int64_t at = 0;

    for (; !t.last && !tfd_halted(); t.first = false) {
        for (t.taps.count = 0; t.taps.count < TAPS_MAX && at < all; at++)
            t.taps.at[t.taps.count++] =
                pixel_at(p, r->plane.at + at / column.count / r->row.count,
                         r->row.at + at / column.count % r->row.count,
                         column.at + at % column.count);
        t.last = at == all;
        if (!sum)
            fill_up(&t.taps);
        for (int64_t j = 0, since = 0; j < same; j += run) {
            if (sum)
                add_taps(x + j * stride * n, &t, run * n, y + (i + j) * n);
            else
                max_taps(x + j * stride * n, &t, run * n, y + (i + j) * n);
            if (tfd_halted_after(run * n * t.taps.count, &since))
                return;
        }
    }
}

INLINE void make_volume_rows(const struct tfd_volume_pool *p, int64_t begin,
                             int64_t end, bool sum)
{
    for (; begin < end && !tfd_halted(); begin++) {
        const struct y_row r = y_row_of(p, begin);
        float *y = p->out + begin * p->column.out * p->channels;

        for (int64_t i = 0, same; i < p->column.out; i += same) {
            same = alike(&p->column, i);
            make_windows(p, &r, i, same, sum, y);
        }
    }
}

TFD_SIMD_LOOP(volume_max)
{
    make_volume_rows(arg, begin, end, false);
}
TFD_SIMD_CLONES(volume_max)

TFD_SIMD_LOOP(volume_mean)
{
    make_volume_rows(arg, begin, end, true);
}
TFD_SIMD_CLONES(volume_mean)

/* ---- Gradients of maxima ------------------------------------------------- */

/* The window of pixel `i` of y, which counts within its volume. */
struct box {
    struct extent plane, row, column;
};

static inline struct box window_box(const struct tfd_volume_pool *p, int64_t i)
{
    const int64_t row = i / p->column.out;

    return (struct box){extent_of(&p->plane, row / p->row.out),
                        extent_of(&p->row, row % p->row.out),
                        extent_of(&p->column, i % p->column.out)};
}

/* n channels of a pixel of y give their gradient to the first element of the
 * window that is as they are. */
static inline __attribute__((always_inline)) void
give_pixel(const struct tfd_volume_pool *p, const struct box *box, int64_t n,
           const float *x, const float *y, const float *dy, float *dx)
{
    float left[BLOCK];

    memcpy(left, dy, (size_t)n * sizeof(float));
    for (int64_t a = 0; a < box->plane.count; a++)
        for (int64_t b = 0; b < box->row.count && !tfd_halted(); b++)
            for (int64_t d = 0; d < box->column.count; d++) {
                const int64_t at = pixel_at(
                    p, box->plane.at + a, box->row.at + b, box->column.at + d);

                for (int64_t c = 0; c < n; c++) {
                    const bool hit = x[at + c] == y[c];

                    dx[at + c] += hit ? left[c] : 0;
                    left[c] = hit ? 0 : left[c];
                }
            }
}

static inline int64_t blocks_of(const struct tfd_volume_pool *p)
{
    return (p->channels + BLOCK - 1) / BLOCK;
}

/* Zeros in n channels of all pixels of a volume. */
static inline void clear_channels(const struct tfd_volume_pool *p, int64_t n,
                                  float *dx)
{
    const int64_t size = volume_size(p);

    if (n == p->channels) {
        tfd_halt_clear(dx, (size_t)size * sizeof(float));
        return;
    }
    for (int64_t i = 0; i < size && !tfd_halted(); i += p->channels)
        memset(dx + i, 0, (size_t)n * sizeof(float));
}

/* An item is some channels of a volume: no two add to one element. */
TFD_SIMD_LOOP(volume_give)
{
    const struct tfd_volume_pool *p = arg;
    const int64_t pixels = p->plane.out * p->row.out * p->column.out;
    const int64_t blocks = blocks_of(p);

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        const int64_t first = i % blocks * BLOCK;
        const int64_t n =
            p->channels - first < BLOCK ? p->channels - first : BLOCK;
        const int64_t from = i / blocks * volume_size(p) + first;
        int64_t at = i / blocks * pixels * p->channels + first;

        clear_channels(p, n, p->out + from);
        for (int64_t j = 0; j < pixels && !tfd_halted();
             j++, at += p->channels) {
            const struct box box = window_box(p, j);

            give_pixel(p, &box, n, p->x + from, p->y + at, p->in + at,
                       p->out + from);
        }
    }
}
TFD_SIMD_CLONES(volume_give)

/* From the last element of the window to the first, whose word is the last. */
static inline __attribute__((always_inline)) void
take_pixel(const struct tfd_volume_pool *p, const struct box *box,
           const float *x, const float *y, const float *ddx, float *out)
{
    for (int64_t a = box->plane.count - 1; a >= 0; a--)
        for (int64_t b = box->row.count - 1; b >= 0 && !tfd_halted(); b--)
            for (int64_t d = box->column.count - 1; d >= 0; d--) {
                const int64_t at = pixel_at(
                    p, box->plane.at + a, box->row.at + b, box->column.at + d);

                for (int64_t c = 0; c < p->channels; c++)
                    out[c] = x[at + c] == y[c] ? ddx[at + c] : out[c];
            }
}

TFD_SIMD_LOOP(volume_take)
{
    const struct tfd_volume_pool *p = arg;
    const int64_t n = p->channels, size = p->column.out * n;
    const int64_t rows = p->plane.out * p->row.out;

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        const int64_t from = i / rows * volume_size(p);

        memset(p->out + i * size, 0, (size_t)size * sizeof(float));
        for (int64_t j = 0; j < p->column.out; j++) {
            const struct box box = window_box(p, i % rows * p->column.out + j);
            const int64_t at = i * size + j * n;

            take_pixel(p, &box, p->x + from, p->y + at, p->in + from,
                       p->out + at);
        }
    }
}
TFD_SIMD_CLONES(volume_take)

/* ---- Gradients of means -------------------------------------------------- */

/* How windows of means give: `alone` are those that share no element, so that
 * what they give is written, and added to 0 only for -0. */
struct spread {
    const struct tfd_volume_pool *p;
    int64_t planes; /* of the window */
    bool alone;
};

INLINE bool is_alone(const struct tfd_window_side *s)
{
    return s->size <= s->stride;
}

/* Windows that share no element, and leave none out. */
INLINE bool is_tiled(const struct tfd_window_side *s)
{
    return s->size == s->stride && s->before >= 0 &&
           s->out * s->stride - s->before >= s->in;
}

/* n channels of a pixel give a part of them to a row of `count` pixels, which
 * nothing else is given. */
INLINE void fill_pixels(const float *dy, int64_t n, float part, int64_t count,
                        float *to)
{
    const float times = exact_inverse(part);

    for (int64_t d = 0; d < count; d++, to += n)
        if (times > 0)
            for (int64_t c = 0; c < n; c++)
                to[c] = dy[c] * times + 0.0f;
        else
            for (int64_t c = 0; c < n; c++)
                to[c] = dy[c] / part + 0.0f;
}

INLINE void add_to_pixels(const float *dy, int64_t n, float part, int64_t count,
                          float *to)
{
    for (int64_t d = 0; d < count; d++, to += n)
        for (int64_t c = 0; c < n; c++)
            to[c] += dy[c] / part;
}

typedef void give(const float *dy, int64_t n, float part, int64_t count,
                  float *to);

/* What the windows of one plane of dy give a plane of dx. */
INLINE void spread_plane(const struct spread *s, give *give_to, const float *dy,
                         float *dx)
{
    const struct tfd_volume_pool *p = s->p;
    const int64_t n = p->channels;
    int64_t since = 0;

    for (int64_t i = 0; i < p->row.out && !tfd_halted(); i++) {
        const struct extent row = extent_of(&p->row, i);

        for (int64_t j = 0; j < p->column.out; j++, dy += n) {
            const struct extent column = extent_of(&p->column, j);
            const float count = (float)(s->planes * row.count * column.count);

            for (int64_t b = 0; b < row.count; b++) {
                if (tfd_halted_after(column.count * n, &since))
                    return;
                give_to(dy, n, count, column.count,
                        dx + pixel_at(p, 0, row.at + b, column.at));
            }
        }
    }
}

/* An item is a plane of dx. */
TFD_SIMD_LOOP(volume_spread)
{
    const struct tfd_volume_pool *p = arg;
    const int64_t size = p->row.in * p->column.in * p->channels;
    const int64_t dy_size = p->row.out * p->column.out * p->channels;
    struct spread s = {
        p, 0, is_alone(&p->plane) && is_alone(&p->row) && is_alone(&p->column)};
    const bool all = is_tiled(&p->row) && is_tiled(&p->column);

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        const int64_t volume = i / p->plane.in;
        int64_t first, last;

        tfd_window_over(&p->plane, i % p->plane.in, &first, &last);
        if (!s.alone || !all || first >= last)
            tfd_halt_clear(p->out + i * size, (size_t)size * sizeof(float));
        for (int64_t a = first; a < last && !tfd_halted(); a++) {
            s.planes = extent_of(&p->plane, a).count;
            if (s.alone)
                spread_plane(&s, fill_pixels,
                             p->in + (volume * p->plane.out + a) * dy_size,
                             p->out + i * size);
            else
                spread_plane(&s, add_to_pixels,
                             p->in + (volume * p->plane.out + a) * dy_size,
                             p->out + i * size);
        }
    }
}
TFD_SIMD_CLONES(volume_spread)

/* ---- By name ------------------------------------------------------------- */

tfd_range_fn *tfd_volume_pool_loop(enum tfd_volume_loop loop)
{
    static tfd_range_fn *const loops[TFD_VOLUME_LOOPS] = {
        [TFD_VOLUME_MAX] = volume_max,       [TFD_VOLUME_MEAN] = volume_mean,
        [TFD_VOLUME_GIVE] = volume_give,     [TFD_VOLUME_TAKE] = volume_take,
        [TFD_VOLUME_SPREAD] = volume_spread,
    };

    return loops[loop];
}

int64_t tfd_volume_pool_items(enum tfd_volume_loop loop,
                              const struct tfd_volume_pool *p)
{
    if (loop == TFD_VOLUME_GIVE)
        return p->batch * blocks_of(p);
    if (loop == TFD_VOLUME_SPREAD)
        return p->batch * p->plane.in;
    return p->batch * p->plane.out * p->row.out;
}
