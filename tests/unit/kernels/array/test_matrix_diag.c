/*
 * test_matrix_diag.c - matrix_diag.c and its loops beside a plain loop: every
 * band of small matrices, one and several, each alignment and item size.
 */
#include "tests/support/kernel_rig.h"

#define SIDE 4
#define COUNT 3
#define VALUES_MAX (COUNT * SIDE * (2 * SIDE - 1))
#define PADDING 99

struct sizes {
    const char *type, *align;
    int count, rows, columns, lower, upper;
};

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int length_of(const struct sizes *s, int d)
{
    return least(s->rows + least(d, 0), s->columns - (d > 0 ? d : 0));
}

/* As if read from the matrices, which hold 0, 1, ...; *length: of a row. */
static int plain_part(const struct sizes *s, int *out, int *length)
{
    const int diagonals = s->upper - s->lower + 1;

    *length = 0;
    for (int d = s->lower; d <= s->upper; d++)
        if (*length < length_of(s, d))
            *length = length_of(s, d);
    for (int i = 0; i < s->count * diagonals * *length; i++) {
        const int matrix = i / *length / diagonals;
        const int d = s->upper - i / *length % diagonals;
        const bool left = (d >= 0 && strncmp(s->align, "LEFT_", 5) == 0) ||
                          (d <= 0 && strstr(s->align, "_LEFT"));
        const int at = i % *length - (left ? 0 : *length - length_of(s, d));
        const int row = at + (d < 0 ? -d : 0), column = at + (d > 0 ? d : 0);

        out[i] = at < 0 || at >= length_of(s, d)
                     ? PADDING
                     : (matrix * s->rows + row) * s->columns + column;
    }
    return s->count * diagonals * *length;
}

/* Values of a type, complex ones too. */
static void put(char *to, size_t room, const char *shape, const int *value,
                int count)
{
    size_t used = (size_t)snprintf(to, room, "%s", shape);

    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(to + used, room - used,
                                 strstr(shape, "complex") ? " %d,0" : " %d",
                                 value[i]);
    assert_true(used < room);
}

static void check_band(const struct sizes *s)
{
    static char x[1000], y[1000], ones[1000], set[1000];
    char attrs[40], bounds[40], padding[40], shape[40];
    int value[VALUES_MAX], one[VALUES_MAX], after[VALUES_MAX], length;
    const int all = s->count * s->rows * s->columns;
    const int n = plain_part(s, value, &length);
    const struct krig_case cases[] = {
        {"MatrixDiagPartV3", attrs, {x, bounds, padding}, {y}},
        {"MatrixSetDiagV3", attrs, {x, ones, bounds}, {set}},
    };

    snprintf(attrs, sizeof(attrs), "align=%s", s->align);
    snprintf(bounds, sizeof(bounds), "int32[2] %d %d", s->lower, s->upper);
    snprintf(padding, sizeof(padding),
             strstr(s->type, "complex") ? "%s[] %d,0" : "%s[] %d", s->type,
             PADDING);
    for (int i = 0; i < all; i++)
        after[i] = i;
    snprintf(shape, sizeof(shape), "%s[%d,%d,%d]", s->type, s->count, s->rows,
             s->columns);
    put(x, sizeof(x), shape, after, all);
    for (int i = 0; i < n; i++) {
        one[i] = 50 + i % 40;
        if (value[i] != PADDING)
            after[value[i]] = one[i];
    }
    put(set, sizeof(set), shape, after, all);
    if (s->lower == s->upper)
        snprintf(shape, sizeof(shape), "%s[%d,%d]", s->type, s->count, length);
    else
        snprintf(shape, sizeof(shape), "%s[%d,%d,%d]", s->type, s->count,
                 s->upper - s->lower + 1, length);
    put(y, sizeof(y), shape, value, n);
    put(ones, sizeof(ones), shape, one, n);
    krig_check(&cases[0]);
    krig_check(&cases[1]);
}

static void test_every_band(void **state)
{
    static const char *const types[] = {"int8", "int16", "float", "double",
                                        "complex128"};
    static const char *const aligns[] = {"LEFT_RIGHT", "RIGHT_LEFT",
                                         "LEFT_LEFT", "RIGHT_RIGHT"};
    int turn = 0;

    (void)state;
    for (int count = 1; count <= COUNT; count += 2)
        for (int rows = 1; rows <= SIDE; rows++)
            for (int columns = 1; columns <= SIDE; columns++)
                for (int lower = 1 - rows; lower < columns; lower++)
                    for (int upper = lower; upper < columns; upper++, turn++)
                        for (int a = 0; a < TFD_COUNT(aligns); a++)
                            check_band(&(struct sizes){
                                types[turn % TFD_COUNT(types)], aligns[a],
                                count, rows, columns, lower, upper});
}

static void test_refusals(void **state)
{
    static const struct krig_case cases[] = {
        {"MatrixDiagPartV3",
         "align=RIGHT_LEFT",
         {"float[2,2] 1", "int32[] 2", "float[] 0"},
         {"!INVALID_ARGUMENT lower_diag_index is out of bound: 2. It must be "
          "between -2 and 2"}},
        {"MatrixDiagPartV3",
         "align=RIGHT_LEFT",
         {"float[2,2] 1", "int32[2] 1 0", "float[] 0"},
         {"!INVALID_ARGUMENT lower_diag_index must not be larger than "
          "upper_diag_index: 1 > 0"}},
        {"MatrixSetDiagV3",
         "align=RIGHT_LEFT",
         {"float[2,3] 1", "float[3] 1", "int32[] 0"},
         {"!INVALID_ARGUMENT Expected diagonal shape: [2]"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_band),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("matrix_diag", tests, krig_setup,
                                       krig_teardown);
}
