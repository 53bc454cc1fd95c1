/*
 * unique_table.c - see unique_table.h.  The table starts small and doubles,
 * because lists with few different items are the usual ones and then stay in
 * the cache.
 */
#include "kernels/index/unique_table.h"

#include <string.h>

/* ---- Slots --------------------------------------------------------------- */

#define SLOTS_MIN_LOG2 8
#define SLOTS_NEAR (1 << 11) /* so few are in the first cache anyway */

/* count zeros of a type of numbers. */
static enum tfd_code make_zeros(struct tfd_tensor *t, enum tfd_dtype dtype,
                                int64_t count, struct tfd_status *st)
{
    const struct tfd_shape shape = {1, {count}};

    TFD_TRY(tfd_tensor_new(t, dtype, &shape, st));
    memset(tfd_tensor_data(t), 0, tfd_tensor_size(t));
    return TFD_OK;
}

static enum tfd_code make_slots(struct tfd_unique_table *t, int log2,
                                struct tfd_status *st)
{
    TFD_TRY(make_zeros(&t->slot_memory, TFD_INT64, INT64_C(2) << log2, st));
    t->slots = tfd_tensor_data(&t->slot_memory);
    t->mask = (UINT64_C(1) << log2) - 1;
    t->shift = 64 - log2;
    return TFD_OK;
}

static uint64_t place_of_key(const struct tfd_unique_table *t, uint64_t key)
{
    return tfd_hash_mix(t->stored->hash_key, key) >> t->shift;
}

/* The slot of an item equal to item i of `other`, else a free one. */
static inline struct tfd_unique_slot *
slot_of(const struct tfd_unique_table *t, const struct tfd_unique_items *other,
        int64_t i, uint64_t key)
{
    uint64_t at = place_of_key(t, key);
    struct tfd_unique_slot *s = &t->slots[at];

    while (s->number && (s->key != key ||
                         !tfd_unique_items_same(
                             t->stored, t->first[s->number - 1], other, i))) {
        at = (at + 1) & t->mask;
        s = &t->slots[at];
    }
    return s;
}

/* Asks for the slots of a block, so that they arrive while it is worked on. */
static void fetch_slots(const struct tfd_unique_table *t, const uint64_t *keys,
                        int64_t n)
{
    if (t->mask >= SLOTS_NEAR)
        for (int64_t i = 0; i < n; i++)
            __builtin_prefetch(&t->slots[place_of_key(t, keys[i])], 1);
}

static enum tfd_code grow_unique_table(struct tfd_unique_table *t,
                                       struct tfd_status *st)
{
    struct tfd_tensor old = t->slot_memory;
    const struct tfd_unique_slot *from = t->slots;
    uint64_t count = t->mask + 1;
    enum tfd_code rc;

    t->slot_memory = (struct tfd_tensor)TFD_TENSOR_INIT;
    rc = make_slots(t, 64 - t->shift + 1, st);
    for (uint64_t i = 0; rc == TFD_OK && i < count; i++) {
        uint64_t at = from[i].number ? place_of_key(t, from[i].key) : 0;

        if (!from[i].number)
            continue;
        while (t->slots[at].number)
            at = (at + 1) & t->mask;
        t->slots[at] = from[i];
    }
    tfd_tensor_unref(&old);
    return rc;
}

/* The number of a new item. */
static int64_t add_item(struct tfd_unique_table *t, int64_t i)
{
    t->first[t->count] = i;
    return t->count++;
}

/* The number of item i of the stored list, which is put in if it is new. */
static inline enum tfd_code number_of_key(struct tfd_unique_table *t, int64_t i,
                                          uint64_t key, int64_t *number,
                                          struct tfd_status *st)
{
    struct tfd_unique_slot *slot;

    if (t->stored->exact && tfd_unique_is_nan(t->stored, key)) {
        *number = add_item(t, i);
        return TFD_OK;
    }
    slot = slot_of(t, t->stored, i, key);
    if (!slot->number) {
        slot->key = key;
        slot->number = add_item(t, i) + 1;
    }
    *number = slot->number - 1;
    return 2 * t->count > (int64_t)t->mask ? grow_unique_table(t, st) : TFD_OK;
}

/* ---- Numbers that lie close together ------------------------------------- */

/* An array by value, as soon as it is no more than so many times as long as the
 * list. */
#define RANGE_TIMES 4
#define RANGE_MIN 1024

static void find_range(const struct tfd_unique_items *t, int64_t *low,
                       int64_t *high)
{
    uint64_t keys[TFD_UNIQUE_BLOCK];

    for (int64_t i = 0; i < t->count; i += TFD_UNIQUE_BLOCK) {
        int64_t n =
            t->count - i < TFD_UNIQUE_BLOCK ? t->count - i : TFD_UNIQUE_BLOCK;

        tfd_unique_items_keys(t, i, n, keys);
        for (int64_t j = 0; j < n; j++) {
            int64_t key = (int64_t)keys[j];

            *low = key < *low ? key : *low;
            *high = key > *high ? key : *high;
        }
    }
}

static enum tfd_code make_range(struct tfd_unique_table *t,
                                struct tfd_status *st)
{
    const struct tfd_unique_items *x = t->stored;
    int64_t low = INT64_MAX, high = INT64_MIN;
    uint64_t size;

    if (!x->exact || x->floating || x->count == 0 ||
        x->count > INT32_MAX / RANGE_TIMES - RANGE_MIN)
        return TFD_OK;
    find_range(x, &low, &high);
    size = (uint64_t)high - (uint64_t)low;
    if (size >= (uint64_t)x->count * RANGE_TIMES + RANGE_MIN)
        return TFD_OK;
    TFD_TRY(make_zeros(&t->slot_memory, TFD_INT32, (int64_t)size + 1, st));
    t->seen = tfd_tensor_data(&t->slot_memory);
    t->low = (uint64_t)low;
    return TFD_OK;
}

static void number_near(struct tfd_unique_table *t, int64_t from,
                        const uint64_t *keys, int64_t n, int64_t *numbers)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t *seen = &t->seen[keys[i] - t->low];

        if (!*seen)
            *seen = (int32_t)add_item(t, from + i) + 1;
        numbers[i] = *seen - 1;
    }
}

/* ---- Both ---------------------------------------------------------------- */

enum tfd_code tfd_unique_table_make(struct tfd_unique_table *t,
                                    const struct tfd_unique_items *stored,
                                    bool by_value, struct tfd_status *st)
{
    const struct tfd_shape shape = {1, {stored->count}};

    *t = (struct tfd_unique_table){.stored = stored};
    TFD_TRY(tfd_tensor_new(&t->first_memory, TFD_INT64, &shape, st));
    t->first = tfd_tensor_data(&t->first_memory);
    if (by_value)
        TFD_TRY(make_range(t, st));
    return t->seen ? TFD_OK : make_slots(t, SLOTS_MIN_LOG2, st);
}

void tfd_unique_table_free(struct tfd_unique_table *t)
{
    tfd_tensor_unref(&t->first_memory);
    tfd_tensor_unref(&t->slot_memory);
}

enum tfd_code tfd_unique_table_number(struct tfd_unique_table *t, int64_t from,
                                      int64_t n, int64_t *numbers,
                                      struct tfd_status *st)
{
    uint64_t keys[TFD_UNIQUE_BLOCK];

    tfd_unique_items_keys(t->stored, from, n, keys);
    if (t->seen) {
        number_near(t, from, keys, n, numbers);
        return TFD_OK;
    }
    fetch_slots(t, keys, n);
    for (int64_t i = 0; i < n; i++)
        TFD_TRY(number_of_key(t, from + i, keys[i], &numbers[i], st));
    return TFD_OK;
}

void tfd_unique_table_lacks(const struct tfd_unique_table *t,
                            const struct tfd_unique_items *x, int64_t from,
                            int64_t n, bool *lacks)
{
    uint64_t keys[TFD_UNIQUE_BLOCK];

    tfd_unique_items_keys(x, from, n, keys);
    fetch_slots(t, keys, n);
    for (int64_t i = 0; i < n; i++)
        lacks[i] = (x->exact && tfd_unique_is_nan(x, keys[i])) ||
                   !slot_of(t, x, from + i, keys[i])->number;
}
