/*
 * narrow.c - see narrow.h.
 */
#include "kernels/vector/narrow.h"

#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/vector/simd.h"

struct narrowing {
    const void *in;
    void *out;
};

#define LOOPS(name, number, T)                \
    TFD_SIMD_LOOP(widen_##name)               \
    {                                         \
        const struct narrowing *p = arg;      \
        const T *x = p->in;                   \
        float *y = p->out;                    \
                                              \
        for (int64_t i = begin; i < end; i++) \
            y[i] = T##_to_float(x[i]);        \
    }                                         \
    TFD_SIMD_CLONES_WIDE(widen_##name)        \
    TFD_SIMD_LOOP(round_##name)               \
    {                                         \
        const struct narrowing *p = arg;      \
        const float *x = p->in;               \
        T *y = p->out;                        \
                                              \
        for (int64_t i = begin; i < end; i++) \
            y[i] = T##_from_float(x[i]);      \
    }                                         \
    TFD_SIMD_CLONES(round_##name)

TFD_HALF_DTYPES(LOOPS)

#if defined(__x86_64__)

#include <immintrin.h>

/* The processor's own conversions have the same bits, NaN's among them. */
#define NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

__attribute__((target(TFD_SIMD_AVX512))) static void
round_halves_avx512(void *arg, int64_t begin, int64_t end)
{
    const struct narrowing *p = arg;
    const float *x = p->in;
    tfd_half *y = p->out;
    int64_t i = begin;

    for (; i + 16 <= end; i += 16)
        _mm256_storeu_si256((__m256i *)(void *)(y + i),
                            _mm512_cvtps_ph(_mm512_loadu_ps(x + i), NEAREST));
    round_HALF(arg, i, end);
}

/* bfloat16 of 16 floats: bits to the nearest even, and one NaN. */
__attribute__((target(TFD_SIMD_AVX512))) static void
round_bfloats_avx512(void *arg, int64_t begin, int64_t end)
{
    const struct narrowing *p = arg;
    const float *x = p->in;
    tfd_bfloat16 *y = p->out;
    const __m512i one = _mm512_set1_epi32(1);
    const __m512i half = _mm512_set1_epi32(0x7fff);
    const __m512i nan = _mm512_set1_epi32(0x7fc0);
    int64_t i = begin;

    for (; i + 16 <= end; i += 16) {
        const __m512 v = _mm512_loadu_ps(x + i);
        const __m512i bits = _mm512_castps_si512(v);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
        const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, half), odd);
        const __m512i all =
            _mm512_mask_mov_epi32(_mm512_srli_epi32(sum, 16),
                                  _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), nan);

        _mm256_storeu_si256((__m256i *)(void *)(y + i),
                            _mm512_cvtepi32_epi16(all));
    }
    round_BFLOAT16(arg, i, end);
}

__attribute__((target(TFD_SIMD_AVX512))) static void
widen_halves_avx512(void *arg, int64_t begin, int64_t end)
{
    const struct narrowing *p = arg;
    const tfd_half *x = p->in;
    float *y = p->out;
    int64_t i = begin;

    for (; i + 16 <= end; i += 16)
        _mm512_storeu_ps(y + i, _mm512_cvtph_ps(_mm256_loadu_si256(
                                    (const __m256i *)(const void *)(x + i))));
    widen_HALF(arg, i, end);
}

__attribute__((target(TFD_SIMD_F16C))) static void
round_halves_f16c(void *arg, int64_t begin, int64_t end)
{
    const struct narrowing *p = arg;
    const float *x = p->in;
    tfd_half *y = p->out;
    int64_t i = begin;

    for (; i + 8 <= end; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(y + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), NEAREST));
    round_HALF(arg, i, end);
}

__attribute__((target(TFD_SIMD_F16C))) static void
widen_halves_f16c(void *arg, int64_t begin, int64_t end)
{
    const struct narrowing *p = arg;
    const tfd_half *x = p->in;
    float *y = p->out;
    int64_t i = begin;

    for (; i + 8 <= end; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(
                                    (const __m128i *)(const void *)(x + i))));
    widen_HALF(arg, i, end);
}

static tfd_range_fn *rounding(enum tfd_dtype t)
{
    if (tfd_simd_has_avx512())
        return t == TFD_HALF ? round_halves_avx512 : round_bfloats_avx512;
    if (t != TFD_HALF)
        return round_BFLOAT16;
    return tfd_simd_has_f16c() ? round_halves_f16c : round_HALF;
}

static tfd_range_fn *widening(enum tfd_dtype t)
{
    if (t != TFD_HALF)
        return widen_BFLOAT16;
    if (tfd_simd_has_avx512())
        return widen_halves_avx512;
    return tfd_simd_has_f16c() ? widen_halves_f16c : widen_HALF;
}

#else

static tfd_range_fn *rounding(enum tfd_dtype t)
{
    return t == TFD_HALF ? round_HALF : round_BFLOAT16;
}

static tfd_range_fn *widening(enum tfd_dtype t)
{
    return t == TFD_HALF ? widen_HALF : widen_BFLOAT16;
}

#endif

/* Elements between two questions whether anybody still wants them. */
#define BLOCK ((int64_t)(TFD_HALT_BLOCK_SIZE / sizeof(float)))

static void run_narrow(tfd_range_fn *loop, const void *in, void *out, int64_t n)
{
    struct narrowing p = {in, out};

    for (int64_t i = 0; i < n && !tfd_halted(); i += BLOCK)
        loop(&p, i, n - i < BLOCK ? n : i + BLOCK);
}

void tfd_narrow_widen(enum tfd_dtype t, const void *in, float *out, int64_t n)
{
    run_narrow(widening(t), in, out, n);
}

void tfd_narrow_round(enum tfd_dtype t, const float *in, void *out, int64_t n)
{
    run_narrow(rounding(t), in, out, n);
}
