/*
 * windows.cuh - the geometry of pooling on a GPU: which elements of an image a
 * window covers, and which windows cover an element.  A thread computes a pack
 * of neighbouring results: along channels (this file) or, where channels are
 * second, along columns (planes.cuh).
 *
 * Threads: device code, and host code without state.
 */
#ifndef TFD_CUDA_WINDOWS_CUH
#define TFD_CUDA_WINDOWS_CUH

#include "cuda/lib/planes.cuh"

extern "C" {
#include "kernels/conv/pooling.h"
}

/* Channels have the same window. */
template <int N, typename R, typename F>
__device__ inline void each_channel(struct span s, const R &read, const F &f)
{
    for (int64_t c = s.first; c < s.last; c++) {
        auto v = read.template take<N>(c);

#pragma unroll
        for (int j = 0; j < N; j++)
            f(j, v, j, 0, c); /* pools do not ask for taps */
    }
}

/* N channels that are contiguous, or one in any layout; the members are
 * those of along_columns. */
template <int N_> struct along_channels {
    static constexpr int N = N_, CHANNELS = N_, COLUMNS = 1;

    template <typename R, typename F>
    __device__ static void each_element(const struct tfd_window_side *s,
                                        int64_t at, const R &read, const F &f)
    {
        each_channel<N>(span_of(s, at), read, f);
    }

    template <typename R, typename F>
    __device__ static void each_window(const struct tfd_window_side *s,
                                       const struct divisor *stride, int64_t at,
                                       const R &read, const F &f)
    {
        each_channel<N>(windows_of(s, stride, at), read, f);
    }
};

/* The columns from a thread's first result to result j. */
template <typename L> __device__ inline int64_t column_of(int j)
{
    return L::COLUMNS > 1 ? j : 0;
}

/* Windows over images. */
struct windows {
    struct tfd_window_side row, column;
    struct divisor channels; /* packs of them */
    struct divisor row_stride, column_stride;
    struct divisor in[2], out[2]; /* rows, packs of columns: of images */
    bool second;                  /* channels before rows */
};

/* Where a thread's first result is. */
struct place {
    int64_t image, row, column, channel;
};

/* size: w->in or w->out */
template <typename L>
__device__ inline struct place place_of(const struct windows *w, int64_t i,
                                        const struct divisor *size)
{
    struct place p;

    p.channel = w->second ? 0 : take_rest(&w->channels, &i);
    p.column = take_rest(&size[1], &i) * L::COLUMNS;
    p.row = take_rest(&size[0], &i);
    if (w->second)
        p.channel = take_rest(&w->channels, &i);
    p.channel *= L::CHANNELS;
    p.image = i;
    return p;
}

/* The element at the image's first row and column, and the steps to others. */
struct plane {
    int64_t first, row, column;
};

template <typename L>
__device__ inline struct plane plane_of(const struct windows *w,
                                        const struct place *p, int64_t rows,
                                        int64_t columns)
{
    int64_t pixels = rows * columns, channels = w->channels.by * L::CHANNELS;

    if (L::COLUMNS > 1 || w->second)
        return {(p->image * channels + p->channel) * pixels, columns, 1};
    return {p->image * pixels * channels + p->channel, columns * channels,
            channels};
}

template <typename L>
static inline struct windows windows_in(const struct tfd_pooling_plan *plan)
{
    const struct tfd_window_side *row = &plan->p.row;
    const struct tfd_window_side *column = &plan->p.column;

    return {*row,
            *column,
            divisor_of(plan->p.channels / L::CHANNELS),
            divisor_of(row->stride),
            divisor_of(column->stride),
            {divisor_of(row->in), divisor_of(column->in / L::COLUMNS)},
            {divisor_of(row->out), divisor_of(column->out / L::COLUMNS)},
            plan->w.channels_second};
}

/* Calls f with the way in which threads share results in rows of `columns`,
 * which are computed from rows of `from`. */
template <typename T, typename F>
static inline void with_way(const struct tfd_pooling_plan *plan, int64_t columns,
                            int64_t from, bool aligned, const F &f)
{
    constexpr int N = pack_size<T, T>();
    bool second = plan->w.channels_second;

    if (aligned && second && columns % N == 0)
        with_columns<N>(&plan->p.column, from, f);
    else if (aligned && !second && plan->p.channels % N == 0)
        f(along_channels<N>());
    else
        f(along_channels<1>());
}

#endif
