/*
 * philox.c - streams that nodes of a graph own.
 */
#include "kernels/random/philox.h"

#include "common/base/atomic.h"
#include "common/base/entropy.h"

#include <assert.h>

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

    tfd_philox_skip(&g, TFD_COUNTER_TAKE(&s->reserved, blocks));
    return g;
}

struct tfd_philox tfd_philox_reserve(struct tfd_philox_source *s,
                                     int64_t outputs)
{
    assert(outputs >= 0);
    return tfd_philox_reserve_blocks(s, (uint64_t)outputs *
                                            TFD_PHILOX_BLOCKS_PER_OUTPUT);
}
