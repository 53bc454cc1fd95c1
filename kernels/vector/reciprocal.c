/*
 * reciprocal.c - see reciprocal.h.
 *
 * The processor's estimate y has 14 bits.  A step y + y * (1 - x * y) doubles
 * them, up to the last place, and another one, whose parts are fused, rounds to
 * the nearest from whatever is within a unit of the last place: but where all
 * bits of x are ones (Markstein, Computation of elementary functions on the IBM
 * RISC System/6000 processor, 1990).  So the result does not depend on whose
 * estimate it is.
 *
 *     x usual      estimate, two steps     7 us for 64,000, where copying takes
 *     others       a division              5 and dividing 10
 *
 * AMD's processors divide in 6.5 us, beside which others of their units have
 * time for an estimate of every third vector: 4.5 us.
 */
#include "kernels/vector/reciprocal.h"

#include "kernels/core/elementwise.h"

static inline float divided(float x)
{
    return 1 / x;
}

TFD_UNARY_SIMD(divide, float, float, divided)

#if defined(__x86_64__)
#include <immintrin.h>

#define WIDE __attribute__((target(TFD_SIMD_AVX512)))
#define LANES 16
#define TURN (3 * LANES) /* of which one vector is estimated */
#define SIZE_BITS 0x7fffffff
#define MANTISSA 0x007fffff
/* From 2^-125 to 2^125 neither the result nor what is lost is subnormal. */
#define LEAST 0x01000000
#define MOST 0x7e000000
#define AHEAD 1024 /* floats: a page, which is asked for in time */

/* Too near to zero or to infinity, infinite, NaN, or all ones. */
WIDE static inline __mmask16 rare(__m512 x)
{
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i ones = _mm512_set1_epi32(MANTISSA);
    const __m512i size = _mm512_and_si512(bits, _mm512_set1_epi32(SIZE_BITS));
    const __m512i above = _mm512_sub_epi32(size, _mm512_set1_epi32(LEAST));

    return (
        __mmask16)(_mm512_cmpge_epu32_mask(above,
                                           _mm512_set1_epi32(MOST - LEAST)) |
                   _mm512_cmpeq_epi32_mask(_mm512_and_si512(bits, ones), ones));
}

WIDE static inline __m512 reciprocal(__m512 x)
{
    const __m512 one = _mm512_set1_ps(1);
    __m512 y = _mm512_rcp14_ps(x);

    y = _mm512_fmadd_ps(y, _mm512_fnmadd_ps(x, y, one), y);
    return _mm512_fmadd_ps(y, _mm512_fnmadd_ps(x, y, one), y);
}

WIDE static inline __m512 divided_lanes(__m512 x)
{
    return _mm512_div_ps(_mm512_set1_ps(1), x);
}

WIDE static inline __m512 refined_lanes(__m512 x)
{
    return __builtin_expect(rare(x), 0) ? divided_lanes(x) : reciprocal(x);
}

WIDE static void refine(const float *a, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES) {
        if (i + AHEAD < n)
            __builtin_prefetch(a + i + AHEAD);
        _mm512_storeu_ps(y + i, refined_lanes(_mm512_loadu_ps(a + i)));
    }
}

WIDE static void refine_some(const float *a, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i += TURN) {
        const __m512 x = _mm512_loadu_ps(a + i);
        const __m512 second = _mm512_loadu_ps(a + i + LANES);
        const __m512 third = _mm512_loadu_ps(a + i + 2 * LANES);

        _mm512_storeu_ps(y + i, refined_lanes(x));
        _mm512_storeu_ps(y + i + LANES, divided_lanes(second));
        _mm512_storeu_ps(y + i + 2 * LANES, divided_lanes(third));
    }
}

typedef void refining(const float *a, float *y, int64_t n);

/* As many whole turns as there are, and what is left by divisions. */
static void run(void *arg, int64_t begin, int64_t end, refining *refines,
                int64_t turn)
{
    const struct tfd_row *r = arg;
    int64_t count = 0;

    if (tfd_simd_has_avx512()) {
        count = (end - begin) / turn * turn;
        refines((const float *)r->a + begin, (float *)r->y + begin, count);
    }
    divide(arg, begin + count, end);
}

void tfd_reciprocal_refined_loop(void *arg, int64_t begin, int64_t end)
{
    run(arg, begin, end, refine, LANES);
}

void tfd_reciprocal_mixed_loop(void *arg, int64_t begin, int64_t end)
{
    run(arg, begin, end, refine_some, TURN);
}

void tfd_reciprocal_loop(void *arg, int64_t begin, int64_t end)
{
    if (__builtin_cpu_is("amd"))
        tfd_reciprocal_mixed_loop(arg, begin, end);
    else
        tfd_reciprocal_refined_loop(arg, begin, end);
}

#else

void tfd_reciprocal_refined_loop(void *arg, int64_t begin, int64_t end)
{
    divide(arg, begin, end);
}

void tfd_reciprocal_mixed_loop(void *arg, int64_t begin, int64_t end)
{
    divide(arg, begin, end);
}

void tfd_reciprocal_loop(void *arg, int64_t begin, int64_t end)
{
    divide(arg, begin, end);
}

#endif
