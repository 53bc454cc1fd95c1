/*
 * fold_matrix.cuh - the rows, or the columns, of matrices folded by a function
 * of fold.cuh into one value each.
 *
 * Memory is read once and 16 bytes at a time: a row from its first multiple of
 * 16 bytes on, whatever lies before; columns by packs of neighbours, when their
 * number is a multiple of a pack's.
 *
 * Where one pass had too few blocks for a card, rows are cut into pieces, and
 * what they give is folded once more.  The shape alone decides that, and the
 * order in a block is fixed: the same bits in every run.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_FOLD_MATRIX_CUH
#define TFD_CUDA_FOLD_MATRIX_CUH

#include "cuda/lib/fold.cuh"

/* Blocks that fill any card; no more pieces than that. */
#define PIECES_MAX 1024
/* Elements of a piece of a row, and rows of a line's piece, at the least. */
#define PIECE (16 * THREADS)
#define PIECE_ROWS 16

/* divisor: the number folded for a mean, else 1. */
template <typename Y, typename W>
__device__ inline Y finish(W acc, int64_t divisor)
{
    return narrow<Y>(divisor == 1 ? acc : acc / (W)divisor);
}

/* ---- Rows ---------------------------------------------------------------- */

/* Folds what thread `me` of `count` has of x[0..n) into acc. */
template <typename F, typename A>
__device__ inline wide<A> fold_range(F f, wide<A> acc, const A *x, int64_t n,
                                     int me, int count)
{
    constexpr int N = 16 / (int)sizeof(A);
    int64_t lead =
        (int64_t)((16 - ((uintptr_t)x & 15)) & 15) / (int64_t)sizeof(A);
    const pack<A, N> *packs;
    int64_t whole;

    if (lead > n)
        lead = n;
    packs = (const pack<A, N> *)(x + lead);
    whole = (n - lead) / N;
#pragma unroll 1
    for (int64_t i = me; i < lead; i += count)
        acc = f(acc, widen(x[i]));
#pragma unroll 2
    for (int64_t i = me; i < whole; i += count) {
        pack<A, N> p = packs[i];

#pragma unroll
        for (int j = 0; j < N; j++)
            acc = f(acc, widen(p.v[j]));
    }
#pragma unroll 1
    for (int64_t i = lead + whole * N + me; i < n; i += count)
        acc = f(acc, widen(x[i]));
    return acc;
}

/* Piece blockIdx.x of row blockIdx.y; a row has gridDim.x pieces. */
template <typename F, typename A, typename Y>
__global__ void fold_rows(F f, const A *x, Y *y, int64_t rows, int64_t n,
                          int64_t divisor)
{
    int64_t piece = (n + gridDim.x - 1) / gridDim.x;
    int64_t begin = blockIdx.x * piece;
    int64_t length = begin + piece < n ? piece : n - begin;

    for (int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
        wide<A> acc = F::template zero<wide<A>>();

        acc = fold_range(f, acc, x + r * n + begin, length > 0 ? length : 0,
                         (int)threadIdx.x, THREADS);
        acc = fold_block(acc, f, false);
        if (threadIdx.x == 0)
            y[r * gridDim.x + blockIdx.x] = finish<Y>(acc, divisor);
    }
}

/* `lanes` threads for each row, a power of two up to 32. */
template <typename F, typename A, typename Y>
__global__ void fold_short_rows(F f, const A *x, Y *y, int64_t rows, int64_t n,
                                int lanes, int64_t divisor)
{
    int lane = threadIdx.x % lanes, slot = threadIdx.x / lanes;
    int64_t slots = THREADS / lanes;

    for (int64_t top = blockIdx.x * slots; top < rows;
         top += gridDim.x * slots) {
        wide<A> acc = F::template zero<wide<A>>();
        int64_t r = top + slot;

        if (r < rows)
            acc = fold_range(f, acc, x + r * n, n, lane, lanes);
        for (int step = lanes / 2; step > 0; step /= 2)
            acc = f(acc, (wide<A>)__shfl_xor_sync(0xffffffffu, acc, step));
        if (lane == 0 && r < rows)
            y[r] = finish<Y>(acc, divisor);
    }
}

/* A warp or a part of it for a row that gives each lane up to 8 packs, else a
 * block. */
template <typename F, typename A, typename Y>
static enum tfd_code run_whole_rows(struct tfd_kctx *k, F f, const A *x, Y *y,
                                    int64_t rows, int64_t n, int64_t divisor,
                                    struct tfd_status *st)
{
    constexpr int N = pack_size<A, A>();
    unsigned most = (unsigned)(rows < 65535 ? rows : 65535);
    int lanes = 1;

    while (lanes < 32 && lanes * N < n)
        lanes *= 2;
    if (n <= 8 * 32 * N)
        fold_short_rows<<<blocks_for(k, rows * lanes), THREADS, 0,
                          stream_of(k)>>>(f, x, y, rows, n, lanes, divisor);
    else
        fold_rows<<<dim3(1, most), THREADS, 0, stream_of(k)>>>(f, x, y, rows, n,
                                                               divisor);
    return launched(k, st);
}

/* y[r] of x[rows, n], neither empty. */
template <typename F, typename A, typename Y>
static enum tfd_code run_rows(struct tfd_kctx *k, F f, const A *x, Y *y,
                              int64_t rows, int64_t n, int64_t divisor,
                              struct tfd_status *st)
{
    int64_t pieces = n / PIECE;
    struct tfd_buffer *b;
    enum tfd_code code;
    wide<A> *part;

    if (pieces > PIECES_MAX / rows)
        pieces = PIECES_MAX / rows;
    if (pieces < 2)
        return run_whole_rows(k, f, x, y, rows, n, divisor, st);
    b = k->memory->make(k->memory, (size_t)(rows * pieces) * sizeof(*part), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    part = (wide<A> *)b->data;
    fold_rows<<<dim3((unsigned)pieces, (unsigned)rows), THREADS, 0,
                stream_of(k)>>>(f, x, part, rows, n, 1);
    code = run_whole_rows(k, f, (const wide<A> *)part, y, rows, pieces, divisor,
                          st);
    /* What gets the memory next is enqueued behind. */
    tfd_buffer_unref(b);
    return code;
}

/* ---- Columns ------------------------------------------------------------- */

/* How the blocks of a grid share [matrices, rows, across] packs out: `lanes`
 * packs beside each other, a power of two, by lines of rows. */
struct column_grid {
    int64_t matrices, rows, across;
    int64_t piece; /* rows of blockIdx.y */
    int64_t tiles, pieces;
    int lanes;
};

template <int N, typename F, typename A, typename Y>
__global__ void fold_columns(F f, const pack<A, N> *x, pack<Y, N> *y,
                             struct column_grid g, int64_t divisor)
{
    __shared__ wide<A> part[N][THREADS];
    int me = threadIdx.x, line = me / g.lanes, lines = THREADS / g.lanes;
    int64_t at = (int64_t)blockIdx.x * g.lanes + me % g.lanes;
    int64_t begin = blockIdx.y * g.piece;
    int64_t end = begin + g.piece < g.rows ? begin + g.piece : g.rows;

    for (int64_t m = blockIdx.z; m < g.matrices; m += gridDim.z) {
        wide<A> acc[N];
        pack<Y, N> r;

#pragma unroll
        for (int j = 0; j < N; j++)
            acc[j] = F::template zero<wide<A>>();
#pragma unroll 2
        for (int64_t i = begin + line; at < g.across && i < end; i += lines) {
            pack<A, N> p = x[(m * g.rows + i) * g.across + at];

#pragma unroll
            for (int j = 0; j < N; j++)
                acc[j] = f(acc[j], widen(p.v[j]));
        }
        __syncthreads(); /* of the matrix before */
#pragma unroll
        for (int j = 0; j < N; j++)
            part[j][me] = acc[j];
        for (int step = THREADS / 2; step >= g.lanes; step /= 2) {
            __syncthreads();
            for (int j = 0; me < step && j < N; j++)
                part[j][me] = f(part[j][me], part[j][me + step]);
        }
        if (line > 0 || at >= g.across)
            continue;
#pragma unroll
        for (int j = 0; j < N; j++)
            r.v[j] = finish<Y>(part[j][me], divisor);
        y[(m * gridDim.y + blockIdx.y) * g.across + at] = r;
    }
}

/* Lines have 4 rows each at least, if there are as many. */
static inline struct column_grid column_grid_of(int64_t matrices, int64_t rows,
                                                int64_t across)
{
    struct column_grid g = {matrices, rows, across, rows, 0, 0, 1};
    int64_t least, most;

    while (g.lanes < 32 && g.lanes < across)
        g.lanes *= 2;
    while (g.lanes < THREADS && THREADS / g.lanes > rows / 4)
        g.lanes *= 2;
    g.tiles = (across + g.lanes - 1) / g.lanes;
    least = PIECE_ROWS * (THREADS / g.lanes);
    most = PIECES_MAX / g.tiles / matrices;
    g.pieces = rows / least < most ? rows / least : most;
    if (g.pieces < 2)
        g.pieces = 1;
    g.piece = (rows + g.pieces - 1) / g.pieces;
    return g;
}

template <int N, typename F, typename A, typename Y>
static void launch_columns(struct tfd_kctx *k, F f, const A *x, Y *y,
                           const struct column_grid &g, int64_t divisor)
{
    dim3 grid((unsigned)(g.tiles < INT32_MAX ? g.tiles : INT32_MAX),
              (unsigned)g.pieces,
              (unsigned)(g.matrices < 65535 ? g.matrices : 65535));

    fold_columns<N><<<grid, THREADS, 0, stream_of(k)>>>(
        f, (const pack<A, N> *)x, (pack<Y, N> *)y, g, divisor);
}

template <int N, typename F, typename A, typename Y>
static enum tfd_code run_packed_columns(struct tfd_kctx *k, F f, const A *x,
                                        Y *y, struct column_grid g,
                                        int64_t divisor, struct tfd_status *st)
{
    int64_t parts = g.matrices * g.pieces * g.across * N;
    struct tfd_buffer *b;
    wide<A> *part;

    if (g.pieces == 1) {
        launch_columns<N>(k, f, x, y, g, divisor);
        return launched(k, st);
    }
    b = k->memory->make(k->memory, (size_t)parts * sizeof(*part), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    part = (wide<A> *)b->data;
    launch_columns<N>(k, f, x, part, g, 1);
    g.rows = g.piece = g.pieces;
    g.pieces = 1;
    launch_columns<N>(k, f, (const wide<A> *)part, y, g, divisor);
    tfd_buffer_unref(b);
    return launched(k, st);
}

/* y[matrix, column] of x[matrices, rows, columns], none empty. */
template <typename F, typename A, typename Y>
static enum tfd_code run_columns(struct tfd_kctx *k, F f, const A *x, Y *y,
                                 int64_t matrices, int64_t rows,
                                 int64_t columns, int64_t divisor,
                                 struct tfd_status *st)
{
    constexpr int N = pack_size<A, Y>();

    if (columns % N == 0 && is_aligned(x, y, y))
        return run_packed_columns<N>(
            k, f, x, y, column_grid_of(matrices, rows, columns / N), divisor,
            st);
    return run_packed_columns<1>(
        k, f, x, y, column_grid_of(matrices, rows, columns), divisor, st);
}

/* ---- Both ---------------------------------------------------------------- */

/* y[channel] of x[outer, channels, inner], none empty. */
template <typename F, typename A, typename Y>
static enum tfd_code run_channels(struct tfd_kctx *k, F f, const A *x, Y *y,
                                  int64_t outer, int64_t channels,
                                  int64_t inner, int64_t divisor,
                                  struct tfd_status *st)
{
    size_t size = (size_t)(outer * channels) * sizeof(wide<A>);
    struct tfd_buffer *b;
    enum tfd_code code;
    wide<A> *part;

    if (inner == 1)
        return run_columns(k, f, x, y, 1, outer, channels, divisor, st);
    b = k->memory->make(k->memory, size, st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    part = (wide<A> *)b->data;
    code = run_rows(k, f, x, part, outer * channels, inner, 1, st);
    if (code == TFD_OK)
        code = run_columns(k, f, (const wide<A> *)part, y, 1, outer, channels,
                           divisor, st);
    tfd_buffer_unref(b);
    return code;
}

#endif
