/*
 * select.cu - Select, SelectV2 of kernels/math/select.c: by elements of 1, 2, 4, 8
 * or 16 bytes.  The condition lies on the device, so that also one for the
 * whole result is looked at there.
 */
#include "cuda/lib/broadcast.cuh"
#include "cuda/lib/item.cuh"

extern "C" {
#include "kernels/core/outputs.h"
}

namespace
{

template <int N, typename T>
__global__ void choose_packs(const tfd_bool *c, const T *t, const T *e, T *y,
                             int64_t n,
                             const __grid_constant__ struct strides s)
{
    for (int64_t i = thread_index() * N; i < n; i += thread_count() * N) {
        int count = n - i < N ? (int)(n - i) : N;
        pack<tfd_bool, N> which = take<N>(c, s, 0, i, count);
        pack<T, N> yes = take<N>(t, s, 1, i, count);
        pack<T, N> no = take<N>(e, s, 2, i, count);

#pragma unroll
        for (int j = 0; j < N; j++)
            if (which.v[j])
                no.v[j] = yes.v[j];
        give(y, s, i, count, no);
    }
}

template <typename T>
static enum tfd_code run_select(struct tfd_kctx *k, const struct tfd_broadcast *p,
                         struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    const tfd_bool *c = in_at<tfd_bool>(k, 0);
    const T *t = in_at<T>(k, 1), *e = in_at<T>(k, 2);
    const void *const in[3] = {c, t, e};
    T *y = out_at<T>(k, 0);
    int64_t n = tfd_tensor_elements(&k->out[0]);

    choose_packs<N>
        <<<blocks_for(k, (n + N - 1) / N), THREADS, 0, stream_of(k)>>>(
            c, t, e, y, n, strides_at(p, in, y));
    return launched(k, st);
}

/* `condition` is broadcast with the other inputs' shapes. */
static enum tfd_code choose(struct tfd_kctx *k,
                            const struct tfd_shape *condition,
                            const struct tfd_shape *out, struct tfd_status *st)
{
    const struct tfd_shape t = k->in[1].shape, e = k->in[2].shape;
    const struct tfd_shape *const in[3] = {condition, &t, &e};
    enum tfd_dtype dtype = k->in[1].dtype;
    struct tfd_broadcast plan;

    TFD_TRY(tfd_kctx_output_reuse(k, 6, 0, dtype, out, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    tfd_broadcast_plan(&plan, out, in, 3);
    return BY_SIZE(tfd_dtype_size(dtype), run_select, k, &plan, st);
}

static enum tfd_code select_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape condition, out = k->in[1].shape;

    TFD_TRY(tfd_select_condition(k, &condition, st));
    return choose(k, &condition, &out, st);
}

static enum tfd_code select_v2_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape condition = k->in[0].shape, out;

    TFD_TRY(tfd_select_v2_shape(k, &out, st));
    return choose(k, &condition, &out, st);
}

#define V2(name) row("SelectV2", TFD_##name, select_v2_gpu),
#define BOTH(name) row("Select", TFD_##name, select_gpu), V2(name)

static const struct tfd_kernel kernels[] = {
    CUDA_ITEM_DTYPES(BOTH) BOTH(INT64) BOTH(INT32) V2(INT8) V2(UINT8) V2(INT16)
        V2(UINT16) V2(UINT32) V2(UINT64)};

} /* namespace */

CUDA_FAMILY_OF(select);
