/*
 * scatter_halves.c - see scatter_halves.h.
 *
 * Sixteen halves are widened, joined as floats and rounded again; the last few
 * of a row are done likewise, under a mask.
 */
#include "kernels/index/scatter_halves.h"

#include "kernels/vector/simd.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define LANES 16
#define WITH_AVX512 \
    static inline __attribute__((always_inline, target(TFD_SIMD_AVX512)))

WITH_AVX512 __m512 widened(__mmask16 mask, const tfd_half *x)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, x));
}

WITH_AVX512 void put(tfd_half *y, __mmask16 mask, __m512 x)
{
    _mm256_mask_storeu_epi16(
        y, mask,
        _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

WITH_AVX512 __mmask16 mask_of(int64_t left)
{
    return (__mmask16)(left < LANES ? (1u << left) - 1 : 0xffffu);
}

WITH_AVX512 __m128 one(const tfd_half *x)
{
    return _mm_maskz_cvtph_ps(1, _mm_cvtsi32_si128(*x));
}

WITH_AVX512 void put_one(tfd_half *y, __m128 x)
{
    *y = (tfd_half)_mm_cvtsi128_si32(_mm_maskz_cvtps_ph(
        1, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* Short rows are joined one by one: a vector that is read where a shorter one
 * was just written waits for memory. */
#define SHORT 2

#define LOOP(word)                                                       \
    __attribute__((target(TFD_SIMD_AVX512))) static void word##_halves(  \
        void *arg, int64_t begin, int64_t end)                           \
    {                                                                    \
        const struct tfd_scatter *s = arg;                               \
        const int64_t ahead =                                            \
            tfd_scatter_ahead(s, end - begin, sizeof(tfd_half));         \
                                                                         \
        for (int64_t i = 0; i < s->count; i++) {                         \
            const tfd_half *by = (const tfd_half *)s->by + i * s->inner; \
            const int64_t row = s->rows[i];                              \
            tfd_half *to = s->to;                                        \
                                                                         \
            if (i < ahead)                                               \
                tfd_scatter_ask(s, i, sizeof(*to));                      \
            if (row < begin || row >= end)                               \
                continue;                                                \
            to += row * s->inner;                                        \
            if (s->inner <= SHORT) {                                     \
                for (int64_t n = 0; n < s->inner; n++)                   \
                    put_one(to + n,                                      \
                            _mm_##word##_ss(one(to + n), one(by + n)));  \
                continue;                                                \
            }                                                            \
            for (int64_t n = 0; n < s->inner; n += LANES) {              \
                const __mmask16 mask = mask_of(s->inner - n);            \
                                                                         \
                put(to + n, mask,                                        \
                    _mm512_##word##_ps(widened(mask, to + n),            \
                                       widened(mask, by + n)));          \
            }                                                            \
        }                                                                \
    }

LOOP(add)
LOOP(sub)
LOOP(mul)
LOOP(div)

tfd_range_fn *tfd_scatter_halves(enum tfd_scatter_function function)
{
    static tfd_range_fn *const loops[TFD_SCATTER_END] = {
        [TFD_SCATTER_ADD] = add_halves,
        [TFD_SCATTER_SUB] = sub_halves,
        [TFD_SCATTER_MUL] = mul_halves,
        [TFD_SCATTER_DIV] = div_halves,
    };

    return tfd_simd_has_avx512() ? loops[function] : NULL;
}

#else

tfd_range_fn *tfd_scatter_halves(enum tfd_scatter_function function)
{
    (void)function;
    return NULL;
}

#endif
