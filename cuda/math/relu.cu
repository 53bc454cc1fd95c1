/*
 * relu.cu - CUDA kernels of the family defined in kernels/math/relu.c, which also
 * says what they compute.  This file adds rows for TFD_GPU, nothing else.
 */
#include "cuda/lib/elementwise.cuh"

namespace
{

/* A NaN stays one. */
struct relu {
    template <typename T> __device__ T operator()(T x) const
    {
        wide<T> zero = 0; /* never more than an unsigned number */

        return widen(x) < zero ? narrow<T>(zero) : x;
    }
};

struct relu_grad {
    template <typename T> __device__ T operator()(T dy, T x) const
    {
        return narrow<T>(widen(dy) * wide<T>(widen(x) > wide<T>(0)));
    }
};

#define KERNELS(name, T)                     \
    row("Relu", TFD_##name, unary<T, relu>), \
        row("ReluGrad", TFD_##name, pair<T, relu_grad>),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(KERNELS)
                                                CUDA_INT_DTYPES(KERNELS)};

} /* namespace */

CUDA_FAMILY_OF(relu);
