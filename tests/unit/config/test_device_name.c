/*
 * test_device_name.c - config/device_name.c against what TensorFlow 2.21 does
 * with the same names (each row was tried on a real server).
 */
#include "config/device_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct tfd_str str_of(const char *text)
{
    return (struct tfd_str){text, strlen(text)};
}

static struct tfd_device_name name_of(const char *text)
{
    struct tfd_device_name n;
    struct tfd_status st = TFD_STATUS_INIT;

    if (tfd_device_name_parse(str_of(text), &n, &st) != TFD_OK)
        fail_msg("%s: %s", text, st.text);
    return n;
}

static void assert_prints(const struct tfd_device_name *n, const char *expected)
{
    char text[TFD_DEVICE_NAME_TEXT_SIZE];

    tfd_device_name_format(n, text);
    assert_string_equal(text, expected);
}

static void test_good_names_print_in_full_spelling(void **state)
{
    static const struct {
        const char *in;
        const char *out;
    } cases[] = {
        {"", ""},
        {"/", ""},
        {"/job:worker/replica:0/task:3/device:GPU:1",
         "/job:worker/replica:0/task:3/device:GPU:1"},
        {"/cpu:0", "/device:CPU:0"},
        {"/CPU:0", "/device:CPU:0"},
        {"/gpu:1", "/device:GPU:1"},
        {"/GPU:*", "/device:GPU:*"},
        {"/cpu:*", "/device:CPU:*"},
        {"/job:x/task:0/cpu:0", "/job:x/task:0/device:CPU:0"},
        {"/device:CPU", "/device:CPU:*"},
        {"/device:CPU:*", "/device:CPU:*"},
        {"/device:CPU:00", "/device:CPU:0"},
        {"/device:cpu:0", "/device:cpu:0"},
        {"/device:XLA_CPU:0", "/device:XLA_CPU:0"},
        {"/device:*", ""},
        {"/device:*:1", ""},
        {"/job:*", ""},
        {"/job:ps/task:*", "/job:ps"},
        {"/job:ps/replica:*/task:0", "/job:ps/task:0"},
        {"/task:0/job:ps", "/job:ps/task:0"},
        {"/job:a/job:b", "/job:b"},
        {"/job:a/job:*", ""},
        {"/cpu:0/gpu:1", "/device:GPU:1"},
        {"/device:CPU:0/device:GPU", "/device:GPU:*"},
        {"/task:2147483647", "/task:2147483647"},
        {"/job:a_1", "/job:a_1"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_device_name n = name_of(cases[i].in);

        assert_prints(&n, cases[i].out);
    }
}

static void test_malformed_names_are_refused(void **state)
{
    static const char *const cases[] = {
        "/cpu",
        "/job:",
        "/job:wor-ker",
        "/job:wor.ker",
        "/job:_w",
        "/job:1w",
        "/job:w\xc3\xb6rker",
        "/task:",
        "/task:-1",
        "/task:+0",
        "/task: 0",
        "/task:0x0",
        "/task:2147483648",
        "/task:99999999999999999999",
        "/device:",
        "/device:CPU:",
        "/device:CPU:*:0",
        "/device:C-P:0",
        "/device:1C:0",
        "job:worker",
        "worker/0",
        "@",
        "//",
        "/job:worker/",
        "/job:worker//task:0",
        "/job:worker:0",
        "/xpu:0",
        "/Device:CPU:0",
        "/Cpu:0",
        "/JOB:worker",
        "/partition:0",
        "/host:CPU:0",
        " ",
        "/job:a234567890123456789012345678901234567890123456789012345678901234",
        "/device:A2345678901234567890123456789012:0",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_device_name n;
        struct tfd_status st = TFD_STATUS_INIT;
        char expected[256];

        memset(&n, 0xff, sizeof(n));
        if (tfd_device_name_parse(str_of(cases[i]), &n, &st) == TFD_OK)
            fail_msg("accepted: %s", cases[i]);
        snprintf(expected, sizeof(expected),
                 "Malformed device specification '%s'", cases[i]);
        assert_int_equal(st.code, TFD_INVALID_ARGUMENT);
        assert_string_equal(st.text, expected);
        assert_int_equal(n.has, 0);
    }
}

static void test_text_above_the_limit_is_refused(void **state)
{
    char text[TFD_DEVICE_TEXT_SIZE_MAX + 8];
    struct tfd_device_name n;
    struct tfd_str s = {text, 0};

    (void)state;
    for (; s.size <= TFD_DEVICE_TEXT_SIZE_MAX; s.size += 7) {
        assert_int_equal(tfd_device_name_parse(s, &n, NULL), TFD_OK);
        memcpy(text + s.size, "/task:1", 7);
    }
    assert_int_equal(tfd_device_name_parse(s, &n, NULL), TFD_INVALID_ARGUMENT);
}

static void test_name_that_was_put_together_reads_back(void **state)
{
    struct tfd_device_name n = tfd_device_name_of("ps", 7, "CPU", 1);
    struct tfd_device_name back = name_of("/job:ps/task:7/replica:0/cpu:1");
    char text[TFD_DEVICE_NAME_TEXT_SIZE];

    (void)state;
    assert_true(tfd_device_name_complete(&n));
    assert_true(tfd_device_name_eq(&n, &back));
    assert_memory_equal(&n, &back, sizeof(n));
    tfd_device_name_task(&n, text);
    assert_string_equal(text, "/job:ps/replica:0/task:7");
}

/* What nobody says has one representation, however it was unsaid. */
static void test_unsaid_parts_compare_equal(void **state)
{
    struct tfd_device_name a = name_of("/job:a/job:*/device:GPU:3/device:*");
    struct tfd_device_name b = name_of("");

    (void)state;
    assert_memory_equal(&a, &b, sizeof(a));
}

static void test_merge_follows_tensorflow(void **state)
{
    static const struct {
        const char *into;
        const char *from;
        enum tfd_device_merge mode;
        const char *result; /* NULL: fails with error */
        const char *error;
    } cases[] = {
        {"", "/job:a", TFD_DEVICE_MERGE_STRICT, "/job:a", NULL},
        {"/job:a", "/task:1/cpu:0", TFD_DEVICE_MERGE_STRICT,
         "/job:a/task:1/device:CPU:0", NULL},
        {"/device:CPU", "/device:CPU:1", TFD_DEVICE_MERGE_STRICT,
         "/device:CPU:1", NULL},
        {"/cpu:0", "/cpu:0", TFD_DEVICE_MERGE_STRICT, "/device:CPU:0", NULL},
        {"/cpu:0", "/gpu:0", TFD_DEVICE_MERGE_SOFT, "", NULL},
        {"/cpu:0", "/gpu:1", TFD_DEVICE_MERGE_SOFT, "", NULL},
        {"/device:CPU", "/gpu:1", TFD_DEVICE_MERGE_SOFT, "", NULL},
        {"/cpu:0", "/cpu:1", TFD_DEVICE_MERGE_SOFT, "/device:CPU:*", NULL},
        {"/job:a/cpu:0", "/task:2/gpu:0", TFD_DEVICE_MERGE_SOFT,
         "/job:a/task:2", NULL},
        {"/cpu:0", "/gpu:1", TFD_DEVICE_MERGE_OVERRIDE, "/device:GPU:1", NULL},
        {"/cpu:0", "/device:GPU", TFD_DEVICE_MERGE_OVERRIDE, "/device:GPU:0",
         NULL},
        {"/job:other", "/job:worker", TFD_DEVICE_MERGE_STRICT, NULL,
         "incompatible jobs: '/job:other' and '/job:worker'"},
        {"/replica:1/gpu:0", "/replica:0", TFD_DEVICE_MERGE_STRICT, NULL,
         "incompatible replicas: '/replica:1/device:GPU:0' and '/replica:0'"},
        {"/task:1/gpu:0", "/task:0", TFD_DEVICE_MERGE_STRICT, NULL,
         "incompatible tasks: '/task:1/device:GPU:0' and '/task:0'"},
        {"/gpu:0", "/cpu:0", TFD_DEVICE_MERGE_STRICT, NULL,
         "incompatible types: '/device:GPU:0' and '/device:CPU:0'"},
        {"/gpu:0", "/device:CPU:*", TFD_DEVICE_MERGE_STRICT, NULL,
         "incompatible types: '/device:GPU:0' and '/device:CPU:*'"},
        {"/cpu:1", "/cpu:0", TFD_DEVICE_MERGE_STRICT, NULL,
         "incompatible ids: '/device:CPU:1' and '/device:CPU:0'"},
        {"/gpu:0", "/device:*:1", TFD_DEVICE_MERGE_STRICT, NULL,
         "incompatible ids: '/device:GPU:0' and ''"},
        {"/job:a/cpu:0", "/job:b/gpu:0", TFD_DEVICE_MERGE_SOFT, NULL,
         "incompatible jobs: '/job:a/device:CPU:0' and '/job:b/device:GPU:0'"},
        {"/task:0/cpu:0", "/task:1/cpu:1", TFD_DEVICE_MERGE_OVERRIDE, NULL,
         "incompatible tasks"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_device_name into = name_of(cases[i].into);
        struct tfd_device_name before = into;
        struct tfd_device_name from = name_of(cases[i].from);
        struct tfd_status st = TFD_STATUS_INIT;
        enum tfd_code code =
            tfd_device_name_merge(&into, &from, cases[i].mode, &st);

        if (cases[i].result) {
            assert_int_equal(code, TFD_OK);
            assert_prints(&into, cases[i].result);
        } else {
            assert_int_equal(code, TFD_INVALID_ARGUMENT);
            assert_non_null(strstr(st.text, "Cannot merge devices with "));
            assert_non_null(strstr(st.text, cases[i].error));
            assert_memory_equal(&into, &before, sizeof(into));
        }
    }
}

static void test_covers_and_intersects(void **state)
{
    static const struct {
        const char *pattern;
        const char *name;
        bool covers;
        bool intersects;
    } cases[] = {
        {"", "/job:ps/replica:0/task:0/device:CPU:0", true, true},
        {"/job:ps", "/job:ps/replica:0/task:0/device:CPU:0", true, true},
        {"/device:CPU", "/job:ps/replica:0/task:0/device:CPU:1", true, true},
        {"/device:*:1", "/job:ps/replica:0/task:0/device:CPU:1", true, true},
        {"/job:ps/task:0", "/job:ps", false, true},
        {"/job:ps", "/task:0", false, true},
        {"/gpu:0", "/job:ps/replica:0/task:0", false, true},
        {"/job:ps", "/job:worker/replica:0/task:0", false, false},
        {"/task:1", "/job:ps/replica:0/task:0", false, false},
        {"/replica:1", "/job:ps/replica:0/task:0", false, false},
        {"/gpu:0", "/job:ps/replica:0/task:0/device:CPU:0", false, false},
        {"/cpu:1", "/job:ps/replica:0/task:0/device:CPU:0", false, false},
        {"/device:cpu:0", "/device:CPU:0", false, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_device_name pattern = name_of(cases[i].pattern);
        struct tfd_device_name name = name_of(cases[i].name);

        assert_int_equal(tfd_device_name_covers(&pattern, &name),
                         cases[i].covers);
        assert_int_equal(tfd_device_name_intersects(&pattern, &name),
                         cases[i].intersects);
    }
}

static void test_same_task_needs_all_three_parts(void **state)
{
    struct tfd_device_name full = name_of("/job:ps/replica:0/task:1/cpu:0");
    struct tfd_device_name other = name_of("/job:ps/replica:0/task:1/gpu:3");
    struct tfd_device_name part = name_of("/job:ps/task:1");
    struct tfd_device_name next = name_of("/job:ps/replica:0/task:2/cpu:0");

    (void)state;
    assert_true(tfd_device_name_same_task(&full, &other));
    assert_false(tfd_device_name_same_task(&full, &part));
    assert_false(tfd_device_name_same_task(&full, &next));
}

static void test_fill_adds_only_what_is_unsaid(void **state)
{
    struct tfd_device_name n = name_of("/device:GPU:1");
    struct tfd_device_name task = name_of("/job:ps/replica:0/task:2/cpu:0");

    (void)state;
    tfd_device_name_fill(&n, &task);
    assert_prints(&n, "/job:ps/replica:0/task:2/device:GPU:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_names_print_in_full_spelling),
        cmocka_unit_test(test_malformed_names_are_refused),
        cmocka_unit_test(test_text_above_the_limit_is_refused),
        cmocka_unit_test(test_name_that_was_put_together_reads_back),
        cmocka_unit_test(test_unsaid_parts_compare_equal),
        cmocka_unit_test(test_merge_follows_tensorflow),
        cmocka_unit_test(test_covers_and_intersects),
        cmocka_unit_test(test_same_task_needs_all_three_parts),
        cmocka_unit_test(test_fill_adds_only_what_is_unsaid),
    };

    return cmocka_run_group_tests_name("device_name", tests, NULL, NULL);
}
