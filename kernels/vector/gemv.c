/* gemv.c - see gemv.h. */
#include "kernels/vector/gemv.h"

#include "kernels/vector/simd.h"

#if defined(__x86_64__) && !defined(TFD_SIMD_ALIKE)
#include <immintrin.h>

#define WIDE __attribute__((target(TFD_SIMD_AVX512)))

/* Vectors of columns that are summed at once: eight would be enough for two
 * multiplications in each of the four cycles that one takes, but then rows are
 * read in pieces, not in order: 252 by 252 floats take 2.4 us so in place of
 * 1.4 (Zen 5). */
#define VECTORS 16

/* Bytes of B up to which this is faster; measured. */
#define MATRIX_MAX (320 << 10)
/* Bytes of a row of B from which it is: what few sums wait for is each other.
 */
#define ROW_MIN 100

/* sum: of some columns, whose last vector has those of `mask`.
 * sum_last: of all columns that are left, VECTORS vectors or fewer. */
#define GEMV(T, V, M, lanes, suffix)                                           \
    struct gemv_##T {                                                          \
        const T *b, *x;                                                        \
        int64_t ldb, step_x, k;                                                \
        bool add;                                                              \
        T *y;                                                                  \
    };                                                                         \
                                                                               \
    WIDE static inline __attribute__((always_inline)) void sum_##T(            \
        const struct gemv_##T *g, int64_t first, int vectors, M mask)          \
    {                                                                          \
        const T *b = g->b + first, *x = g->x;                                  \
        T *y = g->y + first;                                                   \
        const int last = vectors - 1;                                          \
        V sum[VECTORS];                                                        \
                                                                               \
        _Pragma("GCC unroll 16") for (int v = 0; v < vectors; v++) sum[v] =    \
            _mm512_maskz_loadu_##suffix(g->add ? v < last ? (M)-1 : mask : 0,  \
                                        y + v * (lanes));                      \
        for (int64_t p = 0; p < g->k; p++, b += g->ldb, x += g->step_x) {      \
            const V factor = _mm512_set1_##suffix(*x);                         \
                                                                               \
            _Pragma("GCC unroll 16") for (int v = 0; v < last; v++) sum[v] =   \
                _mm512_fmadd_##suffix(                                         \
                    factor, _mm512_loadu_##suffix(b + v * (lanes)), sum[v]);   \
            sum[last] = _mm512_fmadd_##suffix(                                 \
                factor, _mm512_maskz_loadu_##suffix(mask, b + last * (lanes)), \
                sum[last]);                                                    \
        }                                                                      \
        _Pragma("GCC unroll 16") for (int v = 0; v < vectors; v++)             \
            _mm512_mask_storeu_##suffix(y + v * (lanes),                       \
                                        v < last ? (M)-1 : mask, sum[v]);      \
    }                                                                          \
                                                                               \
    WIDE static void sum_last_##T(const struct gemv_##T *g, int64_t first,     \
                                  int64_t columns)                             \
    {                                                                          \
        const int vectors = (int)((columns + (lanes)-1) / (lanes));            \
        const M mask = (M)((M)-1 >> (vectors * (lanes) - (int)columns));       \
                                                                               \
        switch (vectors) {                                                     \
            CASE(T, 1)                                                         \
            CASE(T, 2)                                                         \
            CASE(T, 3)                                                         \
            CASE(T, 4)                                                         \
            CASE(T, 5)                                                         \
            CASE(T, 6)                                                         \
            CASE(T, 7)                                                         \
            CASE(T, 8)                                                         \
            CASE(T, 9)                                                         \
            CASE(T, 10)                                                        \
            CASE(T, 11)                                                        \
            CASE(T, 12)                                                        \
            CASE(T, 13)                                                        \
            CASE(T, 14)                                                        \
            CASE(T, 15)                                                        \
            CASE(T, 16)                                                        \
        }                                                                      \
    }                                                                          \
                                                                               \
    bool tfd_gemv_##T(const T *b, int64_t ldb, const T *x, int64_t step_x,     \
                      int64_t k, int64_t n, bool add, T *y)                    \
    {                                                                          \
        const struct gemv_##T g = {b, x, ldb, step_x, k, add, y};              \
        const int64_t columns = VECTORS * (lanes);                             \
        int64_t first = 0;                                                     \
                                                                               \
        if (!tfd_simd_has_avx512() || n < ROW_MIN / (int64_t)sizeof(T) ||      \
            n > MATRIX_MAX / (int64_t)sizeof(T) / k)                           \
            return false;                                                      \
        for (; first < n; first += columns)                                    \
            sum_last_##T(&g, first,                                            \
                         n - first < columns ? n - first : columns);           \
        return true;                                                           \
    }

#define CASE(T, vectors)                  \
    case vectors:                         \
        sum_##T(g, first, vectors, mask); \
        break;

GEMV(float, __m512, __mmask16, 16, ps)
GEMV(double, __m512d, __mmask8, 8, pd)

#else

#define NONE(T)                                                            \
    bool tfd_gemv_##T(const T *b, int64_t ldb, const T *x, int64_t step_x, \
                      int64_t k, int64_t n, bool add, T *y)                \
    {                                                                      \
        (void)b, (void)ldb, (void)x, (void)step_x, (void)k, (void)n;       \
        (void)add, (void)y;                                                \
        return false;                                                      \
    }

NONE(float)
NONE(double)

#endif
