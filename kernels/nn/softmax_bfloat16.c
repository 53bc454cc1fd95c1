/*
 * softmax_bfloat16.c - see softmax_row.h.
 *
 * Three passes over a row: its maximum, 2^((x - max) log2(e)) and the sum of
 * that, and the products, which are rounded once.  The exponentials wait as
 * floats in the first cache.
 */
#include "kernels/nn/softmax_row.h"

#include "kernels/vector/simd.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>

#define TARGET __attribute__((target(TFD_SIMD_AVX512 ",avx512bf16")))
#define INLINE TARGET static inline __attribute__((always_inline))

enum { LANES = 16 };

/* Of n lanes; the others are -infinity, whose exponential is 0. */
INLINE __m512 load_lanes(const uint16_t *x, __mmask16 lanes)
{
    const __m512i bits = _mm512_slli_epi32(
        _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, x)), 16);

    return _mm512_mask_mov_ps(_mm512_set1_ps(-INFINITY), lanes,
                              _mm512_castsi512_ps(bits));
}

INLINE __mmask16 lanes_of(int64_t n)
{
    return (__mmask16)(n < LANES ? (1u << n) - 1 : UINT16_MAX);
}

/* 2^t of t <= 0 or NaN; 0 where that is no normal number.  The polynomial is
 * within 2e-7 of 2^t for |t| <= 1 / 2. */
INLINE __m512 power_of_two(__m512 t)
{
    const __mmask16 normal =
        _mm512_cmp_ps_mask(t, _mm512_set1_ps(-126), _CMP_NLT_UQ);
    const __m512 n =
        _mm512_roundscale_ps(t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 f = _mm512_sub_ps(t, n);
    __m512 p = _mm512_set1_ps(0.00132764690f);

    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.00967554189f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.0555071346f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.240221202f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.693146944f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1));
    return _mm512_maskz_scalef_ps(normal, p, n);
}

/* A NaN is not larger, but makes the whole row NaN. */
INLINE float max_of(const uint16_t *x, int64_t n)
{
    __m512 best = _mm512_set1_ps(-INFINITY);

    for (int64_t i = 0; i < n; i += LANES)
        best = _mm512_max_ps(load_lanes(x + i, lanes_of(n - i)), best);
    return _mm512_reduce_max_ps(best);
}

/* e: whole registers of exponentials. */
INLINE float exponentials(const uint16_t *x, int64_t n, float max, float *e)
{
    const __m512 by = _mm512_set1_ps(1.44269504f);
    const __m512 least = _mm512_set1_ps(max);
    __m512 sum = _mm512_setzero_ps();

    for (int64_t i = 0; i < n; i += LANES) {
        const __m512 v = load_lanes(x + i, lanes_of(n - i));
        const __m512 some =
            power_of_two(_mm512_mul_ps(_mm512_sub_ps(v, least), by));

        _mm512_storeu_ps(e + i, some);
        sum = _mm512_add_ps(sum, some);
    }
    return _mm512_reduce_add_ps(sum);
}

TARGET static void softmax_row(const uint16_t *x, int64_t n, uint16_t *y)
{
    float e[TFD_SOFTMAX_BFLOAT16_MAX];
    const float sum = exponentials(x, n, max_of(x, n), e);
    const __m512 by = _mm512_set1_ps(1 / sum);

    for (int64_t i = 0; i < n; i += LANES)
        _mm256_mask_storeu_epi16(y + i, lanes_of(n - i),
                                 (__m256i)_mm512_cvtneps_pbh(_mm512_mul_ps(
                                     _mm512_loadu_ps(e + i), by)));
}

bool tfd_softmax_bfloat16(const uint16_t *x, int64_t n, int64_t rows,
                          uint16_t *y)
{
    if (n < LANES || n > TFD_SOFTMAX_BFLOAT16_MAX || !tfd_simd_has_avx512() ||
        !__builtin_cpu_supports("avx512bf16"))
        return false;
    for (int64_t r = 0; r < rows; r++)
        softmax_row(x + r * n, n, y + r * n);
    return true;
}

#else

bool tfd_softmax_bfloat16(const uint16_t *x, int64_t n, int64_t rows,
                          uint16_t *y)
{
    (void)x;
    (void)n;
    (void)rows;
    (void)y;
    return false;
}

#endif
