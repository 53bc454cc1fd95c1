/*
 * test_json_to_example.c - the bytes that Examples in JSON become, which are
 * protobuf's encoding of them, and where damage in them is found.  That
 * TensorFlow says the same is the conformance table's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernels/parse/json_to_example.h"

#include "config/limits.h"

#include <string.h>

static enum tfd_code convert(struct tfd_str text, struct tfd_bytes *out,
                             struct tfd_status *st)
{
    /* Of its own size, so that a sanitizer sees what is read beyond it. */
    char *copy = malloc(text.size + (text.size == 0));
    enum tfd_code rc;

    assert_non_null(copy);
    memcpy(copy, text.data, text.size);
    tfd_bytes_init(out, (size_t)1 << 20);
    rc = tfd_json_to_example((struct tfd_str){copy, text.size}, out, st);
    free(copy);
    return rc;
}

/* ---- Bytes --------------------------------------------------------------- */

struct good_case {
    const char *json;
    struct tfd_str bytes;
};

#define FEATURE(of) "{\"features\":{\"feature\":{\"a\":" of "}}}"
#define VALUES(kind, of) FEATURE("{\"" kind "\":{\"value\":" of "}}")

static const struct good_case good[] = {
    {"{}", TFD_STR_INIT("")},
    {"{features:null}", TFD_STR_INIT("")},
    {"{'features':{},}", TFD_STR_INIT("\n\0")},
    {"{\"features\":{},\"features\":{}}", TFD_STR_INIT("\n\0\n\0")},
    {FEATURE("null"), TFD_STR_INIT("\n\5\n\3\n\1a")},
    {FEATURE("{}"), TFD_STR_INIT("\n\7\n\5\n\1a\x12\0")},
    {VALUES("int64List", "[1,\"2\",3.0,null]"),
     TFD_STR_INIT("\n\x11\n\x0f\n\1a\x12\n\x1a\x08\x08\1\x08\2\x08\3\x08\0")},
    {VALUES("int64_list", "[[-1],[]]"),
     TFD_STR_INIT("\n\x14\n\x12\n\1a\x12\r\x1a\x0b\x08\xff\xff\xff\xff\xff\xff"
                  "\xff\xff\xff\1")},
    {VALUES("floatList", "1.5"),
     TFD_STR_INIT("\n\x0e\n\x0c\n\1a\x12\7\x12\5\r\0\0\xc0\x3f")},
    {VALUES("floatList", "\"-Infinity\""),
     TFD_STR_INIT("\n\x0e\n\x0c\n\1a\x12\7\x12\5\r\0\0\x80\xff")},
    {VALUES("bytesList", "[\"_-8=\",\"+/8\",null]"),
     TFD_STR_INIT("\n\x13\n\x11\n\1a\x12\x0c\n\n\n\2\xff\xef\n\2\xfb\xff\n"
                  "\0")},
    {"{features:{feature:{\"\\u00e9\\ud83d\\ude00\":{}}}}",
     TFD_STR_INIT("\n\x0c\n\n\n\6\xc3\xa9\xf0\x9f\x98\x80\x12\0")},
};

static void test_the_bytes_are_protobufs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_bytes out;

        if (convert(tfd_str_of(good[i].json), &out, &st) != TFD_OK)
            fail_msg("%s: %s", good[i].json, st.text);
        if (!tfd_str_eq(tfd_bytes_view(&out), good[i].bytes))
            fail_msg("%s becomes other bytes", good[i].json);
        tfd_bytes_deinit(&out);
    }
}

/* ---- Errors -------------------------------------------------------------- */

struct bad_case {
    const char *json, *error;
};

#define IN "invalid JSON in type.googleapis.com/tensorflow.Example"
#define IN_A IN " @ features.feature[0]"

static const struct bad_case bad[] = {
    {"", "unexpected EOF"},
    {"{\"features\":", "unexpected EOF"},
    {"{}{", "extraneous characters after end of JSON object"},
    {"\xef\xbb\xbf{}",
     IN ", near 1:1 (offset 0): unexpected character: '\\xef'; expected '{'"},
    {"{\n \"x\":1}", IN ", near 2:6 (offset 7): no such field: 'x'"},
    {FEATURE("{\"floatList\":{},\"int64List\":{}}"),
     IN_A ".int64List: message tensorflow.Int64List, near 1:57 (offset 56): "
          "'int64List' has already been set (either directly or as part of a "
          "oneof)"},
    {FEATURE("{},a:{}"),
     IN " @ features.feature[1]: message tensorflow.Features.FeatureEntry, "
        "near 1:32 (offset 31): got unexpectedly-repeated repeated map key: "
        "'a'"},
    {VALUES("int64List", "[1,1.5]"), IN_A
     ".int64List.value[1]: int64, near 1:53 (offset 52): expected integer, "
     "but JSON number had fractional part"},
    {VALUES("floatList", "1e39"),
     IN_A ".floatList.value: float, near 1:51 (offset 50): float out of range"},
    {VALUES("bytesList", "\"Y\""),
     IN_A ".bytesList.value: bytes, near 1:51 (offset 50): corrupt base64"},
    {"{'\xc0\x80':1}", IN ", near 1:5 (offset 4): Invalid UTF-8 string"},
    {"{'\xff':1}", IN ", near 1:4 (offset 3): invalid UTF-8 in string"},
    {"{'\\ud83d\\u0041':1}", IN ", near 1:7 (offset 6): invalid low surrogate"},
};

static void test_damage_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_bytes out;

        assert_int_equal(convert(tfd_str_of(bad[i].json), &out, &st),
                         TFD_INVALID_ARGUMENT);
        assert_string_equal(st.text, bad[i].error);
        tfd_bytes_deinit(&out);
    }
}

static void test_every_beginning_is_damaged(void **state)
{
    (void)state;
    for (size_t i = 1; i < sizeof(good) / sizeof(good[0]); i++)
        for (size_t size = 0; size < strlen(good[i].json); size++) {
            struct tfd_bytes out;

            assert_int_equal(
                convert((struct tfd_str){good[i].json, size}, &out, NULL),
                TFD_INVALID_ARGUMENT);
            tfd_bytes_deinit(&out);
        }
}

/* ---- Limits -------------------------------------------------------------- */

static enum tfd_code convert_nested(int depth, struct tfd_status *st)
{
    struct tfd_bytes json, out;
    enum tfd_code rc;

    tfd_bytes_init(&json, 1 << 20);
    tfd_bytes_printf(&json, "{features:{feature:{a:{int64List:{value:");
    for (int i = 0; i < depth; i++)
        tfd_bytes_add(&json, "[", 1);
    for (int i = 0; i < depth; i++)
        tfd_bytes_add(&json, "]", 1);
    tfd_bytes_printf(&json, "}}}}}");
    rc = convert(tfd_bytes_view(&json), &out, st);
    tfd_bytes_deinit(&json);
    tfd_bytes_deinit(&out);
    return rc;
}

static void test_arrays_nest_so_deep(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(convert_nested(TFD_JSON_DEPTH_MAX - 5, &st), TFD_OK);
    assert_int_equal(convert_nested(TFD_JSON_DEPTH_MAX - 4, &st),
                     TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "JSON content was too deeply nested"));
    assert_int_equal(convert_nested(100000, NULL), TFD_INVALID_ARGUMENT);
}

static void test_a_long_name_is_cut_between_characters(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_bytes json, out;

    (void)state;
    tfd_bytes_init(&json, 1 << 20);
    tfd_bytes_printf(&json, "{\"x");
    for (int i = 0; i < 2000; i++)
        tfd_bytes_add(&json, "\xe2\x82\xac", 3);
    tfd_bytes_printf(&json, "\":1}");
    assert_int_equal(convert(tfd_bytes_view(&json), &out, &st),
                     TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text + strlen(st.text) - 4, "\xe2\x82\xac'");
    tfd_bytes_deinit(&json);
    tfd_bytes_deinit(&out);
}

static void test_what_does_not_fit_is_said(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_bytes out;

    (void)state;
    tfd_bytes_init(&out, 8);
    assert_int_equal(tfd_json_to_example(
                         tfd_str_of(VALUES("floatList", "[1,2,3]")), &out, &st),
                     TFD_RESOURCE_EXHAUSTED);
    tfd_bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bytes_are_protobufs),
        cmocka_unit_test(test_damage_is_named),
        cmocka_unit_test(test_every_beginning_is_damaged),
        cmocka_unit_test(test_arrays_nest_so_deep),
        cmocka_unit_test(test_a_long_name_is_cut_between_characters),
        cmocka_unit_test(test_what_does_not_fit_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
