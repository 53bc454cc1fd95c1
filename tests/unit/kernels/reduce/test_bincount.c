/*
 * test_bincount.c - bincount.c: lengths around those of vectors, and so many
 * that they are counted in parts, both types of values, values beyond the bins,
 * and a negative one wherever it stands.
 */
#include "tests/support/kernel_rig.h"

/* Bins 0 and 2 of four values, of which one has no bin. */
static void test_weights(void **state)
{
    static const char *const types[] = {"float", "double", "int32", "int64"};
    char x[40], w[60], out[60];
    const struct krig_case one = {"Bincount", "", {x, "int32[] 4", w}, {out}};

    (void)state;
    for (int t = 0; t < 4; t++)
        for (int n = 1; n < 70; n++) {
            snprintf(x, sizeof(x), "int32[%d] 0 2 5 2", n);
            snprintf(w, sizeof(w), "%s[%d] 1 2 3 4", types[t], n);
            snprintf(out, sizeof(out), "%s[4] %d 0 %d 0", types[t], (n + 3) / 4,
                     (n + 2) / 4 * 2 + n / 4 * 4);
            krig_check(&one);
        }
}

/* The same of many: parts that are alike, and a last one that is shorter. */
static void test_parts(void **state)
{
    static const char *const types[] = {"float", "double", "int32", "int64"};
    static const int lengths[] = {31999, 32000, 48001, 100007, 400003};
    char x[40], w[60], out[80];
    const struct krig_case one = {"Bincount", "", {x, "int32[] 4", w}, {out}};
    const struct krig_case wide = {
        "DenseBincount", "", {x, "int64[] 4", w}, {out}};

    (void)state;
    for (int t = 0; t < 4; t++)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
            const int n = lengths[i];

            snprintf(w, sizeof(w), "%s[%d] 1 2 3 4", types[t], n);
            snprintf(out, sizeof(out), "%s[4] %d 0 %d 0", types[t], (n + 3) / 4,
                     (n + 2) / 4 * 2 + n / 4 * 4);
            snprintf(x, sizeof(x), "int32[%d] 0 2 5 2", n);
            krig_check(&one);
            snprintf(x, sizeof(x), "int64[%d] 0 2 5 2", n);
            krig_check(&wide);
            snprintf(w, sizeof(w), "%s[0]", types[t]);
            snprintf(out, sizeof(out), "%s[4] %d 0 %d 0", types[t], (n + 3) / 4,
                     (n + 2) / 4 + n / 4);
            krig_check(&wide);
        }
}

static void test_rows(void **state)
{
    static const struct krig_case cases[] = {
        {"DenseBincount",
         "",
         {"int64[2,3] 0 2 2 9 1 1", "int64[] 3", "int32[0]"},
         {"int32[2,3] 1 0 2 0 2 0"}},
        {"DenseBincount",
         "binary_output=true",
         {"int64[2,3] 0 2 2 9 1 1", "int64[] 3", "float[0]"},
         {"float[2,3] 1 0 1 0 1 0"}},
        {"DenseBincount",
         "",
         {"int32[2,2] 0 1 1 1", "int32[] 2", "double[2,2] 1 2 3 4"},
         {"double[2,2] 1 2 0 7"}},
        {"Bincount",
         "",
         {"int32[3] 1 1 1", "int32[] 2", "int32[3] 2147483647 1 0"},
         {"int32[2] 0 -2147483648"}},
        {"Bincount",
         "",
         {"int32[3] 1 1 1", "int32[] 0", "int32[0]"},
         {"int32[0]"}},
        {"Bincount", "", {"int32[0]", "int32[] 2", "float[0]"}, {"float[2] 0"}},
        {"Bincount",
         "",
         {"int32[50000] 3 2147483647", "int32[] 4", "double[0]"},
         {"double[4] 0 0 0 25000"}},
        {"Bincount",
         "",
         {"int32[50000] 3 0 0 -2147483648", "int32[] 4", "double[0]"},
         {"!INVALID_ARGUMENT Input arr must be non-negative!"}},
        {"Bincount",
         "",
         {"int32[2] 3 -1", "int32[] 0", "double[0]"},
         {"!INVALID_ARGUMENT Input arr must be non-negative!"}},
        {"DenseBincount",
         "",
         {"int64[3,2] 1 1 1 -7 0 1", "int64[] 2", "int32[0]"},
         {"!INVALID_ARGUMENT Input 'in' must be non-negative! Negative input "
          "value found: -7"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void check_negative(const char *op, const char *type, int n, int at,
                           const char *expected)
{
    char x[400], size[20];
    int used = snprintf(x, sizeof(x), "%s[%d]", type, n);
    const struct krig_case one = {op, "", {x, size, "float[0]"}, {expected}};

    for (int i = 0; i < n; i++)
        used += snprintf(x + used, sizeof(x) - (size_t)used, " %d",
                         i == at ? -1 : i);
    snprintf(size, sizeof(size), "%s[] 4", type);
    krig_check(&one);
}

static void test_negative(void **state)
{
    (void)state;
    for (int at = 0; at < 67; at += 3) {
        check_negative("Bincount", "int32", 67, at,
                       "!INVALID_ARGUMENT Input arr must be non-negative!");
        check_negative("DenseBincount", "int64", 67, at,
                       "!INVALID_ARGUMENT Input arr must be non-negative!");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_negative),
    };

    return cmocka_run_group_tests_name("bincount", tests, krig_setup,
                                       krig_teardown);
}
