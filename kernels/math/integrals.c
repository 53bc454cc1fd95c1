/*
 * integrals.c - integrals of elementary functions, and inverses of such
 * (integral_functions.h):
 *
 *     Dawsn Expint FresnelCos FresnelSin Spence Erfinv Ndtri
 *
 * All are computed by tables (piecewise.h), those of floats in double and
 * rounded.
 */
#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/math/integral_functions.h"
#include "kernels/math/piecewise.h"
#include "kernels/vector/double_functions.h"
#include "kernels/vector/simd.h"
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
static long double dawsn_at(long double z)
{
    return tfd_integral_dawsn(z - 1) / (z - 1);
}

static long double fresnel_cos_at(long double z)
{
    return tfd_integral_fresnel_cos(z - 1) / (z - 1);
}

static long double fresnel_sin_at(long double z)
{
    return tfd_integral_fresnel_sin(z - 1) / ((z - 1) * (z - 1) * (z - 1));
}

/* by z = x; */
static long double expint_at(long double z)
{
    return tfd_integral_expint(z) * expl(-z);
}

static long double spence_at(long double z)
{
    return tfd_integral_spence(z) / (1 - z);
}

/* by z = 1 - x; */
static long double erfinv_at(long double z)
{
    const long double y =
        z < 0.5 ? tfd_integral_erfinv_from_1(z) : tfd_integral_erfinv(1 - z);

    return y / (1 - z);
}

/* by z, the lesser of x and 1 - x, of which only x - 1/2 knows which. */
static long double ndtri_at(long double z)
{
    return tfd_integral_ndtri(z) / (z - 0.5);
}

/* Fresnel's integrals are waves: from 3 on of their two slow functions, and of
 * the angle's sine and cosine, until a float's square is a whole number of
 * turns. */
#define WAVES_FROM 3
#define WAVES_TO 8192

static long double slow_wave(long double z)
{
    long double f, g;

    tfd_integral_fresnel_parts(z, &f, &g);
    return f;
}

static long double slower_wave(long double z)
{
    long double f, g;

    tfd_integral_fresnel_parts(z, &f, &g);
    return g;
}

#define WAVE_TABLES(kind, name, bits)                                 \
    kind(name##f_table, slow_wave, NULL, NULL, TFD_PIECEWISE_X,       \
         TFD_PIECEWISE_NO_FACTOR, 1, bits, 12)                        \
        kind(name##g_table, slower_wave, NULL, NULL, TFD_PIECEWISE_X, \
             TFD_PIECEWISE_NO_FACTOR, 1, bits, 12)
WAVE_TABLES(TFD_PIECEWISE, float_, 5)
WAVE_TABLES(TFD_PIECEWISE_DOUBLE, double_, 4)

/* The parts of a block of numbers: y is 1/2 + f a + g b. */
struct waves {
    const double *x;
    double *y;
    uint64_t more; /* quarter turns: 1 for the integral of the cosine */
    double a[TFD_PIECEWISE_BLOCK], b[TFD_PIECEWISE_BLOCK];
    double f[TFD_PIECEWISE_BLOCK], g[TFD_PIECEWISE_BLOCK];
};

/* Minus the cosine of `turned` quarter turns and an angle of sine s and cosine
 * c, and minus the sine; a quarter turn more makes of them what the integral of
 * the cosine takes. */
TFD_VECTOR void turn_wave(double turned, double s, double c, uint64_t more,
                          double *a, double *b)
{
    const uint64_t q = tfd_double_bits(turned) + more;
    const double sine = q & 1 ? c : s, cosine = q & 1 ? s : c;

    *a = tfd_double_of(tfd_double_bits(cosine) ^ ((q + 3) & 2) << 62);
    *b = tfd_double_of(tfd_double_bits(sine) ^ ((q + 2) & 2) << 62);
}

/* Of pi/2 x^2; x is a float, whose square is a double: a whole number of
 * quarter turns, and a rest. */
TFD_VECTOR void find_float_wave(struct waves *w, int64_t i)
{
    const double x = w->x[i], turned = x * x + TFD_DOUBLE_MAGIC;
    double s, c;

    tfd_angle_waves(PI / 2 * (x * x - (turned - TFD_DOUBLE_MAGIC)), &s, &c);
    turn_wave(turned, s, c, w->more, &w->a[i], &w->b[i]);
}

/* x is a double: what its square loses counts, too. */
TFD_VECTOR void find_double_wave(struct waves *w, int64_t i)
{
    const double x = w->x[i], square = x * x;
    const double turned = square + TFD_DOUBLE_MAGIC;
    const double h = tfd_double_upper(x), l = x - h;
    const double lost = (h * h - square) + 2 * h * l + l * l;
    double s, c;

    tfd_double_waves(PI / 2 * ((square - (turned - TFD_DOUBLE_MAGIC)) + lost),
                     &s, &c);
    turn_wave(turned, s, c, w->more, &w->a[i], &w->b[i]);
}

static void join_waves(struct waves *w, int64_t n, tfd_piecewise_fn *any)
{
    for (int64_t i = 0; i < n; i++) {
        const double a = fabs(w->x[i]);

        w->y[i] =
            copysign(0.5 + w->f[i] * w->a[i] + w->g[i] * w->b[i], w->x[i]);
        if (!(a >= WAVES_FROM && a < WAVES_TO))
            w->y[i] = (double)any((long double)w->x[i]);
    }
}

/* Fresnel's integrals of what is not in their tables. */
#define FRESNEL(type)                                                     \
    TFD_SIMD_LOOP(find_##type##_waves)                                    \
    {                                                                     \
        for (int64_t i = begin; i < end; i++)                             \
            find_##type##_wave(arg, i);                                   \
    }                                                                     \
    TFD_SIMD_CLONES_WIDE(find_##type##_waves)                             \
    static void type##_waves(struct waves *w, int64_t n)                  \
    {                                                                     \
        find_##type##_waves(w, 0, n);                                     \
        for (int64_t i = 0; i < n; i++) {                                 \
            w->f[i] = tfd_piecewise_look(&type##_f_table, fabs(w->x[i])); \
            w->g[i] = tfd_piecewise_look(&type##_g_table, fabs(w->x[i])); \
        }                                                                 \
    }                                                                     \
    static void type##_fresnel_sin(const double *x, double *y, int64_t n) \
    {                                                                     \
        struct waves w;                                                   \
                                                                          \
        w.x = x;                                                          \
        w.y = y;                                                          \
        w.more = 0;                                                       \
        type##_waves(&w, n);                                              \
        join_waves(&w, n, tfd_integral_fresnel_sin);                      \
    }                                                                     \
    static void type##_fresnel_cos(const double *x, double *y, int64_t n) \
    {                                                                     \
        struct waves w;                                                   \
                                                                          \
        w.x = x;                                                          \
        w.y = y;                                                          \
        w.more = 1;                                                       \
        type##_waves(&w, n);                                              \
        join_waves(&w, n, tfd_integral_fresnel_cos);                      \
    }
FRESNEL(float)
FRESNEL(double)

#define TABLE(name, rare, z, factor, exponent, bits, octaves)                \
    TFD_PIECEWISE(name##_table, name##_at, tfd_integral_##name, rare,        \
                  TFD_PIECEWISE_##z, TFD_PIECEWISE_##factor, exponent, bits, \
                  octaves)
TABLE(dawsn, NULL, FROM_0, BY_X, 0, 5, 8)
TABLE(expint, NULL, X, BY_EXP, -24, 3, 31)
TABLE(fresnel_cos, float_fresnel_cos, FROM_0, BY_X, 0, 5, 2)
TABLE(fresnel_sin, float_fresnel_sin, FROM_0, BY_CUBE, 0, 5, 2)
TABLE(spence, NULL, X, BY_REST, -24, 3, 48)
TABLE(erfinv, NULL, FROM_1, BY_X, -24, 3, 25)
TABLE(ndtri, NULL, ENDS, BY_CENTERED, -40, 3, 39)

#define TABLE_DOUBLE(name, rare, z, factor, exponent, bits, octaves)          \
    TFD_PIECEWISE_DOUBLE(name##_double, name##_at, tfd_integral_##name, rare, \
                         TFD_PIECEWISE_##z, TFD_PIECEWISE_##factor, exponent, \
                         bits, octaves)
TABLE_DOUBLE(dawsn, NULL, FROM_0_EXACT, BY_X, 0, 5, 8)
TABLE_DOUBLE(expint, NULL, X, BY_GROWTH, -24, 3, 31)
TABLE_DOUBLE(fresnel_cos, double_fresnel_cos, FROM_0_EXACT, BY_X, 0, 5, 2)
TABLE_DOUBLE(fresnel_sin, double_fresnel_sin, FROM_0_EXACT, BY_CUBE, 0, 5, 2)
TABLE_DOUBLE(spence, NULL, X, BY_REST, -24, 3, 48)
TABLE_DOUBLE(erfinv, NULL, FROM_1, BY_X, -24, 3, 24)
TABLE_DOUBLE(ndtri, NULL, ENDS, BY_CENTERED, -40, 3, 39)

#define LOOPS(function, op)                                                    \
    static void loop_##function##_FLOAT(void *arg, int64_t begin, int64_t end) \
    {                                                                          \
        tfd_piecewise_row(&function##_table, arg, begin, end);                 \
    }                                                                          \
    static void loop_##function##_DOUBLE(void *arg, int64_t begin,             \
                                         int64_t end)                          \
    {                                                                          \
        tfd_piecewise_double_row(&function##_double, arg, begin, end);         \
    }
FUNCTIONS(LOOPS)

#define INTEGRAL_NS 5

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
