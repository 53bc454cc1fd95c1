/*
 * unique_items.h - what Unique and ListDiff compare: the elements of a vector,
 * or with an axis slices across the other dimensions.
 *
 * Each item gets a key of 64 bits: the element's own bits where they fit, so
 * that equal keys are equal items, else a hash, after which the items
 * themselves are compared.  Zeros of either sign are one item, a NaN is never
 * another's equal.
 *
 * Threads: read-only once made.
 */
#ifndef TFD_KERNELS_UNIQUE_ITEMS_H
#define TFD_KERNELS_UNIQUE_ITEMS_H

#include "common/base/hash.h"
#include "common/base/tensor.h"
#include "kernels/core/element.h"

/* x as [outer][count][inner]. */
struct tfd_unique_items {
    const struct tfd_tensor *x;
    int64_t outer, count, inner;
    /* -- set by tfd_unique_items_init() */
    bool exact;              /* keys are the items */
    bool floating;           /* of a float type, with these bits: */
    uint64_t sign, infinity; /* of the sign, of an infinity */
    const struct tfd_hash_key *hash_key;
};

void tfd_unique_items_init(struct tfd_unique_items *t);

/* The keys of n items from item `from` on. */
void tfd_unique_items_keys(const struct tfd_unique_items *t, int64_t from,
                           int64_t n, uint64_t *keys);
bool tfd_unique_items_equal(const struct tfd_unique_items *a, int64_t i,
                            const struct tfd_unique_items *b, int64_t j);

/* Of the bits of an element. */
static inline bool tfd_unique_is_nan(const struct tfd_unique_items *t,
                                     uint64_t bits)
{
    return t->floating && (bits & ~t->sign) > t->infinity;
}

/* Whether two items with the same key that is no NaN's are equal. */
static inline bool tfd_unique_items_same(const struct tfd_unique_items *a,
                                         int64_t i,
                                         const struct tfd_unique_items *b,
                                         int64_t j)
{
    return a->exact || tfd_unique_items_equal(a, i, b, j);
}

/* Where `inner` elements of item i are, of each `outer`. */
static inline const void *tfd_unique_items_run(const struct tfd_unique_items *t,
                                               int64_t outer, int64_t i)
{
    return tfd_element_of(tfd_tensor_data(t->x), t->x->dtype,
                          (outer * t->count + i) * t->inner);
}

#endif
