/*
 * complex_math.h - arithmetic of complex elements, on the structs of tensor.h.
 *
 * Products are the plain four multiplications, as vector units do them: no
 * repair of infinities.  Quotients scale by the larger part of the divisor, so
 * that they overflow only where the result does.
 *
 * Functions come for both precisions, named after the type:
 * tfd_complex64_add(), tfd_complex128_add().  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_COMPLEX_MATH_H
#define TFD_KERNELS_COMPLEX_MATH_H

#include "common/base/tensor.h"

#include <complex.h>
#include <math.h>

#define TFD_COMPLEX_MATH(C, R, native, abs_real)                          \
    static inline C C##_add(C a, C b)                                     \
    {                                                                     \
        return (C){a.re + b.re, a.im + b.im};                             \
    }                                                                     \
    static inline C C##_sub(C a, C b)                                     \
    {                                                                     \
        return (C){a.re - b.re, a.im - b.im};                             \
    }                                                                     \
    static inline C C##_mul(C a, C b)                                     \
    {                                                                     \
        return (C){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; \
    }                                                                     \
    static inline C C##_conj(C a)                                         \
    {                                                                     \
        return (C){a.re, -a.im};                                          \
    }                                                                     \
    static inline C C##_div(C a, C b)                                     \
    {                                                                     \
        R abs_re = abs_real(b.re), abs_im = abs_real(b.im);               \
        R scale = abs_re > abs_im ? abs_re : abs_im;                      \
        R re = b.re / scale, im = b.im / scale;                           \
        R norm = re * re + im * im;                                       \
                                                                          \
        if (abs_re == 0 && abs_im == 0)                                   \
            return (C){a.re / abs_re, a.im / abs_re};                     \
        return (C){(a.re * re + a.im * im) / norm / scale,                \
                   (a.im * re - a.re * im) / norm / scale};               \
    }                                                                     \
    static inline native C##_native(C a)                                  \
    {                                                                     \
        native z;                                                         \
        R parts[2] = {a.re, a.im};                                        \
                                                                          \
        __builtin_memcpy(&z, parts, sizeof(z));                           \
        return z;                                                         \
    }

TFD_COMPLEX_MATH(tfd_complex64, float, float complex, fabsf)
TFD_COMPLEX_MATH(tfd_complex128, double, double complex, fabs)

static inline tfd_complex64 tfd_complex64_of(float complex z)
{
    return (tfd_complex64){crealf(z), cimagf(z)};
}

static inline tfd_complex128 tfd_complex128_of(double complex z)
{
    return (tfd_complex128){creal(z), cimag(z)};
}

/* Between an element and the type it is summed up in. */
static inline tfd_complex128 tfd_complex64_widen(tfd_complex64 a)
{
    return (tfd_complex128){a.re, a.im};
}

static inline tfd_complex64 tfd_complex64_narrow(tfd_complex128 a)
{
    return (tfd_complex64){(float)a.re, (float)a.im};
}

static inline tfd_complex128 tfd_complex128_widen(tfd_complex128 a)
{
    return a;
}

static inline tfd_complex128 tfd_complex128_narrow(tfd_complex128 a)
{
    return a;
}

#endif
