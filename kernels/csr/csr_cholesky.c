/*
 * csr_cholesky.c - SparseMatrixSparseCholesky: the lower Cholesky factor of
 * each symmetric matrix of a batch, whose rows and columns a permutation puts
 * in another order first.
 *
 * Only the lower triangle of the input counts.  A first pass finds for each
 * row the columns that its factor has, by the elimination tree (Liu, 1986), and
 * counts them, so that the result is made in one piece.  The second computes
 * row by row: each is the solution of a triangular system by the rows before
 * it, which are kept by columns.  Equal indices are added up, and zeros that
 * come of it stay in it.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/csr/csr_matrix.h"
#include "kernels/sparse/sparse_pick.h"

#include "config/limits.h"

#include <complex.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Inputs -------------------------------------------------------------- */

static enum tfd_code check_permutation_shape(const struct tfd_kctx *k,
                                             const struct tfd_csr *m,
                                             struct tfd_status *st)
{
    const struct tfd_shape *p = &k->in[1].shape;

    if (p->rank + 1 != m->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "sparse matrix must have the same rank as permutation; "
                        "got: %d != %d + 1.",
                        m->rank, p->rank);
    if (m->rank == 3 && p->dim[0] != m->batch)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "permutation must have the same batch size as sparse "
                        "matrix; got: %" PRId64 " != %" PRId64,
                        p->dim[0], m->batch);
    if (p->dim[p->rank - 1] != m->rows)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "permutation must have the same number of elements in "
                        "each batch as the number of rows in sparse matrix; "
                        "got: %" PRId64 " != %" PRId64,
                        p->dim[p->rank - 1], m->rows);
    return TFD_OK;
}

static enum tfd_code read_input(const struct tfd_kctx *k, struct tfd_csr *m,
                                struct tfd_status *st)
{
    enum tfd_dtype dtype;

    TFD_TRY(tfd_csr_read(k, 0, m, st));
    TFD_TRY(tfd_node_type(k->node, "type", &dtype, st));
    if (m->dtype != dtype)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Asked for a CSRSparseMatrix of type %s but saw dtype: "
                        "%s",
                        tfd_dtype_name((int)dtype),
                        tfd_dtype_name((int)m->dtype));
    TFD_TRY(tfd_csr_check_square(m, st));
    return check_permutation_shape(k, m, st);
}

/* ---- Symbolic ------------------------------------------------------------ */

/* All arrays have a number for each row, the starts one more. */
struct factor {
    const struct tfd_csr *m;
    const int32_t *permutation; /* of the whole batch */
    int64_t rows;
    int32_t *place;     /* where each row goes */
    int32_t *entry_at;  /* where the entries of a permuted row begin */
    int32_t *column;    /* of each entry that counts, at most that of its row */
    int32_t *from;      /* its number among those of the matrix, ~ conjugated */
    int32_t *parent;    /* of the elimination tree; -1: a root */
    int32_t *seen;      /* by column: the row that it was last seen in */
    int32_t *found;     /* columns of a row */
    int32_t *column_at; /* where the factor's columns begin */
    int32_t *filled;    /* numbers that a column has so far */
};

static enum tfd_code place_rows(const struct factor *f, int64_t b,
                                struct tfd_status *st)
{
    const int32_t *p = f->permutation + b * f->rows;

    for (int64_t i = 0; i < f->rows; i++)
        f->place[i] = -1;
    for (int64_t i = 0; i < f->rows; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        if (p[i] < 0 || p[i] >= f->rows)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "permutation has %d at %" PRId64
                            " of batch index %" PRId64 "; it must be in [0, "
                            "%" PRId64 ")",
                            p[i], i, b, f->rows);
        if (f->place[p[i]] >= 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "permutation has %d twice, at %d and %" PRId64
                            " of batch index %" PRId64,
                            p[i], f->place[p[i]], i, b);
        f->place[p[i]] = (int32_t)i;
    }
    return TFD_OK;
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* The permuted lower triangle, its rows' entries in the order of the input;
 * what comes to lie above the diagonal is mirrored. */
static void place_entries(const struct factor *f, const struct tfd_csr_one *x)
{
    memset(f->entry_at, 0, (size_t)(f->rows + 1) * sizeof(*f->entry_at));
    for (int64_t r = 0; r < f->rows && !tfd_sparse_stops(r); r++)
        for (int64_t i = x->row_at[r]; i < x->row_at[r + 1]; i++)
            if (x->column[i] <= r)
                f->entry_at[larger(f->place[r], f->place[x->column[i]]) + 1]++;
    tfd_csr_sum_rows(f->entry_at, f->rows);
    memcpy(f->filled, f->entry_at, (size_t)f->rows * sizeof(*f->filled));
    for (int64_t r = 0; r < f->rows && !tfd_sparse_stops(r); r++)
        for (int32_t i = x->row_at[r]; i < x->row_at[r + 1]; i++) {
            int32_t row = f->place[r], column, at;

            if (x->column[i] > r)
                continue;
            column = f->place[x->column[i]];
            at = f->filled[larger(row, column)]++;
            f->column[at] = row < column ? row : column;
            f->from[at] = row < column ? ~i : i;
        }
}

/* The elimination tree, and how many numbers each column of the factor has. */
static enum tfd_code count_columns(const struct factor *f, int64_t *count,
                                   struct tfd_status *st)
{
    *count = 0;
    for (int32_t k = 0; k < f->rows; k++) {
        f->parent[k] = -1;
        f->seen[k] = k;
        f->filled[k] = 1;
        for (int32_t p = f->entry_at[k];
             p < f->entry_at[k + 1] && !tfd_sparse_stops(p); p++)
            for (int32_t i = f->column[p]; f->seen[i] != k; i = f->parent[i]) {
                if (f->parent[i] < 0)
                    f->parent[i] = k;
                f->seen[i] = k;
                f->filled[i]++;
                ++*count;
            }
        ++*count;
        if (tfd_halted())
            return tfd_halt_fail(st);
        if (*count > TFD_CSR_MADE_MAX)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "a factor of a sparse matrix of more than %" PRId64
                            " elements",
                            TFD_CSR_MADE_MAX);
    }
    return TFD_OK;
}

static enum tfd_code analyze(const struct factor *f, int64_t b, int64_t *count,
                             struct tfd_status *st)
{
    struct tfd_csr_one x = tfd_csr_at(f->m, b);

    TFD_TRY(place_rows(f, b, st));
    place_entries(f, &x);
    if (tfd_halted())
        return tfd_halt_fail(st);
    TFD_TRY(count_columns(f, count, st));
    f->column_at[0] = 0;
    memcpy(f->column_at + 1, f->filled, (size_t)f->rows * sizeof(*f->filled));
    tfd_csr_sum_rows(f->column_at, f->rows);
    return TFD_OK;
}

/* ---- Numeric ------------------------------------------------------------- */

/* The factor of one matrix by columns, whose first number is the diagonal's,
 * and a dense row that is all zeros between rows. */
struct numbers {
    const char *from; /* values of the matrix */
    int32_t *row;
    char *values;
    char *sum;
};

/* The columns of row k before its diagonal, found[i] for i from the answer to
 * f->rows, each before those that depend on it. */
static int64_t find_row(const struct factor *f, int32_t k)
{
    int64_t top = f->rows;

    f->seen[k] = k;
    for (int32_t p = f->entry_at[k];
         p < f->entry_at[k + 1] && !tfd_sparse_stops(p); p++) {
        int64_t count = 0;

        for (int32_t i = f->column[p]; f->seen[i] != k; i = f->parent[i]) {
            f->found[count++] = i;
            f->seen[i] = k;
        }
        while (count > 0)
            f->found[--top] = f->found[--count];
    }
    return top;
}

#define CONJ_REAL(x) (x)
#define REAL_REAL(x) (x)

/* Computes row k of the factor and whether its diagonal is positive.  The
 * factor's numbers are those of the row, not conjugated. */
#define FACTOR_ROW(name, T, R, CONJ, REAL, SQRT)                        \
    static bool factor_row_##name(const struct factor *f,               \
                                  const struct numbers *x, int32_t k)   \
    {                                                                   \
        const T *from = (const T *)(const void *)x->from;               \
        T *values = (T *)(void *)x->values, *sum = (T *)(void *)x->sum; \
        int64_t top = find_row(f, k);                                   \
        R diagonal;                                                     \
                                                                        \
        for (int32_t p = f->entry_at[k]; p < f->entry_at[k + 1]; p++) { \
            int32_t i = f->from[p];                                     \
                                                                        \
            sum[f->column[p]] += i < 0 ? CONJ(from[~i]) : from[i];      \
        }                                                               \
        diagonal = REAL(sum[k]);                                        \
        sum[k] = 0;                                                     \
        for (int64_t j = top; j < f->rows && !tfd_halted(); j++) {      \
            int32_t i = f->found[j], first = f->column_at[i];           \
            int32_t end = first + f->filled[i];                         \
            T y = sum[i] / REAL(values[first]);                         \
                                                                        \
            sum[i] = 0;                                                 \
            for (int32_t p = first + 1; p < end; p++)                   \
                sum[x->row[p]] -= CONJ(values[p]) * y;                  \
            diagonal -= REAL(y * CONJ(y));                              \
            x->row[end] = k;                                            \
            values[end] = y;                                            \
            f->filled[i]++;                                             \
        }                                                               \
        x->row[f->column_at[k]] = k;                                    \
        values[f->column_at[k]] = SQRT(diagonal);                       \
        f->filled[k] = 1;                                               \
        return !(diagonal <= 0);                                        \
    }

FACTOR_ROW(FLOAT, float, float, CONJ_REAL, REAL_REAL, sqrtf)
FACTOR_ROW(DOUBLE, double, double, CONJ_REAL, REAL_REAL, sqrt)
FACTOR_ROW(COMPLEX64, float complex, float, conjf, crealf, sqrtf)
FACTOR_ROW(COMPLEX128, double complex, double, conj, creal, sqrt)

static bool factor_row(const struct factor *f, const struct numbers *x,
                       int32_t k)
{
    switch (f->m->dtype) {
    case TFD_FLOAT:
        return factor_row_FLOAT(f, x, k);
    case TFD_DOUBLE:
        return factor_row_DOUBLE(f, x, k);
    case TFD_COMPLEX64:
        return factor_row_COMPLEX64(f, x, k);
    default:
        return factor_row_COMPLEX128(f, x, k);
    }
}

static enum tfd_code factor_rows(const struct factor *f,
                                 const struct numbers *x, int64_t b,
                                 struct tfd_status *st)
{
    memset(x->sum, 0, (size_t)f->rows * f->m->size);
    for (int32_t k = 0; k < f->rows; k++)
        f->seen[k] = -1;
    for (int32_t k = 0; k < f->rows; k++) {
        bool positive = factor_row(f, x, k);

        if (tfd_halted())
            return tfd_halt_fail(st);
        if (!positive)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Sparse Cholesky factorization failed for batch "
                            "index %" PRId64 ". The input might not be valid.",
                            b);
    }
    return TFD_OK;
}

/* From columns to rows of the result, whose numbers of this matrix begin at
 * `first`. */
static enum tfd_code put_rows(const struct factor *f, const struct numbers *x,
                              struct tfd_csr_parts *p, int64_t b, int64_t first,
                              struct tfd_status *st)
{
    int32_t *row_at =
        (int32_t *)tfd_tensor_data(&p->t[TFD_CSR_ROWS]) + b * (f->rows + 1);
    int32_t *column = (int32_t *)tfd_tensor_data(&p->t[TFD_CSR_COLUMNS]);
    char *values = tfd_tensor_data(&p->t[TFD_CSR_VALUES]);
    size_t size = f->m->size;

    for (int32_t i = 0; i < f->column_at[f->rows] && !tfd_sparse_stops(i); i++)
        row_at[x->row[i] + 1]++;
    tfd_csr_sum_rows(row_at, f->rows);
    memcpy(f->filled, row_at, (size_t)f->rows * sizeof(*row_at));
    for (int32_t c = 0; c < f->rows; c++) {
        if (tfd_halted())
            return tfd_halt_fail(st);
        for (int32_t i = f->column_at[c]; i < f->column_at[c + 1]; i++) {
            int64_t to = first + f->filled[x->row[i]]++;

            column[to] = c;
            memcpy(values + (size_t)to * size, x->values + (size_t)i * size,
                   size);
        }
    }
    return TFD_OK;
}

static enum tfd_code new_numbers(struct tfd_tensor *out, enum tfd_dtype dtype,
                                 int64_t count, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, &count, 1, st));
    return tfd_tensor_new(out, dtype, &shape, st);
}

static enum tfd_code factor_one(const struct factor *f, char *sum,
                                struct tfd_csr_parts *p, int64_t b,
                                int64_t first, int64_t count,
                                struct tfd_status *st)
{
    struct tfd_tensor row = TFD_TENSOR_INIT, values = TFD_TENSOR_INIT;
    struct numbers x = {.sum = sum, .from = tfd_csr_at(f->m, b).values};
    enum tfd_code rc = new_numbers(&row, TFD_INT32, count, st);

    if (rc == TFD_OK)
        rc = new_numbers(&values, f->m->dtype, count, st);
    x.row = tfd_tensor_data(&row);
    x.values = tfd_tensor_data(&values);
    if (rc == TFD_OK)
        rc = factor_rows(f, &x, b, st);
    if (rc == TFD_OK)
        rc = put_rows(f, &x, p, b, first, st);
    tfd_tensor_unref(&row);
    tfd_tensor_unref(&values);
    return rc;
}

/* ---- The whole ----------------------------------------------------------- */

/* Numbers that `analyze` says each matrix has; batch_at is where they begin. */
static enum tfd_code count_batch(const struct factor *f, int32_t *batch_at,
                                 int64_t *total, struct tfd_status *st)
{
    *total = 0;
    for (int64_t b = 0; b < f->m->batch; b++) {
        int64_t count = 0;

        if (f->rows > 0)
            TFD_TRY(analyze(f, b, &count, st));
        *total += count;
        if (*total > TFD_CSR_MADE_MAX)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "factors of sparse matrices of more than %" PRId64
                            " elements together",
                            TFD_CSR_MADE_MAX);
        batch_at[b + 1] = (int32_t)*total;
    }
    return TFD_OK;
}

static enum tfd_code factor_batch(const struct factor *f, int32_t *batch_at,
                                  struct tfd_csr_parts *p,
                                  struct tfd_status *st)
{
    struct tfd_tensor sum = TFD_TENSOR_INIT;
    int64_t total, count;
    enum tfd_code rc;

    batch_at[0] = 0;
    TFD_TRY(count_batch(f, batch_at, &total, st));
    TFD_TRY(
        tfd_csr_parts_new(p, f->m->dim, f->m->rank, total, f->m->dtype, st));
    memcpy(tfd_tensor_data(&p->t[TFD_CSR_BATCHES]), batch_at,
           (size_t)(f->m->batch + 1) * sizeof(*batch_at));
    rc = new_numbers(&sum, f->m->dtype, f->rows, st);
    for (int64_t b = 0; b < f->m->batch && f->rows > 0 && rc == TFD_OK; b++) {
        rc = analyze(f, b, &count, st);
        if (rc == TFD_OK)
            rc = factor_one(f, tfd_tensor_data(&sum), p, b, batch_at[b], count,
                            st);
    }
    tfd_tensor_unref(&sum);
    return rc;
}

/* The most elements that a matrix of the batch has. */
static int64_t longest_matrix(const struct tfd_csr *m)
{
    int64_t longest = 0;

    for (int64_t b = 0; b < m->batch; b++)
        if (longest < m->batch_at[b + 1] - m->batch_at[b])
            longest = m->batch_at[b + 1] - m->batch_at[b];
    return longest;
}

/* The arrays of f lie in `work` behind one another, `entries` long ones last;
 * NULL: how many numbers they have. */
static int64_t name_arrays(struct factor *f, int32_t *work, int64_t entries)
{
    int32_t **const arrays[] = {
        &f->place, &f->entry_at,  &f->parent, &f->seen,
        &f->found, &f->column_at, &f->filled,
    };
    int64_t count = (f->rows + 1) * (int64_t)TFD_COUNT(arrays);

    for (size_t i = 0; work && i < TFD_COUNT(arrays); i++)
        *arrays[i] = work + (int64_t)i * (f->rows + 1);
    f->column = work ? work + count : NULL;
    f->from = work ? work + count + entries : NULL;
    return count + 2 * entries;
}

static enum tfd_code factor_all(struct tfd_kctx *k, const struct tfd_csr *m,
                                struct tfd_csr_parts *p, struct tfd_status *st)
{
    struct tfd_tensor work = TFD_TENSOR_INIT, starts = TFD_TENSOR_INIT;
    struct factor f = {
        .m = m, .rows = m->rows, .permutation = tfd_tensor_data(&k->in[1])};
    int64_t longest = longest_matrix(m);
    enum tfd_code rc =
        new_numbers(&work, TFD_INT32, name_arrays(&f, NULL, longest), st);

    if (rc == TFD_OK)
        rc = new_numbers(&starts, TFD_INT32, m->batch + 1, st);
    if (rc == TFD_OK) {
        (void)name_arrays(&f, tfd_tensor_data(&work), longest);
        rc = factor_batch(&f, tfd_tensor_data(&starts), p, st);
    }
    tfd_tensor_unref(&starts);
    tfd_tensor_unref(&work);
    return rc;
}

static enum tfd_code cholesky_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_csr_parts p = {{TFD_TENSOR_INIT}};
    struct tfd_csr m;
    enum tfd_code rc;

    TFD_TRY(read_input(k, &m, st));
    rc = factor_all(k, &m, &p, st);
    if (rc == TFD_OK)
        rc = tfd_csr_give(k, &p, st);
    tfd_csr_parts_drop(&p);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseMatrixSparseCholesky",
        .inputs = "input: variant, permutation: int32",
        .outputs = "output: variant",
        .attrs = "type: {float, double, complex64, complex128}",
        .key = "type",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("SparseMatrixSparseCholesky", FLOAT, cholesky_compute),
    TFD_KERNEL("SparseMatrixSparseCholesky", DOUBLE, cholesky_compute),
    TFD_KERNEL("SparseMatrixSparseCholesky", COMPLEX64, cholesky_compute),
    TFD_KERNEL("SparseMatrixSparseCholesky", COMPLEX128, cholesky_compute),
};

const struct tfd_family tfd_family_csr_cholesky = {
    .name = "csr_cholesky",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
