/*
 * blas.cuh - products by cuBLAS, of which a device gets a handle with its first
 * one; without the library no device is taken (dynamic_library.h).
 *
 * float products use TensorFloat-32 where the card has it, as TensorFlow does;
 * NVIDIA_TF32_OVERRIDE=0 in the environment switches that off (cuBLAS looks at
 * it).  half and bfloat16 are summed in float.  A complex operand that is
 * transposed can be conjugated, too.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_BLAS_CUH
#define TFD_CUDA_BLAS_CUH

#include "cuda/lib/launch.cuh"

/* C = op(A) op(B), row-major as in kernels/linalg/gemm.h, `batch` times with strides
 * in elements.  adjoint: what is transposed is conjugated, if it is complex. */
struct cuda_gemm {
    enum tfd_dtype dtype;
    bool transpose_a, transpose_b;
    int64_t m, n, k, batch;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c;
    bool adjoint;
};

enum tfd_code cuda_gemm_run(struct tfd_kctx *k, const struct cuda_gemm *g,
                            struct tfd_status *st);

#endif
