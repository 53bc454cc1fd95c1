/*
 * unique.c - Unique, UniqueV2, UniqueWithCounts, UniqueWithCountsV2, ListDiff.
 *
 * An item is an element of a vector, or with an axis a slice across the other
 * dimensions.  Each item gets a 64 bit key: the element's own bits where they
 * fit, so that equal keys are equal items, else a hash, after which the items
 * themselves are compared.  Results are in the order of first appearance.
 *
 * Whole numbers that lie close together are found in an array by their value.
 * Other keys go into a table of open addressing, whose slots hold key and
 * number, so that a look costs one miss of the cache; and items are taken in
 * blocks whose slots are fetched together, so that the misses overlap.  The
 * place is the hash's upper bits: as the table doubles, its slots are read and
 * written in order.
 *
 * Zeros of either sign are one item, a NaN is never another's equal.
 */
#include "common/halt.h"
#include "common/hash.h"
#include "kernels/check.h"
#include "kernels/element.h"
#include "kernels/families.h"
#include "kernels/outputs.h"
#include "kernels/rows.h"

#include <string.h>

/* ---- Items --------------------------------------------------------------- */

/* x as [outer][count][inner]. */
struct items {
    const struct tfd_tensor *x;
    int64_t outer, count, inner;
    bool exact; /* keys are the items */
    int kind;   /* of float in floats[], or -1 */
    const struct tfd_hash_key *hash_key;
};

/* Bits of a float type: those of its sign and of an infinity. */
static const struct {
    enum tfd_dtype dtype;
    uint64_t sign, infinity;
} floats[] = {
    {TFD_HALF, 0x8000, 0x7c00},
    {TFD_BFLOAT16, 0x8000, 0x7f80},
    {TFD_FLOAT, 0x80000000, 0x7f800000},
    {TFD_DOUBLE, UINT64_C(1) << 63, UINT64_C(0x7ff) << 52},
};

static int float_of(enum tfd_dtype dtype)
{
    for (int i = 0; i < TFD_COUNT(floats); i++)
        if (floats[i].dtype == dtype)
            return i;
    return -1;
}

/* Signed ones keep their order. */
#define LOAD(T)                                                    \
    static void load_##T(const void *x, int64_t n, uint64_t *keys) \
    {                                                              \
        const T *from = x;                                         \
                                                                   \
        for (int64_t i = 0; i < n; i++)                            \
            keys[i] = (uint64_t)from[i];                           \
    }

LOAD(uint8_t)
LOAD(uint16_t)
LOAD(uint32_t)
LOAD(uint64_t)
LOAD(int8_t)
LOAD(int16_t)
LOAD(int32_t)

typedef void load_fn(const void *x, int64_t n, uint64_t *keys);

static load_fn *const loads[TFD_DTYPE_END] = {
    [TFD_BOOL] = load_uint8_t,      [TFD_UINT8] = load_uint8_t,
    [TFD_UINT16] = load_uint16_t,   [TFD_UINT32] = load_uint32_t,
    [TFD_UINT64] = load_uint64_t,   [TFD_INT8] = load_int8_t,
    [TFD_INT16] = load_int16_t,     [TFD_INT32] = load_int32_t,
    [TFD_INT64] = load_uint64_t,    [TFD_HALF] = load_uint16_t,
    [TFD_BFLOAT16] = load_uint16_t, [TFD_FLOAT] = load_uint32_t,
    [TFD_DOUBLE] = load_uint64_t,
};

/* Of n elements from x on. */
static void load_bits(enum tfd_dtype dtype, int kind, const void *x, int64_t n,
                      uint64_t *keys)
{
    loads[dtype](x, n, keys);
    for (int64_t i = 0; kind >= 0 && i < n; i++)
        if (keys[i] == floats[kind].sign) /* minus zero */
            keys[i] = 0;
}

static bool is_nan(const struct items *t, uint64_t bits)
{
    return t->kind >= 0 &&
           (bits & ~floats[t->kind].sign) > floats[t->kind].infinity;
}

static const void *run_of(const struct items *t, int64_t outer, int64_t i)
{
    return tfd_element_of(tfd_tensor_data(t->x), t->x->dtype,
                          (outer * t->count + i) * t->inner);
}

static inline uint64_t word_at(const char *bytes, size_t size)
{
    uint64_t word = 0;

    memcpy(&word, bytes, size);
    return word;
}

/* Short strings as two words that tell those of one size apart. */
static uint64_t hash_string(const struct tfd_hash_key *key, struct tfd_str s)
{
    uint64_t a = 0, b = 0;

    if (s.size > 16)
        return tfd_hash_str(s);
    if (s.size >= 8) {
        a = word_at(s.data, 8);
        b = word_at(s.data + s.size - 8, 8);
    } else if (s.size >= 4) {
        a = word_at(s.data, 4);
        b = word_at(s.data + s.size - 4, 4);
    } else if (s.size) {
        a = (uint8_t)s.data[0];
        b = (uint64_t)(uint8_t)s.data[s.size / 2] << 8 |
            (uint8_t)s.data[s.size - 1];
    }
    return tfd_hash_mix(key, tfd_hash_mix(key, a) + b) + s.size;
}

/* Element n of a run as bits, zeros made one; a hash for a string. */
static uint64_t bits_at(const struct items *t, const void *run, int64_t n)
{
    enum tfd_dtype dtype = t->x->dtype;
    const void *at = tfd_element_of(run, dtype, n);
    uint64_t bits = 0;

    if (dtype == TFD_STRING)
        return hash_string(t->hash_key, tfd_tstring_view(at));
    load_bits(dtype, t->kind, at, 1, &bits);
    return bits;
}

/* The same, but another for the NaN of each item: as none is equal to any, they
 * need not meet in one place and be compared there. */
static uint64_t spread_bits(const struct items *t, const void *run, int64_t n,
                            int64_t item)
{
    uint64_t bits = bits_at(t, run, n);

    return is_nan(t, bits) ? bits + ((uint64_t)item << 32) : bits;
}

static uint64_t hash_of(const struct items *t, int64_t i)
{
    uint64_t h = 0;

    for (int64_t o = 0; o < t->outer; o++)
        for (int64_t n = 0; n < t->inner; n++)
            h = tfd_hash_mix(t->hash_key,
                             h + spread_bits(t, run_of(t, o, i), n, i));
    return h;
}

static bool plain(const struct items *t)
{
    return t->outer == 1 && t->inner == 1;
}

static void items_init(struct items *t)
{
    t->kind = float_of(t->x->dtype);
    t->hash_key = tfd_hash_key();
    t->exact = plain(t) && loads[t->x->dtype];
}

/* Those of n items from item `from` on. */
static void make_keys(const struct items *t, int64_t from, int64_t n,
                      uint64_t *keys)
{
    if (t->exact)
        load_bits(t->x->dtype, t->kind, run_of(t, 0, from), n, keys);
    else if (plain(t) && t->x->dtype == TFD_STRING)
        for (int64_t i = 0; i < n; i++)
            keys[i] = bits_at(t, run_of(t, 0, from), i);
    else
        for (int64_t i = 0; i < n; i++)
            keys[i] = hash_of(t, from + i);
}

static bool same_element(const struct items *a, const void *x,
                         const struct items *b, const void *y, int64_t n)
{
    uint64_t bits;

    if (a->x->dtype == TFD_STRING)
        return tfd_str_eq(tfd_tstring_view(tfd_element_of(x, TFD_STRING, n)),
                          tfd_tstring_view(tfd_element_of(y, TFD_STRING, n)));
    bits = bits_at(a, x, n);
    return bits == bits_at(b, y, n) && !is_nan(a, bits);
}

/* Of two items with the same key that is no NaN's. */
static bool same(const struct items *a, int64_t i, const struct items *b,
                 int64_t j)
{
    if (a->exact)
        return true;
    for (int64_t o = 0; o < a->outer; o++)
        for (int64_t n = 0; n < a->inner; n++)
            if (!same_element(a, run_of(a, o, i), b, run_of(b, o, j), n))
                return false;
    return true;
}

/* ---- Table --------------------------------------------------------------- */

/* 0: free; else one more than the item's number. */
struct slot {
    uint64_t key;
    int64_t number;
};

/* Of different items, numbered in order of appearance; the table starts small
 * and doubles, because lists with few different items are the usual ones and
 * then stay in the cache. */
struct table {
    const struct items *stored;
    struct tfd_tensor first_memory, slot_memory;
    struct slot *slots;
    int64_t *first; /* item by number */
    uint64_t mask;
    int shift; /* of a hash, to a place */
    int64_t count;
};

#define SLOTS_MIN_LOG2 8
#define BLOCK 128            /* items that are looked up together */
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

static enum tfd_code make_slots(struct table *t, int log2,
                                struct tfd_status *st)
{
    TFD_TRY(make_zeros(&t->slot_memory, TFD_INT64, INT64_C(2) << log2, st));
    t->slots = tfd_tensor_data(&t->slot_memory);
    t->mask = (UINT64_C(1) << log2) - 1;
    t->shift = 64 - log2;
    return TFD_OK;
}

static enum tfd_code table_make(struct table *t, const struct items *stored,
                                struct tfd_status *st)
{
    const struct tfd_shape shape = {1, {stored->count}};

    *t = (struct table){.stored = stored};
    TFD_TRY(tfd_tensor_new(&t->first_memory, TFD_INT64, &shape, st));
    t->first = tfd_tensor_data(&t->first_memory);
    return TFD_OK;
}

static void table_free(struct table *t)
{
    tfd_tensor_unref(&t->first_memory);
    tfd_tensor_unref(&t->slot_memory);
}

static uint64_t place_of(const struct table *t, uint64_t key)
{
    return tfd_hash_mix(t->stored->hash_key, key) >> t->shift;
}

/* The slot of an item equal to item i of `other`, else a free one. */
static inline struct slot *slot_of(const struct table *t,
                                   const struct items *other, int64_t i,
                                   uint64_t key)
{
    uint64_t at = place_of(t, key);
    struct slot *s = &t->slots[at];

    while (s->number && (s->key != key ||
                         !same(t->stored, t->first[s->number - 1], other, i))) {
        at = (at + 1) & t->mask;
        s = &t->slots[at];
    }
    return s;
}

/* Asks for the slots of a block, so that they arrive while it is worked on. */
static void fetch_slots(const struct table *t, const uint64_t *keys, int64_t n)
{
    if (t->mask >= SLOTS_NEAR)
        for (int64_t i = 0; i < n; i++)
            __builtin_prefetch(&t->slots[place_of(t, keys[i])], 1);
}

static enum tfd_code table_grow(struct table *t, struct tfd_status *st)
{
    struct tfd_tensor old = t->slot_memory;
    const struct slot *from = t->slots;
    uint64_t count = t->mask + 1;
    enum tfd_code rc;

    t->slot_memory = (struct tfd_tensor)TFD_TENSOR_INIT;
    rc = make_slots(t, 64 - t->shift + 1, st);
    for (uint64_t i = 0; rc == TFD_OK && i < count; i++) {
        uint64_t at = from[i].number ? place_of(t, from[i].key) : 0;

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
static int64_t add_item(struct table *t, int64_t i)
{
    t->first[t->count] = i;
    return t->count++;
}

/* The number of item i of the stored list, which is put in if it is new. */
static inline enum tfd_code number_of(struct table *t, int64_t i, uint64_t key,
                                      int64_t *number, struct tfd_status *st)
{
    struct slot *slot;

    if (t->stored->exact && is_nan(t->stored, key)) {
        *number = add_item(t, i);
        return TFD_OK;
    }
    slot = slot_of(t, t->stored, i, key);
    if (!slot->number) {
        slot->key = key;
        slot->number = add_item(t, i) + 1;
    }
    *number = slot->number - 1;
    return 2 * t->count > (int64_t)t->mask ? table_grow(t, st) : TFD_OK;
}

/* ---- Numbers that lie close together ------------------------------------- */

/* An array by value, as soon as it is no more than so many times as long as the
 * list. */
#define RANGE_TIMES 4
#define RANGE_MIN 1024

/* What is seen of each value: one more than its number, or 0. */
struct range {
    struct tfd_tensor memory;
    int32_t *seen; /* NULL: the values lie too far apart */
    uint64_t low;
};

static void find_range(const struct items *t, int64_t *low, int64_t *high)
{
    uint64_t keys[BLOCK];

    for (int64_t i = 0; i < t->count; i += BLOCK) {
        int64_t n = t->count - i < BLOCK ? t->count - i : BLOCK;

        make_keys(t, i, n, keys);
        for (int64_t j = 0; j < n; j++) {
            int64_t key = (int64_t)keys[j];

            *low = key < *low ? key : *low;
            *high = key > *high ? key : *high;
        }
    }
}

static enum tfd_code range_make(struct range *r, const struct items *t,
                                struct tfd_status *st)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    uint64_t size;

    *r = (struct range){.seen = NULL};
    if (!t->exact || t->kind >= 0 || t->count == 0 ||
        t->count > INT32_MAX / RANGE_TIMES - RANGE_MIN)
        return TFD_OK;
    find_range(t, &low, &high);
    size = (uint64_t)high - (uint64_t)low;
    if (size >= (uint64_t)t->count * RANGE_TIMES + RANGE_MIN)
        return TFD_OK;
    TFD_TRY(make_zeros(&r->memory, TFD_INT32, (int64_t)size + 1, st));
    r->seen = tfd_tensor_data(&r->memory);
    r->low = (uint64_t)low;
    return TFD_OK;
}

static void number_near(struct table *t, const struct range *r, int64_t from,
                        const uint64_t *keys, int64_t n, int64_t *numbers)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t *seen = &r->seen[keys[i] - r->low];

        if (!*seen)
            *seen = (int32_t)add_item(t, from + i) + 1;
        numbers[i] = *seen - 1;
    }
}

/* ---- Unique -------------------------------------------------------------- */

static void put_index(const struct tfd_tensor *t, int64_t i, int64_t value)
{
    if (t->dtype == TFD_INT32)
        ((int32_t *)tfd_tensor_data(t))[i] = (int32_t)value;
    else
        ((int64_t *)tfd_tensor_data(t))[i] = value;
}

static enum tfd_code read_axis(const struct tfd_kctx *k, int *axis,
                               struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[1];
    int rank = k->in[0].shape.rank;
    int64_t value;

    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "axis expects a 1D vector.");
    if (t->shape.dim[0] == 0)
        return TFD_OK;
    if (t->shape.dim[0] > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "axis does not support input tensors larger than 1 "
                        "elements");
    value = tfd_check_int_at(t, 0);
    if (value < -rank || value >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "axis has to be between [0, %d)", rank);
    *axis = (int)(value < 0 ? value + rank : value);
    return TFD_OK;
}

enum tfd_code tfd_unique_axis(const struct tfd_kctx *k, int *axis,
                              struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;

    *axis = -1;
    if (k->in_count > 1)
        TFD_TRY(read_axis(k, axis, st));
    if (*axis < 0 && x->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "unique expects a 1D vector.");
    *axis = *axis < 0 ? 0 : *axis;
    if (k->node->out_types[1] == TFD_INT32 && x->dim[*axis] > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "unique does not support input tensors larger than %d "
                        "elements",
                        INT32_MAX);
    return TFD_OK;
}

static enum tfd_code read_items(const struct tfd_kctx *k, struct items *t,
                                int *axis, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;

    TFD_TRY(tfd_unique_axis(k, axis, st));
    *t = (struct items){
        .x = &k->in[0], .outer = 1, .count = x->dim[*axis], .inner = 1};
    for (int d = 0; d < x->rank; d++)
        if (d != *axis)
            *(d < *axis ? &t->outer : &t->inner) *= x->dim[d];
    return TFD_OK;
}

/* Plain items that are bytes. */
static void gather_items(void *to, const struct items *t, const int64_t *first,
                         int64_t count)
{
    size_t size = tfd_dtype_size(t->x->dtype);

    tfd_rows_gather(size, TFD_INT64)(to, tfd_tensor_data(t->x), size, first,
                                     count);
}

/* Item first[u] as number u of the result. */
static enum tfd_code copy_items(struct tfd_kctx *k, const struct items *t,
                                int axis, const int64_t *first, int64_t count,
                                struct tfd_status *st)
{
    struct tfd_shape shape = t->x->shape;
    enum tfd_dtype dtype = t->x->dtype;

    shape.dim[axis] = count;
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    if (t->exact) {
        gather_items(tfd_tensor_data(&k->out[0]), t, first, count);
        return TFD_OK;
    }
    for (int64_t o = 0; o < t->outer; o++)
        for (int64_t u = 0; u < count; u++)
            TFD_TRY(tfd_elements_copy(
                dtype,
                tfd_element_at(tfd_tensor_data(&k->out[0]), dtype,
                               (o * count + u) * t->inner),
                run_of(t, o, first[u]), t->inner, st));
    return TFD_OK;
}

static void put_numbers(const struct tfd_tensor *idx, int64_t from,
                        const int64_t *numbers, int64_t n)
{
    int64_t *wide = (int64_t *)tfd_tensor_data(idx) + from;
    int32_t *narrow = (int32_t *)tfd_tensor_data(idx) + from;

    if (idx->dtype == TFD_INT64)
        memcpy(wide, numbers, (size_t)n * sizeof(*wide));
    else
        for (int64_t i = 0; i < n; i++)
            narrow[i] = (int32_t)numbers[i];
}

/* New numbers follow each other; those below `before` were there. */
static void count_numbers(int64_t *counts, int64_t before,
                          const int64_t *numbers, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (numbers[i] == before)
            counts[before++] = 1;
        else
            counts[numbers[i]]++;
}

static enum tfd_code number_block(struct table *t, const struct range *r,
                                  int64_t from, int64_t n, int64_t *numbers,
                                  struct tfd_status *st)
{
    uint64_t keys[BLOCK];

    make_keys(t->stored, from, n, keys);
    if (r->seen) {
        number_near(t, r, from, keys, n, numbers);
        return TFD_OK;
    }
    fetch_slots(t, keys, n);
    for (int64_t i = 0; i < n; i++)
        TFD_TRY(number_of(t, from + i, keys[i], &numbers[i], st));
    return TFD_OK;
}

/* idx and counts[] by number may be NULL. */
static enum tfd_code number_all(struct table *t, const struct range *r,
                                const struct tfd_tensor *idx, int64_t *counts,
                                struct tfd_status *st)
{
    int64_t numbers[BLOCK];

    for (int64_t i = 0; i < t->stored->count; i += BLOCK) {
        int64_t n = t->stored->count - i, before = t->count;

        n = n < BLOCK ? n : BLOCK;
        if (tfd_halted())
            return tfd_halt_fail(st);
        TFD_TRY(number_block(t, r, i, n, numbers, st));
        if (idx)
            put_numbers(idx, i, numbers, n);
        if (counts)
            count_numbers(counts, before, numbers, n);
    }
    return TFD_OK;
}

static enum tfd_code number_items(struct table *t, const struct tfd_tensor *idx,
                                  int64_t *counts, struct tfd_status *st)
{
    struct range r;
    enum tfd_code rc = range_make(&r, t->stored, st);

    if (rc == TFD_OK && !r.seen)
        rc = make_slots(t, SLOTS_MIN_LOG2, st);
    if (rc == TFD_OK)
        rc = number_all(t, &r, idx, counts, st);
    tfd_tensor_unref(&r.memory);
    return rc;
}

static enum tfd_code put_counts(struct tfd_kctx *k, const int64_t *counts,
                                int64_t unique, struct tfd_status *st)
{
    const struct tfd_shape shape = {1, {unique}};

    if (k->out_count < 3)
        return TFD_OK;
    TFD_TRY(tfd_kctx_output(k, 2, (enum tfd_dtype)k->node->out_types[2], &shape,
                            st));
    for (int64_t u = 0; u < unique; u++)
        put_index(&k->out[2], u, counts[u]);
    return TFD_OK;
}

static enum tfd_code unique_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape vector = {1, {0}};
    struct tfd_tensor counts = TFD_TENSOR_INIT;
    struct table table = {0};
    struct items t;
    enum tfd_code rc = TFD_OK;
    int axis;

    TFD_TRY(read_items(k, &t, &axis, st));
    vector.dim[0] = t.count;
    TFD_TRY(tfd_kctx_output(k, 1, (enum tfd_dtype)k->node->out_types[1],
                            &vector, st));
    if (k->out_count > 2)
        TFD_TRY(tfd_tensor_new(&counts, TFD_INT64, &vector, st));
    items_init(&t);
    rc = table_make(&table, &t, st);
    if (rc == TFD_OK)
        rc = number_items(&table, &k->out[1], tfd_tensor_data(&counts), st);
    if (rc == TFD_OK)
        rc = copy_items(k, &t, axis, table.first, table.count, st);
    if (rc == TFD_OK)
        rc = put_counts(k, tfd_tensor_data(&counts), table.count, st);
    table_free(&table);
    tfd_tensor_unref(&counts);
    return rc;
}

/* ---- ListDiff ------------------------------------------------------------ */

static enum tfd_code put_rest(struct tfd_kctx *k, const struct items *x,
                              const int64_t *kept, int64_t count,
                              struct tfd_status *st)
{
    const struct tfd_shape shape = {1, {count}};

    TFD_TRY(copy_items(k, x, 0, kept, count, st));
    TFD_TRY(tfd_kctx_output(k, 1, (enum tfd_dtype)k->node->out_types[1], &shape,
                            st));
    for (int64_t i = 0; i < count; i++)
        put_index(&k->out[1], i, kept[i]);
    return TFD_OK;
}

/* The items of x that the table lacks, and how many. */
static int64_t find_rest(const struct table *t, const struct items *x,
                         int64_t *kept)
{
    uint64_t keys[BLOCK];
    int64_t count = 0;

    for (int64_t i = 0; i < x->count && !tfd_halted(); i += BLOCK) {
        int64_t n = x->count - i < BLOCK ? x->count - i : BLOCK;

        make_keys(x, i, n, keys);
        fetch_slots(t, keys, n);
        for (int64_t j = 0; j < n; j++) {
            kept[count] = i + j;
            count += (x->exact && is_nan(x, keys[j])) ||
                     !slot_of(t, x, i + j, keys[j])->number;
        }
    }
    return count;
}

static enum tfd_code diff_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct range none = {.seen = NULL};
    struct items x = {.x = &k->in[0], .outer = 1, .inner = 1};
    struct items y = {.x = &k->in[1], .outer = 1, .inner = 1};
    struct tfd_tensor kept = TFD_TENSOR_INIT;
    struct table table = {0};
    enum tfd_code rc;

    if (k->in[0].shape.rank != 1 || k->in[1].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s should be a 1D vector.",
                        k->in[0].shape.rank != 1 ? "x" : "y");
    x.count = k->in[0].shape.dim[0];
    y.count = k->in[1].shape.dim[0];
    items_init(&x);
    items_init(&y);
    TFD_TRY(tfd_tensor_new(&kept, TFD_INT64, &k->in[0].shape, st));
    rc = table_make(&table, &y, st);
    if (rc == TFD_OK)
        rc = make_slots(&table, SLOTS_MIN_LOG2, st);
    if (rc == TFD_OK)
        rc = number_all(&table, &none, NULL, NULL, st);
    if (rc == TFD_OK) {
        int64_t *list = tfd_tensor_data(&kept);

        rc = put_rest(k, &x, list, find_rest(&table, &x, list), st);
    }
    table_free(&table);
    tfd_tensor_unref(&kept);
    return rc;
}

/* ---- Shapes -------------------------------------------------------------- */

static const struct tfd_shape some = {1, {TFD_DIM_UNKNOWN}};

static enum tfd_code unique_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    (void)st;
    s->out[1] = some;
    if (s->in_count == 1) {
        s->out[0] = some;
        s->out[1] = s->in[0];
    }
    if (s->out_count > 2)
        s->out[2] = some;
    return TFD_OK;
}

static enum tfd_code diff_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->out[1] = some;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define UNIQUE(op, in, out, types)                                            \
    {                                                                         \
        .name = op, .inputs = "x: T" in, .outputs = "y: T, idx: out_idx" out, \
        .attrs = "T: type; " types "out_idx: {int32, int64} = DT_INT32",      \
        .shape = unique_shape, .flags = TFD_OP_NO_GRADIENT,                   \
    }

#define AXIS "Taxis: {int32, int64} = DT_INT64; "

static const struct tfd_opdef ops[] = {
    UNIQUE("Unique", "", "", ""),
    UNIQUE("UniqueV2", ", axis: Taxis", "", AXIS),
    UNIQUE("UniqueWithCounts", "", ", count: out_idx", ""),
    UNIQUE("UniqueWithCountsV2", ", axis: Taxis", ", count: out_idx", AXIS),
    {
        .name = "ListDiff",
        .inputs = "x: T, y: T",
        .outputs = "out: T, idx: out_idx",
        .attrs = "T: type; out_idx: {int32, int64} = DT_INT32",
        .shape = diff_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define DIFF(name, number, T)                                   \
    TFD_KERNEL("Unique", name, unique_compute),                 \
        TFD_KERNEL("UniqueV2", name, unique_compute),           \
        TFD_KERNEL("UniqueWithCounts", name, unique_compute),   \
        TFD_KERNEL("UniqueWithCountsV2", name, unique_compute), \
        TFD_KERNEL("ListDiff", name, diff_compute),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(DIFF) TFD_HALF_DTYPES(DIFF) DIFF(STRING, 7, tstring)
        DIFF(BOOL, 10, tfd_bool)};

const struct tfd_family tfd_family_unique = {
    .name = "unique",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
