/*
 * test_lines.c - blocks of a result written past the caches
 * (kernels/layout/lines.h): sizes around those of a few lines, from every
 * place in a line; nothing is written beside them.
 */
#define _GNU_SOURCE 1 /* MAP_ANONYMOUS */

#include "kernels/layout/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* ---- Rows with gaps ------------------------------------------------------ */

#define ROWS_MAX 4
#define ROW_MAX 321
#define GAP_MAX 140
#define ROWS_ROOM (ROWS_MAX * (ROW_MAX + GAP_MAX) + 3 * LINE)

static _Alignas(64) char rows_to[ROWS_ROOM], rows_expected[ROWS_ROOM];

/* Rows of one room, which ends where `from_end` is. */
static void put_rows_and_compare(int64_t rows, int64_t size, int64_t gap,
                                 int64_t at, const char *from_end)
{
    const char *from = from_end - rows * size;
    struct tfd_lines_rows r = {
        .rows = rows, .row_to = size + gap, .size = size};

    memset(rows_to, 1, ROWS_ROOM);
    memset(rows_expected, 1, ROWS_ROOM);
    for (int i = 0; i < LINE; i++)
        r.gap[i] = (char)(100 + i % 4);
    for (int64_t i = 0; i < rows; i++) {
        char *y = rows_expected + at + i * r.row_to;

        memcpy(y, from + i * size, (size_t)size);
        for (char *g = y + size; i + 1 < rows && g < y + r.row_to; g++)
            *g = (char)(100 + (g - rows_expected) % 4);
    }
    tfd_lines_put_rows(&r, rows_to + at, from);
    tfd_lines_end();
    assert_memory_equal(rows_to, rows_expected, ROWS_ROOM);
}

/* Between two pages that nobody may touch, so that nothing beside the rows is
 * read; the rows end at the second, or begin behind the first. */
static void rows_with_gaps_are_put_anywhere(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *room = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(room != MAP_FAILED);
    if (!tfd_lines_has_rows())
        skip();
    for (size_t i = 0; i < page; i++)
        room[page + i] = (char)(i * 7 + i / 251);
    assert_int_equal(mprotect(room, page, PROT_NONE), 0);
    assert_int_equal(mprotect(room + 2 * page, page, PROT_NONE), 0);
    for (int64_t rows = 0; rows <= ROWS_MAX; rows++)
        for (int64_t size = TFD_LINES_ROW_MIN; size <= ROW_MAX; size += 13)
            for (int64_t gap = 0; gap <= GAP_MAX; gap += 7)
                for (int64_t at = LINE; at < 2 * LINE; at += 5) {
                    put_rows_and_compare(rows, size, gap, at, room + 2 * page);
                    put_rows_and_compare(rows, size, gap, at,
                                         room + page + rows * size);
                }
    assert_int_equal(munmap(room, 3 * page), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_put_anywhere),
        cmocka_unit_test(the_largest_block_fits),
        cmocka_unit_test(small_results_stay_in_the_caches),
        cmocka_unit_test(rows_with_gaps_are_put_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
