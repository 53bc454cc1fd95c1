/*
 * philox_lanes.c - ten rounds on vectors of counters.
 *
 * A word of the counter takes the low half of a lane: there the instruction
 * that multiplies 32 by 32 bits reads it, and leaves both halves of the product
 * where the next round wants them.  What comes to be in a high half is never
 * read, so nothing clears it.  Compilers do not find that instruction in C;
 * everything else is C on vectors.
 */
#include "kernels/random/philox_lanes.h"

#include "kernels/vector/simd.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

typedef uint64_t lanes2 __attribute__((vector_size(16)));
typedef uint64_t lanes4 __attribute__((vector_size(32)));
typedef uint64_t lanes8 __attribute__((vector_size(64)));

#define MULTIPLY2(a, b) (lanes2) _mm_mul_epu32((__m128i)(a), (__m128i)(b))
#define MULTIPLY4(a, b) (lanes4) _mm256_mul_epu32((__m256i)(a), (__m256i)(b))
#define MULTIPLY8(a, b) (lanes8) _mm512_mul_epu32((__m512i)(a), (__m512i)(b))

/* Both halves of a number of 128 bits; V has `step` lanes. */
#define DEFINE_ROUNDS(name, instructions, V, step, multiply)                  \
    __attribute__((target(instructions))) static void name(                   \
        struct tfd_philox_lanes *l, const struct tfd_philox *g, uint64_t low, \
        uint64_t high, const uint64_t skip[TFD_PHILOX_LANES])                 \
    {                                                                         \
        const V a = (V){0} + TFD_PHILOX_MULTIPLIER_A;                         \
        const V b = (V){0} + TFD_PHILOX_MULTIPLIER_B;                         \
                                                                              \
        for (int i = 0; i < TFD_PHILOX_LANES; i += step) {                    \
            V c0, c1, c2, c3;                                                 \
            uint32_t k0 = g->key[0], k1 = g->key[1];                          \
                                                                              \
            memcpy(&c0, &skip[i], sizeof(c0));                                \
            c0 += low;                                                        \
            c2 = high - (V)(c0 < low); /* the carry: true is -1 */            \
            c1 = c0 >> 32;                                                    \
            c3 = c2 >> 32;                                                    \
            for (int round = 0; round < TFD_PHILOX_ROUNDS; round++) {         \
                const V p = multiply(c0, a), q = multiply(c2, b);             \
                                                                              \
                c0 = q >> 32 ^ c1 ^ (uint64_t)k0;                             \
                c1 = q;                                                       \
                c2 = p >> 32 ^ c3 ^ (uint64_t)k1;                             \
                c3 = p;                                                       \
                k0 += TFD_PHILOX_WEYL_A;                                      \
                k1 += TFD_PHILOX_WEYL_B;                                      \
            }                                                                 \
            c0 = (c0 & UINT32_MAX) | c1 << 32;                                \
            c2 = (c2 & UINT32_MAX) | c3 << 32;                                \
            memcpy(&l->pair[0][i], &c0, sizeof(c0));                          \
            memcpy(&l->pair[1][i], &c2, sizeof(c2));                          \
        }                                                                     \
    }

DEFINE_ROUNDS(rounds_sse2, "sse2", lanes2, 2, MULTIPLY2)
DEFINE_ROUNDS(rounds_avx2, "avx2", lanes4, 4, MULTIPLY4)
DEFINE_ROUNDS(rounds_avx512, TFD_SIMD_AVX512, lanes8, 8, MULTIPLY8)

void tfd_philox_lanes(struct tfd_philox_lanes *l, const struct tfd_philox *g,
                      const uint64_t skip[TFD_PHILOX_LANES])
{
    const uint64_t low = g->counter[0] | (uint64_t)g->counter[1] << 32;
    const uint64_t high = g->counter[2] | (uint64_t)g->counter[3] << 32;

    if (tfd_simd_has_avx512())
        rounds_avx512(l, g, low, high, skip);
    else if (__builtin_cpu_supports("avx2"))
        rounds_avx2(l, g, low, high, skip);
    else
        rounds_sse2(l, g, low, high, skip);
}

#else

void tfd_philox_lanes(struct tfd_philox_lanes *l, const struct tfd_philox *g,
                      const uint64_t skip[TFD_PHILOX_LANES])
{
    for (int i = 0; i < TFD_PHILOX_LANES; i++) {
        struct tfd_philox at = *g;
        uint32_t x[4];

        tfd_philox_skip(&at, skip[i]);
        tfd_philox_next(&at, x);
        l->pair[0][i] = x[0] | (uint64_t)x[1] << 32;
        l->pair[1][i] = x[2] | (uint64_t)x[3] << 32;
    }
}

#endif
