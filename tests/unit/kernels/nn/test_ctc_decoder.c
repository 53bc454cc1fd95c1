/*
 * test_ctc_decoder.c - CTCGreedyDecoder: the first of the likeliest classes,
 * wherever among however many, and over more steps than are looked at together.
 */
#include "tests/support/kernel_rig.h"

#define ROOM 1200

/* One step of n classes, 2 at `from` and from there on every third, else 1. */
static void check_place(const char *type, int n, int from)
{
    char x[ROOM], value[40], chance[40];
    const bool blank = from == n - 1;
    int used = snprintf(x, sizeof(x), "%s[1,1,%d]", type, n);
    const struct krig_case one = {
        "CTCGreedyDecoder",
        "",
        {x, "int32[1] 1"},
        {blank ? "int64[0,2]" : "int64[1,2] 0 0", value,
         blank ? "int64[2] 1 0" : "int64[2] 1 1", chance}};

    for (int i = 0; i < n; i++)
        used += snprintf(x + used, sizeof(x) - (size_t)used, " %d",
                         i >= from && (i - from) % 3 == 0 ? 2 : 1);
    snprintf(value, sizeof(value), blank ? "int64[0]" : "int64[1] %d", from);
    snprintf(chance, sizeof(chance), "%s[1,1] -2", type);
    krig_check(&one);
}

static void test_places(void **state)
{
    (void)state;
    for (int n = 1; n < 70; n++)
        for (int from = 0; from < n; from += n < 20 ? 1 : 7) {
            check_place("float", n, from);
            check_place("double", n, from);
        }
}

/* Labels 1 0 1 0 ... of three classes. */
static void test_steps(void **state)
{
    static const int steps[] = {1, 63, 64, 65, 129};
    char x[80], length[40], value[80], chance[40];
    const struct krig_case one = {
        "CTCGreedyDecoder", "", {x, length}, {"", value, "", chance}};

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const int n = steps[i];
        static char index[ROOM];
        char shape[40];
        int used = snprintf(index, sizeof(index), "int64[%d,2]", n);
        struct krig_case c = one;

        for (int t = 0; t < n; t++)
            used += snprintf(index + used, sizeof(index) - (size_t)used,
                             " 0 %d", t);
        snprintf(x, sizeof(x), "float[%d,1,3] 0 0.5 0.25 1 0.5 0.25", n);
        snprintf(length, sizeof(length), "int32[1] %d", n);
        snprintf(value, sizeof(value), "int64[%d] 1 0", n);
        snprintf(shape, sizeof(shape), "int64[2] 1 %d", n);
        snprintf(chance, sizeof(chance), "float[1,1] %g",
                 -0.5 * ((n + 1) / 2) - n / 2);
        c.out[0] = index;
        c.out[2] = shape;
        krig_check(&c);
    }
}

/* What stands first is likeliest where nothing is more. */
static void test_no_number(void **state)
{
    static const struct krig_case cases[] = {
        {"CTCGreedyDecoder",
         "",
         {"float[1,1,11] nan 3 1 2 9 8 7 6 5 4 3", "int32[1] 1"},
         {"int64[1,2] 0 0", "int64[1] 0", "int64[2] 1 1", "float[1,1] nan"}},
        {"CTCGreedyDecoder",
         "",
         {"double[1,1,11] 1 nan 2 nan nan nan nan nan 7 nan 7", "int32[1] 1"},
         {"int64[1,2] 0 0", "int64[1] 8", "int64[2] 1 1", "double[1,1] -7"}},
        {"CTCGreedyDecoder",
         "",
         {"float[1,1,4] nan 3 1 2", "int32[1] 1"},
         {"int64[1,2] 0 0", "int64[1] 0", "int64[2] 1 1", "float[1,1] nan"}},
        {"CTCGreedyDecoder",
         "",
         {"float[1,1,4] 1 nan 3 2", "int32[1] 1"},
         {"int64[1,2] 0 0", "int64[1] 2", "int64[2] 1 1", "float[1,1] -3"}},
        {"CTCGreedyDecoder",
         "",
         {"float[1,1,4] -inf -inf -inf -inf", "int32[1] 1"},
         {"int64[1,2] 0 0", "int64[1] 0", "int64[2] 1 1", "float[1,1] inf"}},
        {"CTCGreedyDecoder",
         "",
         {"float[1,1,4] 1 2 3 2", "int32[1] 2"},
         {"!FAILED_PRECONDITION sequence_length(0) <= 1"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_no_number),
    };

    return cmocka_run_group_tests_name("ctc_decoder", tests, krig_setup,
                                       krig_teardown);
}
