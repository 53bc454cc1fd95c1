/*
 * slice_assign.c - a box of a tensor that gets another value:
 * StridedSliceAssign and ResourceStridedSliceAssign of a variable,
 * TensorStridedSliceUpdate of a value.
 *
 * The box is StridedSlice's.  The value is broadcast to the shape in which
 * StridedSlice would show it: a dimension of the box takes the value's stride
 * along the dimension that shows it, or 0 where the value has one element.
 */
#include "kernels/array/slice.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/state/variable.h"

/* ---- The value ----------------------------------------------------------- */

/* Strides of the value along the dimensions of what is shown. */
static enum tfd_code value_strides(const struct tfd_shape *v,
                                   const struct tfd_shape *shown,
                                   int64_t *stride, struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];
    int64_t own[TFD_RANK_MAX];
    bool fits = true;

    tfd_element_strides(v, own);
    for (int d = 0; d < v->rank && fits; d++) {
        int at = d + shown->rank - v->rank;

        fits = at < 0 ? v->dim[d] == 1
                      : v->dim[d] == 1 || v->dim[d] == shown->dim[at];
    }
    if (!fits)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Cannot broadcast input shape %s into final shape %s",
                        tfd_shape_text(v, have), tfd_shape_text(shown, want));
    for (int d = 0; d < shown->rank; d++) {
        int at = d + v->rank - shown->rank;

        stride[d] = at < 0 || v->dim[at] == 1 ? 0 : own[at];
    }
    return TFD_OK;
}

/* Writes input 4 into the box of `to`, which nobody else sees. */
static enum tfd_code put_box(struct tfd_kctx *k,
                             const struct tfd_slice_dense *d,
                             const struct tfd_tensor *to, struct tfd_status *st)
{
    const struct tfd_tensor *v = &k->in[4];
    int64_t by_shown[TFD_RANK_MAX] = {0}, from[TFD_RANK_MAX];
    int64_t stride[TFD_RANK_MAX], first = 0;

    if (tfd_shape_elements(&d->box) == 0)
        return TFD_OK;
    TFD_TRY(value_strides(&v->shape, &d->out, by_shown, st));
    tfd_element_strides(&to->shape, stride);
    for (int i = 0; i < to->shape.rank; i++) {
        first += d->begin[i] * stride[i];
        stride[i] *= d->stride[i];
        from[i] = d->shown[i] < 0 ? 0 : by_shown[d->shown[i]];
    }
    return tfd_elements_box(
        k, v->dtype, &d->box,
        tfd_element_at(tfd_tensor_data(to), v->dtype, first), stride,
        tfd_tensor_data(v), from, st);
}

static enum tfd_code resolve(const struct tfd_kctx *k,
                             const struct tfd_shape *shape,
                             struct tfd_slice_dense *d, struct tfd_status *st)
{
    return tfd_slice_resolve(k->state, shape, &k->in[1], d, st);
}

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code assign_box(struct tfd_kctx *k, struct tfd_variable *v,
                                struct tfd_status *st)
{
    struct tfd_slice_dense d;

    TFD_TRY(tfd_variable_writable(v, st));
    if (v->value.dtype != k->in[4].dtype)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "l-value dtype %s does not match r-value dtype %s",
                        tfd_dtype_name((int)v->value.dtype),
                        tfd_dtype_name((int)k->in[4].dtype));
    TFD_TRY(resolve(k, &v->value.shape, &d, st));
    return put_box(k, &d, &v->value, st);
}

static enum tfd_code assign_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_kctx_change_variable(k, assign_box, st);
}

static enum tfd_code update_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_slice_dense d;

    TFD_TRY(resolve(k, &x->shape, &d, st));
    TFD_TRY(tfd_kctx_output_reuse(k, 1, 0, x->dtype, &x->shape, st));
    if (k->out[0].buffer != x->buffer)
        TFD_TRY(tfd_elements_copy(x->dtype, tfd_tensor_data(&k->out[0]),
                                  tfd_tensor_data(x), tfd_tensor_elements(x),
                                  st));
    return put_box(k, &d, &k->out[0], st);
}

/* ---- Gradients ----------------------------------------------------------- */

/* An op on the box of the forward node, with its masks. */
static struct tfd_edge of_box(struct tfd_gradient *b, const char *op,
                              const struct tfd_edge *in, int in_count)
{
    static const char *const masks[] = {"begin_mask",       "end_mask",
                                        "ellipsis_mask",    "new_axis_mask",
                                        "shrink_axis_mask", NULL};
    struct tfd_edge out = TFD_EDGE_NONE;

    tfd_gradient_copying(b, op, in, in_count, masks, &out, 1);
    return out;
}

/* What was overwritten has no part in the result, and the value has the box's;
 * as TensorFlow's, for a value of the box's shape, or summed to the value's. */
static enum tfd_code update_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge *x = g->x;
    struct tfd_edge box[] = {g->dy[0], x[1], x[2], x[3], TFD_EDGE_NONE};
    struct tfd_edge none = TFD_EDGE_NONE;

    g->dx[4] = of_box(&b, "StridedSlice", box, 4);
    box[4] = tfd_gradient_op1(&b, "ZerosLike", x[4]);
    g->dx[0] = of_box(&b, "TensorStridedSliceUpdate", box, 5);
    tfd_gradient_reduce(&b, x[4], g->dx[4], &g->dx[4], &none);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define SPEC ", begin: Index, end: Index, strides: Index, value: T"
#define ATTRS                                                                  \
    "T: type; Index: {int32, int64}; begin_mask: int = 0; end_mask: int = 0; " \
    "ellipsis_mask: int = 0; new_axis_mask: int = 0; "                         \
    "shrink_axis_mask: int = 0"

static const struct tfd_opdef ops[] = {
    {
        .name = "StridedSliceAssign",
        .inputs = "ref: Ref(T)" SPEC,
        .outputs = "output_ref: Ref(T)",
        .attrs = ATTRS,
        .shape = tfd_shape_like_first,
    },
    {
        .name = "ResourceStridedSliceAssign",
        .inputs = "ref: resource" SPEC,
        .outputs = "",
        .attrs = ATTRS,
        .checks = "ref: scalar",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "TensorStridedSliceUpdate",
        .inputs = "input: T" SPEC,
        .outputs = "output: T",
        .attrs = ATTRS,
        .shape = tfd_shape_like_first,
        .grad = update_gradient,
    },
};

#define KERNEL(op, compute)                                   \
    TFD_KERNEL_ANY(op, compute, .prepare = tfd_slice_prepare, \
                   .state_size = sizeof(struct tfd_slice_masks))

static const struct tfd_kernel kernels[] = {
    KERNEL("StridedSliceAssign", assign_compute),
    KERNEL("ResourceStridedSliceAssign", assign_compute),
    KERNEL("TensorStridedSliceUpdate", update_compute),
};

const struct tfd_family tfd_family_slice_assign = {
    .name = "slice_assign",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
