/*
 * test_slurm_lists.c - config/launcher/slurm_lists.c: Slurm's lists of hosts
 * and counts, as TensorFlow's SlurmClusterResolver reads them, and bad ones.
 */
#include "config/launcher/slurm_lists.h"

#include "config/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void join_hosts(const char *list, char *text, size_t size)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_slurm_hosts h;
    char host[TFD_HOST_SIZE_MAX + 1];
    bool end = false;

    text[0] = '\0';
    tfd_slurm_hosts_init(&h, list);
    for (int i = 0; i < 100 && !end; i++) {
        if (tfd_slurm_hosts_next(&h, host, &end, &st) != TFD_OK) {
            snprintf(text, size, "%s", st.text);
            return;
        }
        if (!end)
            tfd_report_path(text, size, "%s%s", i ? " " : "", host);
    }
}

static void test_hosts_are_those_of_the_list(void **state)
{
    static const struct {
        const char *list, *hosts;
    } cases[] = {
        {"n1", "n1"},
        {"", ""},
        {"n[1-2],m5,o[3-4,6,7-9]", "n1 n2 m5 o3 o4 o6 o7 o8 o9"},
        {"n[08-11]", "n08 n09 n10 n11"},
        {"n[8-11]", "n8 n9 n10 n11"},
        {"n[1]", "n1"},
        {"rack1node[001-003]-eth", "rack1node001-eth rack1node002-eth "
                                   "rack1node003-eth"},
        {"[1-2]", "1 2"},
        {"a,b", "a b"},
        {"n[1-2],n[4-5]", "n1 n2 n4 n5"},
        {"n[999999999]", "n999999999"},
        {"gpu-1.example", "gpu-1.example"},
    };
    char text[1000];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        join_hosts(cases[i].list, text, sizeof(text));
        assert_string_equal(text, cases[i].hosts);
    }
}

static void test_bad_lists_of_hosts_are_refused(void **state)
{
    static const struct {
        const char *list, *why;
    } cases[] = {
        {"n[1-2", "'[' without ']'"},
        {"n1-2]", "second bracket"},
        {"n[1]m[2]", "second bracket"},
        {"n[]", "no number"},
        {"n[a]", "no number"},
        {"n[1-]", "no number"},
        {"n[-1]", "no number"},
        {"n[1,]", "no number"},
        {"n[1,,2]", "no number"},
        {"n[1 -2]", "neither"},
        {"n[1-2-3]", "neither"},
        {"n[3-1]", "ends before"},
        {"n[1234567890]", "no number"},
        {"n[0-99999999999999999999]", "no number"},
        {",n1", "no host"},
        {"n1,,n2", "no host"},
        {"n1,", "no host behind"},
        {"n[1-2],", "no host behind"},
        {"n[[1]]", "second bracket"},
    };
    char text[1000];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        join_hosts(cases[i].list, text, sizeof(text));
        if (!strstr(text, cases[i].why) || !strstr(text, "n[1-3,7],m5"))
            fail_msg("%s: %s", cases[i].list, text);
    }
}

static void test_a_host_is_not_longer_than_names_are(void **state)
{
    char list[TFD_HOST_SIZE_MAX + 8], text[1000];

    (void)state;
    memset(list, 'n', sizeof(list));
    memcpy(list + TFD_HOST_SIZE_MAX - 1, "[7]", 4);
    join_hosts(list, text, sizeof(text));
    assert_int_equal(strlen(text), TFD_HOST_SIZE_MAX);
    memcpy(list + TFD_HOST_SIZE_MAX - 1, "[10]", 5);
    join_hosts(list, text, sizeof(text));
    assert_non_null(strstr(text, "254 characters, the limit is 253"));
}

static void join_counts(const char *list, char *text, size_t size)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_slurm_counts c;
    int64_t count = 1;

    text[0] = '\0';
    tfd_slurm_counts_init(&c, list);
    for (int i = 0; i < 10 && count > 0; i++) {
        if (tfd_slurm_counts_next(&c, &count, &st) != TFD_OK) {
            snprintf(text, size, "%s", st.text);
            return;
        }
        if (count > 0)
            tfd_report_path(text, size, "%d ", (int)count);
    }
}

static void test_counts_are_repeated(void **state)
{
    static const struct {
        const char *list, *counts;
    } cases[] = {{"4", "4 "},
                 {"", ""},
                 {"3(x2),2,1", "3 3 2 1 "},
                 {"1(x1)", "1 "},
                 {"2(x999999999)", "2 2 2 2 2 2 2 2 2 2 "}};
    char text[1000];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        join_counts(cases[i].list, text, sizeof(text));
        assert_string_equal(text, cases[i].counts);
    }
}

static void test_bad_counts_are_refused(void **state)
{
    static const char *const lists[] = {
        "0",          "x",     "-1",     "2(x0)", "2(x)",  "2(3)",
        "2(x3",       "2x3",   "2(x3)4", "2,",    ",2",    "2 ,1",
        "1000000000", "10001", "2(xa)",  "2()",   "2(x-1)"};
    char text[1000];

    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++) {
        join_counts(lists[i], text, sizeof(text));
        if (!strstr(text, "no count") || !strstr(text, "2(x3),1"))
            fail_msg("%s: %s", lists[i], text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts_are_those_of_the_list),
        cmocka_unit_test(test_bad_lists_of_hosts_are_refused),
        cmocka_unit_test(test_a_host_is_not_longer_than_names_are),
        cmocka_unit_test(test_counts_are_repeated),
        cmocka_unit_test(test_bad_counts_are_refused),
    };

    return cmocka_run_group_tests_name("slurm_lists", tests, NULL, NULL);
}
