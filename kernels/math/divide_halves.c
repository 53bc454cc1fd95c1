/*
 * divide_halves.c - RealDiv, DivNoNan and FloorDiv of half with AVX-512: the
 * operands of a vector are widened, divided as floats and rounded, all in
 * registers.  Processors divide floats faster than as many halves, and rounding
 * the quotient of two halves to a float first changes nothing.
 */
#include "kernels/math/divide_halves.h"

#include "common/base/half.h"
#include "kernels/vector/simd.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define TARGET __attribute__((target(TFD_SIMD_AVX512)))
#define INLINE static inline __attribute__((always_inline)) TARGET

#define LANES 16

INLINE __m512 widened(const uint16_t *x, __mmask16 wanted)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(wanted, x));
}

INLINE __m256i rounded(__m512 x)
{
    return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

INLINE __m512 quotient(__m512 a, __m512 b)
{
    return _mm512_div_ps(a, b);
}

/* 0 where b is. */
INLINE __m512 no_nan(__m512 a, __m512 b)
{
    const __mmask16 divides =
        _mm512_cmp_ps_mask(b, _mm512_setzero_ps(), _CMP_NEQ_UQ);

    return _mm512_maskz_div_ps(divides, a, b);
}

/* Of the quotient that is rounded already, as in TensorFlow. */
INLINE __m512 floor_div(__m512 a, __m512 b)
{
    return _mm512_roundscale_ps(_mm512_cvtph_ps(rounded(_mm512_div_ps(a, b))),
                                _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

#define LOOP(function)                                                        \
    static TARGET void loop_##function(void *arg, int64_t begin, int64_t end) \
    {                                                                         \
        const struct tfd_row *r = arg;                                        \
        const uint16_t *a = r->a, *b = r->b;                                  \
        uint16_t *y = r->y;                                                   \
        const uint16_t first = begin < end ? *a : 0;                          \
        const uint16_t other = begin < end ? *b : 0;                          \
        const __m512 left = _mm512_set1_ps(tfd_half_to_float(first));         \
        const __m512 right = _mm512_set1_ps(tfd_half_to_float(other));        \
                                                                              \
        for (int64_t i = begin; i < end; i += LANES) {                        \
            const int64_t n = end - i < LANES ? end - i : LANES;              \
            const __mmask16 wanted = (__mmask16)((1u << n) - 1);              \
                                                                              \
            _mm256_mask_storeu_epi16(                                         \
                y + i, wanted,                                                \
                rounded(                                                      \
                    function(r->a_step ? widened(a + i, wanted) : left,       \
                             r->b_step ? widened(b + i, wanted) : right)));   \
        }                                                                     \
    }

LOOP(quotient)
LOOP(no_nan)
LOOP(floor_div)

#define CHOICE(function)                                       \
    tfd_range_fn *tfd_divide_halves_##function(void)           \
    {                                                          \
        return tfd_simd_has_avx512() ? loop_##function : NULL; \
    }

#else

#define CHOICE(function)                             \
    tfd_range_fn *tfd_divide_halves_##function(void) \
    {                                                \
        return NULL;                                 \
    }

#endif

CHOICE(quotient)
CHOICE(no_nan)
CHOICE(floor_div)
