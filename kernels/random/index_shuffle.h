/*
 * index_shuffle.h - a pseudorandom permutation of the numbers up to some
 * number, one by one and without a table of them: where number i goes.
 *
 * It is TensorFlow's: a Simon block cipher whose blocks hold the largest
 * number, which is applied again to what is too large (cycle walking).
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_RANDOM_INDEX_SHUFFLE_H
#define TFD_KERNELS_RANDOM_INDEX_SHUFFLE_H

#include <stdint.h>

#define TFD_INDEX_SHUFFLE_ROUNDS_MAX 64

/* Where number `index` of [0, largest] goes; rounds are even, at least 4. */
uint64_t tfd_index_shuffle(uint64_t index, const uint32_t key[3],
                           uint64_t largest, int rounds);

#endif
