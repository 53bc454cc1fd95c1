/*
 * linalg_triangular.h - MatrixTriangularSolve: X of A X = B, where A is a
 * triangular matrix, or the adjoint of one.
 *
 * Unlike the other ops of its kind it broadcasts the dimensions in front of the
 * matrices, and divides by what is on the diagonal whatever it is.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_LINALG_TRIANGULAR_H
#define TFD_KERNELS_LINALG_TRIANGULAR_H

#include "kernels/core/kernel.h"

#define TFD_LINALG_TRIANGULAR_STATE (2 * sizeof(bool))

enum tfd_code tfd_linalg_triangular_prepare(const struct tfd_prepare *p,
                                            void *state, struct tfd_status *st);
enum tfd_code tfd_linalg_triangular_compute(struct tfd_kctx *k,
                                            struct tfd_status *st);

#endif
