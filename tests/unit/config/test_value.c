/*
 * test_value.c - config/value.c and config/machine.c: what people write for
 * numbers, durations and sizes, and what control groups say.
 */
#include "config/machine.h"
#include "config/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef enum tfd_code read_fn(const char *text, int64_t *out,
                              struct tfd_status *st);

struct good {
    const char *text;
    int64_t value;
};

static void check(read_fn *read, const struct good *good, size_t good_count,
                  const char *const *bad, size_t bad_count)
{
    int64_t value;

    for (size_t i = 0; i < good_count; i++) {
        if (read(good[i].text, &value, NULL) != TFD_OK)
            fail_msg("refused: %s", good[i].text);
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < bad_count; i++) {
        struct tfd_status st = TFD_STATUS_INIT;

        value = 42;
        if (read(bad[i], &value, &st) == TFD_OK)
            fail_msg("accepted: %s", bad[i]);
        assert_string_not_equal(st.text, "");
        assert_int_equal(value, 42);
    }
}

static void test_durations(void **state)
{
    static const struct good good[] = {
        {"0", 0},         {"60", 60000},  {"60s", 60000},
        {"250ms", 250},   {"5m", 300000}, {"2h", 7200000},
        {"1d", 86400000}, {"007s", 7000}, {"3650d", INT64_C(315360000000)},
    };
    static const char *const bad[] = {
        "",
        "s",
        "-1s",
        "1.5s",
        "1 s",
        " 1s",
        "1S",
        "1w",
        "1m30s",
        "0x10",
        "1e3",
        "3651d",
        "ms",
        "+1s",
        "9223372036854775807d",
        "9223372036854775808",
    };

    (void)state;
    check(tfd_value_duration, good, COUNT(good), bad, COUNT(bad));
}

static void test_sizes(void **state)
{
    static const struct good good[] = {
        {"0", 0},
        {"1048576", 1048576},
        {"512K", 512 << 10},
        {"512KiB", 512 << 10},
        {"8G", INT64_C(8) << 30},
        {"1T", INT64_C(1) << 40},
        {"64B", 64},
        {"9223372036854775807", INT64_MAX},
    };
    static const char *const bad[] = {
        "",   "G",   "-1G",      "1.5G",      "8X",
        "8g", "8 G", "8388608T", "16777216T", "9223372036854775808",
    };

    (void)state;
    check(tfd_value_size, good, COUNT(good), bad, COUNT(bad));
}

static enum tfd_code read_small(const char *text, int64_t *out,
                                struct tfd_status *st)
{
    return tfd_value_number(text, -5, 10, out, st);
}

static void test_numbers_stay_in_their_range(void **state)
{
    static const struct good good[] = {
        {"-5", -5}, {"0", 0}, {"10", 10}, {"010", 10}};
    static const char *const bad[] = {"",
                                      "-",
                                      "11",
                                      "-6",
                                      "1x",
                                      "x1",
                                      " 1",
                                      "1 ",
                                      "+1",
                                      "--1",
                                      "1.0",
                                      "0x1",
                                      "99999999999999999999",
                                      "-99999999999999999999"};

    (void)state;
    check(read_small, good, COUNT(good), bad, COUNT(bad));
}

static void test_words_near_and_far(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        size_t distance;
    } cases[] = {
        {"port", "port", 0}, {"PORT", "port", 0}, {"job-name", "job_name", 0},
        {"prot", "port", 1}, {"por", "port", 1},  {"portt", "port", 1},
        {"part", "port", 1}, {"", "port", 4},     {"port", "", 4},
        {"abc", "xyz", 3},
    };
    char long_word[200];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(tfd_value_distance(cases[i].a, cases[i].b),
                         cases[i].distance);
    memset(long_word, 'a', sizeof(long_word) - 1);
    long_word[sizeof(long_word) - 1] = '\0';
    assert_int_equal(tfd_value_distance(long_word, "a"), 39);
    assert_true(tfd_value_near("clutser", "cluster"));
    assert_false(tfd_value_near("px", "ps"));
    assert_false(tfd_value_near("trainer", "task"));
}

static void test_quotas_round_up(void **state)
{
    static const struct {
        const char *text;
        int cores;
    } cases[] = {
        {"200000 100000\n", 2},
        {"150000 100000\n", 2},
        {"1000 100000\n", 1},
        {"max 100000\n", 0},
        {"", 0},
        {"-1 100000", 0},
        {"100000 0", 0},
        {"100000", 0},
        {"x y", 0},
        {"999999999999999999 1", 1024},
        {"9223372036854775807 1", 0},
        {"99999999999999999999 1", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(tfd_machine_quota(cases[i].text), cases[i].cores);
    assert_true(tfd_machine_cores() >= 1);
    assert_true(tfd_machine_memory() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_numbers_stay_in_their_range),
        cmocka_unit_test(test_words_near_and_far),
        cmocka_unit_test(test_quotas_round_up),
    };

    return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
