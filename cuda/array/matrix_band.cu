/*
 * matrix_band.cu - MatrixBandPart, Diag, DiagPart of kernels/array/matrix_band.c:
 * rows by 16 bytes where they are a multiple of that.
 */
#include "cuda/lib/divisor.cuh"
#include "cuda/lib/item.cuh"
#include "cuda/lib/packs.cuh"

extern "C" {
#include "kernels/array/matrix_band.h"
}

namespace
{

/* x is read where something stays; it may be the output. */
template <typename T> struct in_band {
    const T *x;
    struct tfd_matrix_band b;
    struct divisor columns, rows;

    template <int N> __device__ pack<T, N> make(int64_t i) const
    {
        int64_t rest = i, column = take_rest(&columns, &rest);
        int64_t below = take_rest(&rows, &rest) - column;
        pack<T, N> p = {};

        if ((b.lower >= 0 && below - (N - 1) > b.lower) ||
            (b.upper >= 0 && -below > b.upper))
            return p;
        p = *(const pack<T, N> *)(x + i);
#pragma unroll
        for (int j = 0; j < N; j++)
            if ((b.lower >= 0 && below - j > b.lower) ||
                (b.upper >= 0 && j - below > b.upper))
                p.v[j] = T{};
        return p;
    }
};

template <typename T> struct on_diagonal {
    const T *x;
    struct divisor n;

    template <int N> __device__ pack<T, N> make(int64_t i) const
    {
        int64_t line = i, before = take_rest(&n, &line);
        pack<T, N> p = {};

        before = line - before;
#pragma unroll
        for (int j = 0; j < N; j++)
            if (j == before)
                p.v[j] = x[line];
        return p;
    }
};

template <typename T> struct of_diagonal {
    const T *x;
    int64_t n;

    __device__ T operator()(int64_t i) const
    {
        return x[i * (n + 1)];
    }
};

template <typename T>
static enum tfd_code run_band(struct tfd_kctx *k,
                              const struct tfd_matrix_band *b,
                              struct tfd_status *st)
{
    const T *x = in_at<T>(k, 0);

    return run_packs(
        k, in_band<T>{x, *b, divisor_of(b->columns), divisor_of(b->rows)}, x,
        out_at<T>(k, 0), tfd_tensor_elements(&k->in[0]), b->columns, st);
}

static enum tfd_code band_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_matrix_band b;

    TFD_TRY(tfd_matrix_band_read(k, &b, st));
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    return BY_SIZE(tfd_dtype_size(k->in[0].dtype), run_band, k, &b, st);
}

template <typename T>
static enum tfd_code run_diag(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(&k->in[0]);

    T *y = out_at<T>(k, 0);

    return run_packs(k, on_diagonal<T>{in_at<T>(k, 0), divisor_of(n)}, y, y,
                     n * n, n, st);
}

static enum tfd_code diag_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape out;

    TFD_TRY(tfd_matrix_diag_shape(k, &out, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &out, st));
    return BY_SIZE(tfd_dtype_size(k->in[0].dtype), run_diag, k, st);
}

template <typename T>
static enum tfd_code run_part(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(&k->out[0]);

    return run_index(k, of_diagonal<T>{in_at<T>(k, 0), n}, out_at<T>(k, 0), n,
                     st);
}

static enum tfd_code part_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape out;

    TFD_TRY(tfd_matrix_diag_part_shape(k, &out, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &out, st));
    return BY_SIZE(tfd_dtype_size(k->in[0].dtype), run_part, k, st);
}

#define BAND(name) \
    row("MatrixBandPart", TFD_##name, band_gpu, HOST_ARG(1) | HOST_ARG(2)),
#define DIAG(name) \
    row("Diag", TFD_##name, diag_gpu), row("DiagPart", TFD_##name, part_gpu),

static const struct tfd_kernel kernels[] = {
    CUDA_ITEM_DTYPES(BAND) DIAG(FLOAT) DIAG(DOUBLE) DIAG(HALF) DIAG(INT32)
        DIAG(INT64) DIAG(COMPLEX64) DIAG(COMPLEX128)};

} /* namespace */

CUDA_FAMILY_OF(matrix_band);
