/*
 * dataset_snapshot.c - SnapshotDatasetV2: its first complete pass saves the
 * elements of its input, later ones read them.
 *
 *     PATH/FINGERPRINT/...      snapshot_files.h
 *
 *     no metadata, or none that are complete   -> a writer, with a run of its
 * own metadata of a run that is complete       -> a reader metadata of a moment
 * that is to come     -> the input, as it is
 *
 * The fingerprint is of the input and all it is made of, so that another input
 * of the same path has another directory.  It is tfd's own and not the one that
 * TensorFlow computes of the graph it has rewritten: a tfd does not find what
 * TensorFlow has written by itself, nor the other way round.  An attribute may
 * give it.
 */
#include "common/base/clock.h"
#include "kernels/data/data_table.h"
#include "kernels/data_files/snapshot_reader.h"
#include "kernels/data_files/snapshot_writer.h"
#include "kernels/data_graph/data_fingerprint.h"
#include "kernels/io/file_draft.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct maker {
    struct tfd_dataset_maker maker; /* its function is reader_func */
    struct tfd_rt_function *shard;
    enum tfd_data_compression compression;
    bool has_hash;
    int64_t hash;
};

struct snapshot {
    struct tfd_dataset dataset;
    struct tfd_captured reader, shard;
    char *dir; /* with the fingerprint */
    uint64_t hash;
    enum tfd_data_compression compression;
};

enum mode { UNKNOWN, READER, WRITER, PASS };

struct snapshot_iterator {
    struct tfd_data_iterator iterator;
    enum mode mode;
    struct tfd_snapshot_metadata metadata;
    struct tfd_snapshot_writer writer;
    bool is_over; /* written to the end */
};

static void snapshot_release(struct tfd_dataset *d)
{
    struct snapshot *s = (struct snapshot *)d;

    tfd_captured_deinit(&s->reader);
    tfd_captured_deinit(&s->shard);
    free(s->dir);
}

static int64_t snapshot_cardinality(const struct tfd_dataset *d)
{
    return tfd_dataset_cardinality(d->inputs[0]);
}

static enum tfd_code snapshot_begin(struct tfd_data_iterator *it,
                                    struct tfd_status *st)
{
    struct tfd_file_access *files = it->dataset->task.files;

    if (!files)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "files cannot be written here");
    return tfd_file_make_dirs(
        files, tfd_str_of(((const struct snapshot *)it->dataset)->dir), st);
}

/* ---- What a pass does ---------------------------------------------------- */

static enum tfd_code choose_mode(struct snapshot_iterator *i,
                                 struct tfd_status *st)
{
    const struct snapshot *s = (const struct snapshot *)i->iterator.dataset;
    bool exists;

    TFD_TRY(tfd_snapshot_metadata_of(&i->iterator, tfd_str_of(s->dir),
                                     &i->metadata, &exists, st));
    if (!exists)
        i->mode = WRITER;
    else if (i->metadata.finalized)
        i->mode = READER;
    else
        i->mode = i->metadata.created_us >= tfd_clock_wall_us() ? PASS : WRITER;
    return TFD_OK;
}

static enum tfd_code open_run(struct snapshot_iterator *i, const char *path,
                              struct tfd_status *st)
{
    const struct snapshot *s = (const struct snapshot *)i->iterator.dataset;
    const struct tfd_snapshot_source from = {
        .dir = tfd_str_of(s->dir),
        .run = i->metadata.run,
        .version = i->metadata.version,
        .compression = s->compression,
    };

    return tfd_snapshot_open(&i->iterator, &from, &s->reader, path,
                             &i->iterator.input, st);
}

/* TensorFlow's names of its iterators within this one. */
static enum tfd_code open_within(struct snapshot_iterator *i,
                                 struct tfd_status *st)
{
    static const char *const names[] = {
        [READER] = "Reader",
        [WRITER] = "Writer::WriterIterator",
        [PASS] = "Passthrough",
    };
    struct tfd_data_iterator *it = &i->iterator;
    char *path = tfd_snapshot_path(it, names[i->mode], st);
    enum tfd_code rc;

    if (!path)
        return TFD_RESOURCE_EXHAUSTED;
    rc = i->mode == READER ? open_run(i, path, st)
                           : tfd_data_open(it->dataset->inputs[0], it->scope,
                                           path, it->depth, &it->input, st);
    free(path);
    return rc;
}

static enum tfd_code begin_run(struct snapshot_iterator *i,
                               struct tfd_status *st)
{
    const struct snapshot *s = (const struct snapshot *)i->iterator.dataset;
    const struct tfd_snapshot_target to = {
        .dir = tfd_str_of(s->dir),
        .hash = s->hash,
        .compression = s->compression,
        .shard = &s->shard,
    };
    enum tfd_code rc = tfd_snapshot_writer_begin(
        &i->writer, &to, i->iterator.scope, i->iterator.dataset, st);

    if (rc != TFD_OK)
        tfd_snapshot_writer_deinit(&i->writer);
    return rc;
}

static enum tfd_code write_next(struct snapshot_iterator *i,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    *end = i->is_over;
    if (*end)
        return TFD_OK;
    if (!i->writer.is_begun)
        TFD_TRY(begin_run(i, st));
    TFD_TRY(tfd_data_next(i->iterator.input, out, end, st));
    if (!*end)
        return tfd_snapshot_writer_put(&i->writer, out, st);
    i->is_over = true;
    return tfd_snapshot_writer_finish(&i->writer, 0, st);
}

static enum tfd_code snapshot_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    struct snapshot_iterator *i = (struct snapshot_iterator *)it;

    if (i->mode == UNKNOWN)
        TFD_TRY(choose_mode(i, st));
    if (!it->input)
        TFD_TRY(open_within(i, st));
    if (i->mode == WRITER)
        return write_next(i, out, end, st);
    return tfd_data_next(it->input, out, end, st);
}

static void snapshot_end(struct tfd_data_iterator *it)
{
    tfd_snapshot_writer_deinit(&((struct snapshot_iterator *)it)->writer);
}

static const struct tfd_dataset_kind snapshot_kind = {
    .name = "Snapshot",
    .iterator_size = sizeof(struct snapshot_iterator),
    .same_elements = true,
    .begin = snapshot_begin,
    .next = snapshot_next,
    .end = snapshot_end,
    .cardinality = snapshot_cardinality,
    .release = snapshot_release,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code snapshot_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct maker *m = state;
    struct tfd_str text;

    TFD_TRY(tfd_dataset_prepare(p, &m->maker, "reader_func", st));
    TFD_TRY(tfd_dataset_function(p, "shard_func", &m->shard, st));
    TFD_TRY(tfd_node_str(p->node, "compression", &text, st));
    m->compression = tfd_str_is(text, "AUTO") ? TFD_DATA_SNAPPY
                                              : tfd_snapshot_compression(text);
    TFD_TRY(tfd_node_bool(p->node, "hash_valid", &m->has_hash, st));
    return tfd_node_int(p->node, "hash", &m->hash, st);
}

static enum tfd_code name_dir(struct snapshot *s, struct tfd_str path,
                              struct tfd_status *st)
{
    char text[24];
    struct tfd_bytes dir;
    enum tfd_code rc;

    snprintf(text, sizeof(text), "%" PRIu64, s->hash);
    tfd_bytes_init(&dir, TFD_FILE_DRAFT_NAME_MAX);
    tfd_snapshot_join(&dir, path, text);
    tfd_bytes_add(&dir, "", 1);
    rc = tfd_bytes_ok(&dir, "a file's name", st);
    if (rc == TFD_OK) {
        s->dir = calloc(1, dir.size);
        if (s->dir)
            memcpy(s->dir, dir.data, dir.size);
        else
            rc =
                tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    }
    tfd_bytes_deinit(&dir);
    return rc;
}

static enum tfd_code fill_snapshot(struct tfd_kctx *k, struct snapshot *s,
                                   struct tfd_status *st)
{
    const struct maker *m = k->state;
    int32_t first, readers, shards;
    struct tfd_str path;

    if (k->in[1].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "path must be a scalar");
    TFD_TRY(tfd_check_str(k, 1, &path, st));
    s->compression = m->compression;
    s->hash = (uint64_t)m->hash;
    if (!m->has_hash)
        TFD_TRY(tfd_data_fingerprint(&k->in[0], &s->hash, st));
    TFD_TRY(name_dir(s, path, st));
    tfd_node_arg(k->node, 2, &first, &readers);
    TFD_TRY(tfd_captured_init(&s->reader, k, m->maker.function, first, readers,
                              1, &s->dataset, st));
    tfd_node_arg(k->node, 3, &first, &shards);
    return tfd_captured_init(&s->shard, k, m->shard, first, shards,
                             s->dataset.count, &s->dataset, st);
}

static enum tfd_code snapshot_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_make(k, &snapshot_kind, sizeof(struct snapshot), 1, &d,
                             st));
    rc = fill_snapshot(k, (struct snapshot *)d, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("SnapshotDatasetV2",
                "input_dataset: variant, path: string, "
                "reader_func_other_args: Treader_func_args, "
                "shard_func_other_args: Tshard_func_args",
                "",
                "; compression: string = ''; reader_prefix: string = ''; "
                "writer_prefix: string = ''; hash_valid: bool = false; "
                "hash: int = 0; reader_func: func; shard_func: func; "
                "Treader_func_args: list(type) >= 0; "
                "Tshard_func_args: list(type) >= 0" TFD_DATA_METADATA,
                0),
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SnapshotDatasetV2", snapshot_compute,
                   .prepare = snapshot_prepare,
                   .release = tfd_dataset_maker_release,
                   .state_size = sizeof(struct maker)),
};

TFD_DATA_FAMILY(dataset_snapshot);
