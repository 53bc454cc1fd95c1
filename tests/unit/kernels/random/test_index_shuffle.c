/*
 * test_index_shuffle.c - kernels/random/index_shuffle.c against numbers
 * recorded from TensorFlow 2.21's RandomIndexShuffle; and that it is a
 * permutation.
 */
#include "kernels/random/index_shuffle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Where 0, 1, 2 and the largest number go. */
static void test_numbers_go_where_tensorflow_sends_them(void **state)
{
    static const struct {
        uint32_t key[3];
        uint64_t largest;
        int rounds;
        uint64_t want[4];
    } cases[] = {
        {{1, 2, 3}, 9, 4, {2, 0, 6, 3}},
        {{7, 0, 4000000000u}, 9, 8, {6, 1, 4, 9}},
        {{5, 6, 7}, 65535, 4, {19027, 2123, 55979, 46708}},
        {{5, 6, 7}, 100000, 8, {28527, 5354, 24819, 77252}},
        {{9, 8, 7},
         UINT64_C(1000000000000),
         8,
         {UINT64_C(948683244054), UINT64_C(906604944375),
          UINT64_C(441322574581), UINT64_C(304119619118)}},
        /* One bit more than the blocks have: the last is where 0 is. */
        {{1, 1, 1},
         UINT64_C(4611686018427387904),
         4,
         {UINT64_C(44694503337), UINT64_C(182133456568), UINT64_C(319572409739),
          UINT64_C(44694503337)}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const uint64_t from[4] = {0, 1, 2, cases[i].largest};

        for (size_t n = 0; n < COUNT(from); n++)
            assert_int_equal(tfd_index_shuffle(from[n], cases[i].key,
                                               cases[i].largest,
                                               cases[i].rounds),
                             cases[i].want[n]);
    }
}

static void test_every_number_is_met_once(void **state)
{
    static const uint32_t key[3] = {11, 22, 33};

    (void)state;
    for (uint64_t largest = 0; largest < 40; largest++) {
        bool met[40] = {false};

        for (uint64_t i = 0; i <= largest; i++) {
            uint64_t to = tfd_index_shuffle(i, key, largest, 8);

            assert_in_range(to, 0, largest);
            assert_false(met[to]);
            met[to] = true;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_go_where_tensorflow_sends_them),
        cmocka_unit_test(test_every_number_is_met_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
