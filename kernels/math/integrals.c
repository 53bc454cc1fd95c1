/*
 * integrals.c - integrals of elementary functions, and inverses of such
 * (integral_functions.h):
 *
 *     Dawsn Expint FresnelCos FresnelSin Spence Erfinv Ndtri
 *
 * Those of floats are computed in double and rounded.
 */
#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/math/integral_functions.h"

#define PI 3.14159265358979323846

/* ---- Loops --------------------------------------------------------------- */

#define DEFINE_FLOAT(function)                            \
    static inline float function##_FLOAT(float x)         \
    {                                                     \
        return (float)tfd_integral_##function((double)x); \
    }

/* X of each function and the name of its op. */
#define FUNCTIONS(X)             \
    X(dawsn, "Dawsn")            \
    X(expint, "Expint")          \
    X(fresnel_cos, "FresnelCos") \
    X(fresnel_sin, "FresnelSin") \
    X(spence, "Spence")          \
    X(erfinv, "Erfinv")          \
    X(ndtri, "Ndtri")

#define DEFINE(function, op) DEFINE_FLOAT(function)
FUNCTIONS(DEFINE)

TFD_UNARY_LOOP(loop_dawsn_FLOAT, float, float, dawsn_FLOAT)
TFD_UNARY_LOOP(loop_expint_FLOAT, float, float, expint_FLOAT)
TFD_UNARY_LOOP(loop_fresnel_cos_FLOAT, float, float, fresnel_cos_FLOAT)
TFD_UNARY_LOOP(loop_fresnel_sin_FLOAT, float, float, fresnel_sin_FLOAT)
TFD_UNARY_LOOP(loop_spence_FLOAT, float, float, spence_FLOAT)
TFD_UNARY_LOOP(loop_erfinv_FLOAT, float, float, erfinv_FLOAT)
TFD_UNARY_LOOP(loop_ndtri_FLOAT, float, float, ndtri_FLOAT)
TFD_UNARY_LOOP(loop_dawsn_DOUBLE, double, double, tfd_integral_dawsn)
TFD_UNARY_LOOP(loop_expint_DOUBLE, double, double, tfd_integral_expint)
TFD_UNARY_LOOP(loop_fresnel_cos_DOUBLE, double, double,
               tfd_integral_fresnel_cos)
TFD_UNARY_LOOP(loop_fresnel_sin_DOUBLE, double, double,
               tfd_integral_fresnel_sin)
TFD_UNARY_LOOP(loop_spence_DOUBLE, double, double, tfd_integral_spence)
TFD_UNARY_LOOP(loop_erfinv_DOUBLE, double, double, tfd_integral_erfinv)
TFD_UNARY_LOOP(loop_ndtri_DOUBLE, double, double, tfd_integral_ndtri)

#define INTEGRAL_NS 150

static enum tfd_code integral_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {k->in[0].dtype, INTEGRAL_NS, NULL, NULL};

    return tfd_elementwise_unary(k, &e, st);
}

/* ---- Gradients ----------------------------------------------------------- */

/* The op of x^2 or y^2 times a factor, times another. */
static struct tfd_edge of_square(struct tfd_gradient *b, const char *op,
                                 struct tfd_edge e, double inner, double outer)
{
    struct tfd_edge square = tfd_gradient_op1(b, "Square", e);

    square =
        tfd_gradient_op2(b, "Mul", tfd_gradient_scalar(b, e, inner), square);
    return tfd_gradient_op2(b, "Mul", tfd_gradient_scalar(b, e, outer),
                            tfd_gradient_op1(b, op, square));
}

/* 1 - 2 x y */
static enum tfd_code dawsn_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge two = tfd_gradient_scalar(&b, g->x[0], 2);
    struct tfd_edge part = tfd_gradient_op2(&b, "Mul", two, g->x[0]);

    part = tfd_gradient_op2(&b, "Mul", part, g->y[0]);
    return tfd_gradient_slope(
        &b,
        tfd_gradient_op2(&b, "Sub", tfd_gradient_scalar(&b, part, 1), part));
}

/* e^x / x */
static enum tfd_code expint_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge power = tfd_gradient_op1(&b, "Exp", g->x[0]);

    return tfd_gradient_slope(&b,
                              tfd_gradient_op2(&b, "RealDiv", power, g->x[0]));
}

static enum tfd_code fresnel_cos_gradient(struct tfd_grad *g,
                                          struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    return tfd_gradient_slope(&b, of_square(&b, "Cos", g->x[0], PI / 2, 1));
}

static enum tfd_code fresnel_sin_gradient(struct tfd_grad *g,
                                          struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    return tfd_gradient_slope(&b, of_square(&b, "Sin", g->x[0], PI / 2, 1));
}

/* log(x) / (1 - x), and -1 at 1. */
static enum tfd_code spence_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x = g->x[0], one = tfd_gradient_scalar(&b, x, 1);
    struct tfd_edge slope =
        tfd_gradient_op2(&b, "RealDiv", tfd_gradient_op1(&b, "Log", x),
                         tfd_gradient_op2(&b, "Sub", one, x));

    slope =
        tfd_gradient_op3(&b, "SelectV2", tfd_gradient_op2(&b, "Equal", x, one),
                         tfd_gradient_scalar(&b, x, -1), slope);
    return tfd_gradient_slope(&b, slope);
}

static enum tfd_code erfinv_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    return tfd_gradient_slope(
        &b, of_square(&b, "Exp", g->y[0], 1, 0.88622692545275801365));
}

static enum tfd_code ndtri_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    return tfd_gradient_slope(
        &b, of_square(&b, "Exp", g->y[0], 0.5, 2.50662827463100050242));
}

/* ---- Tables -------------------------------------------------------------- */

#define OP(function, op)                               \
    {                                                  \
        .name = op,                                    \
        .inputs = "x: T",                              \
        .outputs = "y: T",                             \
        .attrs = "T: {bfloat16, half, float, double}", \
        .shape = tfd_shape_like_first,                 \
        .grad = function##_gradient,                   \
    },

static const struct tfd_opdef ops[] = {FUNCTIONS(OP)};

#define KERNELS(function, op)                                     \
    TFD_KERNEL(op, FLOAT, integral_cpu, loop_##function##_FLOAT), \
        TFD_KERNEL(op, DOUBLE, integral_cpu, loop_##function##_DOUBLE),

static const struct tfd_kernel kernels[] = {FUNCTIONS(KERNELS)};

const struct tfd_family tfd_family_integrals = {
    .name = "integrals",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
