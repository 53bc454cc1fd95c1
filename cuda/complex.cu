/*
 * complex.cu - complex numbers and their parts: Complex, Real, Imag,
 * ComplexAbs, Angle of kernels/complex.c, and Conj.
 */
#include "cuda/elementwise.cuh"

namespace
{

/* ---- Functions ----------------------------------------------------------- */

template <typename C> struct join {
    template <typename R> __device__ C operator()(R re, R im) const
    {
        return {re, im};
    }
};

#define PART(name, R, expression)                                \
    template <typename R> struct name {                          \
        template <typename C> __device__ R operator()(C x) const \
        {                                                        \
            return expression;                                   \
        }                                                        \
    };

PART(real, R, x.re)
PART(imag, R, x.im)
PART(magnitude, R, hypot(x.re, x.im))
PART(angle, R, atan2(x.im, x.re))

struct conjugate {
    template <typename C> __device__ C operator()(C x) const
    {
        return {x.re, -x.im};
    }
};

/* ---- Rows ---------------------------------------------------------------- */

#define ROW(op, name, compute) \
    row(op, TFD_##name, compute, 0, tfd_complex_prepare)
#define PART_ROW(op, name, C, real_name, R, f) \
    ROW(op, name, (unary_to<C, R, TFD_##real_name, f<R>>))
/* clang-format off */
#define ROWS(name, C, real_name, R)                                      \
    ROW("Complex", real_name, (binary_plain_to<R, C, TFD_##name, join<C>>)), \
    PART_ROW("Real", name, C, real_name, R, real),                       \
    PART_ROW("Imag", name, C, real_name, R, imag),                       \
    PART_ROW("ComplexAbs", name, C, real_name, R, magnitude),            \
    PART_ROW("Angle", name, C, real_name, R, angle),                     \
    row("Conj", TFD_##name, unary<C, conjugate>),

static const struct tfd_kernel kernels[] = {
    ROWS(COMPLEX64, tfd_complex64, FLOAT, float)
    ROWS(COMPLEX128, tfd_complex128, DOUBLE, double)
};
/* clang-format on */

} /* namespace */

CUDA_FAMILY_OF(complex);
