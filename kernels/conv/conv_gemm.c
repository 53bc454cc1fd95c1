/*
 * conv_gemm.c - see conv_gemm.h.
 *
 * The elements of x that a window sees, one row of a matrix for each output
 * pixel ("columns", a row of which lies as w does), times w is y.  The matrix
 * is never whole: a thread makes as many rows of it as its second cache holds,
 * multiplies them and makes the next over them.  The gradient by x is the same
 * with y for x and w turned round, if windows move by one and channels are one
 * group; else the product y * w' is added back to where the rows came from,
 * image by image, so that no two threads add to one element.  For the gradient
 * by w each thread sums its own share, and the sums are added at the end.
 *
 * A window of one element that moves by one is no copy: x is the matrix.  Few
 * channels of doubles, or of small images, need none either (conv_direct.c).
 */
#include "kernels/conv/conv_gemm.h"

#include "common/base/atomic.h"
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/conv/conv_columns.h"
#include "kernels/conv/conv_dnnl.h"
#include "kernels/linalg/gemm.h"
#include "kernels/core/runtime.h"

#include <string.h>

/* Bytes of a tile of columns: a part of the second cache. */
#define TILE_BYTES (INT64_C(512) << 10)
/* Products below work on whole panels of about as many rows. */
#define TILE_ROWS_MIN 48

/* Pixels of an image that are worth the time to turn w round. */
#define TURNED_PIXELS_MIN 512

#define FLOPS_PER_NS 40

struct task {
    const struct tfd_conv *c;
    struct tfd_conv_columns columns;
    int64_t wide; /* out channels of a group */
    int64_t tile; /* rows of columns in a tile */
    bool direct;  /* x is the matrix */
    void *sums;   /* filter: one for each share */
    int64_t each; /* filter: tiles in a share */
    int failed;   /* atomic */
};

static struct task task_of(const struct tfd_conv *c)
{
    struct task t = {.c = c, .columns = tfd_conv_columns_of(c)};

    t.wide = c->out_channels / c->groups;
    t.direct = c->row.size == 1 && c->column.size == 1 && c->row.stride == 1 &&
               c->column.stride == 1 && c->row.in == c->row.out &&
               c->column.in == c->column.out;
    t.tile = TILE_BYTES / (t.columns.length * (int64_t)t.columns.item);
    if (t.tile < TILE_ROWS_MIN)
        t.tile = TILE_ROWS_MIN;
    return t;
}

/* Nanoseconds for n rows of columns. */
static int cost_of_task(const struct task *t, int64_t n)
{
    double ns = 2.0 * (double)n * (double)t->columns.length * (double)t->wide *
                (double)t->c->groups / FLOPS_PER_NS;

    return ns < 1 ? 1 : ns > 1e9 ? 1000000000 : (int)ns;
}

static struct tfd_buffer *tile_buffer(struct task *t)
{
    size_t bytes = (size_t)(t->tile * t->columns.length) * t->columns.item;
    struct tfd_buffer *b = tfd_buffer_new(bytes);

    if (!b)
        TFD_STORE_RELAXED(&t->failed, 1);
    return b;
}

static enum tfd_code result_of(const struct task *t, struct tfd_status *st)
{
    if (TFD_LOAD_RELAXED(&t->failed))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %lld x %lld elements for a "
                        "convolution",
                        (long long)t->tile, (long long)t->columns.length);
    return TFD_OK;
}

/* ---- Products ------------------------------------------------------------ */

static char *at_y(const struct task *t, int64_t pixel, int64_t group)
{
    return (char *)t->c->y +
           (size_t)(pixel * t->c->out_channels + group * t->wide) *
               t->columns.item;
}

static char *at_w(const struct task *t, void *w, int64_t group)
{
    return (char *)w + (size_t)(group * t->wide) * t->columns.item;
}

/* x itself where it is the matrix, else `tile`. */
static const void *columns(const struct task *t, int64_t pixel, int64_t n,
                           int64_t group, char *tile, int64_t *ld)
{
    *ld = t->columns.length;
    if (!t->direct) {
        tfd_conv_columns_make(&t->columns, pixel, n, group, tile);
        return tile;
    }
    *ld = t->c->in_channels;
    return (char *)t->c->x +
           (size_t)(pixel * t->c->in_channels + group * t->columns.depth) *
               t->columns.item;
}

static void forward_tile(const struct task *t, int64_t pixel, int64_t n,
                         char *tile)
{
    struct tfd_gemm g = {.dtype = t->c->dtype,
                         .m = n,
                         .n = t->wide,
                         .k = t->columns.length,
                         .ldb = t->c->out_channels,
                         .ldc = t->c->out_channels};

    for (int64_t i = 0; i < t->c->groups; i++) {
        g.a = columns(t, pixel, n, i, tile, &g.lda);
        g.b = at_w(t, t->c->w, i);
        g.c = at_y(t, pixel, i);
        tfd_gemm(&g);
    }
}

static void input_tile(const struct task *t, int64_t pixel, int64_t n,
                       char *tile)
{
    struct tfd_gemm g = {.dtype = t->c->dtype,
                         .transpose_b = true,
                         .m = n,
                         .n = t->columns.length,
                         .k = t->wide,
                         .lda = t->c->out_channels,
                         .ldb = t->c->out_channels,
                         .c = tile,
                         .ldc = t->columns.length};

    for (int64_t i = 0; i < t->c->groups; i++) {
        g.a = at_y(t, pixel, i);
        g.b = at_w(t, t->c->w, i);
        tfd_gemm(&g);
        tfd_conv_columns_add(&t->columns, pixel, n, i, tile);
    }
}

static void filter_tile(const struct task *t, int64_t pixel, int64_t n,
                        char *tile, void *sum)
{
    struct tfd_gemm g = {.dtype = t->c->dtype,
                         .transpose_a = true,
                         .add = true,
                         .m = t->columns.length,
                         .n = t->wide,
                         .k = n,
                         .ldb = t->c->out_channels,
                         .ldc = t->c->out_channels};

    for (int64_t i = 0; i < t->c->groups; i++) {
        g.a = columns(t, pixel, n, i, tile, &g.lda);
        g.b = at_y(t, pixel, i);
        g.c = at_w(t, sum, i);
        tfd_gemm(&g);
    }
}

/* ---- Forward ------------------------------------------------------------- */

static int64_t tiles_of(const struct task *t)
{
    return (t->c->batch * t->columns.pixels + t->tile - 1) / t->tile;
}

/* Pixels of a tile, of which the last may have fewer. */
static int64_t rows_of(const struct task *t, int64_t first, int64_t end)
{
    return end - first < t->tile ? end - first : t->tile;
}

static void forward_tiles(void *arg, int64_t begin, int64_t end)
{
    struct task *t = arg;
    const int64_t all = t->c->batch * t->columns.pixels;
    struct tfd_buffer *b = tile_buffer(t);

    for (int64_t i = begin; b && i < end && !tfd_halted(); i++)
        forward_tile(t, i * t->tile, rows_of(t, i * t->tile, all), b->data);
    tfd_buffer_unref(b);
}

enum tfd_code tfd_conv_forward(struct tfd_kctx *k, const struct tfd_conv *c,
                               struct tfd_status *st)
{
    struct task t = task_of(c);

    if (tfd_conv_direct(k, c) || tfd_conv_dnnl(k, TFD_CONV_FORWARD, c))
        return TFD_OK;
    tfd_kctx_parallel(k, tiles_of(&t), cost_of_task(&t, t.tile), forward_tiles,
                      &t);
    return result_of(&t, st);
}

/* ---- Gradient by the input ----------------------------------------------- */

static void input_images(void *arg, int64_t begin, int64_t end)
{
    struct task *t = arg;
    const struct tfd_conv *c = t->c;
    const size_t image = tfd_conv_columns_image(&t->columns);
    struct tfd_buffer *b = tile_buffer(t);

    tfd_halt_clear((char *)c->x + (size_t)begin * image,
                   (size_t)(end - begin) * image);
    for (int64_t i = begin * t->columns.pixels; b && begin < end; begin++)
        for (int64_t last = i + t->columns.pixels; i < last && !tfd_halted();) {
            int64_t n = rows_of(t, i, last);

            input_tile(t, i, n, b->data);
            i += n;
        }
    tfd_buffer_unref(b);
}

/* Rows and columns of w in reverse, and its channels exchanged. */
#define TURN(T)                                                    \
    static void turn_##T(const struct task *t, T *to)              \
    {                                                              \
        const int64_t in = t->columns.depth, out = t->wide;        \
        const T *from = t->c->w;                                   \
                                                                   \
        for (int64_t i = t->columns.length / in - 1; i >= 0;       \
             i--, to += in * out)                                  \
            for (int64_t c = 0; c < in; c++)                       \
                for (int64_t o = 0; o < out; o++)                  \
                    to[o * in + c] = from[(i * in + c) * out + o]; \
    }

TURN(float)
TURN(double)
TURN(int32_t)

/* Windows over y that see what saw an element of x. */
static struct tfd_window_side turned(const struct tfd_window_side *s)
{
    struct tfd_window_side side = *s;

    side.in = s->out;
    side.out = s->in;
    side.before = (s->size - 1) * s->dilation - s->before;
    return side;
}

static bool fits(const struct tfd_window_side *s)
{
    return (s->size - 1) * s->dilation < s->out;
}

static enum tfd_code input_by_forward(struct tfd_kctx *k, const struct task *t,
                                      struct tfd_status *st)
{
    const struct tfd_conv *c = t->c;
    struct tfd_conv f = {.dtype = c->dtype,
                         .row = turned(&c->row),
                         .column = turned(&c->column),
                         .batch = c->batch,
                         .in_channels = c->out_channels,
                         .out_channels = c->in_channels,
                         .groups = 1,
                         .x = c->y,
                         .y = c->x};
    const int64_t elements = t->columns.length * c->out_channels;
    struct tfd_buffer *b = tfd_buffer_new((size_t)elements * t->columns.item);
    enum tfd_code rc;

    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating a filter of %lld elements",
                        (long long)elements);
    f.w = b->data;
    if (c->dtype == TFD_FLOAT)
        turn_float(t, f.w);
    else if (c->dtype == TFD_DOUBLE)
        turn_double(t, f.w);
    else
        turn_int32_t(t, f.w);
    rc = tfd_conv_forward(k, &f, st);
    tfd_buffer_unref(b);
    return rc;
}

enum tfd_code tfd_conv_input(struct tfd_kctx *k, const struct tfd_conv *c,
                             struct tfd_status *st)
{
    struct task t = task_of(c);

    const bool turns =
        c->groups == 1 && c->row.stride == 1 && c->column.stride == 1;

    /* oneDNN is faster forward, where windows are no longer than y. */
    if (turns && fits(&c->row) && fits(&c->column) &&
        c->row.in * c->column.in >= TURNED_PIXELS_MIN)
        return input_by_forward(k, &t, st);
    if (tfd_conv_dnnl(k, TFD_CONV_INPUT, c))
        return TFD_OK;
    if (turns)
        return input_by_forward(k, &t, st);
    tfd_kctx_parallel(k, c->batch, cost_of_task(&t, t.columns.pixels),
                      input_images, &t);
    return result_of(&t, st);
}

/* ---- Gradient by the filter ---------------------------------------------- */

static void filter_shares(void *arg, int64_t begin, int64_t end)
{
    struct task *t = arg;
    const int64_t all = t->c->batch * t->columns.pixels;
    const size_t size =
        (size_t)(t->columns.length * t->c->out_channels) * t->columns.item;
    struct tfd_buffer *b = tile_buffer(t);

    for (int64_t share = begin; b && share < end; share++) {
        char *sum = (char *)t->sums + (size_t)share * size;
        int64_t from = share * t->each * t->tile;
        int64_t to = from + t->each * t->tile;

        memset(sum, 0, size);
        to = to < all ? to : all;
        for (; from < to && !tfd_halted(); from += t->tile)
            filter_tile(t, from, rows_of(t, from, to), b->data, sum);
    }
    tfd_buffer_unref(b);
}

#define ADD_SHARE(T)                                           \
    static void add_share_##T(T *to, const T *from, int64_t n) \
    {                                                          \
        for (int64_t i = 0; i < n; i++)                        \
            to[i] += from[i];                                  \
    }

ADD_SHARE(float)
ADD_SHARE(double)

static void add_share(const struct task *t, int64_t share, int64_t elements)
{
    const void *from =
        (char *)t->sums + (size_t)(share * elements) * t->columns.item;

    if (t->c->dtype == TFD_FLOAT)
        add_share_float(t->c->w, from, elements);
    else
        add_share_double(t->c->w, from, elements);
}

enum tfd_code tfd_conv_filter(struct tfd_kctx *k, const struct tfd_conv *c,
                              struct tfd_status *st)
{
    struct task t = task_of(c);
    const int64_t elements = t.columns.length * c->out_channels,
                  tiles = tiles_of(&t);
    int64_t shares = tfd_kctx_threads(k);
    struct tfd_buffer *sums;

    if (tfd_conv_dnnl(k, TFD_CONV_FILTER, c))
        return TFD_OK;
    if (shares > tiles)
        shares = tiles;
    if (shares < 1)
        shares = 1;
    t.each = (tiles + shares - 1) / shares;
    shares = (tiles + t.each - 1) / t.each;
    sums = tfd_buffer_new((size_t)(shares * elements) * t.columns.item);
    if (!sums)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %lld filters of %lld elements",
                        (long long)shares, (long long)elements);
    t.sums = sums->data;
    tfd_kctx_parallel(k, shares, cost_of_task(&t, t.each * t.tile),
                      filter_shares, &t);
    memcpy(c->w, t.sums, (size_t)elements * t.columns.item);
    for (int64_t i = 1; i < shares; i++)
        add_share(&t, i, elements);
    tfd_buffer_unref(sums);
    return result_of(&t, st);
}
