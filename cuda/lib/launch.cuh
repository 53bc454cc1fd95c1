/*
 * launch.cuh - what all kernels on GPUs share: types, sizes of grids, errors,
 * loops over elements.
 *
 * compute() only enqueues.  Inputs and outputs are good for what is enqueued on
 * k's stream, which is the device's or that of a capture; nothing here waits.
 *
 * half and bfloat16 are computed in float.  Loops over elements move 16 bytes
 * at a time where pointers are aligned, and stride, so that a grid has a size
 * for the card and not for the tensor.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_LAUNCH_CUH
#define TFD_CUDA_LAUNCH_CUH

extern "C" {
#include "common/base/alloc.h"
#include "cuda/device/cuda_device.h"
#include "kernels/core/families.h"
}

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define THREADS 256

/* name of the type, type in device code */
#define CUDA_FLOAT_DTYPES(X) \
    X(FLOAT, float)          \
    X(DOUBLE, double)        \
    X(HALF, __half)          \
    X(BFLOAT16, __nv_bfloat16)

/* Integers that lie in the memory of a GPU. */
#define CUDA_INT_DTYPES(X) \
    X(INT64, int64_t)      \
    X(INT16, int16_t)      \
    X(INT8, int8_t)        \
    X(UINT8, uint8_t)      \
    X(UINT16, uint16_t)    \
    X(UINT32, uint32_t)    \
    X(UINT64, uint64_t)

/* ---- Types --------------------------------------------------------------- */

/* What a type is computed in. */
template <typename T> struct wide_of {
    using type = T;
};
template <> struct wide_of<__half> {
    using type = float;
};
template <> struct wide_of<__nv_bfloat16> {
    using type = float;
};
template <typename T> using wide = typename wide_of<T>::type;

template <typename T> __device__ inline wide<T> widen(T x)
{
    return x;
}
template <> __device__ inline float widen<__half>(__half x)
{
    return __half2float(x);
}
template <> __device__ inline float widen<__nv_bfloat16>(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

template <typename T> struct narrow_of {
    template <typename W> __device__ static T from(W x)
    {
        return (T)x;
    }
};
template <> struct narrow_of<__half> {
    template <typename W> __device__ static __half from(W x)
    {
        return __float2half_rn((float)x);
    }
};
template <> struct narrow_of<__nv_bfloat16> {
    template <typename W> __device__ static __nv_bfloat16 from(W x)
    {
        return __float2bfloat16_rn((float)x);
    }
};
template <typename T, typename W> __device__ inline T narrow(W x)
{
    return narrow_of<T>::from(x);
}

/* ---- Launching ----------------------------------------------------------- */

static inline cudaStream_t stream_of(const struct tfd_kctx *k)
{
    return (cudaStream_t)k->stream;
}

/* What k enqueues is kept for launches to come (cuda/device/capture.h). */
static inline bool is_captured(const struct tfd_kctx *k)
{
    return k->stream != tfd_cuda_device_of(k->memory)->stream;
}

/* Blocks for n pieces of work of which a block does THREADS at once: enough to
 * fill the card, of which a processor holds 8 such blocks. */
static inline unsigned blocks_for(const struct tfd_kctx *k, int64_t n)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(k->memory);
    int64_t most = (int64_t)d->properties.processors * 8;
    int64_t blocks = (n + THREADS - 1) / THREADS;

    return (unsigned)(blocks < most ? blocks : most);
}

static inline enum tfd_code launched(const struct tfd_kctx *k,
                                     struct tfd_status *st)
{
    return tfd_cuda_device_check(tfd_cuda_device_of(k->memory),
                                 (int)cudaGetLastError(), k->kernel->op, st);
}

template <typename T>
static inline const T *in_at(const struct tfd_kctx *k, int i)
{
    return (const T *)tfd_tensor_data(&k->in[i]);
}

template <typename T> static inline T *out_at(const struct tfd_kctx *k, int i)
{
    return (T *)tfd_tensor_data(&k->out[i]);
}

/* A row of a family's table. */
static inline constexpr struct tfd_kernel
row(const char *op, enum tfd_dtype dtype, tfd_compute_fn *compute,
    uint32_t host_in = 0, tfd_prepare_fn *prepare = nullptr,
    size_t state_size = 0)
{
    struct tfd_kernel k = {};

    k.op = op;
    k.dtype = dtype;
    k.device = TFD_GPU;
    k.compute = compute;
    k.host_in = host_in;
    k.prepare = prepare;
    k.state_size = state_size;
    return k;
}

#define HOST_ARG(n) (UINT32_C(1) << (n))

#define CUDA_FAMILY_OF(name_)                                        \
    extern "C" const struct tfd_family tfd_cuda_family_##name_ = {   \
        #name_, nullptr, 0, kernels, TFD_COUNT(kernels), nullptr, 0, \
    }

/* ---- Elements ------------------------------------------------------------ */

template <typename T, int N> struct alignas(sizeof(T) * N) pack {
    T v[N];
};

/* As many as fit in 16 bytes of the larger type. */
template <typename A, typename Y> constexpr int pack_size()
{
    return 16 / (int)(sizeof(A) > sizeof(Y) ? sizeof(A) : sizeof(Y)) > 0
               ? 16 / (int)(sizeof(A) > sizeof(Y) ? sizeof(A) : sizeof(Y))
               : 1;
}

static inline bool is_aligned(const void *a, const void *b, const void *c)
{
    return (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c) & 15) == 0;
}

__device__ inline int64_t thread_index()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ inline int64_t thread_count()
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* y[i] = f(a[i]), f(a[i], b[i]): N at a time, then the rest.  y may be a or b.
 */
template <int N, typename F, typename A, typename Y>
__global__ void map_one(F f, const A *a, Y *y, int64_t n)
{
    for (int64_t i = thread_index(); i < n / N; i += thread_count()) {
        pack<A, N> x = ((const pack<A, N> *)a)[i];
        pack<Y, N> r;

#pragma unroll
        for (int j = 0; j < N; j++)
            r.v[j] = f(x.v[j]);
        ((pack<Y, N> *)y)[i] = r;
    }
    for (int64_t i = n / N * N + thread_index(); i < n; i += thread_count())
        y[i] = f(a[i]);
}

template <int N, typename F, typename A, typename Y>
__global__ void map_two(F f, const A *a, const A *b, Y *y, int64_t n)
{
    for (int64_t i = thread_index(); i < n / N; i += thread_count()) {
        pack<A, N> p = ((const pack<A, N> *)a)[i];
        pack<A, N> q = ((const pack<A, N> *)b)[i];
        pack<Y, N> r;

#pragma unroll
        for (int j = 0; j < N; j++)
            r.v[j] = f(p.v[j], q.v[j]);
        ((pack<Y, N> *)y)[i] = r;
    }
    for (int64_t i = n / N * N + thread_index(); i < n; i += thread_count())
        y[i] = f(a[i], b[i]);
}

template <typename F, typename A, typename Y>
static enum tfd_code run_one(struct tfd_kctx *k, F f, const A *a, Y *y,
                             int64_t n, struct tfd_status *st)
{
    constexpr int N = pack_size<A, Y>();

    if (n == 0)
        return TFD_OK; /* an empty grid is an error to CUDA */
    if (is_aligned(a, y, y))
        map_one<N>
            <<<blocks_for(k, (n + N - 1) / N), THREADS, 0, stream_of(k)>>>(
                f, a, y, n);
    else
        map_one<1><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(f, a, y, n);
    return launched(k, st);
}

template <typename F, typename A, typename Y>
static enum tfd_code run_two(const struct tfd_kctx *k, F f, const A *a,
                             const A *b, Y *y, int64_t n, struct tfd_status *st)
{
    constexpr int N = pack_size<A, Y>();

    if (n == 0)
        return TFD_OK;
    if (is_aligned(a, b, y))
        map_two<N>
            <<<blocks_for(k, (n + N - 1) / N), THREADS, 0, stream_of(k)>>>(
                f, a, b, y, n);
    else
        map_two<1>
            <<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(f, a, b, y, n);
    return launched(k, st);
}

/* y[i] = f(i) */
template <typename F, typename Y>
__global__ void map_index(const __grid_constant__ F f, Y *y, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count())
        y[i] = f(i);
}

template <typename F, typename Y>
static enum tfd_code run_index(struct tfd_kctx *k, F f, Y *y, int64_t n,
                               struct tfd_status *st)
{
    if (n == 0)
        return TFD_OK;
    map_index<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(f, y, n);
    return launched(k, st);
}

/* ---- Within a block ------------------------------------------------------ */

/* Folds one value of each of THREADS threads, in a fixed order; the result is
 * thread 0's, and everybody's when `all` is set. */
template <typename W, typename F>
__device__ inline W fold_block(W x, F f, bool all)
{
    __shared__ W part[THREADS / 32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    for (int step = 16; step > 0; step /= 2)
        x = f(x, (W)__shfl_down_sync(0xffffffffu, x, step));
    __syncthreads(); /* of a use before this one */
    if (lane == 0)
        part[warp] = x;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < THREADS / 32; i++)
            x = f(x, part[i]);
        part[0] = x;
    }
    if (!all)
        return x;
    __syncthreads();
    return part[0];
}

#endif
