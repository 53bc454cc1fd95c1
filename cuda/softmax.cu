/*
 * softmax.cu - Softmax, LogSoftmax of kernels/softmax.c, and the cross
 * entropies of kernels/xent.c.  A block for each row; sums are in float or
 * wider.
 */
#include "cuda/fold.cuh"

extern "C" {
#include "kernels/outputs.h"
}

namespace
{

/* max(x) and log(sum(exp(x - max))) of a row, for every thread. */
template <typename T>
__device__ inline void measure(const T *x, int64_t step, int64_t n,
                               wide<T> *max, wide<T> *sum)
{
    wide<T> m = -INFINITY, s = 0;

    for (int64_t i = threadIdx.x; i < n; i += THREADS)
        m = larger()(m, widen(x[i * step]));
    m = fold_block(m, larger(), true);
    for (int64_t i = threadIdx.x; i < n; i += THREADS)
        s += exp(widen(x[i * step]) - m);
    *max = m;
    *sum = fold_block(s, plus(), true);
}

template <bool LOG, typename T>
__global__ void softmax(const T *x, T *y, int64_t rows, int64_t n)
{
    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        wide<T> max, sum;

        measure(x + r * n, 1, n, &max, &sum);
        for (int64_t i = threadIdx.x; i < n; i += THREADS) {
            wide<T> v = widen(x[r * n + i]) - max;

            y[r * n + i] = narrow<T>(LOG ? v - log(sum) : exp(v) / sum);
        }
        __syncthreads();
    }
}

static unsigned blocks_of_rows(int64_t rows)
{
    return (unsigned)(rows < 65536 ? rows : 65536);
}

template <bool LOG, typename T>
static enum tfd_code softmax_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = k->in[0].shape;
    int64_t elements = tfd_shape_elements(&shape), n;

    if (shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "logits must have >= 1 dimension, got []");
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    if (elements == 0)
        return TFD_OK;
    n = shape.dim[shape.rank - 1];
    softmax<LOG><<<blocks_of_rows(elements / n), THREADS, 0, stream_of(k)>>>(
        in_at<T>(k, 0), out_at<T>(k, 0), elements / n, n);
    return launched(k, st);
}

/* ---- Cross entropy ------------------------------------------------------- */

/* How an operand moves through the matrix; 0: repeated. */
struct steps {
    int64_t row, column;
};

template <typename T>
__global__ void dense(const T *x, struct steps xs, const T *labels,
                      struct steps ls, T *loss, T *backprop, int64_t rows,
                      int64_t n)
{
    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        const T *row = x + r * xs.row, *label = labels + r * ls.row;
        wide<T> max, sum, part = 0;

        measure(row, xs.column, n, &max, &sum);
        for (int64_t i = threadIdx.x; i < n; i += THREADS)
            part += widen(label[i * ls.column]) *
                    (log(sum) - (widen(row[i * xs.column]) - max));
        part = fold_block(part, plus(), false);
        if (threadIdx.x == 0)
            loss[r] = narrow<T>(part);
        for (int64_t i = threadIdx.x; i < n; i += THREADS)
            backprop[r * n + i] =
                narrow<T>(exp(widen(row[i * xs.column]) - max) / sum -
                          widen(label[i * ls.column]));
        __syncthreads();
    }
}

static struct steps steps_of(const struct tfd_shape *s)
{
    struct steps steps;

    tfd_xent_steps(s, &steps.row, &steps.column);
    return steps;
}

/* loss[rows], backprop[rows, n]; not over the logits, which are read again. */
static enum tfd_code make_outputs(struct tfd_kctx *k,
                                  const struct tfd_shape *matrix,
                                  struct tfd_status *st)
{
    const struct tfd_shape vector = {1, {matrix->dim[0]}};

    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &vector, st));
    return tfd_kctx_output(k, 1, k->in[0].dtype, matrix, st);
}

static enum tfd_code no_classes(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(k->out[0].buffer->data, 0,
                             tfd_tensor_size(&k->out[0]), stream_of(k)),
        k->kernel->op, st);
}

template <typename T>
static enum tfd_code dense_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape m;

    TFD_TRY(tfd_xent_dense_shape(k, &m, st));
    TFD_TRY(make_outputs(k, &m, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    if (!k->out[1].buffer)
        return no_classes(k, st);
    dense<<<blocks_of_rows(m.dim[0]), THREADS, 0, stream_of(k)>>>(
        in_at<T>(k, 0), steps_of(&k->in[0].shape), in_at<T>(k, 1),
        steps_of(&k->in[1].shape), out_at<T>(k, 0), out_at<T>(k, 1), m.dim[0],
        m.dim[1]);
    return launched(k, st);
}

/* A label that is no class gives NaN, since nobody waits for an answer: as
 * TensorFlow's GPU kernel. */
template <typename T, typename I>
__global__ void sparse(const T *x, const I *labels, T *loss, T *backprop,
                       int64_t rows, int64_t n)
{
    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        const T *row = x + r * n;
        int64_t label = (int64_t)labels[r];
        bool good = label >= 0 && label < n;
        wide<T> max, sum;

        measure(row, 1, n, &max, &sum);
        if (threadIdx.x == 0)
            loss[r] = narrow<T>(good ? log(sum) - (widen(row[label]) - max)
                                     : (wide<T>)NAN);
        for (int64_t i = threadIdx.x; i < n; i += THREADS) {
            wide<T> p = exp(widen(row[i]) - max) / sum;

            backprop[r * n + i] =
                narrow<T>(good ? p - (i == label ? 1 : 0) : (wide<T>)NAN);
        }
        __syncthreads();
    }
}

template <typename T>
static enum tfd_code sparse_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape m = k->in[0].shape;

    TFD_TRY(tfd_xent_check_sparse(k, st));
    TFD_TRY(make_outputs(k, &m, st));
    if (!k->out[1].buffer)
        return TFD_OK;
    if (k->in[1].dtype == TFD_INT32)
        sparse<<<blocks_of_rows(m.dim[0]), THREADS, 0, stream_of(k)>>>(
            in_at<T>(k, 0), in_at<int32_t>(k, 1), out_at<T>(k, 0),
            out_at<T>(k, 1), m.dim[0], m.dim[1]);
    else
        sparse<<<blocks_of_rows(m.dim[0]), THREADS, 0, stream_of(k)>>>(
            in_at<T>(k, 0), in_at<int64_t>(k, 1), out_at<T>(k, 0),
            out_at<T>(k, 1), m.dim[0], m.dim[1]);
    return launched(k, st);
}

#define ROWS(name, T)                                                   \
    row("Softmax", TFD_##name, softmax_gpu<false, T>),                  \
        row("LogSoftmax", TFD_##name, softmax_gpu<true, T>),            \
        row("SoftmaxCrossEntropyWithLogits", TFD_##name, dense_gpu<T>), \
        row("SparseSoftmaxCrossEntropyWithLogits", TFD_##name, sparse_gpu<T>),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(softmax);
