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
#include "kernels/core/runtime.h"

#define PRODUCTS_PER_NS 80
/* Weights are packed for each layout that a primitive wants: the first and the
 * last band may have primitives of their own. */
#define LAYOUTS_MAX 4

struct bands {
    const struct tfd_conv *c;
    struct tfd_conv_band band[TFD_CONV_BANDS_MAX];
    void *w[TFD_CONV_BANDS_MAX]; /* packed, for each */
    int64_t count;               /* of an image */
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
static struct tfd_conv_band forward_band(const struct tfd_window_side *s,
                                         int64_t begin, int64_t end)
{
    const int64_t first = begin * s->stride - s->before;
    const int64_t last = (end - 1) * s->stride - s->before + extent(s);
    struct tfd_conv_band b = {.row = *s, .x = within(first, s->in), .y = begin};

    b.row.in = within(last, s->in) - b.x;
    b.row.out = end - begin;
    b.row.before = b.x - first;
    return b;
}

/* Rows [begin, end) of the gradient x: of the rows of y that they went to. */
static struct tfd_conv_band input_band(const struct tfd_window_side *s,
                                       int64_t begin, int64_t end)
{
    const int64_t ahead = begin + s->before - (extent(s) - 1);
    const int64_t first = ahead > 0 ? (ahead + s->stride - 1) / s->stride : 0;
    const int64_t last = within((end - 1 + s->before) / s->stride + 1, s->out);
    struct tfd_conv_band b = {.row = *s, .x = begin, .y = first};

    b.row.in = end - begin;
    b.row.out = last - first;
    b.row.before = begin + s->before - first * s->stride;
    return b;
}

/* ---- Primitives ---------------------------------------------------------- */

static const struct tfd_conv_primitive *
acquire(enum tfd_conv_kind kind, const struct tfd_conv *c,
        const struct tfd_window_side *row)
{
    const bool deep = c->plane.size != 0;

    if (row->in < 1 || row->out < 1)
        return NULL;
    return tfd_conv_primitives_acquire(
        &(struct tfd_conv_shape_key){.kind = kind,
                                     .bfloat16 = c->dtype == TFD_BFLOAT16,
                                     .images = 1,
                                     .in_channels = c->in_channels,
                                     .out_channels = c->out_channels,
                                     .plane = deep ? *row : c->plane,
                                     .row = deep ? c->row : *row,
                                     .column = c->column});
}

/* In memory that an earlier band has, where its primitive wants the same. */
static bool pack_band(struct bands *w, int64_t i)
{
    const struct tfd_conv_primitive *p = w->band[i].primitive;
    struct tfd_buffer *packed;

    for (int64_t j = 0; j < i && !w->w[i]; j++)
        if (tfd_conv_primitive_packs_alike(p, w->band[j].primitive))
            w->w[i] = w->w[j];
    if (w->w[i])
        return true;
    if (w->layouts == LAYOUTS_MAX)
        return false;
    packed = tfd_buffer_new(tfd_conv_primitive_packed(p));
    if (!packed)
        return false;
    w->packed[w->layouts++] = packed;
    w->w[i] = packed->data;
    return tfd_conv_primitive_reorder(p, w->c->w, packed->data);
}

static bool pack(struct bands *w)
{
    for (int64_t i = 0; i < w->count; i++)
        if (!pack_band(w, i))
            return false;
    return true;
}

/* ---- Bands of an image --------------------------------------------------- */

/* A sum of its own of a large filter, which is made, reordered and added, takes
 * as long as some hundred pixels of a band. */
#define LARGE_FILTER 16384
#define LARGE_FILTER_PIXELS 512

/* Bands that are worth their while: for sums of a large filter fewer. */
static int64_t most_bands(enum tfd_conv_kind kind, const struct tfd_conv *c)
{
    const double products = tfd_conv_products(c);
    const double worth = products / TFD_CONV_BAND_PRODUCTS;
    const double pixels = (double)tfd_conv_planes_out(c) * (double)c->row.out *
                          (double)c->column.out;
    int64_t most =
        worth < TFD_CONV_BANDS_MAX ? (int64_t)worth : TFD_CONV_BANDS_MAX;

    if (kind == TFD_CONV_FILTER && products >= LARGE_FILTER * pixels)
        for (int64_t bands = TFD_CONV_BANDS_MAX; bands > 1; bands /= 2)
            if (most >= bands && pixels < (double)bands * LARGE_FILTER_PIXELS)
                most = bands / 2;
    return most;
}

/* Cuts the rows of the result into bands of no fewer than `least`. */
static int64_t cut_bands(enum tfd_conv_kind kind, const struct tfd_conv *c,
                         int64_t least, struct tfd_conv_band *band)
{
    const struct tfd_window_side *s = long_side(c);
    const int64_t rows = kind == TFD_CONV_INPUT ? s->in : s->out;
    const int64_t most = most_bands(kind, c);
    const int64_t even = most > 0 ? (rows + most - 1) / most : rows;
    const int64_t each = even > least ? even : least;
    int64_t count = 0, at = 0;

    for (; rows - at >= each + least && count < TFD_CONV_BANDS_MAX - 1;
         at += each)
        band[count++] = kind == TFD_CONV_INPUT ? input_band(s, at, at + each)
                                               : forward_band(s, at, at + each);
    if (count > 0)
        band[count++] = kind == TFD_CONV_INPUT ? input_band(s, at, rows)
                                               : forward_band(s, at, rows);
    return count;
}

/* Rows of y whose windows see as many of x as one has, at either end. */
static int64_t rows_of_window(const struct tfd_window_side *s)
{
    const int64_t after = (s->out - 1) * s->stride + extent(s) - s->in;
    const int64_t missed =
        after - s->before > s->before ? after - s->before : s->before;

    return missed > 0 ? (missed + s->stride - 1) / s->stride + 1 : 1;
}

/* Bands are no shorter than a window, unless they would be none. */
static int64_t choose_bands(enum tfd_conv_kind kind, const struct tfd_conv *c,
                            int threads, struct tfd_conv_band *band)
{
    const struct tfd_window_side *s = long_side(c);
    int64_t count = cut_bands(kind, c, extent(s), band);

    if (count > 0 || kind == TFD_CONV_INPUT)
        return count;
    count = cut_bands(kind, c, rows_of_window(s), band);
    return c->dtype == TFD_FLOAT &&
                   c->batch * count * TFD_CONV_PRODUCTS_THREADS < threads
               ? 0
               : count;
}

int64_t tfd_conv_bands_of(const struct tfd_kctx *k, enum tfd_conv_kind kind,
                          const struct tfd_conv *c, struct tfd_conv_band *band)
{
    const int64_t count = choose_bands(kind, c, tfd_kctx_threads(k), band);

    for (int64_t i = 0; i < count; i++) {
        band[i].primitive = acquire(kind, c, &band[i].row);
        if (!band[i].primitive) {
            tfd_conv_bands_release(band, i);
            return 0;
        }
    }
    return count;
}

void tfd_conv_bands_release(const struct tfd_conv_band *band, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        tfd_conv_primitives_release(band[i].primitive);
}

void *tfd_conv_band_x(const struct tfd_conv *c, const struct tfd_conv_band *b,
                      int64_t image)
{
    const int64_t row = (c->plane.size ? c->row.in : 1) * c->column.in *
                        c->in_channels * (int64_t)tfd_dtype_size(c->dtype);

    return (char *)c->x + (image * long_side(c)->in + b->x) * row;
}

void *tfd_conv_band_y(const struct tfd_conv *c, const struct tfd_conv_band *b,
                      int64_t image)
{
    const int64_t row = (c->plane.size ? c->row.out : 1) * c->column.out *
                        c->out_channels * (int64_t)tfd_dtype_size(c->dtype);

    return (char *)c->y + (image * long_side(c)->out + b->y) * row;
}

/* ---- All bands ----------------------------------------------------------- */

/* Of all images, one after the other. */
static void run_bands(void *arg, int64_t begin, int64_t end)
{
    struct bands *w = arg;

    for (int64_t i = begin; i < end; i++) {
        const struct tfd_conv_band *b = &w->band[i % w->count];
        const int64_t image = i / w->count;

        if (!tfd_conv_primitive_run(
                b->primitive, tfd_conv_band_x(w->c, b, image),
                w->w[i % w->count], tfd_conv_band_y(w->c, b, image), 1))
            TFD_STORE_RELAXED(&w->failed, 1);
    }
}

bool tfd_conv_bands(struct tfd_kctx *k, enum tfd_conv_kind kind,
                    const struct tfd_conv *c)
{
    struct bands w = {.c = c};
    double ns;
    bool done;

    w.count = tfd_conv_bands_of(k, kind, c, w.band);
    if (w.count == 0)
        return false;
    ns = tfd_conv_products(c) / PRODUCTS_PER_NS / (double)w.count;
    done = pack(&w);
    if (done)
        tfd_kctx_parallel(k, c->batch * w.count,
                          ns < 1e9 ? (int)ns : 1000000000, run_bands, &w);
    for (int i = 0; i < w.layouts; i++)
        tfd_buffer_unref(w.packed[i]);
    tfd_conv_bands_release(w.band, w.count);
    return done && !w.failed;
}
