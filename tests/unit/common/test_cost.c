/*
 * test_cost.c - common/thread/cost.c: the probe ends, and what it says of this
 * machine is possible.
 */
#define _GNU_SOURCE 1 /* fmemopen() */

#include "common/thread/cost.h"

#include "common/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TRIES = 100 };

static void test_what_is_measured_is_possible(void **state)
{
    uint64_t begun_ns, took_ns;
    struct tfd_cost c;
    int tries = 0;

    (void)state;
    /* Where other programs have all processors, the other thread may not be
     * heard of in time, and the hop is 0. */
    do {
        begun_ns = tfd_clock_now_ns();
        tfd_cost_probe(&c);
        took_ns = tfd_clock_now_ns() - begun_ns;
    } while (c.hop_ns == 0 && ++tries < TRIES);
    assert_in_range(c.hop_ns, 1, took_ns);
    assert_in_range(c.wake_ns, 1, took_ns);
    assert_in_range(c.copy_near_ps, 1, 1000000);
    assert_in_range(c.copy_far_ps, 1, 1000000);
}

static void test_each_figure_has_a_line(void **state)
{
    const struct tfd_cost c = {1, 2, 3, 4};
    char text[1000] = "";
    FILE *to = fmemopen(text, sizeof(text), "w");

    (void)state;
    assert_non_null(to);
    tfd_cost_print(&c, to);
    fclose(to);
    assert_non_null(strstr(text, "cost.hop = 5000 ns"));
    assert_non_null(strstr(text, "cost.wake = 60000 ns"));
    assert_non_null(strstr(text, "measured now: 3)\n"));
    assert_non_null(strstr(text, "measured now: 4)\n"));
}

static void test_what_could_not_be_measured_is_zero(void **state)
{
    const struct tfd_cost c = {0};
    char text[1000] = "";
    FILE *to = fmemopen(text, sizeof(text), "w");

    (void)state;
    assert_non_null(to);
    tfd_cost_print(&c, to);
    fclose(to);
    assert_non_null(strstr(text, "measured now: 0)\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_measured_is_possible),
        cmocka_unit_test(test_each_figure_has_a_line),
        cmocka_unit_test(test_what_could_not_be_measured_is_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
