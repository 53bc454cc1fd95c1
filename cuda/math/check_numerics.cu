/*
 * check_numerics.cu - CheckNumerics, CheckNumericsV2 of
 * kernels/math/check_numerics.c, which end a step on what the device has seen.
 *
 * Kernels do not wait: one number is set on the device and copied to the host,
 * and the node ends when that copy has passed (later.cuh).
 */
#include "cuda/device/later.cuh"
#include "cuda/lib/packs.cuh"

extern "C" {
#include "kernels/core/outputs.h"
}

namespace
{

template <typename W> __device__ inline unsigned long long what_is(W v)
{
    if (v != v)
        return TFD_NAN_SEEN;
    if (v - v != 0)
        return v < 0 ? TFD_MINUS_SEEN : TFD_PLUS_SEEN;
    return 0;
}

template <int N, typename T>
__global__ void look(const T *x, int64_t n, unsigned long long *found)
{
    unsigned long long seen = 0;

    for (int64_t i = thread_index(); i < n / N; i += thread_count()) {
        wide<T> v[N];

        load_pack<N>(x + i * N, v);
#pragma unroll
        for (int j = 0; j < N; j++)
            seen |= what_is(v[j]);
    }
    for (int64_t i = n / N * N + thread_index(); i < n; i += thread_count())
        seen |= what_is(widen(x[i]));
    if (seen)
        atomicOr(found, seen);
}

static enum tfd_code pass(struct tfd_kctx *k, struct later *l,
                          struct tfd_status *st)
{
    TFD_TRY(tfd_check_numerics_result(k, (int)l->number[0], st));
    tfd_kctx_output_alias(k, 0, 0, &k->in[0].shape);
    return TFD_OK;
}

template <typename T>
static enum tfd_code ask(struct tfd_kctx *k, struct later *l,
                         struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    unsigned long long *found = (unsigned long long *)later_numbers(l);
    const T *x = in_at<T>(k, 0);
    int64_t n = tfd_tensor_elements(&k->in[0]);

    if (n == 0) {
        tfd_kctx_output_alias(k, 0, 0, &k->in[0].shape);
        return TFD_OK;
    }
    l->then = pass;
    TFD_TRY(tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(found, 0, sizeof(*found), stream_of(k)),
        k->kernel->op, st));
    if (is_aligned(x, x, x))
        look<N><<<blocks_for(k, (n + N - 1) / N), THREADS, 0, stream_of(k)>>>(
            x, n, found);
    else
        look<1><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(x, n, found);
    return launched(k, st);
}

template <typename T> static void start(struct tfd_kctx *k)
{
    later_start(k, ask<T>, 1, 0);
}

#define ROW(op, name, T)                                               \
    later_row(op, TFD_##name, start<T>, 0, tfd_check_numerics_prepare, \
              sizeof(struct tfd_check_numerics_state)),
#define ROWS(name, T)             \
    ROW("CheckNumerics", name, T) \
    ROW("CheckNumericsV2", name, T)

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(check_numerics);
