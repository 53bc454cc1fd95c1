/*
 * half.h - half and bfloat16 to float and back, one value at a time.
 *
 *     half       1 sign, 5 exponent (bias 15), 10 fraction    IEEE 754 binary16
 *     bfloat16   1 sign, 8 exponent, 7 fraction: the upper half of a float
 *
 * Narrowing rounds to nearest, ties to even.  NaN stays NaN; which one it
 * becomes follows TensorFlow on x86-64: a half keeps its sign and payload, a
 * bfloat16 does not.  A double is narrowed by way of float, as there.
 *
 * Threads: pure.
 */
#ifndef TFD_COMMON_HALF_H
#define TFD_COMMON_HALF_H

#include "common/device_code.h"
#include "common/tensor.h"

#include <string.h>

static inline TFD_DEVICE uint32_t tfd_half_float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline TFD_DEVICE float tfd_half_float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* ---- half ---------------------------------------------------------------- */

/* magnitude < 2^-14.  The units of a subnormal half are 2^-24. */
static inline TFD_DEVICE uint32_t tfd_half_subnormal(uint32_t magnitude)
{
    uint32_t exponent = magnitude >> 23;
    uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u;
    uint32_t shift, rest, tie;

    if (exponent < 102) /* below 2^-25, which would be a tie with 0 */
        return 0;
    shift = 126 - exponent;
    rest = fraction & ((1u << shift) - 1);
    tie = 1u << (shift - 1);
    fraction >>= shift;
    return fraction + (rest > tie || (rest == tie && (fraction & 1)));
}

static inline TFD_DEVICE tfd_half tfd_half_from_float(float value)
{
    uint32_t bits = tfd_half_float_bits(value);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t half;

    if (magnitude > 0x7f800000u) /* NaN, made quiet */
        half = 0x7e00u | (magnitude >> 13 & 0x3ffu);
    else if (magnitude >= 0x477ff000u) /* 65520, the tie with 2^16 */
        half = 0x7c00u;
    else if (magnitude >= 0x38800000u) /* 2^-14 */
        half = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
    else
        half = tfd_half_subnormal(magnitude);
    return (tfd_half)(sign | half);
}

static inline TFD_DEVICE float tfd_half_to_float(tfd_half half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t fraction = half & 0x3ffu;
    uint32_t exponent = half >> 10 & 0x1fu;
    uint32_t bits;

    if (exponent == 0) /* exact: the product has at most 10 bits */
        bits = tfd_half_float_bits((float)fraction * (1.0f / 16777216));
    else if (exponent < 31)
        bits = (exponent + 112) << 23 | fraction << 13;
    else
        bits = 0x7f800000u | fraction << 13 | (fraction ? 0x400000u : 0);
    return tfd_half_float_of(sign | bits);
}

/* ---- bfloat16 ------------------------------------------------------------ */

static inline TFD_DEVICE tfd_bfloat16 tfd_bfloat16_from_float(float value)
{
    uint32_t bits = tfd_half_float_bits(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fc0u;
    return (tfd_bfloat16)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* Towards zero: what Cast does when its Truncate is set. */
static inline TFD_DEVICE tfd_bfloat16 tfd_bfloat16_truncate(float value)
{
    uint32_t bits = tfd_half_float_bits(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (tfd_bfloat16)((bits >> 16 & 0x8000u) | 0x7fc0u);
    return (tfd_bfloat16)(bits >> 16);
}

static inline TFD_DEVICE float tfd_bfloat16_to_float(tfd_bfloat16 value)
{
    return tfd_half_float_of((uint32_t)value << 16);
}

#endif
