/*
 * test_unravel.c - unravel.c against division by whole numbers: lengths around
 * vectors and blocks, the ends of the types, rows that begin anywhere.
 */
#include "tests/support/kernel_rig.h"

#define TEXT_SIZE (1 << 20)
#define DIMS 3

static char input[TEXT_SIZE], sizes[256], output[TEXT_SIZE];

static void write_texts(const char *type, const int64_t *x, int n,
                        const int64_t *dims)
{
    size_t in = (size_t)sprintf(input, "%s[%d]", type, n),
           out = (size_t)sprintf(output, "%s[%d,%d]", type, DIMS, n);

    sprintf(sizes, "%s[%d] %lld %lld %lld", type, DIMS, (long long)dims[0],
            (long long)dims[1], (long long)dims[2]);
    for (int i = 0; i < n; i++)
        in += (size_t)sprintf(input + in, " %lld", (long long)x[i]);
    for (int d = 0; d < DIMS; d++)
        for (int i = 0; i < n; i++) {
            int64_t rest = x[i];

            for (int after = DIMS - 1; after > d; after--)
                rest /= dims[after];
            out += (size_t)sprintf(output + out, " %lld",
                                   (long long)(rest % dims[d]));
        }
}

static void check(const char *type, const int64_t *x, int n,
                  const int64_t *dims)
{
    const struct krig_case cases[] = {
        {"UnravelIndex", "", {input, sizes}, {output}}};

    write_texts(type, x, n, dims);
    KRIG_CHECK(cases);
}

static void test_lengths(void **state)
{
    static const int64_t dims[] = {7, 13, 97};
    static int64_t x[3100];

    (void)state;
    for (int i = 0; i < 3100; i++)
        x[i] = (int64_t)i * 2909 % (7 * 13 * 97) - (i % 5 == 0 ? 8000 : 0);
    for (int n = 1; n < 70; n++) {
        check("int32", x, n, dims);
        check("int64", x, n, dims);
    }
    for (int n = 1020; n < 1030; n++)
        check("int32", x, n, dims);
    check("int32", x, 3100, dims);
    check("int64", x, 3100, dims);
}

/* Quotients on either side of a whole number, by divisors of every size. */
static void test_edges(void **state)
{
    (void)state;
    for (int64_t dim = 1; dim < INT32_MAX / 3; dim = dim * 3 + 1) {
        const int64_t dims[] = {INT32_MAX / dim, 1, dim};
        const int64_t last = dims[0] * dim - 1;
        const int64_t x[] = {0,          -1,        1 - dim,  -dim,
                             -dim - 1,   last,      last - 1, dim - 1,
                             last - dim, INT32_MIN, -dim * 2, INT32_MIN + 1,
                             last / 2};

        check("int32", x, TFD_COUNT(x), dims);
        check("int64", x, TFD_COUNT(x), dims);
    }
}

static void test_wide(void **state)
{
    static const int64_t dims[] = {1 << 20, 1 << 21, 1 << 21};
    static const int64_t x[] = {
        INT64_C(1) << 61,       -(INT64_C(1) << 61), 5, -7,
        (INT64_C(1) << 62) - 1, INT64_MIN + 1};
    static const int64_t small[] = {3, 4, 5};
    static const int64_t below[] = {7, INT32_MIN - INT64_C(1), 59};

    (void)state;
    check("int64", x, TFD_COUNT(x), dims);
    check("int64", below, TFD_COUNT(below), small);
}

static void test_what_is_wrong(void **state)
{
    static const struct krig_case cases[] = {
        {"UnravelIndex", "", {"int32[] 23", "int32[2] 4 6"}, {"int32[2] 3 5"}},
        {"UnravelIndex",
         "",
         {"int32[3] 0 24 1", "int32[2] 4 6"},
         {"!INVALID_ARGUMENT index is out of bound"}},
        {"UnravelIndex",
         "",
         {"int64[1] 1099511627776", "int64[2] 1048576 1048576"},
         {"!INVALID_ARGUMENT index is out of bound"}},
        {"UnravelIndex",
         "",
         {"int32[1] 0", "int32[2] 65536 65536"},
         {"!INVALID_ARGUMENT causing integer overflow: (65536 65536)"}},
        {"UnravelIndex",
         "",
         {"int32[1] 0", "int32[2] 4 0"},
         {"!INVALID_ARGUMENT zero at index 1"}},
        {"UnravelIndex",
         "",
         {"int32[1] 0", "int32[2] -4 2"},
         {"!INVALID_ARGUMENT cannot be negative"}},
        {"UnravelIndex",
         "",
         {"int32[0]", "int32[2] 4 2"},
         {"!INVALID_ARGUMENT received empty tensor indices"}},
        {"UnravelIndex",
         "",
         {"int32[1,1] 0", "int32[2] 4 2"},
         {"!INVALID_ARGUMENT scalar or vector"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_what_is_wrong),
    };

    return cmocka_run_group_tests_name("unravel", tests, krig_setup,
                                       krig_teardown);
}
