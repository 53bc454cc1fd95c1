/*
 * slice.h - computes which box of a tensor Slice, StridedSlice and its gradient
 * take or fill, and makes their outputs, for the kernels of all devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SLICE_H
#define TFD_KERNELS_SLICE_H

#include "kernels/core/kernel.h"

/* Inputs 1 and 2 of Slice, for input 0: INVALID_ARGUMENT outside of it. */
enum tfd_code tfd_slice_box(const struct tfd_kctx *k, int64_t *begin,
                            struct tfd_shape *size,
                            struct tfd_status *st) TFD_MUST_USE;

/* The state of the strided ones, which tfd_slice_prepare() fills in. */
struct tfd_slice_masks {
    int64_t begin, end, ellipsis, new_axis, shrink;
};
enum tfd_code tfd_slice_prepare(const struct tfd_prepare *p, void *state,
                                struct tfd_status *st) TFD_MUST_USE;

/* What the spec says, per input dimension, and the result's shape. */
struct tfd_slice_dense {
    int64_t begin[TFD_RANK_MAX];
    int64_t stride[TFD_RANK_MAX]; /* not 0 */
    struct tfd_shape box;         /* elements taken per input dimension */
    struct tfd_shape out;         /* as shown: new axes in, shrunk ones out */
    int shown[TFD_RANK_MAX];      /* which of out is it; -1: a shrunk one */
};

/* Of begin, end and strides, for a tensor of shape `in`. */
enum tfd_code tfd_slice_resolve(const struct tfd_slice_masks *m,
                                const struct tfd_shape *in,
                                const struct tfd_tensor *spec,
                                struct tfd_slice_dense *d,
                                struct tfd_status *st) TFD_MUST_USE;

/* StridedSlice: makes output 0.  *done: it is input 0, and complete. */
enum tfd_code tfd_slice_begin(struct tfd_kctx *k, struct tfd_slice_dense *d,
                              bool *done, struct tfd_status *st) TFD_MUST_USE;
/* StridedSliceGrad: makes output 0, in which input 4 belongs into the box. */
enum tfd_code tfd_slice_grad_begin(struct tfd_kctx *k,
                                   struct tfd_slice_dense *d,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
