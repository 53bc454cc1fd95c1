/*
 * narrow.h - floating point numbers of two bytes for g++: the bits and their
 * conversions, by CUDA's names.
 */
#ifndef TFD_TESTS_EMULATED_NARROW_H
#define TFD_TESTS_EMULATED_NARROW_H

#include "common/base/half.h"

/* T, its bits' type, its name in functions */
#define EMULATED_NARROW(T, B, name)              \
    struct T {                                   \
        B bits;                                  \
                                                 \
        T() = default;                           \
        T(float x) : bits(B##_from_float(x))     \
        {                                        \
        }                                        \
        operator float() const                   \
        {                                        \
            return B##_to_float(bits);           \
        }                                        \
    };                                           \
                                                 \
    static inline float __##name##2float(T x)    \
    {                                            \
        return x;                                \
    }                                            \
    static inline T __float2##name##_rn(float x) \
    {                                            \
        return T(x);                             \
    }                                            \
    static inline T __float2##name(float x)      \
    {                                            \
        return T(x);                             \
    }

#endif
