/*
 * sparse_rows.c - sparse tensors in another order: SparseReorder sorts by
 * indices, SparseFillEmptyRows gives each row that has nothing an element.
 *
 * What is in order already, and has no empty rows, is passed on as it is.
 */
#include "common/thread/halt.h"
#include "kernels/sparse/sparse_rows.h"

#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/layout/rows.h"
#include "kernels/index/scatter.h"
#include "kernels/sparse/sparse_order.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Moving -------------------------------------------------------------- */

struct moving {
    tfd_rows_fn *rows;
    char *to;
    const char *from;
    size_t size;
    const int64_t *index;
};

static void gather_range(void *arg, int64_t begin, int64_t end)
{
    const struct moving *m = arg;

    m->rows(m->to + (size_t)begin * m->size, m->from, m->size, m->index + begin,
            end - begin);
}

/* to[i] = from[index[i]], rows of that many bytes. */
static void gather_bytes(struct tfd_kctx *k, void *to, const void *from,
                         size_t size, const int64_t *index, int64_t count)
{
    struct moving m = {.to = to, .from = from, .size = size, .index = index};

    if (!size || !count)
        return;
    m.rows = tfd_rows_gather(size, TFD_INT64);
    tfd_kctx_parallel(k, count, tfd_rows_cost(size), gather_range, &m);
}

/* The same of elements. */
static enum tfd_code gather_values(struct tfd_kctx *k, enum tfd_dtype dtype,
                                   void *to, const void *from,
                                   const int64_t *index, int64_t count,
                                   struct tfd_status *st)
{
    if (tfd_dtype_is_pod(dtype)) {
        gather_bytes(k, to, from, tfd_dtype_size(dtype), index, count);
        return TFD_OK;
    }
    for (int64_t i = 0; i < count; i++)
        TFD_TRY(tfd_elements_copy(dtype, tfd_element_at(to, dtype, i),
                                  tfd_element_of(from, dtype, index[i]), 1,
                                  st));
    return TFD_OK;
}

/* to[index[i]] = from[i] */
static enum tfd_code scatter(enum tfd_dtype dtype, void *to, const void *from,
                             const int64_t *index, int64_t count,
                             struct tfd_status *st)
{
    const size_t size = tfd_dtype_size(dtype);

    if (tfd_dtype_is_pod(dtype)) {
        tfd_rows_scatter(size, TFD_INT64)(to, from, size, index, count);
        return TFD_OK;
    }
    for (int64_t i = 0; i < count; i++)
        TFD_TRY(tfd_elements_copy(dtype, tfd_element_at(to, dtype, index[i]),
                                  tfd_element_of(from, dtype, i), 1, st));
    return TFD_OK;
}

/* ---- SparseReorder ------------------------------------------------------- */

/* Output `i` has the element of the input at order[i]. */
static enum tfd_code permute(struct tfd_kctx *k, const struct tfd_sparse *s,
                             const int64_t *order, struct tfd_status *st)
{
    enum tfd_dtype dtype = s->values->dtype;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &k->in[0].shape, st));
    TFD_TRY(tfd_kctx_output(k, 1, dtype, &s->values->shape, st));
    gather_bytes(k, tfd_tensor_data(&k->out[0]), s->index,
                 (size_t)s->rank * sizeof(int64_t), order, s->count);
    return gather_values(k, dtype, tfd_tensor_data(&k->out[1]),
                         tfd_tensor_data(s->values), order, s->count, st);
}

static enum tfd_code reorder_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_sparse s;
    int64_t *order;
    enum tfd_code rc;

    TFD_TRY(tfd_sparse_read(k, 0, &s, st));
    if (tfd_sparse_in_order(k, &s)) {
        tfd_kctx_output_alias(k, 0, 0, &k->in[0].shape);
        tfd_kctx_output_alias(k, 1, 1, &k->in[1].shape);
        return TFD_OK;
    }
    order = malloc((size_t)s.count * sizeof(*order));
    if (!order)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to sort %" PRId64 " indices", s.count);
    rc = tfd_sparse_order(&s, order, st);
    if (rc == TFD_OK)
        rc = permute(k, &s, order, st);
    free(order);
    return rc;
}

/* Numbers instead of values show where each went. */
static enum tfd_code reorder_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    static const int32_t zero = 0, one = 1;
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge in[3], ordered[2], from, step, count, places;

    if (g->dy[1].node < 0)
        return TFD_OK;
    from = tfd_gradient_ints(&b, &zero, -1);
    step = tfd_gradient_ints(&b, &one, -1);
    count = tfd_gradient_op1(&b, "Size", g->x[1]);
    in[0] = g->x[0];
    in[1] = tfd_gradient_op3(&b, "Range", from, count, step);
    in[2] = g->x[2];
    TFD_TRY(b.code);
    TFD_TRY(tfd_grad_emit_attrs(g, "SparseReorder", in, 3, NULL, 0, ordered, 2,
                                st));
    places = tfd_gradient_op1(&b, "InvertPermutation", ordered[1]);
    g->dx[1] = tfd_gradient_op3(&b, "GatherV2", g->dy[1], places, from);
    return b.code;
}

static enum tfd_code reorder_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    struct tfd_shape matrix = {2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    struct tfd_shape vector = {1, {TFD_DIM_UNKNOWN}}, dims = vector;

    TFD_TRY(tfd_shape_merge(&matrix, &s->in[0], st));
    TFD_TRY(tfd_shape_merge(&vector, &s->in[1], st));
    TFD_TRY(tfd_shape_merge(&dims, &s->in[2], st));
    s->out[0] = matrix;
    s->out[1] = vector;
    return TFD_OK;
}

/* ---- SparseFillEmptyRows ------------------------------------------------- */

static enum tfd_code find_empty_rows(struct tfd_kctx *k,
                                     struct tfd_sparse_filling *f,
                                     struct tfd_status *st)
{
    const struct tfd_shape rows = {1, {f->rows}};
    const tfd_bool one = 1;

    TFD_TRY(tfd_kctx_output(k, 2, TFD_BOOL, &rows, st));
    TFD_TRY(tfd_kctx_output(k, 3, TFD_INT64, &k->in[1].shape, st));
    f->empty = tfd_tensor_data(&k->out[2]);
    f->place = tfd_tensor_data(&k->out[3]);
    TFD_TRY(tfd_elements_fill(TFD_BOOL, f->empty, &one, f->rows, st));
    if (tfd_halted())
        return tfd_halt_fail(st);
    return tfd_sparse_order_mark(f, st);
}

static enum tfd_code put_elements(struct tfd_kctx *k,
                                  const struct tfd_sparse_filling *f,
                                  struct tfd_status *st)
{
    const struct tfd_shape matrix = {2, {f->total, f->s.rank}};
    const struct tfd_shape vector = {1, {f->total}};
    enum tfd_dtype dtype = f->s.values->dtype;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &matrix, st));
    TFD_TRY(tfd_kctx_output(k, 1, dtype, &vector, st));
    if (!f->total)
        return TFD_OK;
    TFD_TRY(tfd_sparse_order_fill(f, tfd_tensor_data(&k->out[0]), st));
    TFD_TRY(tfd_elements_fill(dtype, tfd_tensor_data(&k->out[1]),
                              tfd_tensor_data(&k->in[3]), f->total, st));
    return f->s.count
               ? scatter(dtype, tfd_tensor_data(&k->out[1]),
                         tfd_tensor_data(f->s.values), f->place, f->s.count, st)
               : TFD_OK;
}

/* Nothing is missing: elements are where they were. */
static enum tfd_code pass_elements(struct tfd_kctx *k,
                                   const struct tfd_sparse_filling *f)
{
    for (int64_t i = 0; i < f->s.count; i++)
        f->place[i] = i;
    tfd_kctx_output_alias(k, 0, 0, &k->in[0].shape);
    tfd_kctx_output_alias(k, 1, 1, &k->in[1].shape);
    return TFD_OK;
}

static enum tfd_code check_input_rank(const struct tfd_kctx *k, int in,
                                      int rank, const char *what,
                                      struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[in].shape.rank != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s, saw: %s", what,
                        tfd_shape_text(&k->in[in].shape, text));
    return TFD_OK;
}

static enum tfd_code check_rows_inputs(const struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const struct tfd_shape *indices = &k->in[0].shape;
    int64_t values, dims;

    TFD_TRY(check_input_rank(k, 2, 1, "dense_shape must be a vector", st));
    TFD_TRY(check_input_rank(k, 0, 2, "indices must be a matrix", st));
    TFD_TRY(check_input_rank(k, 1, 1, "values must be a vector", st));
    values = k->in[1].shape.dim[0];
    dims = k->in[2].shape.dim[0];
    if (values != indices->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The length of `values` (%" PRId64
                        ") must match the first dimension of `indices` "
                        "(%" PRId64 ").",
                        values, indices->dim[0]);
    if (dims != indices->dim[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The length of `dense_shape` (%" PRId64
                        ") must match the second dimension of `indices` "
                        "(%" PRId64 ").",
                        dims, indices->dim[1]);
    return check_input_rank(k, 3, 0, "default_value must be a scalar", st);
}

enum tfd_code tfd_sparse_rows_read(const struct tfd_kctx *k,
                                   struct tfd_sparse *s, struct tfd_status *st)
{
    int64_t rows;

    TFD_TRY(check_rows_inputs(k, st));
    TFD_TRY(tfd_sparse_read(k, 0, s, st));
    if (s->rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dense shape cannot be empty.");
    rows = s->dim[0];
    if (rows == 0 && s->count > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Received SparseTensor with dense_shape[0] = 0 but "
                        "indices.shape[0] = %" PRId64,
                        s->count);
    if (rows > INT64_MAX / 16)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for %" PRId64 " rows", rows);
    return TFD_OK;
}

static enum tfd_code fill_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_sparse_filling f = {0};

    TFD_TRY(tfd_sparse_rows_read(k, &f.s, st));
    f.rows = f.s.dim[0];
    TFD_TRY(find_empty_rows(k, &f, st));
    return f.ordered && f.total == f.s.count ? pass_elements(k, &f)
                                             : put_elements(k, &f, st);
}

static enum tfd_code fill_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_edge in[2] = {g->y[3], g->dy[1]}, out[2];

    if (g->dy[1].node < 0)
        return TFD_OK;
    TFD_TRY(tfd_grad_emit_attrs(g, "SparseFillEmptyRowsGrad", in, 2, NULL, 0,
                                out, 2, st));
    g->dx[1] = out[0];
    g->dx[3] = out[1];
    return TFD_OK;
}

static enum tfd_code fill_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_shape value = s->in[3], matrix, count;

    TFD_TRY(tfd_shape_merge(&value, &scalar, st));
    TFD_TRY(reorder_shape(s, st));
    matrix = s->out[0];
    count = s->out[1];
    s->out[0] = (struct tfd_shape){2, {TFD_DIM_UNKNOWN, matrix.dim[1]}};
    s->out[1] = (struct tfd_shape){1, {TFD_DIM_UNKNOWN}};
    s->out[2] = (struct tfd_shape){1, {TFD_DIM_UNKNOWN}};
    s->out[3] = count;
    return TFD_OK;
}

/* ---- Its gradient -------------------------------------------------------- */

/* What no element of the input became is the default value's; it is moved
 * together at the beginning of `left`, and added up from there. */
static enum tfd_code sum_left(struct tfd_kctx *k, const tfd_bool *used,
                              struct tfd_status *st)
{
    const struct tfd_tensor *dy = &k->in[1];
    struct tfd_tensor left = TFD_TENSOR_INIT;
    int64_t *rows = calloc((size_t)dy->shape.dim[0] + 1, sizeof(*rows));
    struct tfd_scatter s = {.rows = rows, .inner = 1, .limit = 1};
    enum tfd_code rc;

    if (!rows)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a sum");
    rc = tfd_tensor_new(&left, dy->dtype, &dy->shape, st);
    for (int64_t i = 0; rc == TFD_OK && i < dy->shape.dim[0]; i++)
        if (!used[i])
            rc = tfd_elements_copy(
                dy->dtype,
                tfd_element_at(tfd_tensor_data(&left), dy->dtype, s.count++),
                tfd_element_of(tfd_tensor_data(dy), dy->dtype, i), 1, st);
    s.to = tfd_tensor_data(&k->out[1]);
    s.by = tfd_tensor_data(&left);
    if (rc == TFD_OK) {
        tfd_elements_zero(dy->dtype, s.to, 1);
        rc = tfd_scatter_run(k, TFD_SCATTER_ADD, dy->dtype, &s, st);
    }
    tfd_tensor_unref(&left);
    free(rows);
    return rc;
}

static enum tfd_code gather_back(struct tfd_kctx *k, tfd_bool *used,
                                 struct tfd_status *st)
{
    const int64_t *map = tfd_tensor_data(&k->in[0]);
    int64_t count = k->in[0].shape.dim[0], limit = k->in[1].shape.dim[0],
            bad = tfd_rows_bad(map, TFD_INT64, count, limit);

    if (bad < count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Elements in reverse index must be in [0, %" PRId64
                        ") but got %" PRId64,
                        limit, map[bad]);
    for (int64_t i = 0; i < count; i++)
        used[map[i]] = 1;
    return gather_values(k, k->in[1].dtype, tfd_tensor_data(&k->out[0]),
                         tfd_tensor_data(&k->in[1]), map, count, st);
}

enum tfd_code tfd_sparse_rows_grad_outputs(struct tfd_kctx *k,
                                           struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};

    TFD_TRY(
        check_input_rank(k, 0, 1, "reverse_index_map must be a vector", st));
    TFD_TRY(check_input_rank(k, 1, 1, "grad_values must be a vector", st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[1].dtype, &k->in[0].shape, st));
    return tfd_kctx_output(k, 1, k->in[1].dtype, &scalar, st);
}

enum tfd_code tfd_sparse_rows_grad(struct tfd_kctx *k, struct tfd_status *st)
{
    tfd_bool *used;
    enum tfd_code rc;

    TFD_TRY(tfd_sparse_rows_grad_outputs(k, st));
    used = calloc((size_t)k->in[1].shape.dim[0] + 1, sizeof(*used));
    if (!used)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a sum");
    rc = gather_back(k, used, st);
    if (rc == TFD_OK)
        rc = sum_left(k, used, st);
    free(used);
    return rc;
}

static enum tfd_code fill_grad_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    struct tfd_shape map = {1, {TFD_DIM_UNKNOWN}}, values = map;

    TFD_TRY(tfd_shape_merge(&map, &s->in[0], st));
    TFD_TRY(tfd_shape_merge(&values, &s->in[1], st));
    s->out[0] = map;
    s->out[1] = (struct tfd_shape){0, {0}};
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseReorder",
        .inputs = "input_indices: int64, input_values: T, input_shape: int64",
        .outputs = "output_indices: int64, output_values: T",
        .attrs = "T: type",
        .key = "T",
        .shape = reorder_shape,
        .grad = reorder_gradient,
    },
    {
        .name = "SparseFillEmptyRows",
        .inputs = "indices: int64, values: T, dense_shape: int64, "
                  "default_value: T",
        .outputs = "output_indices: int64, output_values: T, "
                   "empty_row_indicator: bool, reverse_index_map: int64",
        .attrs = "T: type",
        .key = "T",
        .shape = fill_shape,
        .grad = fill_gradient,
    },
    {
        .name = "SparseFillEmptyRowsGrad",
        .inputs = "reverse_index_map: int64, grad_values: T",
        .outputs = "d_values: T, d_default_value: T",
        .attrs = "T: type",
        .key = "T",
        .shape = fill_grad_shape,
    },
};

#define GRAD(type_) \
    TFD_KERNEL("SparseFillEmptyRowsGrad", type_, tfd_sparse_rows_grad)

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SparseReorder", reorder_compute),
    TFD_KERNEL_ANY("SparseFillEmptyRows", fill_compute),
    GRAD(FLOAT),
    GRAD(DOUBLE),
    GRAD(HALF),
    GRAD(BFLOAT16),
    GRAD(INT8),
    GRAD(INT16),
    GRAD(INT32),
    GRAD(INT64),
    GRAD(UINT8),
    GRAD(UINT16),
    GRAD(UINT32),
    GRAD(UINT64),
    GRAD(COMPLEX64),
    GRAD(COMPLEX128),
};

const struct tfd_family tfd_family_sparse_rows = {
    .name = "sparse_rows",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
