/*
 * segment.cu - UnsortedSegment<X>, Segment<X> of kernels/sparse/segment.c.
 *
 * Unsorted: a scatter (scatter.cuh) into what is full of the function's neutral
 * element; ids outside are left out.
 *
 * Sorted: the ids are the host's, which checks them as it must know the last
 * one to make the output.  Blocks take pieces of segments: threads are
 * [piece][line][column], each line takes every lines-th row, and lines are
 * folded in a fixed order.  A column is a pack of neighbours where rows are a
 * multiple of that; lines are as many as without.
 */
#include "cuda/lib/packs.cuh"
#include "cuda/lib/scatter.cuh"

extern "C" {
#include "cuda/device/copy.h"
#include "kernels/sparse/segment.h"
}

namespace
{

struct state {
    enum tfd_segment_fold fold;
    bool ordered;
};

static enum tfd_code prepare_segment(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    struct state *s = (struct state *)state;

    s->ordered = is_deterministic();
    return tfd_segment_prepare(p, &s->fold, st);
}

/* ---- Unsorted ------------------------------------------------------------ */

/* What is empty in a complex element is zero. */
static enum tfd_code fill(struct tfd_kctx *k, enum tfd_segment_fold fold,
                          struct tfd_status *st)
{
    struct tfd_tensor *y = &k->out[0];
    uint64_t bits = tfd_segment_empty(y->dtype, fold, false);
    void *at = tfd_tensor_data(y);
    int64_t n = tfd_tensor_elements(y);

    if (!at)
        return TFD_OK;
    if (bits == 0)
        return tfd_cuda_device_check(
            tfd_cuda_device_of(k->memory),
            (int)cudaMemsetAsync(at, 0, tfd_tensor_size(y), stream_of(k)),
            k->kernel->op, st);
    switch (tfd_dtype_size(y->dtype)) {
    case 2:
        return run_value(k, known_value<uint16_t>{(uint16_t)bits},
                         (uint16_t *)at, n, st);
    case 4:
        return run_value(k, known_value<uint32_t>{(uint32_t)bits},
                         (uint32_t *)at, n, st);
    default:
        return run_value(k, known_value<uint64_t>{bits}, (uint64_t *)at, n, st);
    }
}

/* A complex number is two elements of T. */
template <typename F, typename T>
static enum tfd_code unsorted_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *state = (const struct state *)k->state;
    size_t size = tfd_dtype_size(k->in[0].dtype);
    const struct tfd_shape *out;
    struct scatter s;

    TFD_TRY(tfd_segment_unsorted_output(k, st));
    TFD_TRY(fill(k, state->fold, st));
    out = &k->out[0].shape;
    s = {tfd_tensor_data(&k->out[0]),
         tfd_tensor_data(&k->in[0]),
         places_of(&k->in[1], 1, out),
         tfd_tensor_elements(&k->in[1]),
         (int64_t)(size / sizeof(T)),
         out->dim[0],
         false,
         state->ordered};
    for (int d = 1; d < out->rank; d++)
        s.inner *= out->dim[d];
    return run_scatter<F, T>(k, &s, st);
}

/* ---- Sorted -------------------------------------------------------------- */

/* The first of n ids that is not below id. */
__device__ inline int64_t first_of(struct indices ids, int64_t n, int64_t id)
{
    int64_t low = 0;

    while (low < n) {
        int64_t middle = low + (n - low) / 2;

        if (ids[middle] < id)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

struct sorted {
    struct indices ids;
    int64_t count, segments, inner;
    struct divisor tiles; /* pieces of a segment */
    int columns, lines;   /* of a tile; powers of two */
    bool mean;
    uint64_t empty;
};

/* What a thread has of a segment, in packs. */
struct piece {
    int64_t segment, begin, end, at;
    int line, lines; /* lines: those that have a row */
};

template <int N>
__device__ inline struct piece piece_of(const struct sorted &s, int64_t i)
{
    int column = (int)threadIdx.x % s.columns;
    struct piece p = {i, 0, 0, 0, (int)threadIdx.x / s.columns % s.lines, 0};

    p.at = take_rest(&s.tiles, &p.segment) * s.columns + column;
    if (p.segment >= s.segments || p.at >= s.inner / N) {
        p.segment = -1;
        return p;
    }
    p.begin = first_of(s.ids, s.count, p.segment);
    p.end = first_of(s.ids, s.count, p.segment + 1);
    p.lines = p.end - p.begin < s.lines ? (int)(p.end - p.begin) : s.lines;
    return p;
}

template <int N, typename F, typename T>
__device__ inline void fold_line(F f, const pack<T, N> *x, int64_t across,
                                 const struct piece &p, int lines,
                                 wide<T> (*part)[THREADS])
{
    pack<T, N> v = x[(p.begin + p.line) * across + p.at];
    wide<T> acc[N];

#pragma unroll
    for (int j = 0; j < N; j++)
        acc[j] = widen(v.v[j]);
    for (int64_t r = p.begin + p.line + lines; r < p.end; r += lines) {
        v = x[r * across + p.at];
#pragma unroll
        for (int j = 0; j < N; j++)
            acc[j] = f(acc[j], widen(v.v[j]));
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        part[j][threadIdx.x] = acc[j];
}

template <int N, typename T>
__device__ inline pack<T, N> finish_segment(const struct sorted &s,
                                            const struct piece &p,
                                            wide<T> (*part)[THREADS])
{
    wide<T> rows = (wide<T>)(p.end - p.begin);
    pack<T, N> r;
    T empty;

    memcpy((void *)&empty, &s.empty, sizeof(empty));
#pragma unroll
    for (int j = 0; j < N; j++) {
        wide<T> sum = part[j][threadIdx.x];

        r.v[j] = p.lines == 0 ? empty : narrow<T>(s.mean ? sum / rows : sum);
    }
    return r;
}

template <int N, typename F, typename T>
__global__ void fold_segments(F f, const pack<T, N> *x, pack<T, N> *y,
                              struct sorted s)
{
    __shared__ wide<T> part[N][THREADS];
    int me = threadIdx.x, slots = THREADS / (s.columns * s.lines);
    int64_t n = s.segments * s.tiles.by, across = s.inner / N;

    for (int64_t i = blockIdx.x * slots; i < n; i += gridDim.x * slots) {
        struct piece p = piece_of<N>(s, i + me / (s.columns * s.lines));

        if (p.line < p.lines)
            fold_line<N>(f, x, across, p, s.lines, part);
        for (int half = s.lines / 2; half > 0; half /= 2) {
            __syncthreads();
#pragma unroll
            for (int j = 0; j < N; j++)
                if (p.line < half && p.line + half < p.lines)
                    part[j][me] =
                        f(part[j][me], part[j][me + half * s.columns]);
        }
        if (p.line == 0 && p.segment >= 0)
            y[p.segment * across + p.at] = finish_segment<N, T>(s, p, part);
        __syncthreads(); /* before the next one writes part */
    }
}

/* Columns for all of a row, but not so many that lines stand idle or are too
 * few for segments of usual length. */
static int columns_for(int64_t inner, int64_t rows, int64_t segments)
{
    int columns = 1;

    while (columns < THREADS && columns < inner)
        columns *= 2;
    while (columns > 32 && THREADS / columns < rows / segments)
        columns /= 2;
    return columns;
}

/* Lines are what the order of folding depends on: the same for all packs. */
template <int N, typename F, typename T>
static enum tfd_code launch_sorted(struct tfd_kctx *k, struct sorted s,
                                   struct tfd_status *st)
{
    int columns = columns_for(s.inner, s.count, s.segments);
    int64_t pieces;

    s.tiles = divisor_of((s.inner + columns - 1) / columns);
    s.lines = THREADS / columns;
    s.columns = columns / N;
    pieces = s.segments * s.tiles.by;
    fold_segments<N><<<blocks_for(k, pieces * s.columns * s.lines), THREADS, 0,
                       stream_of(k)>>>(F(), in_at<pack<T, N>>(k, 0),
                                       out_at<pack<T, N>>(k, 0), s);
    return launched(k, st);
}

template <typename F, typename T>
static enum tfd_code run_sorted(struct tfd_kctx *k, const struct sorted *s,
                                struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    const void *x = in_at<void>(k, 0), *y = out_at<void>(k, 0);

    if (s->inner % N == 0 && is_aligned(x, y, y))
        return launch_sorted<N, F, T>(k, *s, st);
    return launch_sorted<1, F, T>(k, *s, st);
}

template <typename F, typename T>
static enum tfd_code sorted_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    enum tfd_segment_fold fold = ((const struct state *)k->state)->fold;
    struct tfd_tensor ids = TFD_TENSOR_INIT;
    const struct tfd_shape *out;
    struct sorted s = {};
    enum tfd_code rc;

    TFD_TRY(tfd_segment_sorted_output(k, st));
    out = &k->out[0].shape;
    if (!tfd_tensor_data(&k->out[0]))
        return TFD_OK;
    TFD_TRY(tfd_cuda_copy_for(k, &k->in[1], &ids, st));
    s.ids = indices_of(&ids);
    s.count = tfd_tensor_elements(&ids);
    s.segments = out->dim[0];
    s.inner = tfd_shape_elements(out) / s.segments;
    s.mean = fold == TFD_SEGMENT_MEAN;
    s.empty = tfd_segment_empty(k->in[0].dtype, fold, true);
    rc = run_sorted<F, T>(k, &s, st);
    tfd_tensor_unref(&ids);
    return rc;
}

#define SORTED_ROW(op, name, f, T)                              \
    row(op, TFD_##name, sorted_gpu<f, T>, HOST_ARG(1), prepare_segment, \
        sizeof(struct state)),
#define UNSORTED_ROW(op, name, f, T)                              \
    row(op, TFD_##name, unsorted_gpu<f, T>, HOST_ARG(2), prepare_segment, \
        sizeof(struct state)),

#define SUMS(name, T) UNSORTED_ROW("UnsortedSegmentSum", name, scatter_add, T)
#define REALS(name, T)                                        \
    UNSORTED_ROW("UnsortedSegmentProd", name, scatter_mul, T) \
    UNSORTED_ROW("UnsortedSegmentMin", name, scatter_min, T)  \
    UNSORTED_ROW("UnsortedSegmentMax", name, scatter_max, T)
#define FLOATS(name, T)                             \
    SUMS(name, T)                                   \
    REALS(name, T)                                  \
    SORTED_ROW("SegmentSum", name, scatter_add, T)  \
    SORTED_ROW("SegmentMean", name, scatter_add, T) \
    SORTED_ROW("SegmentProd", name, scatter_mul, T) \
    SORTED_ROW("SegmentMin", name, scatter_min, T)  \
    SORTED_ROW("SegmentMax", name, scatter_max, T)

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(FLOATS) REALS(INT32, int32_t) REALS(INT64, int64_t)
        SUMS(INT32, uint32_t) SUMS(INT64, uint64_t) SUMS(COMPLEX64, float)
            SUMS(COMPLEX128, double)};

} /* namespace */

CUDA_FAMILY_OF(segment);
