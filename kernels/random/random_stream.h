/*
 * random_stream.h - where a random kernel's bits come from: the stream of its
 * node, or seeds that arrive as tensors.
 *
 * A node's stream (attributes seed and seed2) goes on from step to step, in all
 * graphs of its session that have the node: state of kernels that have the flag
 * TFD_KERNEL_SHARED.  Seeds that arrive (Stateless ops) give the same numbers
 * each time; two seeds are scrambled by Philox itself under a fixed key, so
 * that neither needs to be the better one:
 *
 *     block = philox(key {0x3ec8f720, 0x02461e29}, counter {seed0, seed1})
 *     key = {block[0], block[1]}   counter = {0, 0, block[2], block[3]}
 *
 * The ops of the second version take key and counter instead, and the number of
 * an algorithm, of which CPUs have one: Philox, 1, or 3, "choose one".
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_RANDOM_STREAM_H
#define TFD_KERNELS_RANDOM_STREAM_H

#include "kernels/core/kernel.h"
#include "kernels/random/philox.h"

#define TFD_RANDOM_PHILOX 1
#define TFD_RANDOM_AUTO 3

/* The stream of the node. */
enum tfd_code tfd_random_stream_init(const struct tfd_prepare *p,
                                     struct tfd_philox_source *s,
                                     struct tfd_status *st) TFD_MUST_USE;
/* A prepare() for kernels whose state is only that. */
enum tfd_code tfd_random_stream_prepare(const struct tfd_prepare *p,
                                        void *state,
                                        struct tfd_status *st) TFD_MUST_USE;

/* Input `arg`: two seeds, INT32 or INT64. */
enum tfd_code tfd_random_seeds(const struct tfd_kctx *k, int arg,
                               struct tfd_philox *g,
                               struct tfd_status *st) TFD_MUST_USE;
/* Inputs arg, arg + 1, arg + 2: key, counter, algorithm; only the shapes of the
 * first two are looked at, which lie on a GPU for its kernels.  An algorithm
 * that exists, here or not, will do where there are no outputs. */
enum tfd_code tfd_random_key_check(const struct tfd_kctx *k, int arg,
                                   int64_t outputs,
                                   struct tfd_status *st) TFD_MUST_USE;
/* The same for who reads one word of the counter; the algorithm has to be here
 * also where there are no outputs. */
enum tfd_code tfd_random_key_check_philox(const struct tfd_kctx *k, int arg,
                                          struct tfd_status *st) TFD_MUST_USE;
/* The generator of a key and of the words of a counter. */
static inline TFD_DEVICE struct tfd_philox
tfd_random_keyed(const uint64_t *key, const uint64_t *counter)
{
    struct tfd_philox g = tfd_philox_of(key[0], counter[1]);

    g.counter[0] = (uint32_t)counter[0];
    g.counter[1] = (uint32_t)(counter[0] >> 32);
    return g;
}

#endif
