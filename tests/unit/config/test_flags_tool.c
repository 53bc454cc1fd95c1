/*
 * test_flags_tool.c - config/flags_tool.c: a tool's own table, its words, its
 * file, and the task that TF_CONFIG is for.
 */
#define _GNU_SOURCE 1 /* open_memstream(), mkstemp() */
#include "config/flags_tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ARGS_MAX 8

struct tool {
    struct tfd_config config; /* first */
    char *name;
    bool quick;
    int64_t wait_ms, count;
    int32_t small;
};

#define AT(member) .offset = offsetof(struct tool, member)

static const struct tfd_option rows[] = {
    {"A", "name", "TEXT", "none", "a text", tfd_option_read_text, AT(name)},
    {"A", "quick", NULL, "false", "a switch", tfd_option_read_bool, AT(quick)},
    {"A", "wait", "DURATION", "2s", "a time", tfd_option_read_duration,
     AT(wait_ms)},
    {"A", "count", "N", "7", "a number", tfd_option_read_int64, AT(count),
     .min = 1, .max = 9},
    {"A", "small", "N", "3", "a number", tfd_option_read_int32, AT(small),
     .min = 0, .max = 4},
    {"A", "config", "FILE", NULL, "a file", tfd_option_read_text,
     AT(config.config)},
    {"A", "help", NULL, "false", "help", tfd_option_read_bool, AT(config.help)},
    {"A", "version", NULL, "false", "version", tfd_option_read_bool,
     AT(config.version)},
};

static const struct tfd_option_table table = {"tool", rows,
                                              sizeof(rows) / sizeof(rows[0])};

/* What came of a command line. */
struct outcome {
    struct tool t;
    const char *words[2];
    size_t word_count;
    char *errors;
    int code;
};

static void parse(struct outcome *o, const char *const *args)
{
    char *argv[ARGS_MAX + 1] = {(char *)"tool"};
    struct tfd_flags_tool tool = {&table, o->words, 0, 2};
    size_t size = 0;
    FILE *err;
    int argc = 1;

    memset(&o->t, 0, sizeof(o->t));
    o->errors = NULL;
    err = open_memstream(&o->errors, &size);
    assert_non_null(err);
    for (; args[argc - 1]; argc++)
        argv[argc] = (char *)args[argc - 1];
    o->code = tfd_flags_tool_parse(&tool, &o->t.config, argc, argv, err);
    o->word_count = tool.word_count;
    fclose(err);
}

static void forget(struct outcome *o)
{
    free(o->t.name);
    free(o->errors);
    tfd_config_deinit(&o->t.config);
}

static void test_values_and_words(void **state)
{
    static const char *const nothing[] = {NULL};
    static const char *const all[] = {"one",       "--name=x", "--quick",
                                      "--wait",    "250ms",    "two",
                                      "--count=9", NULL};
    struct outcome o;

    (void)state;
    parse(&o, nothing);
    assert_int_equal(o.code, TFD_FLAGS_RUN);
    assert_string_equal(o.t.name, "none");
    assert_false(o.t.quick);
    assert_int_equal(o.t.wait_ms, 2000);
    assert_int_equal(o.t.count, 7);
    assert_int_equal(o.t.small, 3);
    assert_int_equal(o.word_count, 0);
    forget(&o);
    parse(&o, all);
    assert_int_equal(o.code, TFD_FLAGS_RUN);
    assert_string_equal(o.errors, "");
    assert_string_equal(o.t.name, "x");
    assert_true(o.t.quick);
    assert_int_equal(o.t.wait_ms, 250);
    assert_int_equal(o.t.count, 9);
    assert_int_equal(o.word_count, 2);
    assert_string_equal(o.words[0], "one");
    assert_string_equal(o.words[1], "two");
    forget(&o);
}

static const struct {
    const char *args[ARGS_MAX];
    int code;
    const char *text; /* of the only line */
} bad[] = {
    {{"a", "b", "c"}, TFD_EXIT_USAGE, "tool: c: not an option"},
    {{"-x"}, TFD_EXIT_USAGE, "tool: -x: no such option"},
    {{"--nam=x"}, TFD_EXIT_USAGE, "did you mean --name?"},
    {{"--port=1"}, TFD_EXIT_USAGE, "tool: --port: no such option"},
    {{"--name"}, TFD_EXIT_USAGE, "write --name=TEXT"},
    {{"--name="}, TFD_EXIT_CONFIG, "tool: --name"},
    {{"--wait=x"}, TFD_EXIT_CONFIG, "tool: --wait = x: not a duration"},
    {{"--count=10"}, TFD_EXIT_CONFIG, "give 1 to 9"},
    {{"--small=5"}, TFD_EXIT_CONFIG, "give 0 to 4"},
    {{"--quick=maybe"}, TFD_EXIT_CONFIG, "neither true nor false"},
    {{"--config=/no/such"}, TFD_EXIT_CONFIG, "/no/such"},
};

static void test_bad_command_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct outcome o;
        char *end;

        parse(&o, bad[i].args);
        assert_int_equal(o.code, bad[i].code);
        assert_non_null(strstr(o.errors, bad[i].text));
        end = strchr(o.errors, '\n');
        assert_non_null(end);
        assert_string_equal(end, "\n");
        forget(&o);
    }
}

/* Nothing else is looked at. */
static void test_help_and_version(void **state)
{
    static const char *const help[] = {"--help", "--count=99", NULL};
    static const char *const version[] = {"--version", NULL};
    struct outcome o;

    (void)state;
    parse(&o, help);
    assert_int_equal(o.code, TFD_FLAGS_RUN);
    assert_true(o.t.config.help);
    forget(&o);
    parse(&o, version);
    assert_true(o.t.config.version);
    assert_false(o.t.config.help);
    forget(&o);
}

static void parse_file(struct outcome *o, const char *text, const char *flag)
{
    char path[] = "/tmp/tfd-tool-XXXXXX", option[64];
    const char *args[] = {option, flag, NULL};
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
    snprintf(option, sizeof(option), "--config=%s", path);
    parse(o, args);
    unlink(path);
}

static void test_file(void **state)
{
    static const char *const wrong[] = {
        "",
        "[]",
        "{\"port\": 1}",
        "{\"count\": 10}",
        "{\"count\": 1.5}",
        "{\"name\": [\"a\"]}",
        "{\"config\": \"x\"}",
        "{\"wait\": \"1y\"}",
    };
    struct outcome o;

    (void)state;
    parse_file(&o, "{\"name\": \"f\", \"count\": 2, \"quick\": true}",
               "--count=4");
    assert_int_equal(o.code, TFD_FLAGS_RUN);
    assert_string_equal(o.t.name, "f");
    assert_int_equal(o.t.count, 4);
    assert_true(o.t.quick);
    forget(&o);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        parse_file(&o, wrong[i], NULL);
        assert_int_equal(o.code, TFD_EXIT_CONFIG);
        assert_int_equal(strncmp(o.errors, "tool: ", 6), 0);
        forget(&o);
    }
}

static void test_cluster_of_tf_config(void **state)
{
    static const char *const wrong[] = {"{", "[]", "{\"cluster\": 3}",
                                        "{\"cluster\": {\"ps\": [\"a:b\"]}}"};
    struct tfd_report errors;
    struct tfd_cluster c;

    (void)state;
    tfd_report_init(&errors);
    tfd_cluster_init(&c);
    assert_true(tfd_flags_tool_cluster(
        "{\"cluster\": {\"ps\": [\"a:1\", \"b:2\"], \"worker\": [\"c:3\"]},"
        " \"task\": {\"type\": \"ps\", \"index\": 1}}",
        &c, &errors));
    assert_int_equal(c.task_count, 3);
    assert_string_equal(c.job_name, "ps");
    assert_int_equal(c.task_index, 1);
    assert_string_equal(tfd_cluster_address(&c, "ps", 1), "b:2");
    tfd_cluster_deinit(&c);
    tfd_cluster_init(&c);
    assert_true(tfd_flags_tool_cluster("{}", &c, &errors));
    assert_string_equal(c.job_name, "");
    assert_int_equal(c.task_count, 0);
    tfd_cluster_deinit(&c);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        tfd_report_init(&errors);
        tfd_cluster_init(&c);
        assert_false(tfd_flags_tool_cluster(wrong[i], &c, &errors));
        assert_true(errors.count > 0);
        tfd_cluster_deinit(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_words),
        cmocka_unit_test(test_bad_command_lines),
        cmocka_unit_test(test_help_and_version),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_cluster_of_tf_config),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
