/*
 * unary.cu - functions of one element: of kernels/math/unary.c, math.c and trig.c,
 * and of unary_grad.c the gradients that take y and dy.
 */
#include "cuda/lib/elementwise.cuh"

namespace
{

CUDA_FUNCTION1(neg, -x)
CUDA_FUNCTION1(abs_, x < 0 ? -x : x)
CUDA_FUNCTION1(sign, x > 0 ? one : x < 0 ? -one : x)
CUDA_FUNCTION1(square, x *x)
CUDA_FUNCTION1(reciprocal, one / x)
CUDA_FUNCTION1(floor_, floor(x))
CUDA_FUNCTION1(ceil_, ceil(x))
CUDA_FUNCTION1(rint_, rint(x))
CUDA_FUNCTION1(exp_, exp(x))
CUDA_FUNCTION1(expm1_, expm1(x))
CUDA_FUNCTION1(log_, log(x))
CUDA_FUNCTION1(log1p_, log1p(x))
CUDA_FUNCTION1(sqrt_, sqrt(x))
CUDA_FUNCTION1(rsqrt_, one / sqrt(x))
CUDA_FUNCTION1(tanh_, tanh(x))
CUDA_FUNCTION1(sigmoid, one / (one + exp(-x)))
CUDA_FUNCTION1(sin_, sin(x))
CUDA_FUNCTION1(cos_, cos(x))
CUDA_FUNCTION1(erf_, erf(x))
CUDA_FUNCTION1(tan_, tan(x))
CUDA_FUNCTION1(asin_, asin(x))
CUDA_FUNCTION1(acos_, acos(x))
CUDA_FUNCTION1(atan_, atan(x))
CUDA_FUNCTION1(sinh_, sinh(x))
CUDA_FUNCTION1(cosh_, cosh(x))
CUDA_FUNCTION1(asinh_, asinh(x))
CUDA_FUNCTION1(acosh_, acosh(x))
CUDA_FUNCTION1(atanh_, atanh(x))
CUDA_FUNCTION1(erfc_, erfc(x))

/* Of 0 all bits are set, as of other quotients (binary.cu). */
struct int_reciprocal {
    __device__ int64_t operator()(int64_t x) const
    {
        return x == 0 ? -1 : 1 / x;
    }
};

static enum tfd_code same(struct tfd_kctx *k, struct tfd_status *)
{
    const struct tfd_shape shape = k->in[0].shape;

    tfd_kctx_output_alias(k, 0, 0, &shape);
    return TFD_OK;
}

/* ---- Tests --------------------------------------------------------------- */

struct is_finite {
    template <typename T> __device__ tfd_bool operator()(T x) const
    {
        return isfinite(widen(x)) ? 1 : 0;
    }
};

struct is_inf {
    template <typename T> __device__ tfd_bool operator()(T x) const
    {
        return isinf(widen(x)) ? 1 : 0;
    }
};

struct is_nan {
    template <typename T> __device__ tfd_bool operator()(T x) const
    {
        return isnan(widen(x)) ? 1 : 0;
    }
};

struct logical_not {
    __device__ tfd_bool operator()(tfd_bool x) const
    {
        return !x;
    }
};

template <typename T, typename F>
static enum tfd_code test(struct tfd_kctx *k, struct tfd_status *st)
{
    return unary_to<T, tfd_bool, TFD_BOOL, F>(k, st);
}

/* ---- Gradients: of y (a) and dy (b) -------------------------------------- */

CUDA_FUNCTION2(sigmoid_grad, b *a *(one - a))
CUDA_FUNCTION2(tanh_grad, b *(one - a * a))
CUDA_FUNCTION2(sqrt_grad, b *wide<T>(0.5) / a)
CUDA_FUNCTION2(rsqrt_grad, b *wide<T>(-0.5) * a * a * a)
CUDA_FUNCTION2(reciprocal_grad, -b *a *a)

/* ---- Rows ---------------------------------------------------------------- */

#define ROW(op, name, T, f) row(op, TFD_##name, unary<T, f>),
#define FLOATS(name, T)                                              \
    ROW("Neg", name, T, neg)                                         \
    ROW("Abs", name, T, abs_)                                        \
    ROW("Sign", name, T, sign)                                       \
    ROW("Square", name, T, square)                                   \
    ROW("Reciprocal", name, T, reciprocal)                           \
    ROW("Inv", name, T, reciprocal)                                  \
    ROW("Floor", name, T, floor_)                                    \
    ROW("Ceil", name, T, ceil_)                                      \
    ROW("Rint", name, T, rint_)                                      \
    ROW("Round", name, T, rint_)                                     \
    ROW("Exp", name, T, exp_)                                        \
    ROW("Expm1", name, T, expm1_)                                    \
    ROW("Log", name, T, log_)                                        \
    ROW("Log1p", name, T, log1p_)                                    \
    ROW("Sqrt", name, T, sqrt_)                                      \
    ROW("Rsqrt", name, T, rsqrt_)                                    \
    ROW("Tanh", name, T, tanh_)                                      \
    ROW("Sigmoid", name, T, sigmoid)                                 \
    ROW("Sin", name, T, sin_)                                        \
    ROW("Cos", name, T, cos_)                                        \
    ROW("Erf", name, T, erf_)                                        \
    ROW("Tan", name, T, tan_)                                        \
    ROW("Asin", name, T, asin_)                                      \
    ROW("Acos", name, T, acos_)                                      \
    ROW("Atan", name, T, atan_)                                      \
    ROW("Sinh", name, T, sinh_)                                      \
    ROW("Cosh", name, T, cosh_)                                      \
    ROW("Asinh", name, T, asinh_)                                    \
    ROW("Acosh", name, T, acosh_)                                    \
    ROW("Atanh", name, T, atanh_)                                    \
    ROW("Erfc", name, T, erfc_)                                      \
    row("IsFinite", TFD_##name, test<T, is_finite>),                 \
        row("IsInf", TFD_##name, test<T, is_inf>),                   \
        row("IsNan", TFD_##name, test<T, is_nan>),                   \
        row("SigmoidGrad", TFD_##name, pair<T, sigmoid_grad>),       \
        row("TanhGrad", TFD_##name, pair<T, tanh_grad>),             \
        row("SqrtGrad", TFD_##name, pair<T, sqrt_grad>),             \
        row("RsqrtGrad", TFD_##name, pair<T, rsqrt_grad>),           \
        row("ReciprocalGrad", TFD_##name, pair<T, reciprocal_grad>), \
        row("InvGrad", TFD_##name, pair<T, reciprocal_grad>),

/* clang-format off */
#define INTS(name, T)                \
    ROW("Neg", name, T, neg)         \
    ROW("Abs", name, T, abs_)        \
    ROW("Sign", name, T, sign)       \
    ROW("Square", name, T, square)

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(FLOATS)
    INTS(INT64, int64_t)
    ROW("Reciprocal", INT64, int64_t, int_reciprocal)
    ROW("Inv", INT64, int64_t, int_reciprocal)
    row("Round", TFD_INT32, same),
    row("Round", TFD_INT64, same),
    INTS(INT16, int16_t)
    INTS(INT8, int8_t)
    ROW("Square", UINT8, uint8_t, square)
    ROW("Square", UINT16, uint16_t, square)
    ROW("Square", UINT32, uint32_t, square)
    ROW("Square", UINT64, uint64_t, square)
    row("LogicalNot", TFD_DTYPE_INVALID, test<tfd_bool, logical_not>),
};
/* clang-format on */

} /* namespace */

CUDA_FAMILY_OF(unary);
