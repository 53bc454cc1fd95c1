/*
 * test_depthwise.c - depthwise.c and its loops: every number of channels around
 * what is added up at once, and pixels at each edge, against plain loops over
 * small integers; so are both gradients.
 */
#include "tests/unit/kernels/judge.h"
#include "tests/support/kernel_rig.h"

#define ROWS 3
#define COLUMNS_MAX 200
#define CHANNELS_MAX 70
#define X "-3 -2 -1 0 1 2 3" /* again and again */
#define W "-2 -1 0 1 2"

/* Of x: between the edges twice four pixels, and one. */
static int columns_in = 11;

static int x_at(int channels, int row, int column, int c)
{
    if (row < 0 || row >= ROWS || column < 0 || column >= columns_in)
        return 0;
    return ((row * columns_in + column) * channels + c) % 7 - 3;
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
    static char out[ROWS * COLUMNS_MAX * CHANNELS_MAX * 2 * 5 + 80];
    const int rows = (ROWS - 1) / stride + 1;
    const int columns = (columns_in - 1) / stride + 1;
    const struct krig_case c = {
        "DepthwiseConv2dNative", attrs, {in, filter}, {out}};
    size_t used;

    snprintf(attrs, sizeof(attrs), "strides=1,%d,%d,1 padding=SAME", stride,
             stride);
    snprintf(in, sizeof(in), "%s[1,%d,%d,%d] " X, type, ROWS, columns_in,
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
        check("bfloat16", channels, 1, 1);
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
        check("bfloat16", channels, 1, 2);
        check("bfloat16", channels, 2, 1);
        check("double", channels, 2, 2);
    }
}

/* Taps are not asked for anew at each pixel. */
static void test_rows_of_many_pixels(void **state)
{
    static const int columns[] = {61, 62, 63, 64,  65,  66,  67,  68,
                                  69, 70, 71, 127, 130, 133, 134, COLUMNS_MAX};
    const int before = columns_in;

    (void)state;
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        columns_in = columns[i];
        /* With two, rows of even length begin without a border. */
        for (int stride = 1; stride <= 1 + columns[i] % 2; stride++) {
            check("float", 33, 1, stride);
            check("bfloat16", 33, 1, stride);
        }
    }
    columns_in = before;
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

/* ---- Gradients ----------------------------------------------------------- */

/* Of y = x * w with SAME padding, or so much on each side. */
struct sizes {
    const char *type;
    int batch, rows, columns, channels, multiplier, size, stride, dilation;
    int padding;
};

struct side {
    int in, out, before;
};

JUDGE static struct side side_of(int in, const struct sizes *s)
{
    const int window = (s->size - 1) * s->dilation + 1;
    struct side side = {in, (in + s->stride - 1) / s->stride, 0};
    const int padding = (side.out - 1) * s->stride + window - in;

    side.before = padding > 0 ? padding / 2 : 0;
    if (s->padding) {
        side.before = s->padding;
        side.out = (in + 2 * s->padding - window) / s->stride + 1;
    }
    return side;
}

#define VALUES_MAX 20000

static int dx[VALUES_MAX], dw[VALUES_MAX], product[VALUES_MAX];

/* From x and w as X and W give them, and from dy as W does. */
JUDGE static void plain_loops(const struct sizes *s)
{
    const struct side row = side_of(s->rows, s);
    const struct side column = side_of(s->columns, s);
    const int all = s->channels * s->multiplier;
    const int pixels = row.out * column.out;

    memset(dx, 0, sizeof(dx));
    memset(dw, 0, sizeof(dw));
    memset(product, 0, sizeof(product));
    for (int i = 0; i < s->batch * pixels * s->size * s->size * all; i++) {
        const int c = i % all, tap = i / all % (s->size * s->size);
        const int pixel = i / all / s->size / s->size;
        const int y = pixel % pixels / column.out * s->stride - row.before +
                      tap / s->size * s->dilation;
        const int x = pixel % column.out * s->stride - column.before +
                      tap % s->size * s->dilation;
        const int at =
            ((pixel / pixels * s->rows + y) * s->columns + x) * s->channels +
            c / s->multiplier;
        const int dy = (pixel * all + c) % 5 - 2;
        const int by = (tap * all + c) % 5 - 2;

        if (y < 0 || y >= s->rows || x < 0 || x >= s->columns)
            continue;
        dx[at] += dy * by;
        dw[tap * all + c] += dy * (at % 7 - 3);
        product[pixel * all + c] += by * (at % 7 - 3);
    }
}

static void put_values(char *to, size_t room, const char *shape,
                       const int *value, int count)
{
    size_t used = (size_t)snprintf(to, room, "%s", shape);

    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(to + used, room - used, " %d", value[i]);
    assert_true(used < room);
}

static void put_attrs(char *to, size_t room, const struct sizes *s)
{
    const int used =
        snprintf(to, room, "strides=1,%d,%d,1 dilations=1,%d,%d,1 ", s->stride,
                 s->stride, s->dilation, s->dilation);

    if (s->padding)
        snprintf(to + used, room - (size_t)used,
                 "padding=EXPLICIT explicit_paddings=0,0,%d,%d,%d,%d,0,0",
                 s->padding, s->padding, s->padding, s->padding);
    else
        snprintf(to + used, room - (size_t)used, "padding=SAME");
}

/* What cases are made of. */
struct texts {
    char attrs[140], x[80], w[80], dy[80], x_shape[40], w_shape[40];
    char y_shape[40], x_sizes[60], w_sizes[60], want[VALUES_MAX * 6];
};

static void put_texts(const struct sizes *s, struct texts *t)
{
    put_attrs(t->attrs, sizeof(t->attrs), s);
    snprintf(t->x_shape, sizeof(t->x_shape), "%s[%d,%d,%d,%d]", s->type,
             s->batch, s->rows, s->columns, s->channels);
    snprintf(t->w_shape, sizeof(t->w_shape), "%s[%d,%d,%d,%d]", s->type,
             s->size, s->size, s->channels, s->multiplier);
    snprintf(t->y_shape, sizeof(t->y_shape), "%s[%d,%d,%d,%d]", s->type,
             s->batch, side_of(s->rows, s).out, side_of(s->columns, s).out,
             s->channels * s->multiplier);
    snprintf(t->x, sizeof(t->x), "%s " X, t->x_shape);
    snprintf(t->w, sizeof(t->w), "%s " W, t->w_shape);
    snprintf(t->dy, sizeof(t->dy), "%s " W, t->y_shape);
    snprintf(t->x_sizes, sizeof(t->x_sizes), "int32[4] %d %d %d %d", s->batch,
             s->rows, s->columns, s->channels);
    snprintf(t->w_sizes, sizeof(t->w_sizes), "int32[4] %d %d %d %d", s->size,
             s->size, s->channels, s->multiplier);
}

static void check_gradients(const struct sizes *s)
{
    static struct texts t;
    static const struct krig_case cases[] = {
        {"DepthwiseConv2dNativeBackpropInput",
         t.attrs,
         {t.x_sizes, t.w, t.dy},
         {t.want}},
        {"DepthwiseConv2dNativeBackpropFilter",
         t.attrs,
         {t.x, t.w_sizes, t.dy},
         {t.want}},
        {"DepthwiseConv2dNative", t.attrs, {t.x, t.w}, {t.want}},
    };
    const int xs = s->batch * s->rows * s->columns * s->channels;
    const int ws = s->size * s->size * s->channels * s->multiplier;
    const int ys = s->batch * side_of(s->rows, s).out *
                   side_of(s->columns, s).out * s->channels * s->multiplier;

    assert_true(xs <= VALUES_MAX && ws <= VALUES_MAX && ys <= VALUES_MAX);
    put_texts(s, &t);
    plain_loops(s);
    put_values(t.want, sizeof(t.want), t.x_shape, dx, xs);
    krig_check(&cases[0]);
    put_values(t.want, sizeof(t.want), t.w_shape, dw, ws);
    krig_check(&cases[1]);
    put_values(t.want, sizeof(t.want), t.y_shape, product, ys);
    krig_check(&cases[2]);
}

static void test_gradients_of_every_number_of_channels(void **state)
{
    (void)state;
    for (int channels = 1; channels <= CHANNELS_MAX; channels++) {
        check_gradients(
            &(struct sizes){"float", 2, 3, 5, channels, 1, 3, 1, 1, 0});
        check_gradients(
            &(struct sizes){"bfloat16", 2, 3, 5, channels, 1, 3, 1, 1, 0});
        if (channels < 20)
            check_gradients(
                &(struct sizes){"double", 1, 4, 6, channels, 1, 3, 1, 1, 0});
    }
}

static void test_gradients_of_every_window(void **state)
{
    (void)state;
    for (int size = 1; size <= 7; size++)
        for (int stride = 1; stride <= 3; stride++)
            for (int dilation = 1; dilation <= (stride == 1 ? 3 : 1);
                 dilation++)
                for (int columns = 1; columns <= 9; columns += 2) {
                    check_gradients(&(struct sizes){"float", 1, 5, columns, 21,
                                                    1, size, stride, dilation,
                                                    0});
                    check_gradients(&(struct sizes){"bfloat16", 1, 3, columns,
                                                    33, 1, size, stride,
                                                    dilation, 0});
                }
}

/* Of which many have the same taps: those at the end are summed twice. */
static void test_gradients_of_long_rows(void **state)
{
    (void)state;
    for (int columns = 4; columns < 80; columns++) {
        check_gradients(
            &(struct sizes){"bfloat16", 1, 3, columns, 33, 1, 3, 1, 1, 0});
        check_gradients(
            &(struct sizes){"bfloat16", 1, 2, columns, 32, 1, 2, 1, 1, 0});
        check_gradients(
            &(struct sizes){"float", 1, 2, columns, 17, 1, 3, 1, 1, 1});
    }
}

/* At the borders no tap of a window meets x. */
static void test_windows_in_the_padding(void **state)
{
    static const char *const types[] = {"float", "bfloat16"};

    (void)state;
    for (int i = 0; i < TFD_COUNT(types); i++)
        for (int size = 1; size <= 3; size++)
            for (int stride = 1; stride <= 3; stride++)
                for (int channels = 1; channels <= 49; channels += 16)
                    for (int padding = size; padding <= size + 5; padding++)
                        check_gradients(&(struct sizes){types[i], 1, 3, 7,
                                                        channels, 1, size,
                                                        stride, 1, padding});
    for (int multiplier = 1; multiplier <= 2; multiplier++)
        check_gradients(
            &(struct sizes){"float", 2, 1, 1, 17, multiplier, 3, 1, 2, 9});
}

/* Rows that are added up in parts, several filters a channel, and more taps
 * than are written down. */
static void test_gradients_of_other_sizes(void **state)
{
    static const struct sizes sizes[] = {
        {"float", 1, 16, 4, 5, 1, 3, 1, 1, 0},
        {"float", 3, 37, 5, 17, 1, 3, 1, 1, 0},
        {"double", 2, 130, 3, 9, 1, 3, 2, 1, 0},
        {"float", 2, 5, 4, 3, 2, 3, 1, 1, 0},
        {"double", 1, 5, 4, 3, 3, 2, 2, 1, 0},
        {"float", 1, 12, 12, 5, 1, 12, 1, 1, 0},
    };

    (void)state;
    for (int i = 0; i < TFD_COUNT(sizes); i++)
        check_gradients(&sizes[i]);
}

static void test_gradients_refused(void **state)
{
    static const struct krig_case cases[] = {
        {"DepthwiseConv2dNativeBackpropInput",
         "strides=1,1,1,1 padding=SAME",
         {"int32[4] 1 2 2 3", "float[1,1,2,1] 1", "float[1,2,2,3] 1"},
         {"!INVALID_ARGUMENT input and filter must have the same in_depth"}},
        {"DepthwiseConv2dNativeBackpropInput",
         "strides=1,1,1,1 padding=SAME",
         {"int32[4] 1 2 -2 3", "float[1,1,3,1] 1", "float[1,2,2,3] 1"},
         {"!INVALID_ARGUMENT Dimension 2 of input_sizes must be >= 0"}},
        {"DepthwiseConv2dNativeBackpropFilter",
         "strides=1,1,1,1 padding=SAME",
         {"float[1,2,2,3] 1", "int32[4] 1 1 3 1", "float[2,2,2,3] 1"},
         {"!INVALID_ARGUMENT input and out_backprop must have the same batch"}},
        {"DepthwiseConv2dNativeBackpropFilter",
         "strides=1,1,1,1 padding=SAME",
         {"float[1,2,2,3] 1", "int32[4] 1 1 3 1", "float[1,3,2,3] 1"},
         {"!INVALID_ARGUMENT Number of rows of out_backprop doesn't match "
          "computed: actual = 3, computed = 2"}},
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
        cmocka_unit_test(test_rows_of_many_pixels),
        cmocka_unit_test(test_a_large_filter),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_gradients_of_every_number_of_channels),
        cmocka_unit_test(test_gradients_of_every_window),
        cmocka_unit_test(test_gradients_of_long_rows),
        cmocka_unit_test(test_windows_in_the_padding),
        cmocka_unit_test(test_gradients_of_other_sizes),
        cmocka_unit_test(test_gradients_refused),
    };

    return cmocka_run_group_tests_name("depthwise", tests, krig_setup,
                                       krig_teardown);
}
