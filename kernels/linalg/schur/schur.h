/*
 * schur.h - A = Q T Q' of a small matrix, with T an upper triangle, and what
 * follows from it: eigenvectors and the square root.
 *
 * Up to TFD_SCHUR_MAX rows a call of LAPACK takes longer than the arithmetic.
 * Numbers are complex128; rows lie `stride` numbers apart, which is even, and
 * what fills a row up to it is zero.  Threads: any, each with its own struct.
 */
#ifndef TFD_KERNELS_SCHUR_H
#define TFD_KERNELS_SCHUR_H

#include "kernels/core/element.h"

#define TFD_SCHUR_MAX 32 /* rows */
#define TFD_SCHUR_SIZE ((int64_t)TFD_SCHUR_MAX * TFD_SCHUR_MAX)

enum tfd_schur_want { TFD_SCHUR_VALUES, TFD_SCHUR_VECTORS, TFD_SCHUR_FORM };

struct tfd_schur {
    int n, stride;
    enum tfd_schur_want want;
    bool done;
    double size; /* the largest part of an element of A */
    tfd_complex128 t[TFD_SCHUR_SIZE], q[TFD_SCHUR_SIZE], w[TFD_SCHUR_SIZE];
};

/* Readies t for n rows, 1 to TFD_SCHUR_MAX, of what `want` says. */
void tfd_schur_clear(struct tfd_schur *s, int n, enum tfd_schur_want want);

/* A, in t, becomes T, whose diagonal has the eigenvalues; of VALUES only that
 * is defined.  q: of FORM row j is column j of Q, of VECTORS the vector of
 * value j, of length 1, the largest element real.  False: A has elements that
 * are no numbers, or so large or small that squares overflow, or the steps
 * taken do not suffice; t and q are lost. */
bool tfd_schur_decompose(struct tfd_schur *s);

/* After a decomposition of FORM: t becomes the root of A, transposed; q and w
 * are lost. */
void tfd_schur_root(struct tfd_schur *s);

#endif
