/*
 * arg.cu - ArgMax, ArgMin of kernels/reduce/arg.c: a thread for each output, which
 * takes the first of equal ones, or for 16 bytes of columns; 16 bytes of a row
 * are read at once.  A NaN is never chosen, unless there is nothing else: then
 * the answer is 0.
 */
#include "cuda/lib/divisor.cuh"
#include "cuda/lib/fold.cuh"
#include "cuda/lib/packs.cuh"

extern "C" {
#include "kernels/core/outputs.h"
}

namespace
{

struct arg_state {
    enum tfd_dtype to;
};

static enum tfd_code prepare_arg(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    return tfd_node_type(p->node, "output_type",
                         &((struct arg_state *)state)->to, st);
}

/* What everything is better than that is ever chosen: no NaN. */
template <bool MAX, typename W> __device__ inline W worst()
{
    return MAX ? larger::zero<W>() : smaller::zero<W>();
}

template <bool MAX, typename W> __device__ inline bool is_better(W a, W b)
{
    return MAX ? a > b : a < b;
}

/* [outer, size, inner]: n packs of N columns, of which a row has `inner`. */
template <int N, bool MAX, typename T, typename I>
__global__ void search(const pack<T, N> *x, pack<I, N> *y, int64_t n,
                       int64_t size, struct divisor inner)
{
    for (int64_t o = thread_index(); o < n; o += thread_count()) {
        int64_t outer = o, rest = take_rest(&inner, &outer);
        const pack<T, N> *at = x + outer * size * inner.by + rest;
        pack<I, N> found = {};
        wide<T> best[N];

#pragma unroll
        for (int j = 0; j < N; j++)
            best[j] = worst<MAX, wide<T>>();
        for (int64_t i = 0; i < size; i++) {
            pack<T, N> p = at[i * inner.by];

#pragma unroll
            for (int j = 0; j < N; j++)
                if (is_better<MAX>(widen(p.v[j]), best[j])) {
                    best[j] = widen(p.v[j]);
                    found.v[j] = (I)i;
                }
        }
        y[o] = found;
    }
}

/* Rows of `size` elements, a multiple of N. */
template <int N, bool MAX, typename T, typename I>
__global__ void search_rows(const T *x, I *y, int64_t n, int64_t size)
{
    for (int64_t o = thread_index(); o < n; o += thread_count()) {
        wide<T> best = worst<MAX, wide<T>>();
        int64_t found = 0;

        for (int64_t i = 0; i < size; i += N) {
            wide<T> v[N];

            load_pack<N>(x + o * size + i, v);
#pragma unroll
            for (int j = 0; j < N; j++)
                if (is_better<MAX>(v[j], best)) {
                    best = v[j];
                    found = i + j;
                }
        }
        y[o] = (I)found;
    }
}

template <bool MAX, typename T, typename I>
static enum tfd_code run_arg(struct tfd_kctx *k, int64_t n, int64_t size,
                         int64_t inner, struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    const T *x = in_at<T>(k, 0);
    I *y = out_at<I>(k, 0);
    bool aligned = is_aligned(x, y, y);

    if (inner % N == 0 && aligned)
        search<N, MAX><<<blocks_for(k, n / N), THREADS, 0, stream_of(k)>>>(
            (const pack<T, N> *)x, (pack<I, N> *)y, n / N, size,
            divisor_of(inner / N));
    else if (inner == 1 && size % N == 0 && aligned)
        search_rows<N, MAX>
            <<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(x, y, n, size);
    else
        search<1, MAX><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            (const pack<T, 1> *)x, (pack<I, 1> *)y, n, size, divisor_of(inner));
    return launched(k, st);
}

template <bool MAX, typename T>
static enum tfd_code arg_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct arg_state *s = (const struct arg_state *)k->state;
    const struct tfd_shape *x = &k->in[0].shape;
    int64_t n, inner = 1;
    struct tfd_shape shape;
    int axis = 0;

    TFD_TRY(tfd_arg_axis(k, &axis, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, s->to, &shape, st));
    n = tfd_shape_elements(&shape);
    if (n == 0)
        return TFD_OK;
    for (int i = axis + 1; i < x->rank; i++)
        inner *= x->dim[i];
    switch (s->to) {
    case TFD_INT16:
    case TFD_UINT16:
        return run_arg<MAX, T, uint16_t>(k, n, x->dim[axis], inner, st);
    case TFD_INT32:
        return run_arg<MAX, T, int32_t>(k, n, x->dim[axis], inner, st);
    default:
        return run_arg<MAX, T, int64_t>(k, n, x->dim[axis], inner, st);
    }
}

#define ROWS(name, T)                                                      \
    row("ArgMax", TFD_##name, arg_gpu<true, T>, HOST_ARG(1), prepare_arg,      \
        sizeof(struct arg_state)),                                         \
        row("ArgMin", TFD_##name, arg_gpu<false, T>, HOST_ARG(1), prepare_arg, \
            sizeof(struct arg_state)),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)
                                                ROWS(BOOL, tfd_bool)};

} /* namespace */

CUDA_FAMILY_OF(arg);
