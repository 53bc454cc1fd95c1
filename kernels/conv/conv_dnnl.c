/*
 * conv_dnnl.c - see conv_dnnl.h.
 *
 * Threads share the images, and each image is one call of a primitive for a
 * batch of one, so that the size of a batch needs no primitive of its own.  The
 * gradient by w sums over images: each thread's share of them is one call, and
 * the sums are added.  Shares are of one size but for the last.
 *
 * A batch of fewer images than threads goes by bands of rows (conv_bands.c).
 * All this holds for volumes, which are cut into bands of planes.
 */
#include "kernels/conv/conv_dnnl.h"

#include "common/base/atomic.h"
#include "common/base/alloc.h"
#include "common/thread/pool.h"
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
/* Threads that products of floats take to be as quick as a primitive is on one;
 * they use as many as there are. */
#define PRODUCTS_THREADS 4
#define PRODUCTS_PER_NS 80

struct work {
    const struct tfd_conv *c;
    const struct tfd_conv_primitive *whole, *rest;
    void *packed;                   /* forward, input: w */
    float *sums;                    /* filter: see sum_of() */
    int64_t each, shares, elements; /* filter */
    int failed;                     /* atomic */
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

static int threads_of(const struct tfd_kctx *k)
{
    return k->rt ? tfd_pool_threads(tfd_rt_pool(k->rt)) : 0;
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

static bool is_wanted(enum tfd_conv_kind kind, const struct tfd_conv *c)
{
    return (c->dtype == TFD_FLOAT || has_bfloat16(c)) && c->groups == 1 &&
           tfd_conv_products(c) >= IMAGE_MIN && !is_sparse(kind, c) &&
           tfd_dnnl_has_primitives();
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
                     struct work *w)
{
    struct tfd_buffer *packed;
    bool done;

    w->whole = acquire(kind, w->c, 1);
    if (!w->whole)
        return false;
    packed = tfd_buffer_new(tfd_conv_primitive_packed(w->whole));
    done =
        packed && tfd_conv_primitive_reorder(w->whole, w->c->w, packed->data);
    if (done) {
        w->packed = packed->data;
        tfd_kctx_parallel(k, w->c->batch,
                          cost_of_products(tfd_conv_products(w->c)), images, w);
        done = !w->failed;
    }
    tfd_buffer_unref(packed);
    tfd_conv_primitives_release(w->whole);
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

static bool one_share(const struct work *w, int64_t share)
{
    const struct tfd_conv *c = w->c;
    const bool last = share == w->shares - 1;
    const struct tfd_conv_primitive *p = last ? w->rest : w->whole;
    const int64_t first = share * w->each;
    struct tfd_buffer *packed = tfd_buffer_new(tfd_conv_primitive_packed(p));
    bool done = packed &&
                tfd_conv_primitive_run(p, image_in(c, first), packed->data,
                                       image_out(c, first), 1) &&
                tfd_conv_primitive_reorder(p, packed->data, sum_of(w, share));

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
    tfd_kctx_parallel(
        k, w->shares,
        cost_of_products(tfd_conv_products(w->c) * (double)w->each), shares, w);
    if (!w->failed && w->shares > 1)
        tfd_kctx_parallel(k, w->elements, 1, add_shares, w);
    if (!w->failed && narrow)
        tfd_narrow_round(w->c->dtype, w->sums, w->c->w, w->elements);
    tfd_buffer_unref(sums);
    return !w->failed;
}

static bool by_share(struct tfd_kctx *k, struct work *w)
{
    const struct tfd_conv *c = w->c;
    const int64_t threads = threads_of(k) > 1 ? threads_of(k) : 1;
    bool done;

    w->each = (c->batch + threads - 1) / threads;
    w->shares = (c->batch + w->each - 1) / w->each;
    w->elements = (c->plane.size ? c->plane.size : 1) * c->row.size *
                  c->column.size * c->in_channels * c->out_channels;
    w->whole = acquire(TFD_CONV_FILTER, c, w->each);
    w->rest = acquire(TFD_CONV_FILTER, c, c->batch - (w->shares - 1) * w->each);
    done = w->whole && w->rest && sum_shares(k, w);
    tfd_conv_primitives_release(w->whole);
    tfd_conv_primitives_release(w->rest);
    return done;
}

bool tfd_conv_dnnl(struct tfd_kctx *k, enum tfd_conv_kind kind,
                   const struct tfd_conv *c)
{
    struct work w = {.c = c};

    if (!is_wanted(kind, c))
        return false;
    if (c->batch < threads_of(k)) {
        if (kind != TFD_CONV_FILTER && tfd_conv_bands(k, kind, c))
            return true;
        if (c->dtype == TFD_FLOAT &&
            c->batch * PRODUCTS_THREADS < threads_of(k))
            return false;
    }
    return kind == TFD_CONV_FILTER ? by_share(k, &w) : by_image(k, kind, &w);
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
