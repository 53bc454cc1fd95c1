/*
 * fuzz_record_file.c - libFuzzer target: any bytes as a file of TFRecords, or
 * of CSV, plain or compressed.
 *
 * The first byte says which.  Beyond "no crash, no leak, no read past what is
 * there, an end that comes": a failure has words.
 */
#include "tests/support/memory_files.h"

#include "config/limits.h"
#include "kernels/data_sources/csv_record.h"
#include "kernels/data_sources/record_file.h"

#include <assert.h>

#define RECORDS_MAX 10000 /* a compressed megabyte of short ones has more */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned char sink;

/* So that every byte of it is read. */
static void touch(struct tfd_str s)
{
    for (size_t i = 0; i < s.size; i++)
        sink ^= (unsigned char)s.data[i];
}

static enum tfd_data_compression compression_of(uint8_t byte)
{
    static const enum tfd_data_compression all[] = {
        TFD_DATA_PLAIN, TFD_DATA_ZLIB, TFD_DATA_GZIP};

    return all[byte / 2 % 3];
}

static void read_records(struct memory_files *m, enum tfd_data_compression c)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_record_file f = {0};
    struct tfd_str record;
    bool end = false;
    int count = 0;

    if (tfd_record_file_open(&f, &m->access, TFD_STR("d"), c, &st) != TFD_OK)
        return;
    while (!end && count++ < RECORDS_MAX) {
        if (tfd_record_file_next(&f, &record, &end, &st) != TFD_OK)
            break;
        if (!end)
            touch(record);
    }
    tfd_record_file_close(&f);
}

static enum tfd_code see_field(void *arg, struct tfd_str field,
                               struct tfd_status *st)
{
    (void)arg;
    touch(field);
    if (field.size == 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "three letters");
    return TFD_OK;
}

static void read_csv(struct memory_files *m, enum tfd_data_compression c,
                     bool has_quotes)
{
    struct tfd_data_file file = {0};
    struct tfd_csv_reader r = {.file = &file,
                               .delimiter = ',',
                               .has_quotes = has_quotes,
                               .field = see_field};
    bool end = false;
    int count = 0;

    if (tfd_data_file_open(&file, &m->access, TFD_STR("d"), c, NULL) != TFD_OK)
        return;
    tfd_bytes_init(&r.text, TFD_DATA_RECORD_SIZE_MAX);
    while (!end && count++ < RECORDS_MAX) {
        struct tfd_status st = TFD_STATUS_INIT;

        if (tfd_csv_record(&r, &end, &st) != TFD_OK)
            assert(st.text[0] != '\0');
    }
    tfd_bytes_deinit(&r.text);
    tfd_data_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_files m;

    if (size == 0)
        return 0;
    memory_files_init(&m);
    memory_put(&m, "d", data + 1, size - 1);
    if (data[0] & 1)
        read_csv(&m, compression_of(data[0]), data[0] & 8);
    else
        read_records(&m, compression_of(data[0]));
    memory_files_deinit(&m);
    return 0;
}
