/*
 * complex.cu - complex numbers and their parts: Complex, Real, Imag,
 * ComplexAbs, Angle of kernels/math/complex.c, and Conj; their functions of
 * kernels/math/unary.c, math.c and trig.c.
 *
 * With a + bi written as parts:
 *
 *     e^(a + bi) = e^a (cos b + i sin b)
 *     sinh(a + bi) = sinh a cos b + i cosh a sin b, cosh likewise
 *     sin z = -i sinh iz, cos z = cosh iz, tan z = -i tanh iz
 */
#include "cuda/lib/complex.cuh"
#include "cuda/lib/elementwise.cuh"

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

#define FUNCTION(name, ...)                                                \
    struct name {                                                          \
        template <typename R>                                              \
        __device__ complex_number<R> operator()(complex_number<R> x) const \
        {                                                                  \
            __VA_ARGS__                                                    \
        }                                                                  \
    };

/* A real x gives a real result, also where sin b is multiplied by infinity. */
template <typename R>
__device__ inline complex_number<R> turned(R re, R im, R b)
{
    return {re * cos(b), b == 0 ? b : im * sin(b)};
}

template <typename R>
__device__ inline complex_number<R> times_i(complex_number<R> x)
{
    return {-x.im, x.re};
}

template <typename R>
__device__ inline complex_number<R> by_i(complex_number<R> x)
{
    return {x.im, -x.re};
}

FUNCTION(negative, return -x;)
FUNCTION(inverse, return complex_number<R>(1) / x;)
FUNCTION(direction, R size = hypot(x.re, x.im);
         return size == 0 ? complex_number<R>(0)
                          : complex_number<R>(x.re / size, x.im / size);)
FUNCTION(power_of_e, R size = exp(x.re);
         return size == 0 ? complex_number<R>(0) : turned(size, size, x.im);)
FUNCTION(sinh_, return turned(sinh(x.re), cosh(x.re), x.im);)
FUNCTION(cosh_, return turned(cosh(x.re), sinh(x.re), x.im);)
FUNCTION(sin_, return by_i(sinh_()(times_i(x)));)
FUNCTION(cos_, return cosh_()(times_i(x));)

/* tanh(a + bi) with t = tan b, s = sinh a: loses nothing near the poles, and
 * is 1 with the sign of a where s overflows. */
FUNCTION(tanh_, R t = tan(x.im), s = sinh(x.re), c = sqrt(1 + s * s);
         R more = 1 + t * t, below = 1 + more * s * s;
         return isinf(s * s)
                    ? complex_number<R>(copysign(R(1), x.re), 0)
                    : complex_number<R>(more * c * s / below, t / below);)
FUNCTION(tan_, return by_i(tanh_()(times_i(x)));)

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

#define FUNCTION_ROWS(name, C)                         \
    row("Neg", TFD_##name, unary<C, negative>),        \
    row("Sign", TFD_##name, unary<C, direction>),      \
    row("Reciprocal", TFD_##name, unary<C, inverse>),  \
    row("Inv", TFD_##name, unary<C, inverse>),         \
    row("Exp", TFD_##name, unary<C, power_of_e>),      \
    row("Sin", TFD_##name, unary<C, sin_>),            \
    row("Cos", TFD_##name, unary<C, cos_>),            \
    row("Tan", TFD_##name, unary<C, tan_>),            \
    row("Sinh", TFD_##name, unary<C, sinh_>),          \
    row("Cosh", TFD_##name, unary<C, cosh_>),

static const struct tfd_kernel kernels[] = {
    CUDA_COMPLEX_DTYPES(FUNCTION_ROWS)
    ROWS(COMPLEX64, tfd_complex64, FLOAT, float)
    ROWS(COMPLEX128, tfd_complex128, DOUBLE, double)
};
/* clang-format on */

} /* namespace */

CUDA_FAMILY_OF(complex);
