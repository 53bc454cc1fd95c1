/*
 * binary.cu - functions of two elements with broadcasting: of kernels/binary.c,
 * divide.c and compare.c.
 *
 * Operands of one shape, or of which one is a scalar, run over packs of 16
 * bytes; others by strides.
 */
#include "cuda/launch.cuh"

extern "C" {
#include "kernels/broadcast.h"
}

namespace
{

#define FUNCTION(name, body)                                          \
    struct name {                                                     \
        template <typename T> __device__ T operator()(T p, T q) const \
        {                                                             \
            wide<T> a = widen(p), b = widen(q);                       \
                                                                      \
            return narrow<T>(body);                                   \
        }                                                             \
    };

#define COMPARISON(name, OP)                                                 \
    struct name {                                                            \
        template <typename T> __device__ tfd_bool operator()(T p, T q) const \
        {                                                                    \
            return widen(p) OP widen(q);                                     \
        }                                                                    \
    };

FUNCTION(add, a + b)
FUNCTION(sub, a - b)
FUNCTION(mul, a *b)
FUNCTION(divide, a / b)
FUNCTION(squared, (a - b) * (a - b))
FUNCTION(power, pow(a, b))
FUNCTION(div_no_nan, b == 0 ? wide<T>(0) : a / b)
/* A NaN of either wins. */
FUNCTION(maximum, a != a || a > b ? a : b)
FUNCTION(minimum, a != a || a < b ? a : b)
COMPARISON(equal, ==)
COMPARISON(not_equal, !=)
COMPARISON(less, <)
COMPARISON(less_equal, <=)
COMPARISON(greater, >)
COMPARISON(greater_equal, >=)
COMPARISON(logical_and, &&)
COMPARISON(logical_or, ||)

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

struct strides {
    int rank;
    int64_t dim[TFD_RANK_MAX + 1];
    int64_t step[2][TFD_RANK_MAX + 1];
};

template <typename F, typename A, typename Y>
__global__ void map_strided(F f, const A *a, const A *b, Y *y, int64_t n,
                            struct strides s)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t rest = i, p = 0, q = 0;

        for (int d = s.rank - 1; d > 0; d--) {
            int64_t at = rest % s.dim[d];

            rest /= s.dim[d];
            p += at * s.step[0][d];
            q += at * s.step[1][d];
        }
        y[i] = f(a[p + rest * s.step[0][0]], b[q + rest * s.step[1][0]]);
    }
}

static struct strides strides_of(const struct tfd_broadcast *p)
{
    struct strides s = {};

    for (int d = 0; d < p->rank; d++) {
        s.dim[d] = p->dim[d];
        s.step[0][d] = p->step[0][d];
        s.step[1][d] = p->step[1][d];
    }
    s.dim[p->rank] = p->row_size;
    s.step[0][p->rank] = p->row_step[0];
    s.step[1][p->rank] = p->row_step[1];
    s.rank = p->rank + 1;
    return s;
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

template <typename F, typename A, typename Y>
static enum tfd_code run_broadcast(struct tfd_kctx *k, F f,
                                   struct tfd_status *st)
{
    const struct tfd_shape *shapes[2] = {&k->in[0].shape, &k->in[1].shape};
    int64_t n = tfd_tensor_elements(&k->out[0]);
    const A *a = in_at<A>(k, 0), *b = in_at<A>(k, 1);
    Y *y = out_at<Y>(k, 0);
    struct tfd_broadcast p;

    if (n == 0)
        return TFD_OK;
    if (tfd_shape_equal(shapes[0], shapes[1]))
        return run_two(k, f, a, b, y, n, st);
    if (tfd_shape_elements(shapes[1]) == 1)
        return run_scalar<false>(k, f, a, b, y, n, st);
    if (tfd_shape_elements(shapes[0]) == 1)
        return run_scalar<true>(k, f, b, a, y, n, st);
    tfd_broadcast_plan(&p, &k->out[0].shape, shapes, 2);
    map_strided<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(f, a, b, y, n,
                                                                strides_of(&p));
    return launched(k, st);
}

/* ---- Kernels ------------------------------------------------------------- */

/* The same words as on the CPU (kernels/elementwise.c). */
static enum tfd_code shape_of(const struct tfd_kctx *k, struct tfd_shape *out,
                              struct tfd_status *st)
{
    const struct tfd_shape *a = &k->in[0].shape, *b = &k->in[1].shape;
    char left[TFD_SHAPE_TEXT_MAX], right[TFD_SHAPE_TEXT_MAX];

    if (!tfd_broadcast_fits(a, b))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Incompatible shapes: %s vs. %s",
                        tfd_shape_text(a, left), tfd_shape_text(b, right));
    return tfd_broadcast_shape(a, b, out, st);
}

template <typename T, typename F>
static enum tfd_code arithmetic(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(shape_of(k, &shape, st));
    TFD_TRY(tfd_kctx_output_reuse(k, 3, 0, k->in[0].dtype, &shape, st));
    return run_broadcast<F, T, T>(k, F(), st);
}

template <typename T, typename F>
static enum tfd_code compare(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(shape_of(k, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &shape, st));
    return run_broadcast<F, T, tfd_bool>(k, F(), st);
}

/* Shapes that do not fit are an answer where incompatible_shape_error is not
 * set, which the CPU gives as one element. */
template <typename T, typename F, int DIFFERS>
static enum tfd_code compare_equal(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    bool strict = true;

    if (tfd_broadcast_fits(&k->in[0].shape, &k->in[1].shape))
        return compare<T, F>(k, st);
    TFD_TRY(tfd_node_bool(k->node, "incompatible_shape_error", &strict, st));
    if (strict)
        return compare<T, F>(k, st);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &scalar, st));
    return tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(out_at<tfd_bool>(k, 0), DIFFERS, 1, stream_of(k)),
        k->kernel->op, st);
}

#define ROW(op, name, T, f) row(op, TFD_##name, arithmetic<T, f>),
#define TEST(op, name, T, f) row(op, TFD_##name, compare<T, f>),
#define NUMBERS(name, T)                                  \
    ROW("AddV2", name, T, add)                            \
    ROW("Sub", name, T, sub)                              \
    ROW("Mul", name, T, mul)                              \
    ROW("Maximum", name, T, maximum)                      \
    ROW("Minimum", name, T, minimum)                      \
    TEST("Less", name, T, less)                           \
    TEST("LessEqual", name, T, less_equal)                \
    TEST("Greater", name, T, greater)                     \
    TEST("GreaterEqual", name, T, greater_equal)          \
    row("Equal", TFD_##name, compare_equal<T, equal, 0>), \
        row("NotEqual", TFD_##name, compare_equal<T, not_equal, 1>),
#define FLOATS(name, T)                        \
    NUMBERS(name, T)                           \
    ROW("Add", name, T, add)                   \
    ROW("SquaredDifference", name, T, squared) \
    ROW("RealDiv", name, T, divide)            \
    ROW("Div", name, T, divide)                \
    ROW("DivNoNan", name, T, div_no_nan)       \
    ROW("Pow", name, T, power)

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(FLOATS) NUMBERS(INT64, int64_t)
        ROW("Add", INT64, int64_t, add)
            ROW("SquaredDifference", INT64, int64_t, squared)
                row("LogicalAnd", TFD_DTYPE_INVALID,
                    compare<tfd_bool, logical_and>),
    row("LogicalOr", TFD_DTYPE_INVALID, compare<tfd_bool, logical_or>),
};

} /* namespace */

CUDA_FAMILY_OF(binary);
