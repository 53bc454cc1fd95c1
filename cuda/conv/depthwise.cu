/*
 * depthwise.cu - DepthwiseConv2dNative and its gradients of
 * kernels/conv/depthwise.c, in both layouts.
 *
 * A thread computes an element of y or of x's gradient, or 16 bytes of channels
 * or, in depthwise_planes.cuh, of columns, whichever are contiguous.  An
 * element of the filter's gradient is a sum over all pixels: pieces of them are
 * folded by a block each, and the pieces in their order, so that results are
 * the same bits in every run.  half and bfloat16 are computed in float.
 */
#include "cuda/conv/depthwise_filter.cuh"

extern "C" {
#include "kernels/core/check.h"
}

namespace
{

/* ---- Loops --------------------------------------------------------------- */

template <int N, typename T>
__global__ void forward(struct sizes s, const T *x, const T *w, pack<T, N> *y,
                        int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(i, s.y, &s.packs, s.second);
        int64_t channel = p.channel * N;
        wide<T> sum[N] = {};

        for (int64_t a = 0; a < s.row.size; a++) {
            int64_t row = input_of(&s.row, p.row, a);

            for (int64_t b = 0; row >= 0 && b < s.column.size; b++) {
                int64_t column = input_of(&s.column, p.column, b);
                wide<T> v[N], f[N];

                if (column < 0)
                    continue;
                load_x<N>(&s, x, p.image, row, column, channel, v);
                load_pack<N>(w + (a * s.column.size + b) * s.out.by + channel,
                             f);
#pragma unroll
                for (int j = 0; j < N; j++)
                    sum[j] += v[j] * f[j];
            }
        }
        y[i] = narrow_all<N, T>(sum);
    }
}

/* Adds the part of dx of one tap.  More than one channel is of a multiplier of
 * 1. */
template <int N, typename T>
__device__ inline void add_tap(const struct sizes *s, const T *dy, const T *w,
                               const struct place *p, int64_t row,
                               int64_t column, int64_t tap, wide<T> *sum)
{
    for (int64_t m = 0; m < s->multiplier.by; m++) {
        int64_t channel = p->channel * N * s->multiplier.by + m;
        wide<T> v[N], f[N];

        load_y<N>(s, dy, p->image, row, column, channel, v);
        load_pack<N>(w + tap * s->out.by + channel, f);
#pragma unroll
        for (int j = 0; j < N; j++)
            sum[j] += v[j] * f[j];
    }
}

template <int N, typename T>
__global__ void derive_input(struct sizes s, const T *dy, const T *w,
                             pack<T, N> *dx, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(i, s.x, &s.packs, s.second);
        wide<T> sum[N] = {};

        for (int64_t a = 0; a < s.row.size; a++) {
            int64_t row = window_of(&s.row, &s.stride[0], p.row, a);

            for (int64_t b = 0; row >= 0 && b < s.column.size; b++) {
                int64_t column =
                    window_of(&s.column, &s.stride[1], p.column, b);

                if (column >= 0)
                    add_tap<N>(&s, dy, w, &p, row, column,
                               a * s.column.size + b, sum);
            }
        }
        dx[i] = narrow_all<N, T>(sum);
    }
}

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code zero_result(struct tfd_kctx *k, struct tfd_status *st)
{
    if (!k->out[0].buffer)
        return TFD_OK;
    return tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(out_at<void>(k, 0), 0, tfd_tensor_size(&k->out[0]),
                             stream_of(k)),
        k->kernel->op, st);
}

/* Whether one of x, w and y has no elements. */
static bool is_empty(const struct tfd_kctx *k)
{
    return !k->out[0].buffer || tfd_tensor_elements(&k->in[1]) == 0 ||
           tfd_tensor_elements(&k->in[0]) == 0 ||
           (k->in_count > 2 && tfd_tensor_elements(&k->in[2]) == 0);
}

/* Whether channels of the result, or columns where channels are second, are
 * packs of N, and so is what they are read from.  Taps of a row that are
 * further apart than a pack would have packs read for nothing. */
template <int N>
static bool is_packed(const struct tfd_kctx *k, const struct tfd_depthwise *d,
                      int64_t channels, int64_t columns, const void *a,
                      const void *b, const void *c)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;

    if (w->channels_second)
        return columns % N == 0 && d->column.dilation <= N &&
               is_aligned(a, b, c);
    return channels % N == 0 && is_aligned(a, b, c);
}

template <int N, typename T>
static void run_forward(struct tfd_kctx *k, const struct tfd_depthwise *d)
{
    const struct tfd_window *window = (const struct tfd_window *)k->state;
    const T *x = in_at<T>(k, 0), *w = in_at<T>(k, 1);
    pack<T, N> *y = out_at<pack<T, N>>(k, 0);
    int64_t n = tfd_tensor_elements(&k->out[0]) / N;

    if constexpr (N > 1)
        if (window->channels_second) {
            with_columns<N>(&d->column, d->column.in, [&](auto way) {
                using L = decltype(way);

                forward_columns<L, T>
                    <<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
                        sizes_of(k, d, d->column.out / N), x, w, y, n);
            });
            return;
        }
    forward<N, T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        sizes_of(k, d, d->in * d->multiplier / N), x, w, y, n);
}

template <typename T>
static enum tfd_code forward_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;
    constexpr int N = pack_size<T, T>();
    struct tfd_depthwise d;
    struct tfd_shape y;

    TFD_TRY(
        tfd_depthwise_measure(w, &k->in[0].shape, &k->in[1].shape, &d, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &y, st));
    if (is_empty(k))
        return zero_result(k, st);
    if (is_packed<N>(k, &d, d.in * d.multiplier, d.column.out, in_at<T>(k, 0),
                     in_at<T>(k, 1), out_at<T>(k, 0)))
        run_forward<N, T>(k, &d);
    else
        run_forward<1, T>(k, &d);
    return launched(k, st);
}

template <int N, typename T>
static void run_input(struct tfd_kctx *k, const struct tfd_depthwise *d)
{
    const struct tfd_window *window = (const struct tfd_window *)k->state;
    const T *dy = in_at<T>(k, 2), *w = in_at<T>(k, 1);
    pack<T, N> *dx = out_at<pack<T, N>>(k, 0);
    int64_t n = tfd_tensor_elements(&k->out[0]) / N;

    if constexpr (N > 1)
        if (window->channels_second) {
            with_columns<N>(&d->column, d->column.out, [&](auto way) {
                using L = decltype(way);

                derive_input_columns<L, T>
                    <<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
                        sizes_of(k, d, d->column.in / N), dy, w, dx, n);
            });
            return;
        }
    derive_input<N, T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        sizes_of(k, d, d->in / N), dy, w, dx, n);
}

template <typename T>
static enum tfd_code input_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;
    constexpr int N = pack_size<T, T>();
    struct tfd_shape x, y;
    struct tfd_depthwise d;

    TFD_TRY(tfd_check_shape(k, 0, false, &x, st));
    TFD_TRY(tfd_depthwise_measure(w, &x, &k->in[1].shape, &d, &y, st));
    TFD_TRY(tfd_depthwise_check_backprop(k, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[2].dtype, &x, st));
    if (is_empty(k))
        return zero_result(k, st);
    /* Packs of channels are those of a multiplier of 1. */
    if (is_packed<N>(k, &d, d.multiplier == 1 ? d.in : 1, d.column.in,
                     in_at<T>(k, 2), in_at<T>(k, 1), out_at<T>(k, 0)))
        run_input<N, T>(k, &d);
    else
        run_input<1, T>(k, &d);
    return launched(k, st);
}

template <typename T>
static enum tfd_code filter_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;
    constexpr int N = pack_size<T, T>();
    struct tfd_shape filter, y;
    struct tfd_depthwise d;

    TFD_TRY(tfd_check_shape(k, 1, false, &filter, st));
    TFD_TRY(tfd_depthwise_measure(w, &k->in[0].shape, &filter, &d, &y, st));
    TFD_TRY(tfd_depthwise_check_backprop(k, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &filter, st));
    if (is_empty(k))
        return zero_result(k, st);
    if (is_packed<N>(k, &d, d.in * d.multiplier, d.column.out, in_at<T>(k, 0),
                     in_at<T>(k, 2), in_at<T>(k, 2)))
        return run_filter<N, T>(k, &d, st);
    return run_filter<1, T>(k, &d, st);
}

#define ROW(op, name, compute, host)                          \
    row(op, TFD_##name, compute, host, tfd_depthwise_prepare, \
        sizeof(struct tfd_window))
#define ROWS(name, T)                                                   \
    ROW("DepthwiseConv2dNative", name, forward_gpu<T>, 0),              \
        ROW("DepthwiseConv2dNativeBackpropInput", name, input_gpu<T>,   \
            HOST_ARG(0)),                                               \
        ROW("DepthwiseConv2dNativeBackpropFilter", name, filter_gpu<T>, \
            HOST_ARG(1)),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(depthwise);
