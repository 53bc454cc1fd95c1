/*
 * leaky.c - see leaky.h.
 */
#include "kernels/math/leaky.h"

#include "common/base/half.h"
#include "kernels/vector/narrow_loops.h"

#define LEAKY(name, number, T)                        \
    TFD_SIMD_LOOP(leaky_##name)                       \
    {                                                 \
        const struct tfd_row *l = arg;                \
        const T *x = l->a;                            \
        const T alpha = (T)l->alpha;                  \
        T *y = l->y;                                  \
                                                      \
        for (int64_t i = begin; i < end; i++)         \
            y[i] = x[i] > 0 ? x[i] : x[i] * alpha;    \
    }                                                 \
    TFD_SIMD_CLONES_WIDE(leaky_##name)                \
                                                      \
    TFD_SIMD_LOOP(leaky_grad_##name)                  \
    {                                                 \
        const struct tfd_row *l = arg;                \
        const T *dy = l->a, *x = l->b;                \
        const T alpha = (T)l->alpha;                  \
        T *dx = l->y;                                 \
                                                      \
        for (int64_t i = begin; i < end; i++)         \
            dx[i] = x[i] > 0 ? dy[i] : dy[i] * alpha; \
    }                                                 \
    TFD_SIMD_CLONES_WIDE(leaky_grad_##name)

TFD_FLOAT_DTYPES(LEAKY)

/* ---- Halves ---------------------------------------------------------------
 */

/* By blocks of floats. */
static void leaky_blocks(enum tfd_dtype t, const struct tfd_row *row,
                         int64_t begin, int64_t end)
{
    tfd_narrow_row(t, row->b ? leaky_grad_FLOAT : leaky_FLOAT, row, begin, end);
}

#if defined(__x86_64__)

/* n elements, of at most 8, where x and the values are as in leaky_lanes(). */
TFD_LANES_INLINE void leaky_some(enum tfd_dtype t, const uint16_t *values,
                                 const uint16_t *x, __m256 alpha, uint16_t *y,
                                 int64_t n)
{
    const __m256 value = tfd_lanes_load(t, values, n);
    const __mmask8 kept = _mm256_cmp_ps_mask(tfd_lanes_load(t, x, n),
                                             _mm256_setzero_ps(), _CMP_GT_OQ);

    tfd_lanes_store(
        t, y, _mm256_mask_mul_ps(value, (__mmask8)~kept, value, alpha), n);
}

/* The values are dy, or x itself. */
TFD_LANES_INLINE void leaky_each(enum tfd_dtype t, const struct tfd_row *row,
                                 int64_t begin, int64_t end)
{
    const uint16_t *values = row->a, *x = row->b ? row->b : row->a;
    const __m256 alpha = _mm256_set1_ps(row->alpha);
    uint16_t *y = row->y;
    int64_t i = begin;

    for (; end - i >= TFD_LANES; i += TFD_LANES)
        leaky_some(t, values + i, x + i, alpha, y + i, TFD_LANES);
    if (i < end)
        leaky_some(t, values + i, x + i, alpha, y + i, end - i);
}

TFD_LANES_TARGET static void leaky_lanes(enum tfd_dtype t,
                                         const struct tfd_row *row,
                                         int64_t begin, int64_t end)
{
    if (t == TFD_HALF)
        leaky_each(TFD_HALF, row, begin, end);
    else
        leaky_each(TFD_BFLOAT16, row, begin, end);
}

#else

#define leaky_lanes leaky_blocks

#endif

/* Either, by whether there is a second operand. */
static void leaky_narrow(enum tfd_dtype t, const struct tfd_row *row,
                         int64_t begin, int64_t end)
{
    if (tfd_simd_has_avx512())
        leaky_lanes(t, row, begin, end);
    else
        leaky_blocks(t, row, begin, end);
}

#define LEAKY_NARROW(name, number, T)                               \
    static void leaky_##name(void *arg, int64_t begin, int64_t end) \
    {                                                               \
        struct tfd_row row = *(const struct tfd_row *)arg;          \
                                                                    \
        row.alpha = TFD_ROUND_##name(row.alpha);                    \
        leaky_narrow(TFD_##name, &row, begin, end);                 \
    }
#define leaky_grad_HALF leaky_HALF
#define leaky_grad_BFLOAT16 leaky_BFLOAT16

TFD_HALF_DTYPES(LEAKY_NARROW)

/* ---- Choice -------------------------------------------------------------- */

#define LEAKY_EXTERN(name, number, T)                                 \
    void tfd_leaky_##name(void *arg, int64_t begin, int64_t end)      \
    {                                                                 \
        leaky_##name(arg, begin, end);                                \
    }                                                                 \
    void tfd_leaky_grad_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                 \
        leaky_grad_##name(arg, begin, end);                           \
    }

TFD_FLOAT_DTYPES(LEAKY_EXTERN)
TFD_HALF_DTYPES(LEAKY_EXTERN)
