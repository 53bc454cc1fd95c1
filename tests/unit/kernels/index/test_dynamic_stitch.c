/*
 * test_dynamic_stitch.c - DynamicStitch against a plain loop: lists in runs and
 * in none, rows of one element to many, rows that no index names, and rows that
 * several do.
 */
#include "tests/support/kernel_rig.h"

#define TEXT_SIZE (1 << 16)
#define LISTS 2
#define ROWS_MAX 64
#define INNER_MAX 40

static char index_text[LISTS][TEXT_SIZE], data_text[LISTS][TEXT_SIZE];
static char output[TEXT_SIZE];

struct list {
    int count, at[ROWS_MAX];
};

static int value_of(int list, int row, int column)
{
    return 1 + list * 1000 + row * 37 % 101 + column;
}

static void write_list(const char *type, int inner, const struct list *l, int m)
{
    size_t index = (size_t)sprintf(index_text[m], "int32[%d]", l->count);
    size_t data =
        (size_t)sprintf(data_text[m], "%s[%d,%d]", type, l->count, inner);

    for (int i = 0; i < l->count; i++) {
        index += (size_t)sprintf(index_text[m] + index, " %d", l->at[i]);
        for (int c = 0; c < inner; c++)
            data +=
                (size_t)sprintf(data_text[m] + data, " %d", value_of(m, i, c));
    }
}

static void check(const char *type, int inner, const struct list *lists)
{
    static const struct krig_case cases[] = {
        {"DynamicStitch",
         "N=2",
         {index_text[0], index_text[1], data_text[0], data_text[1]},
         {output}}};
    int merged[ROWS_MAX][INNER_MAX] = {{0}}, rows = 0;
    size_t out;

    for (int m = 0; m < LISTS; m++) {
        write_list(type, inner, &lists[m], m);
        for (int i = 0; i < lists[m].count; i++) {
            const int row = lists[m].at[i];

            rows = row < rows ? rows : row + 1;
            for (int c = 0; c < inner; c++)
                merged[row][c] = value_of(m, i, c);
        }
    }
    out = (size_t)sprintf(output, "%s[%d,%d]", type, rows, inner);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < inner; c++)
            out += (size_t)sprintf(output + out, " %d", merged[r][c]);
    KRIG_CHECK(cases);
}

static void test_lists(void **state)
{
    static const struct list cases[][LISTS] = {
        {{0}, {0}},
        {{1, {0}}, {0}},
        {{8, {0, 1, 2, 3, 4, 5, 6, 7}}, {0}},
        {{8, {0, 1, 2, 3, 8, 9, 10, 11}}, {4, {4, 5, 7, 6}}},
        /* Rows without an index: first, between, between runs. */
        {{4, {5, 6, 7, 8}}, {1, {2}}},
        {{9, {1, 2, 3, 4, 20, 21, 22, 23, 40}}, {4, {9, 10, 11, 12}}},
        /* Rows of several: of both lists, of one that rises and one that does
         * not. */
        {{8, {0, 1, 2, 3, 4, 5, 6, 7}}, {3, {6, 2, 2}}},
        {{3, {6, 2, 2}}, {8, {0, 1, 2, 3, 4, 5, 6, 7}}},
        {{8, {0, 1, 2, 3, 3, 4, 5, 6}}, {4, {0, 1, 2, 3}}},
        {{8, {4, 5, 6, 7, 0, 1, 2, 3}}, {8, {2, 3, 4, 5, 0, 1, 2, 3}}},
        {{5, {7, 5, 3, 1, 0}}, {3, {2, 4, 6}}},
    };
    static const int inners[] = {1, 2, 7, 8, 9, 33, INNER_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t n = 0; n < sizeof(inners) / sizeof(inners[0]); n++) {
            check("float", inners[n], cases[i]);
            check("double", inners[n], cases[i]);
            check("int32", inners[n], cases[i]);
        }
}

static void test_wrong_indices_are_refused(void **state)
{
    static const struct krig_case cases[] = {
        {"DynamicStitch",
         "N=1",
         {"int32[4] 0 1 2 -1", "float[4,9] 1"},
         {"!INVALID_ARGUMENT indices[3] is out of range"}},
        {"DynamicStitch",
         "N=1",
         {"int32[1] 2147483647", "float[1,9] 1"},
         {"!INVALID_ARGUMENT Expected a non-negative size"}},
        {"DynamicStitch",
         "N=1",
         {"int32[2] 0 1", "float[3,9] 1"},
         {"!INVALID_ARGUMENT does not start with indices[0].shape"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_wrong_indices_are_refused),
    };

    return cmocka_run_group_tests_name("dynamic_stitch", tests, krig_setup,
                                       krig_teardown);
}
