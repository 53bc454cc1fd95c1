/*
 * test_io.c - kernels/io/io.c over files in memory.
 */
#include "kernels/core/families.h"
#include "tests/support/file_runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <zlib.h>

#include <cmocka.h>

/* ---- Running ------------------------------------------------------------- */

static struct tfd_status st;

static struct tfd_tensor strings(const struct tfd_str *s, int rank, int64_t n)
{
    struct tfd_shape shape = {rank, {1, 1, 1, 1, 1, 1, 1, 1}};
    struct tfd_tensor t = TFD_TENSOR_INIT;

    if (rank > 0)
        shape.dim[rank - 1] = n;
    assert_int_equal(tfd_tensor_new(&t, TFD_STRING, &shape, NULL), TFD_OK);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(
            tfd_tstring_set((struct tfd_tstring *)tfd_tensor_data(&t) + i, s[i],
                            NULL),
            TFD_OK);
    return t;
}

static const struct tfd_kernel *find(const char *op, enum tfd_dtype dtype)
{
    const struct tfd_family *f = &tfd_family_io;

    for (int i = 0; i < f->kernel_count; i++)
        if (!strcmp(f->kernels[i].op, op) && f->kernels[i].dtype == dtype)
            return &f->kernels[i];
    fail_msg("no kernel for %s of type %d", op, dtype);
    return NULL;
}

static enum tfd_code run_kernel(const struct tfd_kernel *kernel,
                                struct tfd_tensor *in, int in_count,
                                struct tfd_tensor *out, void *kernel_state)
{
    struct tfd_kctx k = {.kernel = kernel,
                         .in = in,
                         .in_count = in_count,
                         .out = out,
                         .out_count = 1,
                         .state = kernel_state,
                         .rt = &rt};
    enum tfd_code rc;

    tfd_status_clear(&st);
    memset(out, 0, sizeof(*out));
    rc = kernel->compute(&k, &st);
    assert_int_equal(rc, st.code);
    for (int i = 0; i < in_count; i++)
        tfd_tensor_unref(&in[i]);
    return rc;
}

static struct tfd_str text_of(const struct tfd_tensor *t, int i)
{
    return tfd_tstring_view((const struct tfd_tstring *)tfd_tensor_data(t) + i);
}

/* ---- Files --------------------------------------------------------------- */

static enum tfd_code read_file(const char *name, struct tfd_tensor *out)
{
    struct tfd_str s = tfd_str_of(name);
    struct tfd_tensor in = strings(&s, 0, 1);
    const struct tfd_kernel *kernel = find("ReadFile", TFD_DTYPE_INVALID);

    assert_int_equal(kernel->flags, TFD_KERNEL_BLOCKS);
    return run_kernel(kernel, &in, 1, out, NULL);
}

static enum tfd_code write_file(const char *name, const char *contents)
{
    struct tfd_str s[] = {tfd_str_of(name), tfd_str_of(contents)};
    struct tfd_tensor in[] = {strings(&s[0], 0, 1), strings(&s[1], 0, 1)}, out;
    const struct tfd_kernel *kernel = find("WriteFile", TFD_DTYPE_INVALID);

    assert_int_equal(kernel->flags, TFD_KERNEL_BLOCKS);
    return run_kernel(kernel, in, 2, &out, NULL);
}

static void test_what_is_written_is_read(void **state)
{
    static const char *const contents[] = {"", "x", "longer than it was"};
    struct tfd_tensor out;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(write_file("f", contents[i]), TFD_OK);
        assert_int_equal(read_file("f", &out), TFD_OK);
        assert_int_equal(out.shape.rank, 0);
        assert_true(tfd_str_is(text_of(&out, 0), contents[i]));
        tfd_tensor_unref(&out);
    }
}

static void test_a_missing_directory_is_made(void **state)
{
    struct tfd_tensor out;

    (void)state;
    files.missing_dir = "a/b";
    assert_int_equal(write_file("a/b/f", "x"), TFD_OK);
    assert_null(files.missing_dir);
    assert_int_equal(read_file("a/b/f", &out), TFD_OK);
    tfd_tensor_unref(&out);
}

static void test_files_that_cannot_be_read(void **state)
{
    struct tfd_tensor out;

    (void)state;
    assert_int_equal(read_file("none", &out), TFD_NOT_FOUND);
    assert_string_equal(st.text, "none; No such file or directory");
    tfd_tensor_unref(&out);
    assert_int_equal(read_file("", &out), TFD_NOT_FOUND);
    tfd_tensor_unref(&out);
    rt.files = NULL;
    assert_int_equal(read_file("none", &out), TFD_PERMISSION_DENIED);
    assert_non_null(strstr(st.text, "--file_root"));
    tfd_tensor_unref(&out);
    assert_int_equal(write_file("f", "x"), TFD_PERMISSION_DENIED);
    assert_non_null(strstr(st.text, "--file_root"));
}

static void test_a_failed_write_leaves_the_old_file(void **state)
{
    (void)state;
    assert_int_equal(write_file("f", "old"), TFD_OK);
    for (int n = 1; n < 20; n++) {
        struct tfd_tensor out;
        enum tfd_code rc;

        files.calls = 0;
        files.fail_at = n;
        rc = write_file("f", "new");
        if (n == 1)
            assert_int_not_equal(rc, TFD_OK);
        files.fail_at = 0;
        assert_int_equal(read_file("f", &out), TFD_OK);
        /* Renamed, but not known to be durable, is an error too. */
        if (rc == TFD_OK)
            assert_true(tfd_str_is(text_of(&out, 0), "new"));
        tfd_tensor_unref(&out);
        if (rc == TFD_OK)
            return;
    }
    fail_msg("a write never succeeds");
}

static void test_a_failed_read_is_an_error(void **state)
{
    struct tfd_tensor out;

    (void)state;
    assert_int_equal(write_file("f", "x"), TFD_OK);
    for (int n = 1; n <= 2; n++) {
        files.calls = 0;
        files.fail_at = n;
        assert_int_equal(read_file("f", &out), TFD_RESOURCE_EXHAUSTED);
        tfd_tensor_unref(&out);
    }
    files.fail_at = 0;
}

/* ---- DecodeCompressed ---------------------------------------------------- */

enum { ZLIB_BITS = MAX_WBITS, GZIP_BITS = MAX_WBITS + 16 };

/* Compresses into a buffer that the next call of the same slot reuses. */
static struct tfd_str deflated(int slot, int bits, const void *data,
                               size_t size)
{
    static unsigned char buffer[4][4096];
    z_stream z = {0};

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, bits, 8, 0), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = buffer[slot];
    z.avail_out = sizeof(buffer[slot]);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return (struct tfd_str){(char *)buffer[slot],
                            sizeof(buffer[slot]) - z.avail_out};
}

/* `in` and after it `more`. */
static struct tfd_str joined(struct tfd_str in, struct tfd_str more)
{
    static char buffer[8192];

    memcpy(buffer, in.data, in.size);
    memcpy(buffer + in.size, more.data, more.size);
    return (struct tfd_str){buffer, in.size + more.size};
}

static struct tfd_str without_end(struct tfd_str s, size_t n)
{
    return (struct tfd_str){s.data, s.size - n};
}

/* The byte `from_end` bytes before the end is another one. */
static struct tfd_str damaged(struct tfd_str s, size_t from_end)
{
    struct tfd_str copy = joined(s, TFD_STR_EMPTY);

    ((char *)(uintptr_t)copy.data)[s.size - 1 - from_end] ^= 0x55;
    return copy;
}

static enum tfd_code inflate_one(struct tfd_str s, int bits,
                                 struct tfd_tensor *out)
{
    struct tfd_tensor in = strings(&s, 1, 1);

    return run_kernel(find("DecodeCompressed", TFD_DTYPE_INVALID), &in, 1, out,
                      &bits);
}

static void check_inflated(struct tfd_str s, int bits, const char *expected)
{
    struct tfd_tensor out;

    assert_int_equal(inflate_one(s, bits, &out), TFD_OK);
    assert_int_equal(out.shape.rank, 1);
    assert_true(tfd_str_is(text_of(&out, 0), expected));
    tfd_tensor_unref(&out);
}

static void test_strings_are_decompressed_as_tensorflow_does(void **state)
{
    struct tfd_str z = deflated(0, ZLIB_BITS, "hello", 5);
    struct tfd_str g = deflated(1, GZIP_BITS, "hello", 5);

    (void)state;
    check_inflated(TFD_STR("as is"), 0, "as is");
    check_inflated(z, ZLIB_BITS, "hello");
    check_inflated(g, GZIP_BITS, "hello");
    check_inflated(TFD_STR_EMPTY, ZLIB_BITS, "");
    check_inflated(TFD_STR_EMPTY, GZIP_BITS, "");
    check_inflated(without_end(z, 2), ZLIB_BITS, "hello");
    check_inflated(without_end(g, 8), GZIP_BITS, "hello");
    check_inflated(joined(z, TFD_STR("xx")), ZLIB_BITS, "hello");
    check_inflated(joined(z, z), ZLIB_BITS, "hello");
    check_inflated(joined(g, g), GZIP_BITS, "hellohello");
}

static void test_long_strings_and_several(void **state)
{
    static char large[200000];
    struct tfd_str s[3];
    struct tfd_tensor in, out;
    int bits = ZLIB_BITS;

    (void)state;
    memset(large, 'a', sizeof(large));
    s[0] = deflated(0, bits, large, sizeof(large));
    s[1] = deflated(1, bits, "", 0);
    s[2] = deflated(2, bits, large, 65536);
    in = strings(s, 2, 3);
    assert_int_equal(run_kernel(find("DecodeCompressed", TFD_DTYPE_INVALID),
                                &in, 1, &out, &bits),
                     TFD_OK);
    assert_int_equal(out.shape.rank, 2);
    assert_int_equal(text_of(&out, 0).size, sizeof(large));
    assert_memory_equal(text_of(&out, 0).data, large, sizeof(large));
    assert_int_equal(text_of(&out, 1).size, 0);
    assert_int_equal(text_of(&out, 2).size, 65536);
    tfd_tensor_unref(&out);
    in = strings(NULL, 1, 0);
    assert_int_equal(run_kernel(find("DecodeCompressed", TFD_DTYPE_INVALID),
                                &in, 1, &out, &bits),
                     TFD_OK);
    tfd_tensor_unref(&out);
}

static void check_refused(struct tfd_str s, int bits, const char *text)
{
    struct tfd_tensor out;

    assert_int_equal(inflate_one(s, bits, &out), TFD_DATA_LOSS);
    assert_string_equal(st.text, text);
    tfd_tensor_unref(&out);
}

#define HEADER "inflate() failed with error -3: incorrect header check"
#define SUM "inflate() failed with error -3: incorrect data check"

static void test_damaged_data_is_refused(void **state)
{
    struct tfd_str z = deflated(0, ZLIB_BITS, "hello", 5);
    struct tfd_str g = deflated(1, GZIP_BITS, "hello", 5);
    /* A stream that wants a dictionary. */
    struct tfd_str dictionary = TFD_STR("\x78\xbb\1\2\3\4\5\6");

    (void)state;
    check_refused(TFD_STR("hello"), ZLIB_BITS, HEADER);
    check_refused(TFD_STR("hello"), GZIP_BITS, HEADER);
    check_refused(g, ZLIB_BITS, HEADER);
    check_refused(z, GZIP_BITS, HEADER);
    check_refused(joined(g, TFD_STR("xx")), GZIP_BITS, HEADER);
    check_refused(damaged(z, 0), ZLIB_BITS, SUM);
    check_refused(damaged(g, 5), GZIP_BITS, SUM);
    check_refused(damaged(g, 1), GZIP_BITS,
                  "inflate() failed with error -3: incorrect length check");
    check_refused(TFD_STR("\x78\x9c\xff\xff\xff\xff"), ZLIB_BITS,
                  "inflate() failed with error -3: invalid block type");
    check_refused(dictionary, ZLIB_BITS, "inflate() failed with error 2");
}

/* ---- DecodeRaw ----------------------------------------------------------- */

static enum tfd_code decode_raw(enum tfd_dtype dtype, bool little,
                                const struct tfd_str *s, int rank, int64_t n,
                                struct tfd_tensor *out)
{
    struct tfd_tensor in = strings(s, rank, n);

    return run_kernel(find("DecodeRaw", dtype), &in, 1, out, &little);
}

static const enum tfd_dtype raw_types[] = {
    TFD_HALF,       TFD_FLOAT, TFD_DOUBLE,  TFD_INT32, TFD_UINT16,
    TFD_UINT8,      TFD_INT16, TFD_INT8,    TFD_INT64, TFD_COMPLEX64,
    TFD_COMPLEX128, TFD_BOOL,  TFD_BFLOAT16};

#define RAW_TYPES (sizeof(raw_types) / sizeof(raw_types[0]))

static void test_every_type_is_read_in_both_orders(void **state)
{
    struct tfd_str s[] = {TFD_STR("0123456789abcdef"),
                          TFD_STR("ghijklmnopqrstuv")};

    (void)state;
    for (size_t i = 0; i < RAW_TYPES; i++) {
        enum tfd_dtype t = raw_types[i];
        size_t size = tfd_dtype_size(t), unit = size;
        struct tfd_tensor out;
        const char *y;

        if (t == TFD_COMPLEX64 || t == TFD_COMPLEX128)
            unit /= 2;
        for (int little = 0; little < 2; little++) {
            assert_int_equal(decode_raw(t, little, s, 1, 2, &out), TFD_OK);
            assert_int_equal(out.shape.rank, 2);
            assert_int_equal(out.shape.dim[0], 2);
            assert_int_equal(out.shape.dim[1], 16 / size);
            y = tfd_tensor_data(&out);
            for (size_t j = 0; j < 32; j++) {
                size_t from = little ? j : j - j % unit + unit - 1 - j % unit;

                assert_int_equal(
                    y[j], t == TFD_BOOL ? 1 : s[from / 16].data[from % 16]);
            }
            tfd_tensor_unref(&out);
        }
    }
}

static void test_nothing_gives_a_last_dimension_of_none(void **state)
{
    struct tfd_str empty[] = {TFD_STR_EMPTY, TFD_STR_EMPTY};
    struct tfd_tensor out;

    (void)state;
    for (int64_t n = 0; n <= 2; n++) {
        assert_int_equal(decode_raw(TFD_INT16, true, empty, 2, n, &out),
                         TFD_OK);
        assert_int_equal(out.shape.rank, 3);
        assert_int_equal(out.shape.dim[1], n);
        assert_int_equal(out.shape.dim[2], 0);
        tfd_tensor_unref(&out);
    }
}

static void test_raw_strings_that_are_refused(void **state)
{
    static const struct {
        enum tfd_dtype dtype;
        struct tfd_str s[2];
        const char *text;
    } cases[] = {
        {TFD_INT16,
         {TFD_STR_INIT("ab"), TFD_STR_INIT("abcd")},
         "DecodeRaw requires input strings to all be the same size, but "
         "element 1 has size 2 != 4"},
        {TFD_INT16,
         {TFD_STR_INIT(""), TFD_STR_INIT("abcd")},
         "DecodeRaw requires input strings to all be the same size, but "
         "element 1 has size 0 != 4"},
        {TFD_INT16,
         {TFD_STR_INIT("abc"), TFD_STR_INIT("abc")},
         "Input to DecodeRaw has length 3 that is not a multiple of 2, the "
         "size of int16"},
        {TFD_COMPLEX128,
         {TFD_STR_INIT("12345678"), TFD_STR_INIT("12345678")},
         "Input to DecodeRaw has length 8 that is not a multiple of 16, the "
         "size of complex128"},
    };
    struct tfd_tensor out;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            decode_raw(cases[i].dtype, true, cases[i].s, 1, 2, &out),
            TFD_INVALID_ARGUMENT);
        assert_string_equal(st.text, cases[i].text);
        assert_null(out.buffer);
    }
    /* One dimension more than tensors have. */
    assert_int_equal(
        decode_raw(TFD_INT8, true, cases[0].s, TFD_RANK_MAX, 1, &out),
        TFD_INVALID_ARGUMENT);
}

static void test_raw_shapes(void **state)
{
    const struct tfd_opdef *op = &tfd_family_io.ops[3];
    struct tfd_shape in = {1, {TFD_DIM_UNKNOWN}};
    struct tfd_shape out = TFD_SHAPE_UNKNOWN;
    struct tfd_shape_ctx s = {
        .in = &in, .in_count = 1, .out = &out, .out_count = 1};

    (void)state;
    assert_string_equal(op->name, "DecodeRaw");
    in.rank = TFD_RANK_MAX;
    assert_int_equal(op->shape(&s, NULL), TFD_OK);
    assert_int_equal(out.rank, TFD_RANK_UNKNOWN);
    in.rank = TFD_RANK_UNKNOWN;
    assert_int_equal(op->shape(&s, NULL), TFD_OK);
    assert_int_equal(out.rank, TFD_RANK_UNKNOWN);
    in.rank = 1;
    assert_int_equal(op->shape(&s, NULL), TFD_OK);
    assert_int_equal(out.rank, 2);
    assert_int_equal(out.dim[1], TFD_DIM_UNKNOWN);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_written_is_read),
        TEST(test_a_missing_directory_is_made),
        TEST(test_files_that_cannot_be_read),
        TEST(test_a_failed_write_leaves_the_old_file),
        TEST(test_a_failed_read_is_an_error),
        TEST(test_strings_are_decompressed_as_tensorflow_does),
        TEST(test_long_strings_and_several),
        TEST(test_damaged_data_is_refused),
        TEST(test_every_type_is_read_in_both_orders),
        TEST(test_nothing_gives_a_last_dimension_of_none),
        TEST(test_raw_strings_that_are_refused),
        TEST(test_raw_shapes),
    };

    return cmocka_run_group_tests_name("io", tests, NULL, NULL);
}
