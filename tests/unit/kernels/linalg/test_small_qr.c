/*
 * test_small_qr.c - linalg_small_qr.c: what Q and R are, of every small size,
 * and which matrices it leaves to LAPACK.
 */
#include "kernels/linalg/linalg_small.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SIDE TFD_LINALG_SMALL_MAX

static double a[SIDE * SIDE], q[SIDE * SIDE], r[SIDE * SIDE];

/* Any numbers, the same each time. */
static double number(int i)
{
    return sin(i * 12.9898 + 1) * 3;
}

static bool run_double(const struct tfd_linalg *l)
{
    return tfd_linalg_small_qr_double(l, a, q, r);
}

static bool run_float(const struct tfd_linalg *l)
{
    float a4[SIDE * SIDE], q4[SIDE * SIDE], r4[SIDE * SIDE];
    bool done;

    for (int i = 0; i < SIDE * SIDE; i++) {
        a4[i] = (float)a[i];
        a[i] = (double)a4[i];
        q4[i] = r4[i] = 0;
    }
    done = tfd_linalg_small_qr_float(l, a4, q4, r4);
    for (int i = 0; i < SIDE * SIDE; i++) {
        q[i] = (double)q4[i];
        r[i] = (double)r4[i];
    }
    return done;
}

/* Columns i and k of Q are at right angles, and have a length of 1. */
static void check_q(int m, int width, double error)
{
    for (int i = 0; i < width; i++)
        for (int k = 0; k < width; k++) {
            double sum = i == k ? -1 : 0;

            for (int j = 0; j < m; j++)
                sum += q[j * width + i] * q[j * width + k];
            assert_true(fabs(sum) < error);
        }
}

static void check_product(int m, int n, int width, double error)
{
    for (int i = 0; i < m; i++)
        for (int k = 0; k < n; k++) {
            double sum = -a[i * n + k];

            for (int j = 0; j < width; j++)
                sum += q[i * width + j] * r[j * n + k];
            assert_true(fabs(sum) < error);
        }
    for (int i = 0; i < width; i++)
        for (int k = 0; k < n && k < i; k++)
            assert_true(r[i * n + k] == 0);
}

/* With all columns of Q, and with as many as there are in A. */
static void check_both(int m, int n)
{
    for (int flag = 0; flag < 2; flag++) {
        const struct tfd_linalg l = {.rows = m, .columns = n, .flag = flag};
        const int width = flag || m < n ? m : n;

        assert_true(run_double(&l));
        check_q(m, width, 1e-14);
        check_product(m, n, width, 1e-13);
        assert_true(run_float(&l));
        check_q(m, width, 5e-6);
        check_product(m, n, width, 5e-5);
    }
}

static void test_every_size(void **state)
{
    (void)state;
    for (int m = 1; m <= SIDE; m++)
        for (int n = 1; n <= SIDE; n++) {
            for (int i = 0; i < m * n; i++)
                a[i] = number(i + m);
            check_both(m, n);
        }
}

/* A column of zeros, one that is nothing beside the others, two alike, ones
 * whose squares are no doubles. */
static void test_odd_columns(void **state)
{
    static const double factor[] = {0, 1e-200, 1e-160, 1e-40, 1};

    (void)state;
    for (int f = 0; f < (int)(sizeof(factor) / sizeof(*factor)); f++) {
        for (int i = 0; i < 12 * 9; i++)
            a[i] = i % 9 == 4 ? a[i - 1] * factor[f] : number(i);
        check_both(12, 9);
    }
}

/* As LAPACK has them: the diagonal of R is opposite to A's first column, and
 * what has nothing below it stays. */
static void test_signs(void **state)
{
    static const double given[] = {3, 1, 4, 2};
    static const double wanted[] = {-5, -2.2, 0, 0.4};
    const struct tfd_linalg l = {.rows = 2, .columns = 2};

    (void)state;
    memcpy(a, given, sizeof(given));
    assert_true(run_double(&l));
    for (int i = 0; i < 4; i++)
        assert_true(fabs(r[i] - wanted[i]) < 1e-14);
    memcpy(a, (const double[]){-2, 1, 0, -3}, 4 * sizeof(double));
    assert_true(run_double(&l));
    assert_true(r[0] == -2 && r[1] == 1 && r[2] == 0 && r[3] == -3);
    assert_true(q[0] == 1 && q[1] == 0 && q[2] == 0 && q[3] == 1);
}

static void test_left_to_others(void **state)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e200};
    const struct tfd_linalg l = {.rows = 3, .columns = 2};
    const struct tfd_linalg high = {.rows = SIDE + 1, .columns = 1};
    const struct tfd_linalg wide = {.rows = 1, .columns = SIDE + 1};

    (void)state;
    for (int f = 0; f < (int)(sizeof(bad) / sizeof(*bad)); f++)
        for (int i = 0; i < 6; i++) {
            for (int k = 0; k < 6; k++)
                a[k] = k == i ? bad[f] : number(k);
            assert_false(run_double(&l));
            assert_false(run_float(&l));
        }
    for (int k = 0; k < 6; k++)
        a[k] = 0;
    assert_false(run_double(&l));
    for (int k = 0; k < 6; k++)
        a[k] = 1e-300 * number(k);
    assert_false(run_double(&l));
    assert_false(run_float(&l));
    assert_false(run_double(&high));
    assert_false(run_double(&wide));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_size),
        cmocka_unit_test(test_odd_columns),
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_left_to_others),
    };

    return cmocka_run_group_tests_name("small QR", tests, NULL, NULL);
}
