/*
 * sparse_add.c - SparseTensorDenseAdd: a sparse tensor added to a dense one,
 * which is ScatterNdAdd into a copy (scatter.h).
 */
#include <stdio.h>

#include "common/base/min.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/index/scatter.h"

/* What TensorFlow's kernel has loops for. */
#define DENSE_RANK_MAX 5

static enum tfd_code check_parts(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    const struct tfd_shape *i = &k->in[0].shape, *v = &k->in[1].shape;
    const struct tfd_shape *s = &k->in[2].shape;
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (i->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input a_indices should be a matrix but received "
                        "shape: %s",
                        tfd_shape_text(i, one));
    if (v->rank != 1 || s->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Inputs a_values and a_shape should be vectors but "
                        "received shapes: %s and %s",
                        tfd_shape_text(v, one), tfd_shape_text(s, other));
    if (i->dim[0] != v->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dimensions %lld and %lld are not compatible",
                        (long long)i->dim[0], (long long)v->dim[0]);
    if (i->dim[1] != s->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dimensions %lld and %lld are not compatible",
                        (long long)i->dim[1], (long long)s->dim[0]);
    return TFD_OK;
}

static enum tfd_code check_shape(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    const struct tfd_shape *b = &k->in[3].shape;

    if (k->in[2].shape.dim[0] != b->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Two operands have different ranks: %lld vs. %d",
                        (long long)k->in[2].shape.dim[0], b->rank);
    for (int d = 0; d < b->rank; d++)
        if (tfd_check_int_at(&k->in[2], d) != b->dim[d])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Dimension %d does not equal (no broadcasting is "
                            "supported): sparse side %lld vs dense side %lld",
                            d, (long long)tfd_check_int_at(&k->in[2], d),
                            (long long)b->dim[d]);
    if (b->rank < 1 || b->rank > DENSE_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Only tensors with ranks between 1 and 5 are currently "
                        "supported.  Tensor rank: %d",
                        b->rank);
    return TFD_OK;
}

/* Which dimension of index `row` is not in the dense shape. */
static enum tfd_code fail_outside(const struct tfd_tensor *indices, int64_t row,
                                  const struct tfd_shape *shape,
                                  struct tfd_status *st)
{
    char text[TFD_RANK_MAX * 21] = "";
    size_t used = 0;
    int64_t at = 0;
    int d = 0;

    for (; d < shape->rank; d++) {
        at = tfd_check_int_at(indices, row * shape->rank + d);
        if (at < 0 || at >= shape->dim[d])
            break;
    }
    for (int i = 0; i < shape->rank; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " %lld",
                                 (long long)shape->dim[i]);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Sparse tensor has an invalid index on dimension %d: "
                    "a_indices(%lld,%d) = %lld, dense tensor shape:%s",
                    d, (long long)row, d, (long long)at, text);
}

/* Elements whose rows are found before they are added, by one thread: then the
 * rows need not leave the cache.  Several each look at all rows. */
#define BLOCK 4096

static enum tfd_code add_blocks(struct tfd_kctx *k, struct tfd_scatter_nd *nd,
                                struct tfd_scatter *s, int64_t *rows,
                                struct tfd_status *st)
{
    const struct tfd_shape *shape = &k->in[3].shape;
    const int64_t total = nd->count, block = s->count;
    enum tfd_dtype dtype = k->in[1].dtype;

    s->rows = rows;
    for (; nd->first < total && !tfd_halted(); nd->first += block) {
        int64_t bad;

        s->count = nd->count = tfd_min(block, total - nd->first);
        bad = tfd_scatter_nd_rows(nd, shape, &k->in[0], rows);
        if (bad < nd->count)
            return fail_outside(&k->in[0], nd->first + bad, shape, st);
        s->by = tfd_element_of(tfd_tensor_data(&k->in[1]), dtype, nd->first);
        TFD_TRY(tfd_scatter_run(k, TFD_SCATTER_ADD, dtype, s, st));
    }
    return TFD_OK;
}

static enum tfd_code add_at(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor rows = TFD_TENSOR_INIT;
    struct tfd_shape vector = {1, {0}};
    struct tfd_scatter s = {.to = tfd_tensor_data(&k->out[0]), .inner = 1};
    struct tfd_scatter_nd nd;
    enum tfd_code rc;

    TFD_TRY(tfd_scatter_nd_make(&nd, &k->in[3].shape, &k->in[0].shape, st));
    s.count = nd.count;
    s.limit = nd.limit;
    if (tfd_scatter_is_alone(k, &s, k->in[1].dtype))
        s.count = tfd_min(s.count, BLOCK);
    vector.dim[0] = s.count;
    TFD_TRY(tfd_tensor_new(&rows, TFD_INT64, &vector, st));
    rc = add_blocks(k, &nd, &s, tfd_tensor_data(&rows), st);
    tfd_tensor_unref(&rows);
    return rc;
}

static enum tfd_code sparse_add(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *b = &k->in[3];

    TFD_TRY(check_parts(k, st));
    TFD_TRY(check_shape(k, st));
    TFD_TRY(tfd_kctx_output_like(k, 3, 0, st));
    if (tfd_tensor_data(&k->out[0]) != tfd_tensor_data(b))
        TFD_TRY(tfd_elements_copy(b->dtype, tfd_tensor_data(&k->out[0]),
                                  tfd_tensor_data(b), tfd_tensor_elements(b),
                                  st));
    return add_at(k, st);
}

static enum tfd_code like_dense(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->in[3];
    return TFD_OK;
}

static enum tfd_code sparse_add_gradient(struct tfd_grad *g,
                                         struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[1] = tfd_gradient_op2(&b, "GatherNd", g->dy[0], g->x[0]);
    g->dx[3] = g->dy[0];
    return b.code;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseTensorDenseAdd",
        .inputs = "a_indices: Tindices, a_values: T, a_shape: Tindices, b: T",
        .outputs = "output: T",
        .attrs = "T: numbertype; Tindices: {int32, int64}",
        .shape = like_dense,
        .grad = sparse_add_gradient,
    },
};

#define ROW(name, number, T) \
    TFD_KERNEL("SparseTensorDenseAdd", name, sparse_add),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(ROW) TFD_HALF_DTYPES(ROW) TFD_COMPLEX_DTYPES(ROW)};

const struct tfd_family tfd_family_sparse_add = {
    .name = "sparse_add",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
