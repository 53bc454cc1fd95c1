/*
 * long_axis.c - ops on long shapes along an axis, which see the dimensions
 * before it and those behind it as one each.
 */
#include "kernels/core/check.h"
#include "kernels/layout/long_view.h"
#include "kernels/layout/runs.h"

/* ---- One axis ------------------------------------------------------------ */

static void around(const struct tfd_dims *d, int axis, int64_t *dim)
{
    dim[0] = tfd_dims_product(d, 0, axis);
    dim[1] = d->at[axis];
    dim[2] = tfd_dims_product(d, axis + 1, d->rank);
}

static enum tfd_code axis_of(const struct tfd_kctx *k,
                             const struct tfd_long_row *row, int in, int rank,
                             int *out, struct tfd_status *st)
{
    int64_t axis;

    TFD_TRY(tfd_check_int(k, in, &axis, st));
    if (row->words && (axis < -rank || axis >= rank))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s in the range [%d, %d), but got %lld", row->words,
                        -rank, rank, (long long)axis);
    return tfd_check_axis(axis, rank, out, st);
}

/* Of several inputs, which ConcatV2 alone has, all fit the first. */
static enum tfd_code see_axis(const struct tfd_kctx *k, struct tfd_long_view *v,
                              int in, const struct tfd_dims *first, int axis,
                              struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];
    struct tfd_dims d;
    int64_t dim[3];

    tfd_dims_of(&d, &k->in[in].shape);
    tfd_shape_text(&k->in[0].shape, a);
    tfd_shape_text(&k->in[in].shape, b);
    if (d.rank != first->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ConcatOp : Ranks of all input tensors should match: "
                        "shape[0] = %s vs. shape[%d] = %s",
                        a, in, b);
    for (int i = 0; i < d.rank; i++)
        if (i != axis && d.at[i] != first->at[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "ConcatOp : Dimension %d in both shapes must be "
                            "equal: shape[0] = %s vs. shape[%d] = %s",
                            i, a, in, b);
    around(&d, axis, dim);
    tfd_long_see(v, in, dim, 3);
    return TFD_OK;
}

static enum tfd_code spread_axis(struct tfd_kctx *k,
                                 const struct tfd_dims *first, int axis,
                                 struct tfd_status *st)
{
    for (int i = 0; i < k->out_count; i++) {
        struct tfd_dims out = *first;

        out.at[axis] = k->out[i].shape.dim[1];
        TFD_TRY(tfd_dims_shape(&out, &k->out[i].shape, st));
    }
    return TFD_OK;
}

enum tfd_code tfd_long_axis(struct tfd_kctx *k, const struct tfd_long_row *row,
                            struct tfd_status *st)
{
    static const int64_t middle = 1;
    int at = row->arg < 0 ? k->in_count + row->arg : row->arg, axis = 0;
    int begin = __builtin_ctz(row->inputs);
    struct tfd_small_ints room;
    struct tfd_long_view v;
    struct tfd_dims first;
    enum tfd_code rc;

    tfd_dims_of(&first, &k->in[begin].shape);
    TFD_TRY(axis_of(k, row, at, first.rank, &axis, st));
    TFD_TRY(tfd_long_view_init(&v, k, st));
    v.k.in[at] = tfd_small_ints(&room, k->in[at].dtype, &middle, -1);
    rc = TFD_OK;
    for (int i = begin; i < k->in_count && rc == TFD_OK; i++)
        if (i != at && (i >= 32 || row->inputs >> i & 1))
            rc = see_axis(k, &v, i, &first, axis, st);
    if (rc == TFD_OK)
        rc = tfd_long_view_run(&v, st);
    tfd_long_view_deinit(&v);
    TFD_TRY(rc);
    return spread_axis(k, &first, axis, st);
}

/* ---- Pack, Unpack -------------------------------------------------------- */

static enum tfd_code attr_axis(const struct tfd_kctx *k, int rank, int *out,
                               struct tfd_status *st)
{
    int64_t axis = 0;

    TFD_TRY(tfd_node_int(k->node, "axis", &axis, st));
    if (axis < -rank || axis >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "axis = %lld not in [%d, %d)",
                        (long long)axis, -rank, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return TFD_OK;
}

static enum tfd_code check_packed(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];

    for (int i = 1; i < k->in_count; i++)
        if (!tfd_shape_equal(&k->in[0].shape, &k->in[i].shape))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shapes of all inputs must match: values[0].shape "
                            "= %s != values[%d].shape = %s",
                            tfd_shape_text(&k->in[0].shape, a), i,
                            tfd_shape_text(&k->in[i].shape, b));
    return TFD_OK;
}

enum tfd_code tfd_long_pack(struct tfd_kctx *k, const struct tfd_long_row *row,
                            struct tfd_status *st)
{
    struct tfd_dims d, out = {.rank = 0};
    struct tfd_shape shape;
    int64_t outer, inner;
    int axis = 0;

    (void)row;
    tfd_dims_of(&d, &k->in[0].shape);
    TFD_TRY(attr_axis(k, d.rank + 1, &axis, st));
    TFD_TRY(check_packed(k, st));
    TFD_TRY(tfd_dims_add(&out, &d, 0, axis, st));
    TFD_TRY(tfd_dims_push(&out, k->in_count, st));
    TFD_TRY(tfd_dims_add(&out, &d, axis, d.rank, st));
    TFD_TRY(tfd_dims_shape(&out, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &shape, st));
    outer = tfd_dims_product(&d, 0, axis);
    inner = tfd_dims_product(&d, axis, d.rank);
    for (int i = 0; i < k->in_count; i++)
        TFD_TRY(tfd_runs_copy(k, 0, inner * k->in_count, inner * i, &k->in[i],
                              inner, 0, inner, outer, st));
    return TFD_OK;
}

enum tfd_code tfd_long_unpack(struct tfd_kctx *k,
                              const struct tfd_long_row *row,
                              struct tfd_status *st)
{
    struct tfd_dims d, out = {.rank = 0};
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape shape;
    int64_t dim[3];
    int axis = 0;

    (void)row;
    tfd_dims_of(&d, &k->in[0].shape);
    TFD_TRY(attr_axis(k, d.rank, &axis, st));
    if (d.at[axis] != k->out_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input shape axis %d must equal %d, got shape %s", axis,
                        k->out_count, tfd_shape_text(&k->in[0].shape, text));
    TFD_TRY(tfd_dims_add(&out, &d, 0, axis, st));
    TFD_TRY(tfd_dims_add(&out, &d, axis + 1, d.rank, st));
    TFD_TRY(tfd_dims_shape(&out, &shape, st));
    around(&d, axis, dim);
    for (int i = 0; i < k->out_count; i++) {
        TFD_TRY(tfd_kctx_output(k, i, k->in[0].dtype, &shape, st));
        TFD_TRY(tfd_runs_copy(k, i, dim[2], 0, &k->in[0], dim[2] * dim[1],
                              dim[2] * i, dim[2], dim[0], st));
    }
    return TFD_OK;
}

/* ---- Gather -------------------------------------------------------------- */

/* What TensorFlow's shape function says of it. */
static enum tfd_code gather_axis(const struct tfd_kctx *k,
                                 const struct tfd_long_row *row, int rank,
                                 int *out, struct tfd_status *st)
{
    int64_t axis;

    TFD_TRY(tfd_check_int(k, 2, &axis, st));
    if (axis >= rank || axis < -rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank %lld but is rank %d",
                        (long long)(axis < 0 ? -axis : axis + 1), rank);
    return axis_of(k, row, 2, rank, out, st);
}

static void see_gather(struct tfd_kctx *k, struct tfd_long_view *v,
                       struct tfd_small_ints *room, const struct tfd_dims *x,
                       int axis)
{
    static const int64_t middle = 1;
    int64_t dim[3], n = tfd_tensor_elements(&k->in[1]);

    around(x, axis, dim);
    if (k->in_count > 2)
        v->k.in[2] = tfd_small_ints(room, k->in[2].dtype, &middle, -1);
    tfd_long_see(v, 1, &n, 1);
    tfd_long_see(v, 0, k->in_count > 2 ? dim : dim + 1,
                 k->in_count > 2 ? 3 : 2);
}

/* Without batches: those would be groups of their own. */
enum tfd_code tfd_long_gather(struct tfd_kctx *k,
                              const struct tfd_long_row *row,
                              struct tfd_status *st)
{
    struct tfd_dims x, i, out = {.rank = 0};
    struct tfd_small_ints room;
    struct tfd_long_view v;
    int64_t batch = 0;
    enum tfd_code rc;
    int axis = 0;

    tfd_dims_of(&x, &k->in[0].shape);
    tfd_dims_of(&i, &k->in[1].shape);
    if (k->in_count > 2)
        TFD_TRY(gather_axis(k, row, x.rank, &axis, st));
    (void)!tfd_node_int(k->node, "batch_dims", &batch, NULL);
    if (batch != 0 || x.rank < 1)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "%s with batch_dims = %lld of tensors with %d and %d "
                        "dimensions",
                        row->op, (long long)batch, x.rank, i.rank);
    TFD_TRY(tfd_dims_add(&out, &x, 0, axis, st));
    TFD_TRY(tfd_dims_add(&out, &i, 0, i.rank, st));
    TFD_TRY(tfd_dims_add(&out, &x, axis + 1, x.rank, st));
    TFD_TRY(tfd_long_view_init(&v, k, st));
    see_gather(k, &v, &room, &x, axis);
    rc = tfd_long_view_run(&v, st);
    tfd_long_view_deinit(&v);
    TFD_TRY(rc);
    return tfd_dims_shape(&out, &k->out[0].shape, st);
}

/* Indices [.., depth] into the first `depth` dimensions. */
enum tfd_code tfd_long_gather_nd(struct tfd_kctx *k,
                                 const struct tfd_long_row *row,
                                 struct tfd_status *st)
{
    struct tfd_dims x, i, out = {.rank = 0};
    struct tfd_long_view v;
    enum tfd_code rc;
    int64_t dim[TFD_RANK_MAX], pair[2];
    int depth;

    (void)row;
    tfd_dims_of(&x, &k->in[0].shape);
    tfd_dims_of(&i, &k->in[1].shape);
    if (i.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices must be at least a vector");
    pair[1] = i.at[i.rank - 1];
    if (pair[1] < 0 || pair[1] > x.rank || pair[1] >= TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Only indices.shape[-1] values between 1 and 7 are "
                        "currently supported.  Requested rank: %lld",
                        (long long)pair[1]);
    depth = (int)pair[1];
    pair[0] = tfd_dims_product(&i, 0, i.rank - 1);
    for (int d = 0; d < depth; d++)
        dim[d] = x.at[d];
    dim[depth] = tfd_dims_product(&x, depth, x.rank);
    TFD_TRY(tfd_dims_add(&out, &i, 0, i.rank - 1, st));
    TFD_TRY(tfd_dims_add(&out, &x, depth, x.rank, st));
    TFD_TRY(tfd_long_view_init(&v, k, st));
    tfd_long_see(&v, 0, dim, depth + 1);
    tfd_long_see(&v, 1, pair, 2);
    rc = tfd_long_view_run(&v, st);
    tfd_long_view_deinit(&v);
    TFD_TRY(rc);
    return tfd_dims_shape(&out, &k->out[0].shape, st);
}
