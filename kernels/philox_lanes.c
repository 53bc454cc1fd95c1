/*
 * philox_lanes.c - a lane of 64 bits has one word of one block's counter in its
 * low half: the product of 32 bits each that a round needs is one instruction,
 * which ignores the high half, so nothing ever clears that.
 */
#include "kernels/philox_lanes.h"

#include "kernels/simd.h"

#include <string.h>

static void plain_blocks(const struct tfd_philox *g, uint64_t first,
                         uint64_t stride, int64_t count, uint32_t (*out)[4])
{
    for (int64_t i = 0; i < count; i++) {
        struct tfd_philox at = *g;

        tfd_philox_skip(&at, first + (uint64_t)i * stride);
        tfd_philox_next(&at, out[i]);
    }
}

#if defined(__x86_64__)

#include <immintrin.h>

/* Of 64 bits, in the order that leaves blocks in theirs: the halves of a pair
 * of lanes become the two words of a block each. */
#define BLOCKS_OF_8 0, 4, 1, 5, 2, 6, 3, 7
#define BLOCKS_OF_4 0, 2, 1, 3

/* A round of as many blocks as a vector has lanes. */
#define ROUND(P, BITS)                                                         \
    do {                                                                       \
        a = P##_mul_epu32(c0, factor_a);                                       \
        b = P##_mul_epu32(c2, factor_b);                                       \
        c0 =                                                                   \
            P##_xor_si##BITS(P##_xor_si##BITS(P##_srli_epi64(b, 32), c1), k0); \
        c1 = b;                                                                \
        c2 =                                                                   \
            P##_xor_si##BITS(P##_xor_si##BITS(P##_srli_epi64(a, 32), c3), k1); \
        c3 = a;                                                                \
        k0 = P##_add_epi64(k0, weyl_a);                                        \
        k1 = P##_add_epi64(k1, weyl_b);                                        \
    } while (0)

/* NAME(): blocks of counters low, low + stride, ... in whole vectors of N,
 * two a turn; none carries into the counter's upper half. */
#define DEFINE_VECTORS(NAME, INSTRUCTIONS, P, V, BITS, SET1, N, ORDER)        \
    __attribute__((target(INSTRUCTIONS))) static void NAME(                   \
        const struct tfd_philox *g, uint64_t low, uint64_t stride,            \
        int64_t count, uint32_t(*out)[4])                                     \
    {                                                                         \
        static const uint64_t order[N] = {ORDER};                             \
        V factor_a = SET1(TFD_PHILOX_MULTIPLIER_A);                           \
        V factor_b = SET1(TFD_PHILOX_MULTIPLIER_B);                           \
        V weyl_a = SET1(TFD_PHILOX_WEYL_A), weyl_b = SET1(TFD_PHILOX_WEYL_B); \
        V word = SET1(UINT32_MAX);                                            \
        uint64_t offsets[N];                                                  \
        V offset;                                                             \
                                                                              \
        for (int i = 0; i < N; i++)                                           \
            offsets[i] = order[i] * stride;                                   \
        memcpy(&offset, offsets, sizeof(offset));                             \
        for (int64_t i = 0; i < count; i += N) {                              \
            V at = P##_add_epi64(                                             \
                SET1((long long)(low + (uint64_t)i * stride)), offset);       \
            V c0 = at, c1 = P##_srli_epi64(at, 32);                           \
            V c2 = SET1(g->counter[2]), c3 = SET1(g->counter[3]);             \
            V k0 = SET1(g->key[0]), k1 = SET1(g->key[1]), a, b;               \
                                                                              \
            for (int r = 0; r < TFD_PHILOX_ROUNDS; r++)                       \
                ROUND(P, BITS);                                               \
            a = P##_or_si##BITS(P##_and_si##BITS(c0, word),                   \
                                P##_slli_epi64(c1, 32));                      \
            b = P##_or_si##BITS(P##_and_si##BITS(c2, word),                   \
                                P##_slli_epi64(c3, 32));                      \
            c0 = P##_unpacklo_epi64(a, b);                                    \
            c1 = P##_unpackhi_epi64(a, b);                                    \
            memcpy(out[i], &c0, sizeof(c0));                                  \
            memcpy(out[i + N / 2], &c1, sizeof(c1));                          \
        }                                                                     \
    }

DEFINE_VECTORS(blocks_avx2, "avx2", _mm256, __m256i, 256, _mm256_set1_epi64x, 4,
               BLOCKS_OF_4)
DEFINE_VECTORS(blocks_avx512, TFD_SIMD_AVX512, _mm512, __m512i, 512,
               _mm512_set1_epi64, 8, BLOCKS_OF_8)

void tfd_philox_blocks(const struct tfd_philox *g, uint64_t first,
                       uint64_t stride, int64_t count, uint32_t (*out)[4])
{
    int64_t whole = count / 8 * 8;
    struct tfd_philox at = *g;
    uint64_t low;

    tfd_philox_skip(&at, first);
    low = at.counter[0] | (uint64_t)at.counter[1] << 32;
    if (!__builtin_cpu_supports("avx2") || low + (uint64_t)whole * stride < low)
        whole = 0;
    else if (tfd_simd_has_avx512())
        blocks_avx512(&at, low, stride, whole, out);
    else
        blocks_avx2(&at, low, stride, whole, out);
    plain_blocks(g, first + (uint64_t)whole * stride, stride, count - whole,
                 out + whole);
}

#else

void tfd_philox_blocks(const struct tfd_philox *g, uint64_t first,
                       uint64_t stride, int64_t count, uint32_t (*out)[4])
{
    plain_blocks(g, first, stride, count, out);
}

#endif
