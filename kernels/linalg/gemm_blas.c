/*
 * gemm_blas.c - gemm.h by way of a library.
 *
 * Two cases are not left to a gemm: products so small that its set-up costs
 * more than the arithmetic, and products with a vector, where gemv reads the
 * matrix once at memory speed and gemm would first copy it; small matrices by
 * the gemv of kernels/vector/gemv.h.  Large products of
 * floats go to oneDNN, which uses the wide registers that OpenBLAS may have
 * been told not to; where it is not installed, to OpenBLAS as everything else.
 */
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/dnnl.h"

#include "kernels/vector/gemv.h"
#include "kernels/vector/simd.h"

#include <cblas.h>
#include <string.h>

/* Multiplications below which plain loops are faster; measured. */
#define SMALL_MAX 256
/* From here on a product is worth loading another library for: with AVX-512,
 * and with AVX2, whose small products OpenBLAS computes at half the rate. */
#define LARGE_MIN_AVX512 100000
#define LARGE_MIN 16000
/* Sides below which a transposed B may not be packed at all. */
#define STRAIGHT_MIN 64

void tfd_gemm_init(void)
{
    openblas_set_num_threads(1);
}

static enum CBLAS_TRANSPOSE trans(bool transpose)
{
    return transpose ? CblasTrans : CblasNoTrans;
}

/* Rows and columns of the matrix x lies in, as stored. */
static void stored(bool transpose, int64_t rows, int64_t columns, int *m,
                   int *n)
{
    *m = (int)(transpose ? columns : rows);
    *n = (int)(transpose ? rows : columns);
}

/* ---- Small products ------------------------------------------------------ */

/* c[i][j] += a[i][p] * b[p][j] with j innermost, so that it is vectorised; B
 * is not transposed. */
#define SMALL(T)                                             \
    static void small_##T(const struct tfd_gemm *g)          \
    {                                                        \
        const T *a = g->a, *b = g->b;                        \
        const int64_t step_i = g->transpose_a ? 1 : g->lda;  \
        const int64_t step_p = g->transpose_a ? g->lda : 1;  \
                                                             \
        for (int64_t i = 0; i < g->m; i++) {                 \
            T *restrict c = (T *)g->c + i * g->ldc;          \
                                                             \
            if (!g->add)                                     \
                memset(c, 0, sizeof(T) * (size_t)g->n);      \
            for (int64_t p = 0; p < g->k; p++) {             \
                const T *row = b + p * g->ldb;               \
                const T factor = a[i * step_i + p * step_p]; \
                                                             \
                for (int64_t j = 0; j < g->n; j++)           \
                    c[j] += factor * row[j];                 \
            }                                                \
        }                                                    \
    }

SMALL(float)
SMALL(double)

/* m * n * k without overflow; all are below 2^31. */
static bool is_small(const struct tfd_gemm *g)
{
    return !g->transpose_b && g->m <= SMALL_MAX && g->n <= SMALL_MAX &&
           g->k <= SMALL_MAX && g->m * g->n * g->k <= SMALL_MAX;
}

/* ---- Vectors ------------------------------------------------------------- */

/* C has one row: c = op(B)' * a.  One column: c = op(A) * b.  The step of a
 * vector is 1 or the distance of its rows. */
#define VECTOR_ROWS(T)                                                   \
    static bool rows_##T(const struct tfd_gemm *g)                       \
    {                                                                    \
        if (g->m == 1 && !g->transpose_b)                                \
            return tfd_gemv_##T(g->b, g->ldb, g->a,                      \
                                g->transpose_a ? g->lda : 1, g->k, g->n, \
                                g->add, g->c);                           \
        if (g->n == 1 && g->transpose_a && g->ldc == 1)                  \
            return tfd_gemv_##T(g->a, g->lda, g->b,                      \
                                g->transpose_b ? 1 : g->ldb, g->k, g->m, \
                                g->add, g->c);                           \
        return false;                                                    \
    }

VECTOR_ROWS(float)
VECTOR_ROWS(double)

#define VECTOR(T, gemv)                                                       \
    static bool vector_##T(const struct tfd_gemm *g)                          \
    {                                                                         \
        int m, n;                                                             \
                                                                              \
        if (g->m == 1) {                                                      \
            stored(g->transpose_b, g->k, g->n, &m, &n);                       \
            gemv(CblasRowMajor, trans(!g->transpose_b), m, n, 1, g->b,        \
                 (int)g->ldb, g->a, g->transpose_a ? (int)g->lda : 1, g->add, \
                 g->c, 1);                                                    \
            return true;                                                      \
        }                                                                     \
        if (g->n == 1) {                                                      \
            stored(g->transpose_a, g->m, g->k, &m, &n);                       \
            gemv(CblasRowMajor, trans(g->transpose_a), m, n, 1, g->a,         \
                 (int)g->lda, g->b, g->transpose_b ? 1 : (int)g->ldb, g->add, \
                 g->c, (int)g->ldc);                                          \
            return true;                                                      \
        }                                                                     \
        return false;                                                         \
    }

VECTOR(float, cblas_sgemv)
VECTOR(double, cblas_dgemv)

/* ---- By type ------------------------------------------------------------- */

#define REAL_GEMM(T, gemm, other)                                             \
    static void gemm_##T(const struct tfd_gemm *g)                            \
    {                                                                         \
        if (is_small(g))                                                      \
            small_##T(g);                                                     \
        else if (!rows_##T(g) && !vector_##T(g) && !other(g) &&               \
                 !tfd_gemm_tiles(g))                                          \
            gemm(CblasRowMajor, trans(g->transpose_a), trans(g->transpose_b), \
                 (int)g->m, (int)g->n, (int)g->k, 1, g->a, (int)g->lda, g->b, \
                 (int)g->ldb, g->add, g->c, (int)g->ldc);                     \
    }

#define COMPLEX_GEMM(T, gemm)                                                \
    static void gemm_##T(const struct tfd_gemm *g)                           \
    {                                                                        \
        const T one = {1, 0}, beta = {g->add, 0};                            \
                                                                             \
        gemm(CblasRowMajor, trans(g->transpose_a), trans(g->transpose_b),    \
             (int)g->m, (int)g->n, (int)g->k, &one, g->a, (int)g->lda, g->b, \
             (int)g->ldb, &beta, g->c, (int)g->ldc);                         \
    }

static bool is_large(int64_t m, int64_t n, int64_t k)
{
    const int least = tfd_simd_has_avx512() ? LARGE_MIN_AVX512 : LARGE_MIN;

    return (double)m * (double)n * (double)k >= least;
}

static bool large_float(const struct tfd_gemm *g)
{
    return tfd_gemm_slim(g) || (is_large(g->m, g->n, g->k) && tfd_gemm_dnnl(g));
}

/* oneDNN takes twice as long to pack a B that is transposed. */
bool tfd_gemm_wants_straight(int64_t m, int64_t n, int64_t k)
{
    return is_large(m, n, k) && m >= STRAIGHT_MIN && n >= STRAIGHT_MIN &&
           k >= STRAIGHT_MIN && tfd_dnnl();
}

static bool none(const struct tfd_gemm *g)
{
    (void)g;
    return false;
}

REAL_GEMM(float, cblas_sgemm, large_float)
REAL_GEMM(double, cblas_dgemm, none)
COMPLEX_GEMM(tfd_complex64, cblas_cgemm)
COMPLEX_GEMM(tfd_complex128, cblas_zgemm)

static bool fits_int(const struct tfd_gemm *g)
{
    return g->m <= INT32_MAX && g->n <= INT32_MAX && g->k <= INT32_MAX &&
           g->lda <= INT32_MAX && g->ldb <= INT32_MAX && g->ldc <= INT32_MAX;
}

bool tfd_gemm_blas(const struct tfd_gemm *g)
{
    if (g->k == 0 || !fits_int(g))
        return false;
    switch (g->dtype) {
    case TFD_FLOAT:
        gemm_float(g);
        return true;
    case TFD_DOUBLE:
        gemm_double(g);
        return true;
    case TFD_COMPLEX64:
        gemm_tfd_complex64(g);
        return true;
    case TFD_COMPLEX128:
        gemm_tfd_complex128(g);
        return true;
    case TFD_BFLOAT16:
        return tfd_gemm_bfloat16(g);
    default:
        return false;
    }
}

void tfd_gemm(const struct tfd_gemm *g)
{
    if (!tfd_gemm_blas(g))
        tfd_gemm_ref(g);
}
