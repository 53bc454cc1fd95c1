/*
 * vector_math.h - exp, log, tanh and the logistic function of floats, written
 * so that a loop over them is vectorised.
 *
 * Each is a polynomial after a reduction of the argument, with selections
 * instead of branches; the C library's functions are calls, one per element.
 * Errors are below 3 units in the last place over the whole range (tested
 * against the library).  Infinities and NaN come out as IEEE 754 has them;
 * results below the normal range may be 0.
 *
 *     exp(x) = 2^n * e^r     n = round(x / ln 2), |r| <= ln 2 / 2
 *     log(x) = n * ln 2 + log(m)     x = 2^n * m, sqrt(1/2) <= m < sqrt(2)
 *     tanh(x) = x + x^3 * P(x^2)     |x| < 0.625, else 1 - 2 / (e^2x + 1)
 *
 * The polynomials are those of the Cephes library (exp, log, tanh in single
 * precision).  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_VECTOR_MATH_H
#define TFD_KERNELS_VECTOR_MATH_H

#include "common/base/half.h"

#include <math.h>

/* What a loop is made of: inlined into each copy of it (simd.h). */
#define TFD_VECTOR static inline __attribute__((always_inline))

#define TFD_LOG2_E 1.44269504088896341f
#define TFD_LN2_HIGH 0.693359375f /* 9 bits: n times it is exact */
#define TFD_LN2_LOW (-2.12194440e-4f)
/* Added to a float below 2^22 it leaves round(x) in the low bits. */
#define TFD_ROUND_MAGIC 12582912.0f

/* 2^n for n in [-126, 127]. */
TFD_VECTOR float tfd_vector_power2(int32_t n)
{
    return tfd_half_float_of((uint32_t)(n + 127) << 23);
}

/* e^(x - less) = 2^*n * (1 + the result).  |x| is below 2^20, |less| below
 * 1/16.  Near zero *n is 0 and the result as exact as a float can be. */
TFD_VECTOR float tfd_vector_expm1_part(float x, float less, int32_t *n)
{
    float shifted = x * TFD_LOG2_E + TFD_ROUND_MAGIC;
    float rounded = shifted - TFD_ROUND_MAGIC;
    float r = x - rounded * TFD_LN2_HIGH - rounded * TFD_LN2_LOW - less;
    float p = 1.9875691500e-4f;

    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    *n = (int32_t)(tfd_half_float_bits(shifted) - 0x4b400000u);
    return p * r * r + r;
}

/* e^(x - less) = 2^*n * the result. */
TFD_VECTOR float tfd_vector_exp_parts(float x, float less, int32_t *n)
{
    return tfd_vector_expm1_part(x, less, n) + 1.0f;
}

TFD_VECTOR float tfd_vector_exp(float x)
{
    /* Beyond these the result is infinite or 0 whatever the argument. */
    float low = x < -104.0f ? -104.0f : x;
    int32_t n;
    float p = tfd_vector_exp_parts(low > 89.0f ? 89.0f : low, 0, &n);

    /* In two steps, since 2^128 and 2^-150 are no floats. */
    return p * tfd_vector_power2(n >> 1) * tfd_vector_power2(n - (n >> 1));
}

/* The same, quicker, for x in [-87, 87] (or NaN). */
TFD_VECTOR float tfd_vector_exp_inside(float x)
{
    int32_t n;
    float p = tfd_vector_exp_parts(x, 0, &n);

    return p * tfd_vector_power2(n);
}

/* The same, for a sum with 1: what would not change it may be another number.
 * 2^128 is no float, half of it is. */
TFD_VECTOR float tfd_vector_exp_beside_1(float x)
{
    float low = x < -64.0f ? -64.0f : x;
    int32_t n;
    float p = tfd_vector_exp_parts(low > 89.0f ? 89.0f : low, 0, &n);

    return p * tfd_vector_power2(n - 1) * 2;
}

TFD_VECTOR float tfd_vector_log(float x)
{
    int is_small = x < 1.17549435e-38f; /* subnormal: scaled up by 2^23 */
    float scaled = is_small ? x * 8388608.0f : x;
    uint32_t bits = tfd_half_float_bits(scaled);
    /* Exponent counted from sqrt(1/2), so that m is around 1. */
    uint32_t from_half = bits - 0x3f3504f3u;
    int32_t n = (int32_t)from_half >> 23;
    float m = tfd_half_float_of((from_half & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float e = (float)(is_small ? n - 23 : n);
    float square = m * m;
    float p = 7.0376836292e-2f;

    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * square + e * TFD_LN2_LOW - 0.5f * square;
    p = m + p + e * TFD_LN2_HIGH;
    p = x < INFINITY ? p : x; /* infinity, and NaN */
    p = x == 0 ? -INFINITY : p;
    return x < 0 ? NAN : p;
}

TFD_VECTOR float tfd_vector_tanh(float x)
{
    float square = x * x;
    float a = fabsf(x), in = a > 10 ? 10 : a; /* where tanh is 1 */
    float large = 1 - 2 / (tfd_vector_exp_inside(2 * in) + 1);
    float p = -5.70498872745e-3f;

    p = p * square + 2.06390887954e-2f;
    p = p * square - 5.37397155531e-2f;
    p = p * square + 1.33314422036e-1f;
    p = p * square - 3.33332819422e-1f;
    p = square == 0 ? x : p * square * x + x; /* keeps -0 */
    return square < 0.390625f ? p : copysignf(large, x);
}

TFD_VECTOR float tfd_vector_logistic(float x)
{
    return 1 / (1 + tfd_vector_exp_beside_1(-x));
}

#endif
