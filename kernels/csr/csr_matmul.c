/*
 * csr_matmul.c - SparseMatrixMatMul: a sparse matrix times a dense one, or
 * batches of them.
 *
 * A sparse matrix that is to be transposed is so first; the dense one and the
 * output are transposed by their strides.  A row of the output is the sum of
 * rows of b, one for each element of its row of a.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/csr/csr_grad.h"
#include "kernels/csr/csr_flip.h"
#include "kernels/sparse/sparse_pick.h"

#include <complex.h>
#include <inttypes.h>

#define TERM_COST_NS 1

struct how {
    bool transpose_a, transpose_b, adjoint_a, adjoint_b;
    bool transpose_output, conjugate_output;
};

static enum tfd_code matmul_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    const struct tfd_node *n = p->node;
    struct how *h = state;

    TFD_TRY(tfd_node_bool(n, "transpose_a", &h->transpose_a, st));
    TFD_TRY(tfd_node_bool(n, "transpose_b", &h->transpose_b, st));
    TFD_TRY(tfd_node_bool(n, "adjoint_a", &h->adjoint_a, st));
    TFD_TRY(tfd_node_bool(n, "adjoint_b", &h->adjoint_b, st));
    TFD_TRY(tfd_node_bool(n, "transpose_output", &h->transpose_output, st));
    TFD_TRY(tfd_node_bool(n, "conjugate_output", &h->conjugate_output, st));
    if (h->adjoint_a && h->transpose_a)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Only one of adjoint_a and transpose_a may be true.");
    if (h->adjoint_b && h->transpose_b)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Only one of adjoint_b and transpose_b may be true.");
    h->transpose_a |= h->adjoint_a;
    h->transpose_b |= h->adjoint_b;
    return TFD_OK;
}

/* ---- Sizes --------------------------------------------------------------- */

static enum tfd_code check_ranks_match(const struct tfd_csr *a,
                                       const struct tfd_tensor *b,
                                       struct tfd_status *st)
{
    if (a->dtype != b->dtype)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input types don't match.  a.dtype == %s vs. b.dtype "
                        "== %s",
                        tfd_dtype_name((int)a->dtype),
                        tfd_dtype_name((int)b->dtype));
    if (a->rank != b->shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Ranks of a and b must match, saw: %d vs. %d.", a->rank,
                        b->shape.rank);
    if (a->rank == 3 && a->batch != b->shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Batch sizes of a and b must match, saw: %" PRId64
                        " vs. %" PRId64 ".",
                        a->batch, b->shape.dim[0]);
    return TFD_OK;
}

static enum tfd_code check_inner_sizes(const struct how *h,
                                       const struct tfd_csr *a,
                                       const struct tfd_shape *b,
                                       struct tfd_status *st)
{
    int64_t of_a = h->transpose_a ? a->rows : a->columns;
    int64_t of_b = b->dim[h->transpose_b ? b->rank - 1 : b->rank - 2];
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape shape = {.rank = a->rank};

    if (of_a == of_b)
        return TFD_OK;
    for (int d = 0; d < a->rank; d++)
        shape.dim[d] = a->dim[d];
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Inner product dimensions of A and B do not agree.  Shapes "
                    "are: %s vs. %s",
                    tfd_shape_text(&shape, one), tfd_shape_text(b, other));
}

/* ---- The product --------------------------------------------------------- */

struct product {
    const struct tfd_csr *a;
    const char *b;
    char *y;
    int64_t columns;                   /* of the product */
    int64_t b_matrix, b_row, b_column; /* strides, in elements */
    int64_t y_matrix, y_row, y_column;
    bool conjugate_b, conjugate_y;
};

#define PASS(x) (x)

/* Row `row` of matrix m. */
#define ROW(name, T, CONJ)                                                     \
    static void row_##name(const struct product *p, int64_t m, int64_t row)    \
    {                                                                          \
        const struct tfd_csr *a = p->a;                                        \
        const int32_t *row_at = a->row_at + m * (a->rows + 1) + row;           \
        const T *value = (const T *)a->values;                                 \
        T *y = (T *)p->y + m * p->y_matrix + row * p->y_row;                   \
                                                                               \
        for (int64_t i = a->batch_at[m] + row_at[0];                           \
             i < a->batch_at[m] + row_at[1] && !tfd_halted(); i++) {           \
            const T *b =                                                       \
                (const T *)p->b + m * p->b_matrix + a->column[i] * p->b_row;   \
                                                                               \
            if (p->conjugate_b)                                                \
                for (int64_t j = 0; j < p->columns; j++)                       \
                    y[j * p->y_column] += value[i] * CONJ(b[j * p->b_column]); \
            else                                                               \
                for (int64_t j = 0; j < p->columns; j++)                       \
                    y[j * p->y_column] += value[i] * b[j * p->b_column];       \
        }                                                                      \
        for (int64_t j = 0; p->conjugate_y && j < p->columns; j++)             \
            y[j * p->y_column] = CONJ(y[j * p->y_column]);                     \
    }

ROW(FLOAT, float, PASS)
ROW(DOUBLE, double, PASS)
ROW(COMPLEX64, float complex, conjf)
ROW(COMPLEX128, double complex, conj)

static enum tfd_code multiply_rows(void *arg, int64_t begin, int64_t end,
                                   struct tfd_status *st)
{
    const struct product *p = arg;
    enum tfd_dtype dtype = p->a->dtype;

    for (int64_t i = begin; i < end; i++) {
        int64_t m = i / p->a->rows, row = i % p->a->rows;

        if (tfd_halted())
            return tfd_halt_fail(st);
        if (dtype == TFD_FLOAT)
            row_FLOAT(p, m, row);
        else if (dtype == TFD_DOUBLE)
            row_DOUBLE(p, m, row);
        else if (dtype == TFD_COMPLEX64)
            row_COMPLEX64(p, m, row);
        else
            row_COMPLEX128(p, m, row);
    }
    return TFD_OK;
}

static void set_strides(struct product *p, const struct how *h,
                        const struct tfd_shape *b)
{
    int64_t width = b->dim[b->rank - 1];

    p->columns = h->transpose_b ? b->dim[b->rank - 2] : width;
    p->b_matrix = b->dim[b->rank - 2] * width;
    p->b_row = h->transpose_b ? 1 : width;
    p->b_column = h->transpose_b ? width : 1;
    p->y_matrix = p->a->rows * p->columns;
    p->y_row = h->transpose_output ? 1 : p->columns;
    p->y_column = h->transpose_output ? p->a->rows : 1;
    p->conjugate_b = h->adjoint_b;
    p->conjugate_y = h->conjugate_output;
}

/* a is as the product wants it. */
static enum tfd_code multiply_dense(struct tfd_kctx *k, const struct tfd_csr *a,
                                    struct tfd_status *st)
{
    const struct how *h = k->state;
    const struct tfd_shape *b = &k->in[1].shape;
    struct product p = {.a = a, .b = tfd_tensor_data(&k->in[1])};
    int64_t dim[3] = {a->batch, 0, 0}, rows = a->batch * a->rows, cost;
    struct tfd_shape shape;

    set_strides(&p, h, b);
    dim[a->rank - 2] = h->transpose_output ? p.columns : a->rows;
    dim[a->rank - 1] = h->transpose_output ? a->rows : p.columns;
    TFD_TRY(tfd_shape_make(&shape, dim, a->rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, a->dtype, &shape, st));
    tfd_elements_clear(&k->out[0]);
    p.y = tfd_tensor_data(&k->out[0]);
    if (tfd_shape_elements(&shape) == 0 || a->count == 0)
        return TFD_OK;
    cost = (a->count / rows + 1) * p.columns * TERM_COST_NS;
    return tfd_kctx_try(k, rows, cost > INT32_MAX ? INT32_MAX : (int)cost,
                        multiply_rows, &p, st);
}

static enum tfd_code matmul_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct how *h = k->state;
    struct tfd_csr_parts parts;
    struct tfd_csr a, turned;
    enum tfd_code rc;

    TFD_TRY(tfd_csr_read(k, 0, &a, st));
    TFD_TRY(check_ranks_match(&a, &k->in[1], st));
    TFD_TRY(check_inner_sizes(h, &a, &k->in[1].shape, st));
    if (!h->transpose_a)
        return multiply_dense(k, &a, st);
    rc = tfd_csr_flip(&a, h->adjoint_a, &parts, st);
    if (rc == TFD_OK) {
        turned = tfd_csr_of_parts(&parts);
        rc = multiply_dense(k, &turned, st);
    }
    tfd_csr_parts_drop(&parts);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseMatrixMatMul",
        .inputs = "a: variant, b: T",
        .outputs = "output: T",
        .attrs = "T: type; transpose_a: bool = false; "
                 "transpose_b: bool = false; adjoint_a: bool = false; "
                 "adjoint_b: bool = false; transpose_output: bool = false; "
                 "conjugate_output: bool = false",
        .grad = tfd_csr_matmul_gradient,
    },
};

#define MATMUL(type_)                                       \
    TFD_KERNEL("SparseMatrixMatMul", type_, matmul_compute, \
               .prepare = matmul_prepare, .state_size = sizeof(struct how))

static const struct tfd_kernel kernels[] = {
    MATMUL(FLOAT),
    MATMUL(DOUBLE),
    MATMUL(COMPLEX64),
    MATMUL(COMPLEX128),
};

const struct tfd_family tfd_family_csr_matmul = {
    .name = "csr_matmul",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
