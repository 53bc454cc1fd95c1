/*
 * special_functions.h - gamma functions and their kin, in double precision.
 *
 *   digamma(x)       derivative of log gamma(x); NaN at 0, -1, -2, ...
 *   igamma(a, x)     regularised lower incomplete gamma function
 *   igammac(a, x)    1 - igamma(a, x), exact where it is small
 *   igamma_slope(a, x)   its derivative by a (TensorFlow's IgammaGradA)
 *   gamma_slope(a, x)    that of a sample x of the gamma distribution of a, at
 * a probability that stays (TensorFlow's RandomGammaGrad) betainc(a, b, x)
 * regularised incomplete beta function zeta(x, q)       Hurwitz zeta function,
 * the sum of (q + k)^-x polygamma(n, x)  n-th derivative of digamma
 *
 * Methods and formulas: M. Abramowitz, I. Stegun, "Handbook of Mathematical
 * Functions", chapters 6, 23 and 26; W. Press et al., "Numerical Recipes",
 * chapter 6.  Values outside of a domain are TensorFlow's: mostly NaN.
 *
 * Every loop has a bound.  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_SPECIAL_FUNCTIONS_H
#define TFD_KERNELS_SPECIAL_FUNCTIONS_H

double tfd_special_lgamma(double x);
double tfd_special_digamma(double x);
double tfd_special_igamma(double a, double x);
double tfd_special_igammac(double a, double x);
double tfd_special_igamma_slope(double a, double x);
double tfd_special_gamma_slope(double a, double x);
double tfd_special_betainc(double a, double b, double x);
double tfd_special_zeta(double x, double q);
double tfd_special_polygamma(double n, double x);

/* The same for floats, to some 1e-9 before they are rounded; lgamma is the C
 * library's of a float, which TensorFlow calls, too. */
float tfd_special_lgamma_float(float x);
float tfd_special_digamma_float(float x);
float tfd_special_igamma_float(float a, float x);
float tfd_special_igammac_float(float a, float x);
float tfd_special_betainc_float(float a, float b, float x);
float tfd_special_zeta_float(float x, float q);
float tfd_special_polygamma_float(float n, float x);

#endif
