/*
 * pairs.h - a short list of numbers in order, each with its place.
 *
 * Runs of a few are sorted by insertion and then merged; equal numbers stay in
 * their order.  For hundreds of them, of which there are many lists: a call
 * does not look whether anybody still wants its result (common/thread/halt.h).
 *
 * Threads: pure.
 */
#ifndef TFD_KERNELS_PAIRS_H
#define TFD_KERNELS_PAIRS_H

#include <stdint.h>

struct tfd_pair {
    int64_t number, at;
};

/* The sorted list: k or memory, which has room for as many. */
struct tfd_pair *tfd_pairs_sort(struct tfd_pair *k, struct tfd_pair *memory,
                                int64_t n);

#endif
