/*
 * quantized_shape.h - shape functions that families of quantised ops share:
 * what is known of an output while a graph is built.
 *
 * Threads: pure.
 */
#ifndef TFD_KERNELS_QUANTIZED_SHAPE_H
#define TFD_KERNELS_QUANTIZED_SHAPE_H

#include "kernels/core/kernel.h"

/* All outputs but the first: scalars. */
void tfd_quantized_shape_scalars(struct tfd_shape_ctx *s);

/* Products of matrices, by transpose_a and transpose_b. */
enum tfd_code tfd_quantized_shape_matmul(struct tfd_shape_ctx *s,
                                         struct tfd_status *st);
/* Inputs: images, a filter [rows, columns, channels, multiplier].  Of other
 * outputs nothing is known. */
enum tfd_code tfd_quantized_shape_depthwise(struct tfd_shape_ctx *s,
                                            struct tfd_status *st);
/* Inputs: N values from `first` on, the axis is input `axis`. */
enum tfd_code tfd_quantized_shape_concat(struct tfd_shape_ctx *s, int first,
                                         int count, int axis,
                                         struct tfd_status *st);
/* The shape of a range's ends, inputs `low` and the one after it, for x:
 * scalars, or where the attribute axis is none of -1 vectors of that dimension.
 */
enum tfd_code tfd_quantized_shape_range(const struct tfd_shape_ctx *s,
                                        const struct tfd_shape *x, int low,
                                        struct tfd_shape *out,
                                        struct tfd_status *st);

/* Of a gradient: inputs are what arrived, x, and the ends of x's range. */
enum tfd_code tfd_quantized_shape_back(struct tfd_shape_ctx *s,
                                       struct tfd_status *st);
/* Of a convolution: ends of ranges that are not given are one for each channel
 * of the filter, if its are; those of the plain op are scalars, as given ones.
 */
void tfd_quantized_shape_ends(struct tfd_shape_ctx *s);

#endif
