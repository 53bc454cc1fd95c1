/*
 * philox.c - ten rounds of multiplication and XOR.
 */
#include "kernels/philox.h"

#include "kernels/entropy.h"

#include <assert.h>

/* Multipliers, and what is added to the key after each round, of the paper. */
#define MULTIPLIER_A 0xd2511f53u
#define MULTIPLIER_B 0xcd9e8d57u
#define WEYL_A 0x9e3779b9u
#define WEYL_B 0xbb67ae85u
#define ROUNDS 10

struct tfd_philox tfd_philox_of(uint64_t seed, uint64_t seed2)
{
    struct tfd_philox g = {
        {0, 0, (uint32_t)seed2, (uint32_t)(seed2 >> 32)},
        {(uint32_t)seed, (uint32_t)(seed >> 32)},
    };

    return g;
}

/* Adds to the counter as one number of 128 bits. */
void tfd_philox_skip(struct tfd_philox *g, uint64_t blocks)
{
    uint64_t low = g->counter[0] | (uint64_t)g->counter[1] << 32;

    low += blocks;
    g->counter[0] = (uint32_t)low;
    g->counter[1] = (uint32_t)(low >> 32);
    if (low < blocks && ++g->counter[2] == 0)
        ++g->counter[3];
}

void tfd_philox_next(struct tfd_philox *g, uint32_t out[4])
{
    uint32_t c0 = g->counter[0], c1 = g->counter[1];
    uint32_t c2 = g->counter[2], c3 = g->counter[3];
    uint32_t k0 = g->key[0], k1 = g->key[1];

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a = (uint64_t)MULTIPLIER_A * c0;
        uint64_t b = (uint64_t)MULTIPLIER_B * c2;

        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += WEYL_A;
        k1 += WEYL_B;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
    tfd_philox_skip(g, 1);
}

enum tfd_code tfd_philox_source_init(struct tfd_philox_source *s, int64_t seed,
                                     int64_t seed2, struct tfd_status *st)
{
    uint64_t first = (uint64_t)seed, second = (uint64_t)seed2;

    if (first == 0 && second == 0) {
        TFD_TRY(tfd_entropy_u64(&first, st));
        TFD_TRY(tfd_entropy_u64(&second, st));
    }
    s->start = tfd_philox_of(first, second);
    s->reserved = 0;
    return TFD_OK;
}

struct tfd_philox tfd_philox_reserve_blocks(struct tfd_philox_source *s,
                                            uint64_t blocks)
{
    struct tfd_philox g = s->start;

    tfd_philox_skip(&g,
                    __atomic_fetch_add(&s->reserved, blocks, __ATOMIC_RELAXED));
    return g;
}

struct tfd_philox tfd_philox_reserve(struct tfd_philox_source *s,
                                     int64_t outputs)
{
    assert(outputs >= 0);
    return tfd_philox_reserve_blocks(s, (uint64_t)outputs *
                                            TFD_PHILOX_BLOCKS_PER_OUTPUT);
}
