/*
 * scatter_functions.h - the functions of scatter.h on elements of each type:
 * add_FLOAT(), min_INT32(), ...  Scatters and segments are folds by them.
 *
 * Integers wrap; an integer is never divided by zero here.
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_SCATTER_FUNCTIONS_H
#define TFD_KERNELS_SCATTER_FUNCTIONS_H

#include "common/base/half.h"
#include "kernels/vector/complex_math.h"

#define INT_FUNCTIONS(name, number, T)                    \
    static inline T add_##name(T a, T b)                  \
    {                                                     \
        return (T)((uint64_t)a + (uint64_t)b);            \
    }                                                     \
    static inline T sub_##name(T a, T b)                  \
    {                                                     \
        return (T)((uint64_t)a - (uint64_t)b);            \
    }                                                     \
    static inline T mul_##name(T a, T b)                  \
    {                                                     \
        return (T)((uint64_t)a * (uint64_t)b);            \
    }                                                     \
    /* By -1 the smallest number would overflow: wraps */ \
    static inline T div_##name(T a, T b)                  \
    {                                                     \
        const T zero = 0, minus_one = (T)-1;              \
                                                          \
        if (minus_one < zero && b == minus_one)           \
            return (T)(0 - (uint64_t)a);                  \
        return (T)(a / b);                                \
    }                                                     \
    ORDER_FUNCTIONS(name, T, a, b)

#define FLOAT_FUNCTIONS(name, number, T) \
    static inline T add_##name(T a, T b) \
    {                                    \
        return a + b;                    \
    }                                    \
    static inline T sub_##name(T a, T b) \
    {                                    \
        return a - b;                    \
    }                                    \
    static inline T mul_##name(T a, T b) \
    {                                    \
        return a * b;                    \
    }                                    \
    static inline T div_##name(T a, T b) \
    {                                    \
        return a / b;                    \
    }                                    \
    ORDER_FUNCTIONS(name, T, a, b)

/* NaN in either keeps a, as TensorFlow's vector units do. */
#define ORDER_FUNCTIONS(name, T, left, right) \
    static inline T min_##name(T a, T b)      \
    {                                         \
        return (right) < (left) ? b : a;      \
    }                                         \
    static inline T max_##name(T a, T b)      \
    {                                         \
        return (right) > (left) ? b : a;      \
    }

#define HALF_FUNCTION(word, name, T, operator)                           \
    static inline T word##_##name(T a, T b)                              \
    {                                                                    \
        return T##_from_float(T##_to_float(a) operator T##_to_float(b)); \
    }

#define HALF_FUNCTIONS(name, number, T) \
    HALF_FUNCTION(add, name, T, +)      \
    HALF_FUNCTION(sub, name, T, -)      \
    HALF_FUNCTION(mul, name, T, *)      \
    HALF_FUNCTION(div, name, T, /)      \
    ORDER_FUNCTIONS(name, T, T##_to_float(a), T##_to_float(b))

#define COMPLEX_FUNCTIONS(name, number, T) \
    static inline T add_##name(T a, T b)   \
    {                                      \
        return T##_add(a, b);              \
    }                                      \
    static inline T sub_##name(T a, T b)   \
    {                                      \
        return T##_sub(a, b);              \
    }                                      \
    static inline T mul_##name(T a, T b)   \
    {                                      \
        return T##_mul(a, b);              \
    }                                      \
    static inline T div_##name(T a, T b)   \
    {                                      \
        return T##_div(a, b);              \
    }

TFD_INT_DTYPES(INT_FUNCTIONS)
TFD_FLOAT_DTYPES(FLOAT_FUNCTIONS)
TFD_HALF_DTYPES(HALF_FUNCTIONS)
TFD_COMPLEX_DTYPES(COMPLEX_FUNCTIONS)

static inline tfd_bool add_BOOL(tfd_bool a, tfd_bool b)
{
    return a | b;
}

static inline tfd_bool sub_BOOL(tfd_bool a, tfd_bool b)
{
    return a ^ b;
}

#undef INT_FUNCTIONS
#undef FLOAT_FUNCTIONS
#undef ORDER_FUNCTIONS
#undef HALF_FUNCTION
#undef HALF_FUNCTIONS
#undef COMPLEX_FUNCTIONS

#endif
