/*
 * test_environment.c - config/environment.c: what is set is read and shown,
 * what is not is nothing.
 */
#define _GNU_SOURCE 1 /* setenv(), fmemopen() */

#include "config/environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int clear_environment(void **state)
{
    (void)state;
    unsetenv("TF_CONFIG");
    unsetenv("TF_DETERMINISTIC_OPS");
    unsetenv("CUDA_VISIBLE_DEVICES");
    return 0;
}

static void print(char *text, size_t size)
{
    FILE *to = fmemopen(text, size, "w");

    assert_non_null(to);
    tfd_environment_print(to);
    fclose(to);
}

static void test_a_variable_is_read(void **state)
{
    (void)state;
    assert_null(tfd_environment_get(TFD_ENVIRONMENT_CUDA_VISIBLE_DEVICES));
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    assert_string_equal(
        tfd_environment_get(TFD_ENVIRONMENT_CUDA_VISIBLE_DEVICES), "");
}

static void test_switches_are_on_by_two_words(void **state)
{
    static const struct {
        const char *value;
        bool on;
    } cases[] = {{"1", true},   {"true", true},   {"TRUE", true},
                 {"0", false},  {"", false},      {"yes", false},
                 {"11", false}, {"true ", false}, {"on", false}};

    (void)state;
    assert_false(tfd_environment_is_on(TFD_ENVIRONMENT_TF_DETERMINISTIC_OPS));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        setenv("TF_DETERMINISTIC_OPS", cases[i].value, 1);
        if (tfd_environment_is_on(TFD_ENVIRONMENT_TF_DETERMINISTIC_OPS) !=
            cases[i].on)
            fail_msg("\"%s\"", cases[i].value);
    }
}

static void test_what_is_set_has_a_line(void **state)
{
    char text[4000] = "";

    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
    print(text, sizeof(text));
    assert_non_null(strstr(text, "environment.CUDA_VISIBLE_DEVICES = 1,0 ("));
    assert_null(strstr(text, "TF_CONFIG"));
}

static void test_the_cluster_is_not_repeated(void **state)
{
    char text[4000] = "";

    (void)state;
    setenv("TF_CONFIG", "{\"cluster\": {}}", 1);
    print(text, sizeof(text));
    assert_non_null(strstr(text, "environment.TF_CONFIG ("));
    assert_null(strstr(text, "\"cluster\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_variable_is_read, clear_environment),
        cmocka_unit_test_setup(test_switches_are_on_by_two_words,
                               clear_environment),
        cmocka_unit_test_setup(test_what_is_set_has_a_line, clear_environment),
        cmocka_unit_test_setup(test_the_cluster_is_not_repeated,
                               clear_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
