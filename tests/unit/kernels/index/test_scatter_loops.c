/*
 * test_scatter_loops.c - tfd_scatter_move() beside a plain loop, with and
 * without threads: rows of all widths, places that come twice, none at all;
 * the last update wins, and what no index names stays as it was.  And sums of
 * updates, likewise, and what else joins halves.
 */
#include "common/base/half.h"
#include "common/thread/pool.h"
#include "daemon/worker/state/containers.h"
#include "kernels/index/scatter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 61
#define SIZE_MAX_TESTED 700
#define COUNT 30000 /* work for more than one thread at any width */

static int shared; /* loops that were shared */

/* Pieces of one, the last one first. */
void tfd_kctx_parallel(struct tfd_kctx *k, int64_t n, int cost,
                       tfd_range_fn *fn, void *arg)
{
    (void)k;
    assert_true(cost > 0);
    shared++;
    for (int64_t i = n - 1; i >= 0; i--)
        fn(arg, i, i + 1);
}

void tfd_kctx_parallel_bytes(struct tfd_kctx *k, int64_t n, int bytes,
                             tfd_range_fn *fn, void *arg)
{
    tfd_kctx_parallel(k, n, bytes, fn, arg);
}

static struct memory {
    char to[ROWS * SIZE_MAX_TESTED + 64], expected[ROWS * SIZE_MAX_TESTED + 64];
    char *by;
    int32_t narrow[COUNT];
    int64_t wide[COUNT];
} m;

/* A few places come often, most seldom, the first and the last among them. */
static void make_indices(int64_t limit)
{
    for (int64_t i = 0; i < COUNT; i++) {
        m.wide[i] = i % 3 ? i * i % limit : (i / 3) % limit;
        m.narrow[i] = (int32_t)m.wide[i];
    }
}

static void compare(struct tfd_kctx *k, size_t size, int64_t count,
                    int64_t limit, size_t shift, enum tfd_dtype type)
{
    const void *rows =
        type == TFD_INT64 ? (const void *)m.wide : (const void *)m.narrow;
    const struct tfd_scatter s = {.to = m.to + shift,
                                  .by = m.by,
                                  .count = count,
                                  .inner = 8 * (int64_t)size, /* much work */
                                  .limit = limit};

    memset(m.to, 0x5a, sizeof(m.to));
    memset(m.expected, 0x5a, sizeof(m.expected));
    for (int64_t i = 0; i < count; i++)
        memcpy(m.expected + shift + (size_t)m.wide[i] * size,
               m.by + (size_t)i * size, size);
    tfd_scatter_move(k, &s, size, rows, type);
    assert_memory_equal(m.to, m.expected, sizeof(m.to));
}

static const size_t sizes[] = {1,  2,  3,  4,  7,   8,   9,   16,  17,  31, 33,
                               63, 64, 65, 96, 127, 256, 511, 512, 513, 700};

static void compare_sizes(struct tfd_kctx *k, int64_t count, int64_t limit)
{
    make_indices(limit);
    for (int i = 0; i < TFD_COUNT(sizes); i++)
        for (size_t shift = 0; shift <= 16; shift += 16) {
            compare(k, sizes[i], count, limit, shift, TFD_INT32);
            compare(k, sizes[i], count, limit, shift + 3, TFD_INT64);
        }
}

static void one_thread_moves_all(void **unused)
{
    static const int64_t counts[] = {0, 1, 2, 3, 4, 5, 511, 512, 513};
    struct tfd_kctx k = {0};

    (void)unused;
    shared = 0;
    for (int c = 0; c < TFD_COUNT(counts); c++)
        compare_sizes(&k, counts[c], ROWS);
    compare_sizes(&k, 300, 1);
    assert_int_equal(shared, 0);
}

/* Two threads, and so many that short rows are shared too; as few places as
 * threads, and fewer. */
static void threads_move_what_is_theirs(void **unused)
{
    static const int threads[] = {2, 7};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_rt rt = {.pool = NULL};
    struct tfd_kctx k = {.rt = &rt};

    (void)unused;
    for (int t = 0; t < 2; t++) {
        rt.pool = tfd_pool_new(threads[t], &st);
        assert_non_null(rt.pool);
        shared = 0;
        compare_sizes(&k, COUNT, ROWS);
        assert_true(shared > 0);
        compare_sizes(&k, COUNT, 3);
        compare_sizes(&k, COUNT, 1);
        tfd_pool_free(rt.pool);
    }
}

static void nothing_is_moved_for_empty_rows(void **unused)
{
    struct tfd_kctx k = {0};

    (void)unused;
    make_indices(ROWS);
    compare(&k, 0, COUNT, ROWS, 0, TFD_INT32);
    compare(&k, 0, 0, 0, 0, TFD_INT64);
}

/* ---- Sums ---------------------------------------------------------------- */

#define SUMS 9000 /* updates, work for two threads at any width */
#define INNER 40

static float sums[ROWS * INNER], expected_sums[ROWS * INNER];
static float more[SUMS * INNER];

/* Every eighth update is left out. */
static void compare_sums(struct tfd_kctx *k, int64_t inner)
{
    struct tfd_scatter s = {.to = sums,
                            .by = more,
                            .rows = m.wide,
                            .count = SUMS,
                            .inner = inner,
                            .limit = ROWS};
    struct tfd_status st = TFD_STATUS_INIT;

    make_indices(ROWS);
    for (int64_t i = 0; i < SUMS; i += 8)
        m.wide[i] = -1;
    for (int64_t i = 0; i < SUMS * inner; i++)
        more[i] = (float)(i % 103) * 1.1f;
    memset(sums, 0, sizeof(sums));
    memset(expected_sums, 0, sizeof(expected_sums));
    for (int64_t i = 0; i < SUMS; i++)
        for (int64_t c = 0; m.wide[i] >= 0 && c < inner; c++)
            expected_sums[m.wide[i] * inner + c] += more[i * inner + c];
    assert_int_equal(tfd_scatter_run(k, TFD_SCATTER_ADD, TFD_FLOAT, &s, &st),
                     TFD_OK);
    assert_memory_equal(sums, expected_sums, sizeof(sums));
}

static void sums_have_the_order_of_updates(void **unused)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_rt rt = {.pool = tfd_pool_new(2, &st)};
    struct tfd_kctx alone = {0}, k = {.rt = &rt};

    (void)unused;
    assert_non_null(rt.pool);
    shared = 0;
    for (int64_t inner = 1; inner <= INNER; inner++) {
        compare_sums(&alone, inner);
        assert_int_equal(shared, 0);
    }
    for (int64_t inner = 1; inner <= INNER; inner++)
        compare_sums(&k, inner);
    assert_true(shared > 0);
    tfd_pool_free(rt.pool);
}

/* Where there are no places, all that is left out is left out. */
static void nothing_is_added_to_no_places(void **unused)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_rt rt = {.pool = tfd_pool_new(2, &st)};
    struct tfd_kctx k = {.rt = &rt};
    const struct tfd_scatter s = {
        .to = m.to, .by = m.by, .rows = m.wide, .count = COUNT, .inner = 32};

    (void)unused;
    assert_non_null(rt.pool);
    for (int i = 0; i < COUNT; i++)
        m.wide[i] = -1;
    assert_int_equal(tfd_scatter_run(&k, TFD_SCATTER_ADD, TFD_FLOAT, &s, &st),
                     TFD_OK);
    tfd_pool_free(rt.pool);
}

/* More rows than a cache holds are asked for ahead: around the number of those
 * updates, and with rows that are left out. */
static void rows_of_much_memory_are_asked_for(void **unused)
{
    static const int64_t counts[] = {0, 1, 15, 16, 17, 18, 1000};
    enum { PLACES = 300001 };
    float *to = calloc(PLACES * 3, sizeof(*to));
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx k = {0};

    (void)unused;
    assert_non_null(to);
    for (int64_t i = 0; i < SUMS; i++) {
        m.wide[i] = i % 7 == 3 ? INT64_MIN + i : (i * 7919 + i / 9) % PLACES;
    }
    for (int64_t i = 0; i < SUMS * INNER; i++)
        more[i] = 1;
    for (int c = 0; c < TFD_COUNT(counts); c++)
        for (int64_t inner = 1; inner <= 3; inner += 2) {
            const struct tfd_scatter s = {.to = to,
                                          .by = more,
                                          .rows = m.wide,
                                          .count = counts[c],
                                          .inner = inner,
                                          .limit = PLACES};

            assert_int_equal(
                tfd_scatter_run(&k, TFD_SCATTER_ADD, TFD_FLOAT, &s, &st),
                TFD_OK);
            for (int64_t i = 0; i < counts[c]; i++)
                for (int64_t n = 0; m.wide[i] >= 0 && n < inner; n++)
                    to[m.wide[i] * inner + n]--;
            for (int64_t i = 0; i < PLACES * inner; i++)
                assert_true(to[i] == 0);
        }
    free(to);
}

/* ---- Halves -------------------------------------------------------------- */

static tfd_half halves[ROWS * INNER + 64], expected_halves[ROWS * INNER + 64];

static float joined(enum tfd_scatter_function function, float a, float b)
{
    return function == TFD_SCATTER_ADD   ? a + b
           : function == TFD_SCATTER_SUB ? a - b
           : function == TFD_SCATTER_MUL ? a * b
                                         : a / b;
}

/* With all that halves have among them: m.by is of any bytes.  NaN is NaN. */
static void compare_halves(struct tfd_kctx *k,
                           enum tfd_scatter_function function, int64_t inner,
                           bool one, int odd)
{
    const tfd_half *by = (const tfd_half *)(const void *)m.by + odd;
    const struct tfd_scatter s = {.to = halves + odd,
                                  .by = by,
                                  .rows = m.wide,
                                  .count = 200,
                                  .inner = inner,
                                  .limit = ROWS,
                                  .one = one};
    struct tfd_status st = TFD_STATUS_INIT;

    for (size_t i = 0; i < TFD_COUNT(halves); i++)
        halves[i] = expected_halves[i] = (tfd_half)(i * 2531);
    for (int64_t i = 0; i < s.count; i++)
        for (int64_t c = 0; m.wide[i] >= 0 && c < inner; c++) {
            tfd_half *y = expected_halves + odd + m.wide[i] * inner + c;

            *y = tfd_half_from_float(
                joined(function, tfd_half_to_float(*y),
                       tfd_half_to_float(by[one ? 0 : i * inner + c])));
        }
    assert_int_equal(tfd_scatter_run(k, function, TFD_HALF, &s, &st), TFD_OK);
    for (size_t i = 0; i < TFD_COUNT(halves); i++)
        if ((halves[i] & 0x7fff) <= 0x7c00 ||
            (expected_halves[i] & 0x7fff) <= 0x7c00)
            assert_int_equal(halves[i], expected_halves[i]);
}

static void halves_are_joined_as_floats_and_rounded(void **unused)
{
    static const enum tfd_scatter_function functions[] = {
        TFD_SCATTER_ADD, TFD_SCATTER_SUB, TFD_SCATTER_MUL, TFD_SCATTER_DIV};
    struct tfd_kctx k = {0};

    (void)unused;
    make_indices(ROWS);
    for (int i = 0; i < 200; i += 9)
        m.wide[i] = -1;
    for (int f = 0; f < TFD_COUNT(functions); f++)
        for (int64_t inner = 0; inner <= INNER; inner++) {
            compare_halves(&k, functions[f], inner, inner % 5 == 0, 0);
            compare_halves(&k, functions[f], inner, false, 1);
        }
}

static void what_has_no_sum_is_refused(void **unused)
{
    struct tfd_scatter s = {.to = sums,
                            .by = more,
                            .rows = m.wide,
                            .count = 1,
                            .inner = 1,
                            .limit = ROWS};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx k = {0};

    (void)unused;
    assert_int_equal(tfd_scatter_run(&k, TFD_SCATTER_MIN, TFD_BOOL, &s, &st),
                     TFD_UNIMPLEMENTED);
}

static int make_updates(void **unused)
{
    const size_t size = (size_t)COUNT * SIZE_MAX_TESTED;

    (void)unused;
    m.by = malloc(size);
    for (size_t i = 0; m.by && i < size; i++)
        m.by[i] = (char)(i * 7 + i / 251);
    return m.by ? 0 : -1;
}

static int free_updates(void **unused)
{
    (void)unused;
    free(m.by);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_moves_all),
        cmocka_unit_test(threads_move_what_is_theirs),
        cmocka_unit_test(nothing_is_moved_for_empty_rows),
        cmocka_unit_test(sums_have_the_order_of_updates),
        cmocka_unit_test(nothing_is_added_to_no_places),
        cmocka_unit_test(rows_of_much_memory_are_asked_for),
        cmocka_unit_test(halves_are_joined_as_floats_and_rounded),
        cmocka_unit_test(what_has_no_sum_is_refused),
    };

    return cmocka_run_group_tests(tests, make_updates, free_updates);
}
