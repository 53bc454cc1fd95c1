/*
 * lookup_table.c - see lookup_table.h.
 *
 * All kinds are one type of resource, as they are in TensorFlow: what a handle
 * refers to is found out when it is used.
 */
#include "kernels/tables/lookup_table.h"

#include "common/base/atomic.h"
#include "kernels/core/owner.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- The resource -------------------------------------------------------- */

static void free_table(struct tfd_resource *r)
{
    struct tfd_table *t = (struct tfd_table *)r;

    tfd_anonymous_forget(&t->anonymous);
    tfd_table_store_clear(&t->store);
    tfd_dense_free(t->dense);
    tfd_lock_deinit(&t->lock);
    free(t);
}

const struct tfd_resource_type tfd_table_type = {
    .name = "N10tensorflow6lookup15LookupInterfaceE",
    .what = "lookup table",
    .free = free_table,
};

enum tfd_code tfd_table_make(void *arg, struct tfd_resource **out,
                             struct tfd_status *st)
{
    const struct tfd_table_spec *spec = arg;
    struct tfd_table *t = calloc(1, sizeof(*t));

    if (!t)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a table");
    tfd_resource_init(&t->resource, &tfd_table_type);
    tfd_lock_init(&t->lock, TFD_LOCK_RESOURCE);
    t->spec = *spec;
    tfd_table_store_init(&t->store, spec->key_dtype, spec->value_dtype,
                         tfd_shape_elements(&spec->value_shape));
    *out = &t->resource;
    return TFD_OK;
}

enum tfd_code tfd_table_make_dense(void *arg, struct tfd_resource **out,
                                   struct tfd_status *st)
{
    const struct tfd_dense_spec *dense = arg;
    struct tfd_table_spec spec = {.kind = TFD_TABLE_DENSE,
                                  .key_dtype = dense->key_dtype,
                                  .value_dtype = dense->value_dtype,
                                  .value_shape = dense->value_shape};
    struct tfd_dense *d;
    enum tfd_code rc;

    TFD_TRY(tfd_dense_new(dense, &d, st));
    rc = tfd_table_make(&spec, out, st);
    if (rc == TFD_OK)
        ((struct tfd_table *)*out)->dense = d;
    else
        tfd_dense_free(d);
    return rc;
}

enum tfd_code tfd_table_find(struct tfd_kctx *k, struct tfd_table **out,
                             struct tfd_status *st)
{
    struct tfd_resource *r;

    TFD_TRY(tfd_owner_find(k, &tfd_table_type, &r, st));
    *out = (struct tfd_table *)r;
    return TFD_OK;
}

bool tfd_table_ready(const struct tfd_table *t)
{
    return TFD_LOAD_ACQUIRE(&t->initialized);
}

/* ---- Types and shapes ---------------------------------------------------- */

/* The text of a signature with these types behind the handle. */
static void add_signature(struct tfd_bytes *b, const struct tfd_kctx *k,
                          const enum tfd_dtype *in, const enum tfd_dtype *out)
{
    tfd_bytes_printf(b, "%s", k->ref && k->ref[0] ? "string_ref" : "resource");
    for (int i = 1; i < k->in_count; i++)
        tfd_bytes_printf(b, ", %s", tfd_dtype_name((int)in[i - 1]));
    tfd_bytes_printf(b, "->");
    for (int i = 0; i < k->out_count; i++)
        tfd_bytes_printf(b, "%s%s", i ? ", " : "", tfd_dtype_name((int)out[i]));
}

static enum tfd_code
mismatch(const struct tfd_kctx *k, const enum tfd_dtype *in,
         const enum tfd_dtype *out, const enum tfd_dtype *wanted_in,
         const enum tfd_dtype *wanted_out, struct tfd_status *st)
{
    struct tfd_bytes b;
    enum tfd_code rc;

    tfd_bytes_init(&b, TFD_STATUS_TEXT_MAX);
    add_signature(&b, k, in, out);
    tfd_bytes_printf(&b, " expected: ");
    add_signature(&b, k, wanted_in, wanted_out);
    rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                  "Signature mismatch, have: " TFD_STR_FMT,
                  TFD_STR_ARG(tfd_bytes_view(&b)));
    tfd_bytes_deinit(&b);
    return rc;
}

enum tfd_code tfd_table_check_types(const struct tfd_kctx *k,
                                    const struct tfd_table *t,
                                    struct tfd_status *st)
{
    /* Keys come before values; a single output is values. */
    const enum tfd_dtype wanted[] = {t->spec.key_dtype, t->spec.value_dtype};
    const enum tfd_dtype *wanted_out = wanted + (k->out_count == 1);
    enum tfd_dtype in[2] = {TFD_DTYPE_INVALID}, out[2] = {TFD_DTYPE_INVALID};
    bool good = true;

    for (int i = 1; i < k->in_count; i++) {
        in[i - 1] = k->in[i].dtype;
        good = good && in[i - 1] == wanted[i - 1];
    }
    for (int i = 0; i < k->out_count; i++) {
        out[i] = tfd_dtype_base(k->node->out_types[i]);
        good = good && out[i] == wanted_out[i];
    }
    return good ? TFD_OK : mismatch(k, in, out, wanted, wanted_out, st);
}

enum tfd_code tfd_table_values_shape(const struct tfd_table *t,
                                     const struct tfd_shape *keys,
                                     struct tfd_shape *out,
                                     struct tfd_status *st)
{
    int64_t dims[TFD_RANK_MAX + 1];
    int rank = 0;

    for (int i = 0; i < keys->rank && i < TFD_RANK_MAX; i++)
        dims[rank++] = keys->dim[i];
    for (int i = 0; i < t->spec.value_shape.rank && i < 1; i++)
        dims[rank++] = t->spec.value_shape.dim[i];
    return tfd_shape_make(out, dims, rank, st);
}

/* ---- Static tables ------------------------------------------------------- */

enum tfd_code tfd_table_check_static(struct tfd_kctx *k,
                                     const struct tfd_table *t,
                                     struct tfd_status *st)
{
    struct tfd_bytes b;
    enum tfd_code rc;

    if (t->spec.kind == TFD_TABLE_STATIC)
        return TFD_OK;
    tfd_bytes_init(&b, TFD_STATUS_TEXT_MAX);
    rc = tfd_owner_add_names(k, &b, st);
    if (rc == TFD_OK)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "Table " TFD_STR_FMT " is not initializable",
                      TFD_STR_ARG(tfd_bytes_view(&b)));
    tfd_bytes_deinit(&b);
    return rc;
}

static void add_value(struct tfd_bytes *b, enum tfd_dtype dtype,
                      const void *value)
{
    switch (dtype) {
    case TFD_STRING:
        tfd_bytes_printf(b, TFD_STR_FMT, TFD_STR_ARG(tfd_tstring_view(value)));
        break;
    case TFD_FLOAT:
        tfd_bytes_printf(b, "%g", (double)*(const float *)value);
        break;
    case TFD_DOUBLE:
        tfd_bytes_printf(b, "%g", *(const double *)value);
        break;
    case TFD_INT32:
        tfd_bytes_printf(b, "%" PRId32, *(const int32_t *)value);
        break;
    case TFD_INT64:
        tfd_bytes_printf(b, "%" PRId64, *(const int64_t *)value);
        break;
    default:
        tfd_bytes_printf(b, "%d", *(const tfd_bool *)value);
    }
}

static enum tfd_code differs(const struct tfd_table *t,
                             struct tfd_table_key key, const void *have,
                             const void *wanted, struct tfd_status *st)
{
    struct tfd_bytes b;
    enum tfd_code rc;

    tfd_bytes_init(&b, TFD_STATUS_TEXT_MAX);
    if (t->spec.key_dtype == TFD_STRING)
        tfd_bytes_printf(&b, TFD_STR_FMT, TFD_STR_ARG(key.text));
    else
        tfd_bytes_printf(&b, "%" PRId64, (int64_t)key.hash);
    tfd_bytes_printf(&b, " has ");
    add_value(&b, t->spec.value_dtype, have);
    tfd_bytes_printf(&b, " and trying to add value ");
    add_value(&b, t->spec.value_dtype, wanted);
    rc =
        tfd_fail(st, TFD_FAILED_PRECONDITION,
                 "HashTable has different value for same key. Key " TFD_STR_FMT,
                 TFD_STR_ARG(tfd_bytes_view(&b)));
    tfd_bytes_deinit(&b);
    return rc;
}

static bool same_value(enum tfd_dtype dtype, const void *a, const void *b)
{
    if (dtype == TFD_STRING)
        return tfd_str_eq(tfd_tstring_view(a), tfd_tstring_view(b));
    if (dtype == TFD_FLOAT)
        return *(const float *)a == *(const float *)b;
    if (dtype == TFD_DOUBLE)
        return *(const double *)a == *(const double *)b;
    return memcmp(a, b, tfd_dtype_size(dtype)) == 0;
}

enum tfd_code tfd_table_put_once(struct tfd_table *t, struct tfd_table_key key,
                                 const void *value, struct tfd_status *st)
{
    const void *have;
    int64_t number;
    bool is_new;

    TFD_TRY(tfd_table_store_add(&t->store, key, &number, &is_new, st));
    if (is_new)
        return tfd_table_store_set(&t->store, number, value, st);
    have = tfd_table_store_value(&t->store, number);
    return same_value(t->spec.value_dtype, have, value)
               ? TFD_OK
               : differs(t, key, have, value, st);
}

enum tfd_code tfd_table_refill(const struct tfd_table *t, int64_t total,
                               struct tfd_status *st)
{
    return total == t->store.count
               ? TFD_OK
               : tfd_fail(st, TFD_FAILED_PRECONDITION,
                          "Table was already initialized with different data.");
}
