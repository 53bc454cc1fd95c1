/*
 * narrow_lanes.h - elementwise loops of half and bfloat16 in registers, by
 * instructions of AVX-512: 8 numbers are widened to floats, computed and
 * rounded without going through memory in between.  Conversions of 16 halves
 * take more than twice as long as those of 8 on Zen 4 (Mul of 64,000 5.7 us,
 * not 4.3), and as long as those of 8 on Zen 5: what rounds halves between its
 * steps has a loop of 16, too (TFD_LANES16_LOOP).
 *
 *     TFD_LANES_LOOP(loop_add_HALF_lanes, HALF, BINARY, ADD)
 *
 * ADD(R, a, b), or SQUARE(R, a) where UNARY, is a macro of vectors of floats;
 * R rounds one to the type, for a result in between that TensorFlow rounds.
 * The bits are those of half.h.  The loops are for processors of which
 * tfd_simd_has_avx512() holds; on other architectures nothing is made.
 *
 * Threads: as other elementwise loops.
 */
#ifndef TFD_KERNELS_NARROW_LANES_H
#define TFD_KERNELS_NARROW_LANES_H

#include "kernels/core/elementwise.h"

#if defined(__x86_64__)

#include <immintrin.h>

enum { TFD_LANES = 8 };

#define TFD_LANES_TARGET __attribute__((target(TFD_SIMD_AVX512)))
#define TFD_LANES_INLINE TFD_LANES_TARGET TFD_EACH_INLINE

/* Conversions of this many without a mask are instructions of another set. */
#define TFD_LANES_EVERY ((__mmask8)UINT8_MAX)

typedef __m256 tfd_lanes_unary(__m256 a);
typedef __m256 tfd_lanes_binary(__m256 a, __m256 b);
typedef __m512 tfd_lanes16_binary(__m512 a, __m512 b);

/* ---- Conversions --------------------------------------------------------- */

TFD_LANES_INLINE __m128i tfd_lanes_to_HALF(__m256 x)
{
    return _mm256_maskz_cvtps_ph(TFD_LANES_EVERY, x,
                                 _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

TFD_LANES_INLINE __m256 tfd_lanes_of_HALF(__m128i x)
{
    return _mm256_maskz_cvtph_ps(TFD_LANES_EVERY, x);
}

TFD_LANES_INLINE __m256 tfd_lanes_round_HALF(__m256 x)
{
    return tfd_lanes_of_HALF(tfd_lanes_to_HALF(x));
}

/* Rounded in the upper half of each float; what the lower ones hold is left. */
TFD_LANES_INLINE __m256i tfd_lanes_upper_halves(__m256 x)
{
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd =
        _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i near = _mm256_add_epi32(
        _mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);

    return _mm256_mask_mov_epi32(near, _mm256_cmp_ps_mask(x, x, _CMP_UNORD_Q),
                                 _mm256_set1_epi32(0x7fc00000));
}

TFD_LANES_INLINE __m128i tfd_lanes_to_BFLOAT16(__m256 x)
{
    return _mm256_cvtepi32_epi16(
        _mm256_srli_epi32(tfd_lanes_upper_halves(x), 16));
}

TFD_LANES_INLINE __m256 tfd_lanes_of_BFLOAT16(__m128i x)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}

TFD_LANES_INLINE __m256 tfd_lanes_round_BFLOAT16(__m256 x)
{
    return _mm256_castsi256_ps(_mm256_and_si256(
        tfd_lanes_upper_halves(x), _mm256_set1_epi32(INT32_C(-65536))));
}

TFD_LANES_INLINE __m256 tfd_lanes_widen(enum tfd_dtype t, __m128i x)
{
    return t == TFD_HALF ? tfd_lanes_of_HALF(x) : tfd_lanes_of_BFLOAT16(x);
}

/* The n numbers at x, of at most 8; the same one 8 times where it stands for
 * all. */
TFD_LANES_INLINE __m256 tfd_lanes_load(enum tfd_dtype t, const uint16_t *x,
                                       int64_t n)
{
    if (n == TFD_LANES)
        return tfd_lanes_widen(
            t, _mm_loadu_si128((const __m128i *)(const void *)x));
    return tfd_lanes_widen(t,
                           _mm_maskz_loadu_epi16((__mmask8)((1u << n) - 1), x));
}

TFD_LANES_INLINE __m256 tfd_lanes_all(enum tfd_dtype t, const uint16_t *x)
{
    return tfd_lanes_widen(t, _mm_set1_epi16((int16_t)*x));
}

TFD_LANES_INLINE void tfd_lanes_store(enum tfd_dtype t, uint16_t *y, __m256 x,
                                      int64_t n)
{
    const __m128i rounded =
        t == TFD_HALF ? tfd_lanes_to_HALF(x) : tfd_lanes_to_BFLOAT16(x);

    if (n == TFD_LANES)
        _mm_storeu_si128((__m128i *)(void *)y, rounded);
    else
        _mm_mask_storeu_epi16(y, (__mmask8)((1u << n) - 1), rounded);
}

/* ---- Steps of functions -------------------------------------------------- */

#define TFD_LANES_ABS(x) _mm256_andnot_ps(_mm256_set1_ps(-0.0f), (x))
/* The value, and 0 where x is 0. */
#define TFD_LANES_UNLESS_0(x, value) \
    _mm256_maskz_mov_ps(             \
        _mm256_cmp_ps_mask((x), _mm256_setzero_ps(), _CMP_NEQ_UQ), (value))
/* The value, and x where that is NaN. */
#define TFD_LANES_UNLESS_NAN(x, value) \
    _mm256_mask_mov_ps((value), _mm256_cmp_ps_mask((x), (x), _CMP_UNORD_Q), (x))

/* Of two NaNs the first, as the instruction has it; written as such, since the
 * compiler may exchange the operands of a sum or product of its own. */
#define DEFINE_ORDERED(name, V, instruction)                           \
    TFD_LANES_INLINE V name(V a, V b)                                  \
    {                                                                  \
        V y;                                                           \
                                                                       \
        __asm__(instruction " %2, %1, %0" : "=v"(y) : "v"(a), "v"(b)); \
        return y;                                                      \
    }

DEFINE_ORDERED(tfd_lanes_add, __m256, "vaddps")
DEFINE_ORDERED(tfd_lanes_mul, __m256, "vmulps")
DEFINE_ORDERED(tfd_lanes16_add, __m512, "vaddps")
DEFINE_ORDERED(tfd_lanes16_mul, __m512, "vmulps")

#undef DEFINE_ORDERED

#define TFD_LANES_TIMES(a, b) \
    _Generic((a), __m256 : tfd_lanes_mul, __m512 : tfd_lanes16_mul)(a, b)

/* ---- Loops --------------------------------------------------------------- */

TFD_LANES_INLINE void tfd_lanes_each1(enum tfd_dtype t, const struct tfd_row *r,
                                      int64_t begin, int64_t end,
                                      tfd_lanes_unary *f)
{
    const uint16_t *a = r->a;
    uint16_t *y = r->y;
    int64_t i = begin;

    for (; end - i >= TFD_LANES; i += TFD_LANES)
        tfd_lanes_store(t, y + i, f(tfd_lanes_load(t, a + i, TFD_LANES)),
                        TFD_LANES);
    if (i < end)
        tfd_lanes_store(t, y + i, f(tfd_lanes_load(t, a + i, end - i)),
                        end - i);
}

/* left, right: which operands go on; the other one has been read before a
 * result may take its place. */
TFD_LANES_INLINE void tfd_lanes_sides(enum tfd_dtype t, const struct tfd_row *r,
                                      int64_t begin, int64_t end, bool left,
                                      bool right, tfd_lanes_binary *f)
{
    const uint16_t *a = r->a, *b = r->b;
    const __m256 l = left ? _mm256_setzero_ps() : tfd_lanes_all(t, a);
    const __m256 m = right ? _mm256_setzero_ps() : tfd_lanes_all(t, b);
    uint16_t *y = r->y;
    int64_t i = begin;

    for (; end - i >= TFD_LANES; i += TFD_LANES)
        tfd_lanes_store(t, y + i,
                        f(left ? tfd_lanes_load(t, a + i, TFD_LANES) : l,
                          right ? tfd_lanes_load(t, b + i, TFD_LANES) : m),
                        TFD_LANES);
    if (i < end)
        tfd_lanes_store(t, y + i,
                        f(left ? tfd_lanes_load(t, a + i, end - i) : l,
                          right ? tfd_lanes_load(t, b + i, end - i) : m),
                        end - i);
}

TFD_LANES_INLINE void tfd_lanes_each2(enum tfd_dtype t, const struct tfd_row *r,
                                      int64_t begin, int64_t end,
                                      tfd_lanes_binary *f)
{
    if (begin >= end)
        return;
    if (!r->b_step)
        tfd_lanes_sides(t, r, begin, end, r->a_step != 0, false, f);
    else if (!r->a_step)
        tfd_lanes_sides(t, r, begin, end, false, true, f);
    else
        tfd_lanes_sides(t, r, begin, end, true, true, f);
}

/* ---- 16 halves ----------------------------------------------------------- */

#define TFD_LANES16_EVERY ((__mmask16)UINT16_MAX)

TFD_LANES_INLINE __m256i tfd_lanes16_to_HALF(__m512 x)
{
    return _mm512_maskz_cvtps_ph(TFD_LANES16_EVERY, x,
                                 _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

TFD_LANES_INLINE __m512 tfd_lanes16_round_HALF(__m512 x)
{
    return _mm512_cvtph_ps(tfd_lanes16_to_HALF(x));
}

TFD_LANES_INLINE __m512 tfd_lanes16_load(const uint16_t *x)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)x));
}

/* Where 16 are not slower: not on Zen 4. */
static inline bool tfd_lanes16_pay(void)
{
    return tfd_simd_has_avx512() && !__builtin_cpu_is("amdfam19h");
}

/* What is left of [begin, end): few elements, or all where an operand stands
 * for all. */
TFD_LANES_INLINE int64_t tfd_lanes16_each2(const struct tfd_row *r,
                                           int64_t begin, int64_t end,
                                           tfd_lanes16_binary *f)
{
    const uint16_t *a = r->a, *b = r->b;
    uint16_t *y = r->y;
    int64_t i = begin;

    for (; r->a_step && r->b_step && end - i >= 16; i += 16)
        _mm256_storeu_si256((void *)(y + i),
                            tfd_lanes16_to_HALF(f(tfd_lanes16_load(a + i),
                                                  tfd_lanes16_load(b + i))));
    return i;
}

/* name, which is for tfd_lanes16_pay(): a BINARY function of halves; `other`
 * does what is left. */
#define TFD_LANES16_LOOP(name, FUNCTION, other)                              \
    TFD_LANES_INLINE __m512 name##_of(__m512 a, __m512 b)                    \
    {                                                                        \
        return FUNCTION(tfd_lanes16_round_HALF, a, b);                       \
    }                                                                        \
    TFD_LANES_TARGET static void name(void *arg, int64_t begin, int64_t end) \
    {                                                                        \
        other(arg, tfd_lanes16_each2(arg, begin, end, name##_of), end);      \
    }

#define TFD_LANES_LOOP(name, dtype, ARITY, FUNCTION) \
    TFD_LANES_LOOP_##ARITY(name, dtype, FUNCTION)

#define TFD_LANES_LOOP_UNARY(name, dtype, FUNCTION)                          \
    TFD_LANES_INLINE __m256 name##_of(__m256 a)                              \
    {                                                                        \
        return FUNCTION(tfd_lanes_round_##dtype, a);                         \
    }                                                                        \
    TFD_LANES_TARGET static void name(void *arg, int64_t begin, int64_t end) \
    {                                                                        \
        tfd_lanes_each1(TFD_##dtype, arg, begin, end, name##_of);            \
    }

#define TFD_LANES_LOOP_BINARY(name, dtype, FUNCTION)                         \
    TFD_LANES_INLINE __m256 name##_of(__m256 a, __m256 b)                    \
    {                                                                        \
        return FUNCTION(tfd_lanes_round_##dtype, a, b);                      \
    }                                                                        \
    TFD_LANES_TARGET static void name(void *arg, int64_t begin, int64_t end) \
    {                                                                        \
        tfd_lanes_each2(TFD_##dtype, arg, begin, end, name##_of);            \
    }

#endif
#endif
