/*
 * test_range.c - Range against a plain loop: every type, lengths around those
 * of vectors and of the blocks between two looks at halt.h, whole and in pieces
 * that begin at odd places; arguments that name no numbers.
 */
#include "tests/support/kernel_rig.h"

static char start[40], limit[40], delta[40];

#define AS_IS(x) (x)

/* Value i is start + i * delta in C. */
#define TYPE(name, T, C, READ, STORE)                                        \
    static void compare_##name(int64_t n)                                    \
    {                                                                        \
        const C first = (C)READ(*(const T *)tfd_tensor_data(&krig.in[0]));   \
        const C step = (C)READ(*(const T *)tfd_tensor_data(&krig.in[2]));    \
        const T *y = tfd_tensor_data(&krig.out[0]);                          \
                                                                             \
        assert_int_equal(krig.out[0].shape.rank, 1);                         \
        assert_int_equal(krig.out[0].shape.dim[0], n);                       \
        for (int64_t i = 0; i < n; i++) {                                    \
            const T want = (T)STORE(first + (C)i * step);                    \
                                                                             \
            if (memcmp(&y[i], &want, sizeof(want)) != 0)                     \
                fail_msg(#name ": value %lld of %lld differs", (long long)i, \
                         (long long)n);                                      \
        }                                                                    \
    }

TYPE(int32, int32_t, uint32_t, AS_IS, AS_IS)
TYPE(int64, int64_t, uint64_t, AS_IS, AS_IS)
TYPE(float, float, float, AS_IS, AS_IS)
TYPE(double, double, double, AS_IS, AS_IS)
TYPE(half, tfd_half, float, tfd_half_to_float, tfd_half_from_float)
TYPE(bfloat16, tfd_bfloat16, float, tfd_bfloat16_to_float,
     tfd_bfloat16_from_float)

static const struct type {
    const char *name;
    void (*compare)(int64_t n);
    double start, delta;
    bool whole;
} types[] = {
    {"int32", compare_int32, -7, 3, true},
    {"int32", compare_int32, 5, -2, true},
    {"int64", compare_int64, -7e15, 3, true},
    {"int64", compare_int64, 9e15, -1e9, true},
    {"float", compare_float, 0.3, 0.1, false},
    {"float", compare_float, 1e9, -0.7e3, false},
    {"double", compare_double, -0.3, 0.1, false},
    {"double", compare_double, 1e200, -0.7e190, false},
    {"half", compare_half, -3, 0.5, false},
    {"half", compare_half, 8, -0.25, false},
    {"bfloat16", compare_bfloat16, -3, 0.5, false},
    {"bfloat16", compare_bfloat16, 8, -0.25, false},
};

static void check(const struct type *t, int n)
{
    const struct krig_case c = {"Range", "", {start, limit, delta}, {""}};
    char type[24];

    /* Half a step less than n of them. */
    sprintf(type, "Tidx=%s", t->name);
    sprintf(start, "%s[] %.17g", t->name, t->start);
    sprintf(delta, "%s[] %.17g", t->name, t->delta);
    sprintf(limit, "%s[] %.17g", t->name,
            t->start + (t->whole || n == 0 ? n : n - 0.5) * t->delta);
    for (int mode = 0; mode < KRIG_ALL; mode++) {
        krig.in_count = 3;
        for (int i = 0; i < 3; i++)
            krig.in[i] = krig_tensor(c.in[i]);
        if (krig_run(&(struct krig_case){.op = "Range", .attrs = type}, mode) !=
            TFD_OK)
            fail_msg("%s of %d: %s", t->name, n, krig.st.text);
        t->compare(n);
        krig_end();
    }
}

static void test_lengths(void **state)
{
    (void)state;
    for (size_t t = 0; t < TFD_COUNT(types); t++)
        for (int n = 0; n < 70; n++)
            check(&types[t], n);
}

/* Longer than a block between two looks at whether the step has ended. */
static void test_several_blocks(void **state)
{
    (void)state;
    for (size_t t = 0; t < TFD_COUNT(types); t++)
        if (strncmp(types[t].name, "half", 4) && types[t].name[0] != 'b')
            check(&types[t], 300001);
}

static void test_ends_of_the_integers(void **state)
{
    static const struct krig_case cases[] = {
        {"Range",
         "Tidx=int64",
         {"int64[] -9223372036854775808", "int64[] 9223372036854775807",
          "int64[] 4611686018427387904"},
         {"int64[4] -9223372036854775808 -4611686018427387904 0 "
          "4611686018427387904"}},
        {"Range",
         "",
         {"int32[] 2147483640", "int32[] 2147483647", "int32[] 5"},
         {"int32[2] 2147483640 2147483645"}},
        {"Range",
         "",
         {"int32[] -2147483647", "int32[] -2147483648", "int32[] -1"},
         {"int32[1] -2147483647"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_refusals(void **state)
{
    static const struct krig_case cases[] = {
        {"Range",
         "",
         {"int32[] 1", "int32[] 5", "int32[] 0"},
         {"!INVALID_ARGUMENT Requires delta != 0: 0"}},
        {"Range",
         "Tidx=float",
         {"float[] 1", "float[] 5", "float[] -0"},
         {"!INVALID_ARGUMENT Requires delta != 0: 0"}},
        {"Range",
         "",
         {"int32[] 5", "int32[] 1", "int32[] 1"},
         {"!INVALID_ARGUMENT Requires start <= limit when delta > 0: 5/1"}},
        {"Range",
         "Tidx=half",
         {"half[] 1", "half[] 5", "half[] -1"},
         {"!INVALID_ARGUMENT Requires start >= limit when delta < 0: 1/5"}},
        {"Range",
         "Tidx=int64",
         {"int64[] 0", "int64[] 2199023255552", "int64[] 1"},
         {"!INVALID_ARGUMENT Requires ((limit - start) / delta) <= "
          "1099511627776"}},
        {"Range",
         "Tidx=double",
         {"double[] 0", "double[] 1e300", "double[] 1"},
         {"!INVALID_ARGUMENT Requires ((limit - start) / delta) <= "}},
        {"Range",
         "Tidx=double",
         {"double[] 0", "double[] nan", "double[] 1"},
         {"!INVALID_ARGUMENT Requires ((limit - start) / delta) <= "}},
        {"Range",
         "",
         {"int32[1] 0", "int32[] 5", "int32[] 1"},
         {"!INVALID_ARGUMENT start must be a scalar, not shape [1]"}},
        {"Range",
         "",
         {"int32[] 0", "int32[2] 5", "int32[] 1"},
         {"!INVALID_ARGUMENT limit must be a scalar, not shape [2]"}},
        {"Range",
         "",
         {"int32[] 0", "int32[] 5", "int32[1,1] 1"},
         {"!INVALID_ARGUMENT delta must be a scalar, not shape [1,1]"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_several_blocks),
        cmocka_unit_test(test_ends_of_the_integers),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("range", tests, krig_setup,
                                       krig_teardown);
}
