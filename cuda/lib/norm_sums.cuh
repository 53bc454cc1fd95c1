/*
 * norm_sums.cuh - computes two sums of each channel in one pass over x, seen as
 * [outer, channels, inner], such as the sums of x and of x squared.
 *
 * Blocks leave partial sums, and the caller folds these in their order, so that
 * results are the same bits in every run.  Where channels are last and their
 * number allows it, they are read 16 bytes at a time.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_NORM_SUMS_CUH
#define TFD_CUDA_NORM_SUMS_CUH

#include "cuda/lib/channels.cuh"
#include "cuda/lib/fold.cuh"
#include "cuda/lib/packs.cuh"

struct pair {
    double a, b;
};

/* x and its square, as distances from the channel's first element. */
template <typename T_> struct moments {
    using T = T_;
    const T *x;

    bool is_packed() const
    {
        return is_aligned(x, x, x);
    }
    /* Adds N channels from element i on; `first` is the first of them. */
    template <int N>
    __device__ void add(int64_t i, int64_t first, const float *,
                        struct pair *sum) const
    {
        wide<T> v[N], from[N];

        load_pack<N>(x + i, v);
        load_pack<N>(x + first, from);
#pragma unroll
        for (int j = 0; j < N; j++) {
            double away = (double)v[j] - (double)from[j];

            sum[j].a += away;
            sum[j].b += away * away;
        }
    }
};

/* dy, and dy * (x - mean). */
template <typename T_> struct gradients {
    using T = T_;
    const T *x, *dy;

    bool is_packed() const
    {
        return is_aligned(x, dy, dy);
    }
    template <int N>
    __device__ void add(int64_t i, int64_t, const float *mean,
                        struct pair *sum) const
    {
        wide<T> v[N], slope[N];

        load_pack<N>(x + i, v);
        load_pack<N>(dy + i, slope);
#pragma unroll
        for (int j = 0; j < N; j++) {
            sum[j].a += (double)slope[j];
            sum[j].b += (double)slope[j] * ((double)v[j] - (double)mean[j]);
        }
    }
};

/* part[piece][channel].  Channels last: `lanes` packs of them for each block, a
 * power of two, whose lines of threads take turns with the rows of the piece.
 * across: packs of a row.  mean may be NULL. */
template <int N, typename F>
__global__ void sum_last(F f, const float *mean, struct pair *part,
                         int64_t outer, int64_t across, int64_t piece,
                         int lanes)
{
    __shared__ double sums[2][N][THREADS];
    int me = threadIdx.x, line = me / lanes, lines = THREADS / lanes;
    int64_t at = (int64_t)blockIdx.x * lanes + me % lanes;
    int64_t first = blockIdx.y * piece;
    int64_t last = first + piece < outer ? first + piece : outer;
    struct pair sum[N] = {};
    float middle[N] = {};

    if (mean && at < across)
        load_floats<N>(mean + at * N, middle);
    for (int64_t r = first + line; at < across && r < last; r += lines)
        f.template add<N>((r * across + at) * N, at * N, middle, sum);
#pragma unroll
    for (int j = 0; j < N; j++) {
        sums[0][j][me] = sum[j].a;
        sums[1][j][me] = sum[j].b;
    }
    for (int step = THREADS / 2; step >= lanes; step /= 2) {
        __syncthreads();
        for (int j = 0; me < step && j < N; j++) {
            sums[0][j][me] += sums[0][j][me + step];
            sums[1][j][me] += sums[1][j][me + step];
        }
    }
    for (int j = 0; line == 0 && at < across && j < N; j++)
        part[(blockIdx.y * across + at) * N + j] = {sums[0][j][me],
                                                    sums[1][j][me]};
}

/* Channels second: a block for each of them and each piece. */
template <typename F>
__global__ void sum_second(F f, const float *mean, struct pair *part,
                           struct view v, int64_t piece)
{
    int64_t c = blockIdx.x, n = v.outer * v.inner;
    int64_t first = blockIdx.y * piece;
    int64_t last = first + piece < n ? first + piece : n;
    float middle = mean ? mean[c] : 0;
    struct pair sum = {0, 0};

    for (int64_t i = first + threadIdx.x; i < last; i += THREADS)
        f.template add<1>(place_in(&v, c, i), c * v.inner, &middle, &sum);
    sum.a = fold_block(sum.a, plus(), false);
    sum.b = fold_block(sum.b, plus(), false);
    if (threadIdx.x == 0)
        part[blockIdx.y * v.channels + c] = sum;
}

__device__ inline struct pair total_of(const struct pair *part, int64_t c,
                                       int64_t channels, int64_t pieces)
{
    struct pair sum = {0, 0};

    for (int64_t i = 0; i < pieces; i++) {
        sum.a += part[i * channels + c].a;
        sum.b += part[i * channels + c].b;
    }
    return sum;
}

/* ---- Work memory --------------------------------------------------------- */

/* Elements of a piece for each of its threads, and pieces at most. */
#define EACH 32
#define PIECES_MAX 256

struct work {
    struct tfd_buffer *buffer;
    struct pair *part;
    int64_t pieces, piece;
    float *a, *b, *c; /* of each channel */
};

static inline enum tfd_code make_work(const struct tfd_kctx *k,
                                      const struct view *v, struct work *w,
                                      struct tfd_status *st)
{
    int64_t rows = v->inner == 1 ? v->outer : v->outer * v->inner;
    int64_t least = EACH * (v->inner == 1 ? THREADS / 32 : THREADS);
    size_t sums, floats = 3 * (size_t)v->channels * sizeof(float);

    w->pieces = (rows + least - 1) / least;
    w->pieces = w->pieces < PIECES_MAX ? w->pieces : PIECES_MAX;
    w->piece = (rows + w->pieces - 1) / w->pieces;
    sums = (size_t)(w->pieces * v->channels) * sizeof(struct pair);
    w->buffer = k->memory->make(k->memory, sums + floats, st);
    if (!w->buffer)
        return TFD_RESOURCE_EXHAUSTED;
    w->part = (struct pair *)w->buffer->data;
    w->a = (float *)((char *)w->buffer->data + sums);
    w->b = w->a + v->channels;
    w->c = w->b + v->channels;
    return TFD_OK;
}

template <int N, typename F>
static void launch_last(struct tfd_kctx *k, F f, const float *mean,
                        const struct view *v, const struct work *w)
{
    int64_t across = v->channels / N;
    int lanes = 1;

    while (lanes < 32 && lanes < across)
        lanes *= 2;
    sum_last<N>
        <<<dim3((unsigned)((across + lanes - 1) / lanes), (unsigned)w->pieces),
           THREADS, 0, stream_of(k)>>>(f, mean, w->part, v->outer, across,
                                       w->piece, lanes);
}

template <typename F>
static void sum_all(struct tfd_kctx *k, F f, const float *mean,
                    const struct view *v, const struct work *w)
{
    constexpr int N = pack_size<typename F::T, typename F::T>();
    dim3 grid((unsigned)v->channels, (unsigned)w->pieces);

    if (v->inner > 1)
        sum_second<<<grid, THREADS, 0, stream_of(k)>>>(f, mean, w->part, *v,
                                                       w->piece);
    else if (v->channels % N == 0 && is_aligned(mean, mean, mean) &&
             f.is_packed())
        launch_last<N>(k, f, mean, v, w);
    else
        launch_last<1>(k, f, mean, v, w);
}

#endif
