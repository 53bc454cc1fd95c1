/*
 * softmax_rows.cuh - the rows of a matrix, each with its maximum and the sum of
 * exponentials: the loops of softmax.cu and xent.cu.
 *
 * A row of up to 16 elements for each thread of a block (8 of 8 bytes) stays in
 * registers, those of a warp or a part of it, if that is enough, else of a
 * block: it is read once.  A longer one is read twice: for its maximum and the
 * sum of exponentials at once, the sum being scaled down whenever the maximum
 * grows, and for the result.
 *
 * Elements move 16 bytes at a time.  Rows that are a multiple of that do so
 * straight into registers.  Short ones that are not lie one after the other,
 * so a block moves all of its rows at once through shared memory, from which
 * threads take elements.  Of long ones the packs in the middle are moved whole,
 * those at the ends by elements.
 *
 * Sums are in float or wider, and in an order that depends on the shape alone.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_SOFTMAX_ROWS_CUH
#define TFD_CUDA_SOFTMAX_ROWS_CUH

#include "cuda/nn/softmax_matrix.cuh"

extern "C" {
#include "kernels/core/outputs.h"
}

/* ---- Rows that stay in registers ----------------------------------------- */

/* Elements of a row that a thread keeps. */
template <typename T> constexpr int KEPT = 64 / (int)sizeof(wide<T>);

/* Of `lanes` neighbours, a power of two up to 32, or of the block. */
template <typename W, typename F>
__device__ inline W fold_lanes(W x, F f, int lanes)
{
    if (lanes == THREADS)
        return fold_block(x, f, true);
    for (int step = lanes / 2; step > 0; step /= 2)
        x = f(x, (W)__shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

/* Makes v of x. */
template <typename T>
__device__ inline total<T> measure_kept(wide<T> *v, wide<T> *e, int lanes)
{
    constexpr int M = KEPT<T>;
    wide<T> max = -INFINITY, sum = 0;

#pragma unroll
    for (int i = 0; i < M; i++)
        max = larger()(max, v[i]);
    max = fold_lanes(max, larger(), lanes);
#pragma unroll
    for (int i = 0; i < M; i++) {
        v[i] -= max;
        e[i] = exp(v[i]);
        sum += e[i];
    }
    return total_of<T>(fold_lanes(sum, plus(), lanes));
}

template <typename R, typename W>
__device__ inline void end_row(const R &to, int64_t r, W loss, int lanes,
                               bool mine)
{
    if (R::ADDS)
        loss = fold_lanes(loss, plus(), lanes);
    if (mine)
        to.end(r, loss);
}

/* R has ADDS: labels, and a loss that is their sum; chosen(r), the class of a
 * row; result(element, total, &loss); end(r, loss).  N > 1: all is packs. */
template <int N, typename R, typename T>
__global__ void keep_rows(R to, matrix<T> m, int lanes)
{
    constexpr int M = KEPT<T>;
    int lane = threadIdx.x % lanes, slot = threadIdx.x / lanes;
    int64_t slots = THREADS / lanes;

    for (int64_t top = blockIdx.x * slots; top < m.rows;
         top += gridDim.x * slots) {
        bool is_row = top + slot < m.rows;
        int64_t r = is_row ? top + slot : top, mine = is_row ? m.n : 0;
        row_at<T> p = row_of(to, m, r, 0);
        wide<T> v[M], e[M], loss = 0;
        struct total<T> total;

        p.x.packs = p.labels.packs = true;
#pragma unroll
        for (int i = 0; i < M; i += N) {
            int64_t at = (int64_t)i * lanes + lane * N;

#pragma unroll
            for (int j = 0; j < N; j++)
                v[i + j] = -INFINITY; /* adds nothing */
            if (at < mine)
                load<N>(p.x, at, v + i);
        }
        total = measure_kept<T>(v, e, lanes);
#pragma unroll
        for (int i = 0; i < M; i += N) {
            int64_t at = (int64_t)i * lanes + lane * N;
            wide<T> part = 0;

            if (at < mine)
                put<N>(to, p, r, at, v + i, e + i, total, &part);
            loss += part;
        }
        end_row(to, r, loss, lanes, lane == 0 && is_row);
    }
}

/* ---- Through shared memory ----------------------------------------------- */

/* Elements head .. end of both, which begin at a multiple of 16 bytes. */
template <int N, typename T>
__device__ inline void copy_packs(T *to, const T *from, int head, int end)
{
    bool packs = (((uintptr_t)to | (uintptr_t)from) & 15) == 0;

    for (int i = threadIdx.x * N; i < end; i += THREADS * N) {
        if (packs && i >= head && i + N <= end) {
            *(pack<T, N> *)(to + i) = *(const pack<T, N> *)(from + i);
            continue;
        }
#pragma unroll 1
        for (int j = i < head ? head : i; j < i + N && j < end; j++)
            to[j] = from[j];
    }
}

/* The rows of a block at once. */
template <typename T> struct tile {
    T *at;
    int64_t first; /* element of the matrix that is at[0] */
    int head, end;
};

/* Of `slots` rows from row `top`. */
template <int N, typename T>
__device__ inline tile<T> tile_of(T *at, const matrix<T> &m, int64_t top,
                                  int64_t slots)
{
    int64_t left = m.rows - top, begin = top * m.n;
    int head = (int)(begin % N);

    return {at, begin - head, head,
            head + (int)((left < slots ? left : slots) * m.n)};
}

/* An operand that has all rows one after the other; others are looked up. */
template <typename T>
__device__ inline bool is_whole(const matrix<T> &m, struct steps s)
{
    return (s.column == 1 || m.n == 1) && (s.row == m.n || m.rows == 1);
}

/* Of an operand.  Nobody needs any more what the tile had. */
template <int N, typename T>
__device__ inline void fill_tile(const tile<T> &t, const T *from)
{
    __syncthreads();
    copy_packs<N>(t.at, from + t.first, t.head, t.end);
    __syncthreads();
}

/* As keep_rows; a thread has `pair` elements, 1 or 2, then those that are
 * `lanes` times as many further on. */
template <int N, typename R, typename T>
__global__ void keep_tile(R to, matrix<T> m, int lanes, int pair)
{
    constexpr int M = KEPT<T>;
    __shared__ pack<T, N> packs[M * THREADS / N + 1];
    int lane = threadIdx.x % lanes, slot = threadIdx.x / lanes, odd = pair - 1;
    int64_t slots = THREADS / lanes;

    for (int64_t top = blockIdx.x * slots; top < m.rows;
         top += gridDim.x * slots) {
        int64_t left = m.rows - top, r = slot < left ? top + slot : top;
        int mine = slot < left ? (int)m.n : 0;
        tile<T> t = tile_of<N>((T *)packs, m, top, slots);
        row_at<T> p = row_of(to, m, r, t.head);
        wide<T> v[M], e[M], loss = 0, part = 0;
        struct total<T> total;

        p.y = t.at + t.head + (r - top) * m.n;
        if (is_whole(m, m.xs)) {
            fill_tile<N>(t, m.x);
            p.x = {p.y, 1, false};
        }
#pragma unroll
        for (int i = 0; i < M; i++) {
            int at = ((i >> odd) * lanes + lane) * pair + (i & odd);

            v[i] = -INFINITY;
            if (at < mine)
                load<1>(p.x, at, v + i);
        }
        total = measure_kept<T>(v, e, lanes);
        if (R::ADDS && is_whole(m, m.ls)) {
            fill_tile<N>(t, m.labels);
            p.labels = {p.y, 1, false};
        } else if (!is_whole(m, m.xs)) {
            __syncthreads(); /* the tile before has been copied */
        }
#pragma unroll
        for (int i = 0; i < M; i++) {
            int at = ((i >> odd) * lanes + lane) * pair + (i & odd);

            if (at < mine)
                put<1>(to, p, r, at, v + i, e + i, total, &part);
            if ((i & odd) == odd) {
                loss += part;
                part = 0;
            }
        }
        end_row(to, r, loss, lanes, lane == 0 && mine > 0);
        __syncthreads();
        copy_packs<N>(m.y + t.first, t.at, t.head, t.end);
    }
}

/* ---- Longer rows --------------------------------------------------------- */

/* Elements at .. at + N, of which some may be before the row or after it. */
template <int N, typename T>
__device__ inline void load_inside(const line<T> &x, int64_t at, int64_t n,
                                   wide<T> *v)
{
    if (at >= 0 && at + N <= n) {
        load<N>(x, at, v);
        return;
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
        v[j] = -INFINITY; /* adds nothing */
        if (at + j >= 0 && at + j < n)
            load<1>(x, at + j, v + j);
    }
}

/* The maximum and the sum of exponentials of what a thread has of a row.  Where
 * all is -INFINITY the sum is 0, and nothing is subtracted from itself. */
template <int N, typename T>
__device__ inline void measure(const line<T> &x, int64_t head, int64_t n,
                               wide<T> *max, wide<T> *sum)
{
    wide<T> m = -INFINITY, s = 0;

    for (int64_t at = threadIdx.x * N - head; at < n; at += THREADS * N) {
        wide<T> v[N], most = m;

        load_inside<N>(x, at, n, v);
#pragma unroll
        for (int j = 0; j < N; j++)
            most = larger()(most, v[j]);
        if (most != m) {
            s *= exp(m - most);
            m = most;
        }
#pragma unroll
        for (int j = 0; m != -INFINITY && j < N; j++)
            s += exp(v[j] - m);
    }
    *max = fold_block(m, larger(), true);
    *sum = fold_block(m == -INFINITY ? 0 : s * exp(m - *max), plus(), true);
}

/* put() of what is inside. */
template <int N, typename R, typename T>
__device__ inline wide<T>
put_inside(const R &to, const row_at<T> &p, int64_t r, int64_t at, int64_t n,
           const wide<T> *v, const wide<T> *e, const struct total<T> &total)
{
    wide<T> loss = 0;

    if (at >= 0 && at + N <= n && ((uintptr_t)(p.y + at) & 15) == 0) {
        put<N>(to, p, r, at, v, e, total, &loss);
        return loss;
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        if (at + j >= 0 && at + j < n)
            put<1>(to, p, r, at + j, v + j, e + j, total, &loss);
    return loss;
}

/* A block for a row. */
template <int N, typename R, typename T>
__global__ void read_rows(R to, matrix<T> m)
{
    for (int64_t r = blockIdx.x; r < m.rows; r += gridDim.x) {
        int64_t head = r * m.n % N;
        row_at<T> p = row_of(to, m, r, head);
        wide<T> max, sum, loss = 0;
        struct total<T> total;

        measure<N>(p.x, head, m.n, &max, &sum);
        total = total_of<T>(sum);
        for (int64_t at = threadIdx.x * N - head; at < m.n; at += THREADS * N) {
            wide<T> v[N], e[N];

            load_inside<N>(p.x, at, m.n, v);
#pragma unroll
            for (int j = 0; j < N; j++) {
                v[j] -= max;
                e[j] = exp(v[j]);
            }
            loss += put_inside<N>(to, p, r, at, m.n, v, e, total);
        }
        if (R::ADDS)
            loss = fold_block(loss, plus(), false);
        if (threadIdx.x == 0)
            to.end(r, loss);
    }
}

/* ---- Launches ------------------------------------------------------------ */

/* Threads for a row of n, of which one takes `size` at once. */
template <typename T> static inline int lanes_for(int64_t n, int size)
{
    int lanes = 1;

    while (lanes < 32 && lanes * size < n)
        lanes *= 2;
    return n > 32 * KEPT<T> ? THREADS : lanes;
}

template <typename R, typename T>
static enum tfd_code run_rows(struct tfd_kctx *k, R to, matrix<T> m,
                              struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    bool packs = m.xs.column && (!R::ADDS || m.ls.column) &&
                 is_aligned(m.x, m.labels, m.y);
    int size = !packs ? 1 : m.n % N == 0 ? N : m.n % 2 == 0 ? 2 : 1;
    int lanes = lanes_for<T>(m.n, size);
    unsigned blocks = blocks_for(k, m.rows * lanes);

    if (m.n > THREADS * KEPT<T>)
        read_rows<N><<<(unsigned)(m.rows < 65536 ? m.rows : 65536), THREADS, 0,
                       stream_of(k)>>>(to, m);
    else if (size == N)
        keep_rows<N><<<blocks, THREADS, 0, stream_of(k)>>>(to, m, lanes);
    else
        keep_tile<N><<<blocks, THREADS, 0, stream_of(k)>>>(to, m, lanes, size);
    return launched(k, st);
}

#endif
