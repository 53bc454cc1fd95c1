/*
 * table_dense.c - see table_dense.h.
 *
 * A freed bucket is taken by the next key that comes by, even where that key is
 * in a bucket behind it: so does TensorFlow, and what is exported shows it.
 */
#include "kernels/tables/table_dense.h"

#include "common/thread/halt.h"
#include "kernels/core/element.h"
#include "kernels/text/keyed_hash.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_MIN 4
#define BUCKETS_MAX (INT64_C(1) << 62)
#define PROBES_BETWEEN_LOOKS 4096

/* ---- Keys ---------------------------------------------------------------- */

/* Rows of a tensor of keys. */
struct keys {
    const struct tfd_tensor *t;
    int64_t row; /* which one is meant */
};

static uint64_t hash_element(const struct tfd_tensor *t, int64_t i)
{
    const void *data = tfd_tensor_data(t);

    if (t->dtype == TFD_STRING)
        return tfd_keyed_hash_64(
            tfd_tstring_view(&((const struct tfd_tstring *)data)[i]));
    return t->dtype == TFD_INT32 ? (uint64_t)(int64_t)((const int32_t *)data)[i]
                                 : (uint64_t)((const int64_t *)data)[i];
}

/* As TensorFlow's Hash64Combine. */
static uint64_t combine_hashes(uint64_t a, uint64_t b)
{
    return a ^ (b + UINT64_C(0x9e3779b97f4a7800) + (a << 10) + (a >> 4));
}

static uint64_t hash_key(const struct tfd_dense *d, struct keys key)
{
    uint64_t hash = 0;

    if (d->key_size == 1)
        return hash_element(key.t, key.row);
    for (int64_t i = 0; i < d->key_size; i++)
        hash = combine_hashes(hash,
                              hash_element(key.t, key.row * d->key_size + i));
    return hash;
}

static bool same_key(const struct tfd_dense *d, struct keys a, struct keys b)
{
    const void *x = tfd_tensor_data(a.t), *y = tfd_tensor_data(b.t);
    int64_t n = d->key_size;
    bool same = true;

    if (n == 0)
        return true;
    x = tfd_element_of(x, d->key_dtype, a.row * n);
    y = tfd_element_of(y, d->key_dtype, b.row * n);
    if (d->key_dtype != TFD_STRING)
        return memcmp(x, y, (size_t)n * tfd_dtype_size(d->key_dtype)) == 0;
    for (int64_t i = 0; same && i < n; i++)
        same =
            tfd_str_eq(tfd_tstring_view(&((const struct tfd_tstring *)x)[i]),
                       tfd_tstring_view(&((const struct tfd_tstring *)y)[i]));
    return same;
}

static bool is_free(const struct tfd_dense *d, int64_t bucket)
{
    return same_key(d, (struct keys){&d->keys, bucket},
                    (struct keys){&d->empty, 0});
}

static bool was_freed(const struct tfd_dense *d, int64_t bucket)
{
    return same_key(d, (struct keys){&d->keys, bucket},
                    (struct keys){&d->deleted, 0});
}

static enum tfd_code check_key(const struct tfd_dense *d, struct keys key,
                               struct tfd_status *st)
{
    const char *what = NULL;

    if (same_key(d, key, (struct keys){&d->empty, 0}))
        what = "empty";
    else if (same_key(d, key, (struct keys){&d->deleted, 0}))
        what = "deleted";
    if (!what)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Using the %s_key as a table key is not allowed", what);
}

/* The bucket of the key, or where it is not there, the free one that ends the
 * search; `reuses`: one that was freed ends it as well. */
static enum tfd_code find_bucket(const struct tfd_dense *d, struct keys key,
                                 bool reuses, const char *what, int64_t *bucket,
                                 bool *found, struct tfd_status *st)
{
    uint64_t mask = (uint64_t)d->buckets - 1, at = hash_key(d, key) & mask;

    *bucket = 0;
    *found = false;
    for (int64_t probes = 1; probes <= d->buckets; probes++) {
        *bucket = (int64_t)at;
        *found = same_key(d, (struct keys){&d->keys, *bucket}, key);
        if (*found || is_free(d, *bucket) || (reuses && was_freed(d, *bucket)))
            return TFD_OK;
        if (probes % PROBES_BETWEEN_LOOKS == 0 && tfd_halted())
            return tfd_halt_fail(st);
        at = (at + (uint64_t)probes) & mask;
    }
    return tfd_fail(st, TFD_INTERNAL,
                    "Internal error in MutableDenseHashTable %s", what);
}

/* ---- Memory -------------------------------------------------------------- */

static enum tfd_code new_rows(enum tfd_dtype dtype, int64_t rows, int64_t size,
                              struct tfd_tensor *out, struct tfd_status *st)
{
    int64_t dims[] = {rows, size};
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, dims, 2, st));
    TFD_TRY(tfd_tensor_new(out, dtype, &shape, st));
    if (tfd_dtype_is_pod(dtype))
        tfd_elements_zero(dtype, tfd_tensor_data(out), rows * size);
    return TFD_OK;
}

static enum tfd_code fill_keys(struct tfd_dense *d, struct tfd_status *st)
{
    const void *empty = tfd_tensor_data(&d->empty);

    if (d->key_size == 1)
        return tfd_elements_fill(d->key_dtype, tfd_tensor_data(&d->keys), empty,
                                 d->buckets, st);
    for (int64_t i = 0; i < d->buckets && d->key_size > 0; i++)
        TFD_TRY(tfd_elements_copy(d->key_dtype,
                                  tfd_element_at(tfd_tensor_data(&d->keys),
                                                 d->key_dtype, i * d->key_size),
                                  empty, d->key_size, st));
    return TFD_OK;
}

/* Buckets without an entry; what was there is let go of. */
static enum tfd_code make_buckets(struct tfd_dense *d, int64_t buckets,
                                  struct tfd_status *st)
{
    if (buckets < BUCKETS_MIN || (buckets & (buckets - 1)) != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of buckets must be at least %d and a power of "
                        "2, got: %lld",
                        BUCKETS_MIN, (long long)buckets);
    TFD_TRY(new_rows(d->key_dtype, buckets, d->key_size, &d->keys, st));
    TFD_TRY(new_rows(d->value_dtype, buckets, d->value_size, &d->values, st));
    d->buckets = buckets;
    d->count = 0;
    return fill_keys(d, st);
}

static void drop_buckets(struct tfd_dense *d)
{
    tfd_tensor_unref(&d->keys);
    tfd_tensor_unref(&d->values);
}

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code check_vector(const struct tfd_shape *s, const char *what,
                                  struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (s->rank <= 1)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Empty %s must be a scalar or a vector, got shape %s", what,
                    tfd_shape_text(s, text));
}

static enum tfd_code check_spec(const struct tfd_dense_spec *s,
                                struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];

    if (!(s->max_load_factor > 0 && s->max_load_factor < 1))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "max_load_factor must be between 0 and 1, got: %g",
                        (double)s->max_load_factor);
    if (tfd_shape_elements(&s->value_shape) < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape %s is not fully defined",
                        tfd_shape_text(&s->value_shape, a));
    TFD_TRY(check_vector(&s->value_shape, "value", st));
    TFD_TRY(check_vector(&s->empty->shape, "key", st));
    if (tfd_shape_equal(&s->empty->shape, &s->deleted->shape))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Empty and deleted keys must have same shape, got shapes: "
                    "%s and %s",
                    tfd_shape_text(&s->empty->shape, a),
                    tfd_shape_text(&s->deleted->shape, b));
}

static enum tfd_code set_up_dense(struct tfd_dense *d,
                                  const struct tfd_dense_spec *s,
                                  struct tfd_status *st)
{
    d->key_dtype = s->key_dtype;
    d->value_dtype = s->value_dtype;
    d->key_shape = s->empty->shape;
    d->value_shape = s->value_shape;
    d->key_size = tfd_shape_elements(&d->key_shape);
    d->value_size = tfd_shape_elements(&d->value_shape);
    d->max_load_factor = s->max_load_factor;
    d->empty = tfd_tensor_ref(s->empty);
    d->deleted = tfd_tensor_ref(s->deleted);
    if (same_key(d, (struct keys){&d->empty, 0}, (struct keys){&d->deleted, 0}))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Empty and deleted keys cannot be equal");
    return make_buckets(d, s->buckets, st);
}

enum tfd_code tfd_dense_new(const struct tfd_dense_spec *spec,
                            struct tfd_dense **out, struct tfd_status *st)
{
    struct tfd_dense *d;
    enum tfd_code rc;

    TFD_TRY(check_spec(spec, st));
    d = calloc(1, sizeof(*d));
    if (!d)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a table");
    rc = set_up_dense(d, spec, st);
    if (rc == TFD_OK)
        *out = d;
    else
        tfd_dense_free(d);
    return rc;
}

void tfd_dense_free(struct tfd_dense *d)
{
    if (!d)
        return;
    drop_buckets(d);
    tfd_tensor_unref(&d->empty);
    tfd_tensor_unref(&d->deleted);
    free(d);
}

/* ---- Shapes of keys and values ------------------------------------------- */

/* The shape of keys without the key's own dimensions, and the value's. */
static enum tfd_code values_shape(const struct tfd_shape *keys, int key_rank,
                                  const struct tfd_shape *value,
                                  struct tfd_shape *out, struct tfd_status *st)
{
    int64_t dims[TFD_RANK_MAX + 1];
    int rank = 0;

    for (int i = 0; i < keys->rank - key_rank && i < TFD_RANK_MAX; i++)
        dims[rank++] = keys->dim[i];
    if (value->rank == 1)
        dims[rank++] = value->dim[0];
    return tfd_shape_make(out, dims, rank, st);
}

static enum tfd_code check_value_shape(const struct tfd_kctx *k,
                                       const struct tfd_shape *wanted,
                                       struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];

    if (tfd_shape_equal(&k->in[2].shape, wanted))
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT, "Expected shape %s for value, got %s",
        tfd_shape_text(wanted, a), tfd_shape_text(&k->in[2].shape, b));
}

/* Keys end with the shape of a key. */
static enum tfd_code check_key_shape(const struct tfd_dense *d,
                                     const struct tfd_shape *keys,
                                     struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];

    if (d->key_shape.rank == 0 ||
        (keys->rank >= 1 && keys->dim[keys->rank - 1] == d->key_shape.dim[0]))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Input key shape %s must end with the table's key shape %s",
                    tfd_shape_text(keys, a), tfd_shape_text(&d->key_shape, b));
}

/* How many there are: as many as the first dimension says. */
static enum tfd_code count_keys(const struct tfd_dense *d,
                                const struct tfd_tensor *keys, int64_t *count,
                                struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape wanted;

    *count = keys->shape.rank == 0 ? 1 : keys->shape.dim[0];
    if (tfd_tensor_elements(keys) == *count * d->key_size)
        return TFD_OK;
    wanted = (struct tfd_shape){1 + d->key_shape.rank,
                                {*count, d->key_shape.dim[0]}};
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Expected key shape %s got %s",
                    tfd_shape_text(&wanted, a),
                    tfd_shape_text(&keys->shape, b));
}

/* ---- Finding ------------------------------------------------------------- */

static void *value_at(const struct tfd_dense *d, const struct tfd_tensor *t,
                      int64_t row)
{
    return tfd_element_at(tfd_tensor_data(t), d->value_dtype,
                          row * d->value_size);
}

static enum tfd_code copy_value(const struct tfd_dense *d, void *to,
                                const void *from, struct tfd_status *st)
{
    return d->value_size == 0
               ? TFD_OK
               : tfd_elements_copy(d->value_dtype, to, from, d->value_size, st);
}

/* The value of all keys that are not there is the first of input 2. */
static enum tfd_code find_all(const struct tfd_dense *d, struct tfd_kctx *k,
                              int64_t count, struct tfd_status *st)
{
    struct keys key = {&k->in[1], 0};

    for (; key.row < count && !tfd_halted(); key.row++) {
        int64_t bucket;
        bool found;

        TFD_TRY(check_key(d, key, st));
        TFD_TRY(find_bucket(d, key, false, "lookup", &bucket, &found, st));
        TFD_TRY(copy_value(d, value_at(d, &k->out[0], key.row),
                           found ? value_at(d, &d->values, bucket)
                                 : tfd_tensor_data(&k->in[2]),
                           st));
    }
    return TFD_OK;
}

enum tfd_code tfd_dense_find(struct tfd_dense *d, struct tfd_kctx *k,
                             struct tfd_status *st)
{
    const struct tfd_shape *other = &k->in[2].shape;
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX], c[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape out;
    int64_t count;

    TFD_TRY(check_key_shape(d, &k->in[1].shape, st));
    TFD_TRY(values_shape(&k->in[1].shape, d->key_shape.rank, &d->value_shape,
                         &out, st));
    if (!tfd_shape_equal(other, &d->value_shape) &&
        !tfd_shape_equal(other, &out))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected shape %s or %s for default value, got %s",
                        tfd_shape_text(&d->value_shape, a),
                        tfd_shape_text(&out, b), tfd_shape_text(other, c));
    TFD_TRY(tfd_kctx_output(k, 0, d->value_dtype, &out, st));
    TFD_TRY(count_keys(d, &k->in[1], &count, st));
    return find_all(d, k, count, st);
}

/* ---- Changing ------------------------------------------------------------ */

static enum tfd_code put_one(struct tfd_dense *d, struct keys key,
                             const void *value, struct tfd_status *st)
{
    int64_t bucket;
    bool found;

    TFD_TRY(find_bucket(d, key, true, "insert", &bucket, &found, st));
    if (!found) {
        TFD_TRY(tfd_elements_copy(
            d->key_dtype,
            tfd_element_at(tfd_tensor_data(&d->keys), d->key_dtype,
                           bucket * d->key_size),
            tfd_element_of(tfd_tensor_data(key.t), d->key_dtype,
                           key.row * d->key_size),
            d->key_size, st));
        d->count++;
    }
    return copy_value(d, value_at(d, &d->values, bucket), value, st);
}

/* Into more buckets; nothing has changed after a failure. */
static enum tfd_code rebucket(struct tfd_dense *d, int64_t buckets,
                              struct tfd_status *st)
{
    struct tfd_dense more = *d;
    struct keys key = {&d->keys, 0};
    enum tfd_code rc;

    more.keys = more.values = (struct tfd_tensor)TFD_TENSOR_INIT;
    rc = make_buckets(&more, buckets, st);
    for (; rc == TFD_OK && key.row < d->buckets; key.row++)
        if (tfd_halted())
            rc = tfd_halt_fail(st);
        else if (!is_free(d, key.row) && !was_freed(d, key.row))
            rc = put_one(&more, key, value_at(d, &d->values, key.row), st);
    if (rc == TFD_OK) {
        struct tfd_dense old = *d;

        *d = more;
        more = old;
    }
    drop_buckets(&more);
    return rc;
}

/* TensorFlow counts all keys as new ones. */
static enum tfd_code make_room(struct tfd_dense *d, int64_t count,
                               struct tfd_status *st)
{
    float pending = (float)(d->count + count);
    int64_t buckets = d->buckets;

    if (pending <= (float)buckets * d->max_load_factor)
        return TFD_OK;
    do {
        buckets *= 2;
    } while (buckets < BUCKETS_MAX &&
             pending > (float)buckets * d->max_load_factor);
    return rebucket(d, buckets, st);
}

enum tfd_code tfd_dense_insert(struct tfd_dense *d, struct tfd_kctx *k,
                               struct tfd_status *st)
{
    struct keys key = {&k->in[1], 0};
    struct tfd_shape values;
    int64_t count;

    TFD_TRY(check_key_shape(d, &k->in[1].shape, st));
    TFD_TRY(values_shape(&k->in[1].shape, d->key_shape.rank, &d->value_shape,
                         &values, st));
    TFD_TRY(check_value_shape(k, &values, st));
    TFD_TRY(count_keys(d, &k->in[1], &count, st));
    TFD_TRY(make_room(d, count, st));
    for (; key.row < count && !tfd_halted(); key.row++) {
        TFD_TRY(check_key(d, key, st));
        TFD_TRY(put_one(d, key, value_at(d, &k->in[2], key.row), st));
    }
    return TFD_OK;
}

enum tfd_code tfd_dense_erase(struct tfd_dense *d, struct tfd_kctx *k,
                              struct tfd_status *st)
{
    struct keys key = {&k->in[1], 0};
    int64_t count, bucket;
    bool found;

    TFD_TRY(check_key_shape(d, &k->in[1].shape, st));
    TFD_TRY(count_keys(d, &k->in[1], &count, st));
    for (; key.row < count && !tfd_halted(); key.row++) {
        TFD_TRY(check_key(d, key, st));
        TFD_TRY(find_bucket(d, key, false, "remove", &bucket, &found, st));
        if (!found)
            continue;
        TFD_TRY(tfd_elements_copy(
            d->key_dtype,
            tfd_element_at(tfd_tensor_data(&d->keys), d->key_dtype,
                           bucket * d->key_size),
            tfd_tensor_data(&d->deleted), d->key_size, st));
        d->count--;
    }
    return TFD_OK;
}

/* ---- All of it ----------------------------------------------------------- */

/* A copy: others may read what the table goes on to change. */
static enum tfd_code copy_rows(const struct tfd_tensor *from,
                               struct tfd_tensor *to, struct tfd_status *st)
{
    return tfd_elements_copy(from->dtype, tfd_tensor_data(to),
                             tfd_tensor_data(from), tfd_tensor_elements(from),
                             st);
}

/* The buckets come as they were exported, a row each. */
static enum tfd_code check_import(const struct tfd_dense *d,
                                  const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    const struct tfd_shape *keys = &k->in[1].shape;
    struct tfd_shape value = {1, {d->value_size}}, values;
    char text[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(check_key_shape(d, keys, st));
    if (keys->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input key shape [] must be a matrix of %lld columns",
                        (long long)d->key_size);
    TFD_TRY(values_shape(keys, 1, &value, &values, st));
    TFD_TRY(check_value_shape(k, &values, st));
    if (keys->rank == 2 && keys->dim[0] > 0 && keys->dim[1] == d->key_size)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Input key shape %s must be a matrix of %lld columns",
                    tfd_shape_text(keys, text), (long long)d->key_size);
}

enum tfd_code tfd_dense_import(struct tfd_dense *d, struct tfd_kctx *k,
                               struct tfd_status *st)
{
    struct tfd_dense all = *d;
    enum tfd_code rc;

    TFD_TRY(check_import(d, k, st));
    all.keys = all.values = (struct tfd_tensor)TFD_TENSOR_INIT;
    all.buckets = k->in[1].shape.dim[0];
    rc = new_rows(d->key_dtype, all.buckets, d->key_size, &all.keys, st);
    if (rc == TFD_OK)
        rc = new_rows(d->value_dtype, all.buckets, d->value_size, &all.values,
                      st);
    if (rc == TFD_OK)
        rc = copy_rows(&k->in[1], &all.keys, st);
    if (rc == TFD_OK)
        rc = copy_rows(&k->in[2], &all.values, st);
    if (rc != TFD_OK) {
        drop_buckets(&all);
        return rc;
    }
    all.count = 0;
    for (int64_t i = 0; i < all.buckets; i++)
        all.count += !is_free(&all, i) && !was_freed(&all, i);
    drop_buckets(d);
    *d = all;
    return TFD_OK;
}

enum tfd_code tfd_dense_export(struct tfd_dense *d, struct tfd_kctx *k,
                               struct tfd_status *st)
{
    const struct tfd_tensor *of[] = {&d->keys, &d->values};

    for (int i = 0; i < 2; i++)
        if (k->node->out_types[i] != (int)of[i]->dtype)
            return tfd_fail(st, TFD_INTERNAL,
                            "Output %d of type %s does not match declared "
                            "output type %s for node {{node %s}}",
                            i, tfd_dtype_name((int)of[i]->dtype),
                            tfd_dtype_name(k->node->out_types[i]),
                            k->node->name.data);
    for (int i = 0; i < 2; i++) {
        TFD_TRY(tfd_kctx_output(k, i, of[i]->dtype, &of[i]->shape, st));
        TFD_TRY(copy_rows(of[i], &k->out[i], st));
    }
    return TFD_OK;
}
