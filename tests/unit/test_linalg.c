/*
 * test_linalg.c - linalg.c and linalg_triangular.c: matrices whose results are
 * small integers, and that OpenBLAS stays on the thread that calls it, whatever
 * kernels a program has besides: its own threads would fight ours.
 */
#include "tests/support/kernel_rig.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_and_threads),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("linalg", tests, krig_setup,
                                       krig_teardown);
}
