/*
 * test_add_n.c - add_n.c: sums of floats and halves from the first input to the
 * last, to the bit, for every number of inputs around those that are read side
 * by side and lengths around those of vectors and blocks.
 */
#include "tests/support/kernel_rig.h"

/* Looks random; rounding differs with the order of a sum. */
static double noise(int64_t i, int input)
{
    return (double)((uint64_t)(i * 37 + input + 1) * UINT64_C(2654435761) %
                    100003) /
           7;
}

static struct tfd_tensor numbers(bool narrow, int64_t n, int input)
{
    char text[32];
    struct tfd_tensor t;

    (void)snprintf(text, sizeof(text), "%s[%lld] 0",
                   narrow ? "float" : "double", (long long)n);
    t = krig_tensor(text);
    for (int64_t i = 0; i < n; i++)
        if (narrow)
            ((float *)tfd_tensor_data(&t))[i] = (float)noise(i, input);
        else
            ((double *)tfd_tensor_data(&t))[i] = noise(i, input);
    return t;
}

static float float_sum(int64_t i, int count)
{
    float sum = (float)noise(i, 0);

    for (int input = 1; input < count; input++)
        sum += (float)noise(i, input);
    return sum;
}

static double double_sum(int64_t i, int count)
{
    double sum = noise(i, 0);

    for (int input = 1; input < count; input++)
        sum += noise(i, input);
    return sum;
}

static void check_sum(bool narrow, int64_t n, int count)
{
    for (int64_t i = 0; i < n; i++) {
        const void *have = tfd_tensor_data(&krig.out[0]);
        bool same = narrow ? ((const float *)have)[i] == float_sum(i, count)
                           : ((const double *)have)[i] == double_sum(i, count);

        if (!same)
            fail_msg("%d inputs of %lld: element %lld", count, (long long)n,
                     (long long)i);
    }
}

static void check_length(bool narrow, int64_t n, int count, int mode)
{
    char attrs[16];
    struct krig_case c = {"AddN", attrs, {""}, {""}};

    (void)snprintf(attrs, sizeof(attrs), "N=%d", count);
    krig.in_count = count;
    for (int i = 0; i < count; i++)
        krig.in[i] = numbers(narrow, n, i);
    if (krig_run(&c, mode) != TFD_OK)
        fail_msg("%d inputs: %s", count, krig.st.text);
    check_sum(narrow, n, count);
    krig_end();
}

static void test_sums_are_taken_from_the_first_to_the_last(void **state)
{
    static const int64_t lengths[] = {0,  1,  7,  8,    31,   32,   33,
                                      63, 64, 95, 4095, 4096, 4129, 9001};

    (void)state;
    for (size_t i = 0; i < TFD_COUNT(lengths); i++)
        for (int count = 2; count <= KRIG_IN_MAX; count++)
            for (int mode = 0; mode < KRIG_ALL; mode++) {
                check_length(true, lengths[i], count, mode);
                check_length(false, lengths[i], count, mode);
            }
}

/* One of many patterns of bits, no NaN. */
static uint16_t half_bits(int64_t i, int input)
{
    return (uint16_t)((i * 40503 + input * 9973) & 0xbbff);
}

static uint16_t half_sum(enum tfd_dtype t, int64_t i)
{
    uint16_t sum = half_bits(i, 0);

    for (int input = 1; input < KRIG_IN_MAX; input++) {
        const uint16_t x = half_bits(i, input);

        if (t == TFD_HALF)
            sum = tfd_half_from_float(tfd_half_to_float(sum) +
                                      tfd_half_to_float(x));
        else
            sum = tfd_bfloat16_from_float(tfd_bfloat16_to_float(sum) +
                                          tfd_bfloat16_to_float(x));
    }
    return sum;
}

/* More than lies in a cache, rounded after each addition. */
static void check_many_halves(enum tfd_dtype t, int mode)
{
    const struct krig_case c = {"AddN", "N=8", {""}, {""}};
    const int64_t n = (8 << 20) / 2 / KRIG_IN_MAX + 3;
    const uint16_t *sum;

    krig.in_count = KRIG_IN_MAX;
    for (int input = 0; input < KRIG_IN_MAX; input++) {
        uint16_t *x;

        krig.in[input] = krig_tensor(t == TFD_HALF ? "half[524291] 0"
                                                   : "bfloat16[524291] 0");
        assert_int_equal(tfd_tensor_elements(&krig.in[input]), n);
        x = tfd_tensor_data(&krig.in[input]);
        for (int64_t i = 0; i < n; i++)
            x[i] = half_bits(i, input);
    }
    if (krig_run(&c, mode) != TFD_OK)
        fail_msg("%s", krig.st.text);
    sum = tfd_tensor_data(&krig.out[0]);
    for (int64_t i = 0; i < n; i++)
        if (sum[i] != half_sum(t, i))
            fail_msg("element %lld is %x, not %x", (long long)i, sum[i],
                     half_sum(t, i));
    krig_end();
}

static void test_many_halves(void **state)
{
    (void)state;
    check_many_halves(TFD_HALF, KRIG_SHARED);
    check_many_halves(TFD_BFLOAT16, KRIG_SOLE | KRIG_PIECES);
}

static void test_specials_and_other_types(void **state)
{
    static const struct krig_case cases[] = {
        {"AddN",
         "N=3",
         {"float[4] inf 1 nan 1e38", "float[4] -inf inf 1 1e38",
          "float[4] 1 1 1 3e38"},
         {"float[4] nan inf nan inf"}},
        {"AddN",
         "N=3",
         {"int32[2] 2147483647 1", "int32[2] 1 2", "int32[2] 0 3"},
         {"int32[2] -2147483648 6"}},
        {"AddN",
         "N=3",
         {"float[2] 1", "float[2] 1", "float[3] 1"},
         {"!INVALID_ARGUMENT must have the same size and shape"}},
        {"AddN", "N=2", {"double[] 1", "double[1] 1"}, {"!INVALID_ARGUMENT"}},
        {"AddN", "N=1", {"string[1] a"}, {"!INVALID_ARGUMENT T"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_are_taken_from_the_first_to_the_last),
        cmocka_unit_test(test_many_halves),
        cmocka_unit_test(test_specials_and_other_types),
    };

    return cmocka_run_group_tests_name("add_n", tests, krig_setup,
                                       krig_teardown);
}
