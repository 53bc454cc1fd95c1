/*
 * unary.cu - functions of one element: of kernels/unary.c, math.c, trig.c and
 * activation.c, and of unary_grad.c the gradients that take y and dy.
 */
#include "cuda/launch.cuh"

namespace
{

#define FUNCTION(name, body)                                      \
    struct name {                                                 \
        template <typename T> __device__ T operator()(T in) const \
        {                                                         \
            wide<T> x = widen(in), one = 1;                       \
                                                                  \
            (void)one;                                            \
            return narrow<T>(body);                               \
        }                                                         \
    };

FUNCTION(neg, -x)
FUNCTION(abs_, x < 0 ? -x : x)
FUNCTION(sign, x > 0 ? one : x < 0 ? -one : x)
FUNCTION(square, x *x)
FUNCTION(reciprocal, one / x)
FUNCTION(floor_, floor(x))
FUNCTION(ceil_, ceil(x))
FUNCTION(rint_, rint(x))
FUNCTION(exp_, exp(x))
FUNCTION(expm1_, expm1(x))
FUNCTION(log_, log(x))
FUNCTION(log1p_, log1p(x))
FUNCTION(sqrt_, sqrt(x))
FUNCTION(rsqrt_, one / sqrt(x))
FUNCTION(tanh_, tanh(x))
FUNCTION(sigmoid, one / (one + exp(-x)))
FUNCTION(sin_, sin(x))
FUNCTION(cos_, cos(x))
FUNCTION(erf_, erf(x))
FUNCTION(softplus, x > 20 ? x : log1p(exp(x)))
FUNCTION(softsign, x / (one + (x < 0 ? -x : x)))
FUNCTION(elu, x < 0 ? expm1(x) : x)

/* One kernel per type and function, whose code is the functor's. */
template <typename T, typename F>
static enum tfd_code unary(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    return run_one(k, F(), in_at<T>(k, 0), out_at<T>(k, 0),
                   tfd_tensor_elements(&k->in[0]), st);
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
    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &k->in[0].shape, st));
    return run_one(k, F(), in_at<T>(k, 0), out_at<tfd_bool>(k, 0),
                   tfd_tensor_elements(&k->in[0]), st);
}

/* ---- Gradients ----------------------------------------------------------- */

#define PAIR(name, body)                                              \
    struct name {                                                     \
        template <typename T> __device__ T operator()(T a, T b) const \
        {                                                             \
            wide<T> y = widen(a), dy = widen(b), one = 1;             \
                                                                      \
            (void)one;                                                \
            return narrow<T>(body);                                   \
        }                                                             \
    };

PAIR(sigmoid_grad, dy *y *(one - y))
PAIR(tanh_grad, dy *(one - y * y))
PAIR(sqrt_grad, dy *wide<T>(0.5) / y)
PAIR(rsqrt_grad, dy *wide<T>(-0.5) * y * y * y)
PAIR(reciprocal_grad, -dy *y *y)

template <typename T, typename F>
static enum tfd_code pair(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape = k->in[0].shape;

    TFD_TRY(tfd_shape_merge(&shape, &k->in[1].shape, st));
    TFD_TRY(tfd_kctx_output_reuse(k, 3, 0, k->in[0].dtype, &shape, st));
    return run_two(k, F(), in_at<T>(k, 0), in_at<T>(k, 1), out_at<T>(k, 0),
                   tfd_shape_elements(&shape), st);
}

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
    ROW("Softplus", name, T, softplus)                               \
    ROW("Softsign", name, T, softsign)                               \
    ROW("Elu", name, T, elu)                                         \
    row("IsFinite", TFD_##name, test<T, is_finite>),                 \
        row("IsInf", TFD_##name, test<T, is_inf>),                   \
        row("IsNan", TFD_##name, test<T, is_nan>),                   \
        row("SigmoidGrad", TFD_##name, pair<T, sigmoid_grad>),       \
        row("TanhGrad", TFD_##name, pair<T, tanh_grad>),             \
        row("SqrtGrad", TFD_##name, pair<T, sqrt_grad>),             \
        row("RsqrtGrad", TFD_##name, pair<T, rsqrt_grad>),           \
        row("ReciprocalGrad", TFD_##name, pair<T, reciprocal_grad>), \
        row("InvGrad", TFD_##name, pair<T, reciprocal_grad>),

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(FLOATS) ROW("Neg", INT64, int64_t, neg) ROW("Abs", INT64,
                                                                  int64_t, abs_)
        ROW("Sign", INT64, int64_t, sign) ROW("Square", INT64, int64_t, square)
            row("LogicalNot", TFD_DTYPE_INVALID, test<tfd_bool, logical_not>),
};

} /* namespace */

CUDA_FAMILY_OF(unary);
