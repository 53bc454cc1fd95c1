/*
 * pooling.cu - MaxPool, AvgPool and their gradients of kernels/conv/pooling.c, in both
 * layouts.
 *
 * A thread computes an element of the result, or 16 bytes of neighbours along
 * channels or columns, whichever are contiguous: L is the way to what
 * they are computed from (windows.cuh).  Gradients gather too, so that nothing
 * is added in an order that chance decides: an element of dx asks the windows
 * that it is in.  For maxima a first pass notes where in each window the first
 * largest element is.
 *
 * half and bfloat16 are computed in float.
 */
#include "cuda/lib/item.cuh"
#include "cuda/lib/packs.cuh"
#include "cuda/lib/windows.cuh"

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

template <typename T>
__device__ inline struct values<T> row_of(const T *x, const struct plane *s,
                                          int64_t row) {
    return {x + s->first + row * s->row, s->column};
}

template <typename L, typename T>
__global__ void find_max(const __grid_constant__ struct windows w, const T *x,
                         pack<T, L::N> *y, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of<L>(&w, i, w.out);
        struct plane s = plane_of<L>(&w, &p, w.row.in, w.column.in);
        struct span rows = span_of(&w.row, p.row);
        wide<T> best[L::N];

#pragma unroll
        for (int j = 0; j < L::N; j++)
            best[j] = lowest(wide<T>());
        for (int64_t r = rows.first; r < rows.last; r++)
            L::each_element(&w.column, p.column, row_of(x, &s, r),
                            [&](int j, const auto &v, int e, int64_t, int64_t) {
                                wide<T> a = widen(v.v[e]);

                                best[j] = a > best[j] ? a : best[j];
                            });
        y[i] = narrow_all<L::N, T>(best);
    }
}

template <typename L, typename T>
__global__ void find_mean(const __grid_constant__ struct windows w, const T *x,
                          pack<T, L::N> *y, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of<L>(&w, i, w.out);
        struct plane s = plane_of<L>(&w, &p, w.row.in, w.column.in);
        struct span rows = span_of(&w.row, p.row);
        wide<T> sum[L::N] = {};

        for (int64_t r = rows.first; r < rows.last; r++)
            L::each_element(&w.column, p.column, row_of(x, &s, r),
                            [&](int j, const auto &v, int e, int64_t, int64_t) {
                                sum[j] += widen(v.v[e]);
                            });
#pragma unroll
        for (int j = 0; j < L::N; j++) {
            struct span columns =
                span_of(&w.column, p.column + column_of<L>(j));

            sum[j] /= (wide<T>)((rows.last - rows.first) *
                                (columns.last - columns.first));
        }
        y[i] = narrow_all<L::N, T>(sum);
    }
}

/* ---- Gradients ----------------------------------------------------------- */

/* Of each window the first largest element: its place in
 * the image; -1 where the window is empty. */
template <typename L, typename I, typename T>
__global__ void find_place(const __grid_constant__ struct windows w, const T *x,
                           pack<I, L::N> *at, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of<L>(&w, i, w.out);
        struct plane s = plane_of<L>(&w, &p, w.row.in, w.column.in);
        struct span rows = span_of(&w.row, p.row);
        wide<T> best[L::N] = {};
        pack<I, L::N> found;

#pragma unroll
        for (int j = 0; j < L::N; j++)
            found.v[j] = -1;
        for (int64_t r = rows.first; r < rows.last; r++)
            L::each_element(
                &w.column, p.column, row_of(x, &s, r),
                [&](int j, const auto &v, int e, int64_t, int64_t column) {
                    wide<T> a = widen(v.v[e]);

                    if (found.v[j] < 0 || a > best[j]) {
                        best[j] = a;
                        found.v[j] = (I)(r * w.column.in + column);
                    }
                });
        at[i] = found;
    }
}

/* Windows: the places of their maxima, and the gradients. */
template <typename I, typename T, int N> struct choice {
    pack<I, N> at;
    pack<T, N> dy;
};

template <typename I, typename T> struct choices {
    struct values<I> at;
    struct values<T> dy;

    template <int N> __device__ struct choice<I, T, N> take(int64_t i) const {
        return {at.template take<N>(i), dy.template take<N>(i)};
    }
};

template <typename L, typename I, typename T>
__global__ void derive_max(const __grid_constant__ struct windows w,
                           const I *at, const T *dy, pack<T, L::N> *dx,
                           int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of<L>(&w, i, w.in);
        struct plane s = plane_of<L>(&w, &p, w.row.out, w.column.out);
        struct span rows = windows_of(&w.row, &w.row_stride, p.row);
        I me = (I)(p.row * w.column.in + p.column);
        wide<T> sum[L::N] = {};

        for (int64_t r = rows.first; r < rows.last; r++)
            L::each_window(&w.column, &w.column_stride, p.column,
                           choices<I, T>{row_of(at, &s, r), row_of(dy, &s, r)},
                           [&](int j, const auto &v, int e, int64_t, int64_t) {
                               if (v.at.v[e] == me + (I)column_of<L>(j))
                                   sum[j] += widen(v.dy.v[e]);
                           });
        dx[i] = narrow_all<L::N, T>(sum);
    }
}

/* What windows of a row of dy have for each of their elements. */
template <typename L, typename T> struct parts {
    struct values<T> dy;
    const struct tfd_window_side *column;
    int64_t rows; /* that they have of x */

    template <int N> __device__ pack<wide<T>, N> take(int64_t i) const
    {
        pack<T, N> v = dy.template take<N>(i);
        pack<wide<T>, N> part;

#pragma unroll
        for (int e = 0; e < N; e++) {
            struct span columns = span_of(column, i + column_of<L>(e));

            part.v[e] = widen(v.v[e]) *
                        (1 / (wide<T>)(rows * (columns.last - columns.first)));
        }
        return part;
    }
};

template <typename L, typename T>
__global__ void derive_mean(const __grid_constant__ struct windows w,
                            const T *dy, pack<T, L::N> *dx, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of<L>(&w, i, w.in);
        struct plane s = plane_of<L>(&w, &p, w.row.out, w.column.out);
        struct span rows = windows_of(&w.row, &w.row_stride, p.row);
        wide<T> sum[L::N] = {};

        for (int64_t r = rows.first; r < rows.last; r++) {
            struct span high = span_of(&w.row, r);

            L::each_window(&w.column, &w.column_stride, p.column,
                           parts<L, T>{row_of(dy, &s, r), &w.column,
                                       high.last - high.first},
                           [&](int j, const auto &v, int e, int64_t, int64_t) {
                               sum[j] += v.v[e];
                           });
        }
        dx[i] = narrow_all<L::N, T>(sum);
    }
}

/* ---- Kernels ------------------------------------------------------------- */

template <typename T>
static enum tfd_code max_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const T *x = in_at<T>(k, 0);
    struct tfd_pooling_plan plan;
    T *y;

    TFD_TRY(tfd_pooling_max(k, &plan, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &plan.y, st));
    y = out_at<T>(k, 0);
    if (!y)
        return TFD_OK;
    with_way<T>(&plan, plan.p.column.out, plan.p.column.in, is_aligned(x, y, y),
                [&](auto way) {
                    using L = decltype(way);
                    int64_t n = tfd_shape_elements(&plan.y) / L::N;

                    find_max<L, T>
                        <<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
                            windows_in<L>(&plan), x, (pack<T, L::N> *)y, n);
                });
    return launched(k, st);
}

template <typename T>
static enum tfd_code mean_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const T *x = in_at<T>(k, 0);
    struct tfd_pooling_plan plan;
    T *y;

    TFD_TRY(tfd_pooling_mean(k, &plan, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &plan.y, st));
    y = out_at<T>(k, 0);
    if (!y)
        return TFD_OK;
    with_way<T>(&plan, plan.p.column.out, plan.p.column.in, is_aligned(x, y, y),
                [&](auto way) {
                    using L = decltype(way);
                    int64_t n = tfd_shape_elements(&plan.y) / L::N;

                    find_mean<L, T>
                        <<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
                            windows_in<L>(&plan), x, (pack<T, L::N> *)y, n);
                });
    return launched(k, st);
}

/* The places are given back at once: what gets the memory next is enqueued
 * behind. */
template <typename I, typename T>
static enum tfd_code derive_by_places(struct tfd_kctx *k,
                                      const struct tfd_pooling_plan *plan,
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
    if (b)
        with_way<T>(plan, plan->p.column.out, plan->p.column.in,
                    is_aligned(x, x, x), [&](auto way) {
                        using L = decltype(way);

                        find_place<L, I, T><<<blocks_for(k, windows / L::N),
                                              THREADS, 0, stream_of(k)>>>(
                            windows_in<L>(plan), x, (pack<I, L::N> *)b->data,
                            windows / L::N);
                    });
    with_way<T>(
        plan, plan->p.column.in, plan->p.column.out, is_aligned(dy, dx, dx),
        [&](auto way) {
            using L = decltype(way);
            int64_t n = tfd_shape_elements(&plan->x) / L::N;

            derive_max<L, I, T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
                windows_in<L>(plan), b ? (const I *)b->data : nullptr, dy,
                (pack<T, L::N> *)dx, n);
        });
    if (b)
        tfd_buffer_unref(b);
    return launched(k, st);
}

template <typename T>
static enum tfd_code max_grad_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_pooling_plan plan;

    TFD_TRY(tfd_pooling_max_grad(k, &plan, st));
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
    struct tfd_pooling_plan plan;
    T *dx;

    TFD_TRY(tfd_pooling_mean_grad(k, &plan, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[1].dtype, &plan.x, st));
    dx = out_at<T>(k, 0);
    if (!dx)
        return TFD_OK;
    with_way<T>(&plan, plan.p.column.in, plan.p.column.out,
                is_aligned(dy, dx, dx), [&](auto way) {
                    using L = decltype(way);
                    int64_t n = tfd_shape_elements(&plan.x) / L::N;

                    derive_mean<L, T>
                        <<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
                            windows_in<L>(&plan), dy, (pack<T, L::N> *)dx, n);
                });
    return launched(k, st);
}

#define ROW(op, name, compute, host)                     \
    row(op, TFD_##name, compute, host, tfd_pooling_prepare, \
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

CUDA_FAMILY_OF(pooling);
