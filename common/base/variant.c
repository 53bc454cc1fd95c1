/*
 * variant.c - see variant.h.
 */
#include "common/base/variant.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "common/base/hash.h"
#include "config/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct tfd_variant *tfd_variant_new(enum tfd_variant_kind kind,
                                    struct tfd_status *st)
{
    struct tfd_variant *v = calloc(1, sizeof(*v));

    if (!v) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a variant");
        return NULL;
    }
    v->refs = v->depth = 1;
    v->kind = kind;
    v->max_elements = -1;
    v->element_shape.rank = TFD_RANK_UNKNOWN;
    return v;
}

struct tfd_variant *tfd_variant_ref(struct tfd_variant *v)
{
    tfd_refs_add(&v->refs, 1);
    return v;
}

void tfd_variant_unref(struct tfd_variant *v)
{
    if (!v || !tfd_refs_drop(&v->refs))
        return;
    for (int32_t i = 0; i < v->used; i++)
        tfd_tensor_unref(&v->tensors[i]);
    tfd_variant_object_unref(v->object);
    free(v->tensors);
    free(v);
}

bool tfd_variant_sole(const struct tfd_variant *v)
{
    return TFD_LOAD_ACQUIRE(&v->refs) == 1;
}

/* ---- Growing ------------------------------------------------------------- */

/* Memory that calloc() has from the system is zero without being touched. */
static bool enlarge(struct tfd_variant *v, int64_t capacity)
{
    struct tfd_tensor *more = calloc((size_t)capacity, sizeof(*more));

    if (!more)
        return false;
    if (v->used > 0)
        memcpy(more, v->tensors, sizeof(*more) * (size_t)v->used);
    free(v->tensors);
    v->tensors = more;
    v->capacity = (int32_t)capacity;
    return true;
}

static enum tfd_code reserve_tensors(struct tfd_variant *v, int64_t count,
                                     struct tfd_status *st)
{
    int64_t capacity = v->capacity;

    if (count < 0 || count > TFD_VARIANT_TENSORS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a list of %lld tensors; from 0 to %d are possible",
                        (long long)count, TFD_VARIANT_TENSORS_MAX);
    if (count <= capacity)
        return TFD_OK;
    capacity = count > 2 * capacity ? count : 2 * capacity;
    if (!enlarge(v, capacity))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a list of %lld tensors",
                        (long long)count);
    return TFD_OK;
}

enum tfd_code tfd_variant_resize(struct tfd_variant *v, int64_t count,
                                 struct tfd_status *st)
{
    TFD_TRY(reserve_tensors(v, count, st));
    while (v->used > count)
        tfd_tensor_unref(&v->tensors[--v->used]);
    v->count = (int32_t)count;
    return TFD_OK;
}

int tfd_variant_depth(const struct tfd_tensor *t)
{
    struct tfd_variant *const *v = tfd_tensor_data(t);
    int depth = 0;

    if (t->dtype != TFD_VARIANT || !v)
        return 0;
    for (int64_t i = 0; i < tfd_tensor_elements(t); i++)
        if (v[i] && v[i]->depth > depth)
            depth = v[i]->depth;
    return depth;
}

enum tfd_code tfd_variant_set(struct tfd_variant *v, int32_t i,
                              struct tfd_tensor *take, struct tfd_status *st)
{
    int depth = tfd_variant_depth(take) + 1;
    enum tfd_code rc = TFD_OK;

    assert(i >= 0 && i <= v->count);
    if (depth > TFD_VARIANT_DEPTH_MAX)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "variants within variants are more than %d deep",
                      TFD_VARIANT_DEPTH_MAX);
    else if (i == v->count)
        rc = tfd_variant_resize(v, (int64_t)i + 1, st);
    if (rc != TFD_OK) {
        tfd_tensor_unref(take);
        return rc;
    }
    tfd_tensor_unref(&v->tensors[i]);
    v->tensors[i] = *take;
    v->used = i < v->used ? v->used : i + 1;
    *take = (struct tfd_tensor)TFD_TENSOR_INIT;
    if (depth > v->depth)
        v->depth = depth;
    return TFD_OK;
}

struct tfd_variant *tfd_variant_copy(const struct tfd_variant *v,
                                     struct tfd_status *st)
{
    struct tfd_variant *copy = tfd_variant_new(v->kind, st);

    if (copy && reserve_tensors(copy, v->count, st) != TFD_OK) {
        tfd_variant_unref(copy);
        return NULL;
    }
    if (!copy)
        return NULL;
    copy->depth = v->depth;
    copy->dtype = v->dtype;
    copy->element_shape = v->element_shape;
    copy->max_elements = v->max_elements;
    copy->has_value = v->has_value;
    copy->pairs = v->pairs;
    if (v->object)
        copy->object = tfd_variant_object_ref(v->object);
    copy->count = v->count;
    for (; copy->used < v->used; copy->used++)
        copy->tensors[copy->used] = tfd_tensor_ref(&v->tensors[copy->used]);
    return copy;
}

enum tfd_code tfd_variant_holding(enum tfd_variant_kind kind,
                                  const struct tfd_tensor *tensors,
                                  int32_t count, struct tfd_variant **out,
                                  struct tfd_status *st)
{
    struct tfd_variant *v = tfd_variant_new(kind, st);

    if (!v)
        return TFD_RESOURCE_EXHAUSTED;
    for (int32_t i = 0; i < count; i++) {
        struct tfd_tensor one = tfd_tensor_ref(&tensors[i]);
        enum tfd_code rc = tfd_variant_set(v, i, &one, st);

        if (rc != TFD_OK) {
            tfd_variant_unref(v);
            return rc;
        }
    }
    *out = v;
    return TFD_OK;
}

/* ---- Maps ---------------------------------------------------------------- */

#define MAP_SLOTS_MIN 8

/* A map of n slots, of which at most half are taken. */
static int32_t slot_count(const struct tfd_variant *v)
{
    return v->count / 2;
}

static struct tfd_str key_bytes(const struct tfd_tensor *key)
{
    return (struct tfd_str){tfd_tensor_data(key), tfd_tensor_size(key)};
}

static uint64_t hash_key(const struct tfd_tensor *key)
{
    const struct tfd_tstring *texts = tfd_tensor_data(key);
    uint64_t hash = tfd_hash_number((uint64_t)key->dtype);

    for (int i = 0; i < key->shape.rank; i++)
        hash = tfd_hash_number(hash ^ (uint64_t)key->shape.dim[i]);
    if (key->dtype != TFD_STRING)
        return hash ^ tfd_hash_str(key_bytes(key));
    for (int64_t i = 0; i < tfd_tensor_elements(key); i++)
        hash =
            tfd_hash_number(hash ^ tfd_hash_str(tfd_tstring_view(&texts[i])));
    return hash;
}

static bool same_key(const struct tfd_tensor *a, const struct tfd_tensor *b)
{
    const struct tfd_tstring *x = tfd_tensor_data(a), *y = tfd_tensor_data(b);
    bool same = a->dtype == b->dtype && tfd_shape_equal(&a->shape, &b->shape);

    if (!same || a->dtype != TFD_STRING)
        return same && tfd_str_eq(key_bytes(a), key_bytes(b));
    for (int64_t i = 0; same && i < tfd_tensor_elements(a); i++)
        same = tfd_str_eq(tfd_tstring_view(&x[i]), tfd_tstring_view(&y[i]));
    return same;
}

/* The slot of the key, or the free one where it would be; there are slots. */
static int32_t slot_of(const struct tfd_variant *v,
                       const struct tfd_tensor *key)
{
    uint64_t mask = (uint64_t)slot_count(v) - 1, at = hash_key(key) & mask;

    while (v->tensors[2 * at].dtype != TFD_DTYPE_INVALID &&
           !same_key(&v->tensors[2 * at], key))
        at = (at + 1) & mask;
    return (int32_t)at;
}

int32_t tfd_variant_map_find(const struct tfd_variant *v,
                             const struct tfd_tensor *key)
{
    int32_t at = v->count > 0 ? 2 * slot_of(v, key) : -1;

    assert(v->kind == TFD_VARIANT_MAP);
    return at >= 0 && v->tensors[at].dtype != TFD_DTYPE_INVALID ? at : -1;
}

static void move_pair(struct tfd_tensor *from, struct tfd_tensor *to)
{
    memcpy(to, from, 2 * sizeof(*to));
    from[0] = from[1] = (struct tfd_tensor)TFD_TENSOR_INIT;
}

/* Twice as many slots; all of them may be in use from then on. */
static enum tfd_code widen_map(struct tfd_variant *v, struct tfd_status *st)
{
    struct tfd_tensor *old = v->tensors;
    int32_t old_count = v->count;
    struct tfd_variant wide = {.kind = TFD_VARIANT_MAP};

    TFD_TRY(tfd_variant_resize(
        &wide, old_count ? 2 * (int64_t)old_count : 2 * MAP_SLOTS_MIN, st));
    wide.used = wide.count;
    for (int32_t i = 0; i < old_count; i += 2)
        if (old[i].dtype != TFD_DTYPE_INVALID)
            move_pair(&old[i], &wide.tensors[2 * slot_of(&wide, &old[i])]);
    v->tensors = wide.tensors;
    v->count = wide.count;
    v->capacity = wide.capacity;
    v->used = wide.used;
    free(old);
    return TFD_OK;
}

enum tfd_code tfd_variant_map_put(struct tfd_variant *v,
                                  const struct tfd_tensor *key,
                                  struct tfd_tensor *take_value,
                                  struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;
    int32_t at;

    assert(v->kind == TFD_VARIANT_MAP);
    if (key->dtype != TFD_STRING && !tfd_dtype_is_pod(key->dtype))
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "A map's key cannot be of type %s",
                      tfd_dtype_name((int)key->dtype));
    else if (4 * ((int64_t)v->pairs + 1) > v->count)
        rc = widen_map(v, st);
    if (rc != TFD_OK) {
        tfd_tensor_unref(take_value);
        return rc;
    }
    at = 2 * slot_of(v, key);
    TFD_TRY(tfd_variant_set(v, at + 1, take_value, st));
    if (v->tensors[at].dtype != TFD_DTYPE_INVALID)
        return TFD_OK;
    v->tensors[at] = tfd_tensor_ref(key);
    v->pairs++;
    return TFD_OK;
}

/* Those behind the freed slot that would no longer be reached move up. */
void tfd_variant_map_remove(struct tfd_variant *v, int32_t at)
{
    uint64_t mask = (uint64_t)slot_count(v) - 1, hole = (uint64_t)at / 2;

    tfd_tensor_unref(&v->tensors[at]);
    tfd_tensor_unref(&v->tensors[at + 1]);
    v->pairs--;
    for (uint64_t i = (hole + 1) & mask;
         v->tensors[2 * i].dtype != TFD_DTYPE_INVALID; i = (i + 1) & mask) {
        uint64_t place = hash_key(&v->tensors[2 * i]) & mask;

        if (((i - place) & mask) < ((i - hole) & mask))
            continue;
        move_pair(&v->tensors[2 * i], &v->tensors[2 * hole]);
        hole = i;
    }
}

/* ---- Tensors of them ----------------------------------------------------- */

struct tfd_variant *tfd_variant_of(const struct tfd_tensor *t)
{
    struct tfd_variant *const *v = tfd_tensor_data(t);

    return t->dtype == TFD_VARIANT && v && tfd_tensor_elements(t) == 1 ? *v
                                                                       : NULL;
}

enum tfd_code tfd_variant_tensor(struct tfd_variant *take,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    enum tfd_code rc = tfd_tensor_new(out, TFD_VARIANT, &scalar, st);

    if (rc == TFD_OK)
        *(struct tfd_variant **)tfd_tensor_data(out) = take;
    else
        tfd_variant_unref(take);
    return rc;
}

/* ---- Objects ------------------------------------------------------------- */

struct tfd_variant_object *tfd_variant_object_ref(struct tfd_variant_object *o)
{
    tfd_refs_add(&o->refs, 1);
    return o;
}

static void end_object(struct tfd_deferred *u)
{
    struct tfd_variant_object *o =
        TFD_CONTAINER_OF(u, struct tfd_variant_object, end);

    o->type->free(o);
}

void tfd_variant_object_unref(struct tfd_variant_object *o)
{
    if (!o || !tfd_refs_drop(&o->refs))
        return;
    o->end.run = end_object;
    tfd_lock_defer(&o->end);
}

enum tfd_code tfd_variant_object_tensor(struct tfd_variant_object *take,
                                        struct tfd_tensor *out,
                                        struct tfd_status *st)
{
    struct tfd_variant *v = tfd_variant_new(TFD_VARIANT_OBJECT, st);

    if (!v) {
        tfd_variant_object_unref(take);
        return TFD_RESOURCE_EXHAUSTED;
    }
    v->object = take;
    v->depth = take->depth;
    return tfd_variant_tensor(v, out, st);
}

struct tfd_variant_object *
tfd_variant_object_of(const struct tfd_tensor *t,
                      const struct tfd_variant_object_type *type)
{
    const struct tfd_variant *v = tfd_variant_of(t);

    return v && v->object && v->object->type == type ? v->object : NULL;
}
