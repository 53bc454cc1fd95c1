/*
 * test_percent.c - rpc/http/percent.c and rpc/grpc/grpc_wire.c: the texts in
 * gRPC's headers, good and damaged.
 */
#include "rpc/grpc/grpc_wire.h"
#include "rpc/http/percent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void test_texts_are_encoded_as_tensorflow_does(void **state)
{
    static const struct {
        const char *plain, *encoded;
    } cases[] = {
        {"", ""},
        {"Assign [[{{node a}}]]; x:0", "Assign [[{{node a}}]]; x:0"},
        {"two\nlines\tand", "two%0Alines%09and"},
        {"100%", "100%25"},
        {"~ \x7f", "~ %7F"},
        {" ", "%20"},
        {" a key: ", "%20a key:%20"},
        {"\xc3\xa4", "%C3%A4"},
        {"\r\n", "%0D%0A"},
    };
    char text[64];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        tfd_percent_encode(tfd_str_of(cases[i].plain), text, sizeof(text));
        assert_string_equal(text, cases[i].encoded);
        tfd_percent_decode(tfd_str_of(cases[i].encoded), text, sizeof(text));
        assert_string_equal(text, cases[i].plain);
    }
}

static void test_every_byte_survives_both_ways(void **state)
{
    char plain[256], encoded[3 * 256 + 1], back[257];
    size_t size;

    (void)state;
    for (int i = 0; i < 256; i++)
        plain[i] = (char)i;
    size = tfd_percent_encode((struct tfd_str){plain, 256}, encoded,
                              sizeof(encoded));
    for (size_t i = 0; i < size; i++)
        assert_in_range(encoded[i], ' ', '~');
    assert_int_equal(
        tfd_percent_decode((struct tfd_str){encoded, size}, back, sizeof(back)),
        256);
    assert_memory_equal(plain, back, 256);
}

static void test_damaged_escapes_stand_for_themselves(void **state)
{
    static const struct {
        const char *encoded, *plain;
    } cases[] = {
        {"%", "%"},     {"%4", "%4"},         {"%4g", "%4g"},
        {"%g4", "%g4"}, {"%%41", "%A"},       {"%zz%41%", "%zzA%"},
        {"%-1", "%-1"}, {"%4\xff", "%4\xff"}, {"%6a%6A", "jj"},
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        tfd_percent_decode(tfd_str_of(cases[i].encoded), text, sizeof(text));
        assert_string_equal(text, cases[i].plain);
    }
}

static void test_an_escape_is_never_cut(void **state)
{
    char text[16];

    (void)state;
    for (size_t room = 1; room <= sizeof(text); room++) {
        size_t size = tfd_percent_encode(TFD_STR("a\nb\nc\n"), text, room);

        assert_true(size < room);
        assert_int_equal(text[size], '\0');
        for (size_t i = 0; i < size; i++)
            if (text[i] == '%')
                assert_true(i + 2 < size);
    }
    assert_int_equal(tfd_percent_encode(TFD_STR("abcdef"), text, 4), 3);
    assert_int_equal(tfd_percent_decode(TFD_STR("%41%42%43"), text, 3), 2);
    assert_string_equal(text, "AB");
}

static void test_timeouts_are_read(void **state)
{
    static const struct {
        const char *text;
        uint64_t us;
    } cases[] = {
        {"5S", 5000000},
        {"5010m", 5010000},
        {"701m", 701000},
        {"1u", 1},
        {"1n", 1},
        {"1000n", 1},
        {"1001n", 2},
        {"2M", 120000000},
        {"1H", 3600000000},
        {"0S", 0},
        {"00000001S", 1000000},
        {"99999999H", 359999996400000000},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t us = 7;

        assert_true(tfd_grpc_timeout_parse(tfd_str_of(cases[i].text), &us));
        assert_int_equal(us, cases[i].us);
    }
}

static void test_bad_timeouts_are_refused(void **state)
{
    static const char *const cases[] = {
        "",    "S",    "5",   "5s",
        "5 S", " 5S",  "-5S", "5.0S",
        "5h",  "0x5S", "+1S", "123456789S",
        "5SS", "S5",   "5\n", "99999999999999",
    };
    uint64_t us = 7;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_false(tfd_grpc_timeout_parse(tfd_str_of(cases[i]), &us));
    assert_int_equal(us, 7);
}

static void test_timeouts_are_written_rounded_up(void **state)
{
    static const struct {
        uint64_t us;
        const char *text;
    } cases[] = {
        {1, "1u"},
        {99999999, "99999999u"},
        {100000000, "100000m"},
        {100000001, "100001m"},
        {UINT64_C(99999999) * 1000 + 1, "100000S"},
        {UINT64_C(100000000) * 1000000, "1666667M"},
        {UINT64_C(99999999) * 60000000 + 1, "1666667H"},
        {UINT64_MAX, "99999999H"},
    };
    char text[TFD_GRPC_TIMEOUT_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(tfd_grpc_timeout_text(cases[i].us, text),
                            cases[i].text);
    for (uint64_t us = 1; us < UINT64_C(1) << 58; us = us * 7 + 3) {
        uint64_t back = 0;

        assert_true(tfd_grpc_timeout_parse(
            tfd_str_of(tfd_grpc_timeout_text(us, text)), &back));
        assert_true(back >= us);
    }
}

static void test_status_numbers(void **state)
{
    static const struct {
        const char *text;
        enum tfd_code code;
    } cases[] = {
        {"0", TFD_OK},
        {"5", TFD_NOT_FOUND},
        {"16", TFD_UNAUTHENTICATED},
        {"05", TFD_NOT_FOUND},
        {"17", TFD_UNKNOWN},
        {"99", TFD_UNKNOWN},
        {"", TFD_UNKNOWN},
        {"-1", TFD_UNKNOWN},
        {"x", TFD_UNKNOWN},
        {"100", TFD_UNKNOWN},
        {"1 ", TFD_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(tfd_grpc_code_parse(tfd_str_of(cases[i].text)),
                         cases[i].code);
    assert_int_equal(tfd_grpc_code_of_http(404), TFD_UNIMPLEMENTED);
    assert_int_equal(tfd_grpc_code_of_http(503), TFD_UNAVAILABLE);
    assert_int_equal(tfd_grpc_code_of_http(200), TFD_UNKNOWN);
    assert_int_equal(tfd_grpc_code_of_http(0), TFD_UNKNOWN);
    assert_int_equal(tfd_grpc_code_of_reset(7), TFD_UNAVAILABLE);
    assert_int_equal(tfd_grpc_code_of_reset(8), TFD_CANCELLED);
    assert_int_equal(tfd_grpc_code_of_reset(0), TFD_INTERNAL);
    assert_int_equal(tfd_grpc_code_of_reset(UINT32_MAX), TFD_INTERNAL);
}

static void test_content_types(void **state)
{
    (void)state;
    assert_true(tfd_grpc_is_content_type(TFD_STR("application/grpc")));
    assert_true(tfd_grpc_is_content_type(TFD_STR("application/grpc+proto")));
    assert_true(tfd_grpc_is_content_type(TFD_STR("application/grpc;x=y")));
    assert_false(tfd_grpc_is_content_type(TFD_STR("application/grpc-web")));
    assert_false(tfd_grpc_is_content_type(TFD_STR("application/grp")));
    assert_false(tfd_grpc_is_content_type(TFD_STR("text/html")));
    assert_false(tfd_grpc_is_content_type(TFD_STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_encoded_as_tensorflow_does),
        cmocka_unit_test(test_every_byte_survives_both_ways),
        cmocka_unit_test(test_damaged_escapes_stand_for_themselves),
        cmocka_unit_test(test_an_escape_is_never_cut),
        cmocka_unit_test(test_timeouts_are_read),
        cmocka_unit_test(test_bad_timeouts_are_refused),
        cmocka_unit_test(test_timeouts_are_written_rounded_up),
        cmocka_unit_test(test_status_numbers),
        cmocka_unit_test(test_content_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
