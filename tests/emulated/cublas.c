/*
 * cublas.c - the functions of cuBLAS that cuda/linalg/matmul.cu uses, by loops
 * over the emulated device's memory: libcublas.so of the emulated GPU.
 *
 * Matrices are column-major.  Everything is summed in double and rounded once.
 */
#include "common/base/half.h"

#include <cublas_v2.h>

#include <complex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct cublas_handle {
    cudaStream_t stream;
};

struct gemm {
    cublasOperation_t transpose_a, transpose_b;
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    cudaDataType_t type;
    int64_t lda, ldb, ldc, stride_a, stride_b, stride_c, count;
};

/* Of the program: runs it in the stream's order, with a copy of arg. */
void emulated_enqueue(cudaStream_t s, void (*run)(const void *),
                      const void *arg, size_t size);

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    *handle = calloc(1, sizeof(**handle));
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *work,
                                     size_t size)
{
    (void)handle;
    return (uintptr_t)work % 256 == 0 && size > 0 ? CUBLAS_STATUS_SUCCESS
                                                  : CUBLAS_STATUS_INVALID_VALUE;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS ? "success" : "failure";
}

static double get(const void *at, cudaDataType_t type, int64_t i)
{
    switch (type) {
    case CUDA_R_64F:
        return ((const double *)at)[i];
    case CUDA_R_16F:
        return tfd_half_to_float(((const tfd_half *)at)[i]);
    case CUDA_R_16BF:
        return tfd_bfloat16_to_float(((const tfd_bfloat16 *)at)[i]);
    default:
        return ((const float *)at)[i];
    }
}

static void put(void *at, cudaDataType_t type, int64_t i, double x)
{
    switch (type) {
    case CUDA_R_64F:
        ((double *)at)[i] = x;
        break;
    case CUDA_R_16F:
        ((tfd_half *)at)[i] = tfd_half_from_float((float)x);
        break;
    case CUDA_R_16BF:
        ((tfd_bfloat16 *)at)[i] = tfd_bfloat16_from_float((float)x);
        break;
    default:
        ((float *)at)[i] = (float)x;
    }
}

/* A column of the result: sums of the columns of op(A), which are contiguous in
 * `a`. */
static void run_column(const struct gemm *g, const double *a, double *sums,
                       int64_t batch, int64_t column)
{
    memset(sums, 0, (size_t)g->m * sizeof(*sums));
    for (int64_t i = 0; i < g->k; i++) {
        int64_t at = g->transpose_b ? i * g->ldb + column : column * g->ldb + i;
        double b = get(g->b, g->type, batch * g->stride_b + at);

        for (int64_t row = 0; row < g->m; row++)
            sums[row] += a[i * g->m + row] * b;
    }
    for (int64_t row = 0; row < g->m; row++)
        put(g->c, g->type, batch * g->stride_c + column * g->ldc + row,
            sums[row]);
}

static void widen_a(const struct gemm *g, int64_t batch, double *a)
{
    for (int64_t i = 0; i < g->k; i++)
        for (int64_t row = 0; row < g->m; row++)
            a[i * g->m + row] =
                get(g->a, g->type,
                    batch * g->stride_a +
                        (g->transpose_a ? row * g->lda + i : i * g->lda + row));
}

/* ---- Complex ------------------------------------------------------------- */

static bool is_complex(cudaDataType_t type)
{
    return type == CUDA_C_32F || type == CUDA_C_64F;
}

/* Of op(matrix), whose columns are ld apart before it is transposed. */
static double complex get_complex(const void *at, cudaDataType_t type,
                                  cublasOperation_t op, int64_t first,
                                  int64_t row, int64_t column, int64_t ld)
{
    const int64_t i =
        first + (op == CUBLAS_OP_N ? column * ld + row : row * ld + column);
    const double complex x =
        type == CUDA_C_64F ? ((const double complex *)at)[i]
                           : (double complex)((const float complex *)at)[i];

    return op == CUBLAS_OP_C ? conj(x) : x;
}

static void run_complex(const void *arg)
{
    const struct gemm *g = arg;

    for (int64_t i = 0; i < g->count * g->m * g->n; i++) {
        const int64_t row = i % g->m, column = i / g->m % g->n;
        const int64_t batch = i / g->m / g->n;
        const int64_t to = batch * g->stride_c + column * g->ldc + row;
        double complex sum = 0;

        for (int64_t j = 0; j < g->k; j++)
            sum += get_complex(g->a, g->type, g->transpose_a,
                               batch * g->stride_a, row, j, g->lda) *
                   get_complex(g->b, g->type, g->transpose_b,
                               batch * g->stride_b, j, column, g->ldb);
        if (g->type == CUDA_C_64F)
            ((double complex *)g->c)[to] = sum;
        else
            ((float complex *)g->c)[to] = (float complex)sum;
    }
}

/* ---- Real ---------------------------------------------------------------- */

static void run(const void *arg)
{
    const struct gemm *g = arg;
    double *a = malloc((size_t)(g->m * (g->k + 1)) * sizeof(*a));

    if (!a)
        abort();
    for (int64_t batch = 0; batch < g->count; batch++) {
        widen_a(g, batch, a);
        for (int64_t column = 0; column < g->n; column++)
            run_column(g, a, a + g->m * g->k, batch, column);
    }
    free(a);
}

/* A factor in the type that is computed in. */
static bool is_number(const void *at, cudaDataType_t type, double number)
{
    const cudaDataType_t part =
        type == CUDA_R_64F || type == CUDA_C_64F ? CUDA_R_64F : CUDA_R_32F;

    return get(at, part, 0) == number &&
           (!is_complex(type) || get(at, part, 1) == 0);
}

cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
    int64_t m, int64_t n, int64_t k, const void *alpha, const void *A,
    cudaDataType_t Atype, int64_t lda, int64_t strideA, const void *B,
    cudaDataType_t Btype, int64_t ldb, int64_t strideB, const void *beta,
    void *C, cudaDataType_t Ctype, int64_t ldc, int64_t strideC,
    int64_t batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo)
{
    const struct gemm g = {transa,  transb,  m,       n,         k,   A,
                           B,       C,       Atype,   lda,       ldb, ldc,
                           strideA, strideB, strideC, batchCount};

    (void)computeType;
    (void)algo;
    if (Atype != Btype || Atype != Ctype)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (lda < (transa ? k : m) || ldb < (transb ? n : k) || ldc < m ||
        !is_number(alpha, Atype, 1) || !is_number(beta, Atype, 0))
        return CUBLAS_STATUS_INVALID_VALUE;
    emulated_enqueue(handle->stream, is_complex(Atype) ? run_complex : run, &g,
                     sizeof(g));
    return CUBLAS_STATUS_SUCCESS;
}
