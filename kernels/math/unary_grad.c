/*
 * unary_grad.c - the operations that gradients of unary functions consist of,
 * in terms of the function's result y:
 *
 *     SigmoidGrad     dy * (y * (1 - y))       TanhGrad   dy * (1 - y^2)
 *     SqrtGrad        dy * (0.5 / y)          RsqrtGrad  -dy / 2 * y^3
 *     ReciprocalGrad, InvGrad   -dy * y^2
 *
 * Of half types every intermediate result is one, as in TensorFlow.  Of complex
 * numbers y is conjugated first, except for the first two, whose
 * callers have done that.
 */
#include "kernels/core/families.h"

#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/vector/complex_math.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow_loops.h"

/* ---- Functions of y and dy ----------------------------------------------- */

/* W: what T is computed in; R rounds to T.  Where dy is zero the last three are
 * zero, whatever y is. */
#define DEFINE_REAL(name, W, R)                                 \
    static inline W sigmoid_of_##name(W y, W dy)                \
    {                                                           \
        return dy * R(y * R(1 - y));                            \
    }                                                           \
    static inline W tanh_of_##name(W y, W dy)                   \
    {                                                           \
        return dy * R(1 - R(y * y));                            \
    }                                                           \
    static inline W sqrt_of_##name(W y, W dy)                   \
    {                                                           \
        return dy == 0 ? 0 : dy * R((W)0.5 / y);                \
    }                                                           \
    static inline W rsqrt_of_##name(W y, W dy)                  \
    {                                                           \
        W part = R(R((W)-0.5 * dy) * y);                        \
                                                                \
        return ((dy == 0) | (part == 0)) ? 0 : part * R(y * y); \
    }                                                           \
    static inline W reciprocal_of_##name(W y, W dy)             \
    {                                                           \
        return dy == 0 ? 0 : -dy * R(y * y);                    \
    }

#define EXACT(value) (value)

DEFINE_REAL(FLOAT, float, EXACT)
DEFINE_REAL(DOUBLE, double, EXACT)
DEFINE_REAL(HALF, float, TFD_ROUND_HALF)
DEFINE_REAL(BFLOAT16, float, TFD_ROUND_BFLOAT16)

#define DEFINE_COMPLEX(name, number, T)                         \
    static inline T minus_square_##name(T y)                    \
    {                                                           \
        T square = T##_mul(y, y);                               \
                                                                \
        return (T){-square.re, -square.im};                     \
    }                                                           \
    static inline T sigmoid_##name(T y, T dy)                   \
    {                                                           \
        return T##_mul(T##_mul(dy, y), (T){1 - y.re, -y.im});   \
    }                                                           \
    static inline T tanh_##name(T y, T dy)                      \
    {                                                           \
        T minus = minus_square_##name(y);                       \
                                                                \
        return T##_mul(dy, (T){1 + minus.re, minus.im});        \
    }                                                           \
    static inline T sqrt_##name(T y, T dy)                      \
    {                                                           \
        if (dy.re == 0 && dy.im == 0)                           \
            return dy;                                          \
        return T##_div((T){dy.re / 2, dy.im / 2}, T##_conj(y)); \
    }                                                           \
    static inline T rsqrt_##name(T y, T dy)                     \
    {                                                           \
        T c = T##_conj(y);                                      \
        T part = T##_mul((T){dy.re / 2, dy.im / 2}, c);         \
                                                                \
        return T##_mul(part, minus_square_##name(c));           \
    }                                                           \
    static inline T reciprocal_##name(T y, T dy)                \
    {                                                           \
        return T##_mul(dy, minus_square_##name(T##_conj(y)));   \
    }

TFD_COMPLEX_DTYPES(DEFINE_COMPLEX)

/* ---- Loops --------------------------------------------------------------- */

/* A ROW of each function, which X makes a loop of. */
#define FUNCTIONS(ROW, X, name, T) \
    ROW(X, sigmoid, name, T)       \
    ROW(X, tanh, name, T)          \
    ROOTS(ROW, X, name, T)
#define ROOTS(ROW, X, name, T) \
    ROW(X, sqrt, name, T)      \
    ROW(X, rsqrt, name, T)     \
    ROW(X, reciprocal, name, T)

#define ROW_REAL(X, function, name, T) \
    X(loop_##function##_##name, T, T, function##_of_##name)
#define ROW_COMPLEX(X, function, name, T) \
    X(loop_##function##_##name, T, T, function##_##name)
/* Of floats that hold halves or bfloat16. */
#define ROW_STEPS(X, function, name, T) \
    X(loop_##function##_steps_##name, float, float, function##_of_##name)
#define ROW_BFLOAT16(X, function, name, T)                      \
    X(loop_##function##_##name, name, BINARY, function##_lanes, \
      loop_##function##_steps_##name)
#define ROW_HALF(X, function, name, T)                                       \
    X(loop_##function##_##name, BINARY, function##_native, function##_lanes, \
      loop_##function##_steps_##name)

#define HALF(x) ((tfd_simd_half)(x))
#define sigmoid_native(y, dy) ((dy) * ((y) * (HALF(1) - (y))))
#define tanh_native(y, dy) ((dy) * (HALF(1) - (y) * (y)))
#define sqrt_native(y, dy) ((dy) == 0 ? 0 : (dy) * (HALF(0.5) / (y)))
#define PART(y, dy) ((HALF(-0.5) * (dy)) * (y))
#define rsqrt_native(y, dy) \
    (((dy) == 0) | (PART(y, dy) == 0) ? 0 : PART(y, dy) * ((y) * (y)))
#define reciprocal_native(y, dy) ((dy) == 0 ? 0 : -(dy) * ((y) * (y)))

/* Of vectors of floats: see TFD_LANES_LOOP. */
#define TIMES TFD_LANES_TIMES
#define sigmoid_lanes(R, y, dy) TIMES(dy, R(TIMES(y, R(1.0f - (y)))))
#define tanh_lanes(R, y, dy) TIMES(dy, R(1.0f - R((y) * (y))))
#define sqrt_lanes(R, y, dy) TFD_LANES_UNLESS_0(dy, TIMES(dy, R(0.5f / (y))))
#define PART_LANES(R, y, dy) R(TIMES(y, R(-0.5f * (dy))))
#define rsqrt_lanes(R, y, dy)                        \
    TFD_LANES_UNLESS_0(                              \
        dy, TFD_LANES_UNLESS_0(PART_LANES(R, y, dy), \
                               PART_LANES(R, y, dy) * R((y) * (y))))
#define reciprocal_lanes(R, y, dy) \
    TFD_LANES_UNLESS_0(dy, TIMES(-(dy), R((y) * (y))))

FUNCTIONS(ROW_REAL, TFD_PAIR_WIDE, FLOAT, float)
FUNCTIONS(ROW_REAL, TFD_PAIR_SIMD, DOUBLE, double)
FUNCTIONS(ROW_STEPS, TFD_PAIR_WIDE, HALF, tfd_half)
FUNCTIONS(ROW_STEPS, TFD_PAIR_WIDE, BFLOAT16, tfd_bfloat16)
TFD_HALF_LOOP_OF_STEPS(loop_sigmoid_HALF, sigmoid_native, sigmoid_lanes,
                       loop_sigmoid_steps_HALF)
TFD_HALF_LOOP_OF_STEPS(loop_tanh_HALF, tanh_native, tanh_lanes,
                       loop_tanh_steps_HALF)
ROOTS(ROW_HALF, TFD_HALF_LOOP, HALF, tfd_half)
FUNCTIONS(ROW_BFLOAT16, TFD_LANES_OR, BFLOAT16, tfd_bfloat16)
FUNCTIONS(ROW_COMPLEX, TFD_BINARY_LOOP, COMPLEX64, tfd_complex64)
FUNCTIONS(ROW_COMPLEX, TFD_BINARY_LOOP, COMPLEX128, tfd_complex128)

/* ---- Kernel -------------------------------------------------------------- */

static enum tfd_code grad_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {k->in[0].dtype, TFD_COST_MEMORY, NULL,
                                      NULL};

    return tfd_elementwise_pair(k, &e, st);
}

/* ---- Second gradients ---------------------------------------------------- */

static struct tfd_edge times(struct tfd_gradient *b, double factor,
                             struct tfd_edge x)
{
    return tfd_gradient_op2(b, "Mul", tfd_gradient_scalar(b, x, factor), x);
}

/* z = dy * y * (1 - y):  d * dy * (1 - 2 * y),  SigmoidGrad(y, d) */
static enum tfd_code sigmoid_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge y = tfd_gradient_conj(&b, g->x[0]);
    struct tfd_edge dy = tfd_gradient_conj(&b, g->x[1]);
    struct tfd_edge part = tfd_gradient_op2(&b, "Mul", g->dy[0], dy);
    struct tfd_edge twice;

    twice = tfd_gradient_op2(&b, "Mul", times(&b, 2, part), y);
    g->dx[0] = tfd_gradient_op2(&b, "Sub", part, twice);
    g->dx[1] = tfd_gradient_op2(&b, "SigmoidGrad", y, g->dy[0]);
    return b.code;
}

/* z = dy * (1 - y^2):  -2 * d * dy * y,  TanhGrad(y, d) */
static enum tfd_code tanh_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge y = tfd_gradient_conj(&b, g->x[0]);
    struct tfd_edge dy = tfd_gradient_conj(&b, g->x[1]);
    struct tfd_edge part = times(&b, -2, g->dy[0]);

    part = tfd_gradient_op2(&b, "Mul", part, dy);
    g->dx[0] = tfd_gradient_op2(&b, "Mul", part, y);
    g->dx[1] = tfd_gradient_op2(&b, "TanhGrad", y, g->dy[0]);
    return b.code;
}

/* z = dy / (2 * y):  -conj(d / y) * z,  d / (2 * y) */
static enum tfd_code sqrt_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge ratio = tfd_gradient_op2(&b, "RealDiv", g->dy[0], g->x[0]);
    struct tfd_edge minus;

    minus = tfd_gradient_conj(&b, ratio);
    minus = tfd_gradient_op1(&b, "Neg", minus);
    g->dx[0] = tfd_gradient_op2(&b, "Mul", minus, g->y[0]);
    g->dx[1] = times(&b, 0.5, ratio);
    return b.code;
}

/* z = -dy / 2 * y^3:  -1.5 * d * dy * y^2,  RsqrtGrad(y, d) */
static enum tfd_code rsqrt_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge y = tfd_gradient_conj(&b, g->x[0]);
    struct tfd_edge d = tfd_gradient_conj(&b, g->dy[0]);
    struct tfd_edge part;

    part = tfd_gradient_op2(&b, "Mul", times(&b, -1.5, d), g->x[1]);
    g->dx[0] =
        tfd_gradient_op2(&b, "Mul", part, tfd_gradient_op1(&b, "Square", y));
    g->dx[1] = tfd_gradient_op2(&b, "RsqrtGrad", y, g->dy[0]);
    return b.code;
}

/* z = -dy * y^2:  -2 * d * dy * y,  ReciprocalGrad(y, d) */
static enum tfd_code reciprocal_gradient(struct tfd_grad *g,
                                         struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge y = tfd_gradient_conj(&b, g->x[0]);
    struct tfd_edge d = tfd_gradient_conj(&b, g->dy[0]);
    struct tfd_edge part;

    part = tfd_gradient_op2(&b, "Mul", times(&b, -2, d), g->x[1]);
    g->dx[0] = tfd_gradient_op2(&b, "Mul", part, y);
    g->dx[1] = tfd_gradient_op2(&b, "ReciprocalGrad", y, g->dy[0]);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define OP(name_, grad_)                                             \
    {                                                                \
        .name = (name_), .inputs = "y: T, dy: T", .outputs = "z: T", \
        .attrs = "T: {bfloat16, half, float, double, complex64, "    \
                 "complex128}",                                      \
        .shape = tfd_shape_like_first, .grad = (grad_),              \
    }

static const struct tfd_opdef ops[] = {
    OP("SigmoidGrad", sigmoid_gradient),
    OP("TanhGrad", tanh_gradient),
    OP("SqrtGrad", sqrt_gradient),
    OP("RsqrtGrad", rsqrt_gradient),
    OP("ReciprocalGrad", reciprocal_gradient),
    OP("InvGrad", reciprocal_gradient),
};

#define KERNEL(op, name, loop)                           \
    TFD_KERNEL(op, name, grad_cpu, loop_##loop##_##name, \
               .flags = TFD_KERNEL_ROW | TFD_KERNEL_PAIR),
#define KERNELS(name, number, T)               \
    KERNEL("SigmoidGrad", name, sigmoid)       \
    KERNEL("TanhGrad", name, tanh)             \
    KERNEL("SqrtGrad", name, sqrt)             \
    KERNEL("RsqrtGrad", name, rsqrt)           \
    KERNEL("ReciprocalGrad", name, reciprocal) \
    KERNEL("InvGrad", name, reciprocal)

static const struct tfd_kernel kernels[] = {TFD_FLOAT_DTYPES(
    KERNELS) TFD_HALF_DTYPES(KERNELS) TFD_COMPLEX_DTYPES(KERNELS)};

const struct tfd_family tfd_family_unary_grad = {
    .name = "unary_grad",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
