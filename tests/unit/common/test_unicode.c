/*
 * test_unicode.c - every code point to UTF-8 and back, and what is none, by the
 * table of well-formed bytes in the Unicode standard (3.9, table 3-7).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/unicode.h"

static void test_every_point_there_and_back(void **state)
{
    (void)state;
    for (uint32_t point = 0; point <= TFD_UNICODE_MAX; point++) {
        char bytes[TFD_UTF8_SIZE_MAX];
        const size_t size = tfd_unicode_put(point, bytes);
        const struct tfd_str text = {bytes, size};
        uint32_t back = 0;

        assert_int_equal(size, point < 0x80      ? 1
                               : point < 0x800   ? 2
                               : point < 0x10000 ? 3
                                                 : 4);
        if (tfd_unicode_is_surrogate(point)) {
            assert_int_equal(tfd_unicode_read(text, &back), 0);
            continue;
        }
        assert_int_equal(tfd_unicode_read(text, &back), size);
        assert_int_equal(back, point);
        assert_int_equal(
            tfd_unicode_read((struct tfd_str){bytes, size - 1}, &back), 0);
    }
}

/* The least and the most that a second byte may be. */
static void range_of(int first, int *least, int *most)
{
    *least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    *most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (first < 0xc2 || first > 0xf4)
        *least = 256;
}

static void test_every_pair_of_bytes(void **state)
{
    (void)state;
    for (int first = 0x80; first < 256; first++)
        for (int second = 0; second < 256; second++) {
            const char bytes[] = {(char)first, (char)second, (char)0x80,
                                  (char)0x80};
            const size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
            int least, most;
            uint32_t point;

            range_of(first, &least, &most);
            assert_int_equal(
                tfd_unicode_read((struct tfd_str){bytes, 4}, &point),
                second >= least && second <= most ? size : 0);
        }
}

static void test_a_text_is_utf8_or_not(void **state)
{
    static const struct {
        struct tfd_str text;
        bool is_utf8;
    } cases[] = {
        {TFD_STR_INIT(""), true},
        {TFD_STR_INIT("a\0b"), true},
        {TFD_STR_INIT("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), true},
        {TFD_STR_INIT("a\x80"), false},
        {TFD_STR_INIT("\xe2\x82"), false},
        {TFD_STR_INIT("\xc3\xa9\xe2\x28\xac"), false},
        {TFD_STR_INIT("\xff"), false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(tfd_unicode_is_utf8(cases[i].text), cases[i].is_utf8);
}

/* What a terminal would act upon is not shown, and what is no character. */
static void test_what_a_terminal_shows(void **state)
{
    char text[TFD_UTF8_SIZE_MAX];

    (void)state;
    for (uint32_t point = 0; point < 0x800; point++) {
        size_t size = tfd_unicode_put(point, text);
        bool control = point < 0x20 || (point >= 0x7f && point <= 0x9f);

        assert_int_equal(tfd_unicode_shown((struct tfd_str){text, size}),
                         control ? 0 : size);
    }
    assert_int_equal(tfd_unicode_shown(TFD_STR("\x9b")), 0);
    assert_int_equal(tfd_unicode_shown(TFD_STR("\xc3")), 0);
    assert_int_equal(tfd_unicode_shown(TFD_STR("")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_point_there_and_back),
        cmocka_unit_test(test_every_pair_of_bytes),
        cmocka_unit_test(test_a_text_is_utf8_or_not),
        cmocka_unit_test(test_what_a_terminal_shows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
