/*
 * test_box.c - copies of boxes (kernels/layout/box.h): every arrangement that
 * has a loop of its own, in sizes around those of vectors and blocks, at odd
 * addresses, by one thread and by several, against one element at a time.
 */
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS */
#include "kernels/layout/box.h"

#include "common/thread/halt.h"
#include "common/thread/pool.h"
#include "kernels/layout/box_plan.h"
#include "kernels/layout/box_runs.h"
#include "kernels/layout/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define ROOM (1 << 25)
#define AROUND 64 /* bytes beside what is written, that must stay */

static unsigned char *there, *expected, *here;
static unsigned char *wall; /* ROOM bytes before it may be read, none behind */

/* Unlike kernels/core/kctx_parallel.c, cuts every range into pieces of a size.
 */
static int64_t piece;

static struct tfd_kctx one_thread;

void tfd_kctx_parallel_bytes(struct tfd_kctx *k, int64_t n, int bytes,
                             tfd_range_fn *fn, void *arg)
{
    (void)k;
    assert_true(bytes > 0);
    for (int64_t i = 0; i < n; i += piece)
        fn(arg, i, i + piece < n ? i + piece : n);
}

static int set_up(void **state)
{
    (void)state;
    there = malloc(ROOM);
    expected = malloc(ROOM);
    here = malloc(ROOM);
    wall = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (wall == MAP_FAILED || mprotect(wall + ROOM, ROOM, PROT_NONE))
        return 1;
    wall += ROOM;
    for (int i = 0; here && i < ROOM; i++)
        here[i] = (unsigned char)(i * 31 + (i >> 8));
    return !there || !expected || !here;
}

static int tear_down(void **state)
{
    (void)state;
    free(there);
    free(expected);
    free(here);
    return munmap(wall - ROOM, 2 * ROOM);
}

struct box {
    int rank;
    int64_t size, dim[6], to[6], from[6]; /* strides in elements */
};

static void copy_slowly(const struct box *b, unsigned char *to,
                        const unsigned char *from, int d)
{
    if (d == b->rank)
        memcpy(to, from, (size_t)b->size);
    for (int64_t i = 0; d < b->rank && i < b->dim[d]; i++)
        copy_slowly(b, to + i * b->to[d] * b->size,
                    from + i * b->from[d] * b->size, d + 1);
}

/* The lowest or highest place that a box reaches by these strides, in bytes. */
static int64_t reach(const struct box *b, const int64_t *stride, int sign)
{
    int64_t at = 0;

    for (int d = 0; d < b->rank; d++)
        if (stride[d] * sign > 0)
            at += (b->dim[d] - 1) * stride[d];
    return at * b->size;
}

static void check_at(const struct box *b, int offset, struct tfd_kctx *k)
{
    const int64_t to = AROUND + offset - reach(b, b->to, -1);
    const int64_t from = offset - reach(b, b->from, -1);
    const int64_t read = from + reach(b, b->from, 1) + b->size;
    const unsigned char *source = offset ? here : wall - read;
    const size_t used = (size_t)(to + reach(b, b->to, 1) + b->size) + AROUND;
    struct tfd_box box;

    assert_true(used <= ROOM && read <= ROOM);
    if (!offset)
        memcpy(wall - read, here, (size_t)read);
    memset(there, 0xee, used);
    memset(expected, 0xee, used);
    copy_slowly(b, expected + to, source + from, 0);
    tfd_box_init(&box, (size_t)b->size);
    for (int d = 0; d < b->rank; d++)
        tfd_box_add(&box, b->dim[d], b->to[d] * b->size, b->from[d] * b->size);
    tfd_box_copy(k, &box, there + to, source + from);
    assert_memory_equal(there, expected, used);
}

static const int64_t sizes[] = {1, 2, 4, 8, 16};

/* A box in every size, at the end of what may be read, aligned and not, on one
 * thread and shared. */
static void check(struct box b)
{
    static const int offsets[] = {0, 16, 3};
    struct tfd_kctx *k = &one_thread;

    for (int s = 0; s < 5; s++) {
        b.size = sizes[s];
        piece = 1 + s;
        check_at(&b, offsets[s % 3], s % 2 ? NULL : k);
        check_at(&b, offsets[(s + 2) % 3], s % 2 ? k : NULL);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    check((struct box){0, 0, {0}, {0}, {0}});
    check((struct box){1, 0, {0}, {1}, {1}});
    check((struct box){1, 0, {1}, {7}, {9}});
    check((struct box){3, 0, {4, 0, 5}, {20, 5, 1}, {20, 5, 1}});
    check((struct box){2, 0, {1, 1}, {3, 1}, {5, 1}});
}

static void test_runs(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 70; n++) {
        check((struct box){1, 0, {n}, {1}, {1}});
        check((struct box){2, 0, {5, n}, {n + 3, 1}, {n, 1}});
        check((struct box){2, 0, {3, n}, {n, 1}, {2 * n, 1}});
        check((struct box){3, 0, {2, 3, n}, {3 * n, n, 1}, {n, 2 * n, 1}});
    }
    for (int64_t n = 71; n <= 300; n++)
        check((struct box){2, 0, {3, n}, {n + 1, 1}, {n, 1}});
    /* By turns from several places, of 128 to 256 bytes and around. */
    for (int64_t n = 7; n <= 260; n++) {
        check((struct box){3, 0, {9, 2, n}, {2 * n, n, 1}, {n, 9 * n, 1}});
        check((struct box){3, 0, {9, 3, n}, {3 * n + 1, n, 1}, {n, 10 * n, 1}});
    }
    check((struct box){3, 0, {300, 2, 16}, {32, 16, 1}, {16, 4800, 1}});
    check((struct box){1, 0, {65537}, {1}, {1}});
    check((struct box){2, 0, {2, 30001}, {30002, 1}, {30001, 1}});
    check((struct box){2, 0, {9000, 3}, {5, 1}, {7, 1}});
}

/* [3,n] of every kind that is not a run. */
static void test_elements(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 70; n++) {
        check((struct box){2, 0, {3, n}, {n, 1}, {1, 0}});
        check((struct box){2, 0, {3, n}, {n, 1}, {2 * n, 2}});
        check((struct box){2, 0, {3, n}, {n, 1}, {n, -1}});
        check((struct box){2, 0, {3, n}, {n, 1}, {-n, -1}});
        check((struct box){2, 0, {3, n}, {n, 1}, {5 * n, 5}});
        check((struct box){2, 0, {n, 3}, {3, 1}, {7, 2}});
        check((struct box){2, 0, {3, n}, {3 * n, 3}, {n, 1}});
        check((struct box){2, 0, {n, 3}, {12, 4}, {6, 2}});
    }
    check((struct box){3, 0, {20, 4, 16}, {64, 16, 1}, {16, 0, 1}});
    check((struct box){4, 0, {3, 2, 5, 4}, {40, 20, 4, 1}, {20, 0, 4, 1}});
    check((struct box){1, 0, {40000}, {1}, {0}});
    check((struct box){1, 0, {30000}, {1}, {3}});
    check((struct box){1, 0, {40000}, {1}, {-1}});
}

/* Tiles: copies of rows, of elements, of both. */
static void test_copies(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 70; n++) {
        check((struct box){2, 0, {4, n}, {n, 1}, {0, 1}});
        check((struct box){2, 0, {n, 3}, {3, 1}, {0, 1}});
        check((struct box){2, 0, {n, 3}, {4, 1}, {2, 0}});
        check((struct box){3, 0, {3, 4, n}, {4 * n, n, 1}, {n, 0, 1}});
        check((struct box){3, 0, {3, n, 2}, {2 * n, 2, 1}, {n, 1, 0}});
        check((struct box){2, 0, {3, n}, {n + 1, 1}, {0, 0}});
        check((struct box){
            4, 0, {2, 3, 2, n}, {6 * n, 2 * n, n, 1}, {0, n, 0, 1}});
    }
}

static void test_transposes(void **state)
{
    static const int64_t n[] = {2,  3,  4,  5,  7,  8,  9,   15,  16,
                                17, 31, 33, 63, 64, 65, 128, 129, 200};

    (void)state;
    for (int i = 0; i < (int)(sizeof(n) / sizeof(n[0])); i++)
        for (int j = 0; j < (int)(sizeof(n) / sizeof(n[0])); j += 1 + i % 2) {
            const int64_t a = n[i], b = n[j];

            check((struct box){2, 0, {a, b}, {b, 1}, {1, a}});
            check((struct box){2, 0, {a, b}, {b + 1, 1}, {1, a + 2}});
        }
    for (int i = 0; i < 14; i++) {
        const int64_t a = n[i];

        check((struct box){3, 0, {3, a, 7}, {7 * a, 7, 1}, {7 * a, 1, a}});
        check((struct box){3, 0, {7, 5, a}, {5 * a, a, 1}, {1, 7, 35}});
        check((struct box){3, 0, {a, 3, 70}, {210, 70, 1}, {1, a, 3 * a}});
        check((struct box){3, 0, {a, 9, 3}, {27, 3, 1}, {3, 3 * a, 1}});
        check((struct box){3, 0, {5, a, 9}, {1, 45, 5}, {9 * a, 9, 1}});
    }
}

/* More than the caches hold, which is asked for ahead and written past them. */
static void test_far_transposes(void **state)
{
    (void)state;
    piece = 3;
    for (int s = 0; s < 5; s++) {
        const int64_t n = (9 << 19) / sizes[s], a = n / 21, b = n / 448;
        const struct box boxes[] = {
            {2, sizes[s], {700, n / 700}, {n / 700, 1}, {1, 700}},
            {2, sizes[s], {3, n / 3}, {n / 3 + 1, 1}, {1, 3}},
            {2, sizes[s], {701, n / 701}, {n / 701 + 3, 1}, {1, 704}},
            {3, sizes[s], {7, 3, a}, {3 * a, a, 1}, {1, 7, 21}},
            {3, sizes[s], {3, 7, a}, {7 * a, a, 1}, {1, 3, 21}},
            {3, sizes[s], {b, 64, 7}, {448, 7, 1}, {448, 1, 64}},
        };

        for (int i = 0; i < 6; i++) {
            check_at(&boxes[i], 0, NULL);
            check_at(&boxes[i], 16, &one_thread);
        }
    }
}

/* So much more that it is written past the caches wherever rows begin, in parts
 * that follow each other along a row. */
static void test_far_parts(void **state)
{
    static const int offsets[] = {0, 16, 8, 3};

    (void)state;
    piece = 7;
    for (int s = 0; s < 5; s++) {
        const int64_t n = (21 << 19) / sizes[s], a = n / 64 | 1, b = n / 701;
        const struct box boxes[] = {
            {2, sizes[s], {64, a}, {a, 1}, {1, 64}},
            {2, sizes[s], {a, 67}, {67, 1}, {1, a}},
            {2, sizes[s], {b, 701}, {704, 1}, {1, b + 1}},
            {3, sizes[s], {3, b / 3, 701}, {1, 2103, 3}, {b * 234, 1, b / 3}},
            {3, sizes[s], {b / 7, 701, 7}, {4907, 7, 1}, {4907, 1, 701}},
            {3, sizes[s], {7, b, 101}, {101 * b, 101, 1}, {1, 7, 7 * b}},
        };

        for (int i = 0; i < 6; i++) {
            check_at(&boxes[i], offsets[(i + s) % 4], NULL);
            check_at(&boxes[i], offsets[(i + s + 1) % 4], &one_thread);
        }
    }
}

/* The order of rows, or of what is in each, turned round; from memory. */
static void test_far_reverses(void **state)
{
    (void)state;
    piece = 3;
    for (int s = 0; s < 5; s++) {
        const int64_t n = (25 << 19) / sizes[s], a = n / 64, b = n / 7 / 37;
        const struct box boxes[] = {
            {2, sizes[s], {a, 64}, {64, 1}, {-64, 1}},
            {2, sizes[s], {a, 64}, {64, 1}, {64, -1}},
            {2, sizes[s], {a, 64}, {64, 1}, {-64, -1}},
            {3, sizes[s], {b, 7, 37}, {259, 37, 1}, {259, -37, 1}},
            {3, sizes[s], {b, 7, 37}, {259, 37, 1}, {-259, 37, -1}},
        };

        for (int i = 0; i < 5; i++) {
            check_at(&boxes[i], 0, NULL);
            check_at(&boxes[i], 16, &one_thread);
        }
    }
}

/* Runs that lie apart where they are read, from memory; written as whole lines
 * or not, one behind the other or with gaps. */
static void test_far_runs(void **state)
{
    static const int64_t runs[] = {256, 512, 528, 4096};
    const int to_line = (int)(-((uintptr_t)there + AROUND) % 64);

    (void)state;
    piece = 3;
    for (int s = 2; s < 5; s++)
        for (int r = 0; r < TFD_COUNT(runs); r++) {
            const int64_t run = runs[r] / sizes[s], line = 64 / sizes[s];
            const int64_t n = (11 << 20) / runs[r] / 8;
            const struct box boxes[] = {
                {3,
                 sizes[s],
                 {8, n, run},
                 {n * run, run, 1},
                 {run, 8 * run, 1}},
                {3,
                 sizes[s],
                 {n, 8, run},
                 {8 * run + line, run, 1},
                 {run, n * run, 1}},
                {2, sizes[s], {8 * n, run}, {run + line, 1}, {run + 1, 1}},
                {2, sizes[s], {8 * n, run}, {run, 1}, {-run - 1, 1}},
            };

            for (int i = 0; i < 4; i++) {
                check_at(&boxes[i], to_line, NULL);
                check_at(&boxes[i], i % 2 ? 8 : 16, &one_thread);
            }
        }
}

/* Never more is asked for ahead than a nest has, and nothing of short rows. */
static void test_asked_ahead(void **state)
{
    static const int64_t rows[] = {2, 3, 16, 17, 64, 1000, 100000};

    (void)state;
    for (int s = 0; s < 5; s++)
        for (int r = 0; r < TFD_COUNT(rows); r++) {
            const int64_t row = (25 << 20) / rows[r] / sizes[s] * sizes[s];
            struct tfd_box_plan p;
            struct tfd_box box;

            for (int turned = 1; turned < 4; turned++) {
                tfd_box_init(&box, (size_t)sizes[s]);
                tfd_box_add(&box, rows[r], row, turned & 1 ? -row : row);
                tfd_box_add(&box, row / sizes[s], sizes[s],
                            turned & 2 ? -sizes[s] : sizes[s]);
                tfd_box_plan_make(&p, &box, there, here, 1);
                assert_true(p.asked <= (row < 320 ? 0 : 1 << 16));
            }
        }
}

/* Rows that go past the caches, whose lines are whole: of one thread, and of
 * several, whose limit is further up. */
static void test_past_the_caches(void **state)
{
    static const struct {
        int64_t rows, row, from;
        bool one, several;
    } cases[] = {
        {62500, 256, -256, true, false},
        {125000, 256, -256, true, true},
        {125000, 192, -192, false, false},
        {62500, 320, -320, true, false},
        {62500, 264, -264, false, false},
        {62500, 256, 512, false, false}, /* as a processor foresees it */
        {62500, 256, 1024, true, false},
        {50000, 512, 768, true, true},
        {1000, 512, 768, false, false},
        {62500, 256, 256, false, false}, /* one long copy */
    };
    char *const at = (char *)((uintptr_t)there / 64 * 64 + 64);
    const bool ever = tfd_lines_worth(INT32_MAX, INT32_MAX);

    (void)state;
    for (int i = 0; i < TFD_COUNT(cases); i++)
        for (int threads = 1; threads < 4; threads++) {
            struct tfd_box_plan p;
            struct tfd_box box;

            tfd_box_init(&box, 4);
            tfd_box_add(&box, cases[i].rows, cases[i].row, cases[i].from);
            tfd_box_add(&box, cases[i].row / 4, 4, 4);
            tfd_box_plan_make(&p, &box, at, here, threads);
            assert_int_equal(p.nest.far, ever && (threads > 1 ? cases[i].several
                                                              : cases[i].one));
        }
}

/* Runs that are written one behind the other, and read from two places by
 * turns, with bytes on both sides that stay. */
static void test_joined_runs_past_the_caches(void **state)
{
    const int aligned = 64 - (int)((uintptr_t)there % 64);

    (void)state;
    piece = 7;
    for (int64_t run = 32; run <= 64; run += 8) {
        const int64_t rows = (11 << 20) / 8 / run;
        const struct box b = {
            3, 4, {rows, 2, run}, {2 * run, run, 1}, {run, rows * run, 1}};
        struct tfd_box_plan p;
        struct tfd_box box;

        tfd_box_init(&box, 4);
        for (int d = 0; d < 3; d++)
            tfd_box_add(&box, b.dim[d], 4 * b.to[d], 4 * b.from[d]);
        tfd_box_plan_make(&p, &box, there + aligned, here, 1);
        if (tfd_box_runs_of(4 * run)) {
            assert_int_equal(p.nest.runs, 2);
            assert_int_equal(p.nest.far, run % 16 == 0);
        }
        check_at(&b, aligned, &one_thread);
        check_at(&b, 3, &one_thread);
    }
}

/* Whoever is told to stop writes nothing more. */
static void test_halted(void **state)
{
    const int stop = 1;
    struct tfd_box box;

    (void)state;
    memset(there, 0xee, ROOM);
    memset(expected, 0xee, ROOM);
    tfd_box_init(&box, 4);
    tfd_box_add(&box, 100, 400, 4);
    tfd_box_add(&box, 100, 4, 400);
    tfd_halt_at(&stop);
    tfd_box_copy(NULL, &box, there, here);
    tfd_halt_at(NULL);
    assert_memory_equal(there, expected, ROOM);
}

/* Matrices of few columns, and of few rows, some behind one another: around
 * the least that is turned by squares. */
static void test_few_columns(void **state)
{
    static const int64_t longs[] = {1,  2,  3,  4,  5,  7,  8,  9,   12, 13,
                                    16, 17, 18, 21, 24, 31, 33, 100, 500};

    (void)state;
    for (int64_t w = 1; w < 18; w++)
        for (int i = 0; i < (int)(sizeof(longs) / sizeof(longs[0])); i++) {
            const int64_t n = longs[i];

            check((struct box){2, 0, {w, n}, {n, 1}, {1, w}});
            check((struct box){2, 0, {n, w}, {w, 1}, {1, n}});
            check((struct box){3, 0, {3, w, n}, {w * n, n, 1}, {w * n, 1, w}});
            check((struct box){3, 0, {n, 3, w}, {w * 3, w, 1}, {1, w * n, n}});
            /* With gaps, and not behind one another. */
            check((struct box){2, 0, {w, n}, {n + 3, 1}, {1, w + 1}});
            check((struct box){2, 0, {n, w}, {w + 1, 1}, {1, n + 5}});
            check((struct box){3, 0, {n, 3, w}, {w, n * w, 1}, {1, w * n, n}});
            check((struct box){3, 0, {w, 2, n}, {2 * n, n, 1}, {1, w, 2 * w}});
        }
}

/* One row again and again, more than a near cache holds. */
static void test_repeated(void **state)
{
    struct tfd_kctx *k = &one_thread;

    (void)state;
    for (int s = 0; s < 5; s++)
        for (int64_t n = 37; n < 9000; n *= 9) {
            const int64_t rows = 4500000 / (n * sizes[s]) + 1;
            const struct box b = {2, sizes[s], {rows, n}, {n, 1}, {0, 1}};

            piece = 1 + 20 * s;
            check_at(&b, 0, NULL);
            check_at(&b, 3, k);
        }
    for (int s = 0; s < 5; s++) { /* and one element in each of them */
        const int64_t rows = (25 << 20) / (500 * sizes[s]) + 1;
        const struct box b = {2, sizes[s], {rows, 500}, {500, 1}, {1, 0}};

        piece = 100;
        check_at(&b, 0, NULL);
        check_at(&b, 3, k);
    }
}

/* Rows of count elements with gaps of copies of one between them. */
static void check_between(int64_t rows, int64_t count, int64_t gap,
                          int64_t size, int offset)
{
    const struct tfd_box_nest n = {.rows = rows,
                                   .row_to = (count + gap) * size,
                                   .row_from = count * size,
                                   .count = count};
    const size_t used = (size_t)(2 * AROUND + offset + rows * n.row_to);
    unsigned char *y = expected + AROUND + offset;
    const unsigned char *x = wall - rows * n.row_from;

    memcpy(wall - rows * n.row_from, here + 5, (size_t)(rows * n.row_from));
    memset(there, 0xee, used);
    memset(expected, 0xee, used);
    for (int64_t r = 0; r < rows; r++) {
        memcpy(y + r * n.row_to, x + r * n.row_from, (size_t)n.row_from);
        for (int64_t i = count; r + 1 < rows && i < count + gap; i++)
            memcpy(y + r * n.row_to + i * size, here + 77, (size_t)size);
    }
    tfd_box_run_between(&n, size, (char *)there + AROUND + offset,
                        (const char *)x, (const char *)here + 77);
    assert_memory_equal(there, expected, used);
}

static void test_between(void **state)
{
    (void)state;
    for (int s = 0; s < 5; s++)
        for (int64_t bytes = TFD_BOX_BETWEEN_MIN; bytes < 700;
             bytes += bytes < 300 ? sizes[s] : 16 * 7)
            for (int64_t gap = 0; gap < 48; gap += 1 + gap / 3)
                check_between(1 + gap % 4, bytes / sizes[s], gap, sizes[s],
                              (int)(gap + bytes) % 33);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_transposes),
        cmocka_unit_test(test_past_the_caches),
        cmocka_unit_test(test_joined_runs_past_the_caches),
        cmocka_unit_test(test_halted),
        cmocka_unit_test(test_few_columns),
        cmocka_unit_test(test_between),
        cmocka_unit_test(test_repeated),
        cmocka_unit_test(test_far_transposes),
        cmocka_unit_test(test_far_parts),
        cmocka_unit_test(test_far_reverses),
        cmocka_unit_test(test_far_runs),
        cmocka_unit_test(test_asked_ahead),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
