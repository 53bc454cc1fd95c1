/*
 * divide.c - quotients and remainders of two tensors:
 *
 *     RealDiv Div DivNoNan FloorDiv FloorMod TruncateDiv TruncateMod Mod
 *
 * An integer divided by 0 fails the node; the lowest integer divided by -1
 * wraps to itself.  Floor rounds to minus infinity, so a remainder has the sign
 * of the divisor; truncating rounds to 0, so it has the sign of the dividend.
 */
#include "kernels/core/families.h"

#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/vector/complex_math.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow_loops.h"

#include <math.h>
#include <string.h>

/* ---- Integers ------------------------------------------------------------ */

/* `minus` is -1 where the type has it; b == minus is never true otherwise,
 * since the divisor is then compared with a number no element can be. */
#define DEFINE_INT(name, T, U, function)                                \
    static inline T quotient_##name(T a, T b)                           \
    {                                                                   \
        const int64_t minus = (T)-1 < (T)1 ? -1 : INT64_MIN;            \
                                                                        \
        if ((int64_t)b == minus)                                        \
            return (T)(0 - (U)a);                                       \
        return (T)(a / b);                                              \
    }                                                                   \
    static inline T remainder_##name(T a, T b)                          \
    {                                                                   \
        const int64_t minus = (T)-1 < (T)1 ? -1 : INT64_MIN;            \
                                                                        \
        if ((int64_t)b == minus)                                        \
            return 0;                                                   \
        return (T)(a % b);                                              \
    }                                                                   \
    static inline T floor_div_##name(T a, T b)                          \
    {                                                                   \
        const T zero = 0;                                               \
        T q = quotient_##name(a, b);                                    \
        bool adjust =                                                   \
            (a < zero) != (b < zero) && remainder_##name(a, b) != zero; \
                                                                        \
        return (T)(q - (T)adjust);                                      \
    }                                                                   \
    static inline T floor_mod_##name(T a, T b)                          \
    {                                                                   \
        const T zero = 0;                                               \
        T m = remainder_##name(a, b);                                   \
                                                                        \
        return m != zero && (m < zero) != (b < zero) ? (T)(m + b) : m;  \
    }

/* All but INT32, and INT64 as far as below. */
#define DIVIDED_ONE_BY_ONE(X, function)     \
    X(INT8, int8_t, uint32_t, function)     \
    X(INT16, int16_t, uint32_t, function)   \
    X(UINT8, uint8_t, uint32_t, function)   \
    X(UINT16, uint16_t, uint32_t, function) \
    X(UINT32, uint32_t, uint32_t, function) \
    X(UINT64, uint64_t, uint64_t, function)

DIVIDED_ONE_BY_ONE(DEFINE_INT, )
DEFINE_INT(INT64_any, int64_t, uint64_t, )

/* A loop that skips zero divisors and reports them. */
#define INT_LOOP(name, T, U, function)                                   \
    static void loop_##function##_##name(void *arg, int64_t begin,       \
                                         int64_t end)                    \
    {                                                                    \
        const struct tfd_row *r = arg;                                   \
        const T *a = r->a, *b = r->b;                                    \
        T *y = r->y;                                                     \
                                                                         \
        for (int64_t i = begin; i < end; i++) {                          \
            const T divisor = b[r->b_step ? i : 0];                      \
                                                                         \
            if (divisor)                                                 \
                y[i] = function##_##name(a[r->a_step ? i : 0], divisor); \
            else                                                         \
                tfd_row_fail(r);                                         \
        }                                                                \
    }

DIVIDED_ONE_BY_ONE(INT_LOOP, quotient)
DIVIDED_ONE_BY_ONE(INT_LOOP, floor_div)
DIVIDED_ONE_BY_ONE(INT_LOOP, floor_mod)
INT_LOOP(INT64_any, int64_t, uint64_t, quotient)
INT_LOOP(INT64_any, int64_t, uint64_t, floor_div)
INT_LOOP(INT64_any, int64_t, uint64_t, floor_mod)
INT_LOOP(INT64_any, int64_t, uint64_t, remainder)

/* Numbers of up to 2^52 are divided as doubles.  Whole numbers in between are
 * all doubles, and a quotient that is none is farther from the next one than
 * rounding takes it.  So is what is left exact, and whether it is 0. */
#define LONG_BLOCK 256
#define LONG_MAX (INT64_C(1) << 52)

static inline int64_t long_quotient(double a, double b)
{
    return (int64_t)(a / b);
}

static inline int64_t long_floor_div(double a, double b)
{
    const int64_t q = (int64_t)(a / b);

    return q - ((double)q > a / b);
}

static inline int64_t long_remainder(double a, double b)
{
    return (int64_t)(a - trunc(a / b) * b);
}

static inline int64_t long_floor_mod(double a, double b)
{
    return (int64_t)(a - floor(a / b) * b);
}

/* Whether one of a block is too large, or a divisor 0. */
static inline bool longs_are_rare(const int64_t *a, const int64_t *b, int64_t n)
{
    const uint64_t width = 2 * (uint64_t)LONG_MAX;
    int64_t rare = 0;

    for (int64_t i = 0; i < n; i++)
        rare |= ((uint64_t)(a[i] + (uint64_t)LONG_MAX) > width) |
                ((uint64_t)(b[i] + (uint64_t)LONG_MAX) > width) | (b[i] == 0);
    return rare != 0;
}

/* Elements of an operand, or the same one for all. */
static inline void copy_longs(const int64_t *from, int step, int64_t at,
                              int64_t n, int64_t *to)
{
    for (int64_t i = 0; step && i < n; i++)
        to[i] = from[at + i];
    for (int64_t i = 0; !step && i < n; i++)
        to[i] = *from;
}

#define LONG_LOOP(function)                                              \
    TFD_SIMD_LOOP(loop_##function##_INT64)                               \
    {                                                                    \
        const struct tfd_row *r = arg;                                   \
        int64_t a[LONG_BLOCK], b[LONG_BLOCK], *y = r->y;                 \
                                                                         \
        for (int64_t at = begin, n; at < end; at += n) {                 \
            n = end - at < LONG_BLOCK ? end - at : LONG_BLOCK;           \
            copy_longs(r->a, r->a_step, at, n, a);                       \
            copy_longs(r->b, r->b_step, at, n, b);                       \
            if (longs_are_rare(a, b, n)) {                               \
                loop_##function##_INT64_any(arg, at, at + n);            \
                continue;                                                \
            }                                                            \
            for (int64_t i = 0; i < n; i++)                              \
                y[at + i] = long_##function((double)a[i], (double)b[i]); \
        }                                                                \
    }                                                                    \
    TFD_SIMD_CLONES_WIDE(loop_##function##_INT64)

LONG_LOOP(quotient)
LONG_LOOP(remainder)
LONG_LOOP(floor_div)
LONG_LOOP(floor_mod)

/* Processors have vectors of doubles to divide and none of integers.  A double
 * has room for the exact quotient of two numbers of 32 bits, or for one that is
 * nearer to it than to the next integer.  b is neither 0 nor -1. */
static inline int32_t divide_INT32(int32_t a, int32_t b)
{
    return (int32_t)((double)a / (double)b);
}

static inline int32_t vector_quotient(int32_t a, int32_t b)
{
    int32_t by = ((b == 0) | (b == -1)) ? 1 : b;
    int32_t q = divide_INT32(a, by);

    return b == -1 ? (int32_t)(0 - (uint32_t)q) : q;
}

static inline int32_t vector_remainder(int32_t a, int32_t b)
{
    uint32_t q = (uint32_t)vector_quotient(a, b);

    return (int32_t)((uint32_t)a - q * (uint32_t)b);
}

static inline int32_t vector_floor_div(int32_t a, int32_t b)
{
    int32_t q = vector_quotient(a, b);
    int32_t left = (int32_t)((uint32_t)a - (uint32_t)q * (uint32_t)b);

    return q - ((left != 0) & ((left ^ b) < 0));
}

static inline int32_t vector_floor_mod(int32_t a, int32_t b)
{
    int32_t left = vector_remainder(a, b);

    return ((left != 0) & ((left ^ b) < 0)) ? left + b : left;
}

/* What is made of a divisor of 0 nobody sees. */
#define VECTOR_LOOP(loop, function)                 \
    TFD_SIMD_LOOP(loop)                             \
    {                                               \
        const struct tfd_row *r = arg;              \
        const int32_t *a = r->a, *b = r->b;         \
        const int32_t left = begin < end ? *a : 0;  \
        const int32_t right = begin < end ? *b : 1; \
        int32_t *y = r->y, none = 0;                \
                                                    \
        if (!r->b_step) {                           \
            none = right == 0;                      \
            for (int64_t i = begin; i < end; i++)   \
                y[i] = function(a[i], right);       \
        } else if (!r->a_step) {                    \
            for (int64_t i = begin; i < end; i++) { \
                none |= b[i] == 0;                  \
                y[i] = function(left, b[i]);        \
            }                                       \
        } else {                                    \
            for (int64_t i = begin; i < end; i++) { \
                none |= b[i] == 0;                  \
                y[i] = function(a[i], b[i]);        \
            }                                       \
        }                                           \
        if (none)                                   \
            tfd_row_fail(r);                        \
    }                                               \
    TFD_SIMD_CLONES(loop)

VECTOR_LOOP(loop_quotient_INT32, vector_quotient)
VECTOR_LOOP(loop_remainder_INT32, vector_remainder)
VECTOR_LOOP(loop_floor_div_INT32, vector_floor_div)
VECTOR_LOOP(loop_floor_mod_INT32, vector_floor_mod)

/* ---- Floating point ------------------------------------------------------ */

#define DEFINE_FLOAT(name, T, floor_, trunc_, fmod_)     \
    static inline T quotient_##name(T a, T b)            \
    {                                                    \
        return a / b;                                    \
    }                                                    \
    static inline T no_nan_##name(T a, T b)              \
    {                                                    \
        return b == 0 ? (T)0 : a / b;                    \
    }                                                    \
    static inline T floor_div_##name(T a, T b)           \
    {                                                    \
        return floor_(a / b);                            \
    }                                                    \
    static inline T truncate_##name(T a, T b)            \
    {                                                    \
        return trunc_(a / b);                            \
    }                                                    \
    static inline T remainder_##name(T a, T b)           \
    {                                                    \
        return fmod_(a, b);                              \
    }                                                    \
    static inline T floor_mod_##name(T a, T b)           \
    {                                                    \
        T m = fmod_(a, b);                               \
                                                         \
        return m != 0 && (m < 0) != (b < 0) ? m + b : m; \
    }

DEFINE_FLOAT(FLOAT, float, floorf, truncf, fmodf)
DEFINE_FLOAT(DOUBLE, double, floor, trunc, fmod)

/* fmodf() by way of double, where the quotient is below 2^28: a float's 24 bits
 * keep it 2^-24 away from any whole number that it is not, so truncating the
 * double finds the right one; its product with b has 52 bits, and what is left
 * of a has 24. */
#define QUICK_QUOTIENT_MAX 268435456.0
#define REMAINDER_BLOCK 256

/* Threads take what is subnormal for 0, and fmod() does not: whether it may be
 * an operand or be left of one.  The bits of 0 without their sign wrap. */
#define DEFINE_TINY(T, bits_type, LEAST, LEAST_BITS)          \
    static inline bits_type tiny_##T(T a, T by)               \
    {                                                         \
        bits_type bits;                                       \
                                                              \
        memcpy(&bits, &a, sizeof(bits));                      \
        return (bits_type)((bits_type)(2 * bits - 1) <        \
                           (bits_type)(2 * (LEAST_BITS)-1)) | \
               (bits_type)(by < (LEAST));                     \
    }
DEFINE_TINY(float, uint32_t, 0x1p-103F, UINT32_C(0x0c000000))
DEFINE_TINY(double, uint64_t, 0x1p-970, UINT64_C(0x0350000000000000))

static inline float quick_remainder(float a, float b, int32_t *bad)
{
    const double quotient = (double)a / (double)b;
    const float by = fabsf(b);

    *bad |= !(fabs(quotient) < QUICK_QUOTIENT_MAX) | !(by < INFINITY) |
            (int32_t)tiny_float(a, by);
    return copysignf((float)((double)a - trunc(quotient) * (double)b), a);
}

static inline float quick_floor_mod(float a, float b, int32_t *bad)
{
    float m = quick_remainder(a, b, bad);

    return ((m != 0) & ((m < 0) != (b < 0))) ? m + b : m;
}

/* fmod() where the quotient is below 2^52: rounded, it may be one too large but
 * not too small, and what a fused multiplication leaves of |a|, a multiple of
 * b's last place and no more than |b|, is exact. */
#define QUICK_DOUBLE_QUOTIENT_MAX 0x1p52

static inline double quick_remainder_double(double a, double b, int64_t *bad)
{
    const double size = fabs(a), by = fabs(b), quotient = trunc(size / by);
    const double rest = fma(-quotient, by, size);

    *bad |= !(quotient < QUICK_DOUBLE_QUOTIENT_MAX) | !(by < INFINITY) |
            (int64_t)tiny_double(a, by);
    return copysign(rest < 0 ? rest + by : rest, a);
}

static inline double quick_floor_mod_double(double a, double b, int64_t *bad)
{
    double m = quick_remainder_double(a, b, bad);

    return ((m != 0) & ((m < 0) != (b < 0))) ? m + b : m;
}

/* All of a block quickly, once more where one of it cannot be done so; of an
 * operand that is a scalar there is a block full. */
#define REMAINDER_LOOP(loop, T, flags, quick, exact)                      \
    TFD_SIMD_LOOP(loop)                                                   \
    {                                                                     \
        const struct tfd_row *r = arg;                                    \
        T *y = r->y, made[REMAINDER_BLOCK], same[2][REMAINDER_BLOCK];     \
                                                                          \
        for (int i = 0; !(r->a_step && r->b_step) && i < REMAINDER_BLOCK; \
             i++) {                                                       \
            same[0][i] = *(const T *)r->a;                                \
            same[1][i] = *(const T *)r->b;                                \
        }                                                                 \
        for (int64_t at = begin, n; at < end; at += n) {                  \
            const T *a = r->a_step ? (const T *)r->a + at : same[0];      \
            const T *b = r->b_step ? (const T *)r->b + at : same[1];      \
            flags bad = 0;                                                \
                                                                          \
            n = end - at < REMAINDER_BLOCK ? end - at : REMAINDER_BLOCK;  \
            for (int64_t i = 0; i < n; i++)                               \
                made[i] = quick(a[i], b[i], &bad);                        \
            for (int64_t i = 0; bad && i < n; i++)                        \
                made[i] = exact(a[i], b[i]);                              \
            memcpy(y + at, made, (size_t)n * sizeof(*y));                 \
        }                                                                 \
    }

REMAINDER_LOOP(loop_remainder_FLOAT, float, int32_t, quick_remainder,
               remainder_FLOAT)
REMAINDER_LOOP(loop_floor_mod_FLOAT, float, int32_t, quick_floor_mod,
               floor_mod_FLOAT)
REMAINDER_LOOP(loop_remainder_DOUBLE, double, int64_t, quick_remainder_double,
               remainder_DOUBLE)
REMAINDER_LOOP(loop_floor_mod_DOUBLE, double, int64_t, quick_floor_mod_double,
               floor_mod_DOUBLE)
TFD_SIMD_CLONES_WIDE(loop_remainder_FLOAT)
TFD_SIMD_CLONES_WIDE(loop_floor_mod_FLOAT)
TFD_SIMD_CLONES_FUSED(loop_remainder_DOUBLE)
TFD_SIMD_CLONES_FUSED(loop_floor_mod_DOUBLE)

/* Rounded after each operation, as TensorFlow's half does: of floats that hold
 * halves or bfloat16. */
#define DEFINE_STEPS(name, number, T)                            \
    static inline float floor_div_steps_##name(float a, float b) \
    {                                                            \
        return floorf(TFD_ROUND_##name(a / b));                  \
    }                                                            \
    static inline float truncate_steps_##name(float a, float b)  \
    {                                                            \
        return truncf(TFD_ROUND_##name(a / b));                  \
    }

TFD_HALF_DTYPES(DEFINE_STEPS)

#define DEFINE_COMPLEX(name, number, T)               \
    static inline T quotient_##name(T a, T b)         \
    {                                                 \
        return T##_div(a, b);                         \
    }                                                 \
    static inline T no_nan_##name(T a, T b)           \
    {                                                 \
        const bool zero = (b.re == 0) & (b.im == 0);  \
        const T q = T##_div(a, b);                    \
                                                      \
        return (T){zero ? 0 : q.re, zero ? 0 : q.im}; \
    }

TFD_COMPLEX_DTYPES(DEFINE_COMPLEX)

#define LOOPS_QUOTIENT(LOOP, name, T)                 \
    LOOP(loop_quotient_##name, T, T, quotient_##name) \
    LOOP(loop_no_nan_##name, T, T, no_nan_##name)
#define LOOPS_ROUNDED(LOOP, name, T)                    \
    LOOP(loop_floor_div_##name, T, T, floor_div_##name) \
    LOOP(loop_truncate_##name, T, T, truncate_##name)

/* A division of the widest vector takes Zen 5 no longer than one of half. */
#define LOOPS_FLOAT(name, number, T)         \
    LOOPS_QUOTIENT(TFD_BINARY_WIDE, name, T) \
    LOOPS_ROUNDED(TFD_BINARY_WIDE, name, T)
TFD_FLOAT_DTYPES(LOOPS_FLOAT)

TFD_NARROW_AS_FLOAT(floor_mod, HALF)
TFD_NARROW_AS_FLOAT(floor_mod, BFLOAT16)
TFD_BINARY_WIDE(loop_truncate_steps_HALF, float, float, truncate_steps_HALF)
TFD_BINARY_WIDE(loop_truncate_steps_BFLOAT16, float, float,
                truncate_steps_BFLOAT16)
TFD_NARROW_LOOP(loop_truncate_HALF, HALF, loop_truncate_steps_HALF)
TFD_NARROW_LOOP(loop_truncate_BFLOAT16, BFLOAT16, loop_truncate_steps_BFLOAT16)

/* Of vectors of floats: see TFD_LANES_LOOP.  Processors divide floats faster
 * than as many halves. */
#define QUOTIENT(R, a, b) ((a) / (b))
#define NO_NAN(R, a, b) TFD_LANES_UNLESS_0(b, QUOTIENT(R, a, b))
#define FLOOR_DIV(R, a, b)                     \
    _mm256_roundscale_ps(R(QUOTIENT(R, a, b)), \
                         _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)

#define LOOPS_NARROW(name, number, T)                                         \
    TFD_BINARY_WIDE(loop_floor_div_steps_##name, float, float,                \
                    floor_div_steps_##name)                                   \
    TFD_LANES_OR(loop_quotient_##name, name, BINARY, QUOTIENT,                \
                 loop_quotient_FLOAT)                                         \
    TFD_LANES_OR(loop_no_nan_##name, name, BINARY, NO_NAN, loop_no_nan_FLOAT) \
    TFD_LANES_OR(loop_floor_div_##name, name, BINARY, FLOOR_DIV,              \
                 loop_floor_div_steps_##name)
TFD_HALF_DTYPES(LOOPS_NARROW)

#define LOOPS_COMPLEX(name, number, T) LOOPS_QUOTIENT(TFD_BINARY_LOOP, name, T)
TFD_COMPLEX_DTYPES(LOOPS_COMPLEX)

/* ---- Kernels ------------------------------------------------------------- */

#define COST_INT 6 /* a division of integers, in nanoseconds */

static enum tfd_code divide(struct tfd_kctx *k, int *failed,
                            struct tfd_status *st)
{
    struct tfd_elementwise e = {k->in[0].dtype, COST_INT, failed, NULL};

    return tfd_elementwise_binary(k, &e, st);
}

static enum tfd_code int_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    int failed = 0;

    TFD_TRY(divide(k, &failed, st));
    if (failed)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Integer division by zero");
    return TFD_OK;
}

/* TensorFlow does not expect these two to fail, and says so. */
static enum tfd_code truncate_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    int failed = 0;

    TFD_TRY(divide(k, &failed, st));
    if (failed)
        return tfd_fail(st, TFD_INTERNAL,
                        "Unexpected error in binary operator (only integer "
                        "div and mod should have errors)");
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

/* z = x / y:  dz / y  and  dz * (-x / y / y), with the quotient `op`. */
static enum tfd_code quotient_gradient(struct tfd_grad *g, const char *op,
                                       struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x = tfd_gradient_conj(&b, g->x[0]);
    struct tfd_edge y = tfd_gradient_conj(&b, g->x[1]);
    struct tfd_edge minus = tfd_gradient_op1(&b, "Neg", x);
    struct tfd_edge slope = tfd_gradient_op2(&b, op, minus, y);

    slope = tfd_gradient_op2(&b, op, slope, y);
    g->dx[0] = tfd_gradient_op2(&b, op, g->dy[0], y);
    g->dx[1] = tfd_gradient_op2(&b, "Mul", g->dy[0], slope);
    tfd_gradient_reduce(&b, g->x[0], g->x[1], &g->dx[0], &g->dx[1]);
    return b.code;
}

static enum tfd_code real_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return quotient_gradient(g, "RealDiv", st);
}

static enum tfd_code div_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return quotient_gradient(g, "Div", st);
}

static enum tfd_code no_nan_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return quotient_gradient(g, "DivNoNan", st);
}

/* x - floor(x / y) * y */
static enum tfd_code floor_mod_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge q = tfd_gradient_op2(&b, "FloorDiv", g->x[0], g->x[1]);

    q = tfd_gradient_op1(&b, "Neg", q);
    g->dx[0] = g->dy[0];
    g->dx[1] = tfd_gradient_op2(&b, "Mul", g->dy[0], q);
    tfd_gradient_reduce(&b, g->x[0], g->x[1], &g->dx[0], &g->dx[1]);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define OP(name_, types, grad_, flags_)                             \
    {                                                               \
        .name = (name_), .inputs = "x: T, y: T", .outputs = "z: T", \
        .attrs = "T: {" types "}", .shape = tfd_shape_broadcast2,   \
        .grad = (grad_), .flags = (flags_),                         \
    }

#define ALL_NUMBERS                                                      \
    "bfloat16, half, float, double, uint8, int8, uint16, int16, int32, " \
    "uint32, uint64, int64, complex64, complex128"

static const struct tfd_opdef ops[] = {
    OP("RealDiv", ALL_NUMBERS, real_gradient, 0),
    OP("Div", ALL_NUMBERS, div_gradient, 0),
    OP("DivNoNan", "half, float, bfloat16, double, complex64, complex128",
       no_nan_gradient, 0),
    OP("FloorDiv", ALL_NUMBERS, NULL, TFD_OP_NO_GRADIENT),
    OP("FloorMod",
       "int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, "
       "half, float, double",
       floor_mod_gradient, 0),
    OP("TruncateDiv", ALL_NUMBERS, NULL, TFD_OP_NO_GRADIENT),
    OP("TruncateMod", "int32, int64, bfloat16, half, float, double", NULL, 0),
    OP("Mod", "int32, int64, half, half, bfloat16, float, double", NULL, 0),
};

#define KERNEL(op, name, how, loop)                                   \
    TFD_KERNEL(op, name, tfd_elementwise_##how, loop_##loop##_##name, \
               .flags = TFD_KERNEL_ROW),
#define KERNELS_INT(name, number, T)                                  \
    TFD_KERNEL("Div", name, int_cpu, loop_quotient_##name),           \
        TFD_KERNEL("FloorDiv", name, int_cpu, loop_floor_div_##name), \
        TFD_KERNEL("FloorMod", name, int_cpu, loop_floor_mod_##name), \
        TFD_KERNEL("TruncateDiv", name, truncate_cpu, loop_quotient_##name),
#define KERNELS_QUOTIENT(name, number, T)       \
    KERNEL("RealDiv", name, compute2, quotient) \
    KERNEL("Div", name, compute2, quotient)     \
    KERNEL("DivNoNan", name, compute2, no_nan)
#define KERNELS_REAL(name, number, T)             \
    KERNELS_QUOTIENT(name, number, T)             \
    KERNEL("FloorDiv", name, compute2, floor_div) \
    KERNEL("FloorMod", name, vector2, floor_mod)  \
    KERNEL("TruncateDiv", name, compute2, truncate)
#define KERNELS_REMAINDER(name, number, T)          \
    KERNEL("TruncateMod", name, vector2, remainder) \
    KERNEL("Mod", name, vector2, remainder)

static const struct tfd_kernel kernels[] = {
    TFD_INT_DTYPES(KERNELS_INT) TFD_FLOAT_DTYPES(KERNELS_REAL)
        TFD_HALF_DTYPES(KERNELS_REAL) TFD_COMPLEX_DTYPES(KERNELS_QUOTIENT)
            TFD_FLOAT_DTYPES(KERNELS_REMAINDER) TFD_KERNEL(
                "TruncateMod", INT32, truncate_cpu, loop_remainder_INT32),
    TFD_KERNEL("TruncateMod", INT64, truncate_cpu, loop_remainder_INT64),
    TFD_KERNEL("Mod", INT32, int_cpu, loop_remainder_INT32),
    TFD_KERNEL("Mod", INT64, int_cpu, loop_remainder_INT64),
};

const struct tfd_family tfd_family_divide = {
    .name = "divide",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
