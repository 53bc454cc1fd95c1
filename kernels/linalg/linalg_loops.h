/*
 * linalg_loops.h - decompositions and solutions of one matrix after another.
 *
 * A loop runs over matrices [begin, end) of a struct tfd_linalg, all of one
 * size, row after row in memory.  What a loop cannot do it leaves in `failed`,
 * and goes on to the next matrix or ends.
 *
 *             a            b        out[0]        out[1]       out[2]
 *   QR        rows x columns        Q             R
 *   CHOLESKY  n x n                 L; NaN where there is none
 *   INVERSE   n x n                 of A, or with `flag` of its adjoint
 *   SOLVE     n x n        n x k    X of A X = B, flag: of adjoint(A) X = B
 *   DET       n x n                 determinant
 *   LOG_DET   n x n                 its sign      log of its magnitude
 *   EIGEN     n x n                 values        vectors, with `vectors`
 *   SVD       rows x columns        values        U            V
 *
 * The outputs of QR and SVD are full with `flag`, else economic.  Cholesky and
 * Eigen read the lower triangle.
 *
 * Threads: loops run on several threads at once, on separate matrices.
 */
#ifndef TFD_KERNELS_LINALG_LOOPS_H
#define TFD_KERNELS_LINALG_LOOPS_H

#include "kernels/core/kernel.h"

enum tfd_linalg_failure {
    TFD_LINALG_FINE,
    TFD_LINALG_MEMORY,
    TFD_LINALG_SINGULAR,
    TFD_LINALG_NOT_CONVERGED,
};

struct tfd_linalg {
    int rows, columns, right; /* of a; columns of b */
    bool flag, vectors;
    const void *a, *b;
    void *out[3];
    int failed; /* enum tfd_linalg_failure, atomic */
};

/* Sets l->failed; of several failures the last one stays. */
void tfd_linalg_fail(struct tfd_linalg *l, enum tfd_linalg_failure why);

enum tfd_linalg_op {
    TFD_LINALG_QR,
    TFD_LINALG_CHOLESKY,
    TFD_LINALG_INVERSE,
    TFD_LINALG_SOLVE,
    TFD_LINALG_DET,
    TFD_LINALG_LOG_DET,
    TFD_LINALG_EIGEN,
    TFD_LINALG_SVD,
    TFD_LINALG_COUNT
};

/* FLOAT, DOUBLE, COMPLEX64, COMPLEX128; NULL for others. */
tfd_range_fn *tfd_linalg_loop(enum tfd_linalg_op op, enum tfd_dtype dtype);

/* Largest number of rows or columns: sizes of work space are ints. */
#define TFD_LINALG_SIZE_MAX 16384

#endif
