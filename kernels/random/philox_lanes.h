/*
 * philox_lanes.h - many blocks of a Philox stream at once (philox.h), in vector
 * lanes.
 *
 * A block depends on nothing but its counter, so a lane of 64 bits makes a
 * block and nothing moves from one lane to another.  What is left in lane i are
 * the four numbers of its block, as two pairs:
 *
 *     pair[0][i] = number 0 | number 1 << 32
 *     pair[1][i] = number 2 | number 3 << 32
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_PHILOX_LANES_H
#define TFD_KERNELS_PHILOX_LANES_H

#include "kernels/random/philox.h"

/* Blocks at once.  A compiler unrolls shorter loops over them before it could
 * vectorise these. */
#define TFD_PHILOX_LANES 32

struct tfd_philox_lanes {
    uint64_t pair[2][TFD_PHILOX_LANES];
};

/* In lane i the block of g after skip[i] others; g stays as it is. */
void tfd_philox_lanes(struct tfd_philox_lanes *l, const struct tfd_philox *g,
                      const uint64_t skip[TFD_PHILOX_LANES]);

#endif
