/*
 * special.cu - the functions of kernels/math/special.c: gamma functions and their
 * kin, computed in double as on the CPU, and products and quotients that take 0
 * for 0 whatever the other side is.
 */
#include "cuda/lib/elementwise.cuh"

#define TFD_SPECIAL __device__ static inline
#define TFD_SPECIAL_LGAMMA(x) ::lgamma((double)(x))
#include "kernels/math/special_formulas.h"

namespace
{

CUDA_FUNCTION1(lgamma_, ::lgamma((double)x))
CUDA_FUNCTION1(digamma, special_digamma((double)x))
CUDA_FUNCTION2(igamma, special_igamma((double)a, (double)b))
CUDA_FUNCTION2(igammac, special_igammac((double)a, (double)b))
CUDA_FUNCTION2(zeta, special_zeta((double)a, (double)b))
CUDA_FUNCTION2(polygamma, special_polygamma((double)a, (double)b))
CUDA_FUNCTION2(atan2_, atan2(a, b))
CUDA_FUNCTION2(xlogy, a == 0 ? 0 * one : a * log(b))
CUDA_FUNCTION2(xlog1py, a == 0 ? 0 * one : a * log1p(b))
CUDA_FUNCTION2(xdivy, a == 0 ? 0 * one : a / b)
CUDA_FUNCTION2(mul_no_nan, b == 0 ? 0 * one : a * b)

/* ---- Betainc ------------------------------------------------------------- */

template <typename T> struct beta {
    const T *in[3];
    int step[3]; /* 0: a scalar */

    __device__ T operator()(int64_t i) const
    {
        return (T)special_betainc((double)in[0][i * step[0]],
                                  (double)in[1][i * step[1]],
                                  (double)in[2][i * step[2]]);
    }
};

template <typename T>
static enum tfd_code betainc_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape;
    struct beta<T> b;

    TFD_TRY(tfd_special_betainc_shape(k, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &shape, st));
    for (int i = 0; i < 3; i++) {
        b.in[i] = in_at<T>(k, i);
        b.step[i] = k->in[i].shape.rank != 0;
    }
    return run_index(k, b, out_at<T>(k, 0), tfd_shape_elements(&shape), st);
}

/* ---- Rows ---------------------------------------------------------------- */

/* clang-format off */
#define PLAIN(op, name, T, f) row(op, TFD_##name, binary_plain<T, f>),
#define COSTLY(op, name, T, f) row(op, TFD_##name, binary_costly<T, f>),
#define FLOATS(name, T)                            \
    row("Lgamma", TFD_##name, unary<T, lgamma_>),  \
    row("Digamma", TFD_##name, unary<T, digamma>), \
    PLAIN("Atan2", name, T, atan2_)                \
    PLAIN("Xlogy", name, T, xlogy)                 \
    PLAIN("Xlog1py", name, T, xlog1py)             \
    PLAIN("Xdivy", name, T, xdivy)                 \
    PLAIN("MulNoNan", name, T, mul_no_nan)
#define WIDE(name, T)                       \
    COSTLY("Igamma", name, T, igamma)       \
    COSTLY("Igammac", name, T, igammac)     \
    COSTLY("Zeta", name, T, zeta)           \
    COSTLY("Polygamma", name, T, polygamma) \
    row("Betainc", TFD_##name, betainc_gpu<T>),

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(FLOATS)
    WIDE(FLOAT, float)
    WIDE(DOUBLE, double)
};
/* clang-format on */

} /* namespace */

CUDA_FAMILY_OF(special);
