/*
 * table_reader.c - a cursor over the index block, and one over the data block
 * the first points to.
 *
 * Within a block a key is looked up by bisection over the restarts, where keys
 * are whole, and then entry by entry.
 */
#include "kernels/checkpoint/table_reader.h"

#include "common/base/crc32c.h"
#include "common/base/pbio.h"
#include "kernels/io/table.h"

#include <assert.h>
#include <snappy-c.h>

#define NOTHING_LOADED UINT64_MAX

static uint32_t get_u32(const char *p)
{
    const uint8_t *b = (const uint8_t *)p;

    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
           (uint32_t)b[3] << 24;
}

/* ---- Blocks ---------------------------------------------------------------
 */

static void cursor_init(struct tfd_table_cursor *c)
{
    *c = (struct tfd_table_cursor){.valid = false};
    tfd_bytes_init(&c->bytes, UINT32_MAX);
    tfd_bytes_init(&c->key, UINT32_MAX);
}

static void cursor_deinit(struct tfd_table_cursor *c)
{
    tfd_bytes_deinit(&c->bytes);
    tfd_bytes_deinit(&c->key);
}

/* Reads the block and its trailer and verifies the checksum. */
static enum tfd_code read_raw(struct tfd_table_reader *r, uint64_t offset,
                              uint64_t size, struct tfd_bytes *out,
                              struct tfd_status *st)
{
    uint64_t body = r->source.size - TFD_TABLE_FOOTER_SIZE;
    size_t n = (size_t)size + TFD_TABLE_TRAILER_SIZE;
    uint32_t stored;
    char *to;

    if (body < TFD_TABLE_TRAILER_SIZE || size > body - TFD_TABLE_TRAILER_SIZE ||
        offset > body - TFD_TABLE_TRAILER_SIZE - size)
        return tfd_fail(st, TFD_DATA_LOSS, "truncated block read");
    tfd_bytes_clear(out);
    to = tfd_bytes_extend(out, n);
    TFD_TRY(tfd_bytes_ok(out, "block of a table", st));
    TFD_TRY(r->source.read_at(r->source.ctx, offset, to, n, st));
    stored = tfd_crc32c_unmask(get_u32(to + size + 1));
    if (tfd_crc32c(to, (size_t)size + 1) != stored)
        return tfd_fail(st, TFD_DATA_LOSS, "block checksum mismatch");
    return TFD_OK;
}

/* The densest element of Snappy, a copy of 64 bytes, takes three: a block that
 * claims to hold more than this times its length lies to make us allocate. */
#define SNAPPY_RATIO_MAX 32

/* Replaces the contents of raw. */
static bool uncompress_snappy(struct tfd_str packed, struct tfd_bytes *raw)
{
    size_t size;
    char *to;

    if (snappy_uncompressed_length(packed.data, packed.size, &size) !=
            SNAPPY_OK ||
        size / SNAPPY_RATIO_MAX > packed.size)
        return false;
    tfd_bytes_clear(raw);
    to = tfd_bytes_extend(raw, size);
    return !raw->failed &&
           snappy_uncompress(packed.data, packed.size, to, &size) == SNAPPY_OK;
}

static enum tfd_code decompress(struct tfd_bytes *block, struct tfd_status *st)
{
    struct tfd_bytes raw;

    tfd_bytes_init(&raw, UINT32_MAX);
    if (!uncompress_snappy(tfd_bytes_view(block), &raw)) {
        tfd_bytes_deinit(&raw);
        return tfd_fail(st, TFD_DATA_LOSS,
                        "corrupted compressed block contents");
    }
    tfd_bytes_deinit(block);
    *block = raw;
    return TFD_OK;
}

static enum tfd_code load_block(struct tfd_table_reader *r,
                                struct tfd_table_cursor *c, uint64_t offset,
                                uint64_t size, struct tfd_status *st)
{
    uint8_t type;
    size_t n;

    c->valid = false;
    TFD_TRY(read_raw(r, offset, size, &c->bytes, st));
    type = (uint8_t)c->bytes.data[size];
    c->bytes.size = (size_t)size; /* without the trailer */
    if (type == TFD_TABLE_SNAPPY)
        TFD_TRY(decompress(&c->bytes, st));
    else if (type != TFD_TABLE_RAW)
        return tfd_fail(st, TFD_DATA_LOSS, "bad block type");

    n = c->bytes.size;
    if (n < 4)
        return tfd_fail(st, TFD_DATA_LOSS, "bad block contents");
    c->restart_count = get_u32(c->bytes.data + n - 4);
    if (c->restart_count > (n - 4) / 4)
        return tfd_fail(st, TFD_DATA_LOSS, "bad block contents");
    c->entries_size = n - 4 - 4 * (size_t)c->restart_count;
    return TFD_OK;
}

/* ---- Entries ---------------------------------------------------------------
 */

struct entry {
    uint64_t shared;
    struct tfd_str unshared, value;
};

static bool parse_entry(const struct tfd_table_cursor *c, size_t at,
                        struct entry *e)
{
    struct tfd_str rest = {c->bytes.data + at, c->entries_size - at};
    uint64_t key_size, value_size;

    if (!tfd_pb_packed_varint(&rest, &e->shared) ||
        !tfd_pb_packed_varint(&rest, &key_size) ||
        !tfd_pb_packed_varint(&rest, &value_size))
        return false;
    if (key_size > rest.size || value_size > rest.size - key_size)
        return false;
    e->unshared = (struct tfd_str){rest.data, (size_t)key_size};
    e->value = (struct tfd_str){rest.data + key_size, (size_t)value_size};
    return true;
}

/* Keys ascend when, behind what two of them share, they do. */
static bool take_entry(struct tfd_table_cursor *c, bool restart)
{
    struct entry e;
    struct tfd_str tail;

    if (!parse_entry(c, c->next, &e) || e.shared > (restart ? 0 : c->key.size))
        return false;
    tail = tfd_bytes_view(&c->key);
    tail.data += e.shared;
    tail.size -= (size_t)e.shared;
    if (c->follows && tfd_str_cmp(tail, e.unshared) >= 0)
        return false;
    c->key.size = (size_t)e.shared;
    tfd_bytes_add_str(&c->key, e.unshared);
    c->value = e.value;
    c->next = (size_t)(e.value.data + e.value.size - c->bytes.data);
    c->valid = c->follows = true;
    return !c->key.failed;
}

static enum tfd_code cursor_next(struct tfd_table_cursor *c, bool restart,
                                 struct tfd_status *st)
{
    c->valid = false;
    if (c->next == c->entries_size || take_entry(c, restart))
        return TFD_OK;
    c->valid = false;
    return tfd_fail(st, TFD_DATA_LOSS, "bad entry in block");
}

static enum tfd_code cursor_first(struct tfd_table_cursor *c,
                                  struct tfd_status *st)
{
    c->next = 0;
    return cursor_next(c, true, st);
}

/* The last restart whose key is below `key`, or the first one. */
static bool find_restart(const struct tfd_table_cursor *c, struct tfd_str key,
                         size_t *offset)
{
    const char *restarts = c->bytes.data + c->entries_size;
    uint32_t low = 0, high = c->restart_count - 1;
    struct entry e;

    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        size_t at = get_u32(restarts + 4 * (size_t)middle);

        if (at >= c->entries_size || !parse_entry(c, at, &e) || e.shared != 0)
            return false;
        if (tfd_str_cmp(e.unshared, key) < 0)
            low = middle;
        else
            high = middle - 1;
    }
    *offset = get_u32(restarts + 4 * (size_t)low);
    return *offset <= c->entries_size;
}

/* To the first entry not below key; not valid when the block has none. */
static enum tfd_code cursor_seek(struct tfd_table_cursor *c, struct tfd_str key,
                                 struct tfd_status *st)
{
    c->valid = c->follows = false;
    if (c->restart_count == 0)
        return TFD_OK;
    if (!find_restart(c, key, &c->next))
        return tfd_fail(st, TFD_DATA_LOSS, "bad entry in block");
    TFD_TRY(cursor_next(c, true, st));
    while (c->valid && tfd_str_cmp(tfd_bytes_view(&c->key), key) < 0)
        TFD_TRY(cursor_next(c, false, st));
    return TFD_OK;
}

/* ---- The table ------------------------------------------------------------
 */

static bool take_handle(struct tfd_str *from, uint64_t *offset, uint64_t *size)
{
    return tfd_pb_packed_varint(from, offset) &&
           tfd_pb_packed_varint(from, size);
}

/* Loads the block the index cursor points to, if it is not the one there is. */
static enum tfd_code load_data(struct tfd_table_reader *r,
                               struct tfd_status *st)
{
    struct tfd_str handle = r->index.value;
    uint64_t offset, size;

    if (!take_handle(&handle, &offset, &size))
        return tfd_fail(st, TFD_DATA_LOSS, "bad block handle");
    if (offset == r->loaded)
        return TFD_OK;
    r->loaded = NOTHING_LOADED;
    TFD_TRY(load_block(r, &r->data, offset, size, st));
    r->loaded = offset;
    r->loaded_end = offset + size;
    return TFD_OK;
}

/* To the first entry of the next block that has one.  Blocks come in the order
 * of the file, so a hostile index cannot make us read them again and again. */
static enum tfd_code next_block(struct tfd_table_reader *r,
                                struct tfd_status *st)
{
    while (!r->data.valid) {
        uint64_t end = r->loaded_end;

        TFD_TRY(cursor_next(&r->index, false, st));
        if (!r->index.valid)
            return TFD_OK;
        TFD_TRY(load_data(r, st));
        if (r->loaded < end)
            return tfd_fail(st, TFD_DATA_LOSS, "bad block handle");
        TFD_TRY(cursor_first(&r->data, st));
    }
    return TFD_OK;
}

/* Publishes where the data cursor stands. */
static enum tfd_code arrive(struct tfd_table_reader *r, enum tfd_code rc)
{
    r->valid = rc == TFD_OK && r->data.valid;
    r->key = r->valid ? tfd_bytes_view(&r->data.key) : TFD_STR_EMPTY;
    r->value = r->valid ? r->data.value : TFD_STR_EMPTY;
    return rc;
}

static enum tfd_code seek(struct tfd_table_reader *r, struct tfd_str key,
                          struct tfd_status *st)
{
    r->data.valid = false;
    TFD_TRY(cursor_seek(&r->index, key, st));
    if (!r->index.valid)
        return TFD_OK;
    TFD_TRY(load_data(r, st));
    TFD_TRY(cursor_seek(&r->data, key, st));
    return next_block(r, st);
}

enum tfd_code tfd_table_seek(struct tfd_table_reader *r, struct tfd_str key,
                             struct tfd_status *st)
{
    return arrive(r, seek(r, key, st));
}

enum tfd_code tfd_table_next(struct tfd_table_reader *r, struct tfd_status *st)
{
    enum tfd_code rc;

    assert(r->valid);
    rc = cursor_next(&r->data, false, st);
    return arrive(r, rc == TFD_OK ? next_block(r, st) : rc);
}

static enum tfd_code open_index(struct tfd_table_reader *r,
                                struct tfd_status *st)
{
    char footer[TFD_TABLE_FOOTER_SIZE];
    struct tfd_str rest = {footer, TFD_TABLE_FOOTER_SIZE - 8};
    uint64_t offset, size, magic;

    if (r->source.size < TFD_TABLE_FOOTER_SIZE)
        return tfd_fail(st, TFD_DATA_LOSS,
                        "file is too short to be an sstable");
    TFD_TRY(r->source.read_at(r->source.ctx,
                              r->source.size - TFD_TABLE_FOOTER_SIZE, footer,
                              sizeof(footer), st));
    magic = get_u32(footer + TFD_TABLE_FOOTER_SIZE - 8) |
            (uint64_t)get_u32(footer + TFD_TABLE_FOOTER_SIZE - 4) << 32;
    if (magic != TFD_TABLE_MAGIC)
        return tfd_fail(st, TFD_DATA_LOSS, "not an sstable (bad magic number)");
    /* The metaindex is empty and not read. */
    if (!take_handle(&rest, &offset, &size) ||
        !take_handle(&rest, &offset, &size))
        return tfd_fail(st, TFD_DATA_LOSS, "bad block handle");
    return load_block(r, &r->index, offset, size, st);
}

enum tfd_code tfd_table_reader_init(struct tfd_table_reader *r,
                                    struct tfd_table_source source,
                                    struct tfd_status *st)
{
    enum tfd_code rc;

    *r = (struct tfd_table_reader){.source = source, .loaded = NOTHING_LOADED};
    r->key = r->value = TFD_STR_EMPTY;
    cursor_init(&r->index);
    cursor_init(&r->data);
    rc = open_index(r, st);
    if (rc != TFD_OK)
        tfd_table_reader_deinit(r);
    return rc;
}

void tfd_table_reader_deinit(struct tfd_table_reader *r)
{
    cursor_deinit(&r->index);
    cursor_deinit(&r->data);
}
