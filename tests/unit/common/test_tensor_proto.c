/*
 * test_tensor_proto.c - common/proto/tensor_proto*.c: both forms of elements,
 * what repeats, and messages whose parts do not fit together.
 *
 * Bytes are those that TensorFlow 2.21 writes for the same tensors.
 */
#include "common/proto/tensor_proto.h"

#include "common/base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum tfd_code decode(const char *bytes, size_t size,
                            struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_tensor_head head;

    TFD_TRY(tfd_tensor_proto_head((struct tfd_str){bytes, size}, &head, st));
    return tfd_tensor_proto_decode(&head, NULL, out, st);
}

#define BYTES(literal) (literal), sizeof(literal) - 1

/* ---- Elements in fields -------------------------------------------------- */

static void test_fields_of_every_type(void **state)
{
    static const struct {
        const char *proto;
        size_t size;
        const char *data;
        size_t data_size;
    } cases[] = {
        /* float: packed; one by one; none; the last repeats */
        {BYTES(
             "\x08\x01\x12\x04\x12\x02\x08\x02\x2a\x08\0\0\x80\x3f\0\0\0\x40"),
         BYTES("\0\0\x80\x3f\0\0\0\x40")},
        {BYTES(
             "\x08\x01\x12\x04\x12\x02\x08\x02\x2d\0\0\x80\x3f\x2d\0\0\0\x40"),
         BYTES("\0\0\x80\x3f\0\0\0\x40")},
        {BYTES("\x08\x01\x12\x04\x12\x02\x08\x02"), BYTES("\0\0\0\0\0\0\0\0")},
        {BYTES("\x08\x01\x12\x04\x12\x02\x08\x03\x2a\x04\0\0\x80\x3f"),
         BYTES("\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f")},
        /* more values than elements: the rest is ignored */
        {BYTES("\x08\x01\x2a\x08\0\0\x80\x3f\0\0\0\x40"),
         BYTES("\0\0\x80\x3f")},
        /* double */
        {BYTES("\x08\x02\x32\x08\0\0\0\0\0\0\xf0\x3f"),
         BYTES("\0\0\0\0\0\0\xf0\x3f")},
        /* int32, -1 has ten bytes; int8; uint16; bool */
        {BYTES("\x08\x03\x3a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
         BYTES("\xff\xff\xff\xff")},
        {BYTES("\x08\x06\x12\x04\x12\x02\x08\x02\x3a\x0b\x05\xff\xff\xff\xff"
               "\xff\xff\xff\xff\xff\x01"),
         BYTES("\x05\xff")},
        {BYTES("\x08\x11\x38\xff\xff\x03"), BYTES("\xff\xff")},
        {BYTES("\x08\x0a\x12\x04\x12\x02\x08\x03\x5a\x02\x00\x01"),
         BYTES("\0\1\1")},
        /* int64, uint32, uint64 */
        {BYTES("\x08\x09\x52\x01\x07"), BYTES("\7\0\0\0\0\0\0\0")},
        {BYTES("\x08\x16\x82\x01\x01\x07"), BYTES("\7\0\0\0")},
        {BYTES("\x08\x17\x8a\x01\x01\x07"), BYTES("\7\0\0\0\0\0\0\0")},
        /* half and bfloat16: their bits */
        {BYTES("\x08\x13\x6a\x02\x80\x78"), BYTES("\x00\x3c")},
        {BYTES("\x08\x0e\x6a\x02\x80\x7f"), BYTES("\x80\x3f")},
        /* complex64: real, imaginary; the last repeats as a pair */
        {BYTES(
             "\x08\x08\x12\x04\x12\x02\x08\x02\x4a\x08\0\0\x80\x3f\0\0\0\x40"),
         BYTES("\0\0\x80\x3f\0\0\0\x40\0\0\x80\x3f\0\0\0\x40")},
        {BYTES("\x08\x12\x62\x10\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\xf0\x3f"),
         BYTES("\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\xf0\x3f")},
        /* content */
        {BYTES(
             "\x08\x01\x12\x04\x12\x02\x08\x02\x22\x08\0\0\x80\x3f\0\0\0\x40"),
         BYTES("\0\0\x80\x3f\0\0\0\x40")},
        {BYTES("\x08\x0a\x22\x01\x01"), BYTES("\1")},
        /* any number of bool_val but 0 is true */
        {BYTES("\x08\x0a\x12\x04\x12\x02\x08\x03\x5a\x04\x00\x02\x80\x02"),
         BYTES("\0\1\1")},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_tensor t = TFD_TENSOR_INIT;
        struct tfd_status st = TFD_STATUS_INIT;

        if (decode(cases[i].proto, cases[i].size, &t, &st))
            fail_msg("case %zu: %s", i, st.text);
        assert_int_equal(tfd_tensor_size(&t), cases[i].data_size);
        assert_memory_equal(tfd_tensor_data(&t), cases[i].data,
                            cases[i].data_size);
        tfd_tensor_unref(&t);
    }
}

static void test_strings_in_both_forms(void **state)
{
    static const struct {
        const char *proto;
        size_t size;
        const char *a, *b;
    } cases[] = {
        {BYTES("\x08\x07\x12\x04\x12\x02\x08\x02\x42\x03"
               "abc\x42\x02"
               "de"),
         "abc", "de"},
        {BYTES("\x08\x07\x12\x04\x12\x02\x08\x02\x42\x03"
               "abc"),
         "abc", "abc"},
        {BYTES("\x08\x07\x12\x04\x12\x02\x08\x02"), "", ""},
        {BYTES("\x08\x07\x12\x04\x12\x02\x08\x02\x22\x07\x03\x02"
               "abcde"),
         "abc", "de"},
        {BYTES("\x08\x07\x12\x04\x12\x02\x08\x02\x22\x02\x00\x00"), "", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_tensor t = TFD_TENSOR_INIT;
        struct tfd_status st = TFD_STATUS_INIT;
        const struct tfd_tstring *s;

        if (decode(cases[i].proto, cases[i].size, &t, &st))
            fail_msg("case %zu: %s", i, st.text);
        s = tfd_tensor_data(&t);
        assert_true(tfd_str_is(tfd_tstring_view(&s[0]), cases[i].a));
        assert_true(tfd_str_is(tfd_tstring_view(&s[1]), cases[i].b));
        tfd_tensor_unref(&t);
    }
}

/* ---- Round trips --------------------------------------------------------- */

static void test_encoded_bytes_are_tensorflows(void **state)
{
    static const char expected[] = "\x08\x01\x12\x08\x12\x02\x08\x02\x12\x02"
                                   "\x08\x01\x22\x08\0\0\x80\x3f\0\0\0\x40";
    static const char strings[] =
        "\x08\x07\x12\x04\x12\x02\x08\x02\x22\x07\x03\x02"
        "abcde";
    static const float data[] = {1, 2};
    struct tfd_shape shape = {2, {2, 1}}, two = {1, {2}};
    struct tfd_tensor t = TFD_TENSOR_INIT;
    struct tfd_tstring *s;
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 1000);
    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &shape, NULL), TFD_OK);
    memcpy(tfd_tensor_data(&t), data, sizeof(data));
    tfd_tensor_proto_encode(&b, &t, NULL);
    assert_int_equal(b.size, sizeof(expected) - 1);
    assert_memory_equal(b.data, expected, b.size);
    tfd_tensor_unref(&t);

    tfd_bytes_clear(&b);
    assert_int_equal(tfd_tensor_new(&t, TFD_STRING, &two, NULL), TFD_OK);
    s = tfd_tensor_data(&t);
    assert_int_equal(tfd_tstring_set(&s[0], TFD_STR("abc"), NULL), TFD_OK);
    assert_int_equal(tfd_tstring_set(&s[1], TFD_STR("de"), NULL), TFD_OK);
    tfd_tensor_proto_encode(&b, &t, NULL);
    assert_int_equal(b.size, sizeof(strings) - 1);
    assert_memory_equal(b.data, strings, b.size);
    tfd_tensor_unref(&t);
    tfd_bytes_deinit(&b);
}

static void test_every_type_survives_a_round_trip(void **state)
{
    struct tfd_shape shapes[] = {{0}, {1, {3}}, {2, {2, 2}}, {2, {0, 5}}};

    (void)state;
    for (int type = 1; type < TFD_DTYPE_END; type++)
        for (int k = 0; k < 4 && tfd_dtype_is_pod((enum tfd_dtype)type); k++) {
            struct tfd_tensor t = TFD_TENSOR_INIT, u = TFD_TENSOR_INIT;
            struct tfd_bytes b;

            tfd_bytes_init(&b, 1000);
            assert_int_equal(
                tfd_tensor_new(&t, (enum tfd_dtype)type, &shapes[k], NULL),
                TFD_OK);
            for (size_t i = 0; i < tfd_tensor_size(&t); i++)
                ((char *)tfd_tensor_data(&t))[i] = (char)(i & 1);
            tfd_tensor_proto_encode(&b, &t, NULL);
            assert_int_equal(decode(b.data, b.size, &u, NULL), TFD_OK);
            assert_int_equal(u.dtype, type);
            assert_true(tfd_shape_equal(&u.shape, &shapes[k]));
            if (tfd_tensor_size(&t))
                assert_memory_equal(tfd_tensor_data(&t), tfd_tensor_data(&u),
                                    tfd_tensor_size(&t));
            tfd_tensor_unref(&t);
            tfd_tensor_unref(&u);
            tfd_bytes_deinit(&b);
        }
}

/* A handle here is a number that its bytes spell. */
static int live_handles;

static enum tfd_code read_handle(struct tfd_str proto, void **handle,
                                 struct tfd_status *st)
{
    if (tfd_str_is(proto, "bad"))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "a bad handle");
    live_handles++;
    *handle = (void *)(uintptr_t)(proto.size + 1);
    return TFD_OK;
}

static void write_handle(struct tfd_bytes *b, void *handle)
{
    for (uintptr_t i = 1; i < (uintptr_t)handle; i++)
        tfd_bytes_add(b, "h", 1);
}

static void drop_handle(void *handle)
{
    (void)handle;
    live_handles--;
}

static void test_handles_go_through_the_hooks(void **state)
{
    static const char good[] = "\x08\x14\x12\x04\x12\x02\x08\x02\x72\x02hh\x72"
                               "\x01h";
    static const char wrong[] = "\x08\x14\x12\x04\x12\x02\x08\x02\x72\x02hh\x72"
                                "\x03"
                                "bad";
    static const char content[] = "\x08\x14\x12\x04\x12\x02\x08\x02\x22\x05\x02"
                                  "\x01hhh";
    struct tfd_tensor t = TFD_TENSOR_INIT;
    struct tfd_tensor_head head;
    struct tfd_bytes b;

    (void)state;
    tfd_tensor_handle_release(drop_handle);
    tfd_bytes_init(&b, 1000);
    assert_int_equal(tfd_tensor_proto_head(TFD_STR(good), &head, NULL), TFD_OK);
    assert_int_equal(tfd_tensor_proto_decode(&head, NULL, &t, NULL),
                     TFD_UNIMPLEMENTED);
    assert_int_equal(tfd_tensor_proto_decode(&head, read_handle, &t, NULL),
                     TFD_OK);
    assert_int_equal(live_handles, 2);
    tfd_tensor_proto_encode(&b, &t, write_handle);
    assert_int_equal(b.size, sizeof(content) - 1);
    assert_memory_equal(b.data, content, b.size);
    tfd_tensor_proto_encode(&b, &t, NULL);
    assert_true(b.failed);
    tfd_tensor_unref(&t);
    assert_int_equal(live_handles, 0);

    assert_int_equal(tfd_tensor_proto_head(TFD_STR(content), &head, NULL),
                     TFD_OK);
    assert_int_equal(tfd_tensor_proto_decode(&head, read_handle, &t, NULL),
                     TFD_OK);
    tfd_tensor_unref(&t);
    assert_int_equal(tfd_tensor_proto_head(TFD_STR(wrong), &head, NULL),
                     TFD_OK);
    assert_int_equal(tfd_tensor_proto_decode(&head, read_handle, &t, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(live_handles, 0);
    tfd_bytes_deinit(&b);
}

/* ---- Bad messages -------------------------------------------------------- */

static const struct {
    const char *proto;
    size_t size;
    enum tfd_code code;
    const char *text;
} bad[] = {
    {"", 0, TFD_INVALID_ARGUMENT, "TensorProto has invalid dtype 0"},
    {BYTES("\x08\x8f\x4e"), TFD_INVALID_ARGUMENT,
     "TensorProto has invalid dtype 9999"},
    {BYTES("\x08\x65"), TFD_INVALID_ARGUMENT,
     "TensorProto has invalid dtype 101"},
    {BYTES("\x08\x0a\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff"
           "\xff\x01"),
     TFD_INVALID_ARGUMENT,
     "TensorProto has shape [?], which is not fully defined"},
    {BYTES("\x08\x01\x12\x02\x18\x01"), TFD_INVALID_ARGUMENT,
     "TensorProto has shape <unknown>, which is not fully defined"},
    {BYTES("\x08\x01\x12\x12\x12\x07\x08\x80\x80\x80\x80\x80\x01\x12\x07"
           "\x08\x80\x80\x80\x80\x80\x01"),
     TFD_INVALID_ARGUMENT, "Shape [34359738368,34359738368]"},
    {BYTES("\x08\x01\x22\x03"
           "abc"),
     TFD_INVALID_ARGUMENT,
     "tensor_content has 3 bytes, which are no float of shape []"},
    {BYTES("\x08\x01\x22\x08"
           "abcdefgh"),
     TFD_INVALID_ARGUMENT,
     "tensor_content has 8 bytes, which are no float of shape []"},
    /* bools are 0 and 1 */
    {BYTES("\x08\x0a\x22\x01\x02"), TFD_INVALID_ARGUMENT,
     "element 0 of a bool tensor has the byte 2, which is neither 0 nor 1"},
    {BYTES("\x08\x0a\x12\x04\x12\x02\x08\x03\x22\x03\x00\x01\x80"),
     TFD_INVALID_ARGUMENT, "element 2 of a bool tensor has the byte 128"},
    {BYTES("\x08\x01\x12\x04\x12\x02\x08\x00\x22\x04"
           "abcd"),
     TFD_INVALID_ARGUMENT,
     "tensor_content has 4 bytes, which are no float of shape [0]"},
    {BYTES("\x08\x01\x2a\x03\x00\x00\x80"), TFD_INVALID_ARGUMENT,
     "Unable to parse TensorProto"},
    {BYTES("\x08\x03\x3a\x01\x80"), TFD_INVALID_ARGUMENT,
     "Unable to parse TensorProto"},
    {BYTES("\x08\x01\x28\x01"), TFD_INVALID_ARGUMENT,
     "Unable to parse TensorProto"},
    {BYTES("\x08\x07\x40\x01"), TFD_INVALID_ARGUMENT,
     "Unable to parse TensorProto"},
    /* strings: too few sizes, sizes past the end, bytes left over */
    {BYTES("\x08\x07\x12\x04\x12\x02\x08\x02\x22\x01\x00"),
     TFD_INVALID_ARGUMENT, "tensor_content has 1 bytes"},
    {BYTES("\x08\x07\x22\x02\x02x"), TFD_INVALID_ARGUMENT,
     "tensor_content has 2 bytes"},
    {BYTES("\x08\x07\x22\x03\x01xy"), TFD_INVALID_ARGUMENT,
     "tensor_content has 3 bytes"},
    {BYTES("\x08\x07\x12\x04\x12\x02\x08\x02\x22\x14\xff\xff\xff\xff\xff"
           "\xff\xff\xff\xff\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
     TFD_INVALID_ARGUMENT, "tensor_content has 20 bytes"},
    /* 2^40 strings in a message of 17 bytes */
    {BYTES("\x08\x07\x12\x09\x12\x07\x08\x80\x80\x80\x80\x80\x20\x22\x02"
           "\x00\x00"),
     TFD_INVALID_ARGUMENT, "tensor_content has 2 bytes"},
    {BYTES("\x08\x07\x12\x09\x12\x07\x08\x80\x80\x80\x80\x80\x20\x42\x02"
           "xx"),
     TFD_RESOURCE_EXHAUSTED, "A string of 2 bytes is to be repeated 10995"},
    /* 2^45 floats from one: over the limit on memory */
    {BYTES("\x08\x01\x12\x0a\x12\x08\x08\x80\x80\x80\x80\x80\x80\x40\x2a"
           "\x04\0\0\0\0"),
     TFD_RESOURCE_EXHAUSTED, "OOM when allocating tensor with shape"},
    {BYTES("\x08\x14"), TFD_UNIMPLEMENTED,
     "A tensor of type resource cannot be read here"},
    {BYTES("\x08\x15\x7a\x03\x0a\x01x"), TFD_UNIMPLEMENTED,
     "A variant of type 'x' cannot be read here"},
    {BYTES("\x08\x15\x7a\x18\x0a\x16tensorflow::TensorList"),
     TFD_INVALID_ARGUMENT, "a VariantTensorDataProto that is damaged"},
    {BYTES("\x08\x01\xc0\x3e\x00"), TFD_INVALID_ARGUMENT,
     "TensorProto refers to payload 0"},
};

static void test_bad_messages_are_refused(void **state)
{
    (void)state;
    tfd_alloc_limit((size_t)1 << 30);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tfd_tensor t = TFD_TENSOR_INIT;
        struct tfd_status st = TFD_STATUS_INIT;
        enum tfd_code rc = decode(bad[i].proto, bad[i].size, &t, &st);

        if (rc != bad[i].code ||
            strncmp(st.text, bad[i].text, strlen(bad[i].text)))
            fail_msg("case %zu: %s \"%s\"", i, tfd_code_name(rc), st.text);
        assert_null(t.buffer);
    }
}

static void test_every_cut_is_refused_or_smaller(void **state)
{
    static const char whole[] = "\x08\x07\x12\x04\x12\x02\x08\x02\x42\x03"
                                "abc\x42\x02"
                                "de"
                                "\x22\x00\x2a\x04\0\0\0\0";

    (void)state;
    for (size_t cut = 0; cut < sizeof(whole); cut++) {
        struct tfd_tensor t = TFD_TENSOR_INIT;
        char *copy = malloc(cut ? cut : 1);

        memcpy(copy, whole, cut);
        if (decode(copy, cut, &t, NULL) == TFD_OK)
            tfd_tensor_unref(&t);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_of_every_type),
        cmocka_unit_test(test_strings_in_both_forms),
        cmocka_unit_test(test_encoded_bytes_are_tensorflows),
        cmocka_unit_test(test_every_type_survives_a_round_trip),
        cmocka_unit_test(test_handles_go_through_the_hooks),
        cmocka_unit_test(test_bad_messages_are_refused),
        cmocka_unit_test(test_every_cut_is_refused_or_smaller),
    };

    return cmocka_run_group_tests_name("tensor_proto", tests, NULL, NULL);
}
