/*
 * test_fake_quant.c - fake_quant.c: inputs that TensorFlow crashes on, and
 * lengths around those of vectors.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lengths),
    };

    return cmocka_run_group_tests_name("fake_quant", tests, krig_setup,
                                       krig_teardown);
}
