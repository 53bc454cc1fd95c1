/*
 * vector_normal.h - two uniforms to two standard normals, after Box and Muller,
 * so that a loop over it is vectorised.
 *
 * The results are those of random_make.h to the bit, whose logarithm, sine and
 * cosine are the C library's: only 2^23 numbers can come into either function,
 * and all of them were compared (test_random_fill.c), with and without fused
 * multiplication in the library.  That holds for a library whose logf() and
 * sincosf() are those of ARM's optimized routines, as glibc 2.28 and later have
 * them, from which the coefficients and the order of operations are taken; with
 * another library these are the normals that TensorFlow has with glibc.
 *
 *     log(u) = n * ln 2 + log(1 / c) + log(c * m)     u = 2^n * m, c near 1 / m
 *     sin, cos(a) = +-sin or cos(r)     a = n * pi / 2 + r, |r| <= pi / 4
 *
 * All is computed in double, in lanes of 64 bits, and rounded to float at the
 * end.  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_VECTOR_NORMAL_H
#define TFD_KERNELS_VECTOR_NORMAL_H

#include "kernels/random/random_make.h"
#include "kernels/vector/vector_math.h"

TFD_VECTOR double tfd_normal_double_of(uint64_t bits)
{
    double d;

    memcpy(&d, &bits, sizeof(d));
    return d;
}

TFD_VECTOR uint64_t tfd_normal_bits_of(double d)
{
    uint64_t bits;

    memcpy(&bits, &d, sizeof(bits));
    return bits;
}

/* 1.5 * 2^52: added to a small double it leaves the nearest integer in the low
 * bits. */
#define TFD_NORMAL_MAGIC 6755399441055744.0
#define TFD_NORMAL_MAGIC_BITS UINT64_C(0x4338000000000000)

/* 23 bits as a number in [0, 1), exactly. */
TFD_VECTOR double tfd_normal_uniform(uint64_t x)
{
    return tfd_normal_double_of(UINT64_C(1023) << 52 | (x & 0x7fffffu) << 29) -
           1.0;
}

/* The same with TFD_RANDOM_U1_MIN for 0, the one number below that.  Written as
 * a selection it would become a branch, and no vectors. */
TFD_VECTOR double tfd_normal_uniform_above_0(uint64_t x)
{
    uint64_t is_0 = -(uint64_t)((x & 0x7fffffu) == 0);
    double least = (double)(float)TFD_RANDOM_U1_MIN;

    return tfd_normal_double_of(tfd_normal_bits_of(tfd_normal_uniform(x)) |
                                (is_0 & tfd_normal_bits_of(least)));
}

/* c, and log(1 / c), of the sixteen parts of [0.699, 1.398). */
static const struct {
    double c[16], log[16];
} tfd_normal_parts = {
    {0x1.661ec79f8f3bep+0, 0x1.571ed4aaf883dp+0, 0x1.49539f0f010bp+0,
     0x1.3c995b0b80385p+0, 0x1.30d190c8864a5p+0, 0x1.25e227b0b8eap+0,
     0x1.1bb4a4a1a343fp+0, 0x1.12358f08ae5bap+0, 0x1.0953f419900a7p+0, 1,
     0x1.e608cfd9a47acp-1, 0x1.ca4b31f026aap-1, 0x1.b2036576afce6p-1,
     0x1.9c2d163a1aa2dp-1, 0x1.886e6037841edp-1, 0x1.767dcf5534862p-1},
    {-0x1.57bf7808caadep-2, -0x1.2bef0a7c06ddbp-2, -0x1.01eae7f513a67p-2,
     -0x1.b31d8a68224e9p-3, -0x1.6574f0ac07758p-3, -0x1.1aa2bc79c81p-3,
     -0x1.a4e76ce8c0e5ep-4, -0x1.1973c5a611cccp-4, -0x1.252f438e10c1ep-5, 0,
     0x1.aa5aa5df25984p-5, 0x1.c5e53aa362eb4p-4, 0x1.526e57720db08p-3,
     0x1.bc2860d22477p-3, 0x1.1058bc8a07ee1p-2, 0x1.4043057b6ee09p-2},
};

/* Bits of the double 0.69921875, where the first part begins. */
#define TFD_NORMAL_PARTS_BEGIN UINT64_C(0x3fe6600000000000)
/* n + this is positive. */
#define TFD_NORMAL_EXPONENT_BIAS 64

/* log(u) of a float in [1e-7, 1). */
TFD_VECTOR float tfd_normal_log(double u)
{
    uint64_t bits = tfd_normal_bits_of(u);
    uint64_t from = bits - TFD_NORMAL_PARTS_BEGIN +
                    ((uint64_t)TFD_NORMAL_EXPONENT_BIAS << 52);
    uint64_t biased = from >> 52, part = from >> 48 & 15;
    double n = tfd_normal_double_of(TFD_NORMAL_MAGIC_BITS + biased) -
               (TFD_NORMAL_MAGIC + TFD_NORMAL_EXPONENT_BIAS);
    double m = tfd_normal_double_of(
        bits - ((biased - TFD_NORMAL_EXPONENT_BIAS) << 52));
    double r = m * tfd_normal_parts.c[part] - 1.0, square = r * r;
    double high = tfd_normal_parts.log[part] + n * 0x1.62e42fefa39efp-1;
    double p = 0x1.5575b0be00b6ap-2 * r - 0x1.ffffef20a4123p-2;

    p = -0x1.00ea348b88334p-2 * square + p;
    return (float)(p * square + (high + r));
}

/* Of a float in [0, 2 pi]. */
TFD_VECTOR void tfd_normal_sincos(double angle, float *sine, float *cosine)
{
    double shifted = angle * 0x1.45f306dc9c883p-1 + TFD_NORMAL_MAGIC;
    uint64_t n = tfd_normal_bits_of(shifted);
    double x = angle - (shifted - TFD_NORMAL_MAGIC) * 0x1.921fb54442d18p+0;
    double x2 = x * x, x3 = x2 * x, x4 = x2 * x2, x5 = x3 * x2, x6 = x4 * x2;
    double s = x + x3 * -0x1.555545995a603p-3;
    double s_more = 0x1.1107605230bc4p-7 + x2 * -0x1.994eb3774cf24p-13;
    double c = 1.0 + x2 * -0x1.ffffffd0c621cp-2 + x4 * 0x1.55553e1068f19p-5;
    double c_more = -0x1.6c087e89a359dp-10 + x2 * 0x1.99343027bf8c3p-16;
    uint64_t swap = -(n & 1); /* all bits, or none */
    uint64_t is, ic, differ;

    is = tfd_normal_bits_of(s + x5 * s_more);
    ic = tfd_normal_bits_of(c + x6 * c_more);
    differ = (is ^ ic) & swap;
    /* sine is negative in the quarters 2 and 3, cosine in 1 and 2 */
    *sine = (float)tfd_normal_double_of(is ^ differ ^ (n & 2) << 62);
    *cosine = (float)tfd_normal_double_of(ic ^ differ ^ ((n + 1) & 2) << 62);
}

/* The numbers of a pair (philox_lanes.h): u1 is made of the first. */
TFD_VECTOR void tfd_normal_pair(uint64_t pair, float *first, float *second)
{
    double u1 = tfd_normal_uniform_above_0(pair);
    double angle = TFD_RANDOM_TWO_PI * tfd_normal_uniform(pair >> 32);
    float radius, sine, cosine;

    radius = sqrtf(-2.0f * tfd_normal_log(u1));
    tfd_normal_sincos((double)(float)angle, &sine, &cosine);
    *first = sine * radius;
    *second = cosine * radius;
}

#endif
