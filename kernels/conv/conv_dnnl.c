/*
 * conv_dnnl.c - see conv_dnnl.h.
 *
 * Threads share the images, and each image is one call of a primitive for a
 * batch of one, so that the size of a batch needs no primitive of its own.  The
 * gradient by w sums over images: each thread's share of them is one call, and
 * the sums are added.  Shares are of one size but for the last.
 *
 * A batch of fewer images than threads goes by bands of rows (conv_bands.c),
 * of which each is a share where sums are shared.
 * All this holds for volumes, which are cut into bands of planes.
 */
#include "kernels/conv/conv_dnnl.h"

#include "common/base/atomic.h"
#include "common/base/alloc.h"
#include "kernels/conv/conv_bands.h"
#include "kernels/conv/conv_primitives.h"
#include "kernels/linalg/dnnl.h"
#include "kernels/core/runtime.h"
#include "kernels/vector/narrow.h"

#include <string.h>

/* Products of an image below which a call costs more than it saves. */
#define IMAGE_MIN 100000
/* Channels of x below which its gradient by windows with steps is slow. */
#define CHANNELS_MIN 16
#define PRODUCTS_PER_NS 80
/* Pixels of y for which its bands have sums of the gradient by w of their own:
 * adding those is little beside them. */
#define BANDED_PIXELS_MIN 1024

struct work {
    const struct tfd_conv *c;
    const struct tfd_conv_primitive *whole, *rest;
    void *packed;                                  /* forward, input: w */
    float *sums;                                   /* filter: see sum_of() */
    int64_t each, shares, elements;                /* filter */
    struct tfd_conv_band band[TFD_CONV_BANDS_MAX]; /* filter, of an image */
    int64_t bands;                                 /* or 0 */
    int failed;                                    /* atomic */
};

/* Image i of x, and of y. */
static void *image_in(const struct tfd_conv *c, int64_t i)
{
    return (char *)c->x + (size_t)(i * tfd_conv_planes_in(c) * c->row.in *
                                   c->column.in * c->in_channels) *
                              tfd_dtype_size(c->dtype);
}

static void *image_out(const struct tfd_conv *c, int64_t i)
{
    return (char *)c->y + (size_t)(i * tfd_conv_planes_out(c) * c->row.out *
                                   c->column.out * c->out_channels) *
                              tfd_dtype_size(c->dtype);
}

static int cost_of_products(double count)
{
    double ns = count / PRODUCTS_PER_NS;

    return ns < 1 ? 1 : ns > 1e9 ? 1000000000 : (int)ns;
}

/* Steps of more than one leave a vector of few channels mostly empty: a third
 * as fast as products, for three channels. */
static bool is_sparse(enum tfd_conv_kind kind, const struct tfd_conv *c)
{
    return kind == TFD_CONV_INPUT && c->in_channels < CHANNELS_MIN &&
           (c->plane.stride > 1 || c->row.stride > 1 || c->column.stride > 1);
}

/* Code for other processors widens pieces of images, and is slow. */
static bool has_bfloat16(const struct tfd_conv *c)
{
#if defined(__x86_64__)
    return c->dtype == TFD_BFLOAT16 && __builtin_cpu_supports("avx512bf16");
#else
    (void)c;
    return false;
#endif
}

/* For the gradient by w of bfloat16 the library (2.6) reads planes of x that
 * are not there, where windows step over planes and reach into the padding. */
static bool is_wrong(enum tfd_conv_kind kind, const struct tfd_conv *c)
{
    return kind == TFD_CONV_FILTER && c->dtype == TFD_BFLOAT16 &&
           c->plane.size > 0 && c->plane.stride > 1;
}

static bool is_wanted(enum tfd_conv_kind kind, const struct tfd_conv *c)
{
    return !is_wrong(kind, c) && (c->dtype == TFD_FLOAT || has_bfloat16(c)) &&
           c->groups == 1 && tfd_conv_products(c) >= IMAGE_MIN &&
           !is_sparse(kind, c) && tfd_dnnl_has_primitives();
}

static const struct tfd_conv_primitive *
acquire(enum tfd_conv_kind kind, const struct tfd_conv *c, int64_t images)
{
    return tfd_conv_primitives_acquire(
        &(struct tfd_conv_shape_key){.kind = kind,
                                     .bfloat16 = c->dtype == TFD_BFLOAT16,
                                     .images = images,
                                     .in_channels = c->in_channels,
                                     .out_channels = c->out_channels,
                                     .plane = c->plane,
                                     .row = c->row,
                                     .column = c->column});
}

static void check_primitive(struct work *w, bool done)
{
    if (!done)
        TFD_STORE_RELAXED(&w->failed, 1);
}

/* ---- Image by image ------------------------------------------------------ */

static void images(void *arg, int64_t begin, int64_t end)
{
    struct work *w = arg;
    const struct tfd_conv *c = w->c;

    check_primitive(w, tfd_conv_primitive_run(w->whole, image_in(c, begin),
                                              w->packed, image_out(c, begin),
                                              end - begin));
}

static bool by_image(struct tfd_kctx *k, enum tfd_conv_kind kind,
                     const struct tfd_conv *c)
{
    struct work w = {.c = c, .whole = acquire(kind, c, 1)};
    struct tfd_buffer *packed;
    bool done;

    if (!w.whole)
        return false;
    packed = tfd_buffer_new(tfd_conv_primitive_packed(w.whole));
    done = packed && tfd_conv_primitive_reorder(w.whole, c->w, packed->data);
    if (done) {
        w.packed = packed->data;
        tfd_kctx_parallel(k, c->batch, cost_of_products(tfd_conv_products(c)),
                          images, &w);
        done = !w.failed;
    }
    tfd_buffer_unref(packed);
    tfd_conv_primitives_release(w.whole);
    return done;
}

/* ---- The gradient by the filter ------------------------------------------ */

/* The first is w itself, unless that is of a narrow type. */
static float *sum_of(const struct work *w, int64_t share)
{
    const bool narrow = w->c->dtype == TFD_BFLOAT16;

    return share == 0 && !narrow
               ? w->c->w
               : w->sums + (share - (narrow ? 0 : 1)) * w->elements;
}

/* What of x and y a share begins with, and the code for it. */
struct share {
    const struct tfd_conv_primitive *primitive;
    void *x, *y;
};

static struct share share_of(const struct work *w, int64_t share)
{
    const bool last = share == w->shares - 1;
    const int64_t first = share * w->each;

    if (w->bands) {
        const struct tfd_conv_band *b = &w->band[share % w->bands];
        const int64_t image = share / w->bands;

        return (struct share){b->primitive, tfd_conv_band_x(w->c, b, image),
                              tfd_conv_band_y(w->c, b, image)};
    }
    return (struct share){last ? w->rest : w->whole, image_in(w->c, first),
                          image_out(w->c, first)};
}

static bool one_share(const struct work *w, int64_t share)
{
    const struct share s = share_of(w, share);
    struct tfd_buffer *packed =
        tfd_buffer_new(tfd_conv_primitive_packed(s.primitive));
    bool done =
        packed &&
        tfd_conv_primitive_run(s.primitive, s.x, packed->data, s.y, 1) &&
        tfd_conv_primitive_reorder(s.primitive, packed->data, sum_of(w, share));

    tfd_buffer_unref(packed);
    return done;
}

static void shares(void *arg, int64_t begin, int64_t end)
{
    struct work *w = arg;

    for (; begin < end; begin++)
        check_primitive(w, one_share(w, begin));
}

static void add_shares(void *arg, int64_t begin, int64_t end)
{
    const struct work *w = arg;
    float *to = sum_of(w, 0);

    for (int64_t share = 1; share < w->shares; share++) {
        const float *from = sum_of(w, share);

        for (int64_t i = begin; i < end; i++)
            to[i] += from[i];
    }
}

static bool sum_shares(struct tfd_kctx *k, struct work *w)
{
    const bool narrow = w->c->dtype == TFD_BFLOAT16;
    struct tfd_buffer *sums = tfd_buffer_new(
        (size_t)((w->shares - !narrow) * w->elements) * sizeof(float));

    if (!sums)
        return false;
    w->sums = sums->data;
    tfd_kctx_parallel(k, w->shares,
                      cost_of_products(tfd_conv_products(w->c) *
                                       (double)w->c->batch / (double)w->shares),
                      shares, w);
    if (!w->failed && w->shares > 1)
        tfd_kctx_parallel(k, w->elements, 1, add_shares, w);
    if (!w->failed && narrow)
        tfd_narrow_round(w->c->dtype, w->sums, w->c->w, w->elements);
    tfd_buffer_unref(sums);
    return !w->failed;
}

static int64_t numbers_of_filter(const struct tfd_conv *c)
{
    return (c->plane.size ? c->plane.size : 1) * c->row.size * c->column.size *
           c->in_channels * c->out_channels;
}

static bool by_share(struct tfd_kctx *k, const struct tfd_conv *c)
{
    struct work w = {.c = c, .elements = numbers_of_filter(c)};
    const int64_t threads = tfd_kctx_threads(k);
    bool done;

    w.each = (c->batch + threads - 1) / threads;
    w.shares = (c->batch + w.each - 1) / w.each;
    w.whole = acquire(TFD_CONV_FILTER, c, w.each);
    w.rest = acquire(TFD_CONV_FILTER, c, c->batch - (w.shares - 1) * w.each);
    done = w.whole && w.rest && sum_shares(k, &w);
    tfd_conv_primitives_release(w.whole);
    tfd_conv_primitives_release(w.rest);
    return done;
}

/* Each band has a sum of its own. */
static bool by_band(struct tfd_kctx *k, const struct tfd_conv *c)
{
    struct work w = {.c = c, .elements = numbers_of_filter(c)};
    bool done;

    if (tfd_conv_planes_out(c) * c->row.out * c->column.out < BANDED_PIXELS_MIN)
        return false;
    w.bands = tfd_conv_bands_of(k, TFD_CONV_FILTER, c, w.band);
    w.shares = c->batch * w.bands;
    done = w.bands > 0 && sum_shares(k, &w);
    tfd_conv_bands_release(w.band, w.bands);
    return done;
}

/* Windows over y that see what saw an element of x. */
static struct tfd_window_side turned(const struct tfd_window_side *s)
{
    struct tfd_window_side side = *s;

    if (s->size == 0)
        return side;
    side.in = s->out;
    side.out = s->in;
    side.before = (s->size - 1) * s->dilation - s->before;
    return side;
}

/* Channels whose lines stay in the first cache while others are gone along. */
#define TURNED 32

/* The elements of w in reverse, and its channels exchanged. */
static void turn_narrow(const struct tfd_conv *c, uint16_t *to)
{
    const int64_t in = c->in_channels, out = c->out_channels;
    const uint16_t *from = c->w;

    for (int64_t i = numbers_of_filter(c) / in / out - 1; i >= 0;
         i--, to += in * out)
        for (int64_t first = 0; first < in; first += TURNED)
            for (int64_t y = 0; y < out; y++)
                for (int64_t x = first; x < in && x < first + TURNED; x++)
                    to[y * in + x] = from[(i * in + x) * out + y];
}

/* The gradient by x of windows that move by one is a convolution of y, whose
 * bands may be shorter.  Of bfloat16: whoever has floats has turned them. */
static bool by_turning(struct tfd_kctx *k, const struct tfd_conv *c)
{
    struct tfd_conv f = *c;
    struct tfd_buffer *b;
    bool done;

    if (c->dtype != TFD_BFLOAT16 || c->plane.stride > 1 || c->row.stride > 1 ||
        c->column.stride > 1 ||
        tfd_conv_products(c) < 2 * TFD_CONV_BAND_PRODUCTS)
        return false;
    b = tfd_buffer_new((size_t)numbers_of_filter(c) * sizeof(uint16_t));
    if (!b)
        return false;
    turn_narrow(c, b->data);
    f.plane = turned(&c->plane);
    f.row = turned(&c->row);
    f.column = turned(&c->column);
    f.in_channels = c->out_channels;
    f.out_channels = c->in_channels;
    f.x = c->y;
    f.w = b->data;
    f.y = c->x;
    done = tfd_conv_bands(k, TFD_CONV_FORWARD, &f);
    tfd_buffer_unref(b);
    return done;
}

static bool by_few_images(struct tfd_kctx *k, enum tfd_conv_kind kind,
                          const struct tfd_conv *c)
{
    if (kind == TFD_CONV_FILTER)
        return by_band(k, c);
    return tfd_conv_bands(k, kind, c) ||
           (kind == TFD_CONV_INPUT && by_turning(k, c));
}

bool tfd_conv_dnnl(struct tfd_kctx *k, enum tfd_conv_kind kind,
                   const struct tfd_conv *c)
{
    if (!is_wanted(kind, c))
        return false;
    if (c->batch < tfd_kctx_threads(k)) {
        if (by_few_images(k, kind, c))
            return true;
        if (c->dtype == TFD_FLOAT &&
            c->batch * TFD_CONV_PRODUCTS_THREADS < tfd_kctx_threads(k))
            return false;
    }
    return kind == TFD_CONV_FILTER ? by_share(k, c) : by_image(k, kind, c);
}

static const struct tfd_tensor *tensor_of(const struct tfd_kctx *k,
                                          const struct tfd_image *o)
{
    return o->from ? o->from : &k->out[o->out];
}

bool tfd_conv_dnnl_narrow(struct tfd_kctx *k, enum tfd_conv_kind kind,
                          const struct tfd_conv *c, const struct tfd_image *o)
{
    struct tfd_conv narrow = *c;

    narrow.dtype = tensor_of(k, &o[0])->dtype;
    if (!has_bfloat16(&narrow))
        return false;
    for (int i = 0; i < 3; i++)
        if (o[i].second || tfd_tensor_elements(tensor_of(k, &o[i])) == 0)
            return false;
    narrow.x = tfd_tensor_data(tensor_of(k, &o[0]));
    narrow.w = tfd_tensor_data(tensor_of(k, &o[1]));
    narrow.y = tfd_tensor_data(tensor_of(k, &o[2]));
    return tfd_conv_dnnl(k, kind, &narrow);
}
