/*
 * linalg_small.h - systems of up to TFD_LINALG_SMALL_MAX real unknowns, and
 * determinants and QR decompositions of as many rows, for which a call of
 * LAPACK takes longer than the arithmetic.
 *
 * Threads: as the loops of linalg_loops.h.
 */
#ifndef TFD_KERNELS_LINALG_SMALL_H
#define TFD_KERNELS_LINALG_SMALL_H

#include "kernels/linalg/linalg_loops.h"

#define TFD_LINALG_SMALL_MAX 32 /* rows */

/* INVERSE (b is NULL, right is rows) and SOLVE of linalg_loops.h for matrices
 * [begin, end) of FLOAT or DOUBLE.  A matrix without an inverse ends it, as
 * TFD_LINALG_SINGULAR says. */
tfd_range_fn tfd_linalg_small_float, tfd_linalg_small_double;

/* P A = L U for n rows of A: y has U, and below its diagonal L; row i is row
 * rows[i] of A; *sign is turned where two rows change places.  False: there are
 * too many, or one has no pivot; of y and sign nothing is written. */
bool tfd_linalg_small_factor_float(int n, const float *a, float *y, float *sign,
                                   int *rows);
bool tfd_linalg_small_factor_double(int n, const double *a, double *y,
                                    double *sign, int *rows);

/* y: the gradient of n rows of A by which their Cholesky factor is l, grad that
 * of l; their lower triangles are read.  False: there are too many. */
bool tfd_linalg_small_cholesky_grad_float(int n, const float *l,
                                          const float *grad, float *y);
bool tfd_linalg_small_cholesky_grad_double(int n, const double *l,
                                           const double *grad, double *y);

/* QR of linalg_loops.h for one matrix, which has elements.  False: nothing is
 * done, since it is too large or has numbers that are, are no numbers, or are
 * all too small. */
bool tfd_linalg_small_qr_float(const struct tfd_linalg *l, const float *a,
                               float *q, float *r);
bool tfd_linalg_small_qr_double(const struct tfd_linalg *l, const double *a,
                                double *q, double *r);
/* Of complex numbers there is neither. */
#define tfd_linalg_small_factor_tfd_complex64(n, a, y, sign, rows) false
#define tfd_linalg_small_factor_tfd_complex128(n, a, y, sign, rows) false
#define tfd_linalg_small_qr_tfd_complex64(l, a, q, r) false
#define tfd_linalg_small_qr_tfd_complex128(l, a, q, r) false

#endif
