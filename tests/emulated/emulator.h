/*
 * emulator.h - a GPU without a card: the kernels of .cu files on the CPU.
 *
 * launches.py writes each `f<<<grid, block, bytes, stream>>>(args)` as a call
 * of launch() below, and g++ compiles the rest as it is.  A stream is a thread
 * that works off what is enqueued, so order and completion are real.  A block's
 * threads are fibers of that thread: one runs until it reaches a barrier, then
 * the next; a barrier that some threads never reach ends the process.  Blocks
 * run one after another, in no promised order.
 *
 * Memory of a device is a range that can be touched only while a stream is at
 * work, so a host that follows a device pointer is likely to end with SIGSEGV.
 *
 * What it cannot show: times, races between blocks, memory order.
 */
#ifndef TFD_TESTS_EMULATED_EMULATOR_H
#define TFD_TESTS_EMULATED_EMULATOR_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmath>
#include <functional>
#include <tuple>

#define __global__ static
#define __grid_constant__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
/* Blocks of one thread run one after another. */
#define __shared__ static thread_local

/* ---- The runtime's names ------------------------------------------------- */

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;

    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1)
        : x(x_), y(y_), z(z_)
    {
    }
};

struct float4 {
    float x, y, z, w;
};

typedef struct emulated_stream *cudaStream_t;
typedef int cudaError_t;

enum { cudaSuccess = 0 };
enum cudaMemcpyKind {
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
};

extern "C" {
cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t s);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size,
                            enum cudaMemcpyKind kind, cudaStream_t s);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
}

/* ---- Threads of a block -------------------------------------------------- */

namespace emulator
{

struct place {
    uint3 thread, block;
    dim3 block_size, grid_size;
};

/* Said to be made of constants, or each use would ask whether it is made. */
extern __constinit thread_local struct place here;

/* A launch on a stream, which must be of this thread's device; notes its line
 * for $EMULATED_LAUNCHES, a file that the process appends it to. */
void begin_launch(const char *site, cudaStream_t s);
void enqueue(cudaStream_t s, std::function<void()> work);
/* On a stream's thread. */
void run_grid(dim3 grid, dim3 block, const std::function<void()> &thread);
/* All threads of the block, or the warp, that still run. */
void barrier();
void warp_barrier();
/* Where a lane leaves 8 bytes for the others of its warp. */
uint64_t *lane_slot(unsigned lane);
unsigned lane();

template <typename F, typename... A>
void launch(const char *site, dim3 grid, dim3 block, size_t bytes,
            cudaStream_t s, F f, A... a)
{
    (void)bytes;
    begin_launch(site, s);
    enqueue(
        s, [grid, block, f, a...] { run_grid(grid, block, [&] { f(a...); }); });
}

template <typename T> T exchange(T x, unsigned from)
{
    T y = x;

    static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle is of 8 bytes");
    __builtin_memcpy(lane_slot(lane()), &x, sizeof(x));
    warp_barrier();
    if (from < 32)
        __builtin_memcpy(&y, lane_slot(from), sizeof(y));
    warp_barrier();
    return y;
}

} /* namespace emulator */

#define threadIdx (emulator::here.thread)
#define blockIdx (emulator::here.block)
#define blockDim (emulator::here.block_size)
#define gridDim (emulator::here.grid_size)
#define warpSize 32

static inline void __syncthreads()
{
    emulator::barrier();
}

static inline void __syncwarp(unsigned mask = ~0u)
{
    (void)mask;
    emulator::warp_barrier();
}

template <typename T> T __shfl_sync(unsigned, T x, int from)
{
    return emulator::exchange(x, (unsigned)from % 32);
}

template <typename T> T __shfl_down_sync(unsigned, T x, unsigned by)
{
    return emulator::exchange(x, emulator::lane() + by);
}

template <typename T> T __shfl_up_sync(unsigned, T x, unsigned by)
{
    return emulator::exchange(x, emulator::lane() - by);
}

template <typename T> T __shfl_xor_sync(unsigned, T x, int with)
{
    return emulator::exchange(x, emulator::lane() ^ (unsigned)with);
}

static inline unsigned __ballot_sync(unsigned mask, int vote)
{
    unsigned votes = 0;

    for (unsigned i = 0; i < 32; i++)
        votes |= (unsigned)(__shfl_sync(mask, vote, (int)i) != 0) << i;
    return votes;
}

/* ---- Functions of the device --------------------------------------------- */

template <typename T> T __ldg(const T *at)
{
    return *at;
}

template <typename T> T atomicCAS(T *at, T expected, T value)
{
    __atomic_compare_exchange(at, &expected, &value, false, __ATOMIC_SEQ_CST,
                              __ATOMIC_SEQ_CST);
    return expected;
}

/* *at = f(*at), at once. */
template <typename T, typename F> T emulated_atomic(T *at, F f)
{
    T before, after;

    __atomic_load(at, &before, __ATOMIC_SEQ_CST);
    do
        after = f(before);
    while (!__atomic_compare_exchange(at, &before, &after, false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return before;
}

template <typename T, typename U> T atomicAdd(T *at, U x)
{
    return emulated_atomic(at, [x](T old) { return (T)(old + (T)x); });
}

template <typename T, typename U> T atomicMax(T *at, U x)
{
    return emulated_atomic(at, [x](T old) { return old < (T)x ? (T)x : old; });
}

template <typename T, typename U> T atomicMin(T *at, U x)
{
    return emulated_atomic(at, [x](T old) { return (T)x < old ? (T)x : old; });
}

template <typename T, typename U> T atomicOr(T *at, U x)
{
    return emulated_atomic(at, [x](T old) { return (T)(old | (T)x); });
}

template <typename T, typename U> T atomicExch(T *at, U x)
{
    return emulated_atomic(at, [x](T) { return (T)x; });
}

static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}

static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

static inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}

template <typename To, typename From> To emulated_bits(From x)
{
    To y;

    static_assert(sizeof(To) == sizeof(From), "bits of the same size");
    __builtin_memcpy(&y, &x, sizeof(y));
    return y;
}

static inline unsigned __float_as_uint(float x)
{
    return emulated_bits<unsigned>(x);
}

static inline int __float_as_int(float x)
{
    return emulated_bits<int>(x);
}

static inline float __uint_as_float(unsigned x)
{
    return emulated_bits<float>(x);
}

static inline float __int_as_float(int x)
{
    return emulated_bits<float>(x);
}

static inline long long __double_as_longlong(double x)
{
    return emulated_bits<long long>(x);
}

static inline double __longlong_as_double(long long x)
{
    return emulated_bits<double>(x);
}

/* Never made a multiplication with addition. */
static inline float __fmul_rn(float x, float y)
{
    return x * y;
}

static inline double __dmul_rn(double x, double y)
{
    return x * y;
}

static inline float __fadd_rn(float x, float y)
{
    return x + y;
}

static inline double __dadd_rn(double x, double y)
{
    return x + y;
}

static inline float rsqrt(float x)
{
    return 1 / std::sqrt(x);
}

static inline double rsqrt(double x)
{
    return 1 / std::sqrt(x);
}

template <typename T> static inline T min(T a, T b)
{
    return b < a ? b : a;
}

template <typename T> static inline T max(T a, T b)
{
    return a < b ? b : a;
}

#include <math.h>

#endif
