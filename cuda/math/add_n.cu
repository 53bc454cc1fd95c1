/*
 * add_n.cu - AddN of kernels/math/add_n.c: up to so many tensors are read at once;
 * the sum of those is the first of the next.  Narrow types are summed in float.
 */
#include "cuda/lib/launch.cuh"

extern "C" {
#include "kernels/core/outputs.h"
}

namespace
{

#define TERMS_MAX 16

template <typename T> struct terms {
    const T *x[TERMS_MAX];
    int count;
};

template <int N, typename T>
__global__ void add_terms(struct terms<T> terms, T *y, int64_t n)
{
    for (int64_t i = thread_index(); i < n / N; i += thread_count()) {
        pack<T, N> r = ((const pack<T, N> *)terms.x[0])[i];
        wide<T> sum[N];

#pragma unroll
        for (int j = 0; j < N; j++)
            sum[j] = widen(r.v[j]);
        for (int t = 1; t < terms.count; t++) {
            pack<T, N> x = ((const pack<T, N> *)terms.x[t])[i];

#pragma unroll
            for (int j = 0; j < N; j++)
                sum[j] += widen(x.v[j]);
        }
#pragma unroll
        for (int j = 0; j < N; j++)
            r.v[j] = narrow<T>(sum[j]);
        ((pack<T, N> *)y)[i] = r;
    }
    for (int64_t i = n / N * N + thread_index(); i < n; i += thread_count()) {
        wide<T> sum = widen(terms.x[0][i]);

        for (int t = 1; t < terms.count; t++)
            sum += widen(terms.x[t][i]);
        y[i] = narrow<T>(sum);
    }
}

template <typename T>
static enum tfd_code run_add_n(struct tfd_kctx *k, int64_t n, struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    struct terms<T> terms = {
        {in_at<T>(k, 0)}, 1,
    };
    T *y = out_at<T>(k, 0);

    for (int i = 1; i < k->in_count; terms.x[0] = y, terms.count = 1) {
        bool aligned = is_aligned(terms.x[0], y, y);

        for (; i < k->in_count && terms.count < TERMS_MAX; i++) {
            terms.x[terms.count++] = in_at<T>(k, i);
            aligned = aligned && is_aligned(in_at<T>(k, i), y, y);
        }
        if (aligned)
            add_terms<N>
                <<<blocks_for(k, (n + N - 1) / N), THREADS, 0, stream_of(k)>>>(
                    terms, y, n);
        else
            add_terms<1>
                <<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(terms, y, n);
        TFD_TRY(launched(k, st));
    }
    return TFD_OK;
}

/* PARTS: a complex number is two of T. */
template <typename T, int PARTS>
static enum tfd_code add_n(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = k->in[0].shape;

    TFD_TRY(tfd_add_n_check(k, st));
    if (k->in_count == 1) {
        tfd_kctx_output_alias(k, 0, 0, &shape);
        return TFD_OK;
    }
    /* Only the first two: a later one would be overwritten before its turn. */
    TFD_TRY(tfd_kctx_output_reuse(k, 3, 0, k->in[0].dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    return run_add_n<T>(k, tfd_shape_elements(&shape) * PARTS, st);
}

#define ROW(name, T) row("AddN", TFD_##name, add_n<T, 1>),

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(ROW) ROW(INT64, int64_t) ROW(UINT32, uint32_t)
        row("AddN", TFD_COMPLEX64, add_n<float, 2>),
    row("AddN", TFD_COMPLEX128, add_n<double, 2>),
};

} /* namespace */

CUDA_FAMILY_OF(add_n);
