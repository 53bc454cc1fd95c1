/*
 * gather_nd.c - rows by tuples of indices: GatherNd, ResourceGatherNd.
 *
 * The mirror of ScatterNd, with the same reading of tuples (scatter.h). Numbers
 * whose indices are all inside, as they nearly always are, are gathered block
 * by block; one outside is found and treated by the second way, which has all
 * row numbers first.
 */
#include "common/base/atomic.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/index/gather.h"
#include "kernels/core/gradient.h"
#include "kernels/layout/rows.h"
#include "kernels/state/variable.h"

#include <string.h>

struct job {
    enum tfd_dtype dtype;
    const char *x;
    char *y;
    const int64_t *rows;
    size_t size; /* bytes of a row */
};

static void copy_gathered(void *arg, int64_t begin, int64_t end)
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

/* ---- Numbers, all indices inside ----------------------------------------- */

#define BLOCK 512 /* rows at a time */

struct gather {
    const struct tfd_scatter_nd *nd;
    const int64_t *dim; /* of what is gathered from */
    const void *indices;
    enum tfd_dtype index_type;
    const char *x;
    char *y;
    size_t size;       /* bytes of a row */
    tfd_rows_fn *rows; /* by numbers of rows */
    bool *any_outside; /* then rows were left out */
};

/* The rows that n tuples of `depth` numbers name; false where one is outside,
 * and rows may be any then.  No branch depends on an index. */
#define PLACES(I)                                                            \
    static inline __attribute__((always_inline)) bool places_##I##_of(       \
        const I *index, const int64_t *dim, int depth, int64_t n,            \
        int64_t *row)                                                        \
    {                                                                        \
        uint64_t outside = 0;                                                \
                                                                             \
        for (int64_t i = 0; i < n; i++) {                                    \
            uint64_t at = 0;                                                 \
                                                                             \
            for (int d = 0; d < depth; d++) {                                \
                const uint64_t number = (uint64_t)index[i * depth + d];      \
                                                                             \
                outside |= number >= (uint64_t)dim[d];                       \
                at = at * (uint64_t)dim[d] + number;                         \
            }                                                                \
            row[i] = (int64_t)at;                                            \
        }                                                                    \
        return !outside;                                                     \
    }                                                                        \
    static bool places_##I(const struct gather *g, int64_t first, int64_t n, \
                           int64_t *row)                                     \
    {                                                                        \
        const int depth = g->nd->depth;                                      \
        const I *index = (const I *)g->indices + first * depth;              \
                                                                             \
        return depth == 2   ? places_##I##_of(index, g->dim, 2, n, row)      \
               : depth == 3 ? places_##I##_of(index, g->dim, 3, n, row)      \
                            : places_##I##_of(index, g->dim, depth, n, row); \
    }

PLACES(int16_t)
PLACES(int32_t)
PLACES(int64_t)

static bool find_rows(const struct gather *g, int64_t first, int64_t n,
                      int64_t *row)
{
    return g->index_type == TFD_INT16   ? places_int16_t(g, first, n, row)
           : g->index_type == TFD_INT32 ? places_int32_t(g, first, n, row)
                                        : places_int64_t(g, first, n, row);
}

/* One number is the row's. */
static bool gather_numbered(const struct gather *g, int64_t first, int64_t n)
{
    const char *index = (const char *)g->indices +
                        (size_t)first * tfd_dtype_size(g->index_type);

    if (tfd_rows_bad(index, g->index_type, n, g->dim[0]) < n)
        return false;
    g->rows(g->y + (size_t)first * g->size, g->x, g->size, index, n);
    return true;
}

static bool gather_block(const struct gather *g, int64_t first, int64_t n)
{
    int64_t row[BLOCK];

    if (g->nd->depth == 1)
        return gather_numbered(g, first, n);
    if (!find_rows(g, first, n, row))
        return false;
    g->rows(g->y + (size_t)first * g->size, g->x, g->size, row, n);
    return true;
}

static void gather_range(void *arg, int64_t begin, int64_t end)
{
    const struct gather *g = arg;

    for (int64_t n; begin < end && !tfd_halted(); begin += n) {
        n = end - begin < BLOCK ? end - begin : BLOCK;
        if (!gather_block(g, begin, n)) {
            TFD_STORE_RELAXED(g->any_outside, true);
            return;
        }
    }
}

/* False where an index is outside, and the output is not all there. */
static bool gather_all(struct tfd_kctx *k, const struct tfd_tensor *x,
                       const struct tfd_scatter_nd *nd)
{
    const struct tfd_tensor *indices = &k->in[1];
    bool any_outside = false;
    struct gather g = {.nd = nd,
                       .dim = x->shape.dim,
                       .indices = tfd_tensor_data(indices),
                       .index_type = indices->dtype,
                       .x = tfd_tensor_data(x),
                       .y = tfd_tensor_data(&k->out[0]),
                       .size = (size_t)nd->inner * tfd_dtype_size(x->dtype),
                       .any_outside = &any_outside};

    if (g.size == 0)
        return false;
    g.rows = tfd_rows_gather_from(tfd_tensor_size(x), g.size,
                                  nd->depth == 1 ? indices->dtype : TFD_INT64);
    tfd_kctx_parallel(k, nd->count, tfd_rows_cost(g.size) + 1, gather_range,
                      &g);
    return !any_outside;
}

/* ---- Output -------------------------------------------------------------- */

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

    if (tfd_dtype_is_pod(x->dtype) && gather_all(k, x, nd))
        return TFD_OK;
    TFD_TRY(tfd_tensor_new(rows, TFD_INT64, &list, st));
    j.rows = tfd_tensor_data(rows);
    bad = tfd_scatter_nd_rows(nd, &x->shape, &k->in[1], tfd_tensor_data(rows));
    if (bad < nd->count && !*(const bool *)k->state)
        return fail_outside(k, &x->shape, bad, st);
    if (!tfd_dtype_is_pod(x->dtype))
        return copy_counted(k, x, nd, j.rows, st);
    tfd_kctx_parallel(k, nd->count, size < 40000 ? (int)(size / 8) + 2 : 5000,
                      copy_gathered, &j);
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

static enum tfd_code prepare_gather_nd(const struct tfd_prepare *p, void *state,
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

static enum tfd_code gather_nd_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge shape = tfd_gradient_cast(
        &b, tfd_gradient_shape(&b, g->x[0]), tfd_gradient_dtype(&b, g->x[1]));

    g->dx[0] = tfd_gradient_op3(&b, "ScatterNd", g->x[1], g->dy[0], shape);
    return b.code;
}

/* Of the variable, dense. */
static enum tfd_code resource_nd_gradient(struct tfd_grad *g,
                                          struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_gradient_attr attrs[] = {{"out_type", 't', TFD_INT32},
                                        {NULL, 0, 0}};
    struct tfd_edge shape;

    attrs[0].value = tfd_gradient_dtype(&b, g->x[1]);
    tfd_gradient_with(&b, "VariableShape", g->x, 1, attrs, &shape, 1);
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
        .grad = gather_nd_gradient,
    },
    {
        .name = "ResourceGatherNd",
        .inputs = "resource: resource, indices: Tindices",
        .outputs = "output: dtype",
        .attrs = "dtype: type; Tindices: {int32, int64}",
        .checks = "resource: scalar",
        .key = "dtype",
        .grad = resource_nd_gradient,
        .flags = TFD_OP_STATEFUL,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("GatherNd", value_compute, .prepare = prepare_gather_nd,
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
