/*
 * slices_writer.c - sorted by name for the table of contents, then by key for
 * the values, of which one at a time is serialised.
 */
#include "kernels/checkpoint/slices_writer.h"

#include "kernels/checkpoint/checkpoint_proto.h"
#include "kernels/io/file_draft.h"
#include "kernels/checkpoint/slices_proto.h"
#include "kernels/checkpoint/table_writer.h"

#include <assert.h>
#include <stdlib.h>

/* Head of a message, with slack; part of TensorFlow's estimate. */
#define HEAD_SIZE 1024

void tfd_slices_writer_init(struct tfd_slices_writer *w)
{
    *w = (struct tfd_slices_writer){.count = 0};
    tfd_arena_init(&w->strings, SIZE_MAX);
    tfd_map_init(&w->by_name);
    tfd_map_init(&w->by_key);
}

void tfd_slices_writer_deinit(struct tfd_slices_writer *w)
{
    for (size_t i = 0; i < w->count; i++)
        tfd_tensor_unref(&w->items[i].tensor);
    free(w->items);
    w->items = NULL;
    w->count = w->capacity = 0;
    tfd_map_deinit(&w->by_name);
    tfd_map_deinit(&w->by_key);
    tfd_arena_deinit(&w->strings);
}

/* ---- Adding ---------------------------------------------------------------
 */

static enum tfd_code grow_slices_writer(struct tfd_slices_writer *w,
                                        struct tfd_status *st)
{
    size_t capacity = w->capacity ? 2 * w->capacity : 16;
    struct tfd_slices_item *items;

    if (w->count < w->capacity)
        return TFD_OK;
    items = realloc(w->items, capacity * sizeof(*items));
    if (!items)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "out of memory for %zu slices", capacity);
    w->items = items;
    w->capacity = capacity;
    return TFD_OK;
}

/* All slices of a name are of one tensor. */
static enum tfd_code check_same_item(const struct tfd_slices_item *first,
                                     const struct tfd_shape *whole,
                                     enum tfd_dtype dtype,
                                     struct tfd_status *st)
{
    char old[TFD_SHAPE_TEXT_MAX], new[TFD_SHAPE_TEXT_MAX];

    if (!tfd_shape_equal(&first->whole, whole))
        return tfd_fail(st, TFD_INTERNAL,
                        "Mismatching shapes: existing tensor = %s, trying to "
                        "add name " TFD_STR_FMT ", shape = %s",
                        tfd_shape_text(&first->whole, old),
                        TFD_STR_ARG(first->name), tfd_shape_text(whole, new));
    if (first->tensor.dtype != dtype)
        return tfd_fail(st, TFD_INTERNAL,
                        "Mismatching types: existing type = %s, trying to add "
                        "name " TFD_STR_FMT ", type = %s",
                        tfd_dtype_name(first->tensor.dtype),
                        TFD_STR_ARG(first->name), tfd_dtype_name(dtype));
    return TFD_OK;
}

static enum tfd_code check_size(struct tfd_str name, const struct tfd_tensor *t,
                                struct tfd_status *st)
{
    uint64_t bound = tfd_slices_values_bound(t) + HEAD_SIZE + name.size;

    if (bound <= TFD_SLICES_VALUE_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Tensor slice is too large to serialize (conservative "
                    "estimate: %llu bytes)",
                    (unsigned long long)bound);
}

/* Copies name and key, and refuses a slice that is there already. */
static enum tfd_code intern(struct tfd_slices_writer *w, struct tfd_str name,
                            struct tfd_slices_item *item, struct tfd_status *st)
{
    char text[TFD_SLICE_TEXT_MAX];
    struct tfd_bytes key;
    uintptr_t other;
    enum tfd_code rc;

    item->name = tfd_arena_str(&w->strings, name);
    TFD_TRY(tfd_arena_check(item->name.data, "names of slices", st));
    tfd_bytes_init(&key, SIZE_MAX);
    tfd_tensor_slice_put_key(&key, name, &item->slice);
    rc = tfd_bytes_ok(&key, "key of a slice", st);
    item->key = tfd_arena_str(&w->strings, tfd_bytes_view(&key));
    tfd_bytes_deinit(&key);
    TFD_TRY(rc);
    TFD_TRY(tfd_arena_check(item->key.data, "keys of slices", st));
    if (tfd_map_get(&w->by_key, item->key, &other))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "slice %s of tensor " TFD_STR_FMT " is given twice",
                        tfd_tensor_slice_text(&item->slice, text),
                        TFD_STR_ARG(name));
    return TFD_OK;
}

static enum tfd_code remember(struct tfd_slices_writer *w,
                              const struct tfd_slices_item *item, bool first,
                              struct tfd_status *st)
{
    if (!tfd_map_put(&w->by_key, item->key, w->count) ||
        (first && !tfd_map_put(&w->by_name, item->name, w->count)))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "out of memory for names of slices");
    w->items[w->count] = *item;
    w->items[w->count].tensor = tfd_tensor_ref(&item->tensor);
    w->count++;
    return TFD_OK;
}

enum tfd_code tfd_slices_writer_add(struct tfd_slices_writer *w,
                                    struct tfd_str name,
                                    const struct tfd_shape *whole,
                                    const struct tfd_tensor_slice *s,
                                    const struct tfd_tensor *t,
                                    struct tfd_status *st)
{
    struct tfd_slices_item item = {
        .whole = *whole, .slice = *s, .tensor = *t, .order = w->count};
    struct tfd_shape piece;
    uintptr_t first;
    bool known = tfd_map_get(&w->by_name, name, &first);

    TFD_TRY(tfd_slices_check_dtype(t->dtype, st));
    if (known)
        TFD_TRY(check_same_item(&w->items[first], whole, t->dtype, st));
    TFD_TRY(tfd_tensor_slice_shape(s, whole, &piece, st));
    assert(tfd_shape_equal(&piece, &t->shape));
    TFD_TRY(check_size(name, t, st));
    TFD_TRY(grow_slices_writer(w, st));
    TFD_TRY(intern(w, name, &item, st));
    return remember(w, &item, !known, st);
}

/* ---- Writing --------------------------------------------------------------
 */

static int by_name(const void *a, const void *b)
{
    const struct tfd_slices_item *x = a, *y = b;
    int order = tfd_str_cmp(x->name, y->name);

    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static int by_key(const void *a, const void *b)
{
    const struct tfd_slices_item *x = a, *y = b;

    return tfd_str_cmp(x->key, y->key);
}

static void put_slice(struct tfd_bytes *b, uint32_t tag,
                      const struct tfd_tensor_slice *s)
{
    size_t mark = tfd_pb_begin(b, tag);

    tfd_tensor_slice_put(b, s);
    tfd_pb_finish(b, mark);
}

/* Items are sorted by name. */
static void put_meta(struct tfd_slices_writer *w, struct tfd_bytes *b)
{
    size_t meta = tfd_pb_begin(b, TFD_SLICES(meta));

    for (size_t i = 0; i < w->count;) {
        const struct tfd_slices_item *first = &w->items[i];
        size_t tensor = tfd_pb_begin(b, TFD_SLICES_META(tensor));

        tfd_pb_put_str(b, TFD_SLICES_TENSOR(name), first->name);
        tfd_checkpoint_put_shape(b, TFD_SLICES_TENSOR(shape), &first->whole);
        tfd_pb_put_int(b, TFD_SLICES_TENSOR(type), first->tensor.dtype);
        for (; i < w->count && tfd_str_eq(w->items[i].name, first->name); i++)
            put_slice(b, TFD_SLICES_TENSOR(slice), &w->items[i].slice);
        tfd_pb_finish(b, tensor);
    }
    tfd_checkpoint_put_version(b, TFD_SLICES_META(versions));
    tfd_pb_finish(b, meta);
}

static void put_item(struct tfd_bytes *b, const struct tfd_slices_item *item)
{
    size_t data = tfd_pb_begin(b, TFD_SLICES(data)), values;

    tfd_pb_put_str(b, TFD_SLICES_SLICE(name), item->name);
    put_slice(b, TFD_SLICES_SLICE(slice), &item->slice);
    values = tfd_pb_begin(b, TFD_SLICES_SLICE(data));
    tfd_slices_put_values(b, &item->tensor);
    tfd_pb_finish(b, values);
    tfd_pb_finish(b, data);
}

static enum tfd_code put_all(struct tfd_slices_writer *w,
                             struct tfd_table_writer *table,
                             struct tfd_bytes *value, struct tfd_status *st)
{
    if (w->count > 0)
        qsort(w->items, w->count, sizeof(*w->items), by_name);
    put_meta(w, value);
    TFD_TRY(tfd_bytes_ok(value, "table of contents of a checkpoint", st));
    TFD_TRY(
        tfd_table_writer_add(table, TFD_STR_EMPTY, tfd_bytes_view(value), st));
    if (w->count > 0)
        qsort(w->items, w->count, sizeof(*w->items), by_key);
    for (size_t i = 0; i < w->count; i++) {
        tfd_bytes_clear(value);
        put_item(value, &w->items[i]);
        TFD_TRY(tfd_bytes_ok(value, "slice of a tensor", st));
        TFD_TRY(tfd_table_writer_add(table, w->items[i].key,
                                     tfd_bytes_view(value), st));
    }
    return tfd_table_writer_finish(table, st);
}

static enum tfd_code append_to_file(void *ctx, const void *data, size_t size,
                                    struct tfd_status *st)
{
    return tfd_file_draft_write(ctx, data, size, st);
}

enum tfd_code tfd_slices_writer_finish(struct tfd_slices_writer *w,
                                       struct tfd_file_access *access,
                                       struct tfd_str name,
                                       struct tfd_status *st)
{
    struct tfd_table_writer table;
    struct tfd_file_draft draft;
    struct tfd_bytes value;
    enum tfd_code rc;

    TFD_TRY(tfd_file_draft_open(&draft, access, name, st));
    tfd_bytes_init(&value, UINT32_MAX);
    tfd_table_writer_init(&table, append_to_file, &draft);
    rc = put_all(w, &table, &value, st);
    if (rc == TFD_OK)
        rc = tfd_file_draft_seal(&draft, st);
    if (rc == TFD_OK)
        rc = tfd_file_draft_publish(&draft, st);
    tfd_table_writer_deinit(&table);
    tfd_bytes_deinit(&value);
    tfd_file_draft_deinit(&draft);
    return rc;
}
