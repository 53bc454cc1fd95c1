/*
 * dataset_sparse_slices.c - SparseTensorSliceDataset: a sparse tensor row by
 * row, each row a sparse tensor of one dimension less: indices, values, shape.
 */
#include "kernels/core/element.h"
#include "kernels/data/data_table.h"

#include <string.h>

enum { INDICES, VALUES, SHAPE, PARTS };

struct slices {
    struct tfd_dataset dataset; /* its args are the three tensors */
    int64_t rows;
};

#define NO_ROW (-1)

struct slices_iterator {
    struct tfd_data_iterator iterator;
    int64_t row;          /* that comes next */
    int64_t at;           /* entries before it were looked at */
    int64_t first, found; /* entries of row `found`, up to `at`; NO_ROW: none */
};

static int64_t slices_cardinality(const struct tfd_dataset *d)
{
    return ((const struct slices *)d)->rows;
}

static enum tfd_code slices_begin(struct tfd_data_iterator *it,
                                  struct tfd_status *st)
{
    (void)st;
    ((struct slices_iterator *)it)->found = NO_ROW;
    return TFD_OK;
}

/* The entries behind those that were found, as many as are of one row. */
static void find_group(struct slices_iterator *i)
{
    const struct tfd_tensor *t = &i->iterator.dataset->args[INDICES];
    const int64_t *indices = tfd_tensor_data(t);
    int64_t entries = t->shape.dim[0], rank = t->shape.dim[1];

    if (i->at >= entries)
        return;
    i->first = i->at;
    i->found = indices[i->at * rank];
    while (i->at < entries && indices[i->at * rank] == i->found)
        i->at++;
}

static enum tfd_code new_part(struct tfd_tensor *out, enum tfd_dtype dtype,
                              int rank, int64_t rows, int64_t columns,
                              struct tfd_status *st)
{
    const int64_t dims[2] = {rows, columns};
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, dims, rank, st));
    return tfd_tensor_new(out, dtype, &shape, st);
}

/* The row's `count` entries from `first` on. */
static enum tfd_code make_slice(const struct tfd_dataset *d, int64_t first,
                                int64_t count, struct tfd_tensor *out,
                                struct tfd_status *st)
{
    const struct tfd_tensor *values = &d->args[VALUES];
    int64_t rank = d->args[INDICES].shape.dim[1];
    const int64_t *from = tfd_tensor_data(&d->args[INDICES]);
    int64_t *to;

    TFD_TRY(new_part(&out[INDICES], TFD_INT64, 2, count, rank - 1, st));
    TFD_TRY(new_part(&out[VALUES], values->dtype, 1, count, 0, st));
    TFD_TRY(new_part(&out[SHAPE], TFD_INT64, 1, rank - 1, 0, st));
    if (rank > 1)
        memcpy(tfd_tensor_data(&out[SHAPE]),
               (const int64_t *)tfd_tensor_data(&d->args[SHAPE]) + 1,
               (size_t)(rank - 1) * sizeof(*to));
    if (count == 0)
        return TFD_OK;
    to = tfd_tensor_data(&out[INDICES]);
    for (int64_t n = first; rank > 1 && n < first + count; n++, to += rank - 1)
        memcpy(to, from + n * rank + 1, (size_t)(rank - 1) * sizeof(*to));
    return tfd_elements_copy(
        values->dtype, tfd_tensor_data(&out[VALUES]),
        tfd_element_of(tfd_tensor_data(values), values->dtype, first), count,
        st);
}

/* A group of a row that is past, of a negative index, is passed over, one for
 * each row, as TensorFlow does. */
static enum tfd_code slices_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct slices_iterator *i = (struct slices_iterator *)it;
    int64_t count = 0;

    *end = i->row >= ((const struct slices *)it->dataset)->rows;
    if (*end)
        return TFD_OK;
    if (i->row > i->found)
        find_group(i);
    if (i->row == i->found) {
        count = i->at - i->first;
        i->found = NO_ROW;
    }
    TFD_TRY(make_slice(it->dataset, i->first, count, out, st));
    i->row++;
    return TFD_OK;
}

static const struct tfd_dataset_kind slices_kind = {
    .name = "SparseTensorSlice",
    .iterator_size = sizeof(struct slices_iterator),
    .begin = slices_begin,
    .next = slices_next,
    .cardinality = slices_cardinality,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code check_ranks(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    static const struct {
        const char *name, *form;
        int rank;
    } wanted[PARTS] = {{"indices", "matrix", 2},
                       {"values", "vector", 1},
                       {"shape", "vector", 1}};
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < PARTS; i++)
        if (k->in[i].shape.rank != wanted[i].rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input %s must be a %s. Got: %s", wanted[i].name,
                            wanted[i].form,
                            tfd_shape_text(&k->in[i].shape, text));
    return TFD_OK;
}

static enum tfd_code check_sizes(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    const struct tfd_shape *indices = &k->in[INDICES].shape;
    long long values = k->in[VALUES].shape.dim[0];
    long long rank = k->in[SHAPE].shape.dim[0];
    char text[TFD_SHAPE_TEXT_MAX];

    if (values != indices->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of values must match first dimension of "
                        "indices. Got %lld values, indices shape: %s",
                        values, tfd_shape_text(indices, text));
    if (rank != indices->dim[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of dimensions must match second dimension of "
                        "indices. Got %lld dimensions, indices shape: %s",
                        rank, tfd_shape_text(indices, text));
    if (rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The shape argument requires at least one element.");
    return TFD_OK;
}

static enum tfd_code check_extent(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    const int64_t *extent = tfd_tensor_data(&k->in[SHAPE]);

    for (int64_t i = 0; i < k->in[SHAPE].shape.dim[0]; i++)
        if (extent[i] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected shape dimensions to be non-negative, got "
                            "%lld",
                            (long long)extent[i]);
    return TFD_OK;
}

static enum tfd_code check_order(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    const int64_t *indices = tfd_tensor_data(&k->in[INDICES]);
    int64_t entries = k->in[INDICES].shape.dim[0];
    int64_t rank = k->in[INDICES].shape.dim[1], previous = -1;

    for (int64_t i = 0; i < entries; previous = indices[i++ * rank])
        if (indices[i * rank] < previous)
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            "The SparseTensor must be ordered in the batch "
                            "dimension; handling arbitrarily ordered input is "
                            "not currently supported.");
    return TFD_OK;
}

static void set_shapes(struct tfd_dataset *d, int64_t rank)
{
    d->shapes[INDICES] = (struct tfd_shape){2, {TFD_DIM_UNKNOWN, rank - 1}};
    d->shapes[VALUES] = (struct tfd_shape){1, {TFD_DIM_UNKNOWN}};
    d->shapes[SHAPE] = (struct tfd_shape){1, {rank - 1}};
}

static enum tfd_code slices_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    struct tfd_shape shape;

    TFD_TRY(check_ranks(k, st));
    TFD_TRY(check_sizes(k, st));
    TFD_TRY(check_order(k, st));
    TFD_TRY(check_extent(k, st));
    TFD_TRY(tfd_check_shape(k, SHAPE, false, &shape, st));
    TFD_TRY(
        tfd_dataset_make(k, &slices_kind, sizeof(struct slices), 0, &d, st));
    ((struct slices *)d)->rows = shape.dim[0];
    set_shapes(d, shape.rank);
    return tfd_dataset_output(k, d, st);
}

static enum tfd_code slices_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct tfd_dataset_maker *m = state;

    TFD_TRY(tfd_dataset_prepare(p, m, NULL, st));
    m->count = PARTS;
    m->types[INDICES] = m->types[SHAPE] = TFD_INT64;
    return tfd_node_type(p->node, "Tvalues", &m->types[VALUES], st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseTensorSliceDataset",
        .inputs = "indices: int64, values: Tvalues, dense_shape: int64",
        .outputs = "handle: variant",
        .attrs = "Tvalues: type",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL_F("SparseTensorSliceDataset", slices_compute,
                      slices_prepare),
};

TFD_DATA_FAMILY(dataset_sparse_slices);
