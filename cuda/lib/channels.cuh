/*
 * channels.cuh - a tensor as [outer, channels, inner], for kernels that compute
 * with a number for each channel.
 *
 * Threads: device code, and host code without state.
 */
#ifndef TFD_CUDA_CHANNELS_CUH
#define TFD_CUDA_CHANNELS_CUH

#include "cuda/lib/divisor.cuh"

struct view {
    int64_t outer, channels, inner;
    struct divisor by_channels, by_inner;
};

/* channel: the dimension. */
static inline struct view view_of(const struct tfd_shape *x, int channel)
{
    struct view v = {1, x->dim[channel], 1, {}, {}};

    for (int i = 0; i < x->rank; i++)
        if (i != channel)
            (i < channel ? v.outer : v.inner) *= x->dim[i];
    v.by_channels = divisor_of(v.channels);
    v.by_inner = divisor_of(v.inner);
    return v;
}

/* The channel of element i. */
__device__ inline int64_t channel_of(const struct view *v, int64_t i)
{
    int64_t row = divide(&v->by_inner, i);

    return take_rest(&v->by_channels, &row);
}

/* The channel of an element and how many more of it follow. */
struct spot {
    int64_t channel, left;
};

__device__ inline struct spot spot_of(const struct view *v, int64_t i)
{
    int64_t at = take_rest(&v->by_inner, &i);

    return {take_rest(&v->by_channels, &i), v->inner - 1 - at};
}

__device__ inline void spot_next(const struct view *v, struct spot *s)
{
    if (s->left-- > 0)
        return;
    s->left = v->inner - 1;
    if (++s->channel == v->channels)
        s->channel = 0;
}

/* The place of element i of channel c, of outer times inner. */
__device__ inline int64_t place_in(const struct view *v, int64_t c, int64_t i)
{
    int64_t rest = take_rest(&v->by_inner, &i);

    return (i * v->channels + c) * v->inner + rest;
}

#endif
