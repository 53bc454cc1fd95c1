/*
 * test_regex.c - kernels/text/regex.h: what RE2 says to the same patterns,
 * which were tried in TensorFlow.
 */
#include "kernels/text/regex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bool matches(const char *pattern, struct tfd_str text)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_regex_matcher m;
    struct tfd_regex r;
    bool yes;

    if (tfd_regex_compile(&r, tfd_str_of(pattern), &st) != TFD_OK)
        fail_msg("%s", st.text);
    assert_int_equal(tfd_regex_matcher_init(&m, &r, &st), TFD_OK);
    yes = tfd_regex_matches(&m, text);
    assert_int_equal(tfd_regex_matches(&m, text), yes);
    tfd_regex_matcher_deinit(&m);
    tfd_regex_deinit(&r);
    return yes;
}

/* Texts that match, texts that do not. */
static void test_the_whole_text_is_matched(void **state)
{
    static const struct {
        const char *pattern, *yes[5], *no[5];
    } cases[] = {
        {"^s3://.*", {"s3://", "s3://a"}, {"as3://", "s3:/"}},
        {".*t.*", {"t", "train"}, {"s", "a\nt"}},
        {"a[b-d]+c?", {"abc", "add"}, {"a", "ac.", "bac"}},
        {"a.b",
         {"a-b", "a\xc3\xa9"
                 "b"},
         {"a\nb", "ab",
          "a\xff"
          "b"}},
        {"(?s)a.b", {"a\nb"}, {"ab"}},
        {"a|bc|", {"a", "bc", ""}, {"abc", "b"}},
        {"(a|b)(c|d)", {"ac", "bd"}, {"a", "abc"}},
        {"x{2,3}", {"xx", "xxx"}, {"x", "xxxx"}},
        {"(ab){2,}", {"abab", "ababab"}, {"ab", "aba"}},
        {"a{0}b", {"b"}, {"ab"}},
        {"a{,2}", {"a{,2}"}, {"a", "aa"}},
        {"a*?b+?c??", {"b", "aabbc"}, {"a", "cb"}},
        {"(a*)*", {"", "aaa"}, {"b"}},
        {"(|a)+", {"", "aa"}, {"b"}},
        {"\\d+\\.\\w", {"12.x"}, {"12x", ".x"}},
        {"[^a]", {"b", "\n", "\xc3\xa9"}, {"a", "\xff", ""}},
        {"[]a]", {"]", "a"}, {"b"}},
        {"[\\d-z]", {"3", "-", "z"}, {"y"}},
        {"[[:alpha:]_]+", {"aB_"}, {"a1"}},
        {"[[:^digit:]]", {"a"}, {"1"}},
        {"[:al]", {":", "a"}, {"b"}},
        {"(?i)aB[x-z]", {"abx", "ABZ"}, {"abw"}},
        {"(?i:a)b", {"Ab", "ab"}, {"aB"}},
        {"(?i)a(?-i)b", {"Ab"}, {"aB"}},
        {"(?P<name>a)", {"a"}, {"aa"}},
        {"\\Qa.b\\E*", {"a.", "a.bb"}, {"axb"}},
        {"(?m)a$\n^b", {"a\nb"}, {"a b"}},
        {"a$\n", {NULL}, {"a\n", "a"}},
        {"a\\b.*", {"a", "a b"}, {"ab"}},
        {"\\Aab\\Bc\\z", {"abc"}, {"ab"}},
        {"\\x41\\x{e9}\\101\\n",
         {"A\xc3\xa9"
          "A\n"},
         {"A"}},
        {"\xc3\xa9+", {"\xc3\xa9\xc3\xa9"}, {"\xc3", "e"}},
        {"", {""}, {"a"}},
        {"\\.\\-\\\\", {".-\\"}, {"a-\\"}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (int n = 0; n < 5 && cases[i].yes[n]; n++)
            if (!matches(cases[i].pattern, tfd_str_of(cases[i].yes[n])))
                fail_msg("%s: not %s", cases[i].pattern, cases[i].yes[n]);
        for (int n = 0; n < 5 && cases[i].no[n]; n++)
            if (matches(cases[i].pattern, tfd_str_of(cases[i].no[n])))
                fail_msg("%s: %s", cases[i].pattern, cases[i].no[n]);
    }
}

static void test_a_zero_is_a_character(void **state)
{
    (void)state;
    assert_true(matches("a.b", (struct tfd_str){"a\0b", 3}));
    assert_true(matches("[[:cntrl:]]", (struct tfd_str){"\0", 1}));
    assert_false(matches("a", (struct tfd_str){"a\0", 2}));
}

static void test_wrong_patterns_are_refused(void **state)
{
    static const char *const patterns[] = {
        "(",
        ")",
        "a)",
        "(a",
        "[",
        "[a",
        "[]",
        "[b-a]",
        "*",
        "a**",
        "a+*",
        "a{2}{2}",
        "^|*",
        "a{1001}",
        "a{3,2}",
        "(?z)",
        "(?i",
        "(?P<n",
        "(?P<>a)",
        "(?P<a b>)",
        "\\",
        "\\1",
        "\\8",
        "\\xZ",
        "\\x{110000}",
        "\\pL",
        "\\C",
        "\\y",
        "[[:no:]]",
        "\xff",
        "(?i)\xc3\xa9",
        "[\\",
        "(?<n>a)",
        "(a{500}){500}",
    };
    struct tfd_status st;
    struct tfd_regex r;

    (void)state;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
        tfd_status_clear(&st);
        if (tfd_regex_compile(&r, tfd_str_of(patterns[i]), &st) !=
            TFD_INVALID_ARGUMENT)
            fail_msg("%s was taken", patterns[i]);
        assert_non_null(strstr(st.text, "Invalid pattern: "));
        assert_null(r.steps);
    }
}

static void test_deep_nesting_is_refused(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    char pattern[5000];
    struct tfd_regex r;

    (void)state;
    memset(pattern, '(', sizeof(pattern));
    assert_int_equal(
        tfd_regex_compile(&r, (struct tfd_str){pattern, sizeof(pattern)}, &st),
        TFD_INVALID_ARGUMENT);
}

/* What takes a backtracking matcher for ever. */
static void test_time_is_linear(void **state)
{
    char text[2000];

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_false(matches("(a*)*b", (struct tfd_str){text, sizeof(text)}));
    assert_true(matches("(a|aa|a?)+", (struct tfd_str){text, sizeof(text)}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_whole_text_is_matched),
        cmocka_unit_test(test_a_zero_is_a_character),
        cmocka_unit_test(test_wrong_patterns_are_refused),
        cmocka_unit_test(test_deep_nesting_is_refused),
        cmocka_unit_test(test_time_is_linear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
