/*
 * linalg.h - what kernels of linear algebra on every device share: attributes,
 * checks, outputs.  INVALID_ARGUMENT in TensorFlow's words.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_LINALG_H
#define TFD_KERNELS_LINALG_H

#include "kernels/core/kernel.h"

/* The state of kernels with attributes: full_matrices or adjoint, and whether
 * vectors are asked for. */
struct tfd_linalg_state {
    bool flag, vectors;
};

/* `count` matrices of m x n, each the product of Q, m x p, and R, p x n. */
struct tfd_linalg_qr {
    int64_t count, m, n, p;
};
enum tfd_code tfd_linalg_qr_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Checks the input and makes the outputs. */
enum tfd_code tfd_linalg_qr_make(struct tfd_kctx *k, struct tfd_linalg_qr *out,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
