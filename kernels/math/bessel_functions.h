/*
 * bessel_functions.h - Bessel functions of order 0 and 1, in double precision,
 * and the same times e^-|x| (i0e, i1e) or e^x (k0e, k1e).
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
 * All are within 9 units in the last place, but beside the zeros of j and y,
 * where the error is that small beside 1.  Outside of the domains values are
 * TensorFlow's: k and y are infinite up to 0.  Every loop has a bound.
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_BESSEL_FUNCTIONS_H
#define TFD_KERNELS_BESSEL_FUNCTIONS_H

double tfd_bessel_i0(double x);
double tfd_bessel_i0e(double x);
double tfd_bessel_i1(double x);
double tfd_bessel_i1e(double x);
double tfd_bessel_k0(double x);
double tfd_bessel_k0e(double x);
double tfd_bessel_k1(double x);
double tfd_bessel_k1e(double x);
double tfd_bessel_j0(double x);
double tfd_bessel_j1(double x);
double tfd_bessel_y0(double x);
double tfd_bessel_y1(double x);

#endif
