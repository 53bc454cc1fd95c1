/*
 * gemm_ref.c - gemm.h in plain loops.
 *
 * One row of C is summed at a time, in blocks of columns whose accumulators
 * stay in the first cache; the innermost loop runs along a row of B, or along
 * C's columns with the stride that a transposed B has.  Sums are wider than the
 * elements (double, or 64 bits that wrap), so this is the more exact of the two
 * implementations and can judge the other.
 */
#include "kernels/linalg/gemm.h"

#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/vector/complex_math.h"
#include "kernels/vector/type_rows.h"

#define BLOCK 256 /* columns summed at once */

/* ADD(acc, x, y): acc + x * y.  DONE(acc): an element of C, WIDE the other way.
 */
#define GEMM(name, T, A, ZERO, ADD, DONE, WIDE)                           \
    static void block_##name(const struct tfd_gemm *g, int64_t i,         \
                             int64_t left, int64_t n)                     \
    {                                                                     \
        const int64_t a_step = g->transpose_a ? g->lda : 1;               \
        const int64_t b_row = g->transpose_b ? 1 : g->ldb;                \
        const int64_t b_column = g->transpose_b ? g->ldb : 1;             \
        const T *a = (const T *)g->a + i * (g->transpose_a ? 1 : g->lda); \
        const T *b = (const T *)g->b + left * b_column;                   \
        T *c = (T *)g->c + i * g->ldc + left;                             \
        A acc[BLOCK];                                                     \
                                                                          \
        for (int64_t j = 0; j < n; j++)                                   \
            acc[j] = g->add ? WIDE(c[j]) : ZERO;                          \
        for (int64_t p = 0; p < g->k; p++) {                              \
            const T x = a[p * a_step];                                    \
            const T *y = b + p * b_row;                                   \
                                                                          \
            for (int64_t j = 0; j < n; j++)                               \
                acc[j] = ADD(acc[j], x, y[j * b_column]);                 \
        }                                                                 \
        for (int64_t j = 0; j < n; j++)                                   \
            c[j] = DONE(acc[j]);                                          \
    }                                                                     \
                                                                          \
    static void gemm_##name(const struct tfd_gemm *g)                     \
    {                                                                     \
        for (int64_t i = 0; i < g->m && !tfd_halted(); i++)               \
            for (int64_t left = 0; left < g->n; left += BLOCK)            \
                block_##name(g, i, left,                                  \
                             g->n - left < BLOCK ? g->n - left : BLOCK);  \
    }

#define ADD_INT(acc, x, y) ((acc) + (uint64_t)(x) * (uint64_t)(y))
#define DEFINE_CUT(name, number, T)   \
    static T cut_##name(uint64_t acc) \
    {                                 \
        return (T)acc;                \
    }
#define GEMM_INT(X, name, T) \
    X(name, T, uint64_t, 0, ADD_INT, cut_##name, (uint64_t))
TFD_INT_DTYPES(DEFINE_CUT)
TFD_INT_ROWS(GEMM_INT, GEMM)

#define ADD_REAL(acc, x, y) ((acc) + (double)(x) * (double)(y))
#define CUT_FLOAT(acc) ((float)(acc))
#define CUT_DOUBLE(acc) (acc)
GEMM(FLOAT, float, double, 0, ADD_REAL, CUT_FLOAT, (double))
GEMM(DOUBLE, double, double, 0, ADD_REAL, CUT_DOUBLE, (double))

#define ADD_HALF(acc, x, y) \
    ((acc) + (double)tfd_half_to_float(x) * (double)tfd_half_to_float(y))
#define ADD_BFLOAT16(acc, x, y) \
    ((acc) +                    \
     (double)tfd_bfloat16_to_float(x) * (double)tfd_bfloat16_to_float(y))
#define CUT_HALF(acc) tfd_half_from_float((float)(acc))
#define CUT_BFLOAT16(acc) tfd_bfloat16_from_float((float)(acc))
GEMM(HALF, tfd_half, double, 0, ADD_HALF, CUT_HALF, tfd_half_to_float)
GEMM(BFLOAT16, tfd_bfloat16, double, 0, ADD_BFLOAT16, CUT_BFLOAT16,
     tfd_bfloat16_to_float)

#define ZERO_COMPLEX ((tfd_complex128){0, 0})
#define ADD_COMPLEX64(acc, x, y)                                       \
    tfd_complex128_add(acc, tfd_complex128_mul(tfd_complex64_widen(x), \
                                               tfd_complex64_widen(y)))
#define ADD_COMPLEX128(acc, x, y) \
    tfd_complex128_add(acc, tfd_complex128_mul(x, y))
GEMM(COMPLEX64, tfd_complex64, tfd_complex128, ZERO_COMPLEX, ADD_COMPLEX64,
     tfd_complex64_narrow, tfd_complex64_widen)
GEMM(COMPLEX128, tfd_complex128, tfd_complex128, ZERO_COMPLEX, ADD_COMPLEX128,
     tfd_complex128_narrow, tfd_complex128_widen)

typedef void gemm_fn(const struct tfd_gemm *g);

#define ROW(name, number, T) [TFD_##name] = gemm_##name,
static gemm_fn *const by_type[TFD_DTYPE_END] = {
    TFD_REAL_DTYPES(ROW) TFD_HALF_DTYPES(ROW) TFD_COMPLEX_DTYPES(ROW)};

void tfd_gemm_ref(const struct tfd_gemm *g)
{
    by_type[g->dtype](g);
}
