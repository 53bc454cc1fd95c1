/*
 * double_trig.h - sin, cos, tan, asin and acos of doubles in the manner of
 * double_functions.h: polynomials and selections, no branch and no call.
 *
 *     x = q * pi/2 + r + low         |r| <= pi/4, low what r is rounded by
 *     sin(r + low) = r - ((r^2 * (low/2 - r^3 * P(r^2)) - low) + r^3/6)
 *     cos(r + low) = 1 - r^2/2 + (r^4 * P(r^2) - r * low)
 *     tan(x) = sin / cos, or -cos / sin where q is odd
 *     asin(x) = x + x * R(x^2)       |x| < 1/2,
 *               else pi/2 - 2 asin(sqrt((1 - |x|) / 2))
 *     acos(x) = pi/2 - asin(x)       |x| < 1/2,
 *               else 2 asin(sqrt((1 - x) / 2)), or pi - that of -x
 *
 * pi/2 is taken off in three parts, the first two of 33 digits, whose products
 * with q are exact below TFD_DOUBLE_TURNS; what the second difference is
 * rounded by is found out.  So what is about 0 beside multiples of pi/2 has all
 * its digits, too.  The functions that end in _any take larger arguments as
 * well, by the C library, and are for single elements.
 *
 * The coefficients are those of the FreeBSD mathematics library.  Largest
 * distances in units of the last place (test_double_functions.c, more than a
 * million arguments each): sin and cos 0.8, tan 2.2, and 0.4 more beside
 * multiples of pi/2; asin and acos 0.9.  Infinities and NaN become NaN, and -0
 * stays where the function is odd.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_DOUBLE_TRIG_H
#define TFD_KERNELS_DOUBLE_TRIG_H

#include "kernels/vector/double_functions.h"

#define TFD_DOUBLE_TURNS 0x1p20
#define TFD_DOUBLE_HALF_PI_1 0x1.921fb544p0
#define TFD_DOUBLE_HALF_PI_2 0x1.0b4611a6p-34
#define TFD_DOUBLE_HALF_PI_3 0x1.3198a2e037073p-69
#define TFD_DOUBLE_HALF_PI 0x1.921fb54442d18p0
#define TFD_DOUBLE_HALF_PI_LESS 0x1.1a62633145c07p-54

/* ---- Angles -------------------------------------------------------------- */

/* x is q quarter turns (only the low bits of q matter) and an angle r + low. */
struct tfd_double_turn {
    double r, low;
    uint64_t q;
};

/* 0 <= x < TFD_DOUBLE_TURNS, or no finite number, whose r is NaN. */
TFD_VECTOR struct tfd_double_turn tfd_double_turn(double x)
{
    const double shifted = x * 0x1.45f306dc9c883p-1 + TFD_DOUBLE_MAGIC;
    const double n = shifted - TFD_DOUBLE_MAGIC;
    const double first = x - n * TFD_DOUBLE_HALF_PI_1;
    const double part = n * TFD_DOUBLE_HALF_PI_2;
    const double second = first - part, taken = second - first;
    const double lost = (first - (second - taken)) - (part + taken);
    const double low = lost - n * TFD_DOUBLE_HALF_PI_3;
    const double r = second + low;

    return (struct tfd_double_turn){r, (second - r) + low,
                                    tfd_double_bits(shifted)};
}

TFD_VECTOR double tfd_double_turn_sine(struct tfd_double_turn t)
{
    const double square = t.r * t.r, cube = square * t.r;
    const double p = tfd_double_sine_terms(square);
    const double rest = square * (0.5 * t.low - cube * p) - t.low;

    return t.r - (rest + cube * TFD_DOUBLE_SIXTH);
}

TFD_VECTOR double tfd_double_turn_cosine(struct tfd_double_turn t)
{
    const double square = t.r * t.r, half = 0.5 * square, y = 1 - half;
    const double p = tfd_double_cosine_terms(square);

    return y + (((1 - y) - half) + (p * square * square - t.r * t.low));
}

/* sin(t + quarters * pi/2) */
TFD_VECTOR double tfd_double_turn_sin(struct tfd_double_turn t,
                                      uint64_t quarters)
{
    const double s = tfd_double_turn_sine(t), c = tfd_double_turn_cosine(t);
    const uint64_t q = t.q + quarters;

    return tfd_double_of(tfd_double_bits(q & 1 ? c : s) ^ (q & 2) << 62);
}

/* y with its sign changed where x has one: for odd functions, -0 included. */
TFD_VECTOR double tfd_double_odd(double y, double x)
{
    return tfd_double_of(tfd_double_bits(y) ^
                         (tfd_double_bits(x) & UINT64_C(1) << 63));
}

TFD_VECTOR double tfd_double_sin(double x)
{
    return tfd_double_odd(tfd_double_turn_sin(tfd_double_turn(fabs(x)), 0), x);
}

TFD_VECTOR double tfd_double_cos(double x)
{
    return tfd_double_turn_sin(tfd_double_turn(fabs(x)), 1);
}

TFD_VECTOR double tfd_double_tan(double x)
{
    const struct tfd_double_turn t = tfd_double_turn(fabs(x));
    const double s = tfd_double_turn_sine(t), c = tfd_double_turn_cosine(t);
    const int odd = (int)(t.q & 1);

    return tfd_double_odd((odd ? -c : s) / (odd ? s : c), x);
}

TFD_VECTOR int tfd_double_is_huge_angle(double x)
{
    return (fabs(x) >= TFD_DOUBLE_TURNS) & (fabs(x) < (double)INFINITY);
}

static inline double tfd_double_sin_any(double x)
{
    return tfd_double_is_huge_angle(x) ? sin(x) : tfd_double_sin(x);
}

static inline double tfd_double_cos_any(double x)
{
    return tfd_double_is_huge_angle(x) ? cos(x) : tfd_double_cos(x);
}

static inline double tfd_double_tan_any(double x)
{
    return tfd_double_is_huge_angle(x) ? tan(x) : tfd_double_tan(x);
}

/* ---- Inverses ------------------------------------------------------------ */

/* asin(x) / x - 1 of x^2, at most 1/4, is p / q. */
TFD_VECTOR double tfd_double_asin_p(double square)
{
    double p = 3.47933107596021167570e-05;

    p = p * square + 7.91534994289814532176e-04;
    p = p * square - 4.00555345006794114027e-02;
    p = p * square + 2.01212532134862925881e-01;
    p = p * square - 3.25565818622400915405e-01;
    return (p * square + 1.66666666666666657415e-01) * square;
}

TFD_VECTOR double tfd_double_asin_q(double square)
{
    double q = 7.70381505559019352791e-02;

    q = q * square - 6.88283971605453293030e-01;
    q = q * square + 2.02094576023350569471e+00;
    q = q * square - 2.40339491173441421878e+00;
    return q * square + 1;
}

/* asin(|x|), or half of acos(|x|) from 1/2 on, as a sum: of the root's upper
 * half h, and a rest that has what the root is rounded by, too.  One quotient
 * serves both: p / q * s + lost / sum. */
TFD_VECTOR double tfd_double_asin_parts(double x, double *rest)
{
    const double a = fabs(x);
    const int near = a < 0.5;
    const double square = near ? a * a : 0.5 - 0.5 * a;
    const double s = near ? a : sqrt(square);
    const double h = near ? a : tfd_double_upper(s);
    const double lost = square - h * h, sum = s + h;
    const double below = (near | (sum == 0)) ? 1 : sum;
    const double p = tfd_double_asin_p(square), q = tfd_double_asin_q(square);

    *rest = (p * s * below + lost * q) / (q * below);
    return h;
}

TFD_VECTOR double tfd_double_asin(double x)
{
    double rest;
    const double h = tfd_double_asin_parts(x, &rest);
    const double quarter = 0.5 * TFD_DOUBLE_HALF_PI;
    const double steep =
        quarter - ((2 * rest - TFD_DOUBLE_HALF_PI_LESS) - (quarter - 2 * h));

    return copysign(fabs(x) < 0.5 ? h + rest : steep, x);
}

TFD_VECTOR double tfd_double_acos(double x)
{
    double rest;
    const double h = tfd_double_asin_parts(x, &rest);
    const double flat =
        TFD_DOUBLE_HALF_PI -
        (x - (TFD_DOUBLE_HALF_PI_LESS - tfd_double_odd(rest, x)));
    const double left =
        TFD_DOUBLE_HALF_PI - (h + (rest - TFD_DOUBLE_HALF_PI_LESS));

    return fabs(x) < 0.5 ? flat : 2 * (x < 0 ? left : h + rest);
}

#endif
