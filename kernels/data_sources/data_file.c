/*
 * data_file.c - see data_file.h.
 *
 *     file -> [packed, of a compressed file] -> buffer -> who reads
 */
#include "kernels/data_sources/data_file.h"

#include "config/limits.h"

#include <assert.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define BUFFER_SIZE ((size_t)256 << 10)

/* The densest element of Snappy, a copy of 64 bytes, takes three. */
#define SNAPPY_RATIO_MAX 32
#define BLOCK_HEAD 4

struct tfd_data_unpack {
    bool is_snappy;
    struct tfd_bytes block; /* of Snappy */
    z_stream z;
    bool is_over; /* the compressed stream has ended */
    char packed[BUFFER_SIZE];
};

enum tfd_code tfd_data_file_compression(struct tfd_str name,
                                        enum tfd_data_compression *out,
                                        struct tfd_status *st)
{
    static const char *const names[] = {"", "ZLIB", "GZIP"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (tfd_str_is(name, names[i])) {
            *out = (enum tfd_data_compression)i;
            return TFD_OK;
        }
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Unsupported compression_type.");
}

/* ---- Opening ------------------------------------------------------------- */

/* Window bits of zlib: 15, and 16 more for gzip's head. */
static enum tfd_code begin_unpack(struct tfd_data_file *f,
                                  enum tfd_data_compression compression,
                                  struct tfd_status *st)
{
    int bits = compression == TFD_DATA_GZIP ? 15 + 16 : 15;

    f->unpack = calloc(1, sizeof(*f->unpack));
    if (f->unpack && compression == TFD_DATA_SNAPPY) {
        f->unpack->is_snappy = true;
        tfd_bytes_init(&f->unpack->block, TFD_DATA_RECORD_SIZE_MAX);
        return TFD_OK;
    }
    if (f->unpack && inflateInit2(&f->unpack->z, bits) == Z_OK)
        return TFD_OK;
    free(f->unpack);
    f->unpack = NULL;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no memory for a compressed file");
}

enum tfd_code tfd_data_file_open(struct tfd_data_file *f,
                                 struct tfd_file_access *a, struct tfd_str name,
                                 enum tfd_data_compression compression,
                                 struct tfd_status *st)
{
    *f = (struct tfd_data_file){.access = a};
    if (!a)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "files cannot be read here");
    TFD_TRY(a->open_read(a, name, &f->file, st));
    f->is_open = true;
    f->buffer = malloc(BUFFER_SIZE);
    if (!f->buffer)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a file");
    return compression == TFD_DATA_PLAIN ? TFD_OK
                                         : begin_unpack(f, compression, st);
}

void tfd_data_file_close(struct tfd_data_file *f)
{
    if (f->unpack && f->unpack->is_snappy)
        tfd_bytes_deinit(&f->unpack->block);
    else if (f->unpack)
        (void)inflateEnd(&f->unpack->z);
    free(f->unpack);
    free(f->buffer);
    if (f->is_open)
        f->access->close(f->access, &f->file);
    *f = (struct tfd_data_file){.access = NULL};
}

/* ---- Reading ------------------------------------------------------------- */

/* The next bytes of the file itself; *got 0: there are none. */
static enum tfd_code read_file(struct tfd_data_file *f, void *data, size_t size,
                               size_t *got, struct tfd_status *st)
{
    uint64_t left = f->file.size > f->offset ? f->file.size - f->offset : 0;

    *got = left < size ? (size_t)left : size;
    if (*got == 0)
        return TFD_OK;
    TFD_TRY(f->access->read_at(f->access, &f->file, f->offset, data, *got, st));
    f->offset += *got;
    return TFD_OK;
}

/* A file may be several compressed streams, one after the other. */
static enum tfd_code unpack_some(struct tfd_data_file *f, struct tfd_status *st)
{
    struct tfd_data_unpack *u = f->unpack;
    size_t got;
    int rc;

    if (u->z.avail_in == 0) {
        TFD_TRY(read_file(f, u->packed, sizeof(u->packed), &got, st));
        if (got == 0 && !u->is_over)
            return tfd_fail(st, TFD_DATA_LOSS,
                            "a compressed file ends before its data do");
        u->z.next_in = (unsigned char *)u->packed;
        u->z.avail_in = (unsigned)got;
    }
    if (u->is_over && u->z.avail_in > 0)
        (void)inflateReset(&u->z);
    u->is_over = u->is_over && u->z.avail_in == 0;
    if (u->is_over)
        return TFD_OK;
    u->z.next_out = (unsigned char *)f->buffer;
    u->z.avail_out = (unsigned)BUFFER_SIZE;
    rc = inflate(&u->z, Z_NO_FLUSH);
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        return tfd_fail(st, TFD_DATA_LOSS, "inflate() failed with error %d: %s",
                        rc, u->z.msg ? u->z.msg : "");
    u->is_over = rc == Z_STREAM_END;
    f->have = BUFFER_SIZE - u->z.avail_out;
    return TFD_OK;
}

static enum tfd_code damaged_block(struct tfd_status *st)
{
    return tfd_fail(st, TFD_DATA_LOSS, "a block of Snappy that is damaged");
}

/* The compressed bytes of the next block; *end: there is none. */
static enum tfd_code read_block(struct tfd_data_file *f, bool *end,
                                struct tfd_status *st)
{
    struct tfd_bytes *block = &f->unpack->block;
    unsigned char head[BLOCK_HEAD];
    size_t got, size = 0;
    char *to;

    TFD_TRY(read_file(f, head, sizeof(head), &got, st));
    *end = got == 0;
    if (*end)
        return TFD_OK;
    for (int i = 0; i < BLOCK_HEAD; i++)
        size = size << 8 | head[i];
    if (got < sizeof(head))
        return damaged_block(st);
    if (size > f->file.size - f->offset)
        return tfd_fail(st, TFD_DATA_LOSS,
                        "Failed to read %zu bytes from file. Possible data "
                        "corruption.",
                        size);
    tfd_bytes_clear(block);
    to = tfd_bytes_extend(block, size);
    TFD_TRY(tfd_bytes_ok(block, "a block of Snappy", st));
    return read_file(f, to, size, &got, st);
}

/* A block is as large as who wrote it liked; the buffer grows. */
static enum tfd_code unpack_block(struct tfd_data_file *f,
                                  struct tfd_status *st)
{
    const struct tfd_bytes *block = &f->unpack->block;
    size_t size;
    char *more;
    bool end;

    TFD_TRY(read_block(f, &end, st));
    if (end)
        return TFD_OK;
    if (snappy_uncompressed_length(block->data, block->size, &size) !=
            SNAPPY_OK ||
        size / SNAPPY_RATIO_MAX > block->size)
        return damaged_block(st);
    more = size > BUFFER_SIZE ? realloc(f->buffer, size) : f->buffer;
    if (!more)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a block of %zu bytes", size);
    f->buffer = more;
    if (snappy_uncompress(block->data, block->size, f->buffer, &size) !=
        SNAPPY_OK)
        return damaged_block(st);
    f->have = size;
    return TFD_OK;
}

/* Fills the empty buffer; it stays empty at the end. */
static enum tfd_code fill_buffer(struct tfd_data_file *f, struct tfd_status *st)
{
    f->at = f->have = 0;
    if (!f->unpack)
        return read_file(f, f->buffer, BUFFER_SIZE, &f->have, st);
    if (f->unpack->is_snappy) {
        do {
            TFD_TRY(unpack_block(f, st));
        } while (f->have == 0 && f->offset < f->file.size);
        return TFD_OK;
    }
    do {
        TFD_TRY(unpack_some(f, st));
    } while (f->have == 0 &&
             !(f->unpack->is_over && f->unpack->z.avail_in == 0 &&
               f->offset >= f->file.size));
    return TFD_OK;
}

enum tfd_code tfd_data_file_read(struct tfd_data_file *f, void *data,
                                 size_t size, size_t *got,
                                 struct tfd_status *st)
{
    *got = 0;
    while (*got < size) {
        size_t n = f->have - f->at;

        if (n == 0) {
            TFD_TRY(fill_buffer(f, st));
            n = f->have;
        }
        if (n == 0)
            return TFD_OK;
        n = n < size - *got ? n : size - *got;
        memcpy((char *)data + *got, f->buffer + f->at, n);
        f->at += n;
        *got += n;
    }
    return TFD_OK;
}

uint64_t tfd_data_file_left(const struct tfd_data_file *f)
{
    if (f->unpack)
        return UINT64_MAX;
    return f->have - f->at +
           (f->file.size > f->offset ? f->file.size - f->offset : 0);
}

static void add_without_returns(struct tfd_bytes *out, const char *data,
                                size_t size)
{
    while (size > 0) {
        const char *at = memchr(data, '\r', size);
        size_t n = at ? (size_t)(at - data) : size;

        tfd_bytes_add(out, data, n);
        n += at != NULL;
        data += n;
        size -= n;
    }
}

/* raw: with carriage returns, and with the newline. */
static enum tfd_code take_line(struct tfd_data_file *f, bool raw,
                               struct tfd_bytes *out, bool *end,
                               struct tfd_status *st)
{
    const char *newline = NULL;
    bool any = false;

    tfd_bytes_clear(out);
    while (!newline) {
        size_t n;

        if (f->at == f->have)
            TFD_TRY(fill_buffer(f, st));
        n = f->have - f->at;
        if (n == 0)
            break;
        any = true;
        newline = memchr(f->buffer + f->at, '\n', n);
        if (newline)
            n = (size_t)(newline - (f->buffer + f->at));
        if (raw)
            tfd_bytes_add(out, f->buffer + f->at, n + (newline != NULL));
        else
            add_without_returns(out, f->buffer + f->at, n);
        f->at += n + (newline != NULL);
    }
    *end = !any;
    return tfd_bytes_ok(out, "a line", st);
}

enum tfd_code tfd_data_file_line(struct tfd_data_file *f, struct tfd_bytes *out,
                                 bool *end, struct tfd_status *st)
{
    return take_line(f, false, out, end, st);
}

enum tfd_code tfd_data_file_raw_line(struct tfd_data_file *f,
                                     struct tfd_bytes *out, bool *end,
                                     struct tfd_status *st)
{
    return take_line(f, true, out, end, st);
}

enum tfd_code tfd_data_file_peek(struct tfd_data_file *f, struct tfd_str *out,
                                 struct tfd_status *st)
{
    if (f->at == f->have)
        TFD_TRY(fill_buffer(f, st));
    *out = (struct tfd_str){f->buffer + f->at, f->have - f->at};
    return TFD_OK;
}

void tfd_data_file_skip(struct tfd_data_file *f, size_t size)
{
    assert(size <= f->have - f->at);
    f->at += size;
}
