/*
 * conv_any.h - Conv, which convolves images or volumes as the ranks of its
 * inputs say, behind any number of batch dimensions.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_CONV_ANY_H
#define TFD_KERNELS_CONV_ANY_H

#include "kernels/core/kernel.h"

#define TFD_CONV_ANY_DIMS 5 /* of a volume */
#define TFD_CONV_ANY_NUMBERS (2 * TFD_CONV_ANY_DIMS)

/* The attributes, as many numbers of each as the node has. */
struct tfd_conv_any {
    int64_t stride[TFD_CONV_ANY_NUMBERS], dilation[TFD_CONV_ANY_NUMBERS];
    int64_t padding[TFD_CONV_ANY_NUMBERS]; /* before and after, in turns */
    int stride_count, dilation_count, padding_count;
    int64_t batch_dims;
    bool same, paddings_given, channels_first;
};

enum tfd_code tfd_conv_any_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_conv_any_compute(struct tfd_kctx *k,
                                   struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_conv_any_shape(struct tfd_shape_ctx *s,
                                 struct tfd_status *st);

#endif
