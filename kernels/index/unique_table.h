/*
 * unique_table.h - different items of a list, numbered in the order of their
 * first appearance.
 *
 * Whole numbers that lie close together are found in an array by their value.
 * Other keys go into a table of open addressing, whose slots hold key and
 * number, so that a look costs one miss of the cache; and items are taken in
 * blocks whose slots are fetched together, so that the misses overlap.  The
 * place is the hash's upper bits: as the table doubles, its slots are read and
 * written in order.
 *
 * Ownership: owns its memory; the list is borrowed.  Threads: one at a time.
 */
#ifndef TFD_KERNELS_UNIQUE_TABLE_H
#define TFD_KERNELS_UNIQUE_TABLE_H

#include "kernels/index/unique_items.h"

#define TFD_UNIQUE_BLOCK 128 /* items that are looked up together */

/* 0: free; else one more than the item's number. */
struct tfd_unique_slot {
    uint64_t key;
    int64_t number;
};

struct tfd_unique_table {
    const struct tfd_unique_items *stored;
    struct tfd_tensor first_memory, slot_memory;
    int64_t *first; /* item by number */
    int64_t count;
    struct tfd_unique_slot *slots;
    uint64_t mask;
    int shift;     /* of a hash, to a place */
    int32_t *seen; /* by value: one more than the number, or 0; NULL: slots */
    uint64_t low;  /* the value at its start */
};

/* by_value: may be an array by value, in which no other list is looked up.
 * After a failure *t is to be freed as well. */
enum tfd_code tfd_unique_table_make(struct tfd_unique_table *t,
                                    const struct tfd_unique_items *stored,
                                    bool by_value,
                                    struct tfd_status *st) TFD_MUST_USE;
void tfd_unique_table_free(struct tfd_unique_table *t);

/* The numbers of n items of the list from item `from` on, TFD_UNIQUE_BLOCK of
 * them at most; new ones are put in. */
enum tfd_code tfd_unique_table_number(struct tfd_unique_table *t, int64_t from,
                                      int64_t n, int64_t *numbers,
                                      struct tfd_status *st) TFD_MUST_USE;
/* As many items of another list: which of them the table has not. */
void tfd_unique_table_lacks(const struct tfd_unique_table *t,
                            const struct tfd_unique_items *x, int64_t from,
                            int64_t n, bool *lacks);

#endif
