/*
 * test_depthwise.c - depthwise.c: every number of channels around what is added
 * up at once, and pixels at each edge, against plain loops over small integers.
 */
#include "tests/support/kernel_rig.h"

#define ROWS 3
#define COLUMNS 5
#define CHANNELS_MAX 70
#define X "-3 -2 -1 0 1 2 3" /* again and again */
#define W "-2 -1 0 1 2"

static int x_at(int channels, int row, int column, int c)
{
    if (row < 0 || row >= ROWS || column < 0 || column >= COLUMNS)
        return 0;
    return ((row * COLUMNS + column) * channels + c) % 7 - 3;
}

/* Of a 3x3 filter in the middle of its window. */
static int y_at(int channels, int multiplier, int row, int column, int at)
{
    int sum = 0;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int w = ((i * 3 + j) * channels * multiplier + at) % 5 - 2;

            sum += w *
                   x_at(channels, row + i - 1, column + j - 1, at / multiplier);
        }
    return sum;
}

static void check(const char *type, int channels, int multiplier, int stride)
{
    static char in[80], filter[80], attrs[60];
    static char out[ROWS * COLUMNS * CHANNELS_MAX * 2 * 5 + 80];
    const int rows = (ROWS - 1) / stride + 1;
    const int columns = (COLUMNS - 1) / stride + 1;
    const struct krig_case c = {
        "DepthwiseConv2dNative", attrs, {in, filter}, {out}};
    size_t used;

    snprintf(attrs, sizeof(attrs), "strides=1,%d,%d,1 padding=SAME", stride,
             stride);
    snprintf(in, sizeof(in), "%s[1,%d,%d,%d] " X, type, ROWS, COLUMNS,
             channels);
    snprintf(filter, sizeof(filter), "%s[3,3,%d,%d] " W, type, channels,
             multiplier);
    used = (size_t)snprintf(out, sizeof(out), "%s[1,%d,%d,%d]", type, rows,
                            columns, channels * multiplier);
    for (int i = 0; i < rows * columns * channels * multiplier; i++) {
        int pixel = i / channels / multiplier;

        used += (size_t)snprintf(
            out + used, sizeof(out) - used, " %d",
            y_at(channels, multiplier, pixel / columns * stride,
                 pixel % columns * stride, i % (channels * multiplier)));
    }
    krig_check(&c);
}

static void test_every_number_of_channels(void **state)
{
    (void)state;
    for (int channels = 1; channels <= CHANNELS_MAX; channels++) {
        check("float", channels, 1, 1);
        if (channels < 40)
            check("double", channels, 1, 1);
    }
}

static void test_several_filters_and_strides(void **state)
{
    (void)state;
    for (int channels = 1; channels < 36; channels += 17) {
        check("float", channels, 2, 1);
        check("float", channels, 1, 2);
        check("double", channels, 2, 2);
    }
}

/* More taps than are written down. */
static void test_a_large_filter(void **state)
{
    static const struct krig_case cases[] = {
        {"DepthwiseConv2dNative",
         "strides=1,1,1,1 padding=VALID",
         {"float[1,12,11,33] 1", "float[12,11,33,1] 2"},
         {"float[1,1,1,33] 264"}},
        {"DepthwiseConv2dNative",
         "strides=1,1,1,1 padding=VALID",
         {"float[1,8,16,33] 1", "float[8,16,33,1] 2"},
         {"float[1,1,1,33] 256"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_refusals(void **state)
{
    static const struct krig_case cases[] = {
        {"DepthwiseConv2dNative",
         "strides=1,1,1,1 padding=VALID",
         {"float[1,2,2,3] 1", "float[1,1,2,1] 1"},
         {"!INVALID_ARGUMENT input and filter must have the same depth: 3 vs "
          "2"}},
        {"DepthwiseConv2dNative",
         "strides=1,1,1,1 padding=VALID",
         {"float[2,2,3] 1", "float[1,1,3,1] 1"},
         {"!INVALID_ARGUMENT input must be 4-dimensional"}},
        {"DepthwiseConv2dNative",
         "strides=1,1,1,1 padding=SAME",
         {"float[1,2,2,3] 1", "float[0,1,3,1]"},
         {"!INVALID_ARGUMENT filter must not have zero elements (i.e. all "
          "dimensions must be non-zero)"}},
        {"DepthwiseConv2dNative",
         "strides=1,1,1,1 padding=SAME",
         {"bfloat16[1,2,2,0]", "bfloat16[1,1,0,2]"},
         {"!INVALID_ARGUMENT filter must not have zero elements"}},
        {"DepthwiseConv2dNative",
         "strides=1,1,1,1 padding=SAME",
         {"double[1,2,2,3] 1", "double[1,1,3,0]"},
         {"double[1,2,2,0]"}},
        {"DepthwiseConv2dNative",
         "strides=2,1,1,1 padding=VALID",
         {"float[1,2,2,3] 1", "float[1,1,3,1] 1"},
         {"!INVALID_ARGUMENT strides in the batch and depth dimensions."}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_number_of_channels),
        cmocka_unit_test(test_several_filters_and_strides),
        cmocka_unit_test(test_a_large_filter),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("depthwise", tests, krig_setup,
                                       krig_teardown);
}
