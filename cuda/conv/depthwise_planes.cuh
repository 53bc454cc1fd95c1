/*
 * depthwise_planes.cuh - depthwise convolutions on a GPU for images with
 * channels second (NCHW).  A thread computes 16 bytes of neighbouring columns
 * of one channel, and loads one number of the filter per tap for all of them
 * (cuda/lib/planes.cuh).
 *
 * Threads: device code, and host code without state.
 */
#ifndef TFD_CUDA_DEPTHWISE_PLANES_CUH
#define TFD_CUDA_DEPTHWISE_PLANES_CUH

#include "cuda/lib/depthwise.cuh"
#include "cuda/lib/planes.cuh"

/* Where a thread's first result is: in rows of s->packs.  channels: that
 * images have, or none to tell apart. */
template <typename L>
__device__ inline struct place place_in_plane(int64_t i, const struct sizes *s,
                                              const struct divisor *rows,
                                              const struct divisor *channels)
{
    struct place p = {};

    p.column = take_rest(&s->packs, &i) * L::COLUMNS;
    p.row = take_rest(rows, &i);
    if (channels)
        p.channel = take_rest(channels, &i);
    p.image = i;
    return p;
}

template <typename T>
__device__ inline struct values<T> x_row(const struct sizes *s, const T *x,
                                         const struct place *p, int64_t row) {
    int64_t channel = divide(&s->multiplier, p->channel);

    return {x + index_of(p->image, row, 0, channel, s->x, s->in.by, true), 1};
}

template <typename T>
__device__ inline struct values<T> y_row(const struct sizes *s, const T *y,
                                         const struct place *p, int64_t channel,
                                         int64_t row) {
    return {y + index_of(p->image, row, 0, channel, s->y, s->out.by, true), 1};
}

/* A row of one channel's filter. */
template <typename T>
struct filter_row {
    const T *w;
    int64_t step;

    /* What column `tap` of a window is multiplied by; none for those between
     * the filter's. */
    __device__ bool at(const struct sizes *s, int64_t tap, wide<T> *f) const
    {
        if (take_rest(&s->dilation, &tap))
            return false;
        *f = widen(w[tap * step]);
        return true;
    }
};

template <typename T>
__device__ inline struct filter_row<T>
filter_row_of(const struct sizes *s, const T *w, int64_t row, int64_t channel) {
    return {w + row * s->column.size * s->out.by + channel, s->out.by};
}

template <typename L, typename T>
__global__ void forward_columns(const __grid_constant__ struct sizes s,
                                const T *x, const T *w, pack<T, L::N> *y,
                                int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_in_plane<L>(i, &s, s.y, &s.out);
        wide<T> sum[L::N] = {};

        for (int64_t a = 0; a < s.row.size; a++) {
            int64_t row = input_of(&s.row, p.row, a);
            struct filter_row<T> taps = filter_row_of(&s, w, a, p.channel);

            if (row < 0)
                continue;
            L::each_element(
                &s.column, p.column, x_row(&s, x, &p, row),
                [&](int j, const auto &v, int e, int64_t tap, int64_t) {
                    wide<T> f;

                    if (taps.at(&s, tap, &f))
                        sum[j] += widen(v.v[e]) * f;
                });
        }
        y[i] = narrow_all<L::N, T>(sum);
    }
}

/* Adds the part of dx that channel `channel` of dy has. */
template <typename L, typename T>
__device__ inline void add_channel(const struct sizes *s, const T *dy,
                                   const T *w, const struct place *p,
                                   int64_t channel, wide<T> *sum)
{
    for (int64_t a = 0; a < s->row.size; a++) {
        int64_t row = window_of(&s->row, &s->stride[0], p->row, a);
        struct filter_row<T> taps = filter_row_of(s, w, a, channel);

        if (row < 0)
            continue;
        L::each_window(&s->column, &s->stride[1], p->column,
                       y_row(s, dy, p, channel, row),
                       [&](int j, const auto &v, int e, int64_t tap, int64_t) {
                           wide<T> f;

                           if (taps.at(s, tap, &f))
                               sum[j] += widen(v.v[e]) * f;
                       });
    }
}

template <typename L, typename T>
__global__ void derive_input_columns(const __grid_constant__ struct sizes s,
                                     const T *dy, const T *w, pack<T, L::N> *dx,
                                     int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_in_plane<L>(i, &s, s.x, &s.in);
        wide<T> sum[L::N] = {};

        for (int64_t m = 0; m < s.multiplier.by; m++)
            add_channel<L>(&s, dy, w, &p, p.channel * s.multiplier.by + m, sum);
        dx[i] = narrow_all<L::N, T>(sum);
    }
}

#endif
