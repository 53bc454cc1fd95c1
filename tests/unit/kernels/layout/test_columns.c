/*
 * test_columns.c - narrow columns taken apart and joined
 * (kernels/layout/columns.h), in numbers of rows around those of its blocks, at
 * odd addresses, against one element at a time; nothing is written beside them.
 */
#include "kernels/layout/columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ROWS_MAX 150
#define AROUND 32 /* bytes before and after each place */
#define ROOM (ROWS_MAX * TFD_COLUMNS_MAX * 8 + 2 * AROUND)

static char whole[ROOM], expected_whole[ROOM];
static char part[TFD_COLUMNS_MAX][ROOM], expected_part[TFD_COLUMNS_MAX][ROOM];

static void fill(char *at, int seed)
{
    for (int i = 0; i < ROOM; i++)
        at[i] = (char)(i * 7 + i / 251 + seed);
}

/* Each place begins another number of bytes behind an address that is even. */
static struct tfd_columns columns_of(int count, int64_t size, int64_t rows,
                                     int odd)
{
    struct tfd_columns c = {.count = count,
                            .size = size,
                            .rows = rows,
                            .whole = whole + AROUND - odd};

    fill(whole, 0);
    memcpy(expected_whole, whole, ROOM);
    for (int i = 0; i < count; i++) {
        fill(part[i], 50 + i);
        memcpy(expected_part[i], part[i], ROOM);
        c.part[i] = part[i] + AROUND - odd * i % AROUND;
    }
    return c;
}

static void check(int count, int64_t size, int64_t rows, int odd, bool join)
{
    const struct tfd_columns c = columns_of(count, size, rows, odd);

    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < count; i++) {
            const ptrdiff_t in_part = c.part[i] - part[i] + r * size;
            const ptrdiff_t in_whole = c.whole - whole + (r * count + i) * size;

            if (join)
                memcpy(expected_whole + in_whole, part[i] + in_part,
                       (size_t)size);
            else
                memcpy(expected_part[i] + in_part, whole + in_whole,
                       (size_t)size);
        }
    if (join)
        tfd_columns_join(&c);
    else
        tfd_columns_part(&c);
    assert_memory_equal(whole, expected_whole, ROOM);
    for (int i = 0; i < count; i++)
        assert_memory_equal(part[i], expected_part[i], ROOM);
}

static void check_all(bool join)
{
    static const int odds[] = {0, 16, 1, 7};

    for (int count = 2; count <= TFD_COLUMNS_MAX; count *= 2)
        for (int64_t size = 1; size <= 8; size *= 2)
            for (int64_t rows = 0; rows < 70; rows++)
                check(count, size, rows, odds[rows % 4], join);
    for (int64_t size = 1; size <= 8; size *= 2)
        check(4, size, ROWS_MAX, 3, join);
}

static void columns_are_taken_apart(void **unused)
{
    (void)unused;
    check_all(false);
}

static void columns_are_joined(void **unused)
{
    (void)unused;
    check_all(true);
}

static void others_have_no_loops(void **unused)
{
    static const int counts[] = {-2, 0, 1, 3, 5, 6, 7, 9, 12, 16, 1 << 30};
    static const int64_t sizes[] = {-1, 0, 3, 5, 6, 7, 9, 12, 16, 1 << 30};

    (void)unused;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        assert_false(tfd_columns_have(counts[i], 4));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        assert_false(tfd_columns_have(4, sizes[i]));
    for (int count = 2; count <= TFD_COLUMNS_MAX; count *= 2)
        for (int64_t size = 1; size <= 8; size *= 2)
            assert_true(tfd_columns_have(count, size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_taken_apart),
        cmocka_unit_test(columns_are_joined),
        cmocka_unit_test(others_have_no_loops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
