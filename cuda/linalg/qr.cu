/*
 * qr.cu - Qr of kernels/linalg/linalg.c: a block for each matrix, by the reflectors of
 * Householder that LAPACK makes, so that signs are the CPU's:
 *
 *     H = 1 - tau v v^H,  v = [1, v1, v2, ..],  H^H [alpha, x..] = [beta, 0..]
 *
 * Column after column of a copy of the matrix is reduced, where v stays below
 * the diagonal and R above it; then the product of all H, applied to the
 * identity from the last to the first, is Q.
 *
 * complex64 has no kernel, and half one in host memory (host.c), as in
 * TensorFlow.
 */
#include "cuda/lib/fold.cuh"

extern "C" {
#include "kernels/linalg/linalg.h"
}

namespace
{

/* ---- Numbers ------------------------------------------------------------- */

template <typename T> struct real_of {
    using type = T;
};
template <> struct real_of<tfd_complex128> {
    using type = double;
};
template <typename T> using real = typename real_of<T>::type;

template <typename T> __device__ inline real<T> re(T x)
{
    return x;
}
__device__ inline double re(tfd_complex128 x)
{
    return x.re;
}

template <typename T> __device__ inline real<T> im(T)
{
    return 0;
}
__device__ inline double im(tfd_complex128 x)
{
    return x.im;
}

template <typename T> __device__ inline T number(real<T> re, real<T>)
{
    return re;
}
template <>
__device__ inline tfd_complex128 number<tfd_complex128>(double re, double im)
{
    return {re, im};
}

__device__ inline tfd_complex128 operator+(tfd_complex128 a, tfd_complex128 b)
{
    return {a.re + b.re, a.im + b.im};
}
__device__ inline tfd_complex128 operator-(tfd_complex128 a, tfd_complex128 b)
{
    return {a.re - b.re, a.im - b.im};
}
__device__ inline tfd_complex128 operator*(tfd_complex128 a, tfd_complex128 b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__device__ inline tfd_complex128 operator/(tfd_complex128 a, double by)
{
    return {a.re / by, a.im / by};
}

template <typename T> __device__ inline T conjugate(T x)
{
    return number<T>(re(x), -im(x));
}

/* |x|^2 */
template <typename T> __device__ inline real<T> square(T x)
{
    return re(x) * re(x) + im(x) * im(x);
}

template <typename T> __device__ inline real<T> larger_part(real<T> than, T x)
{
    return larger()(larger()(than, fabs(re(x))), fabs(im(x)));
}

/* ---- Reflectors ---------------------------------------------------------- */

/* Makes one of the `rows` elements from a on, which lie n apart: beta, and v
 * without its 1; returns tau, 0 where there is nothing to be done.  All numbers
 * are seen as multiples of the largest, so that squares neither overflow nor
 * vanish. */
template <typename T>
__device__ inline T make_reflector(T *a, int64_t n, int64_t rows)
{
    T alpha = *a, factor;
    real<T> largest = 0, sum = 0, beta;

    for (int64_t i = 1 + threadIdx.x; i < rows; i += THREADS)
        largest = larger_part(largest, a[i * n]);
    largest = fold_block(largest, larger(), true);
    if (largest == 0 && im(alpha) == 0)
        return number<T>(0, 0);
    largest = larger_part(largest, alpha);
    for (int64_t i = 1 + threadIdx.x; i < rows; i += THREADS)
        sum += square(a[i * n] / largest);
    sum = fold_block(sum, plus(), true);
    alpha = alpha / largest;
    beta = -copysign(sqrt(sum + square(alpha)), re(alpha));
    factor = alpha - number<T>(beta, 0);
    factor = conjugate(factor) / square(factor);
    for (int64_t i = 1 + threadIdx.x; i < rows; i += THREADS)
        a[i * n] = a[i * n] / largest * factor;
    if (threadIdx.x == 0)
        *a = number<T>(beta * largest, 0);
    __syncthreads();
    return number<T>((beta - re(alpha)) / beta, -im(alpha) / beta);
}

/* c -= tau v (v^H c), c of rows x columns, its rows `step` apart, v's elements
 * n.  `width` columns at a time, which a line of as many threads reads along
 * memory; each of the lines has its share of the rows. */
template <typename T>
__device__ inline void reflect(const T *v, int64_t n, T tau, T *c, int64_t step,
                               int64_t rows, int64_t columns)
{
    __shared__ T part[THREADS];
    int width = 1, lane, line, lines;

    while (width < 32 && width < columns)
        width *= 2;
    lane = (int)threadIdx.x % width;
    line = (int)threadIdx.x / width;
    lines = THREADS / width;
    for (int64_t first = 0; first < columns; first += width) {
        int64_t column = first + lane, end = column < columns ? rows : 0;
        T sum = number<T>(0, 0);

        for (int64_t i = line; i < end; i += lines)
            sum = sum + (i ? conjugate(v[i * n]) : number<T>(1, 0)) *
                            c[i * step + column];
        part[threadIdx.x] = sum;
        __syncthreads();
        for (int half = THREADS / 2; half >= width; half /= 2) {
            if ((int)threadIdx.x < half)
                part[threadIdx.x] =
                    part[threadIdx.x] + part[threadIdx.x + half];
            __syncthreads();
        }
        sum = tau * part[lane];
        for (int64_t i = line; i < end; i += lines)
            c[i * step + column] =
                c[i * step + column] - (i ? v[i * n] : number<T>(1, 0)) * sum;
        __syncthreads();
    }
}

/* ---- Matrices ------------------------------------------------------------ */

__device__ inline int64_t reflectors(const struct tfd_linalg_qr &s)
{
    return s.m < s.n ? s.m : s.n;
}

template <typename T>
__device__ inline void reduce_columns(T *a, T *tau,
                                      const struct tfd_linalg_qr &s)
{
    for (int64_t i = 0; i < reflectors(s); i++) {
        T *at = a + i * s.n + i, t = make_reflector(at, s.n, s.m - i);

        if (threadIdx.x == 0)
            tau[i] = t;
        if (re(t) != 0)
            reflect(at, s.n, conjugate(t), at + 1, s.n, s.m - i, s.n - i - 1);
    }
}

template <typename T>
__device__ inline void copy_r(const T *a, T *r, const struct tfd_linalg_qr &s)
{
    for (int64_t row = threadIdx.x / 32; row < s.p; row += THREADS / 32)
        for (int64_t column = threadIdx.x % 32; column < s.n; column += 32)
            r[row * s.n + column] =
                row > column ? number<T>(0, 0) : a[row * s.n + column];
}

template <typename T>
__device__ inline void make_q(const T *a, const T *tau, T *q,
                              const struct tfd_linalg_qr &s)
{
    for (int64_t row = threadIdx.x / 32; row < s.m; row += THREADS / 32)
        for (int64_t column = threadIdx.x % 32; column < s.p; column += 32)
            q[row * s.p + column] = number<T>(row == column ? 1 : 0, 0);
    __syncthreads();
    for (int64_t i = reflectors(s) - 1; i >= 0; i--)
        if (re(tau[i]) != 0)
            reflect(a + i * s.n + i, s.n, tau[i], q + i * s.p + i, s.p, s.m - i,
                    s.p - i);
}

/* work: a matrix and its tau for each block. */
template <typename T>
__global__ void decompose(const T *x, T *q, T *r, T *work,
                          struct tfd_linalg_qr s)
{
    int64_t size = s.m * s.n;
    T *a = work + blockIdx.x * (size + reflectors(s)), *tau = a + size;

    for (int64_t i = blockIdx.x; i < s.count; i += gridDim.x) {
        for (int64_t e = threadIdx.x; e < size; e += THREADS)
            a[e] = x[i * size + e];
        __syncthreads();
        reduce_columns(a, tau, s);
        copy_r(a, r + i * s.p * s.n, s);
        make_q(a, tau, q + i * s.m * s.p, s);
        __syncthreads();
    }
}

template <typename T>
static enum tfd_code qr(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_linalg_qr s = {};
    struct tfd_buffer *b;
    unsigned blocks;
    int64_t room;

    TFD_TRY(tfd_linalg_qr_make(k, &s, st));
    if (s.count * s.m * s.p == 0)
        return TFD_OK;
    blocks = blocks_for(k, s.count * THREADS);
    room = blocks * (s.m * s.n + (s.m < s.n ? s.m : s.n)) + 1;
    b = k->memory->make(k->memory, (size_t)room * sizeof(T), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    decompose<<<blocks, THREADS, 0, stream_of(k)>>>(
        in_at<T>(k, 0), out_at<T>(k, 0), out_at<T>(k, 1), (T *)b->data, s);
    tfd_buffer_unref(b);
    return launched(k, st);
}

#define ROW(name, T)                                       \
    row("Qr", TFD_##name, qr<T>, 0, tfd_linalg_qr_prepare, \
        sizeof(struct tfd_linalg_state)),

static const struct tfd_kernel kernels[] = {
    ROW(FLOAT, float) ROW(DOUBLE, double) ROW(COMPLEX128, tfd_complex128)};

} /* namespace */

CUDA_FAMILY_OF(qr);
