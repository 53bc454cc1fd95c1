/*
 * test_activation.c - activation.c and its neighbours in unary_grad.c: values
 * at the edges, and all 65,536 halves against TensorFlow 2.21's bits.
 */
#include "tests/support/kernel_rig.h"

static void test_edges(void **state)
{
    static const struct krig_case cases[] = {
        /* up to zero the product, also where it has no value */
        {"LeakyRelu",
         "alpha=0.0",
         {"float[4] inf -inf 3 nan"},
         {"float[4] inf nan 3 nan"}},
        {"LeakyRelu", "alpha=2.0", {"double[3] 3 -3 0"}, {"double[3] 3 -6 0"}},
        /* infinity times 0 */
        {"Relu6Grad",
         "",
         {"float[4] inf -inf nan 5", "float[4] 7 -1 0 3"},
         {"float[4] nan nan nan 5"}},
        /* no gradient is none, wherever y is */
        {"RsqrtGrad",
         "",
         {"float[4] inf nan 0 2", "float[4] 0 0 0 0"},
         {"float[4] 0 0 0 0"}},
        {"InvGrad",
         "",
         {"double[2] inf nan", "double[2] 0 0"},
         {"double[2] 0"}},
        {"SqrtGrad", "", {"float[2] 0 nan", "float[2] 0 0"}, {"float[2] 0"}},
        {"RsqrtGrad", "", {"float[1] inf", "float[1] 1"}, {"float[1] -inf"}},
        {"LeakyReluGrad",
         "alpha=0.5",
         {"float[2] 1", "float[3] 1"},
         {"!INVALID_ARGUMENT same size and shape.  Input 0: [2] != input 1: "
          "[3]"}},
        {"LeakyRelu", "alpha=0.5", {"int32[1] 1"}, {"!INVALID_ARGUMENT T"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

/* ---- Every half ---------------------------------------------------------- */

#define HALVES 65536

static struct tfd_tensor halves(uint32_t factor, uint32_t offset)
{
    struct tfd_tensor t = krig_tensor("half[65536] 0");
    uint16_t *bits = tfd_tensor_data(&t);

    for (uint32_t i = 0; i < HALVES; i++)
        bits[i] = (uint16_t)(i * factor + offset);
    return t;
}

/* A polynomial hash of the bits, in which all NaNs are one. */
static uint32_t hash_of(const struct tfd_tensor *t)
{
    const uint16_t *bits = tfd_tensor_data(t);
    uint32_t hash = 0;

    for (uint32_t i = 0; i < HALVES; i++)
        hash = hash * 31 + ((bits[i] & 0x7fff) > 0x7c00 ? 0x7e00 : bits[i]);
    return hash;
}

/* dy_at: the input that has the gradient; the other has every half. */
static void test_every_half_has_tensorflows_bits(void **state)
{
    static const struct {
        const char *op, *attrs;
        int in_count, dy_at;
        uint32_t hash;
    } cases[] = {
        {"LeakyRelu", "alpha=0.2", 1, -1, 0x8e6c7e6a},
        {"LeakyReluGrad", "alpha=0.2", 2, 0, 0xcbeaa37b},
        {"Relu6", "", 1, -1, 0xab191900},
        {"Relu6Grad", "", 2, 0, 0x5de38764},
        {"Elu", "", 1, -1, 0x56ac0811},
        {"EluGrad", "", 2, 0, 0x3877fe44},
        {"Selu", "", 1, -1, 0xe25a11b4},
        {"SeluGrad", "", 2, 0, 0x6abaf7e7},
        {"Softplus", "", 1, -1, 0xc8cbdaef},
        {"SoftplusGrad", "", 2, 0, 0xea91d3be},
        {"Softsign", "", 1, -1, 0x9fb29322},
        {"SoftsignGrad", "", 2, 0, 0xed05e79c},
        {"Sigmoid", "", 1, -1, 0x20919f10},
        {"SigmoidGrad", "", 2, 1, 0xf4618298},
        {"TanhGrad", "", 2, 1, 0xfc7c7dc6},
        {"SqrtGrad", "", 2, 1, 0x0c05c28a},
        {"ReciprocalGrad", "", 2, 1, 0x3f23c208},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct krig_case c = {
            cases[i].op, cases[i].attrs, {"half[1] 0", "half[1] 0"}, {""}};
        uint32_t hash;

        if (cases[i].in_count == 1)
            c.in[1] = NULL;
        krig.in_count = cases[i].in_count;
        for (int k = 0; k < krig.in_count; k++)
            krig.in[k] =
                k == cases[i].dy_at ? halves(40503, 12345) : halves(1, 0);
        if (krig_run(&c, KRIG_SHARED) != TFD_OK)
            fail_msg("%s: %s", cases[i].op, krig.st.text);
        hash = hash_of(&krig.out[0]);
        if (hash != cases[i].hash)
            fail_msg("%s: %08x, not %08x", cases[i].op, hash, cases[i].hash);
        krig_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_every_half_has_tensorflows_bits),
    };

    return cmocka_run_group_tests_name("activation", tests, krig_setup,
                                       krig_teardown);
}
