/*
 * bias.cu - BiasAdd, BiasAddV1, BiasAddGrad of kernels/bias.c: the tensor is
 * seen as [outer, channels, inner].
 */
#include "cuda/launch.cuh"

namespace
{

struct bias_state {
    bool channels_second; /* NCHW */
};

static enum tfd_code prepare(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    struct bias_state *s = (struct bias_state *)state;
    struct tfd_str format;

    TFD_TRY(tfd_node_str(p->node, "data_format", &format, st));
    s->channels_second = format.size == 4 && format.data[1] == 'C';
    return TFD_OK;
}

struct view {
    int64_t outer, channels, inner;
};

static enum tfd_code view_of(const struct tfd_kctx *k, struct view *v,
                             struct tfd_status *st)
{
    const struct bias_state *s = (const struct bias_state *)k->state;
    const struct tfd_shape *x = &k->in[0].shape;
    char text[TFD_SHAPE_TEXT_MAX];
    int channel = s && s->channels_second ? 1 : x->rank - 1;

    if (x->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input tensor must be at least 2D: %s",
                        tfd_shape_text(x, text));
    *v = {1, x->dim[channel], 1};
    for (int i = 0; i < x->rank; i++)
        if (i != channel)
            (i < channel ? v->outer : v->inner) *= x->dim[i];
    return TFD_OK;
}

template <typename T>
__global__ void add_bias(const T *x, const T *bias, T *y, int64_t n,
                         int64_t channels, int64_t inner)
{
    for (int64_t i = thread_index(); i < n; i += thread_count())
        y[i] = narrow<T>(widen(x[i]) + widen(bias[i / inner % channels]));
}

template <typename T>
static enum tfd_code bias_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *bias = &k->in[1].shape;
    int64_t n = tfd_tensor_elements(&k->in[0]);
    char xt[TFD_SHAPE_TEXT_MAX], bt[TFD_SHAPE_TEXT_MAX];
    struct view v = {};

    TFD_TRY(view_of(k, &v, st));
    if (bias->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Biases must be 1D: %s",
                        tfd_shape_text(bias, bt));
    if (bias->dim[0] != v.channels)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Must provide as many biases as the last dimension of "
                        "the input tensor: %s vs. %s",
                        tfd_shape_text(bias, bt),
                        tfd_shape_text(&k->in[0].shape, xt));
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    if (n == 0)
        return TFD_OK;
    add_bias<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        in_at<T>(k, 0), in_at<T>(k, 1), out_at<T>(k, 0), n, v.channels,
        v.inner);
    return launched(k, st);
}

/* ---- The gradient: sums over all but the channels ------------------------ */

struct plus {
    template <typename W> __device__ W operator()(W a, W b) const
    {
        return a + b;
    }
};

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
__global__ void sum_planes(const T *x, T *y, int64_t outer, int64_t inner)
{
    wide<T> sum = 0;

    for (int64_t i = threadIdx.x; i < outer * inner; i += THREADS)
        sum +=
            widen(x[(i / inner * gridDim.x + blockIdx.x) * inner + i % inner]);
    sum = fold_block(sum, plus(), false);
    if (threadIdx.x == 0)
        y[blockIdx.x] = narrow<T>(sum);
}

template <typename T>
static enum tfd_code bias_grad_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape channels = {1, {0}};
    struct view v = {};

    TFD_TRY(view_of(k, &v, st));
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
            in_at<T>(k, 0), out_at<T>(k, 0), v.outer, v.inner);
    return launched(k, st);
}

#define ROWS(name, T)                                                \
    row("BiasAdd", TFD_##name, bias_gpu<T>, 0, prepare,              \
        sizeof(struct bias_state)),                                  \
        row("BiasAddV1", TFD_##name, bias_gpu<T>),                   \
        row("BiasAddGrad", TFD_##name, bias_grad_gpu<T>, 0, prepare, \
            sizeof(struct bias_state)),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(bias);
