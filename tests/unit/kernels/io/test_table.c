/*
 * test_table.c - kernels/checkpoint/table_writer.c and table_reader.c: what is
 * written is read, a damaged table never crashes, and no damage goes unnoticed.
 *
 * That the bytes are TensorFlow's is shown in test_bundle.c.
 */
#include "common/base/crc32c.h"
#include "kernels/io/table.h"
#include "kernels/checkpoint/table_reader.h"
#include "kernels/checkpoint/table_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static enum tfd_code append(void *ctx, const void *data, size_t size,
                            struct tfd_status *st)
{
    struct tfd_bytes *b = ctx;

    tfd_bytes_add(b, data, size);
    return tfd_bytes_ok(b, "table in memory", st);
}

static enum tfd_code read_at(void *ctx, uint64_t offset, void *data,
                             size_t size, struct tfd_status *st)
{
    const struct tfd_str *file = ctx;

    if (offset > file->size || size > file->size - offset)
        return tfd_fail(st, TFD_OUT_OF_RANGE, "past the end");
    memcpy(data, file->data + offset, size);
    return TFD_OK;
}

/* Entry i of a table: keys ascend and share beginnings. */
static size_t key_of(int i, char key[32])
{
    return (size_t)snprintf(key, 32, "layer_%03d/weights_%d", i / 10, i % 10);
}

/* A value of `size` bytes that begins with i. */
static enum tfd_code add(struct tfd_table_writer *w, int i, size_t size)
{
    char key[32], *value = calloc(1, size + sizeof(i));
    enum tfd_code rc;

    assert_non_null(value);
    memcpy(value, &i, sizeof(i));
    rc = tfd_table_writer_add(w, (struct tfd_str){key, key_of(i, key)},
                              (struct tfd_str){value, size + sizeof(i)}, NULL);
    free(value);
    return rc;
}

static void write_table(struct tfd_bytes *out, int count, size_t value_size)
{
    struct tfd_table_writer w;

    tfd_bytes_init(out, 1u << 26);
    tfd_table_writer_init(&w, append, out);
    for (int i = 0; i < count; i++)
        assert_int_equal(add(&w, i, value_size), TFD_OK);
    assert_int_equal(tfd_table_writer_finish(&w, NULL), TFD_OK);
    tfd_table_writer_deinit(&w);
}

static enum tfd_code open_table(struct tfd_table_reader *r,
                                struct tfd_str *file, struct tfd_status *st)
{
    struct tfd_table_source source = {read_at, file, file->size};

    return tfd_table_reader_init(r, source, st);
}

/* Goes through all entries.  `wrong` counts those that are not add()'s. */
static enum tfd_code scan(struct tfd_str file, int *count, int *wrong)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_table_reader r;
    enum tfd_code rc = open_table(&r, &file, &st);
    char key[32];

    *count = *wrong = 0;
    if (rc != TFD_OK)
        return rc;
    rc = tfd_table_seek(&r, TFD_STR_EMPTY, &st);
    for (; rc == TFD_OK && r.valid; rc = tfd_table_next(&r, &st)) {
        struct tfd_str want = {key, key_of(*count, key)};

        *wrong += !tfd_str_eq(r.key, want) || r.value.size < sizeof(int) ||
                  memcmp(r.value.data, count, sizeof(int)) != 0;
        (*count)++;
    }
    if (rc != TFD_OK)
        assert_string_not_equal(st.text, "");
    tfd_table_reader_deinit(&r);
    return rc;
}

/* ---- Good tables -----------------------------------------------------------
 */

static void test_what_is_written_is_read(void **state)
{
    static const struct {
        int count;
        size_t value_size;
    } cases[] = {
        {0, 0},    {1, 0},      {15, 10},     {16, 10},
        {17, 10},  {500, 3000}, {3, 1 << 20}, {2, TFD_TABLE_BLOCK_TARGET},
        {999, 40},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_bytes file;
        int count, wrong;

        write_table(&file, cases[i].count, cases[i].value_size);
        assert_int_equal(scan(tfd_bytes_view(&file), &count, &wrong), TFD_OK);
        assert_int_equal(count, cases[i].count);
        assert_int_equal(wrong, 0);
        tfd_bytes_deinit(&file);
    }
}

static void test_seek_finds_each_key_and_each_gap(void **state)
{
    struct tfd_bytes file;
    struct tfd_table_reader r;
    struct tfd_str view;
    char key[32];

    (void)state;
    write_table(&file, 700, 2000); /* six blocks */
    view = tfd_bytes_view(&file);
    assert_int_equal(open_table(&r, &view, NULL), TFD_OK);
    for (int i = 699; i >= 0; i--) {
        struct tfd_str want = {key, key_of(i, key)};

        assert_int_equal(tfd_table_seek(&r, want, NULL), TFD_OK);
        assert_true(r.valid && tfd_str_eq(r.key, want));
        key[want.size] = '\x01'; /* just above */
        want.size++;
        assert_int_equal(tfd_table_seek(&r, want, NULL), TFD_OK);
        want.size = key_of(i + 1, key);
        assert_int_equal(r.valid, i < 699);
        assert_true(!r.valid || tfd_str_eq(r.key, want));
    }
    tfd_table_reader_deinit(&r);
    tfd_bytes_deinit(&file);
}

static void test_an_empty_key_may_be_the_first(void **state)
{
    struct tfd_table_writer w;
    struct tfd_table_reader r;
    struct tfd_bytes file;
    struct tfd_str view;

    (void)state;
    tfd_bytes_init(&file, 1000);
    tfd_table_writer_init(&w, append, &file);
    assert_int_equal(
        tfd_table_writer_add(&w, TFD_STR(""), TFD_STR("header"), NULL), TFD_OK);
    assert_int_equal(
        tfd_table_writer_add(&w, TFD_STR("\xff\xff"), TFD_STR("last"), NULL),
        TFD_OK);
    assert_int_equal(tfd_table_writer_finish(&w, NULL), TFD_OK);
    tfd_table_writer_deinit(&w);

    view = tfd_bytes_view(&file);
    assert_int_equal(open_table(&r, &view, NULL), TFD_OK);
    assert_int_equal(tfd_table_seek(&r, TFD_STR_EMPTY, NULL), TFD_OK);
    assert_true(r.valid && tfd_str_is(r.value, "header"));
    assert_int_equal(tfd_table_next(&r, NULL), TFD_OK);
    assert_true(r.valid && tfd_str_is(r.value, "last"));
    assert_int_equal(tfd_table_next(&r, NULL), TFD_OK);
    assert_false(r.valid);
    tfd_table_reader_deinit(&r);
    tfd_bytes_deinit(&file);
}

static void test_a_failing_sink_fails_the_writer(void **state)
{
    (void)state;
    for (size_t room = 0; room < 400; room += 20) {
        struct tfd_table_writer w;
        struct tfd_bytes file;
        enum tfd_code rc = TFD_OK;

        tfd_bytes_init(&file, room);
        tfd_table_writer_init(&w, append, &file);
        for (int i = 0; i < 20 && rc == TFD_OK; i++)
            rc = add(&w, i, 10);
        if (rc == TFD_OK)
            rc = tfd_table_writer_finish(&w, NULL);
        assert_int_equal(rc, TFD_RESOURCE_EXHAUSTED);
        tfd_table_writer_deinit(&w);
        tfd_bytes_deinit(&file);
    }
}

/* ---- Damage ----------------------------------------------------------------
 */

static void test_every_truncation_is_an_error(void **state)
{
    struct tfd_bytes file;
    int count, wrong;

    (void)state;
    write_table(&file, 40, 3);
    for (size_t cut = 0; cut < file.size; cut++) {
        /* A copy of its own, so that reading past it is noticed. */
        char *copy = malloc(cut + 1);

        assert_non_null(copy);
        memcpy(copy, file.data, cut);
        assert_int_equal(scan((struct tfd_str){copy, cut}, &count, &wrong),
                         TFD_DATA_LOSS);
        free(copy);
    }
    tfd_bytes_deinit(&file);
}

/* All but the metaindex and the footer's padding is under a checksum or has a
 * checked meaning; a change there changes nothing. */
static void test_every_flipped_bit_is_an_error_or_harmless(void **state)
{
    struct tfd_bytes file;
    int count, wrong, errors = 0;

    (void)state;
    write_table(&file, 40, 3);
    for (size_t i = 0; i < file.size * 8; i++) {
        enum tfd_code rc;

        file.data[i / 8] ^= (char)(1 << i % 8);
        rc = scan(tfd_bytes_view(&file), &count, &wrong);
        file.data[i / 8] ^= (char)(1 << i % 8);
        assert_true(rc == TFD_OK || rc == TFD_DATA_LOSS);
        assert_int_equal(wrong, 0);
        if (rc == TFD_OK)
            assert_int_equal(count, 40);
        errors += rc != TFD_OK;
    }
    assert_true(errors > (int)(file.size - 60) * 8);
    tfd_bytes_deinit(&file);
}

static void put_u32(struct tfd_bytes *b, uint32_t v)
{
    char out[4] = {(char)v, (char)(v >> 8), (char)(v >> 16), (char)(v >> 24)};

    tfd_bytes_add(b, out, 4);
}

/* A block under a correct checksum, with a handle for it in *handle. */
static void put_block(struct tfd_bytes *file, struct tfd_str block, char type,
                      char handle[2])
{
    uint32_t crc = tfd_crc32c(block.data, block.size);

    handle[0] = (char)file->size;
    handle[1] = (char)block.size;
    assert_true(file->size < 128 && block.size < 128);
    tfd_bytes_add_str(file, block);
    tfd_bytes_add(file, &type, 1);
    put_u32(file, tfd_crc32c_mask(tfd_crc32c_extend(crc, &type, 1)));
}

/* A table whose only data block is this one. */
static void build(struct tfd_bytes *file, struct tfd_str block, char type)
{
    char index[] = "\0\1\2z??\0\0\0\0\1\0\0\0", handle[2], footer[40] = {0};

    tfd_bytes_init(file, 1000);
    put_block(file, block, type, handle);
    memcpy(index + 4, handle, 2);
    put_block(file, (struct tfd_str){index, sizeof(index) - 1}, 0, handle);
    memcpy(footer + 2, handle, 2);
    tfd_bytes_add(file, footer, sizeof(footer));
    put_u32(file, (uint32_t)TFD_TABLE_MAGIC);
    put_u32(file, (uint32_t)(TFD_TABLE_MAGIC >> 32));
}

#define RESTARTS "\0\0\0\0\1\0\0\0"

static void test_well_summed_nonsense_is_refused(void **state)
{
    static const struct {
        struct tfd_str block;
        char type;
        const char *text;
    } cases[] = {
#define CASE(bytes, type, text) {{bytes, sizeof(bytes) - 1}, type, text}
        CASE("", 0, "bad block contents"),
        CASE("\1\0\0", 0, "bad block contents"),
        CASE("\2\0\0\0", 0, "bad block contents"),
        CASE("\xff\xff\xff\xff", 0, "bad block contents"),
        CASE("\0\1\1kv" RESTARTS, 2, "bad block type"),
        CASE("\0\1\1kv" RESTARTS, 1, "corrupted compressed block contents"),
        CASE("\1\1\1kv" RESTARTS, 0, "bad entry in block"), /* shares none */
        CASE("\0\3\1kv" RESTARTS, 0, "bad entry in block"), /* key too long */
        CASE("\0\1\2kv" RESTARTS, 0, "bad entry in block"), /* value too long */
        CASE("\0\1\x80" RESTARTS, 0, "bad entry in block"), /* number cut */
        CASE("\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1k" RESTARTS, 0,
             "bad entry in block"),
        CASE("\0\1\1kv\0\1\1kw" RESTARTS, 0, "bad entry in block"), /* twice */
        CASE("\0\1\1kv\0\1\1jw" RESTARTS, 0, "bad entry in block"), /* down */
        CASE("\0\1\1kv\2\1\1kw" RESTARTS, 0, "bad entry in block"),
        CASE("\0\1\1kv\1\0\1w" RESTARTS, 0, "bad entry in block"),
        CASE("\0\1\1kv\7\0\0\0\1\0\0\0", 0, "bad entry in block"), /* restart */
#undef CASE
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_table_reader r;
        struct tfd_bytes file;
        struct tfd_str view;
        enum tfd_code rc;

        build(&file, cases[i].block, cases[i].type);
        view = tfd_bytes_view(&file);
        assert_int_equal(open_table(&r, &view, &st), TFD_OK);
        rc = tfd_table_seek(&r, TFD_STR("a"), &st);
        while (rc == TFD_OK && r.valid)
            rc = tfd_table_next(&r, &st);
        assert_int_equal(rc, TFD_DATA_LOSS);
        assert_string_equal(st.text, cases[i].text);
        assert_false(r.valid);
        tfd_table_reader_deinit(&r);
        tfd_bytes_deinit(&file);
    }
}

/* ---- Snappy ----------------------------------------------------------------
 */

static void test_compressed_block_is_read(void **state)
{
    /* "\0\1\6k" "ababab" and the restarts, with a copy of "ab". */
    static const char packed[] = "\x12"
                                 "\x14\0\1\6kab"
                                 "\x01\x02" /* four bytes from two back */
                                 "\x1c" RESTARTS;
    struct tfd_table_reader r;
    struct tfd_bytes file;
    struct tfd_str view;

    (void)state;
    build(&file, (struct tfd_str){packed, sizeof(packed) - 1}, 1);
    view = tfd_bytes_view(&file);
    assert_int_equal(open_table(&r, &view, NULL), TFD_OK);
    assert_int_equal(tfd_table_seek(&r, TFD_STR("k"), NULL), TFD_OK);
    assert_true(r.valid && tfd_str_is(r.value, "ababab"));
    tfd_table_reader_deinit(&r);
    tfd_bytes_deinit(&file);
}

/* Opens and scans a table whose only block is `packed`. */
static void check_packed_damage(struct tfd_str packed)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_table_reader r;
    struct tfd_bytes file;
    struct tfd_str view;

    build(&file, packed, TFD_TABLE_SNAPPY);
    view = tfd_bytes_view(&file);
    assert_int_equal(open_table(&r, &view, NULL), TFD_OK);
    assert_int_equal(tfd_table_seek(&r, TFD_STR("k"), &st), TFD_DATA_LOSS);
    assert_string_equal(st.text, "corrupted compressed block contents");
    assert_false(r.valid);
    tfd_table_reader_deinit(&r);
    tfd_bytes_deinit(&file);
}

static void test_damaged_snappy_is_refused(void **state)
{
    static const struct tfd_str cases[] = {
#define CASE(bytes) {bytes, sizeof(bytes) - 1}
        CASE(""),
        CASE("\x80"),
        CASE("\x80\x80\x80\x80\x10"),    /* 2^32 bytes */
        CASE("\xff\xff\xff\xff\x0f\0a"), /* no input holds so many */
        CASE("\3\x08"
             "ab"),
        CASE("\2\x08"
             "abc"), /* longer than it said */
        CASE("\4\x08"
             "abc"), /* shorter */
        CASE("\3\xfc\xff\xff\xff\xff"
             "abc"),
        CASE("\3\xf4\2"),
        CASE("\5\0a\1\0"), /* offset 0 */
        CASE("\5\0a\1\2"), /* before the beginning */
        CASE("\5\1\1"),
        CASE("\4\0a\1\1"), /* copies too much */
        CASE("\4\0a\x0b\1\0\0"),
#undef CASE
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        check_packed_damage(cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_seek_finds_each_key_and_each_gap),
        cmocka_unit_test(test_an_empty_key_may_be_the_first),
        cmocka_unit_test(test_a_failing_sink_fails_the_writer),
        cmocka_unit_test(test_every_truncation_is_an_error),
        cmocka_unit_test(test_every_flipped_bit_is_an_error_or_harmless),
        cmocka_unit_test(test_well_summed_nonsense_is_refused),
        cmocka_unit_test(test_compressed_block_is_read),
        cmocka_unit_test(test_damaged_snappy_is_refused),
    };

    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
