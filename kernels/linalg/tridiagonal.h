/*
 * tridiagonal.h - equations whose matrix has elements on three diagonals only
 * (tridiagonal.c says where).
 *
 * Threads: loops run on several threads at once, on separate matrices.
 */
#ifndef TFD_KERNELS_LINALG_TRIDIAGONAL_H
#define TFD_KERNELS_LINALG_TRIDIAGONAL_H

#include "kernels/core/kernel.h"

struct tfd_tridiagonal {
    int64_t n, right; /* rows of X and its columns */
    bool pivoting, perturb;
    int64_t step; /* from the diagonals of a matrix to those of the next */
    const void *super, *main, *sub, *x;
    void *y;
};

/* Solve equations [begin, end) of a struct tfd_tridiagonal: of FLOAT, DOUBLE,
 * COMPLEX64, COMPLEX128.  RESOURCE_EXHAUSTED without room for a triangle. */
tfd_try_fn tfd_tridiagonal_solve_s, tfd_tridiagonal_solve_d;
tfd_try_fn tfd_tridiagonal_solve_c, tfd_tridiagonal_solve_z;

#endif
