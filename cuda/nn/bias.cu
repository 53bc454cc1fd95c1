/*
 * bias.cu - BiasAdd, BiasAddV1, BiasAddGrad of kernels/nn/bias.c: the tensor is
 * seen as [outer, channels, inner].  Elements move 16 bytes at a time, and so
 * do biases where channels are last and a multiple of that.  The gradient is
 * folded as fold_matrix.cuh says: the same bits in every run.
 */
#include "cuda/lib/channels.cuh"
#include "cuda/lib/fold_matrix.cuh"

extern "C" {
#include "kernels/nn/bias.h"
}

namespace
{

template <int N, typename T>
__global__ void add_bias(const T *x, const T *bias, T *y, int64_t n,
                         struct view v)
{
    for (int64_t i = thread_index(); i < n / N; i += thread_count()) {
        pack<T, N> p = ((const pack<T, N> *)x)[i];
        struct spot s = spot_of(&v, i * N);

#pragma unroll
        for (int j = 0; j < N; j++) {
            p.v[j] = narrow<T>(widen(p.v[j]) + widen(bias[s.channel]));
            spot_next(&v, &s);
        }
        ((pack<T, N> *)y)[i] = p;
    }
    for (int64_t i = n / N * N + thread_index(); i < n; i += thread_count())
        y[i] = narrow<T>(widen(x[i]) + widen(bias[channel_of(&v, i)]));
}

/* Channels last; those of a pack are neighbours.  by: packs of a row. */
template <int N, typename T>
__global__ void add_biases(const pack<T, N> *x, const pack<T, N> *bias,
                           pack<T, N> *y, int64_t packs, struct divisor by)
{
    for (int64_t i = thread_index(); i < packs; i += thread_count()) {
        int64_t row = i;
        pack<T, N> p = x[i], q = bias[take_rest(&by, &row)];

#pragma unroll
        for (int j = 0; j < N; j++)
            p.v[j] = narrow<T>(widen(p.v[j]) + widen(q.v[j]));
        y[i] = p;
    }
}

template <typename T>
static void launch_bias(struct tfd_kctx *k, const T *x, const T *bias, T *y,
                        int64_t n, struct view v)
{
    constexpr int N = pack_size<T, T>();
    unsigned blocks = blocks_for(k, (n + N - 1) / N);

    if (!is_aligned(x, bias, y))
        add_bias<1>
            <<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(x, bias, y, n, v);
    else if (v.inner == 1 && v.channels % N == 0)
        add_biases<N><<<blocks, THREADS, 0, stream_of(k)>>>(
            (const pack<T, N> *)x, (const pack<T, N> *)bias, (pack<T, N> *)y,
            n / N, divisor_of(v.channels / N));
    else
        add_bias<N><<<blocks, THREADS, 0, stream_of(k)>>>(x, bias, y, n, v);
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
    launch_bias(k, in_at<T>(k, 0), in_at<T>(k, 1), out_at<T>(k, 0), n,
                view_of(&k->in[0].shape, channel));
    return launched(k, st);
}

/* ---- The gradient: sums over all but the channels ------------------------ */

static enum tfd_code no_sums(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(k->out[0].buffer->data, 0,
                             tfd_tensor_size(&k->out[0]), stream_of(k)),
        k->kernel->op, st);
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
    if (!k->in[0].buffer)
        return no_sums(k, st);
    return run_channels(k, plus(), in_at<T>(k, 0), out_at<T>(k, 0), v.outer,
                        v.channels, v.inner, 1, st);
}

#define ADD(name, T)                                             \
    row("BiasAdd", TFD_##name, bias_gpu<T>, 0, tfd_bias_prepare, \
        sizeof(struct tfd_bias_state)),                          \
        row("BiasAddV1", TFD_##name, bias_gpu<T>),
#define GRAD(name, T)                                                     \
    row("BiasAddGrad", TFD_##name, bias_grad_gpu<T>, 0, tfd_bias_prepare, \
        sizeof(struct tfd_bias_state)),

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(ADD) ADD(INT32, int32_t) CUDA_FLOAT_DTYPES(GRAD)};

} /* namespace */

CUDA_FAMILY_OF(bias);
