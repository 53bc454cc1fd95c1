/*
 * scan.cuh - running sums within a block, and the places of what is chosen:
 *
 *     counts   each block counts what is chosen in its piece of the range
 *     starts   one block sums the counts up
 *     places   each block numbers what is chosen, in the order of the range
 *
 * The order of sums depends on sizes alone.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_SCAN_CUH
#define TFD_CUDA_SCAN_CUH

#include "cuda/lib/fold.cuh"

/* What f makes of the values of all threads before this one (`none` for the
 * first), and of all in *total; THREADS threads. */
template <typename W, typename F>
__device__ inline W scan_block(W x, F f, W none, W *total)
{
    __shared__ W part[THREADS / 32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    W left, before = none, all = none;

    for (int step = 1; step < 32; step *= 2) {
        W other = __shfl_sync(0xffffffffu, x, (lane - step) & 31);

        if (lane >= step)
            x = f(other, x);
    }
    left = __shfl_sync(0xffffffffu, x, (lane - 1) & 31);
    __syncthreads(); /* of a use before this one */
    if (lane == 31)
        part[warp] = x;
    __syncthreads();
    for (int i = 0; i < THREADS / 32; i++) {
        if (i == warp)
            before = all;
        all = f(all, part[i]);
    }
    *total = all;
    return lane > 0 ? f(before, left) : before;
}

/* ---- What is chosen of a range ------------------------------------------- */

#define SCAN_PIECES 1024

/* Pieces of a range of n, each of a multiple of THREADS. */
struct scan_pieces {
    int64_t n, size;
    unsigned count;
};

static inline struct scan_pieces scan_pieces_of(int64_t n)
{
    int64_t size = (n + SCAN_PIECES - 1) / SCAN_PIECES;

    size = (size + THREADS - 1) / THREADS * THREADS;
    size = size > 0 ? size : THREADS;
    return {n, size, (unsigned)((n + size - 1) / size)};
}

/* N > 1: chosen.count<N>(i) is how many of N neighbours are, of which i is the
 * first and a multiple of N. */
template <int N, typename F>
__global__ void scan_counts(F chosen, struct scan_pieces p, int64_t *count)
{
    int64_t begin = blockIdx.x * p.size, rest = begin;
    int64_t end = begin + p.size < p.n ? begin + p.size : p.n;
    int64_t own = 0;

    if constexpr (N > 1) {
        rest = begin + (end - begin) / N * N;
        for (int64_t i = begin + threadIdx.x * N; i < rest; i += THREADS * N)
            own += chosen.template count<N>(i);
    }
    for (int64_t i = rest + threadIdx.x; i < end; i += THREADS)
        own += chosen(i) ? 1 : 0;
    own = fold_block(own, plus(), false);
    if (threadIdx.x == 0)
        count[blockIdx.x] = own;
}

/* Each count becomes the sum of those before it; *all is the sum of all.  One
 * block. */
template <typename N> __global__ void scan_starts(N *count, int n, N *all)
{
    N before = 0, total;

    for (int at = 0; at < n; at += THREADS) {
        int i = at + (int)threadIdx.x;
        int64_t start =
            scan_block<int64_t>(i < n ? count[i] : 0, plus(), 0, &total);

        if (i < n)
            count[i] = before + start;
        before += total;
    }
    if (threadIdx.x == 0)
        *all = before;
}

/* found(i, place) for each i that is chosen. */
template <typename F, typename G>
__global__ void scan_places(F chosen, const __grid_constant__ G found,
                            struct scan_pieces p, const int64_t *start)
{
    int64_t begin = blockIdx.x * p.size, place = start[blockIdx.x], total;

    for (int64_t at = begin; at < begin + p.size && at < p.n; at += THREADS) {
        int64_t i = at + threadIdx.x;
        bool yes = i < p.n && chosen(i);
        int64_t before = scan_block<int64_t>(yes ? 1 : 0, plus(), 0, &total);

        if (yes)
            found(i, place + before);
        place += total;
    }
}

/* Enqueues the first two; count has room for SCAN_PIECES.  n > 0. */
template <int N = 1, typename F>
static enum tfd_code scan_count(struct tfd_kctx *k, F chosen,
                                struct scan_pieces p, int64_t *count,
                                int64_t *all, struct tfd_status *st)
{
    scan_counts<N><<<p.count, THREADS, 0, stream_of(k)>>>(chosen, p, count);
    scan_starts<<<1, THREADS, 0, stream_of(k)>>>(count, (int)p.count, all);
    return launched(k, st);
}

template <typename F, typename G>
static enum tfd_code scan_find(struct tfd_kctx *k, F chosen, G found,
                               struct scan_pieces p, const int64_t *count,
                               struct tfd_status *st)
{
    scan_places<<<p.count, THREADS, 0, stream_of(k)>>>(chosen, found, p, count);
    return launched(k, st);
}

#endif
