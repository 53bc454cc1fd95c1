/*
 * test_failures.c - daemon/eager/failures.c: why operations failed.
 */
#include "daemon/eager/failures.h"

#include "config/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct tfd_eager_failures failures;

static int teardown(void **state)
{
    (void)state;
    tfd_eager_failures_deinit(&failures);
    return 0;
}

static void add(int64_t op, enum tfd_code code)
{
    struct tfd_status why = TFD_STATUS_INIT;

    if (code != TFD_OK)
        tfd_fail(&why, code, "of %d", (int)op);
    tfd_eager_failures_add(&failures, op, &why);
}

/* As if much had been made since. */
static const struct tfd_status *find(int64_t op)
{
    return tfd_eager_failures_find(&failures, op, INT64_MAX);
}

static void assert_found(int64_t op, enum tfd_code code)
{
    const struct tfd_status *why = find(op);
    char text[32];

    snprintf(text, sizeof(text), "of %d", (int)op);
    assert_non_null(why);
    assert_int_equal(why->code, code);
    assert_string_equal(why->text, text);
}

static void test_none(void **state)
{
    (void)state;
    assert_null(find(0));
    assert_null(find(-1));
    assert_int_equal(tfd_eager_failures_size(&failures), 0);
}

static void test_the_last_ones_are_kept(void **state)
{
    const int64_t count = 3 * TFD_EAGER_FAILURES_MAX + 1;

    (void)state;
    add(0, TFD_INTERNAL);
    assert_found(0, TFD_INTERNAL);
    assert_null(find(1));
    for (int64_t op = 1; op < count; op++)
        add(op, TFD_INVALID_ARGUMENT);
    for (int64_t op = 0; op < count - TFD_EAGER_FAILURES_MAX; op++)
        assert_null(find(op));
    for (int64_t op = count - TFD_EAGER_FAILURES_MAX; op < count; op++)
        assert_found(op, TFD_INVALID_ARGUMENT);
    assert_true(tfd_eager_failures_size(&failures) >
                TFD_EAGER_FAILURES_MAX * sizeof(struct tfd_status));
}

static void test_the_newer_reason_counts(void **state)
{
    const struct tfd_status *why;

    (void)state;
    add(7, TFD_INTERNAL);
    add(8, TFD_INTERNAL);
    add(7, TFD_NOT_FOUND);
    why = find(7);
    assert_non_null(why);
    assert_int_equal(why->code, TFD_NOT_FOUND);
    assert_int_equal(failures.count, 2);
}

/* The stream ended before it ran them. */
static void test_what_came_after_a_failure(void **state)
{
    (void)state;
    assert_null(tfd_eager_failures_find(&failures, 9, 0));
    add(5, TFD_INTERNAL);
    add(7, TFD_NOT_FOUND);
    assert_ptr_equal(tfd_eager_failures_find(&failures, 8, 6), find(7));
    assert_ptr_equal(tfd_eager_failures_find(&failures, 99, 7), find(7));
    assert_null(tfd_eager_failures_find(&failures, 6, 4));
    assert_null(tfd_eager_failures_find(&failures, 9, 8));
    assert_null(tfd_eager_failures_find(&failures, -1, 0));
    assert_ptr_equal(tfd_eager_failures_find(&failures, 5, 8), find(5));
}

/* Coordinators know by other words that a task is lost. */
static void test_what_is_not_of_the_operation(void **state)
{
    (void)state;
    add(1, TFD_OK);
    add(2, TFD_CANCELLED);
    add(3, TFD_ABORTED);
    add(4, TFD_UNAVAILABLE);
    for (int64_t op = 1; op <= 4; op++)
        assert_null(find(op));
    assert_int_equal(failures.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_none, teardown),
        cmocka_unit_test_teardown(test_the_last_ones_are_kept, teardown),
        cmocka_unit_test_teardown(test_the_newer_reason_counts, teardown),
        cmocka_unit_test_teardown(test_what_came_after_a_failure, teardown),
        cmocka_unit_test_teardown(test_what_is_not_of_the_operation, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
