/*
 * bessel_functions.h - Bessel functions of order 0 and 1, and the same
 * times e^-|x| (i0e, i1e) or e^x (k0e, k1e); i and k in long doubles, of which
 * tables of doubles are made (bessel.c).
 *
 *   i   power series (DLMF 10.25.2) below 21, from there on the asymptotic
 *       series (10.40.1), whose smallest term is under e^-2x
 *   k   power series with a logarithm (10.31.1, 10.31.2) below 1; from there on
 *       the integral of e^(-x cosh t) cosh(n t) (10.32.9) with
 *       u = sqrt(2x) sinh(t/2), by the trapezoidal rule, which for such an
 *       integrand is exact but for e^(-2 pi sqrt(2) / h) (L. N. Trefethen,
 *       J. A. C. Weideman, "The exponentially convergent trapezoidal rule",
 *       SIAM Review 56, 2014)
 *   j, y   the C library's
 *
 * All are within a unit in the last place of a double, but beside the zeros of
 * j and y, where the error is that small beside 1.  Outside of the domains
 * values are TensorFlow's: k and y are infinite up to 0.  Every loop has a
 * bound. Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_BESSEL_FUNCTIONS_H
#define TFD_KERNELS_BESSEL_FUNCTIONS_H

long double tfd_bessel_i0(long double x);
long double tfd_bessel_i0e(long double x);
long double tfd_bessel_i1(long double x);
long double tfd_bessel_i1e(long double x);
long double tfd_bessel_k0(long double x);
long double tfd_bessel_k0e(long double x);
long double tfd_bessel_k1(long double x);
long double tfd_bessel_k1e(long double x);
double tfd_bessel_j0(double x);
double tfd_bessel_j1(double x);
double tfd_bessel_y0(double x);
double tfd_bessel_y1(double x);

#endif
