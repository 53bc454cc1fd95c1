/*
 * binary.cu - functions of two elements with broadcasting: of kernels/math/binary.c,
 * divide.c, power.c and compare.c.
 *
 * A divisor of 0 among integers ends no step, as in TensorFlow's GPU kernels:
 * nobody waits for an answer.  The quotient has all bits set then, as the
 * hardware's, and the remainder is the dividend.  An integer to a negative
 * power is 0 likewise, but for those of 1 and -1.
 */
#include "cuda/lib/complex.cuh"
#include "cuda/lib/elementwise.cuh"

namespace
{

#define COMPARISON(name, OP)                                                 \
    struct name {                                                            \
        template <typename T> __device__ tfd_bool operator()(T p, T q) const \
        {                                                                    \
            return widen(p) OP widen(q);                                     \
        }                                                                    \
    };

CUDA_FUNCTION2(add, a + b)
CUDA_FUNCTION2(sub, a - b)
CUDA_FUNCTION2(mul, a *b)
CUDA_FUNCTION2(divide, a / b)
CUDA_FUNCTION2(squared, (a - b) * (a - b))
CUDA_FUNCTION2(power, pow(a, b))
CUDA_FUNCTION2(div_no_nan, b == 0 ? wide<T>(0) : a / b)
/* A NaN of either wins. */
CUDA_FUNCTION2(maximum, a != a || a > b ? a : b)
CUDA_FUNCTION2(minimum, a != a || a < b ? a : b)
COMPARISON(equal, ==)
COMPARISON(not_equal, !=)
COMPARISON(less, <)
COMPARISON(less_equal, <=)
COMPARISON(greater, >)
COMPARISON(greater_equal, >=)
COMPARISON(logical_and, &&)
COMPARISON(logical_or, ||)

/* ---- Rounded quotients --------------------------------------------------- */

/* half rounds after each operation, as TensorFlow's does. */
CUDA_FUNCTION2(floor_div, floor(widen(narrow<T>(a / b))))
CUDA_FUNCTION2(truncate_div, trunc(widen(narrow<T>(a / b))))

struct floor_mod {
    template <typename T> __device__ T operator()(T p, T q) const
    {
        wide<T> b = widen(q), m = fmod(widen(p), b);

        return narrow<T>(m != 0 && (m < 0) != (b < 0) ? m + b : m);
    }
};

/* The lowest number divided by -1 is itself. */
__device__ inline int64_t quotient(int64_t a, int64_t b)
{
    if (b == 0)
        return -1;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

__device__ inline int64_t remainder_of(int64_t a, int64_t b)
{
    if (b == 0)
        return a;
    return b == -1 ? 0 : a % b;
}

struct int_truncate_div {
    __device__ int64_t operator()(int64_t a, int64_t b) const
    {
        return quotient(a, b);
    }
};

struct int_floor_div {
    __device__ int64_t operator()(int64_t a, int64_t b) const
    {
        bool adjust = b != 0 && (a < 0) != (b < 0) && remainder_of(a, b) != 0;

        return quotient(a, b) - adjust;
    }
};

struct int_floor_mod {
    __device__ int64_t operator()(int64_t a, int64_t b) const
    {
        int64_t m = remainder_of(a, b);

        return b != 0 && m != 0 && (m < 0) != (b < 0) ? m + b : m;
    }
};

/* Of uint64, which int64 does not hold. */
struct whole_divide {
    __device__ uint64_t operator()(uint64_t a, uint64_t b) const
    {
        return b == 0 ? ~UINT64_C(0) : a / b;
    }
};

struct whole_mod {
    __device__ uint64_t operator()(uint64_t a, uint64_t b) const
    {
        return b == 0 ? a : a % b;
    }
};

struct int_power {
    __device__ int64_t operator()(int64_t a, int64_t b) const
    {
        uint64_t base = (uint64_t)a, product = 1;

        if (b < 0)
            return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
        for (; b; b >>= 1, base *= base)
            product *= b & 1 ? base : 1;
        return (int64_t)product;
    }
};

/* ---- Kernels ------------------------------------------------------------- */

template <typename T, typename F>
static enum tfd_code compare(struct tfd_kctx *k, struct tfd_status *st)
{
    return binary_to<T, tfd_bool, TFD_BOOL, F>(k, st);
}

template <typename T, typename F>
static enum tfd_code compare_plain(struct tfd_kctx *k, struct tfd_status *st)
{
    return binary_plain_to<T, tfd_bool, TFD_BOOL, F>(k, st);
}

/* Shapes that do not fit are an answer where incompatible_shape_error is not
 * set, which the CPU gives as one element. */
template <tfd_compute_fn *COMPARE, int DIFFERS>
static enum tfd_code compare_equal(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    bool strict = true;

    if (tfd_broadcast_fits(&k->in[0].shape, &k->in[1].shape))
        return COMPARE(k, st);
    TFD_TRY(tfd_node_bool(k->node, "incompatible_shape_error", &strict, st));
    if (strict)
        return COMPARE(k, st);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &scalar, st));
    return tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(out_at<tfd_bool>(k, 0), DIFFERS, 1, stream_of(k)),
        k->kernel->op, st);
}

#define ROW(op, name, T, f) row(op, TFD_##name, binary<T, f>),
#define PLAIN(op, name, T, f) row(op, TFD_##name, binary_plain<T, f>),
#define COSTLY(op, name, T, f) row(op, TFD_##name, binary_costly<T, f>),
#define TEST(op, name, T, f) row(op, TFD_##name, compare<T, f>),
#define EQUAL(name, T)                                             \
    row("Equal", TFD_##name, compare_equal<compare<T, equal>, 0>), \
        row("NotEqual", TFD_##name, compare_equal<compare<T, not_equal>, 1>),
#define PLAIN_TEST(op, name, T, f) row(op, TFD_##name, compare_plain<T, f>),

/* clang-format off */
#define NUMBERS(name, T)                         \
    ROW("Add", name, T, add)                     \
    ROW("AddV2", name, T, add)                   \
    ROW("Sub", name, T, sub)                     \
    ROW("Mul", name, T, mul)                     \
    ROW("SquaredDifference", name, T, squared)   \
    ROW("Maximum", name, T, maximum)             \
    ROW("Minimum", name, T, minimum)             \
    TEST("Less", name, T, less)                  \
    TEST("LessEqual", name, T, less_equal)       \
    TEST("Greater", name, T, greater)            \
    TEST("GreaterEqual", name, T, greater_equal) \
    EQUAL(name, T)
#define FLOATS(name, T)                    \
    NUMBERS(name, T)                       \
    ROW("RealDiv", name, T, divide)        \
    ROW("Div", name, T, divide)            \
    ROW("DivNoNan", name, T, div_no_nan)   \
    ROW("Pow", name, T, power)             \
    ROW("FloorDiv", name, T, floor_div)    \
    COSTLY("FloorMod", name, T, floor_mod) \
    PLAIN("TruncateDiv", name, T, truncate_div)
#define EQUALS(name, T)                             \
    row("Equal", TFD_##name,                        \
        compare_equal<compare_plain<T, equal>, 0>), \
    row("NotEqual", TFD_##name,                     \
        compare_equal<compare_plain<T, not_equal>, 1>),
/* Integers that are rare. */
#define SMALL(name, T)                                 \
    PLAIN("AddV2", name, T, add)                       \
    PLAIN("Sub", name, T, sub)                         \
    PLAIN("Mul", name, T, mul)                         \
    PLAIN("Maximum", name, T, maximum)                 \
    PLAIN("Minimum", name, T, minimum)                 \
    PLAIN_TEST("Less", name, T, less)                  \
    PLAIN_TEST("LessEqual", name, T, less_equal)       \
    PLAIN_TEST("Greater", name, T, greater)            \
    PLAIN_TEST("GreaterEqual", name, T, greater_equal) \
    EQUALS(name, T)
#define QUOTIENTS(name, T, floor_f, mod, truncate) \
    COSTLY("Div", name, T, truncate)               \
    COSTLY("FloorDiv", name, T, floor_f)           \
    COSTLY("FloorMod", name, T, mod)               \
    COSTLY("TruncateDiv", name, T, truncate)
#define INT_QUOTIENTS(name, T) \
    QUOTIENTS(name, T, int_floor_div, int_floor_mod, int_truncate_div)
#define COMPLEXES(name, T)                 \
    PLAIN("Add", name, T, add)             \
    PLAIN("AddV2", name, T, add)           \
    PLAIN("Sub", name, T, sub)             \
    PLAIN("Mul", name, T, mul)             \
    PLAIN("RealDiv", name, T, divide)      \
    PLAIN("Div", name, T, divide)          \
    PLAIN("DivNoNan", name, T, div_no_nan) \
    EQUALS(name, T)

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(FLOATS)
    CUDA_COMPLEX_DTYPES(COMPLEXES)
    PLAIN("Add", INT16, int16_t, add)
    PLAIN("Add", INT8, int8_t, add)
    PLAIN("Add", UINT8, uint8_t, add)
    SMALL(INT16, int16_t)
    SMALL(INT8, int8_t)
    SMALL(UINT8, uint8_t)
    SMALL(UINT16, uint16_t)
    SMALL(UINT32, uint32_t)
    SMALL(UINT64, uint64_t)
    NUMBERS(INT64, int64_t)
    COSTLY("Pow", INT64, int64_t, int_power)
    COSTLY("Pow", INT16, int16_t, int_power)
    COSTLY("Pow", INT8, int8_t, int_power)
    INT_QUOTIENTS(INT64, int64_t)
    INT_QUOTIENTS(INT16, int16_t)
    INT_QUOTIENTS(INT8, int8_t)
    INT_QUOTIENTS(UINT8, uint8_t)
    INT_QUOTIENTS(UINT16, uint16_t)
    INT_QUOTIENTS(UINT32, uint32_t)
    QUOTIENTS(UINT64, uint64_t, whole_divide, whole_mod, whole_divide)
    EQUAL(BOOL, tfd_bool)
    row("LogicalAnd", TFD_DTYPE_INVALID, compare<tfd_bool, logical_and>),
    row("LogicalOr", TFD_DTYPE_INVALID, compare<tfd_bool, logical_or>),
};
/* clang-format on */

} /* namespace */

CUDA_FAMILY_OF(binary);
