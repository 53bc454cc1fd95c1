/*
 * windows.cuh - the geometry of pools: which elements of images a window has,
 * and in which windows an element is.
 */
#ifndef TFD_CUDA_WINDOWS_CUH
#define TFD_CUDA_WINDOWS_CUH

#include "cuda/divisor.cuh"

extern "C" {
#include "kernels/pool.h"
}

/* Windows over images. */
struct windows {
    struct tfd_window_side row, column;
    struct divisor channels; /* packs of them */
    struct divisor row_stride, column_stride;
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

/* channels: packs of them. */
static inline struct windows windows_in(const struct tfd_pool_plan *plan,
                                        int64_t channels)
{
    const struct tfd_window_side *row = &plan->p.row;
    const struct tfd_window_side *column = &plan->p.column;

    return {*row,
            *column,
            divisor_of(channels),
            divisor_of(row->stride),
            divisor_of(column->stride),
            {divisor_of(row->in), divisor_of(column->in)},
            {divisor_of(row->out), divisor_of(column->out)},
            plan->w.channels_second};
}

#endif
