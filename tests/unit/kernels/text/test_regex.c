/*
 * test_regex.c - kernels/text/re2.h, replace.h and pattern.h: what TensorFlow
 * says to the same patterns and rewrites, which were tried there.
 */
#include "config/limits.h"
#include "kernels/text/pattern.h"
#include "kernels/text/replace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The compiled pattern is the caller's. */
static struct tfd_re2 *compile(const char *pattern)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_re2 *r;

    if (tfd_re2_new(tfd_str_of(pattern), &r, &st) != TFD_OK)
        fail_msg("%s", st.text);
    return r;
}

static bool matches(const char *pattern, struct tfd_str text)
{
    struct tfd_re2 *r = compile(pattern);
    bool yes, again;

    assert_int_equal(tfd_re2_full_match(r, text, &yes, NULL), TFD_OK);
    assert_int_equal(tfd_re2_full_match(r, text, &again, NULL), TFD_OK);
    assert_int_equal(yes, again);
    tfd_re2_free(r);
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
        {"a\\Cb",
         {"a\xff"
          "b"},
         {"ab"}},
        {"\\pL+", {"a\xc3\xa9"}, {"1"}},
        {"(?i)\xc3\xa9", {"\xc3\xa9", "\xc3\x89"}, {"e"}},
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
        "\\y",
        "[[:no:]]",
        "\xff",
        "[\\",
        "(?<n>a)",
        "(a{500}){500}",
        "((\\pL{100}){10})",
    };
    struct tfd_status st;
    struct tfd_re2 *r;

    (void)state;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
        tfd_status_clear(&st);
        if (tfd_re2_new(tfd_str_of(patterns[i]), &r, &st) !=
            TFD_INVALID_ARGUMENT)
            fail_msg("%s was taken", patterns[i]);
        assert_non_null(strstr(st.text, "Invalid pattern: "));
        assert_null(r);
    }
}

static void test_errors_are_in_tensorflow_s_words(void **state)
{
    static const struct {
        const char *pattern, *text;
    } cases[] = {
        {"(", "Invalid pattern: (, error: missing ): ("},
        {"a{1001}",
         "Invalid pattern: a{1001}, error: invalid repetition size: {1001}"},
        {"((\\pL{100}){10})", "Invalid pattern: ((\\pL{100}){10}), error: "
                              "pattern too large - compile failed"},
        {"(?<n>a)",
         "Invalid pattern: (?<n>a), error: invalid perl operator: (?<"},
    };
    struct tfd_re2 *r;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct tfd_status st = TFD_STATUS_INIT;

        assert_int_equal(tfd_re2_new(tfd_str_of(cases[i].pattern), &r, &st),
                         TFD_INVALID_ARGUMENT);
        assert_string_equal(st.text, cases[i].text);
    }
}

static void test_deep_nesting_is_refused(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    char pattern[5000];
    struct tfd_re2 *r;

    (void)state;
    memset(pattern, '(', sizeof(pattern));
    assert_int_equal(
        tfd_re2_new((struct tfd_str){pattern, sizeof(pattern)}, &r, &st),
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

/* ---- Replacing ------------------------------------------------------------
 */

/* NULL: the text stays as it is. */
static void check_replaced(const char *pattern, const char *rewrite, bool all,
                           const char *text, const char *want)
{
    struct tfd_re2 *r = compile(pattern);
    struct tfd_replace replace;
    struct tfd_bytes out;
    bool changed;

    tfd_bytes_init(&out, 1000);
    tfd_replace_init(&replace, r, tfd_str_of(rewrite), all);
    assert_int_equal(
        tfd_replace(&replace, tfd_str_of(text), &out, &changed, NULL), TFD_OK);
    if (changed != (want != NULL) ||
        (changed && !tfd_str_is(tfd_bytes_view(&out), want)))
        fail_msg("%s, %s, %s: " TFD_STR_FMT, pattern, rewrite, text,
                 TFD_STR_ARG(tfd_bytes_view(&out)));
    tfd_bytes_deinit(&out);
    tfd_re2_free(r);
}

static void test_matches_are_replaced(void **state)
{
    static const struct {
        const char *pattern, *rewrite, *text, *all, *first;
    } cases[] = {
        {"b", "x", "abcb", "axcx", "axcb"},
        {"b", "", "bb", "", "b"},
        {"b", "x", "ac", NULL, NULL},
        {"(a)(b)?", "[\\2\\1\\0]", "aab", "[aa][baab]", "[aa]ab"},
        {"a", "\\\\", "a", "\\", "\\"},
        {"", "-", "abc", "-a-b-c-", "-abc"},
        {"", "-", "", "-", "-"},
        {"b*", "x", "abc", "xaxcx", "xabc"},
        {"", ".", "\xc3\xa9\xff", ".\xc3\xa9.\xff.", ".\xc3\xa9\xff"},
        {"^a", "x", "aa", "xa", "xa"},
        {"\\ba", "x", "aa a", "xa x", "xa a"},
        /* What is wrong with a rewrite. */
        {"b", "\\1", "abc", NULL, NULL},
        {"(b)", "\\2", "abc", NULL, NULL},
        {"b", "q\\xz", "abc", "aqc", NULL},
        {"b", "q\\", "abc", "aqc", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        check_replaced(cases[i].pattern, cases[i].rewrite, true, cases[i].text,
                       cases[i].all);
        check_replaced(cases[i].pattern, cases[i].rewrite, false, cases[i].text,
                       cases[i].first);
    }
}

/* What is matched without RE2, and what only looks so; a byte of 0, one
 * outside ASCII and half a character are among the texts. */
static void test_classes_of_bytes_are_replaced(void **state)
{
    static const struct {
        const char *pattern, *text, *all, *first;
    } cases[] = {
        {"[1-4]", "1524", "<1>5<2><4>", "<1>524"},
        {"[1-4]+", "125344", "<12>5<344>", "<12>5344"},
        {"[1-4]", "", NULL, NULL},
        {"[1-4]+", "abc", NULL, NULL},
        {"\\s+", "a \t\nb ", "a< \t\n>b< >", "a< \t\n>b "},
        {"\\w", "a-b", "<a>-<b>", "<a>-b"},
        {"[]a]", "a]b", "<a><]>b", "<a>]b"},
        {"[a\\]]+", "xa]a", "x<a]a>", "x<a]a>"},
        {"[-a]", "a-b", "<a><->b", "<a>-b"},
        {"[a^]", "a^b", "<a><^>b", "<a>^b"},
        {"[\\d-z]", "3-zy", "<3><-><z>y", "<3>-zy"},
        {"\\.", "a.b", "a<.>b", "a<.>b"},
        {"a",
         "\xc3\xa9"
         "a\xff"
         "a\xc3",
         "\xc3\xa9<a>\xff<a>\xc3",
         "\xc3\xa9<a>\xff"
         "a\xc3"},
        {"[!-~]+", "a \xc3\xa9!b", "<a> \xc3\xa9<!b>", "<a> \xc3\xa9!b"},
        {"[^a]", "a\xc3\xa9", "a<\xc3\xa9>", "a<\xc3\xa9>"},
        {"[a\xc3\xa9]", "\xc3\xa9", "<\xc3\xa9>", "<\xc3\xa9>"},
        {"[[:^digit:]]", "1\xc3\xa9", "1<\xc3\xa9>", "1<\xc3\xa9>"},
        {"\\D", "1\xc3\xa9", "1<\xc3\xa9>", "1<\xc3\xa9>"},
        {"[\\W]", "b\xc3\xa9", "b<\xc3\xa9>", "b<\xc3\xa9>"},
        {"a+?", "aa", "<a><a>", "<a>a"},
        {"[ab]{2}", "abab", "<ab><ab>", "<ab>ab"},
        {"[a]b", "ab", "<ab>", "<ab>"},
        {"a|b", "ab", "<a><b>", "<a>b"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        check_replaced(cases[i].pattern, "<\\0>", true, cases[i].text,
                       cases[i].all);
        check_replaced(cases[i].pattern, "<\\0>", false, cases[i].text,
                       cases[i].first);
    }
}

/* Each class against itself in a group, which RE2 matches. */
static void test_classes_match_what_re2_does(void **state)
{
    static const char *const classes[] = {
        "\\d", "\\s",   "\\w",  "[\\s!-/]", "[\\n\\t\\r\\f\\v]",
        "~",   "[+--]", "[a-]", "[ -~]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
        const struct tfd_byte_class *c;
        struct tfd_re2 *r = compile(classes[i]), *other;
        char grouped[32];

        snprintf(grouped, sizeof(grouped), "(%s)", classes[i]);
        other = compile(grouped);
        c = tfd_re2_class(r);
        assert_true(c->is && !c->runs && !tfd_re2_class(other)->is);
        for (int byte = 0; byte <= UINT8_MAX; byte++) {
            const char text = (char)byte;
            bool yes;

            assert_int_equal(tfd_re2_full_match(
                                 other, (struct tfd_str){&text, 1}, &yes, NULL),
                             TFD_OK);
            assert_int_equal(c->has[byte], yes);
        }
        tfd_re2_free(r);
        tfd_re2_free(other);
    }
}

static void test_a_text_does_not_grow_without_bound(void **state)
{
    struct tfd_re2 *r = compile("(a+)");
    struct tfd_replace replace;
    struct tfd_bytes out;
    char text[100];
    bool changed;

    (void)state;
    memset(text, 'a', sizeof(text));
    tfd_bytes_init(&out, 450);
    tfd_replace_init(&replace, r, TFD_STR("\\1\\1\\1\\1\\1"), true);
    assert_int_equal(tfd_replace(&replace, (struct tfd_str){text, sizeof(text)},
                                 &out, &changed, NULL),
                     TFD_OK);
    assert_int_equal(tfd_bytes_ok(&out, "text", NULL), TFD_RESOURCE_EXHAUSTED);
    tfd_bytes_deinit(&out);
    tfd_re2_free(r);
}

/* ---- Kept patterns --------------------------------------------------------
 */

static void test_a_pattern_is_kept_until_another_comes(void **state)
{
    struct tfd_pattern *one, *again, *other;
    struct tfd_pattern_cache c;

    (void)state;
    tfd_pattern_cache_init(&c);
    assert_int_equal(tfd_pattern_get(&c, TFD_STR("a"), &one, NULL), TFD_OK);
    assert_int_equal(tfd_pattern_get(&c, TFD_STR("a"), &again, NULL), TFD_OK);
    assert_ptr_equal(one, again);
    assert_int_equal(tfd_pattern_get(&c, TFD_STR("b"), &other, NULL), TFD_OK);
    assert_ptr_not_equal(one, other);
    assert_true(tfd_str_is(one->text, "a")); /* still the caller's */
    tfd_pattern_unref(one);
    tfd_pattern_unref(again);
    tfd_pattern_unref(other);
    assert_int_equal(tfd_pattern_get(&c, TFD_STR("("), &one, NULL),
                     TFD_INVALID_ARGUMENT);
    tfd_pattern_cache_deinit(&c);
}

static void test_patterns_are_counted(void **state)
{
    static struct tfd_pattern_cache c[TFD_PATTERNS_MAX + 1];
    struct tfd_pattern *p;

    (void)state;
    for (int i = 0; i <= TFD_PATTERNS_MAX; i++) {
        enum tfd_code rc;

        tfd_pattern_cache_init(&c[i]);
        rc = tfd_pattern_get(&c[i], TFD_STR("a"), &p, NULL);
        assert_int_equal(rc, i < TFD_PATTERNS_MAX ? TFD_OK
                                                  : TFD_RESOURCE_EXHAUSTED);
        if (rc == TFD_OK)
            tfd_pattern_unref(p);
    }
    tfd_pattern_cache_deinit(&c[0]);
    assert_int_equal(
        tfd_pattern_get(&c[TFD_PATTERNS_MAX], TFD_STR("a"), &p, NULL), TFD_OK);
    tfd_pattern_unref(p);
    for (int i = 1; i <= TFD_PATTERNS_MAX; i++)
        tfd_pattern_cache_deinit(&c[i]);
}

static void test_a_long_pattern_is_refused_unread(void **state)
{
    size_t size = TFD_PATTERN_SIZE_MAX + 1;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_pattern_cache c;
    struct tfd_pattern *p;
    char *text = malloc(size);

    (void)state;
    assert_non_null(text);
    memset(text, 'a', size);
    tfd_pattern_cache_init(&c);
    assert_int_equal(tfd_pattern_get(&c, (struct tfd_str){text, size}, &p, &st),
                     TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "pattern too large - compile failed"));
    tfd_pattern_cache_deinit(&c);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_whole_text_is_matched),
        cmocka_unit_test(test_a_zero_is_a_character),
        cmocka_unit_test(test_wrong_patterns_are_refused),
        cmocka_unit_test(test_errors_are_in_tensorflow_s_words),
        cmocka_unit_test(test_deep_nesting_is_refused),
        cmocka_unit_test(test_time_is_linear),
        cmocka_unit_test(test_matches_are_replaced),
        cmocka_unit_test(test_classes_of_bytes_are_replaced),
        cmocka_unit_test(test_classes_match_what_re2_does),
        cmocka_unit_test(test_a_text_does_not_grow_without_bound),
        cmocka_unit_test(test_a_pattern_is_kept_until_another_comes),
        cmocka_unit_test(test_patterns_are_counted),
        cmocka_unit_test(test_a_long_pattern_is_refused_unread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
