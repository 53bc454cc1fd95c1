/*
 * activation.c - Elu, Selu, LeakyRelu, Relu6, Softplus, Softsign and their
 * gradients.
 *
 *     Elu        x, below zero e^x - 1
 *     Selu       scale * x, below zero scale * alpha * (e^x - 1)
 *     LeakyRelu  x, up to zero alpha * x
 *     Relu6      x between 0 and 6; its gradient is a product with 0 or 1, so
 *                that an infinite one is seen as NaN
 *     Softplus   log(e^x + 1)
 *     Softsign   x / (|x| + 1)
 *
 * Gradients of Elu and Selu take the outputs, the others the inputs.  Of half
 * types every intermediate result is one too, alpha included, as TensorFlow
 * computes them.
 */
#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow.h"
#include "kernels/vector/narrow_loops.h"
#include "kernels/core/outputs.h"
#include "kernels/math/leaky.h"
#include "kernels/vector/double_functions.h"
#include "kernels/vector/vector_functions.h"

#define SELU_SCALE 1.0507009873554804934193349852946
#define SELU_SCALE_ALPHA 1.7580993408473768599402175208123

/* ---- Functions of one and two numbers ------------------------------------ */

/* e^x - 1 for x <= 0: near zero the polynomial of e^x without its 1, so that
 * nothing cancels; and far below zero -1, whatever e^x. */
static inline float expm1_float(float x)
{
    float in = x > 0 ? 0 : x < -87 ? -87 : x;
    int32_t n;
    float p = tfd_vector_expm1_part(in, 0, &n);

    return in > -0.34f ? p : (p + 1) * tfd_vector_power2(n) - 1;
}

/* Functions below compute in W and round every intermediate result by R, since
 * TensorFlow computes with halves as such. */
#define EXACT(value) (value)

#define expm1_double tfd_double_expm1
#define exp_float tfd_vector_exp
#define exp_double tfd_double_exp
#define log1p_float tfd_vector_log1p
#define log1p_double tfd_double_log1p
#define abs_float fabsf
#define abs_double fabs

static inline float expm1_tfd_half(float x)
{
    return TFD_ROUND_HALF(TFD_ROUND_HALF(tfd_vector_exp(x)) - 1);
}

static inline float expm1_tfd_bfloat16(float x)
{
    return TFD_ROUND_BFLOAT16(TFD_ROUND_BFLOAT16(tfd_vector_exp(x)) - 1);
}

/* Where e^x + 1 is e^x, or 1 + e^x: two more than the logarithm of an epsilon,
 * computed in the type.  Eigen's epsilon of a half is 2^-13. */
#define SOFT_float (-13.942385f)
#define SOFT_double (-34.04365338911715)
#define SOFT_tfd_half (-7.0078125f)
#define SOFT_tfd_bfloat16 (-2.84375f)

#define FUNCTIONS(T, W, R)                                          \
    static inline W elu_of_##T(W x)                                 \
    {                                                               \
        return x < 0 ? expm1_##T(x) : x;                            \
    }                                                               \
    static inline W elu_grad_of_##T(W dy, W y)                      \
    {                                                               \
        return y < 0 ? R(y + 1) * dy : dy;                          \
    }                                                               \
    static inline W selu_of_##T(W x)                                \
    {                                                               \
        return x < 0 ? R((W)SELU_SCALE_ALPHA) * expm1_##T(x)        \
                     : R((W)SELU_SCALE) * x;                        \
    }                                                               \
    static inline W selu_grad_of_##T(W dy, W y)                     \
    {                                                               \
        return y < 0 ? dy * R(y + R((W)SELU_SCALE_ALPHA))           \
                     : dy * R((W)SELU_SCALE);                       \
    }                                                               \
    static inline W softplus_of_##T(W x)                            \
    {                                                               \
        W e = R(exp_##W(x));                                        \
                                                                    \
        return x > -SOFT_##T ? x : x < SOFT_##T ? e : log1p_##W(e); \
    }                                                               \
    static inline W softsign_of_##T(W x)                            \
    {                                                               \
        return x / R(abs_##W(x) + 1);                               \
    }                                                               \
    static inline W softsign_grad_of_##T(W dy, W x)                 \
    {                                                               \
        W d = R(abs_##W(x) + 1);                                    \
                                                                    \
        return dy / R(d * d);                                       \
    }

FUNCTIONS(float, float, EXACT)
FUNCTIONS(double, double, EXACT)
FUNCTIONS(tfd_half, float, TFD_ROUND_HALF)
FUNCTIONS(tfd_bfloat16, float, TFD_ROUND_BFLOAT16)

static inline float exp_less(float x)
{
    return tfd_vector_exp_beside_1(-x);
}

#define softplus_grad_of_float(dy, x) ((dy) / (exp_less(x) + 1))
#define softplus_grad_of_double(dy, x) ((dy) / (tfd_double_exp(-(x)) + 1))

#define OF_REAL(function, T)                      \
    static inline T function##_##T(T x)           \
    {                                             \
        return function##_of_##T(x);              \
    }                                             \
    static inline T function##_grad_##T(T x, T y) \
    {                                             \
        return function##_grad_of_##T(x, y);      \
    }

#define EACH_REAL(name, number, T) \
    OF_REAL(elu, T) OF_REAL(selu, T) OF_REAL(softplus, T) OF_REAL(softsign, T)
TFD_FLOAT_DTYPES(EACH_REAL)

#define LOOPS(UNARY, BINARY, name, T)                     \
    UNARY(elu_##name, T, T, elu_##T)                      \
    UNARY(selu_##name, T, T, selu_##T)                    \
    UNARY(softplus_##name, T, T, softplus_##T)            \
    UNARY(softsign_##name, T, T, softsign_##T)            \
    BINARY(elu_grad_##name, T, T, elu_grad_##T)           \
    BINARY(selu_grad_##name, T, T, selu_grad_##T)         \
    BINARY(softplus_grad_##name, T, T, softplus_grad_##T) \
    BINARY(softsign_grad_##name, T, T, softsign_grad_##T)

LOOPS(TFD_UNARY_WIDE, TFD_PAIR_WIDE, FLOAT, float)
LOOPS(TFD_UNARY_WIDE, TFD_PAIR_WIDE, DOUBLE, double)

/* Of floats that hold halves or bfloat16: rows of X, which makes loops, and of
 * NARROW, which runs them on halves. */
#define STEPS_OF_ONE(X, function, name, T) \
    X(function##_steps_##name, float, float, function##_of_##T)
#define STEPS_OF_TWO(X, function, name, T) \
    X(function##_grad_steps_##name, float, float, function##_grad_of_##T)
#define STEPS_NARROW_ONE(NARROW, function, name, T) \
    NARROW(function##_##name, name, function##_steps_##name)
#define STEPS_NARROW_TWO(NARROW, function, name, T) \
    NARROW(function##_grad_##name, name, function##_grad_steps_##name)
#define STEPS_GRAD(ROWS, X)       \
    ROWS(X, elu, HALF, tfd_half)  \
    ROWS(X, selu, HALF, tfd_half) \
    ROWS(X, elu, BFLOAT16, tfd_bfloat16) ROWS(X, selu, BFLOAT16, tfd_bfloat16)
#define STEPS(ROWS, X)                \
    STEPS_GRAD(ROWS, X)               \
    ROWS(X, softplus, HALF, tfd_half) \
    ROWS(X, softplus, BFLOAT16, tfd_bfloat16)

STEPS(STEPS_OF_ONE, TFD_UNARY_WIDE)
STEPS_GRAD(STEPS_OF_TWO, TFD_PAIR_WIDE)
STEPS(STEPS_NARROW_ONE, TFD_NARROW_LOOP)
STEPS_GRAD(STEPS_NARROW_TWO, TFD_NARROW_LOOP)

/* dy / (1 + e^-x): powers first, which are rounded by instructions, as a block
 * of the type. */
TFD_UNARY_WIDE(exp_less_FLOAT, float, float, exp_less)

#define BY_SUM_HALF(dy, e) ((dy) / TFD_ROUND_HALF((e) + 1))
#define BY_SUM_BFLOAT16(dy, e) ((dy) / TFD_ROUND_BFLOAT16((e) + 1))
#define BY_SUM_LANES(R, dy, e) ((dy) / R((e) + 1.0f))

#define SOFTPLUS_GRAD(name, number, T)                                      \
    TFD_PAIR_SIMD(by_sum_steps_##name, float, float, BY_SUM_##name)         \
    TFD_LANES_OR(by_sum_##name, name, BINARY, BY_SUM_LANES,                 \
                 by_sum_steps_##name)                                       \
    static void softplus_grad_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                       \
        softplus_grad_blocks(TFD_##name, by_sum_##name, arg, begin, end);   \
    }

static void softplus_grad_blocks(enum tfd_dtype t, tfd_range_fn *by_sum,
                                 const struct tfd_row *r, int64_t begin,
                                 int64_t end)
{
    const uint16_t *dy = r->a, *x = r->b;
    uint16_t powers[TFD_NARROW_BLOCK], *dx = r->y;
    struct tfd_row power = {.y = powers, .a_step = 1};
    struct tfd_row by = {.b = powers, .a_step = 1, .b_step = 1};

    for (int64_t at = begin, n; at < end; at += n) {
        n = end - at < TFD_NARROW_BLOCK ? end - at : TFD_NARROW_BLOCK;
        power.a = x + at;
        tfd_narrow_row(t, exp_less_FLOAT, &power, 0, n);
        by.a = dy + at;
        by.y = dx + at;
        by_sum(&by, 0, n);
    }
}

TFD_HALF_DTYPES(SOFTPLUS_GRAD)

#define SIZE_AND_1(x) (((x) < 0 ? -(x) : (x)) + 1)
#define SOFTSIGN(x) ((x) / SIZE_AND_1(x))
#define SOFTSIGN_GRAD(dy, x) ((dy) / (SIZE_AND_1(x) * SIZE_AND_1(x)))

#define SIZE_AND_1_LANES(R, x) R(TFD_LANES_ABS(x) + 1.0f)
#define SOFTSIGN_LANES(R, x) ((x) / SIZE_AND_1_LANES(R, x))
#define SOFTSIGN_GRAD_LANES(R, dy, x) \
    ((dy) / R(SIZE_AND_1_LANES(R, x) * SIZE_AND_1_LANES(R, x)))

STEPS_OF_ONE(TFD_UNARY_WIDE, softsign, HALF, tfd_half)
STEPS_OF_TWO(TFD_PAIR_WIDE, softsign, HALF, tfd_half)
STEPS_OF_ONE(TFD_UNARY_WIDE, softsign, BFLOAT16, tfd_bfloat16)
STEPS_OF_TWO(TFD_PAIR_WIDE, softsign, BFLOAT16, tfd_bfloat16)
TFD_HALF_LOOP(softsign_HALF, UNARY, SOFTSIGN, SOFTSIGN_LANES,
              softsign_steps_HALF)
TFD_HALF_LOOP(softsign_grad_HALF, BINARY, SOFTSIGN_GRAD, SOFTSIGN_GRAD_LANES,
              softsign_grad_steps_HALF)
TFD_LANES_OR(softsign_BFLOAT16, BFLOAT16, UNARY, SOFTSIGN_LANES,
             softsign_steps_BFLOAT16)
TFD_LANES_OR(softsign_grad_BFLOAT16, BFLOAT16, BINARY, SOFTSIGN_GRAD_LANES,
             softsign_grad_steps_BFLOAT16)

/* ---- Relu6 --------------------------------------------------------------- */

#define RELU6_GRAD_OF(name, number, T)               \
    static inline T relu6_grad_of_##name(T dy, T x)  \
    {                                                \
        const T zero = 0, six = 6;                   \
        T one = ((x > zero) & (x < six)) ? 1 : zero; \
                                                     \
        return (T)(dy * one);                        \
    }

#define RELU6_OF_REAL(name, number, T)    \
    static inline T relu6_of_##name(T x)  \
    {                                     \
        const T zero = 0, six = 6;        \
        T least = x < zero ? zero : x;    \
                                          \
        return least > six ? six : least; \
    }
/* By their bits: above those of an infinity there is NaN, which stays. */
#define RELU6_OF_HALF(name, number, T)                                   \
    static inline T relu6_of_##name(T x)                                 \
    {                                                                    \
        const T infinite = TFD_INFINITE_##name, six = T##_from_float(6); \
        const bool above = (T)(x - six - 1) < (T)(infinite - six);       \
        const bool below = (T)(x - 0x8001) < infinite;                   \
                                                                         \
        return below ? 0 : above ? six : x;                              \
    }

TFD_INT_DTYPES(RELU6_OF_REAL)
TFD_REAL_DTYPES(RELU6_GRAD_OF)
TFD_HALF_DTYPES(RELU6_OF_HALF)

/* Two steps, each of which is one instruction of a vector; of a bound that is
 * known compilers make comparisons and selections. */
#define RELU6_LOOP(name, number, T)                    \
    TFD_SIMD_LOOP(relu6_##name)                        \
    {                                                  \
        const struct tfd_row *r = arg;                 \
        volatile T bound = 6;                          \
        const T zero = 0, six = bound, *x = r->a;      \
        T *y = r->y;                                   \
                                                       \
        for (int64_t i = begin; i < end; i++) {        \
            const T least = x[i] < zero ? zero : x[i]; \
                                                       \
            y[i] = least > six ? six : least;          \
        }                                              \
    }                                                  \
    TFD_SIMD_CLONES(relu6_##name)

#define RELU6_INTS(X, id)                              \
    X(id##_INT8, int8_t, int8_t, id##_of_INT8)         \
    X(id##_INT16, int16_t, int16_t, id##_of_INT16)     \
    X(id##_INT32, int32_t, int32_t, id##_of_INT32)     \
    X(id##_INT64, int64_t, int64_t, id##_of_INT64)     \
    X(id##_UINT8, uint8_t, uint8_t, id##_of_UINT8)     \
    X(id##_UINT16, uint16_t, uint16_t, id##_of_UINT16) \
    X(id##_UINT32, uint32_t, uint32_t, id##_of_UINT32) \
    X(id##_UINT64, uint64_t, uint64_t, id##_of_UINT64)

TFD_FLOAT_DTYPES(RELU6_LOOP)
RELU6_INTS(TFD_UNARY_SIMD, relu6)
RELU6_INTS(TFD_PAIR_SIMD, relu6_grad)
TFD_PAIR_WIDE(relu6_grad_FLOAT, float, float, relu6_grad_of_FLOAT)
TFD_PAIR_WIDE(relu6_grad_DOUBLE, double, double, relu6_grad_of_DOUBLE)
TFD_UNARY_SIMD(relu6_HALF, tfd_half, tfd_half, relu6_of_HALF)
TFD_UNARY_SIMD(relu6_BFLOAT16, tfd_bfloat16, tfd_bfloat16, relu6_of_BFLOAT16)
/* Of vectors of floats: see TFD_LANES_LOOP. */
#define INSIDE(x)                                             \
    (_mm256_cmp_ps_mask(x, _mm256_setzero_ps(), _CMP_GT_OQ) & \
     _mm256_cmp_ps_mask(x, _mm256_set1_ps(6), _CMP_LT_OQ))
#define RELU6_GRAD_LANES(R, dy, x) \
    tfd_lanes_mul(dy,              \
                  _mm256_maskz_mov_ps((__mmask8)INSIDE(x), _mm256_set1_ps(1)))
TFD_LANES_OR(relu6_grad_HALF, HALF, BINARY, RELU6_GRAD_LANES, relu6_grad_FLOAT)
TFD_LANES_OR(relu6_grad_BFLOAT16, BFLOAT16, BINARY, RELU6_GRAD_LANES,
             relu6_grad_FLOAT)

static enum tfd_code relu6_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {.dtype = k->in[0].dtype,
                                      .cost = TFD_COST_MEMORY};

    return tfd_elementwise_unary(k, &e, st);
}

static enum tfd_code relu6_grad_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    const struct tfd_elementwise e = {.dtype = k->in[0].dtype,
                                      .cost = TFD_COST_MEMORY};

    TFD_TRY(tfd_activation_same_shape(k, st));
    return tfd_elementwise_pair(k, &e, st);
}

/* ---- LeakyRelu ----------------------------------------------------------- */

enum tfd_code tfd_activation_prepare_alpha(const struct tfd_prepare *p,
                                           void *state, struct tfd_status *st)
{
    return tfd_node_float(p->node, "alpha", state, st);
}

enum tfd_code tfd_activation_same_shape(const struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (k->in_count == 1 || tfd_shape_equal(&k->in[0].shape, &k->in[1].shape))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Inputs to operation " TFD_STR_FMT " of type " TFD_STR_FMT
                    " must have the same size and shape.  Input 0: %s != input "
                    "1: %s",
                    TFD_STR_ARG(k->node->name), TFD_STR_ARG(k->node->op->name),
                    tfd_shape_text(&k->in[0].shape, one),
                    tfd_shape_text(&k->in[1].shape, other));
}

static enum tfd_code leaky_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {.dtype = k->in[0].dtype,
                                      .cost = TFD_COST_MEMORY};
    struct tfd_row row = {.a_step = 1,
                          .b_step = k->in_count > 1,
                          .alpha = *(const float *)k->state};

    TFD_TRY(tfd_activation_same_shape(k, st));
    TFD_TRY(
        tfd_kctx_output_reuse(k, 3, 0, k->in[0].dtype, &k->in[0].shape, st));
    row.a = tfd_tensor_data(&k->in[0]);
    row.b = k->in_count > 1 ? tfd_tensor_data(&k->in[1]) : NULL;
    row.y = tfd_tensor_data(&k->out[0]);
    tfd_elementwise_row(k, &e, tfd_tensor_elements(&k->in[0]), &row);
    return TFD_OK;
}

/* ---- The others ---------------------------------------------------------- */

static enum tfd_code pair_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_elementwise e = {.dtype = k->in[0].dtype, .cost = 2};

    TFD_TRY(tfd_activation_same_shape(k, st));
    return tfd_elementwise_pair(k, &e, st);
}

/* ---- Gradients ----------------------------------------------------------- */

static enum tfd_code by_output(struct tfd_grad *g, const char *op,
                               struct tfd_status *st)
{
    const struct tfd_edge in[] = {g->dy[0], g->y[0]};

    return tfd_grad_emit(g, op, in, TFD_COUNT(in), &g->dx[0], st);
}

static enum tfd_code by_input(struct tfd_grad *g, const char *op,
                              struct tfd_status *st)
{
    const struct tfd_edge in[] = {g->dy[0], g->x[0]};

    return tfd_grad_emit(g, op, in, TFD_COUNT(in), &g->dx[0], st);
}

static enum tfd_code elu_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return by_output(g, "EluGrad", st);
}

static enum tfd_code selu_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return by_output(g, "SeluGrad", st);
}

static enum tfd_code relu6_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return by_output(g, "Relu6Grad", st);
}

static enum tfd_code softplus_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    return by_input(g, "SoftplusGrad", st);
}

static enum tfd_code softsign_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    return by_input(g, "SoftsignGrad", st);
}

static enum tfd_code leaky_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], g->x[0]};

    g->dx[0] = tfd_gradient_op_like(&b, "LeakyReluGrad", in, 2, "alpha");
    return b.code;
}

/* dy by the same function again.  By the second input there is nothing, the
 * slope being made of steps: zeros, or none, as TensorFlow has it. */
static enum tfd_code relu6_second(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = tfd_gradient_op2(&b, "Relu6Grad", g->dy[0], g->x[1]);
    g->dx[1] = tfd_gradient_op1(&b, "ZerosLike", g->x[1]);
    return b.code;
}

static enum tfd_code leaky_second(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], g->x[1]};

    g->dx[0] = tfd_gradient_op_like(&b, "LeakyReluGrad", in, 2, "alpha");
    return b.code;
}

/* By the outputs: dy times the other input where they are below 0. */
static enum tfd_code of_exponentials(struct tfd_grad *g, const char *op,
                                     struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge y = g->x[1], zero = tfd_gradient_scalar(&b, y, 0);

    g->dx[0] = tfd_gradient_op2(&b, op, g->dy[0], y);
    g->dx[1] =
        tfd_gradient_op3(&b, "SelectV2", tfd_gradient_op2(&b, "Less", y, zero),
                         tfd_gradient_op2(&b, "Mul", g->dy[0], g->x[0]),
                         tfd_gradient_op1(&b, "ZerosLike", y));
    return b.code;
}

static enum tfd_code elu_second(struct tfd_grad *g, struct tfd_status *st)
{
    return of_exponentials(g, "EluGrad", st);
}

static enum tfd_code selu_second(struct tfd_grad *g, struct tfd_status *st)
{
    return of_exponentials(g, "SeluGrad", st);
}

/* dy / (1 + e^-x), and dy times the other input / (e^-x + 2 + e^x). */
static enum tfd_code softplus_second(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x = g->x[1], two = tfd_gradient_scalar(&b, x, 2);
    struct tfd_edge below =
        tfd_gradient_op1(&b, "Exp", tfd_gradient_op1(&b, "Neg", x));

    below = tfd_gradient_op2(&b, "AddV2", below, two);
    below =
        tfd_gradient_op2(&b, "AddV2", below, tfd_gradient_op1(&b, "Exp", x));
    g->dx[0] = tfd_gradient_op2(&b, "SoftplusGrad", g->dy[0], x);
    g->dx[1] = tfd_gradient_op2(
        &b, "RealDiv", tfd_gradient_op2(&b, "Mul", g->dy[0], g->x[0]), below);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define FLOATS "T: {half, bfloat16, float, double}"

#define OP(op, types, gradient)                                           \
    {                                                                     \
        .name = op, .inputs = "features: T", .outputs = "activations: T", \
        .attrs = types, .shape = tfd_shape_like_first, .grad = gradient,  \
    }

#define GRAD(op, other, types, gradient)                                    \
    {                                                                       \
        .name = op "Grad", .inputs = "gradients: T, " other ": T",          \
        .outputs = "backprops: T", .attrs = types, .shape = tfd_shape_same, \
        .grad = gradient,                                                   \
    }

#define ALPHA "alpha: float = 0.2; " FLOATS " = DT_FLOAT"

static const struct tfd_opdef ops[] = {
    OP("Elu", FLOATS, elu_gradient),
    GRAD("Elu", "outputs", FLOATS, elu_second),
    OP("Selu", FLOATS, selu_gradient),
    GRAD("Selu", "outputs", FLOATS, selu_second),
    OP("Softplus", FLOATS, softplus_gradient),
    GRAD("Softplus", "features", FLOATS, softplus_second),
    OP("Softsign", FLOATS, softsign_gradient),
    GRAD("Softsign", "features", FLOATS, NULL),
    OP("Relu6", "T: realnumbertype", relu6_gradient),
    GRAD("Relu6", "features", "T: realnumbertype", relu6_second),
    OP("LeakyRelu", ALPHA, leaky_gradient),
    GRAD("LeakyRelu", "features", ALPHA, leaky_second),
};

#define BOTH(op, name, loop)                                          \
    TFD_KERNEL(op, name, TFD_COMPUTE1_##name, loop##_##name,          \
               .flags = TFD_KERNEL_ROW),                              \
        TFD_KERNEL(op "Grad", name, pair_compute, loop##_grad_##name, \
                   .flags = TFD_KERNEL_ROW | TFD_KERNEL_PAIR)

#define ALPHA_ROW(op, name, loop)                       \
    TFD_KERNEL(op, name, leaky_compute, loop##_##name,  \
               .prepare = tfd_activation_prepare_alpha, \
               .state_size = sizeof(float))

#define ROWS(name, number, T)                                               \
    BOTH("Elu", name, elu), BOTH("Selu", name, selu),                       \
        BOTH("Softplus", name, softplus), BOTH("Softsign", name, softsign), \
        ALPHA_ROW("LeakyRelu", name, tfd_leaky),                            \
        ALPHA_ROW("LeakyReluGrad", name, tfd_leaky_grad),

#define RELU6_ROWS(name, number, T)                                          \
    TFD_KERNEL("Relu6", name, relu6_compute, relu6_##name,                   \
               .flags = TFD_KERNEL_ROW),                                     \
        TFD_KERNEL("Relu6Grad", name, relu6_grad_compute, relu6_grad_##name, \
                   .flags = TFD_KERNEL_ROW | TFD_KERNEL_PAIR),

static const struct tfd_kernel kernels[] = {
    TFD_FLOAT_DTYPES(ROWS) TFD_HALF_DTYPES(ROWS) TFD_REAL_DTYPES(RELU6_ROWS)
        TFD_HALF_DTYPES(RELU6_ROWS)};

const struct tfd_family tfd_family_activation = {
    .name = "activation",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
