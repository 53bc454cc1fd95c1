/*
 * gemm.h - products of matrices in memory:  C = op(A) * op(B).
 *
 * Matrices lie row-major; ld is the distance of rows in elements.  op() is the
 * transpose where the flag is set (never the conjugate), so A is m x k or, to
 * be transposed, k x m.  C does not overlap A or B and need not be initialised;
 * k may be 0.
 *
 * tfd_gemm_blas() calls OpenBLAS and knows FLOAT, DOUBLE, COMPLEX64 and
 * COMPLEX128.  tfd_gemm_ref() is plain loops and knows every number: it serves
 * the types BLAS has no routine for, dimensions over 2^31, and as the oracle of
 * tests.  Both run on the calling thread; who has several cuts C in pieces.
 *
 * Threads: any, after tfd_gemm_init().
 */
#ifndef TFD_KERNELS_GEMM_H
#define TFD_KERNELS_GEMM_H

#include "common/tensor.h"

struct tfd_gemm {
    enum tfd_dtype dtype;
    bool transpose_a, transpose_b;
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
};

/* Tells OpenBLAS to stay on the thread that calls it.  Any number of times. */
void tfd_gemm_init(void);

/* False when this product is not for BLAS: its type or a dimension. */
bool tfd_gemm_blas(const struct tfd_gemm *g);
void tfd_gemm_ref(const struct tfd_gemm *g);

#endif
