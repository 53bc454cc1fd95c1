/*
 * depthwise.cu - DepthwiseConv2dNative and its gradients of
 * kernels/depthwise.c, in both layouts.
 *
 * A thread computes an element of y or of x's gradient, or 16 bytes of channels
 * that lie behind each other.  An element of the filter's gradient is a sum
 * over all pixels: pieces of them are folded by a block each, and the pieces in
 * their order, so that results are the same bits in every run.  half and
 * bfloat16 are computed in float.
 */
#include "cuda/depthwise.cuh"
#include "cuda/fold.cuh"

extern "C" {
#include "kernels/check.h"
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

/* ---- The gradient by the filter ------------------------------------------ */

/* Adds what pixel number `at` of y has for the filter's elements (tap, channel
 * .. channel + N). */
template <int N, typename T>
__device__ inline void add_pixel(const struct sizes *s, const T *x, const T *dy,
                                 int64_t at, int64_t tap, int64_t channel,
                                 wide<T> *sum)
{
    int64_t column = take_rest(&s->y[1], &at), row = take_rest(&s->y[0], &at);
    int64_t x_row = input_of(&s->row, row, tap / s->column.size);
    int64_t x_column = input_of(&s->column, column, tap % s->column.size);
    wide<T> v[N], slope[N];

    if (x_row < 0 || x_column < 0)
        return;
    load_x<N>(s, x, at, x_row, x_column, channel, v);
    load_y<N>(s, dy, at, row, column, channel, slope);
#pragma unroll
    for (int j = 0; j < N; j++)
        sum[j] += v[j] * slope[j];
}

/* Pixels of piece blockIdx.y; a piece is `piece` pixels. */
struct piece {
    int64_t first, last;
};

__device__ inline struct piece piece_of(int64_t pixels, int64_t piece)
{
    int64_t first = blockIdx.y * piece;

    return {first, first + piece < pixels ? first + piece : pixels};
}

/* Channels last: `lanes` packs of them for each block, a power of two, whose
 * lines of threads take turns with the pixels.  blockIdx.x counts groups of
 * channels, and taps above. */
template <int N, typename T>
__global__ void fold_last(struct sizes s, const T *x, const T *dy,
                          pack<wide<T>, N> *part, int64_t pixels, int64_t piece,
                          int64_t groups, int lanes)
{
    __shared__ wide<T> sums[N][THREADS];
    int me = threadIdx.x, line = me / lanes, lines = THREADS / lanes;
    int64_t at = blockIdx.x % groups * lanes + me % lanes;
    int64_t tap = blockIdx.x / groups;
    struct piece p = piece_of(pixels, piece);
    pack<wide<T>, N> sum = {};

    for (int64_t i = p.first + line; at < s.packs.by && i < p.last; i += lines)
        add_pixel<N>(&s, x, dy, i, tap, at * N, sum.v);
#pragma unroll
    for (int j = 0; j < N; j++)
        sums[j][me] = sum.v[j];
    for (int step = THREADS / 2; step >= lanes; step /= 2) {
        __syncthreads();
        for (int j = 0; me < step && j < N; j++)
            sums[j][me] += sums[j][me + step];
    }
    if (line > 0 || at >= s.packs.by)
        return;
#pragma unroll
    for (int j = 0; j < N; j++)
        sum.v[j] = sums[j][me];
    part[(blockIdx.y * s.row.size * s.column.size + tap) * s.packs.by + at] =
        sum;
}

/* Channels second: a block for each element of the filter. */
template <typename T>
__global__ void fold_second(struct sizes s, const T *x, const T *dy,
                            wide<T> *part, int64_t pixels, int64_t piece)
{
    int64_t channel = blockIdx.x % s.out.by, tap = blockIdx.x / s.out.by;
    struct piece p = piece_of(pixels, piece);
    wide<T> sum = 0;

    for (int64_t i = p.first + threadIdx.x; i < p.last; i += THREADS)
        add_pixel<1>(&s, x, dy, i, tap, channel, &sum);
    sum = fold_block(sum, plus(), false);
    if (threadIdx.x == 0)
        part[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

template <typename T>
__global__ void fold_pieces(const wide<T> *part, T *dw, int64_t n,
                            int64_t pieces)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        wide<T> sum = 0;

        for (int64_t j = 0; j < pieces; j++)
            sum += part[j * n + i];
        dw[i] = narrow<T>(sum);
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

/* Whether channels of the result are packs of N, and so is what they are read
 * from. */
template <int N>
static bool is_packed(const struct tfd_kctx *k, int64_t channels, const void *a,
                      const void *b, const void *c)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;

    return !w->channels_second && channels % N == 0 && is_aligned(a, b, c);
}

template <int N, typename T>
static void run_forward(struct tfd_kctx *k, const struct tfd_depthwise *d)
{
    int64_t n = tfd_tensor_elements(&k->out[0]) / N;

    forward<N, T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        sizes_of(k, d, d->in * d->multiplier / N), in_at<T>(k, 0),
        in_at<T>(k, 1), out_at<pack<T, N>>(k, 0), n);
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
    if (is_packed<N>(k, d.in * d.multiplier, in_at<T>(k, 0), in_at<T>(k, 1),
                     out_at<T>(k, 0)))
        run_forward<N, T>(k, &d);
    else
        run_forward<1, T>(k, &d);
    return launched(k, st);
}

template <int N, typename T>
static void run_input(struct tfd_kctx *k, const struct tfd_depthwise *d)
{
    int64_t n = tfd_tensor_elements(&k->out[0]) / N;

    derive_input<N, T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        sizes_of(k, d, d->in / N), in_at<T>(k, 2), in_at<T>(k, 1),
        out_at<pack<T, N>>(k, 0), n);
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
    if (d.multiplier == 1 &&
        is_packed<N>(k, d.in, in_at<T>(k, 2), in_at<T>(k, 1), out_at<T>(k, 0)))
        run_input<N, T>(k, &d);
    else
        run_input<1, T>(k, &d);
    return launched(k, st);
}

/* Pixels of a piece at least, and pieces at most: enough to fill a card, few
 * enough to be folded by one thread. */
#define PIECE 512
#define PIECES_MAX 128

/* How the filter's gradient is shared out among blocks. */
struct filter_grid {
    int64_t taps, pixels, pieces, piece;
    int64_t groups; /* of channels */
    int lanes;
};

static struct filter_grid filter_grid_of(const struct tfd_depthwise *d,
                                         int64_t packs)
{
    struct filter_grid g = {};

    g.taps = d->row.size * d->column.size;
    g.pixels = d->batch * d->row.out * d->column.out;
    g.pieces = (g.pixels + PIECE - 1) / PIECE;
    g.pieces = g.pieces < PIECES_MAX ? g.pieces : PIECES_MAX;
    g.piece = (g.pixels + g.pieces - 1) / g.pieces;
    for (g.lanes = 1; g.lanes < 32 && g.lanes < packs;)
        g.lanes *= 2;
    g.groups = (packs + g.lanes - 1) / g.lanes;
    return g;
}

template <int N, typename T>
static enum tfd_code run_filter(struct tfd_kctx *k,
                                const struct tfd_depthwise *d,
                                struct tfd_status *st)
{
    int64_t out = d->in * d->multiplier;
    struct filter_grid g = filter_grid_of(d, out / N);
    struct sizes s = sizes_of(k, d, out / N);
    int64_t n = g.taps * out, blocks = s.second ? n : g.taps * g.groups;
    dim3 grid((unsigned)blocks, (unsigned)g.pieces);
    struct tfd_buffer *b;
    wide<T> *part;

    if (blocks > INT32_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "a filter of %lld elements is too large for a GPU",
                        (long long)n);
    b = k->memory->make(k->memory, (size_t)(n * g.pieces) * sizeof(wide<T>),
                        st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    part = (wide<T> *)b->data;
    if (s.second)
        fold_second<T><<<grid, THREADS, 0, stream_of(k)>>>(
            s, in_at<T>(k, 0), in_at<T>(k, 2), part, g.pixels, g.piece);
    else
        fold_last<N, T><<<grid, THREADS, 0, stream_of(k)>>>(
            s, in_at<T>(k, 0), in_at<T>(k, 2), (pack<wide<T>, N> *)part,
            g.pixels, g.piece, g.groups, g.lanes);
    fold_pieces<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        part, out_at<T>(k, 0), n, g.pieces);
    tfd_buffer_unref(b);
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
    if (is_packed<N>(k, d.in * d.multiplier, in_at<T>(k, 0), in_at<T>(k, 2),
                     in_at<T>(k, 2)))
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
