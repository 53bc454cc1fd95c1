/*
 * test_log.c - common/log.c: what arrives on stderr.
 *
 * Each case runs in a child whose stderr is a pipe, so that the question for
 * journald is asked anew.
 */
#define _GNU_SOURCE 1 /* fork(), setenv() */

#include "common/log.h"

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
    setenv("JOURNAL_STREAM", stream, 1);
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
        setenv("JOURNAL_STREAM", "1:1", 1); /* of somebody else */
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
    assert_string_equal(output, "<6>e a=1\\n<3>forged\\t\\x1b[2J\\x7f\\x0d"
                                "\xc3\xa9\n");
}

static void log_long_lines(void)
{
    char big[2 * TFD_LOG_LINE_MAX];

    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    tfd_log(TFD_LOG_INFO, "e", "%s", big);
    memset(big, '\x01', sizeof(big) - 1); /* four times as long when written */
    tfd_log(TFD_LOG_INFO, "e", "%s", big);
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
    assert_memory_equal(second_end - 7, "\\x01...", 7);
    assert_string_equal(second_end, "\n");
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
        cmocka_unit_test(test_a_log_that_cannot_be_written_is_lost),
        cmocka_unit_test(test_names_of_levels),
    };

    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
