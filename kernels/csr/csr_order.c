/*
 * csr_order.c - SparseMatrixOrderingAMD: for each matrix of a batch the
 * permutation of its rows that keeps its Cholesky factor thin.
 *
 * Only the lower triangle counts, whatever the upper one has.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/csr/amd.h"
#include "kernels/csr/csr_matrix.h"
#include "kernels/sparse/sparse_pick.h"

#include "config/limits.h"

#include <inttypes.h>
#include <string.h>

/* Entries of the symmetric matrix whose lower triangle x has. */
static enum tfd_code count_pattern(const struct tfd_csr_one *x, int64_t *count,
                                   struct tfd_status *st)
{
    *count = 0;
    for (int64_t r = 0; r < x->rows; r++) {
        if (tfd_sparse_stops(r))
            return tfd_halt_fail(st);
        for (int64_t i = x->row_at[r]; i < x->row_at[r + 1]; i++)
            if (x->column[i] <= r)
                *count += x->column[i] == r ? 1 : 2;
    }
    if (*count <= TFD_CSR_MADE_MAX &&
        *count + *count / 5 + 2 * x->rows < INT32_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "ordering a sparse matrix of %" PRId64 " rows and %" PRId64
                    " elements; the limits are %d and %" PRId64,
                    x->rows, *count, INT32_MAX / 8 * 3, TFD_CSR_MADE_MAX);
}

/* at[r] becomes where the neighbours of row r begin. */
static void place_pattern(const struct tfd_csr_one *x, int32_t *at)
{
    memset(at, 0, (size_t)(x->rows + 1) * sizeof(*at));
    for (int64_t r = 0; r < x->rows; r++) {
        if (tfd_sparse_stops(r))
            return;
        for (int64_t i = x->row_at[r]; i < x->row_at[r + 1]; i++) {
            if (x->column[i] <= r)
                at[r + 1]++;
            if (x->column[i] < r)
                at[x->column[i] + 1]++;
        }
    }
    tfd_csr_sum_rows(at, x->rows);
}

/* next[r] is where the next neighbour of row r goes. */
static void fill_pattern(const struct tfd_csr_one *x, int32_t *next,
                         int32_t *to)
{
    for (int64_t r = 0; r < x->rows; r++) {
        if (tfd_sparse_stops(r))
            return;
        for (int64_t i = x->row_at[r]; i < x->row_at[r + 1]; i++) {
            if (x->column[i] <= r)
                to[next[r]++] = x->column[i];
            if (x->column[i] < r)
                to[next[x->column[i]]++] = (int32_t)r;
        }
    }
}

/* `at` and `order` have a number more than there are rows. */
static enum tfd_code order_in(const struct tfd_csr_one *x, int32_t *at,
                              int32_t *work, int32_t *order,
                              struct tfd_status *st)
{
    place_pattern(x, at);
    if (tfd_halted())
        return tfd_halt_fail(st);
    memcpy(order, at, (size_t)x->rows * sizeof(*order));
    fill_pattern(x, order, work);
    if (tfd_halted())
        return tfd_halt_fail(st);
    return tfd_amd_order((int32_t)x->rows, at, work, order, st);
}

static enum tfd_code new_int32s(struct tfd_tensor *out, int64_t count,
                                struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, &count, 1, st));
    return tfd_tensor_new(out, TFD_INT32, &shape, st);
}

static enum tfd_code order_one(const struct tfd_csr_one *x, int32_t *to,
                               struct tfd_status *st)
{
    struct tfd_tensor t[3] = {TFD_TENSOR_INIT, TFD_TENSOR_INIT,
                              TFD_TENSOR_INIT};
    int64_t count;
    enum tfd_code rc = count_pattern(x, &count, st);

    if (rc == TFD_OK)
        rc = new_int32s(&t[0], x->rows + 1, st);
    if (rc == TFD_OK)
        rc = new_int32s(&t[1], tfd_amd_room(x->rows, count), st);
    if (rc == TFD_OK)
        rc = new_int32s(&t[2], x->rows + 1, st);
    if (rc == TFD_OK)
        rc = order_in(x, tfd_tensor_data(&t[0]), tfd_tensor_data(&t[1]),
                      tfd_tensor_data(&t[2]), st);
    if (rc == TFD_OK)
        memcpy(to, tfd_tensor_data(&t[2]), (size_t)x->rows * sizeof(*to));
    for (int i = 0; i < 3; i++)
        tfd_tensor_unref(&t[i]);
    return rc;
}

static enum tfd_code order_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape;
    struct tfd_csr m;
    int32_t *to;

    TFD_TRY(tfd_csr_read(k, 0, &m, st));
    TFD_TRY(tfd_csr_check_square(&m, st));
    TFD_TRY(tfd_shape_make(&shape, m.dim, m.rank - 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &shape, st));
    to = tfd_tensor_data(&k->out[0]);
    for (int64_t b = 0; b < m.batch && m.rows > 0; b++) {
        struct tfd_csr_one x = tfd_csr_at(&m, b);

        TFD_TRY(order_one(&x, to + b * m.rows, st));
    }
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseMatrixOrderingAMD",
        .inputs = "input: variant",
        .outputs = "output: int32",
        .attrs = "",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SparseMatrixOrderingAMD", order_compute),
};

const struct tfd_family tfd_family_csr_order = {
    .name = "csr_order",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
