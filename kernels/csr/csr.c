/*
 * csr.c - sparse matrices as variants, made of sparse tensors and of dense
 * ones, and back: SparseTensorToCSRSparseMatrix, DenseToCSRSparseMatrix,
 * CSRSparseMatrixToSparseTensor, CSRSparseMatrixToDense,
 * CSRSparseMatrixComponents, SparseMatrixNNZ.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/core/summarize.h"
#include "kernels/csr/csr_matrix.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Of indices ---------------------------------------------------------- */

/* Batches and rows and columns of p, of indices within its dimensions; they
 * are taken to be in order.  Counts first, then sums. */
static enum tfd_code place_indices(struct tfd_csr_parts *p,
                                   const int64_t *index, int rank, int64_t rows,
                                   int64_t batch, int64_t count,
                                   struct tfd_status *st)
{
    int32_t *batch_at = tfd_tensor_data(&p->t[TFD_CSR_BATCHES]);
    int32_t *row_at = tfd_tensor_data(&p->t[TFD_CSR_ROWS]);
    int32_t *column = tfd_tensor_data(&p->t[TFD_CSR_COLUMNS]);

    for (int64_t i = 0; i < count; i++, index += rank) {
        int64_t b = rank == 3 ? index[0] : 0;

        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        if (i > 0 && rank == 3 && b < index[-3])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "indices[%" PRId64 "] is of matrix %" PRId64
                            ", the one before of %" PRId64
                            "; they must be in order",
                            i, b, index[-3]);
        batch_at[b + 1]++;
        row_at[b * (rows + 1) + index[rank - 2] + 1]++;
        column[i] = (int32_t)index[rank - 1];
    }
    tfd_csr_sum_rows(batch_at, batch);
    for (int64_t b = 0; b < batch; b++)
        tfd_csr_sum_rows(row_at + b * (rows + 1), rows);
    return TFD_OK;
}

static enum tfd_code check_width(int64_t columns, struct tfd_status *st)
{
    if (columns <= INT32_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "a sparse matrix of %" PRId64 " columns; at most %d are "
                    "possible",
                    columns, INT32_MAX);
}

static enum tfd_code make_of_sparse(const struct tfd_sparse *s,
                                    struct tfd_csr_parts *p,
                                    struct tfd_status *st)
{
    int64_t batch = s->rank == 2 ? 1 : s->dim[0];

    TFD_TRY(
        tfd_csr_parts_new(p, s->dim, s->rank, s->count, s->values->dtype, st));
    tfd_tensor_unref(&p->t[TFD_CSR_VALUES]);
    p->t[TFD_CSR_VALUES] = tfd_tensor_ref(s->values);
    return place_indices(p, s->index, s->rank, s->dim[s->rank - 2], batch,
                         s->count, st);
}

static enum tfd_code of_sparse_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_csr_parts p;
    struct tfd_sparse s;
    enum tfd_code rc;

    TFD_TRY(tfd_sparse_read(k, 0, &s, st));
    TFD_TRY(tfd_sparse_check_tuples(&s, st));
    if (s.rank != 2 && s.rank != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "SparseTensor must have rank 2 or 3; but indices has "
                        "rank: %d",
                        s.rank);
    TFD_TRY(check_width(s.dim[s.rank - 1], st));
    rc = make_of_sparse(&s, &p, st);
    if (rc == TFD_OK)
        rc = tfd_csr_give(k, &p, st);
    tfd_csr_parts_drop(&p);
    return rc;
}

/* ---- Of a dense one ------------------------------------------------------ */

static enum tfd_code check_dense(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *indices = &k->in[1].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank != 2 && x->rank != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "params must have rank == 2 or 3; but saw shape: %s",
                        tfd_shape_text(x, text));
    if (indices->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices must be a matrix, but saw shape: %s",
                        tfd_shape_text(indices, text));
    if (indices->dim[1] != x->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices.shape[1] must be equal to the rank of params, "
                        "but saw: %" PRId64 " vs. %d",
                        indices->dim[1], x->rank);
    return TFD_OK;
}

/* The place of an index in a dense tensor; -1: outside. */
static int64_t dense_place(const int64_t *index, const struct tfd_shape *x)
{
    int64_t at = 0;

    for (int d = 0; d < x->rank; d++) {
        if (index[d] < 0 || index[d] >= x->dim[d])
            return -1;
        at = at * x->dim[d] + index[d];
    }
    return at;
}

static enum tfd_code fail_index(const struct tfd_kctx *k, int64_t i,
                                const int64_t *index, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    char text[TFD_SHAPE_TEXT_MAX], where[TFD_SPARSE_TEXT_MAX];
    int at = 0;

    for (int d = 0; d < x->rank; d++)
        at += snprintf(where + at, sizeof(where) - (size_t)at, "%s%" PRId64,
                       d ? ", " : "", index[d]);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "indices[%" PRId64 "] = [%s] does not index into param "
                    "shape %s, node name: " TFD_STR_FMT,
                    i, where, tfd_shape_text(x, text),
                    TFD_STR_ARG(k->node->name));
}

static enum tfd_code pick_values(const struct tfd_kctx *k,
                                 struct tfd_csr_parts *p, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    const int64_t *index = tfd_tensor_data(&k->in[1]);
    char *to = tfd_tensor_data(&p->t[TFD_CSR_VALUES]);
    const char *from = tfd_tensor_data(&k->in[0]);
    size_t size = tfd_dtype_size(k->in[0].dtype);

    for (int64_t i = 0; i < k->in[1].shape.dim[0]; i++, index += x->rank) {
        int64_t at = dense_place(index, x);

        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        if (at < 0)
            return fail_index(k, i, index, st);
        memcpy(to + (size_t)i * size, from + (size_t)at * size, size);
    }
    return TFD_OK;
}

static enum tfd_code of_dense_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    int64_t count;
    struct tfd_csr_parts p;
    enum tfd_code rc;

    TFD_TRY(check_dense(k, st));
    TFD_TRY(check_width(x->dim[x->rank - 1], st));
    count = k->in[1].shape.dim[0];
    rc = tfd_csr_parts_new(&p, x->dim, x->rank, count, k->in[0].dtype, st);
    if (rc == TFD_OK)
        rc = pick_values(k, &p, st);
    if (rc == TFD_OK)
        rc = place_indices(&p, tfd_tensor_data(&k->in[1]), x->rank,
                           x->dim[x->rank - 2], x->rank == 2 ? 1 : x->dim[0],
                           count, st);
    if (rc == TFD_OK)
        rc = tfd_csr_give(k, &p, st);
    tfd_csr_parts_drop(&p);
    return rc;
}

/* ---- Back ---------------------------------------------------------------- */

static enum tfd_code check_type(const struct tfd_kctx *k,
                                const struct tfd_csr *m, const char *words,
                                const char *between, struct tfd_status *st)
{
    enum tfd_dtype dtype;

    TFD_TRY(tfd_node_type(k->node, "type", &dtype, st));
    if (m->dtype == dtype)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s%s%s%s", words,
                    tfd_dtype_name((int)dtype), between,
                    tfd_dtype_name((int)m->dtype));
}

/* Puts each element's index, or its value, where it belongs. */
struct walk {
    const struct tfd_csr *m;
    int64_t *index; /* NULL: values */
    char *dense;
};

static void walk_row(const struct walk *w, int64_t b, int64_t row)
{
    const struct tfd_csr *m = w->m;
    const int32_t *row_at = m->row_at + b * (m->rows + 1);
    int64_t base = m->batch_at[b];

    for (int64_t i = base + row_at[row]; i < base + row_at[row + 1]; i++) {
        if (w->index) {
            int64_t *to = w->index + i * m->rank;

            if (m->rank == 3)
                *to++ = b;
            to[0] = row;
            to[1] = m->column[i];
        } else {
            int64_t at = (b * m->rows + row) * m->columns + m->column[i];

            memcpy(w->dense + (size_t)at * m->size,
                   m->values + (size_t)i * m->size, m->size);
        }
    }
}

static enum tfd_code walk_all(const struct walk *w, struct tfd_status *st)
{
    for (int64_t i = 0; i < w->m->batch * w->m->rows; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        walk_row(w, i / w->m->rows, i % w->m->rows);
    }
    return TFD_OK;
}

static enum tfd_code to_sparse_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_csr m;
    struct walk w = {.m = &m};
    struct tfd_shape matrix;
    int64_t dim[2];

    TFD_TRY(tfd_csr_read(k, 0, &m, st));
    TFD_TRY(check_type(k, &m, "Expected a CSRSparseMatrix of type ",
                       " but saw type: ", st));
    dim[0] = m.count;
    dim[1] = m.rank;
    TFD_TRY(tfd_shape_make(&matrix, dim, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &matrix, st));
    k->out[1] = tfd_tensor_ref(&m.part[TFD_CSR_VALUES]);
    k->out[2] = tfd_tensor_ref(&m.part[TFD_CSR_DIMS]);
    w.index = tfd_tensor_data(&k->out[0]);
    return m.count > 0 ? walk_all(&w, st) : TFD_OK;
}

static enum tfd_code to_dense_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_csr m;
    struct walk w = {.m = &m};
    struct tfd_shape shape;

    TFD_TRY(tfd_csr_read(k, 0, &m, st));
    TFD_TRY(check_type(k, &m, "Asked for a CSRSparseMatrix of type ",
                       " but saw dtype: ", st));
    TFD_TRY(tfd_shape_make(&shape, m.dim, m.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, m.dtype, &shape, st));
    tfd_elements_clear(&k->out[0]);
    w.dense = tfd_tensor_data(&k->out[0]);
    return m.count > 0 ? walk_all(&w, st) : TFD_OK;
}

/* ---- Parts --------------------------------------------------------------- */

static enum tfd_code read_part_index(const struct tfd_kctx *k,
                                     const struct tfd_csr *m, int64_t *index,
                                     struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_bytes values;
    enum tfd_code rc;

    if (k->in[1].shape.rank == 0) {
        *index = tfd_check_int_at(&k->in[1], 0);
        if (*index >= 0 && *index < m->batch)
            return TFD_OK;
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "index (%" PRId64 ") not in [0, %" PRId64 ")", *index,
                        m->batch);
    }
    tfd_bytes_init(&values, TFD_STATUS_TEXT_MAX);
    tfd_summarize(&values, &k->in[1], 3);
    rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                  "index should be a scalar, but saw: Tensor<type: int32 "
                  "shape: %s values: " TFD_STR_FMT ">",
                  tfd_shape_text(&k->in[1].shape, text),
                  TFD_STR_ARG(tfd_bytes_view(&values)));
    tfd_bytes_deinit(&values);
    return rc;
}

static enum tfd_code check_part_type(const struct tfd_kctx *k,
                                     const struct tfd_csr *m,
                                     struct tfd_status *st)
{
    enum tfd_dtype dtype;

    TFD_TRY(tfd_node_type(k->node, "type", &dtype, st));
    if (m->dtype == dtype)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "dtype of input is not equal to 'type': %s vs. %s",
                    tfd_dtype_name((int)m->dtype), tfd_dtype_name((int)dtype));
}

static enum tfd_code put_vector(struct tfd_kctx *k, int out,
                                enum tfd_dtype dtype, const void *from,
                                int64_t count, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, &count, 1, st));
    TFD_TRY(tfd_kctx_output(k, out, dtype, &shape, st));
    if (count == 0)
        return TFD_OK;
    return tfd_elements_copy(dtype, tfd_tensor_data(&k->out[out]), from, count,
                             st);
}

static enum tfd_code parts_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_csr m;
    struct tfd_csr_one x;
    int64_t index = 0;

    TFD_TRY(tfd_csr_read(k, 0, &m, st));
    TFD_TRY(check_part_type(k, &m, st));
    TFD_TRY(read_part_index(k, &m, &index, st));
    x = tfd_csr_at(&m, index);
    TFD_TRY(put_vector(k, 0, TFD_INT32, x.row_at, x.rows + 1, st));
    TFD_TRY(put_vector(k, 1, TFD_INT32, x.column, x.count, st));
    return put_vector(k, 2, m.dtype, x.values, x.count, st);
}

static enum tfd_code count_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape = {0, {0}};
    struct tfd_csr m;
    int32_t *to;

    TFD_TRY(tfd_csr_read(k, 0, &m, st));
    if (m.rank == 3)
        TFD_TRY(tfd_shape_make(&shape, &m.batch, 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &shape, st));
    to = tfd_tensor_data(&k->out[0]);
    for (int64_t b = 0; b < m.batch; b++)
        to[b] = m.batch_at[b + 1] - m.batch_at[b];
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

/* Output `output` of an op on a matrix, whose type is the node's `attr`. */
static struct tfd_edge gradient_of_type(struct tfd_gradient *b, const char *op,
                                        struct tfd_edge x, const char *attr,
                                        int out_count, int output)
{
    struct tfd_edge out[3] = {TFD_EDGE_NONE, TFD_EDGE_NONE, TFD_EDGE_NONE};
    struct tfd_attr type = {.name = TFD_STR("type")};

    if (b->code == TFD_OK && tfd_node_attr(b->g->node, attr, &type.value))
        b->code = tfd_grad_emit_attrs(b->g, op, &x, 1, &type, 1, out, out_count,
                                      b->st);
    return out[output];
}

static enum tfd_code of_sparse_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[1] = gradient_of_type(&b, "CSRSparseMatrixToSparseTensor", g->dy[0],
                                "T", 3, 1);
    return b.code;
}

static enum tfd_code of_dense_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] =
        gradient_of_type(&b, "CSRSparseMatrixToDense", g->dy[0], "T", 1, 0);
    return b.code;
}

static enum tfd_code to_sparse_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    if (g->dy[1].node >= 0)
        g->dx[0] = tfd_gradient_op3(&b, "SparseTensorToCSRSparseMatrix",
                                    g->y[0], g->dy[1], g->y[2]);
    return b.code;
}

static enum tfd_code to_dense_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge part[3] = {TFD_EDGE_NONE, TFD_EDGE_NONE, TFD_EDGE_NONE};
    static const char *const names[] = {"type", NULL};

    tfd_gradient_copying(&b, "CSRSparseMatrixToSparseTensor", g->x, 1, names,
                         part, 3);
    g->dx[0] = tfd_gradient_op3(
        &b, "SparseTensorToCSRSparseMatrix", part[0],
        tfd_gradient_op2(&b, "GatherNd", g->dy[0], part[0]), part[2]);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define TYPES "{float, double, complex64, complex128}"

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseTensorToCSRSparseMatrix",
        .inputs = "indices: int64, values: T, dense_shape: int64",
        .outputs = "sparse_matrix: variant",
        .attrs = "T: " TYPES,
        .shape = tfd_shape_scalar,
        .grad = of_sparse_gradient,
    },
    {
        .name = "DenseToCSRSparseMatrix",
        .inputs = "dense_input: T, indices: int64",
        .outputs = "sparse_output: variant",
        .attrs = "T: " TYPES,
        .shape = tfd_shape_scalar,
        .grad = of_dense_gradient,
    },
    {
        .name = "CSRSparseMatrixToSparseTensor",
        .inputs = "sparse_matrix: variant",
        .outputs = "indices: int64, values: type, dense_shape: int64",
        .attrs = "type: " TYPES,
        .key = "type",
        .grad = to_sparse_gradient,
    },
    {
        .name = "CSRSparseMatrixToDense",
        .inputs = "sparse_input: variant",
        .outputs = "dense_output: type",
        .attrs = "type: " TYPES,
        .key = "type",
        .grad = to_dense_gradient,
    },
    {
        .name = "CSRSparseMatrixComponents",
        .inputs = "csr_sparse_matrix: variant, index: int32",
        .outputs = "row_ptrs: int32, col_inds: int32, values: type",
        .attrs = "type: " TYPES,
        .key = "type",
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "SparseMatrixNNZ",
        .inputs = "sparse_matrix: variant",
        .outputs = "nnz: int32",
        .attrs = "",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define CSR_ROWS(op_, compute_)                                          \
    TFD_KERNEL(op_, FLOAT, compute_), TFD_KERNEL(op_, DOUBLE, compute_), \
        TFD_KERNEL(op_, COMPLEX64, compute_),                            \
        TFD_KERNEL(op_, COMPLEX128, compute_)

static const struct tfd_kernel kernels[] = {
    CSR_ROWS("SparseTensorToCSRSparseMatrix", of_sparse_compute),
    CSR_ROWS("DenseToCSRSparseMatrix", of_dense_compute),
    CSR_ROWS("CSRSparseMatrixToSparseTensor", to_sparse_compute),
    CSR_ROWS("CSRSparseMatrixToDense", to_dense_compute),
    CSR_ROWS("CSRSparseMatrixComponents", parts_compute),
    TFD_KERNEL_ANY("SparseMatrixNNZ", count_compute),
};

const struct tfd_family tfd_family_csr = {
    .name = "csr",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
