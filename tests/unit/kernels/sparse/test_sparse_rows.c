/*
 * test_sparse_rows.c - sparse_rows.c and sparse_order.c: orders of every kind
 * and length beside a plain sort, rows that are empty, indices that are bad.
 */
#include "kernels/sparse/sparse_order.h"
#include "tests/support/kernel_rig.h"

#include <stdlib.h>

static void test_reorder(void **state)
{
    static const struct krig_case cases[] = {
        {"SparseReorder",
         "",
         {"int64[3,2] 1 2 0 1 1 0", "float[3] 1 2 3", "int64[2] 2 3"},
         {"int64[3,2] 0 1 1 0 1 2", "float[3] 2 3 1"}},
        /* in order already, equal ones too */
        {"SparseReorder",
         "",
         {"int64[3,2] 0 1 0 1 1 0", "string[3] a b c", "int64[2] 2 3"},
         {"int64[3,2] 0 1 0 1 1 0", "string[3] a b c"}},
        /* equal ones stay in their order */
        {"SparseReorder",
         "",
         {"int64[4,1] 3 0 3 0", "string[4] a b c d", "int64[1] 4"},
         {"int64[4,1] 0 0 3 3", "string[4] b d a c"}},
        /* outside of the dimensions, by indices alone */
        {"SparseReorder",
         "",
         {"int64[3,2] 9 9 -1 5 0 7", "int32[3] 1 2 3", "int64[2] 2 3"},
         {"int64[3,2] -1 5 0 7 9 9", "int32[3] 2 3 1"}},
        /* more places than an int64 counts */
        {"SparseReorder",
         "",
         {"int64[2,3] 7 0 0 6 9 9", "half[2] 1 2",
          "int64[3] 4000000000 4000000000 4000000000"},
         {"int64[2,3] 6 9 9 7 0 0", "half[2] 2 1"}},
        {"SparseReorder",
         "",
         {"int64[0,2]", "float[0]", "int64[2] 2 3"},
         {"int64[0,2]", "float[0]"}},
        {"SparseReorder",
         "",
         {"int64[2,2] 1 1 0 0", "float[3] 1", "int64[2] 2 3"},
         {"!INVALID_ARGUMENT Number of elements in indices (2) and values "
          "(3)"}},
        {"SparseReorder",
         "",
         {"int64[2,2] 1 1 0 0", "float[2] 1", "int64[3] 2 3 4"},
         {"!INVALID_ARGUMENT Index rank (2) and shape rank (3)"}},
        {"SparseReorder",
         "",
         {"int64[2,2] 1 1 0 0", "float[2] 1", "int64[2] 2 -3"},
         {"!INVALID_ARGUMENT non-negative, got -3"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_fill_empty_rows(void **state)
{
    static const struct krig_case cases[] = {
        /* full and in order */
        {"SparseFillEmptyRows",
         "",
         {"int64[3,2] 0 1 0 2 1 0", "float[3] 1 2 3", "int64[2] 2 3",
          "float[] 9"},
         {"int64[3,2] 0 1 0 2 1 0", "float[3] 1 2 3", "bool[2] 0 0",
          "int64[3] 0 1 2"}},
        /* full and out of order: elements of a row stay in theirs */
        {"SparseFillEmptyRows",
         "",
         {"int64[3,2] 1 0 0 2 0 1", "string[3] a b c", "int64[2] 2 3",
          "string[] z"},
         {"int64[3,2] 0 2 0 1 1 0", "string[3] b c a", "bool[2] 0 0",
          "int64[3] 2 0 1"}},
        {"SparseFillEmptyRows",
         "",
         {"int64[2,2] 1 1 3 0", "double[2] 1 2", "int64[2] 5 2", "double[] 9"},
         {"int64[5,2] 0 0 1 1 2 0 3 0 4 0", "double[5] 9 1 9 2 9",
          "bool[5] 1 0 1 0 1", "int64[2] 1 3"}},
        {"SparseFillEmptyRows",
         "",
         {"int64[3,1] 2 0 2", "string[3] a b c", "int64[1] 4", "string[] z"},
         {"int64[5,1] 0 1 2 2 3", "string[5] b z a c z", "bool[4] 0 1 0 1",
          "int64[3] 2 0 3"}},
        {"SparseFillEmptyRows",
         "",
         {"int64[3,3] 2 1 4 2 2 5 4 3 6", "float[3] 1 2 3", "int64[3] 6 7 7",
          "float[] 9"},
         {"int64[7,3] 0 0 0 1 0 0 2 1 4 2 2 5 3 0 0 4 3 6 5 0 0",
          "float[7] 9 9 1 2 9 3 9", "bool[6] 1 1 0 1 0 1", "int64[3] 2 3 5"}},
        /* more of a row than are looked at together */
        {"SparseFillEmptyRows",
         "",
         {"int64[12,1] 1 1 1 1 1 1 1 1 1 1 2 4",
          "float[12] 1 2 3 4 5 6 7 8 9 10 11 12", "int64[1] 5", "float[] 0"},
         {"int64[14,1] 0 1 1 1 1 1 1 1 1 1 1 2 3 4",
          "float[14] 0 1 2 3 4 5 6 7 8 9 10 11 0 12", "bool[5] 1 0 0 1 0",
          "int64[12] 1 2 3 4 5 6 7 8 9 10 11 13"}},
        {"SparseFillEmptyRows",
         "",
         {"int64[0,2]", "float[0]", "int64[2] 0 3", "float[] 9"},
         {"int64[0,2]", "float[0]", "bool[0]", "int64[0]"}},
        {"SparseFillEmptyRows",
         "",
         {"int64[0,2]", "float[0]", "int64[2] 2 3", "float[] 9"},
         {"int64[2,2] 0 0 1 0", "float[2] 9", "bool[2] 1", "int64[0]"}},
        {"SparseFillEmptyRows",
         "",
         {"int64[2,2] 0 0 2 0", "float[2] 1", "int64[2] 2 3", "float[] 9"},
         {"!INVALID_ARGUMENT indices(1, 0) is invalid: 2 >= 2"}},
        {"SparseFillEmptyRows",
         "",
         {"int64[3,2] 1 0 1 1 -1 0", "float[3] 1", "int64[2] 2 3", "float[] 9"},
         {"!INVALID_ARGUMENT indices(2, 0) is invalid: -1 >= 2"}},
        {"SparseFillEmptyRows",
         "",
         {"int64[1,2] 0 0", "float[1] 1", "int64[2] 0 3", "float[] 9"},
         {"!INVALID_ARGUMENT dense_shape[0] = 0"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_fill_empty_rows_gradient(void **state)
{
    static const struct krig_case cases[] = {
        {"SparseFillEmptyRowsGrad",
         "",
         {"int64[3] 3 0 2", "float[5] 1 2 4 8 16"},
         {"float[3] 8 1 4", "float[] 18"}},
        {"SparseFillEmptyRowsGrad",
         "",
         {"int64[2] 0 3", "float[3] 1 2 4"},
         {"!INVALID_ARGUMENT [0, 3) but got 3"}},
        {"SparseFillEmptyRowsGrad",
         "",
         {"int64[2] -1 0", "float[3] 1 2 4"},
         {"!INVALID_ARGUMENT [0, 3) but got -1"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

/* ---- Many indices -------------------------------------------------------- */

#define RANK_MAX 3

static uint32_t next(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 8;
}

/* The sort that nobody doubts: each goes before the first that is after it. */
static void sort_plainly(const struct tfd_sparse *s, int64_t *order)
{
    for (int64_t i = 0; i < s->count; i++) {
        int64_t at = i;

        while (at > 0 &&
               tfd_sparse_compare(s->index + order[at - 1] * s->rank,
                                  s->index + i * s->rank, s->rank) > 0) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

static void check_order(int64_t count, int rank, int64_t dim, int64_t outside)
{
    const int64_t dims[RANK_MAX] = {dim, dim, dim};
    int64_t *index = calloc((size_t)(count * rank) + 1, sizeof(*index)),
            *expected = calloc((size_t)count + 1, sizeof(*expected)),
            *order = calloc((size_t)count + 1, sizeof(*order));
    struct tfd_sparse s = {
        .index = index, .dim = dims, .count = count, .rank = rank};
    struct tfd_status st = TFD_STATUS_INIT;
    uint32_t random = (uint32_t)(count * 7 + rank);

    assert_true(index && expected && order);
    for (int64_t i = 0; i < count * rank; i++)
        index[i] = (int64_t)next(&random) % (dim < 40 ? dim : 40);
    if (count)
        index[count / 2 * rank] += outside;
    sort_plainly(&s, expected);
    assert_int_equal(tfd_sparse_order(&s, order, &st), TFD_OK);
    assert_memory_equal(order, expected, (size_t)count * sizeof(*order));
    free(order);
    free(expected);
    free(index);
}

static void test_orders_of_all_lengths(void **state)
{
    static const int64_t counts[] = {0, 1,   2,   3,   7,    8,
                                     9, 511, 512, 513, 1024, 3001};
    static const struct {
        int64_t dim, outside;
    } forms[] = {{40, 0},    {3, 0},       {100000, 0},    {40, 100},
                 {40, -100}, {2000000, 0}, {4000000000, 0}};

    (void)state;
    for (size_t i = 0; i < TFD_COUNT(counts); i++)
        for (int rank = 1; rank <= RANK_MAX; rank++)
            for (size_t f = 0; f < TFD_COUNT(forms); f++)
                check_order(counts[i], rank, forms[f].dim, forms[f].outside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reorder),
        cmocka_unit_test(test_fill_empty_rows),
        cmocka_unit_test(test_fill_empty_rows_gradient),
        cmocka_unit_test(test_orders_of_all_lengths),
    };

    return cmocka_run_group_tests_name("sparse_rows", tests, krig_setup,
                                       krig_teardown);
}
