/*
 * conv_columns.h - im2col and col2im: copies the elements that a convolution's
 * windows see into the rows of a matrix ("columns"), so that the convolution is
 * a product of matrices, and adds such rows back into an image, for gradients.
 *
 * A row belongs to an output pixel and one group of channels; it lies as w
 * does, [rows, columns, in_channels / groups], with zeros where the window
 * stands outside the image.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_CONV_COLUMNS_H
#define TFD_KERNELS_CONV_COLUMNS_H

#include "kernels/conv/conv_gemm.h"

struct tfd_conv_columns {
    const struct tfd_conv *c;
    int64_t pixels; /* of an output image */
    int64_t depth;  /* in channels of a group */
    int64_t length; /* elements of a row */
    size_t item;    /* bytes of an element */
};

struct tfd_conv_columns tfd_conv_columns_of(const struct tfd_conv *c);
/* Bytes of an image of x. */
size_t tfd_conv_columns_image(const struct tfd_conv_columns *t);

/* Rows of n pixels from `pixel`, which counts through all images. */
void tfd_conv_columns_make(const struct tfd_conv_columns *t, int64_t pixel,
                           int64_t n, int64_t group, char *to);
/* Adds them to where they came from in x. */
void tfd_conv_columns_add(const struct tfd_conv_columns *t, int64_t pixel,
                          int64_t n, int64_t group, const void *from);

#endif
