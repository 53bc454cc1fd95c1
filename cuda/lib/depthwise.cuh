/*
 * depthwise.cuh - what the GPU kernels of depthwise convolutions share: the
 * sizes of a convolution as divisors, the coordinates of an element of an
 * image, and loads of x and of the filter, N neighbouring channels at a time or
 * one channel in either layout.
 *
 * Threads: device code, and host code without state.
 */
#ifndef TFD_CUDA_DEPTHWISE_CUH
#define TFD_CUDA_DEPTHWISE_CUH

#include "cuda/lib/divisor.cuh"
#include "cuda/lib/packs.cuh"

extern "C" {
#include "kernels/conv/depthwise.h"
}

/* What a kernel needs of struct tfd_depthwise. */
struct sizes {
    struct tfd_window_side row, column;
    /* Channels: of x, of y for each of them, of y. */
    struct divisor in, multiplier, out;
    /* Packs of the result's channels, or of its columns. */
    struct divisor packs;
    /* Rows and columns: of x, of y, and by how many a window moves. */
    struct divisor x[2], y[2], stride[2];
    struct divisor dilation; /* of columns */
    bool second;
};

static inline struct sizes
sizes_of(const struct tfd_kctx *k, const struct tfd_depthwise *d, int64_t packs)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;

    return {d->row,
            d->column,
            divisor_of(d->in),
            divisor_of(d->multiplier),
            divisor_of(d->in * d->multiplier),
            divisor_of(packs),
            {divisor_of(d->row.in), divisor_of(d->column.in)},
            {divisor_of(d->row.out), divisor_of(d->column.out)},
            {divisor_of(d->row.stride), divisor_of(d->column.stride)},
            divisor_of(d->column.dilation),
            w->channels_second};
}

/* Where an element of an image is. */
struct place {
    int64_t image, row, column, channel;
};

__device__ inline struct place place_of(int64_t i, const struct divisor *size,
                                        const struct divisor *channels,
                                        bool second)
{
    struct place p;

    p.channel = second ? 0 : take_rest(channels, &i);
    p.column = take_rest(&size[1], &i);
    p.row = take_rest(&size[0], &i);
    if (second)
        p.channel = take_rest(channels, &i);
    p.image = i;
    return p;
}

__device__ inline int64_t index_of(int64_t image, int64_t row, int64_t column,
                                   int64_t channel, const struct divisor *size,
                                   int64_t channels, bool second)
{
    int64_t rows = size[0].by, columns = size[1].by;

    return second
               ? ((image * channels + channel) * rows + row) * columns + column
               : ((image * rows + row) * columns + column) * channels + channel;
}

template <typename T>
__device__ inline wide<T> x_at(const struct sizes *s, const T *x, int64_t image,
                               int64_t row, int64_t column, int64_t channel)
{
    return widen(
        x[index_of(image, row, column, channel, s->x, s->in.by, s->second)]);
}

/* What channels channel .. channel + N of y are computed from. */
template <int N, typename T>
__device__ inline void load_x(const struct sizes *s, const T *x, int64_t image,
                              int64_t row, int64_t column, int64_t channel,
                              wide<T> *v)
{
    if (N > 1 && s->multiplier.by == 1) {
        load_pack<N>(
            x + index_of(image, row, column, channel, s->x, s->in.by, false),
            v);
        return;
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        v[j] =
            x_at(s, x, image, row, column, divide(&s->multiplier, channel + j));
}

template <int N, typename T>
__device__ inline void load_y(const struct sizes *s, const T *y, int64_t image,
                              int64_t row, int64_t column, int64_t channel,
                              wide<T> *v)
{
    load_pack<N>(y + index_of(image, row, column, channel, s->y, s->out.by,
                              N == 1 && s->second),
                 v);
}

/* Where tap i of window `at` is in the input; -1 for padding. */
__device__ inline int64_t input_of(const struct tfd_window_side *s, int64_t at,
                                   int64_t i)
{
    int64_t x = at * s->stride - s->before + i * s->dilation;

    return x < s->in ? x : -1;
}

/* The window whose tap i is at element x of the input; -1 for none. */
__device__ inline int64_t window_of(const struct tfd_window_side *s,
                                    const struct divisor *stride, int64_t x,
                                    int64_t i)
{
    int64_t from = x + s->before - i * s->dilation;

    if (from < 0 || take_rest(stride, &from))
        return -1;
    return from < s->out ? from : -1;
}

#endif
