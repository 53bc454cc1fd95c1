/*
 * select.cu - Select, SelectV2 of kernels/select.c: elements of 1, 2, 4, 8 or
 * 16 bytes, by 16 bytes where rows are a multiple of that.  The condition lies
 * on the device, so that also one for the whole result is looked at there.
 */
#include "cuda/divisor.cuh"
#include "cuda/item.cuh"
#include "cuda/packs.cuh"

extern "C" {
#include "kernels/broadcast.h"
#include "kernels/outputs.h"
}

namespace
{

/* ---- Loops --------------------------------------------------------------- */

/* Steps of the condition and of both values: 1 or 0, a value for all. */
struct steps {
    int of[3];
};

/* Those that are not repeated lie at a multiple of N. */
template <int N, typename T>
__device__ inline pack<T, N> choose_pack(const tfd_bool *c, const T *t,
                                         const T *e, const struct steps &step)
{
    pack<tfd_bool, N> which = take_pack<N>(c, step.of[0] == 0);
    pack<T, N> yes = take_pack<N>(t, step.of[1] == 0);
    pack<T, N> no = take_pack<N>(e, step.of[2] == 0);

#pragma unroll
    for (int j = 0; j < N; j++)
        if (which.v[j])
            no.v[j] = yes.v[j];
    return no;
}

template <int N, typename T>
__global__ void choose_row(const tfd_bool *c, const T *t, const T *e, T *y,
                           int64_t n, struct steps s)
{
    for (int64_t i = thread_index(); i < n / N; i += thread_count())
        ((pack<T, N> *)y)[i] = choose_pack<N>(
            c + i * N * s.of[0], t + i * N * s.of[1], e + i * N * s.of[2], s);
    for (int64_t i = n / N * N + thread_index(); i < n; i += thread_count())
        y[i] = c[i * s.of[0]] ? t[i * s.of[1]] : e[i * s.of[2]];
}

struct strides {
    int rank;
    struct divisor dim[TFD_RANK_MAX + 1];
    int64_t step[3][TFD_RANK_MAX + 1];
};

/* n packs, of which the last dimension is. */
template <int N, typename T>
__global__ void choose_strided(const tfd_bool *c, const T *t, const T *e,
                               pack<T, N> *y, int64_t n, struct steps step,
                               const __grid_constant__ struct strides s)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t rest = i, at[3] = {0, 0, 0};

        for (int d = s.rank - 1; d >= 0; d--) {
            int64_t place = take_rest(&s.dim[d], &rest);

#pragma unroll
            for (int o = 0; o < 3; o++)
                at[o] += place * s.step[o][d];
        }
        y[i] = choose_pack<N>(c + at[0], t + at[1], e + at[2], step);
    }
}

static struct strides strides_of(const struct tfd_broadcast *p, int size)
{
    struct strides s = {};

    s.rank = p->rank + 1;
    for (int d = 0; d < p->rank; d++)
        s.dim[d] = divisor_of(p->dim[d]);
    s.dim[p->rank] = divisor_of(p->row_size / size);
    for (int o = 0; o < 3; o++) {
        for (int d = 0; d < p->rank; d++)
            s.step[o][d] = p->step[o][d];
        s.step[o][p->rank] = p->row_step[o] * size;
    }
    return s;
}

/* ---- Kernels ------------------------------------------------------------- */

template <int N, typename T>
static enum tfd_code launch(struct tfd_kctx *k, const struct tfd_broadcast *p,
                            struct tfd_status *st)
{
    const struct steps step = {
        {p->row_step[0], p->row_step[1], p->row_step[2]}};
    const tfd_bool *c = in_at<tfd_bool>(k, 0);
    const T *t = in_at<T>(k, 1), *e = in_at<T>(k, 2);
    int64_t n = tfd_tensor_elements(&k->out[0]), packs = (n + N - 1) / N;

    if (p->rows == 1)
        choose_row<N><<<blocks_for(k, packs), THREADS, 0, stream_of(k)>>>(
            c, t, e, out_at<T>(k, 0), n, step);
    else
        choose_strided<N><<<blocks_for(k, packs), THREADS, 0, stream_of(k)>>>(
            c, t, e, out_at<pack<T, N>>(k, 0), packs, step, strides_of(p, N));
    return launched(k, st);
}

/* A repeated operand is read by itself, wherever it lies. */
template <typename T>
static enum tfd_code run(struct tfd_kctx *k, const struct tfd_broadcast *p,
                         struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    bool packed = p->rows == 1 || p->row_size % N == 0;

    for (int o = 0; o < 3; o++)
        packed = packed && (!p->row_step[o] || is_multiple(in_at<T>(k, o), 16));
    if (packed && is_multiple(out_at<T>(k, 0), 16))
        return launch<N, T>(k, p, st);
    return launch<1, T>(k, p, st);
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
    return BY_SIZE(tfd_dtype_size(dtype), run, k, &plan, st);
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
