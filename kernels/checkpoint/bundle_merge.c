/*
 * bundle_merge.c - all of the parts' entries are gathered in one index in
 * memory before anything on disk is touched.
 */
#include "kernels/checkpoint/bundle_merge.h"

#include "kernels/checkpoint/bundle_index.h"
#include "kernels/checkpoint/bundle_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Bound on data files of one checkpoint, as many as "%05d" can number. */
#define SHARDS_MAX 99999
#define SLICES_MAX ((size_t)1 << 28)

struct merge {
    struct tfd_file_access *access;
    struct tfd_bundle_index index;
    struct tfd_arena names;  /* of the data files there are */
    struct tfd_map shard_of; /* from such a name to its new number */
    struct tfd_str *shards;  /* the names by number */
    size_t shard_count, shard_capacity;
    struct tfd_bytes name, slices; /* scratch */
    struct tfd_bytes version;      /* of the first part */
    bool any, big_endian;
};

static void merge_init(struct merge *m, struct tfd_file_access *access)
{
    *m = (struct merge){.access = access};
    tfd_bundle_index_init(&m->index);
    tfd_arena_init(&m->names, SIZE_MAX);
    tfd_map_init(&m->shard_of);
    tfd_bytes_init(&m->name, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&m->slices, SLICES_MAX);
    tfd_bytes_init(&m->version, 4096);
}

static void merge_deinit(struct merge *m)
{
    tfd_bundle_index_deinit(&m->index);
    tfd_arena_deinit(&m->names);
    tfd_map_deinit(&m->shard_of);
    free(m->shards);
    tfd_bytes_deinit(&m->name);
    tfd_bytes_deinit(&m->slices);
    tfd_bytes_deinit(&m->version);
}

/* ---- Gathering ------------------------------------------------------------
 */

static enum tfd_code add_shard(struct merge *m, struct tfd_str name,
                               int32_t *number, struct tfd_status *st)
{
    struct tfd_str copy;

    if (m->shard_count == m->shard_capacity) {
        size_t capacity = m->shard_capacity ? 2 * m->shard_capacity : 16;
        struct tfd_str *shards = NULL;

        if (m->shard_count < SHARDS_MAX)
            shards = realloc(m->shards, capacity * sizeof(*shards));
        if (!shards)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "more than %zu data files in a checkpoint",
                            m->shard_count);
        m->shards = shards;
        m->shard_capacity = capacity;
    }
    copy = tfd_arena_str(&m->names, name);
    TFD_TRY(tfd_arena_check(copy.data, "names of data files", st));
    if (!tfd_map_put(&m->shard_of, copy, m->shard_count))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "out of memory");
    *number = (int32_t)m->shard_count;
    m->shards[m->shard_count++] = copy;
    return TFD_OK;
}

static enum tfd_code new_shard(struct merge *m, struct tfd_str part,
                               int32_t num_shards, int32_t *shard,
                               struct tfd_status *st)
{
    struct tfd_str name;
    uintptr_t number;

    tfd_bytes_clear(&m->name);
    tfd_bundle_data_name(&m->name, part, *shard, num_shards);
    TFD_TRY(tfd_bytes_ok(&m->name, "name of a data file", st));
    name = tfd_bytes_view(&m->name);
    if (!tfd_map_get(&m->shard_of, name, &number))
        return add_shard(m, name, shard, st);
    *shard = (int32_t)number;
    return TFD_OK;
}

/* A key that another part has as well must be that of a sliced tensor. */
static enum tfd_code join_slices(struct tfd_bundle_item *item,
                                 const struct tfd_bundle_entry *e,
                                 struct tfd_str part, struct tfd_status *st)
{
    if (item->slices.size == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Duplicate tensor keyed by " TFD_STR_FMT
                        " encountered, when merging prefix: " TFD_STR_FMT,
                        TFD_STR_ARG(item->key), TFD_STR_ARG(part));
    if (e->slices.size == 0)
        return tfd_fail(st, TFD_INTERNAL,
                        "Duplicate tensor keyed by " TFD_STR_FMT
                        "; attempting to merge in a non-slice bundle entry",
                        TFD_STR_ARG(item->key));
    if (item->entry.dtype != e->dtype ||
        !tfd_shape_equal(&item->entry.shape, &e->shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "tensor " TFD_STR_FMT " has another type or shape in "
                        "prefix " TFD_STR_FMT,
                        TFD_STR_ARG(item->key), TFD_STR_ARG(part));
    tfd_bytes_add_str(&item->slices, e->slices);
    return tfd_bytes_ok(&item->slices, "slices of a tensor", st);
}

static enum tfd_code gather_entry(struct merge *m, struct tfd_bundle_table *t,
                                  struct tfd_str part, int32_t num_shards,
                                  struct tfd_status *st)
{
    struct tfd_bundle_item *item =
        tfd_bundle_index_find(&m->index, t->reader.key);
    struct tfd_bundle_entry e;

    TFD_TRY(tfd_bundle_table_entry(t, &e, &m->slices, st));
    if (item)
        return join_slices(item, &e, part, st);
    TFD_TRY(new_shard(m, part, num_shards, &e.shard_id, st));
    TFD_TRY(tfd_bundle_index_add(&m->index, t->reader.key, &item, st));
    item->entry = e;
    tfd_bytes_add_str(&item->slices, e.slices);
    return tfd_bytes_ok(&item->slices, "slices of a tensor", st);
}

static enum tfd_code check_header(struct merge *m,
                                  const struct tfd_bundle_header *h,
                                  struct tfd_status *st)
{
    if (h->big_endian)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "checkpoint written by a big-endian machine");
    if (!m->any) {
        m->any = true;
        tfd_bytes_add_str(&m->version, h->version);
        return tfd_bytes_ok(&m->version, "version of a checkpoint", st);
    }
    if (!tfd_str_eq(tfd_bytes_view(&m->version), h->version))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Merging bundles with different format versions");
    return TFD_OK;
}

static enum tfd_code gather_items(struct merge *m, struct tfd_bundle_table *t,
                                  struct tfd_str part, struct tfd_status *st)
{
    struct tfd_bundle_header h;

    TFD_TRY(tfd_bundle_table_header(t, part, &h, st));
    TFD_TRY(check_header(m, &h, st));
    TFD_TRY(tfd_table_next(&t->reader, st));
    while (t->reader.valid) {
        TFD_TRY(gather_entry(m, t, part, h.num_shards, st));
        TFD_TRY(tfd_table_next(&t->reader, st));
    }
    return TFD_OK;
}

static enum tfd_code gather_part(struct merge *m, struct tfd_str part,
                                 bool allow_missing, struct tfd_status *st)
{
    struct tfd_status cause = TFD_STATUS_INIT;
    struct tfd_bundle_table t;
    enum tfd_code rc;

    tfd_bytes_clear(&m->name);
    tfd_bundle_index_name(&m->name, part);
    TFD_TRY(tfd_bytes_ok(&m->name, "name of a checkpoint", st));
    rc = tfd_bundle_table_open(&t, m->access, tfd_bytes_view(&m->name), &cause);
    if (rc == TFD_NOT_FOUND && allow_missing)
        return TFD_OK;
    if (rc == TFD_NOT_FOUND)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "allow_missing_files was set to false and " TFD_STR_FMT
                        " did not exist.NOT_FOUND: " TFD_STR_FMT " not found",
                        TFD_STR_ARG(part), TFD_STR_ARG(part));
    if (rc != TFD_OK)
        return tfd_status_copy(st, &cause);
    rc = gather_items(m, &t, part, st);
    tfd_bundle_table_close(&t);
    return rc;
}

/* ---- On disk --------------------------------------------------------------
 */

/* Renames data file i to its merged name, or back. */
static enum tfd_code rename_shard(struct merge *m, size_t i,
                                  struct tfd_str prefix, bool back,
                                  struct tfd_status *st)
{
    struct tfd_str old = m->shards[i], merged;

    tfd_bytes_clear(&m->name);
    tfd_bundle_data_name(&m->name, prefix, (int32_t)i, (int32_t)m->shard_count);
    TFD_TRY(tfd_bytes_ok(&m->name, "name of a data file", st));
    merged = tfd_bytes_view(&m->name);
    return m->access->rename(m->access, back ? merged : old,
                             back ? old : merged, st);
}

static enum tfd_code publish(struct merge *m, struct tfd_str prefix,
                             struct tfd_file_draft *index,
                             struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;
    size_t done = 0;

    TFD_TRY(tfd_bundle_index_retire(m->access, prefix, st));
    while (done < m->shard_count && rc == TFD_OK) {
        rc = rename_shard(m, done, prefix, false, st);
        done += rc == TFD_OK;
    }
    if (rc == TFD_OK)
        rc = tfd_file_draft_publish(index, st);
    if (rc == TFD_OK)
        return TFD_OK;
    (void)!tfd_bundle_index_retire(m->access, prefix, NULL);
    while (done-- > 0)
        (void)!rename_shard(m, done, prefix, true, NULL);
    return rc;
}

/* A part of the prefix's own name had its index replaced already. */
static void remove_parts(struct merge *m, const struct tfd_str *parts,
                         size_t part_count, struct tfd_str prefix)
{
    for (size_t i = 0; i < part_count; i++) {
        if (tfd_str_eq(parts[i], prefix))
            continue;
        tfd_bytes_clear(&m->name);
        tfd_bundle_index_name(&m->name, parts[i]);
        if (!m->name.failed)
            (void)!m->access->remove(m->access, tfd_bytes_view(&m->name), NULL);
    }
}

static enum tfd_code merge(struct merge *m, const struct tfd_str *parts,
                           size_t part_count, struct tfd_str prefix,
                           bool allow_missing, struct tfd_status *st)
{
    struct tfd_file_draft index;
    enum tfd_code rc;

    for (size_t i = 0; i < part_count; i++)
        TFD_TRY(gather_part(m, parts[i], allow_missing, st));
    if (!m->any)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "At least one prefix checkpoint file must exist, but "
                        "none existed.");
    TFD_TRY(tfd_bundle_index_write(&m->index, m->access, prefix,
                                   (int32_t)m->shard_count, &index, st));
    rc = tfd_file_draft_seal(&index, st);
    if (rc == TFD_OK)
        rc = publish(m, prefix, &index, st);
    tfd_file_draft_deinit(&index);
    if (rc == TFD_OK)
        remove_parts(m, parts, part_count, prefix);
    return rc;
}

enum tfd_code tfd_bundle_merge(struct tfd_file_access *access,
                               const struct tfd_str *parts, size_t part_count,
                               struct tfd_str prefix, bool allow_missing,
                               struct tfd_status *st)
{
    struct merge m;
    enum tfd_code rc;

    merge_init(&m, access);
    rc = merge(&m, parts, part_count, prefix, allow_missing, st);
    merge_deinit(&m);
    return rc;
}

void tfd_bundle_merge_remove_dirs(struct tfd_file_access *access,
                                  const struct tfd_str *parts,
                                  size_t part_count, struct tfd_str prefix)
{
    struct tfd_str own = tfd_file_dirname(prefix);

    for (size_t i = 0; i < part_count; i++) {
        struct tfd_str dir = tfd_file_dirname(parts[i]);

        if (dir.size > 0 && !tfd_str_eq(dir, own))
            (void)!access->remove_dir(access, dir, NULL);
    }
}
