/*
 * random.cu - tensors of random numbers of kernels/random.c: a thread makes a
 * group of elements (kernels/random_make.h) from its own place of the stream.
 *
 * Integers and uniform numbers have the CPU's bits; the others differ from them
 * by what the logarithm and the sine of the two differ.
 */
#include "cuda/launch.cuh"

#include <math.h>
#include <string.h>

extern "C" {
#include "kernels/random.h"
#include "kernels/random_make.h"
}

namespace
{

#define RULE(KIND, DTYPE, T, maker, count_, stride_, cost)           \
    struct KIND##_##DTYPE {                                          \
        using type = T;                                              \
        static constexpr int count = count_;                         \
        static constexpr uint64_t stride = stride_;                  \
        __device__ static void make(const struct tfd_random_fill *f, \
                                    struct tfd_philox *g, T *out)    \
        {                                                            \
            tfd_random_make_##maker##_##T(f, g, out);                \
        }                                                            \
    };

TFD_RANDOM_RULES(RULE)

/* A key and its counter lie on the device. */
template <typename R>
__global__ void fill_groups(struct tfd_random_fill f, const uint64_t *key,
                            const uint64_t *counter)
{
    using T = typename R::type;
    constexpr int N = R::count;
    T *out = (T *)f.out;

    if (key)
        f.generator = tfd_random_keyed(key, counter);
    for (int64_t i = thread_index(); i * N < f.size; i += thread_count()) {
        struct tfd_philox g = tfd_random_make_at(&f, i, R::stride);
        pack<T, N> group;

        R::make(&f, &g, group.v);
        if (i * N + N <= f.size) {
            ((pack<T, N> *)out)[i] = group;
            continue;
        }
#pragma unroll
        for (int j = 0; j < N; j++)
            if (i * N + j < f.size)
                out[i * N + j] = group.v[j];
    }
}

template <typename R, enum tfd_random_from FROM, bool BOUNDED>
static enum tfd_code random_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    constexpr bool keyed = FROM == TFD_RANDOM_FROM_KEY;
    struct tfd_random_fill f = {};
    int64_t groups;

    TFD_TRY(tfd_random_begin(k, FROM, BOUNDED, &f, st));
    if (f.size == 0)
        return TFD_OK;
    groups = (f.size - 1) / R::count + 1;
    fill_groups<R><<<blocks_for(k, groups), THREADS, 0, stream_of(k)>>>(
        f, keyed ? in_at<uint64_t>(k, 1) : nullptr,
        keyed ? in_at<uint64_t>(k, 2) : nullptr);
    return launched(k, st);
}

/* ---- Rows ---------------------------------------------------------------- */

static constexpr struct tfd_kernel stream_row(const char *op,
                                              enum tfd_dtype dtype,
                                              tfd_compute_fn *compute,
                                              uint32_t host_in)
{
    struct tfd_kernel k =
        row(op, dtype, compute, host_in, tfd_random_stream_prepare,
            sizeof(struct tfd_random_state));

    k.flags = TFD_KERNEL_SHARED;
    return k;
}

/* Shapes, seeds, algorithms and bounds are the host's. */
#define STREAM(op, R, dtype, bounded)                                     \
    stream_row(op, dtype, random_gpu<R, TFD_RANDOM_FROM_STREAM, bounded>, \
               HOST_ARG(0) | (bounded ? HOST_ARG(1) | HOST_ARG(2) : 0)),
#define SEEDS(op, R, dtype, bounded)                              \
    row(op, dtype, random_gpu<R, TFD_RANDOM_FROM_SEEDS, bounded>, \
        HOST_ARG(0) | HOST_ARG(1) |                               \
            (bounded ? HOST_ARG(2) | HOST_ARG(3) : 0)),
#define KEY(op, R, dtype, bounded)                              \
    row(op, dtype, random_gpu<R, TFD_RANDOM_FROM_KEY, bounded>, \
        HOST_ARG(0) | HOST_ARG(3) |                             \
            (bounded ? HOST_ARG(4) | HOST_ARG(5) : 0)),

#define ROWS_UNIFORM(R, dtype)                       \
    STREAM("RandomUniform", R, dtype, false)         \
    SEEDS("StatelessRandomUniform", R, dtype, false) \
    KEY("StatelessRandomUniformV2", R, dtype, false)
#define ROWS_UNIFORM_INT(R, dtype)                     \
    STREAM("RandomUniformInt", R, dtype, true)         \
    SEEDS("StatelessRandomUniformInt", R, dtype, true) \
    KEY("StatelessRandomUniformIntV2", R, dtype, true)
#define ROWS_FULL_INT(R, dtype)                             \
    SEEDS("StatelessRandomUniformFullInt", R, dtype, false) \
    KEY("StatelessRandomUniformFullIntV2", R, dtype, false)
#define ROWS_NORMAL(R, dtype)                       \
    STREAM("RandomStandardNormal", R, dtype, false) \
    SEEDS("StatelessRandomNormal", R, dtype, false) \
    KEY("StatelessRandomNormalV2", R, dtype, false)
#define ROWS_TRUNCATED_NORMAL(R, dtype)                \
    STREAM("TruncatedNormal", R, dtype, false)         \
    SEEDS("StatelessTruncatedNormal", R, dtype, false) \
    KEY("StatelessTruncatedNormalV2", R, dtype, false)
#define ROWS(KIND, DTYPE, T, maker, count, stride, cost) \
    ROWS_##KIND(KIND##_##DTYPE, TFD_##DTYPE)

static const struct tfd_kernel kernels[] = {TFD_RANDOM_RULES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(random);
