/*
 * cuda_bf16.h - bfloat16 for g++: two bytes and their conversions.
 */
#ifndef TFD_TESTS_EMULATED_CUDA_BF16_H
#define TFD_TESTS_EMULATED_CUDA_BF16_H

#include "common/half.h"

struct __nv_bfloat16 {
    tfd_bfloat16 bits;

    __nv_bfloat16() = default;
    __nv_bfloat16(float x) : bits(tfd_bfloat16_from_float(x))
    {
    }
    operator float() const
    {
        return tfd_bfloat16_to_float(bits);
    }
};

static inline float __bfloat162float(__nv_bfloat16 x)
{
    return x;
}

static inline __nv_bfloat16 __float2bfloat16_rn(float x)
{
    return __nv_bfloat16(x);
}

static inline __nv_bfloat16 __float2bfloat16(float x)
{
    return __nv_bfloat16(x);
}

#endif
