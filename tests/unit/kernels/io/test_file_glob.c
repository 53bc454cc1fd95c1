/*
 * test_file_glob.c - names that match a component of a pattern, and time that a
 * pattern of many stars takes.
 */
#include "kernels/io/file_glob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct {
    const char *pattern, *name;
    bool matches;
} cases[] = {
    {"", "", true},       {"*", "", true},        {"", "a", false},
    {"a", "a", true},     {"a", "ab", false},     {"?", "", false},
    {"a*b", "ab", true},  {"a*b", "axxb", true},  {"a*b", "axxbc", false},
    {"*a*", "bab", true}, {"a*a*b", "aab", true}, {"a*a*b", "ab", false},
    {"[a-c]", "b", true}, {"[a-c]", "d", false},  {"[!a-c]", "d", true},
    {"[^a]", "a", false}, {"[]a]", "]", true},    {"[a", "[a", true},
    {"[a-", "[a-", true}, {"[a-]", "-", true},    {"\\*", "*", true},
    {"\\*", "a", false},  {"[\\]]", "]", true},   {"a\\", "a\\", true},
    {"**", "abc", true},  {"*?", "", false},      {"[b-a]", "a", false},
};

static void names_match(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (tfd_file_glob_matches(tfd_str_of(cases[i].pattern),
                                  tfd_str_of(cases[i].name)) !=
            cases[i].matches)
            fail_msg("%s and %s", cases[i].pattern, cases[i].name);
}

/* A matcher that tries each star anew would not come to an end. */
static void many_stars_take_no_time(void **state)
{
    char pattern[201], name[256];

    (void)state;
    for (int i = 0; i < 200; i++)
        pattern[i] = i % 2 ? '*' : 'a';
    pattern[199] = 'b';
    pattern[200] = '\0';
    for (int i = 0; i < 255; i++)
        name[i] = 'a';
    name[255] = '\0';
    assert_false(tfd_file_glob_matches(tfd_str_of(pattern), tfd_str_of(name)));
    name[254] = 'b';
    assert_true(tfd_file_glob_matches(tfd_str_of(pattern), tfd_str_of(name)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_match),
        cmocka_unit_test(many_stars_take_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
