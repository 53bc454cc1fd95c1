/*
 * vector_functions.h - more functions of floats in the manner of
 * vector_math.h: polynomials and selections, no branch and no call.
 *
 *     erfc(x) = 1 - x - x * P(x^2)   |x| < 0.7, else e^(-x^2) * Q(x)
 *     log1p(x) = log(u) + (x - (u - 1)) / u     u = 1 + x, rounded
 *     expm1(x) = x + x^2 * P(x)      |x| < 0.7, else e^x - 1
 *     sinh(x) = x + x^3 * P(x^2)     |x| < 1, else h - 1 / (4 * h)
 *     cosh(x) = h + 1 / (4 * h)      h = e^(|x| - 1) * e/2, finite where h is
 *
 * Coefficients are least-maximum fits of relative errors over the intervals
 * given.  Largest distances from a double reference over all floats, in units
 * of the last place: erfc 3.9, rsqrt 1.4, atanh 1.4, log1p 1.5, expm1 1.8, sinh
 * 3.3, cosh 2.8 (test_unary.c looks at every 8009th float).  Infinities, NaN
 * and -0 come out as IEEE 754 has them.  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_VECTOR_FUNCTIONS_H
#define TFD_KERNELS_VECTOR_FUNCTIONS_H

#include "kernels/vector/vector_math.h"

#define TFD_HALF_E 1.35914091f

/* erf(x) / x - 1 for |x| < 1 */
TFD_VECTOR float tfd_erf_small(float square)
{
    float p = 7.8891195249e-5f;

    p = p * square - 8.0208412778e-4f;
    p = p * square + 5.1895353391e-3f;
    p = p * square - 2.6854444592e-2f;
    p = p * square + 1.1283600176e-1f;
    p = p * square - 3.7612627136e-1f;
    return p * square + 1.283791659e-1f;
}

TFD_VECTOR float tfd_vector_log1p(float x)
{
    float u = 1 + x, lost = x - (u - 1);
    float y = tfd_vector_log(u) + lost / u;

    y = x < INFINITY ? y : x; /* infinity, and NaN */
    y = x == -1 ? -INFINITY : y;
    return x == 0 ? x : y; /* keeps -0 */
}

TFD_VECTOR float tfd_vector_expm1(float x)
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

TFD_VECTOR float tfd_vector_sinh(float x)
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

TFD_VECTOR float tfd_vector_cosh(float x)
{
    float half = tfd_vector_exp(fabsf(x) - 1) * TFD_HALF_E;

    return half + 0.25f / half;
}

/* atanh(x) = x + x^3 * P(x^2) below 1/2; NaN beyond 1 */
TFD_VECTOR float tfd_vector_atanh(float x)
{
    float a = fabsf(x), square = x * x, p = 1.773296744e-01f;
    float large = 0.5f * tfd_vector_log((1 + a) / (1 - a));

    p = p * square + 5.088425800e-02f;
    p = p * square + 1.183675453e-01f;
    p = p * square + 1.422114819e-01f;
    p = p * square + 2.000260502e-01f;
    p = p * square + 3.333329856e-01f;
    p = square == 0 ? x : p * square * x + x; /* keeps -0 */
    return a < 0.5f ? p : copysignf(large, x);
}

/* e^(-x^2) for x in [0, 11], though x^2 has twice the digits of x:
 * x^2 = h^2 + (x - h) * (x + h), h x's upper half. */
TFD_VECTOR float tfd_vector_exp_square(float x)
{
    uint32_t upper = (tfd_half_float_bits(x) + 0x800u) & 0xfffff000u;
    float h = tfd_half_float_of(upper);
    int32_t n;
    float p = tfd_vector_exp_parts(-h * h, (x - h) * (x + h), &n);

    return p * tfd_vector_power2(n >> 1) * tfd_vector_power2(n - (n >> 1));
}

/* erfc(x) = e^(-x^2) / (1 + 2x) * P((x - 2) / (x + 2)), x > 0.7 */
TFD_VECTOR float tfd_vector_erfc(float x)
{
    float a = fabsf(x), in = a > 11 ? 11 : a, t = (in - 2) / (in + 2);
    float p = -1.457676408e-03f, q = tfd_erf_small(x * x);

    p = p * t + 1.051597064e-03f;
    p = p * t + 8.755655959e-03f;
    p = p * t - 7.994584739e-03f;
    p = p * t - 5.422642827e-02f;
    p = p * t + 1.640484929e-01f;
    p = p * t - 1.660300642e-01f;
    p = p * t - 9.276376665e-02f;
    p = p * t + 1.276978374e+00f;
    p = p / (2 * in + 1) * tfd_vector_exp_square(in);
    p = x < 0 ? 2 - p : p;
    return a < 0.7f ? (1 - x) - q * x : p;
}

/* At least that of a zero, a subnormal, negative or infinite number, or NaN;
 * below that of others. */
#define TFD_RSQRT_RARE 0x7f000000u

TFD_VECTOR uint32_t tfd_rsqrt_rareness(float x)
{
    return tfd_half_float_bits(x) - 0x00800000u;
}

/* 1 / sqrt(x) of others: a guess y by halving the exponent, and the power
 * series of 1 / sqrt(1 - e) as a fit, where e = 1 - x y^2 is between -0.0691
 * and 0.0676.  A square root and a quotient take longer. */
TFD_VECTOR float tfd_vector_rsqrt(float x)
{
    float y = tfd_half_float_of(0x5f3759dfu - (tfd_half_float_bits(x) >> 1));
    float e = fmaf(-(x * y), y, 1);
    float p = fmaf(0.2741089463f, e, 0.3139354885f);

    p = fmaf(fmaf(p, e, 0.3750002682f), e, 0.4999983311f);
    return fmaf(p * e, y, y);
}

TFD_VECTOR float tfd_rsqrt_any(float x)
{
    int is_small = x < 1.17549435e-38f; /* subnormal: scaled up by 2^24 */
    float y = tfd_vector_rsqrt(is_small ? x * 16777216.0f : x);

    y = is_small ? y * 4096.0f : y;
    y = x < INFINITY ? y : x > 0 ? 0 : x; /* infinity, and NaN */
    y = x == 0 ? copysignf(INFINITY, x) : y;
    return x < 0 ? NAN : y;
}

#endif
