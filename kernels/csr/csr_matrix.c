/* csr_matrix.c - see csr_matrix.h. */
#include "kernels/csr/csr_matrix.h"

#include "common/base/variant.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>
#include <string.h>

/* ---- Reading ------------------------------------------------------------- */

static enum tfd_code fail_damaged(const char *what, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "a CSRSparseMatrix whose %s do not fit it", what);
}

static bool is_vector(const struct tfd_tensor *t, enum tfd_dtype dtype,
                      int64_t count)
{
    return t->dtype == dtype && t->shape.rank == 1 && t->shape.dim[0] == count;
}

static bool has_values(enum tfd_dtype t)
{
    return t == TFD_FLOAT || t == TFD_DOUBLE || t == TFD_COMPLEX64 ||
           t == TFD_COMPLEX128;
}

static enum tfd_code read_dims(struct tfd_csr *m, struct tfd_status *st)
{
    const struct tfd_tensor *t = &m->part[TFD_CSR_DIMS];

    if (t->dtype != TFD_INT64 || t->shape.rank != 1 || t->shape.dim[0] < 2 ||
        t->shape.dim[0] > 3)
        return fail_damaged("dimensions", st);
    m->rank = (int)t->shape.dim[0];
    m->dim = tfd_tensor_data(t);
    m->batch = m->rank == 2 ? 1 : m->dim[0];
    m->rows = m->dim[m->rank - 2];
    m->columns = m->dim[m->rank - 1];
    if (m->batch < 0 || m->rows < 0 || m->columns < 0)
        return fail_damaged("dimensions", st);
    for (int d = 0; d < m->rank; d++)
        if (m->dim[d] > INT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "a CSRSparseMatrix whose dimension %d is %" PRId64
                            "; the limit is %d",
                            d, m->dim[d], INT32_MAX);
    return TFD_OK;
}

static enum tfd_code check_vectors(const struct tfd_csr *m,
                                   struct tfd_status *st)
{
    if (!is_vector(&m->part[TFD_CSR_ROWS], TFD_INT32, (m->rows + 1) * m->batch))
        return fail_damaged("rows", st);
    if (!is_vector(&m->part[TFD_CSR_BATCHES], TFD_INT32, m->batch + 1))
        return fail_damaged("batches", st);
    if (!has_values(m->dtype) ||
        !is_vector(&m->part[TFD_CSR_VALUES], m->dtype, m->count))
        return fail_damaged("values", st);
    if (!is_vector(&m->part[TFD_CSR_COLUMNS], TFD_INT32, m->count))
        return fail_damaged("columns", st);
    return TFD_OK;
}

static enum tfd_code check_batches(const struct tfd_csr *m,
                                   struct tfd_status *st)
{
    const int32_t *at = m->batch_at;

    if (at[0] != 0 || at[m->batch] != m->count)
        return fail_damaged("batches", st);
    for (int64_t b = 0; b < m->batch; b++)
        if (at[b] > at[b + 1])
            return fail_damaged("batches", st);
    return TFD_OK;
}

static enum tfd_code check_row_starts(const struct tfd_csr *m,
                                      struct tfd_status *st)
{
    for (int64_t b = 0; b < m->batch; b++) {
        struct tfd_csr_one x = tfd_csr_at(m, b);

        if (tfd_sparse_stops(b))
            return tfd_halt_fail(st);
        if (x.row_at[0] != 0 || x.row_at[x.rows] != x.count)
            return fail_damaged("rows", st);
        for (int64_t r = 0; r < x.rows; r++)
            if (x.row_at[r] > x.row_at[r + 1])
                return fail_damaged("rows", st);
    }
    return TFD_OK;
}

static enum tfd_code check_inner(const struct tfd_csr *m, struct tfd_status *st)
{
    bool outside = false;

    for (int64_t i = 0; i < m->count; i++)
        outside |= m->column[i] < 0 || m->column[i] >= m->columns;
    return outside ? fail_damaged("columns", st) : TFD_OK;
}

static enum tfd_code find_matrix(const struct tfd_kctx *k, int in,
                                 const struct tfd_variant **out,
                                 struct tfd_status *st)
{
    if (k->in[in].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid input matrix: Shape must be rank 0 but is "
                        "rank %d",
                        k->in[in].shape.rank);
    *out = tfd_variant_of(&k->in[in]);
    if (!*out || (*out)->kind != TFD_VARIANT_CSR ||
        (*out)->count != TFD_CSR_PARTS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Could not retrieve Variant input %d", in);
    return TFD_OK;
}

enum tfd_code tfd_csr_read(const struct tfd_kctx *k, int in,
                           struct tfd_csr *out, struct tfd_status *st)
{
    const struct tfd_variant *v = NULL;

    TFD_TRY(find_matrix(k, in, &v, st));
    *out = (struct tfd_csr){.part = v->tensors};
    TFD_TRY(read_dims(out, st));
    out->dtype = v->tensors[TFD_CSR_VALUES].dtype;
    out->count = tfd_tensor_elements(&v->tensors[TFD_CSR_VALUES]);
    out->size = tfd_dtype_size(out->dtype);
    TFD_TRY(check_vectors(out, st));
    out->batch_at = tfd_tensor_data(&v->tensors[TFD_CSR_BATCHES]);
    out->row_at = tfd_tensor_data(&v->tensors[TFD_CSR_ROWS]);
    out->column = tfd_tensor_data(&v->tensors[TFD_CSR_COLUMNS]);
    out->values = tfd_tensor_data(&v->tensors[TFD_CSR_VALUES]);
    TFD_TRY(check_batches(out, st));
    TFD_TRY(check_row_starts(out, st));
    return check_inner(out, st);
}

struct tfd_csr_one tfd_csr_at(const struct tfd_csr *m, int64_t batch)
{
    int64_t first = m->batch_at[batch];

    return (struct tfd_csr_one){
        .rows = m->rows,
        .columns = m->columns,
        .count = m->batch_at[batch + 1] - first,
        .row_at = m->row_at + batch * (m->rows + 1),
        .column = m->count > 0 ? m->column + first : NULL,
        .values = m->count > 0 ? m->values + first * (int64_t)m->size : NULL,
    };
}

enum tfd_code tfd_csr_check_square(const struct tfd_csr *m,
                                   struct tfd_status *st)
{
    if (m->rows == m->columns)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "sparse matrix must be square; got: %" PRId64
                    " != %" PRId64,
                    m->rows, m->columns);
}

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code new_vector(struct tfd_tensor *out, enum tfd_dtype dtype,
                                int64_t count, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, &count, 1, st));
    return tfd_tensor_new(out, dtype, &shape, st);
}

enum tfd_code tfd_csr_check_sizes(const int64_t *dim, int rank, int64_t count,
                                  struct tfd_status *st)
{
    int64_t batch = rank == 2 ? 1 : dim[0], rows;

    if (batch >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "dense_shape batch_size must be < Int32Max, but the "
                        "input value is %" PRId64,
                        batch);
    if (count > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "values number of elements must be <= Int32Max, but "
                        "the input value is %" PRId64,
                        count);
    if (__builtin_add_overflow(dim[rank - 2], 1, &rows) ||
        __builtin_mul_overflow(rows, batch, &rows))
        rows = INT64_MAX;
    if (rows > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The csr row index size, computed based on the "
                        "dense_shape, must be <= Int32Max, but is too large. "
                        "Current value is %" PRId64,
                        rows);
    return TFD_OK;
}

enum tfd_code tfd_csr_parts_new(struct tfd_csr_parts *p, const int64_t *dim,
                                int rank, int64_t count, enum tfd_dtype dtype,
                                struct tfd_status *st)
{
    int64_t batch = rank == 2 ? 1 : dim[0], rows;
    struct tfd_tensor *t = p->t;

    for (int i = 0; i < TFD_CSR_PARTS; i++)
        t[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    TFD_TRY(tfd_csr_check_sizes(dim, rank, count, st));
    rows = (dim[rank - 2] + 1) * batch;
    TFD_TRY(new_vector(&t[TFD_CSR_DIMS], TFD_INT64, rank, st));
    TFD_TRY(new_vector(&t[TFD_CSR_BATCHES], TFD_INT32, batch + 1, st));
    TFD_TRY(new_vector(&t[TFD_CSR_ROWS], TFD_INT32, rows, st));
    TFD_TRY(new_vector(&t[TFD_CSR_COLUMNS], TFD_INT32, count, st));
    TFD_TRY(new_vector(&t[TFD_CSR_VALUES], dtype, count, st));
    memcpy(tfd_tensor_data(&t[TFD_CSR_DIMS]), dim, (size_t)rank * sizeof(*dim));
    memset(tfd_tensor_data(&t[TFD_CSR_BATCHES]), 0,
           (size_t)(batch + 1) * sizeof(int32_t));
    if (rows > 0)
        memset(tfd_tensor_data(&t[TFD_CSR_ROWS]), 0,
               (size_t)rows * sizeof(int32_t));
    return TFD_OK;
}

void tfd_csr_parts_drop(struct tfd_csr_parts *p)
{
    for (int i = 0; i < TFD_CSR_PARTS; i++)
        tfd_tensor_unref(&p->t[i]);
}

enum tfd_code tfd_csr_give(struct tfd_kctx *k, const struct tfd_csr_parts *p,
                           struct tfd_status *st)
{
    struct tfd_variant *v;

    TFD_TRY(tfd_variant_holding(TFD_VARIANT_CSR, p->t, TFD_CSR_PARTS, &v, st));
    return tfd_variant_tensor(v, &k->out[0], st);
}

void tfd_csr_sum_rows(int32_t *row_at, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++)
        row_at[r + 1] += row_at[r];
}

void tfd_csr_conjugate(enum tfd_dtype dtype, void *values, int64_t count)
{
    float *single = values;
    double *wide = values;

    for (int64_t i = 0; dtype == TFD_COMPLEX64 && i < count; i++)
        single[2 * i + 1] = -single[2 * i + 1];
    for (int64_t i = 0; dtype == TFD_COMPLEX128 && i < count; i++)
        wide[2 * i + 1] = -wide[2 * i + 1];
}
