/*
 * test_invert_permutation.c - permutations of every length up to some, and what
 * is none: the first fault is the one that is told.
 */
#include "tests/support/kernel_rig.h"

#define MOST 300

static char input[MOST * 8 + 64], output[MOST * 8 + 64];

static void check(const char *type, int n, int step, int shift)
{
    const struct krig_case cases[] = {
        {"InvertPermutation", "", {input}, {output}}};
    size_t in = (size_t)sprintf(input, "%s[%d]", type, n);
    size_t out = (size_t)sprintf(output, "%s[%d]", type, n);
    int inverse[MOST];

    for (int i = 0; i < n; i++) {
        int at = (int)(((int64_t)i * step + shift) % n);

        in += (size_t)sprintf(input + in, " %d", at);
        inverse[at] = i;
    }
    for (int i = 0; i < n; i++)
        out += (size_t)sprintf(output + out, " %d", inverse[i]);
    KRIG_CHECK(cases);
}

static void test_lengths(void **state)
{
    (void)state;
    for (int n = 0; n < MOST; n++) {
        check("int32", n, 1, 0);
        check("int32", n, 1, n / 3);
        check("int32", n, n % 7 ? 7 : 1, 2);
        check("int64", n, n % 7 ? 7 : 1, 0);
        check("int64", n, 1, n / 2);
    }
}

/* Numbers that count upwards, but for `bad` at place `at`. */
static void check_fault(int at, int bad, const char *message)
{
    const struct krig_case cases[] = {
        {"InvertPermutation", "", {input}, {message}}};
    size_t in = (size_t)sprintf(input, "int32[40]");

    for (int i = 0; i < 40; i++)
        in += (size_t)sprintf(input + in, " %d", i >= at ? i + bad : i);
    KRIG_CHECK(cases);
}

static void test_what_counts_upwards_but_is_no_permutation(void **state)
{
    (void)state;
    for (int at = 1; at < 40; at++) {
        char message[100];

        sprintf(message, "!INVALID_ARGUMENT %d is duplicated in the input.",
                at - 1);
        check_fault(at, -1, message);
        check_fault(at, 1, "!INVALID_ARGUMENT 40 is not between 0 and 40");
        sprintf(message, "!INVALID_ARGUMENT %d is not between 0 and 40",
                INT32_MAX - 39 + at);
        check_fault(at, INT32_MAX - 39, message);
    }
}

static void test_what_is_no_permutation(void **state)
{
    static const struct krig_case cases[] = {
        {"InvertPermutation",
         "",
         {"int32[4] 0 1 1 7"},
         {"!INVALID_ARGUMENT 1 is duplicated in the input."}},
        {"InvertPermutation",
         "",
         {"int32[4] 0 7 1 1"},
         {"!INVALID_ARGUMENT 7 is not between 0 and 4"}},
        {"InvertPermutation",
         "",
         {"int64[3] 0 -1 2"},
         {"!INVALID_ARGUMENT -1 is not between 0 and 3"}},
        {"InvertPermutation",
         "",
         {"int64[1] 1"},
         {"!INVALID_ARGUMENT 1 is not between 0 and 1"}},
        {"InvertPermutation",
         "",
         {"int32[6] 5 4 3 2 5 0"},
         {"!INVALID_ARGUMENT 5 is duplicated in the input."}},
        {"InvertPermutation",
         "",
         {"int32[1,1] 0"},
         {"!INVALID_ARGUMENT invert_permutation expects a 1D vector."}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_what_counts_upwards_but_is_no_permutation),
        cmocka_unit_test(test_what_is_no_permutation),
    };

    return cmocka_run_group_tests_name("invert_permutation", tests, krig_setup,
                                       krig_teardown);
}
