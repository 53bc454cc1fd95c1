/*
 * record_file.c - see record_file.h.
 */
#include "kernels/data_sources/record_file.h"

#include "common/base/crc32c.h"
#include "config/limits.h"

#define CHECK_SIZE 4
#define HEAD_SIZE (8 + CHECK_SIZE)

enum tfd_code tfd_record_file_open(struct tfd_record_file *f,
                                   struct tfd_file_access *a,
                                   struct tfd_str name,
                                   enum tfd_data_compression compression,
                                   struct tfd_status *st)
{
    f->compression = compression;
    f->offset = 0;
    tfd_bytes_init(&f->record, TFD_DATA_RECORD_SIZE_MAX);
    return tfd_data_file_open(&f->file, a, name, compression, st);
}

void tfd_record_file_close(struct tfd_record_file *f)
{
    tfd_data_file_close(&f->file);
    tfd_bytes_deinit(&f->record);
    *f = (struct tfd_record_file){.offset = 0};
}

static uint64_t little(const uint8_t *bytes, int count)
{
    uint64_t v = 0;

    for (int i = 0; i < count; i++)
        v |= (uint64_t)bytes[i] << 8 * i;
    return v;
}

/* `size` bytes at `at` and their check; *got: of both. */
static enum tfd_code read_checked(struct tfd_record_file *f, uint64_t at,
                                  size_t size, size_t *got,
                                  struct tfd_status *st)
{
    char *data;

    tfd_bytes_clear(&f->record);
    data = tfd_bytes_extend(&f->record, size + CHECK_SIZE);
    if (!data)
        return tfd_bytes_ok(&f->record, "a record", st);
    TFD_TRY(tfd_data_file_read(&f->file, data, size + CHECK_SIZE, got, st));
    if (*got == size + CHECK_SIZE &&
        tfd_crc32c_mask(tfd_crc32c(data, size)) !=
            (uint32_t)little((const uint8_t *)data + size, CHECK_SIZE))
        return tfd_fail(st, TFD_DATA_LOSS, "corrupted record at %llu%s",
                        (unsigned long long)at,
                        at == 0 ? " (Is this even a TFRecord file?)" : "");
    return TFD_OK;
}

/* In TensorFlow's words, its lonely quotation mark included. */
static enum tfd_code truncated(const struct tfd_record_file *f,
                               struct tfd_status *st)
{
    return tfd_fail(
        st, TFD_DATA_LOSS, "truncated record at %llu' failed with %s",
        (unsigned long long)f->offset,
        f->compression == TFD_DATA_PLAIN ? "Read less bytes than requested"
                                         : "EOF reached");
}

enum tfd_code tfd_record_file_skip_to(struct tfd_record_file *f,
                                      uint64_t offset, struct tfd_status *st)
{
    char junk[4096];

    while (f->offset < offset) {
        uint64_t left = offset - f->offset;
        size_t got;

        TFD_TRY(tfd_data_file_read(
            &f->file, junk, left < sizeof(junk) ? (size_t)left : sizeof(junk),
            &got, st));
        if (got == 0)
            return TFD_OK;
        f->offset += got;
    }
    return TFD_OK;
}

enum tfd_code tfd_record_file_next(struct tfd_record_file *f,
                                   struct tfd_str *out, bool *end,
                                   struct tfd_status *st)
{
    uint64_t length;
    size_t got;

    TFD_TRY(read_checked(f, f->offset, HEAD_SIZE - CHECK_SIZE, &got, st));
    *end = got < HEAD_SIZE;
    if (*end)
        return TFD_OK;
    length = little((const uint8_t *)f->record.data, 8);
    if (length > tfd_data_file_left(&f->file))
        return truncated(f, st);
    if (length > TFD_DATA_RECORD_SIZE_MAX - CHECK_SIZE)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a record of %llu bytes at %llu; at most %zu are "
                        "possible",
                        (unsigned long long)length,
                        (unsigned long long)f->offset,
                        TFD_DATA_RECORD_SIZE_MAX - CHECK_SIZE);
    TFD_TRY(read_checked(f, f->offset + HEAD_SIZE, (size_t)length, &got, st));
    if (got < length + CHECK_SIZE)
        return truncated(f, st);
    f->offset += length + HEAD_SIZE + CHECK_SIZE;
    *out = (struct tfd_str){f->record.data, (size_t)length};
    return TFD_OK;
}
