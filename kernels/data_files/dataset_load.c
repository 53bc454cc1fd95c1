/*
 * dataset_load.c - LoadDataset: what SaveDataset has saved (snapshot_files.h),
 * put together by a function of the program.
 *
 * The metadata are read when the dataset is made, and the shards are looked for
 * when the first element is asked for.
 */
#include "kernels/data/data_table.h"
#include "kernels/data_files/snapshot_reader.h"
#include "kernels/io/file_check.h"

#include <stdlib.h>
#include <string.h>

struct maker {
    struct tfd_dataset_maker maker; /* its function is reader_func */
    enum tfd_data_compression compression;
};

struct loaded {
    struct tfd_dataset dataset;
    struct tfd_captured reader;
    char *path;
    enum tfd_data_compression compression;
    struct tfd_snapshot_metadata metadata;
};

static void loaded_release(struct tfd_dataset *d)
{
    struct loaded *l = (struct loaded *)d;

    tfd_captured_deinit(&l->reader);
    free(l->path);
}

static int64_t loaded_cardinality(const struct tfd_dataset *d)
{
    return ((const struct loaded *)d)->metadata.element_count;
}

static enum tfd_code open_saved(struct tfd_data_iterator *it,
                                struct tfd_status *st)
{
    const struct loaded *l = (const struct loaded *)it->dataset;
    const struct tfd_snapshot_source from = {
        .dir = tfd_str_of(l->path),
        .run = l->metadata.run,
        .version = l->metadata.version,
        .compression = l->compression,
    };

    return tfd_snapshot_open(it, &from, &l->reader, it->path, &it->input, st);
}

static enum tfd_code loaded_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    if (!it->input)
        TFD_TRY(open_saved(it, st));
    return tfd_data_next(it->input, out, end, st);
}

static const struct tfd_dataset_kind loaded_kind = {
    .name = "Load",
    .iterator_size = sizeof(struct tfd_data_iterator),
    .next = loaded_next,
    .cardinality = loaded_cardinality,
    .release = loaded_release,
};

static enum tfd_code load_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct maker *m = state;
    struct tfd_str text;

    TFD_TRY(tfd_dataset_prepare(p, &m->maker, "reader_func", st));
    TFD_TRY(tfd_node_str(p->node, "compression", &text, st));
    m->compression = tfd_snapshot_compression(text);
    return TFD_OK;
}

static enum tfd_code read_metadata(struct tfd_kctx *k, struct tfd_str path,
                                   struct tfd_snapshot_metadata *out,
                                   struct tfd_status *st)
{
    struct tfd_file_access *files;
    bool exists;

    TFD_TRY(tfd_file_check(k, &files, st));
    TFD_TRY(tfd_snapshot_read_metadata(files, path, out, &exists, st));
    if (exists)
        return TFD_OK;
    return tfd_fail(st, TFD_NOT_FOUND,
                    "Could not find metadata file [" TFD_STR_FMT "]",
                    TFD_STR_ARG(path));
}

static enum tfd_code fill_loaded(struct tfd_kctx *k, struct tfd_str path,
                                 struct loaded *l, struct tfd_status *st)
{
    const struct maker *m = k->state;

    l->compression = m->compression;
    l->path = calloc(1, path.size + 1);
    if (!l->path)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    memcpy(l->path, path.data, path.size);
    return tfd_captured_init(&l->reader, k, m->maker.function, 1,
                             k->in_count - 1, 1, &l->dataset, st);
}

static enum tfd_code load_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_snapshot_metadata metadata;
    struct tfd_dataset *d;
    struct tfd_str path;
    enum tfd_code rc;

    if (k->in[0].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "path must be a scalar");
    TFD_TRY(tfd_check_str(k, 0, &path, st));
    TFD_TRY(read_metadata(k, path, &metadata, st));
    TFD_TRY(
        tfd_dataset_make(k, &loaded_kind, sizeof(struct loaded), 0, &d, st));
    ((struct loaded *)d)->metadata = metadata;
    rc = fill_loaded(k, path, (struct loaded *)d, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("LoadDataset",
                "path: string, reader_func_other_args: Treader_func_args", "",
                "; compression: string = ''; reader_func: func; "
                "Treader_func_args: list(type) >= 0",
                TFD_OP_STATEFUL),
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("LoadDataset", load_compute, .prepare = load_prepare,
                   .release = tfd_dataset_maker_release,
                   .state_size = sizeof(struct maker),
                   .flags = TFD_KERNEL_BLOCKS),
};

TFD_DATA_FAMILY(dataset_load);
