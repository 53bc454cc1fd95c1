/*
 * test_matrix_band.c - MatrixBandPart against a plain loop: every band of small
 * matrices, batches whose rows are shared among threads, widths of elements.
 */
#include "tests/support/kernel_rig.h"

#define TEXT_SIZE (1 << 16)

static char input[TEXT_SIZE], output[TEXT_SIZE];

struct plain {
    const char *type;
    int batch, rows, columns, lower, upper;
};

static bool inside(const struct plain *p, int row, int column)
{
    return (p->lower < 0 || row - column <= p->lower) &&
           (p->upper < 0 || column - row <= p->upper);
}

static void check(const struct plain *p)
{
    char lower[32], upper[32];
    const struct krig_case cases[] = {
        {"MatrixBandPart", "", {input, lower, upper}, {output}}};
    size_t in = (size_t)sprintf(input, "%s[%d,%d,%d]", p->type, p->batch,
                                p->rows, p->columns);
    size_t out = in;

    memcpy(output, input, in + 1);
    sprintf(lower, "int32[] %d", p->lower);
    sprintf(upper, "int32[] %d", p->upper);
    for (int i = 0; i < p->batch * p->rows * p->columns; i++) {
        int row = i / p->columns % p->rows, value = i % 100 + 1;

        in += (size_t)sprintf(input + in, " %d", value);
        out += (size_t)sprintf(output + out, " %d",
                               inside(p, row, i % p->columns) ? value : 0);
    }
    KRIG_CHECK(cases);
}

static void test_every_band(void **state)
{
    static const int sizes[] = {1, 2, 5, 7};

    (void)state;
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++)
            for (int lower = -1; lower <= sizes[r]; lower++)
                for (int upper = -1; upper <= sizes[c]; upper++)
                    check(&(struct plain){"float", 2, sizes[r], sizes[c], lower,
                                          upper});
}

static void test_types_and_empty(void **state)
{
    static const char *const types[] = {"uint8",  "half",  "int32",
                                        "double", "int64", "complex128"};

    (void)state;
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
        check(&(struct plain){types[t], 5, 9, 17, 2, 3});
    /* Bands that are a small part of their rows, and beside some of them. */
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        check(&(struct plain){types[t], 3, 9, 34, 2, 1});
        check(&(struct plain){types[t], 2, 70, 32, 0, 3});
        check(&(struct plain){types[t], 20, 11, 33, 1, 0});
    }
    check(&(struct plain){"float", 0, 3, 3, 1, 1});
    check(&(struct plain){"float", 3, 0, 3, 0, 1});
    check(&(struct plain){"float", 3, 3, 0, 1, 0});
    check(&(struct plain){"float", 40, 7, 33, 0, 0});
}

/* Larger than a last cache, in rows that begin anywhere in its lines. */
static void check_large(const struct plain *p, int mode)
{
    static const struct krig_case c = {.op = "MatrixBandPart", .attrs = ""};
    const double *y;

    sprintf(input, "%s[%d,%d,%d] 1 2 3 4 5 6 7", p->type, p->batch, p->rows,
            p->columns);
    krig.in_count = 3;
    krig.in[0] = krig_tensor(input);
    sprintf(input, "int32[] %d", p->lower);
    krig.in[1] = krig_tensor(input);
    sprintf(input, "int32[] %d", p->upper);
    krig.in[2] = krig_tensor(input);
    assert_int_equal(krig_run(&c, mode), TFD_OK);
    y = tfd_tensor_data(&krig.out[0]);
    for (int64_t i = 0; i < (int64_t)p->batch * p->rows * p->columns; i++) {
        const int row = (int)(i / p->columns % p->rows);
        const double want =
            inside(p, row, (int)(i % p->columns)) ? (double)(i % 7 + 1) : 0;

        if (y[i] != want)
            fail_msg("row %d, element %d: %g", row, (int)i, y[i]);
    }
    krig_end();
}

static void test_large_ones(void **state)
{
    (void)state;
    for (int mode = 0; mode <= KRIG_PIECES; mode++) {
        check_large(&(struct plain){"double", 2, 1300, 1009, 3, 1}, mode);
        check_large(&(struct plain){"double", 1, 700, 4001, -1, 0}, mode);
        check_large(&(struct plain){"double", 1, 700, 4001, 0, 2500}, mode);
    }
}

static void test_refusals(void **state)
{
    static const struct krig_case cases[] = {
        {"MatrixBandPart",
         "",
         {"float[2,3] 1", "int64[] 3", "int64[] 0"},
         {"!INVALID_ARGUMENT num_lower must be negative or less or equal to "
          "number of rows (2) got: 3"}},
        {"MatrixBandPart",
         "",
         {"float[2,3] 1", "int32[] 0", "int32[] 4"},
         {"!INVALID_ARGUMENT num_upper must be negative or less or equal to "
          "number of columns (3) got: 4"}},
        {"MatrixBandPart",
         "",
         {"float[3] 1", "int32[] 0", "int32[] 0"},
         {"!INVALID_ARGUMENT"}},
        {"MatrixBandPart",
         "",
         {"float[2,3] 1", "int32[2] 0", "int32[] 0"},
         {"!INVALID_ARGUMENT"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_band),
        cmocka_unit_test(test_types_and_empty),
        cmocka_unit_test(test_large_ones),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("matrix_band", tests, krig_setup,
                                       krig_teardown);
}
