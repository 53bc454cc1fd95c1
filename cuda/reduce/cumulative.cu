/*
 * cumulative.cu - Cumsum, Cumprod of kernels/reduce/cumulative.c.
 *
 * The tensor is [outer][length][inner].  Where there are many columns of
 * neighbours, each is a thread's; else each line is a block's.  Up to 16 bytes
 * of columns, or of a line whose elements are neighbours, move at once.  Narrow
 * types are rounded once, when they are written.
 */
#include "cuda/lib/fold.cuh"
#include "cuda/lib/packs.cuh"
#include "cuda/lib/scan.cuh"

extern "C" {
#include "kernels/reduce/cumulative.h"
}

namespace
{

struct scan {
    struct tfd_cumulative_lines lines;
    bool exclusive, reverse;
};

/* Where a line begins. */
__device__ inline int64_t line_at(const struct scan &s, int64_t line)
{
    return line / s.lines.inner * s.lines.length * s.lines.inner +
           line % s.lines.inner;
}

__device__ inline int64_t place_of(const struct scan &s, int64_t i)
{
    return (s.reverse ? s.lines.length - 1 - i : i) * s.lines.inner;
}

/* A thread has N columns; `lines` counts packs of them. */
template <int N, typename F, typename T>
__global__ void scan_columns(F f, const pack<T, N> *x, pack<T, N> *y,
                             struct scan s)
{
    int64_t count = s.lines.outer * s.lines.inner;

    for (int64_t line = thread_index(); line < count; line += thread_count()) {
        int64_t at = line_at(s, line);
        wide<T> sum[N];

#pragma unroll
        for (int j = 0; j < N; j++)
            sum[j] = F::template zero<wide<T>>();
        for (int64_t i = 0; i < s.lines.length; i++) {
            int64_t place = at + place_of(s, i);
            pack<T, N> p = x[place];

#pragma unroll
            for (int j = 0; j < N; j++) {
                wide<T> next = f(sum[j], widen(p.v[j]));

                p.v[j] = narrow<T>(s.exclusive ? sum[j] : next);
                sum[j] = next;
            }
            y[place] = p;
        }
    }
}

/* Neighbours that a thread takes at once. */
#define EACH 4

/* Of those, what moves at once. */
template <typename T>
constexpr int PART = pack_size<T, T>() < EACH ? pack_size<T, T>() : EACH;

/* Where those of a line of neighbours lie, whose first is `first`. */
__device__ inline int64_t run_of(const struct scan &s, int64_t first)
{
    return s.reverse ? s.lines.length - EACH - first : first;
}

/* Elements of a line from `first` on, or `none` behind its end. */
template <typename T>
__device__ inline void take_each(const T *x, const struct scan &s,
                                 int64_t first, wide<T> none, wide<T> *v)
{
#pragma unroll
    for (int j = 0; j < EACH; j++)
        v[j] = first + j < s.lines.length ? widen(x[place_of(s, first + j)])
                                          : none;
}

template <typename T>
__device__ inline void put_each(T *y, const struct scan &s, int64_t first,
                                const wide<T> *v)
{
#pragma unroll
    for (int j = 0; j < EACH; j++)
        if (first + j < s.lines.length)
            y[place_of(s, first + j)] = narrow<T>(v[j]);
}

/* The same of neighbours, N at a time. */
template <int N, typename T>
__device__ inline void take_run(const T *x, const struct scan &s, int64_t first,
                                wide<T> none, wide<T> *v)
{
    wide<T> run[EACH];

#pragma unroll
    for (int j = 0; j < EACH; j++)
        run[j] = none;
#pragma unroll
    for (int j = 0; j < EACH; j += N)
        if (first < s.lines.length)
            load_pack<N>(x + run_of(s, first) + j, run + j);
#pragma unroll
    for (int j = 0; j < EACH; j++)
        v[j] = s.reverse ? run[EACH - 1 - j] : run[j];
}

template <int N, typename T>
__device__ inline void put_run(T *y, const struct scan &s, int64_t first,
                               const wide<T> *v)
{
    wide<T> run[EACH];

#pragma unroll
    for (int j = 0; j < EACH; j++)
        run[j] = s.reverse ? v[EACH - 1 - j] : v[j];
#pragma unroll
    for (int j = 0; j < EACH; j += N)
        if (first < s.lines.length)
            *(pack<T, N> *)(y + run_of(s, first) + j) =
                narrow_all<N, T>(run + j);
}

/* A block has a line.  N > 1: of neighbours, a multiple of EACH. */
template <int N, typename F, typename T>
__global__ void scan_lines(F f, const T *x, T *y, struct scan s)
{
    const wide<T> none = F::template zero<wide<T>>();
    int64_t count = s.lines.outer * s.lines.inner;

    for (int64_t line = blockIdx.x; line < count; line += gridDim.x) {
        int64_t at = line_at(s, line);
        wide<T> sum = none, total;

        for (int64_t tile = 0; tile < s.lines.length; tile += THREADS * EACH) {
            int64_t first = tile + (int64_t)threadIdx.x * EACH;
            wide<T> own = none, before, v[EACH];

            if (N == 1)
                take_each(x + at, s, first, none, v);
            else
                take_run<N>(x + at, s, first, none, v);
#pragma unroll
            for (int j = 0; j < EACH; j++)
                own = f(own, v[j]);
            before = f(sum, scan_block(own, f, none, &total));
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                wide<T> next = f(before, v[j]);

                v[j] = s.exclusive ? before : next;
                before = next;
            }
            if (N == 1)
                put_each(y + at, s, first, v);
            else
                put_run<N>(y + at, s, first, v);
            sum = f(sum, total);
        }
    }
}

/* ---- Launching ----------------------------------------------------------- */

template <typename F, typename T>
static void launch_columns(struct tfd_kctx *k, struct scan s)
{
    constexpr int N = pack_size<T, T>();
    const T *x = in_at<T>(k, 0);
    T *y = out_at<T>(k, 0);
    int64_t count = s.lines.outer * s.lines.inner;

    if (s.lines.inner % N == 0 && is_aligned(x, y, y)) {
        s.lines.inner /= N;
        scan_columns<N><<<blocks_for(k, count / N), THREADS, 0, stream_of(k)>>>(
            F(), (const pack<T, N> *)x, (pack<T, N> *)y, s);
    } else {
        scan_columns<1><<<blocks_for(k, count), THREADS, 0, stream_of(k)>>>(
            F(), (const pack<T, 1> *)x, (pack<T, 1> *)y, s);
    }
}

template <typename F, typename T>
static void launch_lines(struct tfd_kctx *k, const struct scan &s)
{
    const T *x = in_at<T>(k, 0);
    T *y = out_at<T>(k, 0);
    unsigned blocks = blocks_for(k, s.lines.outer * s.lines.inner * THREADS);

    if (s.lines.inner == 1 && s.lines.length % EACH == 0 && is_aligned(x, y, y))
        scan_lines<PART<T>><<<blocks, THREADS, 0, stream_of(k)>>>(F(), x, y, s);
    else
        scan_lines<1><<<blocks, THREADS, 0, stream_of(k)>>>(F(), x, y, s);
}

/* Enough columns to keep a card busy. */
#define COLUMNS_MANY 4096

template <typename T, typename F>
static enum tfd_code scan_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_cumulative *c = (const struct tfd_cumulative *)k->state;
    struct scan s = {{0, 0, 0}, c->exclusive, c->reverse};

    TFD_TRY(tfd_cumulative_lines(k, &s.lines, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    if (s.lines.inner >= 32 && s.lines.outer * s.lines.inner >= COLUMNS_MANY)
        launch_columns<F, T>(k, s);
    else
        launch_lines<F, T>(k, s);
    return launched(k, st);
}

#define ROW(op, name, T, f)                                                  \
    row(op, TFD_##name, scan_gpu<T, f>, HOST_ARG(1), tfd_cumulative_prepare, \
        sizeof(struct tfd_cumulative)),
#define ROWS(name, T)            \
    ROW("Cumsum", name, T, plus) \
    ROW("Cumprod", name, T, times)

/* Integers wrap, so that their sign is of no matter. */
static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(ROWS) ROWS(INT64, uint64_t) ROWS(INT32, uint32_t)};

} /* namespace */

CUDA_FAMILY_OF(cumulative);
