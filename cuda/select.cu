/*
 * select.cu - Select, SelectV2 of kernels/select.c: by elements of 1, 2, 4, 8
 * or 16 bytes.  The condition lies on the device, so that also one for the
 * whole result is looked at there.
 */
#include "cuda/divisor.cuh"
#include "cuda/item.cuh"

extern "C" {
#include "kernels/broadcast.h"
#include "kernels/outputs.h"
}

namespace
{

/* ---- Loops --------------------------------------------------------------- */

template <int N, typename T>
__global__ void choose_packs(const tfd_bool *c, const T *t, const T *e, T *y,
                             int64_t n)
{
    for (int64_t i = thread_index(); i < n / N; i += thread_count()) {
        pack<tfd_bool, N> which = ((const pack<tfd_bool, N> *)c)[i];
        pack<T, N> yes = ((const pack<T, N> *)t)[i];
        pack<T, N> no = ((const pack<T, N> *)e)[i];

#pragma unroll
        for (int j = 0; j < N; j++)
            if (which.v[j])
                no.v[j] = yes.v[j];
        ((pack<T, N> *)y)[i] = no;
    }
    for (int64_t i = n / N * N + thread_index(); i < n; i += thread_count())
        y[i] = c[i] ? t[i] : e[i];
}

/* Each steps by 1 or by 0. */
template <typename T>
__global__ void choose_steps(const tfd_bool *c, const T *t, const T *e, T *y,
                             int64_t n, int c_step, int t_step, int e_step)
{
    for (int64_t i = thread_index(); i < n; i += thread_count())
        y[i] = c[i * c_step] ? t[i * t_step] : e[i * e_step];
}

struct strides {
    int rank;
    struct divisor dim[TFD_RANK_MAX + 1];
    int64_t step[3][TFD_RANK_MAX + 1];
};

template <typename T>
__global__ void choose_strided(const tfd_bool *c, const T *t, const T *e, T *y,
                               int64_t n, struct strides s)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t rest = i, at[3] = {0, 0, 0};

        for (int d = s.rank - 1; d >= 0; d--) {
            int64_t place = take_rest(&s.dim[d], &rest);

            for (int o = 0; o < 3; o++)
                at[o] += place * s.step[o][d];
        }
        y[i] = c[at[0]] ? t[at[1]] : e[at[2]];
    }
}

static struct strides strides_of(const struct tfd_broadcast *p)
{
    struct strides s = {};

    s.rank = p->rank + 1;
    for (int d = 0; d < p->rank; d++)
        s.dim[d] = divisor_of(p->dim[d]);
    s.dim[p->rank] = divisor_of(p->row_size);
    for (int o = 0; o < 3; o++) {
        for (int d = 0; d < p->rank; d++)
            s.step[o][d] = p->step[o][d];
        s.step[o][p->rank] = p->row_step[o];
    }
    return s;
}

/* ---- Kernels ------------------------------------------------------------- */

template <typename T>
static enum tfd_code run(struct tfd_kctx *k, const struct tfd_broadcast *p,
                         struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    const tfd_bool *c = in_at<tfd_bool>(k, 0);
    const T *t = in_at<T>(k, 1), *e = in_at<T>(k, 2);
    T *y = out_at<T>(k, 0);
    int64_t n = tfd_tensor_elements(&k->out[0]);
    const int *step = p->row_step;

    if (p->rows != 1)
        choose_strided<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            c, t, e, y, n, strides_of(p));
    else if (step[0] && step[1] && step[2] && is_aligned(t, e, y) &&
             is_aligned(c, c, c))
        choose_packs<N>
            <<<blocks_for(k, (n + N - 1) / N), THREADS, 0, stream_of(k)>>>(
                c, t, e, y, n);
    else
        choose_steps<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            c, t, e, y, n, step[0], step[1], step[2]);
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
