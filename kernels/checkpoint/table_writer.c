/*
 * table_writer.c - two block builders, one for the data block being filled and
 * one for the index.
 */
#include "kernels/checkpoint/table_writer.h"

#include "common/base/crc32c.h"
#include "common/base/pbio.h"
#include "kernels/io/table.h"

#include <assert.h>

/* Sizes inside a block are 32 bits. */
#define BLOCK_SIZE_MAX UINT32_MAX
/* A value this large gets a block of its own. */
#define LARGE (2 * TFD_TABLE_BLOCK_TARGET)

static void put_u32(struct tfd_bytes *b, uint32_t v)
{
    uint8_t out[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
                      (uint8_t)(v >> 24)};

    tfd_bytes_add(b, out, sizeof(out));
}

/* ---- Blocks ---------------------------------------------------------------
 */

static void block_reset(struct tfd_table_block *b)
{
    tfd_bytes_clear(&b->entries);
    tfd_bytes_clear(&b->restarts);
    tfd_bytes_clear(&b->last_key);
    put_u32(&b->restarts, 0);
    b->since_restart = 0;
}

static void block_init(struct tfd_table_block *b, int restart_interval)
{
    tfd_bytes_init(&b->entries, BLOCK_SIZE_MAX);
    tfd_bytes_init(&b->restarts, BLOCK_SIZE_MAX);
    tfd_bytes_init(&b->last_key, BLOCK_SIZE_MAX);
    b->restart_interval = restart_interval;
    block_reset(b);
}

static void block_deinit(struct tfd_table_block *b)
{
    tfd_bytes_deinit(&b->entries);
    tfd_bytes_deinit(&b->restarts);
    tfd_bytes_deinit(&b->last_key);
}

static size_t shared_size(struct tfd_str a, struct tfd_str b)
{
    size_t n = 0;

    while (n < a.size && n < b.size && a.data[n] == b.data[n])
        n++;
    return n;
}

static void block_add(struct tfd_table_block *b, struct tfd_str key,
                      struct tfd_str value)
{
    size_t shared = 0;

    if (b->since_restart < b->restart_interval) {
        shared = shared_size(tfd_bytes_view(&b->last_key), key);
    } else {
        put_u32(&b->restarts, (uint32_t)b->entries.size);
        b->since_restart = 0;
    }
    tfd_pb_put_varint(&b->entries, shared);
    tfd_pb_put_varint(&b->entries, key.size - shared);
    tfd_pb_put_varint(&b->entries, value.size);
    tfd_bytes_add(&b->entries, key.data + shared, key.size - shared);
    tfd_bytes_add_str(&b->entries, value);
    tfd_bytes_clear(&b->last_key);
    tfd_bytes_add_str(&b->last_key, key);
    b->since_restart++;
}

static enum tfd_code block_ok(const struct tfd_table_block *b,
                              struct tfd_status *st)
{
    TFD_TRY(tfd_bytes_ok(&b->entries, "block of a table", st));
    TFD_TRY(tfd_bytes_ok(&b->restarts, "block of a table", st));
    return tfd_bytes_ok(&b->last_key, "key of a table", st);
}

/* ---- The file -------------------------------------------------------------
 */

static enum tfd_code append_block(struct tfd_table_writer *w, const void *data,
                                  size_t size, struct tfd_status *st)
{
    TFD_TRY(w->append(w->ctx, data, size, st));
    w->offset += size;
    return TFD_OK;
}

/* Writes the block with its trailer and empties it. */
static enum tfd_code write_block(struct tfd_table_writer *w,
                                 struct tfd_table_block *b, uint64_t *offset,
                                 uint64_t *size, struct tfd_status *st)
{
    uint8_t trailer[TFD_TABLE_TRAILER_SIZE] = {TFD_TABLE_RAW};
    uint32_t crc;

    put_u32(&b->restarts, (uint32_t)(b->restarts.size / 4));
    tfd_bytes_add_str(&b->entries, tfd_bytes_view(&b->restarts));
    TFD_TRY(block_ok(b, st));
    *offset = w->offset;
    *size = b->entries.size;
    TFD_TRY(append_block(w, b->entries.data, b->entries.size, st));

    crc = tfd_crc32c(b->entries.data, b->entries.size);
    crc = tfd_crc32c_mask(tfd_crc32c_extend(crc, trailer, 1));
    for (int i = 0; i < 4; i++)
        trailer[1 + i] = (uint8_t)(crc >> (8 * i));
    block_reset(b);
    return append_block(w, trailer, sizeof(trailer), st);
}

/* Closes the data block, whose index entry is then due. */
static enum tfd_code flush(struct tfd_table_writer *w, struct tfd_status *st)
{
    if (w->data.entries.size == 0)
        return TFD_OK;
    assert(!w->pending);
    TFD_TRY(write_block(w, &w->data, &w->pending_offset, &w->pending_size, st));
    w->pending = true;
    return TFD_OK;
}

/* Shortens key to one that is not below it and below limit. */
static void shorten_below(struct tfd_bytes *key, struct tfd_str limit)
{
    size_t n = shared_size(tfd_bytes_view(key), limit);
    uint8_t differs;

    if (n == key->size || n == limit.size)
        return;
    differs = (uint8_t)key->data[n];
    if (differs < 0xff && differs + 1 < (uint8_t)limit.data[n]) {
        key->data[n] = (char)(differs + 1);
        key->size = n + 1;
    }
}

/* Shortens key to one that is not below it. */
static void shorten(struct tfd_bytes *key)
{
    for (size_t n = 0; n < key->size; n++) {
        uint8_t byte = (uint8_t)key->data[n];

        if (byte == 0xff)
            continue;
        key->data[n] = (char)(byte + 1);
        key->size = n + 1;
        return;
    }
}

/* next: the first key of the block that follows; NULL: none does. */
static void put_pending(struct tfd_table_writer *w, const struct tfd_str *next)
{
    struct tfd_bytes handle;

    if (!w->pending)
        return;
    if (next)
        shorten_below(&w->last_key, *next);
    else
        shorten(&w->last_key);
    tfd_bytes_init(&handle, 32);
    tfd_pb_put_varint(&handle, w->pending_offset);
    tfd_pb_put_varint(&handle, w->pending_size);
    block_add(&w->index, tfd_bytes_view(&w->last_key), tfd_bytes_view(&handle));
    tfd_bytes_deinit(&handle);
    w->pending = false;
}

void tfd_table_writer_init(struct tfd_table_writer *w,
                           tfd_table_append_fn *append_fn, void *ctx)
{
    *w = (struct tfd_table_writer){.append = append_fn, .ctx = ctx};
    block_init(&w->data, TFD_TABLE_RESTART_INTERVAL);
    block_init(&w->index, 1);
    tfd_bytes_init(&w->last_key, BLOCK_SIZE_MAX);
}

void tfd_table_writer_deinit(struct tfd_table_writer *w)
{
    block_deinit(&w->data);
    block_deinit(&w->index);
    tfd_bytes_deinit(&w->last_key);
}

enum tfd_code tfd_table_writer_add(struct tfd_table_writer *w,
                                   struct tfd_str key, struct tfd_str value,
                                   struct tfd_status *st)
{
    size_t estimate;

    assert(!w->any || tfd_str_cmp(tfd_bytes_view(&w->last_key), key) < 0);
    if (key.size >= BLOCK_SIZE_MAX || value.size >= BLOCK_SIZE_MAX - key.size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "table entry of %zu + %zu bytes, at most %u fit a "
                        "block",
                        key.size, value.size, (unsigned)BLOCK_SIZE_MAX);
    if (key.size + value.size >= LARGE)
        TFD_TRY(flush(w, st));
    put_pending(w, &key);
    block_add(&w->data, key, value);
    tfd_bytes_clear(&w->last_key);
    tfd_bytes_add_str(&w->last_key, key);
    w->any = true;
    TFD_TRY(block_ok(&w->data, st));
    TFD_TRY(block_ok(&w->index, st));
    TFD_TRY(tfd_bytes_ok(&w->last_key, "key of a table", st));
    estimate = w->data.entries.size + w->data.restarts.size + 4;
    return estimate >= TFD_TABLE_BLOCK_TARGET ? flush(w, st) : TFD_OK;
}

enum tfd_code tfd_table_writer_finish(struct tfd_table_writer *w,
                                      struct tfd_status *st)
{
    uint64_t offset, size;
    struct tfd_bytes footer;
    enum tfd_code rc;

    TFD_TRY(flush(w, st));
    put_pending(w, NULL);
    tfd_bytes_init(&footer, TFD_TABLE_FOOTER_SIZE);
    rc = write_block(w, &w->data, &offset, &size, st); /* metaindex */
    tfd_pb_put_varint(&footer, offset);
    tfd_pb_put_varint(&footer, size);
    if (rc == TFD_OK)
        rc = write_block(w, &w->index, &offset, &size, st);
    tfd_pb_put_varint(&footer, offset);
    tfd_pb_put_varint(&footer, size);
    while (footer.size < TFD_TABLE_FOOTER_SIZE - 8 && !footer.failed)
        tfd_bytes_add(&footer, "", 1);
    put_u32(&footer, (uint32_t)TFD_TABLE_MAGIC);
    put_u32(&footer, (uint32_t)(TFD_TABLE_MAGIC >> 32));
    if (rc == TFD_OK)
        rc = tfd_bytes_ok(&footer, "footer of a table", st);
    if (rc == TFD_OK)
        rc = append_block(w, footer.data, footer.size, st);
    tfd_bytes_deinit(&footer);
    return rc;
}
