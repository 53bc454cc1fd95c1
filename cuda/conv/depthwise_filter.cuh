/*
 * depthwise_filter.cuh - computes the gradient of a depthwise convolution by
 * its filter on a GPU.
 *
 * An element of that gradient is a sum over all pixels.  Pixels are divided
 * into pieces: a block folds each piece, then the pieces are folded in their
 * order, so that results are the same bits in every run.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_DEPTHWISE_FILTER_CUH
#define TFD_CUDA_DEPTHWISE_FILTER_CUH

#include "cuda/conv/depthwise_planes.cuh"
#include "cuda/lib/fold.cuh"

/* ---- Sums ---------------------------------------------------------------- */

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

/* Part blockIdx.y of a sum. */
struct piece {
    int64_t first, last;
};

__device__ inline struct piece piece_of(int64_t n, int64_t piece)
{
    int64_t first = blockIdx.y * piece;

    return {first, first + piece < n ? first + piece : n};
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

/* What one column of the filter meets: windows of one element. */
__device__ inline struct tfd_window_side
one_tap(const struct tfd_window_side *s, int64_t tap)
{
    struct tfd_window_side one = *s;

    one.before -= tap * s->dilation;
    one.size = 1;
    return one;
}

/* A block for each element of the filter, and piece of the packs that images
 * have of its channel of dy. */
template <typename L, typename T>
__global__ void fold_columns(const __grid_constant__ struct sizes s, const T *x,
                             const T *dy, wide<T> *part, int64_t packs,
                             int64_t piece)
{
    int64_t channel = blockIdx.x % s.out.by, tap = blockIdx.x / s.out.by;
    struct tfd_window_side column = one_tap(&s.column, tap % s.column.size);
    struct piece all = piece_of(packs, piece);
    wide<T> sum = 0;

    for (int64_t i = all.first + threadIdx.x; i < all.last; i += THREADS) {
        struct place p = place_in_plane<L>(i, &s, s.y, nullptr);
        int64_t row = input_of(&s.row, p.row, tap / s.column.size);
        pack<T, L::N> slope;

        if (row < 0)
            continue;
        p.channel = channel;
        slope = y_row(&s, dy, &p, channel, p.row).template take<L::N>(p.column);
        L::each_element(&column, p.column, x_row(&s, x, &p, row),
                        [&](int j, const auto &v, int e, int64_t, int64_t) {
                            sum += widen(v.v[e]) * widen(slope.v[j]);
                        });
    }
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

/* ---- How it is shared out ------------------------------------------------ */

/* Packs of pixels of a piece at least, and pieces at most: enough to fill a
 * card, few enough to be folded by one thread. */
#define PIECE 512
#define PIECES_MAX 128

struct filter_grid {
    int64_t taps, pixels; /* in packs, where these are columns */
    int64_t pieces, piece;
    int64_t blocks;
    int64_t groups; /* of channels */
    int lanes;
};

/* N channels, or columns where these are second, are a pack. */
template <int N>
static struct filter_grid filter_grid_of(const struct tfd_depthwise *d,
                                         bool second)
{
    int64_t channels = d->in * d->multiplier, packs = channels / N;
    struct filter_grid g = {};

    g.taps = d->row.size * d->column.size;
    g.pixels = d->batch * d->row.out * d->column.out / (second ? N : 1);
    g.pieces = (g.pixels + PIECE - 1) / PIECE;
    g.pieces = g.pieces < PIECES_MAX ? g.pieces : PIECES_MAX;
    g.piece = (g.pixels + g.pieces - 1) / g.pieces;
    for (g.lanes = 1; g.lanes < 32 && g.lanes < packs;)
        g.lanes *= 2;
    g.groups = (packs + g.lanes - 1) / g.lanes;
    g.blocks = g.taps * (second ? channels : g.groups);
    return g;
}

/* Sums of pieces. */
template <int N, typename T>
static void fold_filter(const struct tfd_kctx *k, const struct tfd_depthwise *d,
                        const struct filter_grid *g, wide<T> *part)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;
    const T *x = in_at<T>(k, 0), *dy = in_at<T>(k, 2);
    dim3 grid((unsigned)g->blocks, (unsigned)g->pieces);
    bool planes = w->channels_second && N > 1;
    struct sizes s =
        sizes_of(k, d, (planes ? d->column.out : d->in * d->multiplier) / N);

    if (!w->channels_second)
        fold_last<N, T><<<grid, THREADS, 0, stream_of(k)>>>(
            s, x, dy, (pack<wide<T>, N> *)part, g->pixels, g->piece, g->groups,
            g->lanes);
    else if constexpr (N == 1)
        fold_second<T><<<grid, THREADS, 0, stream_of(k)>>>(s, x, dy, part,
                                                           g->pixels, g->piece);
    else
        with_columns<N>(&d->column, d->column.in, [&](auto way) {
            using L = decltype(way);

            fold_columns<L, T><<<grid, THREADS, 0, stream_of(k)>>>(
                s, x, dy, part, g->pixels, g->piece);
        });
}

template <int N, typename T>
static enum tfd_code run_filter(struct tfd_kctx *k,
                                const struct tfd_depthwise *d,
                                struct tfd_status *st)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;
    struct filter_grid g = filter_grid_of<N>(d, w->channels_second);
    int64_t n = g.taps * d->in * d->multiplier;
    struct tfd_buffer *b;

    if (g.blocks > INT32_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "a filter of %lld elements is too large for a GPU",
                        (long long)n);
    b = k->memory->make(k->memory, (size_t)(n * g.pieces) * sizeof(wide<T>),
                        st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    fold_filter<N, T>(k, d, &g, (wide<T> *)b->data);
    fold_pieces<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        (const wide<T> *)b->data, out_at<T>(k, 0), n, g.pieces);
    tfd_buffer_unref(b);
    return launched(k, st);
}

#endif
