/*
 * table_reader.h - reads a sorted table (kernels/io/table.h) that may be
 * damaged or made to do harm.
 *
 * Every block's checksum is verified before anything in it is believed, every
 * size is checked against the file's before memory is taken for it, and keys
 * must ascend.  Damage is DATA_LOSS with TensorFlow's texts.
 *
 *     TFD_TRY(tfd_table_reader_init(&r, source, st));
 *     rc = tfd_table_seek(&r, key, st);
 *     while (rc == TFD_OK && r.valid) {
 *         ... r.key, r.value ...
 *         rc = tfd_table_next(&r, st);
 *     }
 *     tfd_table_reader_deinit(&r);
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_TABLE_READER_H
#define TFD_KERNELS_TABLE_READER_H

#include "common/base/str.h"

/* Where the bytes come from. */
struct tfd_table_source {
    enum tfd_code (*read_at)(void *ctx, uint64_t offset, void *data,
                             size_t size, struct tfd_status *st);
    void *ctx;
    uint64_t size;
};

/* A block in memory and a position in it. */
struct tfd_table_cursor {
    struct tfd_bytes bytes; /* the block, decompressed */
    size_t entries_size;
    uint32_t restart_count;
    size_t next; /* offset of the entry after this one */
    struct tfd_bytes key;
    struct tfd_str value; /* in bytes */
    bool valid;
    bool follows; /* the next key must be above this one */
};

struct tfd_table_reader {
    struct tfd_table_source source;
    struct tfd_table_cursor index, data;
    uint64_t loaded, loaded_end; /* of the block in data, in the file;
                                  * UINT64_MAX: none is */
    /* The entry it stands at; views that hold until it is moved. */
    bool valid;
    struct tfd_str key, value;
};

/* On failure nothing has to be released. */
enum tfd_code tfd_table_reader_init(struct tfd_table_reader *r,
                                    struct tfd_table_source source,
                                    struct tfd_status *st) TFD_MUST_USE;
void tfd_table_reader_deinit(struct tfd_table_reader *r);

/* Moves to the first entry whose key is not below this one; not valid when
 * there is none. */
enum tfd_code tfd_table_seek(struct tfd_table_reader *r, struct tfd_str key,
                             struct tfd_status *st) TFD_MUST_USE;
/* From a valid entry to the next. */
enum tfd_code tfd_table_next(struct tfd_table_reader *r,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
