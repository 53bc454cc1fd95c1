/*
 * cuda_fp16.h - half for g++: two bytes and their conversions.
 */
#ifndef TFD_TESTS_EMULATED_CUDA_FP16_H
#define TFD_TESTS_EMULATED_CUDA_FP16_H

#include "common/half.h"

struct __half {
    tfd_half bits;

    __half() = default;
    __half(float x) : bits(tfd_half_from_float(x))
    {
    }
    operator float() const
    {
        return tfd_half_to_float(bits);
    }
};

static inline float __half2float(__half x)
{
    return x;
}

static inline __half __float2half_rn(float x)
{
    return __half(x);
}

static inline __half __float2half(float x)
{
    return __half(x);
}

#endif
