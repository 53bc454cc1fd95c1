/*
 * special.c - gamma functions and their kin (special_functions.h), and products
 * and quotients that take 0 for 0 whatever the other side is:
 *
 *     Lgamma Digamma Igamma Igammac IgammaGradA RandomGammaGrad Betainc Zeta
 * Polygamma Atan2 NextAfter Xlogy Xlog1py Xdivy MulNoNan
 *
 * Special functions of floats are computed in double, to fewer terms and by
 * lanes (special_lanes.h); what is narrower in float.  Atan2, NextAfter, Xlogy,
 * Xlog1py and Lgamma are vectorised, and so is Digamma of doubles.
 */
#include "kernels/core/families.h"

#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/vector/complex_math.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow_loops.h"
#include "kernels/core/outputs.h"
#include "kernels/math/special_functions.h"
#include "kernels/math/special_grad.h"
#include "kernels/math/special_lanes.h"
#include "kernels/vector/double_gamma.h"
#include "kernels/vector/vector_trig.h"

#include <math.h>

/* ---- Functions of elements ----------------------------------------------- */

#define FUNCTION1(function, name, T, expression) \
    static inline T function##_##name(T x)       \
    {                                            \
        return expression;                       \
    }
#define FUNCTION2(function, name, T, expression) \
    static inline T function##_##name(T a, T b)  \
    {                                            \
        return expression;                       \
    }

#define DEFINE_FLOAT(name, T)                        \
    FUNCTION2(xdivy, name, T, a == 0 ? (T)0 : a / b) \
    FUNCTION2(mul_no_nan, name, T, b == 0 ? (T)0 : a * b)

DEFINE_FLOAT(FLOAT, float)
DEFINE_FLOAT(DOUBLE, double)
FUNCTION1(lgamma, FLOAT, float,
          tfd_vector_lgamma_is_rare(x) ? tfd_special_lgamma_float(x)
                                       : tfd_vector_lgamma(x))
FUNCTION2(igamma, DOUBLE, double, tfd_special_igamma(a, b))
FUNCTION2(igammac, DOUBLE, double, tfd_special_igammac(a, b))
FUNCTION2(igamma_slope, DOUBLE, double, tfd_special_igamma_slope(a, b))
FUNCTION2(igamma_slope, FLOAT, float,
          (float)tfd_special_igamma_slope((double)a, (double)b))
FUNCTION2(gamma_slope, DOUBLE, double, tfd_special_gamma_slope(a, b))
FUNCTION2(gamma_slope, FLOAT, float,
          (float)tfd_special_gamma_slope((double)a, (double)b))
FUNCTION2(zeta, DOUBLE, double, tfd_special_zeta(a, b))
FUNCTION2(polygamma, DOUBLE, double, tfd_special_polygamma(a, b))

/* a * log(b) is computed where it is not wanted, too: no branch, then. */
FUNCTION2(atan2, FLOAT, float, tfd_vector_atan2(a, b))
FUNCTION2(times_log, FLOAT, float, a *tfd_vector_log(b))
FUNCTION2(times_log1p, FLOAT, float, a *tfd_vector_log1p(b))
FUNCTION2(xlogy, FLOAT, float, a == 0 ? 0 : times_log_FLOAT(a, b))
FUNCTION2(xlog1py, FLOAT, float, a == 0 ? 0 : times_log1p_FLOAT(a, b))
FUNCTION2(atan2, DOUBLE, double, tfd_double_atan2(a, b))
FUNCTION2(times_log, DOUBLE, double, a *tfd_double_log(b))
FUNCTION2(times_log1p, DOUBLE, double, a *tfd_double_log1p(b))
FUNCTION2(xlogy, DOUBLE, double, a == 0 ? 0 : times_log_DOUBLE(a, b))
FUNCTION2(xlog1py, DOUBLE, double, a == 0 ? 0 : times_log1p_DOUBLE(a, b))

/* Numbers of one sign are ordered as their bits are. */
#define NEXT_AFTER(name, T, U, bits_of, of_bits)                 \
    static inline T nextafter_##name(T a, T b)                   \
    {                                                            \
        const U sign = (U)1 << (8 * sizeof(U) - 1);              \
        const U bits = bits_of(a);                               \
        const U away = (a < b) == (a > 0) ? bits + 1 : bits - 1; \
        T y = of_bits(a == 0 ? (bits_of(b) & sign) | 1 : away);  \
                                                                 \
        y = a == b ? b : y;                                      \
        return a != a || b != b ? a + b : y;                     \
    }

NEXT_AFTER(FLOAT, float, uint32_t, tfd_half_float_bits, tfd_half_float_of)
NEXT_AFTER(DOUBLE, double, uint64_t, tfd_double_bits, tfd_double_of)

/* a * b, zero where a is: of the rounded logarithm, as in TensorFlow; of
 * floats that hold halves or bfloat16. */
#define DEFINE_STEPS(name, number, T)                     \
    FUNCTION2(xlogy_steps, name, float,                   \
              a == 0 ? a : a * TFD_ROUND_##name(logf(b))) \
    FUNCTION2(xlog1py_steps, name, float,                 \
              a == 0 ? a : a * TFD_ROUND_##name(log1pf(b)))

TFD_HALF_DTYPES(DEFINE_STEPS)

#define IS_0(x) ((x).re == 0 && (x).im == 0)
#define DEFINE_COMPLEX(name, T, R, suffix)                                   \
    static inline T log1p_##name(T x)                                        \
    {                                                                        \
        const R square = x.re * (2 + x.re) + x.im * x.im;                    \
                                                                             \
        return (T){log1p##suffix(square) / 2,                                \
                   (atan2##suffix)(x.im, 1 + x.re)};                         \
    }                                                                        \
    FUNCTION2(xlogy, name, T,                                                \
              IS_0(a) ? a : T##_mul(a, T##_of(clog##suffix(T##_native(b))))) \
    FUNCTION2(xlog1py, name, T, IS_0(a) ? a : T##_mul(a, log1p_##name(b)))   \
    FUNCTION2(xdivy, name, T, IS_0(a) ? a : T##_div(a, b))                   \
    FUNCTION2(mul_no_nan, name, T, IS_0(b) ? b : T##_mul(a, b))

DEFINE_COMPLEX(COMPLEX64, tfd_complex64, float, f)
DEFINE_COMPLEX(COMPLEX128, tfd_complex128, double, )

/* ---- Loops --------------------------------------------------------------- */

/* Rows of X: TFD_UNARY_LOOP and the like, of one type. */
#define GAMMA2_LOOPS(X, name, T)                 \
    X(loop_igamma_##name, T, T, igamma_##name)   \
    X(loop_igammac_##name, T, T, igammac_##name) \
    X(loop_zeta_##name, T, T, zeta_##name)       \
    X(loop_polygamma_##name, T, T, polygamma_##name)
#define SLOPE_LOOP(X, name, T)                             \
    X(loop_igamma_slope_##name, T, T, igamma_slope_##name) \
    X(loop_gamma_slope_##name, T, T, gamma_slope_##name)
#define LOG_LOOPS(X, name, T)                \
    X(loop_xlogy_##name, T, T, xlogy_##name) \
    X(loop_xlog1py_##name, T, T, xlog1py_##name)
#define REST_LOOPS(X, name, T)               \
    X(loop_xdivy_##name, T, T, xdivy_##name) \
    X(loop_mul_no_nan_##name, T, T, mul_no_nan_##name)
#define STEP_LOOPS(X, name, T)                           \
    X(loop_xlogy_steps_##name, T, T, xlogy_steps_##name) \
    X(loop_xlog1py_steps_##name, T, T, xlog1py_steps_##name)
#define NEXT_LOOP(X, name, T) X(loop_nextafter_##name, T, T, nextafter_##name)
#define ATAN2_LOOP(X, name, T) X(loop_atan2_##name, T, T, atan2_##name)

/* Loops over doubles.  `any` holds for all arguments; from_0 takes half as long
 * and holds where no argument is negative, so a block that has none calls that.
 * Where both hold, their values are the same. */
#define LOOP_BY_SIGN(name, any, from_0)                   \
    TFD_SIMD_LOOP(name)                                   \
    {                                                     \
        const struct tfd_row *r = arg;                    \
        const double *a = r->a;                           \
        double *y = r->y;                                 \
                                                          \
        for (int64_t at = begin, to; at < end; at = to) { \
            int is_left = 0;                              \
                                                          \
            to = tfd_block_end(at, end, sizeof(double));  \
            for (int64_t i = at; i < to; i++)             \
                is_left |= a[i] < 0;                      \
            if (is_left)                                  \
                for (int64_t i = at; i < to; i++)         \
                    y[i] = any(a[i]);                     \
            else                                          \
                for (int64_t i = at; i < to; i++)         \
                    y[i] = from_0(a[i]);                  \
        }                                                 \
    }                                                     \
    TFD_SIMD_CLONES_WIDE(name)

TFD_UNARY_RARE(loop_lgamma_FLOAT, float, tfd_vector_lgamma_is_rare,
               tfd_vector_lgamma, lgamma_FLOAT)
LOOP_BY_SIGN(loop_lgamma_DOUBLE, tfd_double_lgamma, tfd_double_lgamma_from_0)
TFD_UNARY_LOOP(loop_digamma_FLOAT, float, float, tfd_special_digamma_float)
LOOP_BY_SIGN(loop_digamma_DOUBLE, tfd_double_digamma, tfd_double_digamma_from_0)
GAMMA2_LOOPS(TFD_BINARY_LOOP, DOUBLE, double)
SLOPE_LOOP(TFD_BINARY_LOOP, FLOAT, float)
SLOPE_LOOP(TFD_BINARY_LOOP, DOUBLE, double)
TFD_BINARY_WIDE(loop_mul_no_nan_FLOAT, float, float, mul_no_nan_FLOAT)
TFD_BINARY_WIDE(loop_mul_no_nan_DOUBLE, double, double, mul_no_nan_DOUBLE)

/* Compilers make of the selection a division whose load of b waits for a, and
 * so for memory twice; what lies in a cache is a little quicker so. */
#define FAR_SIZE (1 << 20)
#if defined(__x86_64__)
#define XDIVY_PAIRS(name, T, B)                                               \
    TFD_BINARY_WIDE(each_xdivy_##name, T, T, xdivy_##name)                    \
    typedef T lanes_##name                                                    \
        __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));      \
    typedef B bits_##name __attribute__((vector_size(64)));                   \
    __attribute__((target(TFD_SIMD_AVX512))) static void pairs_xdivy_##name(  \
        void *arg, int64_t begin, int64_t end)                                \
    {                                                                         \
        const struct tfd_row *r = arg;                                        \
        const int64_t lanes = 64 / (int64_t)sizeof(T);                        \
        const T *x = r->a, *divisor = r->b;                                   \
        T *y = r->y;                                                          \
        int64_t i = begin;                                                    \
                                                                              \
        for (; end - i >= lanes; i += lanes) {                                \
            const lanes_##name a =                                            \
                *(const lanes_##name *)(const void *)(x + i);                 \
            lanes_##name b =                                                  \
                *(const lanes_##name *)(const void *)(divisor + i);           \
                                                                              \
            __asm__("" : "+v"(b));                                            \
            *(lanes_##name *)(void *)(y + i) =                                \
                (lanes_##name)((bits_##name)(a / b) & (bits_##name)(a != 0)); \
        }                                                                     \
        each_xdivy_##name(arg, i, end);                                       \
    }                                                                         \
    static void loop_xdivy_##name(void *arg, int64_t begin, int64_t end)      \
    {                                                                         \
        const struct tfd_row *r = arg;                                        \
                                                                              \
        if (r->a_step && r->b_step &&                                         \
            (end - begin) * (int64_t)sizeof(T) >= FAR_SIZE &&                 \
            tfd_simd_has_avx512())                                            \
            pairs_xdivy_##name(arg, begin, end);                              \
        else                                                                  \
            each_xdivy_##name(arg, begin, end);                               \
    }

XDIVY_PAIRS(FLOAT, float, int32_t)
XDIVY_PAIRS(DOUBLE, double, int64_t)
#else
TFD_BINARY_WIDE(loop_xdivy_FLOAT, float, float, xdivy_FLOAT)
TFD_BINARY_WIDE(loop_xdivy_DOUBLE, double, double, xdivy_DOUBLE)
#endif
NEXT_LOOP(TFD_BINARY_WIDE, FLOAT, float)
NEXT_LOOP(TFD_BINARY_WIDE, DOUBLE, double)
LOG_LOOPS(TFD_BINARY_LOOP, COMPLEX64, tfd_complex64)
LOG_LOOPS(TFD_BINARY_LOOP, COMPLEX128, tfd_complex128)
REST_LOOPS(TFD_BINARY_LOOP, COMPLEX64, tfd_complex64)
REST_LOOPS(TFD_BINARY_LOOP, COMPLEX128, tfd_complex128)
ATAN2_LOOP(TFD_BINARY_WIDE, FLOAT, float)
LOG_LOOPS(TFD_BINARY_WIDE, FLOAT, float)
ATAN2_LOOP(TFD_BINARY_WIDE, DOUBLE, double)
LOG_LOOPS(TFD_BINARY_SIMD, DOUBLE, double)
STEP_LOOPS(TFD_BINARY_LOOP, HALF, float)
STEP_LOOPS(TFD_BINARY_LOOP, BFLOAT16, float)

/* Floats by lanes. */
#define LANES(function)                                                        \
    static void loop_##function##_FLOAT(void *arg, int64_t begin, int64_t end) \
    {                                                                          \
        const struct tfd_row *r = arg;                                         \
        const struct tfd_special_lanes s = {                                   \
            {r->a, r->b}, {r->a_step, r->b_step}, r->y};                       \
                                                                               \
        tfd_special_##function##_lanes(&s, begin, end);                        \
    }

LANES(igamma)
LANES(igammac)
LANES(zeta)
LANES(polygamma)

/* By way of floats. */
#define LOOPS_HALF(name, number, T)                                       \
    TFD_NARROW_AS_FLOAT(lgamma, name)                                     \
    TFD_NARROW_AS_FLOAT(digamma, name)                                    \
    TFD_NARROW_LOOP(loop_xlogy_##name, name, loop_xlogy_steps_##name)     \
    TFD_NARROW_LOOP(loop_xlog1py_##name, name, loop_xlog1py_steps_##name) \
    TFD_NARROW_AS_FLOAT(xdivy, name)                                      \
    TFD_NARROW_AS_FLOAT(mul_no_nan, name)                                 \
    TFD_NARROW_AS_FLOAT(atan2, name)
TFD_HALF_DTYPES(LOOPS_HALF)

/* ---- Betainc ------------------------------------------------------------- */

struct beta {
    const void *in[3];
    int step[3]; /* 0: a scalar */
    void *y;
};

static void loop_betainc_FLOAT(void *arg, int64_t begin, int64_t end)
{
    const struct beta *b = arg;
    const struct tfd_special_lanes s = {{b->in[0], b->in[1], b->in[2]},
                                        {b->step[0], b->step[1], b->step[2]},
                                        b->y};

    tfd_special_betainc_lanes(&s, begin, end);
}

static void loop_betainc_DOUBLE(void *arg, int64_t begin, int64_t end)
{
    const struct beta *b = arg;
    const double *a0 = b->in[0], *a1 = b->in[1], *a2 = b->in[2];
    double *y = b->y;

    for (int64_t i = begin; i < end; i++)
        y[i] = tfd_special_betainc(a0[i * b->step[0]], a1[i * b->step[1]],
                                   a2[i * b->step[2]]);
}

#define SPECIAL_NS 100

enum tfd_code tfd_special_betainc_shape(const struct tfd_kctx *k,
                                        struct tfd_shape *out,
                                        struct tfd_status *st)
{
    char text[2][TFD_SHAPE_TEXT_MAX];
    int first = 0; /* whose shape *out is */

    *out = k->in[0].shape;
    for (int i = 1; i < 3; i++) {
        const struct tfd_shape *s = &k->in[i].shape;

        if (out->rank == 0) {
            *out = *s;
            first = i;
        } else if (s->rank != 0 && !tfd_shape_equal(out, s)) {
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shapes of %c and %c are inconsistent: %s vs. %s",
                            "abx"[first], "abx"[i],
                            tfd_shape_text(out, text[0]),
                            tfd_shape_text(s, text[1]));
        }
    }
    return TFD_OK;
}

static enum tfd_code betainc_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape;
    struct beta b;

    TFD_TRY(tfd_special_betainc_shape(k, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &shape, st));
    for (int i = 0; i < 3; i++) {
        b.in[i] = tfd_tensor_data(&k->in[i]);
        b.step[i] = k->in[i].shape.rank != 0;
    }
    b.y = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel(k, tfd_shape_elements(&shape), SPECIAL_NS,
                      k->kernel->range, &b);
    return TFD_OK;
}

static enum tfd_code betainc_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    struct tfd_shape all = TFD_SHAPE_UNKNOWN;

    for (int i = 0; i < s->in_count; i++) {
        if (s->in[i].rank == TFD_RANK_UNKNOWN)
            return TFD_OK;
        if (s->in[i].rank != 0)
            TFD_TRY(tfd_shape_merge(&all, &s->in[i], st));
    }
    s->out[0] = all;
    if (all.rank == TFD_RANK_UNKNOWN)
        s->out[0] = (struct tfd_shape){.rank = 0};
    return TFD_OK;
}

static enum tfd_code special1_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {k->in[0].dtype, SPECIAL_NS, NULL, NULL};

    return tfd_elementwise_unary(k, &e, st);
}

static enum tfd_code special2_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {k->in[0].dtype, SPECIAL_NS, NULL, NULL};

    return tfd_elementwise_binary(k, &e, st);
}

/* ---- Gradients ----------------------------------------------------------- */

static enum tfd_code lgamma_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge slope = tfd_gradient_op1(&b, "Digamma", g->x[0]);

    g->dx[0] = tfd_gradient_op2(&b, "Mul", g->dy[0], slope);
    return b.code;
}

static enum tfd_code digamma_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge one = tfd_gradient_scalar(&b, g->x[0], 1);
    struct tfd_edge slope = tfd_gradient_op2(&b, "Polygamma", one, g->x[0]);

    g->dx[0] = tfd_gradient_op2(&b, "Mul", g->dy[0], slope);
    return b.code;
}

/* By a: IgammaGradA; by x: e^(-x + (a - 1) log(x) - lgamma(a)); less: of
 * Igammac, which is 1 less the other. */
static enum tfd_code gamma_slopes(struct tfd_grad *g, bool less,
                                  struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge a = g->x[0], x = g->x[1], one, power, dy = g->dy[0];

    one = tfd_gradient_scalar(&b, a, 1);
    power = tfd_gradient_op2(&b, "Mul", tfd_gradient_op2(&b, "Sub", a, one),
                             tfd_gradient_op1(&b, "Log", x));
    power = tfd_gradient_op2(&b, "Sub", power, x);
    power =
        tfd_gradient_op2(&b, "Sub", power, tfd_gradient_op1(&b, "Lgamma", a));
    power = tfd_gradient_op1(&b, "Exp", power);
    if (less)
        dy = tfd_gradient_op1(&b, "Neg", dy);
    g->dx[0] = tfd_gradient_op2(&b, "Mul", dy,
                                tfd_gradient_op2(&b, "IgammaGradA", a, x));
    g->dx[1] = tfd_gradient_op2(&b, "Mul", dy, power);
    tfd_gradient_reduce(&b, a, x, &g->dx[0], &g->dx[1]);
    return b.code;
}

static enum tfd_code igamma_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return gamma_slopes(g, false, st);
}

static enum tfd_code igammac_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return gamma_slopes(g, true, st);
}

/* dy / (y^2 + x^2), times x for y and -y for x. */
static enum tfd_code atan2_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge y2 = tfd_gradient_op1(&b, "Square", g->x[0]);
    struct tfd_edge x2 = tfd_gradient_op1(&b, "Square", g->x[1]);
    struct tfd_edge sum = tfd_gradient_op2(&b, "AddV2", y2, x2);
    struct tfd_edge scaled = tfd_gradient_op2(&b, "RealDiv", g->dy[0], sum);
    struct tfd_edge minus = tfd_gradient_op1(&b, "Neg", g->x[0]);

    g->dx[0] = tfd_gradient_op2(&b, "Mul", g->x[1], scaled);
    g->dx[1] = tfd_gradient_op2(&b, "Mul", minus, scaled);
    tfd_gradient_reduce(&b, g->x[0], g->x[1], &g->dx[0], &g->dx[1]);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define REAL "bfloat16, half, float, double"
#define ANY "half, bfloat16, float, double, complex64, complex128"
#define FLOATS "float, double"

#define OP(name_, in, out, types, shape_, grad_)                   \
    {                                                              \
        .name = name_, .inputs = in, .outputs = out,               \
        .attrs = "T: {" types "}", .shape = shape_, .grad = grad_, \
    }
#define OP1(name, types, grad) \
    OP(name, "x: T", "y: T", types, tfd_shape_like_first, grad)
#define OP2(name, in, types, grad) \
    OP(name, in, "z: T", types, tfd_shape_broadcast2, grad)

static const struct tfd_opdef ops[] = {
    OP1("Lgamma", REAL, lgamma_gradient),
    OP1("Digamma", REAL, digamma_gradient),
    OP2("Atan2", "y: T, x: T", REAL, atan2_gradient),
    OP2("Igamma", "a: T, x: T", REAL, igamma_gradient),
    OP2("Igammac", "a: T, x: T", REAL, igammac_gradient),
    OP2("IgammaGradA", "a: T, x: T", FLOATS, NULL),
    OP2("RandomGammaGrad", "alpha: T, sample: T", FLOATS, NULL),
    OP2("Zeta", "x: T, q: T", FLOATS, tfd_special_zeta_gradient),
    OP2("Polygamma", "a: T, x: T", FLOATS, tfd_special_polygamma_gradient),
    OP2("Xlogy", "x: T, y: T", ANY, tfd_special_xlogy_gradient),
    OP2("Xlog1py", "x: T, y: T", ANY, tfd_special_xlog1py_gradient),
    OP2("Xdivy", "x: T, y: T", ANY, tfd_special_xdivy_gradient),
    OP2("MulNoNan", "x: T, y: T",
        "bfloat16, half, float, double, complex64, complex128",
        tfd_special_mul_no_nan_gradient),
    {
        .name = "NextAfter",
        .inputs = "x1: T, x2: T",
        .outputs = "output: T",
        .attrs = "T: {double, float} = DT_FLOAT",
        .shape = tfd_shape_broadcast2,
        .grad = tfd_special_next_after_gradient,
    },
    OP("Betainc", "a: T, b: T, x: T", "z: T", FLOATS, betainc_shape,
       tfd_special_betainc_gradient),
};

/* How Atan2, Xlogy and Xlog1py are run, and Xdivy and MulNoNan. */
#define LOG_FLOAT tfd_elementwise_vector2
#define LOG_DOUBLE tfd_elementwise_vector2
#define LOG_HALF special2_cpu
#define LOG_BFLOAT16 special2_cpu
#define LOG_COMPLEX64 special2_cpu
#define LOG_COMPLEX128 special2_cpu
#define REST_FLOAT tfd_elementwise_compute2
#define REST_DOUBLE tfd_elementwise_compute2
#define REST_HALF special2_cpu
#define REST_BFLOAT16 special2_cpu
#define REST_COMPLEX64 special2_cpu
#define REST_COMPLEX128 special2_cpu

#define KERNEL1(op, name, loop) \
    TFD_KERNEL(op, name, special1_cpu, loop_##loop##_##name),
#define KERNEL2(op, name, loop) \
    TFD_KERNEL(op, name, special2_cpu, loop_##loop##_##name),
#define KERNEL_LOG(op, name, loop) \
    TFD_KERNEL(op, name, LOG_##name, loop_##loop##_##name),
#define KERNEL_REST(op, name, loop) \
    TFD_KERNEL(op, name, REST_##name, loop_##loop##_##name),
#define KERNELS_ANY(name, number, T)     \
    KERNEL_LOG("Xlogy", name, xlogy)     \
    KERNEL_LOG("Xlog1py", name, xlog1py) \
    KERNEL_REST("Xdivy", name, xdivy)    \
    KERNEL_REST("MulNoNan", name, mul_no_nan)
#define KERNELS_REAL(name, number, T) \
    KERNELS_ANY(name, number, T)      \
    KERNEL1("Lgamma", name, lgamma)   \
    KERNEL1("Digamma", name, digamma) \
    KERNEL_LOG("Atan2", name, atan2)
#define KERNELS_FLOAT(name, number, T)                     \
    KERNELS_REAL(name, number, T)                          \
    KERNEL2("Igamma", name, igamma)                        \
    KERNEL2("Igammac", name, igammac)                      \
    KERNEL2("IgammaGradA", name, igamma_slope)             \
    KERNEL2("RandomGammaGrad", name, gamma_slope)          \
    KERNEL2("Zeta", name, zeta)                            \
    KERNEL2("Polygamma", name, polygamma)                  \
    TFD_KERNEL("NextAfter", name, tfd_elementwise_vector2, \
               loop_nextafter_##name),                     \
        TFD_KERNEL("Betainc", name, betainc_cpu, loop_betainc_##name),

static const struct tfd_kernel kernels[] = {
    TFD_FLOAT_DTYPES(KERNELS_FLOAT) TFD_HALF_DTYPES(KERNELS_REAL)
        TFD_COMPLEX_DTYPES(KERNELS_ANY)};

const struct tfd_family tfd_family_special = {
    .name = "special",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
