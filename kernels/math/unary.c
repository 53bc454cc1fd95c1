/*
 * unary.c - arithmetic and tests of one element:
 *
 *     Neg Abs Sign Square Reciprocal Inv Conj
 *     Floor Ceil Round Rint
 *     IsFinite IsNan IsInf
 *
 * The lowest integer is its own negative and absolute value.  Round and Rint
 * take the even one of two neighbours; of an integer Round is itself.
 */
#include "kernels/core/families.h"

#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/vector/complex_math.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow.h"
#include "kernels/vector/narrow_loops.h"
#include "kernels/vector/reciprocal.h"

#include <math.h>
#include <string.h>

/* ---- Functions of one element -------------------------------------------- */

#define DEFINE_INT(name, T, U)            \
    static inline T neg_##name(T x)       \
    {                                     \
        return (T)(0 - (U)x);             \
    }                                     \
    static inline T abs_##name(T x)       \
    {                                     \
        return x < 0 ? neg_##name(x) : x; \
    }                                     \
    static inline T sign_##name(T x)      \
    {                                     \
        return (T)((x > 0) - (x < 0));    \
    }

DEFINE_INT(INT8, int8_t, uint32_t)
DEFINE_INT(INT16, int16_t, uint32_t)
DEFINE_INT(INT32, int32_t, uint32_t)
DEFINE_INT(INT64, int64_t, uint64_t)

#define DEFINE_SQUARE(name, T, U)      \
    static inline T square_##name(T x) \
    {                                  \
        return (T)((U)x * (U)x);       \
    }

TFD_WRAPPING_DTYPES(DEFINE_SQUARE)

#define DEFINE_FLOAT(name, T, suffix)                                  \
    static inline T neg_##name(T x)                                    \
    {                                                                  \
        return -x;                                                     \
    }                                                                  \
    static inline T abs_##name(T x)                                    \
    {                                                                  \
        return fabs##suffix(x);                                        \
    }                                                                  \
    static inline T sign_##name(T x)                                   \
    {                                                                  \
        const T sign = x != 0 ? copysign##suffix(1, x) : 0;            \
                                                                       \
        return x == x ? sign : x;                                      \
    }                                                                  \
    static inline T square_##name(T x)                                 \
    {                                                                  \
        return x * x;                                                  \
    }                                                                  \
    static inline T floor_##name(T x)                                  \
    {                                                                  \
        return floor##suffix(x);                                       \
    }                                                                  \
    static inline T ceil_##name(T x)                                   \
    {                                                                  \
        return ceil##suffix(x);                                        \
    }                                                                  \
    static inline T round_##name(T x)                                  \
    {                                                                  \
        return rint##suffix(x); /* nobody changes the rounding mode */ \
    }                                                                  \
    static inline tfd_bool is_finite_##name(T x)                       \
    {                                                                  \
        return fabs##suffix(x) < (T)INFINITY;                          \
    }                                                                  \
    static inline tfd_bool is_inf_##name(T x)                          \
    {                                                                  \
        return fabs##suffix(x) == (T)INFINITY;                         \
    }                                                                  \
    static inline tfd_bool is_nan_##name(T x)                          \
    {                                                                  \
        return x != x;                                                 \
    }

DEFINE_FLOAT(FLOAT, float, f)
DEFINE_FLOAT(DOUBLE, double, )

/* That of floats is reciprocal.h's. */
static inline double reciprocal_DOUBLE(double x)
{
    return 1 / x;
}

/* What NaN is made by way of float: quiet, and of bfloat16 the same one. */
#define NAN_OF_HALF(x) ((x) | 0x200)
#define NAN_OF_BFLOAT16(x) 0x7fc0
#define ONE_HALF 0x3c00
#define ONE_BFLOAT16 0x3f80

/* By their bits; everything else takes the way of float. */
#define DEFINE_NARROW(name, T, to, from)                                  \
    static inline T neg_##name(T x)                                       \
    {                                                                     \
        return (T)(x ^ 0x8000u);                                          \
    }                                                                     \
    static inline T abs_##name(T x)                                       \
    {                                                                     \
        return (T)(x & 0x7fffu);                                          \
    }                                                                     \
    static inline T sign_##name(T x)                                      \
    {                                                                     \
        const int16_t size = (int16_t)(x & INT16_MAX);                    \
        const T one = (T)((x & 0x8000u) | ONE_##name);                    \
        const T sign = size ? one : 0;                                    \
                                                                          \
        return size > TFD_INFINITE_##name ? (T)(NAN_OF_##name(x)) : sign; \
    }                                                                     \
    static inline tfd_bool is_finite_##name(T x)                          \
    {                                                                     \
        return (int16_t)(x & INT16_MAX) < TFD_INFINITE_##name;            \
    }                                                                     \
    static inline tfd_bool is_inf_##name(T x)                             \
    {                                                                     \
        return (int16_t)(x & INT16_MAX) == TFD_INFINITE_##name;           \
    }                                                                     \
    static inline tfd_bool is_nan_##name(T x)                             \
    {                                                                     \
        return (int16_t)(x & INT16_MAX) > TFD_INFINITE_##name;            \
    }

TFD_NARROW_DTYPES(DEFINE_NARROW)

#define DEFINE_COMPLEX(name, T, hypot_)                                   \
    static inline T neg_##name(T x)                                       \
    {                                                                     \
        return (T){-x.re, -x.im};                                         \
    }                                                                     \
    static inline T sign_##name(T x)                                      \
    {                                                                     \
        if (x.re == 0 && x.im == 0)                                       \
            return (T){0, 0};                                             \
        return (T){x.re / hypot_(x.re, x.im), x.im / hypot_(x.re, x.im)}; \
    }                                                                     \
    static inline T square_##name(T x)                                    \
    {                                                                     \
        return T##_mul(x, x);                                             \
    }                                                                     \
    static inline T reciprocal_##name(T x)                                \
    {                                                                     \
        return T##_div((T){1, 0}, x);                                     \
    }

DEFINE_COMPLEX(COMPLEX64, tfd_complex64, hypotf)
DEFINE_COMPLEX(COMPLEX128, tfd_complex128, hypot)

/* As one number of 64 bits, since a loop that treats the parts differently
 * takes vectors apart and puts them together again. */
static inline tfd_complex64 conj_COMPLEX64(tfd_complex64 x)
{
    const uint32_t sign[2] = {0, UINT32_C(1) << 31};
    uint64_t mask, bits;

    memcpy(&mask, sign, sizeof(mask));
    memcpy(&bits, &x, sizeof(bits));
    bits ^= mask;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline tfd_complex128 conj_COMPLEX128(tfd_complex128 x)
{
    return tfd_complex128_conj(x);
}

/* ---- Loops --------------------------------------------------------------- */

#define LOOP_SAME(LOOP, function, name, T) \
    LOOP(loop_##function##_##name, T, T, function##_##name)
#define LOOP_TEST(LOOP, function, name, T) \
    LOOP(loop_##function##_##name, T, tfd_bool, function##_##name)

#define LOOPS_TEST(name, T)                       \
    LOOP_TEST(TFD_UNARY_WIDE, is_finite, name, T) \
    LOOP_TEST(TFD_UNARY_WIDE, is_inf, name, T)    \
    LOOP_TEST(TFD_UNARY_WIDE, is_nan, name, T)

#define LOOPS_FLOAT(name, number, T)           \
    LOOP_SAME(TFD_UNARY_LONG, neg, name, T)    \
    LOOP_SAME(TFD_UNARY_LONG, abs, name, T)    \
    LOOP_SAME(TFD_UNARY_LONG, square, name, T) \
    LOOP_SAME(TFD_UNARY_LONG, floor, name, T)  \
    LOOP_SAME(TFD_UNARY_LONG, ceil, name, T)   \
    LOOP_SAME(TFD_UNARY_LONG, round, name, T)  \
    LOOPS_TEST(name, T)
TFD_FLOAT_DTYPES(LOOPS_FLOAT)
LOOP_SAME(TFD_UNARY_WIDE, sign, FLOAT, float)
LOOP_SAME(TFD_UNARY_WIDE, sign, DOUBLE, double)

#define loop_reciprocal_FLOAT tfd_reciprocal_loop
LOOP_SAME(TFD_UNARY_WIDE, reciprocal, DOUBLE, double)

/* Of vectors of floats: see TFD_LANES_LOOP. */
#define TO(direction) ((direction) | _MM_FROUND_NO_EXC)
#define SQUARE(R, x) ((x) * (x))
#define RECIPROCAL(R, x) (1.0f / (x))
#define FLOOR(R, x) _mm256_roundscale_ps(x, TO(_MM_FROUND_TO_NEG_INF))
#define CEIL(R, x) _mm256_roundscale_ps(x, TO(_MM_FROUND_TO_POS_INF))
#define ROUND(R, x) _mm256_roundscale_ps(x, TO(_MM_FROUND_TO_NEAREST_INT))

#define LOOP_LANES(function, name, LANES)                      \
    TFD_LANES_OR(loop_##function##_##name, name, UNARY, LANES, \
                 loop_##function##_FLOAT)
#define LOOPS_NARROW(name, number, T)        \
    LOOP_SAME(TFD_UNARY_SIMD, neg, name, T)  \
    LOOP_SAME(TFD_UNARY_SIMD, abs, name, T)  \
    LOOP_SAME(TFD_UNARY_SIMD, sign, name, T) \
    LOOPS_TEST(name, T)                      \
    LOOP_LANES(square, name, SQUARE)         \
    LOOP_LANES(reciprocal, name, RECIPROCAL) \
    LOOP_LANES(floor, name, FLOOR)           \
    LOOP_LANES(ceil, name, CEIL)             \
    LOOP_LANES(round, name, ROUND)
TFD_HALF_DTYPES(LOOPS_NARROW)

#define LOOPS_COMPLEX(name, number, T)             \
    LOOP_SAME(TFD_UNARY_SIMD, neg, name, T)        \
    LOOP_SAME(TFD_UNARY_LOOP, sign, name, T)       \
    LOOP_SAME(TFD_UNARY_SIMD, square, name, T)     \
    LOOP_SAME(TFD_UNARY_LOOP, reciprocal, name, T) \
    LOOP_SAME(TFD_UNARY_SIMD, conj, name, T)
TFD_COMPLEX_DTYPES(LOOPS_COMPLEX)

#define LOOPS_INT(name, T)                       \
    LOOP_SAME(TFD_UNARY_OF_##name, neg, name, T) \
    LOOP_SAME(TFD_UNARY_OF_##name, abs, name, T) \
    LOOP_SAME(TFD_UNARY_WIDE, sign, name, T)
LOOPS_INT(INT8, int8_t)
LOOPS_INT(INT16, int16_t)
LOOPS_INT(INT32, int32_t)
LOOPS_INT(INT64, int64_t)

#define LOOPS_SQUARE(name, number, T) \
    LOOP_SAME(TFD_UNARY_OF_##name, square, name, T)
TFD_INT_DTYPES(LOOPS_SQUARE)

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code unary_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {k->in[0].dtype, TFD_COST_MEMORY, NULL,
                                      NULL};

    return tfd_elementwise_unary(k, &e, st);
}

static enum tfd_code same_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = k->in[0].shape;

    (void)st;
    tfd_kctx_output_alias(k, 0, 0, &shape);
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

static enum tfd_code neg_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return tfd_grad_emit(g, "Neg", &g->dy[0], 1, &g->dx[0], st);
}

static enum tfd_code abs_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge sign = tfd_gradient_op1(&b, "Sign", g->x[0]);

    g->dx[0] = tfd_gradient_op2(&b, "Mul", g->dy[0], sign);
    return b.code;
}

static enum tfd_code sign_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return tfd_grad_emit(g, "ZerosLike", &g->x[0], 1, &g->dx[0], st);
}

static enum tfd_code square_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x = tfd_gradient_conj(&b, g->x[0]);
    struct tfd_edge two = tfd_gradient_scalar(&b, g->x[0], 2);

    x = tfd_gradient_op2(&b, "Mul", x, two);
    g->dx[0] = tfd_gradient_op2(&b, "Mul", g->dy[0], x);
    return b.code;
}

static enum tfd_code reciprocal_gradient(struct tfd_grad *g,
                                         struct tfd_status *st)
{
    const struct tfd_edge in[] = {g->y[0], g->dy[0]};

    return tfd_grad_emit(g, "ReciprocalGrad", in, 2, &g->dx[0], st);
}

static enum tfd_code conj_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return tfd_grad_emit(g, "Conj", &g->dy[0], 1, &g->dx[0], st);
}

/* ---- Tables -------------------------------------------------------------- */

#define OP(name_, types, out, grad_, flags_)                      \
    {                                                             \
        .name = (name_), .inputs = "x: T", .outputs = "y: " out,  \
        .attrs = "T: {" types "}", .shape = tfd_shape_like_first, \
        .grad = (grad_), .flags = (flags_),                       \
    }

#define REAL "bfloat16, half, float, double"
#define SIGNED REAL ", int8, int16, int32, int64"
#define COMPLEX ", complex64, complex128"

static const struct tfd_opdef ops[] = {
    OP("Neg", SIGNED COMPLEX, "T", neg_gradient, 0),
    OP("Abs", SIGNED, "T", abs_gradient, 0),
    OP("Sign", SIGNED COMPLEX, "T", sign_gradient, 0),
    OP("Square", SIGNED ", uint8, uint16, uint32, uint64" COMPLEX, "T",
       square_gradient, 0),
    OP("Reciprocal", SIGNED COMPLEX, "T", reciprocal_gradient, 0),
    OP("Inv", SIGNED COMPLEX, "T", reciprocal_gradient, 0),
    OP("Floor", REAL, "T", NULL, TFD_OP_NO_GRADIENT),
    OP("Ceil", REAL, "T", NULL, TFD_OP_NO_GRADIENT),
    OP("Round", SIGNED COMPLEX, "T", NULL, TFD_OP_NO_GRADIENT),
    OP("Rint", REAL, "T", NULL, TFD_OP_NO_GRADIENT),
    OP("IsFinite", REAL, "bool", NULL, TFD_OP_NO_GRADIENT),
    OP("IsInf", REAL, "bool", NULL, TFD_OP_NO_GRADIENT),
    OP("IsNan", REAL, "bool", NULL, TFD_OP_NO_GRADIENT),
    {
        .name = "Conj",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = "T: {complex64, complex128, variant} = DT_COMPLEX64",
        .shape = tfd_shape_like_first,
        .grad = conj_gradient,
    },
};

#define KERNEL(op, name, loop)                            \
    TFD_KERNEL(op, name, unary_cpu, loop_##loop##_##name, \
               .flags = TFD_KERNEL_ROW),
#define KERNEL_TEST(op, name, loop)                                  \
    TFD_KERNEL(op, name, tfd_elementwise_test, loop_##loop##_##name, \
               .flags = TFD_KERNEL_ROW),
#define KERNELS_RECIPROCAL(name)           \
    KERNEL("Reciprocal", name, reciprocal) \
    KERNEL("Inv", name, reciprocal)
#define KERNELS_SIGN(name)   \
    KERNEL("Neg", name, neg) \
    KERNEL("Sign", name, sign)
#define KERNELS_REAL(name, number, T)        \
    KERNELS_RECIPROCAL(name)                 \
    KERNELS_SIGN(name)                       \
    KERNEL("Abs", name, abs)                 \
    KERNEL("Square", name, square)           \
    KERNEL("Floor", name, floor)             \
    KERNEL("Ceil", name, ceil)               \
    KERNEL("Round", name, round)             \
    KERNEL_TEST("IsFinite", name, is_finite) \
    KERNEL_TEST("IsInf", name, is_inf)       \
    KERNEL_TEST("IsNan", name, is_nan)
#define KERNELS_COMPLEX(name, number, T) \
    KERNELS_RECIPROCAL(name)             \
    KERNELS_SIGN(name)                   \
    KERNEL("Square", name, square)       \
    KERNEL("Conj", name, conj)
#define KERNELS_SIGNED(name) \
    KERNELS_SIGN(name)       \
    KERNEL("Abs", name, abs)
#define KERNELS_INT(name, number, T) KERNEL("Square", name, square)

static const struct tfd_kernel kernels[] = {
    TFD_FLOAT_DTYPES(KERNELS_REAL) TFD_HALF_DTYPES(KERNELS_REAL)
        TFD_COMPLEX_DTYPES(KERNELS_COMPLEX) TFD_INT_DTYPES(KERNELS_INT)
            KERNELS_SIGNED(INT8) KERNELS_SIGNED(INT16) KERNELS_SIGNED(INT32)
                KERNELS_SIGNED(INT64) KERNEL("Rint", FLOAT, round)
                    KERNEL("Rint", DOUBLE, round)
                        TFD_KERNEL("Round", INT32, same_cpu),
    TFD_KERNEL("Round", INT64, same_cpu),
};

const struct tfd_family tfd_family_unary = {
    .name = "unary",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
