/*
 * map_stage.c - MapStage, MapPeek, MapUnstage, MapUnstageNoKey, MapSize,
 * MapIncompleteSize, MapClear, and the same of ordered maps: an area whose
 * tuples have keys and may come and go in parts.
 *
 * Both kinds of map keep their tuples by key, so MapUnstageNoKey, which may
 * take any, takes the least as well.
 *
 * TensorFlow counts of the tensors that come together only the last one against
 * the limit of memory; so does this.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/state/staging.h"

#include <inttypes.h>

#define MAP_TYPE(digit_)                                                   \
    {                                                                      \
        .name = "N10tensorflow12_GLOBAL__N_110StagingMapILb" digit_ "EEE", \
        .what = "staging map", .free = tfd_area_free                       \
    }

static const struct tfd_resource_type map_type = MAP_TYPE("0");
static const struct tfd_resource_type ordered_type = MAP_TYPE("1");

static enum tfd_code map_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    bool ordered = tfd_str_starts(p->node->op->name, "Ordered");

    return tfd_stager_prepare(state, p, ordered ? &ordered_type : &map_type,
                              st);
}

/* ---- Indices ------------------------------------------------------------- */

/* Those that are inputs of k: each larger than the one before it. */
struct indices {
    const int32_t *at;
    int64_t count;
};

static struct indices indices_of(const struct tfd_kctx *k, int in)
{
    return (struct indices){tfd_tensor_data(&k->in[in]),
                            tfd_tensor_elements(&k->in[in])};
}

static enum tfd_code check_ascending(struct indices x, struct tfd_status *st)
{
    for (int64_t i = 1; i < x.count; i++)
        if (x.at[i] <= x.at[i - 1])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Indices are not strictly ordered");
    return TFD_OK;
}

/* As many as the outputs from `first` on. */
static enum tfd_code check_wanted(const struct tfd_kctx *k, struct indices x,
                                  int first, struct tfd_status *st)
{
    TFD_TRY(check_ascending(x, st));
    if (x.count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Indices are empty");
    if (x.count < k->out_count - first)
        return tfd_fail(st, TFD_INTERNAL,
                        "Missing %d-th output from {{node " TFD_STR_FMT "}}",
                        (int)x.count + first, TFD_STR_ARG(k->node->name));
    if (x.count > k->out_count - first)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%" PRId64 " indices for %d values of " TFD_STR_FMT,
                        x.count, k->out_count - first,
                        TFD_STR_ARG(k->node->name));
    return TFD_OK;
}

static enum tfd_code check_bound(int64_t key, int32_t index, int count,
                                 struct tfd_status *st)
{
    if (index >= 0 && index < count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Index '%" PRIu64 "' for key '%" PRId64
                    "' was out of bounds '%d'.",
                    (uint64_t)(int64_t)index, key, count);
}

/* ---- Putting ------------------------------------------------------------- */

/* The row of s is among the complete ones; of a key that is there already the
 * older tuple stays. */
static void put_row(struct tfd_area *a, struct tfd_staging *s)
{
    struct tfd_staged *row = s->row;
    bool found;
    int64_t at = tfd_shelf_find(&a->complete, s->key, &found);

    if (!found && tfd_shelf_insert(&a->complete, at, row)) {
        a->bytes += row->bytes - row->charged;
        row->charged = row->bytes;
        s->row = NULL;
        return;
    }
    a->bytes -= row->charged;
    if (!found)
        tfd_fail(&s->st, TFD_RESOURCE_EXHAUSTED, "no memory to stage a tuple");
}

static bool serve_put(struct tfd_area *a, struct tfd_staging *s)
{
    if (tfd_area_is_full(a, s->row))
        return false;
    put_row(a, s);
    return true;
}

static enum tfd_code check_new_parts(const struct tfd_area *a,
                                     const struct tfd_staging *s,
                                     struct indices x,
                                     const struct tfd_staged *have,
                                     struct tfd_status *st)
{
    for (int64_t i = 0; i < x.count; i++) {
        TFD_TRY(check_bound(s->key, x.at[i], a->parts, st));
        if (have && have->part[x.at[i]].dtype != TFD_DTYPE_INVALID)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "The tensor for index '%d' for key '%" PRId64
                            "' was already initialized '%d'.",
                            x.at[i], s->key, a->parts);
    }
    return TFD_OK;
}

/* The incomplete tuple of the key, perhaps a new one; NULL: s has failed. */
static struct tfd_staged *find_incomplete(struct tfd_area *a,
                                          struct tfd_staging *s,
                                          struct indices x, int64_t *at)
{
    struct tfd_staged *row;
    bool found;

    *at = tfd_shelf_find(&a->incomplete, s->key, &found);
    row = found ? tfd_shelf_at(&a->incomplete, *at) : NULL;
    if (check_new_parts(a, s, x, row, &s->st) != TFD_OK)
        return NULL;
    if (row)
        return row;
    row = tfd_staged_new(a->parts, &s->st);
    if (row && !tfd_shelf_insert(&a->incomplete, *at, row)) {
        tfd_staged_free(row);
        tfd_fail(&s->st, TFD_RESOURCE_EXHAUSTED, "no memory to stage a tuple");
        row = NULL;
    }
    if (row)
        row->key = s->key;
    return row;
}

/* Parts of a tuple; with the last of them it is complete, even beyond the
 * capacity. */
static bool serve_parts(struct tfd_area *a, struct tfd_staging *s)
{
    struct indices x = indices_of(s->k, 1);
    int64_t bytes = s->row->bytes, at;
    struct tfd_staged *row;

    if (a->bytes_max > 0 && bytes > a->bytes_max - a->bytes)
        return false;
    row = find_incomplete(a, s, x, &at);
    if (!row)
        return true;
    for (int64_t i = 0; i < x.count; i++)
        row->part[x.at[i]] = tfd_tensor_ref(&s->row->part[i]);
    row->held += (int)x.count;
    row->bytes += bytes;
    row->charged += bytes;
    a->bytes += bytes;
    if (row->held < row->count)
        return true;
    tfd_staged_free(s->row);
    s->row = tfd_shelf_remove(&a->incomplete, at);
    put_row(a, s);
    return true;
}

static enum tfd_code read_row(const struct tfd_area *a, struct tfd_kctx *k,
                              struct tfd_staged **row, struct tfd_status *st)
{
    struct indices x = indices_of(k, 1);
    char text[TFD_SHAPE_TEXT_MAX];

    if (tfd_tensor_elements(&k->in[0]) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "key must not be empty");
    if (tfd_tensor_elements(&k->in[0]) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "key must be an int64 scalar, got tensor with shape: "
                        "%s",
                        tfd_shape_text(&k->in[0].shape, text));
    TFD_TRY(check_ascending(x, st));
    if (x.count != a->parts && x.count > k->in_count - 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%" PRId64 " indices for %d values of " TFD_STR_FMT,
                        x.count, k->in_count - 2, TFD_STR_ARG(k->node->name));
    *row = tfd_staged_of(k, 2, st);
    if (!*row)
        return TFD_RESOURCE_EXHAUSTED;
    (*row)->key = *(const int64_t *)tfd_tensor_data(&k->in[0]);
    (*row)->bytes = tfd_staged_bytes(&(*row)->part[(*row)->count - 1]);
    return tfd_area_check_bytes(a, (*row)->bytes, st);
}

static void stage_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_area *a = tfd_area_of(k);
    struct tfd_staged *row = NULL;
    bool whole;

    if (!a)
        return;
    if (read_row(a, k, &row, &st) != TFD_OK) {
        tfd_staged_free(row);
        tfd_area_end(a, k, &st);
        return;
    }
    whole = indices_of(k, 1).count == a->parts;
    tfd_area_begin(a, k, whole ? serve_put : serve_parts, row, row->key);
}

/* ---- Taking -------------------------------------------------------------- */

static enum tfd_code give_parts(struct tfd_staging *s,
                                const struct tfd_staged *row, struct indices x,
                                int first)
{
    for (int64_t i = 0; i < x.count; i++) {
        TFD_TRY(check_bound(row->key, x.at[i], row->count, &s->st));
        if (row->part[x.at[i]].dtype == TFD_DTYPE_INVALID)
            return tfd_fail(&s->st, TFD_INVALID_ARGUMENT,
                            "Tensor at index '%d' for key '%" PRId64
                            "' has already been removed.",
                            x.at[i], row->key);
        TFD_TRY(
            tfd_staged_give(s->k, first + (int)i, &row->part[x.at[i]], &s->st));
    }
    return TFD_OK;
}

/* The tuple goes with the last of its parts. */
static void take_parts(struct tfd_area *a, int64_t at, struct indices x)
{
    struct tfd_staged *row = tfd_shelf_at(&a->complete, at);

    for (int64_t i = 0; i < x.count; i++)
        tfd_tensor_unref(&row->part[x.at[i]]);
    row->held -= (int)x.count;
    if (row->held > 0)
        return;
    a->bytes -= row->charged;
    tfd_staged_free(tfd_shelf_remove(&a->complete, at));
}

static bool serve_key(struct tfd_area *a, struct tfd_staging *s, bool take)
{
    struct indices x = indices_of(s->k, 1);
    bool found;
    int64_t at = tfd_shelf_find(&a->complete, s->key, &found);

    if (!found)
        return false;
    if (give_parts(s, tfd_shelf_at(&a->complete, at), x, 0) == TFD_OK && take)
        take_parts(a, at, x);
    return true;
}

static bool serve_peek(struct tfd_area *a, struct tfd_staging *s)
{
    return serve_key(a, s, false);
}

static bool serve_get(struct tfd_area *a, struct tfd_staging *s)
{
    return serve_key(a, s, true);
}

static void key_start(struct tfd_kctx *k,
                      bool (*serve)(struct tfd_area *a, struct tfd_staging *s))
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_area *a = tfd_area_of(k);

    if (!a)
        return;
    if (check_wanted(k, indices_of(k, 1), 0, &st) == TFD_OK)
        tfd_area_begin(a, k, serve, NULL,
                       *(const int64_t *)tfd_tensor_data(&k->in[0]));
    else
        tfd_area_end(a, k, &st);
}

static void peek_start(struct tfd_kctx *k)
{
    key_start(k, serve_peek);
}

static void get_start(struct tfd_kctx *k)
{
    key_start(k, serve_get);
}

static bool serve_any(struct tfd_area *a, struct tfd_staging *s)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct indices x = indices_of(s->k, 0);
    const struct tfd_staged *row;

    if (a->complete.count == 0)
        return false;
    row = tfd_shelf_at(&a->complete, 0);
    if (tfd_kctx_output(s->k, 0, TFD_INT64, &scalar, &s->st) != TFD_OK)
        return true;
    *(int64_t *)tfd_tensor_data(&s->k->out[0]) = row->key;
    if (give_parts(s, row, x, 1) == TFD_OK)
        take_parts(a, 0, x);
    return true;
}

static void any_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_area *a = tfd_area_of(k);

    if (!a)
        return;
    if (check_wanted(k, indices_of(k, 0), 1, &st) == TFD_OK)
        tfd_area_begin(a, k, serve_any, NULL, 0);
    else
        tfd_area_end(a, k, &st);
}

/* ---- Tables -------------------------------------------------------------- */

#define ATTRS(types_)                                                     \
    "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: " types_ \
    "; container: string = ''; shared_name: string = ''"
#define OP(name_, inputs_, outputs_, types_, ...)                              \
    {                                                                          \
        .name = name_, .inputs = inputs_, .outputs = outputs_,                 \
        .attrs = ATTRS(types_), .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT, \
        __VA_ARGS__                                                            \
    }
#define KEY_CHECK "key: scalar 'key must be an int64 scalar: %s'"
#define MAP_OPS(name_)                                                       \
    OP(name_ "Stage", "key: int64, indices: int32, values: fake_dtypes", "", \
       "list(type); fake_dtypes: list(type) >= 1", .shape = tfd_shape_none), \
        OP(name_ "Peek", "key: int64, indices: int32", "values: dtypes",     \
           "list(type) >= 1", .checks = KEY_CHECK),                          \
        OP(name_ "Unstage", "key: int64, indices: int32", "values: dtypes",  \
           "list(type) >= 1", .checks = KEY_CHECK),                          \
        OP(name_ "UnstageNoKey", "indices: int32",                           \
           "key: int64, values: dtypes", "list(type) >= 1", .shape = NULL),  \
        OP(name_ "Size", "", "size: int32", "list(type)",                    \
           .shape = tfd_shape_scalar),                                       \
        OP(name_ "IncompleteSize", "", "size: int32", "list(type)",          \
           .shape = tfd_shape_scalar),                                       \
        OP(name_ "Clear", "", "", "list(type)", .shape = tfd_shape_none)

static const struct tfd_opdef ops[] = {MAP_OPS("Map"), MAP_OPS("OrderedMap")};

#define KERNEL(name_, ...)                                     \
    TFD_KERNEL_ANY(name_, __VA_ARGS__, .prepare = map_prepare, \
                   .release = tfd_stager_release,              \
                   .state_size = sizeof(struct tfd_stager))
#define WAITS(name_, start_) \
    KERNEL(name_, NULL, .start = start_, .flags = TFD_KERNEL_WAITS)
#define MAP_KERNELS(name_)                                              \
    WAITS(name_ "Stage", stage_start), WAITS(name_ "Peek", peek_start), \
        WAITS(name_ "Unstage", get_start),                              \
        WAITS(name_ "UnstageNoKey", any_start),                         \
        KERNEL(name_ "Size", tfd_area_compute_size),                    \
        KERNEL(name_ "IncompleteSize", tfd_area_compute_size),          \
        KERNEL(name_ "Clear", tfd_area_compute_clear)

static const struct tfd_kernel kernels[] = {MAP_KERNELS("Map"),
                                            MAP_KERNELS("OrderedMap")};

const struct tfd_family tfd_family_map_stage = {
    .name = "map_stage",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
