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

#include "common/status.h"

#include <stdint.h>

struct tfd_philox {
    uint32_t counter[4];
    uint32_t key[2];
};

struct tfd_philox tfd_philox_of(uint64_t seed, uint64_t seed2);

/* Leaves out the next `blocks` blocks. */
void tfd_philox_skip(struct tfd_philox *g, uint64_t blocks);

void tfd_philox_next(struct tfd_philox *g, uint32_t out[4]);

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
