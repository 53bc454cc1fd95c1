/*
 * random.cu - tensors of random numbers of kernels/random/random.c: a thread makes a
 * group of elements (kernels/random/random_make.h) from its own place of the stream.
 *
 * Integers and uniform numbers have the CPU's bits; the others differ from them
 * by what the logarithm and the sine of the two differ.
 */
#include "cuda/lib/launch.cuh"

#include <math.h>
#include <string.h>

extern "C" {
#include "kernels/random/random.h"
#include "kernels/random/random_make.h"
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
            uint32_t x[4];                                           \
                                                                     \
            tfd_philox_next(g, x);                                   \
            tfd_random_make_##maker##_##T(f, g, x, out);             \
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

static constexpr struct tfd_kernel shared(struct tfd_kernel k)
{
    k.flags = TFD_KERNEL_SHARED;
    return k;
}

/* Shapes, seeds, algorithms and bounds are the host's. */
#define BOUNDS(bounded, first) \
    ((bounded) ? HOST_ARG(first) | HOST_ARG((first) + 1) : 0)
#define STREAM(R, bounded)                                           \
    random_gpu<R, TFD_RANDOM_FROM_STREAM, bounded>,                  \
        HOST_ARG(0) | BOUNDS(bounded, 1), tfd_random_stream_prepare, \
        sizeof(struct tfd_random_state)
#define SEEDS(R, bounded)                          \
    random_gpu<R, TFD_RANDOM_FROM_SEEDS, bounded>, \
        HOST_ARG(0) | HOST_ARG(1) | BOUNDS(bounded, 2)
#define KEY(R, bounded)                          \
    random_gpu<R, TFD_RANDOM_FROM_KEY, bounded>, \
        HOST_ARG(0) | HOST_ARG(3) | BOUNDS(bounded, 4)

#define ROWS_UNIFORM(R, dtype)                                 \
    shared(row("RandomUniform", dtype, STREAM(R, false))),     \
        row("StatelessRandomUniform", dtype, SEEDS(R, false)), \
        row("StatelessRandomUniformV2", dtype, KEY(R, false)),
#define ROWS_UNIFORM_INT(R, dtype)                               \
    shared(row("RandomUniformInt", dtype, STREAM(R, true))),     \
        row("StatelessRandomUniformInt", dtype, SEEDS(R, true)), \
        row("StatelessRandomUniformIntV2", dtype, KEY(R, true)),
#define ROWS_FULL_INT(R, dtype)                                   \
    row("StatelessRandomUniformFullInt", dtype, SEEDS(R, false)), \
        row("StatelessRandomUniformFullIntV2", dtype, KEY(R, false)),
#define ROWS_NORMAL(R, dtype)                                     \
    shared(row("RandomStandardNormal", dtype, STREAM(R, false))), \
        row("StatelessRandomNormal", dtype, SEEDS(R, false)),     \
        row("StatelessRandomNormalV2", dtype, KEY(R, false)),
#define ROWS_TRUNCATED_NORMAL(R, dtype)                          \
    shared(row("TruncatedNormal", dtype, STREAM(R, false))),     \
        row("StatelessTruncatedNormal", dtype, SEEDS(R, false)), \
        row("StatelessTruncatedNormalV2", dtype, KEY(R, false)),
#define ROWS(KIND, DTYPE, T, maker, count, stride, cost) \
    ROWS_##KIND(KIND##_##DTYPE, TFD_##DTYPE)

static const struct tfd_kernel kernels[] = {TFD_RANDOM_RULES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(random);
