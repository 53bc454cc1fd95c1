/*
 * transpose.cu - Transpose, OneHot of kernels/array/transpose.c: by elements of 1, 2,
 * 4, 8 or 16 bytes.
 */
#include "cuda/lib/index.cuh"
#include "cuda/lib/packs.cuh"
#include "cuda/lib/permute.cuh"

extern "C" {
#include "kernels/core/outputs.h"
}

namespace
{

static enum tfd_code transpose_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape in = k->in[0].shape;
    int perm[TFD_RANK_MAX] = {0};
    struct tfd_shape out = in;
    struct permutation p;

    TFD_TRY(tfd_transpose_perm(&k->in[1], in.rank, perm, st));
    for (int d = 0; d < in.rank; d++)
        out.dim[d] = in.dim[perm[d]];
    p = permutation_of(in.rank, in.dim, perm);
    if (is_in_order(&p)) {
        tfd_kctx_output_alias(k, 0, 0, &out);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &out, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    return run_permutation(k, p, tfd_dtype_size(k->in[0].dtype),
                           in_at<void>(k, 0), out_at<void>(k, 0), st);
}

/* ---- OneHot -------------------------------------------------------------- */

/* y is [outer, depth, inner], the classes [outer, inner]. */
template <typename T> struct one_hot {
    struct indices classes;
    const T *on, *off;
    struct divisor depth, inner;

    /* A row of y is of one class if inner is 1, else of one place. */
    template <int N> __device__ pack<T, N> make(int64_t e) const
    {
        int64_t outer = e, at = take_rest(&inner, &outer);
        int64_t row = take_rest(&depth, &outer);
        int64_t from = outer * inner.by + at, found = classes[from];
        const T yes = *on, no = *off;
        bool is_one = inner.by == 1;
        pack<T, N> p;

#pragma unroll
        for (int j = 0; j < N; j++) {
            if (j > 0 && !is_one)
                found = classes[from + j];
            p.v[j] = found == row + (is_one ? j : 0) ? yes : no;
        }
        return p;
    }
};

static enum tfd_code one_hot_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_one_hot h;
    int64_t n;

    TFD_TRY(tfd_one_hot_make(k, &h, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[2].dtype, &h.out, st));
    n = tfd_shape_elements(&h.out);
    if (n == 0)
        return TFD_OK;
    return with_item(tfd_dtype_size(k->in[2].dtype), [&](auto item) {
        using T = decltype(item);

        return run_packs(k,
                         one_hot<T>{indices_of(&k->in[0]), in_at<T>(k, 2),
                                    in_at<T>(k, 3), divisor_of(h.depth),
                                    divisor_of(h.inner)},
                         out_at<T>(k, 0), out_at<T>(k, 0), n,
                         h.inner == 1 ? h.depth : h.inner, st);
    });
}

#define ROW(name, T) row("Transpose", TFD_##name, transpose_gpu, HOST_ARG(1)),
#define HOT(name, T)                                                         \
    row("OneHot", TFD_##name, one_hot_gpu, HOST_ARG(1), tfd_one_hot_prepare, \
        sizeof(struct tfd_one_hot_state)),
#define BOTH(name, T) ROW(name, T) HOT(name, T)

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(BOTH) CUDA_INT_DTYPES(ROW) BOTH(INT32, int32_t)
        BOTH(BOOL, tfd_bool) BOTH(COMPLEX64, tfd_complex64)
            BOTH(COMPLEX128, tfd_complex128) HOT(INT64, int64_t)
                HOT(INT8, int8_t)};

} /* namespace */

CUDA_FAMILY_OF(transpose);
