/*
 * gemm.h - products of matrices in memory:  C = op(A) * op(B).
 *
 * Matrices lie row-major; ld is the distance of rows in elements.  op() is the
 * transpose where the flag is set (never the conjugate), so A is m x k or, to
 * be transposed, k x m.  With `add` the product is added to C; without, C need
 * not be initialised.  C does not overlap A or B; k may be 0.
 *
 * tfd_gemm_blas() knows FLOAT, DOUBLE, COMPLEX64 and COMPLEX128: by OpenBLAS,
 * or by oneDNN where that is installed and the product is of floats and large;
 * and BFLOAT16, without `add`, where the processor has dot products of it.
 * tfd_gemm_ref() is plain loops and knows every number: it serves the types
 * BLAS has no routine for, dimensions over 2^31, and as the oracle of tests.
 * tfd_gemm() is the first that knows the product.  These run on the calling
 * thread; tfd_gemm_parallel() cuts C in pieces for the compute threads.
 *
 * Threads: any, after tfd_gemm_init().
 */
#ifndef TFD_KERNELS_GEMM_H
#define TFD_KERNELS_GEMM_H

#include "common/base/tensor.h"

struct tfd_gemm {
    enum tfd_dtype dtype;
    bool transpose_a, transpose_b, add;
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
void tfd_gemm(const struct tfd_gemm *g);

/* FLOAT and DOUBLE by loops of ours (gemm_tiles.c).  False where B is more than
 * half of a first cache, or without AVX-512. */
bool tfd_gemm_tiles(const struct tfd_gemm *g);

/* FLOAT of many rows of A and few of its columns and C's, which lie together
 * (gemm_tiles.c).  False for others, or without AVX-512. */
bool tfd_gemm_slim(const struct tfd_gemm *g);

/* Floats by oneDNN (gemm_dnnl.c).  False without the library; the first call
 * loads it. */
bool tfd_gemm_dnnl(const struct tfd_gemm *g);

/* BFLOAT16 by the processor's dot products (gemm_bfloat16.c), summed in float.
 * False without those, or without memory. */
bool tfd_gemm_bfloat16(const struct tfd_gemm *g);
/* Whether that is faster for a C of m x n than widening A and B to FLOAT. */
bool tfd_gemm_wants_bfloat16(int64_t m, int64_t n);

/* Whether a product of FLOAT is faster where B is not transposed, by more than
 * it takes to copy B so (gemm_blas.c). */
bool tfd_gemm_wants_straight(int64_t m, int64_t n, int64_t k);

struct tfd_kctx;
/* HALF and BFLOAT16, dense, where A or B is a vector (gemv_narrow.c), on all
 * compute threads.  False: neither is, k is 0, or there is no memory. */
bool tfd_gemv_narrow(struct tfd_kctx *k, const struct tfd_gemm *g);
void tfd_gemm_parallel(struct tfd_kctx *k, const struct tfd_gemm *g);

/* HALF and BFLOAT16 by way of floats, some rows of C at a time, which the
 * threads share: where A has many rows and B is small and lies in a row, and
 * lda, ldb and ldc are what A, B and C have (matmul.c). */
bool tfd_gemm_has_blocks(const struct tfd_kctx *k, const struct tfd_gemm *g);
enum tfd_code tfd_gemm_blocks(struct tfd_kctx *k, const struct tfd_gemm *g,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
