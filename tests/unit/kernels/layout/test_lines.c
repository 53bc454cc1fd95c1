/*
 * test_lines.c - blocks of a result written past the caches
 * (kernels/layout/lines.h): sizes around those of a few lines, from every
 * place in a line; nothing is written beside them.
 */
#include "kernels/layout/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define LINE 64
#define ROOM (TFD_LINES_SIZE + 3 * LINE)

static _Alignas(64) char to[ROOM], expected[ROOM], place[TFD_LINES_PLACE];

static void put_and_compare(int64_t at, int64_t size)
{
    char *block = tfd_lines_block(place, to + at);

    memset(to, 1, ROOM);
    memset(expected, 1, ROOM);
    for (int64_t i = 0; i < size; i++)
        expected[at + i] = block[i] = (char)(i * 7 + i / 251);
    tfd_lines_put(to + at, block, size);
    tfd_lines_end();
    assert_memory_equal(to, expected, ROOM);
}

static void blocks_are_put_anywhere(void **state)
{
    (void)state;
    for (int64_t at = 0; at < LINE; at++)
        for (int64_t size = 0; size <= 3 * LINE + 1; size++)
            put_and_compare(LINE + at, size);
}

static void the_largest_block_fits(void **state)
{
    (void)state;
    for (int64_t at = 0; at < LINE; at++)
        put_and_compare(LINE + at, TFD_LINES_SIZE);
}

static void small_results_stay_in_the_caches(void **state)
{
    (void)state;
    assert_false(tfd_lines_worth(0, 0));
    assert_false(tfd_lines_worth(1000, 1 << 30));
    assert_false(tfd_lines_worth(4 << 20, 4 << 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_put_anywhere),
        cmocka_unit_test(the_largest_block_fits),
        cmocka_unit_test(small_results_stay_in_the_caches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
