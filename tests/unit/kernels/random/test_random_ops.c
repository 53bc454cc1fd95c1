/*
 * test_random_ops.c - random.c, random_shuffle.c, multinomial.c,
 * random_gamma.c, candidates.c: what TensorFlow draws (recorded from 2.21),
 * also when ranges come in pieces; and parameters at which TensorFlow draws for
 * ever or ends its process.
 */
#include "tests/support/kernel_rig.h"

#include "kernels/random/multinomial.h"

static void test_streams_are_those_of_tensorflow(void **state)
{
    static const struct krig_case cases[] = {
        {"RandomShuffle",
         "seed=3",
         {"int32[10] 0 1 2 3 4 5 6 7 8 9"},
         {"int32[10] 1 2 4 6 7 0 5 3 8 9"}},
        {"RandomShuffle", "seed=3", {"string[1,1] a"}, {"string[1,1] a"}},
        {"Multinomial",
         "seed=3",
         {"float[3,3] inf 0 0 -inf -inf -inf nan 0 1", "int32[] 5"},
         {"int64[3,5] 1 1 2 1 1 3 3 3 3 3 2 2 2 2 1"}},
        {"StatelessRandomGetKeyCounter",
         "",
         {"int64[2] 1 2"},
         {"uint64[1] 10413732777507651514",
          "uint64[2] 0 17830669156045600267"}},
        {"StatelessRandomGetKeyCounter",
         "",
         {"int32[2] 1 -2"},
         {"uint64[1] 6403228833514061428", "uint64[2] 0 1432497372691926344"}},
        {"StatelessRandomUniformV2",
         "",
         {"int32[1] 3", "uint64[1] 5", "uint64[2] 0 7", "int32[] 3"},
         {"float[3] 0.4474637508392334 0.620756983757019 0.2590693235397339"}},
        {"StatelessRandomGetAlg", "", {0}, {"int32[] 1"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_what_cannot_be_drawn_is_refused(void **state)
{
    static const struct krig_case cases[] = {
        {"RandomPoissonV2",
         "seed=3 dtype=float",
         {"int32[1] 2", "float[1] nan"},
         {"!INVALID_ARGUMENT no sample for the parameter nan"}},
        {"RandomPoissonV2",
         "seed=3 dtype=int32",
         {"int32[1] 1000", "double[2] 3 1e12"},
         {"!INVALID_ARGUMENT no sample for the parameter 1e+12 fits type "
          "int32"}},
        {"RandomPoissonV2",
         "seed=3 dtype=half",
         {"int32[1] 2", "double[] 1e6"},
         {"!INVALID_ARGUMENT no sample"}},
        {"RandomGamma",
         "seed=3",
         {"int32[1] -2", "float[] 1"},
         {"!INVALID_ARGUMENT Dimension -2 must be >= 0"}},
        {"RandomGamma",
         "seed=3",
         {"int32[8] 1", "float[1] 1"},
         {"!INVALID_ARGUMENT "}},
        {"StatelessRandomUniformV2",
         "",
         {"int32[1] 3", "uint64[1] 5", "uint64[1] 0", "int32[] 1"},
         {"!INVALID_ARGUMENT counter must be a vector with length at least 2"}},
        {"StatelessRandomUniformV2",
         "",
         {"int32[1] 3", "uint64[1] 5", "uint64[2] 0 7", "int32[] 2"},
         {"!INVALID_ARGUMENT Unsupported algorithm id: 2"}},
        {"StatelessRandomUniform",
         "",
         {"int32[1] 3", "int64[3] 1 2 3"},
         {"!INVALID_ARGUMENT seed must have shape [2], not [3]"}},
        {"Multinomial",
         "seed=3",
         {"float[2,0]", "int32[] 5"},
         {"!INVALID_ARGUMENT num_classes should be positive"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

/* Sums that stand still, as those of classes that are never drawn. */
static void test_a_class_is_the_first_with_a_larger_sum(void **state)
{
    enum { CLASSES = 70 };
    double sums[CLASSES];

    (void)state;
    for (int i = 0; i < CLASSES; i++)
        sums[i] = i % 3 == 1 ? sums[i - 1] : i;
    for (int64_t count = 1; count <= CLASSES; count++)
        for (double value = -1; value <= CLASSES; value += 0.5) {
            int64_t want = 0;

            while (want < count && !(sums[want] > value))
                want++;
            assert_int_equal(tfd_multinomial_find(sums, count, value), want);
        }
    assert_int_equal(tfd_multinomial_find(sums, CLASSES, NAN), CLASSES);
}

#define SAMPLES 20000

/* What SAMPLES samples are, of `counts` and `p`, which are one number or as
 * many numbers as there are samples. */
static void draw_binomial(const char *shape, const char *counts, const char *p,
                          int mode, double *out)
{
    static const struct krig_case c = {.op = "StatelessRandomBinomial",
                                       .attrs = "dtype=double"};

    krig.in_count = 4;
    krig.in[0] = krig_tensor(shape);
    krig.in[1] = krig_tensor("int32[2] 5 7");
    krig.in[2] = krig_tensor(counts);
    krig.in[3] = krig_tensor(p);
    assert_int_equal(krig_run(&c, mode), TFD_OK);
    for (int64_t i = 0; i < SAMPLES; i++)
        out[i] = krig_number(&krig.out[0], i, 0);
    krig_end();
}

/* Samples of one distribution go many at once, and those of as many as there
 * are samples one by one: both draw the same. */
static void test_binomial_samples_at_once_are_those_alone(void **state)
{
    static const char *const numbers[][2] = {
        {"40", "0.375"},     {"40", "0.625"},     {"20", "0.5"},
        {"100000", "0.001"}, {"1000000", "0.25"}, {"1e12", "0.3"},
        {"11", "0.9375"},    {"20.5", "0.5"},     {"1e18", "1e-10"},
        {"10", "0.3"},       {"64", "0.1875"},    {"31", "0.34"}};
    static double at_once[SAMPLES], alone[SAMPLES];
    char shape[64], counts[64], p[64];

    (void)state;
    sprintf(shape, "int32[1] %d", SAMPLES);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        for (int mode = 0; mode <= KRIG_PIECES; mode += KRIG_PIECES) {
            sprintf(counts, "double[%d] %s", SAMPLES, numbers[i][0]);
            sprintf(p, "double[%d] %s", SAMPLES, numbers[i][1]);
            draw_binomial(shape, counts, p, mode, alone);
            sprintf(counts, "double[] %s", numbers[i][0]);
            sprintf(p, "double[] %s", numbers[i][1]);
            draw_binomial(shape, counts, p, mode, at_once);
            for (int64_t j = 0; j < SAMPLES; j++)
                if (at_once[j] != alone[j])
                    fail_msg("%s %s, sample %d: %.17g, not %.17g",
                             numbers[i][0], numbers[i][1], (int)j, at_once[j],
                             alone[j]);
        }
}

/* Samples of ParameterizedTruncatedNormal in rows of 100.  A lower bound that
 * is a vector says that rows may differ, and they are drawn one after the
 * other; of one that is a scalar many are drawn at once, in runs of 100. */
static void draw_truncated(const char *const bounds[4], const char *type,
                           bool alone, int mode, double *out)
{
    struct krig_case c = {.op = "ParameterizedTruncatedNormal"};
    char text[8][64];

    sprintf(text[0], "seed=3 dtype=%s", type);
    c.attrs = text[0];
    krig.in_count = 5;
    krig.in[0] = krig_tensor("int32[2] 73 100");
    for (int i = 0; i < 4; i++) {
        sprintf(text[1 + i], "%s[%s] %s", type, i == 2 && alone ? "1" : "",
                bounds[i]);
        krig.in[1 + i] = krig_tensor(text[1 + i]);
    }
    assert_int_equal(krig_run(&c, mode), TFD_OK);
    for (int64_t i = 0; i < 7300; i++)
        out[i] = krig_number(&krig.out[0], i, 0);
    krig_end();
}

/* The same of the stateless op, in one run; `alone`: of the first of two
 * distributions that are alike. */
static void draw_stateless(const char *const bounds[4], const char *type,
                           bool alone, int mode, double *out)
{
    const struct krig_case c = {.op = "StatelessParameterizedTruncatedNormal",
                                .attrs = ""};
    char text[64];

    krig.in_count = 6;
    krig.in[0] = krig_tensor(alone ? "int32[2] 7301 2" : "int32[1] 7301");
    krig.in[1] = krig_tensor("int32[2] 5 7");
    for (int i = 0; i < 4; i++) {
        sprintf(text, "%s[%s] %s", type, i == 2 && alone ? "2" : "", bounds[i]);
        krig.in[2 + i] = krig_tensor(text);
    }
    assert_int_equal(krig_run(&c, mode), TFD_OK);
    for (int64_t i = 0; i < 7301; i++)
        out[i] = krig_number(&krig.out[0], alone ? 2 * i : i, 0);
    krig_end();
}

static void compare_samples(const double *got, const double *want, int64_t n,
                            const char *const bounds[4])
{
    for (int64_t i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("bounds %s %s, sample %d: %.17g, not %.17g", bounds[2],
                     bounds[3], (int)i, got[i], want[i]);
}

static void test_truncated_samples_at_once_are_those_alone(void **state)
{
    /* Normals, exponentials and uniforms, some mirrored; samples so far out
     * that they are no halves. */
    static const char *const bounds[][4] = {
        {"0", "1", "-1", "2"},     {"0.5", "2", "-inf", "1.5"},
        {"1", "3", "-200", "200"}, {"0", "1", "3", "4"},
        {"0", "1", "1", "inf"},    {"5", "0.25", "-inf", "3"},
        {"0", "1", "-0.5", "inf"}, {"0", "1", "-0.5", "0.5"},
        {"0", "1", "0.25", "inf"}, {"0", "1", "5", "5.1"},
        {"0", "1", "1e6", "inf"},  {"0", "1", "-1e-30", "2"}};
    static const char *const types[] = {"float", "double", "half"};
    static double at_once[7301], alone[7301];

    (void)state;
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
        for (int type = 0; type < (i == 10 ? 2 : 3); type++)
            for (int mode = 0; mode <= KRIG_PIECES; mode += KRIG_PIECES) {
                draw_truncated(bounds[i], types[type], false, mode, at_once);
                draw_truncated(bounds[i], types[type], true, mode, alone);
                compare_samples(at_once, alone, 7300, bounds[i]);
                draw_stateless(bounds[i], types[type], false, mode, at_once);
                draw_stateless(bounds[i], types[type], true, mode, alone);
                compare_samples(at_once, alone, 7301, bounds[i]);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams_are_those_of_tensorflow),
        cmocka_unit_test(test_what_cannot_be_drawn_is_refused),
        cmocka_unit_test(test_binomial_samples_at_once_are_those_alone),
        cmocka_unit_test(test_truncated_samples_at_once_are_those_alone),
        cmocka_unit_test(test_a_class_is_the_first_with_a_larger_sum),
    };

    return cmocka_run_group_tests_name("random_ops", tests, krig_setup,
                                       krig_teardown);
}
