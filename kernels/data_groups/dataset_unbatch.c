/*
 * dataset_unbatch.c - UnbatchDataset: the rows of each element.
 */
#include "kernels/data/data_rows.h"
#include "kernels/data/data_table.h"

#include <stdlib.h>

struct unbatch_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_tensor *element; /* of the input */
    int64_t row, rows;
    bool is_over;
};

/* Where the shapes say how many rows an element has; else -1. */
static int64_t known_rows(const struct tfd_dataset *d)
{
    for (int32_t c = 0; c < d->count; c++)
        if (d->shapes[c].rank > 0 && d->shapes[c].dim[0] >= 0)
            return d->shapes[c].dim[0];
    return -1;
}

static int64_t unbatch_cardinality(const struct tfd_dataset *d)
{
    int64_t n = tfd_dataset_cardinality(d->inputs[0]);
    int64_t rows = known_rows(d->inputs[0]);

    if (n < 0)
        return n;
    if (rows <= 0)
        return TFD_CARDINALITY_UNKNOWN;
    return n > INT64_MAX / rows ? INT64_MAX : n * rows;
}

static enum tfd_code unbatch_begin(struct tfd_data_iterator *it,
                                   struct tfd_status *st)
{
    struct unbatch_iterator *i = (struct unbatch_iterator *)it;

    i->element = tfd_data_element_new(it->dataset->count, st);
    return i->element ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

static void unbatch_end(struct tfd_data_iterator *it)
{
    struct unbatch_iterator *i = (struct unbatch_iterator *)it;

    tfd_data_element_drop(i->element, it->dataset->count);
    free(i->element);
}

static enum tfd_code check_rows(const struct tfd_tensor *e, int32_t count,
                                struct tfd_status *st)
{
    for (int32_t c = 0; c < count; c++)
        if (e[c].shape.rank == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input element must have a non-scalar value in "
                            "each component.");
    for (int32_t c = 1; c < count; c++)
        if (e[c].shape.dim[0] != e[0].shape.dim[0])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input element must have the same batch size in "
                            "each component. Component 0 had size %lld but "
                            "component %d had size, %lld.",
                            (long long)e[0].shape.dim[0], c,
                            (long long)e[c].shape.dim[0]);
    return TFD_OK;
}

static enum tfd_code next_batch(struct unbatch_iterator *i,
                                struct tfd_status *st)
{
    int32_t count = i->iterator.dataset->count;

    tfd_data_element_drop(i->element, count);
    i->row = i->rows = 0;
    TFD_TRY(tfd_data_next(i->iterator.input, i->element, &i->is_over, st));
    if (i->is_over)
        return TFD_OK;
    TFD_TRY(check_rows(i->element, count, st));
    i->rows = i->element[0].shape.dim[0];
    return TFD_OK;
}

static enum tfd_code unbatch_next(struct tfd_data_iterator *it,
                                  struct tfd_tensor *out, bool *end,
                                  struct tfd_status *st)
{
    struct unbatch_iterator *i = (struct unbatch_iterator *)it;

    while (!i->is_over && i->row >= i->rows)
        TFD_TRY(next_batch(i, st));
    *end = i->is_over;
    for (int32_t c = 0; !*end && c < it->dataset->count; c++)
        TFD_TRY(tfd_data_row(&i->element[c], i->row, &out[c], st));
    i->row += !*end;
    return TFD_OK;
}

static const struct tfd_dataset_kind unbatch_kind = {
    .name = "Unbatch",
    .iterator_size = sizeof(struct unbatch_iterator),
    .opens_input = true,
    .same_elements = true,
    .begin = unbatch_begin,
    .next = unbatch_next,
    .end = unbatch_end,
    .cardinality = unbatch_cardinality,
};

static enum tfd_code unbatch_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;

    TFD_TRY(tfd_dataset_make(k, &unbatch_kind, sizeof(*d), 1, &d, st));
    return tfd_dataset_output(k, d, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("UnbatchDataset", "input_dataset: variant", "",
                TFD_DATA_METADATA, 0),
    TFD_DATA_OP("ExperimentalUnbatchDataset", "input_dataset: variant", "", "",
                0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("UnbatchDataset", unbatch_compute),
    TFD_DATA_KERNEL("ExperimentalUnbatchDataset", unbatch_compute),
};

TFD_DATA_FAMILY(dataset_unbatch);
