/*
 * matmul.cu - MatMul of kernels/linalg/matmul.c by cuBLAS: see blas.cuh.
 *
 * cuBLAS has columns where we have rows, so what it computes is the transpose
 * of the product: C' = op(B)' op(A)'.
 */
#include "cuda/lib/blas.cuh"
#include "cuda/lib/complex.cuh"
#include "cuda/device/forward.cuh"

extern "C" {
#include "cuda/device/dynamic_library.h"
#include "kernels/core/outputs.h"
}

#include <cublas_v2.h>

namespace
{

/* ---- The library --------------------------------------------------------- */

struct library {
    decltype(&cublasCreate_v2) create;
    decltype(&cublasDestroy_v2) destroy;
    decltype(&cublasSetStream_v2) set_stream;
    decltype(&cublasSetWorkspace_v2) set_work;
    decltype(&cublasGemmStridedBatchedEx_64) gemm;
    decltype(&cublasGetStatusString) text;
};

static const struct tfd_cuda_wanted wanted = {
    "cuBLAS",
    "12 or later",
    {"libcublas.so.13", "libcublas.so.12", "libcublas.so"},
};

static enum tfd_code open_library(struct library *l, struct tfd_status *st)
{
    const struct tfd_cuda_symbol symbols[] = {
        {"cublasCreate_v2", &l->create},
        {"cublasDestroy_v2", &l->destroy},
        {"cublasSetStream_v2", &l->set_stream},
        {"cublasSetWorkspace_v2", &l->set_work},
        {"cublasGemmStridedBatchedEx_64", &l->gemm},
        {"cublasGetStatusString", &l->text},
    };
    void *handle;

    TFD_TRY(tfd_cuda_library_open(&wanted, &handle, st));
    return tfd_cuda_library_find_all(handle, &wanted, symbols,
                                     TFD_COUNT(symbols), st);
}

/* What a device keeps.  A handle has one stream and works in memory of its own,
 * which goes with it or with another stream.  A captured product has the
 * address of that in it, so the handle of captures stays as it is, and with it
 * memory of ours: what cuBLAS would take of CUDA while it is captured is
 * allocated anew by each launch.  Launches are in the order of one stream, so
 * all of them can work in the same. */
struct blas {
    struct library library;
    cublasHandle_t handle;
    cublasHandle_t captured; /* NULL until it is needed */
    struct tfd_buffer *work; /* of captured */
};

static void release(void *own)
{
    struct blas *b = (struct blas *)own;

    if (b->captured)
        (void)b->library.destroy(b->captured);
    if (b->work)
        tfd_buffer_unref(b->work);
    (void)b->library.destroy(b->handle);
    free(b);
}

static enum tfd_code fail(const struct blas *b, cublasStatus_t rc,
                          struct tfd_status *st)
{
    return tfd_fail(st,
                    rc == CUBLAS_STATUS_ALLOC_FAILED ? TFD_RESOURCE_EXHAUSTED
                                                     : TFD_INTERNAL,
                    "cuBLAS: %s", b->library.text(rc));
}

/* As large as cuBLAS has it by itself. */
static size_t work_size(const struct tfd_cuda_device *d)
{
    return (size_t)(d->properties.major >= 9 ? 32 : 4) << 20;
}

static cublasStatus_t set_up(const struct blas *b, struct tfd_cuda_device *d)
{
    cublasStatus_t rc =
        b->library.set_stream(b->captured, (cudaStream_t)d->captures.stream);

    /* In this order: another stream means another memory. */
    return rc == CUBLAS_STATUS_SUCCESS
               ? b->library.set_work(b->captured, b->work->data, b->work->size)
               : rc;
}

/* The device's lock is held. */
static enum tfd_code prepare_handle(void *own, struct tfd_cuda_device *d,
                             struct tfd_status *st)
{
    struct blas *b = (struct blas *)own;
    cublasStatus_t rc;

    if (b->captured)
        return TFD_OK;
    if (!b->work)
        b->work = tfd_cuda_memory_pool_make(&d->pool, work_size(d), st);
    if (!b->work)
        return TFD_RESOURCE_EXHAUSTED;
    rc = b->library.create(&b->captured);
    if (rc == CUBLAS_STATUS_SUCCESS)
        rc = set_up(b, d);
    if (rc == CUBLAS_STATUS_SUCCESS)
        return TFD_OK;
    if (b->captured)
        (void)b->library.destroy(b->captured);
    b->captured = nullptr;
    return fail(b, rc, st);
}

/* The device's lock is held. */
static enum tfd_code open_blas(struct tfd_cuda_device *d, struct blas **out,
                               struct tfd_status *st)
{
    struct blas *b = (struct blas *)d->blas.own;
    cublasStatus_t rc;

    if (!b) {
        b = (struct blas *)calloc(1, sizeof(*b));
        if (!b)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for cuBLAS");
        if (open_library(&b->library, st) != TFD_OK) {
            free(b);
            return TFD_UNIMPLEMENTED;
        }
        rc = b->library.create(&b->handle);
        if (rc == CUBLAS_STATUS_SUCCESS)
            rc = b->library.set_stream(b->handle, (cudaStream_t)d->stream);
        if (rc != CUBLAS_STATUS_SUCCESS) {
            (void)fail(b, rc, st);
            free(b);
            return TFD_INTERNAL;
        }
        d->blas = {b, release, prepare_handle};
    }
    *out = b;
    return TFD_OK;
}

/* ---- Products ------------------------------------------------------------ */

struct types {
    cudaDataType_t data;
    cublasComputeType_t compute;
};

static struct types types_of(enum tfd_dtype dtype)
{
    switch (dtype) {
    case TFD_DOUBLE:
        return {CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case TFD_HALF:
        return {CUDA_R_16F, CUBLAS_COMPUTE_32F};
    case TFD_BFLOAT16:
        return {CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case TFD_COMPLEX64:
        return {CUDA_C_32F, CUBLAS_COMPUTE_32F};
    case TFD_COMPLEX128:
        return {CUDA_C_64F, CUBLAS_COMPUTE_64F};
    default:
        return {CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    }
}

static cublasStatus_t multiply(const struct blas *b, cublasHandle_t handle,
                               const struct cuda_gemm *g)
{
    /* The parts of a complex number, or the first is the number. */
    static const float one[] = {1, 0}, zero[] = {0, 0};
    static const double wide_one[] = {1, 0}, wide_zero[] = {0, 0};
    struct types t = types_of(g->dtype);
    bool wide = t.compute == CUBLAS_COMPUTE_64F;
    cublasOperation_t turned = g->adjoint ? CUBLAS_OP_C : CUBLAS_OP_T;

    return b->library.gemm(handle, g->transpose_b ? turned : CUBLAS_OP_N,
                           g->transpose_a ? turned : CUBLAS_OP_N, g->n, g->m,
                           g->k, wide ? (const void *)wide_one : one, g->b,
                           t.data, g->ldb, g->stride_b, g->a, t.data, g->lda,
                           g->stride_a, wide ? (const void *)wide_zero : zero,
                           g->c, t.data, g->ldc, g->stride_c, g->batch,
                           t.compute, CUBLAS_GEMM_DEFAULT);
}

} /* namespace */

enum tfd_code tfd_cuda_blas_check(struct tfd_status *st)
{
    struct library l;

    return open_library(&l, st);
}

/* A handle is for one thread at a time. */
enum tfd_code cuda_gemm_run(struct tfd_kctx *k, const struct cuda_gemm *g,
                            struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(k->memory);
    cublasStatus_t rc = CUBLAS_STATUS_SUCCESS;
    struct blas *b = nullptr;
    enum tfd_code code;

    tfd_lock(&d->lock);
    code = open_blas(d, &b, st);
    if (code == TFD_OK && is_captured(k))
        code = prepare_handle(b, d, st);
    if (code == TFD_OK)
        rc = multiply(b, is_captured(k) ? b->captured : b->handle, g);
    tfd_unlock(&d->lock);
    if (code != TFD_OK)
        return code;
    if (rc != CUBLAS_STATUS_SUCCESS)
        return fail(b, rc, st);
    return launched(k, st);
}

/* ---- Kernel -------------------------------------------------------------- */

enum tfd_code cuda_matmul_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_matmul_state *s =
        (const struct tfd_matmul_state *)k->state;
    struct tfd_matmul_sizes size;
    struct tfd_shape shape;
    struct cuda_gemm g = {};

    TFD_TRY(tfd_matmul_sizes(k, &size, &shape, st));
    g.dtype = k->in[0].dtype;
    g.transpose_a = s->transpose_a;
    g.transpose_b = s->transpose_b;
    g.m = size.m;
    g.n = size.n;
    g.k = size.k;
    g.batch = 1;
    g.lda = k->in[0].shape.dim[1];
    g.ldb = k->in[1].shape.dim[1];
    g.ldc = g.n;
    TFD_TRY(tfd_kctx_output(k, 0, g.dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    g.a = tfd_tensor_data(&k->in[0]);
    g.b = tfd_tensor_data(&k->in[1]);
    g.c = tfd_tensor_data(&k->out[0]);
    if (g.k > 0)
        return cuda_gemm_run(k, &g, st);
    return tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(g.c, 0, tfd_tensor_size(&k->out[0]), stream_of(k)),
        k->kernel->op, st);
}

namespace
{

#define ROW(name, T)                                                      \
    row("MatMul", TFD_##name, cuda_matmul_compute, 0, tfd_matmul_prepare, \
        sizeof(struct tfd_matmul_state)),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROW)
                                                CUDA_COMPLEX_DTYPES(ROW)};

} /* namespace */

CUDA_FAMILY_OF(matmul);
