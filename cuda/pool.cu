/*
 * pool.cu - MaxPool, AvgPool and their gradients of kernels/pool.c, in both
 * layouts.
 *
 * A thread computes an element of the result.  Gradients gather too, so that
 * nothing is added in an order that chance decides: an element of dx asks the
 * windows that it is in.  For maxima a first pass notes where in each window
 * the first largest element is.
 *
 * half and bfloat16 are computed in float.
 */
#include "cuda/divisor.cuh"

extern "C" {
#include "kernels/pool.h"
}

#include <float.h>

namespace
{

/* Windows over images. */
struct windows {
    struct tfd_window_side row, column;
    struct divisor channels, row_stride, column_stride;
    struct divisor in[2], out[2]; /* rows and columns of images */
    bool second;                  /* channels before rows */
};

/* Where an element of an image is.  size: rows and columns of the image. */
struct place {
    int64_t image, row, column, channel;
};

__device__ inline struct place place_of(const struct windows *w, int64_t i,
                                        const struct divisor *size)
{
    struct place p;

    p.channel = w->second ? 0 : take_rest(&w->channels, &i);
    p.column = take_rest(&size[1], &i);
    p.row = take_rest(&size[0], &i);
    if (w->second)
        p.channel = take_rest(&w->channels, &i);
    p.image = i;
    return p;
}

/* The element at the image's first row and column, and the steps to others. */
struct plane {
    int64_t first, row, column;
};

__device__ inline struct plane plane_of(const struct windows *w,
                                        const struct place *p,
                                        const struct divisor *size)
{
    int64_t pixels = size[0].by * size[1].by, channels = w->channels.by;

    if (w->second)
        return {(p->image * channels + p->channel) * pixels, size[1].by, 1};
    return {p->image * pixels * channels + p->channel, size[1].by * channels,
            channels};
}

/* Elements [first, last) of the input that a window has. */
struct span {
    int64_t first, last;
};

__device__ inline struct span span_of(const struct tfd_window_side *s,
                                      int64_t at)
{
    int64_t first = at * s->stride - s->before, last = first + s->size;

    return {first > 0 ? first : 0, last < s->in ? last : s->in};
}

/* Windows [first, last) that have an element of the input. */
__device__ inline struct span windows_of(const struct tfd_window_side *s,
                                         const struct divisor *stride,
                                         int64_t at)
{
    int64_t end = at + s->before, begin = end - s->size;
    int64_t last = divide(stride, end) + 1;

    return {begin < 0 ? 0 : divide(stride, begin) + 1,
            last < s->out ? last : s->out};
}

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
__global__ void find_max(struct windows w, const T *x, T *y, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(&w, i, w.out);
        struct plane s = plane_of(&w, &p, w.in);
        struct span rows = span_of(&w.row, p.row);
        struct span columns = span_of(&w.column, p.column);
        wide<T> best = lowest(wide<T>());

        for (int64_t r = rows.first; r < rows.last; r++)
            for (int64_t c = columns.first; c < columns.last; c++) {
                wide<T> v = widen(x[s.first + r * s.row + c * s.column]);

                best = v > best ? v : best;
            }
        y[i] = narrow<T>(best);
    }
}

template <typename T>
__global__ void find_mean(struct windows w, const T *x, T *y, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(&w, i, w.out);
        struct plane s = plane_of(&w, &p, w.in);
        struct span rows = span_of(&w.row, p.row);
        struct span columns = span_of(&w.column, p.column);
        wide<T> sum = 0;

        for (int64_t r = rows.first; r < rows.last; r++)
            for (int64_t c = columns.first; c < columns.last; c++)
                sum += widen(x[s.first + r * s.row + c * s.column]);
        y[i] = narrow<T>(sum / (wide<T>)((rows.last - rows.first) *
                                         (columns.last - columns.first)));
    }
}

/* ---- Gradients ----------------------------------------------------------- */

/* Of each window the first largest element: its place in
 * the image; -1 where the window is empty. */
template <typename T>
__global__ void find_place(struct windows w, const T *x, int64_t *at, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(&w, i, w.out);
        struct plane s = plane_of(&w, &p, w.in);
        struct span rows = span_of(&w.row, p.row);
        struct span columns = span_of(&w.column, p.column);
        wide<T> best = 0;
        int64_t found = -1;

        for (int64_t r = rows.first; r < rows.last; r++)
            for (int64_t c = columns.first; c < columns.last; c++) {
                wide<T> v = widen(x[s.first + r * s.row + c * s.column]);

                if (found < 0 || v > best) {
                    best = v;
                    found = r * w.column.in + c;
                }
            }
        at[i] = found;
    }
}

template <typename T>
__global__ void derive_max(struct windows w, const int64_t *at, const T *dy,
                           T *dx, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(&w, i, w.in);
        struct plane s = plane_of(&w, &p, w.out);
        struct span rows = windows_of(&w.row, &w.row_stride, p.row);
        struct span columns = windows_of(&w.column, &w.column_stride, p.column);
        int64_t me = p.row * w.column.in + p.column;
        wide<T> sum = 0;

        for (int64_t r = rows.first; r < rows.last; r++)
            for (int64_t c = columns.first; c < columns.last; c++) {
                int64_t j = s.first + r * s.row + c * s.column;

                if (at[j] == me)
                    sum += widen(dy[j]);
            }
        dx[i] = narrow<T>(sum);
    }
}

template <typename T>
__global__ void derive_mean(struct windows w, const T *dy, T *dx, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(&w, i, w.in);
        struct plane s = plane_of(&w, &p, w.out);
        struct span rows = windows_of(&w.row, &w.row_stride, p.row);
        struct span columns = windows_of(&w.column, &w.column_stride, p.column);
        wide<T> sum = 0;

        for (int64_t r = rows.first; r < rows.last; r++)
            for (int64_t c = columns.first; c < columns.last; c++) {
                struct span high = span_of(&w.row, r);
                struct span broad = span_of(&w.column, c);
                wide<T> count = (wide<T>)((high.last - high.first) *
                                          (broad.last - broad.first));

                sum +=
                    widen(dy[s.first + r * s.row + c * s.column]) * (1 / count);
            }
        dx[i] = narrow<T>(sum);
    }
}

/* ---- Kernels ------------------------------------------------------------- */

static struct windows windows_in(const struct tfd_pool_plan *plan)
{
    const struct tfd_window_side *row = &plan->p.row;
    const struct tfd_window_side *column = &plan->p.column;

    return {*row,
            *column,
            divisor_of(plan->p.channels),
            divisor_of(row->stride),
            divisor_of(column->stride),
            {divisor_of(row->in), divisor_of(column->in)},
            {divisor_of(row->out), divisor_of(column->out)},
            plan->w.channels_second};
}

template <typename T>
static enum tfd_code max_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_pool_plan plan;
    int64_t n;

    TFD_TRY(tfd_pool_max(k, &plan, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &plan.y, st));
    n = tfd_shape_elements(&plan.y);
    if (n == 0)
        return TFD_OK;
    find_max<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        windows_in(&plan), in_at<T>(k, 0), out_at<T>(k, 0), n);
    return launched(k, st);
}

template <typename T>
static enum tfd_code mean_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_pool_plan plan;
    int64_t n;

    TFD_TRY(tfd_pool_mean(k, &plan, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &plan.y, st));
    n = tfd_shape_elements(&plan.y);
    if (n == 0)
        return TFD_OK;
    find_mean<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        windows_in(&plan), in_at<T>(k, 0), out_at<T>(k, 0), n);
    return launched(k, st);
}

/* The places are given back at once: what gets the memory next is enqueued
 * behind. */
template <typename T>
static enum tfd_code max_grad_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_pool_plan plan;
    struct tfd_buffer *b = nullptr;
    int64_t n, windows;

    TFD_TRY(tfd_pool_max_grad(k, &plan, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &plan.x, st));
    n = tfd_shape_elements(&plan.x);
    windows = tfd_shape_elements(&plan.y);
    if (n == 0)
        return TFD_OK;
    if (windows > 0) {
        b = k->memory->make(k->memory, (size_t)windows * sizeof(int64_t), st);
        if (!b)
            return TFD_RESOURCE_EXHAUSTED;
        find_place<T><<<blocks_for(k, windows), THREADS, 0, stream_of(k)>>>(
            windows_in(&plan), in_at<T>(k, 0), (int64_t *)b->data, windows);
    }
    derive_max<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        windows_in(&plan), b ? (const int64_t *)b->data : nullptr,
        in_at<T>(k, 2), out_at<T>(k, 0), n);
    if (b)
        tfd_buffer_unref(b);
    return launched(k, st);
}

template <typename T>
static enum tfd_code mean_grad_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_pool_plan plan;
    int64_t n;

    TFD_TRY(tfd_pool_mean_grad(k, &plan, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[1].dtype, &plan.x, st));
    n = tfd_shape_elements(&plan.x);
    if (n == 0)
        return TFD_OK;
    derive_mean<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        windows_in(&plan), in_at<T>(k, 1), out_at<T>(k, 0), n);
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
