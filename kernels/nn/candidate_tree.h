/*
 * candidate_tree.h - classes with counts that grow, from which one is drawn
 * with a probability that is proportional to its count.
 *
 *     node 1 is the root, 2 i and 2 i + 1 are below i     each has the sum of
 *     class v is node leaves + v                          those below it
 *
 * Every class begins with a count of 1.  Draws are TensorFlow's from the same
 * numbers; so is the sum's end at INT32_MAX, from where on nothing is counted.
 *
 * Threads: the owner's lock.
 */
#ifndef TFD_KERNELS_CANDIDATE_TREE_H
#define TFD_KERNELS_CANDIDATE_TREE_H

#include "kernels/random/random_number.h"

#include <stdbool.h>

struct tfd_buffer;

struct tfd_candidate_tree {
    struct tfd_buffer *buffer; /* NULL: there is none */
    int32_t *sum;
    int64_t leaves; /* a power of two */
};

/* `range` classes; RESOURCE_EXHAUSTED, INVALID_ARGUMENT beyond
 * TFD_CANDIDATE_TREE_MAX. */
enum tfd_code tfd_candidate_tree_init(struct tfd_candidate_tree *t,
                                      int64_t range,
                                      struct tfd_status *st) TFD_MUST_USE;
void tfd_candidate_tree_deinit(struct tfd_candidate_tree *t);
int64_t tfd_candidate_tree_draw(const struct tfd_candidate_tree *t,
                                struct tfd_random_draw *draw);
float tfd_candidate_tree_probability(const struct tfd_candidate_tree *t,
                                     int64_t value);
/* Counts values of the range once more. */
void tfd_candidate_tree_count(struct tfd_candidate_tree *t,
                              const int64_t *values, int64_t count);

#endif
