/*
 * concat.c - joining along a dimension that is there: Concat, ConcatV2,
 * ConcatOffset.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/layout/runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Concat, ConcatV2 ---------------------------------------------------- */

static enum tfd_code add_dim(int64_t *sum, int64_t dim, struct tfd_status *st)
{
    if (__builtin_add_overflow(*sum, dim, sum))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ConcatOp : the joined dimension overflows");
    return TFD_OK;
}

/* A list of scalars is nothing to concatenate, not even along axis 0. */
static enum tfd_code no_scalar(const struct tfd_shape *s, struct tfd_status *st)
{
    if (s->rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ConcatOp : Can't concatenate scalars (use tf.stack "
                        "instead)");
    return TFD_OK;
}

static enum tfd_code concat_shape_of(const struct tfd_shape *in, int count,
                                     int axis, struct tfd_shape *out,
                                     struct tfd_status *st)
{
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    *out = in[0];
    out->dim[axis] = 0;
    for (int i = 0; i < count; i++) {
        if (in[i].rank != in[0].rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "ConcatOp : Ranks of all input tensors should "
                            "match: shape[0] = %s vs. shape[%d] = %s",
                            tfd_shape_text(&in[0], one), i,
                            tfd_shape_text(&in[i], other));
        for (int d = 0; d < in[0].rank; d++)
            if (d != axis && in[i].dim[d] != in[0].dim[d])
                return tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "ConcatOp : Dimension %d in both shapes must "
                                "be equal: shape[0] = %s vs. shape[%d] = %s",
                                d, tfd_shape_text(&in[0], one), i,
                                tfd_shape_text(&in[i], other));
        TFD_TRY(add_dim(&out->dim[axis], in[i].dim[axis], st));
    }
    return tfd_shape_make(out, out->dim, out->rank, st);
}

/* Concat calls the axis by another name, and has it first. */
struct concat_kind {
    int first; /* of the values */
    const char *axis;
};

static const struct concat_kind axis_last = {0, "axis"};
static const struct concat_kind axis_first = {1, "concat_dim"};

/* Which input the axis is. */
static int axis_input(const struct concat_kind *c, int in_count)
{
    return c->first ? 0 : in_count - 1;
}

static enum tfd_code concat_axis(const struct tfd_kctx *k,
                                 const struct concat_kind *c, int rank,
                                 int *axis, struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[axis_input(c, k->in_count)];
    char text[TFD_SHAPE_TEXT_MAX];
    int64_t at;

    if (t->shape.rank > 1 || tfd_tensor_elements(t) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s tensor should be a scalar integer, but got "
                        "shape %s",
                        c->axis, tfd_shape_text(&t->shape, text));
    at = tfd_check_int_at(t, 0);
    if ((at < -rank || at >= rank) && at != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ConcatOp : Expected concatenating dimensions in the "
                        "range [%d, %d), but got %lld",
                        -rank, rank, (long long)at);
    *axis = (int)(at < 0 ? at + rank : at);
    return TFD_OK;
}

/* Whether they are alike but along the axis. */
static bool joins(const struct tfd_shape *a, const struct tfd_shape *b,
                  int axis)
{
    if (a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (d != axis && a->dim[d] != b->dim[d])
            return false;
    return true;
}

/* Why they do not. */
static enum tfd_code fail_pair(const struct tfd_shape *a,
                               const struct tfd_shape *b, int axis,
                               struct tfd_status *st)
{
    const struct tfd_shape pair[2] = {*a, *b};
    struct tfd_shape both;

    return concat_shape_of(pair, 2, axis, &both, st);
}

/* Joins the inputs of k, which are the values alone. */
static enum tfd_code join_values(struct tfd_kctx *k, int axis,
                                 struct tfd_status *st)
{
    struct tfd_shape out = k->in[0].shape;
    int64_t dim = 0, outer, inner;

    for (int i = 0; i < k->in_count; i++) {
        const struct tfd_shape *in = &k->in[i].shape;

        TFD_TRY(no_scalar(in, st));
        if (!joins(&k->in[0].shape, in, axis))
            TFD_TRY(fail_pair(&k->in[0].shape, in, axis, st));
        TFD_TRY(add_dim(&dim, in->dim[axis], st));
    }
    out.dim[axis] = dim;
    TFD_TRY(tfd_shape_make(&out, out.dim, out.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &out, st));
    tfd_runs_around(&out, axis, &outer, &inner);
    return tfd_runs_join(k, k->in_count, outer, st);
}

static enum tfd_code concat_kind(struct tfd_kctx *k,
                                 const struct concat_kind *c,
                                 struct tfd_status *st)
{
    struct tfd_kctx values = *k;
    int axis = 0;

    TFD_TRY(concat_axis(k, c, k->in[c->first].shape.rank, &axis, st));
    values.in += c->first;
    values.in_count--;
    return join_values(&values, axis, st);
}

static enum tfd_code concat_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return concat_kind(k, &axis_last, st);
}

static enum tfd_code concat_first_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    return concat_kind(k, &axis_first, st);
}

static enum tfd_code sum_of_shapes(int64_t *sum, int64_t dim,
                                   struct tfd_status *st)
{
    int64_t before = *sum;

    if (__builtin_add_overflow(before, dim, sum))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dimension size overflow from adding %" PRId64
                        " and %" PRId64,
                        before, dim);
    return TFD_OK;
}

static enum tfd_code shape_of_kind(struct tfd_shape_ctx *s,
                                   const struct concat_kind *c,
                                   struct tfd_status *st)
{
    const struct tfd_shape *in = s->in + c->first;
    int count = s->in_count - 1, input = axis_input(c, s->in_count), axis;
    struct tfd_shape out = in[0];
    int64_t at, dim = 0;

    if (!s->value || !s->value[input] || out.rank == TFD_RANK_UNKNOWN ||
        tfd_tensor_elements(s->value[input]) != 1)
        return TFD_OK;
    at = tfd_check_int_at(s->value[input], 0);
    TFD_TRY(tfd_check_axis(at, out.rank, &axis, st));
    for (int i = 0; i < count; i++) {
        struct tfd_shape other = in[i];
        int64_t here =
            other.rank == TFD_RANK_UNKNOWN ? TFD_DIM_UNKNOWN : other.dim[axis];

        if (other.rank != TFD_RANK_UNKNOWN)
            other.dim[axis] = TFD_DIM_UNKNOWN;
        out.dim[axis] = TFD_DIM_UNKNOWN;
        TFD_TRY(tfd_shape_merge(&out, &other, st));
        if (dim < 0 || here < 0)
            dim = TFD_DIM_UNKNOWN;
        else
            TFD_TRY(sum_of_shapes(&dim, here, st));
    }
    out.dim[axis] = dim;
    s->out[0] = out;
    return TFD_OK;
}

static enum tfd_code concat_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    return shape_of_kind(s, &axis_last, st);
}

static enum tfd_code concat_first_shape(struct tfd_shape_ctx *s,
                                        struct tfd_status *st)
{
    return shape_of_kind(s, &axis_first, st);
}

/* Cuts dy where the inputs met. */
static enum tfd_code gradient_of_kind(struct tfd_grad *g,
                                      const struct concat_kind *c,
                                      struct tfd_status *st)
{
    struct tfd_edge in[TFD_GRAD_LIST_MAX + 1], shape[TFD_GRAD_LIST_MAX];
    struct tfd_edge offset[TFD_GRAD_LIST_MAX], slice[3];
    int count = g->node->in_count - 1;

    if (count > TFD_GRAD_LIST_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "gradient of %s with %d inputs; at most %d",
                        g->node->op->name.data, count, TFD_GRAD_LIST_MAX);
    in[0] = g->x[axis_input(c, count + 1)];
    for (int i = 0; i < count; i++) {
        TFD_TRY(
            tfd_grad_emit(g, "Shape", &g->x[c->first + i], 1, &shape[i], st));
        in[i + 1] = shape[i];
    }
    TFD_TRY(tfd_grad_emit_attrs(g, "ConcatOffset", in, count + 1, NULL, 0,
                                offset, count, st));
    for (int i = 0; i < count; i++) {
        slice[0] = g->dy[0];
        slice[1] = offset[i];
        slice[2] = shape[i];
        TFD_TRY(tfd_grad_emit(g, "Slice", slice, 3, &g->dx[c->first + i], st));
    }
    return TFD_OK;
}

static enum tfd_code concat_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return gradient_of_kind(g, &axis_last, st);
}

static enum tfd_code concat_first_gradient(struct tfd_grad *g,
                                           struct tfd_status *st)
{
    return gradient_of_kind(g, &axis_first, st);
}

/* ---- ConcatOffset -------------------------------------------------------- */

#define SIZES_TEXT_MAX 512

/* "[2 3]", as TensorFlow writes the elements of a vector. */
static const char *sizes_text(const struct tfd_tensor *t,
                              char text[SIZES_TEXT_MAX])
{
    int64_t n = tfd_tensor_elements(t);
    size_t used = 1;

    memcpy(text, "[", sizeof("["));
    for (int64_t i = 0; i < n && used < SIZES_TEXT_MAX - 32; i++)
        used +=
            (size_t)snprintf(text + used, SIZES_TEXT_MAX - used, "%s%lld",
                             i ? " " : "", (long long)tfd_check_int_at(t, i));
    snprintf(text + used, SIZES_TEXT_MAX - used, "]");
    return text;
}

/* Input `i` of the shapes is a vector that differs from the first at `at`
 * only. */
static enum tfd_code check_input_sizes(const struct tfd_kctx *k, int i,
                                       int64_t at, struct tfd_status *st)
{
    const struct tfd_tensor *first = &k->in[1], *s = &k->in[i + 1];
    int64_t rank = tfd_tensor_elements(first);
    char own[SIZES_TEXT_MAX], other[SIZES_TEXT_MAX];

    if (tfd_tensor_elements(s) != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input %d should contain %lld elements, but got %lld",
                        i, (long long)rank, (long long)tfd_tensor_elements(s));
    for (int64_t d = 0; d < rank; d++)
        if (d != at && tfd_check_int_at(s, d) != tfd_check_int_at(first, d))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "All dimensions except %lld must match. Input %d "
                            "has shape %s and doesn't match input 0 with shape "
                            "%s.",
                            (long long)at, i, sizes_text(s, own),
                            sizes_text(first, other));
    return TFD_OK;
}

/* Which of the shapes' numbers is the one to be added up. */
static enum tfd_code offset_axis(const struct tfd_kctx *k, int64_t *at,
                                 struct tfd_status *st)
{
    int64_t rank = tfd_tensor_elements(&k->in[1]);
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[0].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Concat dim tensor should be a scalar integer, but got "
                        "shape %s",
                        tfd_shape_text(&k->in[0].shape, text));
    for (int i = 1; i < k->in_count; i++)
        if (k->in[i].shape.rank != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "input %d should be a vector, but got shape %s", i,
                            tfd_shape_text(&k->in[i].shape, text));
    TFD_TRY(tfd_check_int(k, 0, at, st));
    if (*at < -rank || *at >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Concat dim is out of range: %lld vs. %lld",
                        (long long)*at, (long long)rank);
    *at = *at < 0 ? *at + rank : *at;
    return TFD_OK;
}

static enum tfd_code offset_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t rank = tfd_tensor_elements(&k->in[1]), at;
    int64_t sum = 0;

    TFD_TRY(offset_axis(k, &at, st));
    for (int i = 0; i < k->out_count; i++) {
        const struct tfd_tensor *s = &k->in[i + 1];

        TFD_TRY(check_input_sizes(k, i, at, st));
        TFD_TRY(tfd_kctx_output(k, i, s->dtype, &s->shape, st));
        tfd_elements_zero(s->dtype, tfd_tensor_data(&k->out[i]), rank);
        if (s->dtype == TFD_INT64)
            ((int64_t *)tfd_tensor_data(&k->out[i]))[at] = sum;
        else
            ((int32_t *)tfd_tensor_data(&k->out[i]))[at] = (int32_t)sum;
        TFD_TRY(add_dim(&sum, tfd_check_int_at(s, at), st));
        if (s->dtype == TFD_INT32 && sum > INT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "ConcatOffset: %lld does not fit int32",
                            (long long)sum);
    }
    return TFD_OK;
}

static enum tfd_code offset_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    (void)st;
    for (int i = 0; i < s->out_count; i++)
        s->out[i] = s->in[i + 1];
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Concat",
        .inputs = "concat_dim: int32, values: N * T",
        .outputs = "output: T",
        .attrs = "N: int >= 2; T: type",
        .shape = concat_first_shape,
        .grad = concat_first_gradient,
    },
    {
        .name = "ConcatV2",
        .inputs = "values: N * T, axis: Tidx",
        .outputs = "output: T",
        .attrs = "N: int >= 2; T: type; Tidx: {int32, int64} = DT_INT32",
        .shape = concat_shape,
        .grad = concat_gradient,
    },
    {
        .name = "ConcatOffset",
        .inputs = "concat_dim: int32, shape: N * shape_type",
        .outputs = "offset: N * shape_type",
        .attrs = "N: int >= 2; shape_type: {int32, int64} = DT_INT32",
        .shape = offset_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Concat", concat_first_compute),
    TFD_KERNEL_ANY("ConcatV2", concat_compute),
    TFD_KERNEL_ANY("ConcatOffset", offset_compute),
};

const struct tfd_family tfd_family_concat = {
    .name = "concat",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
