/*
 * depthwise.cu - DepthwiseConv2dNative and its gradients of
 * kernels/depthwise.c, in both layouts.
 *
 * A thread computes an element of y or of x's gradient.  An element of the
 * filter's gradient is a sum over all pixels: pieces of them are folded by a
 * block each, and the pieces in their order, so that results are the same bits
 * in every run.  half and bfloat16 are computed in float.
 */
#include "cuda/divisor.cuh"
#include "cuda/fold.cuh"

extern "C" {
#include "kernels/check.h"
#include "kernels/depthwise.h"
}

namespace
{

/* What a kernel needs of struct tfd_depthwise. */
struct sizes {
    struct tfd_window_side row, column;
    /* Channels: of x, of y for each of them, of y. */
    struct divisor in, multiplier, out;
    /* Rows and columns: of x, of y, and by how many a window moves. */
    struct divisor x[2], y[2], stride[2];
    bool second;
};

static struct sizes sizes_of(const struct tfd_kctx *k,
                             const struct tfd_depthwise *d)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;

    return {d->row,
            d->column,
            divisor_of(d->in),
            divisor_of(d->multiplier),
            divisor_of(d->in * d->multiplier),
            {divisor_of(d->row.in), divisor_of(d->column.in)},
            {divisor_of(d->row.out), divisor_of(d->column.out)},
            {divisor_of(d->row.stride), divisor_of(d->column.stride)},
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

template <typename T>
__device__ inline wide<T> y_at(const struct sizes *s, const T *y, int64_t image,
                               int64_t row, int64_t column, int64_t channel)
{
    return widen(
        y[index_of(image, row, column, channel, s->y, s->out.by, s->second)]);
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

/* ---- Loops --------------------------------------------------------------- */

template <typename T>
__global__ void forward(struct sizes s, const T *x, const T *w, T *y, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(i, s.y, &s.out, s.second);
        wide<T> sum = 0;

        for (int64_t a = 0; a < s.row.size; a++) {
            int64_t row = input_of(&s.row, p.row, a);

            for (int64_t b = 0; row >= 0 && b < s.column.size; b++) {
                int64_t column = input_of(&s.column, p.column, b);

                if (column >= 0)
                    sum +=
                        x_at(&s, x, p.image, row, column,
                             divide(&s.multiplier, p.channel)) *
                        widen(
                            w[(a * s.column.size + b) * s.out.by + p.channel]);
            }
        }
        y[i] = narrow<T>(sum);
    }
}

/* The part of dx of one tap. */
template <typename T>
__device__ inline wide<T> tap_of(const struct sizes *s, const T *dy, const T *w,
                                 const struct place *p, int64_t row,
                                 int64_t column, int64_t tap)
{
    wide<T> sum = 0;

    for (int64_t m = 0; m < s->multiplier.by; m++) {
        int64_t channel = p->channel * s->multiplier.by + m;

        sum += y_at(s, dy, p->image, row, column, channel) *
               widen(w[tap * s->out.by + channel]);
    }
    return sum;
}

template <typename T>
__global__ void derive_input(struct sizes s, const T *dy, const T *w, T *dx,
                             int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct place p = place_of(i, s.x, &s.in, s.second);
        wide<T> sum = 0;

        for (int64_t a = 0; a < s.row.size; a++) {
            int64_t row = window_of(&s.row, &s.stride[0], p.row, a);

            for (int64_t b = 0; row >= 0 && b < s.column.size; b++) {
                int64_t column =
                    window_of(&s.column, &s.stride[1], p.column, b);

                if (column >= 0)
                    sum += tap_of(&s, dy, w, &p, row, column,
                                  a * s.column.size + b);
            }
        }
        dx[i] = narrow<T>(sum);
    }
}

/* What pixel number `at` of y adds to the filter's element (tap, channel). */
template <typename T>
__device__ inline wide<T> pixel_of(const struct sizes *s, const T *x,
                                   const T *dy, int64_t at, int64_t tap,
                                   int64_t channel)
{
    int64_t column = take_rest(&s->y[1], &at), row = take_rest(&s->y[0], &at);
    int64_t x_row = input_of(&s->row, row, tap / s->column.size);
    int64_t x_column = input_of(&s->column, column, tap % s->column.size);

    if (x_row < 0 || x_column < 0)
        return 0;
    return x_at(s, x, at, x_row, x_column, divide(&s->multiplier, channel)) *
           y_at(s, dy, at, row, column, channel);
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

/* Channels last: 32 of them for each block, whose 8 rows of threads take every
 * eighth pixel.  blockIdx.x counts groups of channels, and taps above. */
template <typename T>
__global__ void fold_last(struct sizes s, const T *x, const T *dy,
                          wide<T> *part, int64_t pixels, int64_t piece,
                          int64_t groups)
{
    __shared__ wide<T> sums[8][33];
    int lane = threadIdx.x % 32, line = threadIdx.x / 32;
    int64_t channel = blockIdx.x % groups * 32 + lane;
    int64_t tap = blockIdx.x / groups;
    struct piece p = piece_of(pixels, piece);
    wide<T> sum = 0;

    for (int64_t i = p.first + line; channel < s.out.by && i < p.last; i += 8)
        sum += pixel_of(&s, x, dy, i, tap, channel);
    sums[line][lane] = sum;
    __syncthreads();
    if (line == 0 && channel < s.out.by) {
        for (int i = 1; i < 8; i++)
            sum += sums[i][lane];
        part[(blockIdx.y * s.row.size * s.column.size + tap) * s.out.by +
             channel] = sum;
    }
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
        sum += pixel_of(&s, x, dy, i, tap, channel);
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

template <typename T>
static enum tfd_code forward_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;
    int64_t n;
    struct tfd_depthwise d;
    struct tfd_shape y;

    TFD_TRY(
        tfd_depthwise_measure(w, &k->in[0].shape, &k->in[1].shape, &d, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &y, st));
    if (is_empty(k))
        return zero_result(k, st);
    n = tfd_shape_elements(&y);
    forward<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        sizes_of(k, &d), in_at<T>(k, 0), in_at<T>(k, 1), out_at<T>(k, 0), n);
    return launched(k, st);
}

template <typename T>
static enum tfd_code input_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;
    int64_t n;
    struct tfd_shape x, y;
    struct tfd_depthwise d;

    TFD_TRY(tfd_check_shape(k, 0, false, &x, st));
    TFD_TRY(tfd_depthwise_measure(w, &x, &k->in[1].shape, &d, &y, st));
    TFD_TRY(tfd_depthwise_check_backprop(k, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[2].dtype, &x, st));
    if (is_empty(k))
        return zero_result(k, st);
    n = tfd_shape_elements(&x);
    derive_input<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        sizes_of(k, &d), in_at<T>(k, 2), in_at<T>(k, 1), out_at<T>(k, 0), n);
    return launched(k, st);
}

/* Pixels of a piece at least, and pieces at most: enough to fill a card, few
 * enough to be folded by one thread. */
#define PIECE 512
#define PIECES_MAX 128

template <typename T>
static enum tfd_code run_filter(struct tfd_kctx *k,
                                const struct tfd_depthwise *d,
                                struct tfd_status *st)
{
    struct sizes s = sizes_of(k, d);
    int64_t pixels = d->batch * d->row.out * d->column.out;
    int64_t taps = d->row.size * d->column.size, groups = (s.out.by + 31) / 32;
    int64_t pieces = (pixels + PIECE - 1) / PIECE, piece;
    int64_t n = taps * s.out.by;
    int64_t blocks = s.second ? n : taps * groups;
    struct tfd_buffer *b;
    wide<T> *part;

    if (blocks > INT32_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "a filter of %lld elements is too large for a GPU",
                        (long long)n);
    pieces = pieces < PIECES_MAX ? pieces : PIECES_MAX;
    piece = (pixels + pieces - 1) / pieces;
    b = k->memory->make(k->memory, (size_t)(n * pieces) * sizeof(wide<T>), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    part = (wide<T> *)b->data;
    if (s.second)
        fold_second<T><<<dim3((unsigned)blocks, (unsigned)pieces), THREADS, 0,
                         stream_of(k)>>>(s, in_at<T>(k, 0), in_at<T>(k, 2),
                                         part, pixels, piece);
    else
        fold_last<T><<<dim3((unsigned)blocks, (unsigned)pieces), THREADS, 0,
                       stream_of(k)>>>(s, in_at<T>(k, 0), in_at<T>(k, 2), part,
                                       pixels, piece, groups);
    fold_pieces<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        part, out_at<T>(k, 0), n, pieces);
    tfd_buffer_unref(b);
    return launched(k, st);
}

template <typename T>
static enum tfd_code filter_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;
    struct tfd_shape filter, y;
    struct tfd_depthwise d;

    TFD_TRY(tfd_check_shape(k, 1, false, &filter, st));
    TFD_TRY(tfd_depthwise_measure(w, &k->in[0].shape, &filter, &d, &y, st));
    TFD_TRY(tfd_depthwise_check_backprop(k, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &filter, st));
    if (is_empty(k))
        return zero_result(k, st);
    return run_filter<T>(k, &d, st);
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
