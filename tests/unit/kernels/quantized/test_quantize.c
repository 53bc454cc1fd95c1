/*
 * test_quantize.c - numbers as integers of few bits, by hand, at lengths around
 * those of vectors and of the pieces that a row is taken in.
 */
#include "tests/support/kernel_rig.h"

#define TEXT 80

/* A shape `[%d]` in a text is of the length that is tested. */
static const struct krig_case rows[] = {
    {"QuantizeV2",
     "T=quint8 mode=MIN_COMBINED",
     {"float[%d] 0.4 1.6 -9 300 nan", "float[] 0", "float[] 255"},
     {"quint8[%d] 0 2 0 255 0", "float[] 0", "float[] 255"}},
    {"QuantizeV2",
     "T=qint8 mode=MIN_COMBINED",
     {"float[%d] -127.6 126.6 -999 300 nan", "float[] -128", "float[] 127"},
     {"qint8[%d] -128 127 -128 127 -128", "float[] -128", "float[] 127"}},
    {"QuantizeV2",
     "T=quint8 mode=MIN_FIRST",
     {"float[%d] 0.4 1.6 -9 300 254.5", "float[] 0", "float[] 255"},
     {"quint8[%d] 0 2 0 255 255", "float[] 0", "float[] 255"}},
    {"QuantizeV2",
     "T=qint8 mode=SCALED narrow_range=true",
     {"float[%d] 0.5 1.5 -2.5 300 nan", "float[] -127", "float[] 127"},
     {"qint8[%d] 1 2 -3 127 -128", "float[] -127", "float[] 127"}},
    {"QuantizeV2",
     "T=qint8 mode=SCALED narrow_range=true round_mode=HALF_TO_EVEN",
     {"float[%d] 0.5 1.5 -2.5 300 nan", "float[] -127", "float[] 127"},
     {"qint8[%d] 0 2 -2 127 0", "float[] -127", "float[] 127"}},
    {"QuantizeAndDequantizeV2",
     "range_given=true",
     {"float[%d] 0.5 1.5 -2.5 300 nan", "float[] -128", "float[] 127"},
     {"float[%d] 0 2 -2 127 nan"}},
    {"QuantizeAndDequantizeV2",
     "range_given=true round_mode=HALF_UP",
     {"double[%d] 0.5 1.5 -2.5 300 nan", "double[] -128", "double[] 127"},
     {"double[%d] 1 2 -2 127 nan"}},
    {"QuantizeAndDequantizeV4Grad",
     "",
     {"float[%d] 1 2 3 4 5", "float[%d] -6 -6.5 6 6.5 nan", "float[] -6",
      "float[] 6"},
     {"float[%d] 1 0 3 0 0", "float[] 0", "float[] 0"}},
    {"UniformQuantize",
     "Tin=float Tout=qint8 quantization_min_val=-128 quantization_max_val=127",
     {"float[%d] 0.4 -9 100 -100 -0.3", "float[] 0.5", "int32[] 3"},
     {"qint8[%d] 4 -15 127 -128 2"}},
};

/* The text with the length in the place of %d. */
static void write_length(char *to, const char *text, int n)
{
    const char *at = strstr(text, "%d");

    if (at)
        snprintf(to, TEXT, "%.*s%d%s", (int)(at - text), text, n, at + 2);
    else
        snprintf(to, TEXT, "%s", text);
}

static void check_length(const struct krig_case *row, int n)
{
    static char text[KRIG_IN_MAX + KRIG_OUT_MAX][TEXT];
    struct krig_case one = *row;

    for (int i = 0; i < KRIG_IN_MAX && row->in[i]; i++) {
        write_length(text[i], row->in[i], n);
        one.in[i] = text[i];
    }
    for (int i = 0; i < KRIG_OUT_MAX && row->out[i]; i++) {
        write_length(text[KRIG_IN_MAX + i], row->out[i], n);
        one.out[i] = text[KRIG_IN_MAX + i];
    }
    krig_check(&one);
}

static void test_lengths(void **state)
{
    static const int lengths[] = {1023, 1024, 1025, 2049};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int n = 0; n < 70; n++)
            check_length(&rows[i], n);
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
            check_length(&rows[i], lengths[l]);
    }
}

/* The range is that of the numbers, NaN apart, wherever its ends stand. */
static void test_own_range(void **state)
{
    char in[TEXT], out[TEXT];
    const struct krig_case one = {"QuantizeAndDequantizeV2",
                                  "narrow_range=true",
                                  {in, "float[] 0", "float[] 0"},
                                  {out}};

    (void)state;
    for (int n = 2; n < 140; n++) {
        snprintf(in, sizeof(in), "float[%d] 127 -127 0.4 nan 63.5", n);
        snprintf(out, sizeof(out), "float[%d] 127 -127 0 nan 64", n);
        krig_check(&one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_own_range),
    };

    return cmocka_run_group_tests_name("quantize", tests, krig_setup,
                                       krig_teardown);
}
