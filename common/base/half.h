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
 * Threads: any; there is no state.
 */
#ifndef TFD_COMMON_HALF_H
#define TFD_COMMON_HALF_H

#include "common/base/device_code.h"
#include "common/base/tensor.h"

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

/* Without a branch, so that loops of it are vectorised: each case is computed,
 * then one is taken.  The units of a subnormal half, 2^-24, are those of a
 * float from 0.5 on, so a sum with that rounds to them. */
static inline TFD_DEVICE tfd_half tfd_half_from_float(float value)
{
    uint32_t bits = tfd_half_float_bits(value);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ffu); /* made quiet */
    uint32_t normal =
        (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
    uint32_t subnormal =
        tfd_half_float_bits(tfd_half_float_of(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t half = magnitude < 0x38800000u ? subnormal : normal; /* 2^-14 */

    /* 65520, the tie with 2^16 */
    half = magnitude >= 0x477ff000u ? 0x7c00u : half;
    half = magnitude > 0x7f800000u ? nan : half;
    return (tfd_half)(sign | half);
}

static inline TFD_DEVICE float tfd_half_to_float(tfd_half half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t fraction = half & 0x3ffu;
    uint32_t exponent = half >> 10 & 0x1fu;
    uint32_t normal = (exponent + 112) << 23 | fraction << 13;
    uint32_t special =
        0x7f800000u | fraction << 13 | (fraction ? 0x400000u : 0);
    /* Exact: the product has at most 10 bits. */
    uint32_t subnormal =
        tfd_half_float_bits((float)(int32_t)fraction * (1.0f / 16777216));
    uint32_t bits = exponent == 0 ? subnormal : normal;

    bits = exponent == 31 ? special : bits;
    return tfd_half_float_of(sign | bits);
}

/* The float nearest to it that is a half: as converted there and back. */
static inline TFD_DEVICE float tfd_half_round(float value)
{
    uint32_t bits = tfd_half_float_bits(value);
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1)) & ~0x1fffu;
    uint32_t subnormal =
        tfd_half_float_bits((tfd_half_float_of(magnitude) + 0.5f) - 0.5f);
    uint32_t nan = (magnitude | 0x400000u) & ~0x1fffu;
    uint32_t half = magnitude < 0x38800000u ? subnormal : normal; /* 2^-14 */

    half = magnitude >= 0x477ff000u ? 0x7f800000u : half;
    half = magnitude > 0x7f800000u ? nan : half;
    return tfd_half_float_of((bits & 0x80000000u) | half);
}

/* ---- bfloat16 ------------------------------------------------------------ */

static inline TFD_DEVICE tfd_bfloat16 tfd_bfloat16_from_float(float value)
{
    uint32_t bits = tfd_half_float_bits(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fc0u;
    return (tfd_bfloat16)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* As converted there and back. */
static inline TFD_DEVICE float tfd_bfloat16_round(float value)
{
    uint32_t bits = tfd_half_float_bits(value);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u;
    bool nan = (bits & 0x7fffffffu) > 0x7f800000u;

    return tfd_half_float_of(nan ? 0x7fc00000u : rounded);
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
