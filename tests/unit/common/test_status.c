/*
 * test_status.c - common/base/status.c: the first failure wins, text that is
 * too long is cut where one can see it, and all of it is UTF-8.
 */
#include "common/base/status.h"

#include "common/base/unicode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_first_failure_wins(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(tfd_fail(&st, TFD_NOT_FOUND, "no %s %d", "op", 3),
                     TFD_NOT_FOUND);
    assert_int_equal(tfd_fail(&st, TFD_INTERNAL, "echo"), TFD_NOT_FOUND);
    assert_int_equal(st.code, TFD_NOT_FOUND);
    assert_string_equal(st.text, "no op 3");
}

static void test_status_may_be_null(void **state)
{
    (void)state;
    assert_int_equal(tfd_fail(NULL, TFD_ABORTED, "x"), TFD_ABORTED);
    tfd_status_context(NULL, "nobody reads this");
}

static void test_cleared_status_takes_a_new_failure(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    tfd_fail(&st, TFD_NOT_FOUND, "first");
    tfd_status_clear(&st);
    assert_int_equal(st.code, TFD_OK);
    assert_string_equal(st.text, "");
    assert_int_equal(tfd_fail(&st, TFD_INTERNAL, "second"), TFD_INTERNAL);
    assert_string_equal(st.text, "second");
}

static void test_context_goes_in_front(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    tfd_status_context(&st, "while all is well");
    assert_string_equal(st.text, "");
    tfd_fail(&st, TFD_UNAVAILABLE, "refused");
    tfd_status_context(&st, "peer %d", 7);
    tfd_status_context(&st, "step 1");
    assert_string_equal(st.text, "step 1: peer 7: refused");
}

static void test_copy_keeps_an_earlier_failure(void **state)
{
    struct tfd_status from = TFD_STATUS_INIT, to = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(tfd_status_copy(&to, &from), TFD_OK);
    tfd_fail(&from, TFD_DATA_LOSS, "crc");
    assert_int_equal(tfd_status_copy(&to, &from), TFD_DATA_LOSS);
    assert_string_equal(to.text, "crc");

    tfd_status_clear(&from);
    tfd_fail(&from, TFD_ABORTED, "later");
    assert_int_equal(tfd_status_copy(&to, &from), TFD_ABORTED);
    assert_string_equal(to.text, "crc");
    assert_int_equal(tfd_status_copy(NULL, &from), TFD_ABORTED);
}

static void test_long_text_is_cut_and_marked(void **state)
{
    char big[2 * TFD_STATUS_TEXT_MAX];
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    tfd_fail(&st, TFD_INTERNAL, "%s", big);
    assert_int_equal(strlen(st.text), TFD_STATUS_TEXT_MAX - 1);
    assert_string_equal(st.text + TFD_STATUS_TEXT_MAX - 4, "...");

    tfd_status_context(&st, "in front");
    assert_memory_equal(st.text, "in front: xxx", 13);
    assert_int_equal(strlen(st.text), TFD_STATUS_TEXT_MAX - 1);
    assert_string_equal(st.text + TFD_STATUS_TEXT_MAX - 4, "...");
}

static void test_text_of_the_greatest_length_is_not_marked(void **state)
{
    char fits[TFD_STATUS_TEXT_MAX];
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    memset(fits, 'y', sizeof(fits) - 1);
    fits[sizeof(fits) - 1] = '\0';
    tfd_fail(&st, TFD_INTERNAL, "%s", fits);
    assert_string_equal(st.text, fits);
}

/* What a client named may be no UTF-8, and a cut may fall into a character. */
static void test_text_is_utf8_whatever_it_names(void **state)
{
    static const struct {
        const char *named, *text;
    } cases[] = {
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"\xff", "?"},
        {"a\xc3", "a?"},
        {"\xe6\x97", "??"},
        {"\xed\xa0\x80", "???"},
        {"\xc0\xaf", "??"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"", ""},
    };
    char named[TFD_STATUS_TEXT_MAX + 4];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct tfd_status st = TFD_STATUS_INIT;

        tfd_fail(&st, TFD_INVALID_ARGUMENT, "%s", cases[i].named);
        assert_string_equal(st.text, cases[i].text);
    }
    for (size_t lead = 0; lead < 3; lead++) {
        struct tfd_status st = TFD_STATUS_INIT;
        size_t size = lead;

        memset(named, 'a', lead);
        for (; size + 3 < sizeof(named); size += 3)
            memcpy(named + size, "\xe6\x97\xa5", 3);
        named[size] = '\0';
        tfd_fail(&st, TFD_INVALID_ARGUMENT, "%s", named);
        tfd_status_context(&st, "%s", "node");
        assert_true(
            tfd_unicode_is_utf8((struct tfd_str){st.text, strlen(st.text)}));
        assert_string_equal(st.text + strlen(st.text) - 3, "...");
    }
}

static void test_names_of_codes_and_of_others(void **state)
{
    (void)state;
    assert_string_equal(tfd_code_name(TFD_OK), "OK");
    assert_string_equal(tfd_code_name(TFD_UNAUTHENTICATED), "UNAUTHENTICATED");
    assert_string_equal(tfd_code_name((enum tfd_code)17), "UNKNOWN");
    assert_string_equal(tfd_code_name((enum tfd_code)(-1)), "UNKNOWN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_failure_wins),
        cmocka_unit_test(test_status_may_be_null),
        cmocka_unit_test(test_cleared_status_takes_a_new_failure),
        cmocka_unit_test(test_context_goes_in_front),
        cmocka_unit_test(test_copy_keeps_an_earlier_failure),
        cmocka_unit_test(test_long_text_is_cut_and_marked),
        cmocka_unit_test(test_text_of_the_greatest_length_is_not_marked),
        cmocka_unit_test(test_text_is_utf8_whatever_it_names),
        cmocka_unit_test(test_names_of_codes_and_of_others),
    };

    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
