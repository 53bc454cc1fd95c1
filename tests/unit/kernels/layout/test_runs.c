/*
 * test_runs.c - tensors joined and cut along an axis (kernels/layout/runs.h):
 * parts of all widths, empty ones too, in few rows and in many, against one
 * byte at a time.
 */
#include "kernels/layout/runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PARTS_MAX 5

struct rig {
    struct tfd_kctx k;
    struct tfd_tensor part[PARTS_MAX], whole;
    int count;
    int64_t outer, row; /* bytes of a row of the whole */
};

static void make(struct tfd_tensor *t, int64_t rows, int64_t columns)
{
    struct tfd_status st = TFD_STATUS_INIT;
    const int64_t dim[] = {rows, columns};
    struct tfd_shape shape;

    assert_int_equal(tfd_shape_make(&shape, dim, 2, &st), TFD_OK);
    assert_int_equal(tfd_tensor_new(t, TFD_INT16, &shape, &st), TFD_OK);
}

static void fill(const struct tfd_tensor *t, int seed)
{
    unsigned char *at = tfd_tensor_data(t);

    for (int64_t i = 0; i < 2 * tfd_tensor_elements(t); i++)
        at[i] = (unsigned char)(i * 7 + (i >> 8) + seed);
}

static void begin(struct rig *r, const int64_t *width, int count, int64_t outer)
{
    int64_t all = 0;

    memset(r, 0, sizeof(*r));
    r->count = count;
    r->outer = outer;
    for (int i = 0; i < count; i++) {
        make(&r->part[i], outer, width[i]);
        all += width[i];
    }
    make(&r->whole, outer, all);
    r->row = 2 * all;
}

static void check_and_end(struct rig *r)
{
    const unsigned char *whole = tfd_tensor_data(&r->whole);

    for (int64_t o = 0; o < r->outer; o++)
        for (int i = 0; i < r->count; i++) {
            const int64_t run = 2 * r->part[i].shape.dim[1];

            if (run == 0)
                continue;
            assert_memory_equal(
                whole, (char *)tfd_tensor_data(&r->part[i]) + o * run, run);
            whole += run;
        }
    for (int i = 0; i < r->count; i++)
        tfd_tensor_unref(&r->part[i]);
    tfd_tensor_unref(&r->whole);
}

static void join(const int64_t *width, int count, int64_t outer)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct rig r;

    begin(&r, width, count, outer);
    for (int i = 0; i < count; i++)
        fill(&r.part[i], i);
    r.k.in = r.part;
    r.k.out = &r.whole;
    r.k.in_count = count;
    r.k.out_count = 1;
    assert_int_equal(tfd_runs_join(&r.k, count, outer, &st), TFD_OK);
    check_and_end(&r);
}

static void cut(const int64_t *width, int count, int64_t outer)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct rig r;

    begin(&r, width, count, outer);
    fill(&r.whole, 3);
    r.k.in = &r.whole;
    r.k.out = r.part;
    r.k.in_count = 1;
    r.k.out_count = count;
    assert_int_equal(tfd_runs_cut(&r.k, &r.whole, outer, &st), TFD_OK);
    check_and_end(&r);
}

static const int64_t widths[][PARTS_MAX] = {
    {1, 1, 1, 1, 1},
    {1, 2, 3, 4, 5},
    {0, 0, 7, 0, 0},
    {0, 1, 0, 16, 0},
    {31, 32, 33, 0, 1},
    {0, 0, 0, 0, 0},
    {129, 3, 64, 8, 500},
    /* Columns that have loops of their own, and what is nearly that. */
    {2, 2, 2, 2, 0},
    {4, 4, 4, 4, 4},
    {1, 3, 2, 2, 0},
};
static const int64_t rows[] = {0, 1, 2, 15, 16, 17, 100, 1000};

static void test_join(void **state)
{
    (void)state;
    for (int i = 0; i < (int)(sizeof(widths) / sizeof(widths[0])); i++)
        for (int j = 0; j < (int)(sizeof(rows) / sizeof(rows[0])); j++)
            for (int count = 1; count <= PARTS_MAX; count++)
                join(widths[i], count, rows[j]);
}

static void test_cut(void **state)
{
    (void)state;
    for (int i = 0; i < (int)(sizeof(widths) / sizeof(widths[0])); i++)
        for (int j = 0; j < (int)(sizeof(rows) / sizeof(rows[0])); j++)
            for (int count = 1; count <= PARTS_MAX; count++)
                cut(widths[i], count, rows[j]);
}

/* Rows that no cache holds. */
static void test_wide(void **state)
{
    static const int64_t wide[] = {100000, 1, 70001};

    (void)state;
    join(wide, 3, 1);
    join(wide, 3, 20);
    cut(wide, 3, 2);
    cut(wide, 3, 17);
}

/* More than the caches hold: long runs go to memory one by one, short ones by
 * blocks of whole rows. */
static void test_past_the_caches(void **state)
{
    static const int64_t longer[] = {3001, 0, 4099, 1, 1026};
    static const int64_t shorter[] = {100, 7, 0, 500, 33};

    (void)state;
    join(longer, 5, 1100);
    join(longer, 1, 4001);
    cut(longer, 5, 1100);
    cut(longer, 1, 4001);
    join(shorter, 5, 17001);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_past_the_caches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
