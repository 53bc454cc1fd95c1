/*
 * dataset_chunks.c - ListSnapshotChunksDataset: the names of a distributed
 * snapshot's files, also while its writers are at work.
 *
 *     PATH/chunks/chunk_STREAM_NUMBER_ELEMENTS    files that are complete
 *     PATH/DONE                                   there are no more to come
 *     PATH/ERROR                                  why there will be none
 *
 * Who wants a name when there is none yet waits, and looks again from time to
 * time.  Names come by number, then by stream; those that have no numbers come
 * last.
 */
#include "kernels/data/data_table.h"
#include "kernels/data_files/snapshot_error.h"
#include "kernels/data_files/snapshot_files.h"
#include "kernels/io/file_draft.h"

#include "common/base/arena.h"
#include "common/base/map.h"
#include "config/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_AGAIN_US 200000
#define ERROR_SIZE_MAX 65536 /* of the text of an error */

struct chunk {
    struct tfd_str name;
    long long stream, number;
    bool is_numbered;
};

struct chunks_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_map given; /* their keys lie in the arena */
    struct tfd_arena arena;
    struct tfd_bytes listed; /* names as the folder had them at last */
    struct chunk *waiting;   /* those of them that were not given, in order */
    int64_t count, at;
    bool is_done;
};

static struct tfd_str path_of(const struct tfd_dataset *d)
{
    return tfd_tstring_view(tfd_tensor_data(&d->args[0]));
}

static bool is_there(const struct tfd_dataset *d, const char *name)
{
    struct tfd_file_access *a = d->task.files;
    struct tfd_bytes path;
    bool is_dir, found;

    tfd_bytes_init(&path, TFD_FILE_DRAFT_NAME_MAX);
    tfd_snapshot_join(&path, path_of(d), name);
    found = !path.failed &&
            a->look(a, tfd_bytes_view(&path), &is_dir, NULL) == TFD_OK;
    tfd_bytes_deinit(&path);
    return found;
}

/* ---- Errors of writers --------------------------------------------------- */

static enum tfd_code explain(const struct chunks_iterator *i,
                             struct tfd_str name, struct tfd_str text,
                             struct tfd_status *st)
{
    struct tfd_bytes message;
    enum tfd_code code;

    tfd_bytes_init(&message, ERROR_SIZE_MAX);
    if (!tfd_snapshot_error_parse(text, &code, &message))
        tfd_fail(st, TFD_INTERNAL,
                 "Iterator \"%s\" returned `OutOfRange`. This indicates an "
                 "implementation error as `OutOfRange` errors are not expected "
                 "to be returned here. Original message: Read less bytes than "
                 "requested",
                 i->iterator.path);
    else if (code == TFD_OK)
        tfd_fail(st, TFD_INTERNAL,
                 "Unexpected snapshot ERROR file contains an OK status "
                 "at " TFD_STR_FMT ".",
                 TFD_STR_ARG(name));
    else
        tfd_fail(st, code, TFD_STR_FMT, TFD_STR_ARG(tfd_bytes_view(&message)));
    tfd_bytes_deinit(&message);
    return TFD_INTERNAL;
}

static enum tfd_code check_error(const struct chunks_iterator *i,
                                 struct tfd_status *st)
{
    struct tfd_file_access *a = i->iterator.dataset->task.files;
    struct tfd_bytes name, text;
    enum tfd_code rc;

    if (!is_there(i->iterator.dataset, "ERROR"))
        return TFD_OK;
    tfd_bytes_init(&name, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&text, ERROR_SIZE_MAX);
    tfd_snapshot_join(&name, path_of(i->iterator.dataset), "ERROR");
    rc = tfd_file_read_all(a, tfd_bytes_view(&name), &text, st);
    if (rc == TFD_OK)
        rc = explain(i, tfd_bytes_view(&name), tfd_bytes_view(&text), st);
    tfd_bytes_deinit(&name);
    tfd_bytes_deinit(&text);
    return rc;
}

/* ---- Names --------------------------------------------------------------- */

static struct chunk chunk_of(struct tfd_str name)
{
    struct chunk c = {.name = name};
    long long elements;
    int end = 0;

    c.is_numbered = sscanf(name.data, "chunk_%9lld_%9lld_%18lld%n", &c.stream,
                           &c.number, &elements, &end) == 3 &&
                    (size_t)end == name.size;
    return c;
}

static int compare_chunks(const void *x, const void *y)
{
    const struct chunk *a = x, *b = y;

    if (a->is_numbered != b->is_numbered)
        return a->is_numbered ? -1 : 1;
    if (!a->is_numbered)
        return tfd_str_cmp(a->name, b->name);
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    return tfd_str_cmp(a->name, b->name);
}

static enum tfd_code sort_new(struct chunks_iterator *i, struct tfd_status *st)
{
    int64_t names = 0;
    uintptr_t one;

    for (size_t at = 0; at < i->listed.size; names++)
        at += strlen(i->listed.data + at) + 1;
    free(i->waiting);
    i->count = i->at = 0;
    i->waiting = calloc((size_t)names + 1, sizeof(*i->waiting));
    if (!i->waiting)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the names of %lld files",
                        (long long)names);
    for (size_t at = 0; at < i->listed.size;) {
        struct tfd_str name = tfd_str_of(i->listed.data + at);

        at += name.size + 1;
        if (!tfd_map_get(&i->given, name, &one))
            i->waiting[i->count++] = chunk_of(name);
    }
    qsort(i->waiting, (size_t)i->count, sizeof(*i->waiting), compare_chunks);
    return TFD_OK;
}

/* A folder that is not there has none. */
static enum tfd_code list_names(struct chunks_iterator *i,
                                struct tfd_status *st)
{
    struct tfd_file_access *a = i->iterator.dataset->task.files;
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_bytes folder;

    tfd_bytes_clear(&i->listed);
    tfd_bytes_init(&folder, TFD_FILE_DRAFT_NAME_MAX);
    tfd_snapshot_join(&folder, path_of(i->iterator.dataset), "chunks");
    (void)!a->list_dir(a, tfd_bytes_view(&folder), &i->listed, &why);
    tfd_bytes_deinit(&folder);
    if (why.code != TFD_OK && why.code != TFD_NOT_FOUND)
        return tfd_status_copy(st, &why);
    return sort_new(i, st);
}

/* Whether they are done is asked first: else some could come in between. */
static enum tfd_code look_again(struct chunks_iterator *i,
                                struct tfd_status *st)
{
    if (!i->iterator.dataset->task.files)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "files cannot be read here");
    TFD_TRY(check_error(i, st));
    i->is_done = is_there(i->iterator.dataset, "DONE");
    return list_names(i, st);
}

/* ---- The dataset --------------------------------------------------------- */

static enum tfd_code chunks_begin(struct tfd_data_iterator *it,
                                  struct tfd_status *st)
{
    struct chunks_iterator *i = (struct chunks_iterator *)it;

    (void)st;
    tfd_map_init(&i->given);
    tfd_arena_init(&i->arena, TFD_FILE_NAMES_SIZE_MAX);
    tfd_bytes_init(&i->listed, TFD_FILE_NAMES_SIZE_MAX);
    return TFD_OK;
}

static void chunks_end(struct tfd_data_iterator *it)
{
    struct chunks_iterator *i = (struct chunks_iterator *)it;

    free(i->waiting);
    tfd_bytes_deinit(&i->listed);
    tfd_map_deinit(&i->given);
    tfd_arena_deinit(&i->arena);
}

static enum tfd_code remember_name(struct chunks_iterator *i,
                                   struct tfd_str name, struct tfd_status *st)
{
    char *copy = tfd_arena_alloc(&i->arena, name.size + 1);

    if (copy) {
        memcpy(copy, name.data, name.size);
        if (tfd_map_put(&i->given, (struct tfd_str){copy, name.size}, 1))
            return TFD_OK;
    }
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no memory for the names of files");
}

static enum tfd_code give_name(struct chunks_iterator *i, struct tfd_str name,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_bytes path;
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_new(out, TFD_STRING, &scalar, st));
    tfd_bytes_init(&path, TFD_FILE_DRAFT_NAME_MAX);
    tfd_snapshot_join(&path, path_of(i->iterator.dataset), "chunks/");
    tfd_bytes_add_str(&path, name);
    rc = tfd_bytes_ok(&path, "a file's name", st);
    if (rc == TFD_OK)
        rc = tfd_tstring_set(tfd_tensor_data(out), tfd_bytes_view(&path), st);
    tfd_bytes_deinit(&path);
    return rc == TFD_OK ? remember_name(i, name, st) : rc;
}

static enum tfd_code chunks_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct chunks_iterator *i = (struct chunks_iterator *)it;

    for (bool first = true; i->at == i->count; first = false) {
        *end = i->is_done;
        if (*end)
            return TFD_OK;
        if (!first)
            TFD_TRY(tfd_data_scope_pause(it->scope, LOOK_AGAIN_US, st));
        TFD_TRY(look_again(i, st));
    }
    return give_name(i, i->waiting[i->at++].name, out, st);
}

static const struct tfd_dataset_kind chunks_kind = {
    .name = "ListSnapshotChunksDataset",
    .iterator_size = sizeof(struct chunks_iterator),
    .begin = chunks_begin,
    .next = chunks_next,
    .end = chunks_end,
};

static enum tfd_code chunks_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    struct tfd_str path;

    if (k->in[0].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "snapshot_path must be a scalar");
    TFD_TRY(tfd_check_str(k, 0, &path, st));
    if (path.size == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "snapshot_path is required to list snapshot chunks.");
    TFD_TRY(tfd_dataset_make(k, &chunks_kind, sizeof(*d), 0, &d, st));
    return tfd_dataset_output(k, d, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("ListSnapshotChunksDataset", "snapshot_path: string", "", "",
                TFD_OP_STATEFUL),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("ListSnapshotChunksDataset", chunks_compute),
};

TFD_DATA_FAMILY(dataset_chunks);
