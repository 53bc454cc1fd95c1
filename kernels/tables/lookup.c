/*
 * lookup.c - what is done with a lookup table once it is there: filled, read,
 * changed, counted, taken out whole.
 *
 * Operations of old graphs get the table by reference instead of by handle;
 * they are rows beside the others.
 */
#include "common/base/atomic.h"
#include "common/base/min.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/tables/lookup_table.h"

#include <string.h>

#define LOOKUP_COST_NS 60

static bool is_static(const struct tfd_table *t)
{
    return t->spec.kind == TFD_TABLE_STATIC;
}

typedef enum tfd_code table_fn(struct tfd_kctx *k, struct tfd_table *t,
                               struct tfd_status *st);

static enum tfd_code with_lock(struct tfd_kctx *k, struct tfd_table *t,
                               table_fn *fn, struct tfd_status *st)
{
    enum tfd_code rc;

    tfd_lock(&t->lock);
    rc = fn(k, t, st);
    tfd_unlock(&t->lock);
    return rc;
}

/* fn() with the table of input 0. */
static enum tfd_code with_table(struct tfd_kctx *k, table_fn *fn,
                                struct tfd_status *st)
{
    struct tfd_table *t;
    enum tfd_code rc;

    TFD_TRY(tfd_table_find(k, &t, st));
    rc = fn(k, t, st);
    tfd_resource_unref(&t->resource);
    return rc;
}

/* The same under its lock. */
#define COMPUTE(name)                                                   \
    static enum tfd_code name##_locked(                                 \
        struct tfd_kctx *k, struct tfd_table *t, struct tfd_status *st) \
    {                                                                   \
        return with_lock(k, t, name, st);                               \
    }                                                                   \
    static enum tfd_code name##_compute(struct tfd_kctx *k,             \
                                        struct tfd_status *st)          \
    {                                                                   \
        return with_table(k, name##_locked, st);                        \
    }

/* ---- Reading ------------------------------------------------------------- */

struct lookup {
    const struct tfd_table *table;
    struct tfd_kctx *k;
    const void *other; /* the value of keys that are not there */
    int64_t step;      /* from one of them to the next, in elements */
};

static const void *found_value(const struct lookup *l, int64_t i,
                               int64_t number)
{
    const struct tfd_table_store *s = &l->table->store;

    return number < 0 ? tfd_element_of(l->other, s->value_dtype, i * l->step)
                      : tfd_table_store_value(s, number);
}

/* The values of keys from `at` on go to the output. */
static enum tfd_code copy_found(const struct lookup *l, int64_t at,
                                int64_t count, const int64_t *numbers,
                                struct tfd_status *st)
{
    const struct tfd_table_store *s = &l->table->store;
    enum tfd_dtype dtype = s->value_dtype;
    char *out =
        tfd_element_at(tfd_tensor_data(&l->k->out[0]), dtype, at * s->width);

    if (s->width == 1 && tfd_dtype_is_pod(dtype) &&
        tfd_dtype_size(dtype) == 8) {
        for (int64_t i = 0; i < count; i++)
            memcpy(out + 8 * i, found_value(l, at + i, numbers[i]), 8);
        return TFD_OK;
    }
    for (int64_t i = 0; i < count; i++)
        TFD_TRY(tfd_elements_copy(
            dtype, tfd_element_at(out, dtype, i * s->width),
            found_value(l, at + i, numbers[i]), s->width, st));
    return TFD_OK;
}

static enum tfd_code look_up_range(void *arg, int64_t begin, int64_t end,
                                   struct tfd_status *st)
{
    const struct lookup *l = arg;
    int64_t numbers[TFD_TABLE_FOUND_MAX], count;

    for (int64_t i = begin; i < end && !tfd_halted(); i += count) {
        count = tfd_min(end - i, TFD_TABLE_FOUND_MAX);
        tfd_table_store_find_some(&l->table->store, &l->k->in[1], i, count,
                                  numbers);
        TFD_TRY(copy_found(l, i, count, numbers, st));
    }
    return TFD_OK;
}

/* One value for all keys, or one for each. */
static enum tfd_code check_default(const struct tfd_kctx *k,
                                   const struct tfd_table *t,
                                   const struct tfd_shape *full, bool *is_full,
                                   struct tfd_status *st)
{
    const struct tfd_shape *have = &k->in[2].shape, *one = &t->spec.value_shape;
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX], c[TFD_SHAPE_TEXT_MAX];

    *is_full = !tfd_shape_equal(have, one);
    if (!*is_full || tfd_shape_equal(have, full))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Expected shape %s or %s for default value, got %s",
                    tfd_shape_text(one, a), tfd_shape_text(full, b),
                    tfd_shape_text(have, c));
}

/* A static table takes the first of several defaults for all, as TensorFlow's
 * does. */
static enum tfd_code find(struct tfd_kctx *k, struct tfd_table *t,
                          struct tfd_status *st)
{
    struct lookup l = {.table = t, .k = k};
    int64_t n = tfd_tensor_elements(&k->in[1]);
    struct tfd_shape out;
    bool is_full;

    if (t->dense)
        return tfd_dense_find(t->dense, k, st);
    TFD_TRY(tfd_table_values_shape(t, &k->in[1].shape, &out, st));
    TFD_TRY(check_default(k, t, &out, &is_full, st));
    if (is_static(t) && !tfd_table_ready(t))
        return tfd_fail(st, TFD_FAILED_PRECONDITION, "Table not initialized.");
    TFD_TRY(tfd_kctx_output(k, 0, t->spec.value_dtype, &out, st));
    l.other = tfd_tensor_data(&k->in[2]);
    l.step = is_full && !is_static(t) ? t->store.width : 0;
    if (is_static(t))
        return tfd_kctx_try(k, n, LOOKUP_COST_NS, look_up_range, &l, st);
    return look_up_range(&l, 0, n, st);
}

static enum tfd_code find_typed(struct tfd_kctx *k, struct tfd_table *t,
                                struct tfd_status *st)
{
    TFD_TRY(tfd_table_check_types(k, t, st));
    return is_static(t) ? find(k, t, st) : with_lock(k, t, find, st);
}

static enum tfd_code find_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return with_table(k, find_typed, st);
}

/* ---- Counting ------------------------------------------------------------ */

static enum tfd_code size(struct tfd_kctx *k, struct tfd_table *t,
                          struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &scalar, st));
    *(int64_t *)tfd_tensor_data(&k->out[0]) =
        is_static(t) && !tfd_table_ready(t) ? 0
        : t->dense                          ? t->dense->count
                                            : t->store.count;
    return TFD_OK;
}

COMPUTE(size)

/* ---- All of it ----------------------------------------------------------- */

static enum tfd_code export(struct tfd_kctx *k, struct tfd_table *t,
                            struct tfd_status *st) {
    const struct tfd_table_store *s = &t->store;
    struct tfd_shape keys = {1, {s->count}}, values;

    if (t->dense) return tfd_dense_export(t->dense, k, st);
    TFD_TRY(tfd_table_check_types(k, t, st));
    if (is_static(t) &&
        !tfd_table_ready(t)) return tfd_fail(st, TFD_ABORTED,
                                             "HashTable is not initialized.");
    TFD_TRY(tfd_table_values_shape(t, &keys, &values, st));
    TFD_TRY(tfd_kctx_output(k, 0, s->key_dtype, &keys, st));
    TFD_TRY(tfd_kctx_output(k, 1, s->value_dtype, &values, st));
    TFD_TRY(tfd_elements_copy(s->key_dtype, tfd_tensor_data(&k->out[0]),
                              tfd_tensor_data(&s->keys), s->count, st));
    return tfd_elements_copy(s->value_dtype, tfd_tensor_data(&k->out[1]),
                             tfd_tensor_data(&s->values), s->count * s->width,
                             st);
}

COMPUTE(export)

static enum tfd_code export_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    (void)st;
    s->out[0] = (struct tfd_shape){1, {TFD_DIM_UNKNOWN}};
    return TFD_OK;
}

/* ---- Filling ------------------------------------------------------------- */

/* What came before a failure stays, and waits for the next try. */
static enum tfd_code fill_table(struct tfd_kctx *k, struct tfd_table *t,
                                struct tfd_status *st)
{
    const struct tfd_tensor *keys = &k->in[1], *values = &k->in[2];
    int64_t n = tfd_tensor_elements(keys);
    const void *data = tfd_tensor_data(values);

    if (n == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "keys and values cannot be empty tensors.");
    if (tfd_table_ready(t))
        return tfd_table_refill(t, n, st);
    for (int64_t i = 0; i < n; i++)
        TFD_TRY(tfd_table_put_once(t, tfd_table_key_at(keys, i),
                                   tfd_element_of(data, t->spec.value_dtype, i),
                                   st));
    TFD_STORE_RELEASE(&t->initialized, 1);
    return TFD_OK;
}

static enum tfd_code check_vectors(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    const struct tfd_shape *keys = &k->in[1].shape, *values = &k->in[2].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (keys->rank != 1 || values->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s must be a vector, but received shape%s",
                        keys->rank != 1 ? "Keys" : "Values",
                        tfd_shape_text(keys->rank != 1 ? keys : values, text));
    if (keys->dim[0] != values->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Keys and values must have the same size %lld vs %lld",
                        (long long)keys->dim[0], (long long)values->dim[0]);
    return TFD_OK;
}

static enum tfd_code initialize(struct tfd_kctx *k, struct tfd_table *t,
                                struct tfd_status *st)
{
    TFD_TRY(tfd_table_check_static(k, t, st));
    TFD_TRY(tfd_table_check_types(k, t, st));
    TFD_TRY(check_vectors(k, st));
    return with_lock(k, t, fill_table, st);
}

static enum tfd_code initialize_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    return with_table(k, initialize, st);
}

/* ---- Changing ------------------------------------------------------------ */

static enum tfd_code check_values(const struct tfd_kctx *k,
                                  const struct tfd_table *t,
                                  struct tfd_status *st)
{
    char want[TFD_SHAPE_TEXT_MAX], have[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape values;

    TFD_TRY(tfd_table_values_shape(t, &k->in[1].shape, &values, st));
    if (tfd_shape_equal(&values, &k->in[2].shape))
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT, "Expected shape %s for value, got %s",
        tfd_shape_text(&values, want), tfd_shape_text(&k->in[2].shape, have));
}

static enum tfd_code put_all(struct tfd_kctx *k, struct tfd_table *t,
                             struct tfd_status *st)
{
    struct tfd_table_store *s = &t->store;
    const void *values = tfd_tensor_data(&k->in[2]);
    int64_t n = tfd_tensor_elements(&k->in[1]), number;
    bool is_new;

    for (int64_t i = 0; i < n; i++) {
        struct tfd_table_key key = tfd_table_key_at(&k->in[1], i);

        TFD_TRY(tfd_table_store_add(s, key, &number, &is_new, st));
        TFD_TRY(tfd_table_store_set(
            s, number, tfd_element_of(values, s->value_dtype, i * s->width),
            st));
    }
    return TFD_OK;
}

static enum tfd_code insert(struct tfd_kctx *k, struct tfd_table *t,
                            struct tfd_status *st)
{
    TFD_TRY(tfd_table_check_types(k, t, st));
    if (t->dense)
        return tfd_dense_insert(t->dense, k, st);
    TFD_TRY(check_values(k, t, st));
    if (is_static(t))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Insert not supported by InitializableLookupTable "
                        "implementations");
    return put_all(k, t, st);
}

static enum tfd_code import(struct tfd_kctx *k, struct tfd_table *t,
                            struct tfd_status *st)
{
    TFD_TRY(tfd_table_check_types(k, t, st));
    if (t->dense)
        return tfd_dense_import(t->dense, k, st);
    TFD_TRY(check_values(k, t, st));
    if (is_static(t))
        return fill_table(k, t, st);
    tfd_table_store_clear(&t->store);
    return put_all(k, t, st);
}

static enum tfd_code erase(struct tfd_kctx *k, struct tfd_table *t,
                           struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(&k->in[1]);

    TFD_TRY(tfd_table_check_types(k, t, st));
    if (t->dense)
        return tfd_dense_erase(t->dense, k, st);
    if (is_static(t))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Remove not supported by InitializableLookupTable "
                        "implementations");
    for (int64_t i = 0; i < n; i++)
        tfd_table_store_remove(&t->store, tfd_table_key_at(&k->in[1], i));
    return TFD_OK;
}

COMPUTE(insert)
COMPUTE(import)
COMPUTE(erase)

/* ---- Tables -------------------------------------------------------------- */

#define REFERENCE "table_handle: Ref(string)"
#define RESOURCE "table_handle: resource"
#define IN_OUT "Tin: type; Tout: type"

#define OP(name_, in_, out_, attrs_, shape_, flags_)                    \
    {                                                                   \
        .name = name_, .inputs = in_, .outputs = out_, .attrs = attrs_, \
        .shape = shape_, .flags = (flags_) | TFD_OP_NO_GRADIENT,        \
    }
/* By reference and by handle. */
#define BOTH(name_, in_, out_, attrs_, shape_)         \
    OP(name_, REFERENCE in_, out_, attrs_, shape_, 0), \
        OP(name_ "V2", RESOURCE in_, out_, attrs_, shape_, TFD_OP_STATEFUL)

static const struct tfd_opdef ops[] = {
    BOTH("LookupTableFind", ", keys: Tin, default_value: Tout", "values: Tout",
         IN_OUT, NULL),
    BOTH("LookupTableSize", "", "size: int64", "", tfd_shape_scalar),
    BOTH("LookupTableExport", "", "keys: Tkeys, values: Tvalues",
         "Tkeys: type; Tvalues: type", export_shape),
    BOTH("LookupTableInsert", ", keys: Tin, values: Tout", "", IN_OUT,
         tfd_shape_none),
    BOTH("LookupTableImport", ", keys: Tin, values: Tout", "", IN_OUT,
         tfd_shape_none),
    BOTH("InitializeTable", ", keys: Tkey, values: Tval", "",
         "Tkey: type; Tval: type", tfd_shape_none),
    OP("LookupTableRemoveV2", RESOURCE ", keys: Tin", "", "Tin: type",
       tfd_shape_none, TFD_OP_STATEFUL),
};

#define KERNELS(name_, compute_) \
    TFD_KERNEL_ANY(name_, compute_), TFD_KERNEL_ANY(name_ "V2", compute_)

static const struct tfd_kernel kernels[] = {
    KERNELS("LookupTableFind", find_compute),
    KERNELS("LookupTableSize", size_compute),
    KERNELS("LookupTableExport", export_compute),
    KERNELS("LookupTableInsert", insert_compute),
    KERNELS("LookupTableImport", import_compute),
    KERNELS("InitializeTable", initialize_compute),
    TFD_KERNEL_ANY("LookupTableRemoveV2", erase_compute),
};

const struct tfd_family tfd_family_lookup = {
    .name = "lookup",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
