/*
 * dataset_files.c - datasets of files: the lines of texts, the records of
 * TFRecord files.
 */
#include "kernels/data/data_table.h"
#include "kernels/data_sources/record_file.h"

#include "config/limits.h"

#include <stdlib.h>

struct files {
    struct tfd_dataset dataset;
    struct tfd_tensor names, offsets; /* offsets: of records; may be none */
    enum tfd_data_compression compression;
};

struct files_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_record_file records; /* lines: only its file */
    int64_t next;                   /* name */
    bool is_open;
    struct tfd_bytes line;
};

static void files_release(struct tfd_dataset *d)
{
    tfd_tensor_unref(&((struct files *)d)->names);
    tfd_tensor_unref(&((struct files *)d)->offsets);
}

static enum tfd_code files_begin(struct tfd_data_iterator *it,
                                 struct tfd_status *st)
{
    (void)st;
    tfd_bytes_init(&((struct files_iterator *)it)->line,
                   TFD_DATA_RECORD_SIZE_MAX);
    return TFD_OK;
}

static void files_end(struct tfd_data_iterator *it)
{
    struct files_iterator *i = (struct files_iterator *)it;

    tfd_record_file_close(&i->records);
    tfd_bytes_deinit(&i->line);
}

/* ---- One file after the other -------------------------------------------- */

static enum tfd_code open_next(struct files_iterator *i, struct tfd_status *st)
{
    const struct files *d = (const struct files *)i->iterator.dataset;
    const struct tfd_tstring *names = tfd_tensor_data(&d->names);
    enum tfd_code rc;

    rc = tfd_record_file_open(&i->records, d->dataset.task.files,
                              tfd_tstring_view(&names[i->next]), d->compression,
                              st);
    i->next++;
    i->is_open = rc == TFD_OK;
    if (rc != TFD_OK)
        tfd_record_file_close(&i->records);
    return rc;
}

typedef enum tfd_code read_fn(struct files_iterator *i, struct tfd_tensor *out,
                              bool *end, struct tfd_status *st);

static void leave_file(struct files_iterator *i)
{
    tfd_record_file_close(&i->records);
    i->is_open = false;
}

/* A file that cannot be read is left, as TensorFlow leaves it. */
static enum tfd_code next_of_files(struct files_iterator *i, read_fn *read,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    const struct files *d = (const struct files *)i->iterator.dataset;
    int64_t count = tfd_tensor_elements(&d->names);
    bool over;

    *end = false;
    for (;;) {
        if (!i->is_open && i->next >= count) {
            *end = true;
            return TFD_OK;
        }
        if (!i->is_open)
            TFD_TRY(open_next(i, st));
        if (read(i, out, &over, st) != TFD_OK) {
            leave_file(i);
            return st ? st->code : TFD_INTERNAL;
        }
        if (!over)
            return TFD_OK;
        leave_file(i);
    }
}

static enum tfd_code put_string(struct tfd_tensor *out, struct tfd_str text,
                                struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};

    TFD_TRY(tfd_tensor_new(out, TFD_STRING, &scalar, st));
    return tfd_tstring_set(tfd_tensor_data(out), text, st);
}

/* ---- Lines --------------------------------------------------------------- */

static enum tfd_code read_line(struct files_iterator *i, struct tfd_tensor *out,
                               bool *end, struct tfd_status *st)
{
    TFD_TRY(tfd_data_file_line(&i->records.file, &i->line, end, st));
    return *end ? TFD_OK : put_string(out, tfd_bytes_view(&i->line), st);
}

static enum tfd_code lines_next(struct tfd_data_iterator *it,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    return next_of_files((struct files_iterator *)it, read_line, out, end, st);
}

/* ---- Records ------------------------------------------------------------- */

static enum tfd_code read_record(struct files_iterator *i,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    const struct files *d = (const struct files *)i->iterator.dataset;
    const int64_t *offsets = tfd_tensor_data(&d->offsets);
    struct tfd_str record;

    if (i->records.offset == 0 && offsets && offsets[i->next - 1] > 0)
        TFD_TRY(tfd_record_file_skip_to(&i->records,
                                        (uint64_t)offsets[i->next - 1], st));
    TFD_TRY(tfd_record_file_next(&i->records, &record, end, st));
    return *end ? TFD_OK : put_string(out, record, st);
}

static enum tfd_code records_next(struct tfd_data_iterator *it,
                                  struct tfd_tensor *out, bool *end,
                                  struct tfd_status *st)
{
    return next_of_files((struct files_iterator *)it, read_record, out, end,
                         st);
}

#define FILES_KIND(id, name_)                           \
    static const struct tfd_dataset_kind id##_kind = {  \
        .name = name_,                                  \
        .iterator_size = sizeof(struct files_iterator), \
        .begin = files_begin,                           \
        .next = id##_next,                              \
        .end = files_end,                               \
        .release = files_release,                       \
    }

FILES_KIND(lines, "TextLine");
FILES_KIND(records, "TFRecord");

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code make_files(struct tfd_kctx *k,
                                const struct tfd_dataset_kind *kind,
                                struct tfd_status *st)
{
    enum tfd_data_compression compression;
    struct tfd_dataset *d;
    struct tfd_str name;
    int64_t size;

    if (k->in[0].shape.rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`filenames` must be a scalar or a vector.");
    TFD_TRY(tfd_check_str(k, 1, &name, st));
    TFD_TRY(tfd_data_file_compression(name, &compression, st));
    TFD_TRY(tfd_dataset_int(k, 2, "buffer_size", &size, st));
    if (size < (kind == &lines_kind ? 0 : -1))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`buffer_size` must be >= 0 (0 == %s)",
                        kind == &lines_kind ? "default" : "no buffering");
    if (k->in_count > 3 && tfd_tensor_elements(&k->in[3]) > 0 &&
        tfd_tensor_elements(&k->in[3]) < tfd_tensor_elements(&k->in[0]))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`byte_offsets` must be of same size as `filenames`");
    TFD_TRY(tfd_dataset_make(k, kind, sizeof(struct files), 0, &d, st));
    ((struct files *)d)->names = tfd_tensor_ref(&k->in[0]);
    if (k->in_count > 3)
        ((struct files *)d)->offsets = tfd_tensor_ref(&k->in[3]);
    ((struct files *)d)->compression = compression;
    return tfd_dataset_output(k, d, st);
}

static enum tfd_code lines_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_files(k, &lines_kind, st);
}

static enum tfd_code records_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_files(k, &records_kind, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define FILES(name_, more_)                                              \
    {                                                                    \
        .name = (name_),                                                 \
        .inputs = "filenames: string, compression_type: string, "        \
                  "buffer_size: int64" more_,                            \
        .outputs = "handle: variant", .attrs = "metadata: string = ''",  \
        .checks = "compression_type: scalar", .shape = tfd_shape_scalar, \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                   \
    }

static const struct tfd_opdef ops[] = {
    FILES("TextLineDataset", ""),
    FILES("TFRecordDataset", ""),
    FILES("TFRecordDatasetV2", ", byte_offsets: int64"),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("TextLineDataset", lines_compute),
    TFD_DATA_KERNEL("TFRecordDataset", records_compute),
    TFD_DATA_KERNEL("TFRecordDatasetV2", records_compute),
};

TFD_DATA_FAMILY(dataset_files);
