/*
 * data_seeds.h - where shuffled and random datasets have their seeds from.
 *
 * Each pass takes the next pair of a generator, or the same pair each time:
 *
 *     a pass:  generator (a Philox stream of 32-bit numbers) -> seed, seed2
 *              seed, seed2 -> the stream of the pass
 *
 * A generator belongs to a dataset, or is a resource that several share.  Seeds
 * 0, 0 stand for seeds that nobody can foresee.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_DATA_DATA_SEEDS_H
#define TFD_KERNELS_DATA_DATA_SEEDS_H

#include "common/thread/lock.h"
#include "kernels/core/runtime.h"
#include "kernels/data/anonymous.h"
#include "kernels/random/random_number.h"

struct tfd_data_seeds {
    struct tfd_resource resource;
    struct tfd_anonymous anonymous;
    bool fixed; /* the same pair each time */
    uint64_t seed, seed2;
    struct tfd_lock lock;
    struct tfd_random_draw draw; /* the lock's */
    uint64_t drawn;              /* pairs; the lock's */
};

/* Where a generator is. */
struct tfd_data_seeds_state {
    uint64_t seed, seed2, drawn;
};

extern const struct tfd_resource_type tfd_data_seeds_type;

enum tfd_code tfd_data_seeds_new(int64_t seed, int64_t seed2, bool fixed,
                                 struct tfd_data_seeds **out,
                                 struct tfd_status *st) TFD_MUST_USE;
void tfd_data_seeds_unref(struct tfd_data_seeds *s); /* NULL is nothing */
/* The next pair of seeds. */
void tfd_data_seeds_pair(struct tfd_data_seeds *s, uint64_t pair[2]);
/* The stream of the next pass. */
struct tfd_random_draw tfd_data_seeds_next(struct tfd_data_seeds *s);

void tfd_data_seeds_save(struct tfd_data_seeds *s,
                         struct tfd_data_seeds_state *out);
/* It goes on from there, whatever it was before. */
void tfd_data_seeds_load(struct tfd_data_seeds *s,
                         const struct tfd_data_seeds_state *state);

/* The generator that input `in` names, else a new one. */
enum tfd_code tfd_data_seeds_of(struct tfd_kctx *k, int in, int64_t seed,
                                int64_t seed2, bool fixed,
                                struct tfd_data_seeds **out,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
