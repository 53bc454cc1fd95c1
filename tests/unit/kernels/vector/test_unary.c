/*
 * test_unary.c - unary.c, math.c, unary_grad.c, and the functions of
 * vector_math.h, vector_functions.h, vector_trig.h, vector_double.h and
 * vector_pieces.h against the C library.
 */
#include "kernels/vector/vector_double.h"
#include "kernels/vector/vector_pieces.h"
#include "kernels/vector/vector_trig.h"
#include "tests/support/kernel_rig.h"

#include <float.h>

static void test_arithmetic(void **state)
{
    static const struct krig_case cases[] = {
        {"Neg", "", {"int8[3] -128 5 0"}, {"int8[3] -128 -5 0"}},
        {"Neg", "", {"half[2] 1.5 nan"}, {"half[2] -1.5 nan"}},
        {"Abs", "", {"int32[2] -2147483648 -7"}, {"int32[2] -2147483648 7"}},
        {"Abs", "", {"float[3] -inf -0 nan"}, {"float[3] inf 0 nan"}},
        {"Sign", "", {"float[4] -3 0 2 nan"}, {"float[4] -1 0 1 nan"}},
        {"Sign", "", {"int64[3] -3 0 2"}, {"int64[3] -1 0 1"}},
        {"Sign", "", {"complex64[2] 3,4 0,0"}, {"complex64[2] 0.6,0.8 0,0"}},
        {"Square", "", {"int16[1] 300"}, {"int16[1] 24464"}},
        {"Square", "", {"complex64[1] 1,2"}, {"complex64[1] -3,4"}},
        {"Square", "", {"uint16[1] 65535"}, {"uint16[1] 1"}},
        {"Reciprocal", "", {"float[3] 4 0 -inf"}, {"float[3] 0.25 inf -0"}},
        {"Inv", "", {"complex128[1] 3,4"}, {"complex128[1] 0.12,-0.16"}},
        {"Conj", "", {"complex64[1] 3,4"}, {"complex64[1] 3,-4"}},
        {"Floor", "", {"float[3] 1.5 -1.5 inf"}, {"float[3] 1 -2 inf"}},
        {"Ceil", "", {"double[2] 1.5 -1.5"}, {"double[2] 2 -1"}},
        {"Round", "", {"float[4] 0.5 1.5 2.5 -2.5"}, {"float[4] 0 2 2 -2"}},
        {"Round", "", {"int32[2] 3 -4"}, {"int32[2] 3 -4"}},
        {"Rint", "", {"double[2] 2.5 3.5"}, {"double[2] 2 4"}},
        {"IsFinite", "", {"float[4] 1 inf -inf nan"}, {"bool[4] 1 0 0 0"}},
        {"IsInf", "", {"half[4] 1 inf -inf nan"}, {"bool[4] 0 1 1 0"}},
        {"IsNan", "", {"bfloat16[4] 1 inf -inf nan"}, {"bool[4] 0 0 0 1"}},
        {"Neg", "", {"float[0]"}, {"float[0]"}},
        {"Neg", "", {"float[3000] 1 2"}, {"float[3000] -1 -2"}},
        {"Neg", "", {"uint8[1] 1"}, {"!INVALID_ARGUMENT T"}},
        {"Reciprocal", "", {"int32[1] 1"}, {"!NOT_FOUND no kernel"}},
        {"Rint", "", {"half[1] 1"}, {"!NOT_FOUND no kernel"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_functions(void **state)
{
    static const struct krig_case cases[] = {
        {"Sqrt", "", {"float[4] 4 0 -1 inf"}, {"float[4] 2 0 nan inf"}},
        {"Rsqrt", "", {"double[3] 4 0 inf"}, {"double[3] 0.5 inf 0"}},
        {"Exp",
         "",
         {"float[4] 1 -inf 1000 nan"},
         {"float[4] 2.718281828 0 inf nan"}},
        {"Log",
         "",
         {"float[5] 2.718281828 0 -1 inf nan"},
         {"float[5] 1 -inf nan inf nan"}},
        {"Log1p", "", {"float[2] 1e-6 -1"}, {"float[2] 9.999995e-7 -inf"}},
        {"Sigmoid",
         "",
         {"float[4] 0 1000 -1000 2"},
         {"float[4] 0.5 1 0 0.880797078"}},
        {"Tanh", "", {"half[3] 0.5 inf -inf"}, {"half[3] 0.4621171573 1 -1"}},
        {"Sin", "", {"double[2] 0.5 inf"}, {"double[2] 0.479425538604203 nan"}},
        {"Cos", "", {"bfloat16[1] 0.5"}, {"bfloat16[1] 0.87758256"}},
        {"Erf", "", {"float[2] 0.5 inf"}, {"float[2] 0.5204998778 1"}},
        {"Exp",
         "",
         {"complex64[1] 1,2"},
         {"complex64[1] -1.1312043838,2.4717266720"}},
        {"Log1p", "", {"complex64[1] 1e-6,0"}, {"complex64[1] 9.999995e-7,0"}},
        {"Tanh",
         "",
         {"complex128[1] 1,2"},
         {"complex128[1] 1.16673625724092,-0.243458201185725"}},
        {"Erf", "", {"complex64[1] 1,2"}, {"!INVALID_ARGUMENT T"}},
        {"Exp", "", {"int32[1] 1"}, {"!INVALID_ARGUMENT T"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_parts_of_gradients(void **state)
{
    static const struct krig_case cases[] = {
        {"SigmoidGrad",
         "",
         {"float[2] 0.5 2", "float[2] 1 2"},
         {"float[2] 0.25 -4"}},
        {"TanhGrad",
         "",
         {"float[2] 0.5 2", "float[2] 1 2"},
         {"float[2] 0.75 -6"}},
        {"SqrtGrad",
         "",
         {"double[2] 0.5 2", "double[2] 1 2"},
         {"double[2] 1 0.5"}},
        {"RsqrtGrad",
         "",
         {"half[2] 0.5 2", "half[2] 1 2"},
         {"half[2] -0.0625 -8"}},
        {"ReciprocalGrad",
         "",
         {"float[2] 0.5 2", "float[2] 1 2"},
         {"float[2] -0.25 -8"}},
        {"InvGrad",
         "",
         {"complex64[1] 0,1", "complex64[1] 1,0"},
         {"complex64[1] 1,0"}},
        {"SigmoidGrad",
         "",
         {"float[2] 1", "float[3] 1"},
         {"!INVALID_ARGUMENT The two arguments to a cwise op must have same "
          "number of elements, got 2 and 3"}},
        {"TanhGrad",
         "",
         {"float[2] 1", "float[] 1"},
         {"!INVALID_ARGUMENT got 2 and 1"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

/* In units in the last place of the exact result. */
static double error_of(float value, double exact)
{
    int exponent;

    if (isnan(exact) || isinf((float)exact) || exact == 0)
        return (isnan(exact) && isnan(value)) || value == (float)exact ? 0 : 99;
    frexp(exact, &exponent);
    if (exponent < -125) /* not a normal number: may be 0 */
        return fabs((double)value - exact) <= 1.2e-38 ? 0 : 99;
    return fabs((double)value - exact) / ldexp(1, exponent - 24);
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static double reciprocal_root(double x)
{
    return 1 / sqrt(x);
}

static float erf_by_pieces(float x)
{
    return tfd_piecewise(&tfd_erf_pieces, x);
}

static float tanh_by_pieces(float x)
{
    return tfd_piecewise(&tfd_tanh_pieces, x);
}

/* Functions of two numbers, one of them held. */
#define HOLDING(name, fast_, exact_)     \
    static float name##_fast(float x)    \
    {                                    \
        return fast_;                    \
    }                                    \
    static double name##_exact(double x) \
    {                                    \
        return exact_;                   \
    }

HOLDING(cube, tfd_vector_pow(x, -3), pow(x, -3))
HOLDING(root, tfd_vector_pow(x, 0.7f), pow(x, (double)0.7f))
HOLDING(base, tfd_vector_pow(-1.0001f, x), pow((double)-1.0001f, x))
HOLDING(first, tfd_vector_atan2(x, -0.77f), atan2(x, (double)-0.77f))
HOLDING(second, tfd_vector_atan2(2.5f, x), atan2(2.5, x))

static void test_vector_functions_are_near_the_library(void **state)
{
    static const struct {
        const char *name;
        float (*fast)(float);
        double (*exact)(double);
        double most; /* units in the last place */
    } functions[] = {
        {"exp", tfd_vector_exp, exp, 3},
        {"log", tfd_vector_log, log, 3},
        {"tanh", tfd_vector_tanh, tanh, 3},
        {"logistic", tfd_vector_logistic, logistic, 3},
        {"erf", erf_by_pieces, erf, 2},
        {"tanh", tanh_by_pieces, tanh, 2},
        {"log1p", tfd_vector_log1p, log1p, 2},
        {"expm1", tfd_vector_expm1, expm1, 2},
        {"sinh", tfd_vector_sinh, sinh, 3},
        {"cosh", tfd_vector_cosh, cosh, 3},
        {"atan", tfd_vector_atan, atan, 2},
        {"rsqrt", tfd_rsqrt_any, reciprocal_root, 2},
        {"sin", tfd_sin_any, sin, 2},
        {"cos", tfd_cos_any, cos, 2},
        {"tan", tfd_tan_any, tan, 1},
        {"asin", tfd_vector_asin, asin, 3},
        {"acos", tfd_vector_acos, acos, 2.2},
        {"atanh", tfd_vector_atanh, atanh, 2},
        {"asinh", tfd_vector_asinh, asinh, 1},
        {"acosh", tfd_vector_acosh, acosh, 1},
        {"erfc", tfd_vector_erfc, erfc, 4},
        {"pow(x, -3)", cube_fast, cube_exact, 1},
        {"pow(x, 0.7)", root_fast, root_exact, 1},
        {"pow(-1.0001, x)", base_fast, base_exact, 1},
        {"atan2(x, -0.77)", first_fast, first_exact, 2},
        {"atan2(2.5, x)", second_fast, second_exact, 2},
    };

    (void)state;
    for (size_t f = 0; f < sizeof(functions) / sizeof(functions[0]); f++)
        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 8009) {
            float x = tfd_half_float_of((uint32_t)bits);
            double error =
                error_of(functions[f].fast(x), functions[f].exact((double)x));

            if (error > functions[f].most)
                fail_msg("%s(%.9g) is %.9g, not %.9g", functions[f].name,
                         (double)x, (double)functions[f].fast(x),
                         functions[f].exact((double)x));
        }
}

static void test_vector_functions_of_specials(void **state)
{
    static const float in[] = {0,       -0.0f,   INFINITY, -INFINITY,
                               NAN,     1,       -1,       1e-45f,
                               -1e-45f, FLT_MAX, -FLT_MAX, -1.001f};
    static const struct {
        const char *name;
        float (*fast)(float);
        float (*exact)(float);
    } functions[] = {
        {"erf", erf_by_pieces, erff},
        {"tanh", tanh_by_pieces, tanhf},
        {"log1p", tfd_vector_log1p, log1pf},
        {"expm1", tfd_vector_expm1, expm1f},
        {"sinh", tfd_vector_sinh, sinhf},
        {"cosh", tfd_vector_cosh, coshf},
        {"atan", tfd_vector_atan, atanf},
        {"sin", tfd_sin_any, sinf},
        {"cos", tfd_cos_any, cosf},
        {"tan", tfd_tan_any, tanf},
        {"asin", tfd_vector_asin, asinf},
        {"acos", tfd_vector_acos, acosf},
        {"asinh", tfd_vector_asinh, asinhf},
        {"acosh", tfd_vector_acosh, acoshf},
        {"atanh", tfd_vector_atanh, atanhf},
        {"erfc", tfd_vector_erfc, erfcf},
    };

    (void)state;
    for (size_t f = 0; f < sizeof(functions) / sizeof(functions[0]); f++)
        for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
            float y = functions[f].fast(in[i]),
                  want = functions[f].exact(in[i]);

            if (error_of(y, (double)want) > 3 ||
                (!isnan(want) && signbit(y) != signbit(want)))
                fail_msg("%s(%.9g) is %.9g, not %.9g", functions[f].name,
                         (double)in[i], (double)y, (double)want);
        }
}

/* Each set of instructions that this machine has computes the plain bits. */
static void check_pieces(const struct tfd_pieces *p, uint32_t first)
{
    enum { COUNT = 67 };
    float a[COUNT], plain[COUNT], y[COUNT];
    const struct tfd_row want = {.a = a, .y = plain}, row = {.a = a, .y = y};

    for (uint32_t i = 0; i < COUNT; i++)
        a[i] = tfd_half_float_of(first + i * 99991);
    tfd_pieces_plain(p, &want, 0, COUNT);
    tfd_pieces_loop(p, &row, 0, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_true(isnan(a[i]) ? isnan(y[i]) : y[i] == plain[i]);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        tfd_pieces_avx2(p, &row, 0, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_true(isnan(a[i]) ? isnan(y[i]) : y[i] == plain[i]);
#endif
}

static void test_pieces_of_every_instruction_set(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 3000017) {
        check_pieces(&tfd_erf_pieces, (uint32_t)bits);
        check_pieces(&tfd_tanh_pieces, (uint32_t)bits);
    }
}

/* Every pair of numbers that a rule of powf() or atan2f() speaks of. */
static void test_pairs_of_specials(void **state)
{
    static const float in[] = {
        0, -0.0f, INFINITY, -INFINITY, NAN,   1,      -1,       2,      -2,
        3, -3,    0.5f,     -0.5f,     1e30f, -1e30f, 16777215, 1e-45f, -7.5f};

    (void)state;
    for (size_t i = 0; i < TFD_COUNT(in); i++)
        for (size_t j = 0; j < TFD_COUNT(in); j++) {
            float x = in[i], z = in[j];
            const float got[] = {tfd_vector_pow(x, z), tfd_vector_atan2(x, z)};
            const float want[] = {powf(x, z), atan2f(x, z)};

            for (int f = 0; f < 2; f++)
                if (error_of(got[f], (double)want[f]) > 2 ||
                    (!isnan(want[f]) && signbit(got[f]) != signbit(want[f])))
                    fail_msg("%s(%g, %g) is %g, not %g", f ? "atan2" : "pow",
                             (double)x, (double)z, (double)got[f],
                             (double)want[f]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_parts_of_gradients),
        cmocka_unit_test(test_vector_functions_are_near_the_library),
        cmocka_unit_test(test_vector_functions_of_specials),
        cmocka_unit_test(test_pairs_of_specials),
        cmocka_unit_test(test_pieces_of_every_instruction_set),
    };

    return cmocka_run_group_tests_name("unary", tests, krig_setup,
                                       krig_teardown);
}
