/*
 * ragged_fill.c - RaggedFillEmptyRows: values with the row of each, and a
 * default for each row that has none.  Its gradient is SparseFillEmptyRowsGrad
 * by another name (kernels/sparse/sparse_rows.c).
 *
 * Rows are counted, become places, and each value goes to the next place of its
 * row.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/sparse/sparse_pick.h"
#include "kernels/sparse/sparse_rows.h"

#include <inttypes.h>

struct filling_rows {
    const int64_t *row; /* of each value */
    int64_t count, rows, total;
    int64_t *next; /* by row: the place of its next value */
};

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_ragged_rank(const struct tfd_kctx *k, int in,
                                       int rank, const char *what,
                                       struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[in].shape.rank == rank)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be a %s, saw: %s", what,
                    rank ? "vector" : "scalar",
                    tfd_shape_text(&k->in[in].shape, text));
}

static enum tfd_code read_filling(const struct tfd_kctx *k,
                                  struct filling_rows *f, struct tfd_status *st)
{
    TFD_TRY(check_ragged_rank(k, 2, 0, "nrows", st));
    TFD_TRY(check_ragged_rank(k, 0, 1, "value_rowids", st));
    TFD_TRY(check_ragged_rank(k, 1, 1, "values", st));
    f->row = tfd_tensor_data(&k->in[0]);
    f->count = k->in[0].shape.dim[0];
    if (k->in[1].shape.dim[0] != f->count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The length of `values` (%" PRId64
                        ") must match the first dimension of `value_rowids` "
                        "(%" PRId64 ").",
                        k->in[1].shape.dim[0], f->count);
    TFD_TRY(check_ragged_rank(k, 3, 0, "default_value", st));
    f->rows = tfd_check_int_at(&k->in[2], 0);
    if (f->rows < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected shape dimensions to be non-negative, got "
                        "%" PRId64,
                        f->rows);
    if (f->rows == 0 && f->count > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Received SparseTensor with dense_shape[0] = 0 but "
                        "indices.shape[0] = %" PRId64,
                        f->count);
    return TFD_OK;
}

/* ---- Places -------------------------------------------------------------- */

static enum tfd_code count_filled(struct filling_rows *f, struct tfd_status *st)
{
    tfd_elements_zero(TFD_INT64, f->next, f->rows);
    for (int64_t i = 0; i < f->count; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        if (f->row[i] < 0 || f->row[i] >= f->rows)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "indices(%" PRId64 ", 0) is invalid: %" PRId64
                            " >= %" PRId64,
                            i, f->row[i], f->rows);
        f->next[f->row[i]]++;
    }
    return tfd_halted() ? tfd_halt_fail(st) : TFD_OK;
}

/* Counts become the places where rows begin; an empty row has one. */
static enum tfd_code place_filled(struct filling_rows *f, tfd_bool *empty,
                                  struct tfd_status *st)
{
    for (int64_t row = 0; row < f->rows; row++) {
        const int64_t count = f->next[row];

        if (tfd_sparse_stops(row))
            return tfd_halt_fail(st);
        empty[row] = count == 0;
        f->next[row] = f->total;
        f->total += count + empty[row];
    }
    return TFD_OK;
}

static enum tfd_code put_row_numbers(const struct filling_rows *f, int64_t *to,
                                     struct tfd_status *st)
{
    for (int64_t row = 0; row < f->rows; row++) {
        const int64_t end = row + 1 < f->rows ? f->next[row + 1] : f->total;

        if (tfd_sparse_stops(row))
            return tfd_halt_fail(st);
        for (int64_t i = f->next[row]; i < end; i++)
            to[i] = row;
    }
    return TFD_OK;
}

static enum tfd_code put_filled(struct tfd_kctx *k, struct filling_rows *f,
                                struct tfd_status *st)
{
    const enum tfd_dtype dtype = k->in[1].dtype;
    const struct tfd_shape rows = {1, {f->rows}};
    /* Without rows TensorFlow gives a matrix. */
    const struct tfd_shape nothing = {2, {0, 1}};
    struct tfd_shape all = {1, {0}};
    int64_t *map;

    TFD_TRY(tfd_kctx_output(k, 2, TFD_BOOL, &rows, st));
    TFD_TRY(tfd_kctx_output(k, 3, TFD_INT64, &k->in[0].shape, st));
    TFD_TRY(count_filled(f, st));
    TFD_TRY(place_filled(f, tfd_tensor_data(&k->out[2]), st));
    all.dim[0] = f->total;
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, f->rows ? &all : &nothing, st));
    TFD_TRY(tfd_kctx_output(k, 1, dtype, &all, st));
    TFD_TRY(put_row_numbers(f, tfd_tensor_data(&k->out[0]), st));
    if (f->total == 0)
        return TFD_OK;
    TFD_TRY(tfd_elements_fill(dtype, tfd_tensor_data(&k->out[1]),
                              tfd_tensor_data(&k->in[3]), f->total, st));
    map = tfd_tensor_data(&k->out[3]);
    for (int64_t i = 0; i < f->count; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        map[i] = f->next[f->row[i]]++;
        TFD_TRY(tfd_elements_copy(
            dtype, tfd_element_at(tfd_tensor_data(&k->out[1]), dtype, map[i]),
            tfd_element_of(tfd_tensor_data(&k->in[1]), dtype, i), 1, st));
    }
    return TFD_OK;
}

static enum tfd_code ragged_fill_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct filling_rows f = {0};
    struct tfd_tensor next = TFD_TENSOR_INIT;
    enum tfd_code rc;

    TFD_TRY(read_filling(k, &f, st));
    TFD_TRY(tfd_sparse_numbers(&next, f.rows, st));
    f.next = tfd_tensor_data(&next);
    rc = put_filled(k, &f, st);
    tfd_tensor_unref(&next);
    return rc;
}

static enum tfd_code ragged_fill_gradient(struct tfd_grad *g,
                                          struct tfd_status *st)
{
    struct tfd_edge in[2] = {g->y[3], g->dy[1]}, out[2];

    if (g->dy[1].node < 0)
        return TFD_OK;
    TFD_TRY(tfd_grad_emit_attrs(g, "RaggedFillEmptyRowsGrad", in, 2, NULL, 0,
                                out, 2, st));
    g->dx[1] = out[0];
    g->dx[3] = out[1];
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "RaggedFillEmptyRows",
        .inputs = "value_rowids: int64, values: T, nrows: int64, "
                  "default_value: T",
        .outputs = "output_value_rowids: int64, output_values: T, "
                   "empty_row_indicator: bool, reverse_index_map: int64",
        .attrs = "T: type",
        .grad = ragged_fill_gradient,
    },
    {
        .name = "RaggedFillEmptyRowsGrad",
        .inputs = "reverse_index_map: int64, grad_values: T",
        .outputs = "d_values: T, d_default_value: T",
        .attrs = "T: type",
    },
};

#define GRAD_ROW(name, number, T) \
    TFD_KERNEL("RaggedFillEmptyRowsGrad", name, tfd_sparse_rows_grad),

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("RaggedFillEmptyRows", ragged_fill_compute),
    TFD_REAL_DTYPES(GRAD_ROW) TFD_HALF_DTYPES(GRAD_ROW)
        TFD_COMPLEX_DTYPES(GRAD_ROW)};

const struct tfd_family tfd_family_ragged_fill = {
    .name = "ragged_fill",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
