/*
 * bessel.c - Bessel functions of order 0 and 1 (bessel_functions.h):
 *
 *     BesselI0 BesselI1 BesselI0e BesselI1e     modified, of the first kind
 *     BesselK0 BesselK1 BesselK0e BesselK1e     of the second
 *     BesselJ0 BesselJ1 BesselY0 BesselY1       of the first and second kind
 *
 * Those of floats and halves are computed in double, in vectors, and rounded
 * once (bessel_lanes.h); those of doubles by tables (piecewise.h), but Y0 and
 * Y1, which are the C library's.  Largest distances of doubles in units of the
 * last place (test_double_tables.c): I0, I1, K0, K1 3, I0e, I1e 2, K0e, K1e
 * 1.5, J0 1.5 and J1 2, beside their zeros those of 1/4.
 */
#define _DEFAULT_SOURCE 1 /* j0l() and its kin */

#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/math/bessel_functions.h"
#include "kernels/math/bessel_lanes.h"
#include "kernels/math/piecewise.h"
#include "kernels/vector/narrow_loops.h"

#include <math.h>

/* ---- Loops --------------------------------------------------------------- */

/* X of each function and the name of its op. */
#define FUNCTIONS(X)    \
    X(i0, "BesselI0")   \
    X(i0e, "BesselI0e") \
    X(i1, "BesselI1")   \
    X(i1e, "BesselI1e") \
    X(k0, "BesselK0")   \
    X(k0e, "BesselK0e") \
    X(k1, "BesselK1")   \
    X(k1e, "BesselK1e") \
    X(j0, "BesselJ0")   \
    X(j1, "BesselJ1")   \
    X(y0, "BesselY0")   \
    X(y1, "BesselY1")

/* What is tabulated: by z = x + 1, what is even; */
static long double i0_at(long double z)
{
    return tfd_bessel_i0e(z - 1);
}

static long double i1_at(long double z)
{
    return tfd_bessel_i1e(z - 1) / (z - 1);
}

static long double j0_at(long double z)
{
    return j0l(z - 1);
}

static long double j1_at(long double z)
{
    return j1l(z - 1) / (z - 1);
}

/* by z = x; */
static long double k0_at(long double z)
{
    return tfd_bessel_k0e(z);
}

static long double k1_at(long double z)
{
    return tfd_bessel_k1e(z);
}

static long double any_j0(long double x)
{
    return (long double)tfd_bessel_j0((double)x);
}

static long double any_j1(long double x)
{
    return (long double)tfd_bessel_j1((double)x);
}

#define TABLE(name, at, any, z, factor, exponent, bits, octaves)            \
    TFD_PIECEWISE_DOUBLE(name##_table, at, any, NULL, TFD_PIECEWISE_##z,    \
                         TFD_PIECEWISE_##factor, exponent, bits, octaves)   \
    static void loop_##name##_DOUBLE(void *arg, int64_t begin, int64_t end) \
    {                                                                       \
        tfd_piecewise_double_row(&name##_table, arg, begin, end);           \
    }
TABLE(i0, i0_at, tfd_bessel_i0, FROM_0_EXACT, BY_GROWTH, 0, 4, 9)
TABLE(i0e, i0_at, tfd_bessel_i0e, FROM_0_EXACT, NO_FACTOR, 0, 4, 9)
TABLE(i1, i1_at, tfd_bessel_i1, FROM_0_EXACT, BY_X_GROWTH, 0, 4, 9)
TABLE(i1e, i1_at, tfd_bessel_i1e, FROM_0_EXACT, BY_X, 0, 4, 9)
TABLE(k0, k0_at, tfd_bessel_k0, X, BY_DECAY, -24, 3, 34)
TABLE(k0e, k0_at, tfd_bessel_k0e, X, NO_FACTOR, -24, 3, 34)
TABLE(k1, k1_at, tfd_bessel_k1, X, BY_DECAY, -24, 3, 34)
TABLE(k1e, k1_at, tfd_bessel_k1e, X, NO_FACTOR, -24, 3, 34)
TABLE(j0, j0_at, any_j0, FROM_0_EXACT, NO_FACTOR, 0, 5, 5)
TABLE(j1, j1_at, any_j1, FROM_0_EXACT, BY_X, 0, 5, 5)
TFD_UNARY_LOOP(loop_y0_DOUBLE, double, double, tfd_bessel_y0)
TFD_UNARY_LOOP(loop_y1_DOUBLE, double, double, tfd_bessel_y1)
TFD_NARROW_LOOP(loop_i0_HALF, HALF, tfd_bessel_lanes_i0)
TFD_NARROW_LOOP(loop_i0e_HALF, HALF, tfd_bessel_lanes_i0e)
TFD_NARROW_LOOP(loop_i1_HALF, HALF, tfd_bessel_lanes_i1)
TFD_NARROW_LOOP(loop_i1e_HALF, HALF, tfd_bessel_lanes_i1e)
TFD_NARROW_LOOP(loop_k0_HALF, HALF, tfd_bessel_lanes_k0)
TFD_NARROW_LOOP(loop_k0e_HALF, HALF, tfd_bessel_lanes_k0e)
TFD_NARROW_LOOP(loop_k1_HALF, HALF, tfd_bessel_lanes_k1)
TFD_NARROW_LOOP(loop_k1e_HALF, HALF, tfd_bessel_lanes_k1e)
TFD_NARROW_LOOP(loop_j0_HALF, HALF, tfd_bessel_lanes_j0)
TFD_NARROW_LOOP(loop_j1_HALF, HALF, tfd_bessel_lanes_j1)
TFD_NARROW_LOOP(loop_y0_HALF, HALF, tfd_bessel_lanes_y0)
TFD_NARROW_LOOP(loop_y1_HALF, HALF, tfd_bessel_lanes_y1)

#define BESSEL_NS 100

static enum tfd_code bessel_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {k->in[0].dtype, BESSEL_NS, NULL, NULL};

    return tfd_elementwise_unary(k, &e, st);
}

/* ---- Gradients ----------------------------------------------------------- */

static struct tfd_edge op_of_x(struct tfd_gradient *b, const char *op)
{
    return tfd_gradient_op1(b, op, b->g->x[0]);
}

/* What holds but at 0, where the slope is 1/2. */
static struct tfd_edge but_at_zero(struct tfd_gradient *b,
                                   struct tfd_edge slope)
{
    struct tfd_edge x = b->g->x[0];
    struct tfd_edge zero = tfd_gradient_scalar(b, x, 0);
    struct tfd_edge half = tfd_gradient_scalar(b, x, 0.5);
    struct tfd_edge there = tfd_gradient_op2(b, "Equal", x, zero);

    return tfd_gradient_op3(b, "SelectV2", there, half, slope);
}

/* The function of order 0, less y / x. */
static struct tfd_edge less_quotient(struct tfd_gradient *b,
                                     struct tfd_edge order_0)
{
    struct tfd_edge part = tfd_gradient_op2(b, "Div", b->g->y[0], b->g->x[0]);

    return tfd_gradient_op2(b, "Sub", order_0, part);
}

static enum tfd_code i0_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    return tfd_gradient_slope(&b, op_of_x(&b, "BesselI1"));
}

static enum tfd_code i0e_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge sign = op_of_x(&b, "Sign");
    struct tfd_edge own = tfd_gradient_op2(&b, "Mul", sign, g->y[0]);

    return tfd_gradient_slope(
        &b, tfd_gradient_op2(&b, "Sub", op_of_x(&b, "BesselI1e"), own));
}

static enum tfd_code i1_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge slope = less_quotient(&b, op_of_x(&b, "BesselI0"));

    return tfd_gradient_slope(&b, but_at_zero(&b, slope));
}

static enum tfd_code i1e_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge sum = tfd_gradient_op2(&b, "AddV2", op_of_x(&b, "Sign"),
                                           op_of_x(&b, "Reciprocal"));
    struct tfd_edge own = tfd_gradient_op2(&b, "Mul", g->y[0], sum);
    struct tfd_edge slope =
        tfd_gradient_op2(&b, "Sub", op_of_x(&b, "BesselI0e"), own);

    return tfd_gradient_slope(&b, but_at_zero(&b, slope));
}

/* The derivative is less the function of order 1: K0, J0, Y0. */
#define LESS_FIRST(name, op)                                    \
    static enum tfd_code name##_gradient(struct tfd_grad *g,    \
                                         struct tfd_status *st) \
    {                                                           \
        struct tfd_gradient b = tfd_gradient_begin(g, st);      \
                                                                \
        return tfd_gradient_slope(                              \
            &b, tfd_gradient_op1(&b, "Neg", op_of_x(&b, op)));  \
    }
LESS_FIRST(k0, "BesselK1")
LESS_FIRST(j0, "BesselJ1")
LESS_FIRST(y0, "BesselY1")

static enum tfd_code k0e_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    return tfd_gradient_slope(
        &b, tfd_gradient_op2(&b, "Sub", g->y[0], op_of_x(&b, "BesselK1e")));
}

static enum tfd_code k1_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge less = tfd_gradient_op1(&b, "Neg", op_of_x(&b, "BesselK0"));

    return tfd_gradient_slope(&b, less_quotient(&b, less));
}

static enum tfd_code k1e_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge one = tfd_gradient_scalar(&b, g->x[0], 1);
    struct tfd_edge rest =
        tfd_gradient_op2(&b, "Sub", one, op_of_x(&b, "Reciprocal"));
    struct tfd_edge own = tfd_gradient_op2(&b, "Mul", g->y[0], rest);

    return tfd_gradient_slope(
        &b, tfd_gradient_op2(&b, "Sub", own, op_of_x(&b, "BesselK0e")));
}

static enum tfd_code j1_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge slope = less_quotient(&b, op_of_x(&b, "BesselJ0"));

    return tfd_gradient_slope(&b, but_at_zero(&b, slope));
}

static enum tfd_code y1_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    return tfd_gradient_slope(&b, less_quotient(&b, op_of_x(&b, "BesselY0")));
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

#define KERNELS(function, op)                                         \
    TFD_KERNEL(op, FLOAT, bessel_cpu, tfd_bessel_lanes_##function),   \
        TFD_KERNEL(op, DOUBLE, bessel_cpu, loop_##function##_DOUBLE), \
        TFD_KERNEL(op, HALF, bessel_cpu, loop_##function##_HALF),

static const struct tfd_kernel kernels[] = {FUNCTIONS(KERNELS)};

const struct tfd_family tfd_family_bessel = {
    .name = "bessel",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
