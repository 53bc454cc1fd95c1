/*
 * row_sums.cuh - sums rows of an input into rows of an output on a GPU, as
 * SparseSegmentSum and its kin need it.  A list of picks says which input row
 * goes to which output row.
 *
 * Picks are ordered by output row, and each sum is folded in an order that
 * depends on sizes alone, so that the bits are the same in every run; there are
 * no atomic additions.  Columns move 16 bytes at a time where rows are a
 * multiple of that.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_ROW_SUMS_CUH
#define TFD_CUDA_ROW_SUMS_CUH

#include "cuda/lib/packs.cuh"
#include "cuda/lib/scan.cuh"
#include "cuda/lib/sort.cuh"

/* A tensor of int32 or int64 on the device. */
struct ints {
    const void *at;
    bool wide;

    __device__ int64_t operator[](int64_t i) const
    {
        return wide ? ((const int64_t *)at)[i] : ((const int32_t *)at)[i];
    }
};

static inline struct ints ints_at(const struct tfd_kctx *k, int in)
{
    return {tfd_tensor_data(&k->in[in]), k->in[in].dtype == TFD_INT64};
}

/* ---- Picks that come in any order ---------------------------------------- */

#define PICKS_MAX (INT64_C(1) << 31)

/* Where a pick goes and its place among the picks; with the last row of all
 * when it is left out. */
struct pick {
    uint64_t key;

    __device__ uint32_t row() const
    {
        return (uint32_t)(key >> 32);
    }
    __device__ int64_t place() const
    {
        return (int64_t)(key & UINT32_MAX);
    }
    __device__ static bool after(const struct pick &a, const struct pick &b)
    {
        return a.key > b.key;
    }
};

struct picks {
    struct pick *pick; /* in order */
    int64_t *head;     /* of picks to one row: where they begin */
    int64_t *count;    /* for scan_count() */
    int64_t *groups;   /* such rows, and one more of what is left out */
    int64_t n, length;
};

static inline size_t picks_size(int64_t n)
{
    return (size_t)(sort_length(n + 1) + n + SCAN_PIECES) * sizeof(int64_t);
}

/* In memory of picks_size(n) bytes; *groups is elsewhere. */
static inline struct picks picks_in(void *work, int64_t *groups, int64_t n)
{
    struct picks p = {(struct pick *)work, nullptr, nullptr, groups, n,
                      sort_length(n + 1)};

    p.head = (int64_t *)(p.pick + p.length);
    p.count = p.head + n;
    return p;
}

static inline enum tfd_code picks_check(const struct tfd_kctx *k, int64_t n,
                                        int64_t rows, struct tfd_status *st)
{
    if (n >= PICKS_MAX || rows >= PICKS_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "%s on a GPU: %lld indices into %lld rows, the limit "
                        "of both is 2^31",
                        k->kernel->op, (long long)n, (long long)rows);
    return TFD_OK;
}

/* to(i): the row of pick i, or what is no row below `rows`. */
template <typename F> struct make_pick {
    F to;
    int64_t n, rows;

    __device__ struct pick operator()(int64_t i) const
    {
        int64_t row = i < n ? to(i) : -1;

        if (i >= n)
            return {UINT64_MAX};
        if (row < 0 || row >= rows)
            row = UINT32_MAX;
        return {(uint64_t)row << 32 | (uint64_t)i};
    }
};

struct is_head {
    const struct pick *pick;

    __device__ bool operator()(int64_t i) const
    {
        return i == 0 || pick[i - 1].row() != pick[i].row();
    }
};

struct put_head {
    int64_t *head;

    __device__ void operator()(int64_t i, int64_t place) const
    {
        head[place] = i;
    }
};

/* n > 0. */
template <typename F>
static enum tfd_code picks_order(struct tfd_kctx *k, F to, struct picks *p,
                                 int64_t rows, struct tfd_status *st)
{
    struct scan_pieces pieces = scan_pieces_of(p->n);

    TFD_TRY(run_index(k, make_pick<F>{to, p->n, rows}, p->pick, p->length, st));
    TFD_TRY(sort_rows(k, p->pick, 1, p->length, st));
    TFD_TRY(scan_count(k, is_head{p->pick}, pieces, p->count, p->groups, st));
    return scan_find(k, is_head{p->pick}, put_head{p->head}, pieces, p->count,
                     st);
}

/* ---- Sums ---------------------------------------------------------------- */

struct row_range {
    int64_t begin, end;
};

/* How a block is shared out: columns by lines of picks by groups. */
struct row_threads {
    int columns, lines;
};

/* S has groups(), range(group), row(group) (negative: no row), add<N>(pick,
 * column, sums of N columns), scaled(sum, range), and is_packed(N), whether N
 * columns may be read at once.  across: packs of a row. */
template <int N, typename S, typename T>
__global__ void sum_rows(S s, pack<T, N> *y, int64_t across,
                         struct row_threads t)
{
    __shared__ wide<T> part[N][THREADS];
    int me = threadIdx.x, column = me % t.columns;
    int line = me / t.columns % t.lines, slot = me / (t.columns * t.lines);
    int slots = THREADS / (t.columns * t.lines);
    int64_t tiles = (across + t.columns - 1) / t.columns, groups = s.groups();
    int64_t work = (groups + slots - 1) / slots * tiles;

    for (int64_t w = blockIdx.x; w < work; w += gridDim.x) {
        int64_t group = w / tiles * slots + slot;
        int64_t at = w % tiles * t.columns + column, row = -1;
        struct row_range range = {0, 0};
        wide<T> sum[N] = {};
        pack<T, N> r;

        if (group < groups && at < across) {
            row = s.row(group);
            range = s.range(group);
        }
        for (int64_t i = range.begin + line; row >= 0 && i < range.end;
             i += t.lines)
            s.template add<N>(i, at * N, sum);
        __syncthreads(); /* of the work before */
#pragma unroll
        for (int j = 0; j < N; j++)
            part[j][me] = sum[j];
        __syncthreads();
        if (line > 0 || row < 0)
            continue;
#pragma unroll
        for (int j = 0; j < N; j++) {
            for (int l = 1; l < t.lines; l++)
                sum[j] += part[j][me + l * t.columns];
            r.v[j] = narrow<T>(s.scaled(sum[j], range));
        }
        y[row * across + at] = r;
    }
}

template <int N, typename S, typename T>
static enum tfd_code launch_sums(struct tfd_kctx *k, S s, T *y, int64_t n,
                                 int64_t groups, int64_t across,
                                 struct tfd_status *st)
{
    struct row_threads t = {1, 1};
    int64_t tiles, slots;

    while (t.columns < 32 && t.columns < across)
        t.columns *= 2;
    while (t.columns * t.lines < THREADS &&
           (t.lines < 4 || t.lines < n / groups))
        t.lines *= 2;
    tiles = (across + t.columns - 1) / t.columns;
    slots = THREADS / (t.columns * t.lines);
    sum_rows<N><<<blocks_for(k, (groups + slots - 1) / slots * tiles * THREADS),
                  THREADS, 0, stream_of(k)>>>(s, (pack<T, N> *)y, across, t);
    return launched(k, st);
}

/* `n` picks go to `groups` rows at most; both are at least 1. */
template <typename S, typename T>
static enum tfd_code run_sums(struct tfd_kctx *k, S s, T *y, int64_t n,
                              int64_t groups, int64_t inner,
                              struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();

    if (inner % N == 0 && is_aligned(y, y, y) && s.is_packed(N))
        return launch_sums<N>(k, s, y, n, groups, inner / N, st);
    return launch_sums<1>(k, s, y, n, groups, inner, st);
}

#endif
