/*
 * broadcast_ops.c - broadcasting as operations:
 *
 *     BroadcastTo            a tensor repeated to a shape
 *     BroadcastArgs          the shape that two shapes are broadcast to
 *     BroadcastGradientArgs  the axes along which each of two operands was
 *                            repeated, which its gradient is summed over
 *
 * The last two compute with vectors of dimensions of any length; they are not
 * shapes of tensors and may hold any numbers.
 */
#include "kernels/core/families.h"

#include "kernels/core/broadcast.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/gradient.h"
#include "kernels/core/outputs.h"

#include <stdio.h>

/* ---- Vectors of dimensions ----------------------------------------------- */

static int64_t length(const struct tfd_kctx *k, int in)
{
    return k->in[in].shape.dim[0];
}

/* Dimension i of the longer one; 1 where the shorter has none. */
static int64_t dim_at(const struct tfd_kctx *k, int in, int64_t i)
{
    int64_t a = length(k, 0), b = length(k, 1);
    int64_t at = i - ((a > b ? a : b) - length(k, in));

    return at < 0 ? 1 : tfd_check_int_at(&k->in[in], at);
}

#define DIMS_TEXT 512 /* longer lists are cut in messages */

static const char *dims_text(const struct tfd_tensor *t, char *text)
{
    int64_t n = tfd_tensor_elements(t);
    size_t used = 1;

    text[0] = '[';
    for (int64_t i = 0; i < n && used < DIMS_TEXT - 32; i++)
        used +=
            (size_t)snprintf(text + used, DIMS_TEXT - used, "%s%lld",
                             i ? "," : "", (long long)tfd_check_int_at(t, i));
    snprintf(text + used, DIMS_TEXT - used, "]");
    return text;
}

static enum tfd_code check_vectors(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    char a[DIMS_TEXT], b[DIMS_TEXT];
    int64_t n;

    for (int i = 0; i < 2; i++)
        if (k->in[i].shape.rank != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "In[%d] must be a vector.%s", i,
                            tfd_shape_text(&k->in[i].shape, a));
    n = length(k, 0) > length(k, 1) ? length(k, 0) : length(k, 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t x = dim_at(k, 0, i), y = dim_at(k, 1, i);

        if (x != y && x != 1 && y != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Incompatible shapes: %s vs. %s",
                            dims_text(&k->in[0], a), dims_text(&k->in[1], b));
    }
    return TFD_OK;
}

static void put_index(struct tfd_tensor *t, int64_t at, int64_t value)
{
    if (t->dtype == TFD_INT32)
        ((int32_t *)t->buffer->data)[at] = (int32_t)value;
    else
        ((int64_t *)t->buffer->data)[at] = value;
}

static int64_t longest(const struct tfd_kctx *k)
{
    int64_t a = length(k, 0), b = length(k, 1);

    return a > b ? a : b;
}

/* ---- BroadcastArgs ------------------------------------------------------- */

static enum tfd_code args_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape = {.rank = 1};

    TFD_TRY(check_vectors(k, st));
    shape.dim[0] = longest(k);
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &shape, st));
    for (int64_t i = 0; i < shape.dim[0]; i++) {
        int64_t x = dim_at(k, 0, i);

        put_index(&k->out[0], i, x == 1 ? dim_at(k, 1, i) : x);
    }
    return TFD_OK;
}

/* ---- BroadcastGradientArgs ----------------------------------------------- */

static bool all_equal(const struct tfd_kctx *k)
{
    int64_t n = length(k, 0);

    if (n != length(k, 1))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (dim_at(k, 0, i) != dim_at(k, 1, i))
            return false;
    return true;
}

/* An axis where operand `in` is 1 is summed over, also where both are. */
static enum tfd_code put_axes(struct tfd_kctx *k, int in, bool none,
                              struct tfd_status *st)
{
    int64_t n = none ? 0 : longest(k), at = 0;
    struct tfd_shape shape = {.rank = 1};

    for (int64_t i = 0; i < n; i++)
        shape.dim[0] += dim_at(k, in, i) == 1;
    TFD_TRY(tfd_kctx_output(k, in, k->in[0].dtype, &shape, st));
    for (int64_t i = 0; i < n; i++)
        if (dim_at(k, in, i) == 1)
            put_index(&k->out[in], at++, i);
    return TFD_OK;
}

static enum tfd_code gradient_args_cpu(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    bool none;

    TFD_TRY(check_vectors(k, st));
    none = all_equal(k);
    TFD_TRY(put_axes(k, 0, none, st));
    return put_axes(k, 1, none, st);
}

/* ---- BroadcastTo --------------------------------------------------------- */

enum tfd_code tfd_broadcast_ops_target(const struct tfd_kctx *k,
                                       struct tfd_shape *out,
                                       struct tfd_status *st)
{
    const struct tfd_shape *in = &k->in[0].shape;
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];

    if (k->in[1].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shape must be a vector of {int32,int64}, got shape %s",
                        tfd_shape_text(&k->in[1].shape, a));
    TFD_TRY(tfd_check_shape(k, 1, false, out, st));
    if (in->rank > out->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Rank of input (%d) must be no greater than rank of "
                        "output shape (%d).",
                        in->rank, out->rank);
    if (!tfd_broadcast_fits(in, out))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Incompatible shapes: %s vs. %s", tfd_shape_text(in, a),
                        tfd_shape_text(out, b));
    for (int i = 1; i <= in->rank; i++)
        if (in->dim[in->rank - i] != 1 &&
            in->dim[in->rank - i] != out->dim[out->rank - i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Unable to broadcast tensor of shape %s to tensor "
                            "of shape %s",
                            tfd_shape_text(in, a), tfd_shape_text(out, b));
    return TFD_OK;
}

/* Elements from one to the next of x along each dimension of out; 0 where it is
 * repeated. */
static void repeat_strides(const struct tfd_shape *x,
                           const struct tfd_shape *out, int64_t *stride)
{
    int64_t step = 1;

    for (int i = 1; i <= out->rank; i++) {
        const int64_t dim = i <= x->rank ? x->dim[x->rank - i] : 1;

        stride[out->rank - i] = dim == 1 ? 0 : step;
        step *= dim;
    }
}

static enum tfd_code to_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape in = k->in[0].shape;
    const enum tfd_dtype dtype = k->in[0].dtype;
    int64_t to[TFD_RANK_MAX], from[TFD_RANK_MAX];
    struct tfd_shape out;

    TFD_TRY(tfd_broadcast_ops_target(k, &out, st));
    if (tfd_shape_equal(&in, &out)) {
        tfd_kctx_output_alias(k, 0, 0, &out);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &out, st));
    tfd_element_strides(&out, to);
    repeat_strides(&in, &out, from);
    return tfd_elements_box(k, dtype, &out, tfd_tensor_data(&k->out[0]), to,
                            tfd_tensor_data(&k->in[0]), from, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code args_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    int64_t x, y;

    for (int i = 0; i < 2; i++)
        if (s->in[i].rank != TFD_RANK_UNKNOWN && s->in[i].rank != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shape must be rank 1 but is rank %d",
                            s->in[i].rank);
    x = s->in[0].rank == 1 ? s->in[0].dim[0] : TFD_DIM_UNKNOWN;
    y = s->in[1].rank == 1 ? s->in[1].dim[0] : TFD_DIM_UNKNOWN;
    s->out[0] = (struct tfd_shape){1, {x > y ? x : y}};
    if (x == TFD_DIM_UNKNOWN || y == TFD_DIM_UNKNOWN)
        s->out[0].dim[0] = TFD_DIM_UNKNOWN;
    return TFD_OK;
}

static enum tfd_code gradient_args_shape(struct tfd_shape_ctx *s,
                                         struct tfd_status *st)
{
    (void)st;
    for (int i = 0; i < s->out_count; i++)
        s->out[i] = (struct tfd_shape){1, {TFD_DIM_UNKNOWN}};
    return TFD_OK;
}

/* The target where it is a constant; else as many dimensions as it has. */
static enum tfd_code to_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_tensor *target = s->value ? s->value[1] : NULL;
    struct tfd_shape *out = &s->out[0];
    int64_t n;

    if (s->in[1].rank != TFD_RANK_UNKNOWN && s->in[1].rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be rank 1 but is rank %d", s->in[1].rank);
    if (target)
        return tfd_check_shape_value(target, true, out, st);
    n = s->in[1].rank == 1 ? s->in[1].dim[0] : TFD_DIM_UNKNOWN;
    if (n == TFD_DIM_UNKNOWN || n > TFD_RANK_MAX)
        return TFD_OK;
    out->rank = (int)n;
    for (int i = 0; i < out->rank; i++)
        out->dim[i] = TFD_DIM_UNKNOWN;
    return TFD_OK;
}

/* ---- Gradient ------------------------------------------------------------ */

static enum tfd_code to_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    static const char *const keep_dims[] = {"keep_dims", NULL};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge shape, in[2], axes[2] = {TFD_EDGE_NONE, TFD_EDGE_NONE};

    shape = tfd_gradient_shape(&b, g->x[0]);
    if (b.code != TFD_OK)
        return b.code;
    in[0] = tfd_gradient_cast(&b, g->x[1], TFD_INT32);
    in[1] = shape;
    if (b.code == TFD_OK)
        b.code = tfd_grad_emit_attrs(g, "BroadcastGradientArgs", in, 2, NULL, 0,
                                     axes, 2, st);
    in[0] = g->dy[0];
    in[1] = axes[1];
    in[0] = tfd_gradient_op_flags(&b, "Sum", in, 2, keep_dims);
    g->dx[0] = tfd_gradient_op2(&b, "Reshape", in[0], shape);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "BroadcastArgs",
        .inputs = "s0: T, s1: T",
        .outputs = "r0: T",
        .attrs = "T: {int32, int64} = DT_INT32",
        .shape = args_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "BroadcastGradientArgs",
        .inputs = "s0: T, s1: T",
        .outputs = "r0: T, r1: T",
        .attrs = "T: {int32, int64} = DT_INT32",
        .shape = gradient_args_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "BroadcastTo",
        .inputs = "input: T, shape: Tidx",
        .outputs = "output: T",
        .attrs = "T: type; Tidx: {int32, int64} = DT_INT32",
        .shape = to_shape,
        .grad = to_gradient,
    },
};

#define KERNEL_TO(name, number, T) TFD_KERNEL("BroadcastTo", name, to_cpu),

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("BroadcastArgs", INT32, args_cpu),
    TFD_KERNEL("BroadcastArgs", INT64, args_cpu),
    TFD_KERNEL("BroadcastGradientArgs", INT32, gradient_args_cpu),
    TFD_KERNEL("BroadcastGradientArgs", INT64, gradient_args_cpu),
    TFD_REAL_DTYPES(KERNEL_TO) TFD_HALF_DTYPES(KERNEL_TO)
        TFD_COMPLEX_DTYPES(KERNEL_TO) KERNEL_TO(BOOL, 10, tfd_bool)
            KERNEL_TO(STRING, 7, struct tfd_tstring)
                KERNEL_TO(RESOURCE, 20, void *)};

const struct tfd_family tfd_family_broadcast_ops = {
    .name = "broadcast_ops",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
