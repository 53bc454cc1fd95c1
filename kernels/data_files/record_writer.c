/*
 * record_writer.c - see record_writer.h.
 *
 *     zlib, gzip   one stream
 *     Snappy       blocks: [u32 size, its high byte first][compressed bytes],
 *                  each of at most 256 KiB, as readers have a buffer for one
 */
#include "kernels/data_files/record_writer.h"

#include "common/base/crc32c.h"
#include "config/limits.h"

#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define CHUNK_SIZE ((size_t)64 << 10)
#define BLOCK_SIZE ((size_t)256 << 10)
#define BLOCK_HEAD 4
#define ZLIB_BITS 15
#define GZIP_BITS (15 + 16)

struct tfd_record_packing {
    bool is_snappy;
    z_stream z;
    unsigned char packed[CHUNK_SIZE];
    size_t size; /* of the block so far */
    char block[BLOCK_SIZE];
};

/* ---- Compressing --------------------------------------------------------- */

static enum tfd_code put_deflated(struct tfd_record_writer *w, const void *data,
                                  size_t size, int flush, struct tfd_status *st)
{
    struct tfd_record_packing *p = w->packing;
    int rc;

    p->z.next_in = (unsigned char *)(uintptr_t)data;
    p->z.avail_in = (unsigned)size;
    do {
        p->z.next_out = p->packed;
        p->z.avail_out = (unsigned)CHUNK_SIZE;
        rc = deflate(&p->z, flush);
        if (rc == Z_STREAM_ERROR)
            return tfd_fail(st, TFD_INTERNAL, "deflate() failed");
        TFD_TRY(tfd_file_draft_write(&w->draft, p->packed,
                                     CHUNK_SIZE - p->z.avail_out, st));
    } while (p->z.avail_out == 0);
    return TFD_OK;
}

static enum tfd_code put_block(struct tfd_record_writer *w,
                               struct tfd_status *st)
{
    struct tfd_record_packing *p = w->packing;
    size_t size = snappy_max_compressed_length(p->size);
    char *out = malloc(BLOCK_HEAD + size);
    enum tfd_code rc;

    if (!out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a block");
    rc =
        snappy_compress(p->block, p->size, out + BLOCK_HEAD, &size) == SNAPPY_OK
            ? TFD_OK
            : tfd_fail(st, TFD_INTERNAL, "Failed to compress using snappy.");
    for (int i = 0; i < BLOCK_HEAD; i++)
        out[i] = (char)(unsigned char)(size >> 8 * (BLOCK_HEAD - 1 - i));
    if (rc == TFD_OK)
        rc = tfd_file_draft_write(&w->draft, out, BLOCK_HEAD + size, st);
    free(out);
    p->size = 0;
    return rc;
}

static enum tfd_code put_blocks(struct tfd_record_writer *w, const char *data,
                                size_t size, struct tfd_status *st)
{
    struct tfd_record_packing *p = w->packing;

    while (size > 0) {
        size_t room = BLOCK_SIZE - p->size, n = size < room ? size : room;

        memcpy(p->block + p->size, data, n);
        p->size += n;
        data += n;
        size -= n;
        if (p->size == BLOCK_SIZE)
            TFD_TRY(put_block(w, st));
    }
    return TFD_OK;
}

static enum tfd_code put_bytes(struct tfd_record_writer *w, const void *data,
                               size_t size, struct tfd_status *st)
{
    if (!w->packing)
        return tfd_file_draft_write(&w->draft, data, size, st);
    if (w->packing->is_snappy)
        return put_blocks(w, data, size, st);
    return put_deflated(w, data, size, Z_NO_FLUSH, st);
}

static enum tfd_code end_packing(struct tfd_record_writer *w,
                                 struct tfd_status *st)
{
    if (!w->packing)
        return TFD_OK;
    if (!w->packing->is_snappy)
        return put_deflated(w, NULL, 0, Z_FINISH, st);
    return w->packing->size > 0 ? put_block(w, st) : TFD_OK;
}

/* ---- Opening, closing ---------------------------------------------------- */

static enum tfd_code begin_packing(struct tfd_record_writer *w,
                                   enum tfd_data_compression compression,
                                   struct tfd_status *st)
{
    struct tfd_record_packing *p = calloc(1, sizeof(*p));

    if (!p)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to compress a file");
    p->is_snappy = compression == TFD_DATA_SNAPPY;
    if (!p->is_snappy &&
        deflateInit2(&p->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                     compression == TFD_DATA_GZIP ? GZIP_BITS : ZLIB_BITS, 9,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        free(p);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to compress a file");
    }
    w->packing = p;
    return TFD_OK;
}

enum tfd_code tfd_record_writer_open(struct tfd_record_writer *w,
                                     struct tfd_file_access *a,
                                     struct tfd_str name,
                                     enum tfd_data_compression compression,
                                     struct tfd_status *st)
{
    enum tfd_code rc;

    *w = (struct tfd_record_writer){.is_open = false};
    TFD_TRY(tfd_file_draft_open(&w->draft, a, name, st));
    w->is_open = true;
    if (compression == TFD_DATA_PLAIN)
        return TFD_OK;
    rc = begin_packing(w, compression, st);
    if (rc != TFD_OK)
        tfd_record_writer_deinit(w);
    return rc;
}

void tfd_record_writer_deinit(struct tfd_record_writer *w)
{
    if (w->packing && !w->packing->is_snappy)
        (void)deflateEnd(&w->packing->z);
    free(w->packing);
    if (w->is_open)
        tfd_file_draft_deinit(&w->draft);
    *w = (struct tfd_record_writer){.is_open = false};
}

/* ---- Records ------------------------------------------------------------- */

static void put_little(uint8_t *out, uint64_t value, int count)
{
    for (int i = 0; i < count; i++)
        out[i] = (uint8_t)(value >> 8 * i);
}

static enum tfd_code check_record(struct tfd_str record, struct tfd_status *st)
{
    if (record.size <= TFD_DATA_RECORD_SIZE_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "a record of %zu bytes; at most %zu are possible",
                    record.size, TFD_DATA_RECORD_SIZE_MAX);
}

enum tfd_code tfd_record_writer_put_bare(struct tfd_record_writer *w,
                                         struct tfd_str record,
                                         struct tfd_status *st)
{
    uint8_t head[8];

    TFD_TRY(check_record(record, st));
    put_little(head, record.size, 8);
    TFD_TRY(put_bytes(w, head, sizeof(head), st));
    return put_bytes(w, record.data, record.size, st);
}

enum tfd_code tfd_record_writer_put(struct tfd_record_writer *w,
                                    struct tfd_str record,
                                    struct tfd_status *st)
{
    uint8_t head[12], tail[4];

    TFD_TRY(check_record(record, st));
    put_little(head, record.size, 8);
    put_little(head + 8, tfd_crc32c_mask(tfd_crc32c(head, 8)), 4);
    put_little(tail, tfd_crc32c_mask(tfd_crc32c(record.data, record.size)), 4);
    TFD_TRY(put_bytes(w, head, sizeof(head), st));
    TFD_TRY(put_bytes(w, record.data, record.size, st));
    return put_bytes(w, tail, sizeof(tail), st);
}

enum tfd_code tfd_record_writer_finish(struct tfd_record_writer *w,
                                       struct tfd_status *st)
{
    TFD_TRY(end_packing(w, st));
    TFD_TRY(tfd_file_draft_seal(&w->draft, st));
    return tfd_file_draft_publish(&w->draft, st);
}
