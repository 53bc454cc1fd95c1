/*
 * integral_functions.h - functions that are integrals of elementary ones, and
 * inverses of such, in long doubles: of these tables of doubles are made
 * (integrals.c), and they compute what no table has.
 *
 *   dawsn(x)     e^(-x^2) times the integral of e^(t^2): G. B. Rybicki,
 *                "Dawson's integral and the sampling theorem", Computers in
 *                Physics 3, 1989; its asymptotic series (DLMF 7.12.1) far out
 *   expint(x)    Ei: power series (DLMF 6.6.2) below 50, from there on the
 *                asymptotic one (6.12.2)
 *   fresnel_cos, fresnel_sin   power series (DLMF 7.6.4, 7.6.6) below 1.6, from
 *                there on by the auxiliary functions f and g (7.5.3, 7.5.4),
 *                integrals (7.7.10, 7.7.11) by the trapezoidal rule
 *   spence(x)    the integral of -log(t) / (t - 1) from 1: the dilogarithm of
 *                1 - x (DLMF 25.12), by Bernoulli's numbers between 1/2 and 2
 *   erfinv(x), ndtri(p)   the inverses of erf and of the normal distribution: a
 *                first guess (S. Winitzki, "A handy approximation for the error
 *                function and its inverse", 2008), and Halley's method
 *
 * All are within a unit in the last place of a double, but beside zeros, where
 * the error is that small beside 1.  Values outside of a domain are
 * TensorFlow's: NaN.  Every loop has a bound.  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_INTEGRAL_FUNCTIONS_H
#define TFD_KERNELS_INTEGRAL_FUNCTIONS_H

long double tfd_integral_dawsn(long double x);
long double tfd_integral_expint(long double x);
long double tfd_integral_fresnel_cos(long double x);
long double tfd_integral_fresnel_sin(long double x);
long double tfd_integral_spence(long double x);
long double tfd_integral_erfinv(long double x);
long double tfd_integral_ndtri(long double p);

/* erfinv(1 - u), exact where u is small; 0 < u < 1. */
long double tfd_integral_erfinv_from_1(long double u);
/* The auxiliary functions f and g of Fresnel's integrals, x > 1.6. */
void tfd_integral_fresnel_parts(long double x, long double *f, long double *g);

#endif
