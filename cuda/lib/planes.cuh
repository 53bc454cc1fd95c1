/*
 * planes.cuh - walks the windows of a pooling or a depthwise convolution whose
 * layout has channels second (NCHW), with vectorised loads along a row.
 *
 * With channels second the columns of a row are neighbours in memory.  One
 * thread computes N neighbouring results, and where it can it reads N columns
 * with one load (a "pack", cuda/lib/launch.cuh), each of them once, and lets an
 * element serve all results whose window has it:
 *
 *     columns    c0 c1 c2 c3 | c4 c5 c6 c7      two packs of N = 4
 *     result 0  [c0 c1 c2]                      window of 3, stride 1
 *     result 1     [c1 c2 c3]
 *     result 2        [c2 c3 | c4]
 *
 * That works where windows move by S = 1 or 2 columns.  S = 0 stands for every
 * other stride, and for rows whose length is no multiple of N: the thread then
 * reads single elements, in loops that are not unrolled since there are N.
 *
 * Column `tap` of a window counts from the window's first column, with those
 * that a dilation leaves out, and `extent` is the number of these columns:
 *
 *     column = window * stride - before + tap
 *
 * each_element() goes from a window to its elements: it calls f(j, values, e,
 * tap, column) for result j and each element values.v[e], at `column`, of what
 * read.take<M>() loaded from M columns.  each_window() is the way back, for
 * gradients: result j is a column, and the last argument is a window that has
 * it.  Both go upwards for each result, so that a sum has the same order, and
 * so the same bits, as if a thread computed one result alone.
 *
 * Threads: device code, and host code without state.
 */
#ifndef TFD_CUDA_PLANES_CUH
#define TFD_CUDA_PLANES_CUH

#include "cuda/lib/divisor.cuh"

extern "C" {
#include "kernels/conv/window.h"
}

__host__ __device__ inline int64_t extent_of(const struct tfd_window_side *s)
{
    return (s->size - 1) * s->dilation + 1;
}

/* [first, last) */
struct span {
    int64_t first, last;
};

/* Elements of the input among those of a window. */
__device__ inline struct span span_of(const struct tfd_window_side *s,
                                      int64_t at)
{
    int64_t first = at * s->stride - s->before, last = first + extent_of(s);

    return {first > 0 ? first : 0, last < s->in ? last : s->in};
}

/* Windows that have an element of the input. */
__device__ inline struct span windows_of(const struct tfd_window_side *s,
                                         const struct divisor *stride,
                                         int64_t at)
{
    int64_t end = at + s->before, begin = end - extent_of(s);
    int64_t last = divide(stride, end) + 1;

    return {begin < 0 ? 0 : divide(stride, begin) + 1,
            last < s->out ? last : s->out};
}

/* N neighbours, of which the next is `step` elements further. */
template <typename T> struct values {
    const T *x;
    int64_t step;

    template <int N> __device__ pack<T, N> take(int64_t i) const
    {
        return *(const pack<T, N> *)(x + i * step);
    }
};

/* Calls f(j, e, t) where t = base + A * e - B * j is below `extent`, upwards
 * for each j.  Pairs with the same t are behind one branch, which threads take
 * alike where S is 1 and no border near. */
template <int N, int A, int B, typename F>
__device__ inline void each_pair(int base, int extent, const F &f)
{
#pragma unroll
    for (int d = B - B * N; d <= A * (N - 1); d++) {
        int t = base + d;

        if (t < 0 || t >= extent)
            continue;
#pragma unroll
        for (int j = 0; j < N; j++)
            if (d + B * j >= 0 && (d + B * j) % A == 0 && (d + B * j) / A < N)
                f(j, (d + B * j) / A, t);
    }
}

template <int N_, int S> struct along_columns {
    static constexpr int N = N_, CHANNELS = 1, COLUMNS = N_;

    template <typename R, typename F>
    __device__ static void each_element(const struct tfd_window_side *s,
                                        int64_t at, const R &read, const F &f)
    {
        int extent = (int)extent_of(s), first = (int)(at * S - s->before);
        int end = first + S * (N - 1) + extent;

        end = end < s->in ? end : (int)s->in;
        for (int c = first > 0 ? first / N * N : 0; c < end; c += N) {
            auto v = read.template take<N>(c);

            each_pair<N, 1, S>(c - first, extent, [&](int j, int e, int tap) {
                f(j, v, e, tap, c + e);
            });
        }
    }

    /* Windows that come later have the column at a lower tap: taps are counted
     * from the last one. */
    template <typename R, typename F>
    __device__ static void each_window(const struct tfd_window_side *s,
                                       const struct divisor *, int64_t at,
                                       const R &read, const F &f)
    {
        int last = (int)extent_of(s) - 1, first = (int)(at + s->before) - last;
        int end = (first + last + N - 1) / S + 1;

        end = end < s->out ? end : (int)s->out;
        for (int c = first > 0 ? (first + S - 1) / S / N * N : 0; c < end;
             c += N) {
            auto v = read.template take<N>(c);

            each_pair<N, S, 1>(
                S * c - first, last + 1,
                [&](int j, int e, int t) { f(j, v, e, last - t, c + e); });
        }
    }
};

template <int N_> struct along_columns<N_, 0> {
    static constexpr int N = N_, CHANNELS = 1, COLUMNS = N_;

    template <typename R, typename F>
    __device__ static void each_element(const struct tfd_window_side *s,
                                        int64_t at, const R &read, const F &f)
    {
#pragma unroll
        for (int j = 0; j < N; j++) {
            int64_t first = (at + j) * s->stride - s->before;
            struct span columns = span_of(s, at + j);

#pragma unroll 1
            for (int64_t c = columns.first; c < columns.last; c++)
                f(j, read.template take<1>(c), 0, c - first, c);
        }
    }

    template <typename R, typename F>
    __device__ static void each_window(const struct tfd_window_side *s,
                                       const struct divisor *stride, int64_t at,
                                       const R &read, const F &f)
    {
#pragma unroll
        for (int j = 0; j < N; j++) {
            int64_t last = at + j + s->before;
            struct span windows = windows_of(s, stride, at + j);

#pragma unroll 1
            for (int64_t c = windows.first; c < windows.last; c++)
                f(j, read.template take<1>(c), 0, last - c * s->stride, c);
        }
    }
};

/* Calls f with the way along rows whose results are packs of N, from rows of
 * `from` elements. */
template <int N, typename F>
static inline void with_columns(const struct tfd_window_side *s, int64_t from,
                                const F &f)
{
    const int64_t most = INT32_MAX / 8; /* what is above is in int */
    bool packs = from % N == 0 && s->in < most && s->out < most &&
                 s->before < most && extent_of(s) < most;

    if (packs && s->stride == 1)
        f(along_columns<N, 1>());
    else if (packs && s->stride == 2)
        f(along_columns<N, 2>());
    else
        f(along_columns<N, 0>());
}

#endif
