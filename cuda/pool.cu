/*
 * pool.cu - MaxPool, AvgPool and their gradients of kernels/pool.c, in both
 * layouts.
 *
 * A thread computes an element of the result, or 16 bytes of channels that lie
 * behind each other: what is below is in packs of them, and the geometry is
 * computed once for each.  Gradients gather too, so that nothing is added in an
 * order that chance decides: an element of dx asks the windows that it is in.
 * For maxima a first pass notes where in each window the first largest element
 * is.
 *
 * half and bfloat16 are computed in float.
 */
#include "cuda/item.cuh"
#include "cuda/packs.cuh"
#include "cuda/windows.cuh"

#include <float.h>

namespace
{

/* ---- Forward ------------------------------------------------------------- */

/* What the maximum of nothing is. */
__device__ inline float lowest(float)
{
    return -FLT_MAX;
}

__device__ inline double lowest(double)
{
    return -DBL_MAX;
}

template <int N, typename T>
__global__ void find_max(struct windows w, const pack<T, N> *x, pack<T, N> *y,
                         int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(&w, i, w.out);
        struct plane s = plane_of(&w, &p, w.in);
        struct span rows = span_of(&w.row, p.row);
        struct span columns = span_of(&w.column, p.column);
        wide<T> best[N];

#pragma unroll
        for (int j = 0; j < N; j++)
            best[j] = lowest(wide<T>());
        for (int64_t r = rows.first; r < rows.last; r++)
            for (int64_t c = columns.first; c < columns.last; c++) {
                pack<T, N> v = x[s.first + r * s.row + c * s.column];

#pragma unroll
                for (int j = 0; j < N; j++)
                    best[j] = widen(v.v[j]) > best[j] ? widen(v.v[j]) : best[j];
            }
        y[i] = narrow_all<N, T>(best);
    }
}

template <int N, typename T>
__global__ void find_mean(struct windows w, const pack<T, N> *x, pack<T, N> *y,
                          int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(&w, i, w.out);
        struct plane s = plane_of(&w, &p, w.in);
        struct span rows = span_of(&w.row, p.row);
        struct span columns = span_of(&w.column, p.column);
        wide<T> sum[N] = {};
        wide<T> count = (wide<T>)((rows.last - rows.first) *
                                  (columns.last - columns.first));

        for (int64_t r = rows.first; r < rows.last; r++)
            for (int64_t c = columns.first; c < columns.last; c++) {
                pack<T, N> v = x[s.first + r * s.row + c * s.column];

#pragma unroll
                for (int j = 0; j < N; j++)
                    sum[j] += widen(v.v[j]);
            }
#pragma unroll
        for (int j = 0; j < N; j++)
            sum[j] /= count;
        y[i] = narrow_all<N, T>(sum);
    }
}

/* ---- Gradients ----------------------------------------------------------- */

/* Of each window the first largest element: its place in
 * the image; -1 where the window is empty. */
template <int N, typename I, typename T>
__global__ void find_place(struct windows w, const pack<T, N> *x,
                           pack<I, N> *at, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(&w, i, w.out);
        struct plane s = plane_of(&w, &p, w.in);
        struct span rows = span_of(&w.row, p.row);
        struct span columns = span_of(&w.column, p.column);
        wide<T> best[N] = {};
        pack<I, N> found;

#pragma unroll
        for (int j = 0; j < N; j++)
            found.v[j] = -1;
        for (int64_t r = rows.first; r < rows.last; r++)
            for (int64_t c = columns.first; c < columns.last; c++) {
                pack<T, N> v = x[s.first + r * s.row + c * s.column];

#pragma unroll
                for (int j = 0; j < N; j++)
                    if (found.v[j] < 0 || widen(v.v[j]) > best[j]) {
                        best[j] = widen(v.v[j]);
                        found.v[j] = (I)(r * w.column.in + c);
                    }
            }
        at[i] = found;
    }
}

template <int N, typename I, typename T>
__global__ void derive_max(struct windows w, const pack<I, N> *at,
                           const pack<T, N> *dy, pack<T, N> *dx, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(&w, i, w.in);
        struct plane s = plane_of(&w, &p, w.out);
        struct span rows = windows_of(&w.row, &w.row_stride, p.row);
        struct span columns = windows_of(&w.column, &w.column_stride, p.column);
        I me = (I)(p.row * w.column.in + p.column);
        wide<T> sum[N] = {};

        for (int64_t r = rows.first; r < rows.last; r++)
            for (int64_t c = columns.first; c < columns.last; c++) {
                int64_t from = s.first + r * s.row + c * s.column;
                pack<I, N> place = at[from];
                pack<T, N> v = dy[from];

#pragma unroll
                for (int j = 0; j < N; j++)
                    if (place.v[j] == me)
                        sum[j] += widen(v.v[j]);
            }
        dx[i] = narrow_all<N, T>(sum);
    }
}

template <int N, typename T>
__global__ void derive_mean(struct windows w, const pack<T, N> *dy,
                            pack<T, N> *dx, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(&w, i, w.in);
        struct plane s = plane_of(&w, &p, w.out);
        struct span rows = windows_of(&w.row, &w.row_stride, p.row);
        struct span columns = windows_of(&w.column, &w.column_stride, p.column);
        wide<T> sum[N] = {};

        for (int64_t r = rows.first; r < rows.last; r++)
            for (int64_t c = columns.first; c < columns.last; c++) {
                struct span high = span_of(&w.row, r);
                struct span broad = span_of(&w.column, c);
                wide<T> part = 1 / (wide<T>)((high.last - high.first) *
                                             (broad.last - broad.first));
                pack<T, N> v = dy[s.first + r * s.row + c * s.column];

#pragma unroll
                for (int j = 0; j < N; j++)
                    sum[j] += widen(v.v[j]) * part;
            }
        dx[i] = narrow_all<N, T>(sum);
    }
}

/* ---- Kernels ------------------------------------------------------------- */

template <int N> struct width {
    static constexpr int elements = N;
};

/* Calls f with the width of a pack of the tensors a, b and c. */
template <typename T, typename F>
static void with_width(const struct tfd_pool_plan *plan, const void *a,
                       const void *b, const void *c, const F &f)
{
    constexpr int N = pack_size<T, T>();

    if (!plan->w.channels_second && plan->p.channels % N == 0 &&
        is_aligned(a, b, c))
        f(width<N>());
    else
        f(width<1>());
}

template <typename T>
static enum tfd_code max_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const T *x = in_at<T>(k, 0);
    struct tfd_pool_plan plan;
    T *y;

    TFD_TRY(tfd_pool_max(k, &plan, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &plan.y, st));
    y = out_at<T>(k, 0);
    if (!y)
        return TFD_OK;
    with_width<T>(&plan, x, y, y, [&](auto width) {
        constexpr int N = decltype(width)::elements;
        int64_t n = tfd_shape_elements(&plan.y) / N;

        find_max<N, T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            windows_in(&plan, plan.p.channels / N), (const pack<T, N> *)x,
            (pack<T, N> *)y, n);
    });
    return launched(k, st);
}

template <typename T>
static enum tfd_code mean_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const T *x = in_at<T>(k, 0);
    struct tfd_pool_plan plan;
    T *y;

    TFD_TRY(tfd_pool_mean(k, &plan, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &plan.y, st));
    y = out_at<T>(k, 0);
    if (!y)
        return TFD_OK;
    with_width<T>(&plan, x, y, y, [&](auto width) {
        constexpr int N = decltype(width)::elements;
        int64_t n = tfd_shape_elements(&plan.y) / N;

        find_mean<N, T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            windows_in(&plan, plan.p.channels / N), (const pack<T, N> *)x,
            (pack<T, N> *)y, n);
    });
    return launched(k, st);
}

/* The places are given back at once: what gets the memory next is enqueued
 * behind. */
template <typename I, typename T>
static enum tfd_code derive_by_places(struct tfd_kctx *k,
                                      const struct tfd_pool_plan *plan,
                                      struct tfd_status *st)
{
    const T *x = in_at<T>(k, 0), *dy = in_at<T>(k, 2);
    int64_t windows = tfd_shape_elements(&plan->y);
    struct tfd_buffer *b = nullptr;
    T *dx = out_at<T>(k, 0);

    if (windows > 0) {
        b = k->memory->make(k->memory, (size_t)windows * sizeof(I), st);
        if (!b)
            return TFD_RESOURCE_EXHAUSTED;
    }
    with_width<T>(plan, x, dy, dx, [&](auto width) {
        constexpr int N = decltype(width)::elements;
        int64_t n = tfd_shape_elements(&plan->x) / N;
        struct windows w = windows_in(plan, plan->p.channels / N);
        pack<I, N> *at = b ? (pack<I, N> *)b->data : nullptr;

        if (b)
            find_place<N, I, T>
                <<<blocks_for(k, windows / N), THREADS, 0, stream_of(k)>>>(
                    w, (const pack<T, N> *)x, at, windows / N);
        derive_max<N, I, T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            w, at, (const pack<T, N> *)dy, (pack<T, N> *)dx, n);
    });
    if (b)
        tfd_buffer_unref(b);
    return launched(k, st);
}

template <typename T>
static enum tfd_code max_grad_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_pool_plan plan;

    TFD_TRY(tfd_pool_max_grad(k, &plan, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &plan.x, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    return with_index(plan.p.row.in * plan.p.column.in, [&](auto index) {
        return derive_by_places<decltype(index), T>(k, &plan, st);
    });
}

template <typename T>
static enum tfd_code mean_grad_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const T *dy = in_at<T>(k, 1);
    struct tfd_pool_plan plan;
    T *dx;

    TFD_TRY(tfd_pool_mean_grad(k, &plan, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[1].dtype, &plan.x, st));
    dx = out_at<T>(k, 0);
    if (!dx)
        return TFD_OK;
    with_width<T>(&plan, dy, dx, dx, [&](auto width) {
        constexpr int N = decltype(width)::elements;
        int64_t n = tfd_shape_elements(&plan.x) / N;

        derive_mean<N, T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            windows_in(&plan, plan.p.channels / N), (const pack<T, N> *)dy,
            (pack<T, N> *)dx, n);
    });
    return launched(k, st);
}

#define ROW(op, name, compute, host)                     \
    row(op, TFD_##name, compute, host, tfd_pool_prepare, \
        sizeof(struct tfd_window))
#define ROWS(name, T)                                                  \
    ROW("MaxPool", name, max_gpu<T>, 0),                               \
        ROW("MaxPoolV2", name, max_gpu<T>, HOST_ARG(1) | HOST_ARG(2)), \
        ROW("MaxPoolGrad", name, max_grad_gpu<T>, 0),                  \
        ROW("MaxPoolGradV2", name, max_grad_gpu<T>,                    \
            HOST_ARG(3) | HOST_ARG(4)),                                \
        ROW("AvgPool", name, mean_gpu<T>, 0),                          \
        ROW("AvgPoolGrad", name, mean_grad_gpu<T>, HOST_ARG(0)),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(pool);
