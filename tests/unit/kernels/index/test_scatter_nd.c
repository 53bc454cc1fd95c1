/*
 * test_scatter_nd.c - tuples of indices as numbers of places, for each type of
 * index; scattering itself is shown by tests/conformance.
 */
#include "kernels/index/scatter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct tfd_shape shape = {3, {4, 5, 2}};

#define TUPLES 4
static int tuples[TUPLES][2] = {{0, 0}, {3, 4}, {1, 2}, {2, 0}};
static const int64_t places[TUPLES] = {0, 19, 7, 10};

/* Writes the numbers as indices of a type and reads the tuples back. */
static int64_t rows_of(enum tfd_dtype dtype, int (*tuple)[2], int64_t *rows)
{
    const struct tfd_shape list = {2, {TUPLES, 2}};
    struct tfd_tensor indices = TFD_TENSOR_INIT;
    struct tfd_status st = TFD_STATUS_INIT;
    size_t size = tfd_dtype_size(dtype);
    struct tfd_scatter_nd nd;
    int64_t bad;

    assert_int_equal(tfd_tensor_new(&indices, dtype, &list, &st), TFD_OK);
    for (size_t i = 0; i < 2 * TUPLES; i++) {
        int64_t number = tuple[i / 2][i % 2];

        memcpy((char *)tfd_tensor_data(&indices) + i * size, &number, size);
    }
    assert_int_equal(tfd_scatter_nd_make(&nd, &shape, &list, &st), TFD_OK);
    assert_int_equal(nd.count, TUPLES);
    assert_int_equal(nd.limit, 20);
    assert_int_equal(nd.inner, 2);
    bad = tfd_scatter_nd_rows(&nd, &shape, &indices, rows);
    tfd_tensor_unref(&indices);
    return bad;
}

static const enum tfd_dtype types[] = {TFD_INT16, TFD_UINT16, TFD_INT32,
                                       TFD_INT64};

static void tuples_name_places(void **unused)
{
    int64_t rows[TUPLES];

    (void)unused;
    for (int t = 0; t < TFD_COUNT(types); t++) {
        assert_int_equal(rows_of(types[t], tuples, rows), TUPLES);
        assert_memory_equal(rows, places, sizeof(places));
    }
}

static void tuples_outside_name_none(void **unused)
{
    static const int outside[][2] = {
        {4, 0}, {0, 5}, {-1, 0}, {0, -1}, {32767, 0}};
    int tuple[TUPLES][2];
    int64_t rows[TUPLES];

    (void)unused;
    for (int t = 0; t < TFD_COUNT(types); t++)
        for (int i = 0; i < TFD_COUNT(outside); i++) {
            memcpy(tuple, tuples, sizeof(tuple));
            memcpy(tuple[2], outside[i], sizeof(tuple[2]));
            assert_int_equal(rows_of(types[t], tuple, rows), 2);
            assert_int_equal(rows[2], -1);
            assert_int_equal(rows[3], places[3]);
        }
}

static void more_numbers_than_dimensions_are_refused(void **unused)
{
    static const struct tfd_shape lists[] = {
        {0, {0}}, {1, {4}}, {2, {1, 4}}, {2, {0, 9}}};
    struct tfd_scatter_nd nd;

    (void)unused;
    for (int i = 0; i < TFD_COUNT(lists); i++) {
        struct tfd_status st = TFD_STATUS_INIT;

        assert_int_equal(tfd_scatter_nd_make(&nd, &shape, &lists[i], &st),
                         TFD_INVALID_ARGUMENT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tuples_name_places),
        cmocka_unit_test(tuples_outside_name_none),
        cmocka_unit_test(more_numbers_than_dimensions_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
