/*
 * test_str.c - common/base/str.c: views, buffers at their maximum, string
 * elements.
 */
#include "common/base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct tfd_str null_view = {NULL, 0};

static void test_views_compare_by_their_bytes(void **state)
{
    struct tfd_str nul = {"a\0b", 3}, shorter = {"a\0b", 2};

    (void)state;
    assert_true(tfd_str_eq(TFD_STR("abc"), tfd_str_of("abc")));
    assert_true(tfd_str_is(TFD_STR("abc"), "abc"));
    assert_false(tfd_str_is(TFD_STR("abc"), "ab"));
    assert_false(tfd_str_is(TFD_STR("ab"), "abc"));
    assert_false(tfd_str_eq(nul, shorter));
    assert_false(tfd_str_is(nul, "a"));
    assert_true(tfd_str_eq(null_view, TFD_STR_EMPTY));
    assert_true(tfd_str_is(tfd_str_of(NULL), ""));
}

static void test_views_are_ordered_as_bytes(void **state)
{
    (void)state;
    assert_int_equal(tfd_str_cmp(TFD_STR("a"), TFD_STR("a")), 0);
    assert_true(tfd_str_cmp(TFD_STR("a"), TFD_STR("ab")) < 0);
    assert_true(tfd_str_cmp(TFD_STR("b"), TFD_STR("ab")) > 0);
    assert_true(tfd_str_cmp(TFD_STR("\xff"), TFD_STR("a")) > 0);
    assert_true(tfd_str_cmp(null_view, TFD_STR("a")) < 0);
    assert_int_equal(tfd_str_cmp(null_view, TFD_STR_EMPTY), 0);
}

static void test_prefixes(void **state)
{
    (void)state;
    assert_true(tfd_str_starts(TFD_STR("/job:ps"), "/job:"));
    assert_true(tfd_str_starts(TFD_STR("/job:"), "/job:"));
    assert_true(tfd_str_starts(null_view, ""));
    assert_false(tfd_str_starts(TFD_STR("/job"), "/job:"));
    assert_false(tfd_str_starts(null_view, "/"));
}

static void test_long_views_print_their_start(void **state)
{
    char big[2000];
    struct tfd_str s = {big, sizeof(big)};
    struct tfd_bytes b;

    (void)state;
    memset(big, 'x', sizeof(big));
    tfd_bytes_init(&b, 4096);
    tfd_bytes_printf(&b, "<" TFD_STR_FMT ">", TFD_STR_ARG(s));
    assert_int_equal(b.size, 1026);
    tfd_bytes_deinit(&b);
}

/* ---- Growing buffer ------------------------------------------------------ */

static void test_appends_arrive_in_order(void **state)
{
    struct tfd_bytes b;
    char *at;

    (void)state;
    tfd_bytes_init(&b, 1 << 20);
    assert_true(tfd_str_is(tfd_bytes_view(&b), ""));
    tfd_bytes_add(&b, "ab", 2);
    tfd_bytes_add_str(&b, TFD_STR("cd"));
    tfd_bytes_add_str(&b, null_view);
    tfd_bytes_printf(&b, "-%d-%s", 7, "");
    at = tfd_bytes_extend(&b, 2);
    memcpy(at, "ef", 2);
    assert_true(tfd_str_is(tfd_bytes_view(&b), "abcd-7-ef"));
    assert_int_equal(tfd_bytes_ok(&b, "text", NULL), TFD_OK);

    for (int i = 0; i < 10000; i++)
        tfd_bytes_printf(&b, "%04d", i);
    assert_int_equal(b.size, 9 + 40000);
    assert_memory_equal(b.data + 9 + 4 * 5678, "5678", 4);
    tfd_bytes_deinit(&b);
}

static void test_clear_keeps_the_memory(void **state)
{
    struct tfd_bytes b;
    const char *data;

    (void)state;
    tfd_bytes_init(&b, 100);
    tfd_bytes_add(&b, "0123456789", 10);
    data = b.data;
    tfd_bytes_clear(&b);
    assert_true(tfd_str_is(tfd_bytes_view(&b), ""));
    tfd_bytes_add(&b, "x", 1);
    assert_ptr_equal(b.data, data);
    tfd_bytes_deinit(&b);
    assert_null(b.data);
    tfd_bytes_add(&b, "usable again", 12);
    tfd_bytes_deinit(&b);
}

static void test_the_maximum_is_reached_but_not_passed(void **state)
{
    struct tfd_bytes b;

    (void)state;
    for (int way = 0; way < 3; way++) {
        struct tfd_status st = TFD_STATUS_INIT;

        tfd_bytes_init(&b, 10);
        if (way == 0)
            tfd_bytes_add(&b, "0123456789", 10);
        else if (way == 1)
            tfd_bytes_printf(&b, "%s", "0123456789");
        else
            memset(tfd_bytes_extend(&b, 10), '0', 10);
        assert_int_equal(tfd_bytes_ok(&b, "x", NULL), TFD_OK);
        tfd_bytes_add(&b, "", 0);
        assert_int_equal(tfd_bytes_ok(&b, "x", NULL), TFD_OK);

        if (way == 0)
            tfd_bytes_add(&b, "!", 1);
        else if (way == 1)
            tfd_bytes_printf(&b, "!");
        else
            assert_null(tfd_bytes_extend(&b, 1));
        assert_int_equal(b.size, 10);
        assert_int_equal(tfd_bytes_ok(&b, "reply", &st),
                         TFD_RESOURCE_EXHAUSTED);
        assert_string_equal(st.text,
                            "reply does not fit: 10 bytes written when the "
                            "next ones passed the limit of 10 or memory ran "
                            "out");
        tfd_bytes_deinit(&b);
    }
}

static void test_failure_sticks_until_cleared(void **state)
{
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 4);
    tfd_bytes_add(&b, "12345", 5);
    tfd_bytes_add(&b, "1", 1);
    assert_int_equal(b.size, 0);
    assert_int_equal(tfd_bytes_ok(&b, "x", NULL), TFD_RESOURCE_EXHAUSTED);
    tfd_bytes_clear(&b);
    tfd_bytes_add(&b, "1", 1);
    assert_int_equal(tfd_bytes_ok(&b, "x", NULL), TFD_OK);
    tfd_bytes_deinit(&b);
}

static void test_what_stays_is_named(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_bytes b, other;

    (void)state;
    tfd_bytes_init(&b, 4);
    tfd_bytes_init(&other, 4);
    tfd_bytes_fail_as(&b, &other);
    assert_int_equal(tfd_bytes_ok(&b, "x", NULL), TFD_OK);
    tfd_bytes_refuse(&other, "a dataset");
    tfd_bytes_fail_as(&b, &other);
    tfd_bytes_refuse(&b, "a handle"); /* the first one counts */
    assert_int_equal(tfd_bytes_ok(&b, "x", &st), TFD_INTERNAL);
    assert_string_equal(st.text, "x cannot be written: a dataset does not "
                                 "leave its task");
    tfd_bytes_clear(&b);
    tfd_bytes_add(&b, "12345", 5);
    tfd_bytes_refuse(&b, "a dataset");
    assert_int_equal(tfd_bytes_ok(&b, "x", NULL), TFD_RESOURCE_EXHAUSTED);
    tfd_bytes_deinit(&b);
    tfd_bytes_deinit(&other);
}

static void test_absurd_sizes_do_not_wrap(void **state)
{
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 1000);
    tfd_bytes_add(&b, "x", 1);
    assert_null(tfd_bytes_extend(&b, SIZE_MAX));
    assert_int_equal(b.size, 1);
    tfd_bytes_deinit(&b);
    tfd_bytes_init(&b, 0);
    assert_null(tfd_bytes_extend(&b, 1));
    tfd_bytes_deinit(&b);
}

/* Printed into what is left of the memory, or where there is more. */
static void test_printed_bytes_of_every_length(void **state)
{
    char text[300];

    (void)state;
    memset(text, 'x', sizeof(text));
    for (int first = 0; first < 140; first += 7)
        for (int size = 0; size < 300; size++) {
            struct tfd_bytes b;
            bool fits = first + size <= 200;

            tfd_bytes_init(&b, 200);
            tfd_bytes_printf(&b, "%.*s", first, text);
            tfd_bytes_printf(&b, "%.*s", size, text);
            assert_int_equal(tfd_bytes_ok(&b, "x", NULL) == TFD_OK, fits);
            assert_int_equal(b.size, fits ? first + size : first);
            assert_memory_equal(b.data, text, b.size);
            tfd_bytes_printf(&b, "%.*s", size, text);
            assert_int_equal(b.failed, !fits || first + 2 * size > 200);
            tfd_bytes_deinit(&b);
        }
}

static void test_no_bytes_are_an_address(void **state)
{
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 0);
    assert_non_null(tfd_bytes_extend(&b, 0));
    assert_int_equal(tfd_bytes_ok(&b, "x", NULL), TFD_OK);
    tfd_bytes_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views_compare_by_their_bytes),
        cmocka_unit_test(test_views_are_ordered_as_bytes),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_long_views_print_their_start),
        cmocka_unit_test(test_appends_arrive_in_order),
        cmocka_unit_test(test_clear_keeps_the_memory),
        cmocka_unit_test(test_the_maximum_is_reached_but_not_passed),
        cmocka_unit_test(test_failure_sticks_until_cleared),
        cmocka_unit_test(test_what_stays_is_named),
        cmocka_unit_test(test_absurd_sizes_do_not_wrap),
        cmocka_unit_test(test_printed_bytes_of_every_length),
        cmocka_unit_test(test_no_bytes_are_an_address),
    };

    return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
