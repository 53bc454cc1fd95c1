/*
 * integrals.c - integrals of elementary functions, and inverses of such
 * (integral_functions.h):
 *
 *     Dawsn Expint FresnelCos FresnelSin Spence Erfinv Ndtri
 *
 * Those of floats are computed in double, by tables (piecewise.h), and rounded.
 */
#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/math/integral_functions.h"
#include "kernels/math/piecewise.h"
#include "kernels/vector/vector_double.h"
#include "kernels/vector/vector_trig.h"

#include <math.h>

#define PI 3.14159265358979323846

/* ---- Loops --------------------------------------------------------------- */

/* X of each function and the name of its op. */
#define FUNCTIONS(X)             \
    X(dawsn, "Dawsn")            \
    X(expint, "Expint")          \
    X(fresnel_cos, "FresnelCos") \
    X(fresnel_sin, "FresnelSin") \
    X(spence, "Spence")          \
    X(erfinv, "Erfinv")          \
    X(ndtri, "Ndtri")

/* What is tabulated: by z = x + 1, what is odd; */
static double dawsn_at(double z)
{
    return tfd_integral_dawsn(z - 1) / (z - 1);
}

static double fresnel_cos_at(double z)
{
    return tfd_integral_fresnel_cos(z - 1) / (z - 1);
}

static double fresnel_sin_at(double z)
{
    return tfd_integral_fresnel_sin(z - 1) / ((z - 1) * (z - 1) * (z - 1));
}

/* by z = x; */
static double expint_at(double z)
{
    return tfd_integral_expint(z) * exp(-z);
}

static double spence_at(double z)
{
    return tfd_integral_spence(z) / (1 - z);
}

/* by z = 1 - x; */
static double erfinv_at(double z)
{
    const double y =
        z < 0.5 ? tfd_integral_erfinv_from_1(z) : tfd_integral_erfinv(1 - z);

    return y / (1 - z);
}

/* by z, the lesser of x and 1 - x, of which only x - 1/2 knows which. */
static double ndtri_at(double z)
{
    return tfd_integral_ndtri(z) / (z - 0.5);
}

/* Fresnel's integrals are waves: from 3 on of their two slow functions, and of
 * the angle's sine and cosine, until a float's square is a whole number of
 * turns. */
#define WAVES_FROM 3
#define WAVES_TO 8192

static double slow_wave(double z)
{
    double f, g;

    tfd_integral_fresnel_parts(z, &f, &g);
    return f;
}

static double slower_wave(double z)
{
    double f, g;

    tfd_integral_fresnel_parts(z, &f, &g);
    return g;
}

TFD_PIECEWISE(f_table, slow_wave, NULL, TFD_PIECEWISE_X,
              TFD_PIECEWISE_NO_FACTOR, 1, 5, 12)
TFD_PIECEWISE(g_table, slower_wave, NULL, TFD_PIECEWISE_X,
              TFD_PIECEWISE_NO_FACTOR, 1, 5, 12)

/* The sine and cosine of pi/2 x^2; x is a float, whose square is a double: a
 * whole number of quarter turns, and r. */
static void find_wave(double x, double *s, double *c)
{
    const double turned = x * x + TFD_DOUBLE_MAGIC;
    const uint64_t quarters = tfd_double_bits(turned);
    const double r = PI / 2 * (x * x - (turned - TFD_DOUBLE_MAGIC));
    double sine, cosine;

    tfd_angle_waves(r, &sine, &cosine);
    *s = quarters & 1 ? cosine : sine;
    *c = quarters & 1 ? -sine : cosine;
    if (quarters & 2) {
        *s = -*s;
        *c = -*c;
    }
}

static double any_fresnel_cos(double x)
{
    const double a = fabs(x);
    double s, c;

    if (!(a >= WAVES_FROM && a < WAVES_TO))
        return tfd_integral_fresnel_cos(x);
    find_wave(a, &s, &c);
    return copysign(0.5 + tfd_piecewise_look(&f_table, a) * s -
                        tfd_piecewise_look(&g_table, a) * c,
                    x);
}

static double any_fresnel_sin(double x)
{
    const double a = fabs(x);
    double s, c;

    if (!(a >= WAVES_FROM && a < WAVES_TO))
        return tfd_integral_fresnel_sin(x);
    find_wave(a, &s, &c);
    return copysign(0.5 - tfd_piecewise_look(&f_table, a) * c -
                        tfd_piecewise_look(&g_table, a) * s,
                    x);
}

#define TABLE(name, any, z, factor, exponent, bits, octaves)       \
    TFD_PIECEWISE(name##_table, name##_at, any, TFD_PIECEWISE_##z, \
                  TFD_PIECEWISE_##factor, exponent, bits, octaves)
TABLE(dawsn, tfd_integral_dawsn, FROM_0, BY_X, 0, 5, 8)
TABLE(expint, tfd_integral_expint, X, BY_EXP, -24, 3, 31)
TABLE(fresnel_cos, any_fresnel_cos, FROM_0, BY_X, 0, 5, 2)
TABLE(fresnel_sin, any_fresnel_sin, FROM_0, BY_CUBE, 0, 5, 2)
TABLE(spence, tfd_integral_spence, X, BY_REST, -24, 3, 48)
TABLE(erfinv, tfd_integral_erfinv, FROM_1, BY_X, -24, 3, 25)
TABLE(ndtri, tfd_integral_ndtri, ENDS, BY_CENTERED, -40, 3, 39)

#define FLOAT_LOOP(function, op)                                               \
    static void loop_##function##_FLOAT(void *arg, int64_t begin, int64_t end) \
    {                                                                          \
        tfd_piecewise_row(&function##_table, arg, begin, end);                 \
    }
FUNCTIONS(FLOAT_LOOP)

TFD_UNARY_LOOP(loop_dawsn_DOUBLE, double, double, tfd_integral_dawsn)
TFD_UNARY_LOOP(loop_expint_DOUBLE, double, double, tfd_integral_expint)
TFD_UNARY_LOOP(loop_fresnel_cos_DOUBLE, double, double,
               tfd_integral_fresnel_cos)
TFD_UNARY_LOOP(loop_fresnel_sin_DOUBLE, double, double,
               tfd_integral_fresnel_sin)
TFD_UNARY_LOOP(loop_spence_DOUBLE, double, double, tfd_integral_spence)
TFD_UNARY_LOOP(loop_erfinv_DOUBLE, double, double, tfd_integral_erfinv)
TFD_UNARY_LOOP(loop_ndtri_DOUBLE, double, double, tfd_integral_ndtri)

/* A number, of doubles, and where there are tables. */
#define INTEGRAL_NS 150
#define INTEGRAL_TABLE_NS 5

static enum tfd_code integral_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const int cost =
        k->in[0].dtype == TFD_DOUBLE ? INTEGRAL_NS : INTEGRAL_TABLE_NS;
    const struct tfd_elementwise e = {k->in[0].dtype, cost, NULL, NULL};

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
