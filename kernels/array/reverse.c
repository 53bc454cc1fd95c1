/*
 * reverse.c - the elements in the opposite order along some axes: Reverse,
 * ReverseV2.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"

#include <stdlib.h>

/* ---- Axes ---------------------------------------------------------------- */

static enum tfd_code fail_rank(const struct tfd_tensor *dims,
                               struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "'dims' must be 1-dimension, not %d", dims->shape.rank);
}

/* Of ReverseV2: numbers of axes.  The texts are TensorFlow's, to the bracket
 * that does not close. */
static enum tfd_code read_axes(const struct tfd_tensor *axes, int rank,
                               bool *turned, struct tfd_status *st)
{
    for (int64_t i = 0; i < tfd_tensor_elements(axes); i++) {
        int64_t given = tfd_check_int_at(axes, i);
        int64_t axis = given < 0 ? given + rank : given;

        if (axis < 0 || axis >= rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "'axis'[%lld] = %lld is out of valid range [0, %d",
                            (long long)i, (long long)given, rank - 1);
        if (turned[axis])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "axis %lld specified more than once.",
                            (long long)axis);
        turned[axis] = true;
    }
    return TFD_OK;
}

/* Of Reverse: a bool for each axis. */
static enum tfd_code read_flags(const struct tfd_tensor *flags, int rank,
                                bool *turned, struct tfd_status *st)
{
    const tfd_bool *given = tfd_tensor_data(flags);

    if (tfd_tensor_elements(flags) != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "'dims' must have the same number of values as 'input' "
                        "has dimensions. 'input' has %d'dims' has %lld values",
                        rank, (long long)tfd_tensor_elements(flags));
    for (int d = 0; d < rank; d++)
        turned[d] = given[d];
    return TFD_OK;
}

/* ---- Kernels ------------------------------------------------------------- */

typedef enum tfd_code read_fn(const struct tfd_tensor *dims, int rank,
                              bool *turned, struct tfd_status *st);

/* Whether the order differs at all. */
static bool moves(const struct tfd_shape *x, const bool *turned)
{
    for (int d = 0; d < x->rank; d++)
        if (turned[d] && x->dim[d] > 1)
            return tfd_shape_elements(x) > 0;
    return false;
}

static enum tfd_code reverse(struct tfd_kctx *k, read_fn *read,
                             struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    const struct tfd_shape *shape = &x->shape;
    int64_t to[TFD_RANK_MAX], from[TFD_RANK_MAX], first = 0;
    bool turned[TFD_RANK_MAX] = {false};

    /* A scalar has no order, and TensorFlow does not look at its axes. */
    if (shape->rank > 0 && k->in[1].shape.rank != 1)
        return fail_rank(&k->in[1], st);
    if (shape->rank > 0)
        TFD_TRY(read(&k->in[1], shape->rank, turned, st));
    if (!moves(shape, turned)) {
        tfd_kctx_output_alias(k, 0, 0, shape);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, shape, st));
    tfd_element_strides(shape, to);
    for (int d = 0; d < shape->rank; d++) {
        from[d] = turned[d] ? -to[d] : to[d];
        first += turned[d] ? (shape->dim[d] - 1) * to[d] : 0;
    }
    return tfd_elements_box(k, x->dtype, shape, tfd_tensor_data(&k->out[0]), to,
                            tfd_element_of(tfd_tensor_data(x), x->dtype, first),
                            from, st);
}

static enum tfd_code reverse_axes(struct tfd_kctx *k, struct tfd_status *st)
{
    return reverse(k, read_axes, st);
}

static enum tfd_code reverse_flags(struct tfd_kctx *k, struct tfd_status *st)
{
    return reverse(k, read_flags, st);
}

/* ---- Shapes, gradients --------------------------------------------------- */

static enum tfd_code axes_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape axes = {1, {TFD_DIM_UNKNOWN}};
    bool turned[TFD_RANK_MAX] = {false};

    TFD_TRY(tfd_shape_merge(&axes, &s->in[1], st));
    s->out[0] = s->in[0];
    if (s->in[0].rank == TFD_RANK_UNKNOWN || !s->value || !s->value[1])
        return TFD_OK;
    return read_axes(s->value[1], s->in[0].rank, turned, st);
}

static enum tfd_code flags_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape flags = {1, {TFD_DIM_UNKNOWN}};

    TFD_TRY(tfd_shape_merge(&flags, &s->in[1], st));
    s->out[0] = s->in[0];
    if (s->in[0].rank != TFD_RANK_UNKNOWN || flags.dim[0] < 0 ||
        flags.dim[0] > TFD_RANK_MAX)
        return TFD_OK;
    s->out[0].rank = (int)flags.dim[0];
    for (int d = 0; d < s->out[0].rank; d++)
        s->out[0].dim[d] = TFD_DIM_UNKNOWN;
    return TFD_OK;
}

static enum tfd_code reverse_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_edge in[2] = {g->dy[0], g->x[1]};

    return tfd_grad_emit(g, g->node->op->name.data, in, 2, &g->dx[0], st);
}

/* ---- Tables -------------------------------------------------------------- */

#define TYPES                                                           \
    "{uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, " \
    "bfloat16, half, float, double, complex64, complex128, string}"

static const struct tfd_opdef ops[] = {
    {
        .name = "Reverse",
        .inputs = "tensor: T, dims: bool",
        .outputs = "output: T",
        .attrs = "T: " TYPES,
        .shape = flags_shape,
        .grad = reverse_gradient,
    },
    {
        .name = "ReverseV2",
        .inputs = "tensor: T, axis: Tidx",
        .outputs = "output: T",
        .attrs = "Tidx: {int32, int64} = DT_INT32; T: " TYPES,
        .shape = axes_shape,
        .grad = reverse_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Reverse", reverse_flags),
    TFD_KERNEL_ANY("ReverseV2", reverse_axes),
};

const struct tfd_family tfd_family_reverse = {
    .name = "reverse",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
