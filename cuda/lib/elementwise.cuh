/*
 * elementwise.cuh - kernels whose element i of the output depends on element i
 * of each input, after broadcasting: what kernels/core/elementwise.h is to a
 * CPU.
 *
 * A function is a type with operator(), usually made by CUDA_FUNCTION1 or 2.
 * Which kernel runs it depends on the operands:
 *
 *     one shape, or one is a scalar   packs of 16 bytes, in order
 *     rows of whole packs             packs, found by strides
 *     anything else                   packs that are gathered (broadcast.cuh)
 *
 * The rows are those of a plan of kernels/core/broadcast.h.  Each kernel is
 * code for every architecture.  So a function that is seldom used is marked
 * PLAIN, and the last kernel alone is compiled for it; one that costs more than
 * memory does is marked COSTLY, and its packs have one element.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_ELEMENTWISE_CUH
#define TFD_CUDA_ELEMENTWISE_CUH

#include "cuda/lib/broadcast.cuh"
#include "cuda/lib/packs.cuh"

extern "C" {
#include "kernels/core/outputs.h"
}

/* ---- Functions ----------------------------------------------------------- */

/* Of x, in the type it is computed in. */
#define CUDA_FUNCTION1(name, body)                                \
    struct name {                                                 \
        template <typename T> __device__ T operator()(T in) const \
        {                                                         \
            wide<T> x = widen(in), one = 1;                       \
                                                                  \
            (void)one;                                            \
            return narrow<T>(body);                               \
        }                                                         \
    };

/* Of a and b. */
#define CUDA_FUNCTION2(name, body)                                    \
    struct name {                                                     \
        template <typename T> __device__ T operator()(T p, T q) const \
        {                                                             \
            wide<T> a = widen(p), b = widen(q), one = 1;              \
                                                                      \
            (void)one;                                                \
            return narrow<T>(body);                                   \
        }                                                             \
    };

/* ---- Loops --------------------------------------------------------------- */

/* One operand is the same element everywhere. */
template <int N, bool LEFT, typename F, typename A, typename Y>
__global__ void map_scalar(F f, const A *a, const A *scalar, Y *y, int64_t n)
{
    A s = *scalar;

    for (int64_t i = thread_index(); i < n / N; i += thread_count()) {
        pack<A, N> x = ((const pack<A, N> *)a)[i];
        pack<Y, N> r;

#pragma unroll
        for (int j = 0; j < N; j++)
            r.v[j] = LEFT ? f(s, x.v[j]) : f(x.v[j], s);
        ((pack<Y, N> *)y)[i] = r;
    }
    for (int64_t i = n / N * N + thread_index(); i < n; i += thread_count())
        y[i] = LEFT ? f(s, a[i]) : f(a[i], s);
}

/* n and the last dimension are of packs. */
template <int N, typename F, typename A, typename Y>
__global__ void map_strided(F f, const A *a, const A *b, Y *y, int64_t n,
                            struct strides s)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t rest = i, p = 0, q = 0;
        pack<A, N> left, right;
        pack<Y, N> r;

        for (int d = s.rank - 1; d > 0; d--) {
            int64_t at = take_rest(&s.dim[d], &rest);

            p += at * s.step[0][d];
            q += at * s.step[1][d];
        }
        p += rest * s.step[0][0];
        q += rest * s.step[1][0];
        left = take_pack<N>(a + p, s.step[0][s.rank - 1] == 0);
        right = take_pack<N>(b + q, s.step[1][s.rank - 1] == 0);
#pragma unroll
        for (int j = 0; j < N; j++)
            r.v[j] = f(left.v[j], right.v[j]);
        ((pack<Y, N> *)y)[i] = r;
    }
}

/* Rows of any length. */
template <int N, typename F, typename A, typename Y>
__global__ void map_broadcast(F f, const A *a, const A *b, Y *y, int64_t n,
                              const __grid_constant__ struct strides s)
{
    for (int64_t i = thread_index() * N; i < n; i += thread_count() * N) {
        int count = n - i < N ? (int)(n - i) : N;
        pack<A, N> left = take<N>(a, s, 0, i, count);
        pack<A, N> right = take<N>(b, s, 1, i, count);
        pack<Y, N> r;

#pragma unroll
        for (int j = 0; j < N; j++)
            r.v[j] = f(left.v[j], right.v[j]);
        give(y, s, i, count, r);
    }
}

template <bool LEFT, typename F, typename A, typename Y>
static enum tfd_code run_scalar(struct tfd_kctx *k, F f, const A *a,
                                const A *scalar, Y *y, int64_t n,
                                struct tfd_status *st)
{
    constexpr int N = pack_size<A, Y>();

    if (is_aligned(a, y, y))
        map_scalar<N, LEFT>
            <<<blocks_for(k, (n + N - 1) / N), THREADS, 0, stream_of(k)>>>(
                f, a, scalar, y, n);
    else
        map_scalar<1, LEFT><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            f, a, scalar, y, n);
    return launched(k, st);
}

static inline struct tfd_broadcast plan_of(const struct tfd_kctx *k)
{
    const struct tfd_shape *shapes[2] = {&k->in[0].shape, &k->in[1].shape};
    struct tfd_broadcast p;

    tfd_broadcast_plan(&p, &k->out[0].shape, shapes, 2);
    return p;
}

/* By packs of N of the result. */
template <int N, typename F, typename A, typename Y>
static enum tfd_code run_plan(struct tfd_kctx *k, F f, const A *a, const A *b,
                              Y *y, const struct tfd_broadcast *p,
                              struct tfd_status *st)
{
    const void *const in[2] = {a, b};
    int64_t n = p->rows * p->row_size;

    map_broadcast<N>
        <<<blocks_for(k, (n + N - 1) / N), THREADS, 0, stream_of(k)>>>(
            f, a, b, y, n, strides_at(p, in, y));
    return launched(k, st);
}

/* All operands by packs, where rows are of them. */
template <typename F, typename A, typename Y>
static enum tfd_code run_strided(struct tfd_kctx *k, F f, const A *a,
                                 const A *b, Y *y, int64_t n,
                                 struct tfd_status *st)
{
    constexpr int N = pack_size<A, Y>();
    struct tfd_broadcast p = plan_of(k);

    if (p.row_size % N != 0 || !is_aligned(a, b, y))
        return run_plan<N>(k, f, a, b, y, &p, st);
    map_strided<N><<<blocks_for(k, n / N), THREADS, 0, stream_of(k)>>>(
        f, a, b, y, n / N, strides_of(&p, N));
    return launched(k, st);
}

template <typename F, typename A, typename Y>
static enum tfd_code run_broadcast(struct tfd_kctx *k, F f,
                                   struct tfd_status *st)
{
    const struct tfd_shape *left = &k->in[0].shape, *right = &k->in[1].shape;
    int64_t n = tfd_tensor_elements(&k->out[0]);
    const A *a = in_at<A>(k, 0), *b = in_at<A>(k, 1);
    Y *y = out_at<Y>(k, 0);

    if (n == 0)
        return TFD_OK;
    if (tfd_shape_equal(left, right))
        return run_two(k, f, a, b, y, n, st);
    if (tfd_shape_elements(right) == 1)
        return run_scalar<false>(k, f, a, b, y, n, st);
    if (tfd_shape_elements(left) == 1)
        return run_scalar<true>(k, f, b, a, y, n, st);
    return run_strided(k, f, a, b, y, n, st);
}

/* The kernel of those that are PLAIN or COSTLY. */
template <int N, typename F, typename A, typename Y>
static enum tfd_code run_plain(struct tfd_kctx *k, F f, struct tfd_status *st)
{
    struct tfd_broadcast p;

    if (!k->out[0].buffer)
        return TFD_OK;
    p = plan_of(k);
    return run_plan<N>(k, f, in_at<A>(k, 0), in_at<A>(k, 1), out_at<Y>(k, 0),
                       &p, st);
}

/* ---- Kernels ------------------------------------------------------------- */

/* Their code is the function's: one for each type. */

template <typename T, typename F>
static enum tfd_code unary(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    return run_one(k, F(), in_at<T>(k, 0), out_at<T>(k, 0),
                   tfd_tensor_elements(&k->in[0]), st);
}

/* To another type. */
template <typename A, typename Y, enum tfd_dtype TO, typename F>
static enum tfd_code unary_to(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 0, TO, &k->in[0].shape, st));
    return run_one(k, F(), in_at<A>(k, 0), out_at<Y>(k, 0),
                   tfd_tensor_elements(&k->in[0]), st);
}

/* Of two tensors of one shape; the caller has checked them. */
template <typename T, typename F>
static enum tfd_code run_pair(struct tfd_kctx *k, F f, struct tfd_status *st)
{
    struct tfd_shape shape = k->in[0].shape;

    TFD_TRY(tfd_kctx_output_reuse(k, 3, 0, k->in[0].dtype, &shape, st));
    return run_two(k, f, in_at<T>(k, 0), in_at<T>(k, 1), out_at<T>(k, 0),
                   tfd_shape_elements(&shape), st);
}

/* Of two tensors, one of which may be known in part only. */
template <typename T, typename F>
static enum tfd_code pair(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape = k->in[0].shape;

    TFD_TRY(tfd_shape_merge(&shape, &k->in[1].shape, st));
    return run_pair<T>(k, F(), st);
}

template <typename T, typename F>
static enum tfd_code binary(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_elementwise_shape(k, &shape, st));
    TFD_TRY(tfd_kctx_output_reuse(k, 3, 0, k->in[0].dtype, &shape, st));
    return run_broadcast<F, T, T>(k, F(), st);
}

template <typename T, typename F, int N = pack_size<T, T>()>
static enum tfd_code binary_plain(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_elementwise_shape(k, &shape, st));
    TFD_TRY(tfd_kctx_output_reuse(k, 3, 0, k->in[0].dtype, &shape, st));
    return run_plain<N, F, T, T>(k, F(), st);
}

/* By elements. */
template <typename T, typename F>
static enum tfd_code binary_costly(struct tfd_kctx *k, struct tfd_status *st)
{
    return binary_plain<T, F, 1>(k, st);
}

/* To another type. */
template <typename A, typename Y, enum tfd_dtype TO, typename F>
static enum tfd_code binary_to(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_elementwise_shape(k, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, TO, &shape, st));
    return run_broadcast<F, A, Y>(k, F(), st);
}

template <typename A, typename Y, enum tfd_dtype TO, typename F>
static enum tfd_code binary_plain_to(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_elementwise_shape(k, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, TO, &shape, st));
    return run_plain<pack_size<A, Y>(), F, A, Y>(k, F(), st);
}

#endif
