/*
 * test_schur.c - schur.h: values and vectors fulfil A v = v w, roots squared
 * are A, of every small size; what is left to LAPACK.
 */
#include "kernels/linalg/schur/schur.h"

#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SIDE TFD_SCHUR_MAX

typedef double _Complex number;

static struct tfd_schur s;
static number a[SIDE][SIDE];

static number get(const tfd_complex128 *x)
{
    number y;

    memcpy(&y, x, sizeof(y));
    return y;
}

/* Any numbers, the same each time; `own` is added on the diagonal. */
static void fill(int n, enum tfd_schur_want want, double scale, double own)
{
    tfd_schur_clear(&s, n, want);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            tfd_complex128 *at = &s.t[i * s.stride + j];

            at->re = scale * (sin((i * n + j) * 12.9898 + n) + own * (i == j));
            at->im = scale * cos((i * n + j) * 4.1414);
            a[i][j] = get(at);
        }
}

/* NaN if one is. */
static double larger_of(double x, double y)
{
    return x != x || y <= x ? x : y;
}

/* The largest |A v - v w| of pairs. */
static double error_of_vectors(int n)
{
    double most = 0;

    for (int k = 0; k < n; k++) {
        const tfd_complex128 *v = s.q + k * s.stride;
        double length = 0;

        for (int i = 0; i < n; i++) {
            number sum = -get(v + i) * get(&s.t[k * (s.stride + 1)]);

            for (int j = 0; j < n; j++)
                sum += a[i][j] * get(v + j);
            most = larger_of(most, cabs(sum));
            length += creal(get(v + i) * conj(get(v + i)));
        }
        most = larger_of(most, fabs(length - 1));
    }
    return most;
}

static double error_of_root(int n)
{
    double most = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            number sum = -a[j][i];

            for (int k = 0; k < n; k++)
                sum +=
                    get(s.t + i * s.stride + k) * get(s.t + k * s.stride + j);
            most = larger_of(most, cabs(sum));
        }
    return most;
}

static void vectors_of_every_size(void **state)
{
    (void)state;
    for (int n = 1; n <= SIDE; n++) {
        fill(n, TFD_SCHUR_VECTORS, 1, 0);
        if (!tfd_schur_decompose(&s))
            skip(); /* a processor without the instructions */
        assert_true(error_of_vectors(n) < 1e-13 * n);
    }
}

static void values_are_those_with_vectors(void **state)
{
    static tfd_complex128 values[SIDE];
    double nearest;

    (void)state;
    fill(9, TFD_SCHUR_VECTORS, 1, 0);
    if (!tfd_schur_decompose(&s))
        skip();
    for (int i = 0; i < 9; i++)
        values[i] = s.t[i * (s.stride + 1)];
    fill(9, TFD_SCHUR_VALUES, 1, 0);
    assert_true(tfd_schur_decompose(&s));
    for (int i = 0; i < 9; i++) {
        nearest = INFINITY;
        for (int j = 0; j < 9; j++)
            nearest = fmin(
                nearest, cabs(get(&values[j]) - get(&s.t[i * (s.stride + 1)])));
        assert_true(nearest < 1e-13);
    }
}

static void roots_of_every_size(void **state)
{
    (void)state;
    for (int n = 1; n <= SIDE; n++) {
        fill(n, TFD_SCHUR_FORM, 1, 3 * n);
        if (!tfd_schur_decompose(&s))
            skip();
        tfd_schur_root(&s);
        assert_true(error_of_root(n) < 1e-12 * n);
    }
}

/* Ones above the diagonal, and below it `last` in the corner: with 1 the steps
 * go round, with 0 there is one vector for all values. */
static void fill_shift(int n, double last)
{
    tfd_schur_clear(&s, n, TFD_SCHUR_VECTORS);
    memset(a, 0, sizeof(a));
    for (int i = 0; i < n; i++) {
        const int j = (i + 1) % n;

        s.t[i * s.stride + j].re = j == 0 ? last : 1;
        a[i][j] = j == 0 ? last : 1;
    }
}

static void rows_that_go_round(void **state)
{
    (void)state;
    for (int n = 2; n <= SIDE; n++)
        for (int last = 0; last < 2; last++) {
            fill_shift(n, last);
            if (!tfd_schur_decompose(&s))
                skip();
            assert_true(error_of_vectors(n) < 1e-13 * n);
        }
    tfd_schur_clear(&s, 5, TFD_SCHUR_VECTORS);
    memset(a, 0, sizeof(a));
    assert_true(tfd_schur_decompose(&s));
    assert_true(error_of_vectors(5) == 0);
}

/* What is far below the largest element has squares that are 0. */
static void values_far_below_the_elements(void **state)
{
    (void)state;
    for (double tiny = 1e-20; tiny > 0; tiny *= 1e-30) {
        tfd_schur_clear(&s, 2, TFD_SCHUR_VECTORS);
        memset(a, 0, sizeof(a));
        s.t[0].re = tiny;
        s.t[1].re = 1;
        s.t[s.stride + 1].re = 2 * tiny;
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                a[i][j] = get(&s.t[i * s.stride + j]);
        if (!tfd_schur_decompose(&s))
            skip();
        assert_true(error_of_vectors(2) < 1e-14);
    }
}

static void what_is_left_to_lapack(void **state)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e300, 1e50};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        fill(4, TFD_SCHUR_VECTORS, 1, 0);
        s.t[i].im = bad[i];
        assert_false(tfd_schur_decompose(&s));
    }
    fill(4, TFD_SCHUR_VECTORS, 1e-50, 0);
    assert_false(tfd_schur_decompose(&s));
    fill(4, TFD_SCHUR_VECTORS, 1e-300, 0);
    assert_false(tfd_schur_decompose(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_every_size),
        cmocka_unit_test(values_are_those_with_vectors),
        cmocka_unit_test(roots_of_every_size),
        cmocka_unit_test(rows_that_go_round),
        cmocka_unit_test(values_far_below_the_elements),
        cmocka_unit_test(what_is_left_to_lapack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
