/*
 * snapshot_files.c - see snapshot_files.h.
 */
#include "kernels/data_files/snapshot_files.h"

#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/pbio.h"
#include "config/limits.h"
#include "kernels/io/file_draft.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum metadata_tag {
    TAG_GRAPH_HASH = 1,
    TAG_RUN_ID = 2,
    TAG_CREATED = 3, /* microseconds since 1970 */
    TAG_VERSION = 4,
    TAG_DTYPE = 5,
    TAG_ELEMENTS = 6,
    TAG_FINALIZED = 1000,
};

/* ---- Names --------------------------------------------------------------- */

void tfd_snapshot_run(char run[TFD_SNAPSHOT_RUN_MAX])
{
    snprintf(run, TFD_SNAPSHOT_RUN_MAX, "%" PRIu64, tfd_entropy_id());
}

void tfd_snapshot_join(struct tfd_bytes *out, struct tfd_str dir,
                       const char *name)
{
    tfd_bytes_add_str(out, dir);
    if (dir.size > 0 && dir.data[dir.size - 1] != '/')
        tfd_bytes_add(out, "/", 1);
    tfd_bytes_add_str(out, tfd_str_of(name));
}

void tfd_snapshot_chunk(struct tfd_bytes *out, struct tfd_str shard,
                        uint64_t chunk)
{
    char name[40];

    snprintf(name, sizeof(name), "%08" PRIu64 ".snapshot", chunk);
    tfd_snapshot_join(out, shard, name);
}

enum tfd_data_compression tfd_snapshot_compression(struct tfd_str name)
{
    if (tfd_str_is(name, "GZIP"))
        return TFD_DATA_GZIP;
    if (tfd_str_is(name, "ZLIB"))
        return TFD_DATA_ZLIB;
    return tfd_str_is(name, "SNAPPY") ? TFD_DATA_SNAPPY : TFD_DATA_PLAIN;
}

static enum tfd_code name_metadata(struct tfd_bytes *name, struct tfd_str dir,
                                   struct tfd_status *st)
{
    tfd_bytes_init(name, TFD_FILE_DRAFT_NAME_MAX);
    tfd_snapshot_join(name, dir, "snapshot.metadata");
    return tfd_bytes_ok(name, "a file's name", st);
}

/* ---- Elements ------------------------------------------------------------ */

enum tfd_code tfd_snapshot_check_kept(const struct tfd_tensor *t,
                                      struct tfd_status *st)
{
    struct tfd_variant *const *v = tfd_tensor_data(t);

    if (t->dtype == TFD_RESOURCE)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "a handle of a resource cannot be saved");
    for (int64_t i = 0; t->dtype == TFD_VARIANT && i < tfd_tensor_elements(t);
         i++)
        if (!v[i] || v[i]->kind == TFD_VARIANT_OBJECT)
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            "a variant that stays in its task cannot be saved");
    return TFD_OK;
}

/* ---- Metadata ------------------------------------------------------------ */

static void encode_metadata(struct tfd_bytes *b, const struct tfd_dataset *d,
                            const struct tfd_snapshot_metadata *m)
{
    size_t mark;

    tfd_pb_put_str(b, TAG_GRAPH_HASH, tfd_str_of(m->hash));
    tfd_pb_put_str(b, TAG_RUN_ID, tfd_str_of(m->run));
    tfd_pb_put_int(b, TAG_CREATED, tfd_clock_wall_us());
    tfd_pb_put_int(b, TAG_VERSION, m->version);
    mark = tfd_pb_begin(b, TAG_DTYPE);
    for (int32_t i = 0; i < d->count; i++)
        tfd_pb_put_varint(b, (uint64_t)d->types[i]);
    tfd_pb_finish(b, mark);
    tfd_pb_put_int(b, TAG_ELEMENTS, m->element_count);
    tfd_pb_put_bool(b, TAG_FINALIZED, m->finalized);
}

static enum tfd_code put_file(struct tfd_file_access *a, struct tfd_str name,
                              struct tfd_str content, struct tfd_status *st)
{
    struct tfd_file_draft draft;
    enum tfd_code rc;

    TFD_TRY(tfd_file_draft_open(&draft, a, name, st));
    rc = tfd_file_draft_put(&draft, content, st);
    tfd_file_draft_deinit(&draft);
    return rc;
}

enum tfd_code tfd_snapshot_write_metadata(struct tfd_file_access *a,
                                          struct tfd_str dir,
                                          const struct tfd_dataset *elements,
                                          const struct tfd_snapshot_metadata *m,
                                          struct tfd_status *st)
{
    struct tfd_bytes name, content;
    enum tfd_code rc = name_metadata(&name, dir, st);

    tfd_bytes_init(&content, TFD_SNAPSHOT_METADATA_SIZE_MAX);
    encode_metadata(&content, elements, m);
    if (rc == TFD_OK)
        rc = tfd_bytes_ok(&content, "metadata", st);
    if (rc == TFD_OK && dir.size > 0)
        rc = tfd_file_make_dirs(a, dir, st);
    if (rc == TFD_OK)
        rc = put_file(a, tfd_bytes_view(&name), tfd_bytes_view(&content), st);
    tfd_bytes_deinit(&content);
    tfd_bytes_deinit(&name);
    return rc;
}

static void add_type(struct tfd_snapshot_metadata *m, int32_t type)
{
    if (m->type_count < TFD_SNAPSHOT_TYPES_MAX)
        m->types[m->type_count] = type;
    m->type_count++;
}

/* One by one or all in a row. */
static void read_types(struct tfd_pb_reader *r, const struct tfd_pb_field *f,
                       struct tfd_snapshot_metadata *m)
{
    struct tfd_str packed;
    uint64_t type;

    if (f->wire != TFD_PB_BYTES) {
        add_type(m, tfd_pb_int32(r, f));
        return;
    }
    packed = tfd_pb_str(r, f);
    while (tfd_pb_packed_varint(&packed, &type))
        add_type(m, (int32_t)type);
}

/* TensorFlow says so of every file that is no such message. */
static enum tfd_code no_metadata(struct tfd_status *st)
{
    return tfd_fail(st, TFD_OUT_OF_RANGE, "Read less bytes than requested");
}

static enum tfd_code decode_metadata(struct tfd_str content,
                                     struct tfd_snapshot_metadata *m,
                                     struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(content);
    struct tfd_str run = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == TAG_RUN_ID)
            run = tfd_pb_str(&r, &f);
        else if (f.tag == TAG_CREATED)
            m->created_us = tfd_pb_int64(&r, &f);
        else if (f.tag == TAG_VERSION)
            m->version = tfd_pb_int64(&r, &f);
        else if (f.tag == TAG_DTYPE)
            read_types(&r, &f, m);
        else if (f.tag == TAG_ELEMENTS)
            m->element_count = tfd_pb_int64(&r, &f);
        else if (f.tag == TAG_FINALIZED)
            m->finalized = tfd_pb_bool(&r, &f);
    }
    if (tfd_pb_end(&r, "SnapshotMetadataRecord", NULL) != TFD_OK ||
        run.size >= sizeof(m->run) || memchr(run.data, 0, run.size))
        return no_metadata(st);
    memcpy(m->run, run.data, run.size);
    return TFD_OK;
}

enum tfd_code tfd_snapshot_read_metadata(struct tfd_file_access *a,
                                         struct tfd_str dir,
                                         struct tfd_snapshot_metadata *m,
                                         bool *exists, struct tfd_status *st)
{
    struct tfd_bytes name, content;
    enum tfd_code rc = name_metadata(&name, dir, st);
    struct tfd_status why = TFD_STATUS_INIT;
    bool is_dir = false;

    *m = (struct tfd_snapshot_metadata){.version = 0};
    tfd_bytes_init(&content, TFD_SNAPSHOT_METADATA_SIZE_MAX);
    *exists = rc == TFD_OK &&
              a->look(a, tfd_bytes_view(&name), &is_dir, &why) == TFD_OK;
    if (why.code == TFD_PERMISSION_DENIED)
        rc = tfd_status_copy(st, &why);
    if (*exists)
        rc = tfd_file_read_all(a, tfd_bytes_view(&name), &content, st);
    if (*exists && rc == TFD_OK)
        rc = decode_metadata(tfd_bytes_view(&content), m, st);
    tfd_bytes_deinit(&content);
    tfd_bytes_deinit(&name);
    return rc;
}

/* ---- For an iterator ----------------------------------------------------- */

enum tfd_code tfd_snapshot_metadata_of(const struct tfd_data_iterator *it,
                                       struct tfd_str dir,
                                       struct tfd_snapshot_metadata *m,
                                       bool *exists, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;

    if (tfd_snapshot_read_metadata(it->dataset->task.files, dir, m, exists,
                                   &why) == TFD_OK)
        return TFD_OK;
    if (why.code != TFD_OUT_OF_RANGE)
        return tfd_status_copy(st, &why);
    return tfd_fail(st, TFD_INTERNAL,
                    "Iterator \"%s\" returned `OutOfRange`. This indicates an "
                    "implementation error as `OutOfRange` errors are not "
                    "expected to be returned here. Original message: %s",
                    it->path, why.text);
}

char *tfd_snapshot_path(const struct tfd_data_iterator *it, const char *name,
                        struct tfd_status *st)
{
    size_t size = strlen(it->path) + strlen(name) + 1;
    char *path = malloc(size);

    if (path)
        snprintf(path, size, "%s%s", it->path, name);
    else
        (void)!tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an iterator");
    return path;
}

enum tfd_code tfd_snapshot_check_version(int64_t version, struct tfd_status *st)
{
    if (version >= 0 && version <= TFD_SNAPSHOT_VERSION)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Snapshot reader version: %lld is not supported.",
                    (long long)version);
}
