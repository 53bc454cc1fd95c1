/*
 * dataset_old_snapshot.c - SnapshotDataset: what SnapshotDatasetV2 does, as
 * TensorFlow first had it.
 *
 *     PATH/FINGERPRINT, or PATH/custom-NAME          old_snapshot.h
 *
 *     "read", "write", "passthrough"    what the program has said
 *     "auto"    no metadata: writes; complete ones: reads; else another one is
 *               at work, and the input is taken as it is, until that has lasted
 *               too long
 *
 * A run counts when its last element is handed on, not when its end is asked
 * for, so a writer is one element ahead.  Fingerprints are tfd's own
 * (dataset_snapshot.c); by a name a tfd and TensorFlow find each other's.
 */
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "kernels/data/data_table.h"
#include "kernels/data_files/old_snapshot.h"
#include "kernels/data_files/snapshot_files.h"
#include "kernels/data_graph/data_fingerprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_SIZE_DEFAULT (UINT64_C(10) << 30)
#define EXPIRY_DEFAULT 86400

enum mode { AUTO, READER, WRITER, PASS };

static const char *const modes[] = {
    [AUTO] = "auto",
    [READER] = "read",
    [WRITER] = "write",
    [PASS] = "passthrough",
};

struct plan { /* what the attributes say */
    enum tfd_data_compression compression;
    enum mode mode;
    uint64_t file_size_max;
    int64_t expiry; /* seconds */
    struct tfd_old_snapshot_order order;
};

struct maker {
    struct tfd_dataset_maker maker;
    struct plan plan;
};

struct old {
    struct tfd_dataset dataset;
    struct plan plan;
    char hash[24];
    bool is_named; /* by the program */
    char *dir, *reader_prefix, *writer_prefix;
};

struct old_iterator {
    struct tfd_data_iterator iterator;
    enum mode mode; /* AUTO: not known */
    struct tfd_snapshot_metadata metadata;
    struct tfd_old_snapshot_reader reader;
    struct tfd_old_snapshot_writer writer;
    struct tfd_tensor *ahead; /* an element; NULL: there is none */
    bool is_begun, is_over;   /* is_over: the input has ended */
};

static const struct old *old_of(const struct old_iterator *i)
{
    return (const struct old *)i->iterator.dataset;
}

static void old_release(struct tfd_dataset *d)
{
    struct old *o = (struct old *)d;

    free(o->dir);
    free(o->reader_prefix);
    free(o->writer_prefix);
}

static int64_t old_cardinality(const struct tfd_dataset *d)
{
    return tfd_dataset_cardinality(d->inputs[0]);
}

/* ---- What a pass does ---------------------------------------------------- */

static enum tfd_code choose_mode(struct old_iterator *i, bool exists,
                                 struct tfd_status *st)
{
    const struct plan *p = &old_of(i)->plan;
    const int64_t now = tfd_clock_wall_us();

    i->mode = p->mode;
    if (p->mode == READER && !exists)
        i->mode = AUTO;
    if (p->mode == READER && !exists)
        return tfd_fail(st, TFD_NOT_FOUND, "Metadata file does not exist.");
    if (p->mode != AUTO)
        return TFD_OK;
    if (!exists)
        i->mode = WRITER;
    else if (i->metadata.finalized)
        i->mode = READER;
    else
        i->mode =
            i->metadata.created_us >= now - p->expiry * 1000000 ? PASS : WRITER;
    return TFD_OK;
}

static enum tfd_code check_snapshot_types(const struct old_iterator *i,
                                          struct tfd_status *st)
{
    const struct tfd_snapshot_metadata *m = &i->metadata;
    const struct tfd_dataset *d = i->iterator.dataset;

    if (m->type_count != d->count)
        return tfd_fail(st, TFD_INTERNAL,
                        "Expected number of dtypes: %d but number in snapshot: "
                        "%lld",
                        (int)d->count, (long long)m->type_count);
    for (int32_t c = 0; c < d->count && c < TFD_SNAPSHOT_TYPES_MAX; c++)
        if (m->types[c] != (int32_t)d->types[c])
            return tfd_fail(st, TFD_INTERNAL,
                            "Type: %d doesn't match. Snapshot: %d; dataset: %d",
                            (int)c, (int)m->types[c], (int)d->types[c]);
    return TFD_OK;
}

static enum tfd_code open_run(struct old_iterator *i, struct tfd_status *st)
{
    const struct old *o = old_of(i);
    const char *run = o->is_named ? "custom" : i->metadata.run;
    struct tfd_bytes dir;
    enum tfd_code rc;

    if (!*run)
        return tfd_fail(st, TFD_NOT_FOUND,
                        "Could not find a valid snapshot to read.");
    TFD_TRY(tfd_snapshot_check_version(i->metadata.version, st));
    TFD_TRY(check_snapshot_types(i, st));
    tfd_bytes_init(&dir, TFD_FILE_DRAFT_NAME_MAX);
    tfd_old_snapshot_join(&dir, tfd_str_of(o->dir), tfd_str_of(run));
    rc = tfd_bytes_ok(&dir, "a file's name", st);
    i->reader.compression = o->plan.compression;
    i->reader.version = i->metadata.version;
    i->reader.prefix = tfd_str_of(o->reader_prefix);
    if (rc == TFD_OK)
        rc = tfd_old_snapshot_open(&i->reader, &o->dataset,
                                   tfd_bytes_view(&dir), &o->plan.order, st);
    tfd_bytes_deinit(&dir);
    return rc;
}

static enum tfd_code begin_run(struct old_iterator *i, struct tfd_status *st)
{
    const struct old *o = old_of(i);
    struct tfd_snapshot_metadata *m = &i->metadata;
    struct tfd_bytes path, dir;
    enum tfd_code rc;

    *m = (struct tfd_snapshot_metadata){.version = TFD_ELEMENT_FILE_VERSION};
    snprintf(m->run, sizeof(m->run), "custom");
    if (!o->is_named)
        tfd_snapshot_run(m->run);
    snprintf(m->hash, sizeof(m->hash), "%s", o->hash);
    tfd_bytes_init(&path, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&dir, TFD_FILE_DRAFT_NAME_MAX);
    tfd_old_snapshot_join(&path, tfd_str_of(o->dir), tfd_str_of(m->run));
    tfd_old_snapshot_join(&dir, tfd_str_of(o->writer_prefix),
                          tfd_bytes_view(&path));
    rc = tfd_bytes_ok(&dir, "a file's name", st);
    i->writer.compression = o->plan.compression;
    i->writer.file_size_max = o->plan.file_size_max;
    if (rc == TFD_OK)
        rc = tfd_old_snapshot_begin(&i->writer, &o->dataset,
                                    tfd_bytes_view(&dir), st);
    if (rc == TFD_OK)
        rc = tfd_snapshot_write_metadata(
            o->dataset.task.files, tfd_str_of(o->dir), &o->dataset, m, st);
    tfd_bytes_deinit(&dir);
    tfd_bytes_deinit(&path);
    return rc;
}

static enum tfd_code open_input(struct old_iterator *i, struct tfd_status *st)
{
    struct tfd_data_iterator *it = &i->iterator;
    char *path = tfd_snapshot_path(
        it, i->mode == WRITER ? "WriterImpl" : "PassthroughImpl", st);
    enum tfd_code rc;

    if (!path)
        return TFD_RESOURCE_EXHAUSTED;
    rc = tfd_data_open(it->dataset->inputs[0], it->scope, path, it->depth,
                       &it->input, st);
    free(path);
    return rc;
}

static enum tfd_code begin_pass(struct old_iterator *i, struct tfd_status *st)
{
    struct tfd_data_iterator *it = &i->iterator;
    struct tfd_file_access *files = it->dataset->task.files;
    bool exists;

    if (!files)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "files cannot be read here");
    TFD_TRY(tfd_snapshot_metadata_of(it, tfd_str_of(old_of(i)->dir),
                                     &i->metadata, &exists, st));
    TFD_TRY(choose_mode(i, exists, st));
    if (i->mode == READER)
        return open_run(i, st);
    if (!it->input)
        TFD_TRY(open_input(i, st));
    return i->mode == WRITER ? begin_run(i, st) : TFD_OK;
}

/* ---- Writing ------------------------------------------------------------- */

/* The run counts, unless another one has begun meanwhile. */
static enum tfd_code finish_run(struct old_iterator *i, struct tfd_status *st)
{
    const struct old *o = old_of(i);
    struct tfd_file_access *files = o->dataset.task.files;
    struct tfd_snapshot_metadata there;
    bool exists;

    TFD_TRY(tfd_old_snapshot_finish(&i->writer, st));
    TFD_TRY(tfd_snapshot_read_metadata(files, tfd_str_of(o->dir), &there,
                                       &exists, st));
    if (!exists || strcmp(there.run, i->metadata.run) != 0)
        return TFD_OK;
    i->metadata.finalized = true;
    return tfd_snapshot_write_metadata(files, tfd_str_of(o->dir), &o->dataset,
                                       &i->metadata, st);
}

/* The next element is taken and written; or the run is finished. */
static enum tfd_code go_ahead(struct old_iterator *i, struct tfd_status *st)
{
    const int32_t count = i->iterator.dataset->count;
    struct tfd_tensor *e = tfd_data_element_new(count, st);
    enum tfd_code rc;

    if (!e)
        return TFD_RESOURCE_EXHAUSTED;
    rc = tfd_data_next(i->iterator.input, e, &i->is_over, st);
    if (rc == TFD_OK && i->is_over)
        rc = finish_run(i, st);
    else if (rc == TFD_OK)
        rc = tfd_old_snapshot_put(&i->writer, e, st);
    if (rc == TFD_OK && !i->is_over) {
        i->ahead = e;
        return TFD_OK;
    }
    tfd_data_element_drop(e, count);
    free(e);
    return rc;
}

/* An element whose next one fails is lost, as in TensorFlow. */
static enum tfd_code write_next(struct old_iterator *i, struct tfd_tensor *out,
                                bool *end, struct tfd_status *st)
{
    const int32_t count = i->iterator.dataset->count;
    struct tfd_tensor *now;
    enum tfd_code rc;

    if (!i->ahead && !i->is_over)
        TFD_TRY(go_ahead(i, st));
    *end = !i->ahead;
    if (*end)
        return TFD_OK;
    now = i->ahead;
    i->ahead = NULL;
    rc = i->is_over ? TFD_OK : go_ahead(i, st);
    if (rc == TFD_OK)
        tfd_data_element_move(out, now, count);
    tfd_data_element_drop(now, count);
    free(now);
    return rc;
}

static enum tfd_code old_next(struct tfd_data_iterator *it,
                              struct tfd_tensor *out, bool *end,
                              struct tfd_status *st)
{
    struct old_iterator *i = (struct old_iterator *)it;

    if (!i->is_begun) {
        enum tfd_code rc = begin_pass(i, st);

        if (rc != TFD_OK) {
            tfd_old_snapshot_end(&i->writer);
            return rc;
        }
        i->is_begun = true;
    }
    if (i->mode == READER)
        return tfd_old_snapshot_next(&i->reader, out, end, st);
    if (i->mode == WRITER)
        return write_next(i, out, end, st);
    return tfd_data_next(it->input, out, end, st);
}

static void old_end(struct tfd_data_iterator *it)
{
    struct old_iterator *i = (struct old_iterator *)it;

    tfd_old_snapshot_close(&i->reader);
    tfd_old_snapshot_end(&i->writer);
    if (i->ahead)
        tfd_data_element_drop(i->ahead, it->dataset->count);
    free(i->ahead);
}

static const struct tfd_dataset_kind old_kind = {
    .name = "Snapshot",
    .iterator_size = sizeof(struct old_iterator),
    .same_elements = true,
    .next = old_next,
    .end = old_end,
    .cardinality = old_cardinality,
    .release = old_release,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code read_mode(const struct tfd_node *n, enum mode *out,
                               struct tfd_status *st)
{
    struct tfd_str text;

    TFD_TRY(tfd_node_str(n, "mode", &text, st));
    for (int m = AUTO; m <= PASS; m++)
        if (tfd_str_is(text, modes[m])) {
            *out = (enum mode)m;
            return TFD_OK;
        }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "mode must be either 'auto', 'read', 'write', or "
                    "'passthrough'.");
}

static enum tfd_code read_compression(const struct tfd_node *n,
                                      enum tfd_data_compression *out,
                                      struct tfd_status *st)
{
    struct tfd_str text;

    TFD_TRY(tfd_node_str(n, "compression", &text, st));
    *out = tfd_snapshot_compression(text);
    if (text.size == 0 || *out == TFD_DATA_GZIP || *out == TFD_DATA_SNAPPY)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "compression must be either '', 'GZIP' or 'SNAPPY'.");
}

static enum tfd_code read_numbers(const struct tfd_node *n, struct plan *p,
                                  struct tfd_status *st)
{
    int64_t size, seed, seed2;

    TFD_TRY(tfd_node_int(n, "shard_size_bytes", &size, st));
    p->file_size_max = size == -1 ? FILE_SIZE_DEFAULT : (uint64_t)size;
    TFD_TRY(tfd_node_int(n, "seed", &seed, st));
    TFD_TRY(tfd_node_int(n, "seed2", &seed2, st));
    p->order.seed = (uint64_t)seed + (uint64_t)seed2;
    TFD_TRY(tfd_node_bool(n, "shuffle_on_read", &p->order.shuffled, st));
    TFD_TRY(tfd_node_int(n, "pending_snapshot_expiry_seconds", &p->expiry, st));
    if (p->expiry == -1)
        p->expiry = EXPIRY_DEFAULT;
    if (p->expiry > INT64_MAX / 2000000)
        p->expiry = INT64_MAX / 2000000;
    return TFD_OK;
}

static enum tfd_code old_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct maker *m = state;

    TFD_TRY(tfd_dataset_prepare_plain(p, state, st));
    TFD_TRY(read_numbers(p->node, &m->plan, st));
    TFD_TRY(read_compression(p->node, &m->plan.compression, st));
    if (m->plan.expiry < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "pending_snapshot_expiry_seconds must be at least 1 "
                        "second.");
    return read_mode(p->node, &m->plan.mode, st);
}

static enum tfd_code keep_text(char **out, struct tfd_str text,
                               struct tfd_status *st)
{
    *out = calloc(1, text.size + 1);
    if (!*out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    memcpy(*out, text.data, text.size);
    return TFD_OK;
}

/* What decides on the files' contents goes into the fingerprint. */
static enum tfd_code name_hash(struct tfd_kctx *k, struct old *o,
                               struct tfd_str path, struct tfd_status *st)
{
    static const struct tfd_hash_key key = {0, 0}; /* it is written down */
    struct tfd_bytes text;
    uint64_t input;
    enum tfd_code rc;

    TFD_TRY(tfd_data_fingerprint(&k->in[0], &input, st));
    tfd_bytes_init(&text, 4 * TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_printf(&text, "%" PRIu64 " %d %" PRIu64 " ", input,
                     (int)o->plan.compression, o->plan.file_size_max);
    tfd_bytes_add_str(&text, path);
    tfd_bytes_add(&text, "", 1);
    tfd_bytes_add_str(&text, tfd_str_of(o->reader_prefix));
    tfd_bytes_add(&text, "", 1);
    tfd_bytes_add_str(&text, tfd_str_of(o->writer_prefix));
    rc = tfd_bytes_ok(&text, "a file's name", st);
    if (rc == TFD_OK)
        snprintf(o->hash, sizeof(o->hash), "%016" PRIx64,
                 tfd_hash_sip(&key, tfd_bytes_view(&text), 2, 4));
    tfd_bytes_deinit(&text);
    return rc;
}

static enum tfd_code name_dir(struct old *o, struct tfd_str path,
                              struct tfd_str name, struct tfd_status *st)
{
    struct tfd_bytes last, dir;
    enum tfd_code rc;

    o->is_named = name.size > 0;
    tfd_bytes_init(&last, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&dir, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_add_str(&last, tfd_str_of(o->is_named ? "custom-" : o->hash));
    tfd_bytes_add_str(&last, name);
    tfd_old_snapshot_join(&dir, path, tfd_bytes_view(&last));
    rc = tfd_bytes_ok(&dir, "a file's name", st);
    if (rc == TFD_OK)
        rc = keep_text(&o->dir, tfd_bytes_view(&dir), st);
    tfd_bytes_deinit(&dir);
    tfd_bytes_deinit(&last);
    return rc;
}

static enum tfd_code fill_old(struct tfd_kctx *k, struct old *o,
                              struct tfd_status *st)
{
    struct tfd_str path, text;

    TFD_TRY(tfd_check_str(k, 1, &path, st));
    o->plan = ((const struct maker *)k->state)->plan;
    TFD_TRY(tfd_node_str(k->node, "reader_path_prefix", &text, st));
    TFD_TRY(keep_text(&o->reader_prefix, text, st));
    TFD_TRY(tfd_node_str(k->node, "writer_path_prefix", &text, st));
    TFD_TRY(keep_text(&o->writer_prefix, text, st));
    TFD_TRY(name_hash(k, o, path, st));
    TFD_TRY(tfd_node_str(k->node, "snapshot_name", &text, st));
    return name_dir(o, path, text, st);
}

static enum tfd_code old_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    enum tfd_code rc;

    if (k->in[1].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "path must be a scalar");
    TFD_TRY(tfd_dataset_make(k, &old_kind, sizeof(struct old), 1, &d, st));
    rc = fill_old(k, (struct old *)d, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("SnapshotDataset", "input_dataset: variant, path: string", "",
                "; compression: string = ''; "
                "reader_path_prefix: string = ''; "
                "writer_path_prefix: string = ''; "
                "shard_size_bytes: int = 10737418240; "
                "pending_snapshot_expiry_seconds: int = 86400; "
                "num_reader_threads: int = 1; reader_buffer_size: int = 1; "
                "num_writer_threads: int = 1; writer_buffer_size: int = 1; "
                "shuffle_on_read: bool = false; seed: int = 0; "
                "seed2: int = 0; mode: string = 'auto'; "
                "snapshot_name: string = ''",
                0),
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SnapshotDataset", old_compute, .prepare = old_prepare,
                   .release = tfd_dataset_maker_release,
                   .state_size = sizeof(struct maker)),
};

TFD_DATA_FAMILY(dataset_old_snapshot);
