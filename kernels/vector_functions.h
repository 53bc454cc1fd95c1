/*
 * vector_functions.h - more functions of floats in the manner of
 * vector_math.h: polynomials and selections, no branch and no call.
 *
 *     erf(x) = x + x * P(x^2)        |x| < 1, else 1 - exp(Q(|x|))
 *     log1p(x) = log(u) + (x - (u - 1)) / u     u = 1 + x, rounded
 *     expm1(x) = x + x^2 * P(x)      |x| < 0.7, else e^x - 1
 *     sinh(x) = x + x^3 * P(x^2)     |x| < 1, else h - 1 / (4 * h)
 *     cosh(x) = h + 1 / (4 * h)      h = e^(|x| - 1) * e/2, finite where h is
 *     atan(x) = x + x^3 * P(x^2)     |x| <= 1, else pi/2 - atan(1 / x)
 *
 * Coefficients are least-maximum fits of relative errors over the intervals
 * given (of Q, the error of erf).  Largest distances from a double reference,
 * in units of the last place, over every 8009th float (test_unary.c asserts
 * them): erf 2, log1p 2, expm1 2, sinh 3, cosh 3, atan 2.  Infinities, NaN and
 * -0 come out as IEEE 754 has them.  Threads: pure.
 */
#ifndef TFD_KERNELS_VECTOR_FUNCTIONS_H
#define TFD_KERNELS_VECTOR_FUNCTIONS_H

#include "kernels/vector_math.h"

#define TFD_HALF_E 1.35914091f
#define TFD_HALF_PI_HIGH 1.57079637f
#define TFD_HALF_PI_LOW (-4.37113883e-8f)

static inline float tfd_vector_erf(float x)
{
    float a = fabsf(x), in = a > 4 ? 4 : a, square = x * x;
    float p = 7.8891195249e-5f, q = -2.1686771826e-5f;
    float large;

    p = p * square - 8.0208412778e-4f;
    p = p * square + 5.1895353391e-3f;
    p = p * square - 2.6854444592e-2f;
    p = p * square + 1.1283600176e-1f;
    p = p * square - 3.7612627136e-1f;
    p = p * square + 1.283791659e-1f;
    q = q * in + 4.4133535044e-4f;
    q = q * in - 4.2045562040e-3f;
    q = q * in + 2.5208239675e-2f;
    q = q * in - 1.0841854711e-1f;
    q = q * in - 6.3321992462e-1f;
    q = q * in - 1.1295784063f;
    q = q * in + 1.8803593416e-4f;
    large = copysignf(1 - tfd_vector_exp(q), x);
    return a < 1 ? x * p + x : large;
}

static inline float tfd_vector_log1p(float x)
{
    float u = 1 + x, lost = x - (u - 1);
    float y = tfd_vector_log(u) + lost / u;

    y = x < INFINITY ? y : x; /* infinity, and NaN */
    y = x == -1 ? -INFINITY : y;
    return x == 0 ? x : y; /* keeps -0 */
}

static inline float tfd_vector_expm1(float x)
{
    float square = x * x, p = 2.5133108306e-5f;
    float large = tfd_vector_exp(x) - 1;

    p = p * x + 2.0102191776e-4f;
    p = p * x + 1.3887557117e-3f;
    p = p * x + 8.3325908975e-3f;
    p = p * x + 4.1666686366e-2f;
    p = p * x + 1.6666672665e-1f;
    p = p * x + 4.9999999927e-1f;
    p = square == 0 ? x : p * square + x; /* keeps -0 */
    return fabsf(x) < 0.7f ? p : large;
}

static inline float tfd_vector_sinh(float x)
{
    float a = fabsf(x), square = x * x, p = 2.8174396503e-6f;
    float half = tfd_vector_exp(a - 1) * TFD_HALF_E;
    float large = copysignf(half - 0.25f / half, x);

    p = p * square + 1.9836066246e-4f;
    p = p * square + 8.3333505981e-3f;
    p = p * square + 1.6666666489e-1f;
    p = square == 0 ? x : p * square * x + x; /* keeps -0 */
    return a < 1 ? p : large;
}

static inline float tfd_vector_cosh(float x)
{
    float half = tfd_vector_exp(fabsf(x) - 1) * TFD_HALF_E;

    return half + 0.25f / half;
}

static inline float tfd_vector_atan(float x)
{
    float a = fabsf(x), in = a > 1 ? 1 / a : a, square = in * in;
    float p = 2.9745431163e-3f;

    p = p * square - 1.6580997050e-2f;
    p = p * square + 4.3553239852e-2f;
    p = p * square - 7.5805532443e-2f;
    p = p * square + 1.0678928899e-1f;
    p = p * square - 1.4214206339e-1f;
    p = p * square + 1.9994136877e-1f;
    p = p * square - 3.3333166953e-1f;
    p = p * square * in + in;
    p = a > 1 ? TFD_HALF_PI_HIGH - p + TFD_HALF_PI_LOW : p;
    return copysignf(p, x);
}

#endif
