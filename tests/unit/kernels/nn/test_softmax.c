/*
 * test_softmax.c - softmax.c, softmax_bfloat16.c, xent.c, bias.c and add_n.c:
 * the end of a network.
 */
#include "common/base/half.h"
#include "kernels/nn/softmax_row.h"
#include "tests/support/kernel_rig.h"

#include <math.h>

#define P3 "0.0900305732 0.2447284711 0.6652409558" /* softmax of 0 1 2 */

static void test_softmax(void **state)
{
    static const struct krig_case cases[] = {
        {"Softmax", "", {"float[2,3] 0 1 2 10 11 12"}, {"float[2,3] " P3}},
        {"Softmax",
         "",
         {"double[3] 0 1 2"},
         {"double[3] 0.09003057317038046 0.24472847105479764 "
          "0.6652409557748218"}},
        {"Softmax", "", {"half[3] 0 1 2"}, {"half[3] " P3}},
        {"Softmax", "", {"bfloat16[1,1,3] 0 1 2"}, {"bfloat16[1,1,3] " P3}},
        {"Softmax", "", {"float[2] 1000 -1000"}, {"float[2] 1 0"}},
        {"Softmax", "", {"float[2] -inf 1"}, {"float[2] 0 1"}},
        {"Softmax", "", {"float[2] -inf -inf"}, {"float[2] nan"}},
        {"Softmax", "", {"float[1,400] 7"}, {"float[1,400] 0.0025"}},
        {"Softmax", "", {"float[50,50] 7"}, {"float[50,50] 0.02"}},
        {"Softmax", "", {"float[9,800] 7"}, {"float[9,800] 0.00125"}},
        {"Softmax", "", {"float[0,3]"}, {"float[0,3]"}},
        {"Softmax", "", {"float[3,0]"}, {"float[3,0]"}},
        {"LogSoftmax",
         "",
         {"float[1,3] 0 1 2"},
         {"float[1,3] -2.4076059644 -1.4076059644 -0.4076059644"}},
        {"LogSoftmax", "", {"float[1,600] 5"}, {"float[1,600] -6.396929655"}},
        {"LogSoftmax", "", {"double[2] -inf 1"}, {"double[2] -inf 0"}},
        {"Softmax", "", {"float[] 1"}, {"!INVALID_ARGUMENT"}},
        {"LogSoftmax", "", {"float[] 1"}, {"!INVALID_ARGUMENT"}},
        {"Softmax", "", {"int32[2] 1"}, {"!INVALID_ARGUMENT T"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

#define EXPS_MAX 200

/* The bits of one number after the other, whatever n and x are. */
static void test_exps_of_a_row(void **state)
{
    static const float specials[] = {
        0,           -0.0f,    -INFINITY, -87.3365402f, -87.336548f,
        -87.336533f, -1.0e38f, -3.0e-45f, -0.34657359f, -0.3465736f,
        -100,        -12.5f};
    float x[EXPS_MAX + 1], y[EXPS_MAX + 2];

    (void)state;
    for (int64_t n = 0; n <= EXPS_MAX; n++)
        for (int with_nan = 0; with_nan < 2; with_nan++) {
            for (int64_t i = 0; i < n; i++)
                x[i + 1] = i % 3 ? (float)(i * 37 % 101) * -0.9f
                                 : specials[i / 3 % TFD_COUNT(specials)];
            if (with_nan && n > 0)
                x[n / 2 + 1] = tfd_half_float_of(0xffc00001u);
            y[n + 1] = 5;
            tfd_row_exps(x + 1, n, 0.25f, y + 1);
            for (int64_t i = 1; i <= n; i++) {
                const float want = tfd_row_exp(x[i] - 0.25f);

                assert_true(isnan(want) ? isnan(y[i]) : want == y[i]);
            }
            assert_true(y[n + 1] == 5);
        }
}

/* Two rows of n numbers, of which the first has `special` somewhere, at an odd
 * place in memory; result and operand are one. */
static bool softmax_rows(int64_t n, float special, double *x, uint16_t *y)
{
    for (int64_t i = 0; i < 2 * n; i++) {
        y[i] = tfd_bfloat16_from_float(
            i == n / 3 ? special : (float)(i * 37 % 101) / 7 - 9);
        x[i] = (double)tfd_bfloat16_to_float(y[i]);
    }
    return tfd_softmax_bfloat16(y, n, 2, y);
}

/* Within half a unit of the last of eight bits, and a little. */
static void check_row(const double *x, int64_t n, const uint16_t *y)
{
    double max = -HUGE_VAL, sum = 0;

    for (int64_t i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - max);
    for (int64_t i = 0; i < n; i++) {
        const double want = exp(x[i] - max) / sum;
        const double have = (double)tfd_bfloat16_to_float(y[i]);

        if (isnan(want) ? !isnan(have)
                        : !(fabs(have - want) <= want / 255.9 + 2e-38))
            fail_msg("%lld of %lld is %g, not %g", (long long)i, (long long)n,
                     have, want);
    }
}

static void test_softmax_of_bfloat16(void **state)
{
    static const int64_t sizes[] = {
        16, 17, 31, 32, 33, 64, 100, 255, 1000, TFD_SOFTMAX_BFLOAT16_MAX};
    static const float specials[] = {0,        -0.0F, 3e38F,     -3e38F,
                                     INFINITY, NAN,   -INFINITY, 1e-40F};
    static double x[2 * TFD_SOFTMAX_BFLOAT16_MAX];
    static uint16_t memory[2 * TFD_SOFTMAX_BFLOAT16_MAX + 2];
    uint16_t *y = memory + 1;

    (void)state;
    if (!softmax_rows(16, 0, x, y)) {
        print_message("no AVX512_BF16\n");
        skip();
    }
    for (size_t i = 0; i < TFD_COUNT(sizes); i++)
        for (size_t j = 0; j < TFD_COUNT(specials); j++) {
            const int64_t n = sizes[i];

            y[2 * n] = 0x1234;
            assert_true(softmax_rows(n, specials[j], x, y));
            check_row(x, n, y);
            check_row(x + n, n, y + n);
            assert_int_equal(y[2 * n], 0x1234);
        }
    assert_false(tfd_softmax_bfloat16(y, 15, 1, y));
    assert_false(tfd_softmax_bfloat16(y, TFD_SOFTMAX_BFLOAT16_MAX + 1, 1, y));
}

static void test_cross_entropy_of_distributions(void **state)
{
    static const char op[] = "SoftmaxCrossEntropyWithLogits";
    static const struct krig_case cases[] = {
        {op,
         "",
         {"float[1,3] 0 1 2", "float[1,3] 0 0 1"},
         {"float[1] 0.4076059644",
          "float[1,3] 0.0900305732 0.2447284711 -0.3347590442"}},
        {op,
         "",
         {"float[2,3] 0 1 2", "float[3] 0.5 0 0.5"},
         {"float[2] 1.4076059644",
          "float[2,3] -0.4099694268 0.2447284711 0.1652409558"}},
        {op,
         "",
         {"float[1,3] 0 1 2", "float[2,1] 1 0"},
         {"float[2] 4.2228178931 0",
          "float[2,3] -0.9099694268 -0.7552715289 -0.3347590442 " P3}},
        {op,
         "",
         {"double[1,100] 3", "double[1,100] 0.01"},
         {"double[1] 4.605170185988092", "double[1,100] 0"}},
        {op,
         "",
         {"half[1,2] 0 0", "half[1,2] 1 0"},
         {"half[1] 0.6931", "half[1,2] -0.5 0.5"}},
        {op, "", {"float[0,3]", "float[0,3]"}, {"float[0]", "float[0,3]"}},
        {op, "", {"float[2,0]", "float[2,0]"}, {"float[2] 0", "float[2,0]"}},
        {op,
         "",
         {"float[2,3] 1", "float[3,3] 1"},
         {"!INVALID_ARGUMENT logits and labels must be broadcastable: "
          "logits_size=[2,3] labels_size=[3,3]"}},
        {op,
         "",
         {"float[3] 1", "float[3] 1"},
         {"!INVALID_ARGUMENT logits and labels must be either 2-dimensional"}},
        {op,
         "",
         {"float[1,1,3] 1", "float[3] 1"},
         {"!INVALID_ARGUMENT logits and labels must be either 2-dimensional"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_cross_entropy_of_classes(void **state)
{
    static const char op[] = "SparseSoftmaxCrossEntropyWithLogits";
    static const struct krig_case cases[] = {
        {op,
         "",
         {"float[2,3] 0 1 2", "int32[2] 2 0"},
         {"float[2] 0.4076059644 2.4076059644",
          "float[2,3] 0.0900305732 0.2447284711 -0.3347590442 -0.9099694268 "
          "0.2447284711 0.6652409558"}},
        {op,
         "",
         {"double[1,2] 0 0", "int64[1] 1"},
         {"double[1] 0.6931471805599453", "double[1,2] 0.5 -0.5"}},
        {op,
         "",
         {"bfloat16[1,2] 0 0", "int64[1] 1"},
         {"bfloat16[1] 0.6931", "bfloat16[1,2] 0.5 -0.5"}},
        {op, "", {"float[0,2]", "int64[0]"}, {"float[0]", "float[0,2]"}},
        {op,
         "",
         {"float[2,3] 0", "int32[2] 0 3"},
         {"!INVALID_ARGUMENT Received a label value of 3 which is outside the "
          "valid range of [0, 3).  Label values: 0 3"}},
        {op,
         "",
         {"float[2,3] 0", "int64[2] -1 2"},
         {"!INVALID_ARGUMENT Received a label value of -1 which is outside"}},
        {op,
         "",
         {"float[1000,3] 0", "int64[1000] 123456789"},
         {"!INVALID_ARGUMENT Received a label value of 123456789"}},
        {op,
         "",
         {"float[2,3] 0", "int32[1] 0"},
         {"!INVALID_ARGUMENT logits and labels must have the same first "
          "dimension, got logits shape [2,3] and labels shape [1]"}},
        {op,
         "",
         {"float[2,3] 0", "int32[1,2] 0"},
         {"!INVALID_ARGUMENT labels must be 1-D, but got shape [1,2]"}},
        {op,
         "",
         {"float[3] 0", "int32[] 0"},
         {"!INVALID_ARGUMENT logits must be 2-D, but got shape [3]"}},
        {op,
         "",
         {"float[2,0]", "int32[2] 0"},
         {"!INVALID_ARGUMENT Must have at least one class, but got logits "
          "shape [2,0]"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_bias(void **state)
{
    static const struct krig_case cases[] = {
        {"BiasAdd",
         "",
         {"float[2,3] 0", "float[3] 1 2 3"},
         {"float[2,3] 1 2 3"}},
        {"BiasAdd",
         "data_format=NCHW",
         {"float[1,2,2] 0", "float[2] 1 2"},
         {"float[1,2,2] 1 1 2 2"}},
        {"BiasAdd",
         "data_format=NCHW",
         {"int32[2,2] 0", "int32[2] 1 2"},
         {"int32[2,2] 1 2"}},
        {"BiasAddV1", "", {"half[2,2] 1", "half[2] 1 2"}, {"half[2,2] 2 3"}},
        {"BiasAdd",
         "",
         {"float[300,50] 1", "float[50] 2"},
         {"float[300,50] 3"}},
        {"BiasAdd", "", {"float[0,3]", "float[3] 1"}, {"float[0,3]"}},
        {"BiasAddGrad", "", {"float[2,3] 1 2 3 4 5 6"}, {"float[3] 5 7 9"}},
        {"BiasAddGrad",
         "data_format=NCHW",
         {"float[2,2,2] 1 2 3 4 5 6 7 8"},
         {"float[2] 14 22"}},
        {"BiasAddGrad", "", {"uint8[0,3]"}, {"uint8[3] 0"}},
        {"BiasAddGrad",
         "",
         {"complex64[1,2] 1,2 3,4"},
         {"complex64[2] 1,2 3,4"}},
        {"BiasAddGrad", "", {"float[3000,50] 1"}, {"float[50] 3000"}},
        {"BiasAddGrad", "", {"double[3000,31] 1"}, {"double[31] 3000"}},
        {"BiasAddGrad", "", {"double[3001,33] 1"}, {"double[33] 3001"}},
        {"BiasAddGrad", "", {"double[2000,103] 2"}, {"double[103] 4000"}},
        {"BiasAdd",
         "",
         {"float[2,3] 0", "float[2] 1"},
         {"!INVALID_ARGUMENT Must provide as many biases as the last dimension "
          "of the input tensor: [2] vs. [2,3]"}},
        {"BiasAdd",
         "",
         {"float[3] 0", "float[3] 1"},
         {"!INVALID_ARGUMENT Input tensor must be at least 2D: [3]"}},
        {"BiasAdd",
         "",
         {"float[2,3] 0", "float[1,3] 1"},
         {"!INVALID_ARGUMENT Biases must be 1D: [1,3]"}},
        {"BiasAddGrad",
         "",
         {"float[3] 0"},
         {"!INVALID_ARGUMENT Input tensor must be at least 2D: [3]"}},
        {"BiasAdd",
         "data_format=HWNC",
         {"float[2,3] 0", "float[3] 1"},
         {"!INVALID_ARGUMENT data_format"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

/* Widths around those whose biases are repeated for a loop. */
static void test_bias_of_every_width(void **state)
{
    static const char *const types[] = {"float", "double", "half", "int32"};
    static char x[60], bias[60], y[40000];

    (void)state;
    for (int width = 1; width < 200; width += 1 + width / 20)
        for (int rows = 1; rows < 60; rows = rows * 5 + 1) {
            const char *type = types[(width + rows) % 4];
            const struct krig_case c = {"BiasAdd", "", {x, bias}, {y}};
            size_t used =
                (size_t)snprintf(y, sizeof(y), "%s[%d,%d]", type, rows, width);

            snprintf(x, sizeof(x), "%s[%d,%d] 1 2 3 4 5 6 7", type, rows,
                     width);
            snprintf(bias, sizeof(bias), "%s[%d] 10 20 30 40 50", type, width);
            for (int i = 0; i < rows * width; i++)
                used += (size_t)snprintf(y + used, sizeof(y) - used, " %d",
                                         i % 7 + 1 + i % width % 5 * 10 + 10);
            krig_check(&c);
        }
}

static void test_add_n(void **state)
{
    static const struct krig_case cases[] = {
        {"AddN", "N=1", {"float[2] 1 2"}, {"float[2] 1 2"}},
        {"AddN",
         "N=3",
         {"float[2] 1 2", "float[2] 10 20", "float[2] 100 200"},
         {"float[2] 111 222"}},
        {"AddN", "N=2", {"int8[1] 127", "int8[1] 1"}, {"int8[1] -128"}},
        {"AddN",
         "N=4",
         {"half[] 1", "half[] 2", "half[] 3", "half[] 4"},
         {"half[] 10"}},
        {"AddN",
         "N=3",
         {"double[10000] 1", "double[10000] 2", "double[10000] 3"},
         {"double[10000] 6"}},
        {"AddN", "N=2", {"complex64[0]", "complex64[0]"}, {"complex64[0]"}},
        {"AddN",
         "N=2",
         {"float[2] 1", "float[3] 1"},
         {"!INVALID_ARGUMENT Inputs to operation node of type AddN must have "
          "the same size and shape.  Input 0: [2] != input 1: [3]"}},
        {"AddN",
         "N=2",
         {"float[1] 1", "float[] 1"},
         {"!INVALID_ARGUMENT Input 0: [1] != input 1: []"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

/* Softmax and its logarithm of ROWS rows of every width around the blocks. */
#define ROWS 11
#define WIDTH_MAX 100

static double logit(int row, int i)
{
    return (row * 13 + i * 29) % 41 - 20 - (i == row ? 100 : 0);
}

static const char *rows_text(struct tfd_bytes *text, int width, int what)
{
    tfd_bytes_init(text, 1 << 20);
    tfd_bytes_printf(text, "float[%d,%d]", ROWS, width);
    for (int row = 0; row < ROWS; row++) {
        double max = logit(row, 0), sum = 0;

        for (int i = 1; i < width; i++)
            max = fmax(max, logit(row, i));
        for (int i = 0; i < width; i++)
            sum += exp(logit(row, i) - max);
        for (int i = 0; i < width; i++) {
            double x = logit(row, i), y = x - max - log(sum);

            tfd_bytes_printf(text, " %.9g",
                             what == 0   ? x
                             : what == 1 ? exp(y)
                                         : y);
        }
    }
    tfd_bytes_add(text, "", 1);
    return tfd_bytes_view(text).data;
}

static void test_rows_of_every_width(void **state)
{
    (void)state;
    for (int width = 1; width <= WIDTH_MAX; width++)
        for (int what = 1; what <= 2; what++) {
            struct tfd_bytes in, out;
            const struct krig_case cases[] = {
                {what == 1 ? "Softmax" : "LogSoftmax",
                 "",
                 {rows_text(&in, width, 0)},
                 {rows_text(&out, width, what)}}};

            KRIG_CHECK(cases);
            tfd_bytes_deinit(&in);
            tfd_bytes_deinit(&out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_exps_of_a_row),
        cmocka_unit_test(test_softmax_of_bfloat16),
        cmocka_unit_test(test_rows_of_every_width),
        cmocka_unit_test(test_cross_entropy_of_distributions),
        cmocka_unit_test(test_cross_entropy_of_classes),
        cmocka_unit_test(test_bias),
        cmocka_unit_test(test_bias_of_every_width),
        cmocka_unit_test(test_add_n),
    };

    return cmocka_run_group_tests_name("softmax", tests, krig_setup,
                                       krig_teardown);
}
