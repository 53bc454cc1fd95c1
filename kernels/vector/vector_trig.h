/*
 * vector_trig.h - sin, cos, tan and their inverses of floats, in the manner of
 * vector_math.h: polynomials and selections, no branch and no call.
 *
 *     x = q * pi/2 + r     |r| <= pi/4, in double: exact enough beside a
 *                          multiple of pi/2, where sin(r) is r
 *     sin(r) = r + r^3 * P(r^2)     cos(r) = 1 - r^2/2 + r^4 * P(r^2)
 *     tan(r) = sin(r) / cos(r)        in double
 *     asin(x) = x + x^3 * P(x^2)      |x| < 1/2,
 *               else pi/2 - 2 asin(sqrt((1 - |x|) / 2))
 *     acos(x) = sqrt(1 - x) * P(x)   0 <= x, else pi - acos(-x)
 *     atan(x) = x + x^3 * P(x^2)     |x| <= 1, else pi/2 - atan(1 / x)
 *     atan2(y, x) = atan of the smaller over the larger, and its octant
 *
 * The reduction holds below TFD_TRIG_HUGE; the functions that end in _any take
 * larger arguments as well, by as many digits of 2/pi as they need, and are
 * for single elements.  Both give the same value where both may be called.
 *
 * Coefficients are least-maximum fits of relative errors.  Largest distances
 * from a double reference, in units of the last place, over all floats: sin
 * and cos 2, tan 1, asin 3, acos 2.2, atan 2, atan2 3.
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_VECTOR_TRIG_H
#define TFD_KERNELS_VECTOR_TRIG_H

#include "kernels/vector/vector_functions.h"

#define TFD_TWO_OVER_PI 0.636619747f
#define TFD_TRIG_HUGE 65536.0f          /* below, q is off by 1/100 at most */
#define TFD_QUARTER_HIGH 0x1.921fb544p0 /* pi/2: 31 bits, and what is left */
#define TFD_QUARTER_LOW 0x1.0b4611a626331p-34
#define TFD_HALF_PI_HIGH 1.57079637f
#define TFD_HALF_PI_LOW (-4.37113883e-8f)
#define TFD_PI_HIGH 3.14159274f
#define TFD_PI_LOW (-8.74227766e-8f)

/* x is q quarter turns (only the low bits of q matter) and an angle r. */
struct tfd_angle {
    double r;
    uint32_t q;
};

/* 0 <= x < TFD_TRIG_HUGE, or no finite number, whose r is NaN. */
TFD_VECTOR struct tfd_angle tfd_vector_angle(float x)
{
    float shifted = x * TFD_TWO_OVER_PI + TFD_ROUND_MAGIC;
    double q = (double)(shifted - TFD_ROUND_MAGIC);
    struct tfd_angle angle;

    angle.r = ((double)x - q * TFD_QUARTER_HIGH) - q * TFD_QUARTER_LOW;
    angle.q = tfd_half_float_bits(shifted);
    return angle;
}

/* TFD_TRIG_HUGE <= x: the product of its 24 digits and those 96 digits of 2/pi
 * that do not make whole turns. */
static inline struct tfd_angle tfd_huge_angle(float x)
{
    static const uint32_t digits[] = {0,          0xa2f9836e, 0x4e441529,
                                      0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                      0x3c439041, 0xfe5163ab, 0xdebbc561};
    uint32_t bits = tfd_half_float_bits(x);
    uint64_t m = (bits & 0x7fffffu) | 0x800000u;
    uint32_t at = (bits >> 23) - 120; /* first digit needed, from 2^31 */
    const uint32_t *d = digits + at / 32;
    uint32_t shift = at % 32, word[3];
    uint64_t product, turns;
    struct tfd_angle angle;

    for (int i = 0; i < 3; i++)
        word[i] = (uint32_t)(((uint64_t)d[i] << 32 | d[i + 1]) >> (32 - shift));
    product = m * word[2] >> 32;
    product += m * word[1];
    turns = (m * word[0] << 32) + product; /* 2^-62 of a quarter turn */
    angle.q = (uint32_t)((turns + (UINT64_C(1) << 61)) >> 62);
    angle.r = (double)(int64_t)(turns - ((uint64_t)angle.q << 62)) * 0x1p-62 *
              (TFD_QUARTER_HIGH + TFD_QUARTER_LOW);
    return angle;
}

/* sin(angle + quarters * pi/2) */
TFD_VECTOR float tfd_angle_sin(struct tfd_angle angle, uint32_t quarters)
{
    float r = (float)angle.r, square = r * r;
    uint32_t q = angle.q + quarters;
    float s = -1.950684818e-04f, c = 2.443020276e-05f, y;

    s = s * square + 8.332101628e-03f;
    s = s * square - 1.666665375e-01f;
    s = s * square * r + r;
    c = c * square - 1.388729899e-03f;
    c = c * square + 4.166664556e-02f;
    c = c * square * square - 0.5f * square + 1;
    y = q & 1 ? c : s;
    return tfd_half_float_of(tfd_half_float_bits(y) ^ (q & 2) << 30);
}

/* The sine and cosine of r, |r| <= pi/4, to 1e-11. */
TFD_VECTOR void tfd_angle_waves(double r, double *sine, double *cosine)
{
    double square = r * r;
    double s = -2.47542975677230883e-08, c = -2.72013959567235545e-07;

    s = s * square + 2.75552570017269495e-06;
    s = s * square - 1.98412633530803200e-04;
    s = s * square + 8.33333332442167882e-03;
    s = s * square - 1.66666666666269114e-01;
    c = c * square + 2.47994131363244106e-05;
    c = c * square - 1.38888833497136468e-03;
    c = c * square + 4.16666666181711720e-02;
    *sine = s * square * r + r;
    *cosine = c * square * square - 0.5 * square + 1;
}

TFD_VECTOR float tfd_angle_tan(struct tfd_angle angle)
{
    double s, c;

    tfd_angle_waves(angle.r, &s, &c);
    return (float)(angle.q & 1 ? -c / s : s / c);
}

/* y with its sign changed where x has one: for odd functions, -0 included. */
TFD_VECTOR float tfd_odd(float y, float x)
{
    return tfd_half_float_of(tfd_half_float_bits(y) ^
                             (tfd_half_float_bits(x) & 0x80000000u));
}

TFD_VECTOR float tfd_vector_sin(float x)
{
    return tfd_odd(tfd_angle_sin(tfd_vector_angle(fabsf(x)), 0), x);
}

TFD_VECTOR float tfd_vector_cos(float x)
{
    return tfd_angle_sin(tfd_vector_angle(fabsf(x)), 1);
}

TFD_VECTOR float tfd_vector_tan(float x)
{
    return tfd_odd(tfd_angle_tan(tfd_vector_angle(fabsf(x))), x);
}

TFD_VECTOR int tfd_is_huge_angle(float x)
{
    uint32_t bits = tfd_half_float_bits(x) & 0x7fffffffu;

    return (bits >= 0x47800000u) & (bits < 0x7f800000u); /* TFD_TRIG_HUGE */
}

static inline struct tfd_angle tfd_any_angle(float x)
{
    return tfd_is_huge_angle(x) ? tfd_huge_angle(x) : tfd_vector_angle(x);
}

static inline float tfd_sin_any(float x)
{
    return tfd_odd(tfd_angle_sin(tfd_any_angle(fabsf(x)), 0), x);
}

static inline float tfd_cos_any(float x)
{
    return tfd_angle_sin(tfd_any_angle(fabsf(x)), 1);
}

static inline float tfd_tan_any(float x)
{
    return tfd_odd(tfd_angle_tan(tfd_any_angle(fabsf(x))), x);
}

/* ---- Inverses ------------------------------------------------------------ */

/* asin(s) for s in [0, 1/2], square = s * s */
TFD_VECTOR float tfd_asin_half(float s, float square)
{
    float p = 4.216151685e-02f;

    p = p * square + 2.418307029e-02f;
    p = p * square + 4.546943679e-02f;
    p = p * square + 7.495307922e-02f;
    p = p * square + 1.666675210e-01f;
    return p * square * s + s;
}

TFD_VECTOR float tfd_vector_asin(float x)
{
    float a = fabsf(x), square = a < 0.5f ? a * a : 0.5f - 0.5f * a;
    float p = tfd_asin_half(a < 0.5f ? a : sqrtf(square), square);

    p = a < 0.5f ? p : TFD_HALF_PI_HIGH - (2 * p - TFD_HALF_PI_LOW);
    return tfd_odd(p, x);
}

TFD_VECTOR float tfd_vector_acos(float x)
{
    float a = fabsf(x), p = -1.351094921e-3f;

    p = p * a + 6.999459583e-3f;
    p = p * a - 1.757672243e-2f;
    p = p * a + 3.12596783e-2f;
    p = p * a - 5.032175034e-2f;
    p = p * a + 8.900904655e-2f;
    p = p * a - 2.146014571e-1f;
    p = (p * a + TFD_HALF_PI_HIGH) * sqrtf(1 - a);
    return x < 0 ? TFD_PI_HIGH - (p - TFD_PI_LOW) : p;
}

/* atan(x) for x in [0, 1] */
TFD_VECTOR float tfd_atan_unit(float x)
{
    float square = x * x, p = 2.9745431163e-3f;

    p = p * square - 1.6580997050e-2f;
    p = p * square + 4.3553239852e-2f;
    p = p * square - 7.5805532443e-2f;
    p = p * square + 1.0678928899e-1f;
    p = p * square - 1.4214206339e-1f;
    p = p * square + 1.9994136877e-1f;
    p = p * square - 3.3333166953e-1f;
    return p * square * x + x;
}

TFD_VECTOR float tfd_vector_atan(float x)
{
    float a = fabsf(x), p = tfd_atan_unit(a > 1 ? 1 / a : a);

    p = a > 1 ? TFD_HALF_PI_HIGH - p + TFD_HALF_PI_LOW : p;
    return copysignf(p, x);
}

TFD_VECTOR float tfd_vector_atan2(float y, float x)
{
    float a = fabsf(y), b = fabsf(x);
    float low = a > b ? b : a, high = a > b ? a : b, ratio = low / high, p;

    ratio = low == high ? (high == 0 ? 0 : 1) : ratio; /* 0/0, inf/inf */
    p = tfd_atan_unit(ratio);
    p = a > b ? TFD_HALF_PI_HIGH - (p - TFD_HALF_PI_LOW) : p;
    p = tfd_half_float_bits(x) >> 31 ? TFD_PI_HIGH - (p - TFD_PI_LOW) : p;
    return copysignf(p, y);
}

#endif
