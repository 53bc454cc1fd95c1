/*
 * test_fake_quant.c - fake_quant.c: inputs that TensorFlow crashes on, and
 * lengths around those of vectors, and the sums that go to
 * the limits.
 */
#include "tests/support/kernel_rig.h"

static void test_refused(void **state)
{
    static const struct krig_case cases[] = {
        {"FakeQuantWithMinMaxVarsPerChannel",
         "",
         {"float[] 1", "float[1] 0", "float[1] 1"},
         {"!INVALID_ARGUMENT inputs must have at least 1 dimensions"}},
        {"FakeQuantWithMinMaxVarsPerChannel",
         "",
         {"float[2] 1", "float[] 0", "float[2] 1"},
         {"!INVALID_ARGUMENT min must be a vector"}},
        {"FakeQuantWithMinMaxVarsPerChannel",
         "",
         {"float[2] 1", "float[2] 0", "float[1,2] 1"},
         {"!INVALID_ARGUMENT max must be a vector"}},
        {"FakeQuantWithMinMaxVarsPerChannelGradient",
         "",
         {"float[] 1", "float[] 1", "float[1] 0", "float[1] 1"},
         {"!INVALID_ARGUMENT inputs must have at least 1 dimensions"}},
        {"FakeQuantWithMinMaxVarsPerChannelGradient",
         "",
         {"float[2] 1", "float[2] 1", "float[] 0", "float[2] 1"},
         {"!INVALID_ARGUMENT min must be a vector"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

/* Steps of 1 between -1 and 2. */
static void test_lengths(void **state)
{
    char in[40], out[40];
    const struct krig_case one = {"FakeQuantWithMinMaxVars",
                                  "num_bits=2",
                                  {in, "float[] -1", "float[] 2"},
                                  {out}};

    (void)state;
    for (int n = 0; n < 20; n++) {
        snprintf(in, sizeof(in), "float[%d] 0.4 -9 1.6 9", n);
        snprintf(out, sizeof(out), "float[%d] 0 -1 2 2", n);
        krig_check(&one);
    }
}

/* Five columns: one range is none, one is to be moved; rows around a block's
 * number of them. */
static void test_channels(void **state)
{
    static const int rows[] = {0, 1, 2, 3, 63, 64, 65, 129};
    char in[80], out[80], dy[40], dx[80], below[40], above[40];
    const struct krig_case forward = {
        "FakeQuantWithMinMaxVarsPerChannel",
        "num_bits=2",
        {in, "float[5] -1 0 0 -1 -1", "float[5] 2 0 3 2 2"},
        {out}};
    const struct krig_case back = {
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        "num_bits=2",
        {dy, in, "float[5] -1 0 0 -1 -1", "float[5] 2 0 3 2 2"},
        {dx, below, above}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int n = rows[i];

        snprintf(in, sizeof(in), "float[%d,5] 0.4 7 1.6 9 -9", n);
        snprintf(out, sizeof(out), "float[%d,5] 0 0 2 2 -1", n);
        snprintf(dy, sizeof(dy), "float[%d,5] 1 2 3 4 5", n);
        snprintf(dx, sizeof(dx), "float[%d,5] 1 2 3 0 0", n);
        snprintf(below, sizeof(below), "float[5] 0 0 0 0 %d", 5 * n);
        snprintf(above, sizeof(above), "float[5] 0 0 0 %d 0", 4 * n);
        krig_check(&forward);
        krig_check(&back);
    }
}

/* Of one range, around lengths of vectors and blocks. */
static void test_sums(void **state)
{
    static const int more[] = {8191, 8192, 8193, 16385};
    char in[80], dy[40], dx[80], below[40], above[40];
    const struct krig_case one = {"FakeQuantWithMinMaxVarsGradient",
                                  "num_bits=2",
                                  {dy, in, "float[] -1", "float[] 2"},
                                  {dx, below, above}};

    (void)state;
    for (int i = 0; i < 204; i++) {
        const int n = i < 200 ? i : more[i - 200];

        snprintf(in, sizeof(in), "float[%d] -1 -9 2 9", n);
        snprintf(dy, sizeof(dy), "float[%d] 1 2 3 4", n);
        snprintf(dx, sizeof(dx), "float[%d] 1 0 3 0", n);
        snprintf(below, sizeof(below), "float[] %d", (n + 2) / 4 * 2);
        snprintf(above, sizeof(above), "float[] %d", n / 4 * 4);
        krig_check(&one);
    }
}

/* What no range has: a NaN gives nothing, but to a range that is none. */
static void test_no_number(void **state)
{
    static const struct krig_case cases[] = {
        {"FakeQuantWithMinMaxVarsGradient",
         "",
         {"float[3] 1 2 3", "float[3] nan inf -inf", "float[] -1", "float[] 2"},
         {"float[3] 0 0 0", "float[] 3", "float[] 2"}},
        {"FakeQuantWithMinMaxVarsGradient",
         "",
         {"float[3] 1 2 3", "float[3] nan inf -inf", "float[] 0", "float[] 0"},
         {"float[3] 1 2 3", "float[] 0", "float[] 0"}},
        {"FakeQuantWithMinMaxArgsGradient",
         "",
         {"float[3] 1 2 3", "float[3] nan 1 -inf"},
         {"float[3] 0 2 0"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_channels),  cmocka_unit_test(test_sums),
        cmocka_unit_test(test_no_number),
    };

    return cmocka_run_group_tests_name("fake_quant", tests, krig_setup,
                                       krig_teardown);
}
