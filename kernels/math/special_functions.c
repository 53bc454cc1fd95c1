/*
 * special_functions.c - see special_functions.h; the functions themselves are
 * in special_formulas.h.
 */
#define _GNU_SOURCE /* lgamma_r */
#include "kernels/math/special_functions.h"

#include <math.h>

double tfd_special_lgamma(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

#define TFD_SPECIAL static
#define TFD_SPECIAL_LGAMMA(x) tfd_special_lgamma(x)
#include "kernels/math/special_formulas.h"

double tfd_special_digamma(double x)
{
    return special_digamma(x);
}

double tfd_special_igamma(double a, double x)
{
    return special_igamma(a, x);
}

double tfd_special_igammac(double a, double x)
{
    return special_igammac(a, x);
}

double tfd_special_zeta(double x, double q)
{
    return special_zeta(x, q);
}

double tfd_special_polygamma(double n, double x)
{
    return special_polygamma(n, x);
}

double tfd_special_betainc(double a, double b, double x)
{
    return special_betainc(a, b, x);
}

#define FLOAT_TO 0x1p-30

#define OF_FLOATS(name)                                                    \
    float tfd_special_##name##_float(float a, float x)                     \
    {                                                                      \
        return (float)special_##name##_to((double)a, (double)x, FLOAT_TO); \
    }

OF_FLOATS(igamma)
OF_FLOATS(igammac)
OF_FLOATS(zeta)
OF_FLOATS(polygamma)

float tfd_special_lgamma_float(float x)
{
    int sign;

    return lgammaf_r(x, &sign);
}

float tfd_special_digamma_float(float x)
{
    return (float)special_digamma_from((double)x, TFD_SPECIAL_DIGAMMA_ROUGH);
}

float tfd_special_betainc_float(float a, float b, float x)
{
    return (float)special_betainc_to((double)a, (double)b, (double)x, FLOAT_TO);
}

/* ---- The slope of igamma by a -------------------------------------------- */

/* The series of igamma, x^a e^-x / gamma(a + 1) times a sum whose terms are
 * products of x / (a + k), and its derivative. */
static double slope_of_series(double a, double x)
{
    double term = 1, sum = 1, less = 0, slope = 0;

    for (int i = 1; i < TFD_SPECIAL_ITERATIONS_MAX; i++) {
        term *= x / (a + i);
        less += 1 / (a + i);
        sum += term;
        slope -= term * less;
        if (term * (1 + less) <= sum * DBL_EPSILON)
            break;
    }
    return ((log(x) - special_digamma(a + 1)) * sum + slope) / a;
}

/* A number and its derivative by a. */
struct with_slope {
    double value, slope;
};

static struct with_slope inverse_with_slope(struct with_slope x)
{
    double y =
        1 / (fabs(x.value) < TFD_SPECIAL_TINY ? TFD_SPECIAL_TINY : x.value);

    return (struct with_slope){y, -x.slope * y * y};
}

/* by * x + plus */
static struct with_slope step_with_slope(struct with_slope by,
                                         struct with_slope x, double plus)
{
    return (struct with_slope){by.value * x.value + plus,
                               by.slope * x.value + by.value * x.slope - 1};
}

/* The continued fraction of igammac, by Lentz's method on numbers that carry
 * their derivatives: b = x + 1 - a has the slope -1. */
static double slope_of_fraction(double a, double x)
{
    double b = x + 1 - a;
    struct with_slope inverse_c = {TFD_SPECIAL_TINY, 0};
    struct with_slope d = inverse_with_slope((struct with_slope){b, -1});
    struct with_slope product = d;

    for (int i = 1; i < TFD_SPECIAL_ITERATIONS_MAX; i++) {
        struct with_slope by = {-i * (i - a), i}, c, factor;

        b += 2;
        d = inverse_with_slope(step_with_slope(by, d, b));
        c = step_with_slope(by, inverse_c, b);
        inverse_c = inverse_with_slope(c);
        factor = (struct with_slope){d.value * c.value,
                                     d.slope * c.value + d.value * c.slope};
        product.slope =
            product.slope * factor.value + product.value * factor.slope;
        product.value *= factor.value;
        if (fabs(factor.value - 1) + fabs(factor.slope) <= DBL_EPSILON)
            break;
    }
    return -((log(x) - special_digamma(a)) * product.value + product.slope);
}

/* The derivative of igamma by a over x^a e^-x / gamma(a). */
static double slope_by_density(double a, double x)
{
    return x > 1 && x > a ? slope_of_fraction(a, x) : slope_of_series(a, x);
}

double tfd_special_igamma_slope(double a, double x)
{
    if (x == 0 && a >= 0)
        return 0;
    if (!(x > 0) || !(a > 0))
        return NAN;
    if (isinf(a) || isinf(x))
        return 0;
    return gamma_density(a, x) * slope_by_density(a, x);
}

double tfd_special_gamma_slope(double a, double x)
{
    if (x == 0)
        return 0;
    if (!(x > 0) || !(a > 0))
        return NAN;
    return -x * slope_by_density(a, x);
}
