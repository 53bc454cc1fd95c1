/*
 * math.c - functions of one number:
 *
 *     Sqrt Rsqrt Exp Log Log1p Sigmoid Tanh Sin Cos Erf
 *
 * Those of floats are vectorised (vector_math.h, vector_functions.h,
 * vector_trig.h, vector_pieces.h), and those of doubles but for Sin and Cos
 * (double_functions.h); everything else is the C library's.
 * half and bfloat16 are computed in float.
 */
#include "kernels/core/families.h"

#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/vector/complex_math.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow_loops.h"
#include "kernels/vector/double_trig.h"
#include "kernels/vector/vector_pieces.h"
#include "kernels/vector/vector_trig.h"

#include <float.h>
#include <math.h>

/* ---- Functions of one element -------------------------------------------- */

#define FUNCTION(function, name, T, expression) \
    static inline T function##_##name(T x)      \
    {                                           \
        return expression;                      \
    }

FUNCTION(sqrt, FLOAT, float, sqrtf(x))
FUNCTION(exp, FLOAT, float, tfd_vector_exp(x))
FUNCTION(log, FLOAT, float, tfd_vector_log(x))
FUNCTION(log1p, FLOAT, float, tfd_vector_log1p(x))
FUNCTION(sigmoid, FLOAT, float, tfd_vector_logistic(x))

FUNCTION(sqrt, DOUBLE, double, sqrt(x))
FUNCTION(rsqrt, DOUBLE, double, 1 / sqrt(x))
FUNCTION(exp, DOUBLE, double, tfd_double_exp(x))
FUNCTION(log, DOUBLE, double, tfd_double_log(x))
FUNCTION(log1p, DOUBLE, double, tfd_double_log1p(x))
FUNCTION(sigmoid, DOUBLE, double, tfd_double_logistic(x))
FUNCTION(tanh, DOUBLE, double, tfd_double_tanh(x))
FUNCTION(erf, DOUBLE, double, tfd_double_erf(x))

/* TensorFlow computes e^x / (1 + e^x) with halves as such: this is of e^x, in
 * floats that hold halves. */
#define DEFINE_STEPS(name, number, T)                         \
    static inline float sigmoid_steps_##name(float e)         \
    {                                                         \
        return e > FLT_MAX ? 1 : e / TFD_ROUND_##name(1 + e); \
    }

TFD_HALF_DTYPES(DEFINE_STEPS)

/* z is the native complex number. */
#define COMPLEX(function, name, T, expression)             \
    static inline T function##_##name(T x)                 \
    {                                                      \
        const __typeof__(T##_native(x)) z = T##_native(x); \
                                                           \
        return T##_of(expression);                         \
    }
/* log(1 + z), with its real part exact near 0. */
#define DEFINE_COMPLEX(name, number, T, R, suffix)                            \
    static inline T log1p_##name(T x)                                         \
    {                                                                         \
        const R square = x.re * (2 + x.re) + x.im * x.im;                     \
                                                                              \
        return (T){log1p##suffix(square) / 2, atan2##suffix(x.im, 1 + x.re)}; \
    }                                                                         \
    COMPLEX(sqrt, name, T, csqrt##suffix(z))                                  \
    COMPLEX(rsqrt, name, T, 1 / csqrt##suffix(z))                             \
    COMPLEX(exp, name, T, cexp##suffix(z))                                    \
    COMPLEX(log, name, T, clog##suffix(z))                                    \
    COMPLEX(sigmoid, name, T, 1 / (1 + cexp##suffix(-z)))                     \
    COMPLEX(tanh, name, T, ctanh##suffix(z))                                  \
    COMPLEX(sin, name, T, csin##suffix(z))                                    \
    COMPLEX(cos, name, T, ccos##suffix(z))

DEFINE_COMPLEX(COMPLEX64, 8, tfd_complex64, float, f)
DEFINE_COMPLEX(COMPLEX128, 18, tfd_complex128, double, )

/* e^z where e^re is a normal number and sin and cos of im are vectorised. */
static inline int exp_is_rare(tfd_complex64 z)
{
    const uint32_t re = tfd_half_float_bits(z.re) & 0x7fffffffu;
    const uint32_t im = tfd_half_float_bits(z.im) & 0x7fffffffu;

    return (re > 0x42ae0000u) | (im >= 0x47800000u); /* 87, 65536 */
}

static inline __attribute__((always_inline)) tfd_complex64
usual_exp(tfd_complex64 z)
{
    const float e = tfd_vector_exp(z.re);

    return (tfd_complex64){e * tfd_vector_cos(z.im), e * tfd_vector_sin(z.im)};
}

static inline tfd_complex64 any_exp(tfd_complex64 z)
{
    return exp_is_rare(z) ? exp_COMPLEX64(z) : usual_exp(z);
}

/* ---- Loops --------------------------------------------------------------- */

#define LOOP(function, LOOP_, name, T) \
    LOOP_(loop_##function##_##name, T, T, function##_##name)

#define LOOPS_MOST(LOOP_, name, T) \
    LOOP(sqrt, LOOP_, name, T)     \
    LOOP(exp, LOOP_, name, T)      \
    LOOP(log, LOOP_, name, T)      \
    LOOP(log1p, LOOP_, name, T)    \
    LOOP(sigmoid, LOOP_, name, T)
#define LOOPS_OTHER(LOOP_, name, T) \
    LOOP(tanh, LOOP_, name, T)      \
    LOOP(rsqrt, LOOP_, name, T)
#define LOOPS_WAVES(LOOP_, name, T) \
    LOOP(sin, LOOP_, name, T)       \
    LOOP(cos, LOOP_, name, T)
#define LOOPS_ERF(LOOP_, name, T) LOOP(erf, LOOP_, name, T)
#define LOOPS_ALL(LOOP_, name, T) \
    LOOPS_MOST(LOOP_, name, T)    \
    LOOPS_OTHER(LOOP_, name, T)   \
    LOOPS_WAVES(LOOP_, name, T)

LOOPS_MOST(TFD_UNARY_WIDE, FLOAT, float)

static void loop_tanh_FLOAT(void *arg, int64_t begin, int64_t end)
{
    tfd_pieces_loop(&tfd_tanh_pieces, arg, begin, end);
}

static void loop_erf_FLOAT(void *arg, int64_t begin, int64_t end)
{
    tfd_pieces_loop(&tfd_erf_pieces, arg, begin, end);
}

/* Every element of a block that has a rare one is computed as such, of a copy
 * of the block, for y may be where a is. */
TFD_SIMD_LOOP(rsqrt_blocks)
{
    const struct tfd_row *r = arg;
    const bool whole =
        tfd_block_is_whole((end - begin) * (int64_t)sizeof(float));
    float x[TFD_BLOCK_SIZE / sizeof(float)];

    for (int64_t at = begin, to; at < end; at = to) {
        const float *a = (const float *)r->a + at;
        float *y = (float *)r->y + at;
        uint32_t most = 0;

        to = tfd_block_end(at, end, sizeof(float));
        if (!whole)
            tfd_block_ahead(a + (to - at), end - to, sizeof(float));
        for (int64_t i = 0; i < to - at; i++) {
            const float one = a[i];
            const uint32_t rareness = tfd_rsqrt_rareness(one);

            most = rareness > most ? rareness : most;
            x[i] = one;
            y[i] = tfd_vector_rsqrt(one);
        }
        if (most >= TFD_RSQRT_RARE)
            for (int64_t i = 0; i < to - at; i++)
                y[i] = tfd_rsqrt_any(x[i]);
    }
}
TFD_SIMD_CLONES_FUSED(rsqrt_blocks)

#if defined(__x86_64__)
/* The estimate has 14 bits.  Where it is 0, infinite or NaN it is what it is to
 * be; of others a step of Newton's gives as much as the type has. */
#define RSQRT_USELESS 0x9f /* NaN, 0, -0, infinity and -infinity */

TFD_LANES_INLINE __m512 rsqrt_of_16(__m512 x)
{
    const __m512 y = _mm512_rsqrt14_ps(x);
    const __m512 e =
        _mm512_fnmadd_ps(_mm512_mul_ps(x, y), y, _mm512_set1_ps(1));
    const __m512 half = _mm512_mul_ps(y, _mm512_set1_ps(0.5f));

    return _mm512_mask_mov_ps(_mm512_fmadd_ps(half, e, y),
                              _mm512_fpclass_ps_mask(y, RSQRT_USELESS), y);
}

TFD_LANES_TARGET static void rsqrt_vectors(const float *a, float *y, int64_t n)
{
    const __mmask16 last = (__mmask16)((1u << (n % 16)) - 1);
    int64_t i = 0;

    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(y + i, rsqrt_of_16(_mm512_loadu_ps(a + i)));
    if (last)
        _mm512_mask_storeu_ps(y + i, last,
                              rsqrt_of_16(_mm512_maskz_loadu_ps(last, a + i)));
}

static void loop_rsqrt_FLOAT(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_row *r = arg;
    const bool whole =
        tfd_block_is_whole((end - begin) * (int64_t)sizeof(float));

    if (!tfd_simd_has_avx512()) {
        rsqrt_blocks(arg, begin, end);
        return;
    }
    for (int64_t at = begin, to; at < end; at = to) {
        const float *a = (const float *)r->a + at;

        to = tfd_block_end(at, end, sizeof(float));
        if (!whole)
            tfd_block_ahead(a + (to - at), end - to, sizeof(float));
        rsqrt_vectors(a, (float *)r->y + at, to - at);
    }
}
#else
#define loop_rsqrt_FLOAT rsqrt_blocks
#endif

TFD_UNARY_RARE(loop_sin_FLOAT, float, tfd_is_huge_angle, tfd_vector_sin,
               tfd_sin_any)
TFD_UNARY_RARE(loop_cos_FLOAT, float, tfd_is_huge_angle, tfd_vector_cos,
               tfd_cos_any)
TFD_UNARY_RARE(loop_sin_DOUBLE, double, tfd_double_is_huge_angle,
               tfd_double_sin, tfd_double_sin_any)
TFD_UNARY_RARE(loop_cos_DOUBLE, double, tfd_double_is_huge_angle,
               tfd_double_cos, tfd_double_cos_any)
LOOPS_MOST(TFD_UNARY_WIDE, DOUBLE, double)
LOOPS_OTHER(TFD_UNARY_WIDE, DOUBLE, double)
LOOPS_ERF(TFD_UNARY_WIDE, DOUBLE, double)
/* Of vectors of floats: see TFD_LANES_LOOP. */
#define SQRT(R, x) _mm256_sqrt_ps(x)
#define SIGMOID(R, e)                                               \
    _mm256_mask_mov_ps(                                             \
        (e) / R(1.0f + (e)),                                        \
        _mm256_cmp_ps_mask(e, _mm256_set1_ps(FLT_MAX), _CMP_GT_OQ), \
        _mm256_set1_ps(1))
#define RSQRT_STEP(x, y)                                                \
    _mm256_mask_mov_ps((y) + (0.5f * (y)) * (1.0f - ((x) * (y)) * (y)), \
                       _mm256_fpclass_ps_mask(y, RSQRT_USELESS), (y))
#define RSQRT(R, x) RSQRT_STEP(x, _mm256_rsqrt14_ps(x))

/* Blocks of e^x in the place of the result, and then that of those. */
#define LOOP_SIGMOID(name)                                                 \
    TFD_UNARY_WIDE(loop_sigmoid_steps_##name, float, float,                \
                   sigmoid_steps_##name)                                   \
    TFD_LANES_OR(loop_sigmoid_of_##name, name, UNARY, SIGMOID,             \
                 loop_sigmoid_steps_##name)                                \
    static void loop_sigmoid_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                      \
        const struct tfd_row *r = arg;                                     \
        struct tfd_row exp = {.a = r->y, .y = r->y, .a_step = 1};          \
                                                                           \
        for (int64_t at = begin, to; at < end; at = to) {                  \
            to = tfd_block_end(at, end, sizeof(float));                    \
            loop_exp_##name(arg, at, to);                                  \
            loop_sigmoid_of_##name(&exp, at, to);                          \
        }                                                                  \
    }
#define LOOPS_NARROW(name, number, T)                                     \
    TFD_LANES_OR(loop_sqrt_##name, name, UNARY, SQRT, loop_sqrt_FLOAT)    \
    TFD_NARROW_AS_FLOAT(exp, name)                                        \
    TFD_NARROW_AS_FLOAT(log, name)                                        \
    TFD_NARROW_AS_FLOAT(log1p, name)                                      \
    TFD_NARROW_AS_FLOAT(tanh, name)                                       \
    TFD_LANES_OR(rsqrt_of_8_##name, name, UNARY, RSQRT, loop_rsqrt_FLOAT) \
    TFD_NARROW_AS_FLOAT(sin, name)                                        \
    TFD_NARROW_AS_FLOAT(cos, name)                                        \
    TFD_NARROW_AS_FLOAT(erf, name)
TFD_HALF_DTYPES(LOOPS_NARROW)
LOOP_SIGMOID(HALF)
LOOP_SIGMOID(BFLOAT16)

#define loop_rsqrt_BFLOAT16 rsqrt_of_8_BFLOAT16
#if defined(__x86_64__)
/* Of every half these are the bits of the eight. */
TFD_LANES_TARGET static void rsqrt_of_halves(void *arg, int64_t begin,
                                             int64_t end)
{
    const struct tfd_row *r = arg;
    const uint16_t *a = r->a;
    uint16_t *y = r->y;
    int64_t i = begin;

    for (; end - i >= 16; i += 16)
        _mm256_storeu_si256((void *)(y + i), tfd_lanes16_to_HALF(rsqrt_of_16(
                                                 tfd_lanes16_load(a + i))));
    rsqrt_of_8_HALF(arg, i, end);
}

static void loop_rsqrt_HALF(void *arg, int64_t begin, int64_t end)
{
    if (tfd_lanes16_pay())
        rsqrt_of_halves(arg, begin, end);
    else
        rsqrt_of_8_HALF(arg, begin, end);
}
#else
#define loop_rsqrt_HALF rsqrt_of_8_HALF
#endif
#define LOOPS_COMPLEX(LOOP_, name, T) \
    LOOP(sqrt, LOOP_, name, T)        \
    LOOP(log, LOOP_, name, T)         \
    LOOP(log1p, LOOP_, name, T)       \
    LOOP(sigmoid, LOOP_, name, T)     \
    LOOPS_OTHER(LOOP_, name, T)       \
    LOOPS_WAVES(LOOP_, name, T)
LOOPS_COMPLEX(TFD_UNARY_LOOP, COMPLEX64, tfd_complex64)
TFD_UNARY_RARE(loop_exp_COMPLEX64, tfd_complex64, exp_is_rare, usual_exp,
               any_exp)
LOOPS_ALL(TFD_UNARY_LOOP, COMPLEX128, tfd_complex128)

/* ---- Gradients ----------------------------------------------------------- */

/* OpGrad(y, dy) */
static enum tfd_code grad_of(struct tfd_grad *g, const char *op,
                             struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = tfd_gradient_op2(&b, op, g->y[0], g->dy[0]);
    return b.code;
}

static enum tfd_code grad_of_conj(struct tfd_grad *g, const char *op,
                                  struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge y = tfd_gradient_conj(&b, g->y[0]);

    g->dx[0] = tfd_gradient_op2(&b, op, y, g->dy[0]);
    return b.code;
}

static enum tfd_code sqrt_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return grad_of(g, "SqrtGrad", st);
}

static enum tfd_code rsqrt_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return grad_of(g, "RsqrtGrad", st);
}

static enum tfd_code sigmoid_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return grad_of_conj(g, "SigmoidGrad", st);
}

static enum tfd_code tanh_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return grad_of_conj(g, "TanhGrad", st);
}

static enum tfd_code exp_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge y = tfd_gradient_conj(&b, g->y[0]);

    g->dx[0] = tfd_gradient_op2(&b, "Mul", g->dy[0], y);
    return b.code;
}

/* dy / (x + plus) */
static enum tfd_code inverse_gradient(struct tfd_grad *g, double plus,
                                      struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x = tfd_gradient_conj(&b, g->x[0]);

    if (plus != 0)
        x = tfd_gradient_op2(&b, "AddV2", tfd_gradient_scalar(&b, x, plus), x);
    x = tfd_gradient_op1(&b, "Reciprocal", x);
    g->dx[0] = tfd_gradient_op2(&b, "Mul", g->dy[0], x);
    return b.code;
}

static enum tfd_code log_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return inverse_gradient(g, 0, st);
}

static enum tfd_code log1p_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return inverse_gradient(g, 1, st);
}

static enum tfd_code sin_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x = tfd_gradient_conj(&b, g->x[0]);

    g->dx[0] =
        tfd_gradient_op2(&b, "Mul", g->dy[0], tfd_gradient_op1(&b, "Cos", x));
    return b.code;
}

static enum tfd_code cos_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x = tfd_gradient_conj(&b, g->x[0]);
    struct tfd_edge minus = tfd_gradient_op1(&b, "Neg", g->dy[0]);

    g->dx[0] =
        tfd_gradient_op2(&b, "Mul", minus, tfd_gradient_op1(&b, "Sin", x));
    return b.code;
}

#define TWO_OVER_ROOT_PI 1.1283791670955126

/* dy * 2 / sqrt(pi) * exp(-x^2) */
static enum tfd_code erf_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge slope = tfd_gradient_op1(&b, "Square", g->x[0]);
    struct tfd_edge scale = tfd_gradient_scalar(&b, g->dy[0], TWO_OVER_ROOT_PI);

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
    OP("Sqrt", ALL, sqrt_gradient),   OP("Rsqrt", ALL, rsqrt_gradient),
    OP("Exp", ALL, exp_gradient),     OP("Log", ALL, log_gradient),
    OP("Log1p", ALL, log1p_gradient), OP("Sigmoid", ALL, sigmoid_gradient),
    OP("Tanh", ALL, tanh_gradient),   OP("Sin", ALL, sin_gradient),
    OP("Cos", ALL, cos_gradient),     OP("Erf", REAL, erf_gradient),
};

#define KERNEL(op, name, loop)                                      \
    TFD_KERNEL(op, name, TFD_COMPUTE1_##name, loop_##loop##_##name, \
               .flags = TFD_KERNEL_ROW),
#define KERNELS(name, number, T)     \
    KERNEL("Sqrt", name, sqrt)       \
    KERNEL("Rsqrt", name, rsqrt)     \
    KERNEL("Exp", name, exp)         \
    KERNEL("Log", name, log)         \
    KERNEL("Log1p", name, log1p)     \
    KERNEL("Sigmoid", name, sigmoid) \
    KERNEL("Tanh", name, tanh)       \
    KERNEL("Sin", name, sin)         \
    KERNEL("Cos", name, cos)
#define KERNELS_REAL(name, number, T) \
    KERNELS(name, number, T)          \
    KERNEL("Erf", name, erf)

static const struct tfd_kernel kernels[] = {TFD_FLOAT_DTYPES(
    KERNELS_REAL) TFD_HALF_DTYPES(KERNELS_REAL) TFD_COMPLEX_DTYPES(KERNELS)};

const struct tfd_family tfd_family_math = {
    .name = "math",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
