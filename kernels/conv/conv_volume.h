/*
 * conv_volume.h - convolutions of volumes as products of matrices, or by
 * oneDNN.
 *
 * Volumes have their channels last; x is [batch, planes, rows, columns,
 * in_channels], y the same with out_channels, w [planes, rows, columns,
 * in_channels, out_channels].
 *
 *     forward   y = x * w
 *     input     x = the gradient by x, from w and the gradient y
 *     filter    w = the gradient by w, from x and the gradient y
 *
 * A row of columns (im2col) belongs to an output pixel and lies as w does, with
 * zeros where the window stands outside the volume.
 *
 * Elements are FLOAT, DOUBLE or, forward, INT32.  All sizes agree, which the
 * caller has checked, and no tensor is empty.
 *
 * Threads: each call shares its work among the compute threads of k.
 * RESOURCE_EXHAUSTED when there is no memory to work in.
 */
#ifndef TFD_KERNELS_CONV_VOLUME_H
#define TFD_KERNELS_CONV_VOLUME_H

#include "kernels/conv/conv_gemm.h"
#include "kernels/conv/volume.h"

struct tfd_conv_volume {
    enum tfd_dtype dtype;
    struct tfd_window_side plane, row, column;
    int64_t batch, in_channels, out_channels;
    void *x, *w, *y;
};

typedef enum tfd_code tfd_conv_volume_fn(struct tfd_kctx *k,
                                         const struct tfd_conv_volume *c,
                                         struct tfd_status *st);

tfd_conv_volume_fn tfd_conv_volume_forward;
tfd_conv_volume_fn tfd_conv_volume_input;
tfd_conv_volume_fn tfd_conv_volume_filter;

/* The same as a convolution of both kinds (conv_gemm.h). */
struct tfd_conv tfd_conv_volume_sizes(const struct tfd_conv_volume *c);

/* Elements of a row of columns. */
int64_t tfd_volume_columns_length(const struct tfd_conv_volume *c);
/* Rows of n output pixels from `pixel`, which counts through all volumes. */
void tfd_volume_columns_make(const struct tfd_conv_volume *c, int64_t pixel,
                             int64_t n, void *to);
/* Adds them to where they came from in x (col2im). */
void tfd_volume_columns_add(const struct tfd_conv_volume *c, int64_t pixel,
                            int64_t n, const void *from);

#endif
