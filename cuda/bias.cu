/*
 * bias.cu - BiasAdd, BiasAddV1, BiasAddGrad of kernels/bias.c: the tensor is
 * seen as [outer, channels, inner].
 */
#include "cuda/channels.cuh"
#include "cuda/fold.cuh"

extern "C" {
#include "kernels/bias.h"
}

namespace
{

template <typename T>
__global__ void add_bias(const T *x, const T *bias, T *y, int64_t n,
                         struct view v)
{
    for (int64_t i = thread_index(); i < n; i += thread_count())
        y[i] = narrow<T>(widen(x[i]) + widen(bias[channel_of(&v, i)]));
}

template <typename T>
static enum tfd_code bias_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(&k->in[0]);
    int channel;

    TFD_TRY(tfd_bias_channel(k, &channel, st));
    TFD_TRY(tfd_bias_check(k, channel, st));
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    if (n == 0)
        return TFD_OK;
    add_bias<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        in_at<T>(k, 0), in_at<T>(k, 1), out_at<T>(k, 0), n,
        view_of(&k->in[0].shape, channel));
    return launched(k, st);
}

/* ---- The gradient: sums over all but the channels ------------------------ */

/* Channels last: 32 columns for each block, whose 8 rows of threads take every
 * eighth row. */
template <typename T>
__global__ void sum_columns(const T *x, T *y, int64_t rows, int64_t columns)
{
    __shared__ wide<T> part[8][33];
    int lane = threadIdx.x % 32, line = threadIdx.x / 32;
    int64_t column = (int64_t)blockIdx.x * 32 + lane;
    wide<T> sum = 0;

    for (int64_t r = line; column < columns && r < rows; r += 8)
        sum += widen(x[r * columns + column]);
    part[line][lane] = sum;
    __syncthreads();
    if (line == 0 && column < columns) {
        for (int i = 1; i < 8; i++)
            sum += part[i][lane];
        y[column] = narrow<T>(sum);
    }
}

/* Channels second: a block for each channel. */
template <typename T>
__global__ void sum_planes(const T *x, T *y, struct view v)
{
    wide<T> sum = 0;

    for (int64_t i = threadIdx.x; i < v.outer * v.inner; i += THREADS)
        sum += widen(x[place_in(&v, blockIdx.x, i)]);
    sum = fold_block(sum, plus(), false);
    if (threadIdx.x == 0)
        y[blockIdx.x] = narrow<T>(sum);
}

template <typename T>
static enum tfd_code bias_grad_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape channels = {1, {0}};
    struct view v;
    int channel;

    TFD_TRY(tfd_bias_channel(k, &channel, st));
    v = view_of(&k->in[0].shape, channel);
    channels.dim[0] = v.channels;
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &channels, st));
    if (v.channels == 0)
        return TFD_OK;
    if (v.inner == 1)
        sum_columns<<<(unsigned)((v.channels + 31) / 32), THREADS, 0,
                      stream_of(k)>>>(in_at<T>(k, 0), out_at<T>(k, 0), v.outer,
                                      v.channels);
    else
        sum_planes<<<(unsigned)v.channels, THREADS, 0, stream_of(k)>>>(
            in_at<T>(k, 0), out_at<T>(k, 0), v);
    return launched(k, st);
}

#define ROWS(name, T)                                                         \
    row("BiasAdd", TFD_##name, bias_gpu<T>, 0, tfd_bias_prepare,              \
        sizeof(struct tfd_bias_state)),                                       \
        row("BiasAddV1", TFD_##name, bias_gpu<T>),                            \
        row("BiasAddGrad", TFD_##name, bias_grad_gpu<T>, 0, tfd_bias_prepare, \
            sizeof(struct tfd_bias_state)),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(bias);
