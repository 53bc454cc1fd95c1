/*
 * packs.cuh - neighbours that one vectorised load or store moves together (a
 * "pack", struct pack of launch.cuh): what is computed of them in
 * something wider, and loops over outputs that are made of them.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_PACKS_CUH
#define TFD_CUDA_PACKS_CUH

#include "cuda/lib/launch.cuh"

/* x is a multiple of N elements. */
template <int N, typename T>
__device__ inline void load_pack(const T *x, wide<T> *v)
{
    pack<T, N> p = *(const pack<T, N> *)x;

#pragma unroll
    for (int j = 0; j < N; j++)
        v[j] = widen(p.v[j]);
}

/* Numbers by channel: up to 16 bytes of them at once.  x is a multiple of 16
 * bytes if N is more than one. */
template <int N> __device__ inline void load_floats(const float *x, float *v)
{
    constexpr int M = N < 4 ? N : 4;

#pragma unroll
    for (int i = 0; i < N; i += M)
        load_pack<M>(x + i, v + i);
}

template <int N, typename T>
__device__ inline pack<T, N> narrow_all(const wide<T> *v)
{
    pack<T, N> p;

#pragma unroll
    for (int j = 0; j < N; j++)
        p.v[j] = narrow<T>(v[j]);
    return p;
}

/* N neighbours, or one that is repeated. */
template <int N, typename A>
__device__ inline pack<A, N> take_pack(const A *x, bool repeated)
{
    pack<A, N> p;

    if (N > 1 && !repeated)
        return *(const pack<A, N> *)x;
#pragma unroll
    for (int j = 0; j < N; j++)
        p.v[j] = *x;
    return p;
}

/* ---- Outputs ------------------------------------------------------------- */

/* f.make<N>(i): elements i to i + N of y, which are of one row. */
template <int N, typename F, typename Y>
__global__ void map_packs(const __grid_constant__ F f, pack<Y, N> *y, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count())
        y[i] = f.template make<N>(i * N);
}

/* n elements of y, in rows of `row`; x: what packs are read from, or y. */
template <typename F, typename Y>
static enum tfd_code run_packs(struct tfd_kctx *k, F f, const void *x, Y *y,
                               int64_t n, int64_t row, struct tfd_status *st)
{
    constexpr int N = pack_size<Y, Y>();

    if (n == 0)
        return TFD_OK;
    if (row % N == 0 && is_aligned(x, y, y))
        map_packs<N><<<blocks_for(k, n / N), THREADS, 0, stream_of(k)>>>(
            f, (pack<Y, N> *)y, n / N);
    else
        map_packs<1><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            f, (pack<Y, 1> *)y, n);
    return launched(k, st);
}

/* y is the beginning of an output: of a multiple of 16 bytes. */
template <typename F, typename T>
__global__ void write_value(F value, T *y, int64_t n)
{
    constexpr int N = 16 / (int)sizeof(T);
    const T v = value();
    pack<T, N> p;

#pragma unroll
    for (int j = 0; j < N; j++)
        p.v[j] = v;
    for (int64_t i = thread_index(); i < n / N; i += thread_count())
        ((pack<T, N> *)y)[i] = p;
    for (int64_t i = n / N * N + thread_index(); i < n; i += thread_count())
        y[i] = v;
}

/* All n elements of an output are value(), which the device computes. */
template <typename F, typename T>
static enum tfd_code run_value(struct tfd_kctx *k, F value, T *y, int64_t n,
                               struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();

    if (n == 0)
        return TFD_OK;
    write_value<<<blocks_for(k, (n + N - 1) / N), THREADS, 0, stream_of(k)>>>(
        value, y, n);
    return launched(k, st);
}

/* The host knows it. */
template <typename T> struct known_value {
    T value;

    __device__ T operator()() const
    {
        return value;
    }
};

#endif
