/*
 * bessel_functions.c - see bessel_functions.h.
 */
#define _DEFAULT_SOURCE 1 /* j0() and its kin */

#include "kernels/math/bessel_functions.h"

#include <math.h>

#define PI 3.14159265358979323846264L
#define EULER 0.57721566490153286060651L

/* ---- I ------------------------------------------------------------------- */

#define SERIES_BELOW 21
#define SERIES_TERMS 64
#define FAR_TERMS 48

/* The sum of (x^2/4)^k / (k! (k+n)!). */
static long double i_series(long double x, int n)
{
    const long double q = x * x / 4;
    long double term = 1, sum = 1;

    for (int k = 1; k < SERIES_TERMS && term > sum * 0x1p-66L; k++) {
        term *= q / ((long double)k * (k + n));
        sum += term;
    }
    return sum;
}

/* The sum of (-1)^k a_k(n) / x^k, times 1 / sqrtl(2 pi x). */
static long double i_far(long double x, int n)
{
    const long double mu = 4.0L * n * n;
    long double term = 1, sum = 1;

    for (int k = 1; k < FAR_TERMS && fabsl(term) > 0x1p-66L; k++) {
        const long double odd = 2 * k - 1;

        term *= -(mu - odd * odd) / (8 * x * k);
        sum += term;
    }
    return sum / sqrtl(2 * PI * x);
}

long double tfd_bessel_i0e(long double x)
{
    x = fabsl(x);
    return x < SERIES_BELOW ? i_series(x, 0) * expl(-x) : i_far(x, 0);
}

long double tfd_bessel_i1e(long double x)
{
    const long double a = fabsl(x);
    const long double y =
        a < SERIES_BELOW ? a / 2 * i_series(a, 1) * expl(-a) : i_far(a, 1);

    return copysignl(y, x);
}

long double tfd_bessel_i0(long double x)
{
    const long double a = fabsl(x);

    return a < SERIES_BELOW ? i_series(a, 0) : i_far(a, 0) * expl(a);
}

long double tfd_bessel_i1(long double x)
{
    const long double a = fabsl(x);
    const long double y =
        a < SERIES_BELOW ? a / 2 * i_series(a, 1) : i_far(a, 1) * expl(a);

    return copysignl(y, x);
}

/* ---- K ------------------------------------------------------------------- */

#define K_SERIES_BELOW 1
#define K_TERMS 18
#define STEP 0.2L
#define NODES 35

/* -(logl(x/2) + gamma) I0(x) + the sum of (x^2/4)^k / k!^2 H_k. */
static long double k0_near(long double x)
{
    const long double q = x * x / 4;
    long double term = 1, harmonic = 0, sum = 0;

    for (int k = 1; k < K_TERMS; k++) {
        term *= q / ((long double)k * k);
        harmonic += 1.0L / k;
        sum += term * harmonic;
    }
    return sum - (logl(x / 2) + EULER) * i_series(x, 0);
}

/* 1/x + logl(x/2) I1(x) - x/4 times the sum of
 * (psi(k+1) + psi(k+2)) (x^2/4)^k / (k! (k+1)!). */
static long double k1_near(long double x)
{
    const long double q = x * x / 4;
    long double term = 1, psi = 1 - 2 * EULER, sum = psi;

    for (int k = 1; k < K_TERMS; k++) {
        term *= q / ((long double)k * (k + 1));
        psi += 1.0L / k + 1.0L / (k + 1);
        sum += term * psi;
    }
    return 1 / x + logl(x / 2) * (x / 2 * i_series(x, 1)) - x / 4 * sum;
}

/* 2 times the integral of e^(-u^2) (1 + n u^2 / x) / sqrtl(2x + u^2). */
static long double k_far(long double x, int n)
{
    long double sum = 0.5 / sqrtl(2 * x);

    for (int i = 1; i < NODES; i++) {
        const long double u2 = (STEP * i) * (STEP * i);

        sum += expl(-u2) * (1 + n * u2 / x) / sqrtl(2 * x + u2);
    }
    return 2 * STEP * sum;
}

/* scaled: times e^x. */
static long double k_of(long double x, int n, int scaled)
{
    if (x <= 0)
        return INFINITY;
    if (isinf(x))
        return 0;
    if (x < K_SERIES_BELOW)
        return (n ? k1_near(x) : k0_near(x)) * (scaled ? expl(x) : 1);
    return k_far(x, n) * (scaled ? 1 : expl(-x));
}

long double tfd_bessel_k0(long double x)
{
    return k_of(x, 0, 0);
}

long double tfd_bessel_k0e(long double x)
{
    return k_of(x, 0, 1);
}

long double tfd_bessel_k1(long double x)
{
    return k_of(x, 1, 0);
}

long double tfd_bessel_k1e(long double x)
{
    return k_of(x, 1, 1);
}

/* ---- J, Y ---------------------------------------------------------------- */

double tfd_bessel_j0(double x)
{
    return isinf(x) ? NAN : j0(x);
}

double tfd_bessel_j1(double x)
{
    return isinf(x) ? NAN : j1(x);
}

double tfd_bessel_y0(double x)
{
    return x <= 0 ? -INFINITY : isinf(x) ? NAN : y0(x);
}

double tfd_bessel_y1(double x)
{
    return x <= 0 ? -INFINITY : isinf(x) ? NAN : y1(x);
}
