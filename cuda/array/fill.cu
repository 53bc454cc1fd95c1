/*
 * fill.cu - tensors of one value: Fill, ZerosLike, OnesLike of kernels/array/array.c.
 */
#include "cuda/lib/complex.cuh"
#include "cuda/lib/packs.cuh"

extern "C" {
#include "kernels/core/check.h"
}

namespace
{

template <typename T> struct same {
    const T *value;
    __device__ T operator()() const
    {
        return *value;
    }
};

template <typename T> struct one_value {
    __device__ T operator()() const
    {
        return narrow<T>(1);
    }
};

/* The value is the device's, the shape the host's. */
template <typename T>
static enum tfd_code fill(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor dims = k->in[0];
    struct tfd_shape shape;

    if (dims.shape.rank == 0) { /* of one dimension */
        dims.shape.rank = 1;
        dims.shape.dim[0] = 1;
    }
    TFD_TRY(tfd_check_shape_value(&dims, false, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[1].dtype, &shape, st));
    return run_value(k, same<T>{in_at<T>(k, 1)}, out_at<T>(k, 0),
                     tfd_shape_elements(&shape), st);
}

static enum tfd_code zeros(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    return tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(k->out[0].buffer->data, 0,
                             tfd_tensor_size(&k->out[0]), stream_of(k)),
        "ZerosLike", st);
}

template <typename T>
static enum tfd_code ones(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));
    return run_value(k, one_value<T>(), out_at<T>(k, 0),
                     tfd_tensor_elements(&k->in[0]), st);
}

#define ROWS(name, T)                              \
    row("Fill", TFD_##name, fill<T>, HOST_ARG(0)), \
        row("ZerosLike", TFD_##name, zeros),       \
        row("OnesLike", TFD_##name, ones<T>),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(
    ROWS) CUDA_INT_DTYPES(ROWS) ROWS(BOOL, tfd_bool) CUDA_COMPLEX_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(fill);
