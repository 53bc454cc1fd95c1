/*
 * test_narrow_rows.c - a short row that meets every row of the other operand,
 * and a column whose elements meet a short row each
 * (kernels/core/elementwise.c), on either side, in widths from one element to
 * more than is repeated, against one element at a time.
 */
#include "kernels/core/elementwise.h"
#include "kernels/core/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void make(struct tfd_tensor *t, int64_t rows, int64_t columns, int seed)
{
    struct tfd_status st = TFD_STATUS_INIT;
    const int64_t dim[] = {rows, columns};
    struct tfd_shape shape;
    float *x;

    assert_int_equal(tfd_shape_make(&shape, dim, 2, &st), TFD_OK);
    assert_int_equal(tfd_tensor_new(t, TFD_FLOAT, &shape, &st), TFD_OK);
    x = tfd_tensor_data(t);
    for (int64_t i = 0; i < tfd_tensor_elements(t); i++)
        x[i] = (float)(i * seed % 1009);
}

static float element(const struct tfd_tensor *t, int64_t row, int64_t column)
{
    const float *x = tfd_tensor_data(t);

    row = t->shape.dim[0] == 1 ? 0 : row;
    column = t->shape.dim[1] == 1 ? 0 : column;
    return x[row * t->shape.dim[1] + column];
}

/* Shapes of the two operands of a subtraction, whose result may take the place
 * of one where nobody else holds it. */
static void check_held(int64_t a_rows, int64_t a_columns, int64_t b_rows,
                       int64_t b_columns, bool held)
{
    const struct tfd_elementwise e = {TFD_FLOAT, TFD_COST_MEMORY, NULL,
                                      tfd_registry_loop("Sub", TFD_FLOAT)};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_tensor in[2], was[2], out = TFD_TENSOR_INIT;
    struct tfd_kctx k = {.in = in, .in_count = 2, .out = &out, .out_count = 1};

    make(&in[0], a_rows, a_columns, 7);
    make(&in[1], b_rows, b_columns, 3);
    if (held) {
        was[0] = tfd_tensor_ref(&in[0]);
        was[1] = tfd_tensor_ref(&in[1]);
    } else {
        make(&was[0], a_rows, a_columns, 7);
        make(&was[1], b_rows, b_columns, 3);
    }
    assert_int_equal(tfd_elementwise_binary(&k, &e, &st), TFD_OK);
    for (int64_t r = 0; r < out.shape.dim[0]; r++)
        for (int64_t c = 0; c < out.shape.dim[1]; c++)
            if (element(&out, r, c) !=
                element(&was[0], r, c) - element(&was[1], r, c))
                fail_msg("[%lld,%lld] of [%lld,%lld] - [%lld,%lld]",
                         (long long)r, (long long)c, (long long)a_rows,
                         (long long)a_columns, (long long)b_rows,
                         (long long)b_columns);
    for (int i = 0; i < 2; i++) {
        tfd_tensor_unref(&in[i]);
        tfd_tensor_unref(&was[i]);
    }
    tfd_tensor_unref(&out);
}

static void check(int64_t a_rows, int64_t a_columns, int64_t b_rows,
                  int64_t b_columns)
{
    check_held(a_rows, a_columns, b_rows, b_columns, false);
    check_held(a_rows, a_columns, b_rows, b_columns, true);
}

static const int64_t widths[] = {1,  2,  3,  4,   5,   7,   8,   15,  16,  17,
                                 31, 33, 64, 100, 255, 256, 257, 300, 1025};
static const int64_t heights[] = {1, 2, 3, 5, 16, 17, 341, 342, 1000};

static void each(void (*of)(int64_t rows, int64_t columns))
{
    for (int i = 0; i < (int)(sizeof(widths) / sizeof(widths[0])); i++)
        for (int j = 0; j < (int)(sizeof(heights) / sizeof(heights[0])); j++)
            of(heights[j], widths[i]);
}

static void rows(int64_t m, int64_t n)
{
    check(m, n, 1, n);
    check(1, n, m, n);
}

static void columns(int64_t m, int64_t n)
{
    check(m, n, m, 1);
    check(m, 1, m, n);
}

static void both(int64_t m, int64_t n)
{
    check(m, 1, 1, n);
    check(1, n, m, 1);
}

static void test_rows(void **state)
{
    (void)state;
    each(rows);
}

static void test_columns(void **state)
{
    (void)state;
    each(columns);
}

static void test_both(void **state)
{
    (void)state;
    each(both);
}

static void test_nothing(void **state)
{
    (void)state;
    check(0, 3, 1, 3);
    check(5, 0, 1, 0);
    check(1, 0, 4, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_both),
        cmocka_unit_test(test_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
