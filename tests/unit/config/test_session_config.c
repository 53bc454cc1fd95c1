/*
 * test_session_config.c - config/session_config.c, from bytes that
 * TensorFlow 2.21's Python wrote.
 */
#include "config/session_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BYTES(literal) ((struct tfd_str){(literal), sizeof(literal) - 1})

/* What tf.compat.v1.Session() sends when nobody gave it a config. */
static const struct tfd_str python_default = {
    "\x0a\x07\x0a\x03\x43\x50\x55\x10\x01\x0a\x07\x0a\x03\x47\x50\x55\x10"
    "\x00\x32\x02\x4a\x00\x82\x01\x03\xc0\x01\x01\x92\x01\x02\x4a\x00",
    33};

/* device_filters ["/job:ps", "/job:worker/task:1"], allow_soft_placement,
 * log_device_placement, placement_period 5, graph_options{
 * place_pruned_graph, rewrite_options{constant_folding OFF,
 * disable_meta_optimizer}}, operation_timeout_in_ms 8000, cluster_def{ps: a:1},
 * isolate_session_state, experimental{executor_type "DEFAULT",
 * share_session_state_in_clusterspec_propagation},
 * share_cluster_devices_in_session, inter_op_parallelism_threads 3. */
#define PYTHON_FULL                                                            \
    "\x22\x07/job:ps\x22\x12/job:worker/task:1"                                \
    "\x28\x03\x38\x01\x40\x01\x18\x05\x52\x09\x30\x01\x52\x05\x18\x02\x98\x01" \
    "\x01"                                                                     \
    "\x58\xc0\x3e\x72\x0f\x0a\x0d\x0a\x02ps\x12\x07\x08\x00\x12\x03"           \
    "a:1"                                                                      \
    "\x78\x01\x82\x01\x0b\x1a\x07"                                             \
    "DEFAULT"                                                                  \
    "\x40\x01\x88\x01\x01"

static const struct tfd_str python_full = {PYTHON_FULL,
                                           sizeof(PYTHON_FULL) - 1};

static void test_default_of_python_is_all_defaults(void **state)
{
    struct tfd_session_config c;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    if (tfd_session_config_read(python_default, &c, &st) != TFD_OK)
        fail_msg("%s", st.text);
    assert_int_equal(c.filter_count, 0);
    assert_int_equal(c.unhonoured_count, 0);
    assert_false(c.allow_soft_placement);
    assert_int_equal(c.operation_timeout_ms, 0);
    assert_false(c.has_cluster_def);
    tfd_session_config_deinit(&c);
}

static void test_honoured_fields_arrive(void **state)
{
    struct tfd_session_config c;
    struct tfd_status st = TFD_STATUS_INIT;
    char text[TFD_DEVICE_NAME_TEXT_SIZE];

    (void)state;
    if (tfd_session_config_read(python_full, &c, &st) != TFD_OK)
        fail_msg("%s", st.text);
    assert_int_equal(c.filter_count, 2);
    tfd_device_name_format(&c.filters[1], text);
    assert_string_equal(text, "/job:worker/task:1");
    assert_true(c.allow_soft_placement);
    assert_true(c.log_device_placement);
    assert_true(c.isolate_session_state);
    assert_true(c.share_cluster_devices);
    assert_true(c.share_session_state);
    assert_true(c.place_pruned_graph);
    assert_true(c.keeps_unread);
    assert_int_equal(c.operation_timeout_ms, 8000);
    assert_true(c.has_cluster_def);
    assert_int_equal(c.cluster_def.size, 15);
    tfd_session_config_deinit(&c);
}

/* graph_options{rewrite_options{...}} */
static void test_rewriting_can_be_turned_off(void **state)
{
    const struct {
        struct tfd_str bytes;
        bool off, twins_off;
        size_t unhonoured;
    } cases[] = {
        {BYTES("\x52\x02\x52\x00"), false, false, 0},
        {BYTES("\x52\x05\x52\x03\x98\x01\x00"), false, false, 0},
        {BYTES("\x52\x05\x52\x03\x98\x01\x01"), true, true, 0},
        {BYTES("\x52\x04\x52\x02\x40\x01"), false, false,
         0}, /* dependency: ON */
        {BYTES("\x52\x04\x52\x02\x40\x02"), true, false, 0},  /* OFF */
        {BYTES("\x52\x04\x52\x02\x40\x03"), false, false, 0}, /* AGGRESSIVE */
        {BYTES("\x52\x04\x52\x02\x18\x01"), false, false,
         1}, /* constant_folding */
        {BYTES("\x52\x0b\x52\x09\xa2\x06\x06"
               "layout"),
         true, true, 0},
        {BYTES("\x52\x0f\x52\x0d\xa2\x06\x0a"
               "dependency"),
         false, true, 1},
        {BYTES("\x52\x04\x52\x02\x38\x01"), false, false, 0},
        /* arithmetic: OFF */
        {BYTES("\x52\x04\x52\x02\x38\x02"), false, true, 0},
        {BYTES("\x52\x0f\x52\x0d\xa2\x06\x0a"
               "arithmetic"),
         true, false, 1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_session_config c;

        assert_int_equal(tfd_session_config_read(cases[i].bytes, &c, NULL),
                         TFD_OK);
        assert_int_equal(c.keeps_unread, cases[i].off);
        assert_int_equal(c.keeps_twins, cases[i].twins_off);
        assert_int_equal(c.unhonoured_count, cases[i].unhonoured);
        tfd_session_config_deinit(&c);
    }
}

static void test_damaged_rewriting_is_refused(void **state)
{
    const struct tfd_str cases[] = {
        BYTES("\x52\x04\x52\x02\x98\x01"), /* ends within the number */
        BYTES("\x52\x05\x52\x03\xa2\x06\x06"),
        BYTES("\x52\x05\x52\x03\x9a\x01\x00"), /* bytes for a bool */
        BYTES("\x52\x03\x52\x01\x42"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_session_config c;

        assert_int_equal(tfd_session_config_read(cases[i], &c, NULL),
                         TFD_INVALID_ARGUMENT);
    }
}

static void test_other_fields_are_named_once(void **state)
{
    static const char *const expected[] = {
        "inter_op_parallelism_threads",
        "placement_period",
        "graph_options.rewrite_options",
        "experimental.executor_type",
    };
    char twice[256];
    struct tfd_session_config c;

    (void)state;
    memcpy(twice, python_full.data, python_full.size);
    memcpy(twice + python_full.size, python_full.data, python_full.size);
    assert_int_equal(
        tfd_session_config_read((struct tfd_str){twice, 2 * python_full.size},
                                &c, NULL),
        TFD_OK);
    assert_int_equal(c.unhonoured_count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_string_equal(c.unhonoured[i], expected[i]);
    assert_int_equal(c.filter_count, 4);
    tfd_session_config_deinit(&c);
}

static void test_fields_newer_than_us_are_reported(void **state)
{
    struct tfd_session_config c;

    (void)state;
    assert_int_equal(
        tfd_session_config_read(BYTES("\xf8\x06\x01\xf0\x06\x01"), &c, NULL),
        TFD_OK);
    assert_int_equal(c.unhonoured_count, 1);
    assert_string_equal(c.unhonoured[0], "unknown fields");
    tfd_session_config_deinit(&c);
}

static void test_thread_pools_of_a_session_are_refused(void **state)
{
    /* use_per_session_threads; session_inter_op_thread_pool{} */
    static const struct tfd_str wanted[] = {TFD_STR_INIT("\x48\x01"),
                                            TFD_STR_INIT("\x62\x00")};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_session_config c;

    (void)state;
    for (size_t i = 0; i < COUNT(wanted); i++) {
        tfd_status_clear(&st);
        assert_int_equal(tfd_session_config_read(wanted[i], &c, &st),
                         TFD_INVALID_ARGUMENT);
        assert_non_null(strstr(st.text, "session thread pool options"));
    }
    assert_int_equal(tfd_session_config_read(BYTES("\x48\x00"), &c, &st),
                     TFD_OK);
    tfd_session_config_deinit(&c);
}

static void test_negative_timeout_is_none(void **state)
{
    struct tfd_session_config c;

    (void)state;
    assert_int_equal(
        tfd_session_config_read(
            BYTES("\x58\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), &c, NULL),
        TFD_OK);
    assert_int_equal(c.operation_timeout_ms, 0);
    tfd_session_config_deinit(&c);
}

static void test_bad_configs_are_refused(void **state)
{
    static const struct {
        struct tfd_str bytes;
        const char *text;
    } cases[] = {
        {{"\x22\x05"
          "bogus",
          7},
         "Invalid device filter 'bogus'"},
        {{"\x22\x07/job:ps\x22\x04/cpu", 15}, "Invalid device filter '/cpu'"},
        {{"\x22\x07/job", 6}, "ConfigProto"},     /* cut */
        {{"\x38", 1}, "ConfigProto"},             /* cut */
        {{"\x3a\x01\x01", 3}, "ConfigProto"},     /* a bool as bytes */
        {{"\x20\x01", 2}, "ConfigProto"},         /* a filter as a number */
        {{"\x50\x01", 2}, "ConfigProto"},         /* a message as a number */
        {{"\x52\x02\x98\x01", 4}, "ConfigProto"}, /* cut inside */
        {{"\x82\x01\x01\x40", 4}, "ConfigProto"},
        {{"\x00\x01", 2}, "ConfigProto"}, /* field number 0 */
        {{"\x3b\x01", 2}, "ConfigProto"}, /* groups */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_session_config c;
        struct tfd_status st = TFD_STATUS_INIT;

        if (tfd_session_config_read(cases[i].bytes, &c, &st) == TFD_OK)
            fail_msg("case %zu was accepted", i);
        assert_int_equal(st.code, TFD_INVALID_ARGUMENT);
        if (!strstr(st.text, cases[i].text))
            fail_msg("case %zu: %s", i, st.text);
        assert_null(c.filters);
    }
}

/* Every beginning of a good config is read or refused, never anything else. */
static void test_config_cut_anywhere(void **state)
{
    (void)state;
    for (size_t size = 0; size < python_full.size; size++) {
        char *copy = malloc(size + 1); /* exact, so that a checker sees more */
        struct tfd_session_config c;
        enum tfd_code code;

        assert_non_null(copy);
        memcpy(copy, python_full.data, size);
        code = tfd_session_config_read((struct tfd_str){copy, size}, &c, NULL);
        assert_true(code == TFD_OK || code == TFD_INVALID_ARGUMENT);
        tfd_session_config_deinit(&c);
        free(copy);
    }
}

static void test_filters_are_limited(void **state)
{
    size_t size = 3 * (TFD_DEVICE_FILTERS_MAX + 1);
    char *bytes = malloc(size);
    struct tfd_session_config c;

    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i += 3)
        memcpy(bytes + i, "\x22\x01/", 3);
    assert_int_equal(
        tfd_session_config_read((struct tfd_str){bytes, size - 3}, &c, NULL),
        TFD_OK);
    assert_int_equal(c.filter_count, TFD_DEVICE_FILTERS_MAX);
    tfd_session_config_deinit(&c);
    assert_int_equal(
        tfd_session_config_read((struct tfd_str){bytes, size}, &c, NULL),
        TFD_RESOURCE_EXHAUSTED);
    free(bytes);
}

static void test_size_is_limited(void **state)
{
    struct tfd_session_config c;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(
        tfd_session_config_read(
            (struct tfd_str){"", TFD_SESSION_CONFIG_SIZE_MAX + 1}, &c, &st),
        TFD_RESOURCE_EXHAUSTED);
    assert_string_equal(st.text,
                        "ConfigProto has 4194305 bytes, the limit is 4194304");
}

static void test_filters_admit_tasks(void **state)
{
    struct tfd_device_name ps = tfd_device_name_of("ps", 3, "CPU", 0);
    struct tfd_device_name w0 = tfd_device_name_of("worker", 0, "CPU", 0);
    struct tfd_device_name w1 = tfd_device_name_of("worker", 1, "CPU", 0);
    struct tfd_session_config c;

    (void)state;
    assert_int_equal(tfd_session_config_read(python_full, &c, NULL), TFD_OK);
    assert_true(tfd_session_config_admits(&c, &ps));
    assert_false(tfd_session_config_admits(&c, &w0));
    assert_true(tfd_session_config_admits(&c, &w1));
    tfd_session_config_deinit(&c);
    assert_true(tfd_session_config_admits(&c, &w0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_of_python_is_all_defaults),
        cmocka_unit_test(test_honoured_fields_arrive),
        cmocka_unit_test(test_rewriting_can_be_turned_off),
        cmocka_unit_test(test_damaged_rewriting_is_refused),
        cmocka_unit_test(test_other_fields_are_named_once),
        cmocka_unit_test(test_fields_newer_than_us_are_reported),
        cmocka_unit_test(test_thread_pools_of_a_session_are_refused),
        cmocka_unit_test(test_negative_timeout_is_none),
        cmocka_unit_test(test_bad_configs_are_refused),
        cmocka_unit_test(test_config_cut_anywhere),
        cmocka_unit_test(test_filters_are_limited),
        cmocka_unit_test(test_size_is_limited),
        cmocka_unit_test(test_filters_admit_tasks),
    };

    return cmocka_run_group_tests_name("session_config", tests, NULL, NULL);
}
