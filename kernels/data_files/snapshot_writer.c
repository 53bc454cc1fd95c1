/*
 * snapshot_writer.c - see snapshot_writer.h.
 */
#include "kernels/data_files/snapshot_writer.h"

#include "config/limits.h"
#include "kernels/data_files/record_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct tfd_snapshot_shard {
    int64_t number;
    struct tfd_record_writer writer;
    struct tfd_snapshot_shard *next; /* the one last used is the first */
};

static void name_hash(struct tfd_snapshot_writer *w)
{
    if (w->to.hash)
        snprintf(w->metadata.hash, sizeof(w->metadata.hash), "%" PRIu64,
                 w->to.hash);
}

enum tfd_code tfd_snapshot_writer_begin(struct tfd_snapshot_writer *w,
                                        const struct tfd_snapshot_target *to,
                                        struct tfd_data_scope *scope,
                                        const struct tfd_dataset *elements,
                                        struct tfd_status *st)
{
    struct tfd_file_access *files = scope->task.files;

    w->to = *to;
    w->scope = scope;
    w->elements = elements;
    w->metadata.version = TFD_SNAPSHOT_VERSION;
    tfd_snapshot_run(w->metadata.run);
    tfd_bytes_init(&w->run_dir, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&w->record, TFD_DATA_RECORD_SIZE_MAX);
    w->is_begun = true;
    if (!files)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "files cannot be written here");
    tfd_snapshot_join(&w->run_dir, to->dir, w->metadata.run);
    TFD_TRY(tfd_bytes_ok(&w->run_dir, "a file's name", st));
    TFD_TRY(tfd_file_make_dirs(files, tfd_bytes_view(&w->run_dir), st));
    name_hash(w);
    return tfd_snapshot_write_metadata(files, to->dir, elements, &w->metadata,
                                       st);
}

static void free_shards(struct tfd_snapshot_writer *w)
{
    while (w->shards) {
        struct tfd_snapshot_shard *s = w->shards;

        w->shards = s->next;
        tfd_record_writer_deinit(&s->writer);
        free(s);
    }
    w->shard_count = 0;
}

void tfd_snapshot_writer_deinit(struct tfd_snapshot_writer *w)
{
    if (!w->is_begun)
        return;
    free_shards(w);
    tfd_bytes_deinit(&w->run_dir);
    tfd_bytes_deinit(&w->record);
    *w = (struct tfd_snapshot_writer){.shard_count = 0};
}

/* ---- Shards -------------------------------------------------------------- */

static enum tfd_code open_shard(struct tfd_snapshot_writer *w,
                                struct tfd_snapshot_shard *s,
                                struct tfd_status *st)
{
    struct tfd_file_access *files = w->scope->task.files;
    struct tfd_bytes dir, name;
    enum tfd_code rc;
    char text[40];

    snprintf(text, sizeof(text), "%08" PRIu64 ".shard", (uint64_t)s->number);
    tfd_bytes_init(&dir, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&name, TFD_FILE_DRAFT_NAME_MAX);
    tfd_snapshot_join(&dir, tfd_bytes_view(&w->run_dir), text);
    tfd_snapshot_chunk(&name, tfd_bytes_view(&dir), 0);
    rc = tfd_bytes_ok(&name, "a file's name", st);
    if (rc == TFD_OK)
        rc = tfd_file_make_dirs(files, tfd_bytes_view(&dir), st);
    if (rc == TFD_OK)
        rc = tfd_record_writer_open(&s->writer, files, tfd_bytes_view(&name),
                                    w->to.compression, st);
    tfd_bytes_deinit(&dir);
    tfd_bytes_deinit(&name);
    return rc;
}

static enum tfd_code add_shard(struct tfd_snapshot_writer *w, int64_t number,
                               struct tfd_status *st)
{
    struct tfd_snapshot_shard *s;
    enum tfd_code rc;

    if (w->shard_count >= TFD_SNAPSHOT_SHARDS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a dataset is saved in more than %d shards",
                        TFD_SNAPSHOT_SHARDS_MAX);
    s = calloc(1, sizeof(*s));
    if (!s)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a shard");
    s->number = number;
    rc = open_shard(w, s, st);
    if (rc != TFD_OK) {
        free(s);
        return rc;
    }
    s->next = w->shards;
    w->shards = s;
    w->shard_count++;
    return TFD_OK;
}

/* It becomes the first. */
static enum tfd_code find_shard(struct tfd_snapshot_writer *w, int64_t number,
                                struct tfd_status *st)
{
    struct tfd_snapshot_shard **at = &w->shards, *s;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    if (!*at)
        return add_shard(w, number, st);
    s = *at;
    *at = s->next;
    s->next = w->shards;
    w->shards = s;
    return TFD_OK;
}

static enum tfd_code read_shard(const struct tfd_tensor *t, int32_t count,
                                int64_t *out, struct tfd_status *st)
{
    if (count != 1 || t->dtype != TFD_INT64 || tfd_tensor_elements(t) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`shard_func` must return a scalar int64.");
    *out = *(const int64_t *)tfd_tensor_data(t);
    return TFD_OK;
}

/* Which shard an element goes into. */
static enum tfd_code ask_shard(struct tfd_snapshot_writer *w,
                               const struct tfd_tensor *element, int64_t *out,
                               struct tfd_status *st)
{
    const struct tfd_captured *f = w->to.shard;
    struct tfd_tensor *args = tfd_data_element_new(f->in_count, st), *made;
    enum tfd_code rc;

    if (!args)
        return TFD_RESOURCE_EXHAUSTED;
    made = tfd_data_element_new(f->out_count, st);
    if (!made) {
        free(args);
        return TFD_RESOURCE_EXHAUSTED;
    }
    for (int32_t i = 0; i < f->in_count; i++)
        args[i] = tfd_tensor_ref(&element[i]);
    rc = tfd_captured_call(f, w->scope, args, made, st);
    if (rc == TFD_OK)
        rc = read_shard(made, f->out_count, out, st);
    tfd_data_element_drop(made, f->out_count);
    free(made);
    free(args);
    return rc;
}

/* ---- Elements ------------------------------------------------------------ */

static enum tfd_code put_component(struct tfd_snapshot_writer *w,
                                   const struct tfd_tensor *t,
                                   struct tfd_status *st)
{
    TFD_TRY(tfd_snapshot_check_kept(t, st));
    tfd_bytes_clear(&w->record);
    tfd_tensor_proto_encode(&w->record, t, NULL);
    TFD_TRY(tfd_bytes_ok(&w->record, "a record", st));
    return tfd_record_writer_put(&w->shards->writer, tfd_bytes_view(&w->record),
                                 st);
}

enum tfd_code tfd_snapshot_writer_put(struct tfd_snapshot_writer *w,
                                      const struct tfd_tensor *element,
                                      struct tfd_status *st)
{
    int64_t number = w->to.only;

    if (w->to.shard)
        TFD_TRY(ask_shard(w, element, &number, st));
    TFD_TRY(find_shard(w, number, st));
    for (int32_t i = 0; i < w->elements->count; i++)
        TFD_TRY(put_component(w, &element[i], st));
    return TFD_OK;
}

enum tfd_code tfd_snapshot_writer_finish(struct tfd_snapshot_writer *w,
                                         int64_t element_count,
                                         struct tfd_status *st)
{
    for (struct tfd_snapshot_shard *s = w->shards; s; s = s->next)
        TFD_TRY(tfd_record_writer_finish(&s->writer, st));
    free_shards(w);
    w->metadata.element_count = element_count;
    w->metadata.finalized = true;
    return tfd_snapshot_write_metadata(w->scope->task.files, w->to.dir,
                                       w->elements, &w->metadata, st);
}
