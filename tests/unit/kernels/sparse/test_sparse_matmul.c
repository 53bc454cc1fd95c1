/*
 * test_sparse_matmul.c - sparse_matmul.c: every number of columns around what a
 * thread takes, elements in any order and twice, adjoints, against a plain loop
 * over small integers.
 */
#include "tests/support/kernel_rig.h"

#define M 4
#define K 6
#define COLUMNS_MAX 130
#define B "-3 -2 -1 0 1 2 3" /* again and again */

/* Row, column and value of each element: one is there twice. */
static const int elements[][3] = {{2, 0, 3}, {0, 5, -1}, {3, 3, 2},
                                  {2, 0, 1}, {1, 4, 5},  {0, 0, -2}};

static int b_at(bool adjoint, int columns, int row, int column)
{
    return (adjoint ? column * K + row : row * columns + column) % 7 - 3;
}

static void check(const char *type, int columns, bool adjoint_a, bool adjoint_b)
{
    static char out[M * COLUMNS_MAX * 5 + 40];
    char attrs[60], indices[100], values[60], sizes[40], b[60];
    const struct krig_case c = {
        "SparseTensorDenseMatMul", attrs, {indices, values, sizes, b}, {out}};
    int sum[M][COLUMNS_MAX] = {{0}};
    size_t at = 0, value_at = 0, used;

    snprintf(attrs, sizeof(attrs), "adjoint_a=%s adjoint_b=%s",
             adjoint_a ? "true" : "false", adjoint_b ? "true" : "false");
    at = (size_t)snprintf(indices, sizeof(indices), "int64[6,2]");
    value_at = (size_t)snprintf(values, sizeof(values), "%s[6]", type);
    for (int i = 0; i < TFD_COUNT(elements); i++) {
        const int *e = elements[i];

        at += (size_t)snprintf(indices + at, sizeof(indices) - at, " %d %d",
                               e[adjoint_a], e[!adjoint_a]);
        value_at += (size_t)snprintf(values + value_at,
                                     sizeof(values) - value_at, " %d", e[2]);
        for (int j = 0; j < columns; j++)
            sum[e[0]][j] += e[2] * b_at(adjoint_b, columns, e[1], j);
    }
    snprintf(sizes, sizeof(sizes), "int64[2] %d %d", adjoint_a ? K : M,
             adjoint_a ? M : K);
    snprintf(b, sizeof(b), "%s[%d,%d] " B, type, adjoint_b ? columns : K,
             adjoint_b ? K : columns);
    used = (size_t)snprintf(out, sizeof(out), "%s[%d,%d]", type, M, columns);
    for (int i = 0; i < M * columns; i++)
        used += (size_t)snprintf(out + used, sizeof(out) - used, " %d",
                                 sum[i / columns][i % columns]);
    krig_check(&c);
}

static void test_every_number_of_columns(void **state)
{
    (void)state;
    for (int columns = 1; columns <= COLUMNS_MAX; columns++) {
        check("float", columns, false, false);
        check("double", columns, columns % 2, columns % 3 == 0);
    }
}

static void test_types_and_adjoints(void **state)
{
    static const char *const types[] = {"float", "double", "half", "bfloat16",
                                        "int32"};

    (void)state;
    for (int t = 0; t < TFD_COUNT(types); t++)
        for (int adjoints = 0; adjoints < 4; adjoints++) {
            check(types[t], 37, adjoints & 1, adjoints & 2);
            check(types[t], 5, adjoints & 1, adjoints & 2);
        }
}

static void test_refusals(void **state)
{
    static const struct krig_case cases[] = {
        {"SparseTensorDenseMatMul",
         "",
         {"int64[1,2] 0 3", "float[1] 1", "int64[2] 2 3", "float[3,2] 1"},
         {"!INVALID_ARGUMENT k (3) from index[0,1] out of bounds (>=3)"}},
        {"SparseTensorDenseMatMul",
         "",
         {"int64[2,2] 1 0 2 0", "float[2] 1", "int64[2] 2 3", "float[3,2] 1"},
         {"!INVALID_ARGUMENT m (2) from index[1,0] out of bounds (>=2)"}},
        {"SparseTensorDenseMatMul",
         "",
         {"int64[1,2] -1 0", "float[1] 1", "int64[2] 2 3", "float[3,2] 1"},
         {"!INVALID_ARGUMENT m (-1) from index[0,0] out of bounds (>=2)"}},
        {"SparseTensorDenseMatMul",
         "",
         {"int64[1,2] 0 0", "float[1] 1", "int64[2] 2 4", "float[3,2] 1"},
         {"!INVALID_ARGUMENT inner dimension does not match: 4 vs. 3."}},
        {"SparseTensorDenseMatMul",
         "",
         {"int64[1,2] 0 0", "float[2] 1", "int64[2] 2 3", "float[3,2] 1"},
         {"!INVALID_ARGUMENT Number of rows of a_indices does not match"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_number_of_columns),
        cmocka_unit_test(test_types_and_adjoints),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("sparse_matmul", tests, krig_setup,
                                       krig_teardown);
}
