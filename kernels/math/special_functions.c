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
