/*
 * pack.c - joining along a new dimension, and cutting along one that goes:
 * Pack, Unpack.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/layout/runs.h"

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
    if (k->in_count == 1) {
        tfd_kctx_output_alias(k, 0, 0, &out);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &out, st));
    tfd_runs_around(&out, at, &outer, &inner);
    return tfd_runs_join(k, k->in_count, outer, st);
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
    char text[TFD_SHAPE_TEXT_MAX];
    int64_t outer, inner;
    int at;

    if (a->axis < -x->shape.rank || a->axis >= x->shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "axis = %lld not in [%d, %d)",
                        (long long)a->axis, -x->shape.rank, x->shape.rank);
    at = (int)(a->axis < 0 ? a->axis + x->shape.rank : a->axis);
    if (x->shape.dim[at] != k->out_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input shape axis %d must equal %d, got shape %s", at,
                        k->out_count, tfd_shape_text(&x->shape, text));
    for (int d = 0; d < out.rank; d++)
        out.dim[d] = x->shape.dim[d < at ? d : d + 1];
    if (at == 0 && tfd_runs_share(k, 0, out, NULL))
        return TFD_OK;
    tfd_runs_around(&x->shape, at, &outer, &inner);
    for (int i = 0; i < k->out_count; i++)
        TFD_TRY(tfd_kctx_output(k, i, x->dtype, &out, st));
    return tfd_runs_cut(k, x, outer, st);
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

static enum tfd_code unpack_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_edge parts[TFD_GRAD_LIST_MAX];
    struct tfd_attr attr;
    struct tfd_bytes b;
    int64_t axis;
    enum tfd_code rc;

    TFD_TRY(tfd_runs_gradients(g, parts, st));
    TFD_TRY(tfd_node_int(g->node, "axis", &axis, st));
    rc = int_attr(&b, "axis", axis, &attr, st);
    if (rc == TFD_OK)
        rc = tfd_grad_emit_attrs(g, "Pack", parts, g->node->out_count, &attr, 1,
                                 &g->dx[0], 1, st);
    tfd_bytes_deinit(&b);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
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
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Pack", pack_compute, .prepare = axis_prepare,
                   .state_size = sizeof(struct axis)),
    TFD_KERNEL_ANY("Unpack", unpack_compute, .prepare = axis_prepare,
                   .state_size = sizeof(struct axis)),
};

const struct tfd_family tfd_family_pack = {
    .name = "pack",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
