/*
 * table_store.c - see table_store.h.
 *
 * At most half of the slots are taken, and a key lies in the first free one
 * from its place on.  When one is freed, those behind it that would no longer
 * be reached move up.
 */
#include "kernels/tables/table_store.h"

#include "common/base/hash.h"
#include "common/base/variant.h"

#include <string.h>

#define ENTRIES_MIN 8

/* ---- Keys ---------------------------------------------------------------- */

struct tfd_table_key tfd_table_key_at(const struct tfd_tensor *keys, int64_t i)
{
    const void *data = tfd_tensor_data(keys);
    struct tfd_table_key key = {0, {NULL, 0}};

    if (keys->dtype == TFD_STRING) {
        key.text = tfd_tstring_view(&((const struct tfd_tstring *)data)[i]);
        key.hash = tfd_hash_str(key.text);
    } else if (keys->dtype == TFD_INT32) {
        key.hash = (uint64_t)(int64_t)((const int32_t *)data)[i];
    } else {
        key.hash = (uint64_t)((const int64_t *)data)[i];
    }
    return key;
}

/* ---- Slots --------------------------------------------------------------- */

static uint64_t place_of(const struct tfd_table_store *s, uint64_t hash)
{
    uint64_t mixed = s->key_dtype == TFD_STRING ? hash : tfd_hash_number(hash);

    return mixed >> s->shift;
}

/* The first `size` bytes of both, at least 8, by words of which the last one
 * overlaps another: keys are short, and a call of memcmp() costs more. */
static bool same_bytes(const char *a, const char *b, size_t size)
{
    uint64_t from_a, from_b, differs = 0;

    for (size_t at = 0; at < size; at += 8) {
        const size_t place = at + 8 <= size ? at : size - 8;

        memcpy(&from_a, a + place, 8);
        memcpy(&from_b, b + place, 8);
        differs |= from_a ^ from_b;
    }
    return differs == 0;
}

static bool same_text(struct tfd_str a, struct tfd_str b)
{
    uint32_t from_a[2], from_b[2];

    if (a.size != b.size)
        return false;
    if (a.size >= 8 && a.size <= TFD_TSTRING_SMALL_MAX)
        return same_bytes(a.data, b.data, a.size);
    if (a.size < 4 || a.size > 8)
        return tfd_str_eq(a, b);
    memcpy(&from_a[0], a.data, 4);
    memcpy(&from_b[0], b.data, 4);
    memcpy(&from_a[1], a.data + a.size - 4, 4);
    memcpy(&from_b[1], b.data + a.size - 4, 4);
    return from_a[0] == from_b[0] && from_a[1] == from_b[1];
}

static bool is_key(const struct tfd_table_store *s,
                   const struct tfd_table_slot *slot, struct tfd_table_key key)
{
    const struct tfd_tstring *texts;

    if (slot->hash != key.hash)
        return false;
    if (s->key_dtype != TFD_STRING)
        return true;
    texts = tfd_tensor_data(&s->keys);
    return same_text(tfd_tstring_view(&texts[slot->number - 1]), key.text);
}

/* The slot of the key, or the free one where it would be. */
static struct tfd_table_slot *slot_of(const struct tfd_table_store *s,
                                      struct tfd_table_key key)
{
    uint64_t at = place_of(s, key.hash);

    while (s->slots[at].number != 0 && !is_key(s, &s->slots[at], key))
        at = (at + 1) & s->mask;
    return &s->slots[at];
}

/* The slot of an entry that is there. */
static struct tfd_table_slot *slot_of_number(const struct tfd_table_store *s,
                                             int64_t number)
{
    uint64_t at = place_of(s, tfd_table_key_at(&s->keys, number).hash);

    while (s->slots[at].number != number + 1)
        at = (at + 1) & s->mask;
    return &s->slots[at];
}

static void free_slot(struct tfd_table_store *s, struct tfd_table_slot *slot)
{
    uint64_t hole = (uint64_t)(slot - s->slots), at = hole;

    for (;;) {
        at = (at + 1) & s->mask;
        if (s->slots[at].number == 0)
            break;
        /* From its place to here the hole lies in between: it moves up. */
        if (((at - place_of(s, s->slots[at].hash)) & s->mask) >=
            ((at - hole) & s->mask)) {
            s->slots[hole] = s->slots[at];
            hole = at;
        }
    }
    s->slots[hole].number = 0;
}

/* ---- Memory -------------------------------------------------------------- */

void tfd_table_store_init(struct tfd_table_store *s, enum tfd_dtype key_dtype,
                          enum tfd_dtype value_dtype, int64_t width)
{
    *s = (struct tfd_table_store){
        .key_dtype = key_dtype, .value_dtype = value_dtype, .width = width};
}

void tfd_table_store_clear(struct tfd_table_store *s)
{
    tfd_tensor_unref(&s->keys);
    tfd_tensor_unref(&s->values);
    tfd_tensor_unref(&s->slot_memory);
    tfd_table_store_init(s, s->key_dtype, s->value_dtype, s->width);
}

/* What owns memory is moved: the old places forget it. */
static void move_elements(struct tfd_tensor *to, struct tfd_tensor *from,
                          int64_t n)
{
    size_t bytes = (size_t)n * tfd_dtype_size(to->dtype);
    void *old = tfd_tensor_data(from);

    if (!bytes)
        return;
    memcpy(tfd_tensor_data(to), old, bytes);
    if (!tfd_dtype_is_pod(to->dtype))
        memset(old, 0, bytes);
}

static enum tfd_code new_slots(struct tfd_table_store *s, int64_t capacity,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    int64_t dims[] = {2 * capacity, 2};
    struct tfd_shape shape;

    static_assert(sizeof(*s->slots) == 2 * sizeof(int64_t), "two words");
    TFD_TRY(tfd_shape_make(&shape, dims, 2, st));
    TFD_TRY(tfd_tensor_new(out, TFD_INT64, &shape, st));
    memset(tfd_tensor_data(out), 0, tfd_tensor_size(out));
    return TFD_OK;
}

static void fill_slots(struct tfd_table_store *s, int64_t capacity,
                       struct tfd_tensor *memory)
{
    const struct tfd_table_slot *old = s->slots;
    uint64_t old_count = old ? s->mask + 1 : 0;

    s->slots = tfd_tensor_data(memory);
    s->mask = (uint64_t)(2 * capacity) - 1;
    s->shift = 64 - __builtin_ctzll((uint64_t)(2 * capacity));
    for (uint64_t i = 0; i < old_count; i++) {
        uint64_t at = place_of(s, old[i].hash);

        if (old[i].number == 0)
            continue;
        while (s->slots[at].number != 0)
            at = (at + 1) & s->mask;
        s->slots[at] = old[i];
    }
    tfd_tensor_unref(&s->slot_memory);
    s->slot_memory = *memory;
}

static enum tfd_code new_entries(const struct tfd_table_store *s,
                                 int64_t capacity, struct tfd_tensor *keys,
                                 struct tfd_tensor *values,
                                 struct tfd_status *st)
{
    int64_t dims[] = {capacity, s->width};
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, dims, 2, st));
    TFD_TRY(tfd_tensor_new(values, s->value_dtype, &shape, st));
    TFD_TRY(tfd_shape_make(&shape, dims, 1, st));
    return tfd_tensor_new(keys, s->key_dtype, &shape, st);
}

/* Room for twice as many; nothing has changed after a failure. */
static enum tfd_code grow(struct tfd_table_store *s, struct tfd_status *st)
{
    int64_t capacity = s->capacity ? 2 * s->capacity : ENTRIES_MIN;
    struct tfd_tensor keys = TFD_TENSOR_INIT, values = TFD_TENSOR_INIT,
                      slots = TFD_TENSOR_INIT;

    if (new_entries(s, capacity, &keys, &values, st) != TFD_OK ||
        new_slots(s, capacity, &slots, st) != TFD_OK) {
        tfd_tensor_unref(&keys);
        tfd_tensor_unref(&values);
        return st ? st->code : TFD_RESOURCE_EXHAUSTED;
    }
    move_elements(&keys, &s->keys, s->count);
    move_elements(&values, &s->values, s->count * s->width);
    tfd_tensor_unref(&s->keys);
    tfd_tensor_unref(&s->values);
    s->keys = keys;
    s->values = values;
    s->capacity = capacity;
    fill_slots(s, capacity, &slots);
    return TFD_OK;
}

/* ---- Entries ------------------------------------------------------------- */

int64_t tfd_table_store_find(const struct tfd_table_store *s,
                             struct tfd_table_key key)
{
    return s->slots ? slot_of(s, key)->number - 1 : -1;
}

/* The text of the entry that a key seems to have. */
static void fetch_text(const struct tfd_table_store *s,
                       const struct tfd_tstring *texts, uint64_t hash)
{
    const struct tfd_table_slot *slot = &s->slots[place_of(s, hash)];

    if (slot->hash == hash && slot->number != 0)
        __builtin_prefetch(&texts[slot->number - 1]);
}

/* A large table is in no cache: all slots are on their way before the first is
 * looked at, and so are the texts and the values. */
void tfd_table_store_find_some(const struct tfd_table_store *s,
                               const struct tfd_tensor *keys, int64_t at,
                               int64_t count, int64_t *numbers)
{
    struct tfd_table_key key[TFD_TABLE_FOUND_MAX];

    for (int64_t i = 0; i < count; i++) {
        key[i] = tfd_table_key_at(keys, at + i);
        if (s->slots)
            __builtin_prefetch(&s->slots[place_of(s, key[i].hash)]);
    }
    if (s->key_dtype == TFD_STRING && s->slots)
        for (int64_t i = 0; i < count; i++)
            fetch_text(s, tfd_tensor_data(&s->keys), key[i].hash);
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = tfd_table_store_find(s, key[i]);
        if (numbers[i] >= 0)
            __builtin_prefetch(tfd_table_store_value(s, numbers[i]));
    }
}

static enum tfd_code write_key(struct tfd_table_store *s, int64_t number,
                               struct tfd_table_key key, struct tfd_status *st)
{
    void *keys = tfd_tensor_data(&s->keys);

    if (s->key_dtype == TFD_STRING)
        return tfd_tstring_set(&((struct tfd_tstring *)keys)[number], key.text,
                               st);
    if (s->key_dtype == TFD_INT32)
        ((int32_t *)keys)[number] = (int32_t)key.hash;
    else
        ((int64_t *)keys)[number] = (int64_t)key.hash;
    return TFD_OK;
}

enum tfd_code tfd_table_store_add(struct tfd_table_store *s,
                                  struct tfd_table_key key, int64_t *number,
                                  bool *is_new, struct tfd_status *st)
{
    struct tfd_table_slot *slot;

    *number = tfd_table_store_find(s, key);
    *is_new = *number < 0;
    if (!*is_new)
        return TFD_OK;
    if (s->count == s->capacity)
        TFD_TRY(grow(s, st));
    TFD_TRY(write_key(s, s->count, key, st));
    slot = slot_of(s, key);
    slot->hash = key.hash;
    slot->number = s->count + 1;
    *number = s->count++;
    return TFD_OK;
}

enum tfd_code tfd_table_store_set(struct tfd_table_store *s, int64_t number,
                                  const void *value, struct tfd_status *st)
{
    void *to = tfd_table_store_value(s, number);

    if (s->width == 0)
        return TFD_OK;
    if (!tfd_dtype_is_pod(s->value_dtype))
        return tfd_elements_copy(s->value_dtype, to, value, s->width, st);
    memcpy(to, value, (size_t)s->width * tfd_dtype_size(s->value_dtype));
    return TFD_OK;
}

/* What the value owns is given back. */
static void release_value(struct tfd_table_store *s, int64_t number)
{
    void *value = tfd_table_store_value(s, number);
    struct tfd_variant **variants = value;

    if (s->value_dtype == TFD_STRING)
        tfd_elements_zero(TFD_STRING, value, s->width);
    for (int64_t i = 0; s->value_dtype == TFD_VARIANT && i < s->width; i++) {
        tfd_variant_unref(variants[i]);
        variants[i] = NULL;
    }
}

/* The last entry takes the place of one that goes. */
static void move_last(struct tfd_table_store *s, int64_t number)
{
    int64_t last = s->count - 1;
    size_t key_size = tfd_dtype_size(s->key_dtype);
    size_t value_size = tfd_dtype_size(s->value_dtype) * (size_t)s->width;
    char *keys = tfd_tensor_data(&s->keys);

    tfd_elements_zero(s->key_dtype, keys + key_size * (size_t)number, 1);
    release_value(s, number);
    if (number == last)
        return;
    slot_of_number(s, last)->number = number + 1;
    memcpy(keys + key_size * (size_t)number, keys + key_size * (size_t)last,
           key_size);
    memset(keys + key_size * (size_t)last, 0, key_size);
    if (!value_size)
        return;
    memcpy(tfd_table_store_value(s, number), tfd_table_store_value(s, last),
           value_size);
    memset(tfd_table_store_value(s, last), 0, value_size);
}

void tfd_table_store_remove(struct tfd_table_store *s, struct tfd_table_key key)
{
    struct tfd_table_slot *slot = s->slots ? slot_of(s, key) : NULL;
    int64_t number;

    if (!slot || slot->number == 0)
        return;
    number = slot->number - 1;
    free_slot(s, slot);
    move_last(s, number);
    s->count--;
}
