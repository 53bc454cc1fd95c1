/*
 * bessel_functions.c - see bessel_functions.h.
 */
#define _DEFAULT_SOURCE 1 /* j0() and its kin */

#include "kernels/math/bessel_functions.h"

#include <math.h>

#define PI 3.14159265358979323846
#define EULER 0.57721566490153286061

/* ---- I ------------------------------------------------------------------- */

#define SERIES_BELOW 21
#define SERIES_TERMS 64
#define FAR_TERMS 40

/* The sum of (x^2/4)^k / (k! (k+n)!). */
static double i_series(double x, int n)
{
    const double q = x * x / 4;
    double term = 1, sum = 1;

    for (int k = 1; k < SERIES_TERMS && term > sum * 0x1p-56; k++) {
        term *= q / ((double)k * (k + n));
        sum += term;
    }
    return sum;
}

/* The sum of (-1)^k a_k(n) / x^k, times 1 / sqrt(2 pi x). */
static double i_far(double x, int n)
{
    const double mu = 4.0 * n * n;
    double term = 1, sum = 1;

    for (int k = 1; k < FAR_TERMS && fabs(term) > 0x1p-56; k++) {
        const double odd = 2 * k - 1;

        term *= -(mu - odd * odd) / (8 * x * k);
        sum += term;
    }
    return sum / sqrt(2 * PI * x);
}

double tfd_bessel_i0e(double x)
{
    x = fabs(x);
    return x < SERIES_BELOW ? i_series(x, 0) * exp(-x) : i_far(x, 0);
}

double tfd_bessel_i1e(double x)
{
    const double a = fabs(x);
    const double y =
        a < SERIES_BELOW ? a / 2 * i_series(a, 1) * exp(-a) : i_far(a, 1);

    return copysign(y, x);
}

double tfd_bessel_i0(double x)
{
    const double a = fabs(x);

    return a < SERIES_BELOW ? i_series(a, 0) : i_far(a, 0) * exp(a);
}

double tfd_bessel_i1(double x)
{
    const double a = fabs(x);
    const double y =
        a < SERIES_BELOW ? a / 2 * i_series(a, 1) : i_far(a, 1) * exp(a);

    return copysign(y, x);
}

/* ---- K ------------------------------------------------------------------- */

#define K_SERIES_BELOW 1
#define K_TERMS 16
#define STEP 0.2
#define NODES 33

/* -(log(x/2) + gamma) I0(x) + the sum of (x^2/4)^k / k!^2 H_k. */
static double k0_near(double x)
{
    const double q = x * x / 4;
    double term = 1, harmonic = 0, sum = 0;

    for (int k = 1; k < K_TERMS; k++) {
        term *= q / ((double)k * k);
        harmonic += 1.0 / k;
        sum += term * harmonic;
    }
    return sum - (log(x / 2) + EULER) * i_series(x, 0);
}

/* 1/x + log(x/2) I1(x) - x/4 times the sum of
 * (psi(k+1) + psi(k+2)) (x^2/4)^k / (k! (k+1)!). */
static double k1_near(double x)
{
    const double q = x * x / 4;
    double term = 1, psi = 1 - 2 * EULER, sum = psi;

    for (int k = 1; k < K_TERMS; k++) {
        term *= q / ((double)k * (k + 1));
        psi += 1.0 / k + 1.0 / (k + 1);
        sum += term * psi;
    }
    return 1 / x + log(x / 2) * (x / 2 * i_series(x, 1)) - x / 4 * sum;
}

/* 2 times the integral of e^(-u^2) (1 + n u^2 / x) / sqrt(2x + u^2). */
static double k_far(double x, int n)
{
    double sum = 0.5 / sqrt(2 * x);

    for (int i = 1; i < NODES; i++) {
        const double u2 = (STEP * i) * (STEP * i);

        sum += exp(-u2) * (1 + n * u2 / x) / sqrt(2 * x + u2);
    }
    return 2 * STEP * sum;
}

/* scaled: times e^x. */
static double k_of(double x, int n, int scaled)
{
    if (x <= 0)
        return INFINITY;
    if (isinf(x))
        return 0;
    if (x < K_SERIES_BELOW)
        return (n ? k1_near(x) : k0_near(x)) * (scaled ? exp(x) : 1);
    return k_far(x, n) * (scaled ? 1 : exp(-x));
}

double tfd_bessel_k0(double x)
{
    return k_of(x, 0, 0);
}

double tfd_bessel_k0e(double x)
{
    return k_of(x, 0, 1);
}

double tfd_bessel_k1(double x)
{
    return k_of(x, 1, 0);
}

double tfd_bessel_k1e(double x)
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
