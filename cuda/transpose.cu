/*
 * transpose.cu - Transpose, OneHot of kernels/transpose.c: by elements of 1, 2,
 * 4, 8 or 16 bytes.
 *
 * Two dimensions that change places go through tiles, so that reads and writes
 * both run along memory.
 */
#include "cuda/index.cuh"

extern "C" {
#include "kernels/outputs.h"
}

namespace
{

struct order {
    int rank;
    struct divisor dim[TFD_RANK_MAX]; /* of the output */
    int64_t step[TFD_RANK_MAX];       /* in the input */
};

template <typename T>
__global__ void permute(const T *x, T *y, int64_t n, struct order o)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t rest = i, from = 0;

        for (int d = o.rank - 1; d >= 0; d--)
            from += take_rest(&o.dim[d], &rest) * o.step[d];
        y[i] = x[from];
    }
}

#define TILE 32

/* [rows, columns] to [columns, rows], for each of gridDim.z matrices. */
template <typename T>
__global__ void swap(const T *x, T *y, int64_t rows, int64_t columns)
{
    __shared__ T tile[TILE][TILE + 1];
    int lane = threadIdx.x % TILE, line = threadIdx.x / TILE;
    int64_t left = (int64_t)blockIdx.x * TILE, top = (int64_t)blockIdx.y * TILE;

    x += (int64_t)blockIdx.z * rows * columns;
    y += (int64_t)blockIdx.z * rows * columns;
    for (int i = line; i < TILE; i += THREADS / TILE)
        if (top + i < rows && left + lane < columns)
            tile[i][lane] = x[(top + i) * columns + left + lane];
    __syncthreads();
    for (int i = line; i < TILE; i += THREADS / TILE)
        if (left + i < columns && top + lane < rows)
            y[(left + i) * rows + top + lane] = tile[lane][i];
}

static bool is_swap(const int *perm, int rank)
{
    for (int d = 0; d < rank - 2; d++)
        if (perm[d] != d)
            return false;
    return rank >= 2 && perm[rank - 1] == rank - 2 &&
           perm[rank - 2] == rank - 1;
}

template <typename T>
static enum tfd_code run(struct tfd_kctx *k, const int *perm,
                         const struct order *o, struct tfd_status *st)
{
    const struct tfd_shape *in = &k->in[0].shape;
    int64_t n = tfd_tensor_elements(&k->in[0]);

    if (is_swap(perm, in->rank)) {
        int64_t rows = in->dim[in->rank - 2], columns = in->dim[in->rank - 1];
        int64_t across = (columns + TILE - 1) / TILE;
        int64_t down = (rows + TILE - 1) / TILE, deep = n / (rows * columns);

        if (across <= INT32_MAX && down <= 65535 && deep <= 65535) {
            dim3 grid((unsigned)across, (unsigned)down, (unsigned)deep);

            swap<<<grid, THREADS, 0, stream_of(k)>>>(
                in_at<T>(k, 0), out_at<T>(k, 0), rows, columns);
            return launched(k, st);
        }
    }
    permute<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        in_at<T>(k, 0), out_at<T>(k, 0), n, *o);
    return launched(k, st);
}

static enum tfd_code transpose_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape in = k->in[0].shape;
    int64_t step[TFD_RANK_MAX], size = 1;
    int perm[TFD_RANK_MAX] = {0};
    struct tfd_shape out = in;
    struct order o = {};
    bool same = true;

    TFD_TRY(tfd_transpose_perm(&k->in[1], in.rank, perm, st));
    for (int d = in.rank - 1; d >= 0; d--) {
        step[d] = size;
        size *= in.dim[d];
    }
    o.rank = in.rank;
    for (int d = 0; d < in.rank; d++) {
        out.dim[d] = in.dim[perm[d]];
        o.dim[d] = divisor_of(out.dim[d]);
        o.step[d] = step[perm[d]];
        same = same && perm[d] == d;
    }
    if (same) {
        tfd_kctx_output_alias(k, 0, 0, &out);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &out, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    return with_item(tfd_dtype_size(k->in[0].dtype), [&](auto item) {
        return run<decltype(item)>(k, perm, &o, st);
    });
}

/* ---- OneHot -------------------------------------------------------------- */

/* y is [outer, depth, inner], the classes [outer, inner]. */
template <typename T>
__global__ void one_hot(struct indices classes, const T *on, const T *off, T *y,
                        struct divisor depth, struct divisor inner, int64_t n)
{
    for (int64_t e = thread_index(); e < n; e += thread_count()) {
        int64_t outer = e, at = take_rest(&inner, &outer);
        int64_t row = take_rest(&depth, &outer);

        y[e] = classes[outer * inner.by + at] == row ? *on : *off;
    }
}

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

        one_hot<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            indices_of(&k->in[0]), in_at<T>(k, 2), in_at<T>(k, 3),
            out_at<T>(k, 0), divisor_of(h.depth), divisor_of(h.inner), n);
        return launched(k, st);
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
