/*
 * unique.c - Unique, UniqueV2, UniqueWithCounts, UniqueWithCountsV2, ListDiff.
 *
 * An item is an element of a vector, or with an axis a slice across the other
 * dimensions.  Each item gets a 64 bit key: the element's own bits where they
 * fit, so that equal keys are equal items, else a hash, after which the items
 * themselves are compared.  Keys go into a table of open addressing that holds
 * item numbers; results are in the order of first appearance.
 *
 * Zeros of either sign are one item, a NaN is never another's equal.
 */
#include "common/halt.h"
#include "common/hash.h"
#include "kernels/check.h"
#include "kernels/element.h"
#include "kernels/families.h"
#include "kernels/outputs.h"

#include <string.h>

/* ---- Items --------------------------------------------------------------- */

/* x as [outer][count][inner]. */
struct items {
    const struct tfd_tensor *x;
    int64_t outer, count, inner;
    uint64_t *keys;
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

#define LOAD(T)                                                    \
    static void load_##T(const void *x, int64_t n, uint64_t *keys) \
    {                                                              \
        const T *from = x;                                         \
                                                                   \
        for (int64_t i = 0; i < n; i++)                            \
            keys[i] = from[i];                                     \
    }

LOAD(uint8_t)
LOAD(uint16_t)
LOAD(uint32_t)
LOAD(uint64_t)

static void load_bits(const struct tfd_tensor *x, int64_t n, uint64_t *keys)
{
    size_t size = tfd_dtype_size(x->dtype);
    int kind = float_of(x->dtype);

    if (size == 1)
        load_uint8_t(tfd_tensor_data(x), n, keys);
    else if (size == 2)
        load_uint16_t(tfd_tensor_data(x), n, keys);
    else if (size == 4)
        load_uint32_t(tfd_tensor_data(x), n, keys);
    else
        load_uint64_t(tfd_tensor_data(x), n, keys);
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

/* Element n of a run as bits, zeros made one; a hash for a string. */
static uint64_t bits_at(const struct items *t, const void *run, int64_t n)
{
    struct tfd_tensor one = {t->x->dtype, {0, {0}}, NULL};
    struct tfd_buffer buffer = {.data = NULL};
    uint64_t bits = 0;

    buffer.data = tfd_element_at((void *)(uintptr_t)run, t->x->dtype, n);
    one.buffer = &buffer;
    if (t->x->dtype == TFD_STRING)
        return tfd_hash_str(tfd_tstring_view(buffer.data));
    load_bits(&one, 1, &bits);
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

static void make_keys(struct items *t)
{
    t->kind = float_of(t->x->dtype);
    t->hash_key = tfd_hash_key();
    t->exact = t->outer == 1 && t->inner == 1 &&
               tfd_dtype_is_pod(t->x->dtype) &&
               tfd_dtype_size(t->x->dtype) <= sizeof(uint64_t);
    if (t->exact)
        load_bits(t->x, t->count, t->keys);
    else
        for (int64_t i = 0; i < t->count; i++)
            t->keys[i] = hash_of(t, i);
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

static bool same(const struct items *a, int64_t i, const struct items *b,
                 int64_t j)
{
    if (a->keys[i] != b->keys[j])
        return false;
    if (a->exact)
        return !is_nan(a, a->keys[i]);
    for (int64_t o = 0; o < a->outer; o++)
        for (int64_t n = 0; n < a->inner; n++)
            if (!same_element(a, run_of(a, o, i), b, run_of(b, o, j), n))
                return false;
    return true;
}

/* ---- Table --------------------------------------------------------------- */

/* Of different items.  Slots hold their numbers in order of appearance; the
 * table starts small and doubles, because lists with few different items are
 * the usual ones and then stay in the cache. */
struct table {
    const struct items *stored;
    struct tfd_tensor memory, slot_memory;
    int64_t *slots;  /* number or -1 */
    int64_t *first;  /* item by number */
    uint64_t *known; /* its key */
    uint64_t mask;
    int64_t count;
};

#define SLOTS_MIN 256

static enum tfd_code make_slots(struct table *t, int64_t count,
                                struct tfd_status *st)
{
    const struct tfd_shape shape = {1, {count}};

    tfd_tensor_unref(&t->slot_memory);
    TFD_TRY(tfd_tensor_new(&t->slot_memory, TFD_INT64, &shape, st));
    t->slots = tfd_tensor_data(&t->slot_memory);
    t->mask = (uint64_t)count - 1;
    memset(t->slots, 0xff, (size_t)count * sizeof(*t->slots));
    return TFD_OK;
}

/* Memory for the keys of both lists, too; others may be NULL. */
static enum tfd_code table_make(struct table *t, struct items *stored,
                                struct items *others, struct tfd_status *st)
{
    int64_t n = stored->count;
    const struct tfd_shape shape = {1, {3 * n + (others ? others->count : 0)}};
    int64_t *at;

    *t = (struct table){.stored = stored};
    TFD_TRY(make_slots(t, SLOTS_MIN, st));
    TFD_TRY(tfd_tensor_new(&t->memory, TFD_INT64, &shape, st));
    at = tfd_tensor_data(&t->memory);
    if (!at)
        return TFD_OK;
    t->first = at;
    t->known = (uint64_t *)(at + n);
    stored->keys = (uint64_t *)(at + 2 * n);
    make_keys(stored);
    if (others) {
        others->keys = (uint64_t *)(at + 3 * n);
        make_keys(others);
    }
    return TFD_OK;
}

static void table_free(struct table *t)
{
    tfd_tensor_unref(&t->memory);
    tfd_tensor_unref(&t->slot_memory);
}

/* Where the search for an item starts.  NaNs have the same bits and are all
 * different, so they are spread by their numbers: none is ever found again. */
static uint64_t place_of(const struct table *t, const struct items *of,
                         uint64_t key, int64_t i)
{
    if (of->exact && is_nan(of, key))
        key += (uint64_t)i << 32;
    return tfd_hash_mix(of->hash_key, key) & t->mask;
}

/* The slot of an item equal to item i of `other`, else a free one. */
static int64_t *slot_of(const struct table *t, const struct items *other,
                        int64_t i)
{
    const uint64_t key = other->keys[i];
    uint64_t at = place_of(t, other, key, i);
    int64_t number;

    while ((number = t->slots[at]) >= 0 &&
           (t->known[number] != key ||
            !same(t->stored, t->first[number], other, i)))
        at = (at + 1) & t->mask;
    return &t->slots[at];
}

static enum tfd_code table_grow(struct table *t, struct tfd_status *st)
{
    TFD_TRY(make_slots(t, 2 * (int64_t)(t->mask + 1), st));
    for (int64_t n = 0; n < t->count; n++) {
        uint64_t at = place_of(t, t->stored, t->known[n], t->first[n]);

        while (t->slots[at] >= 0)
            at = (at + 1) & t->mask;
        t->slots[at] = n;
    }
    return TFD_OK;
}

/* The number of item i of the stored list, which is put in if it is new. */
static enum tfd_code number_of(struct table *t, int64_t i, int64_t *number,
                               struct tfd_status *st)
{
    int64_t *slot;

    if (2 * t->count > (int64_t)t->mask)
        TFD_TRY(table_grow(t, st));
    slot = slot_of(t, t->stored, i);
    if (*slot < 0) {
        t->first[t->count] = i;
        t->known[t->count] = t->stored->keys[i];
        *slot = t->count++;
    }
    *number = *slot;
    return TFD_OK;
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
    for (int64_t o = 0; o < t->outer; o++)
        for (int64_t u = 0; u < count; u++)
            TFD_TRY(tfd_elements_copy(
                dtype,
                tfd_element_at(tfd_tensor_data(&k->out[0]), dtype,
                               (o * count + u) * t->inner),
                run_of(t, o, first[u]), t->inner, st));
    return TFD_OK;
}

/* counts[] by number may be NULL. */
static enum tfd_code number_items(struct table *t, const struct tfd_tensor *idx,
                                  int64_t *counts, struct tfd_status *st)
{
    for (int64_t i = 0; i < t->stored->count; i++) {
        int64_t before = t->count, number;

        if (tfd_halted())
            return tfd_halt_fail(st);
        TFD_TRY(number_of(t, i, &number, st));
        put_index(idx, i, number);
        if (counts)
            counts[number] = number < before ? counts[number] + 1 : 1;
    }
    return TFD_OK;
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
    rc = table_make(&table, &t, NULL, st);
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

static enum tfd_code diff_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct items x = {.x = &k->in[0], .outer = 1, .inner = 1};
    struct items y = {.x = &k->in[1], .outer = 1, .inner = 1};
    struct tfd_tensor kept = TFD_TENSOR_INIT;
    struct table table = {0};
    int64_t count = 0, number, *list;
    enum tfd_code rc;

    if (k->in[0].shape.rank != 1 || k->in[1].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s should be a 1D vector.",
                        k->in[0].shape.rank != 1 ? "x" : "y");
    x.count = k->in[0].shape.dim[0];
    y.count = k->in[1].shape.dim[0];
    TFD_TRY(tfd_tensor_new(&kept, TFD_INT64, &k->in[0].shape, st));
    list = tfd_tensor_data(&kept);
    rc = table_make(&table, &y, &x, st);
    for (int64_t i = 0; rc == TFD_OK && i < y.count; i++)
        rc = number_of(&table, i, &number, st);
    for (int64_t i = 0; rc == TFD_OK && i < x.count && !tfd_halted(); i++)
        if (*slot_of(&table, &x, i) < 0)
            list[count++] = i;
    table_free(&table);
    if (rc == TFD_OK)
        rc = put_rest(k, &x, list, count, st);
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
