/*
 * complex.cuh - complex numbers for GPU kernels: the bytes of tfd_complex64 and
 * tfd_complex128, with operators, so that templates written for real types
 * serve these too.
 *
 * A real number converts implicitly.  Products and quotients are computed as in
 * kernels/vector/complex_math.h.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_CUDA_COMPLEX_CUH
#define TFD_CUDA_COMPLEX_CUH

#include "cuda/lib/launch.cuh"

template <typename R> struct complex_number {
    R re, im;

    complex_number() = default;
    __host__ __device__ complex_number(R real, R imaginary = 0)
        : re(real), im(imaginary)
    {
    }

    /* Friends: an operand may be a real number. */
    __device__ friend complex_number operator+(complex_number a,
                                               complex_number b)
    {
        return {a.re + b.re, a.im + b.im};
    }
    __device__ friend complex_number operator-(complex_number a,
                                               complex_number b)
    {
        return {a.re - b.re, a.im - b.im};
    }
    __device__ friend complex_number operator-(complex_number a)
    {
        return {-a.re, -a.im};
    }
    __device__ friend complex_number operator*(complex_number a,
                                               complex_number b)
    {
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
    __device__ friend complex_number operator/(complex_number a,
                                               complex_number b)
    {
        R scale = fmax(fabs(b.re), fabs(b.im));
        R re = b.re / scale, im = b.im / scale, norm = re * re + im * im;

        if (scale == 0)
            return {a.re / scale, a.im / scale};
        return {(a.re * re + a.im * im) / norm / scale,
                (a.im * re - a.re * im) / norm / scale};
    }
    __device__ complex_number &operator+=(complex_number b)
    {
        return *this = *this + b;
    }
    __device__ complex_number &operator-=(complex_number b)
    {
        return *this = *this - b;
    }
    __device__ friend complex_number sqrt(complex_number a)
    {
        R larger = ::sqrt((fabs(a.re) + hypot(a.re, a.im)) / 2);

        if (larger == 0)
            return {0, a.im};
        return a.re < 0 ? complex_number(fabs(a.im) / (2 * larger),
                                         copysign(larger, a.im))
                        : complex_number(larger, a.im / (2 * larger));
    }
    __device__ friend bool operator==(complex_number a, complex_number b)
    {
        return a.re == b.re && a.im == b.im;
    }
    __device__ friend bool operator!=(complex_number a, complex_number b)
    {
        return !(a == b);
    }
};

/* The parts one by one; by CUDA's names, as templates of folds call these. */
template <typename R>
__device__ inline complex_number<R>
__shfl_down_sync(unsigned mask, complex_number<R> x, int by)
{
    return {__shfl_down_sync(mask, x.re, by), __shfl_down_sync(mask, x.im, by)};
}

template <typename R>
__device__ inline complex_number<R>
__shfl_xor_sync(unsigned mask, complex_number<R> x, int with)
{
    return {__shfl_xor_sync(mask, x.re, with),
            __shfl_xor_sync(mask, x.im, with)};
}

/* name of the type, type in device code */
#define CUDA_COMPLEX_DTYPES(X)          \
    X(COMPLEX64, complex_number<float>) \
    X(COMPLEX128, complex_number<double>)

#endif
