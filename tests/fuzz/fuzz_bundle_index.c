/*
 * fuzz_bundle_index.c - checkpoints of both formats from any bytes: no crash,
 * no leak, no read past a buffer, no memory beyond the input's measure.
 *
 * A checksum would stop nearly every input at the first block, so the first
 * byte says what the rest is:
 *
 *   0   a whole file
 *   1   a data block, put into a table with a correct checksum
 *   2   entries, written as a correct table: u8 size of key, key, u16
 *       little-endian size of value, value; the header is there already
 *
 * clang -fsanitize=fuzzer,address,undefined
 */
#include "tests/support/memory_files.h"

#include "kernels/checkpoint/checkpoint_reader.h"
#include "common/base/crc32c.h"
#include "kernels/io/table.h"
#include "kernels/checkpoint/table_writer.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum tfd_code append(void *ctx, const void *data, size_t size,
                            struct tfd_status *st)
{
    tfd_bytes_add(ctx, data, size);
    return tfd_bytes_ok(ctx, "table", st);
}

static void put_u32(struct tfd_bytes *b, uint32_t v)
{
    for (int i = 0; i < 4; i++, v >>= 8)
        tfd_bytes_add(b, &(char){(char)v}, 1);
}

static void put_varint(struct tfd_bytes *b, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        tfd_bytes_add(b, &(char){(char)(v | 128)}, 1);
    tfd_bytes_add(b, &(char){(char)v}, 1);
}

/* Appends the block with its trailer, and its handle to `handle`. */
static void put_block(struct tfd_bytes *file, struct tfd_str block, char type,
                      struct tfd_bytes *handle)
{
    uint32_t crc = tfd_crc32c(block.data, block.size);

    put_varint(handle, file->size);
    put_varint(handle, block.size);
    tfd_bytes_add_str(file, block);
    tfd_bytes_add(file, &type, 1);
    put_u32(file, tfd_crc32c_mask(tfd_crc32c_extend(crc, &type, 1)));
}

/* The first byte of the input is the block's type. */
static void wrap_block(struct tfd_str in, struct tfd_bytes *file)
{
    char type = in.size > 0 ? (char)(in.data[0] & 3) : 0;
    struct tfd_bytes handle, index, footer;

    if (in.size > 0)
        in = (struct tfd_str){in.data + 1, in.size - 1};
    tfd_bytes_init(&handle, 64);
    tfd_bytes_init(&index, 128);
    tfd_bytes_init(&footer, 64);
    put_block(file, in, type, &handle);
    tfd_bytes_add(&index, "\0\1", 2);
    put_varint(&index, handle.size);
    tfd_bytes_add(&index, "\xff", 1);
    tfd_bytes_add_str(&index, tfd_bytes_view(&handle));
    put_u32(&index, 0);
    put_u32(&index, 1);
    tfd_bytes_add(&footer, "\0\0", 2);
    put_block(file, tfd_bytes_view(&index), 0, &footer);
    while (footer.size < TFD_TABLE_FOOTER_SIZE - 8)
        tfd_bytes_add(&footer, "", 1);
    tfd_bytes_add_str(file, tfd_bytes_view(&footer));
    put_u32(file, (uint32_t)TFD_TABLE_MAGIC);
    put_u32(file, (uint32_t)(TFD_TABLE_MAGIC >> 32));
    tfd_bytes_deinit(&handle);
    tfd_bytes_deinit(&index);
    tfd_bytes_deinit(&footer);
}

static bool take(struct tfd_str *rest, size_t size, struct tfd_str *part)
{
    if (rest->size < size)
        return false;
    *part = (struct tfd_str){rest->data, size};
    rest->data += size;
    rest->size -= size;
    return true;
}

static void write_entries(struct tfd_str in, struct tfd_bytes *file)
{
    struct tfd_str last = TFD_STR_EMPTY, head, key, value;
    struct tfd_table_writer w;
    bool ok, header_given = in.size > 0 && in.data[0] == 0;

    tfd_table_writer_init(&w, append, file);
    ok = header_given ||
         tfd_table_writer_add(&w, TFD_STR_EMPTY,
                              TFD_STR("\x08\x01\x1a\x02\x08\x01"),
                              NULL) == TFD_OK;
    for (bool first = header_given; ok; first = false) {
        if (!take(&in, 1, &head) || !take(&in, (uint8_t)head.data[0], &key) ||
            !take(&in, 2, &head) ||
            !take(&in,
                  (size_t)((uint8_t)head.data[0] | (uint8_t)head.data[1] << 8),
                  &value))
            break;
        if (!first && tfd_str_cmp(last, key) >= 0)
            continue;
        ok = tfd_table_writer_add(&w, key, value, NULL) == TFD_OK;
        last = key;
    }
    if (ok)
        (void)!tfd_table_writer_finish(&w, NULL);
    tfd_table_writer_deinit(&w);
}

/* Restores each tensor the file names, whole and in two halves. */
static void restore_all(struct tfd_checkpoint_reader *r,
                        struct tfd_bundle_table *names)
{
    struct tfd_table_reader *t = &names->reader;
    enum tfd_code rc = tfd_table_seek(t, TFD_STR_EMPTY, NULL);

    for (; rc == TFD_OK && t->valid; rc = tfd_table_next(t, NULL)) {
        static const char *const specs[] = {"", "4 2 1,2:-", "2 0,1"};
        enum tfd_dtype dtype;
        struct tfd_shape shape;

        if (tfd_checkpoint_reader_find(r, t->key, &dtype, &shape, NULL) !=
            TFD_OK)
            continue;
        for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
            struct tfd_tensor out = TFD_TENSOR_INIT;

            if (tfd_checkpoint_reader_restore(r, t->key, tfd_str_of(specs[i]),
                                              dtype, &out, NULL) == TFD_OK)
                tfd_tensor_unref(&out);
        }
    }
}

static void read_file(struct memory_files *m, const char *file,
                      const char *prefix)
{
    struct tfd_checkpoint_reader r;
    struct tfd_bundle_table names;
    enum tfd_code rc;

    rc = tfd_checkpoint_reader_open(&r, &m->access, tfd_str_of(prefix), NULL);
    if (rc != TFD_OK)
        return;
    if (tfd_bundle_table_open(&names, &m->access, tfd_str_of(file), NULL) ==
        TFD_OK) {
        restore_all(&r, &names);
        tfd_bundle_table_close(&names);
    }
    /* The names the seeds have, which V1 keeps in its contents only. */
    for (const char *name = "wsipe"; *name; name++) {
        struct tfd_str n = {name, 1};
        struct tfd_tensor out = TFD_TENSOR_INIT;
        enum tfd_dtype dtype;
        struct tfd_shape shape;

        if (tfd_checkpoint_reader_find(&r, n, &dtype, &shape, NULL) == TFD_OK &&
            tfd_checkpoint_reader_restore(&r, n, TFD_STR_EMPTY, dtype, &out,
                                          NULL) == TFD_OK)
            tfd_tensor_unref(&out);
    }
    tfd_checkpoint_reader_close(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_str in = {(const char *)data + 1, size - 1};
    static const char zeros[256];
    struct memory_files m;
    struct tfd_bytes file;

    if (size == 0)
        return 0;
    tfd_bytes_init(&file, 1u << 22);
    if (data[0] % 3 == 1)
        wrap_block(in, &file);
    else if (data[0] % 3 == 2)
        write_entries(in, &file);
    else
        tfd_bytes_add_str(&file, in);

    memory_files_init(&m);
    memory_put(&m, "x.data-00000-of-00001", zeros, sizeof(zeros));
    memory_put(&m, "x.index", file.data, file.size);
    memory_put(&m, "y", file.data, file.size);
    read_file(&m, "x.index", "x");
    read_file(&m, "y", "y");
    memory_files_deinit(&m);
    tfd_bytes_deinit(&file);
    return 0;
}
