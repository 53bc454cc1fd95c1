/*
 * conv_volume_gemm.c - see conv_volume.h.
 *
 * By oneDNN where that has code for them (conv_dnnl.h); else as for images
 * (conv_gemm.c): a thread makes as many rows of columns as its
 * second cache holds, multiplies them and makes the next over them.  The
 * gradient by x is the same with y for x and w turned round, if windows move by
 * one; else the product y * w' is added back volume by volume.  For the
 * gradient by w each thread sums its own share.  A window of one element that
 * moves by one is no copy: x is the matrix.
 */
#include "kernels/conv/conv_volume.h"

#include "common/base/alloc.h"
#include "common/base/atomic.h"
#include "common/thread/halt.h"
#include "kernels/conv/conv_dnnl.h"
#include "kernels/core/runtime.h"
#include "kernels/linalg/gemm.h"

#include <string.h>

/* Bytes of a tile of columns: a part of the second cache. */
#define TILE_BYTES (INT64_C(512) << 10)
/* Products work on whole panels of about as many rows, if those are not of more
 * bytes than a thread may have for them. */
#define TILE_ROWS_MIN 48
#define TILE_BYTES_MAX (INT64_C(64) << 20)
/* Bytes of the sums of a filter's gradient, whose threads are fewer where each
 * has a large one. */
#define SUMS_BYTES_MAX (INT64_C(512) << 20)
/* Times that x may be larger than y where y is convolved for x's gradient. */
#define TURN_GROWTH_MAX 64

#define FLOPS_PER_NS 40

struct job {
    const struct tfd_conv_volume *c;
    int64_t item;   /* bytes of an element */
    int64_t length; /* elements of a row of columns */
    int64_t pixels; /* of an output volume */
    int64_t tile;   /* rows of columns in a tile */
    bool direct;    /* x is the matrix */
    void *sums;     /* filter: one for each share but the first, which is w */
    int64_t each;   /* filter: tiles in a share */
    int failed;     /* atomic */
};

struct tfd_conv tfd_conv_volume_sizes(const struct tfd_conv_volume *c)
{
    return (struct tfd_conv){.dtype = c->dtype,
                             .plane = c->plane,
                             .row = c->row,
                             .column = c->column,
                             .batch = c->batch,
                             .in_channels = c->in_channels,
                             .out_channels = c->out_channels,
                             .groups = 1,
                             .x = c->x,
                             .w = c->w,
                             .y = c->y};
}

static bool by_dnnl(struct tfd_kctx *k, enum tfd_conv_kind kind,
                    const struct tfd_conv_volume *c)
{
    const struct tfd_conv all = tfd_conv_volume_sizes(c);

    return tfd_conv_dnnl(k, kind, &all);
}

static bool is_point(const struct tfd_window_side *s)
{
    return s->size == 1 && s->stride == 1 && s->in == s->out;
}

/* Rows of `bytes` in a tile, of which no more than `all` are ever needed. */
static int64_t tile_of(int64_t bytes, int64_t all)
{
    const int64_t least = TILE_BYTES_MAX / bytes;
    int64_t rows = TILE_BYTES / bytes;

    if (rows < TILE_ROWS_MIN)
        rows = least < TILE_ROWS_MIN ? least : TILE_ROWS_MIN;
    rows = rows < all ? rows : all;
    return rows < 1 ? 1 : rows;
}

static struct job job_of(const struct tfd_conv_volume *c)
{
    struct job j = {.c = c,
                    .item = (int64_t)tfd_dtype_size(c->dtype),
                    .length = tfd_volume_columns_length(c),
                    .pixels = c->plane.out * c->row.out * c->column.out};

    j.direct = is_point(&c->plane) && is_point(&c->row) && is_point(&c->column);
    j.tile = tile_of(j.item * j.length, c->batch * j.pixels);
    return j;
}

/* Nanoseconds for n rows of columns. */
static int cost_of_job(const struct job *j, int64_t n)
{
    const double ns = 2.0 * (double)n * (double)j->length *
                      (double)j->c->out_channels / FLOPS_PER_NS;

    return ns < 1 ? 1 : ns > 1e9 ? 1000000000 : (int)ns;
}

static struct tfd_buffer *job_buffer(struct job *j)
{
    struct tfd_buffer *b =
        tfd_buffer_new((size_t)(j->tile * j->length * j->item));

    if (!b)
        TFD_STORE_RELAXED(&j->failed, 1);
    return b;
}

static enum tfd_code job_result(const struct job *j, struct tfd_status *st)
{
    if (TFD_LOAD_RELAXED(&j->failed))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %lld x %lld elements for a "
                        "convolution",
                        (long long)j->tile, (long long)j->length);
    return TFD_OK;
}

/* ---- Products ------------------------------------------------------------ */

static char *y_at(const struct job *j, int64_t pixel)
{
    return (char *)j->c->y + pixel * j->c->out_channels * j->item;
}

/* x itself where it is the matrix, else `tile`. */
static const void *columns_of(const struct job *j, int64_t pixel, int64_t n,
                              char *tile)
{
    if (j->direct)
        return (const char *)j->c->x + pixel * j->c->in_channels * j->item;
    tfd_volume_columns_make(j->c, pixel, n, tile);
    return tile;
}

static void multiply_forward(const struct job *j, int64_t pixel, int64_t n,
                             char *tile)
{
    const struct tfd_gemm g = {.dtype = j->c->dtype,
                               .m = n,
                               .n = j->c->out_channels,
                               .k = j->length,
                               .a = columns_of(j, pixel, n, tile),
                               .lda = j->length,
                               .b = j->c->w,
                               .ldb = j->c->out_channels,
                               .c = y_at(j, pixel),
                               .ldc = j->c->out_channels};

    tfd_gemm(&g);
}

static void multiply_back(const struct job *j, int64_t pixel, int64_t n,
                          char *tile)
{
    const struct tfd_gemm g = {.dtype = j->c->dtype,
                               .transpose_b = true,
                               .m = n,
                               .n = j->length,
                               .k = j->c->out_channels,
                               .a = y_at(j, pixel),
                               .lda = j->c->out_channels,
                               .b = j->c->w,
                               .ldb = j->c->out_channels,
                               .c = tile,
                               .ldc = j->length};

    tfd_gemm(&g);
    tfd_volume_columns_add(j->c, pixel, n, tile);
}

static void multiply_filter(const struct job *j, int64_t pixel, int64_t n,
                            char *tile, void *sum)
{
    const struct tfd_gemm g = {.dtype = j->c->dtype,
                               .transpose_a = true,
                               .add = true,
                               .m = j->length,
                               .n = j->c->out_channels,
                               .k = n,
                               .a = columns_of(j, pixel, n, tile),
                               .lda = j->length,
                               .b = y_at(j, pixel),
                               .ldb = j->c->out_channels,
                               .c = sum,
                               .ldc = j->c->out_channels};

    tfd_gemm(&g);
}

/* ---- Forward ------------------------------------------------------------- */

static int64_t tile_count(const struct job *j)
{
    return (j->c->batch * j->pixels + j->tile - 1) / j->tile;
}

/* Pixels of a tile, of which the last may have fewer. */
static int64_t tile_rows(const struct job *j, int64_t first, int64_t end)
{
    return end - first < j->tile ? end - first : j->tile;
}

static void forward_jobs(void *arg, int64_t begin, int64_t end)
{
    struct job *j = arg;
    const int64_t all = j->c->batch * j->pixels;
    struct tfd_buffer *b = job_buffer(j);

    for (int64_t i = begin; b && i < end && !tfd_halted(); i++)
        multiply_forward(j, i * j->tile, tile_rows(j, i * j->tile, all),
                         b->data);
    tfd_buffer_unref(b);
}

enum tfd_code tfd_conv_volume_forward(struct tfd_kctx *k,
                                      const struct tfd_conv_volume *c,
                                      struct tfd_status *st)
{
    const struct tfd_conv all = tfd_conv_volume_sizes(c);
    struct job j = job_of(c);

    if (by_dnnl(k, TFD_CONV_FORWARD, c) || tfd_conv_direct(k, &all))
        return TFD_OK;
    tfd_kctx_parallel(k, tile_count(&j), cost_of_job(&j, j.tile), forward_jobs,
                      &j);
    return job_result(&j, st);
}

/* ---- Gradient by the input ----------------------------------------------- */

static void input_volumes(void *arg, int64_t begin, int64_t end)
{
    struct job *j = arg;
    const struct tfd_conv_volume *c = j->c;
    const int64_t size =
        c->plane.in * c->row.in * c->column.in * c->in_channels * j->item;
    struct tfd_buffer *b = job_buffer(j);

    tfd_halt_clear((char *)c->x + begin * size, (size_t)((end - begin) * size));
    for (int64_t i = begin * j->pixels; b && begin < end; begin++)
        for (int64_t last = i + j->pixels; i < last && !tfd_halted();) {
            const int64_t n = tile_rows(j, i, last);

            multiply_back(j, i, n, b->data);
            i += n;
        }
    tfd_buffer_unref(b);
}

/* The elements of w in reverse, and its channels exchanged. */
#define TURN_FILTER(T)                                                    \
    static void turn_filter_##T(const struct job *j, T *to)               \
    {                                                                     \
        const int64_t in = j->c->in_channels, out = j->c->out_channels;   \
        const T *from = j->c->w;                                          \
                                                                          \
        for (int64_t i = j->length / in - 1; i >= 0; i--, to += in * out) \
            for (int64_t c = 0; c < in; c++)                              \
                for (int64_t o = 0; o < out; o++)                         \
                    to[o * in + c] = from[(i * in + c) * out + o];        \
    }

TURN_FILTER(float)
TURN_FILTER(double)

/* Windows over y that see what saw an element of x. */
static struct tfd_window_side turned_side(const struct tfd_window_side *s)
{
    struct tfd_window_side side = *s;

    side.in = s->out;
    side.out = s->in;
    side.before = (s->size - 1) * s->dilation - s->before;
    return side;
}

static enum tfd_code input_by_turning(struct tfd_kctx *k, const struct job *j,
                                      struct tfd_status *st)
{
    const struct tfd_conv_volume *c = j->c;
    struct tfd_conv_volume f = {.dtype = c->dtype,
                                .plane = turned_side(&c->plane),
                                .row = turned_side(&c->row),
                                .column = turned_side(&c->column),
                                .batch = c->batch,
                                .in_channels = c->out_channels,
                                .out_channels = c->in_channels,
                                .x = c->y,
                                .y = c->x};
    const int64_t elements = j->length * c->out_channels;
    struct tfd_buffer *b = tfd_buffer_new((size_t)(elements * j->item));
    enum tfd_code rc;

    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating a filter of %lld elements",
                        (long long)elements);
    f.w = b->data;
    if (c->dtype == TFD_FLOAT)
        turn_filter_float(j, f.w);
    else
        turn_filter_double(j, f.w);
    rc = tfd_conv_volume_forward(k, &f, st);
    tfd_buffer_unref(b);
    return rc;
}

enum tfd_code tfd_conv_volume_input(struct tfd_kctx *k,
                                    const struct tfd_conv_volume *c,
                                    struct tfd_status *st)
{
    struct job j = job_of(c);

    if (c->plane.stride == 1 && c->row.stride == 1 && c->column.stride == 1 &&
        c->plane.in * c->row.in * c->column.in / TURN_GROWTH_MAX <= j.pixels)
        return input_by_turning(k, &j, st);
    if (by_dnnl(k, TFD_CONV_INPUT, c))
        return TFD_OK;
    tfd_kctx_parallel(k, c->batch, cost_of_job(&j, j.pixels), input_volumes,
                      &j);
    return job_result(&j, st);
}

/* ---- Gradient by the filter ---------------------------------------------- */

static void filter_jobs(void *arg, int64_t begin, int64_t end)
{
    struct job *j = arg;
    const int64_t all = j->c->batch * j->pixels;
    const int64_t size = j->length * j->c->out_channels * j->item;
    struct tfd_buffer *b = job_buffer(j);

    for (int64_t share = begin; b && share < end; share++) {
        char *sum =
            share == 0 ? (char *)j->c->w : (char *)j->sums + (share - 1) * size;
        int64_t from = share * j->each * j->tile;
        int64_t to = from + j->each * j->tile;

        tfd_halt_clear(sum, (size_t)size);
        to = to < all ? to : all;
        for (; from < to && !tfd_halted(); from += j->tile)
            multiply_filter(j, from, tile_rows(j, from, to), b->data, sum);
    }
    tfd_buffer_unref(b);
}

/* The shares added to the first. */
#define SUM_SHARES(T)                                                \
    static void sum_shares_##T(T *to, const T *from, int64_t shares, \
                               int64_t n)                            \
    {                                                                \
        for (int64_t s = 0; s < shares && !tfd_halted(); s++)        \
            for (int64_t i = 0; i < n; i++)                          \
                to[i] += from[s * n + i];                            \
    }

SUM_SHARES(float)
SUM_SHARES(double)

enum tfd_code tfd_conv_volume_filter(struct tfd_kctx *k,
                                     const struct tfd_conv_volume *c,
                                     struct tfd_status *st)
{
    struct job j = job_of(c);
    const int64_t elements = j.length * c->out_channels;
    const int64_t tiles = tile_count(&j);
    const int64_t most = SUMS_BYTES_MAX / (elements * j.item) + 1;
    int64_t shares = tfd_kctx_threads(k);
    struct tfd_buffer *sums;

    if (by_dnnl(k, TFD_CONV_FILTER, c))
        return TFD_OK;
    shares = shares > most ? most : shares;
    shares = shares > tiles ? tiles : shares < 1 ? 1 : shares;
    j.each = (tiles + shares - 1) / shares;
    shares = (tiles + j.each - 1) / j.each;
    sums = tfd_buffer_new((size_t)((shares - 1) * elements * j.item));
    if (!sums)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %lld filters of %lld elements",
                        (long long)shares - 1, (long long)elements);
    j.sums = sums->data;
    tfd_kctx_parallel(k, shares, cost_of_job(&j, j.each * j.tile), filter_jobs,
                      &j);
    if (c->dtype == TFD_FLOAT)
        sum_shares_float(c->w, j.sums, shares - 1, elements);
    else
        sum_shares_double(c->w, j.sums, shares - 1, elements);
    tfd_buffer_unref(sums);
    return job_result(&j, st);
}
