/*
 * dataset_records.c - records that all have one length.
 *
 *     file: [header] [record] [record] ... [footer]
 *
 * So many bytes as the footer has are read ahead: what is left of them at the
 * end is the footer.
 */
#include "kernels/data/data_table.h"
#include "kernels/data_sources/data_file.h"

#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

struct fixed {
    struct tfd_dataset dataset;
    struct tfd_tensor names;
    int64_t header, record, footer; /* bytes */
    enum tfd_data_compression compression;
};

struct fixed_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_data_file file;
    int64_t next; /* name */
    int64_t records;
    bool is_open;
    struct tfd_bytes ahead;
};

static void fixed_release(struct tfd_dataset *d)
{
    tfd_tensor_unref(&((struct fixed *)d)->names);
}

static enum tfd_code fixed_begin(struct tfd_data_iterator *it,
                                 struct tfd_status *st)
{
    (void)st;
    tfd_bytes_init(&((struct fixed_iterator *)it)->ahead,
                   2 * TFD_DATA_RECORD_SIZE_MAX);
    return TFD_OK;
}

static void leave(struct fixed_iterator *i)
{
    tfd_data_file_close(&i->file);
    i->is_open = false;
    i->records = 0;
    tfd_bytes_clear(&i->ahead);
}

static void fixed_end(struct tfd_data_iterator *it)
{
    struct fixed_iterator *i = (struct fixed_iterator *)it;

    leave(i);
    tfd_bytes_deinit(&i->ahead);
}

static struct tfd_str fixed_name(const struct fixed_iterator *i, int64_t number)
{
    const struct fixed *d = (const struct fixed *)i->iterator.dataset;
    const struct tfd_tstring *names = tfd_tensor_data(&d->names);

    return tfd_tstring_view(&names[number]);
}

static enum tfd_code wrong_length(const struct fixed_iterator *i,
                                  int64_t number, enum tfd_code code,
                                  uint64_t body, struct tfd_status *st)
{
    const struct fixed *d = (const struct fixed *)i->iterator.dataset;

    return tfd_fail(st, code,
                    "Excluding the header (%lld bytes) and footer (%lld "
                    "bytes), input file \"" TFD_STR_FMT
                    "\" has body length %llu bytes, which is not an exact "
                    "multiple of the record length (%lld bytes).",
                    (long long)d->header, (long long)d->footer,
                    TFD_STR_ARG(fixed_name(i, number)),
                    (unsigned long long)body, (long long)d->record);
}

/* ---- Opening ------------------------------------------------------------- */

/* `size` bytes behind what was read ahead; *got: how many there were. */
static enum tfd_code read_ahead(struct fixed_iterator *i, int64_t size,
                                size_t *got, struct tfd_status *st)
{
    char *to;

    *got = 0;
    if (size == 0)
        return TFD_OK;
    to = tfd_bytes_extend(&i->ahead, (size_t)size);
    if (!to)
        return tfd_bytes_ok(&i->ahead, "a record", st);
    TFD_TRY(tfd_data_file_read(&i->file, to, (size_t)size, got, st));
    i->ahead.size -= (size_t)size - *got;
    return TFD_OK;
}

static enum tfd_code skip_header(struct fixed_iterator *i, bool *is_cut,
                                 struct tfd_status *st)
{
    const struct fixed *d = (const struct fixed *)i->iterator.dataset;
    char junk[4096];
    int64_t left = d->header;
    size_t got;

    *is_cut = false;
    while (left > 0 && !*is_cut) {
        size_t want =
            left < (int64_t)sizeof(junk) ? (size_t)left : sizeof(junk);

        TFD_TRY(tfd_data_file_read(&i->file, junk, want, &got, st));
        *is_cut = got < want;
        left -= (int64_t)got;
    }
    if (*is_cut)
        return TFD_OK;
    TFD_TRY(read_ahead(i, d->footer, &got, st));
    *is_cut = got < (size_t)d->footer;
    return TFD_OK;
}

/* Of a plain file the length is known. */
static enum tfd_code check_length(struct fixed_iterator *i,
                                  struct tfd_status *st)
{
    const struct fixed *d = (const struct fixed *)i->iterator.dataset;
    uint64_t around = (uint64_t)d->header + (uint64_t)d->footer;
    uint64_t size = tfd_data_file_left(&i->file);

    if (d->compression != TFD_DATA_PLAIN)
        return TFD_OK;
    if (size >= around && (size - around) % (uint64_t)d->record == 0)
        return TFD_OK;
    return wrong_length(i, i->next, TFD_INVALID_ARGUMENT, size - around, st);
}

/* A plain file that cannot be read is tried again, as TensorFlow does. */
static enum tfd_code open_file(struct fixed_iterator *i, struct tfd_status *st)
{
    const struct fixed *d = (const struct fixed *)i->iterator.dataset;
    bool is_cut = false;
    enum tfd_code rc;

    rc = tfd_data_file_open(&i->file, d->dataset.task.files,
                            fixed_name(i, i->next), d->compression, st);
    if (rc == TFD_OK)
        rc = check_length(i, st);
    if (rc != TFD_OK) {
        leave(i);
        return rc;
    }
    i->is_open = true;
    i->next++;
    rc = skip_header(i, &is_cut, st);
    if (rc == TFD_OK && is_cut)
        rc = tfd_fail(st, TFD_DATA_LOSS,
                      "the file \"" TFD_STR_FMT "\" ends within its header",
                      TFD_STR_ARG(fixed_name(i, i->next - 1)));
    if (rc != TFD_OK)
        leave(i);
    return rc;
}

/* ---- Records ------------------------------------------------------------- */

/* *got: a record; else the file is over. */
static enum tfd_code read_fixed(struct fixed_iterator *i,
                                struct tfd_tensor *out, bool *got,
                                struct tfd_status *st)
{
    const struct fixed *d = (const struct fixed *)i->iterator.dataset;
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_str record;
    size_t bytes;

    TFD_TRY(read_ahead(i, d->record, &bytes, st));
    *got = bytes == (size_t)d->record;
    if (!*got && bytes > 0)
        return wrong_length(i, i->next - 1, TFD_DATA_LOSS,
                            (uint64_t)i->records * (uint64_t)d->record + bytes,
                            st);
    if (!*got)
        return TFD_OK;
    record = (struct tfd_str){i->ahead.data, (size_t)d->record};
    TFD_TRY(tfd_tensor_new(out, TFD_STRING, &scalar, st));
    TFD_TRY(tfd_tstring_set(tfd_tensor_data(out), record, st));
    memmove(i->ahead.data, i->ahead.data + d->record, (size_t)d->footer);
    i->ahead.size = (size_t)d->footer;
    i->records++;
    return TFD_OK;
}

static enum tfd_code fixed_next(struct tfd_data_iterator *it,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    struct fixed_iterator *i = (struct fixed_iterator *)it;
    int64_t count =
        tfd_tensor_elements(&((const struct fixed *)it->dataset)->names);
    bool got = false;

    while (!got && (i->is_open || i->next < count)) {
        enum tfd_code rc;

        if (!i->is_open)
            TFD_TRY(open_file(i, st));
        rc = read_fixed(i, out, &got, st);
        if (rc != TFD_OK || !got)
            leave(i);
        TFD_TRY(rc);
    }
    *end = !got;
    return TFD_OK;
}

#define FIXED_KIND(id, name_)                           \
    static const struct tfd_dataset_kind id##_kind = {  \
        .name = name_,                                  \
        .iterator_size = sizeof(struct fixed_iterator), \
        .begin = fixed_begin,                           \
        .next = fixed_next,                             \
        .end = fixed_end,                               \
        .release = fixed_release,                       \
    }

FIXED_KIND(first, "FixedLengthRecord");
FIXED_KIND(second, "FixedLengthRecordV2");

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code read_size(const struct tfd_kctx *k, int in,
                               const char *name, int64_t least, int64_t *out,
                               struct tfd_status *st)
{
    TFD_TRY(tfd_dataset_int(k, in, name, out, st));
    if (*out < least)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "`%s` must be %s", name,
                        least > 0 ? "> 0" : ">= 0");
    if ((uint64_t)*out <= TFD_DATA_RECORD_SIZE_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s is %lld; at most %zu are possible", name,
                    (long long)*out, TFD_DATA_RECORD_SIZE_MAX);
}

static enum tfd_code make_fixed(struct tfd_kctx *k,
                                const struct tfd_dataset_kind *kind,
                                struct tfd_str compression,
                                struct tfd_status *st)
{
    struct fixed x = {.header = 0};
    struct tfd_dataset *d;
    int64_t buffer;

    if (k->in[0].shape.rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`filenames` must be a scalar or a vector.");
    TFD_TRY(read_size(k, 1, "header_bytes", 0, &x.header, st));
    TFD_TRY(read_size(k, 2, "record_bytes", 1, &x.record, st));
    TFD_TRY(read_size(k, 3, "footer_bytes", 0, &x.footer, st));
    TFD_TRY(tfd_dataset_int(k, 4, "buffer_size", &buffer, st));
    if (buffer < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "`buffer_size` must be >= 0");
    TFD_TRY(tfd_data_file_compression(compression, &x.compression, st));
    TFD_TRY(tfd_dataset_make(k, kind, sizeof(x), 0, &d, st));
    x.dataset = *d;
    x.names = tfd_tensor_ref(&k->in[0]);
    *(struct fixed *)d = x;
    return tfd_dataset_output(k, d, st);
}

static enum tfd_code first_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_fixed(k, &first_kind, TFD_STR_EMPTY, st);
}

static enum tfd_code second_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_str compression;

    TFD_TRY(tfd_check_str(k, 5, &compression, st));
    return make_fixed(k, &second_kind, compression, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define FIXED(name_, more_)                                             \
    {                                                                   \
        .name = (name_),                                                \
        .inputs = "filenames: string, header_bytes: int64, "            \
                  "record_bytes: int64, footer_bytes: int64, "          \
                  "buffer_size: int64" more_,                           \
        .outputs = "handle: variant", .attrs = "metadata: string = ''", \
        .shape = tfd_shape_scalar,                                      \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                  \
    }

static const struct tfd_opdef ops[] = {
    FIXED("FixedLengthRecordDataset", ""),
    FIXED("FixedLengthRecordDatasetV2", ", compression_type: string"),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("FixedLengthRecordDataset", first_compute),
    TFD_DATA_KERNEL("FixedLengthRecordDatasetV2", second_compute),
};

TFD_DATA_FAMILY(dataset_records);
