/*
 * conv_gemm.h - convolutions of images: as products of matrices, or by oneDNN
 * where that is there and has code for them (conv_dnnl.h).
 *
 * Images have their channels last; x is [batch, rows, columns, in_channels], y
 * [batch, rows, columns, out_channels], w [rows, columns, in_channels / groups,
 * out_channels]; channels fall into groups that do not mix.
 *
 *     forward   y = x * w
 *     input     x = the gradient by x, from w and the gradient y
 *     filter    w = the gradient by w, from x and the gradient y
 *
 * Of volumes (conv_volume.h), which have planes before rows, conv_dnnl.h has
 * the convolutions too.
 *
 * Elements are FLOAT, DOUBLE or, but for filter, INT32.  All sizes agree, which
 * the caller has checked, and no tensor but the result is empty.
 *
 * Threads: each call shares its work among the compute threads of k.
 * RESOURCE_EXHAUSTED when there is no memory to work in.
 */
#ifndef TFD_KERNELS_CONV_GEMM_H
#define TFD_KERNELS_CONV_GEMM_H

#include "kernels/conv/window.h"

struct tfd_conv {
    enum tfd_dtype dtype;
    struct tfd_window_side plane, row, column; /* plane.size 0: an image */
    int64_t batch, in_channels, out_channels, groups;
    void *x, *w, *y;
};

typedef enum tfd_code tfd_conv_fn(struct tfd_kctx *k, const struct tfd_conv *c,
                                  struct tfd_status *st);

/* The planes of an image are 1. */
static inline int64_t tfd_conv_planes_in(const struct tfd_conv *c)
{
    return c->plane.size ? c->plane.in : 1;
}

static inline int64_t tfd_conv_planes_out(const struct tfd_conv *c)
{
    return c->plane.size ? c->plane.out : 1;
}

/* Products of numbers for one image. */
static inline double tfd_conv_products(const struct tfd_conv *c)
{
    return (double)(c->row.out * c->column.out) *
           (double)(c->row.size * c->column.size) * (double)c->in_channels *
           (double)c->out_channels *
           (c->plane.size ? (double)c->plane.out * (double)c->plane.size : 1);
}

/* Forward, of an image or a volume as it lies (conv_direct.c): few channels of
 * doubles, and little work of floats.  False, and nothing is done: of others,
 * or not on this processor. */
bool tfd_conv_direct(struct tfd_kctx *k, const struct tfd_conv *c);

tfd_conv_fn tfd_conv_forward;
tfd_conv_fn tfd_conv_input;
tfd_conv_fn tfd_conv_filter;

#endif
