/*
 * softmax.cu - Softmax, LogSoftmax of kernels/softmax.c, and the cross
 * entropies of kernels/xent.c.
 *
 * A row of up to 16 elements for each thread of a block (8 of 8 bytes) stays in
 * registers, those of a warp or a part of it, if that is enough, else of a
 * block: it is read once.  A longer one is read twice: for its maximum and the
 * sum of exponentials at once, the sum being scaled down whenever the maximum
 * grows, and for the result.  Elements move 16 bytes at a time where rows are a
 * multiple of that, and in pairs where they are even.
 *
 * Sums are in float or wider, and in an order that depends on the shape alone.
 */
#include "cuda/fold.cuh"

extern "C" {
#include "kernels/outputs.h"
}

namespace
{

/* ---- Rows ---------------------------------------------------------------- */

/* How an operand moves through the matrix; 0: repeated. */
struct steps {
    int64_t row, column;
};

/* What elements are divided by, and its logarithm. */
template <typename T> struct total {
    wide<T> scale, log;
};

template <typename T> __device__ inline struct total<T> total_of(wide<T> sum) {
    return {1 / sum, log(sum)};
}

/* Elements at .. at + N of a row; more than one only if the step is 1. */
template <int N, typename T>
__device__ inline void load(const T *row, int64_t step, int64_t at, wide<T> *v)
{
    pack<T, N> p;

    if (N == 1)
        p.v[0] = row[at * step];
    else
        p = *(const pack<T, N> *)(row + at);
#pragma unroll
    for (int j = 0; j < N; j++)
        v[j] = widen(p.v[j]);
}

/* Of `lanes` neighbours, a power of two up to 32, or of the block. */
template <typename W, typename F>
__device__ inline W fold_lanes(W x, F f, int lanes)
{
    if (lanes == THREADS)
        return fold_block(x, f, true);
    for (int step = lanes / 2; step > 0; step /= 2)
        x = f(x, (W)__shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

/* Elements of a row that a thread keeps. */
template <typename T> constexpr int KEPT = 64 / (int)sizeof(wide<T>);

/* R has row(r) and step() of the input; put(r, at, v, e, total), which writes
 * N elements from v = x - max and e = exp(v) and returns their part of the
 * loss; ADDS, whether that is wanted; end(r, loss). */
template <int N, typename R, typename T>
__global__ void keep_rows(R to, const T *, int64_t rows, int64_t n, int lanes)
{
    constexpr int M = KEPT<T>;
    int lane = threadIdx.x % lanes, slot = threadIdx.x / lanes;
    int64_t slots = THREADS / lanes;

    for (int64_t top = blockIdx.x * slots; top < rows;
         top += gridDim.x * slots) {
        int64_t r = top + slot, mine = r < rows ? n : 0;
        wide<T> v[M], e[M], max = -INFINITY, sum = 0, loss = 0;
        struct total<T> total;

#pragma unroll
        for (int i = 0; i < M; i += N) {
            int64_t at = (int64_t)i * lanes + lane * N;

#pragma unroll
            for (int j = 0; j < N; j++)
                v[i + j] = -INFINITY; /* adds nothing */
            if (at < mine)
                load<N>(to.row(r), to.step(), at, v + i);
        }
#pragma unroll
        for (int i = 0; i < M; i++)
            max = larger()(max, v[i]);
        max = fold_lanes(max, larger(), lanes);
#pragma unroll
        for (int i = 0; i < M; i++) {
            v[i] -= max;
            e[i] = exp(v[i]);
            sum += e[i];
        }
        total = total_of<T>(fold_lanes(sum, plus(), lanes));
#pragma unroll
        for (int i = 0; i < M; i += N) {
            int64_t at = (int64_t)i * lanes + lane * N;

            if (at < mine)
                loss += to.template put<N>(r, at, v + i, e + i, total);
        }
        if (R::ADDS)
            loss = fold_lanes(loss, plus(), lanes);
        if (lane == 0 && r < rows)
            to.end(r, loss);
    }
}

/* The maximum and the sum of exponentials of what a thread has of a row.  Where
 * all is -INFINITY the sum is 0, and nothing is subtracted from itself. */
template <int N, typename T>
__device__ inline void measure(const T *row, int64_t step, int64_t n,
                               wide<T> *max, wide<T> *sum)
{
    wide<T> m = -INFINITY, s = 0;

    for (int64_t at = threadIdx.x * N; at < n; at += THREADS * N) {
        wide<T> v[N], most = m;

        load<N>(row, step, at, v);
#pragma unroll
        for (int j = 0; j < N; j++)
            most = larger()(most, v[j]);
        if (most != m) {
            s *= exp(m - most);
            m = most;
        }
#pragma unroll
        for (int j = 0; m != -INFINITY && j < N; j++)
            s += exp(v[j] - m);
    }
    *max = fold_block(m, larger(), true);
    *sum = fold_block(m == -INFINITY ? 0 : s * exp(m - *max), plus(), true);
}

/* A block for a row. */
template <int N, typename R, typename T>
__global__ void read_rows(R to, const T *, int64_t rows, int64_t n)
{
    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        wide<T> max, sum, loss = 0;
        struct total<T> total;

        measure<N>(to.row(r), to.step(), n, &max, &sum);
        total = total_of<T>(sum);
        for (int64_t at = threadIdx.x * N; at < n; at += THREADS * N) {
            wide<T> v[N], e[N];

            load<N>(to.row(r), to.step(), at, v);
#pragma unroll
            for (int j = 0; j < N; j++) {
                v[j] -= max;
                e[j] = exp(v[j]);
            }
            loss += to.template put<N>(r, at, v, e, total);
        }
        if (R::ADDS)
            loss = fold_block(loss, plus(), false);
        if (threadIdx.x == 0)
            to.end(r, loss);
    }
}

template <int N, typename R, typename T>
static enum tfd_code run_rows(struct tfd_kctx *k, R to, const T *x,
                              int64_t rows, int64_t n, struct tfd_status *st)
{
    int lanes = 1;

    while (lanes < 32 && lanes * N < n)
        lanes *= 2;
    if (n > 32 * KEPT<T>)
        lanes = THREADS;
    if (n > THREADS * KEPT<T>)
        read_rows<N><<<(unsigned)(rows < 65536 ? rows : 65536), THREADS, 0,
                       stream_of(k)>>>(to, x, rows, n);
    else
        keep_rows<N><<<blocks_for(k, rows * lanes), THREADS, 0, stream_of(k)>>>(
            to, x, rows, n, lanes);
    return launched(k, st);
}

/* wide_steps: operands have a step of 1 along a row. */
template <typename R, typename T>
static enum tfd_code run(struct tfd_kctx *k, R to, const T *labels, T *y,
                         bool wide_steps, int64_t rows, int64_t n,
                         struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    const T *x = in_at<T>(k, 0);

    if (wide_steps && is_aligned(x, labels, y)) {
        if (n % N == 0)
            return run_rows<N>(k, to, x, rows, n, st);
        if (n % 2 == 0)
            return run_rows<2>(k, to, x, rows, n, st);
    }
    return run_rows<1>(k, to, x, rows, n, st);
}

/* ---- Softmax ------------------------------------------------------------- */

template <typename T> struct to_softmax {
    static constexpr bool ADDS = false;
    const T *x;
    T *y;
    int64_t n;
    bool log;

    __device__ const T *row(int64_t r) const
    {
        return x + r * n;
    }
    __device__ int64_t step() const
    {
        return 1;
    }
    template <int N>
    __device__ wide<T> put(int64_t r, int64_t at, const wide<T> *v,
                           const wide<T> *e, const struct total<T> &total) const
    {
        pack<T, N> p;

#pragma unroll
        for (int j = 0; j < N; j++)
            p.v[j] = narrow<T>(log ? v[j] - total.log : e[j] * total.scale);
        *(pack<T, N> *)(y + r * n + at) = p;
        return 0;
    }
    __device__ void end(int64_t, wide<T>) const
    {
    }
};

template <bool LOG, typename T>
static enum tfd_code softmax_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = k->in[0].shape;
    int64_t elements = tfd_shape_elements(&shape), n;
    T *y;

    if (shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "logits must have >= 1 dimension, got []");
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    if (elements == 0)
        return TFD_OK;
    n = shape.dim[shape.rank - 1];
    y = out_at<T>(k, 0);
    return run(k, to_softmax<T>{in_at<T>(k, 0), y, n, LOG}, (const T *)y, y,
               true, elements / n, n, st);
}

/* ---- Cross entropy ------------------------------------------------------- */

template <typename T> struct to_dense {
    static constexpr bool ADDS = true;
    const T *x;
    struct steps xs;
    const T *labels;
    struct steps ls;
    T *loss, *backprop;
    int64_t n;

    __device__ const T *row(int64_t r) const
    {
        return x + r * xs.row;
    }
    __device__ int64_t step() const
    {
        return xs.column;
    }
    template <int N>
    __device__ wide<T> put(int64_t r, int64_t at, const wide<T> *v,
                           const wide<T> *e, const struct total<T> &total) const
    {
        wide<T> label[N], part = 0;
        pack<T, N> p;

        load<N>(labels + r * ls.row, ls.column, at, label);
#pragma unroll
        for (int j = 0; j < N; j++) {
            part += label[j] * (total.log - v[j]);
            p.v[j] = narrow<T>(e[j] * total.scale - label[j]);
        }
        *(pack<T, N> *)(backprop + r * n + at) = p;
        return part;
    }
    __device__ void end(int64_t r, wide<T> sum) const
    {
        loss[r] = narrow<T>(sum);
    }
};

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
    struct steps xs, ls;
    struct tfd_shape m;

    TFD_TRY(tfd_xent_dense_shape(k, &m, st));
    TFD_TRY(make_outputs(k, &m, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    if (!k->out[1].buffer)
        return no_classes(k, st);
    xs = steps_of(&k->in[0].shape);
    ls = steps_of(&k->in[1].shape);
    return run(k,
               to_dense<T>{in_at<T>(k, 0), xs, in_at<T>(k, 1), ls,
                           out_at<T>(k, 0), out_at<T>(k, 1), m.dim[1]},
               in_at<T>(k, 1), out_at<T>(k, 1), xs.column && ls.column,
               m.dim[0], m.dim[1], st);
}

/* A label that is no class gives NaN, since nobody waits for an answer: as
 * TensorFlow's GPU kernel. */
template <typename T> struct to_sparse {
    static constexpr bool ADDS = false;
    const T *x;
    const void *labels;
    bool long_labels; /* int64, else int32 */
    T *loss, *backprop;
    int64_t n;

    __device__ const T *row(int64_t r) const
    {
        return x + r * n;
    }
    __device__ int64_t step() const
    {
        return 1;
    }
    /* -1: no class */
    __device__ int64_t label_of(int64_t r) const
    {
        int64_t label = long_labels ? ((const int64_t *)labels)[r]
                                    : ((const int32_t *)labels)[r];

        return label >= 0 && label < n ? label : -1;
    }
    template <int N>
    __device__ wide<T> put(int64_t r, int64_t at, const wide<T> *v,
                           const wide<T> *e, const struct total<T> &total) const
    {
        int64_t label = label_of(r);
        pack<T, N> p;

#pragma unroll
        for (int j = 0; j < N; j++) {
            wide<T> g = e[j] * total.scale - (at + j == label ? 1 : 0);

            p.v[j] = narrow<T>(label < 0 ? (wide<T>)NAN : g);
            if (at + j == label)
                loss[r] = narrow<T>(total.log - v[j]);
        }
        *(pack<T, N> *)(backprop + r * n + at) = p;
        return 0;
    }
    __device__ void end(int64_t r, wide<T>) const
    {
        if (label_of(r) < 0)
            loss[r] = narrow<T>((wide<T>)NAN);
    }
};

template <typename T>
static enum tfd_code sparse_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape m = k->in[0].shape;
    T *backprop;

    TFD_TRY(tfd_xent_check_sparse(k, st));
    TFD_TRY(make_outputs(k, &m, st));
    if (!k->out[1].buffer)
        return TFD_OK;
    backprop = out_at<T>(k, 1);
    return run(k,
               to_sparse<T>{in_at<T>(k, 0), tfd_tensor_data(&k->in[1]),
                            k->in[1].dtype != TFD_INT32, out_at<T>(k, 0),
                            backprop, m.dim[1]},
               (const T *)backprop, backprop, true, m.dim[0], m.dim[1], st);
}

#define ROWS(name, T)                                                   \
    row("Softmax", TFD_##name, softmax_gpu<false, T>),                  \
        row("LogSoftmax", TFD_##name, softmax_gpu<true, T>),            \
        row("SoftmaxCrossEntropyWithLogits", TFD_##name, dense_gpu<T>), \
        row("SparseSoftmaxCrossEntropyWithLogits", TFD_##name, sparse_gpu<T>),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(softmax);
