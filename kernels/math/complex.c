/*
 * complex.c - complex numbers and their parts:
 *
 *     Complex Real Imag ComplexAbs Angle
 *
 * The attribute for the other type must be the one with the same precision.
 */
#include "kernels/core/families.h"

#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/core/outputs.h"

#include <math.h>

/* Squares of floats fit into a double, and the root is rounded to a float: what
 * the library's function gives, without a call of it for each element. */
static inline float abs_COMPLEX64(tfd_complex64 x)
{
    const double re = x.re, im = x.im;
    const float y = (float)sqrt(re * re + im * im);
    const bool infinite = (fabsf(x.re) == INFINITY) | (fabsf(x.im) == INFINITY);

    return infinite ? INFINITY : y; /* beside NaN, too */
}

static inline double abs_COMPLEX128(tfd_complex128 x)
{
    return hypot(x.re, x.im);
}

TFD_UNARY_WIDE(loop_abs_COMPLEX64, tfd_complex64, float, abs_COMPLEX64)
TFD_UNARY_LOOP(loop_abs_COMPLEX128, tfd_complex128, double, abs_COMPLEX128)

#define DEFINE_COMPLEX(name, real_name, C, R, suffix) \
    static inline C join_##real_name(R re, R im)      \
    {                                                 \
        return (C){re, im};                           \
    }                                                 \
    static inline R real_##name(C x)                  \
    {                                                 \
        return x.re;                                  \
    }                                                 \
    static inline R imag_##name(C x)                  \
    {                                                 \
        return x.im;                                  \
    }                                                 \
    static inline R angle_##name(C x)                 \
    {                                                 \
        return atan2##suffix(x.im, x.re);             \
    }

DEFINE_COMPLEX(COMPLEX64, FLOAT, tfd_complex64, float, f)
DEFINE_COMPLEX(COMPLEX128, DOUBLE, tfd_complex128, double, )

TFD_BINARY_SIMD(loop_join_FLOAT, float, tfd_complex64, join_FLOAT)
TFD_UNARY_WIDE(loop_real_COMPLEX64, tfd_complex64, float, real_COMPLEX64)
TFD_UNARY_WIDE(loop_imag_COMPLEX64, tfd_complex64, float, imag_COMPLEX64)
TFD_UNARY_LOOP(loop_angle_COMPLEX64, tfd_complex64, float, angle_COMPLEX64)
TFD_BINARY_SIMD(loop_join_DOUBLE, double, tfd_complex128, join_DOUBLE)
TFD_UNARY_WIDE(loop_real_COMPLEX128, tfd_complex128, double, real_COMPLEX128)
TFD_UNARY_WIDE(loop_imag_COMPLEX128, tfd_complex128, double, imag_COMPLEX128)
TFD_UNARY_LOOP(loop_angle_COMPLEX128, tfd_complex128, double, angle_COMPLEX128)

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_dtype partner_of(enum tfd_dtype dtype)
{
    static const enum tfd_dtype partners[TFD_DTYPE_END] = {
        [TFD_FLOAT] = TFD_COMPLEX64,
        [TFD_DOUBLE] = TFD_COMPLEX128,
        [TFD_COMPLEX64] = TFD_FLOAT,
        [TFD_COMPLEX128] = TFD_DOUBLE,
    };

    return partners[dtype];
}

enum tfd_code tfd_complex_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    enum tfd_dtype in, out;

    (void)state;
    TFD_TRY(tfd_node_type(p->node, "T", &in, st));
    TFD_TRY(tfd_node_type(p->node, "Tout", &out, st));
    if (partner_of(in) != out)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "No OpKernel was registered to support Op '%s' of %s "
                        "with Tout=%s",
                        p->node->op->name.data, tfd_dtype_enum_name((int)in),
                        tfd_dtype_enum_name((int)out));
    return TFD_OK;
}

#define DEAR_NS 20

static enum tfd_code join_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {partner_of(k->in[0].dtype),
                                      TFD_COST_MEMORY, NULL, NULL};

    return tfd_elementwise_binary(k, &e, st);
}

static enum tfd_code part_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {partner_of(k->in[0].dtype),
                                      TFD_COST_MEMORY, NULL, NULL};

    return tfd_elementwise_unary(k, &e, st);
}

static enum tfd_code polar_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {partner_of(k->in[0].dtype), DEAR_NS, NULL,
                                      NULL};

    return tfd_elementwise_unary(k, &e, st);
}

/* ---- Gradients ----------------------------------------------------------- */

/* A node with an attribute Tout. */
static struct tfd_edge with_tout(struct tfd_gradient *b, const char *op,
                                 const struct tfd_edge *in, int in_count)
{
    enum tfd_dtype dtype = partner_of(tfd_gradient_dtype(b, in[0]));
    struct tfd_edge out = TFD_EDGE_NONE;
    struct tfd_attr attr = {TFD_STR("Tout"), {NULL, 0}};
    struct tfd_bytes bytes;

    if (b->code != TFD_OK)
        return out;
    tfd_bytes_init(&bytes, 64);
    tfd_attr_put_type(&bytes, (int)dtype);
    attr.value = tfd_bytes_view(&bytes);
    b->code = tfd_bytes_ok(&bytes, "an attribute", b->st);
    if (b->code == TFD_OK)
        b->code = tfd_grad_emit_attrs(b->g, op, in, in_count, &attr, 1, &out, 1,
                                      b->st);
    tfd_bytes_deinit(&bytes);
    return out;
}

static enum tfd_code join_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = with_tout(&b, "Real", &g->dy[0], 1);
    g->dx[1] = with_tout(&b, "Imag", &g->dy[0], 1);
    tfd_gradient_reduce(&b, g->x[0], g->x[1], &g->dx[0], &g->dx[1]);
    return b.code;
}

static enum tfd_code real_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge parts[2] = {g->dy[0], tfd_gradient_scalar(&b, g->dy[0], 0)};

    g->dx[0] = with_tout(&b, "Complex", parts, 2);
    return b.code;
}

static enum tfd_code imag_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge parts[2] = {tfd_gradient_scalar(&b, g->dy[0], 0), g->dy[0]};

    g->dx[0] = with_tout(&b, "Complex", parts, 2);
    return b.code;
}

/* dy * x / |x| */
static enum tfd_code abs_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge dy[2] = {g->dy[0],
                             tfd_gradient_op1(&b, "ZerosLike", g->dy[0])};
    struct tfd_edge y[2] = {g->y[0],
                            tfd_gradient_op1(&b, "ZerosLike", g->y[0])};
    struct tfd_edge product = with_tout(&b, "Complex", dy, 2);

    product = tfd_gradient_op2(&b, "Mul", product, g->x[0]);
    g->dx[0] = tfd_gradient_op2(&b, "DivNoNan", product,
                                with_tout(&b, "Complex", y, 2));
    return b.code;
}

/* -dy / (im + i re) */
static enum tfd_code angle_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge parts[2] = {with_tout(&b, "Imag", g->x, 1),
                                with_tout(&b, "Real", g->x, 1)};
    struct tfd_edge dy[2] = {g->dy[0], tfd_gradient_scalar(&b, g->dy[0], 0)};
    struct tfd_edge z;

    z = tfd_gradient_op1(&b, "Reciprocal", with_tout(&b, "Complex", parts, 2));
    dy[0] = tfd_gradient_op1(&b, "Neg", with_tout(&b, "Complex", dy, 2));
    g->dx[0] = tfd_gradient_op2(&b, "Mul", dy[0], z);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define PART_OP(name_, in, out, grad_)                              \
    {                                                               \
        .name = name_, .inputs = in ": T", .outputs = out ": Tout", \
        .attrs = "T: {complex64, complex128} = DT_COMPLEX64; "      \
                 "Tout: {float, double} = DT_FLOAT",                \
        .shape = tfd_shape_like_first, .grad = grad_,               \
    }

static const struct tfd_opdef ops[] = {
    {
        .name = "Complex",
        .inputs = "real: T, imag: T",
        .outputs = "out: Tout",
        .attrs = "T: {float, double} = DT_FLOAT; "
                 "Tout: {complex64, complex128} = DT_COMPLEX64",
        .shape = tfd_shape_broadcast2,
        .grad = join_gradient,
    },
    PART_OP("Real", "input", "output", real_gradient),
    PART_OP("Imag", "input", "output", imag_gradient),
    PART_OP("Angle", "input", "output", angle_gradient),
    PART_OP("ComplexAbs", "x", "y", abs_gradient),
};

#define KERNEL(op, name, compute, loop) \
    TFD_KERNEL(op, name, compute, loop, .prepare = tfd_complex_prepare)
#define KERNELS(name, real)                                     \
    KERNEL("Complex", real, join_cpu, loop_join_##real),        \
        KERNEL("Real", name, part_cpu, loop_real_##name),       \
        KERNEL("Imag", name, part_cpu, loop_imag_##name),       \
        KERNEL("ComplexAbs", name, polar_cpu, loop_abs_##name), \
        KERNEL("Angle", name, polar_cpu, loop_angle_##name)

static const struct tfd_kernel kernels[] = {
    KERNELS(COMPLEX64, FLOAT),
    KERNELS(COMPLEX128, DOUBLE),
};

const struct tfd_family tfd_family_complex = {
    .name = "complex",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
