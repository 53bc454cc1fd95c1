/*
 * conv_bands.c - see conv_bands.h.
 *
 * A band of the result's rows, or planes, is a convolution, or a gradient, of
 * its own: of those rows of the other image that it depends on.  Where windows
 * reach beyond the image, the band is padded as the image is.  A gradient's
 * band is padded as well where windows reach into the rows of other bands,
 * which compute those rows themselves.
 */
#include "kernels/conv/conv_bands.h"

#include "common/base/atomic.h"
#include "common/base/alloc.h"
#include "kernels/conv/conv_primitives.h"

#define BANDS_MAX 16
#define BAND_PRODUCTS 2e6 /* worth a thread */
#define PRODUCTS_PER_NS 80
/* Weights are packed for each layout that a primitive wants: the first and the
 * last band may have primitives of their own. */
#define LAYOUTS_MAX 4

struct band {
    struct tfd_window_side row; /* or plane */
    int64_t x, y;               /* its first rows in the images */
    const struct tfd_conv_primitive *primitive;
    void *packed;
};

struct bands {
    const struct tfd_conv *c;
    struct band band[BANDS_MAX];
    int64_t count; /* of an image */
    struct tfd_buffer *packed[LAYOUTS_MAX];
    int layouts;
    int failed; /* atomic */
};

/* What bands are cut of: rows, or planes of a volume. */
static const struct tfd_window_side *long_side(const struct tfd_conv *c)
{
    return c->plane.size ? &c->plane : &c->row;
}

/* ---- Rows ---------------------------------------------------------------- */

static int64_t extent(const struct tfd_window_side *s)
{
    return (s->size - 1) * s->dilation + 1;
}

static int64_t within(int64_t row, int64_t end)
{
    return row < 0 ? 0 : row < end ? row : end;
}

/* Rows [begin, end) of y. */
static struct band forward_band(const struct tfd_window_side *s, int64_t begin,
                                int64_t end)
{
    const int64_t first = begin * s->stride - s->before;
    const int64_t last = (end - 1) * s->stride - s->before + extent(s);
    struct band b = {.row = *s, .x = within(first, s->in), .y = begin};

    b.row.in = within(last, s->in) - b.x;
    b.row.out = end - begin;
    b.row.before = b.x - first;
    return b;
}

/* Rows [begin, end) of the gradient x: of the rows of y that they went to. */
static struct band input_band(const struct tfd_window_side *s, int64_t begin,
                              int64_t end)
{
    const int64_t ahead = begin + s->before - (extent(s) - 1);
    const int64_t first = ahead > 0 ? (ahead + s->stride - 1) / s->stride : 0;
    const int64_t last = within((end - 1 + s->before) / s->stride + 1, s->out);
    struct band b = {.row = *s, .x = begin, .y = first};

    b.row.in = end - begin;
    b.row.out = last - first;
    b.row.before = begin + s->before - first * s->stride;
    return b;
}

/* ---- Primitives ---------------------------------------------------------- */

static bool acquire(struct bands *w, enum tfd_conv_kind kind)
{
    const struct tfd_conv *c = w->c;
    const bool deep = c->plane.size != 0;

    for (int64_t i = 0; i < w->count; i++) {
        struct band *b = &w->band[i];

        if (b->row.in < 1 || b->row.out < 1)
            return false;
        b->primitive = tfd_conv_primitives_acquire(
            &(struct tfd_conv_shape_key){.kind = kind,
                                         .bfloat16 = c->dtype == TFD_BFLOAT16,
                                         .images = 1,
                                         .in_channels = c->in_channels,
                                         .out_channels = c->out_channels,
                                         .plane = deep ? b->row : c->plane,
                                         .row = deep ? c->row : b->row,
                                         .column = c->column});
        if (!b->primitive)
            return false;
    }
    return true;
}

/* In memory that an earlier band has, where its primitive wants the same. */
static bool pack_band(struct bands *w, int64_t i)
{
    struct band *b = &w->band[i];
    struct tfd_buffer *packed;

    for (int64_t j = 0; j < i && !b->packed; j++)
        if (tfd_conv_primitive_packs_alike(b->primitive, w->band[j].primitive))
            b->packed = w->band[j].packed;
    if (b->packed)
        return true;
    if (w->layouts == LAYOUTS_MAX)
        return false;
    packed = tfd_buffer_new(tfd_conv_primitive_packed(b->primitive));
    if (!packed)
        return false;
    w->packed[w->layouts++] = packed;
    b->packed = packed->data;
    return tfd_conv_primitive_reorder(b->primitive, w->c->w, b->packed);
}

static bool pack(struct bands *w)
{
    for (int64_t i = 0; i < w->count; i++)
        if (!pack_band(w, i))
            return false;
    return true;
}

static void release_bands(struct bands *w)
{
    for (int i = 0; i < w->layouts; i++)
        tfd_buffer_unref(w->packed[i]);
    for (int64_t i = 0; i < w->count; i++)
        tfd_conv_primitives_release(w->band[i].primitive);
}

/* ---- All bands ----------------------------------------------------------- */

/* Of all images, one after the other. */
static void run_bands(void *arg, int64_t begin, int64_t end)
{
    struct bands *w = arg;
    const struct tfd_conv *c = w->c;
    const struct tfd_window_side *s = long_side(c);
    const bool deep = c->plane.size != 0;
    const int64_t item = (int64_t)tfd_dtype_size(c->dtype);
    const int64_t x_row =
        (deep ? c->row.in : 1) * c->column.in * c->in_channels * item;
    const int64_t y_row =
        (deep ? c->row.out : 1) * c->column.out * c->out_channels * item;

    for (int64_t i = begin; i < end; i++) {
        const struct band *b = &w->band[i % w->count];
        const int64_t image = i / w->count;

        if (!tfd_conv_primitive_run(
                b->primitive, (char *)c->x + (image * s->in + b->x) * x_row,
                b->packed, (char *)c->y + (image * s->out + b->y) * y_row, 1))
            TFD_STORE_RELAXED(&w->failed, 1);
    }
}

/* Cuts the rows of the result into bands that are no shorter than a window. */
static void cut_bands(struct bands *w, enum tfd_conv_kind kind)
{
    const struct tfd_window_side *s = long_side(w->c);
    const int64_t rows = kind == TFD_CONV_INPUT ? s->in : s->out;
    const double worth = tfd_conv_products(w->c) / BAND_PRODUCTS;
    const int64_t most = worth < BANDS_MAX ? (int64_t)worth : BANDS_MAX;
    const int64_t even = most > 0 ? (rows + most - 1) / most : rows;
    const int64_t each = even > extent(s) ? even : extent(s);

    for (int64_t at = 0;
         rows - at >= each + extent(s) && w->count < BANDS_MAX - 1; at += each)
        w->band[w->count++] = kind == TFD_CONV_INPUT
                                  ? input_band(s, at, at + each)
                                  : forward_band(s, at, at + each);
    if (w->count > 0)
        w->band[w->count] = kind == TFD_CONV_INPUT
                                ? input_band(s, w->count * each, rows)
                                : forward_band(s, w->count * each, rows);
    w->count += w->count > 0;
}

bool tfd_conv_bands(struct tfd_kctx *k, enum tfd_conv_kind kind,
                    const struct tfd_conv *c)
{
    struct bands w = {.c = c};
    double ns;
    bool done;

    cut_bands(&w, kind);
    if (w.count == 0)
        return false;
    ns = tfd_conv_products(c) / PRODUCTS_PER_NS / (double)w.count;
    done = acquire(&w, kind) && pack(&w);
    if (done)
        tfd_kctx_parallel(k, c->batch * w.count,
                          ns < 1e9 ? (int)ns : 1000000000, run_bands, &w);
    release_bands(&w);
    return done && !w.failed;
}
