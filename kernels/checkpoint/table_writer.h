/*
 * table_writer.h - writes a sorted table (kernels/io/table.h), byte for byte as
 * TensorFlow's writer does.
 *
 *     tfd_table_writer_init(&w, append, ctx);
 *     rc = tfd_table_writer_add(&w, key, value, st);      keys ascend
 *     rc = rc ? rc : tfd_table_writer_finish(&w, st);
 *     tfd_table_writer_deinit(&w);
 *
 * Bytes go to `append` in order, a block at a time; nothing else is kept but
 * the index.
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_TABLE_WRITER_H
#define TFD_KERNELS_TABLE_WRITER_H

#include "common/base/str.h"

typedef enum tfd_code tfd_table_append_fn(void *ctx, const void *data,
                                          size_t size, struct tfd_status *st);

struct tfd_table_block {
    struct tfd_bytes entries;
    struct tfd_bytes restarts; /* as they will be written */
    struct tfd_bytes last_key;
    int since_restart;
    int restart_interval;
};

struct tfd_table_writer {
    tfd_table_append_fn *append;
    void *ctx;
    uint64_t offset; /* bytes appended */
    struct tfd_table_block data, index;
    struct tfd_bytes last_key;
    bool any; /* entry was added */
    /* A finished data block gets its index entry when the next key is known,
     * so that a short key between the two can be chosen. */
    bool pending;
    uint64_t pending_offset, pending_size;
};

void tfd_table_writer_init(struct tfd_table_writer *w,
                           tfd_table_append_fn *append, void *ctx);
void tfd_table_writer_deinit(struct tfd_table_writer *w);

enum tfd_code tfd_table_writer_add(struct tfd_table_writer *w,
                                   struct tfd_str key, struct tfd_str value,
                                   struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_table_writer_finish(struct tfd_table_writer *w,
                                      struct tfd_status *st) TFD_MUST_USE;

#endif
