/*
 * activation.cu - Elu, Selu, LeakyRelu, Relu6, Softplus, Softsign of
 * kernels/math/activation.c and their gradients.
 */
#include "cuda/lib/elementwise.cuh"

namespace
{

/* Where e^x + 1 is e^x, or 1 + e^x: two more than the logarithm of an epsilon.
 */
template <typename W> struct soft {
    static constexpr float end = 13.942385f;
};
template <> struct soft<double> {
    static constexpr double end = 34.04365338911715;
};

#define SCALE wide<T>(1.0507009873554804934193349852946)
#define SCALE_ALPHA wide<T>(1.7580993408473768599402175208123)
#define MAGNITUDE(x) ((x) < 0 ? -(x) : (x))

CUDA_FUNCTION1(elu, x < 0 ? expm1(x) : x)
CUDA_FUNCTION1(selu, x < 0 ? SCALE_ALPHA * expm1(x) : SCALE * x)
CUDA_FUNCTION1(softplus, x > soft<wide<T>>::end    ? x
                         : x < -soft<wide<T>>::end ? exp(x)
                                                   : log1p(exp(x)))
CUDA_FUNCTION1(softsign, x / (one + MAGNITUDE(x)))
CUDA_FUNCTION1(relu6, x<0 ? 0 * one : x> 6 ? 6 * one : x)

/* a is dy; b is the output of Elu and Selu, else the input. */
CUDA_FUNCTION2(elu_grad, b < 0 ? (b + one) * a : a)
CUDA_FUNCTION2(selu_grad, a *(b < 0 ? b + SCALE_ALPHA : SCALE))
CUDA_FUNCTION2(softplus_grad, a / (exp(-b) + one))
CUDA_FUNCTION2(softsign_grad, a / ((one + MAGNITUDE(b)) * (one + MAGNITUDE(b))))
CUDA_FUNCTION2(relu6_grad, a *(b > 0 && b < 6 ? one : 0 * one))

template <typename T, typename F>
static enum tfd_code gradient(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_activation_same_shape(k, st));
    return run_pair<T>(k, F(), st);
}

/* ---- LeakyRelu ----------------------------------------------------------- */

struct leaky {
    float alpha;

    template <typename T> __device__ T operator()(T in) const
    {
        const wide<T> slope = widen(narrow<T>((wide<T>)alpha));

        return widen(in) > 0 ? in : narrow<T>(widen(in) * slope);
    }
    template <typename T> __device__ T operator()(T dy, T x) const
    {
        const wide<T> slope = widen(narrow<T>((wide<T>)alpha));

        return widen(x) > 0 ? dy : narrow<T>(widen(dy) * slope);
    }
};

template <typename T>
static enum tfd_code leaky_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct leaky f = {*(const float *)k->state};

    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    return run_one(k, f, in_at<T>(k, 0), out_at<T>(k, 0),
                   tfd_tensor_elements(&k->in[0]), st);
}

template <typename T>
static enum tfd_code leaky_grad_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct leaky f = {*(const float *)k->state};

    TFD_TRY(tfd_activation_same_shape(k, st));
    return run_pair<T>(k, f, st);
}

/* ---- Rows ---------------------------------------------------------------- */

#define BOTH(op, name, T, f)          \
    row(op, TFD_##name, unary<T, f>), \
        row(op "Grad", TFD_##name, gradient<T, f##_grad>),
#define ROWS(name, T)                                          \
    BOTH("Elu", name, T, elu)                                  \
    BOTH("Selu", name, T, selu)                                \
    BOTH("Softplus", name, T, softplus)                        \
    BOTH("Softsign", name, T, softsign)                        \
    BOTH("Relu6", name, T, relu6)                              \
    row("LeakyRelu", TFD_##name, leaky_gpu<T>, 0,              \
        tfd_activation_prepare_alpha, sizeof(float)),          \
        row("LeakyReluGrad", TFD_##name, leaky_grad_gpu<T>, 0, \
            tfd_activation_prepare_alpha, sizeof(float)),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(activation);
