/*
 * trig.c - more functions of one number:
 *
 *     Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Expm1 Erfc
 *
 * Those of floats are vectorised (vector_functions.h, vector_trig.h,
 * vector_double.h), and those of doubles (double_functions.h, double_trig.h);
 * complex ones are the C library's.  half and bfloat16 are computed in float.
 */
#include "kernels/core/families.h"

#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/vector/complex_math.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow_loops.h"
#include "kernels/vector/double_trig.h"
#include "kernels/vector/vector_trig.h"

#include <math.h>

/* ---- Functions of one element -------------------------------------------- */

#define FUNCTION(function, name, T, expression) \
    static inline T function##_##name(T x)      \
    {                                           \
        return expression;                      \
    }

FUNCTION(asin, FLOAT, float, tfd_vector_asin(x))
FUNCTION(acos, FLOAT, float, tfd_vector_acos(x))
FUNCTION(atan, FLOAT, float, tfd_vector_atan(x))
FUNCTION(sinh, FLOAT, float, tfd_vector_sinh(x))
FUNCTION(cosh, FLOAT, float, tfd_vector_cosh(x))
FUNCTION(asinh, FLOAT, float, tfd_vector_asinh(x))
FUNCTION(acosh, FLOAT, float, tfd_vector_acosh(x))
FUNCTION(atanh, FLOAT, float, tfd_vector_atanh(x))
FUNCTION(expm1, FLOAT, float, tfd_vector_expm1(x))
FUNCTION(erfc, FLOAT, float, tfd_vector_erfc(x))

FUNCTION(asin, DOUBLE, double, tfd_double_asin(x))
FUNCTION(acos, DOUBLE, double, tfd_double_acos(x))
FUNCTION(atan, DOUBLE, double, tfd_double_atan(x))
FUNCTION(sinh, DOUBLE, double, tfd_double_sinh(x))
FUNCTION(cosh, DOUBLE, double, tfd_double_cosh(x))
FUNCTION(asinh, DOUBLE, double, tfd_double_asinh(x))
FUNCTION(acosh, DOUBLE, double, tfd_double_acosh(x))
FUNCTION(atanh, DOUBLE, double, tfd_double_atanh(x))
FUNCTION(expm1, DOUBLE, double, tfd_double_expm1(x))
FUNCTION(erfc, DOUBLE, double, tfd_double_erfc(x))

#define COMPLEX(function, name, T, expression) \
    FUNCTION(function, name, T, T##_of(expression))
/* e^(a + bi) - 1 with a real part that is exact near 0:
 * expm1(a) cos(b) - 2 sin^2(b / 2). */
#define DEFINE_COMPLEX(name, T, R, suffix)                       \
    COMPLEX(tan, name, T, ctan##suffix(T##_native(x)))           \
    COMPLEX(asin, name, T, casin##suffix(T##_native(x)))         \
    COMPLEX(acos, name, T, cacos##suffix(T##_native(x)))         \
    COMPLEX(atan, name, T, catan##suffix(T##_native(x)))         \
    COMPLEX(sinh, name, T, csinh##suffix(T##_native(x)))         \
    COMPLEX(cosh, name, T, ccosh##suffix(T##_native(x)))         \
    COMPLEX(asinh, name, T, casinh##suffix(T##_native(x)))       \
    COMPLEX(acosh, name, T, cacosh##suffix(T##_native(x)))       \
    COMPLEX(atanh, name, T, catanh##suffix(T##_native(x)))       \
    static inline T expm1_##name(T x)                            \
    {                                                            \
        const R half = (sin##suffix)(x.im / 2);                  \
                                                                 \
        return (T){(expm1##suffix)(x.re) * (cos##suffix)(x.im) - \
                       2 * half * half,                          \
                   (exp##suffix)(x.re) * (sin##suffix)(x.im)};   \
    }

DEFINE_COMPLEX(COMPLEX64, tfd_complex64, float, f)
DEFINE_COMPLEX(COMPLEX128, tfd_complex128, double, )

/* ---- Loops --------------------------------------------------------------- */

#define LOOP(function, LOOP_, name, T) \
    LOOP_(loop_##function##_##name, T, T, function##_##name)

#define LOOPS_MOST(LOOP_, name, T) \
    LOOP(asin, LOOP_, name, T)     \
    LOOP(acos, LOOP_, name, T)     \
    LOOP(atan, LOOP_, name, T)     \
    LOOP(sinh, LOOP_, name, T)     \
    LOOP(cosh, LOOP_, name, T)     \
    LOOP(asinh, LOOP_, name, T)    \
    LOOP(acosh, LOOP_, name, T)    \
    LOOP(atanh, LOOP_, name, T)    \
    LOOP(expm1, LOOP_, name, T)
#define LOOPS_TAN(LOOP_, name, T) LOOP(tan, LOOP_, name, T)
#define LOOPS_ERFC(LOOP_, name, T) LOOP(erfc, LOOP_, name, T)
#define LOOPS_COMPLEX(LOOP_, name, T) \
    LOOPS_MOST(LOOP_, name, T)        \
    LOOPS_TAN(LOOP_, name, T)

LOOPS_MOST(TFD_UNARY_WIDE, FLOAT, float)
LOOPS_ERFC(TFD_UNARY_WIDE, FLOAT, float)
TFD_UNARY_RARE(loop_tan_FLOAT, float, tfd_is_huge_angle, tfd_vector_tan,
               tfd_tan_any)
LOOPS_MOST(TFD_UNARY_WIDE, DOUBLE, double)
LOOPS_ERFC(TFD_UNARY_WIDE, DOUBLE, double)
TFD_UNARY_RARE(loop_tan_DOUBLE, double, tfd_double_is_huge_angle,
               tfd_double_tan, tfd_double_tan_any)
#define LOOPS_NARROW(name, number, T) \
    TFD_NARROW_AS_FLOAT(tan, name)    \
    TFD_NARROW_AS_FLOAT(asin, name)   \
    TFD_NARROW_AS_FLOAT(acos, name)   \
    TFD_NARROW_AS_FLOAT(atan, name)   \
    TFD_NARROW_AS_FLOAT(sinh, name)   \
    TFD_NARROW_AS_FLOAT(cosh, name)   \
    TFD_NARROW_AS_FLOAT(asinh, name)  \
    TFD_NARROW_AS_FLOAT(acosh, name)  \
    TFD_NARROW_AS_FLOAT(atanh, name)  \
    TFD_NARROW_AS_FLOAT(expm1, name)  \
    TFD_NARROW_AS_FLOAT(erfc, name)
TFD_HALF_DTYPES(LOOPS_NARROW)
LOOPS_COMPLEX(TFD_UNARY_LOOP, COMPLEX64, tfd_complex64)
LOOPS_COMPLEX(TFD_UNARY_LOOP, COMPLEX128, tfd_complex128)

/* ---- Gradients ----------------------------------------------------------- */

/* dy * op(conj(x)) */
static enum tfd_code times_function(struct tfd_grad *g, const char *op,
                                    struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x = tfd_gradient_conj(&b, g->x[0]);

    g->dx[0] =
        tfd_gradient_op2(&b, "Mul", g->dy[0], tfd_gradient_op1(&b, op, x));
    return b.code;
}

/* dy / op(conj(y)) */
static enum tfd_code over_function(struct tfd_grad *g, const char *op,
                                   struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge y = tfd_gradient_conj(&b, g->y[0]);

    g->dx[0] =
        tfd_gradient_op2(&b, "RealDiv", g->dy[0], tfd_gradient_op1(&b, op, y));
    return b.code;
}

/* 1 / (1 op x^2), or with `root` 1 / sqrt(1 op x^2) */
static struct tfd_edge inverse_of_square(struct tfd_gradient *b, const char *op,
                                         bool root)
{
    struct tfd_edge x = tfd_gradient_conj(b, b->g->x[0]);
    struct tfd_edge square = tfd_gradient_op1(b, "Square", x);
    struct tfd_edge one = tfd_gradient_scalar(b, x, 1);

    x = tfd_gradient_op2(b, op, one, square);
    if (root)
        x = tfd_gradient_op1(b, "Sqrt", x);
    return tfd_gradient_op1(b, "Reciprocal", x);
}

static enum tfd_code times_inverse(struct tfd_grad *g, const char *op,
                                   bool root, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge slope = inverse_of_square(&b, op, root);

    g->dx[0] = tfd_gradient_op2(&b, "Mul", g->dy[0], slope);
    return b.code;
}

static enum tfd_code asin_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return times_inverse(g, "Sub", true, st);
}

static enum tfd_code acos_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge minus = tfd_gradient_op1(&b, "Neg", g->dy[0]);

    g->dx[0] =
        tfd_gradient_op2(&b, "Mul", minus, inverse_of_square(&b, "Sub", true));
    return b.code;
}

static enum tfd_code atan_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return times_inverse(g, "AddV2", false, st);
}

static enum tfd_code atanh_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return times_inverse(g, "Sub", false, st);
}

static enum tfd_code sinh_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return times_function(g, "Cosh", st);
}

static enum tfd_code cosh_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return times_function(g, "Sinh", st);
}

static enum tfd_code asinh_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return over_function(g, "Cosh", st);
}

static enum tfd_code acosh_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return over_function(g, "Sinh", st);
}

static enum tfd_code expm1_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return times_function(g, "Exp", st);
}

/* dy / cos(x)^2 */
static enum tfd_code tan_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x = tfd_gradient_conj(&b, g->x[0]);

    x = tfd_gradient_op1(&b, "Reciprocal", tfd_gradient_op1(&b, "Cos", x));
    x = tfd_gradient_op1(&b, "Square", x);
    g->dx[0] = tfd_gradient_op2(&b, "Mul", g->dy[0], x);
    return b.code;
}

#define MINUS_TWO_OVER_ROOT_PI (-1.1283791670955126)

/* dy * -2 / sqrt(pi) * exp(-x^2) */
static enum tfd_code erfc_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge slope = tfd_gradient_op1(&b, "Square", g->x[0]);
    struct tfd_edge scale =
        tfd_gradient_scalar(&b, g->dy[0], MINUS_TWO_OVER_ROOT_PI);

    slope = tfd_gradient_op1(&b, "Neg", slope);
    slope = tfd_gradient_op1(&b, "Exp", slope);
    scale = tfd_gradient_op2(&b, "Mul", g->dy[0], scale);
    g->dx[0] = tfd_gradient_op2(&b, "Mul", scale, slope);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define OP(name_, types, grad_)                                   \
    {                                                             \
        .name = (name_), .inputs = "x: T", .outputs = "y: T",     \
        .attrs = "T: {" types "}", .shape = tfd_shape_like_first, \
        .grad = (grad_),                                          \
    }

#define REAL "bfloat16, half, float, double"
#define ALL REAL ", complex64, complex128"

static const struct tfd_opdef ops[] = {
    OP("Tan", ALL, tan_gradient),     OP("Asin", ALL, asin_gradient),
    OP("Acos", ALL, acos_gradient),   OP("Atan", ALL, atan_gradient),
    OP("Sinh", ALL, sinh_gradient),   OP("Cosh", ALL, cosh_gradient),
    OP("Asinh", ALL, asinh_gradient), OP("Acosh", ALL, acosh_gradient),
    OP("Atanh", ALL, atanh_gradient), OP("Expm1", ALL, expm1_gradient),
    OP("Erfc", REAL, erfc_gradient),
};

#define KERNEL(op, name, loop)                                      \
    TFD_KERNEL(op, name, TFD_COMPUTE1_##name, loop_##loop##_##name, \
               .flags = TFD_KERNEL_ROW),
#define KERNELS(name, number, T) \
    KERNEL("Tan", name, tan)     \
    KERNEL("Asin", name, asin)   \
    KERNEL("Acos", name, acos)   \
    KERNEL("Atan", name, atan)   \
    KERNEL("Sinh", name, sinh)   \
    KERNEL("Cosh", name, cosh)   \
    KERNEL("Asinh", name, asinh) \
    KERNEL("Acosh", name, acosh) \
    KERNEL("Atanh", name, atanh) \
    KERNEL("Expm1", name, expm1)
#define KERNELS_REAL(name, number, T) \
    KERNELS(name, number, T)          \
    KERNEL("Erfc", name, erfc)

static const struct tfd_kernel kernels[] = {TFD_FLOAT_DTYPES(
    KERNELS_REAL) TFD_HALF_DTYPES(KERNELS_REAL) TFD_COMPLEX_DTYPES(KERNELS)};

const struct tfd_family tfd_family_trig = {
    .name = "trig",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
