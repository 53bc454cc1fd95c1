/*
 * philox_lanes.h - many blocks of a Philox stream at once, in the lanes of
 * vectors: the same blocks that tfd_philox_next() makes one by one.
 *
 * Threads: pure.
 */
#ifndef TFD_KERNELS_PHILOX_LANES_H
#define TFD_KERNELS_PHILOX_LANES_H

#include "kernels/philox.h"

/* out[i] is the block that is first + i * stride blocks after the generator's
 * place; that number fits 64 bits. */
void tfd_philox_blocks(const struct tfd_philox *g, uint64_t first,
                       uint64_t stride, int64_t count, uint32_t (*out)[4]);

#endif
