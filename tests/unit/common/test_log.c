/*
 * test_log.c - common/base/log.c: what arrives on stderr.
 *
 * Each case runs in a child whose stderr is a pipe, so that the question for
 * journald is asked anew.
 */
#define _GNU_SOURCE 1 /* fork(), setenv(), strsep() */

#include "common/base/log.h"
#include "common/base/log_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char output[3 * TFD_LOG_LINE_MAX];

static void pretend_journald(int fd)
{
    char stream[64];
    struct stat s;

    fstat(fd, &s);
    snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)s.st_dev,
             (unsigned long long)s.st_ino);
    tfd_log_journal_set(stream);
}

/* Leaves in output what run() logs. */
static void capture(bool journald, void (*run)(void))
{
    int pipe_fd[2], status;
    size_t used = 0;
    ssize_t n;
    pid_t child;

    assert_int_equal(pipe(pipe_fd), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(pipe_fd[1], STDERR_FILENO);
        tfd_log_journal_set("1:1"); /* of somebody else */
        if (journald)
            pretend_journald(pipe_fd[1]);
        run();
        _exit(0);
    }
    close(pipe_fd[1]);
    while ((n = read(pipe_fd[0], output + used, sizeof(output) - 1 - used)) > 0)
        used += (size_t)n;
    output[used] = '\0';
    close(pipe_fd[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void log_each_level(void)
{
    tfd_log(TFD_LOG_ERROR, "e", "k=%d", 1);
    tfd_log(TFD_LOG_WARN, "w", "k=%s", "v");
    tfd_log(TFD_LOG_INFO, "i", "k=%d j=%d", 2, 3);
    tfd_log(TFD_LOG_DEBUG, "d", "k=%d", 4);
}

static void log_warnings_only(void)
{
    tfd_log_level_set(TFD_LOG_WARN);
    log_each_level();
}

static void log_everything(void)
{
    tfd_log_level_set(TFD_LOG_DEBUG);
    log_each_level();
}

static void test_levels_under_journald(void **state)
{
    (void)state;
    capture(true, log_each_level);
    assert_string_equal(output, "<3>e k=1\n<4>w k=v\n<6>i k=2 j=3\n");
    capture(true, log_warnings_only);
    assert_string_equal(output, "<3>e k=1\n<4>w k=v\n");
    capture(true, log_everything);
    assert_string_equal(output, "<3>e k=1\n<4>w k=v\n<6>i k=2 j=3\n<7>d k=4\n");
}

static void test_elsewhere_a_line_has_its_time(void **state)
{
    int year, month, day, hour, minute, second, micros, end = 0;

    (void)state;
    capture(false, log_warnings_only);
    assert_int_equal(
        sscanf(output, "%4d-%2d-%2dT%2d:%2d:%2d.%6dZ ERROR e k=1%n", &year,
               &month, &day, &hour, &minute, &second, &micros, &end),
        7);
    assert_true(year >= 2023 && month >= 1 && month <= 12);
    assert_int_equal(end, strlen("2000-01-01T00:00:00.000000Z ERROR e k=1"));
    assert_int_equal(output[end], '\n');
}

static void log_control_characters(void)
{
    tfd_log(TFD_LOG_INFO, "e", "a=%s", "1\n<3>forged\t\x1b[2J\x7f\r\xc3\xa9");
}

static void test_values_cannot_forge_a_line(void **state)
{
    (void)state;
    capture(true, log_control_characters);
    assert_string_equal(output, "<6>e a=\"1\\n<3>forged\\t\\x1b[2J\\x7f\\x0d"
                                "\xc3\xa9\"\n");
}

static void log_long_lines(void)
{
    char big[2 * TFD_LOG_LINE_MAX];

    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    tfd_log(TFD_LOG_INFO, "e", "k=%s l=%d", big, 1);
    memset(big, '\x01', sizeof(big) - 1); /* four times as long when written */
    tfd_log(TFD_LOG_INFO, "e", "k=%s l=%d", big, 1);
}

static void test_long_lines_are_cut_and_marked(void **state)
{
    const char *first_end, *second_end;

    (void)state;
    capture(true, log_long_lines);
    first_end = strchr(output, '\n');
    assert_non_null(first_end);
    assert_true(first_end - output < TFD_LOG_LINE_MAX);
    assert_memory_equal(first_end - 4, "x...", 4);
    second_end = strchr(first_end + 1, '\n');
    assert_non_null(second_end);
    assert_true(second_end - first_end <= TFD_LOG_LINE_MAX);
    assert_memory_equal(second_end - 8, "\\x01...\"", 8);
    assert_string_equal(second_end, "\n");
}

static void log_awkward_values(void)
{
    tfd_log(TFD_LOG_INFO, "e", "a=%s b=%s c=\"%s\" d=%s", "x y", "", "q\"\\",
            "k=v");
    tfd_log(TFD_LOG_INFO, "e", "a=%s:%d b=\"%s and %d%%\" c=%.*s", "h", 5,
            "x\" y=\"z", 7, 2, "abc");
    tfd_log(TFD_LOG_INFO, "e", "a=%llu b=%zu c=%lld d=%u e=%.1f f=%5d g=%c",
            ~0ull, (size_t)3, -4ll, 5u, 1.25, 6, 'c');
}

static void test_values_have_a_beginning_and_an_end(void **state)
{
    (void)state;
    capture(true, log_awkward_values);
    assert_string_equal(
        output, "<6>e a=\"x y\" b=\"\" c=\"q\\\"\\\\\" d=k=v\n"
                "<6>e a=h:5 b=\"x\\\" y=\\\"z and 7%\" c=ab\n"
                "<6>e a=18446744073709551615 b=3 c=-4 d=5 e=1.2 f=\"    6\" "
                "g=c\n");
}

static void log_awkward_values_as_json(void)
{
    tfd_log_format_set(true);
    log_awkward_values();
}

/* Behind the time, which is another each time. */
static const char *json_fields(const char *line)
{
    const char *at = strstr(line, "\"level\"");

    assert_memory_equal(line, "{\"time\":\"2", 10);
    assert_non_null(at);
    assert_int_equal(at - line, strlen("{\"time\":\"2026-11-21T12:00:00."
                                       "000000Z\","));
    return at;
}

static void test_json_is_one_object_a_line(void **state)
{
    char *line, *rest = output;
    static const char *const expected[] = {
        "\"level\":\"info\",\"event\":\"e\",\"a\":\"x y\",\"b\":\"\","
        "\"c\":\"q\\\"\\\\\",\"d\":\"k=v\"}",
        "\"level\":\"info\",\"event\":\"e\",\"a\":\"h:5\","
        "\"b\":\"x\\\" y=\\\"z and 7%\",\"c\":\"ab\"}",
        "\"level\":\"info\",\"event\":\"e\",\"a\":18446744073709551615,"
        "\"b\":3,\"c\":-4,\"d\":5,\"e\":\"1.2\",\"f\":\"    6\",\"g\":"
        "\"c\"}",
    };

    (void)state;
    capture(false, log_awkward_values_as_json);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        line = strsep(&rest, "\n");
        assert_string_equal(json_fields(line), expected[i]);
    }
    assert_string_equal(rest, "");
    capture(true, log_awkward_values_as_json); /* journald takes the level */
    assert_memory_equal(output, "<6>{\"time\":", 11);
}

#define BAD_UTF8 \
    "\x80 \xc3( \xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xff \xe2\x82"

static void log_bytes(void)
{
    tfd_log(TFD_LOG_INFO, "e", "a=%s", BAD_UTF8);
    tfd_log(TFD_LOG_INFO, "e", "a=%s", "\xc2\x9b[2J \x01 \xe2\x82\xac");
}

static void log_bytes_as_json(void)
{
    tfd_log_format_set(true);
    log_bytes();
}

static void test_what_is_no_utf8_is_escaped(void **state)
{
    const char *second;

    (void)state;
    capture(true, log_bytes);
    assert_string_equal(output,
                        "<6>e a=\"\\x80 \\xc3( \\xc0\\x80 \\xed\\xa0\\x80 "
                        "\\xf4\\x90\\x80\\x80 \\xff \\xe2\\x82\"\n"
                        "<6>e a=\"\\xc2\\x9b[2J \\x01 \xe2\x82\xac\"\n");
    capture(false, log_bytes_as_json);
#define REPLACED "\xef\xbf\xbd"
    second = strchr(output, '\n');
    assert_non_null(second);
    output[second - output] = '\0';
    assert_string_equal(json_fields(output),
                        "\"level\":\"info\",\"event\":\"e\",\"a\":\"" REPLACED
                        " " REPLACED "( " REPLACED REPLACED
                        " " REPLACED REPLACED REPLACED
                        " " REPLACED REPLACED REPLACED REPLACED " " REPLACED
                        " " REPLACED REPLACED "\"}");
    assert_non_null(strstr(second + 1, "\"\\u009b[2J \\u0001 \xe2\x82\xac\""));
}

static void log_long_json(void)
{
    tfd_log_format_set(true);
    log_long_lines();
}

static void test_long_json_is_closed(void **state)
{
    const char *end;

    (void)state;
    capture(false, log_long_json);
    end = strchr(output, '\n');
    assert_non_null(end);
    assert_true(end - output < TFD_LOG_LINE_MAX);
    assert_memory_equal(end - 6, "x...\"}", 6);
    assert_memory_equal(output + strlen(output) - 7, "1...\"}\n", 7);
}

static void TFD_PRINTF(2, 3)
    make_line(struct tfd_log_line *l, const char *fmt, ...)
{
    va_list args;

    *l = (struct tfd_log_line){.json = true};
    tfd_log_line_raw(l, "{\"event\":\"e\"");
    va_start(args, fmt);
    tfd_log_line_fields(l, fmt, args);
    va_end(args);
    tfd_log_line_end(l);
}

/* Wherever the line is full, a number is whole and what is open is closed. */
static void test_no_length_of_a_value_breaks_the_object(void **state)
{
    char big[TFD_LOG_LINE_MAX];
    struct tfd_log_line l;
    bool numbers[2] = {false, false};

    (void)state;
    memset(big, 'x', sizeof(big));
    for (int n = TFD_LOG_LINE_MAX - 120; n < TFD_LOG_LINE_MAX; n++) {
        bool has_number;

        make_line(&l, "a=%.*s n=%d s=%s", n, big, 12345, "end");
        assert_true(l.used <= sizeof(l.bytes));
        l.bytes[l.used - 1] = '\0';
        has_number = strstr(l.bytes, "\",\"n\":12345") != NULL;
        numbers[has_number] = true;
        assert_true(strstr(l.bytes, "\"n\"") == NULL || has_number);
        assert_string_equal(l.bytes + l.used - 2, "}");
    }
    assert_true(numbers[0] && numbers[1]);
}

static void test_formats_by_name(void **state)
{
    bool json;

    (void)state;
    assert_true(tfd_log_format_parse("json", &json) && json);
    assert_true(tfd_log_format_parse("text", &json) && !json);
    assert_false(tfd_log_format_parse("JSON", &json));
    assert_false(tfd_log_format_parse("", &json));
}

static void test_rates_count_what_they_drop(void **state)
{
    struct tfd_log_rate r = {.begun_us = 0};
    unsigned dropped = 9;

    (void)state;
    for (int i = 0; i < TFD_LOG_RATE_LINES; i++)
        assert_true(tfd_log_rate_allows(&r, 5, &dropped));
    assert_int_equal(dropped, 0);
    assert_false(tfd_log_rate_allows(&r, 6, &dropped));
    assert_false(tfd_log_rate_allows(&r, 4 + TFD_LOG_RATE_US, &dropped));
    assert_true(tfd_log_rate_allows(&r, 5 + TFD_LOG_RATE_US, &dropped));
    assert_int_equal(dropped, 2);
    assert_true(tfd_log_rate_allows(&r, 6 + TFD_LOG_RATE_US, &dropped));
    assert_int_equal(dropped, 0);
}

static void log_without_stderr(void)
{
    close(STDERR_FILENO);
    tfd_log(TFD_LOG_ERROR, "e", "k=%d", 1);
}

static void test_a_log_that_cannot_be_written_is_lost(void **state)
{
    (void)state;
    capture(false, log_without_stderr);
    assert_string_equal(output, "");
}

static void test_names_of_levels(void **state)
{
    enum tfd_log_level level = TFD_LOG_ERROR;

    (void)state;
    assert_true(tfd_log_level_parse("debug", &level));
    assert_int_equal(level, TFD_LOG_DEBUG);
    assert_false(tfd_log_level_parse("DEBUG", &level));
    assert_false(tfd_log_level_parse("", &level));
    assert_false(tfd_log_level_parse("debug ", &level));
    assert_int_equal(level, TFD_LOG_DEBUG);
    assert_true(tfd_log_enabled(TFD_LOG_INFO));
    assert_false(tfd_log_enabled(TFD_LOG_DEBUG));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_under_journald),
        cmocka_unit_test(test_elsewhere_a_line_has_its_time),
        cmocka_unit_test(test_values_cannot_forge_a_line),
        cmocka_unit_test(test_long_lines_are_cut_and_marked),
        cmocka_unit_test(test_values_have_a_beginning_and_an_end),
        cmocka_unit_test(test_json_is_one_object_a_line),
        cmocka_unit_test(test_what_is_no_utf8_is_escaped),
        cmocka_unit_test(test_long_json_is_closed),
        cmocka_unit_test(test_no_length_of_a_value_breaks_the_object),
        cmocka_unit_test(test_formats_by_name),
        cmocka_unit_test(test_rates_count_what_they_drop),
        cmocka_unit_test(test_a_log_that_cannot_be_written_is_lost),
        cmocka_unit_test(test_names_of_levels),
    };

    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
