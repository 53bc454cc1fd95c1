/*
 * test_grpc_inflate.c - compressed messages: what comes out, and what is
 * refused.
 */
#include "rpc/grpc/grpc_inflate.h"

#include "common/base/alloc.h"
#include "config/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

static struct tfd_incoming message_of(const char *bytes, size_t size)
{
    struct tfd_buffer *b = tfd_buffer_new(size);

    assert_non_null(b);
    memcpy(b->data, bytes, size);
    return (struct tfd_incoming){.proto = {b->data, size}, .body = b};
}

/* bits: 15 for deflate, 31 for gzip.  *out is malloc'd. */
static size_t compress_bytes(const char *from, size_t size, int bits,
                             char **out)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)from, .avail_in = (uInt)size};
    uLong room;

    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, bits, 8, 0), Z_OK);
    room = deflateBound(&z, size);
    *out = malloc(room);
    assert_non_null(*out);
    z.next_out = (Bytef *)*out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    room = z.total_out;
    deflateEnd(&z);
    return room;
}

/* Runs all slices; how many there were. */
static enum tfd_code inflate_all(enum tfd_grpc_encoding e, const char *bytes,
                                 size_t size, struct tfd_incoming *out,
                                 int *slices, struct tfd_status *st)
{
    struct tfd_incoming in = message_of(bytes, size);
    struct tfd_grpc_inflate *z;
    enum tfd_code rc;
    bool done = false;

    *st = (struct tfd_status)TFD_STATUS_INIT;
    *slices = 0;
    assert_int_equal(tfd_grpc_inflate_new(e, &in, &z, st), TFD_OK);
    do {
        rc = tfd_grpc_inflate_go_on(z, &done, st);
        ++*slices;
    } while (rc == TFD_OK && !done);
    if (rc == TFD_OK)
        tfd_grpc_inflate_take(z, out);
    tfd_grpc_inflate_free(z);
    return rc;
}

static char *noise(size_t size)
{
    char *bytes = malloc(size + 1);
    uint32_t x = 1;

    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (char)(i % 5 ? x >> 24 : 0);
    }
    return bytes;
}

static void test_what_was_compressed_comes_out(void **state)
{
    static const size_t sizes[] = {0,     1,     1000,       65535,
                                   65536, 65537, 131072 + 5, 3 << 20};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int gzip = 0; gzip < 2; gzip++) {
            char *plain = noise(sizes[i]), *bytes;
            size_t size =
                compress_bytes(plain, sizes[i], gzip ? 31 : 15, &bytes);
            struct tfd_incoming out;
            struct tfd_status st;
            int slices;

            if (inflate_all(gzip ? TFD_GRPC_GZIP : TFD_GRPC_DEFLATE, bytes,
                            size, &out, &slices, &st) != TFD_OK)
                fail_msg("%zu: %s", sizes[i], st.text);
            assert_int_equal(out.proto.size, sizes[i]);
            if (sizes[i])
                assert_memory_equal(out.proto.data, plain, sizes[i]);
            assert_true((size_t)slices >= 2 * (sizes[i] >> 16));
            tfd_incoming_deinit(&out);
            free(plain);
            free(bytes);
        }
}

static void test_every_cut_and_what_follows_is_refused(void **state)
{
    char *plain = noise(3000), *bytes;
    struct tfd_incoming out;
    struct tfd_status st;
    int slices;

    (void)state;
    for (int gzip = 0; gzip < 2; gzip++) {
        enum tfd_grpc_encoding e = gzip ? TFD_GRPC_GZIP : TFD_GRPC_DEFLATE;
        size_t size = compress_bytes(plain, 3000, gzip ? 31 : 15, &bytes);

        for (size_t cut = 0; cut < size; cut += cut < 20 ? 1 : 97) {
            assert_int_equal(inflate_all(e, bytes, cut, &out, &slices, &st),
                             TFD_INTERNAL);
            assert_non_null(strstr(st.text, "damaged compressed"));
        }
        bytes = realloc(bytes, size + 1);
        assert_non_null(bytes);
        bytes[size] = 'x';
        assert_int_equal(inflate_all(e, bytes, size + 1, &out, &slices, &st),
                         TFD_INTERNAL);
        assert_non_null(strstr(st.text, "other bytes follow its end"));
        bytes[size / 2] ^= 0x10;
        assert_int_equal(inflate_all(e, bytes, size, &out, &slices, &st),
                         TFD_INTERNAL);
        assert_int_equal(inflate_all(gzip ? TFD_GRPC_DEFLATE : TFD_GRPC_GZIP,
                                     bytes, size, &out, &slices, &st),
                         TFD_INTERNAL);
        free(bytes);
    }
    free(plain);
}

/* One byte more than the limit; it takes no memory to find that out. */
static void test_a_bomb_is_refused_without_memory(void **state)
{
    size_t size = (size_t)TFD_GRPC_INFLATED_SIZE_MAX + 1;
    char *plain = calloc(size, 1), *bytes;
    struct tfd_alloc_stats before, after;
    struct tfd_grpc_inflate *z;
    struct tfd_incoming in;
    struct tfd_status st = TFD_STATUS_INIT;
    enum tfd_code rc;
    bool done = false;

    (void)state;
    assert_non_null(plain);
    size = compress_bytes(plain, size, 31, &bytes);
    free(plain);
    in = message_of(bytes, size);
    free(bytes);
    tfd_alloc_stats(&before);
    assert_int_equal(tfd_grpc_inflate_new(TFD_GRPC_GZIP, &in, &z, &st), TFD_OK);
    do {
        rc = tfd_grpc_inflate_go_on(z, &done, &st);
        tfd_alloc_stats(&after);
        assert_true(after.in_use <= before.in_use);
    } while (rc == TFD_OK && !done);
    assert_int_equal(rc, TFD_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(st.text, "larger than 268435456 bytes, the limit"));
    tfd_grpc_inflate_free(z);
}

/* Input that makes nothing is cut into slices, too. */
static void test_empty_blocks_do_not_hold_the_loop(void **state)
{
    enum { BLOCKS = 400000 };
    static char bytes[2 + 5 * BLOCKS] = {0x78, (char)0x9c};
    struct tfd_incoming out;
    struct tfd_status st;
    int slices;

    (void)state;
    for (int i = 0; i < BLOCKS; i++)
        memcpy(bytes + 2 + 5 * i, "\0\0\0\xff\xff", 5);
    assert_int_equal(
        inflate_all(TFD_GRPC_DEFLATE, bytes, sizeof(bytes), &out, &slices, &st),
        TFD_INTERNAL);
    assert_true(slices >= (int)(sizeof(bytes) >> 16));
}

static void test_names_of_encodings(void **state)
{
    (void)state;
    assert_int_equal(tfd_grpc_encoding_of(TFD_STR("identity")),
                     TFD_GRPC_IDENTITY);
    assert_int_equal(tfd_grpc_encoding_of(TFD_STR("deflate")),
                     TFD_GRPC_DEFLATE);
    assert_int_equal(tfd_grpc_encoding_of(TFD_STR("gzip")), TFD_GRPC_GZIP);
    assert_int_equal(tfd_grpc_encoding_of(TFD_STR("GZIP")), TFD_GRPC_OTHER);
    assert_int_equal(tfd_grpc_encoding_of(TFD_STR("")), TFD_GRPC_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_compressed_comes_out),
        cmocka_unit_test(test_every_cut_and_what_follows_is_refused),
        cmocka_unit_test(test_a_bomb_is_refused_without_memory),
        cmocka_unit_test(test_empty_blocks_do_not_hold_the_loop),
        cmocka_unit_test(test_names_of_encodings),
    };

    return cmocka_run_group_tests_name("grpc_inflate", tests, NULL, NULL);
}
