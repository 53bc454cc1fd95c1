/*
 * sparse_matmul.cu - SparseTensorDenseMatMul of kernels/sparse/sparse_matmul.c.
 *
 * Elements of the sparse matrix are sorted by their row in the product.  One
 * whose row is out of range is left out, and one that has no row of the dense
 * matrix makes a row of NaN, as in TensorFlow.
 */
#include "cuda/lib/row_sums.cuh"

extern "C" {
#include "kernels/sparse/sparse_matmul.h"
}

namespace
{

template <typename R> struct complex_number {
    R re, im;

    __device__ void operator+=(const complex_number &b)
    {
        re += b.re;
        im += b.im;
    }
};

template <typename R>
__device__ inline complex_number<R> operator*(complex_number<R> a,
                                              complex_number<R> b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

__device__ inline float conjugate(float x, bool)
{
    return x;
}
__device__ inline double conjugate(double x, bool)
{
    return x;
}
template <typename R>
__device__ inline complex_number<R> conjugate(complex_number<R> x, bool turned)
{
    return {x.re, turned ? -x.im : x.im};
}

__device__ inline void make_nan(float *x)
{
    *x = NAN;
}
__device__ inline void make_nan(double *x)
{
    *x = NAN;
}
template <typename R> __device__ inline void make_nan(complex_number<R> *x)
{
    make_nan(&x->re);
    make_nan(&x->im);
}

template <typename T> struct product {
    struct picks p;
    struct ints indices;
    const T *a, *b;
    struct tfd_sparse_matmul size;

    __device__ int64_t groups() const
    {
        return *p.groups;
    }
    __device__ int64_t row(int64_t group) const
    {
        int64_t row = (int64_t)p.pick[p.head[group]].row();

        return row < size.m ? row : -1;
    }
    __device__ struct row_range range(int64_t group) const
    {
        return {p.head[group], group + 1 < groups() ? p.head[group + 1] : p.n};
    }
    bool is_packed(int n) const
    {
        return size.column == 1 && size.row % n == 0 && is_aligned(b, b, b);
    }
    template <int N>
    __device__ void add(int64_t i, int64_t column, wide<T> *sum) const
    {
        int64_t place = p.pick[i].place();
        int64_t inner = indices[2 * place + !size.adjoint.a];
        wide<T> v[N], factor;

        if (inner < 0 || inner >= size.k) {
#pragma unroll
            for (int j = 0; j < N; j++)
                make_nan(&sum[j]);
            return;
        }
        factor = conjugate(widen(a[place]), size.adjoint.a);
        load_pack<N>(b + inner * size.row + column * size.column, v);
#pragma unroll
        for (int j = 0; j < N; j++)
            sum[j] += factor * conjugate(v[j], size.adjoint.b);
    }
    __device__ wide<T> scaled(wide<T> sum, struct row_range) const
    {
        return sum;
    }
};

struct to_row {
    struct ints indices;
    bool adjoint;

    __device__ int64_t operator()(int64_t i) const
    {
        return indices[2 * i + adjoint];
    }
};

template <typename T>
static enum tfd_code run_product(struct tfd_kctx *k, const struct tfd_sparse_matmul *s,
                         struct tfd_buffer *work, struct tfd_status *st)
{
    int64_t n = k->in[1].shape.dim[0], groups = n < s->m + 1 ? n : s->m + 1;
    int64_t *count = (int64_t *)work->data;
    struct picks p = picks_in(count + 1, count, n);

    TFD_TRY(picks_order(k, to_row{ints_at(k, 0), s->adjoint.a}, &p, s->m, st));
    return run_sums(
        k, product<T>{p, ints_at(k, 0), in_at<T>(k, 1), in_at<T>(k, 3), *s},
        out_at<T>(k, 0), n, groups, s->n, st);
}

template <typename T>
static enum tfd_code multiply_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor *y = &k->out[0];
    struct tfd_sparse_matmul s;
    struct tfd_buffer *work;
    enum tfd_code rc;
    int64_t n;

    TFD_TRY(tfd_sparse_matmul_output(k, &s, st));
    n = k->in[1].shape.dim[0];
    TFD_TRY(picks_check(k, n, s.m, st));
    if (!y->buffer)
        return TFD_OK;
    TFD_TRY(tfd_cuda_device_check(tfd_cuda_device_of(k->memory),
                                  (int)cudaMemsetAsync(tfd_tensor_data(y), 0,
                                                       tfd_tensor_size(y),
                                                       stream_of(k)),
                                  k->kernel->op, st));
    /* Without rows of b nothing looks at the indices. */
    if (n == 0 || s.k == 0)
        return TFD_OK;
    work = k->memory->make(k->memory, sizeof(int64_t) + picks_size(n), st);
    if (!work)
        return TFD_RESOURCE_EXHAUSTED;
    rc = run_product<T>(k, &s, work, st);
    tfd_buffer_unref(work);
    return rc;
}

#define ROW(name, T)                                                         \
    row("SparseTensorDenseMatMul", TFD_##name, multiply_gpu<T>, HOST_ARG(2), \
        tfd_sparse_matmul_prepare, sizeof(struct tfd_sparse_adjoints)),

static const struct tfd_kernel kernels[] = {
    ROW(FLOAT, float) ROW(DOUBLE, double) ROW(HALF, __half)
        ROW(COMPLEX64, complex_number<float>)
            ROW(COMPLEX128, complex_number<double>)};

} /* namespace */

CUDA_FAMILY_OF(sparse_matmul);
