/*
 * packs.cuh - neighbours that move together, and are computed in something
 * wider.
 */
#ifndef TFD_CUDA_PACKS_CUH
#define TFD_CUDA_PACKS_CUH

#include "cuda/launch.cuh"

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

#endif
