/*
 * test_linalg.c - linalg.c and linalg_triangular.c: matrices whose results are
 * small integers, and that OpenBLAS stays on the thread that calls it, whatever
 * kernels a program has besides: its own threads would fight ours.
 */
#include "tests/support/kernel_rig.h"

#include "kernels/linalg/linalg_small.h"

#include <cblas.h>

#define TWICE "float[2,2,2] 4 2 2 5"

static const struct krig_case cases[] = {
    {"Cholesky", "", {TWICE}, {"float[2,2,2] 2 0 1 2"}},
    {"MatrixInverse",
     "adjoint=false",
     {"double[2,2] 2 1 1 1"},
     {"double[2,2] 1 -1 -1 2"}},
    {"MatrixSolve",
     "adjoint=false",
     {"double[2,2] 2 1 1 1", "double[2,1] 3 2"},
     {"double[2,1] 1 1"}},
    {"MatrixTriangularSolve",
     "lower=true adjoint=false",
     {"float[2,2] 2 7 1 2", "float[2,1] 2 3"},
     {"float[2,1] 1 1"}},
    {"MatrixDeterminant", "", {TWICE}, {"float[2] 16"}},
    {"LogMatrixDeterminant",
     "",
     {"double[2,2] 2 1 1 1"},
     {"double[] 1", "double[] 0"}},
    {"SelfAdjointEigV2",
     "compute_v=true",
     {"double[1,1] 2"},
     {"double[1] 2", "double[1,1] 1"}},
    {"Svd",
     "compute_uv=true full_matrices=false",
     {"double[1,1] 3"},
     {"double[1] 3", "double[1,1] 1", "double[1,1] 1"}},
};

static void test_results_and_threads(void **state)
{
    (void)state;
    for (int i = 0; i < TFD_COUNT(cases); i++) {
        openblas_set_num_threads(2);
        krig_check(&cases[i]);
        assert_int_equal(openblas_get_num_threads(), 1);
    }
}

static void test_refusals(void **state)
{
    static const struct krig_case bad[] = {
        {"MatrixInverse",
         "adjoint=false",
         {"double[2,2] 1 1 1 1"},
         {"!INVALID_ARGUMENT Input is not invertible."}},
        {"MatrixSolve",
         "adjoint=false",
         {"double[2,2] 1 1 1 1", "double[2,1] 3 2"},
         {"!INVALID_ARGUMENT Input matrix is not invertible."}},
        {"MatrixDeterminant",
         "",
         {"float[2,3] 1"},
         {"!INVALID_ARGUMENT must be square"}},
        {"MatrixInverse", "", {"float[3] 1"}, {"!INVALID_ARGUMENT"}},
    };

    (void)state;
    KRIG_CHECK(bad);
}

/* ---- Small systems ------------------------------------------------------- */

#define SIDE (TFD_LINALG_SMALL_MAX + 2)

static double a[2][SIDE * SIDE], b[2][SIDE * SIDE], x[2][SIDE * SIDE];
static float narrow_a[2][SIDE * SIDE], narrow_b[2][SIDE * SIDE];
static float narrow_x[2][SIDE * SIDE];

/* Any numbers, the same each time; zeros on the diagonal want pivots. */
static double number(int i)
{
    return sin(i * 12.9898 + 1) * 3;
}

static void make_matrices(int n, int k)
{
    for (int m = 0; m < 2; m++)
        for (int i = 0; i < n * (n > k ? n : k); i++) {
            ((double *)a)[m * n * n + i % (n * n)] =
                n > 1 && i % (n + 1) == 0 ? 0 : number(i % (n * n) + m * 7919);
            ((double *)b)[m * n * k + i % (n * k)] = number(i + 31 * m);
        }
    for (int i = 0; i < 2 * SIDE * SIDE; i++) {
        ((float *)narrow_a)[i] = (float)((double *)a)[i];
        ((float *)narrow_b)[i] = (float)((double *)b)[i];
    }
}

/* The largest |A X - B| of both matrices, X as double. */
static double residual(int n, int k, bool flag, bool inverse)
{
    double worst = 0;

    for (int m = 0; m < 2; m++)
        for (int i = 0; i < n * k; i++) {
            const double *of = (double *)a + m * n * n;
            double sum =
                inverse ? -(i / k == i % k) : -((double *)b)[m * n * k + i];

            for (int j = 0; j < n; j++)
                sum += (flag ? of[j * n + i / k] : of[i / k * n + j]) *
                       ((double *)x)[m * n * k + j * k + i % k];
            worst = fabs(sum) > worst ? fabs(sum) : worst;
        }
    return worst;
}

static void check_system(int n, int k, bool flag, bool inverse)
{
    struct tfd_linalg l = {.rows = n,
                           .columns = n,
                           .right = k,
                           .flag = flag,
                           .a = a,
                           .b = inverse ? NULL : b,
                           .out = {x}};
    const enum tfd_linalg_op op =
        inverse ? TFD_LINALG_INVERSE : TFD_LINALG_SOLVE;

    make_matrices(n, k);
    tfd_linalg_loop(op, TFD_DOUBLE)(&l, 0, 2);
    assert_int_equal(l.failed, TFD_LINALG_FINE);
    assert_true(residual(n, k, flag, inverse) < 1e-9);
    l.a = narrow_a;
    l.b = inverse ? NULL : narrow_b;
    l.out[0] = narrow_x;
    tfd_linalg_loop(op, TFD_FLOAT)(&l, 0, 2);
    assert_int_equal(l.failed, TFD_LINALG_FINE);
    for (int i = 0; i < 2 * n * k; i++)
        ((double *)x)[i] = (double)((float *)narrow_x)[i];
    assert_true(residual(n, k, flag, inverse) < 2e-2);
}

static void test_every_small_size(void **state)
{
    (void)state;
    for (int n = 1; n <= SIDE; n++)
        for (int flag = 0; flag < 2; flag++) {
            check_system(n, n, flag, true);
            for (int k = 1; k <= 9 && k <= SIDE; k += 4)
                check_system(n, k, flag, false);
            check_system(n, SIDE, flag, false);
        }
}

/* Determinant of the first n rows and columns, as a matrix of `size` rows that
 * is one of itself below; size above TFD_LINALG_SMALL_MAX: by LAPACK. */
static double determinant(enum tfd_linalg_op op, int n, int size, double *log)
{
    double *wide = (double *)b, det;
    struct tfd_linalg l = {.rows = size, .a = wide, .out = {&det, log}};

    for (int i = 0; i < size; i++)
        for (int k = 0; k < size; k++)
            wide[i * size + k] =
                i < n && k < n ? ((double *)a)[i * n + k] : (double)(i == k);
    tfd_linalg_loop(op, TFD_DOUBLE)(&l, 0, 1);
    return det;
}

static float narrow_determinant(int n)
{
    float det;
    struct tfd_linalg l = {.rows = n, .a = narrow_a, .out = {&det}};

    tfd_linalg_loop(TFD_LINALG_DET, TFD_FLOAT)(&l, 0, 1);
    return det;
}

static void check_determinant(int n)
{
    double log[2], none;
    const double want = determinant(TFD_LINALG_DET, n, SIDE, &none);
    const double got = determinant(TFD_LINALG_DET, n, n, &none);
    const double sign = determinant(TFD_LINALG_LOG_DET, n, n, &log[0]);

    assert_true(fabs(got - want) <= 1e-11 * fabs(want));
    assert_true(sign == determinant(TFD_LINALG_LOG_DET, n, SIDE, &log[1]));
    assert_true(!(fabs(log[0] - log[1]) > 1e-11));
    if (fabs(want) < 1e30)
        assert_true(fabs((double)narrow_determinant(n) - want) <=
                    1e-3 * fabs(want));
}

/* And of one with a row of zeros, or of what is no number. */
static void test_every_small_determinant(void **state)
{
    (void)state;
    for (int n = 1; n <= SIDE; n++) {
        make_matrices(n, 1);
        check_determinant(n);
    }
    make_matrices(7, 1);
    for (int i = 0; i < 7; i++)
        ((double *)a)[7 * 3 + i] = i == 2 ? NAN : 0;
    assert_true(isnan(determinant(TFD_LINALG_DET, 7, 7, (double[1]){0})));
    for (int i = 0; i < 7; i++)
        ((double *)a)[7 * 3 + i] = 0;
    assert_true(determinant(TFD_LINALG_DET, 7, 7, (double[1]){0}) == 0);
}

/* Also where LAPACK computes, of one more row. */
static void test_no_inverse(void **state)
{
    static const double bad[] = {0, NAN};

    (void)state;
    for (int n = 2; n <= SIDE; n++)
        for (int i = 0; i < TFD_COUNT(bad); i++) {
            struct tfd_linalg l = {
                .rows = n, .columns = n, .right = n, .a = a, .out = {x}};

            make_matrices(n, n);
            for (int j = 0; j < n; j++)
                ((double *)a)[n * n + j * n + n / 2] = bad[i];
            tfd_linalg_loop(TFD_LINALG_INVERSE, TFD_DOUBLE)(&l, 0, 2);
            assert_int_equal(l.failed, TFD_LINALG_SINGULAR);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_and_threads),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_every_small_size),
        cmocka_unit_test(test_every_small_determinant),
        cmocka_unit_test(test_no_inverse),
    };

    return cmocka_run_group_tests_name("linalg", tests, krig_setup,
                                       krig_teardown);
}
