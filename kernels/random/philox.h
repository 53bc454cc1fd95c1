/*
 * philox.h - the random generator of TensorFlow's operations, Philox4x32-10:
 * J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011.
 *
 * A block of four 32-bit numbers is a function of a key and a counter, so any
 * place of the stream can be had without computing what is before it:
 *
 *     counter  | 0      1     | 2       3     |      key | 0      1    |
 *              | blocks drawn | second seed   |          | first seed  |
 *
 * each pair with its low half first.
 *
 * A kernel owns a source, one stream per node of the graph that goes on from
 * step to step.  Each run reserves as many blocks as it could need (256 for
 * each element, whatever it really draws) and works with a copy of its own.
 *
 * Threads: a generator is a value; a source may be used by any.
 */
#ifndef TFD_KERNELS_PHILOX_H
#define TFD_KERNELS_PHILOX_H

#include "common/base/device_code.h"
#include "common/base/status.h"

#include <stdint.h>

struct tfd_philox {
    uint32_t counter[4];
    uint32_t key[2];
};

/* Multipliers, and what is added to the key after each round, of the paper. */
#define TFD_PHILOX_MULTIPLIER_A 0xd2511f53u
#define TFD_PHILOX_MULTIPLIER_B 0xcd9e8d57u
#define TFD_PHILOX_WEYL_A 0x9e3779b9u
#define TFD_PHILOX_WEYL_B 0xbb67ae85u
#define TFD_PHILOX_ROUNDS 10

static inline TFD_DEVICE struct tfd_philox tfd_philox_of(uint64_t seed,
                                                         uint64_t seed2)
{
    struct tfd_philox g = {
        {0, 0, (uint32_t)seed2, (uint32_t)(seed2 >> 32)},
        {(uint32_t)seed, (uint32_t)(seed >> 32)},
    };

    return g;
}

/* Leaves out the next `blocks` blocks: adds to the counter as one number of 128
 * bits. */
static inline TFD_DEVICE void tfd_philox_skip(struct tfd_philox *g,
                                              uint64_t blocks)
{
    uint64_t low = g->counter[0] | (uint64_t)g->counter[1] << 32;

    low += blocks;
    g->counter[0] = (uint32_t)low;
    g->counter[1] = (uint32_t)(low >> 32);
    if (low < blocks && ++g->counter[2] == 0)
        ++g->counter[3];
}

static inline TFD_DEVICE void tfd_philox_next(struct tfd_philox *g,
                                              uint32_t out[4])
{
    uint32_t c0 = g->counter[0], c1 = g->counter[1];
    uint32_t c2 = g->counter[2], c3 = g->counter[3];
    uint32_t k0 = g->key[0], k1 = g->key[1];

    for (int i = 0; i < TFD_PHILOX_ROUNDS; i++) {
        uint64_t a = (uint64_t)TFD_PHILOX_MULTIPLIER_A * c0;
        uint64_t b = (uint64_t)TFD_PHILOX_MULTIPLIER_B * c2;

        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += TFD_PHILOX_WEYL_A;
        k1 += TFD_PHILOX_WEYL_B;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
    tfd_philox_skip(g, 1);
}

struct tfd_philox_source {
    struct tfd_philox start;
    uint64_t reserved; /* blocks; atomic, only philox.c touches it */
};

/* Attributes seed and seed2 of the node; both 0: a stream nobody can foresee,
 * which fails only when the system has no entropy. */
enum tfd_code tfd_philox_source_init(struct tfd_philox_source *s, int64_t seed,
                                     int64_t seed2,
                                     struct tfd_status *st) TFD_MUST_USE;

#define TFD_PHILOX_BLOCKS_PER_OUTPUT 256

/* The generator for one run that makes `outputs` elements. */
struct tfd_philox tfd_philox_reserve(struct tfd_philox_source *s,
                                     int64_t outputs);
/* The same for kernels that know how many blocks they need. */
struct tfd_philox tfd_philox_reserve_blocks(struct tfd_philox_source *s,
                                            uint64_t blocks);

#endif
