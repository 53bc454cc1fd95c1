/*
 * where.cu - Where of kernels/array/transpose.c: counts what is not zero, has the
 * output made for so many, and writes where they are, in their order.
 */
#include "cuda/lib/divisor.cuh"
#include "cuda/device/later.cuh"
#include "cuda/lib/scan.cuh"

extern "C" {
#include "kernels/core/outputs.h"
}

namespace
{

template <typename T> __device__ inline bool is_set(T x)
{
    return widen(x) != 0;
}

/* Complex numbers, by the type of their parts. */
template <typename R> struct alignas(2 * sizeof(R)) pair {
    R re, im;
};
template <typename R> __device__ inline bool is_set(pair<R> x)
{
    return x.re != 0 || x.im != 0;
}

template <typename T> struct is_true {
    const T *x;

    __device__ bool operator()(int64_t i) const
    {
        return is_set(x[i]);
    }
    template <int N> __device__ int count(int64_t i) const
    {
        pack<T, N> p = *(const pack<T, N> *)(x + i);
        int n = 0;

#pragma unroll
        for (int j = 0; j < N; j++)
            n += is_set(p.v[j]) ? 1 : 0;
        return n;
    }
};

struct put_place {
    int64_t *y;
    int rank;
    struct divisor dim[TFD_RANK_MAX];

    __device__ void operator()(int64_t i, int64_t row) const
    {
        for (int d = rank - 1; d >= 0; d--)
            y[row * rank + d] = take_rest(&dim[d], &i);
    }
};

static struct put_place put_place_of(int64_t *y, const struct tfd_shape *x)
{
    struct put_place p = {y, x->rank, {}};

    for (int d = 0; d < x->rank; d++)
        p.dim[d] = divisor_of(x->dim[d]);
    return p;
}

static enum tfd_code make_output(struct tfd_kctx *k, int64_t count,
                                 struct tfd_status *st)
{
    struct tfd_shape shape = {2, {count, k->in[0].shape.rank}};

    TFD_TRY(tfd_shape_make(&shape, shape.dim, 2, st));
    return tfd_kctx_output(k, 0, TFD_INT64, &shape, st);
}

template <typename T>
static enum tfd_code where_then(struct tfd_kctx *k, struct later *l,
                                struct tfd_status *st)
{
    TFD_TRY(make_output(k, l->number[0], st));
    if (!k->out[0].buffer)
        return TFD_OK;
    return scan_find(k, is_true<T>{in_at<T>(k, 0)},
                     put_place_of(out_at<int64_t>(k, 0), &k->in[0].shape),
                     scan_pieces_of(tfd_tensor_elements(&k->in[0])),
                     later_work<int64_t>(l), st);
}

template <typename T>
static enum tfd_code where_first(struct tfd_kctx *k, struct later *l,
                                 struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(&k->in[0]);
    int64_t *count = later_work<int64_t>(l), *all = later_numbers(l);
    struct scan_pieces p = scan_pieces_of(n);
    const T *x = in_at<T>(k, 0);

    TFD_TRY(tfd_where_check(k, st));
    if (n == 0)
        return make_output(k, 0, st);
    l->then = where_then<T>;
    if (is_aligned(x, x, x))
        return scan_count<pack_size<T, T>()>(k, is_true<T>{x}, p, count, all,
                                             st);
    return scan_count(k, is_true<T>{x}, p, count, all, st);
}

template <typename T> static void where_start(struct tfd_kctx *k)
{
    later_start(k, where_first<T>, 1, SCAN_PIECES * sizeof(int64_t));
}

#define ROW(name, T) later_row("Where", TFD_##name, where_start<T>),

static const struct tfd_kernel kernels[] = {
    ROW(FLOAT, float) ROW(DOUBLE, double) ROW(INT64, int64_t) ROW(INT8, int8_t)
        ROW(UINT8, uint8_t) ROW(BOOL, tfd_bool) ROW(COMPLEX64, pair<float>)
            ROW(COMPLEX128, pair<double>)};

} /* namespace */

CUDA_FAMILY_OF(where);
