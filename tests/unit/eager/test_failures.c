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

static void assert_found(int64_t op, enum tfd_code code)
{
    const struct tfd_status *why = tfd_eager_failures_find(&failures, op);
    char text[32];

    snprintf(text, sizeof(text), "of %d", (int)op);
    assert_non_null(why);
    assert_int_equal(why->code, code);
    assert_string_equal(why->text, text);
}

static void test_none(void **state)
{
    (void)state;
    assert_null(tfd_eager_failures_find(&failures, 0));
    assert_null(tfd_eager_failures_find(&failures, -1));
    assert_int_equal(tfd_eager_failures_size(&failures), 0);
}

static void test_the_last_ones_are_kept(void **state)
{
    const int64_t count = 3 * TFD_EAGER_FAILURES_MAX + 1;

    (void)state;
    add(0, TFD_INTERNAL);
    assert_found(0, TFD_INTERNAL);
    assert_null(tfd_eager_failures_find(&failures, 1));
    for (int64_t op = 1; op < count; op++)
        add(op, TFD_INVALID_ARGUMENT);
    for (int64_t op = 0; op < count - TFD_EAGER_FAILURES_MAX; op++)
        assert_null(tfd_eager_failures_find(&failures, op));
    for (int64_t op = count - TFD_EAGER_FAILURES_MAX; op < count; op++)
        assert_found(op, TFD_INVALID_ARGUMENT);
    assert_true(tfd_eager_failures_size(&failures) >
                TFD_EAGER_FAILURES_MAX * sizeof(struct tfd_status));
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
        assert_null(tfd_eager_failures_find(&failures, op));
    assert_int_equal(failures.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_none, teardown),
        cmocka_unit_test_teardown(test_the_last_ones_are_kept, teardown),
        cmocka_unit_test_teardown(test_what_is_not_of_the_operation, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
