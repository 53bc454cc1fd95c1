/*
 * test_allow.c - config/allow.c: users by number and name, and who may connect.
 */
#include "config/allow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_numbers_and_names_are_users(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_allow a;

    (void)state;
    assert_int_equal(tfd_allow_parse("4294967294,root,0017", &a, &st), TFD_OK);
    assert_int_equal(a.count, 3);
    assert_int_equal(a.uids[0], UINT32_MAX - 1);
    assert_int_equal(a.uids[1], 0);
    assert_int_equal(a.uids[2], 17);
    assert_false(a.any);
    assert_int_equal(tfd_allow_parse("7,any", &a, &st), TFD_OK);
    assert_true(a.any);
}

static void test_what_is_no_user_is_named(void **state)
{
    static const char *const cases[][2] = {
        {"", "0 bytes"},
        {",", "0 bytes"},
        {"1000,", "0 bytes"},
        {",1000", "0 bytes"},
        {"1000,,1001", "0 bytes"},
        {"4294967295", "4294967294"}, /* (uid_t)-1 is nobody's number */
        {"4294967296", "4294967294"},
        {"99999999999999999999", ""},
        {"-1", "-1 is no user"},
        {" 1000", " 1000 is no user"},
        {"0x10", "0x10 is no user"},
        {"Any", "Any is no user"},
        {"no-such-user-here", "no-such-user-here is no user"},
        {"a-name-that-goes-on-and-on-until-it-has-more-than-sixty-four-letters",
         "68 bytes"},
    };
    struct tfd_allow a = {.count = 7};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_status st = TFD_STATUS_INIT;

        if (tfd_allow_parse(cases[i][0], &a, &st) != TFD_INVALID_ARGUMENT ||
            !strstr(st.text, cases[i][1]))
            fail_msg("\"%s\": %s", cases[i][0], st.text);
        assert_int_equal(a.count, 7); /* untouched */
    }
}

static void test_too_many_users_are_any(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_allow a;
    char text[8 * (TFD_ALLOW_UIDS_MAX + 1)] = "1";

    (void)state;
    for (int i = 1; i < TFD_ALLOW_UIDS_MAX; i++)
        strcat(text, ",1");
    assert_int_equal(tfd_allow_parse(text, &a, &st), TFD_OK);
    strcat(text, ",1");
    assert_int_equal(tfd_allow_parse(text, &a, &st), TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "give \"any\""));
}

static void test_the_own_user_and_root_may_others_may_not(void **state)
{
    uint32_t own = geteuid(), other = own + 4711;
    struct tfd_allow none = {0}, any = {.any = true};
    struct tfd_allow one = {.uids = {other}, .count = 1};

    (void)state;
    assert_true(tfd_allow_has(&none, own));
    assert_true(tfd_allow_has(&none, 0));
    assert_false(tfd_allow_has(&none, other));
    assert_false(tfd_allow_has(&none, TFD_UID_UNKNOWN));
    assert_true(tfd_allow_has(&one, other));
    assert_true(tfd_allow_has(&one, own));
    assert_false(tfd_allow_has(&one, other + 1));
    assert_false(tfd_allow_has(&one, TFD_UID_UNKNOWN));
    assert_true(tfd_allow_has(&any, other));
    assert_true(tfd_allow_has(&any, TFD_UID_UNKNOWN));
    assert_false(tfd_allow_opened(&none));
    assert_true(tfd_allow_opened(&one));
    assert_true(tfd_allow_opened(&any));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_and_names_are_users),
        cmocka_unit_test(test_what_is_no_user_is_named),
        cmocka_unit_test(test_too_many_users_are_any),
        cmocka_unit_test(test_the_own_user_and_root_may_others_may_not),
    };

    return cmocka_run_group_tests_name("allow", tests, NULL, NULL);
}
