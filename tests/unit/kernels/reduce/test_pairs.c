/*
 * test_pairs.c - pairs.c beside a plain sort, of all short lengths.
 */
#include "kernels/reduce/pairs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define N_MAX 300

static void check(int n, uint32_t values)
{
    struct tfd_pair k[N_MAX], memory[N_MAX], want[N_MAX], *got;
    uint32_t random = (uint32_t)n + 5;

    for (int i = 0; i < n; i++) {
        int at = i;

        random = random * 1664525u + 1013904223u;
        k[i] = (struct tfd_pair){(int64_t)(random >> 8) % values - 3, i};
        for (; at > 0 && want[at - 1].number > k[i].number; at--)
            want[at] = want[at - 1];
        want[at] = k[i];
    }
    got = tfd_pairs_sort(k, memory, n);
    assert_true(got == k || got == memory);
    assert_memory_equal(got, want, (size_t)n * sizeof(*want));
}

static void test_orders_of_all_lengths(void **state)
{
    (void)state;
    for (int n = 0; n <= N_MAX; n++) {
        check(n, 1);
        check(n, 7);
        check(n, 1000000);
    }
}

static void test_extremes_and_what_is_sorted(void **state)
{
    struct tfd_pair k[] = {{INT64_MAX, 0}, {0, 1}, {INT64_MIN, 2}}, memory[3];
    struct tfd_pair up[20], other[20], *got = tfd_pairs_sort(k, memory, 3);

    (void)state;
    assert_true(got[0].at == 2 && got[1].at == 1 && got[2].at == 0);
    for (int i = 0; i < 20; i++)
        up[i] = (struct tfd_pair){i / 2, i};
    got = tfd_pairs_sort(up, other, 20);
    for (int i = 0; i < 20; i++)
        assert_int_equal(got[i].at, i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders_of_all_lengths),
        cmocka_unit_test(test_extremes_and_what_is_sorted),
    };

    return cmocka_run_group_tests_name("pairs", tests, NULL, NULL);
}
