/*
 * csr_product.c - SparseMatrixSparseMatMul: the product of two sparse matrices,
 * or of batches of them, as a sparse one.
 *
 * Row by row: the columns that a row of the product has are found by a mark for
 * each, then put in order; terms are added in a dense row.  A first pass
 * counts, so that the result is made in one piece.  Zeros that come of it stay
 * in it.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/csr/csr_grad.h"
#include "kernels/csr/csr_flip.h"
#include "kernels/sparse/sparse_pick.h"

#include "common/base/min.h"
#include "config/limits.h"

#include <complex.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Columns that qsort() gets at once: some milliseconds. */
#define SORTED_AT_ONCE INT64_C(65536)

struct how {
    bool transpose[2], adjoint[2]; /* of a and of b */
};

static enum tfd_code product_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    static const char *const names[2][2] = {{"transpose_a", "adjoint_a"},
                                            {"transpose_b", "adjoint_b"}};
    struct how *h = state;

    for (int i = 0; i < 2; i++) {
        TFD_TRY(tfd_node_bool(p->node, names[i][0], &h->transpose[i], st));
        TFD_TRY(tfd_node_bool(p->node, names[i][1], &h->adjoint[i], st));
        if (h->adjoint[i] && h->transpose[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Only one of %s and %s may be true.", names[i][1],
                            names[i][0]);
    }
    return TFD_OK;
}

/* ---- Operands ------------------------------------------------------------ */

struct factors {
    struct tfd_csr m[2];
    struct tfd_csr_parts turned[2];
};

static enum tfd_code read_factor(struct tfd_kctx *k, struct factors *f, int i,
                                 struct tfd_status *st)
{
    enum tfd_dtype dtype;

    TFD_TRY(tfd_node_type(k->node, "type", &dtype, st));
    if (f->m[i].dtype != dtype)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "dtype of %s is not equal to 'type': %s vs. %s",
                        i ? "b" : "a", tfd_dtype_name((int)f->m[i].dtype),
                        tfd_dtype_name((int)dtype));
    return TFD_OK;
}

/* As the product wants them. */
static enum tfd_code turn_factor(struct tfd_kctx *k, struct factors *f, int i,
                                 struct tfd_status *st)
{
    const struct how *h = k->state;

    if (!h->transpose[i] && !h->adjoint[i])
        return TFD_OK;
    TFD_TRY(tfd_csr_flip(&f->m[i], h->adjoint[i], &f->turned[i], st));
    f->m[i] = tfd_csr_of_parts(&f->turned[i]);
    return TFD_OK;
}

static enum tfd_code check_inner_sizes(const struct factors *f,
                                       struct tfd_status *st)
{
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];
    const struct tfd_csr *a = &f->m[0], *b = &f->m[1];
    struct tfd_shape x = {.rank = a->rank}, y = {.rank = b->rank};

    if (a->rank == b->rank && a->columns == b->rows)
        return TFD_OK;
    for (int d = 0; d < a->rank; d++)
        x.dim[d] = a->dim[d];
    for (int d = 0; d < b->rank; d++)
        y.dim[d] = b->dim[d];
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Inner product dimensions of A and B do not agree.  Shapes "
                    "are: %s vs. %s",
                    tfd_shape_text(&x, one), tfd_shape_text(&y, other));
}

static enum tfd_code read_factors(struct tfd_kctx *k, struct factors *f,
                                  struct tfd_status *st)
{
    for (int i = 0; i < 2; i++)
        TFD_TRY(tfd_csr_read(k, i, &f->m[i], st));
    for (int i = 0; i < 2; i++)
        TFD_TRY(read_factor(k, f, i, st));
    if (f->m[0].batch != f->m[1].batch && f->m[0].batch != 1 &&
        f->m[1].batch != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Batch sizes of A and B are not compatible.  Batch "
                        "sizes are: %" PRId64 " vs. %" PRId64,
                        f->m[0].batch, f->m[1].batch);
    for (int i = 0; i < 2; i++)
        TFD_TRY(turn_factor(k, f, i, st));
    return check_inner_sizes(f, st);
}

/* ---- Which columns ------------------------------------------------------- */

struct making {
    const struct tfd_csr *a, *b;
    int64_t batch; /* of the product; one matrix stands for all of a batch */
    int64_t *mark; /* by column: the row that it was last seen in, plus 1 */
    char *sum;     /* by column */
};

static struct tfd_csr_one matrix_of(const struct tfd_csr *x, int64_t m)
{
    return tfd_csr_at(x, x->batch == 1 ? 0 : m);
}

static int64_t mark_of(const struct making *x, int64_t m, int64_t row)
{
    return m * x->a->rows + row + 1;
}

/* The columns of a row of the product, put into `to` where there is one. */
static int64_t find_columns(const struct making *x, int64_t m, int64_t row,
                            int32_t *to)
{
    const struct tfd_csr_one a = matrix_of(x->a, m), b = matrix_of(x->b, m);
    int64_t seen = mark_of(x, m, row), count = 0;

    for (int64_t i = a.row_at[row]; i < a.row_at[row + 1] && !tfd_halted(); i++)
        for (int64_t j = b.row_at[a.column[i]]; j < b.row_at[a.column[i] + 1];
             j++) {
            if (x->mark[b.column[j]] == seen)
                continue;
            x->mark[b.column[j]] = seen;
            if (to)
                to[count] = b.column[j];
            count++;
        }
    return count;
}

static void clear_marks(const struct making *x)
{
    if (x->b->columns > 0)
        tfd_halt_clear(x->mark, (size_t)x->b->columns * sizeof(*x->mark));
}

static enum tfd_code count_all(const struct making *x, int64_t *count,
                               struct tfd_status *st)
{
    *count = 0;
    clear_marks(x);
    for (int64_t i = 0; i < x->batch * x->a->rows; i++) {
        if (tfd_halted())
            return tfd_halt_fail(st);
        *count += find_columns(x, i / x->a->rows, i % x->a->rows, NULL);
        if (*count > TFD_CSR_MADE_MAX)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "a product of sparse matrices of more than %" PRId64
                            " elements",
                            TFD_CSR_MADE_MAX);
    }
    return TFD_OK;
}

/* ---- Values -------------------------------------------------------------- */

/* Sums the terms of a row in a dense one, and takes out what it has. */
#define ROW(name, T)                                                       \
    static void row_##name(const struct making *x, int64_t m, int64_t row, \
                           const int32_t *column, int64_t count, void *to) \
    {                                                                      \
        const struct tfd_csr_one a = matrix_of(x->a, m);                   \
        const struct tfd_csr_one b = matrix_of(x->b, m);                   \
        const T *u = (const T *)a.values, *v = (const T *)b.values;        \
        T *sum = (T *)x->sum, *y = to;                                     \
                                                                           \
        for (int64_t i = 0; i < count; i++)                                \
            sum[column[i]] = 0;                                            \
        for (int64_t i = a.row_at[row];                                    \
             i < a.row_at[row + 1] && !tfd_halted(); i++)                  \
            for (int64_t j = b.row_at[a.column[i]];                        \
                 j < b.row_at[a.column[i] + 1]; j++)                       \
                sum[b.column[j]] += u[i] * v[j];                           \
        for (int64_t i = 0; i < count; i++)                                \
            y[i] = sum[column[i]];                                         \
    }

ROW(FLOAT, float)
ROW(DOUBLE, double)
ROW(COMPLEX64, float complex)
ROW(COMPLEX128, double complex)

static int compare_columns(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* All that have the mark, in order. */
static void gather_columns(const struct making *x, int64_t seen,
                           int32_t *column, int64_t count)
{
    int64_t at = 0;

    for (int64_t c = 0; c < x->b->columns && at < count; c++) {
        if (tfd_sparse_stops(c))
            return;
        if (x->mark[c] == seen)
            column[at++] = (int32_t)c;
    }
}

/* to[0..end) is x[0..middle) and x[middle..end), each in order, together. */
static void merge_columns(const int32_t *x, int64_t middle, int64_t end,
                          int32_t *to)
{
    int64_t i = 0, j = middle;

    for (int64_t at = 0; at < end; at++) {
        if (tfd_sparse_stops(at))
            return;
        to[at] = j >= end || (i < middle && x[i] < x[j]) ? x[i++] : x[j++];
    }
}

/* Blocks that a moment sorts, then twice as long ones of two each. */
static void sort_columns(int32_t *column, int32_t *room, int64_t count)
{
    int32_t *from = column, *to = room, *last;

    for (int64_t i = 0; i < count && !tfd_halted(); i += SORTED_AT_ONCE)
        qsort(column + i, (size_t)tfd_min(SORTED_AT_ONCE, count - i),
              sizeof(*column), compare_columns);
    for (int64_t n = SORTED_AT_ONCE; n < count; n *= 2) {
        for (int64_t i = 0; i < count && !tfd_halted(); i += 2 * n)
            merge_columns(from + i, tfd_min(n, count - i),
                          tfd_min(2 * n, count - i), to + i);
        last = from;
        from = to;
        to = last;
    }
    if (from != column && !tfd_halted())
        memcpy(column, from, (size_t)count * sizeof(*column));
}

/* A row that has many columns has its marks close together.  The room for its
 * sums, which are not begun, has that of its columns. */
static void order_columns(const struct making *x, int64_t m, int64_t row,
                          int32_t *column, int64_t count)
{
    if (count > x->b->columns / 32)
        gather_columns(x, mark_of(x, m, row), column, count);
    else
        sort_columns(column, (int32_t *)(void *)x->sum, count);
}

static void make_product_row(const struct making *x, int64_t m, int64_t row,
                             int32_t *column, int64_t count, void *values)
{
    order_columns(x, m, row, column, count);
    if (tfd_halted())
        return;
    if (x->a->dtype == TFD_FLOAT)
        row_FLOAT(x, m, row, column, count, values);
    else if (x->a->dtype == TFD_DOUBLE)
        row_DOUBLE(x, m, row, column, count, values);
    else if (x->a->dtype == TFD_COMPLEX64)
        row_COMPLEX64(x, m, row, column, count, values);
    else
        row_COMPLEX128(x, m, row, column, count, values);
}

static enum tfd_code make_all(const struct making *x, struct tfd_csr_parts *p,
                              struct tfd_status *st)
{
    int32_t *batch_at = tfd_tensor_data(&p->t[TFD_CSR_BATCHES]);
    int32_t *row_at = tfd_tensor_data(&p->t[TFD_CSR_ROWS]);
    int32_t *column = tfd_tensor_data(&p->t[TFD_CSR_COLUMNS]);
    char *values = tfd_tensor_data(&p->t[TFD_CSR_VALUES]);
    int64_t rows = x->a->rows, at = 0;

    clear_marks(x);
    for (int64_t m = 0; m < x->batch; m++) {
        int64_t first = at;

        for (int64_t row = 0; row < rows; row++) {
            int64_t count;

            if (tfd_halted())
                return tfd_halt_fail(st);
            count = find_columns(x, m, row, column + at);
            if (count > 0)
                make_product_row(x, m, row, column + at, count,
                                 values + at * (int64_t)x->a->size);
            at += count;
            row_at[m * (rows + 1) + row + 1] = (int32_t)(at - first);
        }
        batch_at[m + 1] = (int32_t)at;
    }
    return tfd_halted() ? tfd_halt_fail(st) : TFD_OK;
}

/* ---- The whole ----------------------------------------------------------- */

static enum tfd_code make_product(const struct making *x,
                                  struct tfd_csr_parts *p,
                                  struct tfd_status *st)
{
    int64_t dim[3] = {x->batch, 0, 0}, count;
    int rank = x->a->rank;

    dim[rank - 2] = x->a->rows;
    dim[rank - 1] = x->b->columns;
    TFD_TRY(count_all(x, &count, st));
    TFD_TRY(tfd_csr_parts_new(p, dim, rank, count, x->a->dtype, st));
    return count > 0 ? make_all(x, p, st) : TFD_OK;
}

static enum tfd_code multiply_sparse(struct tfd_kctx *k,
                                     const struct factors *f,
                                     struct tfd_status *st)
{
    struct tfd_tensor mark = TFD_TENSOR_INIT, sum = TFD_TENSOR_INIT;
    struct making x = {.a = &f->m[0], .b = &f->m[1]};
    int64_t rows;
    struct tfd_csr_parts p = {{TFD_TENSOR_INIT}};
    struct tfd_shape shape;
    enum tfd_code rc = tfd_shape_make(&shape, &x.b->columns, 1, st);

    x.batch = x.a->batch == 1 ? x.b->batch : x.a->batch;
    if (rc == TFD_OK && __builtin_mul_overflow(x.batch, x.a->rows, &rows))
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "%" PRId64 " products of %" PRId64 " rows each", x.batch,
                      x.a->rows);
    if (rc == TFD_OK)
        rc = tfd_sparse_numbers(&mark, x.b->columns, st);
    if (rc == TFD_OK)
        rc = tfd_tensor_new(&sum, x.a->dtype, &shape, st);
    x.mark = tfd_tensor_data(&mark);
    x.sum = tfd_tensor_data(&sum);
    if (rc == TFD_OK)
        rc = make_product(&x, &p, st);
    if (rc == TFD_OK)
        rc = tfd_csr_give(k, &p, st);
    tfd_csr_parts_drop(&p);
    tfd_tensor_unref(&sum);
    tfd_tensor_unref(&mark);
    return rc;
}

static enum tfd_code product_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct factors f = {.turned = {{{TFD_TENSOR_INIT}}, {{TFD_TENSOR_INIT}}}};
    enum tfd_code rc = read_factors(k, &f, st);

    if (rc == TFD_OK)
        rc = multiply_sparse(k, &f, st);
    for (int i = 0; i < 2; i++)
        tfd_csr_parts_drop(&f.turned[i]);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseMatrixSparseMatMul",
        .inputs = "a: variant, b: variant",
        .outputs = "c: variant",
        .attrs = "type: {float, double, complex64, complex128}; "
                 "transpose_a: bool = false; transpose_b: bool = false; "
                 "adjoint_a: bool = false; adjoint_b: bool = false",
        .key = "type",
        .shape = tfd_shape_scalar,
        .grad = tfd_csr_product_gradient,
    },
};

#define PRODUCT(type_)                                             \
    TFD_KERNEL("SparseMatrixSparseMatMul", type_, product_compute, \
               .prepare = product_prepare, .state_size = sizeof(struct how))

static const struct tfd_kernel kernels[] = {
    PRODUCT(FLOAT),
    PRODUCT(DOUBLE),
    PRODUCT(COMPLEX64),
    PRODUCT(COMPLEX128),
};

const struct tfd_family tfd_family_csr_product = {
    .name = "csr_product",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
