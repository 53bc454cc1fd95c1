/*
 * dataset_source.c - datasets of values that are there: a range of numbers, a
 * tensor, the slices of one.
 */
#include "kernels/data/data_rows.h"
#include "kernels/data/data_table.h"

#include <stdlib.h>

/* ---- RangeDataset -------------------------------------------------------- */

struct range {
    struct tfd_dataset dataset;
    int64_t start, stop, step;
};

struct range_iterator {
    struct tfd_data_iterator iterator;
    int64_t given; /* elements */
};

/* In 64 unsigned bits, which hold every distance. */
static int64_t range_count(const struct tfd_dataset *d)
{
    const struct range *r = (const struct range *)d;
    bool up = r->step > 0;
    uint64_t distance, step, count;

    if (up ? r->start >= r->stop : r->start <= r->stop)
        return 0;
    distance = up ? (uint64_t)r->stop - (uint64_t)r->start
                  : (uint64_t)r->start - (uint64_t)r->stop;
    step = up ? (uint64_t)r->step : 0 - (uint64_t)r->step;
    count = distance / step + (distance % step != 0);
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

/* enumerate() has a range to the last number there is, which stands for one
 * without end. */
static int64_t range_cardinality(const struct tfd_dataset *d)
{
    int64_t count = range_count(d);

    return count > 0 && ((const struct range *)d)->stop == INT64_MAX
               ? TFD_CARDINALITY_INFINITE
               : count;
}

static enum tfd_code make_number(const struct range *r, int64_t index,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    uint64_t value = (uint64_t)r->start + (uint64_t)index * (uint64_t)r->step;

    TFD_TRY(tfd_tensor_new(&out[0], r->dataset.types[0], &scalar, st));
    if (out[0].dtype == TFD_INT64)
        *(int64_t *)tfd_tensor_data(&out[0]) = (int64_t)value;
    else
        *(int32_t *)tfd_tensor_data(&out[0]) = (int32_t)(uint32_t)value;
    return TFD_OK;
}

static enum tfd_code range_next(struct tfd_data_iterator *it,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    struct range_iterator *i = (struct range_iterator *)it;

    *end = i->given >= range_count(it->dataset);
    if (*end)
        return TFD_OK;
    TFD_TRY(make_number((const struct range *)it->dataset, i->given, out, st));
    i->given++;
    return TFD_OK;
}

static enum tfd_code range_at(struct tfd_data_iterator *it, int64_t index,
                              struct tfd_tensor *out, bool *end,
                              struct tfd_status *st)
{
    const struct range *r = (const struct range *)it->dataset;

    if (range_cardinality(it->dataset) == TFD_CARDINALITY_INFINITE)
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "Dataset of type RangeDatasetOp(%lld, %lld, "
                        "%lld)::Dataset has infinite cardinality, which does "
                        "not support random access.",
                        (long long)r->start, (long long)r->stop,
                        (long long)r->step);
    *end = index < 0 || index >= range_count(it->dataset);
    return *end ? TFD_OK : make_number(r, index, out, st);
}

static const struct tfd_dataset_kind range_kind = {
    .name = "Range",
    .iterator_size = sizeof(struct range_iterator),
    .next = range_next,
    .at = range_at,
    .cardinality = range_cardinality,
};

static enum tfd_code range_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    int64_t start, stop, step;
    struct tfd_dataset *d;
    struct range *r;

    TFD_TRY(tfd_dataset_int(k, 0, "start", &start, st));
    TFD_TRY(tfd_dataset_int(k, 1, "stop", &stop, st));
    TFD_TRY(tfd_dataset_int(k, 2, "step", &step, st));
    if (step == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "step must be a non-zero integer.");
    if (m->count != 1 || (m->types[0] != TFD_INT64 && m->types[0] != TFD_INT32))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "a range has elements of one tensor of int64 or int32; "
                        "asked for are %d, the first of %s",
                        m->count, tfd_dtype_name((int)m->types[0]));
    TFD_TRY(tfd_dataset_make(k, &range_kind, sizeof(*r), 0, &d, st));
    r = (struct range *)d;
    r->start = start;
    r->stop = stop;
    r->step = step;
    return tfd_dataset_output(k, d, st);
}

/* ---- Tensors ------------------------------------------------------------- */

struct tensors {
    struct tfd_dataset dataset;
    struct tfd_tensor *values; /* one for each component */
    int64_t rows;              /* of slices */
};

struct tensors_iterator {
    struct tfd_data_iterator iterator;
    int64_t row;
};

static void tensors_release(struct tfd_dataset *d)
{
    struct tensors *t = (struct tensors *)d;

    tfd_data_element_drop(t->values, d->count);
    free(t->values);
}

static enum tfd_code make_tensors(struct tfd_kctx *k,
                                  const struct tfd_dataset_kind *kind,
                                  struct tensors **out, struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    struct tfd_dataset *d;
    struct tensors *t;
    enum tfd_code rc = TFD_OK;

    if (m->count != k->in_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%d components and %d output_types", k->in_count,
                        m->count);
    TFD_TRY(tfd_dataset_make(k, kind, sizeof(*t), 0, &d, st));
    t = (struct tensors *)d;
    t->values = tfd_data_element_new(d->count, st);
    if (!t->values)
        rc = TFD_RESOURCE_EXHAUSTED;
    for (int i = 0; rc == TFD_OK && i < k->in_count; i++) {
        t->values[i] = tfd_tensor_ref(&k->in[i]);
        rc = tfd_dataset_deepen(d, &k->in[i], st);
    }
    if (rc == TFD_OK)
        *out = t;
    else
        tfd_dataset_unref(d);
    return rc;
}

/* ---- TensorDataset ------------------------------------------------------- */

static int64_t tensor_cardinality(const struct tfd_dataset *d)
{
    (void)d;
    return 1;
}

static enum tfd_code tensor_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct tensors_iterator *i = (struct tensors_iterator *)it;
    const struct tensors *t = (const struct tensors *)it->dataset;

    (void)st;
    *end = i->row > 0;
    for (int32_t c = 0; !*end && c < t->dataset.count; c++)
        out[c] = tfd_tensor_ref(&t->values[c]);
    i->row = 1;
    return TFD_OK;
}

static enum tfd_code tensor_at(struct tfd_data_iterator *it, int64_t index,
                               struct tfd_tensor *out, bool *end,
                               struct tfd_status *st)
{
    ((struct tensors_iterator *)it)->row = index == 0 ? 0 : 1;
    return tensor_next(it, out, end, st);
}

static const struct tfd_dataset_kind tensor_kind = {
    .name = "Tensor",
    .iterator_size = sizeof(struct tensors_iterator),
    .next = tensor_next,
    .at = tensor_at,
    .cardinality = tensor_cardinality,
    .release = tensors_release,
};

static enum tfd_code tensor_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tensors *t;

    TFD_TRY(make_tensors(k, &tensor_kind, &t, st));
    return tfd_dataset_output(k, &t->dataset, st);
}

/* ---- TensorSliceDataset -------------------------------------------------- */

static int64_t slice_cardinality(const struct tfd_dataset *d)
{
    return ((const struct tensors *)d)->rows;
}

static enum tfd_code slice_next(struct tfd_data_iterator *it,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    struct tensors_iterator *i = (struct tensors_iterator *)it;
    const struct tensors *t = (const struct tensors *)it->dataset;

    *end = i->row >= t->rows;
    for (int32_t c = 0; !*end && c < t->dataset.count; c++)
        TFD_TRY(tfd_data_row(&t->values[c], i->row, &out[c], st));
    i->row += !*end;
    return TFD_OK;
}

static enum tfd_code slice_at(struct tfd_data_iterator *it, int64_t index,
                              struct tfd_tensor *out, bool *end,
                              struct tfd_status *st)
{
    ((struct tensors_iterator *)it)->row = index < 0 ? INT64_MAX : index;
    return slice_next(it, out, end, st);
}

static const struct tfd_dataset_kind slice_kind = {
    .name = "TensorSlice",
    .iterator_size = sizeof(struct tensors_iterator),
    .next = slice_next,
    .at = slice_at,
    .cardinality = slice_cardinality,
    .release = tensors_release,
};

static enum tfd_code slice_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tensors *t;

    for (int i = 0; i < k->in_count; i++) {
        if (k->in[i].shape.rank < 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "All components must be at least 1-dimensional");
        if (k->in[i].shape.dim[0] != k->in[0].shape.dim[0])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "All components must have the same size in the 0th "
                            "dimension");
    }
    TFD_TRY(make_tensors(k, &slice_kind, &t, st));
    t->rows = k->in_count ? k->in[0].shape.dim[0] : 0;
    return tfd_dataset_output(k, &t->dataset, st);
}

/* ---- ListDataset --------------------------------------------------------- */

struct list {
    struct tfd_dataset dataset;
    struct tfd_tensor *values; /* element by element */
    int32_t count;
};

static void list_release(struct tfd_dataset *d)
{
    struct list *l = (struct list *)d;

    tfd_data_element_drop(l->values, l->count);
    free(l->values);
}

static int64_t list_cardinality(const struct tfd_dataset *d)
{
    return ((const struct list *)d)->count / d->count;
}

static enum tfd_code list_next(struct tfd_data_iterator *it,
                               struct tfd_tensor *out, bool *end,
                               struct tfd_status *st)
{
    struct tensors_iterator *i = (struct tensors_iterator *)it;
    const struct list *l = (const struct list *)it->dataset;
    int32_t width = it->dataset->count;

    (void)st;
    *end = i->row >= list_cardinality(it->dataset);
    for (int32_t c = 0; !*end && c < width; c++)
        out[c] = tfd_tensor_ref(&l->values[i->row * width + c]);
    i->row += !*end;
    return TFD_OK;
}

static const struct tfd_dataset_kind list_kind = {
    .name = "List",
    .iterator_size = sizeof(struct tensors_iterator),
    .next = list_next,
    .cardinality = list_cardinality,
    .release = list_release,
};

static enum tfd_code list_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    struct list *l;
    enum tfd_code rc = TFD_OK;

    TFD_TRY(tfd_dataset_make(k, &list_kind, sizeof(*l), 0, &d, st));
    l = (struct list *)d;
    l->values = tfd_data_element_new(k->in_count, st);
    if (!l->values)
        rc = TFD_RESOURCE_EXHAUSTED;
    for (; rc == TFD_OK && l->count < k->in_count; l->count++) {
        l->values[l->count] = tfd_tensor_ref(&k->in[l->count]);
        rc = tfd_dataset_deepen(d, &k->in[l->count], st);
    }
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define TENSORS(name_, more_)                                   \
    {                                                           \
        .name = (name_), .inputs = "components: Toutput_types", \
        .outputs = "handle: variant",                           \
        .attrs = "Toutput_types: list(type) >= 1; "             \
                 "output_shapes: list(shape) >= 1" more_,       \
        .shape = tfd_shape_scalar,                              \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,          \
    }

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("RangeDataset", "start: int64, stop: int64, step: int64", "",
                TFD_DATA_METADATA "; replicate_on_split: bool = false",
                TFD_OP_STATEFUL),
    TFD_DATA_OP("ListDataset", "tensors: Tinput_types",
                "Tinput_types: list(type) >= 1; ", TFD_DATA_METADATA,
                TFD_OP_STATEFUL),
    TENSORS("TensorDataset", TFD_DATA_METADATA),
    TENSORS("TensorSliceDataset", "; is_files: bool = false" TFD_DATA_METADATA
                                  "; replicate_on_split: bool = false"),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("RangeDataset", range_compute),
    TFD_DATA_KERNEL("ListDataset", list_compute),
    TFD_DATA_KERNEL("TensorDataset", tensor_compute),
    TFD_DATA_KERNEL("TensorSliceDataset", slice_compute),
};

TFD_DATA_FAMILY(dataset_source);
