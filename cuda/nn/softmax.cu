/*
 * softmax.cu - Softmax, LogSoftmax of kernels/nn/softmax.c, by softmax_rows.cuh.
 */
#include "cuda/nn/softmax_rows.cuh"

namespace
{

template <typename T> struct to_softmax {
    static constexpr bool ADDS = false;
    bool log;

    __device__ int64_t chosen(int64_t) const
    {
        return 0;
    }
    __device__ wide<T> result(const element<T> &x, const struct total<T> &total,
                              wide<T> *) const
    {
        return log ? x.v - total.log : x.e * total.scale;
    }
    __device__ void end(int64_t, wide<T>) const
    {
    }
};

template <bool LOG, typename T>
static enum tfd_code softmax_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = k->in[0].shape;

    if (shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "logits must have >= 1 dimension, got []");
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    return run_rows(k, to_softmax<T>{LOG},
                    matrix_of(&shape, in_at<T>(k, 0), out_at<T>(k, 0)), st);
}

#define ROWS(name, T)                                  \
    row("Softmax", TFD_##name, softmax_gpu<false, T>), \
        row("LogSoftmax", TFD_##name, softmax_gpu<true, T>),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(softmax);
