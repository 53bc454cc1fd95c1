/*
 * lrn.h - what LRN and LRNGrad on every device share.  Threads: any.
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
