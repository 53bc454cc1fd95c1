/*
 * vector_gamma.h - log |gamma| of floats, in the manner of vector_math.h.
 *
 *     log gamma(x) = S(x + 8) - log(x (x + 1) ... (x + 7))       0 < x < 8
 *     S(z) = (z - 1/2) log z - z + log(2 pi) / 2 + 1 / 12z - 1 / 360z^3 + ...
 *     log |gamma(x)| = log(pi / |sin(pi x)|) - log gamma(1 - x)  x < 0
 *
 * (Abramowitz and Stegun, 6.1.15, 6.1.17, 6.1.41.)  All of it is computed in
 * doubles to their last place, as 24 digits go where gamma is near 1.  Largest
 * distance from the true value, in units of the last place of a float: 1, and
 * 1.5 near the places left of 0 where the result is 0.  Threads: any; there is
 * no state.
 */
#ifndef TFD_KERNELS_VECTOR_GAMMA_H
#define TFD_KERNELS_VECTOR_GAMMA_H

#include "kernels/vector/double_functions.h"

/* S(z) without the logarithm's multiple, z >= 8: what is left out is 6e-16. */
TFD_VECTOR double tfd_gamma_rest(double z)
{
    const double part = 1 / z, square = part * part;
    double p = -691.0 / 360360;

    p = p * square + 1.0 / 1188;
    p = p * square - 1.0 / 1680;
    p = p * square + 1.0 / 1260;
    p = p * square - 1.0 / 360;
    p = p * square + 1.0 / 12;
    return p * part + 9.18938533204672741780e-01; /* log(2 pi) / 2 */
}

/* Of a normal number x > 0. */
TFD_VECTOR double tfd_gamma_log(double x)
{
    double n, m = tfd_double_split(x, &n);

    return tfd_double_log_near_1(m - 1, n);
}

/* x (x + 1) ... (x + 7), by pairs of the first and the last. */
TFD_VECTOR double tfd_gamma_product(double x)
{
    const double p = x * (x + 7);

    return p * (p + 6) * (p + 10) * (p + 12);
}

/* |sin(pi x)|, 0 <= x < 1. */
TFD_VECTOR double tfd_gamma_sine(double x)
{
    const double pi = 3.14159265358979323846;
    const double near = x > 0.5 ? 1 - x : x;
    const int is_steep = near <= 0.25;
    double sine, cosine;

    tfd_double_waves(pi * (is_steep ? near : 0.5 - near), &sine, &cosine);
    return is_steep ? sine : cosine;
}

/* 0, infinities, NaN, subnormal numbers, and what overflows. */
TFD_VECTOR int tfd_vector_lgamma_is_rare(float x)
{
    return !((fabsf(x) >= 0x1p-126f) & (fabsf(x) < 0x1p120f));
}

TFD_VECTOR float tfd_vector_lgamma(float x)
{
    const int is_left = x < 0;
    const double at = (double)x, a = is_left ? 1 - at : at;
    const int is_low = a < 8;
    const double z = is_low ? a + 8 : a;
    const double sine = tfd_gamma_sine(fabs(at) - floor(fabs(at)));
    const double product = is_low ? tfd_gamma_product(a) : 1;
    const double turned = product * 3.14159265358979323846 / sine;
    const double s = (z - 0.5) * tfd_gamma_log(z) - z + tfd_gamma_rest(z);
    const double l = tfd_gamma_log((is_left & (sine > 0)) ? turned : product);
    float y = (float)(is_left ? l - s : s - l);

    y = ((x == 1) | (x == 2)) ? 0 : y;
    return (is_left & (sine == 0)) ? INFINITY : y;
}

#endif
