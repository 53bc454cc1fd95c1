/*
 * gather_nd.c - rows by tuples of indices: GatherNd, ResourceGatherNd.
 *
 * The mirror of ScatterNd, with the same reading of tuples (scatter.h).
 */
#include "kernels/check.h"
#include "kernels/element.h"
#include "kernels/families.h"
#include "kernels/gather.h"
#include "kernels/gradient.h"
#include "kernels/variable.h"

#include <string.h>

struct job {
    enum tfd_dtype dtype;
    const char *x;
    char *y;
    const int64_t *rows;
    size_t size; /* bytes of a row */
};

static void copy_rows(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;

    for (int64_t i = begin; i < end; i++)
        if (j->rows[i] < 0) /* outside, and to be ignored: zero */
            memset(j->y + (size_t)i * j->size, 0, j->size);
        else
            memcpy(j->y + (size_t)i * j->size,
                   j->x + (size_t)j->rows[i] * j->size, j->size);
}

static enum tfd_code copy_counted(struct tfd_kctx *k,
                                  const struct tfd_tensor *x,
                                  const struct tfd_scatter_nd *nd,
                                  const int64_t *rows, struct tfd_status *st)
{
    for (int64_t i = 0; i < nd->count; i++)
        if (rows[i] >= 0)
            TFD_TRY(
                tfd_elements_copy(x->dtype,
                                  tfd_element_at(tfd_tensor_data(&k->out[0]),
                                                 x->dtype, i * nd->inner),
                                  tfd_element_of(tfd_tensor_data(x), x->dtype,
                                                 rows[i] * nd->inner),
                                  nd->inner, st));
    return TFD_OK;
}

static enum tfd_code make_output(struct tfd_kctx *k, const struct tfd_tensor *x,
                                 const struct tfd_scatter_nd *nd,
                                 struct tfd_status *st)
{
    const struct tfd_shape *i = &k->in[1].shape;
    struct tfd_shape out;
    int64_t dim[2 * TFD_RANK_MAX];
    char text[TFD_SHAPE_TEXT_MAX];
    int rank = 0;

    for (int d = 0; d < i->rank - 1; d++)
        dim[rank++] = i->dim[d];
    for (int d = nd->depth; d < x->shape.rank; d++)
        dim[rank++] = x->shape.dim[d];
    TFD_TRY(tfd_shape_make(&out, dim, rank, st));
    if (nd->count > 0 && tfd_tensor_elements(x) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Requested more than 0 entries, but params is empty.  "
                        "Params shape: %s",
                        tfd_shape_text(&x->shape, text));
    return tfd_kctx_output(k, 0, x->dtype, &out, st);
}

enum tfd_code tfd_gather_nd_make(struct tfd_kctx *k, const struct tfd_tensor *x,
                                 struct tfd_scatter_nd *out,
                                 struct tfd_status *st)
{
    if (x->shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "params must be at least a vector");
    TFD_TRY(tfd_scatter_nd_make(out, &x->shape, &k->in[1].shape, st));
    return make_output(k, x, out, st);
}

static enum tfd_code fail_outside(const struct tfd_kctx *k,
                                  const struct tfd_shape *params, int64_t tuple,
                                  struct tfd_status *st)
{
    struct tfd_status cause = TFD_STATUS_INIT;
    enum tfd_code rc =
        tfd_scatter_nd_outside(&k->in[1], tuple, "param shape", params, &cause);

    if (!k->node)
        return tfd_status_copy(st, &cause);
    return tfd_fail(st, rc, "%s, node name: " TFD_STR_FMT, cause.text,
                    TFD_STR_ARG(k->node->name));
}

static enum tfd_code copy_all(struct tfd_kctx *k, const struct tfd_tensor *x,
                              const struct tfd_scatter_nd *nd,
                              struct tfd_tensor *rows, struct tfd_status *st)
{
    const struct tfd_shape list = {1, {nd->count}};
    size_t size = (size_t)nd->inner * tfd_dtype_size(x->dtype);
    struct job j = {x->dtype, tfd_tensor_data(x), tfd_tensor_data(&k->out[0]),
                    NULL, size};
    int64_t bad;

    TFD_TRY(tfd_tensor_new(rows, TFD_INT64, &list, st));
    j.rows = tfd_tensor_data(rows);
    bad = tfd_scatter_nd_rows(nd, &x->shape, &k->in[1], tfd_tensor_data(rows));
    if (bad < nd->count && !*(const bool *)k->state)
        return fail_outside(k, &x->shape, bad, st);
    if (!tfd_dtype_is_pod(x->dtype))
        return copy_counted(k, x, nd, j.rows, st);
    tfd_kctx_parallel(k, nd->count, size < 40000 ? (int)(size / 8) + 2 : 5000,
                      copy_rows, &j);
    return TFD_OK;
}

static enum tfd_code gather_nd(struct tfd_kctx *k, const struct tfd_tensor *x,
                               struct tfd_status *st)
{
    struct tfd_tensor rows = TFD_TENSOR_INIT;
    struct tfd_scatter_nd nd;
    enum tfd_code rc = TFD_OK;

    TFD_TRY(tfd_gather_nd_make(k, x, &nd, st));
    if (nd.count > 0)
        rc = copy_all(k, x, &nd, &rows, st);
    tfd_tensor_unref(&rows);
    return rc;
}

static enum tfd_code value_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return gather_nd(k, &k->in[0], st);
}

static enum tfd_code resource_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_kctx_with_value(k, gather_nd, st);
}

static enum tfd_code prepare(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    return tfd_scatter_nd_policy(p->node, state, st);
}

static enum tfd_code gather_nd_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    const struct tfd_shape *x = &s->in[0], *i = &s->in[1];
    int64_t depth = i->rank > 0 ? i->dim[i->rank - 1] : TFD_DIM_UNKNOWN;
    int64_t dim[2 * TFD_RANK_MAX];
    int rank = 0;

    if (i->rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 1 but is rank 0");
    if (x->rank == TFD_RANK_UNKNOWN || depth == TFD_DIM_UNKNOWN)
        return TFD_OK;
    if (depth > x->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices.shape[-1] must be <= params.rank, but saw "
                        "indices shape with last dimension %lld and rank %d",
                        (long long)depth, x->rank);
    for (int d = 0; d < i->rank - 1; d++)
        dim[rank++] = i->dim[d];
    for (int d = (int)depth; d < x->rank; d++)
        dim[rank++] = x->dim[d];
    return tfd_shape_make_partial(&s->out[0], dim, rank, st);
}

static enum tfd_code gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge shape = tfd_gradient_cast(
        &b, tfd_gradient_shape(&b, g->x[0]), tfd_gradient_dtype(&b, g->x[1]));

    g->dx[0] = tfd_gradient_op3(&b, "ScatterNd", g->x[1], g->dy[0], shape);
    return b.code;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "GatherNd",
        .inputs = "params: Tparams, indices: Tindices",
        .outputs = "output: Tparams",
        .attrs = "Tparams: type; Tindices: {int16, int32, int64}; "
                 "bad_indices_policy: string = ''",
        .key = "Tparams",
        .shape = gather_nd_shape,
        .grad = gradient,
    },
    {
        .name = "ResourceGatherNd",
        .inputs = "resource: resource, indices: Tindices",
        .outputs = "output: dtype",
        .attrs = "dtype: type; Tindices: {int32, int64}",
        .checks = "resource: scalar",
        .key = "dtype",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("GatherNd", value_compute, .prepare = prepare,
                   .state_size = sizeof(bool)),
    TFD_KERNEL_ANY("ResourceGatherNd", resource_compute,
                   .state_size = sizeof(bool)),
};

const struct tfd_family tfd_family_gather_nd = {
    .name = "gather_nd",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
