/*
 * bundle_table.c - a table reader on a file, and the errors of an index.
 */
#include "kernels/checkpoint/bundle_table.h"

static enum tfd_code read_at(void *ctx, uint64_t offset, void *data,
                             size_t size, struct tfd_status *st)
{
    struct tfd_bundle_table *t = ctx;

    return t->access->read_at(t->access, &t->file, offset, data, size, st);
}

enum tfd_code tfd_bundle_table_open(struct tfd_bundle_table *t,
                                    struct tfd_file_access *access,
                                    struct tfd_str name, struct tfd_status *st)
{
    struct tfd_table_source source = {.read_at = read_at, .ctx = t};
    enum tfd_code rc;

    t->access = access;
    t->file = (struct tfd_file)TFD_FILE_INIT;
    TFD_TRY(access->open_read(access, name, &t->file, st));
    source.size = t->file.size;
    rc = tfd_table_reader_init(&t->reader, source, st);
    if (rc != TFD_OK)
        access->close(access, &t->file);
    return rc;
}

void tfd_bundle_table_close(struct tfd_bundle_table *t)
{
    tfd_table_reader_deinit(&t->reader);
    t->access->close(t->access, &t->file);
}

static enum tfd_code corrupt(struct tfd_status *st, struct tfd_str name,
                             const char *detail, const struct tfd_status *cause)
{
    bool none = cause->code == TFD_OK;

    return tfd_fail(st, none ? TFD_INTERNAL : cause->code,
                    "Unable to read file (" TFD_STR_FMT "). Perhaps the file "
                    "is corrupt or was produced by a newer version of "
                    "TensorFlow with format changes (%s)%s%s",
                    TFD_STR_ARG(name), detail, none ? "" : ": ", cause->text);
}

enum tfd_code tfd_bundle_table_header(struct tfd_bundle_table *t,
                                      struct tfd_str name,
                                      struct tfd_bundle_header *h,
                                      struct tfd_status *st)
{
    struct tfd_status cause = TFD_STATUS_INIT;

    if (tfd_table_seek(&t->reader, TFD_STR_EMPTY, &cause) != TFD_OK ||
        !t->reader.valid)
        return corrupt(st, name, "failed to seek to header entry", &cause);
    if (t->reader.key.size != 0 ||
        tfd_bundle_header_take(t->reader.value, h, NULL) != TFD_OK) {
        (void)tfd_fail(&cause, TFD_DATA_LOSS,
                       "Entry for key " TFD_STR_FMT " not parseable.",
                       TFD_STR_ARG(t->reader.key));
        return corrupt(st, name, "unable to parse header", &cause);
    }
    return tfd_checkpoint_check_version(h->version, st);
}

enum tfd_code tfd_bundle_table_entry(struct tfd_bundle_table *t,
                                     struct tfd_bundle_entry *e,
                                     struct tfd_bytes *slices,
                                     struct tfd_status *st)
{
    struct tfd_status cause = TFD_STATUS_INIT;

    if (tfd_bundle_entry_take(t->reader.value, e, slices, &cause) == TFD_OK)
        return TFD_OK;
    return tfd_fail(
        st, cause.code == TFD_RESOURCE_EXHAUSTED ? cause.code : TFD_DATA_LOSS,
        "Entry for key " TFD_STR_FMT " not parseable: %s",
        TFD_STR_ARG(t->reader.key), cause.text);
}
