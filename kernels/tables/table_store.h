/*
 * table_store.h - the keys and values of a lookup table.
 *
 * Entries lie one after the other, in the order in which they came until one
 * is removed, whose place the last one takes.  Slots of open addressing lead
 * from a key to the number of its entry:
 *
 *     slots   [ . | hash, 2 | . | . | hash, 0 | hash, 1 | . | . ]
 *     keys    [ "pear" | "plum" | "fig" |  free ... ]
 *     values  [ 3.0    | 5.0    | 1.5   |  free ... ]
 *
 * A number is its own hash, so that a look at the slot is enough.  Memory is
 * that of tensors, so it is counted and bounded as theirs is.
 *
 * Ownership: owns its memory.  Threads: one at a time; many that only find.
 */
#ifndef TFD_KERNELS_TABLE_STORE_H
#define TFD_KERNELS_TABLE_STORE_H

#include "kernels/core/element.h"

#define TFD_TABLE_FOUND_MAX 32 /* at once */

struct tfd_table_slot {
    uint64_t hash;
    int64_t number; /* of the entry, from 1 on; 0: free */
};

struct tfd_table_store {
    enum tfd_dtype key_dtype, value_dtype; /* keys: STRING, INT32, INT64 */
    int64_t width;                         /* elements of a value */
    int64_t count, capacity;
    struct tfd_tensor keys, values, slot_memory;
    struct tfd_table_slot *slots; /* mask + 1 of them; NULL: none yet */
    uint64_t mask;
    int shift; /* of a hash, to a place */
};

struct tfd_table_key {
    uint64_t hash; /* or the number itself */
    struct tfd_str text;
};

/* Element i of keys of a type that a store has. */
struct tfd_table_key tfd_table_key_at(const struct tfd_tensor *keys, int64_t i);

/* Without memory as yet. */
void tfd_table_store_init(struct tfd_table_store *s, enum tfd_dtype key_dtype,
                          enum tfd_dtype value_dtype, int64_t width);
/* Without entries again; the memory goes as well. */
void tfd_table_store_clear(struct tfd_table_store *s);

/* The number of the entry, from 0 on; -1 where there is none. */
int64_t tfd_table_store_find(const struct tfd_table_store *s,
                             struct tfd_table_key key);
/* Those of `count` keys, at most TFD_TABLE_FOUND_MAX, from key `at` on. */
void tfd_table_store_find_some(const struct tfd_table_store *s,
                               const struct tfd_tensor *keys, int64_t at,
                               int64_t count, int64_t *numbers);
/* The same as find, with a new entry where there is none: *is_new.  Its value
 * is undefined where it is a plain number, else empty. */
enum tfd_code tfd_table_store_add(struct tfd_table_store *s,
                                  struct tfd_table_key key, int64_t *number,
                                  bool *is_new,
                                  struct tfd_status *st) TFD_MUST_USE;
/* The value of an entry is a copy of this one. */
enum tfd_code tfd_table_store_set(struct tfd_table_store *s, int64_t number,
                                  const void *value,
                                  struct tfd_status *st) TFD_MUST_USE;
/* Nothing happens where there is none. */
void tfd_table_store_remove(struct tfd_table_store *s,
                            struct tfd_table_key key);

/* The value of entry `number`: `width` elements; NULL where it has none. */
static inline void *tfd_table_store_value(const struct tfd_table_store *s,
                                          int64_t number)
{
    return tfd_element_at(tfd_tensor_data(&s->values), s->value_dtype,
                          number * s->width);
}

#endif
