/*
 * concat.c - joining and cutting along a dimension: ConcatV2, Pack, Split,
 * SplitV, Unpack, Tile, ConcatOffset.
 *
 * Along axis a every tensor is `outer` rows of `dim[a] * inner` elements, so
 * joining and cutting are copies of such runs.
 */
#include "kernels/check.h"
#include "kernels/element.h"
#include "kernels/families.h"
#include "kernels/outputs.h"

#include <string.h>

/* Elements before and after the axis. */
static void around(const struct tfd_shape *s, int axis, int64_t *outer,
                   int64_t *inner)
{
    *outer = *inner = 1;
    for (int d = 0; d < axis; d++)
        *outer *= s->dim[d];
    for (int d = axis + 1; d < s->rank; d++)
        *inner *= s->dim[d];
}

/* Copies `count` runs between a tensor with rows of `whole` elements, from
 * element `at` of each row, and one with rows of `part` elements. */
static enum tfd_code copy_runs(enum tfd_dtype dtype, void *dst, int64_t dst_row,
                               int64_t dst_at, const void *src, int64_t src_row,
                               int64_t src_at, int64_t run, int64_t count,
                               struct tfd_status *st)
{
    for (int64_t i = 0; i < count; i++)
        TFD_TRY(tfd_elements_copy(
            dtype, tfd_element_at(dst, dtype, i * dst_row + dst_at),
            tfd_element_of(src, dtype, i * src_row + src_at), run, st));
    return TFD_OK;
}

/* ---- ConcatV2 ------------------------------------------------------------ */

static enum tfd_code add_dim(int64_t *sum, int64_t dim, struct tfd_status *st)
{
    if (__builtin_add_overflow(*sum, dim, sum))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ConcatOp : the joined dimension overflows");
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

static enum tfd_code concat_copy(struct tfd_kctx *k, int count, int axis,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *y = &k->out[0];
    int64_t outer, inner, row, at = 0;

    around(&y->shape, axis, &outer, &inner);
    row = y->shape.dim[axis] * inner;
    for (int i = 0; i < count; i++) {
        int64_t run = k->in[i].shape.dim[axis] * inner;

        TFD_TRY(copy_runs(y->dtype, tfd_tensor_data(y), row, at,
                          tfd_tensor_data(&k->in[i]), run, 0, run, outer, st));
        at += run;
    }
    return TFD_OK;
}

static enum tfd_code concat_axis(const struct tfd_kctx *k, int rank, int *axis,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[k->in_count - 1];
    int64_t at;

    if (tfd_tensor_elements(t) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ConcatV2: axis must be a scalar integer, but has %lld "
                        "values",
                        (long long)tfd_tensor_elements(t));
    at = tfd_check_int_at(t, 0);
    if (at < -rank || at >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ConcatOp : Expected concatenating dimensions in the "
                        "range [%d, %d), but got %lld",
                        -rank, rank, (long long)at);
    *axis = (int)(at < 0 ? at + rank : at);
    return TFD_OK;
}

static enum tfd_code concat_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int count = k->in_count - 1, axis = 0;
    struct tfd_shape out = k->in[0].shape;
    int64_t dim = 0;

    TFD_TRY(concat_axis(k, out.rank, &axis, st));
    for (int i = 0; i < count; i++) {
        struct tfd_shape pair[2] = {k->in[0].shape, k->in[i].shape};
        struct tfd_shape both;

        TFD_TRY(concat_shape_of(pair, 2, axis, &both, st));
        TFD_TRY(add_dim(&dim, k->in[i].shape.dim[axis], st));
    }
    out.dim[axis] = dim;
    TFD_TRY(tfd_shape_make(&out, out.dim, out.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &out, st));
    return concat_copy(k, count, axis, st);
}

static enum tfd_code concat_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    int count = s->in_count - 1, axis;
    struct tfd_shape out = s->in[0];
    int64_t at, dim = 0;

    if (!s->value || !s->value[count] || out.rank == TFD_RANK_UNKNOWN ||
        tfd_tensor_elements(s->value[count]) != 1)
        return TFD_OK;
    at = tfd_check_int_at(s->value[count], 0);
    TFD_TRY(tfd_check_axis(at, out.rank, &axis, st));
    for (int i = 0; i < count; i++) {
        struct tfd_shape other = s->in[i];
        int64_t here =
            other.rank == TFD_RANK_UNKNOWN ? TFD_DIM_UNKNOWN : other.dim[axis];

        if (other.rank != TFD_RANK_UNKNOWN)
            other.dim[axis] = TFD_DIM_UNKNOWN;
        out.dim[axis] = TFD_DIM_UNKNOWN;
        TFD_TRY(tfd_shape_merge(&out, &other, st));
        dim = dim < 0 || here < 0 ? TFD_DIM_UNKNOWN : dim + here;
    }
    out.dim[axis] = dim;
    s->out[0] = out;
    return TFD_OK;
}

/* Cuts dy where the inputs met. */
static enum tfd_code concat_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_edge in[TFD_GRAD_LIST_MAX + 1], shape[TFD_GRAD_LIST_MAX];
    struct tfd_edge offset[TFD_GRAD_LIST_MAX], slice[3];
    int count = g->node->in_count - 1;

    if (count > TFD_GRAD_LIST_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "gradient of ConcatV2 with %d inputs; at most %d",
                        count, TFD_GRAD_LIST_MAX);
    in[0] = g->x[count];
    for (int i = 0; i < count; i++) {
        TFD_TRY(tfd_grad_emit(g, "Shape", &g->x[i], 1, &shape[i], st));
        in[i + 1] = shape[i];
    }
    TFD_TRY(tfd_grad_emit_attrs(g, "ConcatOffset", in, count + 1, NULL, 0,
                                offset, count, st));
    for (int i = 0; i < count; i++) {
        slice[0] = g->dy[0];
        slice[1] = offset[i];
        slice[2] = shape[i];
        TFD_TRY(tfd_grad_emit(g, "Slice", slice, 3, &g->dx[i], st));
    }
    return TFD_OK;
}

/* ---- ConcatOffset -------------------------------------------------------- */

static enum tfd_code offset_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t rank = tfd_tensor_elements(&k->in[1]), at;
    int64_t sum = 0;

    TFD_TRY(tfd_check_int(k, 0, &at, st));
    if (at < -rank || at >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Concat dim is out of range: %lld vs. %lld",
                        (long long)at, (long long)rank);
    at = at < 0 ? at + rank : at;
    for (int i = 0; i < k->out_count; i++) {
        const struct tfd_tensor *s = &k->in[i + 1];

        if (!tfd_shape_equal(&s->shape, &k->in[1].shape))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "input %d should contain %lld elements but got "
                            "%lld",
                            i, (long long)rank,
                            (long long)tfd_tensor_elements(s));
        for (int64_t d = 0; d < rank; d++)
            if (d != at &&
                tfd_check_int_at(s, d) != tfd_check_int_at(&k->in[1], d))
                return tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "All dimensions except %lld must match. Input "
                                "%d has dimension %lld of %lld, input 0 of "
                                "%lld",
                                (long long)at, i, (long long)d,
                                (long long)tfd_check_int_at(s, d),
                                (long long)tfd_check_int_at(&k->in[1], d));
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

/* ---- Pack, Unpack -------------------------------------------------------- */

struct axis {
    int64_t axis;
};

static enum tfd_code axis_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return tfd_node_int(p->node, "axis", &((struct axis *)state)->axis, st);
}

static enum tfd_code packed_shape(const struct tfd_shape *in, int count,
                                  int64_t axis, struct tfd_shape *out, int *at,
                                  struct tfd_status *st)
{
    if (in->rank == TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Pack of tensors with %d dimensions, the most "
                        "supported",
                        in->rank);
    if (axis < -(in->rank + 1) || axis > in->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "axis = %lld not in [%d, %d)",
                        (long long)axis, -(in->rank + 1), in->rank + 1);
    *at = (int)(axis < 0 ? axis + in->rank + 1 : axis);
    out->rank = in->rank + 1;
    for (int d = 0; d < out->rank; d++)
        out->dim[d] = d < *at ? in->dim[d] : d == *at ? count : in->dim[d - 1];
    return TFD_OK;
}

static enum tfd_code pack_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct axis *a = k->state;
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape out;
    int64_t outer, inner;
    int at;

    TFD_TRY(packed_shape(&k->in[0].shape, k->in_count, a->axis, &out, &at, st));
    TFD_TRY(tfd_shape_make(&out, out.dim, out.rank, st));
    for (int i = 1; i < k->in_count; i++)
        if (!tfd_shape_equal(&k->in[0].shape, &k->in[i].shape))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shapes of all inputs must match: values[0].shape "
                            "= %s != values[%d].shape = %s",
                            tfd_shape_text(&k->in[0].shape, one), i,
                            tfd_shape_text(&k->in[i].shape, other));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &out, st));
    around(&out, at, &outer, &inner);
    for (int i = 0; i < k->in_count; i++)
        TFD_TRY(copy_runs(
            k->in[0].dtype, tfd_tensor_data(&k->out[0]), inner * k->in_count,
            inner * i, tfd_tensor_data(&k->in[i]), inner, 0, inner, outer, st));
    return TFD_OK;
}

static enum tfd_code pack_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape merged = s->in[0];
    int64_t axis = 0;
    int at;

    for (int i = 1; i < s->in_count; i++)
        TFD_TRY(tfd_shape_merge(&merged, &s->in[i], st));
    if (!s->node || merged.rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    TFD_TRY(tfd_node_int(s->node, "axis", &axis, st));
    return packed_shape(&merged, s->in_count, axis, &s->out[0], &at, st);
}

static enum tfd_code int_attr(struct tfd_bytes *b, const char *name,
                              int64_t value, struct tfd_attr *out,
                              struct tfd_status *st)
{
    tfd_bytes_init(b, 64);
    tfd_attr_put_int(b, value);
    out->name = tfd_str_of(name);
    out->value = tfd_bytes_view(b);
    return tfd_bytes_ok(b, "an attribute", st);
}

static enum tfd_code pack_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_attr attrs[2];
    struct tfd_bytes b[2];
    int64_t axis;
    enum tfd_code rc;

    TFD_TRY(tfd_node_int(g->node, "axis", &axis, st));
    rc = int_attr(&b[0], "num", g->node->in_count, &attrs[0], st);
    if (rc == TFD_OK)
        rc = int_attr(&b[1], "axis", axis, &attrs[1], st);
    if (rc == TFD_OK)
        rc = tfd_grad_emit_attrs(g, "Unpack", &g->dy[0], 1, attrs, 2, g->dx,
                                 g->node->in_count, st);
    tfd_bytes_deinit(&b[0]);
    tfd_bytes_deinit(&b[1]);
    return rc;
}

static enum tfd_code unpack_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct axis *a = k->state;
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_shape out = {x->shape.rank - 1, {0}};
    int64_t outer, inner;
    int at;

    if (x->shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unpack of a scalar: value must have a dimension");
    if (a->axis < -x->shape.rank || a->axis >= x->shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "axis = %lld not in [%d, %d)",
                        (long long)a->axis, -x->shape.rank, x->shape.rank);
    at = (int)(a->axis < 0 ? a->axis + x->shape.rank : a->axis);
    if (x->shape.dim[at] != k->out_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input shape axis %d must equal %d, got %lld", at,
                        k->out_count, (long long)x->shape.dim[at]);
    for (int d = 0; d < out.rank; d++)
        out.dim[d] = x->shape.dim[d < at ? d : d + 1];
    around(&x->shape, at, &outer, &inner);
    for (int i = 0; i < k->out_count; i++) {
        TFD_TRY(tfd_kctx_output(k, i, x->dtype, &out, st));
        TFD_TRY(copy_runs(x->dtype, tfd_tensor_data(&k->out[i]), inner, 0,
                          tfd_tensor_data(x), inner * k->out_count, inner * i,
                          inner, outer, st));
    }
    return TFD_OK;
}

static enum tfd_code unpack_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    int64_t axis = 0;
    int at;

    if (!s->node || s->in[0].rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    TFD_TRY(tfd_node_int(s->node, "axis", &axis, st));
    TFD_TRY(tfd_check_axis(axis, s->in[0].rank, &at, st));
    for (int i = 0; i < s->out_count; i++) {
        s->out[i].rank = s->in[0].rank - 1;
        for (int d = 0; d < s->out[i].rank; d++)
            s->out[i].dim[d] = s->in[0].dim[d < at ? d : d + 1];
    }
    return TFD_OK;
}

/* The gradients of all outputs: zeros for those that nobody reads. */
static enum tfd_code gather_parts(struct tfd_grad *g, struct tfd_edge *parts,
                                  struct tfd_status *st)
{
    int count = g->node->out_count;

    if (count > TFD_GRAD_LIST_MAX)
        return tfd_fail(
            st, TFD_UNIMPLEMENTED,
            "gradient of " TFD_STR_FMT " with %d outputs; at most %d",
            TFD_STR_ARG(g->node->op->name), count, TFD_GRAD_LIST_MAX);
    for (int i = 0; i < count; i++) {
        parts[i] = g->dy[i];
        if (parts[i].node < 0)
            TFD_TRY(tfd_grad_emit(g, "ZerosLike", &g->y[i], 1, &parts[i], st));
    }
    return TFD_OK;
}

static enum tfd_code unpack_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_edge parts[TFD_GRAD_LIST_MAX];
    struct tfd_attr attr;
    struct tfd_bytes b;
    int64_t axis;
    enum tfd_code rc;

    TFD_TRY(gather_parts(g, parts, st));
    TFD_TRY(tfd_node_int(g->node, "axis", &axis, st));
    rc = int_attr(&b, "axis", axis, &attr, st);
    if (rc == TFD_OK)
        rc = tfd_grad_emit_attrs(g, "Pack", parts, g->node->out_count, &attr, 1,
                                 &g->dx[0], 1, st);
    tfd_bytes_deinit(&b);
    return rc;
}

/* ---- Split, SplitV ------------------------------------------------------- */

static enum tfd_code cut(struct tfd_kctx *k, const struct tfd_tensor *x,
                         int axis, const int64_t *sizes, struct tfd_status *st)
{
    struct tfd_shape out = x->shape;
    int64_t outer, inner, at = 0;

    around(&x->shape, axis, &outer, &inner);
    for (int i = 0; i < k->out_count; i++) {
        int64_t size = sizes ? sizes[i] : x->shape.dim[axis] / k->out_count;

        out.dim[axis] = size;
        TFD_TRY(tfd_kctx_output(k, i, x->dtype, &out, st));
        TFD_TRY(copy_runs(x->dtype, tfd_tensor_data(&k->out[i]), size * inner,
                          0, tfd_tensor_data(x), x->shape.dim[axis] * inner,
                          at * inner, size * inner, outer, st));
        at += size;
    }
    return TFD_OK;
}

static enum tfd_code split_axis(const struct tfd_kctx *k, int arg,
                                const struct tfd_tensor *x, int *axis,
                                struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[arg];
    int64_t at;

    if (tfd_tensor_elements(t) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "split_dim must have exactly one element, has %lld",
                        (long long)tfd_tensor_elements(t));
    at = tfd_check_int_at(t, 0);
    if (at < -x->shape.rank || at >= x->shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "-input rank(-%d) <= split_dim < input rank (%d), but "
                        "got %lld",
                        x->shape.rank, x->shape.rank, (long long)at);
    *axis = (int)(at < 0 ? at + x->shape.rank : at);
    return TFD_OK;
}

static enum tfd_code split_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[1];
    int axis = 0;

    TFD_TRY(split_axis(k, 0, x, &axis, st));
    if (x->shape.dim[axis] % k->out_count != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of ways to split should evenly divide the "
                        "split dimension, but got split_dim %d (size = %lld) "
                        "and num_split %d",
                        axis, (long long)x->shape.dim[axis], k->out_count);
    return cut(k, x, axis, NULL, st);
}

static int64_t size_at(const struct tfd_tensor *t, int64_t i)
{
    if (t->dtype == TFD_INT8)
        return ((const int8_t *)tfd_tensor_data(t))[i];
    return tfd_check_int_at(t, i);
}

#define SPLITS_MAX 1024

static enum tfd_code split_v_sizes(const struct tfd_kctx *k, int64_t dim,
                                   int64_t *sizes, struct tfd_status *st)
{
    int64_t sum = 0;
    int unknown = -1;

    if (k->in[1].shape.rank != 1 || k->in[1].shape.dim[0] != k->out_count ||
        k->out_count > SPLITS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "size_splits needs %d values in one dimension (at most "
                        "%d)",
                        k->out_count, SPLITS_MAX);
    for (int i = 0; i < k->out_count; i++) {
        sizes[i] = size_at(&k->in[1], i);
        if (sizes[i] == -1 && unknown < 0)
            unknown = i;
        else if (sizes[i] < 0 || __builtin_add_overflow(sum, sizes[i], &sum))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Split size at index %d must be >= 0. Got: %lld", i,
                            (long long)sizes[i]);
    }
    if (unknown >= 0) {
        sizes[unknown] = dim - sum;
        sum = sizes[unknown] < 0 ? -1 : dim;
    }
    if (sum != dim)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Determined shape must either match input shape along "
                        "split_dim exactly if fully specified, or be less than "
                        "the size of the input along split_dim (%lld) if not "
                        "fully specified",
                        (long long)dim);
    return TFD_OK;
}

static enum tfd_code split_v_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    int64_t sizes[SPLITS_MAX];
    int axis = 0;

    TFD_TRY(split_axis(k, 2, x, &axis, st));
    TFD_TRY(split_v_sizes(k, x->shape.dim[axis], sizes, st));
    return cut(k, x, axis, sizes, st);
}

/* dx is the parts put together again. */
static enum tfd_code join_parts(struct tfd_grad *g, struct tfd_edge axis,
                                struct tfd_edge *dx, struct tfd_status *st)
{
    struct tfd_edge in[TFD_GRAD_LIST_MAX + 1];
    int count = g->node->out_count;

    if (count == 1) {
        *dx = g->dy[0];
        return TFD_OK;
    }
    TFD_TRY(gather_parts(g, in, st));
    in[count] = axis;
    return tfd_grad_emit(g, "ConcatV2", in, count + 1, dx, st);
}

static enum tfd_code split_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return join_parts(g, g->x[0], &g->dx[1], st);
}

static enum tfd_code split_v_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return join_parts(g, g->x[2], &g->dx[0], st);
}

/* ---- Tile ---------------------------------------------------------------- */

enum tfd_code tfd_concat_tiled(const struct tfd_kctx *k, struct tfd_shape *out,
                               struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0], *m = &k->in[1];

    if (tfd_tensor_elements(m) != x->shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected multiples argument to be a vector of length "
                        "%d but got length %lld",
                        x->shape.rank, (long long)tfd_tensor_elements(m));
    *out = x->shape;
    for (int d = 0; d < out->rank; d++) {
        int64_t times = tfd_check_int_at(m, d);

        if (times < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected multiples[%d] >= 0, but got %lld", d,
                            (long long)times);
        if (__builtin_mul_overflow(out->dim[d], times, &out->dim[d]))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Tile: dimension %d overflows", d);
    }
    return tfd_shape_make(out, out->dim, out->rank, st);
}

/* One box copy for every place x goes to. */
static enum tfd_code tile_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    int64_t to[TFD_RANK_MAX], from[TFD_RANK_MAX], at[TFD_RANK_MAX] = {0};
    struct tfd_shape out;
    int64_t tiles = 1, offset = 0;

    TFD_TRY(tfd_concat_tiled(k, &out, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &out, st));
    if (tfd_shape_elements(&out) == 0)
        return TFD_OK;
    tfd_shape_strides(&out, to);
    tfd_shape_strides(&x->shape, from);
    for (int d = 0; d < out.rank; d++)
        tiles *= out.dim[d] / x->shape.dim[d];
    for (int64_t t = 0; t < tiles; t++) {
        TFD_TRY(tfd_elements_box(
            x->dtype, &x->shape,
            tfd_element_at(tfd_tensor_data(&k->out[0]), x->dtype, offset), to,
            tfd_tensor_data(x), from, st));
        for (int d = out.rank - 1; d >= 0; d--) {
            offset += to[d] * x->shape.dim[d];
            if (++at[d] < out.dim[d] / x->shape.dim[d])
                break;
            offset -= to[d] * out.dim[d];
            at[d] = 0;
        }
    }
    return TFD_OK;
}

static enum tfd_code tile_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_tensor *m = s->value ? s->value[1] : NULL;

    (void)st;
    if (s->in[0].rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    s->out[0] = s->in[0];
    for (int d = 0; d < s->out[0].rank; d++) {
        int64_t dim = s->in[0].dim[d];

        if (!m || tfd_tensor_elements(m) != s->in[0].rank || dim < 0 ||
            __builtin_mul_overflow(dim, tfd_check_int_at(m, d),
                                   &s->out[0].dim[d]))
            s->out[0].dim[d] = TFD_DIM_UNKNOWN;
    }
    return TFD_OK;
}

/* Sums over the copies: reshape to [m0, d0, m1, d1, ...], sum the m. */
static enum tfd_code tile_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_edge shape, pair[3], flat, axes, in[3], perm;
    static const int32_t swap[] = {1, 0}, minus_one[] = {-1};

    TFD_TRY(tfd_grad_emit(g, "Shape", &g->x[0], 1, &shape, st));
    pair[0] = g->x[1];
    pair[1] = shape;
    TFD_TRY(tfd_grad_emit(g, "Pack", pair, 2, &flat, st));
    TFD_TRY(tfd_grad_int32(g, swap, 2, &perm, st));
    in[0] = flat;
    in[1] = perm;
    TFD_TRY(tfd_grad_emit(g, "Transpose", in, 2, &flat, st));
    TFD_TRY(tfd_grad_int32(g, minus_one, 1, &in[1], st));
    in[0] = flat;
    TFD_TRY(tfd_grad_emit(g, "Reshape", in, 2, &flat, st));
    TFD_TRY(tfd_grad_scalar(g, TFD_INT32, 0, &in[0], st));
    TFD_TRY(tfd_grad_emit(g, "Size", &flat, 1, &in[1], st));
    TFD_TRY(tfd_grad_scalar(g, TFD_INT32, 2, &in[2], st));
    TFD_TRY(tfd_grad_emit(g, "Range", in, 3, &axes, st));
    in[0] = g->dy[0];
    in[1] = flat;
    TFD_TRY(tfd_grad_emit(g, "Reshape", in, 2, &in[0], st));
    in[1] = axes;
    TFD_TRY(tfd_grad_emit(g, "Sum", in, 2, &in[0], st));
    in[1] = shape;
    return tfd_grad_emit(g, "Reshape", in, 2, &g->dx[0], st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
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
        .checks = "concat_dim: scalar",
        .shape = offset_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "Pack",
        .inputs = "values: N * T",
        .outputs = "output: T",
        .attrs = "N: int >= 1; T: type; axis: int = 0",
        .shape = pack_shape,
        .grad = pack_gradient,
    },
    {
        .name = "Unpack",
        .inputs = "value: T",
        .outputs = "output: num * T",
        .attrs = "num: int >= 0; T: type; axis: int = 0",
        .shape = unpack_shape,
        .grad = unpack_gradient,
    },
    {
        .name = "Split",
        .inputs = "split_dim: int32, value: T",
        .outputs = "output: num_split * T",
        .attrs = "num_split: int >= 1; T: type",
        .checks = "split_dim: scalar",
        .grad = split_gradient,
    },
    {
        .name = "SplitV",
        .inputs = "value: T, size_splits: Tlen, split_dim: int32",
        .outputs = "output: num_split * T",
        .attrs = "num_split: int >= 1; T: type; "
                 "Tlen: {int8, int32, int64} = DT_INT64",
        .grad = split_v_gradient,
    },
    {
        .name = "Tile",
        .inputs = "input: T, multiples: Tmultiples",
        .outputs = "output: T",
        .attrs = "T: type; Tmultiples: {int32, int64} = DT_INT32",
        .checks = "multiples: vector",
        .shape = tile_shape,
        .grad = tile_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("ConcatV2", concat_compute),
    TFD_KERNEL_ANY("ConcatOffset", offset_compute),
    TFD_KERNEL_ANY("Pack", pack_compute, .prepare = axis_prepare,
                   .state_size = sizeof(struct axis)),
    TFD_KERNEL_ANY("Unpack", unpack_compute, .prepare = axis_prepare,
                   .state_size = sizeof(struct axis)),
    TFD_KERNEL_ANY("Split", split_compute),
    TFD_KERNEL_ANY("SplitV", split_v_compute),
    TFD_KERNEL_ANY("Tile", tile_compute),
};

const struct tfd_family tfd_family_concat = {
    .name = "concat",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
