/*
 * snapshot_reader.c - see snapshot_reader.h; and the ops SnapshotDatasetReader,
 * SnapshotNestedDatasetReader and SnapshotChunkDataset, which make the datasets
 * that it is about one by one.
 *
 * A shard is read chunk by chunk, 00000000.snapshot first, until one is not
 * there.
 */
#include "kernels/data_files/snapshot_reader.h"

#include "config/limits.h"
#include "kernels/data/data_table.h"
#include "kernels/data_files/element_file.h"
#include "kernels/data_sources/record_file.h"
#include "kernels/io/file_draft.h"

#include <stdlib.h>
#include <string.h>

struct shard {
    struct tfd_dataset dataset;
    char *name; /* of the shard's directory, or of a single file */
    bool is_file;
    enum tfd_data_compression compression;
    int64_t version, start; /* start: elements to be left out */
};

struct shard_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_record_file file;
    struct tfd_element_file elements; /* of version 0 and 1, in its place */
    uint64_t chunk;
    bool is_over;
};

/* ---- One shard ----------------------------------------------------------- */

static void shard_release(struct tfd_dataset *d)
{
    free(((struct shard *)d)->name);
}

static enum tfd_code chunk_name(const struct shard_iterator *i,
                                struct tfd_bytes *name, struct tfd_status *st)
{
    const struct shard *s = (const struct shard *)i->iterator.dataset;

    tfd_bytes_init(name, TFD_FILE_DRAFT_NAME_MAX);
    if (s->is_file)
        tfd_bytes_add_str(name, tfd_str_of(s->name));
    else
        tfd_snapshot_chunk(name, tfd_str_of(s->name), i->chunk);
    return tfd_bytes_ok(name, "a file's name", st);
}

static bool is_old(const struct shard *s)
{
    return s->version < TFD_SNAPSHOT_VERSION;
}

static void close_chunk(struct shard_iterator *i)
{
    tfd_record_file_close(&i->file);
    tfd_element_file_close(&i->elements);
}

static enum tfd_code open_chunk(struct shard_iterator *i, struct tfd_status *st)
{
    const struct shard *s = (const struct shard *)i->iterator.dataset;
    struct tfd_bytes name;
    enum tfd_code rc = chunk_name(i, &name, st);

    close_chunk(i);
    if (rc == TFD_OK && is_old(s))
        rc = tfd_element_file_open(&i->elements, &s->dataset,
                                   tfd_bytes_view(&name), s->compression,
                                   s->version, st);
    else if (rc == TFD_OK)
        rc = tfd_record_file_open(&i->file, s->dataset.task.files,
                                  tfd_bytes_view(&name), s->compression, st);
    tfd_bytes_deinit(&name);
    return rc;
}

/* The chunk behind this one; *end: there is none. */
static enum tfd_code next_chunk(struct shard_iterator *i, bool *end,
                                struct tfd_status *st)
{
    const struct shard *s = (const struct shard *)i->iterator.dataset;
    struct tfd_file_access *a = s->dataset.task.files;
    struct tfd_bytes name;
    bool is_dir;

    i->chunk++;
    *end = s->is_file;
    if (*end)
        return TFD_OK;
    TFD_TRY(chunk_name(i, &name, st));
    *end = a->look(a, tfd_bytes_view(&name), &is_dir, NULL) != TFD_OK;
    tfd_bytes_deinit(&name);
    return *end ? TFD_OK : open_chunk(i, st);
}

static enum tfd_code unparsable(const struct shard_iterator *i,
                                struct tfd_str record, struct tfd_status *st)
{
    struct tfd_bytes name;

    TFD_TRY(chunk_name(i, &name, st));
    tfd_fail(st, TFD_DATA_LOSS,
             "Unable to parse tensor from stored proto in file: " TFD_STR_FMT
             ", record %llu. Serialized proto: " TFD_STR_FMT,
             TFD_STR_ARG(tfd_bytes_view(&name)),
             (unsigned long long)i->file.offset, TFD_STR_ARG(record));
    tfd_bytes_deinit(&name);
    return TFD_DATA_LOSS;
}

static enum tfd_code parse_component(const struct shard_iterator *i,
                                     struct tfd_str record,
                                     struct tfd_tensor *out,
                                     struct tfd_status *st)
{
    struct tfd_tensor_head head;

    if (tfd_tensor_proto_head(record, &head, NULL) != TFD_OK ||
        head.shape.rank > TFD_RANK_MAX ||
        tfd_tensor_proto_decode(&head, NULL, out, NULL) != TFD_OK)
        return unparsable(i, record, st);
    return TFD_OK;
}

/* An element; *end: the chunk has ended before all of it came. */
static enum tfd_code read_element(struct shard_iterator *i,
                                  struct tfd_tensor *out, bool *end,
                                  struct tfd_status *st)
{
    const int32_t count = i->iterator.dataset->count;
    struct tfd_str record;

    if (is_old((const struct shard *)i->iterator.dataset))
        return tfd_element_file_next(&i->elements, out, end, st);
    *end = false;
    for (int32_t c = 0; c < count; c++) {
        TFD_TRY(tfd_record_file_next(&i->file, &record, end, st));
        if (*end) {
            tfd_data_element_drop(out, c);
            return TFD_OK;
        }
        TFD_TRY(parse_component(i, record, &out[c], st));
    }
    return TFD_OK;
}

static enum tfd_code skip_elements(struct shard_iterator *i,
                                   struct tfd_status *st)
{
    const struct shard *s = (const struct shard *)i->iterator.dataset;
    struct tfd_tensor *e = tfd_data_element_new(s->dataset.count, st);
    enum tfd_code rc = e ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
    bool end = false;

    for (int64_t n = 0; rc == TFD_OK && n < s->start; n++) {
        rc = read_element(i, e, &end, st);
        if (rc == TFD_OK && end)
            rc = tfd_fail(st, TFD_OUT_OF_RANGE, "%s",
                          s->compression == TFD_DATA_PLAIN ||
                                  (s->compression == TFD_DATA_SNAPPY &&
                                   s->version == TFD_ELEMENT_FILE_VERSION)
                              ? "Read less bytes than requested"
                              : "EOF reached");
        tfd_data_element_drop(e, s->dataset.count);
    }
    free(e);
    return rc;
}

static enum tfd_code shard_begin(struct tfd_data_iterator *it,
                                 struct tfd_status *st)
{
    struct shard_iterator *i = (struct shard_iterator *)it;
    const struct shard *s = (const struct shard *)it->dataset;

    TFD_TRY(tfd_snapshot_check_version(s->version, st));
    TFD_TRY(open_chunk(i, st));
    return skip_elements(i, st);
}

static enum tfd_code shard_next(struct tfd_data_iterator *it,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    struct shard_iterator *i = (struct shard_iterator *)it;

    for (;;) {
        *end = i->is_over;
        if (*end)
            return TFD_OK;
        TFD_TRY(read_element(i, out, end, st));
        if (!*end)
            return TFD_OK;
        TFD_TRY(next_chunk(i, &i->is_over, st));
    }
}

static void shard_end(struct tfd_data_iterator *it)
{
    close_chunk((struct shard_iterator *)it);
}

static const struct tfd_dataset_kind shard_kind = {
    .name = "SnapshotDatasetReader",
    .iterator_size = sizeof(struct shard_iterator),
    .begin = shard_begin,
    .next = shard_next,
    .end = shard_end,
    .release = shard_release,
};

/* What fails while a single file is read says of which. */
static enum tfd_code chunk_next(struct tfd_data_iterator *it,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    enum tfd_code rc = shard_next(it, out, end, &why);

    if (rc == TFD_OK)
        return rc;
    return tfd_fail(st, rc, "%s\n\t Failed to read tf.data snapshot file: %s",
                    why.text, ((const struct shard *)it->dataset)->name);
}

static const struct tfd_dataset_kind chunk_kind = {
    .name = "SnapshotChunkDataset",
    .iterator_size = sizeof(struct shard_iterator),
    .begin = shard_begin,
    .next = chunk_next,
    .end = shard_end,
    .release = shard_release,
};

/* ---- Shards -------------------------------------------------------------- */

struct shards_iterator {
    struct tfd_data_iterator iterator;
    int at;
};

static enum tfd_code shards_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct shards_iterator *i = (struct shards_iterator *)it;
    struct tfd_dataset *d;

    *end = i->at >= it->dataset->input_count;
    if (*end)
        return TFD_OK;
    d = tfd_dataset_ref(it->dataset->inputs[i->at++]);
    return tfd_variant_object_tensor(&d->object, out, st);
}

static const struct tfd_dataset_kind shards_kind = {
    .name = "SnapshotNestedDatasetReader",
    .iterator_size = sizeof(struct shards_iterator),
    .next = shards_next,
};

static char *copy_text(struct tfd_str text)
{
    char *copy = calloc(1, text.size + 1);

    if (copy)
        memcpy(copy, text.data, text.size);
    return copy;
}

static int compare_names(const void *a, const void *b)
{
    return tfd_str_cmp(*(const struct tfd_str *)a, *(const struct tfd_str *)b);
}

static bool is_shard(struct tfd_str name)
{
    static const char suffix[] = ".shard";
    const size_t size = sizeof(suffix) - 1;

    return name.size >= size && name.data[0] != '.' &&
           memcmp(name.data + name.size - size, suffix, size) == 0;
}

/* Those in `names`, which has a NUL behind each, in order; free() frees. */
static enum tfd_code sort_shards(const struct tfd_bytes *names,
                                 struct tfd_str **out, int *count,
                                 struct tfd_status *st)
{
    struct tfd_str *found =
        calloc(TFD_SNAPSHOT_READ_MAX + 1, sizeof(struct tfd_str));

    *count = 0;
    if (!found)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for shards");
    for (size_t at = 0; at < names->size;) {
        struct tfd_str name = tfd_str_of(names->data + at);

        at += name.size + 1;
        if (!is_shard(name))
            continue;
        if (*count == TFD_SNAPSHOT_READ_MAX) {
            free(found);
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "a saved dataset of more than %d shards",
                            TFD_SNAPSHOT_READ_MAX);
        }
        found[(*count)++] = name;
    }
    qsort(found, (size_t)*count, sizeof(*found), compare_names);
    *out = found;
    return TFD_OK;
}

static enum tfd_code add_shard(struct tfd_dataset *shards,
                               const struct tfd_dataset *like,
                               struct tfd_str run_dir, struct tfd_str name,
                               const struct tfd_snapshot_source *from,
                               struct tfd_status *st)
{
    struct tfd_dataset *d;
    struct tfd_bytes dir;
    struct shard *s;

    TFD_TRY(tfd_dataset_make_like(like, &shard_kind, sizeof(*s), &d, st));
    s = (struct shard *)d;
    shards->inputs[shards->input_count++] = d;
    tfd_bytes_init(&dir, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_add_str(&dir, run_dir);
    tfd_bytes_add(&dir, "/", 1);
    tfd_bytes_add_str(&dir, name);
    s->name = dir.failed ? NULL : copy_text(tfd_bytes_view(&dir));
    tfd_bytes_deinit(&dir);
    s->compression = from->compression;
    s->version = from->version;
    return s->name ? TFD_OK
                   : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                              "no memory for a shard's name");
}

/* A dataset of the run's shards. */
static enum tfd_code make_shards(const struct tfd_dataset *like,
                                 struct tfd_str run_dir,
                                 const struct tfd_str *names, int count,
                                 const struct tfd_snapshot_source *from,
                                 struct tfd_dataset **out,
                                 struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_dataset *d;
    enum tfd_code rc = TFD_OK;

    TFD_TRY(tfd_dataset_make_part(like, &shards_kind, sizeof(*d), TFD_VARIANT,
                                  &scalar, &d, st));
    d->object.depth = 2; /* datasets within it */
    d->inputs = calloc((size_t)count + 1, sizeof(*d->inputs));
    if (!d->inputs)
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for shards");
    for (int i = 0; rc == TFD_OK && i < count; i++)
        rc = add_shard(d, like, run_dir, names[i], from, st);
    if (rc == TFD_OK)
        *out = d;
    else
        tfd_dataset_unref(d);
    return rc;
}

/* A run without a directory has no shards. */
static enum tfd_code list_shards(const struct tfd_dataset *like,
                                 const struct tfd_snapshot_source *from,
                                 struct tfd_dataset **out,
                                 struct tfd_status *st)
{
    struct tfd_file_access *a = like->task.files;
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_bytes dir, names;
    struct tfd_str *sorted = NULL;
    enum tfd_code rc;
    int count;

    tfd_bytes_init(&dir, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&names, TFD_FILE_NAMES_SIZE_MAX);
    tfd_snapshot_join(&dir, from->dir, from->run);
    rc = tfd_bytes_ok(&dir, "a file's name", st);
    if (rc == TFD_OK &&
        a->list_dir(a, tfd_bytes_view(&dir), &names, &why) != TFD_OK &&
        why.code == TFD_PERMISSION_DENIED)
        rc = tfd_status_copy(st, &why);
    if (rc == TFD_OK)
        rc = sort_shards(&names, &sorted, &count, st);
    if (rc == TFD_OK)
        rc = make_shards(like, tfd_bytes_view(&dir), sorted, count, from, out,
                         st);
    free(sorted);
    tfd_bytes_deinit(&names);
    tfd_bytes_deinit(&dir);
    return rc;
}

/* ---- The function -------------------------------------------------------- */

static enum tfd_code call_reader(struct tfd_data_iterator *it,
                                 const struct tfd_captured *reader,
                                 struct tfd_dataset *take_shards,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_tensor shards = TFD_TENSOR_INIT;

    TFD_TRY(tfd_variant_object_tensor(&take_shards->object, &shards, st));
    if (reader->out_count != 1) {
        tfd_tensor_unref(&shards);
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "reader_func returns more than one argument.");
    }
    return tfd_captured_call(reader, it->scope, &shards, out, st);
}

static enum tfd_code open_made(struct tfd_data_iterator *it,
                               const struct tfd_tensor *made, const char *path,
                               struct tfd_data_iterator **out,
                               struct tfd_status *st)
{
    struct tfd_dataset *d;

    TFD_TRY(tfd_dataset_of(made, &d, st));
    if (d->count != it->dataset->count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of components does not match: expected %d "
                        "types but got %d.",
                        it->dataset->count, d->count);
    return tfd_data_open(d, it->scope, path, it->depth, out, st);
}

enum tfd_code tfd_snapshot_open(struct tfd_data_iterator *it,
                                const struct tfd_snapshot_source *from,
                                const struct tfd_captured *reader,
                                const char *path,
                                struct tfd_data_iterator **out,
                                struct tfd_status *st)
{
    struct tfd_tensor made = TFD_TENSOR_INIT;
    struct tfd_dataset *shards;
    enum tfd_code rc;

    TFD_TRY(list_shards(it->dataset, from, &shards, st));
    rc = call_reader(it, reader, shards, &made, st);
    if (rc == TFD_OK)
        rc = open_made(it, &made, path, out, st);
    tfd_tensor_unref(&made);
    return rc;
}

/* ---- Operations ---------------------------------------------------------- */

struct maker {
    struct tfd_dataset_maker maker;
    enum tfd_data_compression compression;
    int64_t version;
};

static enum tfd_code reader_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct maker *m = state;
    struct tfd_str text;

    TFD_TRY(tfd_dataset_prepare(p, &m->maker, NULL, st));
    TFD_TRY(tfd_node_str(p->node, "compression", &text, st));
    m->compression = tfd_snapshot_compression(text);
    m->version = TFD_SNAPSHOT_VERSION;
    if (tfd_op_attr_find(p->node->op, TFD_STR("version")))
        TFD_TRY(tfd_node_int(p->node, "version", &m->version, st));
    return TFD_OK;
}

static enum tfd_code make_reader(struct tfd_kctx *k,
                                 const struct tfd_dataset_kind *kind,
                                 int64_t start, struct tfd_status *st)
{
    const struct maker *m = k->state;
    struct tfd_dataset *d;
    struct tfd_str name;
    struct shard *s;

    TFD_TRY(tfd_check_str(k, 0, &name, st));
    TFD_TRY(tfd_dataset_make(k, kind, sizeof(*s), 0, &d, st));
    s = (struct shard *)d;
    s->is_file = kind == &chunk_kind;
    s->compression = m->compression;
    s->version = m->version;
    s->start = start;
    s->name = copy_text(name);
    if (s->name)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
}

static enum tfd_code check_name(const struct tfd_kctx *k, const char *name,
                                struct tfd_status *st)
{
    if (k->in[0].shape.rank == 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be a scalar", name);
}

static enum tfd_code reader_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t start;

    TFD_TRY(check_name(k, "shard_dir", st));
    TFD_TRY(tfd_dataset_int(k, 1, "start_index", &start, st));
    return make_reader(k, &shard_kind, start, st);
}

static enum tfd_code chunk_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(check_name(k, "chunk_file", st));
    return make_reader(k, &chunk_kind, 0, st);
}

static enum tfd_code nested_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;

    TFD_TRY(tfd_dataset_make(k, &shards_kind, sizeof(*d), k->in_count, &d, st));
    return tfd_dataset_output(k, d, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("SnapshotDatasetReader",
                "shard_dir: string, start_index: int64", "",
                "; compression: string = ''; version: int", 0),
    TFD_DATA_OP("SnapshotNestedDatasetReader", "inputs: N * variant", "",
                "; N: int >= 1", 0),
    TFD_DATA_OP("SnapshotChunkDataset", "chunk_file: string", "",
                "; compression: string = ''", 0),
};

#define READER(name_, compute_)                                \
    TFD_KERNEL_ANY(name_, compute_, .prepare = reader_prepare, \
                   .release = tfd_dataset_maker_release,       \
                   .state_size = sizeof(struct maker))

static const struct tfd_kernel kernels[] = {
    READER("SnapshotDatasetReader", reader_compute),
    READER("SnapshotChunkDataset", chunk_compute),
    TFD_DATA_KERNEL("SnapshotNestedDatasetReader", nested_compute),
};

TFD_DATA_FAMILY(snapshot_reader);
