/*
 * vector_double.h - exp and log of doubles, in the manner of vector_math.h; and
 * functions of floats that need them: pow, asinh, acosh.
 *
 *     log(x) = n ln 2 + 2 s + s^3 * P(s^2)     s = (m - 1) / (m + 1)
 *     exp(x) = 2^n * (1 + r + r^2 * P(r))      n = round(x / ln 2)
 *     pow(x, y) = exp(y log |x|), and its sign
 *
 * The functions named quick have errors of 2^-44 and 2^-34: they are for
 * results that are floats.  Coefficients are least-maximum fits of relative
 * errors.  Largest distances, in units of the last place of a float: pow 1,
 * asinh 1, acosh 1.  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_VECTOR_DOUBLE_H
#define TFD_KERNELS_VECTOR_DOUBLE_H

#include "kernels/vector/vector_math.h"

#define TFD_DOUBLE_LN2_HIGH 0x1.62e42feep-1 /* 32 bits: n times it is exact */
#define TFD_DOUBLE_LN2_LOW 0x1.a39ef35793c76p-33
/* Added to a double below 2^51 it leaves round(x) in the low bits. */
#define TFD_DOUBLE_MAGIC 0x1.8p52

TFD_VECTOR uint64_t tfd_double_bits(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

TFD_VECTOR double tfd_double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* x = 2^n * m, sqrt(1/2) <= m < sqrt(2), of a normal number x > 0.  Returns m,
 * and n as a double: shifted into the digits of 2^52, which are taken off. */
TFD_VECTOR double tfd_double_split(double x, double *n)
{
    const uint64_t root = UINT64_C(0x3fe6a09e667f3bcd);
    uint64_t from = tfd_double_bits(x) - root + (UINT64_C(1023) << 52);

    *n = tfd_double_of(from >> 52 | UINT64_C(0x4330000000000000)) -
         (0x1p52 + 1023);
    return tfd_double_of((from & UINT64_C(0xfffffffffffff)) + root);
}

/* Of a normal number x > 0. */
TFD_VECTOR double tfd_quick_log(double x)
{
    double n, m = tfd_double_split(x, &n);
    double s = (m - 1) / (m + 1), square = s * s;
    double p = 9.79210297200609342e-02;

    p = p * square + 1.10880924395592981e-01;
    p = p * square + 1.42860546264243993e-01;
    p = p * square + 1.99999978104364651e-01;
    p = p * square + 3.33333333379020325e-01;
    s = 2 * s;
    return p * square * s + s + n * 0x1.62e42fefa39efp-1;
}

/* |x| < 700 (or NaN). */
TFD_VECTOR double tfd_quick_exp(double x)
{
    double shifted = x * 0x1.71547652b82fep0 + TFD_DOUBLE_MAGIC;
    double n = shifted - TFD_DOUBLE_MAGIC;
    double r = x - n * 0x1.62e42fefa39efp-1;
    double p = 1.99193098251632702e-04;

    p = p * r + 1.39460856648310552e-03;
    p = p * r + 8.33326287904728562e-03;
    p = p * r + 4.16662697957660283e-02;
    p = p * r + 1.66666668661544892e-01;
    p = p * r + 5.00000007793184875e-01;
    p = p * r * r + r + 1;
    return p * tfd_double_of((tfd_double_bits(shifted) + 1023) << 52);
}

/* x to the power of y as the C library's powf() has it. */
TFD_VECTOR float tfd_vector_pow(float x, float y)
{
    float a = fabsf(x), whole = truncf(y), half = truncf(0.5f * y);
    uint32_t odd = (half + half != whole) & (whole == y);
    double l = tfd_quick_log((double)(a > 0 ? a : 1)), e;
    float p;

    l = a == 0 ? -(double)INFINITY : l;
    l = a < INFINITY ? l : (double)a; /* infinity, and NaN */
    e = (double)y * l;
    e = e > 200 ? 200 : e;
    e = e < -200 ? -200 : e;
    p = (float)tfd_quick_exp(e);
    p = ((x < 0) & (a < INFINITY) & (whole != y)) ? NAN : p;
    p = ((a == 1) & (fabsf(y) == INFINITY)) ? 1 : p;
    p = ((x == 1) | (y == 0)) ? 1 : p;
    return tfd_half_float_of(tfd_half_float_bits(p) ^
                             (tfd_half_float_bits(x) & odd << 31));
}

TFD_VECTOR float tfd_vector_asinh(float x)
{
    double a = (double)fabsf(x), square = a * a;
    double small = a - square * a * (1.0 / 6 - square * (3.0 / 40));
    double y = tfd_quick_log(a < INFINITY ? a + sqrt(square + 1) : 1);

    y = a < 0.01 ? small : y;
    y = a < INFINITY ? y : a; /* infinity, and NaN */
    return copysignf((float)y, x);
}

TFD_VECTOR float tfd_vector_acosh(float x)
{
    int inside = (x >= 1) & (x < INFINITY);
    double a = (double)(inside ? x : 1);
    float y = (float)tfd_quick_log(a + sqrt((a - 1) * (a + 1)));

    y = x < INFINITY ? y : x;
    return x < 1 ? NAN : y;
}

#endif
