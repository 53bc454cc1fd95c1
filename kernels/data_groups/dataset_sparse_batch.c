/*
 * dataset_sparse_batch.c - DenseToSparseBatchDataset: elements in a row as one
 * sparse tensor, in three variants: indices, values, shape.
 */
#include "kernels/core/element.h"
#include "kernels/data/data_collect.h"
#include "kernels/data/data_table.h"

struct sparse_batch {
    struct tfd_dataset dataset;
    int64_t size;
    struct tfd_shape row; /* -1: as long as the longest of a batch */
};

struct sparse_batch_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_data_collect collect;
};

static int64_t sparse_batch_cardinality(const struct tfd_dataset *d)
{
    int64_t n = tfd_dataset_cardinality(d->inputs[0]);
    int64_t size = ((const struct sparse_batch *)d)->size;

    return n < 0 ? n : n / size + (n % size != 0);
}

static void sparse_batch_end(struct tfd_data_iterator *it)
{
    tfd_data_collect_deinit(&((struct sparse_batch_iterator *)it)->collect);
}

/* ---- Collecting ---------------------------------------------------------- */

/* Whether an element fits, and the extent that all so far have. */
static enum tfd_code fit_element(const struct sparse_batch *b,
                                 const struct tfd_tensor *t, int64_t *extent,
                                 struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], row[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != b->row.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input element had shape (%s) that is incompatible "
                        "with the row shape (%s).",
                        tfd_shape_text(&t->shape, have),
                        tfd_shape_text(&b->row, row));
    for (int i = 0; i < b->row.rank; i++) {
        if (b->row.dim[i] >= 0 && t->shape.dim[i] > b->row.dim[i])
            return tfd_fail(st, TFD_DATA_LOSS,
                            "Input element had shape (%s) that is larger than "
                            "the row shape (%s).",
                            tfd_shape_text(&t->shape, have),
                            tfd_shape_text(&b->row, row));
        if (t->shape.dim[i] > extent[i + 1])
            extent[i + 1] = t->shape.dim[i];
    }
    return TFD_OK;
}

static enum tfd_code collect_rows(struct sparse_batch_iterator *i,
                                  int64_t *extent, int64_t *values,
                                  struct tfd_status *st)
{
    const struct sparse_batch *b =
        (const struct sparse_batch *)i->iterator.dataset;
    struct tfd_data_collect *c = &i->collect;

    for (int d = 0; d < b->row.rank; d++)
        extent[d + 1] = b->row.dim[d] < 0 ? 0 : b->row.dim[d];
    while (c->have < b->size && !c->is_over) {
        TFD_TRY(tfd_data_collect(c, i->iterator.input, c->have + 1, st));
        if (c->is_over)
            break;
        TFD_TRY(fit_element(b, &c->elements[c->have - 1], extent, st));
        *values += tfd_tensor_elements(&c->elements[c->have - 1]);
    }
    extent[0] = c->have;
    return TFD_OK;
}

/* ---- The sparse tensor --------------------------------------------------- */

/* The indices of all elements of row `row`, in their order. */
static int64_t *put_indices(const struct tfd_tensor *t, int64_t row,
                            int64_t *out)
{
    int64_t n = tfd_tensor_elements(t), at[TFD_RANK_MAX] = {0};
    int rank = t->shape.rank;

    for (int64_t i = 0; i < n; i++) {
        *out++ = row;
        for (int d = 0; d < rank; d++)
            *out++ = at[d];
        for (int d = rank - 1; d >= 0 && ++at[d] == t->shape.dim[d]; d--)
            at[d] = 0;
    }
    return out;
}

static enum tfd_code fill_parts(const struct tfd_data_collect *c,
                                struct tfd_tensor part[3],
                                struct tfd_status *st)
{
    int64_t *indices = tfd_tensor_data(&part[0]);
    enum tfd_dtype dtype = part[1].dtype;
    int64_t at = 0;

    for (int64_t i = 0; i < c->have; i++) {
        const struct tfd_tensor *t = &c->elements[i];
        int64_t n = tfd_tensor_elements(t);

        if (n == 0)
            continue;
        indices = put_indices(t, i, indices);
        TFD_TRY(tfd_elements_copy(
            dtype, tfd_element_at(tfd_tensor_data(&part[1]), dtype, at),
            tfd_tensor_data(t), n, st));
        at += n;
    }
    return TFD_OK;
}

static enum tfd_code make_parts(const struct sparse_batch_iterator *i,
                                const int64_t *extent, int64_t values,
                                struct tfd_tensor part[3],
                                struct tfd_status *st)
{
    const struct sparse_batch *b =
        (const struct sparse_batch *)i->iterator.dataset;
    const int64_t dims[2] = {values, b->row.rank + 1};
    struct tfd_shape matrix, vector, three;
    int64_t *shape;

    TFD_TRY(tfd_shape_make(&matrix, dims, 2, st));
    TFD_TRY(tfd_shape_make(&vector, dims, 1, st));
    TFD_TRY(tfd_shape_make(&three, dims + 1, 1, st));
    TFD_TRY(tfd_tensor_new(&part[0], TFD_INT64, &matrix, st));
    TFD_TRY(
        tfd_tensor_new(&part[1], b->dataset.inputs[0]->types[0], &vector, st));
    TFD_TRY(tfd_tensor_new(&part[2], TFD_INT64, &three, st));
    shape = tfd_tensor_data(&part[2]);
    for (int d = 0; d <= b->row.rank; d++)
        shape[d] = extent[d];
    return fill_parts(&i->collect, part, st);
}

/* Three variants of them. */
static enum tfd_code wrap_parts(const struct tfd_tensor part[3],
                                struct tfd_tensor *out, struct tfd_status *st)
{
    static const struct tfd_shape three = {1, {3}};
    struct tfd_variant **v;

    TFD_TRY(tfd_tensor_new(out, TFD_VARIANT, &three, st));
    v = tfd_tensor_data(out);
    for (int i = 0; i < 3; i++)
        TFD_TRY(
            tfd_variant_holding(TFD_VARIANT_TENSOR, &part[i], 1, &v[i], st));
    return TFD_OK;
}

static enum tfd_code make_sparse(const struct sparse_batch_iterator *i,
                                 const int64_t *extent, int64_t values,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_tensor part[3] = {TFD_TENSOR_INIT, TFD_TENSOR_INIT,
                                 TFD_TENSOR_INIT};
    enum tfd_code rc = make_parts(i, extent, values, part, st);

    if (rc == TFD_OK)
        rc = wrap_parts(part, out, st);
    tfd_data_element_drop(part, 3);
    return rc;
}

static enum tfd_code sparse_batch_next(struct tfd_data_iterator *it,
                                       struct tfd_tensor *out, bool *end,
                                       struct tfd_status *st)
{
    struct sparse_batch_iterator *i = (struct sparse_batch_iterator *)it;
    int64_t extent[TFD_RANK_MAX + 1] = {0}, values = 0;
    enum tfd_code rc = collect_rows(i, extent, &values, st);

    *end = rc == TFD_OK && i->collect.have == 0;
    if (rc == TFD_OK && !*end)
        rc = make_sparse(i, extent, values, out, st);
    tfd_data_collect_clear(&i->collect);
    return rc;
}

static const struct tfd_dataset_kind sparse_batch_kind = {
    .name = "DenseToSparseBatch",
    .iterator_size = sizeof(struct sparse_batch_iterator),
    .opens_input = true,
    .next = sparse_batch_next,
    .end = sparse_batch_end,
    .cardinality = sparse_batch_cardinality,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code read_arguments(struct tfd_kctx *k, int64_t *size,
                                    struct tfd_shape *row,
                                    struct tfd_status *st)
{
    struct tfd_dataset *input;

    TFD_TRY(tfd_dataset_of(&k->in[0], &input, st));
    if (input->count != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "DenseToSparseBatchDataset only supports inputs with "
                        "a single component.");
    TFD_TRY(tfd_dataset_int(k, 1, "batch_size", size, st));
    if (*size <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Batch size must be greater than zero.");
    if (k->in[2].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "row_shape must be a vector");
    TFD_TRY(tfd_check_shape(k, 2, true, row, st));
    if (row->rank < TFD_RANK_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "row_shape has %d dimensions; at most %d are possible",
                    row->rank, TFD_RANK_MAX - 1);
}

/* Elements are batches of rows, whatever the node says of them. */
static void set_elements(struct tfd_dataset *d, const struct tfd_shape *row)
{
    d->count = 1;
    d->types[0] = TFD_VARIANT;
    d->shapes[0].rank = row->rank + 1;
    d->shapes[0].dim[0] = TFD_DIM_UNKNOWN;
    for (int i = 0; i < row->rank; i++)
        d->shapes[0].dim[i + 1] = row->dim[i];
}

static enum tfd_code sparse_batch_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    struct tfd_dataset *d;
    struct sparse_batch *b;
    struct tfd_shape row;
    int64_t size;

    TFD_TRY(read_arguments(k, &size, &row, st));
    TFD_TRY(tfd_dataset_make(k, &sparse_batch_kind, sizeof(*b), 1, &d, st));
    b = (struct sparse_batch *)d;
    b->size = size;
    b->row = row;
    set_elements(d, &row);
    return tfd_dataset_output(k, d, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define SPARSE_BATCH(name_)                                   \
    TFD_DATA_OP(name_,                                        \
                "input_dataset: variant, batch_size: int64, " \
                "row_shape: int64",                           \
                "", "", 0)

static const struct tfd_opdef ops[] = {
    SPARSE_BATCH("DenseToSparseBatchDataset"),
    SPARSE_BATCH("ExperimentalDenseToSparseBatchDataset"),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("DenseToSparseBatchDataset", sparse_batch_compute),
    TFD_DATA_KERNEL("ExperimentalDenseToSparseBatchDataset",
                    sparse_batch_compute),
};

TFD_DATA_FAMILY(dataset_sparse_batch);
