/*
 * lrn.h - what local response normalization (LRN, LRNGrad) shares on every
 * device: attributes and the check of shapes.  INVALID_ARGUMENT in TensorFlow's
 * words.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_LRN_H
#define TFD_KERNELS_LRN_H

#include "kernels/core/kernel.h"

/* The state of their kernels. */
struct tfd_lrn {
    int64_t radius;
    float bias, alpha, beta;
};

enum tfd_code tfd_lrn_prepare(const struct tfd_prepare *p, void *state,
                              struct tfd_status *st) TFD_MUST_USE;
/* Inputs are images of one shape. */
enum tfd_code tfd_lrn_check(const struct tfd_kctx *k,
                            struct tfd_status *st) TFD_MUST_USE;

#endif
