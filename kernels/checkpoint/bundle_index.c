/*
 * bundle_index.c - items in an array, found by name through a map, sorted once.
 */
#include "kernels/checkpoint/bundle_index.h"

#include "kernels/checkpoint/table_writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Enough for ten million tensors; a bound for what a merged index may claim. */
#define KEYS_MAX ((size_t)1 << 32)
#define SLICES_MAX ((size_t)1 << 28)
#define ENTRY_MAX (SLICES_MAX + 1024)

void tfd_bundle_index_init(struct tfd_bundle_index *x)
{
    *x = (struct tfd_bundle_index){.count = 0};
    tfd_arena_init(&x->keys, KEYS_MAX);
    tfd_map_init(&x->by_key);
}

void tfd_bundle_index_deinit(struct tfd_bundle_index *x)
{
    for (size_t i = 0; i < x->count; i++)
        tfd_bytes_deinit(&x->items[i].slices);
    free(x->items);
    x->items = NULL;
    x->count = x->capacity = 0;
    tfd_map_deinit(&x->by_key);
    tfd_arena_deinit(&x->keys);
}

struct tfd_bundle_item *tfd_bundle_index_find(struct tfd_bundle_index *x,
                                              struct tfd_str key)
{
    uintptr_t i;

    return tfd_map_get(&x->by_key, key, &i) ? &x->items[i] : NULL;
}

static enum tfd_code grow_bundle_index(struct tfd_bundle_index *x,
                                       struct tfd_status *st)
{
    size_t capacity = x->capacity ? 2 * x->capacity : 64;
    struct tfd_bundle_item *items;

    if (x->count < x->capacity)
        return TFD_OK;
    items = capacity <= SIZE_MAX / sizeof(*items)
                ? realloc(x->items, capacity * sizeof(*items))
                : NULL;
    if (!items)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "out of memory for %zu entries of a checkpoint",
                        capacity);
    x->items = items;
    x->capacity = capacity;
    return TFD_OK;
}

enum tfd_code tfd_bundle_index_add(struct tfd_bundle_index *x,
                                   struct tfd_str key,
                                   struct tfd_bundle_item **item,
                                   struct tfd_status *st)
{
    struct tfd_str copy;

    TFD_TRY(grow_bundle_index(x, st));
    copy = tfd_arena_str(&x->keys, key);
    TFD_TRY(tfd_arena_check(copy.data, "names of a checkpoint", st));
    if (!tfd_map_put(&x->by_key, copy, x->count))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "out of memory for names of a checkpoint");
    *item = &x->items[x->count++];
    **item = (struct tfd_bundle_item){.key = copy};
    (*item)->entry.slices = TFD_STR_EMPTY;
    tfd_bytes_init(&(*item)->slices, SLICES_MAX);
    return TFD_OK;
}

/* ---- Writing --------------------------------------------------------------
 */

void tfd_bundle_index_name(struct tfd_bytes *b, struct tfd_str prefix)
{
    tfd_bytes_add_str(b, prefix);
    tfd_bytes_add_str(b, TFD_STR(".index"));
}

void tfd_bundle_data_name(struct tfd_bytes *b, struct tfd_str prefix,
                          int32_t shard, int32_t num_shards)
{
    tfd_bytes_add_str(b, prefix);
    tfd_bytes_printf(b, ".data-%05d-of-%05d", shard, num_shards);
}

static int by_key(const void *a, const void *b)
{
    const struct tfd_bundle_item *x = a, *y = b;

    return tfd_str_cmp(x->key, y->key);
}

static enum tfd_code append_to_file(void *ctx, const void *data, size_t size,
                                    struct tfd_status *st)
{
    return tfd_file_draft_write(ctx, data, size, st);
}

static enum tfd_code put_all(struct tfd_bundle_index *x,
                             struct tfd_table_writer *w, int32_t num_shards,
                             struct tfd_bytes *value, struct tfd_status *st)
{
    tfd_bundle_header_put(value, num_shards);
    TFD_TRY(tfd_bytes_ok(value, "header of a checkpoint", st));
    TFD_TRY(tfd_table_writer_add(w, TFD_STR_EMPTY, tfd_bytes_view(value), st));
    for (size_t i = 0; i < x->count; i++) {
        struct tfd_bundle_item *item = &x->items[i];

        TFD_TRY(tfd_bytes_ok(&item->slices, "slices of a tensor", st));
        item->entry.slices = tfd_bytes_view(&item->slices);
        tfd_bytes_clear(value);
        tfd_bundle_entry_put(value, &item->entry);
        TFD_TRY(tfd_bytes_ok(value, "entry of a checkpoint", st));
        TFD_TRY(tfd_table_writer_add(w, item->key, tfd_bytes_view(value), st));
    }
    return tfd_table_writer_finish(w, st);
}

static enum tfd_code write_table(struct tfd_bundle_index *x,
                                 struct tfd_file_draft *draft,
                                 int32_t num_shards, struct tfd_status *st)
{
    struct tfd_table_writer w;
    struct tfd_bytes value;
    enum tfd_code rc;

    tfd_bytes_init(&value, ENTRY_MAX);
    tfd_table_writer_init(&w, append_to_file, draft);
    rc = put_all(x, &w, num_shards, &value, st);
    tfd_table_writer_deinit(&w);
    tfd_bytes_deinit(&value);
    return rc;
}

/* A name in which 'd' stands for a decimal digit and 'x' for one of 16. */
static bool is_like(const char *name, size_t size, const char *pattern)
{
    if (size != strlen(pattern))
        return false;
    for (size_t i = 0; i < size; i++) {
        const char c = name[i];
        const bool digit = c >= '0' && c <= '9';

        if (pattern[i] == 'd'   ? !digit
            : pattern[i] == 'x' ? !digit && !(c >= 'a' && c <= 'f')
                                : c != pattern[i])
            return false;
    }
    return true;
}

static bool ends_like(struct tfd_str name, const char *pattern)
{
    const size_t size = strlen(pattern);

    return name.size >= size &&
           is_like(name.data + name.size - size, size, pattern);
}

bool tfd_bundle_is_part(struct tfd_str prefix)
{
    struct tfd_str dir = tfd_file_dirname(prefix);

    return ends_like(prefix, "/part-ddddd-of-ddddd") &&
           (ends_like(dir, "_temp") ||
            ends_like(dir, "_temp_"
                           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
}

enum tfd_code tfd_bundle_index_write(struct tfd_bundle_index *x,
                                     struct tfd_file_access *access,
                                     struct tfd_str prefix, int32_t num_shards,
                                     struct tfd_file_draft *draft,
                                     struct tfd_status *st)
{
    struct tfd_bytes name;
    enum tfd_code rc;

    if (x->count > 0)
        qsort(x->items, x->count, sizeof(*x->items), by_key);
    tfd_map_deinit(&x->by_key);
    tfd_map_init(&x->by_key);

    tfd_bytes_init(&name, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bundle_index_name(&name, prefix);
    rc = tfd_bytes_ok(&name, "name of a checkpoint", st);
    if (rc == TFD_OK)
        rc = tfd_bundle_draft_open(draft, access, tfd_bytes_view(&name), st);
    tfd_bytes_deinit(&name);
    TFD_TRY(rc);
    rc = write_table(x, draft, num_shards, st);
    if (rc == TFD_OK)
        tfd_file_draft_begin(draft);
    else
        tfd_file_draft_deinit(draft);
    return rc;
}

/* ---- Around the files -----------------------------------------------------
 */

enum tfd_code tfd_bundle_index_retire(struct tfd_file_access *access,
                                      struct tfd_str prefix,
                                      struct tfd_status *st)
{
    struct tfd_status cause = TFD_STATUS_INIT;
    struct tfd_bytes name;
    enum tfd_code rc;

    tfd_bytes_init(&name, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bundle_index_name(&name, prefix);
    rc = tfd_bytes_ok(&name, "name of a checkpoint", st);
    if (rc == TFD_OK)
        rc = access->remove(access, tfd_bytes_view(&name), &cause);
    if (rc == TFD_OK)
        rc = access->order_dir(access, tfd_bytes_view(&name), &cause);
    if (rc == TFD_NOT_FOUND)
        rc = TFD_OK;
    else if (rc != TFD_OK)
        tfd_status_copy(st, &cause);
    tfd_bytes_deinit(&name);
    return rc;
}

/* The directory is made only when the file cannot be: it may be a root, whose
 * own place is out of bounds. */
enum tfd_code tfd_bundle_draft_open(struct tfd_file_draft *draft,
                                    struct tfd_file_access *access,
                                    struct tfd_str name, struct tfd_status *st)
{
    struct tfd_str dir = tfd_file_dirname(name);
    struct tfd_status first = TFD_STATUS_INIT, made = TFD_STATUS_INIT;
    enum tfd_code rc;

    rc = tfd_file_draft_open(draft, access, name, &first);
    if (rc != TFD_NOT_FOUND || dir.size == 0)
        return tfd_status_copy(st, &first);
    rc = access->make_dir(access, dir, &made);
    if (rc != TFD_OK && rc != TFD_ALREADY_EXISTS)
        return tfd_status_copy(st, &made);
    return tfd_file_draft_open(draft, access, name, st);
}
